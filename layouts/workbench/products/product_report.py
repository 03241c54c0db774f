"""What is said of the kernels whose D was compared with A·B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.check_report import OpenPoint
from lanescope.workbench.products.known_sums import (
    KnownFragment,
    OpenPart,
)
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


class ProductReport(NamedTuple):
    """Mistakes, open points, and the names of the kernels whose tiles of D are those of A·B, or whose O is that of
    attention, with whether the order of their accesses is followed, too.
    """

    mistakes: Sequence[CheckFinding] = ()
    open: Sequence[OpenPoint] = ()
    proved: Mapping[str, bool] = {}
