"""What threads do to tiles beside the events of a trace: loads and stores of shared memory, bulk copies out of it, and
commits and waits of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanescope.reader.threads.barriers.barrier_trace import find_group_step
from lanescope.reader.threads.memory.storage import Ints, Mask, Span

if TYPE_CHECKING:
    from lanescope.reader.threads.instructions.asm_code import AsmCode
    from lanescope.reader.threads.runner import KernelRunner

_MOST_STEPS = 8000
_BULK = {"cp.async.bulk.commit_group": "bulk commit", "cp.async.bulk.wait_group": "bulk wait"}
ACCESSES = ("store", "load", "copy")


@dataclass(frozen=True, slots=True, eq=False)
class TileStep:
    """A store, a load, a bulk copy to global memory, a commit or a wait.

    at: the number of events of the trace before it; count: the bytes that each thread accesses, or the groups that a
    wait leaves pending; places: where these bytes begin; maps: the names that the map of a copy may have; number: the
    place of a count.
    """

    at: int
    kind: str
    mask: Mask
    call: Span
    count: int
    places: Ints | None = None
    maps: frozenset[str] = frozenset()
    number: Span | None = None

    @property
    def accesses(self) -> bool:
        """Whether it accesses shared memory."""
        return self.kind in ACCESSES


@dataclass(slots=True)
class TileSteps:
    """The steps of a run. open: whether there may be others."""

    steps: list[TileStep] = field(default_factory=list)
    open: bool = False

    def add(self, run: KernelRunner, step: TileStep) -> None:
        """Add a step of threads; an access is left out, and a wait counts, if it may not be executed."""
        self.open |= len(self.steps) >= _MOST_STEPS or ("commit" in step.kind and not run.is_certain)
        if step.mask.any() and not self.open and (not step.accesses or run.is_certain):
            self.steps.append(step)

    def follow_group(self, code: AsmCode, opcode: str, operands: Sequence[str]) -> None:
        """Follow a commit of or a wait for a group of wgmma or of bulk copies, if an instruction is one."""
        kind = find_group_step(opcode) or next((kind for word, kind in _BULK.items() if opcode.startswith(word)), "")
        if kind:
            left = code.get_value(operands[0]) if "wait" in kind else None
            at = code.run.find_own_place(code.run.get_call(code.assembly.span))
            literal = left is not None and operands[0].strip().isdigit()
            number = code.run.find_own_place(code.assembly.span) if literal else None
            self.add_group(code.run, kind, at, (getattr(left, "known", None) or 0, number))

    def add_group(self, run: KernelRunner, kind: str, call: Span, left: tuple[int, Span | None] = (0, None)) -> None:
        """Add a commit or a wait of the running threads. left: the groups that it leaves pending, and their place."""
        if run.barriers is not None:
            step = TileStep(len(run.barriers.events), kind, run.mask.copy(), call, left[0], number=left[1])
            self.add(run, step)
