"""Numbers that are not known, as shapes and strides of CuTe layouts hold them.

A stride is an integer whose digits of 64 bits are the factors of the products of open names (1, K, lda, …): layouts add
and multiply strides, so that CuTe's algebra needs no symbols. An open extent is a large number that tiles divide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.cute.layout import CuteLayout
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, as_array, make_number
from lanescope.reader.threads.language.quotients import Monomial

OPEN_EXTENT = 945 << 34  # 945 = 27 · 5 · 7
_LEAST_OPEN = 1 << 30  # what is left of an open extent after any tile
_BITS = 64


@dataclass(frozen=True, slots=True, eq=False)
class TensorLine:
    """A matrix in global memory of which one stride is 1: its pitch, the elements of a line, and where they stand."""

    pitch: ThreadNumber
    length: ThreadNumber
    site: tuple[int, int]
    calls: tuple[tuple[int, int], ...]


class OpenStrides:
    """The products of open names that strides of a run contain.

    lines: by the id of a layout: this, its pitch and the extent along its lines; tensors: by array, None if it has
    several layouts; outside: the first local_tile of a tile that its matrix does not have, and the array.
    """

    def __init__(self) -> None:
        self.products: list[Monomial] = [()]
        self.lines: dict[int, tuple[CuteLayout, tuple[ThreadNumber, ThreadNumber]]] = {}
        self.tensors: dict[str, TensorLine | None] = {}
        self.outside: tuple[tuple[int, int], str] | None = None

    def note_tensor(
        self, array: str, layout: CuteLayout, site: tuple[int, int], calls: Sequence[tuple[int, int]]
    ) -> None:
        """Note the layout of a tensor in global memory."""
        of_layout = self.lines.get(id(layout), (None, None))[1]
        before = self.tensors.get(array)
        line = TensorLine(*of_layout, site, tuple(calls)) if of_layout is not None else None
        same = before is None or (line is not None and before.site == line.site)
        self.tensors[array] = line if same and (array not in self.tensors or before is not None) else None

    def encode(self, number: Any) -> int | None:
        """Return a number as a stride; None if it is unknown or differs between threads."""
        if isinstance(number, int):
            return number
        if not isinstance(number, ThreadNumber) or not number.uniform:
            return None
        total = 0
        for product, factor in number.terms.items():
            if product not in self.products:
                self.products.append(product)
            known = factor if isinstance(factor, int) else int(factor[0])
            total += known << _BITS * self.products.index(product)
        return total

    def decode(self, stride: int) -> ThreadNumber:
        """Return a stride, or a sum of multiples of strides, as a number."""
        terms: dict[Monomial, Any] = {}
        at, half = 0, 1 << _BITS - 1
        while stride and at < len(self.products):
            digit = (stride + half) % (2 * half) - half
            if digit:
                terms[self.products[at]] = digit
            stride = (stride - digit) >> _BITS
            at += 1
        return ThreadNumber(terms, LONG) if terms else make_number(0, LONG)


def is_open_extent(size: int) -> bool:
    """Return whether a size of a layout stands for one that is not known."""
    return size >= _LEAST_OPEN


def multiply_by_array(number: ThreadNumber, factor: Any) -> ThreadNumber:
    """Multiply a stride by the coordinate of every thread."""
    terms: dict[Monomial, Any] = {name: as_array(value) * factor for name, value in number.terms.items()}
    return ThreadNumber(terms, LONG)
