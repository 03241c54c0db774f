"""Find bounds of a product's rows by the size of its columns, and the reverse: min(row, N - 1) for a row of A."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.workbench.products.known_matrices import is_stride
from lanescope.workbench.products.product_sizes import ProductSizes
from lanescope.workbench.results import CheckFinding

TITLES = {"bound_of_other_size": "A bound is the size of another dimension"}
_LINES = {"m": "rows", "n": "columns"}


def find_other_bounds(sizes: ProductSizes, pitches: Sequence[tuple[str, str]], named: bool) -> list[CheckFinding]:
    """Return the comparisons that limit rows of D by the size of its columns, or the reverse.

    A size is that of the columns if rows of D are so far apart or other columns are compared with it, and of the rows
    by their bounds, or by its name if A and B are called so (named). A leading dimension may be longer than a size. A
    dimension that the kernel also compares with its own size is not judged: the other comparison may be that of a
    causal mask. pitches: (the dimension that its lines run along, the pitch) of each stored D.
    """
    if not sizes.knows_launches:
        return []
    stored = _group_pitches(sizes, pitches)
    letters = {of: {sizes.rename(sizes.letters[of])} if named and sizes.letters else set() for of in "mn"}
    compared = {dimension: {size for of, size, _ in sizes.bounds if of == dimension} for dimension in "mn"}
    findings = []
    for dimension, size, span in sizes.bounds:
        other = "n" if dimension == "m" else "m"
        own = (sizes.limits[dimension] | stored[dimension] | letters[dimension]) - {size}
        of_other = stored[other] | compared[other]
        if size in stored[dimension] | letters[dimension] or size not in of_other:
            continue
        if not own or own & (of_other | compared[dimension]):
            continue
        message = (
            f"The {_LINES[dimension]} of D are kept below {size} here, which is the number of its {_LINES[other]}: they"
            f" are limited by {' or '.join(sorted(own))}."
        )
        findings.append(CheckFinding("bound_of_other_size", message, span))
    return findings


def _group_pitches(sizes: ProductSizes, pitches: Sequence[tuple[str, str]]) -> dict[str, set[str]]:
    """Return the pitches that are sizes by the dimension that they are of."""
    found: dict[str, set[str]] = {"m": set(), "n": set()}
    for along, size in pitches:
        if along in found and not is_stride(size):
            found[along].add(sizes.rename(size))
    return found
