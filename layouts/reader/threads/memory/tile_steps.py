"""What threads do to tiles beside the events of a trace: stores to shared memory, and commits and waits of wgmma."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanescope.reader.threads.barriers.barrier_trace import find_group_step
from lanescope.reader.threads.memory.storage import Ints, Mask

if TYPE_CHECKING:
    from lanescope.reader.threads.instructions.asm_code import AsmCode
    from lanescope.reader.threads.runner import KernelRunner

Span = tuple[int, int]
_MOST_STEPS = 8000


@dataclass(frozen=True, slots=True, eq=False)
class TileStep:
    """A store, a commit or a wait.

    at: the number of events of the trace before it; count: the bytes that each thread stores, or the groups that a wait
    leaves pending; places: where these bytes begin.
    """

    at: int
    kind: str
    mask: Mask
    call: Span
    count: int
    places: Ints | None


@dataclass(slots=True)
class TileSteps:
    """The steps of a run. open: whether there may be others."""

    steps: list[TileStep] = field(default_factory=list)
    open: bool = False

    def add(self, run: KernelRunner, kind: str, call: Span, count: int, places: Ints | None = None) -> None:
        """Add a step of the running threads; a store is left out, and a wait counts, if it may not be executed."""
        self.open |= len(self.steps) >= _MOST_STEPS or (kind == "commit" and not run.is_certain)
        if run.barriers is not None and run.mask.any() and not self.open and (kind != "store" or run.is_certain):
            self.steps.append(TileStep(len(run.barriers.events), kind, run.mask.copy(), call, count, places))

    def follow_group(self, code: AsmCode, opcode: str, operands: Sequence[str]) -> None:
        """Follow a commit of or a wait for a group of wgmma, if an instruction is one."""
        kind = find_group_step(opcode)
        if kind:
            left = code.get_value(operands[0]) if kind == "wait" else None
            at = code.run.find_own_place(code.run.get_call(code.assembly.span))
            self.add(code.run, kind, at, getattr(left, "known", None) or 0)
