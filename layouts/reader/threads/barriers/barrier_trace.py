"""What each thread of a kernel does with mbarriers, in the order of its program.

The trace is exact or lost: an address, a count, a parity or a condition that is not known ends the run. A wait that
the code repeats until it succeeds is one wait. Rules: PTX ISA 9.1, 9.7.13.15 (mbarrier), 9.7.13.1 (barriers).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers.barrier_bytes import BarrierBytes
from lanescope.reader.threads.barriers.tensor_trace import TensorEvent, TensorTrace
from lanescope.reader.threads.cute.async_trace import AsyncTrace
from lanescope.reader.threads.memory.shared_fills import SharedFills
from lanescope.reader.threads.memory.storage import DataBytes, Ints, Mask, Span, spread_number

if TYPE_CHECKING:
    from lanescope.reader.code.syntax.tree_statements import Assembly
    from lanescope.reader.threads.instructions.asm_code import AsmCode
    from lanescope.reader.threads.memory.records import MmaUse
    from lanescope.reader.threads.runner import KernelRunner

MOST_EVENTS = 4000
MOST_TURNS = 4000
_GROUPS = {"wgmma.fence": "fence", "wgmma.commit_group": "commit", "wgmma.wait_group": "wait"}
Known = TypeVar("Known")


def find_group_step(opcode: str) -> str:
    """Return what an instruction does to groups of wgmma: fence, commit or wait; "" for another one."""
    return next((kind for word, kind in _GROUPS.items() if opcode.startswith(word)), "")


class TraceLostError(Exception):
    """Something with an unknown effect on mbarriers was executed, or is not followed: the argument says why."""


def require_known(value: Known | None) -> Known:
    """Return a value; TraceLostError if it is None, which is unknown."""
    if value is None:
        raise TraceLostError
    return value


def spread_known(run: KernelRunner, value: Any) -> Ints:
    """Return a number for every thread; TraceLostError if it is not known."""
    return require_known(spread_number(value, run.threads))


@dataclass(frozen=True, slots=True, eq=False)
class BarrierEvent:
    """One operation of some threads.

    kind: init, arrive, copy (whose bytes arrive), wait, await (for the phase of an arrival), product, wgmma (each one,
    in a run that follows tiles), block (a barrier of threads), pass (an arrival at one that does not wait), join (a
    wait after a pass), expect (of bytes, in a cluster), warp or load (of what copies bring, by warps); places: the
    mbarrier of every thread, or the number of the barrier; values: its count, its parity or the number of its arrival,
    -1 for all threads; site: the expression of that in the text itself, and origin that in a library; call: where the
    helper is called; commits: whether it arrives when products have ended.
    """

    kind: str
    mask: Mask
    places: Ints
    values: Ints
    site: Span
    call: Span
    commits: bool = False
    origin: Span = (0, 0)

    def is_same_wait(self, other: BarrierEvent) -> bool:
        """Return whether two waits are for the same phase, of the same threads."""
        mine, theirs = (np.where(one.mask, 2 * one.places + one.values, -1) for one in (self, other))
        return bool((mine == theirs).all())


@dataclass(slots=True)
class BarrierTrace:
    """The operations of a kernel's threads, in the order in which they were run.

    peeked: the last try_wait, until the code is seen to repeat it; doubt: whether some threads may have left;
    of_cluster: whether it ends at an instruction of a cluster whose shape is open; beyond: the mask of a multicast for
    a block that the cluster lacks.
    """

    events: list[BarrierEvent] = field(default_factory=list)
    peeked: BarrierEvent | None = None
    doubt: bool = False
    fills: SharedFills = field(default_factory=SharedFills)
    bytes: BarrierBytes = field(default_factory=BarrierBytes)
    tensor: TensorTrace = field(default_factory=TensorTrace)
    asynchronous: AsyncTrace = field(default_factory=AsyncTrace)
    of_cluster: bool = False
    beyond: Span | None = None

    def add(self, run: KernelRunner, event: BarrierEvent) -> None:
        """Add an operation; TraceLostError if it may not be executed."""
        known = self.peeked is not None and event.kind == "wait" and event.is_same_wait(self.peeked)
        early = self.peeked is not None and not known  # a try_wait whose result decides something else
        if self.doubt or early or (run.assumed and not known) or len(self.events) >= MOST_EVENTS:
            raise TraceLostError
        self.peeked = None
        if event.kind in ("block", "wait", "await", "join"):
            self.fills.meet_threads()
        self.events.append(event)

    def peek(self, event: BarrierEvent) -> None:
        """Note a try_wait; TraceLostError if the result of one for another phase is still to be used."""
        if self.peeked is not None and not event.is_same_wait(self.peeked):
            raise TraceLostError
        self.peeked = event

    def meet_warps(self, run: KernelRunner, kind: str = "warp") -> None:
        """Note that the running threads of each warp meet; twice in a row is once."""
        last = self.events[-1] if self.events else None
        if last is not None and not (last.kind in (kind, "load") and (last.mask == run.mask).all()):
            nothing = np.zeros(run.threads, np.int64)
            at = run.find_own_place(run.calls[-1]) if run.calls else (0, 0)
            self.events.append(BarrierEvent(kind, run.mask.copy(), nothing, nothing, at, at))

    def note_product(self, run: KernelRunner, site: Span, at: Span | None = None) -> None:
        """Note that the running threads multiply, by default where the kernel's own lines lead to it."""
        self.meet_warps(run)
        at = at or (run.calls[0] if run.calls else site)
        if not any(event.kind == "product" and event.call == at for event in self.events):
            nothing = np.zeros(run.threads, np.int64)
            self.events.append(BarrierEvent("product", run.mask.copy(), nothing, nothing, at, at))

    def follow_loop(self, run: KernelRunner, inside: Mask | None) -> Mask:
        """Return the threads that run another iteration; a loop whose end depends on a wait ends after it."""
        if inside is not None:
            if run.turns[-1] > MOST_TURNS:
                raise TraceLostError
            return inside
        self._confirm_wait(run)
        return run.nobody

    def follow_choice(self, run: KernelRunner, condition: tree.Expression | None, leaves: bool) -> Mask | None:
        """Return the threads that take a branch whose condition is open; None if they are open, too."""
        if leaves and self.peeked is not None and not isinstance(condition, tree.Unary):
            self._confirm_wait(run)
            return run.mask.copy()
        self.doubt |= leaves
        return None

    def _confirm_wait(self, run: KernelRunner) -> None:
        if self.peeked is None:
            raise TraceLostError
        self.add(run, self.peeked)

    @property
    def skips_products(self) -> bool:
        """Whether products are only noted, and bytes not followed."""
        return True

    def list_later(self, assembly: Assembly) -> Collection[int]:
        """Return the numbers of the operands of an asm statement that are loaded only if something needs them."""
        return ()

    def follow_copy(
        self, code: AsmCode, opcode: str, operands: Sequence[str], mask: Mask, rank: int | None = None
    ) -> None:
        """Follow a copy whose bytes arrive on an mbarrier: the last event. mask: the threads that issue it; rank: of
        the block that a multicast fills.
        """

    def follow_move(self, code: AsmCode, opcode: str, operands: Sequence[str], mask: Mask) -> bool:
        """Follow an instruction without mbarriers; return whether nothing is left to do for it."""
        kind = find_group_step(opcode)
        if kind:
            left = code.get_value(operands[0]) if kind == "wait" else None
            at = code.run.find_own_place(code.run.get_call(code.assembly.span))
            self.asynchronous.add(code.run, kind, at, count=getattr(left, "known", None) or 0)
        return False

    def follow_tensor(self, code: AsmCode, event: TensorEvent, operands: Sequence[str]) -> None:
        """Follow an instruction on tensor memory."""

    def note_warp_product(self, run: KernelRunner, use: MmaUse, added: Any) -> None:
        """Note an mma of warps. added: the first register of C."""

    def note_store(self, run: KernelRunner, places: Ints, data: DataBytes, site: Span) -> None:
        """Note a store of the running threads to shared memory."""

    def replace_bytes(self, run: KernelRunner, data: DataBytes, places: Ints, mask: Mask, site: Span) -> DataBytes:
        """Return loaded bytes of shared memory as each thread finds them. site: of the load."""
        return data

    def note_bulk_group(self, run: KernelRunner, name: str, site: Span) -> None:
        """Note a call that commits bulk copies to a group, or waits for all of them. name: of the function."""
        if "commit" in name:
            self.fills.commit_group(site)
        else:
            self.fills.wait_groups(run, site)

    def note_fence(self) -> None:
        """Note a fence of the async proxy."""
        self.fills.note_fence()

    @property
    def ended(self) -> bool:
        """Whether nothing is left open at the end of a run."""
        return self.peeked is None
