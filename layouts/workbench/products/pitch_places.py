"""A matrix of a product, the size that its lines are apart, and the expression of this pitch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lanescope.reader.threads.cute.open_strides import TensorLine
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.kernels.address_values import list_values
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import blank_text

Place = tuple[Span, tuple[Span, ...]]  # of a product or an address, and the calls around it


@dataclass(frozen=True, slots=True, eq=False)
class ProductMatrix:
    """A matrix of a product.

    operand: a, b or d; size: the parameter that its lines are apart; along: the dimension that a line runs along, k, m
    or n; starts: other sizes that whole lines are multiplied by where a block, a warp or a step of a loop begins.
    """

    operand: str
    array: str
    size: str
    along: str
    product: object
    places: set[Place] = field(default_factory=set)
    starts: set[str] = field(default_factory=set)

    @property
    def lines(self) -> str:
        """The word for its lines."""
        across_rows = {"a": "k", "b": "n", "d": "n"}
        return "rows" if self.along == across_rows[self.operand] else "columns"


def find_pitch(run: KernelRunner, matrix: ProductMatrix, line: TensorLine | None) -> Span:
    """Return the expression that multiplies lines by a size, through the variables of an address; of a tensor of CuTe,
    its strides.
    """
    word = rf"\b{re.escape(matrix.size.rpartition('.')[2])}\b"
    factor = re.compile(rf"\*\s*(?:\([\w ]*\)\s*)?(?:\w+(?:\.|->))*{word}|{word}\s*\*")
    stated = [(line.site, line.calls)] if line is not None else []
    blank, sites = blank_text(run.text), stated or list(_list_sites(run, matrix))
    values = (span for site, calls in sites for span in list_values(run.text, site, calls))
    named = [span for span in values if re.search(word, blank[slice(*span)])]
    multiplied = [span for span in named if factor.search(blank[slice(*span)])]
    others = (*sorted(place[0] for place in matrix.places), *(site for site, _ in sites))  # the pitch of wmma is apart
    return next(iter((*multiplied[::-1], *named[-1:], *others)), (0, 0))


def _list_sites(run: KernelRunner, matrix: ProductMatrix) -> Iterator[Place]:
    """Yield the first address that a matrix is accessed by with its pitch, and the calls around it."""
    every: Iterable[Any] = run.outputs if matrix.operand == "d" else run.records
    mine = (one for one in every if one.array == matrix.array and one.site != (0, 0))
    found = [(one.site, getattr(one, "calls", ())) for one in mine if any(matrix.size in of for of in one.offset.terms)]
    yield from found[:1]
