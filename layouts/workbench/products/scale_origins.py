"""Compare the scale factors that products take with those of their rows and their slice of K.

The order of scale factors in global memory is the host's, which may repeat them, too. So D is open if one row and one
block of K do not always have the same factor, if others have it, too, or if factors do not follow K. PTX ISA 9.1,
9.7.16.10.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lanescope.blackwell.scale_atoms import ATOM_FACTORS
from lanescope.reader.threads.memory.storage import Ints
from lanescope.workbench.products.product_origins import Block, SumOrigin
from lanescope.workbench.products.scale_memory import TakenFactors

_NOT_KNOWN = "where the scale factors of its products come from is not known"
NOT_FOLLOWED = "which scale factors its products take is not followed"  # of those that warps load
_FAR, _ROW = 1 << 40, 1 << 24  # larger than an offset, and than the number of a block of K


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """The factors of one operand in one product. block: that computes; rows: of the operand; blocks: of K, k: where the
    product begins; names: of the arrays.
    """

    name: str
    block: Block
    taken: TakenFactors
    names: Sequence[str]
    rows: Ints
    blocks: Ints
    k: int

    @property
    def elements(self) -> Ints:
        """The number of each factor by its row and its block of K."""
        return self.rows[:, None] * _ROW + self.blocks

    @property
    def source(self) -> str:
        return f"from byte {self.taken.offsets[0, 0]} of {self.names[int(self.taken.arrays[0, 0])]} on"

    def find_sources(self, names: Sequence[str]) -> Ints:
        """Return the number of each factor by its array and its byte. names: of all arrays."""
        numbers = np.array([names.index(name) for name in self.names], np.int64)
        found: Ints = numbers[self.taken.arrays] * _FAR + self.taken.offsets
        return found


def explain_factors(sums: Sequence[SumOrigin]) -> str:
    """Return why the scale factors of products may not be those of their rows and of K, "" if they are."""
    if any(map(_is_scaled_by_warps, sums)):
        return NOT_FOLLOWED
    scaled = [one for one in sums if any(product.scales for product in one.products)]
    if not scaled:
        return ""
    sides = [[use for one in scaled for use in _list_uses(one, side, name)] for side, name in enumerate("ab")]
    if not all(_are_known(scaled, uses) for uses in sides):
        return _NOT_KNOWN
    return next(filter(None, map(_compare, sides)), "") or ("" if scaled[0].is_symmetric else _find_common(sides))


def _is_scaled_by_warps(total: SumOrigin) -> bool:
    return any(product.use is not None and "block_scale" in product.use.opcode for product in total.products)


def _are_known(scaled: Sequence[SumOrigin], uses: Sequence[_Use]) -> bool:
    """Return whether the factors of one operand are known in all products, and no matrices of a batch have others."""
    batches = any(any(one.find_batch(side)) for one in scaled for side in (0, 1))
    known = len(uses) == sum(len(one.products) for one in scaled) and all(use.taken.is_known for use in uses)
    return known and not batches


def _list_uses(total: SumOrigin, side: int, name: str) -> Iterator[_Use]:
    rows, bits, scales = (total.rows, total.columns)[side], total.boxes[side].map.element_bits or 0, total.finder.scales
    for product, k in zip(total.products, total.list_slices(side) or (), strict=False):
        taken = scales.taken.get((product.event, name))
        if taken is not None and len(rows) == len(taken.offsets):
            seen, count = product.views[name], taken.offsets.shape[1]
            start = k * bits // seen.bits
            blocks = start * count // seen.k + np.arange(count)
            yield _Use(name, total.block, taken, scales.names, rows, blocks, start)


def _compare(uses: Sequence[_Use]) -> str:
    """Compare the factors of one operand in all products; return what is unusual about them."""
    names = sorted({name for use in uses for name in use.names})
    elements = np.concatenate([use.elements.ravel() for use in uses])
    sources = np.concatenate([use.find_sources(names).ravel() for use in uses])
    number = np.repeat(np.arange(len(uses)), [use.elements.size for use in uses])
    first = _list_first_row(uses)
    if several := _find_differing(elements, sources):
        return _describe([uses[number[n]] for n in several], "different scale factors")
    if (shared := _find_differing(sources, elements)) is None:
        return _find_disorder(uses, first)
    same_row = len(set((elements[list(shared)] // _ROW).tolist())) == 1
    coarse = same_row and number[shared[0]] != number[shared[1]] and _is_coarse(first)
    return "" if coarse else _describe([uses[number[n]] for n in shared], "the same scale factors")


def _find_differing(keys: Ints, values: Ints) -> tuple[int, int] | None:
    """Return the places of two equal keys with different values, the earliest ones."""
    order = np.lexsort((np.arange(len(keys)), keys))
    same = keys[order][1:] == keys[order][:-1]
    found = np.flatnonzero(same & (values[order][1:] != values[order][:-1]))
    if not len(found):
        return None
    at = found[np.argmin(order[found + 1])]
    return int(order[at]), int(order[at + 1])


def _find_common(sides: Sequence[Sequence[_Use]]) -> str:
    """Return a sentence about factors that both a row of A and a column of B have."""
    names = sorted({name for uses in sides for use in uses for name in use.names})
    seen = [{int(use.find_sources(names)[0, 0]): use for use in reversed(uses)} for uses in sides]
    common = next((source for source in seen[1] if source in seen[0]), None)
    return "" if common is None else f"rows of A and columns of B take the same scale factors, {seen[1][common].source}"


def _list_first_row(uses: Sequence[_Use]) -> list[int]:
    """Return the byte of the factor of the first row for each block of K, in their order; none of several arrays."""
    offsets: dict[int, int] = {}
    for use in uses:
        if (use.block, use.rows[0]) == (uses[0].block, uses[0].rows[0]):
            offsets |= dict(zip(use.blocks.tolist(), use.taken.offsets[0].tolist(), strict=True))
    several = len({int(array) for use in uses for array in use.taken.arrays[0]}) > 1
    return [] if several else [offsets[block] for block in sorted(offsets)]


def _find_disorder(uses: Sequence[_Use], of_k: Sequence[int]) -> str:
    """Return a sentence about factors in another order than K. of_k: of the first row."""
    at = next((n for n in range(1, len(of_k)) if of_k[n] < of_k[n - 1]), None)
    use = next((use for use in uses if use.block == uses[0].block and at in use.blocks.tolist()), None)
    if use is None:
        return ""
    matrix = use.name.upper()
    return f"the scale factors of {matrix} are in another order than K: for K = {use.k} they are taken {use.source}"


def _is_coarse(of_k: Sequence[int]) -> bool:
    """Return whether blocks of K share factors in groups of one size, and all bytes of a word are used."""
    changes = [n for n in range(1, len(of_k)) if of_k[n] != of_k[n - 1]]
    group = changes[0] if changes else len(of_k)
    used, distinct = {offset % ATOM_FACTORS for offset in of_k}, len(set(of_k)) == len(changes) + 1
    even = group > 1 and changes == list(range(group, len(of_k), group))
    return even and distinct and len(used) == min(ATOM_FACTORS, len(changes) + 1)


def _describe(pair: Sequence[_Use], what: str) -> str:
    matrix, line = ("A", "rows") if pair[0].name == "a" else ("B", "columns")
    tiles = [f"{line} {use.rows[0]} to {use.rows[-1]} at K = {use.k} (block {use.block})" for use in pair]
    both = tiles[0] if pair[0] is pair[1] else f"{tiles[0]} and for {tiles[1]}"
    return f"products take {what} of {matrix} for {both}, {pair[1].source}"
