"""Find the product that takes other rows than those that the copies bring for its tile of D."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanescope.reader.code.findings import Pitfall
from lanescope.workbench.products.origin_places import find_defining_place

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
