"""Find that D is certainly no product of matrices: elements are lost, stored over each other, or computed twice.

A kernel may store D in an order of its own, or multiply other matrices than a run takes for A and B. Then each row of A
and each column of B is one of a matrix, and each pair of them has one place in D. Only what breaks this is certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lanescope.reader.threads.memory.storage import EMPTY, Ints
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.products.known_mistakes import leaves_unread
from lanescope.workbench.products.known_sums import KnownFragment, read_side
from lanescope.workbench.products.matrix_orders import MatrixOrder
from lanescope.workbench.products.product_origins import Block
from lanescope.workbench.products.product_report import ProductVerdict
from lanescope.workbench.products.result_stores import are_repeated
from lanescope.workbench.products.stored_elements import list_placed

A, B, D = range(3)


def find_wrong_sides(verdict: ProductVerdict) -> tuple[int, ...]:
    """Return what is wrong of A, B and D (0, 1 and 2) if D is certainly no product of matrices; else nothing."""
    part, every = verdict.wrong, verdict.every
    if part is not None and part.fragment is None:
        return part.sides if any(map(_is_stored_over, verdict.runners)) else ()
    if adds_twice(verdict):
        return A, B
    adds, arrays = any(one.adds for one in every), {name for one in every for name in one.arrays}
    if verdict.open is None or adds or len(arrays) > 1:
        return ()
    if any(map(_is_repeated, verdict.fragments.values())):
        return A, B, D
    found = (_judge_places(verdict, of) for of in verdict.fragments.values() if of and part is not None)
    return next(filter(None, found), ())


def adds_twice(verdict: ProductVerdict) -> bool:
    """Return whether several blocks along z add products of the same k to an element of D."""
    order = verdict.wrong.order if verdict.wrong is not None else None
    sums: dict[object, list[Ints]] = {}
    for one in verdict.every:
        taken = read_side(order, one, A) if order is not None and one.adds and one.depth > 1 else []
        if taken and len(taken) == len(one.products) and len({of.matrix for of in taken}) == 1:
            key = int(one.place[0]), taken[0].matrix
            sums.setdefault(key, []).append(np.unique(np.concatenate([of.k for of in taken])))
    return any(len(np.unique(np.concatenate(of))) < sum(map(len, of)) for of in sums.values())


def _is_stored_over(run: KernelRunner) -> bool:
    """Return whether two elements of D are stored to one place, or bytes that nothing has set to another one: elements
    that are stored nowhere may be left out on purpose.
    """
    if any((store.data.record[store.active] == EMPTY).any() for store in run.outputs):
        return True
    places: dict[str, list[Ints]] = {}
    for array, one, put in list_placed(run):
        element = np.stack([put, np.full(len(put), one.record), one.thread, one.byte], axis=1)
        places.setdefault(array, []).append(element)
    return any(_has_several(np.concatenate(of)) for of in places.values())


def _has_several(rows: Ints) -> bool:
    """Return whether rows that differ begin with the same number."""
    every = np.unique(rows, axis=0)
    return len(np.unique(every[:, 0])) < len(every)


def _is_repeated(fragments: Sequence[KnownFragment]) -> bool:
    """Return whether several fragments store the same elements of D, but for blocks along z: these may take turns."""
    layers: dict[int, list[Ints]] = {}
    for one in fragments:
        layers.setdefault(one.block[2], []).append(np.unique(one.place))
    return any(len(np.unique(np.concatenate(of))) < sum(map(len, of)) for of in layers.values())


def _judge_places(verdict: ProductVerdict, fragments: Sequence[KnownFragment]) -> tuple[int, ...]:
    """Return what is wrong of the fragments of a launch, if it breaks any product."""
    a, b = (_number_lines(fragments, n) for n in (A, B))
    if a is None or b is None:
        return ()
    zipped = zip(fragments, a[0], b[0], strict=True)
    pairs = [np.stack([one.place, rows[one.row], columns[one.column]], axis=1) for one, rows, columns in zipped]
    every = np.unique(np.concatenate(pairs), axis=0)
    if _has_several(every):
        return (D,)
    again = a[1] or b[1] or len(np.unique(every[:, 1:], axis=0)) < len(every)
    return _choose_sides(verdict, fragments, every) if again else ()


def _choose_sides(verdict: ProductVerdict, fragments: Sequence[KnownFragment], every: Ints) -> tuple[int, ...]:
    """Return which of A and B is wrong where elements are computed twice. every: the place, row of A and column of B of
    each element.

    It may be on purpose, as where several rows in sequence share one of A: not if the row of A depends on the column
    in D, too, or if threads copy rows that no product takes.
    """
    part = verdict.wrong
    if part is None or part.order is None:
        return ()
    pairs = _pair_lines(part.order, every)
    mixed = tuple(n for n in (A, B) if _has_several(pairs[n]))
    sides = [n for n in part.sides if n != D and not are_repeated(pairs[n][:, 1])]
    arrays = [{each.sides[n].array for one in fragments for each in one.products} for n in (A, B)]
    unread = tuple(n for n in sides if any(leaves_unread(run, arrays[n]) for run in verdict.runners))
    return mixed or unread or tuple(n for n in sides if _share_lines(part.order, fragments, n))


def _pair_lines(order: MatrixOrder, every: Ints) -> list[Ints]:
    """Return the (row of D, row of A), and the (column of D, column of B), that there are; see _choose_sides."""
    matrix, *at = order.split(every[:, 0])
    return [np.unique(np.stack([at[n] + (matrix << 32), every[:, 1 + n]], axis=1), axis=0) for n in (A, B)]


def _share_lines(order: MatrixOrder, fragments: Sequence[KnownFragment], n: int) -> bool:
    """Return whether some rows of A (n: 0) or columns of B, but not all, are those of two blocks, or of several rows of
    D in one block.
    """
    known = _number_lines(fragments, n)
    blocks: dict[Block, set[tuple[int, int]]] = {}
    for one, numbers in zip(fragments, known[0] if known is not None else (), strict=False):
        lines = order.split(one.place)[1 + n].tolist()
        blocks.setdefault(one.block, set()).update(zip(lines, numbers[(one.row, one.column)[n]].tolist(), strict=True))
    uses = [Counter(number for _, number in of) for of in blocks.values()]
    apart = any(one.keys() != other.keys() and one.keys() & other.keys() for one, other in combinations(uses, 2))
    return apart or any(len({*of.values()}) > 1 for of in uses)


def _number_lines(fragments: Sequence[KnownFragment], n: int) -> tuple[list[Ints], bool] | None:
    """Return (the numbers of the rows of A (n: 0) or columns of B of each fragment, equal ones the same; whether two
    share some of their elements, or some are set by nothing); None if what they are of is not known.
    """
    known, seen, arrays = dict[bytes, int](), dict[tuple[int, ...], Ints](), dict[str, int]()
    numbers, rows, mixed = list[Ints](), list[Ints](), False
    for one in fragments:
        key = tuple(id(each.sides[n]) for each in one.products)
        if key not in seen:
            origins = [each.sides[n] for each in one.products]
            if any(side.names != ("",) or side.zeros is not None for side in origins):
                return None
            mixed |= any(bool(side.empty) or not side.array for side in origins)
            every = [side.places[0] + (arrays.setdefault(side.array, len(arrays)) << 48) for side in origins]
            lines = np.sort(np.concatenate(every, axis=1), axis=1)
            found = []
            for line in lines:
                text = line.tobytes()
                rows += [line] if text not in known else []
                found.append(known.setdefault(text, len(known)))
            seen[key] = np.array(found)
        numbers.append(seen[key])
    elements = np.concatenate(rows)
    return numbers, mixed or len(np.unique(elements)) < len(elements)
