"""The verdicts on the operands of one run of a kernel, and the choice between those of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lanescope.reader.threads.kernels import KernelRun
from lanescope.reader.threads.memory.records import MatrixLoad, MmaUse, RegisterUse
from lanescope.reader.threads.memory.storage import OPEN, DataBytes
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand
from lanescope.workbench.fragments.thread_gaps import OperandKey
from lanescope.workbench.products.matrix_pitches import OpenPitch
from lanescope.workbench.results import Span


@dataclass(slots=True)
class RunVerdicts:
    """The verdicts on the operands of a kernel's run, keyed by the ldmatrix and the calls around it.

    uses: each operand by its product, and whether it could be traced; judged: those with a verdict; doubted, unsure: of
    good and judged, those that may move along K by a wrong step; computed: of bad, those of D of another product;
    again: A and B of products whose fragments have a verdict from others.
    """

    run: KernelRun
    good: set[tuple[Span, tuple[Span, ...], str]] = field(default_factory=set)
    pitches: list[OpenPitch] = field(default_factory=list)
    bad: dict[tuple[str, Span, tuple[Span, ...], str], tuple[str, MatrixLoad | None, Span, int]] = field(
        default_factory=dict
    )
    uses: dict[OperandKey, bool] = field(default_factory=dict)
    judged: set[object] = field(default_factory=set)
    doubted: set[tuple[Span, tuple[Span, ...], str]] = field(default_factory=set)
    unsure: set[object] = field(default_factory=set)
    pairs: list[tuple[MmaUse, ArrivedOperand, ArrivedOperand]] = field(default_factory=list)
    computed: set[object] = field(default_factory=set)
    again: list[tuple[ArrivedOperand, ArrivedOperand]] = field(default_factory=list)

    @property
    def left(self) -> set[OperandKey]:
        """The operands without a verdict, for a run to its end that has found nothing."""
        found = self.bad or self.run.runner.kernel_errors or not self.run.complete
        return set() if found else {key for key in self.uses if self.uses[key]} - self.judged - self.unsure

    @property
    def lacks_places(self) -> bool:
        """Whether operands have no verdict, and of each of them it is not known where it is loaded from."""
        uses = ((use, name, registers) for use in self.run.runner.products for name, registers in use.operands)
        unplaced = {(use.span, use.calls, name) for use, name, registers in uses if all(map(_is_unplaced, registers))}
        return bool(self.left) and self.left <= unplaced

    def list_warps(self) -> Iterator[FragmentOrigin]:
        return (warp for _, *operands in self.pairs for operand in operands for warp in operand.warps or ())

    def list_pairs(self) -> list[tuple[ArrivedOperand, ArrivedOperand]]:
        """Return A and B of all products whose fragments are known."""
        return [*((a, b) for _, a, b in self.pairs), *self.again]

    def list_open(self) -> set[object]:
        """Return the operands whose pitch is open, by product."""
        return {read for pitch in self.pitches for read in pitch.reads}


def _is_unplaced(register: RegisterUse) -> bool:
    """Return whether a register holds bytes of an unknown address, and not unknown bytes of a known one."""
    data = register.data
    return register.load is None and type(data) is DataBytes and bool((data.record == OPEN).all())


def choose_verdicts(branch: Sequence[RunVerdicts], sized: Sequence[RunVerdicts]) -> list[RunVerdicts]:
    """Return the verdicts on the kernels of a text, those of runs of one of them for known sizes where they leave less.

    Where a loop begins and ends is known in these, and so is the stage of a tile that a second loop reads.
    """
    spans = {one.run.function.span for one in sized}
    mine = [one for one in branch if one.run.function.span in spans]
    if len(mine) != len(sized):
        return list(branch)
    again = {id(one): other for one, other in zip(mine, sized, strict=True) if one.lacks_places and other.run.complete}
    return [min(one, again.get(id(one), one), key=lambda each: len(each.left)) for one in branch]
