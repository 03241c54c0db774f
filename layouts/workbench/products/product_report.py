"""What is said of the kernels whose D was compared with A·B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.check_report import OpenPoint
from lanescope.workbench.products.known_sums import KnownFragment, OpenPart, WrongPart
from lanescope.workbench.products.product_origins import Block
from lanescope.workbench.results import CheckFinding


@dataclass(frozen=True, slots=True)
class ProductVerdict:
    """The result of a run.

    open: why D is not known to be A·B, None if it is; unsized: the parameters that have no size; fragments: of D, by
    launch; grid: its blocks; runners: the runs of its blocks, if their code is followed to the end.
    """

    open: OpenPart | None
    unsized: frozenset[str] = frozenset()
    fragments: Mapping[int, Sequence[KnownFragment]] = field(default_factory=dict)
    grid: Block | None = None
    runners: Sequence[KernelRunner] = ()

    @property
    def wrong(self) -> WrongPart | None:
        """What is not of A·B, if all is known."""
        return self.open.wrong if self.open is not None else None

    @property
    def doubted(self) -> tuple[int, ...]:
        """What may be wrong of A, B and D: 0, 1 and 2."""
        return self.wrong.sides if self.wrong is not None else () if self.open is None else (0, 1)

    @property
    def is_other(self) -> bool:
        """Whether each element of D is the sum of some products, but D not A·B."""
        return self.wrong is not None and self.wrong.fragment is not None

    @property
    def group(self) -> Sequence[KnownFragment]:
        """The fragments of the launch of which D is wrong."""
        groups = self.fragments.values()
        return next((of for of in groups if self.wrong is not None and self.wrong.fragment in of), [])

    @property
    def is_first(self) -> bool:
        """Whether D of the first launch is wrong."""
        return bool(self.group) and self.group is self.fragments.get(0)

    @property
    def every(self) -> list[KnownFragment]:
        """The fragments of all launches."""
        return [one for of in self.fragments.values() for one in of]

    @property
    def stored(self) -> set[str]:
        """The arrays that D is stored to."""
        return {array for one in self.every for array in one.arrays}


class ProductReport(NamedTuple):
    """Mistakes, open points, and the names of the kernels whose tiles of D are those of A·B, or whose O is that of
    attention, with whether the order of their accesses is followed, too.
    """

    mistakes: Sequence[CheckFinding] = ()
    open: Sequence[OpenPoint] = ()
    proved: Mapping[str, bool] = {}

    def list_findings(self, notes: Sequence[CheckFinding]) -> list[CheckFinding]:
        """Return the mistakes, and notes without those that D of one of these kernels is open."""
        names = *self.proved, *(one.kernel for one in self.open)
        own = [f"D of {name} is not known" for name in names]
        kept = (one for one in notes if one.code != "cute_sums_open" or not one.message.startswith(tuple(own)))
        return [*(replace(one, of_result=True) for one in self.mistakes), *kept]
