"""Check that each D is the sum over all of K, each slice of A times the same slice of B, once.

The slices are those of a simulated run: the coordinates along K of the boxes that its products read. An operand that is
used again on purpose, such as B with the high and the low part of A, takes all its slices equally often.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lanescope.reader.code.findings import Pitfall
from lanescope.workbench.kernels.address_values import list_values
from lanescope.workbench.products.known_sizes import GivenSizes
from lanescope.workbench.products.origin_places import find_coordinate_site, find_defining_place
from lanescope.workbench.products.product_origins import Block, SumOrigin
from lanescope.workbench.products.product_sizes import is_leading
from lanescope.workbench.repair.blamed_numbers import find_argument_span
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import blank_text
from lanescope.workbench.text.loop_texts import find_condition, list_loops_at, waits_in

TITLES = {
    "k_coordinate_wrong": "A copy brings other positions along K than the product needs",
    "k_slices_left": "Slices of K are multiplied twice or not at all",
}
_ARGUMENTS = 3  # of a call that multiplies: D, A and B


def find_slice_mistake(sums: Sequence[SumOrigin]) -> Pitfall | None:
    """Return the first mistake of one D of a kernel: slices that do not belong together, or twice."""
    return next(filter(None, map(_judge_slices, sums)), None)


@dataclass(frozen=True, slots=True)
class _Side:
    """The slices of an operand. n: 0 for A, 1 for B; depth: the size of its tensor along K, None if it is open."""

    n: int
    slices: list[int]
    depth: int | None
    step: int

    @property
    def counts(self) -> Counter[int]:
        return Counter(self.slices)

    @property
    def is_even(self) -> bool:
        """Return whether all slices are taken equally often."""
        return len(set(self.counts.values())) == 1

    def is_perfect(self, later: bool) -> bool:
        """Return whether slices follow each other, in the first block from the first one of a row on."""
        expected = range(self.slices[0], self.slices[0] + self.step * len(self.slices), self.step)
        return (self.slices[0] != 0) == later and self.slices == list(expected)

    def find_outside(self) -> int | None:
        """Return the number of the first product that takes a slice outside the tensor."""
        limit = self.depth if self.depth is not None else max(self.slices) + 1
        return next((n for n, k in enumerate(self.slices) if not 0 <= k < limit), None)


def _judge_slices(total: SumOrigin) -> Pitfall | None:
    """Return the mistake of one D."""
    lists = [total.list_slices(n) for n in (0, 1)]
    if not lists[0] or not lists[1]:
        return None
    a, b = (_Side(n, slices or [], total.get_depth(n), total.step) for n, slices in enumerate(lists))
    if a.slices == b.slices:
        return _judge_pairs(total, a)
    outside = [side for side in (a, b) if side.find_outside() is not None]
    if len(outside) == 1 and a.depth is not None and b.depth is not None:
        return _describe_outside(total, outside[0], (a, b)[1 - outside[0].n])
    later = any(total.block)  # then the same D of the first block has none
    side = None if _may_be_meant(total, a, b) else _choose_wrong(a, b, later)
    return None if side is None else _describe_pair(total, side, (a, b)[1 - side.n])


def _takes_parts(total: SumOrigin, side: _Side) -> bool:
    """Return whether an operand's boxes bring slices that no product of this D takes."""
    width = total.boxes[side.n].count_along(total.along[side.n][0])
    boxes = {k // width for k in side.slices}
    return width > total.step and len(side.counts) < len(boxes) * width // total.step


def _may_be_meant(total: SumOrigin, a: _Side, b: _Side) -> bool:
    """Return whether two operands may take other slices on purpose: one is used again, or begins elsewhere."""
    again = a.is_even and b.is_even and len(a.counts) != len(b.counts)
    if a.depth != b.depth or (again and _takes_parts(total, a) == _takes_parts(total, b)):
        return True
    return len({x - y for x, y in zip(a.slices, b.slices, strict=True)}) == 1


def _choose_wrong(a: _Side, b: _Side, later: bool) -> _Side | None:
    """Return the one of two operands whose slices are wrong; None if it may be either."""
    wrong = [side for side in (a, b) if not side.is_perfect(later)]
    if len(wrong) == 1:
        return wrong[0]
    if (a.is_even and b.is_even) or len(a.counts) == len(b.counts):
        return None
    return min(a, b, key=lambda one: len(one.counts))


def _judge_pairs(total: SumOrigin, side: _Side) -> Pitfall | None:
    """Return the finding of slices of both operands that one D takes twice, but not all of them."""
    if len(side.counts) == len(side.slices) or side.is_even:
        return None
    again = next(n for n, k in enumerate(side.slices) if k in side.slices[:n])
    k = side.slices[again]
    message = f"D adds the products of the slices at K = {k} twice, and others once: each slice must be added once."
    return Pitfall("k_slice_repeated", message, _find_slice_place(total, side, again))


def _describe_outside(total: SumOrigin, side: _Side, other: _Side) -> Pitfall:
    at = side.find_outside() or 0
    name, others = "AB"[side.n], "BA"[side.n]
    message = (
        f"{name} takes the slice at K = {side.slices[at]}, outside its matrix of {side.depth} along K, with the slice"
        f" of {others} at K = {other.slices[at]}: TMA fills it with zeros."
    )
    return Pitfall("k_coordinate_wrong", message, _find_slice_place(total, side, at))


def _describe_pair(total: SumOrigin, side: _Side, other: _Side) -> Pitfall:
    name, others = "AB"[side.n], "BA"[side.n]
    again = next((n for n, k in enumerate(side.slices) if k in side.slices[:n]), None)
    copied = _is_copy_wrong(total, side)
    if again is not None and not copied:
        first = side.slices.index(side.slices[again])
        message = (
            f"{name} takes the slice at K = {side.slices[again]} twice for the same D, with the slices of {others} at"
            f" K = {other.slices[first]} and {other.slices[again]}: both must come from the same stage."
        )
        return Pitfall("k_slice_repeated", message, _find_operand(total, again, side.n))
    at = next(n for n, pair in enumerate(zip(side.slices, other.slices, strict=True)) if pair[0] != pair[1])
    message = (
        f"{name} takes the slice at K = {side.slices[at]} with the slice of {others} at K = {other.slices[at]}: both"
        " must be the same."
    )
    place = _find_coordinate(total, side.n) if copied else _find_operand(total, at, side.n)
    return Pitfall("k_coordinate_wrong" if copied else "k_slice_repeated", message, place)


def _find_slice_place(total: SumOrigin, side: _Side, number: int) -> Span:
    if _is_copy_wrong(total, side):
        return _find_coordinate(total, side.n)
    return _find_operand(total, number, side.n)


def _is_copy_wrong(total: SumOrigin, side: _Side) -> bool:
    """Return whether the boxes of an operand are those that its products lack: they leave gaps, overlap, or lie
    outside the matrix.
    """
    box = total.boxes[side.n]
    along = total.along[side.n][0]
    starts, rows = set[int](), set[int]()
    for one in total.finder.boxes:
        if one.map is box.map:
            at = one.find_start()
            if at[total.numbers[side.n]] == box.find_start()[total.numbers[side.n]]:
                starts.add(int(at[along]))
                rows.add(one.count_along(along))
    width = max(rows)
    if side.depth is not None and not starts <= set(range(0, side.depth, width)):
        return True
    expected = set(range(min(starts), min(starts) + width * len(starts), width))
    return starts != expected or min(starts) > 0


def _find_coordinate(total: SumOrigin, n: int) -> Span:
    return find_coordinate_site(total.boxes[n], total.along[n][0])


def _find_operand(total: SumOrigin, number: int, n: int) -> Span:
    """Return the argument of the kernel's call of a product that gives an operand: multiply(d, a, b)."""
    product = total.products[number]
    if not product.calls:
        return product.sites["ab"[n]]
    blank, call = blank_text(total.finder.run.text), product.calls[0]
    last = find_argument_span(blank, call, _ARGUMENTS)
    return (find_argument_span(blank, call, n + 1) if last is None else None) or call


# all of K -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cover:
    """The slices of K that a block adds for one tile of D, and one of the sums."""

    slices: frozenset[int]
    total: SumOrigin

    @property
    def block(self) -> Block:
        return self.total.block


def find_uncovered(sums: Sequence[SumOrigin], given: GivenSizes, adds: bool) -> Pitfall | None:
    """Return the finding of slices of K that nothing adds to D, or that two blocks add. adds: whether blocks add to
    D.
    """
    tiles, grid = _list_covers(sums), given.find_grid(sums[0].finder.run)
    if not tiles:
        return None
    depth = next(iter(tiles.values()))[0].total.get_depth(0) or 0
    step = next(iter(tiles.values()))[0].total.step
    every = frozenset(range(0, depth, step))
    for covers in tiles.values():
        found = _compare_blocks(covers, every, grid, adds)
        if found is not None:
            return found
    seen = {cover.slices for covers in tiles.values() for cover in covers}
    if len(seen) != 1 or every in seen or not next(iter(seen)) or not _is_whole(tiles, grid):
        return None
    missing = sorted(every - next(iter(seen)))
    return _describe_missing(next(iter(tiles.values()))[0].total, missing, given) if missing else None


def _describe_missing(total: SumOrigin, missing: Sequence[int], given: GivenSizes) -> Pitfall | None:
    """Return the finding of slices that D lacks; None if only the first ones may be meant."""
    loop = _find_short_loop(total, missing)
    if loop is not None and not _depends_on_depth(total, loop, given):
        return None
    which = f"K = {missing[0]} to {missing[-1] + total.step - 1}"
    if _are_multiplied(total, missing):
        message = f"D is stored without the products of {which}: their sums are not added to it."
        return Pitfall("k_slices_left", message, (*total.products[-1].calls, total.products[-1].sites["a"])[0])
    message = (
        f"No product of a tile of D takes {which} of A and B, whose matrices have {total.get_depth(0)} along K: these"
        " slices are missing in D."
    )
    return Pitfall("k_slices_left", message, loop or _find_coordinate(total, 0))


def _are_multiplied(total: SumOrigin, slices: Sequence[int]) -> bool:
    """Return whether the slices that a sum lacks are multiplied for other sums of its rows and columns."""
    finder = total.finder
    sums = (finder.find_sum(result, finder.width * total.group) for result in finder.products)
    alike = (
        one for one in sums if one is not None and (one.rows[0], one.columns[0]) == (total.rows[0], total.columns[0])
    )
    return {*slices} <= {k for one in alike for k in one.list_slices(0) or ()}


def _depends_on_depth(total: SumOrigin, condition: Span, given: GivenSizes) -> bool:
    """Return whether a loop's condition is computed from the size along K: otherwise a part of K may be meant, as by a
    length of its own or a padded size.
    """
    text, depth = total.finder.run.text, total.get_depth(0)
    names = {**given.sizes.names, **given.arguments.get(total.finder.run.kernel, {})}
    words = {word for at in list_values(text, condition, ()) for word in re.findall(r"[A-Za-z_]\w*", text[slice(*at)])}
    return any(names.get(word) == depth and not is_leading(word) for word in words)


def _find_short_loop(total: SumOrigin, missing: Sequence[int]) -> Span | None:
    """Return the condition of the loop that ends before the last slices, if these are what is missing: of the products
    if the slices are loaded, else of the copies; None if it is not seen.
    """
    blank, along = blank_text(total.finder.run.text), total.along[0][0]
    if missing[0] != (total.get_depth(0) or 0) - len(missing) * total.step or not missing[0]:
        return None
    loaded = {int(box.find_start()[along]) for box in total.finder.boxes if box.map is total.boxes[0].map}
    sites = [_find_coordinate(total, 0)]
    if missing[0] in loaded:  # some products may be before or after the loop
        sites = [(product.calls or (product.sites["a"],))[0] for product in total.products]
    around = ([one for one in list_loops_at(blank, at[0]) if waits_in(blank, one.body)] for at in dict.fromkeys(sites))
    return next((find_condition(blank, loops[-1]) for loops in around if loops), None)


def _is_whole(tiles: Mapping[tuple[object, ...], Sequence[_Cover]], grid: Block | None) -> bool:
    """Return whether a grid has no more blocks than D has tiles, so that a block adds all that its tile needs."""
    covers = [cover for of_tile in tiles.values() for cover in of_tile]
    elements = sum(cover.total.elements for cover in covers if cover.block == covers[0].block)
    rows, columns = covers[0].total.sizes
    return grid is not None and grid[2] == 1 and grid[0] * grid[1] * elements <= rows * columns


def _list_covers(
    sums: Sequence[SumOrigin],
) -> Mapping[tuple[object, ...], list[_Cover]]:
    """Return what each block adds for each tile of D, by its rows and columns; nothing if one is not known."""
    found: dict[tuple[object, ...], dict[Block, tuple[set[int], SumOrigin]]] = defaultdict(dict)
    for total in sums:
        depths = {total.get_depth(0), total.get_depth(1)}
        slices = total.list_slices(0)
        if len(depths) != 1 or None in depths or slices is None or slices != total.list_slices(1):
            return {}
        batches = ((id(box.map), *total.find_batch(n)) for n, box in enumerate(total.boxes))
        key = (*batches, int(total.rows[0]), int(total.columns[0]))
        of_block, _ = found[key].setdefault(total.block, (set(), total))
        of_block |= {k for k in slices if 0 <= k < (total.get_depth(0) or 0)}
    return {key: [_Cover(frozenset(slices), total) for slices, total in of.values()] for key, of in found.items()}


def _compare_blocks(covers: Sequence[_Cover], every: frozenset[int], grid: Block | None, adds: bool) -> Pitfall | None:
    """Return the finding of two blocks that add the same slices to one tile, or leave a gap between theirs."""
    for first, second in combinations(covers, 2):
        common = first.slices & second.slices if adds else frozenset()
        gap = _find_gap(first, second, every, grid)
        if not common and gap is None:
            continue
        what = (
            f"both take K = {min(common)} on" if common else f"none takes K = {gap} on, which is between their slices"
        )
        message = (
            f"Blocks {first.block} and {second.block} add to the same tile of D, and {what}: check where K begins."
        )
        site, text = _find_coordinate(second.total, 0), second.total.finder.run.text
        return Pitfall("k_slices_left", message, find_defining_place(text, site, "split"))
    return None


def _find_gap(first: _Cover, second: _Cover, every: frozenset[int], grid: Block | None) -> int | None:
    """Return the first K that neither of two blocks takes, if they are neighbours along z."""
    if (first.block[:2], first.block[2] + 1) != (second.block[:2], second.block[2]) or grid is None:
        return None
    low, high = sorted((min(first.slices, default=0), min(second.slices, default=0)))
    either = first.slices | second.slices
    if grid[2] == 2:
        return min(every - either, default=None)
    run = [k for k in sorted(every) if low <= k < high and k not in either]
    return run[0] if run else None
