"""Find slices of K that CuTe's products of a traced kernel add twice, pair wrongly, or leave out.

Every element of A and B has the coordinates in global memory from which its TMA copy has loaded it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.cute.async_trace import AsyncStep, split_coordinates
from lanescope.reader.threads.memory.storage import Ints, Span
from lanescope.workbench.text.function_texts import blank_text, find_functions, list_reached_texts
from lanescope.workbench.text.loop_texts import list_loops_at

_WAIT = re.compile(r"(?<!group_)(?<!cluster_)wait\w*\s*\(")  # for an mbarrier
SLICES_LEFT = "k_slices_left"


@dataclass(frozen=True, slots=True, eq=False)
class TileSource:
    """Where an operand of a product is loaded from.

    atom: the call that makes the TMA atom; index: of each element, [rows, k]; operand: a or b, as the TiledMMA has
    partitioned it; call: the first copy; copies: the numbers of all copies.
    """

    atom: Span
    index: Ints
    operand: str
    call: Span
    copies: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AddedTile:
    """A product of a sum. a, b: its operands, None if they are not known."""

    step: AsyncStep
    a: TileSource | None
    b: TileSource | None


@dataclass(slots=True, eq=False)
class MadeSum:
    """The products that add to accumulators since these were set. used: whether their sum may have been used."""

    tiles: list[AddedTile] = field(default_factory=list)
    used: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """An operand of a sum. along: the dimension that is K; slices: the coordinates along K in each product."""

    sources: Sequence[TileSource]
    along: int
    slices: list[tuple[int, ...]]

    def is_consecutive(self) -> bool:
        """Return whether the slices are those from K = 0 on, in order."""
        every = [k for one in self.slices for k in one]
        return every == list(range(len(every)))

    def find_repeated(self) -> int | None:
        """Return the first product that adds the slice of an earlier one."""
        return next((n for n, one in enumerate(self.slices) if one in self.slices[:n]), None)


def find_sum_mistake(
    sums: Sequence[Sequence[MadeSum]], extents: Mapping[Span, tuple[int, ...]], text: str, kernel: str
) -> Pitfall | None:
    """Return the first mistake in the sums of D.

    sums: of each agent, in order; extents: the sizes of the tensor of each TMA atom; kernel: the name of the kernel.
    """
    found: list[tuple[_Side, _Side]] = []
    for of_agent in sums:
        for tiles in (one.tiles for one in of_agent if one.tiles):
            exchanged = next((tile for tile in tiles if _is_exchanged(tile)), None)
            if exchanged is not None:
                return _describe_exchange(exchanged)
            a, b = _read_side([tile.a for tile in tiles]), _read_side([tile.b for tile in tiles])
            if a is None or b is None:
                return None
            lengths = [extents.get(side.sources[0].atom, ())[side.along :][:1] for side in (a, b)]
            if lengths[0] != lengths[1]:  # such as A of two parts, each multiplied with the whole B
                return None
            mistake = _compare_slices(tiles, a, b)
            if mistake is not None:
                return mistake
            found.append((a, b))
    last = [one.tiles[-1].step for one in sums[0] if one.tiles][-1:]
    return _find_left(last, found, extents, text, kernel) if found else None


def _is_exchanged(tile: AddedTile) -> bool:
    roles = [source.operand if source is not None else "" for source in (tile.a, tile.b)]
    return roles[0] == "b" or roles[1] == "a"


def _describe_exchange(tile: AddedTile) -> Pitfall:
    message = (
        "gemm gets the fragment of B as A, or that of A as B: rows and columns of D are exchanged. The arguments are"
        " gemm(mma, A, B, C)."
    )
    (first, _), (_, past) = tile.step.sites
    return Pitfall("cute_gemm_misfit", message, (first, past))


def _read_side(sources: Sequence[TileSource | None]) -> _Side | None:
    """Return an operand of a sum; None if its slices do not follow one dimension of one tensor."""
    known = [source for source in sources if source is not None]
    if len(known) < len(sources) or len({source.atom for source in known}) > 1:
        return None
    lines = []
    for source in known:
        at = split_coordinates(source.index)
        moved = (at - at[:1, :1]).astype(np.int64)
        if (moved != moved[:, :1] + moved[:1]).any():  # rows and K are not apart
            return None
        lines.append(at[0])
    varying = {int(n) for line in lines for n in np.flatnonzero((line != line[:1]).any(axis=0))}
    if len(varying) != 1:
        return None
    along = varying.pop()
    return _Side(known, along, [tuple(line[:, along].tolist()) for line in lines])


def _compare_slices(tiles: Sequence[AddedTile], a: _Side, b: _Side) -> Pitfall | None:
    """Return the finding of slices of A and B with different k, or that a sum adds twice."""
    again = [side.find_repeated() for side in (a, b)]
    if a.slices == b.slices:
        n = again[0]
        even = len(set(map(a.slices.count, a.slices))) == 1
        return None if n is None or even else _describe_repeated(tiles[n], a, n, "")
    if _may_be_meant(a, b):
        return None
    repeating = [n for n in (0, 1) if again[n] is not None]
    if len(repeating) == 1:
        number = again[repeating[0]] or 0
        return _describe_repeated(tiles[number], (a, b)[repeating[0]], number, "AB"[repeating[0]])
    wrong = [side for side in (a, b) if not side.is_consecutive()]
    return None if repeating or len(wrong) != 1 else _describe_other(a, b, wrong[0] is b)


def _may_be_meant(a: _Side, b: _Side) -> bool:
    """Return whether A and B may differ on purpose: all slices by the same distance, or their sizes differ, or one
    takes all of its slices again, such as for two parts of the other.
    """
    away = {x - y for one, other in zip(a.slices, b.slices, strict=True) for x, y in zip(one, other, strict=False)}
    half = len(a.slices) // 2
    again = any(side.slices[:half] == side.slices[half:] and len(set(side.slices)) > 1 for side in (a, b))
    return again or len(away) == 1 or len(set(map(len, (*a.slices, *b.slices)))) > 1


def _describe_other(a: _Side, b: _Side, second: bool) -> Pitfall:
    """Return the finding of an operand whose slices are not in the order of K. second: whether it is B."""
    number = next(n for n, pair in enumerate(zip(a.slices, b.slices, strict=True)) if pair[0] != pair[1])
    side, other, names = (b, a, "BA") if second else (a, b, "AB")
    message = (
        f"{names[0]} takes the slice at K = {side.slices[number][0]} with the slice of {names[1]} at K ="
        f" {other.slices[number][0]}: both must be the same."
    )
    return Pitfall("k_coordinate_wrong", message, side.sources[number].call)


def _describe_repeated(tile: AddedTile, side: _Side, number: int, operand: str) -> Pitfall:
    """Return the finding of a product that adds a slice again. operand: A or B, "" for both."""
    source, earlier = side.sources[number], side.slices.index(side.slices[number])
    same = bool(set(source.copies) & set(side.sources[earlier].copies))
    what = f"{operand} takes the slice" if operand else "A and B take the slices"
    message = f"{what} at K = {side.slices[number][0]} twice for the same D: each slice must be added once."
    site = (tile.step.sites["AB".index(operand)] if operand else tile.step.call) if same else source.call
    return Pitfall("k_slice_repeated", message, site)


def _find_left(
    last: Sequence[AsyncStep],
    sides: Sequence[tuple[_Side, _Side]],
    extents: Mapping[Span, tuple[int, ...]],
    text: str,
    kernel: str,
) -> Pitfall | None:
    """Return the finding of slices that no product takes. last: a product of a sum, if it is known."""
    blank = blank_text(text)
    functions = find_functions(blank)
    reached = (body for one in functions if one.name == kernel for body in list_reached_texts(blank, functions, one))
    if any("gridDim" in body or "blockIdx.z" in body for body in reached):  # other blocks may take them
        return None
    (a, _), *_ = sides
    extent = extents.get(a.sources[0].atom, ())
    taken = {k for side, _ in sides for one in side.slices for k in one}
    if a.along >= len(extent) or any(side.along != a.along for side, _ in sides):
        return None
    left = sorted(set(range(extent[a.along])) - taken)
    if not last or not left or len(taken) < len(left):
        return None
    return Pitfall(SLICES_LEFT, _describe_left(left, extent[a.along]), _find_loop(blank, last[0].call))


def _describe_left(left: Sequence[int], extent: int) -> str:
    """Describe the slices that no product takes: all of them if they are at one end of K, else the first ones."""
    count = next((n for n, k in enumerate(left) if k != left[0] + n), len(left))
    if count == len(left) and (left[0] == 0 or left[-1] == extent - 1):
        what = f"the {'first' if left[0] == 0 else 'last'} {count} elements of K"
    else:
        what = f"K = {left[0]} to {left[0] + count - 1}"
    return f"No product takes {what} of A and B: these slices are missing in D."


def _find_loop(blank: str, call: Span) -> Span:
    """Return the head of the innermost loop around a product that waits for its tiles, else of the innermost one, else
    the product.
    """
    loops = list_loops_at(blank, call[0])
    waiting = [loop for loop in loops if _WAIT.search(blank, *loop.body)]
    return (waiting or loops)[-1].head if loops else call
