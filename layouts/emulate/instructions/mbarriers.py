"""mbarrier: init, inval, expect_tx, complete_tx, arrive, arrive_drop, test_wait, try_wait, pending_count, and
cp.async.mbarrier.arrive. PTX ISA 9.1, 9.7.13.15.9 to 9.7.13.15.17.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.state.block import Block, Group, Wait
from lanescope.emulate.state.mbarrier_state import (
    MOST_COUNT,
    TESTED,
    Arrival,
    Mbarrier,
    check_tx,
    count_bytes,
    decode_parity,
    decode_pending,
    encode_states,
    get_mbarrier,
    list_mbarriers,
    note,
    split_addresses,
    update,
    write_word,
)
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.text.program import Discarded, Statement
from lanescope.ptx.register_types import TYPES

_U32, _U64, _PRED = TYPES["u32"], TYPES["u64"], TYPES["pred"]
_SPACES = ("shared", "shared::cta", "shared::cluster")
_SCOPES = {"cta", "cluster"}


def check_words(statement: Statement, first: int, *allowed: set[str] | tuple[str, ...]) -> None:
    """Raise UnknownInstructionError for qualifiers outside the allowed sets, and for two of one set.

    first: index of the first word to check.
    """
    used: set[int] = set()
    for word in statement.words[first:]:
        which = next((n for n, words in enumerate(allowed) if word in words), None)
        if which is None or which in used:
            raise UnknownInstructionError(statement, f".{word} of {statement.opcode} is not emulated")
        used.add(which)


def find_shared_space(statement: Statement) -> str:
    """Return shared, shared::cluster or "" (generic)."""
    word = statement.find_word(_SPACES)
    return "shared" if word == "shared::cta" else word


def _check_local(group: Group, block: Block, what: str) -> None:
    if block is not group.block:
        raise FaultError(
            "remote_mbarrier", f"{what} of an mbarrier in the shared memory of CTA {block.rank} of the cluster."
        )


def _check_use(group: Group, block: Block, barrier: Mbarrier) -> None:
    """Report a use after mbarrier.inval, and one by another thread that no barrier or fence orders after the init."""
    if barrier.invalidated is not None:
        group.run.machine.report(
            "mbarrier_invalidated",
            f"The mbarrier at {barrier.address:#x} is used after mbarrier.inval in line {barrier.invalidated.line}",
            group.statement,
        )
    if block.synced[barrier.initializer] >= barrier.step:
        return
    others = group.ids[group.ids != barrier.initializer] if block is group.block else group.ids
    if len(others):
        group.run.machine.report(
            "mbarrier_init_not_visible",
            f"The mbarrier at {barrier.address:#x} is used by thread {int(others[0])}, but thread"
            f" {barrier.initializer}, which initialized it in line {barrier.statement.line}, has executed no fence or"
            " barrier since. Put fence.mbarrier_init or __syncthreads() between",
            group.statement,
        )


@instruction("mbarrier.init")
def build_init(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 2, _SPACES, ("b64",))
    address, count = statement.take(2)
    space, read, counts = find_shared_space(statement), compiler.read_address(address), compiler.read(count, _U32)

    def init(group: Group) -> None:
        values = np.broadcast_to(counts(group), (group.count,))
        for block, offset, chosen in split_addresses(group, space, read(group)):
            _check_local(group, block, "mbarrier.init")
            number = int(values[chosen[-1]])
            place = block.shared.base + offset
            if not 1 <= number <= MOST_COUNT:
                raise FaultError(
                    "mbarrier_count",
                    f"The mbarrier at {place:#x} is initialized for {number:,} arrivals; 1 to {MOST_COUNT:,} are"
                    " allowed.",
                )
            machine, mbarriers = group.run.machine, list_mbarriers(block)
            barrier = Mbarrier(place, number, number, statement, int(group.ids[chosen[-1]]), machine.steps)
            old = mbarriers.get(offset)
            if old is not None and (old.pending != old.expected or old.tx):
                machine.report(
                    "mbarrier_reinitialized",
                    f"The mbarrier at {place:#x} is initialized again while a phase runs ({old.pending} arrivals and"
                    f" {old.tx} bytes outstanding)",
                    statement,
                )
            mbarriers[offset] = barrier
            write_word(block.shared, offset, barrier.word)
            machine.version += 1
            machine.log("mbarrier_init", group, mbarrier=place, count=number)

    return init


@instruction("mbarrier.inval")
def build_invalidation(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 2, _SPACES, ("b64",))
    space, read = find_shared_space(statement), compiler.read_address(statement.operand(0))

    def invalidate(group: Group) -> None:
        for block, offset, _ in split_addresses(group, space, read(group)):
            _check_local(group, block, "mbarrier.inval")
            get_mbarrier(block, offset).invalidated = statement

    return invalidate


@instruction("mbarrier.expect_tx", "mbarrier.complete_tx")
def build_transaction_count(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 2, _SPACES, ("b64",), ("relaxed",), _SCOPES)
    address, count = statement.take(2)
    space, read, counts = find_shared_space(statement), compiler.read_address(address), compiler.read(count, _U32)
    expects = statement.words[1] == "expect_tx"

    def change(group: Group) -> None:
        values = np.broadcast_to(counts(group), (group.count,)).astype(np.int64)
        for block, offset, chosen in split_addresses(group, space, read(group)):
            barrier = get_mbarrier(block, offset)
            _check_use(group, block, barrier)
            threads, total = tuple(group.ids[chosen].tolist()), int(values[chosen].sum())
            arrival = Arrival(statement, group.block.rank, threads)
            if expects:
                count_bytes(barrier, expected=total)
                arrival.expected_bytes = total
            else:
                count_bytes(barrier, completed=total)
                arrival.completed_bytes = total
            note(barrier, arrival)
            check_tx(barrier)
            update(block, offset, barrier)
            group.run.machine.log(statement.words[1], group, mbarrier=barrier.address, bytes=total)

    return change


@instruction("mbarrier.arrive", "mbarrier.arrive_drop")
def build_arrival(compiler: Compiler, statement: Statement) -> Action:
    """Build mbarrier.arrive with .expect_tx, .noComplete and a count; arrive_drop lowers the next phases' count."""
    check_words(statement, 2, _SPACES, ("b64",), ("release", "relaxed"), _SCOPES, ("expect_tx", "noComplete"))
    target, address, *rest = statement.take(2, more=True)
    expects, partial = statement.has("expect_tx"), statement.has("noComplete")
    if (expects or partial) and not rest:
        raise UnknownInstructionError(statement, f"{statement.opcode} has no count")
    space, read = find_shared_space(statement), compiler.read_address(address)
    counts = compiler.read(rest[0], _U32) if rest else None
    write = compiler.write(target, _U64)
    drops, keeps = statement.words[1] == "arrive_drop", not isinstance(target, Discarded)

    def arrive(group: Group) -> None:
        values = np.ones(group.count, np.int64)
        if counts is not None:
            values = np.broadcast_to(counts(group), (group.count,)).astype(np.int64)
        states = np.zeros(group.count, np.uint64)
        for block, offset, chosen in split_addresses(group, space, read(group)):
            if keeps:
                _check_local(group, block, f"The state of {statement.opcode}")
            barrier = get_mbarrier(block, offset)
            _check_use(group, block, barrier)
            sizes = values[chosen] if expects else None
            each = np.ones(len(chosen), np.int64) if expects else values[chosen]
            states[chosen] = arrive_on(group, block, offset, group.ids[chosen], each, sizes=sizes, drops=drops)
            if partial and not barrier.arrivals:
                raise UnknownInstructionError(statement, f"{statement.opcode} that completes the phase is undefined")
        write(group, states)

    return arrive


def arrive_on(
    group: Group,
    block: Block,
    offset: int,
    threads: NDArray[np.int64],
    counts: NDArray[np.int64],
    *,
    sizes: NDArray[np.int64] | None = None,
    drops: bool = False,
) -> NDArray[np.uint64]:
    """Arrive on one mbarrier, thread by thread; return the state before each arrival.

    sizes: bytes to expect first.
    """
    barrier, statement, machine = get_mbarrier(block, offset), group.statement, group.run.machine
    if (counts > MOST_COUNT).any():
        raise FaultError(
            "mbarrier_count", f"An arrival counts {int(counts.max()):,}; at most {MOST_COUNT:,} are allowed."
        )
    total = int(counts.sum())
    if total <= barrier.pending:
        parts = [(slice(None), threads, total)]
    else:  # a phase ends in between: arrive thread by thread
        parts = [(slice(n, n + 1), threads[n : n + 1], int(counts[n])) for n in range(len(threads))]
    states = np.zeros(len(threads), np.uint64)
    for chosen, those, count in parts:
        if count > barrier.pending:
            raise FaultError(
                "mbarrier_overflow",
                f"{count} arrive on the mbarrier at {barrier.address:#x}, of whose phase {barrier.phase}"
                f" {barrier.pending} of {barrier.expected} arrivals are outstanding: more arrivals than"
                f" mbarrier.init in line {barrier.statement.line} specifies.",
            )
        before = barrier.pending - np.cumsum(counts[chosen]) + counts[chosen]
        size = int(sizes[chosen].sum()) if sizes is not None else 0
        count_bytes(barrier, expected=size)
        check_tx(barrier)
        states[chosen] = encode_states(barrier, before, counts[chosen])
        if drops:
            barrier.expected -= count
            if barrier.expected < 1:
                raise FaultError(
                    "mbarrier_count", f"All threads leave the mbarrier at {barrier.address:#x}: it expects 0 arrivals."
                )
        barrier.pending -= count
        note(barrier, Arrival(statement, group.block.rank, tuple(those.tolist()), count, size))
        facts = {"mbarrier": barrier.address, "owner": block.index, "phase": barrier.phase}
        machine.log("mbarrier_arrive", group, **facts, count=count, bytes=size)
        update(block, offset, barrier)
    group.block.synced[group.ids] = machine.steps
    return states


@instruction("mbarrier.pending_count")
def build_pending_count(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 2, ("b64",))
    target, state = statement.take(2)
    read, write = compiler.read(state, _U64), compiler.write(target, _U32)
    return lambda group: write(group, decode_pending(np.asarray(read(group))))


@instruction("mbarrier.test_wait", "mbarrier.try_wait")
def build_wait(compiler: Compiler, statement: Statement) -> Action:
    """Build mbarrier.try_wait, which waits for the end of the phase, and test_wait, which only tests for it."""
    check_words(statement, 2, _SPACES, ("b64",), ("acquire", "relaxed"), _SCOPES, ("parity",))
    target, address, which, *hint = statement.take(3, more=True)
    blocking = statement.words[1] == "try_wait"
    if len(hint) > blocking:
        raise UnknownInstructionError(statement)
    space, read = find_shared_space(statement), compiler.read_address(address)
    by_parity = statement.has("parity")
    read_which = compiler.read(which, _U32 if by_parity else _U64)
    write = compiler.write(target, _PRED)

    def wait(group: Group) -> None:
        values = np.broadcast_to(read_which(group), (group.count,))
        parities = values if by_parity else decode_parity(values)
        if by_parity and (parities > 1).any():
            raise FaultError(
                "mbarrier_parity",
                f"The phase parity of {statement.opcode} is {int(parities.max())}; it must be 0 or 1.",
            )
        done, ready = np.zeros(group.count, bool), _Readiness()
        for block, offset, chosen in split_addresses(group, space, read(group)):
            _check_local(group, block, statement.opcode)
            barrier = get_mbarrier(block, offset)
            _check_use(group, block, barrier)
            for parity in np.unique(parities[chosen]):
                threads = chosen[parities[chosen] == parity]
                done[threads] = barrier.parity != parity
                if barrier.parity == parity:
                    ready.add(block, offset, barrier, threads)
        if not blocking:
            write(group, done)
            if not done.all():
                ready.note_tests(group)
                group.run.machine.note_poll(group, done.tobytes())
            return
        write(group, np.ones(group.count, bool))
        ready.park(group, done)

    return wait


class _Readiness:
    """The mbarriers that threads of a group wait for."""

    def __init__(self) -> None:
        self.rows: list[tuple[Block, int, Mbarrier, NDArray[np.int64]]] = []

    def add(self, block: Block, offset: int, barrier: Mbarrier, threads: NDArray[np.int64]) -> None:
        self.rows.append((block, offset, barrier, threads))

    def note_tests(self, group: Group) -> None:
        """Record the phase that each thread tested, for the report of a thread that polls forever."""
        tested = group.block.state.setdefault(TESTED, {})
        ids = group.ids
        for block, offset, barrier, threads in self.rows:
            tested |= dict.fromkeys(ids[threads].tolist(), (block.rank, offset, barrier.phase))

    def park(self, group: Group, done: NDArray[np.bool_]) -> None:
        """Suspend threads, grouped by their mbarrier; the rest of the group continues."""
        machine = group.run.machine
        ids = group.ids
        for number, (block, offset, barrier, threads) in enumerate(self.rows):
            all_wait = not done.any() and number == len(self.rows) - 1
            wait = make_wait(block, offset, barrier)
            if all_wait:
                group.wait = wait
            else:
                machine.park(group, ids[threads], wait)
            machine.log("mbarrier_wait", group, mbarrier=barrier.address, phase=barrier.phase)


def make_wait(block: Block, offset: int, barrier: Mbarrier) -> Wait:
    """Return the wait for the end of an mbarrier's current phase."""
    phase = barrier.phase

    def ready() -> bool:
        now = list_mbarriers(block).get(offset)
        return now is not barrier or now.phase != phase

    what = f"phase {phase} of the mbarrier at {barrier.address:#x}"
    return Wait("mbarrier", what, ready, {"mbarrier": offset, "rank": block.rank, "phase": phase})
