"""Find tiles of D that no block of a launch computes, although each block computes its own tile right.

A launch with fewer blocks than D has tiles leaves some out. One with as many does so if a block computes rows or
columns outside of the matrices, or elements that another block computes, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import prod

import numpy as np

from lanescope.reader.code.preprocessing.used_functions import blank_spans
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.memory.storage import Ints
from lanescope.workbench.products.known_sizes import GivenSizes
from lanescope.workbench.products.misplaced_tiles import StoredTile
from lanescope.workbench.products.origin_places import find_coordinate_site, find_defining_place
from lanescope.workbench.products.product_origins import Block, OriginFinder, SumOrigin
from lanescope.workbench.products.product_sizes import shorten_name
from lanescope.workbench.products.unproved_results import UNSHOWN, find_open_result, is_outside, list_all_sums
from lanescope.workbench.repair.blamed_numbers import find_grid_place
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import blank_text, find_functions, launches_unknown_kernel
from lanescope.workbench.text.loop_texts import list_filling_loops

TITLES = {"tiles_left": "No block of a launch computes some tiles of D"}
_LINES = "rows", "columns"
_OWN_COUNT = re.compile(r"(?<!\.)(?<!->)\bgridDim\b|%nctaid")  # blocks take tiles in turn
_WORD = re.compile(r"[A-Za-z_]\w*")
_CONDITION = re.compile(r"[<>?]|[=!]=|\b(?:if|while|assert|min|max|clamp)\b|CHECK|REQUIRE|ASSERT")
_NO_COMPARISON = re.compile(  # a launch, a shift, a member, a template, a directive, an option, a check of CUDA's calls
    r"<<<|>>>|<<|>>|->|<[\w:*&,\s]*>|\btemplate\s*<[^;{}<>]*>|^[ \t]*#\s*(?!define\b).*$|\bif\s*\(\s*argc\b[^()]*\)"
    r"|\b(?:CU(?:DA)?_\w*CHECK|\w*CHECK_CU(?:DA)?)\b",
    re.M,
)


@dataclass(frozen=True, slots=True)
class MissingTile:
    """What leaves tiles of D out, and where. certain: whether nothing in the text makes another part of D, or other
    sizes, likely.
    """

    message: str
    span: Span
    certain: bool


@dataclass(frozen=True, slots=True)
class BlockTile:
    """The rows and columns that a block computes, each as (first, past), and a sum of them."""

    block: Block
    rows: Span
    columns: Span
    total: SumOrigin

    @property
    def sides(self) -> tuple[Span, Span]:
        return self.rows, self.columns

    @property
    def elements(self) -> int:
        return (self.rows[1] - self.rows[0]) * (self.columns[1] - self.columns[0])

    @property
    def divides_matrix(self) -> bool:
        """Whether D has whole numbers of tiles of this size."""
        return not any(size % (past - first) for (first, past), size in zip(self.sides, self.total.sizes, strict=True))

    def find_side_outside(self) -> int | None:
        """Return whether its rows (0) or columns (1) are outside of the matrices, None if neither are."""
        ends = [past > size for (_, past), size in zip(self.sides, self.total.sizes, strict=True)]
        return ends.index(True) if any(ends) else None

    def list_places(self) -> Ints:
        """Return the place of each element in D, stored by rows."""
        return np.add.outer(np.arange(*self.rows) * self.total.sizes[1], np.arange(*self.columns)).ravel()

    def overlaps(self, other: BlockTile) -> bool:
        """Return whether elements of D are in both tiles."""
        return all(one[0] < of[1] and of[0] < one[1] for one, of in zip(self.sides, other.sides, strict=True))


@dataclass(frozen=True, slots=True)
class TileGrid:
    """A grid with one block for each tile of D. tile, sizes: rows and columns of a block's tile and of D."""

    blocks: Block
    tile: Span
    sizes: Span

    def find_mistake(self, own: Block) -> str:
        """Return the mistake of a grid that counts the blocks of one dimension of D by the other; "" for others."""
        (x, y, _), (rows, columns), given = self.blocks, self.tile, own[:2]
        squares = [set(product((-(-size // rows), -(-size // columns)), repeat=2)) for size in self.sizes]
        if given == (y, x) != (x, y):
            why = "its dimensions are exchanged, or those of the index of the block"
        elif given != (x, y) and given in set.union(*squares):
            why = "it counts both by one dimension of D"
        else:
            return ""
        return self._compare(own, why)

    def find_too_few(self, own: Block, launch: KernelLaunchRecord) -> str:
        """Return the mistake of a grid that computes too few blocks from a size; "" for others."""
        pairs = list(zip(own[:2], self.blocks[:2], strict=True))
        less = [n for n, (one, needed) in enumerate(pairs) if one < needed]
        if not less or any(one > needed for one, needed in pairs) or not all(_follows_size(launch, n) for n in less):
            return ""
        return self._compare(own, "the rest of D is not computed")

    def _compare(self, own: Block, why: str) -> str:
        x, y, rows, columns = *self.blocks[:2], *self.tile
        return f"{x} × {y} blocks of {rows} × {columns} are needed, and this launch has {own[0]} × {own[1]}: {why}."


def find_missing_tile(
    finders: Sequence[OriginFinder],
    stored: Mapping[str, Sequence[StoredTile]],
    given: GivenSizes,
    recorded: Sequence[KernelLaunchRecord],
) -> MissingTile | None:
    """Return what leaves tiles of D out, if this is all that is open about D. stored: where its elements are stored, by
    array; recorded: the launches.
    """
    run, tiles = finders[0].run, list_block_tiles(list_all_sums(finders))
    grid, launches = given.find_grid(run), [one for one in recorded if one.name == run.kernel]
    if grid is None or grid[2] != 1 or len(launches) != 1 or _OWN_COUNT.search(blank_text(run.text)):
        return None
    if not tiles or not tiles[0].divides_matrix or not _are_known(finders, stored, given, grid):
        return None
    rows, columns = tiles[0].total.sizes
    found = _find_left(tiles, launches[0], (grid[0] * grid[1], rows * columns // tiles[0].elements))
    if found is None:
        return None
    single = len(recorded) == 1 and not launches_unknown_kernel(blank_text(run.text))
    certain = single and _is_whole_meant(tiles, launches[0], given)
    needed = find_tile_grid({tile.block: tile.list_places() for tile in tiles}, (rows, columns), grid)
    mistake = needed.find_mistake(grid) if needed is not None else ""
    message = f"With {rows:,} × {columns:,} elements of D, {found[0]}{mistake and f' {mistake}'}"
    return MissingTile(message, found[1], certain)


def _is_whole_meant(tiles: Sequence[BlockTile], launch: KernelLaunchRecord, given: GivenSizes) -> bool:
    """Return whether a launch is certainly for all of D: its blocks move along both sides of D, nothing in the text
    limits M or N, and its grid grows with these, or a block stores a tile outside of D.
    """
    moves = all(len({tile.sides[n] for tile in tiles}) > 1 for n in (0, 1))  # else D may be one row of tiles
    total = tiles[0].total
    passed = {name: size for of in given.arguments.values() for name, size in of.items()}
    names = {name for name, size in {**given.sizes.names, **passed}.items() if size in total.sizes}
    if not moves or limits_sizes(total.finder.run.text, names):
        return False
    return _is_stored_outside(tiles, given) or _grows_with_sizes(launch, given)


def _is_stored_outside(tiles: Sequence[BlockTile], given: GivenSizes) -> bool:
    """Return whether a block of the launch begins outside of the matrix, also with the numbers that the text has for
    its sizes, and its threads store as many elements as those of the first block.
    """
    stored = {tile.block: sum(int(one.active.sum()) for one in tile.total.finder.run.outputs) for tile in tiles}
    first = stored.get((0, 0, 0), 0)
    return any(_begins_outside(tile, given.own) for tile in tiles if stored[tile.block] == first > 0)


def _begins_outside(tile: BlockTile, own: Mapping[int, int]) -> bool:
    """Return whether the last tile of a line begins outside of the matrix. own: numbers of the text for sizes."""
    side = tile.find_side_outside()
    if side is None:
        return False
    (first, past), size = tile.sides[side], tile.total.sizes[side]
    width, last = past - first, size // (past - first) - 1
    count = own.get(size, size) // width
    return last > 0 and not first % last and first // last * (count - 1) >= own.get(size, size)


def _grows_with_sizes(launch: KernelLaunchRecord, given: GivenSizes) -> bool:
    """Return whether the grid of a launch is proportional to both sizes of D: else a part of it may be meant, such as a
    triangle, or one row of tiles.
    """
    every = (given.sizes, *map(given.sizes.grow, given.sizes.names))
    if given.own:
        return False
    before, *grown = (prod(sizes.find_grid(launch.name, [launch]) or (0,)) for sizes in every)
    return sorted(grown)[-2:] == [2 * before, 2 * before]


def find_tile_grid(places: Mapping[Block, Ints], sizes: Span, grid: Block) -> TileGrid | None:
    """Return the grid that has one block for each tile of D; None if it is not known.

    places: of the elements that the first block, and those next to it along x and y, store; sizes: rows and columns of
    D; grid: of the launch, whose batches are kept.
    """
    first = places.get((0, 0, 0))
    beside = [int(places[at].min()) for at in ((1, 0, 0), (0, 1, 0)) if at in places]
    if first is None or not beside:
        return None
    is_line = grid[1] == 1 or int(places.get((0, 1, 0), first).min()) >= prod(sizes)  # y counts batches
    for lines, pitch, turned in ((*sizes, False), (*sizes[::-1], True)):
        outer, inner = map(np.unique, np.divmod(first, pitch))
        if len(outer) * len(inner) != len(np.unique(first)) or lines % len(outer) or pitch % len(inner):
            continue
        counts = lines // len(outer), pitch // len(inner)
        tile = (len(inner), len(outer)) if turned else (len(outer), len(inner))
        steps = [divmod(place, pitch) for place in beside]
        if is_line and any(steps[0]):
            return TileGrid((prod(counts), grid[1], grid[2]), tile, sizes)
        if [*map(np.sign, steps[0]), *map(np.sign, steps[-1])] in ([1, 0, 0, 1], [0, 1, 1, 0]):
            x, y = counts if steps[0][0] else counts[::-1]
            return TileGrid((x, y, grid[2]), tile, sizes)
    return None


def _follows_size(launch: KernelLaunchRecord, axis: int) -> bool:
    """Return whether a dimension of a grid is computed from M or N, or from a number that the kernel is given."""
    blocks = launch.grid[axis] if axis < len(launch.grid) else None
    if blocks is None:
        return False
    given = (*launch.arguments, *(value for *_, value in launch.members))
    origins = {span for one in given if one is not None for span in one.origin}
    return not {"m", "n"}.isdisjoint(map(shorten_name, _WORD.findall(str(blocks)))) or not origins.isdisjoint(
        blocks.origin
    )


def limits_sizes(text: str, names: Iterable[str]) -> bool:
    """Return whether a text compares M or N, but with 0 or as a multiple of a number: a kernel may be for some sizes
    alone, or another one may do the rest. In a kernel bounds of rows and columns do not count, and on the host those of
    loops over elements. names: of M and N.
    """
    blank, sizes = blank_text(text), {name.rpartition(".")[2] for name in names}
    kernels = [one.body for one in find_functions(blank) if one.kernel]
    host = blank_spans(blank, sorted([*kernels, *(loop.head for loop in list_filling_loops(blank))]))
    either = "|".join(map(re.escape, sizes)) or "(?!)"
    multiple = rf"\b(?:{either})\s*%\s*(?!(?:{either})\b)\w+(?:\s*[!=]=\s*0)?"
    given = rf"\b(?:{either})\s*=(?!=|[^;{{}}]*\b(?:min|max|clamp)\b)"
    statements = re.split(r"[;{}]", _NO_COMPARISON.sub(" ", re.sub(f"{multiple}|{given}", " ", host)))
    if any(_CONDITION.search(one) and not sizes.isdisjoint(re.findall(r"\w+", one)) for one in statements):
        return True
    of_sizes = re.compile(rf"\b(?:{either})\s*(?:[<>]=?|[!=]=)\s*(?:\w+(?:\.|->))*(?:{either}|\d+)\b")
    return any(of_sizes.search(blank, *body) for body in kernels)


def _are_known(
    finders: Sequence[OriginFinder], stored: Mapping[str, Sequence[StoredTile]], given: GivenSizes, grid: Block
) -> bool:
    """Return whether all is known of the tiles that are in the matrices, except that these are all tiles of D."""
    inside = [one for one in finders if not any(map(is_outside, list_all_sums([one])))]
    blocks = {one.block for one in inside}
    of_inside = {array: [one for one in of_array if one.block in blocks] for array, of_array in stored.items()}
    return bool(inside) and find_open_result(inside, of_inside, given.sizes, grid) == UNSHOWN


def _find_left(
    tiles: Sequence[BlockTile], launch: KernelLaunchRecord, counts: tuple[int, int]
) -> tuple[str, Span] | None:
    """Return (what leaves tiles out, where); None if nothing does. counts: of blocks, and of tiles of D."""
    count, needed = counts
    if count < needed:
        rows, columns = (past - first for first, past in tiles[0].sides)
        message = f"the launch has {count:,} blocks of {rows} × {columns} elements: {needed:,} are needed."
        return message, find_launched_grid(tiles[0].total.finder.run.text, launch)
    return _find_other_tile(tiles, count) if count == needed else None


def _find_other_tile(tiles: Sequence[BlockTile], count: int) -> tuple[str, Span] | None:
    """Find a block beyond the matrices, or two of one tile: return (what they compute, where a coordinate is given).
    count: blocks of the launch.
    """
    found = next(chain(_list_outside(tiles), _list_shared(tiles)), None)
    if found is None:
        return None
    what, place = found
    return f"{what} The launch has {count:,} blocks then, as many as D has tiles, so that some tile is left out.", place


def _list_outside(tiles: Sequence[BlockTile]) -> Iterator[tuple[str, Span]]:
    """Yield (what is wrong, where its coordinate is given) of blocks that are beyond the matrices."""
    for one in tiles:
        if (side := one.find_side_outside()) is not None:
            first, past = one.sides[side]
            message = f"block {one.block} computes {_LINES[side]} {first:,} to {past - 1:,}, which D does not have."
            yield message, _find_place(one, side)


def _list_shared(tiles: Sequence[BlockTile]) -> Iterator[tuple[str, Span]]:
    """Yield (what is wrong, where a coordinate is given) of pairs of blocks that compute the same elements."""
    for one, other in combinations(tiles, 2):
        if one.overlaps(other):
            (row, _), (column, _) = (max(pair) for pair in zip(one.sides, other.sides, strict=True))
            message = f"blocks {one.block} and {other.block} both compute row {row:,}, column {column:,}."
            yield message, _find_place(other, _find_still_side(tiles, one, other))


def list_block_tiles(sums: Sequence[SumOrigin]) -> list[BlockTile]:
    """List what each block computes; none unless each computes one rectangle, once, of one size and shape."""
    blocks = dict.fromkeys(one.block for one in sums)
    found = [_join_sums([one for one in sums if one.block == block]) for block in blocks]
    tiles = [tile for tile in found if tile is not None]
    shapes = {tuple(past - first for first, past in tile.sides) for tile in tiles}
    return tiles if len(tiles) == len(found) and len(shapes) == 1 else []


def _join_sums(sums: Sequence[SumOrigin]) -> BlockTile | None:
    """Return the rectangle that the sums of a block are, None if they are none, or D is not of these sums alone."""
    rows, columns = (
        (int(np.concatenate(side).min()), int(np.concatenate(side).max()) + 1)
        for side in ([one.rows for one in sums], [one.columns for one in sums])
    )
    tile = BlockTile(sums[0].block, rows, columns, sums[0])
    apart = {(int(one.rows.min()), int(one.columns.min())) for one in sums}
    whole = len(apart) == len(sums) and sum(one.elements for one in sums) == tile.elements
    return tile if whole and not any(one.is_symmetric or one.is_joined for one in sums) else None


def find_launched_grid(text: str, launch: KernelLaunchRecord) -> Span:
    """Return where the grid of a launch is given; the launch if its call names none."""
    return find_grid_place(blank_text(text), launch.call) or launch.span


def _find_place(tile: BlockTile, side: int) -> Span:
    """Return where the rows (0) or columns (1) of a tile are given, as far as they depend on the block."""
    total = tile.total
    site = find_coordinate_site(total.boxes[side], total.numbers[side])
    return find_defining_place(total.finder.run.text, site, "block")


def _find_still_side(tiles: Sequence[BlockTile], one: BlockTile, other: BlockTile) -> int:
    """Return the side, rows (0) or columns (1), that has to differ between two blocks of a line of blocks: that which
    the second block of the line does not step, if whole lines of tiles are between them.
    """
    if one.block[1] != other.block[1]:
        return 0 if one.columns == other.columns else 1
    first, second = ({tile.block: tile for tile in tiles}.get((x, 0, 0)) for x in (0, 1))
    if first is None or second is None:
        return 0
    stepped = 1 if first.rows == second.rows else 0
    size = first.total.sizes[stepped] // (first.sides[stepped][1] - first.sides[stepped][0])
    return 1 - stepped if (other.block[0] - one.block[0]) % size == 0 else stepped
