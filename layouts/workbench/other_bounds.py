"""Find bounds of a product's rows by the size of its columns, and the reverse: min(row, N - 1) for a row of A."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from lanescope.workbench.product_sizes import ProductSizes
from lanescope.workbench.thread_descriptors import FragmentFinding

TITLES = {"bound_of_other_size": "Rows are kept inside a matrix by its number of columns, or the reverse"}
_LINES = {"m": "rows", "n": "columns"}


def find_other_bounds(sizes: ProductSizes, pitches: Sequence[tuple[str, str]], named: bool) -> list[FragmentFinding]:
    """Return the comparisons that limit rows of D by the size of its columns, or the reverse.

    A size is that of the columns if rows of D are so far apart, or by its name if A and B are called so (named), and of
    the rows by other bounds. A dimension that the kernel also compares with its own size is not judged: the other
    comparison may be that of a causal mask. pitches: (the dimension that its lines run along, the pitch) of each
    stored D.
    """
    if not sizes.knows_launches:
        return []
    known = {dimension: {sizes.rename(size) for along, size in pitches if along == dimension} for dimension in "mn"}
    letters = {of: sizes.rename(sizes.letters[of]) for of in "mn"} if named and sizes.letters else {}
    findings = []
    for dimension, size, span in sizes.bounds:
        other = "n" if dimension == "m" else "m"
        own = (sizes.limits[dimension] | known[dimension] | _get(letters, dimension)) - {size}
        if any(of == dimension and one in own for of, one, _ in sizes.bounds):
            continue
        if size not in known[other] | _get(letters, other) or not own or own & (known[other] | _get(letters, other)):
            continue
        if size == letters.get(dimension) or size in known[dimension]:
            continue
        message = (
            f"The {_LINES[dimension]} of D are kept below {size} here, which is the number of its {_LINES[other]}: they"
            f" are limited by {' or '.join(sorted(own))}."
        )
        findings.append(FragmentFinding("bound_of_other_size", message, span))
    return findings


def _get(letters: dict[str, str], dimension: str) -> AbstractSet[str]:
    return {letters[dimension]} if dimension in letters else set()
