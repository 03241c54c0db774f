"""Find why a kernel's D is not known to be all of A·B, although no mistake was found.

D is proved if every sum of the run is of all of K, every element of it is stored at its row and column, and the blocks
that were run are as many as the tiles of D need, with the first and the last one at its corners. What blocks between
them do is taken to follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import gcd

import numpy as np

from lanescope.cxx.source_text import split_arguments
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.threads.barriers.barrier_agents import THREAD_BARRIERS
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.memory.storage import Ints, Mask
from lanescope.shared.map_enums import MAP_TYPES
from lanescope.workbench.check_report import OpenPoint
from lanescope.workbench.products.changed_elements import find_changed
from lanescope.workbench.products.factor_places import MatrixPoints, Points, find_other_factor, list_factors
from lanescope.workbench.products.known_sizes import KnownSizes
from lanescope.workbench.products.misplaced_tiles import StoredTile, are_placed
from lanescope.workbench.products.product_origins import Block, OriginFinder, SumOrigin, is_in_panels, measure_tensor
from lanescope.workbench.products.product_sizes import is_leading
from lanescope.workbench.products.scale_origins import explain_factors
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import FunctionText

TITLES = {"panels_overlap": "The panels of a tensor map overlap"}
Finders = Sequence[OriginFinder]
UNORDERED = "its elements are not stored as the rows and columns of one matrix of its size"
OUTSIDE = "multiplies rows or columns outside the matrices"
UNSHOWN = "the blocks that were run do not show that all of its tiles are computed, each once"
PRODUCT = "D", "A·B"
AGAIN, AMONG = "again", "among"  # how blocks along z overlap others
_GLOBAL_BITS = {one.name: one.bits for one in MAP_TYPES}  # of an element in global memory, where nothing is padded
_DIMS, _STRIDES = 4, 5  # which arguments of cuTensorMapEncodeTiled globalDim and globalStrides are
_NO_SIZE = re.compile(r"sizeof\s*\([^()]*\)|\b\w+_t\b|\bstatic_cast\b")
Tiles = Mapping[str, Sequence[StoredTile]]


def make_open_point(
    kernel: FunctionText, blank: str, reason: str, place: Span | None = None, result: tuple[str, str] = PRODUCT
) -> OpenPoint:
    """Make the open point of a kernel whose result is not proved, by default at its name."""
    at = blank.rfind(kernel.name, 0, kernel.body[0])
    message = f"{result[0]} of {kernel.name} is not known to be {result[1]}: {reason}."
    span = place or (at, at + len(kernel.name))
    return OpenPoint(message, span, result=result[0], kernel=kernel.name, reason=reason)


def find_open_result(finders: Finders, tiles: Tiles, sizes: KnownSizes | None, grid: Block | None) -> str:
    """Return why D is not proved, "" if it is. sizes: of M, N and K, if they differ; grid: of the launch."""
    return next(filter(None, _list_reasons(finders, tiles, sizes, grid)), "")


def _list_reasons(finders: Finders, tiles: Tiles, sizes: KnownSizes | None, grid: Block | None) -> Iterator[str]:
    sums = list_all_sums(finders)
    if not sums:
        yield "what some of its products multiply is not known"
        return
    yield explain_factors(sums)
    if any(one.get_size(n) is None for one in sums for n in (0, 1)) or sizes is None:
        yield "which sizes are M, N and K is not known, and equal ones hide exchanged sizes"
        return
    yield from (product.start for one in sums for product in one.products if product.start)
    yield from _list_open_places(finders, sums, tiles)
    yield from (found[0] for found in map(_find_changed, finders) if found is not None)
    yield _find_short_sum(sums, tiles, grid)
    yield _find_other_factor(finders)
    yield _find_other_matrix(sums)
    if any(finder.trace.sums.scaled for finder in finders):
        yield "the scale factors that tcgen05.cp copies are not followed"
    if not _covers_matrix(sums, grid):
        yield UNSHOWN


def _list_open_places(finders: Finders, sums: Sequence[SumOrigin], tiles: Tiles) -> Iterator[str]:
    """Yield what is open about the places of D."""
    outside = [one.block for one in sums if is_outside(one)]
    if outside:
        yield f"block {outside[0]} {OUTSIDE}"
    if any(finder.trace.staged.latest is not None for finder in finders):
        yield "warpgroups store it to the same bytes of shared memory, and which of them is first is not followed"
    if any(_shares_barrier(finder.trace.events) for finder in finders):
        yield "more threads than it counts use one named barrier"
    if not all(_is_stored(one, tiles) for one in sums):
        yield "some of its elements are stored nowhere, or where is not known"
    if not all(map(are_placed, tiles.values())):
        yield UNORDERED


def list_all_sums(finders: Finders) -> list[SumOrigin]:
    """Return the sums of all blocks; none if it is not known what one of them multiplies."""
    found = [one for finder in finders for one in _list_sums(finder)]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []


def _list_sums(finder: OriginFinder) -> Iterator[SumOrigin | None]:
    """Yield the sums that no later product adds to, in each warpgroup; None for one that is not known."""
    added: set[tuple[int, int]] = set()
    for products in finder.products.values():
        before = products[0].added
        if before is not None:
            active = np.flatnonzero(products[0].mask[::32]).tolist()
            added |= {(-int(before.record[32 * warp, 0]) - 1, warp) for warp in active}
    for result, products in finder.products.items():
        warps = np.flatnonzero(products[0].mask[::32])
        for group in np.unique(warps // finder.width):
            first = int(group) * finder.width
            if (result, first) not in added:
                yield finder.find_sum(result, first)


def _shares_barrier(events: Sequence[BarrierEvent]) -> bool:
    """Return whether more threads wait at a barrier of some threads, by its number, than it counts."""
    waiting: dict[tuple[int, int], Mask] = {}
    for event in events:
        if event.kind not in THREAD_BARRIERS:
            continue
        pairs = np.stack([event.places, event.values], axis=1)[event.mask]
        for number, count in np.unique(pairs, axis=0).tolist():
            mine = event.mask & (event.places == number)
            waiting[number, count] = waiting.get((number, count), mine) | mine
    return any(0 < count < mask.sum() for (_, count), mask in waiting.items())


def _is_stored(one: SumOrigin, tiles: Tiles) -> bool:
    """Return whether every element of a sum is stored, to one array or to several that have a part each."""
    elements = one.elements
    mine = [elements - tile.left for of_array in tiles.values() for tile in of_array if tile.sum is one]
    return one.is_joined or elements in mine or sum(mine) == elements


def _list_maps(finders: Finders, sums: Sequence[SumOrigin]) -> Iterator[TensorMap]:
    """Yield the maps of A, B and D."""
    yield from {id(box.map): box.map for one in sums for box in one.boxes}.values()
    for finder in finders:
        stored = (finder.find_map(move.maps, len(move.at)) for move in finder.trace.stores)
        yield from filter(None, stored)


def judge_map_strides(finders: Finders, sizes: KnownSizes) -> tuple[Pitfall | None, str]:
    """Return (the finding of a map whose rows are as far apart as another dimension of the product is long, why D is
    open if the rows of a map are another number of bytes apart than they have).
    """
    for one in _list_maps(finders, list_all_sums(finders)):
        stride = one.strides[0] if one.strides else None
        stride = sizes.evaluate(one.symbols.get("strides[0]")) if stride is None else stride
        length, bits = measure_tensor(one)[0], _GLOBAL_BITS.get(one.data_type or "", one.element_bits or 0)
        if (overlap := _find_overlapping_panels(one, finders[0].run.text)) is not None:
            return overlap, ""
        if stride is None or length is None or stride * 8 == length * bits:
            continue
        found = _find_other_pitch(one, finders[0].run.text, sizes, length)
        name = one.names[0] if one.names else "a tensor map"
        return found, "" if found else f"the rows of {name} are not as far apart as they are long"
    return None, ""


def _find_overlapping_panels(one: TensorMap, text: str) -> Pitfall | None:
    """Return the finding of a map that has a matrix as panels which begin before the one before has ended."""
    apart = one.strides[1] if len(one.strides) > 1 and is_in_panels(one) else None
    width = (one.dims[0] or 0) * (one.element_bits or 0) // 8
    if apart is None or not 0 < apart < width:
        return None
    message = (
        f"The panels of this tensor map are {width} bytes wide, and {apart} bytes apart: the columns of one are in the"
        " next one, too, and the last columns of the matrix in none."
    )
    return Pitfall("panels_overlap", message, _find_strides(text, one) or one.span)


def _find_other_pitch(one: TensorMap, text: str, sizes: KnownSizes, length: int) -> Pitfall | None:
    """Return the finding of a map whose rows are as far apart as another dimension is long. length: of a row."""
    name = one.names[0] if one.names else "a tensor map"
    row = next((key for key, size in sizes.names.items() if size == length and key.isidentifier()), "")
    pitch = _find_factor(one.symbols.get("strides[0]"), (one.element_bits or 0) // 8, sizes)
    strides = _find_strides(text, one)
    if len(one.dims) != 2 or not row or not pitch or strides is None or is_leading(pitch):
        return None
    message = (
        f"The rows of {name} have {row} elements, but are {pitch} elements apart in this tensor map: {pitch} is the"
        " size of another dimension."
    )
    return Pitfall("pitch_of_other_size", message, strides)


def _find_factor(value: str | None, size: int, sizes: KnownSizes) -> str:
    """Return the name of a size of the product that a value is so many times, whatever the sizes are; "" if none is."""
    every = (key for key, known in sizes.names.items() if sizes.evaluate(value) == known * size and key.isidentifier())
    return next((key for key in every if KnownSizes({**sizes.names, key: 1}).evaluate(value) == size), "")


def _find_array(text: str, tensor_map: TensorMap, number: int) -> Span | None:
    """Return the values of an array that is an argument of the call that makes a map; None if they are not seen."""
    call = text[slice(*tensor_map.span)]
    arguments = split_arguments(call[call.find("(") + 1 : call.rfind(")")])
    name = arguments[number].strip() if "cuTensorMapEncodeTiled" in call and len(arguments) > number else ""
    if not name.isidentifier():
        return None
    found = list(re.finditer(rf"\b{name}\s*(?:\[[^][]*\])?\s*=?\s*\{{([^{{}}]*)\}}", text[: tensor_map.span[0]]))
    return found[-1].span(1) if found else None


def _find_strides(text: str, tensor_map: TensorMap) -> Span | None:
    """Return where the strides of a map are computed from its dimensions; None if they may be those of a larger matrix,
    such as by an argument of their own.
    """
    dims, strides = (_find_array(text, tensor_map, number) for number in (_DIMS, _STRIDES))
    if dims is None or strides is None:
        return None
    names, of_dims = (set(re.findall(r"[A-Za-z_]\w*", _NO_SIZE.sub("", text[slice(*at)]))) for at in (strides, dims))
    return strides if names <= of_dims else None


def _find_changed(finder: OriginFinder) -> tuple[str, Span] | None:
    """Return (why D is not A·B, where) if elements that threads or TMA copies store are changed."""
    stored = [one.data.select_threads(np.flatnonzero(one.active)) for one in finder.run.outputs]
    return find_changed(finder.run, stored + [data for move in finder.trace.stores for data in move.data.values()])


def _find_other_factor(finders: Finders) -> str:
    """Return which elements of D are combined with elements of another row or column, such as a scale."""
    points: list[MatrixPoints] = []
    sizes = 0, 0
    for finder in finders:
        for record, warp, (array, row, column, at, site) in list_factors(finder.run):
            total = finder.find_sum(-record - 1, warp)
            if total is None:
                return "elements that it is combined with are not known"
            sizes, slices = total.sizes, total.list_slices(0) or [0]
            of = Points(array, total.rows[row], total.columns[column], at, site)
            points.append(MatrixPoints(of, finder.block, slices[0], total.get_depth(0) or 0))
    other = find_other_factor(points, sizes)
    return other.describe() if other is not None else ""


def _find_short_sum(sums: Sequence[SumOrigin], tiles: Tiles, grid: Block | None) -> str:
    """Return what is open if a sum is not of all of K, each slice once, or of its part where blocks along z add."""
    adds = all(store.adds for of_array in tiles.values() for tile in of_array for store in tile.stores)
    for one in _list_whole_sums(sums):
        a, b, depth = *_list_slices(one), one.get_depth(0)
        if a is None or a != b or depth is None or depth != one.get_depth(1):
            return f"block {one.block} does not multiply the same slices of K of A and of B, one after the other"
        first, part = 0, depth
        if adds and grid is not None and grid[2] > 1:
            part = depth // grid[2]
            first = one.block[2] * part
        if sorted(a) != list(range(first, first + part, one.step)):
            return f"block {one.block} does not multiply each slice of K once, and which blocks have the rest is open"
    return ""


def _list_slices(total: SumOrigin) -> tuple[list[int] | None, list[int] | None]:
    """Return the K of A, and of B, in each product that is added to a sum, or to the sums that are added to it."""
    sums = [total, *total.finder.list_parts(total)]
    a, b = ([one.list_slices(n) for one in sums] for n in (0, 1))
    if None in (*a, *b):
        return None, None
    return [k for of in a for k in of or ()], [k for of in b for k in of or ()]


def _list_whole_sums(sums: Sequence[SumOrigin]) -> list[SumOrigin]:
    """Return the sums that are not added to another one."""
    parts = {id(part) for one in sums for part in one.finder.list_parts(one)}
    return [one for one in sums if id(one) not in parts]


def _find_other_matrix(sums: Sequence[SumOrigin]) -> str:
    """Return what is open if A and B are of different matrices of a batch."""
    for one in sums:
        batches = [one.find_batch(n) for n in (0, 1)]
        both = all(batches)
        if (both and batches[0] != batches[1]) or any(any(batch) and max(batch) != one.block[2] for batch in batches):
            return f"block {one.block} multiplies different matrices of a batch"
    return ""


def _covers_matrix(sums: Sequence[SumOrigin], grid: Block | None) -> bool:
    """Return whether tiles of D are computed once each, the blocks have as many as there are, and both corners are
    among them.
    """
    corners: dict[Block, list[tuple[int, int]]] = {}
    for one in sums:
        if one.block[2] == 0 and (not one.is_joined or one.finder.list_parts(one)):
            corners.setdefault(one.block, []).append((int(one.rows.min()), int(one.columns.min())))
    first = sums[0]
    return grid is not None and are_whole(corners, first.sizes, (len(first.rows), len(first.columns)), grid)


def are_whole(
    corners: Mapping[Block, Sequence[tuple[int, int]]], sizes: tuple[int, int], part: tuple[int, int], grid: Block
) -> bool:
    """Return whether blocks compute parts of D once each, both corners among them, and as many as a grid needs.

    corners: the first row and column of each part, by block; sizes: the rows and columns of D, part: those of a part.
    """
    every = [at for of_block in corners.values() for at in of_block]
    last = sizes[0] - part[0], sizes[1] - part[1]
    if len(set(every)) < len(every) or not {(0, 0), last} <= set(every):
        return False
    unit = gcd(*map(len, corners.values()))  # of a tile, if blocks have different numbers of them
    count = sizes[0] // part[0] * (sizes[1] // part[1]) // unit
    blocks = grid[0] * grid[1] * (grid[2] if any(block[2] for block in corners) else 1)
    least, most = count // blocks, -(-count // blocks)
    counts = {block: len(of_block) // unit for block, of_block in corners.items()}
    return counts.get((0, 0, 0)) == most and all(least <= one <= most for one in counts.values())


def leaves_gaps(corners: Mapping[Block, Sequence[tuple[int, int]]], first: Sequence[Ints]) -> bool:
    """Return whether the tile of the first block is smaller than the distance between two blocks, so that elements of D
    are left between them. corners: as for are_whole, of the first and the last block; first: the elements of the first.
    """
    corners = {block: every for block, every in corners.items() if not block[2]}
    last = max(corners, default=(0, 0, 0))
    if not first or not last[0] or not last[1]:
        return False
    (row, column), (last_row, last_column) = (min(corners[block]) for block in ((0, 0, 0), last))
    rows, columns = last_row - row, last_column - column  # of as many tiles as the last block has before it
    elements = rows * columns // (last[0] * last[1])
    return min(rows, columns) > 0 and len(np.unique(np.concatenate(first))) < elements


def find_deep_overlap(corners: Mapping[Block, Sequence[tuple[int, int]]]) -> str:
    """Return how a block along z overlaps those with z = 0: AGAIN if it computes a tile of theirs, AMONG if it begins
    among these tiles; "" if none does. corners: as for are_whole.
    """
    deep, flat = ([at for block, of in corners.items() if bool(block[2]) is z for at in of] for z in (True, False))
    if not set(deep).isdisjoint(flat):
        return AGAIN
    last = tuple(map(max, zip(*flat, strict=True)))
    return AMONG if any(row <= last[0] and column <= last[1] for row, column in deep) else ""


def list_later_blocks(finders: Finders, grid: Block | None) -> list[Block]:
    """List blocks of a line that were not run: that with the last tile of D; if another one multiplies outside of the
    matrices, a block of the second line of tiles; if a tile may be missing, those around the ends of the first line, or
    the first block of the second line of a grid of several.
    """
    known = _group_sums(finders)
    if grid is None or not known or not all(known.values()):
        return []
    if grid[1] > 1:
        every = [one for of_block in known.values() for one in of_block]
        return [] if (0, 1, 0) in known or _covers_matrix(every, grid) else [(0, 1, 0)]
    return [(n, 0, 0) for n in _list_numbers(known, grid) if 0 <= n < grid[0] and (n, 0, 0) not in known]


def _list_numbers(known: Mapping[Block, Sequence[SumOrigin]], grid: Block) -> list[int]:
    """List the numbers of blocks of a line that are needed, as list_later_blocks describes them."""
    last = (_count_tiles(known) - 1) % grid[0]
    every = [one for of_block in known.values() for one in of_block]
    lines = _count_lines(known.get((0, 0, 0), every))
    numbers = {last}
    if any(map(is_outside, every)):
        numbers.add(max(lines))
    elif (last, 0, 0) in known and not _covers_matrix(every, grid):
        numbers |= {line + n for line in lines for n in (-1, 0, 1)}
    return sorted(numbers)


def _group_sums(finders: Finders) -> dict[Block, list[SumOrigin]]:
    """Return the known sums of each block."""
    return {finder.block: [one for one in _list_sums(finder) if one is not None] for finder in finders}


def _count_lines(first: Sequence[SumOrigin]) -> tuple[int, int]:
    """Return how many rows, and columns, of tiles D has. first: the sums of its first tile."""
    rows, columns = first[0].sizes
    ends = max(int(one.rows.max()) for one in first), max(int(one.columns.max()) for one in first)
    return rows // (ends[0] + 1), columns // (ends[1] + 1)


def has_tile(block: Block, finders: Finders) -> bool:
    """Return whether a block of a line has a tile of D, as far as the tiles of other blocks show."""
    known = _group_sums(finders)
    return not known or not all(known.values()) or any(block[1:]) or block[0] < _count_tiles(known)


def _count_tiles(sums: Mapping[Block, Sequence[SumOrigin]]) -> int:
    """Return how many tiles D has, of the sums that blocks compute at once."""
    total = next(iter(sums.values()))[0]
    rows, columns = total.sizes
    return rows // len(total.rows) * (columns // len(total.columns)) // gcd(*map(len, sums.values()))


def is_outside(one: SumOrigin) -> bool:
    """Return whether a sum has rows or columns that are not in the matrices."""
    return bool(one.rows.max() >= one.sizes[0] or one.columns.max() >= one.sizes[1])
