"""Where a store of D gets its row or column from, and a copy its coordinates; copies of D that have wrong ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lanescope.ptx.threads import WARP
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.memory.storage import Ints, Mask
from lanescope.reader.threads.memory.tile_records import BoxMove
from lanescope.workbench.products.product_origins import LoadedBox, SumOrigin, is_in_panels
from lanescope.workbench.repair.blamed_numbers import list_local_values
from lanescope.workbench.results import Span
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_enclosing_function, find_functions

if TYPE_CHECKING:
    from lanescope.workbench.products.misplaced_tiles import ShiftedTile, StoredTile

_WORD = re.compile(r"[A-Za-z_]\w*")
_BLOCK = re.compile(r"blockIdx|ctaid|\bbid\b|block|tile|gridDim|\w*rank\b")
_GROUP = re.compile(r"threadIdx|\bw\w*g\w*\b|cons\w*|group", re.I)
_GROUP_NUMBER = re.compile(r"threadIdx\b[^;%]*(?:/\s*128\b|>>\s*7\b)")
_PREFETCH = re.compile(r"\w*prefetch\w*\s*(?:<[^<>;]*>\s*)?\([^;]*;")
_FORMS = {
    "warp": re.compile(r"warp|\bw(?:id)?\b|/\s*32\b|>>\s*5\b", re.I),
    "block": _BLOCK,
    "part": re.compile(rf"^(?!.*(?:{_BLOCK.pattern}))", re.S),
    "split": re.compile(r"blockIdx\s*\.\s*z|ctaid\.z|split|slice|blockIdx", re.I),
    "batch": re.compile(r"blockIdx\s*\.\s*z|ctaid\.z|batch|head|expert|\bb?z\b", re.I),
}
_PITCHED = re.compile(r"\(((?:[^()]|\([^()]*\))*)\)\s*\*\s*(?:\([\w:]+\)\s*)?[A-Za-z_][\w.]*")  # (row) * pitch
_LANE = re.compile(r"\blane|\btid\b|threadIdx|\bwarp", re.I)
_OF = (  # the name of a row or a column, and what the other one is of the lane, by the fragments of D
    (re.compile(r"r(?:ow|\d|\b)|\w*_row", re.I), re.compile(r"%\s*4\b|&\s*3\b")),
    (re.compile(r"c(?:ol|\d|\b)|\w*_col", re.I), re.compile(r"/\s*4\b|>>\s*2\b")),
)
_POINTER = re.compile(r"(?:[*(\s]|\b\w+_cast\s*<[^<>]*>|\([\w\s:]+\*\))*([A-Za-z_]\w*)[)\s]*(?:\[\s*\d+\s*\])?")
_QUOTIENT = re.compile(r"\b(\w[\w.]*)\s*([/%])\s*([A-Za-z_]\w*)")
_MOST = 4  # definitions that lead from one to the next


def find_coordinate_site(box: LoadedBox, number: int) -> Span:
    """Return where the coordinate of a box is given that moves along a dimension of the tensor with joined panels."""
    sites = box.move.sites
    if is_in_panels(box.map) and number == 0:
        number = 2
    return sites[number] if number < len(sites) else box.move.site


def find_wrong_coordinate(total: SumOrigin, side: int) -> Span:
    """Return where the rows of a copy of A (0) or B (1) are given: its call, if those of the other one are given there,
    too.
    """
    one, other = (find_coordinate_site(total.boxes[n], total.numbers[n]) for n in (side, 1 - side))
    return total.boxes[side].move.call if one == other else one


def find_wrong_copy(shifted: Sequence[ShiftedTile], side: int) -> Span | None:
    """Return where the rows of a copy of A (0) or B (1) are given if they are wrong; None if the store of D may be."""
    total = next(one for one in shifted if one.rows or one.columns).tile.sum
    wrong = _find_unpaired_remainder(total, side)
    return wrong or (find_wrong_coordinate(total, side) if _is_copy_wrong(shifted, side) else None)


def _is_copy_wrong(shifted: Sequence[ShiftedTile], side: int) -> bool:
    """Return whether a coordinate is wrong, and not the store: the same elements are computed twice and stored in two
    places, the rows of A are always those of B, or the copies of a tile begin within another one, outside the matrix,
    or not where that begins.
    """
    made = [(*map(int, one.tile.made.min(axis=0)), *one.tile.batch) for one in shifted]
    put = [tuple(map(int, one.tile.put.min(axis=0))) for one in shifted]
    size = shifted[0].tile.size
    outside = [any(at[0] >= size[0] or at[1] >= size[1] for at in of_tiles) for of_tiles in (made, put)]
    if outside[0] != outside[1]:  # past the end of the matrix
        return outside[0]
    if len(set(made)) != len(set(put)):
        return len(set(made)) < len(set(put))
    if len(set(made)) > 1 and _is_diagonal(made) and not _is_diagonal(put):
        return True
    starts = sorted({(int(one.tile.made[:, side].min()), int(one.tile.made[:, side].max())) for one in shifted})
    overlap = any(after[0] <= before[1] for before, after in pairwise(starts))
    return overlap or (starts[0][0] > 0 and np.min(put, axis=0).tolist() == [0, 0])


def _is_diagonal(places: Iterable[Sequence[int]]) -> bool:
    return all(at[0] == at[1] for at in places)


def _find_unpaired_remainder(total: SumOrigin, side: int) -> Span | None:
    """Return where the rows of a copy of A (0) or B (1) begin at a remainder, if those of the other one begin at a
    quotient by another size: block / n with block % m, or the reverse; None for anything else.
    """
    text = total.finder.run.text
    places = [
        find_defining_place(text, find_coordinate_site(total.boxes[n], total.numbers[n]), "block") for n in (0, 1)
    ]
    own, other = (_QUOTIENT.search(text[slice(*places[n])]) for n in (side, 1 - side))
    if own is None or other is None or own[1] != other[1] or (own[2], other[2]) != ("%", "/"):
        return None
    return places[side] if own[3] != other[3] else None


def find_other_map(total: SumOrigin) -> Pitfall | None:
    """Return the finding of a product of two tiles of one matrix in a kernel that has the map of another one, and does
    not use it.
    """
    a, b = total.boxes
    if a.map is not b.map:
        return None
    run = total.finder.run
    blank = blank_text(run.text)
    function = next((one for one in find_functions(blank) if one.name == run.kernel), None)
    if function is None:
        return None
    body = _PREFETCH.sub("", blank[slice(*function.body)])
    head = blank[: function.body[0]].rpartition(function.name)[2]
    names = re.findall(r"CUtensorMap\s*[&*]?\s*(?:const\s+)?(\w+)", head)
    unused = [name for name in names if not re.search(rf"\b{name}\b", body)]
    if len(unused) != 1:
        return None
    message = f"A and B are loaded by one tensor map, and nothing is loaded by {unused[0]}."
    return Pitfall("tma_map_other", message, b.move.site)


def find_store_place(text: str, site: Span, box: BoxMove | None, depends: str, outer: int) -> Span:
    """Return the place of a store's wrong term. depends: what the distance differs by; outer: 0 if the coordinate that
    is wrong is the outer one of the matrix, else 1.
    """
    if box is not None:
        number = len(box.sites) - 1 if outer and len(box.sites) == 3 else (0 if outer else 1)
        return box.sites[number] if number < len(box.sites) else site
    return find_defining_place(text, site, depends, outer)


def find_defining_place(text: str, site: Span, depends: str, outer: int | None = None) -> Span:
    """Return the definition of a variable of an expression that multiplies what a number depends on, else the
    expression. outer: whether only the variables of the outer coordinate (0), or of the inner one (1), are asked for.
    """
    blank = blank_text(text)
    function = find_enclosing_function(blank, site[0])
    if function is None:
        return site
    own, form = _select_part(blank[slice(*site)], outer), _FORMS.get(depends, _GROUP)
    if outer is not None and depends == "block" and "*" in own and form.search(own):
        return site
    values = list(_list_definitions(blank, function, site, outer))
    scaled = [at for at in values if "*" in blank[slice(*at)]]
    fitting = [at for at in scaled if form.search(blank[slice(*at)])]
    if not fitting and form is _GROUP:
        fitting = [at for at in scaled if any(map(partial(_is_group, blank), _list_definitions(blank, function, at)))]
    return fitting[0] if fitting else site


def find_lane_variable(text: str, site: Span, side: int | None = None) -> Span:
    """Return the value of the local variable of an address that gives each thread its place: of several, that which is
    called a row and is a remainder of the lane by 4, or a column and the quotient; else the address. side: the rows (0)
    or columns (1), which its name has to say then.
    """
    blank = blank_text(text)
    function = find_enclosing_function(blank, site[0])
    if function is None:
        return site
    names = dict.fromkeys(_WORD.findall(blank[slice(*site)]))
    values = {name: list_local_values(blank, function, name, site) for name in names}
    of_lane = {name: at[0] for name, at in values.items() if len(at) == 1 and _LANE.search(blank[slice(*at[0])])}
    wrong = [
        at for name, at in of_lane.items() if any(_is_of_other_form(form, name, blank[slice(*at)]) for form in _OF)
    ]
    chosen = wrong or list(of_lane.values())
    if side is not None:
        chosen = [at for name, at in of_lane.items() if _OF[side][0].match(name)]
    return chosen[0] if len(chosen) == 1 else site


def _is_of_other_form(form: tuple[re.Pattern[str], re.Pattern[str]], name: str, value: str) -> bool:
    return form[0].match(name) is not None and form[1].search(value) is not None


def find_pointer(text: str, site: Span) -> Span:
    """Return the only value of the local pointer that a store writes to, without an offset or with a number; the place
    of the store if it writes to anything else.
    """
    blank = blank_text(text)
    target, function = _POINTER.fullmatch(blank[slice(*site)]), find_enclosing_function(blank, site[0])
    values = list_local_values(blank, function, target[1], site) if target and function is not None else ()
    return values[0] if len(values) == 1 else site


def find_buffer(blank: str, site: Span) -> Span:
    """Return what a pointer of an address is made from: times the number of a warpgroup, else as it is."""
    place, function = find_defining_place(blank, site, "group"), find_enclosing_function(blank, site[0])
    if place != site or function is None:
        return place
    values = _list_definitions(blank, function, site)
    return next((at for at in values if re.search(r"\*\s*\w+\s*=\s*$", blank[max(0, at[0] - 64) : at[0]])), site)


def _is_group(blank: str, value: Span) -> bool:
    """Return whether a value is the number of a warpgroup."""
    return _GROUP_NUMBER.search(blank, *value) is not None


def _select_part(expression: str, outer: int | None) -> str:
    """Return the part of an address (...) * pitch + ...: of the outer coordinate, with the pointer before it, or of the
    inner one; all of one that has no such form.

    >>> [_select_part("C[(row + i) * N + col]", outer) for outer in (0, 1)]
    ['C[(row + i', 'C[ + col]']
    """
    match = _PITCHED.search(expression) if outer is not None else None
    if match is None:
        return expression
    before = expression[: match.start()]
    return before + "(" + match[1] if outer == 0 else before + expression[match.end() :]


def _list_definitions(blank: str, function: FunctionText, site: Span, outer: int | None = None) -> Iterator[Span]:
    """Yield the values of the variables of an address, from the nearest on; also those in macros that it uses. outer:
    see find_defining_place.
    """
    seen: set[str] = set()
    queue = [(site, 0)]
    while queue:
        at, depth = queue.pop(0)
        for word in _WORD.findall(_select_part(blank[slice(*at)], outer)):
            if word in seen:
                continue
            seen.add(word)
            macro = re.search(rf"#[ \t]*define[ \t]+{word}\b[^\n]*", blank)
            if macro:
                queue.append((macro.span(), depth))
                continue
            for value in list_local_values(blank, function, word, site):
                assigned = blank[value[0] : value[0] + len(word)] == word
                whole = (value[0], _find_value_end(blank, value[1])) if assigned else value
                yield whole
                if depth < _MOST:
                    queue.append((whole, depth + 1))


def _find_value_end(blank: str, at: int) -> int:
    """Return the end of a value that is assigned: a semicolon, or the end of the head of a loop."""
    depth = 0
    while at < len(blank) and blank[at] != ";" and (depth or blank[at] != ")"):
        depth += (blank[at] == "(") - (blank[at] == ")")
        at += 1
    return at


# copies of several boxes ----------------------------------------------------------------------------------------------


def find_wrong_box(array: str, tiles: Sequence[StoredTile], turned: bool) -> Pitfall | None:
    """Return the finding of a TMA copy whose elements are all stored away from their places by one distance, if all
    other ones are right.
    """
    found: Pitfall | None = None
    for tile in tiles:
        shifts = tile.find_shifts()
        for n in np.unique(tile.by[shifts.any(axis=1), 0]).tolist():
            own, move = shifts[tile.by[:, 0] == n], tile.stores[n]
            once = len(np.unique(tile.made, axis=0)) == len(tile.made)
            if not isinstance(move, BoxMove) or not once or (own != own[0]).any() or own[0].all():
                return None
            side = int(np.flatnonzero(own[0])[0])
            what = "rows" if side == 0 else "columns"
            message = (
                f"This copy stores elements of D {abs(own[0][side])} {what} {'before' if own[0][side] < 0 else 'after'}"
                f" their own in {array}."
            )
            place = find_store_place("", move.site, move, "", side ^ turned)
            found = found or Pitfall("result_misplaced", message, place)
    return found


def find_shared_bytes(array: str, tiles: Sequence[StoredTile], text: str) -> Pitfall | None:
    """Return the finding of warpgroups that store elements of D to the same bytes of shared memory, so that one copies
    those of another one.
    """
    for tile in tiles:
        foreign = tile.by[:, 1] != tile.group
        wrong = tile.find_shifts().any(axis=1)
        groups = set(tile.by[foreign, 1].tolist())
        others = {one.group for one in tiles if one.block == tile.block}
        if foreign.any() and (foreign == wrong).all() and groups <= others and tile.staged:
            message = (
                f"Warpgroup {min(groups)} copies elements of D to {array} that warpgroup {tile.group} has stored to"
                " shared memory: the bytes that both store to overlap."
            )
            return Pitfall("result_misplaced", message, find_buffer(blank_text(text), tile.first_store))
    return None


def find_mixed_bytes(array: str, tiles: Sequence[StoredTile], text: str) -> Pitfall | None:
    """Return the finding of warpgroups of which one stores elements of D over those of another one, so that a TMA copy
    brings some of them to wrong places, and others nowhere.
    """
    tile = next((tile for tile in tiles if tile.box is not None and tile.mixed and tile.left and tile.staged), None)
    if tile is None:
        return None
    message = (
        "Warpgroups store elements of D to the same bytes of shared memory, and some come to other rows or columns of"
        f" {array} than theirs: check what moves this address from warpgroup to warpgroup."
    )
    return Pitfall("result_misplaced", message, find_buffer(blank_text(text), tile.first_store))


def list_wrong_places(tiles: Sequence[StoredTile], text: str) -> list[Span]:
    """List what may bring elements to wrong places: the stores to shared memory of their registers, or the definition
    of the number of a warp that is wrong.
    """
    wrong = {int(byte) for tile in tiles for byte in np.unique(tile.by[tile.find_shifts().any(axis=1), 2])}
    sites = (site for tile in tiles for site, stored in tile.staged.items() if not wrong.isdisjoint(stored))
    found = list(dict.fromkeys(sites)) or [tiles[0].first_store]
    of_warp = find_defining_place(text, found[0], "warp") if _depends_on_warps(tiles) else found[0]
    if of_warp != found[0]:
        return [of_warp]
    if len(found) <= 2:
        return found
    moved = [n for n in (0, 1) if any(tile.find_shifts()[:, n].any() for tile in tiles)]
    return [find_lane_variable(text, found[0], moved[0] if len(moved) == 1 else None)]  # of many, what is common


def _depends_on_warps(tiles: Sequence[StoredTile]) -> bool:
    """Return whether all elements of some warps come to wrong places, and none of the others."""
    found: dict[tuple[int, int], set[bool]] = {}
    for n, tile in enumerate(tiles):
        each = WARP if tile.sum.products[0].in_memory else 16  # rows of a warp
        warps: Ints = np.searchsorted(tile.sum.rows, tile.made[:, 0]) // each
        wrong: Mask = np.asarray(tile.find_shifts().any(axis=1))
        for warp in np.unique(warps).tolist():
            found[n, warp] = set(wrong[np.equal(warps, warp)].tolist())
    return {True} in found.values() and {False} in found.values() and {True, False} not in found.values()
