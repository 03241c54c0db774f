"""Check that the two CTAs of a pair have different halves of A and of B (PTX ISA 9.1, 9.7.16.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.memory.storage import Ints
from lanescope.workbench.products.origin_places import find_coordinate_site
from lanescope.workbench.products.product_origins import OriginFinder, SumOrigin


def find_same_half(finders: Iterable[OriginFinder]) -> Pitfall | None:
    """Return the finding of rows of A or B that both CTAs of a pair have."""
    for finder in finders:
        for total, other in _list_pairs(finder):
            half = len(total.columns) // 2
            for n, parts in enumerate(((total.rows, other.rows), (total.columns[:half], total.columns[half:]))):
                same = np.intersect1d(*parts)
                if len(same):
                    return _describe(total, n, same)
    return None


def _list_pairs(finder: OriginFinder) -> Iterator[tuple[SumOrigin, SumOrigin]]:
    """Yield the sums of the products that a block issues for a pair, in both of its blocks."""
    mate = finder.mate
    if mate is None:
        return
    for result in (result for result, products in finder.products.items() if products[0].pair):
        mine, theirs = finder.find_sum(result, 0), mate.find_sum(result, 0)
        if mine is not None and theirs is not None:
            yield mine, theirs


def _describe(total: SumOrigin, side: int, same: Ints) -> Pitfall:
    message = (
        f"Both CTAs of a pair copy rows {same.min()} to {same.max()} of {'AB'[side]}: of a tcgen05.mma with"
        " cta_group::2 each must have a half of its own."
    )
    return Pitfall("row_coordinate_wrong", message, find_coordinate_site(total.boxes[side], total.numbers[side]))
