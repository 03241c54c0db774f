"""Check that each product takes the scale factors of its rows and its slice of K.

The order of scale factors in global memory is the host's, which may repeat them, too. So it is a doubt if one row and
one block of K do not always have the same factor, if others have it, too, or if they do not follow K. PTX ISA 9.1,
9.7.16.10.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from lanescope.blackwell.scale_atoms import ATOM_FACTORS, ATOM_ROWS, compute_factor_offset
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.storage import Ints
from lanescope.reader.threads.memory.tile_records import TileProduct
from lanescope.workbench.products.origin_places import find_coordinate_site
from lanescope.workbench.products.product_origins import SumOrigin
from lanescope.workbench.products.scale_memory import LANES, LINE, TakenFactors
from lanescope.workbench.results import Span

TITLES = {"scale_factors_unusual": "A product may take the scale factors of other rows or of another slice of K"}
_HOST = " This is right only if the host stores them so."
_NOT_KNOWN = "where the scale factors of its products come from is not known"
_NOT_OWN = "rows of several tiles have the same scale factors"
_ATOM = ATOM_ROWS * ATOM_FACTORS  # bytes
_FAR, _ROW = 1 << 40, 1 << 24  # larger than an offset, and than the number of a block of K


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """The factors of one operand in one product. rows: of the operand; blocks: of K; k: where the product begins."""

    total: SumOrigin
    product: TileProduct
    name: str
    taken: TakenFactors
    rows: Ints
    blocks: Ints
    k: int

    @property
    def elements(self) -> Ints:
        """The number of each factor by its row and its block of K."""
        return self.rows[:, None] * _ROW + self.blocks

    @property
    def names(self) -> list[str]:
        return self.total.finder.scales.names

    @property
    def place(self) -> int:
        """The address in shared memory that the first factor was copied from."""
        return int(self.taken.places[0, 0])

    @property
    def offset(self) -> int:
        """The byte of the first factor in its array."""
        return int(self.taken.offsets[0, 0])

    def find_sources(self, names: Sequence[str]) -> Ints:
        """Return the number of each factor by its array and its byte. names: of all arrays."""
        numbers = np.array([names.index(name) for name in self.names], np.int64)
        found: Ints = numbers[self.taken.arrays] * _FAR + self.taken.offsets
        return found

    @property
    def is_standard(self) -> bool:
        """Return whether the factors lie as in atoms of 128 rows and 4 factors."""
        row, block = self.rows % ATOM_ROWS, self.blocks % ATOM_FACTORS
        inside = compute_factor_offset(row[:, None], block[None, :], ATOM_FACTORS)
        own = self.taken.offsets[: len(row)] - self.offset == inside - inside[0, 0]
        return bool(own[self.rows // ATOM_ROWS == self.rows[0] // ATOM_ROWS].all())


def find_wrong_factors(sums: Sequence[SumOrigin]) -> tuple[Pitfall | None, str]:
    """Return (the doubt about factors that may not be those of a product's rows and K, why D is open otherwise)."""
    scaled = [one for one in sums if any(product.scales for product in one.products)]
    sides = _list_sides(scaled)
    if not scaled or not sides:
        return None, _NOT_KNOWN if scaled else ""
    found, reason = next(filter(any, map(_compare, sides)), (None, ""))
    if found is not None and _is_exchanged(sides):
        message = "The product takes the scale factors of B for A, and those of A for B: they are exchanged."
        return _doubt(message, sides[0][0].product.scales["a"].site), ""
    return (found, reason) if found is not None or reason else (_find_common(sides), "")


def _list_sides(scaled: Sequence[SumOrigin]) -> list[list[_Use]]:
    """Return the factors of A and those of B; nothing if one of them is not known."""
    sides = [[use for one in scaled for use in _list_uses(one, side, name)] for side, name in enumerate("ab")]
    count = sum(len(one.products) for one in scaled)
    batches = any(any(one.find_batch(side)) for one in scaled for side in (0, 1))
    known = all(len(uses) == count and all(use.taken.is_known for use in uses) for uses in sides)
    return sides if known and not batches else []


def _is_exchanged(sides: Sequence[Sequence[_Use]]) -> bool:
    """Return whether each operand has its own factors if the two exchange theirs."""
    pairs = list(zip(*sides, strict=True))
    if any(len(a.rows) != len(b.rows) for a, b in pairs):
        return False
    exchanged = [replace(a, taken=b.taken) for a, b in pairs], [replace(b, taken=a.taken) for a, b in pairs]
    return not any(any(_compare(uses)) for uses in exchanged)


def _find_common(sides: Sequence[Sequence[_Use]]) -> Pitfall | None:
    """Return the doubt about factors that both a row of A and a column of B have."""
    names = sorted({name for uses in sides for use in uses for name in use.names})
    seen = [{int(use.find_sources(names)[0, 0]): use for use in reversed(uses)} for uses in sides]
    common = next((source for source in seen[1] if source in seen[0]), None)
    if common is None or sides[0][0].total.is_symmetric:
        return None
    use = seen[1][common]
    message = (
        f"Rows of A and columns of B take the same scale factors, from byte {use.offset} of"
        f" {use.names[int(use.taken.arrays[0, 0])]} on: each operand has its own."
    )
    return _doubt(message, _find_site(sides[1], use))


def _list_uses(total: SumOrigin, side: int, name: str) -> Iterator[_Use]:
    rows, bits = (total.rows, total.columns)[side], total.boxes[side].map.element_bits or 0
    for product, k in zip(total.products, total.list_slices(side) or (), strict=False):
        taken = total.finder.scales.taken.get((product.event, name))
        if taken is not None and len(rows) == len(taken.offsets):
            seen, count = product.views[name], taken.offsets.shape[1]
            start = k * bits // seen.bits
            yield _Use(total, product, name, taken, rows, start * count // seen.k + np.arange(count), start)


def _compare(uses: Sequence[_Use]) -> tuple[Pitfall | None, str]:
    """Compare the factors of one operand in all products."""
    elements, sources, number = _join(uses)
    several = _find_differing(elements, sources)
    if several is not None:
        return _describe(uses, [int(number[n]) for n in several], "different scale factors"), ""
    shared = _find_differing(sources, elements)
    if shared is None:
        return _find_disorder(uses, _list_first_row(uses)), ""
    turn = _list_turn([use for use in uses if use.total is uses[0].total], uses[0])
    same = len(np.unique(sources)) <= sum(use.elements.size for use in turn)
    if same and len({int(use.rows[0]) for use in uses}) > 1:
        return None, _NOT_OWN  # such as factors that are all 1
    rows, blocks = (part.tolist() for part in np.divmod(elements[list(shared)], _ROW))
    apart = number[shared[0]] != number[shared[1]]  # in one product, rows never share factors
    meant, reason = _may_be_meant(uses, rows[0] == rows[1], blocks[0] == blocks[1]) if apart else (False, "")
    return None if meant else _describe(uses, [int(number[n]) for n in shared], "the same scale factors"), reason


def _join(uses: Sequence[_Use]) -> tuple[Ints, Ints, Ints]:
    """Return each factor's element, its place in memory, and which use it is of."""
    names = sorted({name for use in uses for name in use.names})
    elements = np.concatenate([use.elements.ravel() for use in uses])
    sources = np.concatenate([use.find_sources(names).ravel() for use in uses])
    return elements, sources, np.repeat(np.arange(len(uses)), [use.elements.size for use in uses])


def _may_be_meant(uses: Sequence[_Use], same_row: bool, same_block: bool) -> tuple[bool, str]:
    """Return (whether factors may be shared on purpose, why D is open then)."""
    own = _list_first_row(uses)
    if same_block and not (uses[0].is_standard and len(set(own)) == len(own) > 1):
        return True, _NOT_OWN
    return same_row and _is_coarse(own), ""


def _find_disorder(uses: Sequence[_Use], own: Sequence[int]) -> Pitfall | None:
    """Return the doubt about factors in another order than K. own: of the first row."""
    at = next((n for n in range(1, len(own)) if own[n] < own[n - 1]), None)
    if at is None or len({int(array) for use in uses for array in use.taken.arrays[0]}) > 1:
        return None
    wrong = next(use for use in uses if use.total is uses[0].total and at in use.blocks.tolist())
    message = (
        f"The scale factors of {wrong.name.upper()} are in another order than K: the product at K = {wrong.k} takes"
        f" those from byte {wrong.offset} of {wrong.names[int(wrong.taken.arrays[0, 0])]} on."
    )
    return _doubt(message, _find_site(uses, wrong))


def _doubt(message: str, site: Span) -> Pitfall:
    return Pitfall("scale_factors_unusual", message + _HOST, site)


def _find_differing(keys: Ints, values: Ints) -> tuple[int, int] | None:
    """Return the places of two equal keys with different values, the earliest ones."""
    order = np.lexsort((np.arange(len(keys)), keys))
    same = keys[order][1:] == keys[order][:-1]
    found = np.flatnonzero(same & (values[order][1:] != values[order][:-1]))
    if not len(found):
        return None
    at = found[np.argmin(order[found + 1])]
    return int(order[at]), int(order[at + 1])


def _list_first_row(uses: Sequence[_Use]) -> list[int]:
    """Return the byte of the factor of the first row for each block of K, in their order."""
    offsets: dict[int, int] = {}
    for use in uses:
        if use.total is uses[0].total:
            offsets |= dict(zip(use.blocks.tolist(), use.taken.offsets[0].tolist(), strict=True))
    return [offsets[block] for block in sorted(offsets)]


def _is_coarse(of_k: Sequence[int]) -> bool:
    """Return whether blocks of K share factors in groups of one size, and all bytes of a word are used."""
    changes = [n for n in range(1, len(of_k)) if of_k[n] != of_k[n - 1]]
    group = changes[0] if changes else len(of_k)
    used, distinct = {offset % ATOM_FACTORS for offset in of_k}, len(set(of_k)) == len(changes) + 1
    even = group > 1 and changes == list(range(group, len(of_k), group))
    return even and distinct and len(used) == min(ATOM_FACTORS, len(changes) + 1)


def _describe(uses: Sequence[_Use], pair: Sequence[int], what: str) -> Pitfall:
    before, use = (uses[n] for n in pair)
    matrix, line = ("A", "rows") if use.name == "a" else ("B", "columns")
    tiles = [
        f"{line} {one.rows[0]} to {one.rows[-1]} at K = {one.k} (block {one.total.block})" for one in (before, use)
    ]
    if before is use and use.is_standard and use.taken.copy is not None:
        message = (
            f"Several {line} of {matrix} take {what} in one product: a tcgen05.cp brings the same {ATOM_ROWS} again."
        )
        return _doubt(message, use.taken.copy.call)
    bytes_ = f"byte {use.offset}" if before.offset == use.offset else f"bytes {before.offset} and {use.offset}"
    message = (
        f"Products take {what} of {matrix} for {tiles[0]} and {tiles[1]}, from {bytes_} of"
        f" {use.names[int(use.taken.arrays[0, 0])]} on: each row and each block of K has its own."
    )
    return _doubt(message, _find_site(uses, use))


def _find_site(uses: Sequence[_Use], wrong: _Use) -> Span:
    """Return what moves wrong factors: the source of a copy to shared memory, that of tcgen05.cp, or the address or the
    id that the product is given.
    """
    copy, mine = wrong.taken.copy, wrong.product.scales[wrong.name]
    turn = _list_turn([use for use in uses if use.total is wrong.total], wrong)
    if copy is None:
        return mine.site
    if mine.byte != wrong.blocks[0] % ATOM_FACTORS:
        return mine.id_site
    if not all(use.is_standard for use in turn):
        return mine.site if (mine.column - copy.column) % max(len(wrong.rows) // LANES, 1) else copy.sites["source"]
    if _is_in_order(turn) and not _is_of_other(wrong) and _uses_all_places(uses, wrong):
        return _find_load_site(turn[0])
    columns = [use.product.scales[use.name].column for use in turn]
    words = len({int(use.blocks[0]) // ATOM_FACTORS for use in turn})
    return copy.call if columns == sorted(columns) and len(set(columns)) == words else mine.site


def _find_load_site(use: _Use) -> Span:
    """Return what says from where the bytes came that are in shared memory where a factor was."""
    finder = use.total.finder
    owner = int(finder.owner[use.place])
    if owner <= LINE:
        return finder.scales.lines[LINE - owner][0].site
    box = finder.boxes[owner]
    return find_coordinate_site(box, len(box.move.at) - 1)


def _uses_all_places(uses: Sequence[_Use], wrong: _Use) -> bool:
    """Return whether products take factors from all places that the copies of these fill, such as all stages."""
    finder = wrong.total.finder
    site = _find_load_site(wrong)
    filled = {int(move.place[lane]) for move, lane in finder.scales.lines if move.site == site}
    filled |= {box.base for box in finder.boxes if site in box.move.sites}
    starts = sorted(filled)
    mine = [use.place for use in uses if use.total.finder is finder]
    return all(any(start <= place < after for place in mine) for start, after in pairwise([*starts, SHARED_BYTES]))


def _is_in_order(turn: Sequence[_Use]) -> bool:
    """Return whether products take the atoms of a copy one after the other."""
    atoms = -(-len(turn[0].rows) // ATOM_ROWS)
    factors = turn[0].blocks[0]
    for stride in (_ATOM, atoms * _ATOM):
        past = [
            (int(use.blocks[0]) // ATOM_FACTORS - int(factors) // ATOM_FACTORS) * stride
            + int(use.blocks[0]) % ATOM_FACTORS
            - int(factors) % ATOM_FACTORS
            for use in turn
        ]
        if [use.place - turn[0].place for use in turn] == past:
            return True
    return False


def _is_of_other(wrong: _Use) -> bool:
    """Return whether the other operand of the product takes factors of the same copy to shared memory, too."""
    finder, other = wrong.total.finder, "ba"["ab".index(wrong.name)]
    taken = finder.scales.taken.get((wrong.product.event, other))
    return taken is not None and finder.owner[taken.places[0, 0]] == finder.owner[wrong.place]


def _list_turn(uses: Sequence[_Use], wrong: _Use) -> list[_Use]:
    """Return the products of one D that multiply the same box as one of them."""
    side = "ab".index(wrong.name)
    width = wrong.total.boxes[side].count_along(wrong.total.along[side][0])
    width = width * (wrong.total.boxes[side].map.element_bits or 0) // wrong.product.views[wrong.name].bits
    return [use for use in uses if use.k // max(width, 1) == wrong.k // max(width, 1)]
