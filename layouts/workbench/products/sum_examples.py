"""Show by one example what is not of A·B in a run with known sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lanescope.reader.threads.memory.storage import Ints
from lanescope.workbench.products.known_sums import KnownFragment, WrongPart, read_side
from lanescope.workbench.products.matrix_orders import ABSENT, MatrixOrder, OperandLines, read_lines, split_places


def give_example(part: WrongPart | None) -> str:
    """Return ": " and what shows that a sum is not of A·B with matrices in the given order; "" if nothing does."""
    if part is None or part.order is None or part.fragment is None or part.fragment.bits < 8:
        return ""
    order, one = part.order, part.fragment
    a, b = sides = read_side(order, one, 0), read_side(order, one, 1)
    depth = one.products[0].a.filled.shape[1]
    if order.known.k % depth and all(each.a.zeros is None and each.b.zeros is None for each in one.products):
        return f": K = {order.known.k} is not a multiple of {depth}, the depth of one product"
    short = next((n for n in (0, 1) if len(sides[n]) < len(one.products)), None)
    if short is not None:
        order, found = _show_operand(order, one, short)
    else:
        shown = [_show_lines(order, n, sides[n]) for n in (0, 1)] + [_show_arrays(one), _show_matrices(order, sides)]
        shown += [_show_factors(order, a, b), _show_depth(order, a, b, one.adds), _show_place(order, one, a, b)]
        found = next(filter(None, shown), "")
    return f": {found}{_name_orders(order, found)}" if found else ""


def _name_element(order: MatrixOrder, n: int, line: int, k: int) -> str:
    """Return the element of A or B that an operand has. n: 0 for A of the instruction, which may be B of the kernel."""
    return f"A[{line}][{k}]" if n == order.turned else f"B[{k}][{line}]"


def _name_orders(order: MatrixOrder, found: str) -> str:
    """Return how the matrices are stored of which elements are shown."""
    by_rows = order.by_k[order.turned], not order.by_k[not order.turned], order.by_columns == order.turned
    majors = [("row-major" if rows else "column-major", name) for rows, name in zip(by_rows, "ABD", strict=True)]
    named = [(major, name) for major, name in majors if f"{name}[" in found]
    if len(named) == 2 and named[0][0] == named[1][0]:
        return f", if A and B are {named[0][0]}"
    return f", if {' and '.join(f'{name} is {major}' for major, name in named)}" if named else ""


def _show_operand(order: MatrixOrder, one: KnownFragment, n: int) -> tuple[MatrixOrder, str]:
    """Show two elements of an operand that are taken as one row of A or column of B, or as one k, and are not.

    The matrix is taken as stored along K if the operand has neighbours there.
    """
    first: OperandLines | None = None
    for origin in (each.sides[n] for each in reversed(one.products)):
        lines = read_lines(order, (origin, n, one.bits), first)
        first = first or lines
        if lines is None:
            break
    if origin.empty:
        return order, f"{origin.empty} of the {origin.total} elements of one are not known"
    size = (origin.element_bits or one.bits) // 8
    if origin.names != ("",) or not origin.array or origin.zeros is not None or origin.unpacked or not size:
        return order, ""
    by_k = abs(origin.k_step[0]) == size
    order = replace(order, by_k=(by_k, order.by_k[1]) if n == 0 else (order.by_k[0], by_k))
    places = split_places(origin.places[0] // size, (order.sizes[n], order.known.k), by_k)
    return order, "" if (origin.places[0] % size).any() else _show_pair(order, n, places)


def _show_pair(order: MatrixOrder, n: int, places: tuple[Ints, Ints, Ints]) -> str:
    """Show the first two elements that are not of one row or column, or not of one k. places: lines, k and matrices."""
    line, k, matrix = places
    if (matrix != matrix[0, 0]).any():
        return ""
    name = "row" if n == order.turned else "column"
    for apart, taken, across in ((line != line[:, :1], name, False), (k != k[:1], "k", True)):
        for row, column in np.argwhere(apart)[:1].tolist():
            pair = (0, column) if across else (row, 0), (row, column)
            elements = (_name_element(order, n, int(line[at]), int(k[at])) for at in pair)
            return f"{' and '.join(elements)} are taken as the same {taken}"
    return ""


def _show_lines(order: MatrixOrder, n: int, side: Sequence[OperandLines]) -> str:
    """Show two elements of different rows of A, or columns of B, that one sum takes."""
    first = side[0]
    for other in (each for each in side if len(each.lines) == len(first.lines)):
        apart = np.flatnonzero(other.lines != first.lines)
        if len(apart) and first.k[0] > ABSENT and other.k[0] > ABSENT and other.matrix == first.matrix:
            pair = (_name_element(order, n, int(one.lines[apart[0]]), int(one.k[0])) for one in (first, other))
            return f"products of {' and '.join(pair)} are added"
    return ""


def _show_arrays(one: KnownFragment) -> str:
    """Show the array that both operands are loaded from."""
    arrays = {side.array for each in one.products for side in each.sides}
    return f"both operands are loaded from {min(arrays)}" if len(arrays) == 1 and all(arrays) else ""


def _show_matrices(order: MatrixOrder, sides: Sequence[Sequence[OperandLines]]) -> str:
    """Show an operand whose products are of several matrices of a batch."""
    several = [n for n, side in enumerate(sides) if len({each.matrix for each in side}) > 1]
    return f"products of several matrices of {'A' if several[0] == order.turned else 'B'} are added" if several else ""


def _show_factors(order: MatrixOrder, a: Sequence[OperandLines], b: Sequence[OperandLines]) -> str:
    """Show two elements that are multiplied although their k differ."""
    for of_a, of_b in zip(a, b, strict=True):
        for at in np.flatnonzero((of_a.k != of_b.k) & (of_a.k > ABSENT) & (of_b.k > ABSENT))[:1].tolist():
            pair = [_name_element(order, n, int(of.lines[0]), int(of.k[at])) for n, of in enumerate((of_a, of_b))]
            return f"{pair[order.turned]} is multiplied by {pair[not order.turned]}"
    return ""


def _show_depth(order: MatrixOrder, a: Sequence[OperandLines], b: Sequence[OperandLines], adds: bool) -> str:
    """Show a k that is added several times, beyond K or not at all; if other blocks add to D, which k are added."""
    every = np.concatenate([np.minimum(of_a.k, of_b.k) for of_a, of_b in zip(a, b, strict=True)])
    values, counts = np.unique(every[every > ABSENT], return_counts=True)
    several = np.flatnonzero(counts > 1)
    if len(several):
        return f"k = {values[several[0]]} is added {counts[several[0]]} times"
    if adds and len(values):
        return f"its products take k = {values[0]} to {values[-1]}"
    beyond, missing = values[values >= order.known.k], np.setdiff1d(np.arange(order.known.k), values)
    if len(beyond):
        return f"k = {beyond[0]} is added"
    return f"k = {missing[0]} is not added" if len(missing) else ""


def _show_place(order: MatrixOrder, one: KnownFragment, a: Sequence[OperandLines], b: Sequence[OperandLines]) -> str:
    """Show an element of D that is made of another row and column."""
    made = a[0].lines[one.row], b[0].lines[one.column]
    _, *place = order.split(one.place)
    apart = np.flatnonzero((made[0] != place[0]) | (made[1] != place[1]))
    if not len(apart):
        return ""
    (row, column), (i, j) = ([int(of[apart[0]]) for of in pair][:: -1 if order.turned else 1] for pair in (made, place))
    return f"D[{i}][{j}] is that of row {row} of A and column {column} of B"
