"""Messages about wrong fragments of an mma, by code; `thread_tiles.py` finds them."""

from __future__ import annotations

from lanescope.workbench.fragments.thread_fragments import ArrivedOperand, count_packed

_MESSAGES = {
    "k_step_differs": "from one K step to the next it moves along K by another number of elements than the other"
    " operand, which moves by the K of one instruction.",
    "registers_exchanged": "registers 1 and 2 of ldmatrix arrive as 2 and 1 of the product. With them in order the"
    " fragment is right.",
    "register_repeated": "it takes one register of ldmatrix twice, and another never.",
    "trans_missing": "each 8×8 matrix arrives transposed. ldmatrix needs .trans here: the tile's rows run along the"
    " other dimension.",
    "trans_extra": "each 8×8 matrix arrives transposed. ldmatrix must not have .trans here.",
    "trans_or_exchanged": "the tile arrives transposed. Either .trans of this ldmatrix is wrong, or its matrices 1 and"
    " 2 are exchanged: in the addresses of the lanes, or in the registers that mma takes.",
    "matrices_exchanged": "matrices 1 and 2 of ldmatrix are exchanged: lanes 8–15 give the rows that lanes 16–23"
    " should.",
    "rows_repeated": "rows are loaded twice, and part of the tile is never read: some lanes of ldmatrix give the"
    " addresses of other lanes, such as lanes 8–15 those of lanes 0–7.",
    "rows_misaligned": "rows of ldmatrix are not 16-byte aligned, so that it traps: change the pitch, or the columns of"
    " the lanes.",
    "wmma_layout": "its rows and its K are exchanged: the loop over K moves it along its rows. The tile has the other"
    " layout than row_major or col_major of the fragment.",
    "k_repeated": "positions along K are loaded twice: lanes 16–31 give the addresses of lanes 0–15, or lanes 8–15 of"
    " .x2 those of lanes 0–7.",
}


def describe_fragment(arrived: ArrivedOperand, code: str) -> str:
    """Describe the mistake in a fragment."""
    assert arrived.warps is not None
    warp = next((w for w in arrived.warps if not w.separable or w.empty), arrived.warps[0])
    head = f"{arrived.name.upper()} of {arrived.instruction.ptx}: "
    packed = count_packed(arrived.instruction.operand(arrived.name))
    total = warp.total * packed
    if code == "k_repeated" and not arrived.loads:
        return head + "positions along K are loaded twice, and others never."
    if code in _MESSAGES:
        return head + _MESSAGES[code]
    if code == "tile_not_filled":
        return head + f"{warp.empty * packed} of {total} elements are read from bytes that no thread stores."
    if not warp.array:
        return head + "the elements come from several arrays: the addresses leave the tile."
    count = int(warp.find_misplaced().sum()) * packed
    if warp.computed:
        return (
            head + f"its registers hold elements of {warp.array} in another order than the fragment needs: pairs of"
            " columns, and rows 8 apart, are exchanged, repeated or of other products."
        )
    if not count:
        lines = "rows" if arrived.name == "a" else "columns"
        return (
            head + f"its {lines} are not those of the fragments before it along K: the addresses that are read"
            " (pitch, swizzle, rows of the lanes) do not fit those that are stored."
        )
    return (
        head + f"{count} of {total} elements are not those of {warp.array} that the fragment needs:"
        " the addresses that are read (pitch, swizzle, rows of the lanes) do not fit those that are stored."
    )
