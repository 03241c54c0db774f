"""Determine slices by where the TMA loads of a text put the tiles: a use reads the slice that begins at its start.

`slice_order.py` takes the slices in the order of loops and calls. If a kernel multiplies them in another order, or in
several loops, its slices do not fit the tile; `workbench_builder.py` then tries the placements of this module.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod

import numpy as np

from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.copies.loads import FilledTile, LoadedTile, drop_threads
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.descriptors.slice_order import SlicePlace
from lanescope.workbench.reads.stores import TileStore
from lanescope.workbench.reads.tiles import StoredTile, TileRequest, lay_tile
from lanescope.workbench.results import VerifiedOperand
from lanescope.workbench.text.known_values import require_known

MOST_BOXES = 16  # of one tile
MOST_FURTHER = 4  # stages
MOST_GUESSED = 64  # tiles of one buffer
_Slice = tuple[int, int]  # (tile of M or N, K step)


@dataclass(frozen=True, slots=True)
class LoadedOperand:
    """An operand of a group of uses: how it is read, the store that holds it, the values that the user gives."""

    name: str
    view: View
    store: TileStore
    choices: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _LoadedStart:
    """The start of a descriptor: the stage, the bytes from the first one of its tile, the offsets of its boxes."""

    stage: object
    offset: int
    boxes: frozenset[int]
    varies: bool  # between threads


@dataclass(frozen=True, slots=True)
class _OperandSlices:
    """The slice of every use of an operand, for one extent of its tile; k_steps: those of the tile."""

    slices: Sequence[_Slice | None]
    k_steps: int


def list_loaded_operands(
    operands: Iterable[VerifiedOperand], stores: Iterable[TileStore], choices: Mapping[str, str]
) -> list[LoadedOperand]:
    """Return the operands whose store is known."""
    by_piece = {store.piece: store for store in stores}
    return [
        LoadedOperand(operand.name, operand.seen, by_piece[operand.storage], choices)
        for operand in operands
        if operand.seen is not None and operand.storage in by_piece
    ]


def list_loaded_places(
    uses: Sequence[DescriptorUse], operands: Sequence[LoadedOperand], tiles: Sequence[LoadedTile]
) -> Iterator[list[tuple[SlicePlace, DescriptorUse]]]:
    """Yield the placements in which the uses cover the tile of every stage: each slice along K as often as the others,
    and of A the same as of B. The uses are in the order of their slices.

    Later turns of a loop whose bounds are unknown may never run: those that read no slice are left out.
    """
    tiles = [*tiles, *_list_further_tiles(tiles)]
    starts = require_known(_find_loaded_starts(uses, operand, tiles) for operand in operands) or []
    stages = _number_stages(starts)
    if not stages:
        return
    shared_k = all(any(start.varies for start in of_operand) for of_operand in starts)
    later = list_later_turns(uses)
    choices = [_list_slices(operand, of_operand, later) for operand, of_operand in zip(operands, starts, strict=True)]
    for chosen in product(*choices):
        of_name = {operand.name: slices for operand, slices in zip(operands, chosen, strict=True)}
        placed = zip(_join_slices(stages, of_name) or [], uses, strict=False)
        kept = [(place, use) for place, use in placed if place is not None]
        if kept and _is_covered([place for place, _ in kept], 0 if shared_k else chosen[0].k_steps):
            yield sorted(kept, key=_order_placed)


def _find_loaded_starts(
    uses: Sequence[DescriptorUse], operand: LoadedOperand, tiles: Sequence[LoadedTile]
) -> list[_LoadedStart] | None:
    """Return the start of an operand in every use, in a tile that loads fill, else in guessed ones; None if one is in
    no tile.
    """
    guessed = list(_guess_tiles(uses, operand, tiles))
    if not tiles and not guessed:
        return None
    return _find_starts(uses, operand.name, tiles) or _find_starts(uses, operand.name, guessed)


def _guess_tiles(
    uses: Sequence[DescriptorUse], operand: LoadedOperand, tiles: Sequence[LoadedTile]
) -> Iterator[LoadedTile]:
    """Yield tiles of one box, one after the other from the lowest start on, for buffers whose loads are not known."""
    lines = [
        drop_threads(line)
        for use in uses
        if operand.name in use.arguments and (line := use.arguments[operand.name].address)
    ]
    size = prod(_list_sizes(operand)) * operand.view.bits // 8
    known = {tile.begin.terms for tile in tiles}
    for terms in dict.fromkeys(line.terms for line in lines if size and line.terms not in known):
        places = [line.const for line in lines if line.terms == terms]
        for begin in range(min(places), max(places) + 1, size)[:MOST_GUESSED]:
            yield LoadedTile(LinearExpression(begin, terms), frozenset((0,)), frozenset())


def _list_further_tiles(tiles: Sequence[LoadedTile]) -> Iterator[LoadedTile]:
    """Yield the stages after the known ones: of a loop whose end is unknown, only the first iterations are followed."""
    rings: dict[object, list[LoadedTile]] = defaultdict(list)
    for tile in tiles:
        rings[tile.begin.terms, tile.boxes, tile.maps].append(tile)
    for ring in rings.values():
        begins = sorted({tile.begin.const for tile in ring})
        distances = {later - earlier for earlier, later in pairwise(begins)}
        if len(begins) > 1 and len(distances) == 1:
            step = distances.pop()
            for n in range(1, MOST_FURTHER + 1):
                yield replace(ring[0], begin=LinearExpression(begins[-1] + n * step, ring[0].begin.terms))


def _order_placed(placed: tuple[SlicePlace, DescriptorUse]) -> tuple[int, int, int, int]:
    return placed[0].stage, placed[0].m, placed[0].n, placed[0].k


def _find_starts(uses: Sequence[DescriptorUse], name: str, tiles: Sequence[LoadedTile]) -> list[_LoadedStart] | None:
    """Return the start of an operand in every use; None if one is not in a loaded tile."""
    lines = [use.arguments[name].address if name in use.arguments else None for use in uses]
    known = [line for line in lines if line is not None]
    first = _count_skipped_bytes(known, tiles)
    starts = [start for line in known if (start := _find_start(line, first, tiles)) is not None]
    return starts if len(starts) == len(lines) else None


def _count_skipped_bytes(lines: Sequence[LinearExpression], tiles: Sequence[LoadedTile]) -> int:
    """Count the bytes from thread 0's start, which may be before the tile, to that of the first one that multiplies."""
    begins = [tile.begin.const for tile in tiles if lines and tile.begin.terms == drop_threads(lines[0]).terms]
    factors = {factor for line in lines for term, factor in line.terms if "threadIdx" in term}
    before = min(begins, default=0) - min((line.const for line in lines), default=0)
    return -(-before // step) * step if len(factors) == 1 and before > 0 and (step := factors.pop()) > 0 else 0


def _find_start(line: LinearExpression, skipped: int, tiles: Sequence[LoadedTile]) -> _LoadedStart | None:
    """Return the start in a loaded tile of the first thread that multiplies; None if it is in none."""
    at = drop_threads(line)
    const = at.const + skipped
    same = [tile for tile in tiles if tile.begin.terms == at.terms]
    begin = max((tile.begin.const for tile in same if tile.begin.const <= const), default=None)
    boxes = {tile.boxes for tile in same if tile.begin.const == begin}
    if begin is None or len(boxes) != 1 or len(some := boxes.pop()) > MOST_BOXES:
        return None
    threads = tuple(term for term in line.terms if "threadIdx" in term[0])
    others = tuple(term for term in line.terms if term not in threads)
    stage = () if len({tile.begin for tile in same}) == 1 else (others, begin)
    return _LoadedStart(stage, const - begin, some, bool(threads))


def _number_stages(starts: Sequence[Sequence[_LoadedStart]]) -> list[int] | None:
    """Number the stages of the uses; None if operands do not go from stage to stage together.

    A tile that is loaded once, such as Q of an attention, is there in all stages: its stage is ().
    """
    stages = list(zip(*([start.stage for start in of_operand] for of_operand in starts), strict=True))
    numbers = {stage: n for n, stage in enumerate(dict.fromkeys(stages))}
    alone = [set(of_operand) for of_operand in zip(*numbers, strict=True)]
    together = all(len(of_operand) == len(numbers) or of_operand == {()} for of_operand in alone)
    return [numbers[stage] for stage in stages] if together else None


def list_later_turns(uses: Sequence[DescriptorUse]) -> set[int]:
    """Return the numbers of uses in the second and later iterations of loops whose counter is unknown."""
    first: set[object] = set()
    later: set[int] = set()
    for n, use in enumerate(uses):
        call = use.site, use.loops
        if use.uncounted and call in first:
            later.add(n)
        first.add(call)
    return later


def _list_slices(
    operand: LoadedOperand, starts: Sequence[_LoadedStart], later: Collection[int]
) -> Iterator[_OperandSlices]:
    """Yield the slices of an operand for each extent that its tile may have; uses in `later` need not have one."""
    boxes = starts[0].boxes
    if any(start.boxes != boxes for start in starts):
        return
    for rows, depth in _list_extents(operand, len(boxes)):
        places = _map_slices(operand, rows, depth, boxes)
        slices = [places.get(start.offset) for start in starts]
        if all(place is not None or n in later for n, place in enumerate(slices)):
            yield _OperandSlices(slices, depth // operand.view.k)


def _list_extents(operand: LoadedOperand, count: int) -> Iterator[tuple[int, int]]:
    """Yield (rows, depth) of tiles of so many boxes that instructions divide."""
    sizes = _list_sizes(operand)
    if len(sizes) < 2:
        return
    lines = prod(sizes[1:])
    for panels in (n for n in range(1, count + 1) if count % n == 0):
        inner, outer = panels * sizes[0], count // panels * lines
        for rows, depth in dict.fromkeys([(outer, inner), (inner, outer)]):
            if rows % operand.view.rows == 0 and depth % operand.view.k == 0:
                yield rows, depth


def _list_sizes(operand: LoadedOperand) -> list[int]:
    """Return the sizes of an operand's box, [] if one is unknown."""
    sizes = operand.store.map.box if operand.store.map is not None else ()
    known = [size for size in sizes if size]
    return known if len(known) == len(sizes) else []


def _map_slices(operand: LoadedOperand, rows: int, depth: int, boxes: frozenset[int]) -> dict[int, _Slice]:
    """Map byte offsets of a tile to the slices that begin there; {} if the tile does not consist of these boxes."""
    view = operand.view
    filled = FilledTile(boxes, frozenset(), open=False)
    try:
        tile = lay_tile(operand.store, TileRequest(operand.name, view, rows, depth, operand.choices, filled))
        if not isinstance(tile, StoredTile):
            return {}
        mn, k = np.arange(0, rows, view.rows)[:, None], np.arange(0, depth, view.k)[None, :]
        stored = tile.make_storage(0, view)
        offsets = np.broadcast_to(np.asarray(stored.address(mn, k)), (mn.size, k.size))
        every = np.asarray(stored.address(np.arange(0, rows, 8)[:, None], np.arange(0, depth, 8)[None, :]))
    except LayoutError:
        return {}
    box_bytes = prod(_list_sizes(operand)) * view.bits // 8
    inside = {max((box for box in boxes if box <= at < box + box_bytes), default=None) for at in every.flat}
    if inside != boxes:
        return {}
    return {int(offset): (int(at[0]), int(at[1])) for at, offset in np.ndenumerate(offsets)}


def _join_slices(stages: Sequence[int], of_name: Mapping[str, _OperandSlices]) -> list[SlicePlace | None] | None:
    """Return the place of every use, None for one that is left out; None if A and B are not at the same K."""
    places: list[SlicePlace | None] = []
    for n, stage in enumerate(stages):
        slices = {name: place for name, operand in of_name.items() if (place := operand.slices[n]) is not None}
        if len(slices) < len(of_name):
            places.append(None)
            continue
        steps = {k for _, k in slices.values()}
        if len(steps) != 1:
            return None
        places.append(SlicePlace(stage, slices.get("a", (0, 0))[0], slices.get("b", (0, 0))[0], steps.pop()))
    return places if len({operand.k_steps for operand in of_name.values()}) == 1 else None


def _is_covered(places: Sequence[SlicePlace], k_steps: int) -> bool:
    """Return whether the K steps of every tile begin at 0, leave none out and are equally often.

    k_steps: how many there must be, 0 if threads share them: then a thread may leave some to others.
    """
    counts: dict[tuple[int, int, int], Counter[int]] = defaultdict(Counter)
    for place in places:
        counts[place.stage, place.m, place.n][place.k] += 1
    if not k_steps:
        return all(0 in steps for steps in counts.values())
    return all(set(steps) == set(range(k_steps)) and len(set(steps.values())) == 1 for steps in counts.values())
