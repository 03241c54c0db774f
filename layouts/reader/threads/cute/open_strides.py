"""Numbers that are not known, as shapes and strides of CuTe layouts hold them.

A stride is an integer whose digits of 64 bits are the factors of the products of open names (1, K, lda, …): layouts add
and multiply strides, so that CuTe's algebra needs no symbols. An open extent is a large number that tiles divide.
"""

from __future__ import annotations

from typing import Any

from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, as_array, make_number
from lanescope.reader.threads.language.quotients import Monomial

OPEN_EXTENT = 945 << 34  # 945 = 27 · 5 · 7
_LEAST_OPEN = 1 << 30  # what is left of an open extent after any tile
_BITS = 64


class OpenStrides:
    """The products of open names that strides of a run contain."""

    def __init__(self) -> None:
        self.products: list[Monomial] = [()]

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
