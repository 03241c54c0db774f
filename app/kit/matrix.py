"""One matrix as a page's script draws it, whatever its owners come from."""

from __future__ import annotations

from lanescope.app.kit.fact import fact


@fact
class MatrixData:
    """A matrix and the facts of its elements. bits, spoken_bits: of each value of a thread; copies: how many hold an
    element; digits: names that a label may use; extra: axes beside row and column.
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
