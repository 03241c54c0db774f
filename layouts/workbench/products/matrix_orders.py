"""The orders in which A, B and D may be stored, and the rows or columns that an operand is of in each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from lanescope.reader.threads.memory.storage import Ints
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.products.known_matrices import KnownMatrices

_MOST_BITS = 64  # of an element
ABSENT = -(1 << 40)  # k of elements that are 0


@dataclass(frozen=True, slots=True)
class OperandLines:
    """Elements of an operand: the rows of A or columns of B, the k of each in elements, ABSENT if all are 0 there, and
    the matrix of a batch.
    """

    lines: Ints
    k: Ints
    matrix: int


@dataclass(frozen=True, slots=True)
class MatrixOrder:
    """How the matrices of a product are stored. turned: whether D is Bᵀ·Aᵀ; by_k: of A and B, whether k is innermost;
    by_columns: whether rows of D are innermost; part: the k of the sums, if they are not all.
    """

    known: KnownMatrices
    turned: bool
    by_k: tuple[bool, bool]
    by_columns: bool
    part: tuple[int, ...] = ()

    def split(self, place: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the matrix of a batch, the row and the column of places in D."""
        rows, columns = self.sizes
        outer, within = np.divmod(place, rows if self.by_columns else columns)
        matrix, line = np.divmod(outer, columns if self.by_columns else rows)
        return (matrix, within, line) if self.by_columns else (matrix, line, within)

    @property
    def sizes(self) -> tuple[int, int]:
        """The rows and columns of D, as the instruction has them."""
        pair = self.known.m, self.known.n
        return pair[::-1] if self.turned else pair


def list_orders(known: KnownMatrices) -> list[MatrixOrder]:
    return [MatrixOrder(known, turned, (a, b), d) for turned, a, b, d in product((False, True), repeat=4)]


def read_lines(
    order: MatrixOrder, operand: tuple[FragmentOrigin, int, int], first: OperandLines | None
) -> OperandLines | None:
    """Return the rows or columns and k of an operand: its origin, 0 for A, the bits of an element. None if they are not
    separate. first: the lines at the beginning of the sum, whose k may go on beyond their ends.
    """
    origin, n, bits = operand
    if origin.zeros is not None:
        return _read_filled(order, operand, first)
    if origin.names != ("",) or not origin.array or origin.empty:
        return None
    if bits >= 8 or origin.unpacked:  # in memory; elements that are further apart are not neighbours
        bits = origin.element_bits if 0 < origin.element_bits <= _MOST_BITS else bits
    place, rest = np.divmod(origin.places[0], max(bits // 8, 1))
    sizes = order.sizes[n], order.known.k if origin.unpacked else order.known.k * min(bits, 8) // 8
    if rest.any():
        return None
    found = _follow_lines(place, sizes, order.by_k[n], first) if first is not None else None
    return found or _split_lines(place, sizes, order.by_k[n])


def _read_filled(
    order: MatrixOrder, operand: tuple[FragmentOrigin, int, int], first: OperandLines | None
) -> OperandLines | None:
    """Return the rows or columns and k of an operand some of whose k are 0 in all rows; None if others are 0, too."""
    origin, n, bits = operand
    zeros = origin.zeros
    assert zeros is not None
    if (zeros != zeros[:1]).any():
        return None
    if zeros.all():
        return None if first is None else replace(first, k=np.full(zeros.shape[1], ABSENT))
    keep = ~zeros[0]
    some = replace(origin, zeros=None, places=tuple(of[:, keep] for of in origin.places), filled=origin.filled[:, keep])
    found = read_lines(order, (some, n, bits), first)
    if found is None:
        return None
    k = np.full(len(keep), ABSENT)
    k[keep] = found.k
    return replace(found, k=k)


def _follow_lines(place: Ints, sizes: tuple[int, int], by_k: bool, first: OperandLines) -> OperandLines | None:
    """Return elements of the same lines as others; None if they are not. sizes: the lines and the depth of a matrix."""
    size, depth = sizes
    if len(first.lines) != len(place):
        return None
    start = first.matrix * size * depth + first.lines * (depth if by_k else 1)
    k, rest = np.divmod(place - start[:, None], 1 if by_k else size)
    if rest.any() or (k != k[:1]).any() or k.min() <= -depth or k.max() >= 2 * depth:
        return None
    return OperandLines(first.lines, k[0], first.matrix)


def _split_lines(place: Ints, sizes: tuple[int, int], by_k: bool) -> OperandLines | None:
    """Return the lines and k of elements inside a matrix; None if these are not separate."""
    line, k, matrix = split_places(place, sizes, by_k)
    if (line != line[:, :1]).any() or (k != k[:1]).any() or (matrix != matrix[0, 0]).any():
        return None
    return OperandLines(line[:, 0], k[0], int(matrix[0, 0]))


def split_places(place: Ints, sizes: tuple[int, int], by_k: bool) -> tuple[Ints, Ints, Ints]:
    """Return the row of A or column of B, the k and the matrix of a batch of elements. sizes: lines and depth."""
    size, depth = sizes
    line, k = np.divmod(place, depth) if by_k else np.divmod(place, size)[::-1]
    matrix, rest = np.divmod(line, size) if by_k else np.divmod(k, depth)
    return (rest, k, matrix) if by_k else (line, rest, matrix)
