"""The state of mbarriers: pending arrivals, transaction bytes, phases, and the arrivals of the current phase.

PTX ISA 9.1, 9.7.13.15. Behaviour that it leaves undefined was measured on an H100: an arrival beyond the count, a count
of 0 in mbarrier.init or after a drop, and an mbarrier never initialized abort the launch; expect-tx may end a phase;
mbarrier.inval changes nothing. The 8 bytes in shared memory hold the state, so that an overwritten mbarrier is
detected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.state.block import Block, Group
from lanescope.emulate.state.memory import (
    OFFSET_MASK,
    RANK_SHIFT,
    SHARED_WINDOW,
    WINDOW_SIZE,
    Allocation,
    FaultError,
    truncate_address,
)
from lanescope.emulate.text.program import Statement

if TYPE_CHECKING:
    from lanescope.emulate.machine import Machine

MOST_COUNT = (1 << 20) - 1
STATE = "mbarriers"  # key in Block.state: byte offset → Mbarrier
TESTED = "tested_mbarriers"  # likewise: thread → (rank, byte offset, phase) of its last test_wait that returned false


@dataclass(slots=True)
class Arrival:
    """The arrivals of one statement in the current phase. threads: of the block, or () for a copy."""

    statement: Statement
    rank: int
    threads: tuple[int, ...]
    count: int = 0
    expected_bytes: int = 0
    completed_bytes: int = 0


@dataclass(slots=True)
class Mbarrier:
    """One mbarrier. address: in shared memory, window base included; expected: arrivals per phase."""

    address: int
    expected: int
    pending: int
    statement: Statement
    initializer: int
    step: int
    tx: int = 0
    phase: int = 0
    arrivals: list[Arrival] = field(default_factory=list)
    invalidated: Statement | None = None
    expected_bytes: int = 0  # of all phases
    completed_bytes: int = 0

    @property
    def parity(self) -> int:
        return self.phase & 1

    @property
    def word(self) -> int:
        """The 8 bytes in shared memory, in an H100's format: phase, pending, transaction and expected counts."""
        counts = (-self.tx & 0x1FFFFF) << 21 | (-self.expected & MOST_COUNT) << 1
        return (self.phase & 1) << 63 | (-self.pending & MOST_COUNT) << 43 | counts

    def end_phase(self) -> bool:
        """Begin the next phase if nothing is outstanding; return whether it did."""
        if self.pending or self.tx:
            return False
        self.phase += 1
        self.pending = self.expected
        self.arrivals = []
        return True


def encode_states(barrier: Mbarrier, pending: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the state values that mbarrier.arrive returns: the upper half of the previous word, and the count."""
    rest = (barrier.word >> 32 & 0x7FF) << 32 | (barrier.phase & 1) << 63
    upper = (-pending & MOST_COUNT).astype(np.uint64) << np.uint64(43)
    return upper | np.uint64(rest) | counts.astype(np.uint64)


def decode_pending(states: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the pending count of state values."""
    return (-(states >> np.uint64(43)).astype(np.int64) & MOST_COUNT).astype(np.uint32)


def decode_parity(states: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the phase parity of state values."""
    return (states >> np.uint64(63)).astype(np.uint32)


def list_mbarriers(block: Block) -> dict[int, Mbarrier]:
    """Return byte offset in shared memory → mbarrier, of one block."""
    mbarriers: dict[int, Mbarrier] = block.state.setdefault(STATE, {})
    return mbarriers


def split_addresses(
    group: Group, space: str, addresses: NDArray[np.int64]
) -> Iterator[tuple[Block, int, NDArray[np.int64]]]:
    """Yield (block, byte offset in its shared memory, threads) for every mbarrier among the addresses.

    space: "shared", "shared::cluster" or "" (generic). FaultError for an address where no mbarrier can be.
    """
    if space == "":
        inside = (addresses >= SHARED_WINDOW) & (addresses < SHARED_WINDOW + WINDOW_SIZE)
        if not inside.all():
            wrong = int(addresses[np.flatnonzero(~inside)[0]])
            raise FaultError("out_of_bounds", f"An mbarrier at {wrong:#x}, which is not in shared memory.")
        addresses = addresses - SHARED_WINDOW
    else:
        addresses = truncate_address(addresses)
    if (addresses & 7).any():
        raise FaultError("misaligned", f"An mbarrier at {int(addresses[0]):#x} is not aligned to 8 bytes.")
    distinct = (
        [int(addresses[0])] if (addresses == addresses[0]).all() else [int(address) for address in np.unique(addresses)]
    )
    for address in distinct:
        block = group.find_block(address >> RANK_SHIFT)
        offset = (address & OFFSET_MASK) - block.shared.base
        if not 0 <= offset <= block.shared.size - 8:
            raise FaultError(
                "out_of_bounds", f"An mbarrier at {address:#x}: shared memory has {block.shared.size:,} bytes."
            )
        yield block, offset, np.flatnonzero(addresses == address)


def get_mbarrier(block: Block, offset: int) -> Mbarrier:
    """Return the mbarrier at an offset; FaultError if none was initialized there or its bytes were overwritten."""
    barrier = list_mbarriers(block).get(offset)
    address = block.shared.base + offset
    if barrier is None:
        raise FaultError("mbarrier_not_initialized", f"No mbarrier.init was executed for the mbarrier at {address:#x}.")
    if read_word(block.shared, offset) != barrier.word:
        raise FaultError(
            "mbarrier_overwritten",
            f"The mbarrier at {address:#x} (initialized in line {barrier.statement.line}) was overwritten: other"
            " instructions wrote to its 8 bytes.",
        )
    return barrier


def read_word(shared: Allocation, offset: int) -> int:
    """Return the 8 bytes at an offset."""
    return int.from_bytes(shared.data[offset : offset + 8].tobytes(), "little")


def write_word(shared: Allocation, offset: int, word: int) -> None:
    """Write 8 bytes at an offset; they count as written."""
    shared.data[offset : offset + 8] = np.frombuffer(word.to_bytes(8, "little"), np.uint8)
    if shared.written is not None:
        shared.written[offset : offset + 8] = True


def update(block: Block, offset: int, barrier: Mbarrier) -> bool:
    """Begin the next phase if this one is complete; return whether it began."""
    machine, phase, last = block.run.machine, barrier.phase, barrier.arrivals[-1].statement
    ended = barrier.end_phase()
    if ended:
        machine.log_of("mbarrier_phase", block, last, mbarrier=barrier.address, rank=block.rank, phase=phase)
    write_word(block.shared, offset, barrier.word)
    machine.version += 1
    return ended


def complete_bytes(block: Block, offset: int, count: int, origin: Block, statement: Statement) -> None:
    """Complete transaction bytes on an mbarrier, as an asynchronous copy does at its end."""
    barrier = get_mbarrier(block, offset)
    count_bytes(barrier, completed=count)
    note(barrier, Arrival(statement, origin.rank, (), completed_bytes=count))
    check_tx(barrier)
    if barrier.tx < 0 and not barrier.pending:
        _report_bytes(block, barrier, statement)
    machine = block.run.machine
    address, phase = barrier.address, barrier.phase
    machine.log_of("mbarrier_complete", block, statement, mbarrier=address, rank=block.rank, phase=phase, bytes=count)
    update(block, offset, barrier)


def count_bytes(barrier: Mbarrier, expected: int = 0, completed: int = 0) -> None:
    """Count transaction bytes of an mbarrier."""
    barrier.tx += expected - completed
    barrier.expected_bytes += expected
    barrier.completed_bytes += completed


def _report_bytes(block: Block, barrier: Mbarrier, statement: Statement) -> None:
    few = barrier.tx < 0
    block.run.machine.report(
        "expect_tx_bytes",
        f"On the mbarrier at {barrier.address:#x} (initialized in line {barrier.statement.line}), expect_tx specifies"
        f" {barrier.expected_bytes:,} bytes in total, but the copies complete {barrier.completed_bytes:,}: it"
        f" specifies too {'few' if few else 'many'}",
        statement,
    )


def find_wrong_bytes(machine: Machine) -> None:
    """Report mbarriers whose completed bytes differ from the expected ones at the end of the run."""
    for cluster in machine.clusters:
        for block in cluster.blocks:
            for barrier in list_mbarriers(block).values():
                if barrier.tx:
                    expecting = [arrival.statement for arrival in barrier.arrivals if arrival.expected_bytes]
                    _report_bytes(block, barrier, expecting[-1] if expecting else barrier.statement)


def note(barrier: Mbarrier, arrival: Arrival) -> None:
    """Record a statement's arrival in the current phase."""
    for previous in barrier.arrivals:
        if previous.statement is arrival.statement and previous.rank == arrival.rank:
            previous.threads = tuple(sorted({*previous.threads, *arrival.threads}))
            previous.count += arrival.count
            previous.expected_bytes += arrival.expected_bytes
            previous.completed_bytes += arrival.completed_bytes
            return
    barrier.arrivals.append(arrival)


def check_tx(barrier: Mbarrier) -> None:
    """Raise FaultError if the transaction count is out of range."""
    if not -MOST_COUNT <= barrier.tx <= MOST_COUNT:
        raise FaultError(
            "mbarrier_tx_range",
            f"The transaction count of the mbarrier at {barrier.address:#x} becomes {barrier.tx:,}; its magnitude may"
            f" be at most {MOST_COUNT:,}.",
        )
