"""A matrix as scripts draw it, whatever its holders are."""

from __future__ import annotations

from lanescope.app.kit.fact import fact


@fact
class MatrixData:
    """A matrix and its elements.

    bits, spoken_bits: of each value of a thread; copies: holders per element; digits: names that a label may use;
    extra: axes besides row and column.
    """

    name: str
    title: str
    element_type: str
    rows: int
    cols: int
    copies: int
    bits: tuple[str, ...]
    spoken_bits: tuple[str, ...]
    digits: tuple[str, ...]
    extra: dict[str, int]
