"""The guide page "128 bytes" without its script: what its figure says of states whose answer is known."""

from __future__ import annotations

from lanescope.app.guide import row_figure
from lanescope.app.guide.row_figure import RowState
from tests.cases import for_each


@for_each(
    ("state", "wavefronts", "wrong"),
    [
        (RowState(), 1, 0),  # TMA's box with the 128B swizzle
        (RowState(swizzle="none"), 8, 14),  # 128r + 16c is 16r + 128c for (0, 0) and (1, 1) alone
        (RowState(start=16), 1, 0),  # the XOR follows the address, so the tile may start anywhere
        (RowState(start=1008, chunk=5), 1, 0),
        (RowState(start=128, by="tile"), 1, 16),  # stored by offset, read by address: every row is one XOR off
        (RowState(pitch=144, swizzle="none"), 1, 15),  # padding frees the banks and breaks wgmma
        (RowState(swizzle="64B"), 2, 14),  # rows 64 bytes apart are read: only row 0 is right
    ],
)
def test_banks_and_reads_of_known_states(state: RowState, wavefronts: int, wrong: int) -> None:
    """Wavefronts of one column of chunks, and how many of the 16 chunks of the first K step are read wrongly."""
    assert row_figure.count_wavefronts(state) == wavefronts == max(row_figure.count_groups(state))
    said = row_figure.describe_read(state)
    assert said.startswith("The wgmma reads all 16" if not wrong else f"The wgmma reads {wrong} of the 16"), said


def test_no_state_leaves_the_picture() -> None:
    """Every stored and read chunk has a cell, at the limits of start and pitch too, and no two share one."""
    for mode in row_figure.NAMES:
        for by in row_figure.SWIZZLED_BY:
            state = RowState(start=row_figure.MOST_START, pitch=row_figure.MOST_PITCH, swizzle=mode, by=by)
            stored = [address for row in row_figure.list_stored(state) for address in row]
            read = [address for row in row_figure.list_read(state) for address in row]
            assert len(set(stored)) == 64 and max(stored + read) < 128 * row_figure.LINES and min(stored + read) >= 0


def test_the_xor_is_spelled_as_the_hardware_does_it() -> None:
    assert row_figure.describe_xor(RowState(row=3)) == "row 3, chunk 0: 0x180, bits 4–6 XOR 011 (bits 7–9): 0x1b0"
    assert row_figure.describe_xor(RowState(row=3, swizzle="32B")).endswith("bit 4 XOR 1 (bit 7): 0x190")
    assert row_figure.describe_xor(RowState(row=3, swizzle="none")).endswith("0x180, no XOR")
