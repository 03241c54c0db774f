"""Find the product that takes other rows than those that the copies bring for its tile of D."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.threads.memory.tile_records import TileProduct
from lanescope.workbench.products.origin_places import find_defining_place
from lanescope.workbench.results import Span

if TYPE_CHECKING:
    from lanescope.workbench.products.misplaced_tiles import ShiftedTile, StoredTile


def find_wrong_operand(array: str, shifted: Sequence[ShiftedTile], wrong: ShiftedTile, text: str) -> Pitfall | None:
    """Return the finding of a product that takes other rows than those of the copies for its tile, which is stored away
    from its place in one direction.
    """
    side, tile = 0 if wrong.rows else 1, wrong.tile
    name, what, made = "AB"[side], ("row", "column")[side], wrong.find_made(side)
    product, unit = tile.sum.products[0], tile.sum.finder.unit
    shared = _find_shared_read(shifted, side)
    if shared is not None:
        message = (
            f"{unit.capitalize()} {tile.group} multiplies rows of {name} from {made} on, of which {unit} {shared.group}"
            f" takes some, too, and D is stored in other {what}s of {array}: check what moves this address for each."
        )
        return Pitfall("warpgroups_overlap", message, (*product.calls, product.sites[name.lower()])[0])
    first = min((one.tile for one in shifted if one.tile.block == tile.block), key=lambda one: one.put[:, side].min())
    start = int(first.sum.boxes[side].find_start()[first.sum.numbers[side]])
    if start == first.put[:, side].min() < first.made[:, side].min():
        message = (
            f"The copy brings the rows of {name} from {start} on, and D is stored in {array} from {what} {start} on,"
            f" but the product takes them from {first.made[:, side].min()} on ({wrong.who}): it must begin where the"
            " copy does."
        )
        product = first.sum.products[0]
        site = (*product.calls, product.sites[name.lower()])[0]
        return Pitfall("operand_rows_wrong", message, find_defining_place(text, site, "group"))
    twin = _find_twin(shifted, wrong)
    if twin is not None and _is_loaded(wrong, side):
        message = (
            f"This product takes the rows of {name} from {made} on, as another one with the same {'BA'[side]} does, and"
            f" D is stored in {array} from {what} {wrong.find_put(side)} on ({wrong.who}): a copy brings these rows, so"
            f" the address of {name} is that of other rows."
        )
        return Pitfall("operand_rows_wrong", message, _find_difference(product, twin.sum.products[0], name.lower()))
    if _is_left(shifted, wrong, side):
        message = (
            f"This product takes the rows of {name} from {made} on, and D is stored in {array} from {what}"
            f" {wrong.find_put(side)} on ({wrong.who}): it leaves out the box with these rows."
        )
        return Pitfall("operand_rows_wrong", message, product.sites[name.lower()])
    return None


def _is_left(shifted: Sequence[ShiftedTile], wrong: ShiftedTile, side: int) -> bool:
    """Return whether the block loads a box with the rows that a wrong tile is stored for, and no product takes it."""
    total, block = wrong.tile.sum, wrong.tile.block
    put = wrong.find_put(side)
    taken = {one.find_made(side) for one in shifted if one.tile.block == block}
    alike = (box for box in total.finder.boxes if box.map is total.boxes[side].map)
    return put not in taken and any(int(box.find_start()[total.numbers[side]]) == put for box in alike)


def _find_twin(shifted: Sequence[ShiftedTile], wrong: ShiftedTile) -> StoredTile | None:
    """Return a tile of the same rows and columns of the same warpgroup, which another product makes and which is stored
    at its place.
    """
    own = wrong.tile
    for one in (one.tile for one in shifted if not one.rows and not one.columns):
        same = (one.block, one.group, one.batch) == (own.block, own.group, own.batch)
        if same and one.sum.result != own.sum.result and np.array_equal(one.made.min(axis=0), own.made.min(axis=0)):
            return one
    return None


def _is_loaded(wrong: ShiftedTile, side: int) -> bool:
    """Return whether a copy of the block brings the rows that a wrong tile is stored for."""
    total, put = wrong.tile.sum, wrong.find_put(side)
    own, number = total.boxes[side], total.numbers[side]
    starts = [int(box.find_start()[number]) for box in total.finder.boxes if box.map is own.map]
    return any(start <= put < start + own.count_along(number) for start in starts)


def _find_difference(product: TileProduct, twin: TileProduct, name: str) -> Span:
    """Return the first call, or the operand, that two products do not have in common."""
    own, other = ((*each.calls, each.sites[name]) for each in (product, twin))
    return next((mine for mine, theirs in zip(own, other, strict=False) if mine != theirs), own[-1])


def _find_shared_read(shifted: Sequence[ShiftedTile], side: int) -> StoredTile | None:
    """Return a tile of another warpgroup whose rows or columns, in the product with the same other operand, overlap
    those of the first wrong tile.
    """
    wrong = next(one.tile for one in shifted if one.rows or one.columns)
    first, last = int(wrong.made[:, side].min()), int(wrong.made[:, side].max())
    for other in (one.tile for one in shifted):
        product = other.sum.products[0] is wrong.sum.products[0]
        same = product and other.block == wrong.block and other.group != wrong.group
        beside = other.made[:, 1 - side].min() == wrong.made[:, 1 - side].min()
        if same and beside and first <= other.made[:, side].max() and other.made[:, side].min() <= last:
            return other if (other.put.min(axis=0) != wrong.put.min(axis=0)).any() else None
    return None
