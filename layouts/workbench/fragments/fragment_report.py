"""What is known of the fragments of a text's kernels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, replace

from lanescope.workbench.check_report import FindRepair
from lanescope.workbench.fragments.thread_gaps import PITCH_OPEN, UNSETTLED, CheckedKernel, list_tile_kernels
from lanescope.workbench.fragments.warp_coverage import RepeatedWarps
from lanescope.workbench.results import CheckFinding, Span
from lanescope.workbench.source.gaps import CheckedDescriptor


@dataclass(slots=True)
class FragmentReport:
    """The result for a text's kernels: mistakes, number of verified fragments, and the kernels with mma.

    proved: (instruction, operand) pairs of which every descriptor that was read is right; described: the kernels that
    read descriptors of tiles that they load, all right; doubted: those with reads that may be wrong; suspects: mistakes
    if a part of the tile is never read; unordered: the kernels whose stores and barriers are not followed, None before
    this is known; settled: the functions that kernels reach, if D is A·B in every kernel that multiplies through
    descriptors; find_repair: see CheckReport.
    """

    findings: list[CheckFinding] = field(default_factory=list)
    verified: int = 0
    kernels: list[CheckedKernel] = field(default_factory=list)
    proved: frozenset[tuple[str, str]] = frozenset()
    described: frozenset[str] = frozenset()
    doubted: frozenset[str] = frozenset()
    suspects: list[RepeatedWarps] = field(default_factory=list)
    unordered: frozenset[str] | None = None
    settled: tuple[Span, ...] = ()
    find_repair: FindRepair | None = None
    traced: frozenset[str] = frozenset()

    def join(self, of_kernels: Mapping[str, FragmentReport]) -> FragmentReport:
        """Return the report with the verdicts on kernels whose copies were traced, by name."""
        of_runs = {name: sorted(one.kernels, key=lambda run: not run.gap) for name, one in of_kernels.items()}
        kernels = [of_runs[one.name][0] if one.name in of_runs else one for one in self.kernels]
        verified = self.verified + sum(one.verified for one in of_kernels.values())
        return replace(self, kernels=kernels, verified=verified, traced=frozenset(of_kernels))

    def add_tile_kernels(self, text: str, descriptors: Collection[CheckedDescriptor]) -> FragmentReport:
        """Return the report with the kernels whose tiles CuTe copies by TMA, if all descriptors have a verdict."""
        known = not any(one.gap for one in descriptors)
        return replace(self, described=self.described | list_tile_kernels(text)) if known else self

    def choose_kernels(self) -> tuple[Set[str], Set[str], Set[str]]:
        """Return the names of kernels whose D is to be compared with A·B: of those whose fragments are right, of those
        with reads that may be wrong or are not known, and of all.
        """
        named = [kernel for kernel in self.kernels if kernel.name and kernel.name not in self.traced]
        right = {kernel.name for kernel in named if not kernel.gap} | self.described
        doubted = self.doubted | {kernel.name for kernel in named if kernel.gap in UNSETTLED}
        doubted |= {kernel.name for kernel in named if kernel.gap.startswith(PITCH_OPEN)}
        return right, doubted, {kernel.name for kernel in named}
