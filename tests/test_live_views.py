"""Live views hold what the engine's objects say: who has an element, where it lies, and what belongs together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanescope import capture, find, tiled_copy, tiled_mma, triton_layout, tv
from lanescope.app.capture.examples import build_capture
from lanescope.app.widget.live_matrix import LiveMatrix
from lanescope.app.widget.pictures import draw_live
from lanescope.app.widget.selection import Selection, settle_selection
from lanescope.app.widget.verified_pictures import draw_capture, draw_descriptor
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.ptx.pattern import Pattern
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile
from tests.cases import for_each

M16 = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
WGMMA = find("wgmma.mma_async.m64n64k16.f32.f16.f16")
VOLTA = find("mma.m8n8k4.row.col.f32.f16.f16.f32")  # four products
SPARSE = find("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
MMA = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)", (64, 32, 16))
GAPS = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(1,2,1):(1,2,1)")  # threads 32 to 63 hold nothing
COPIES = tv("((4,8),(2,2)):((32,0),(16,8))", (16, 8))  # 8 threads hold the same, half the tile is empty
BLOCKED = triton_layout("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", (32, 16))
DEEP = triton_layout("gl.BlockedLayout([1, 1, 4], [1, 8, 4], [4, 1, 1], [2, 1, 0])", (4, 8, 16))
TILE = Tile(16, "K", get_mode("128B"), 64, 64, base=0x1000)
CUTE = parse_cute_layout("((2,2),3):((24,2),8)")


def say(matrix: LiveMatrix, row: int, col: int) -> str:
    """The sentences of a cell, as static/kit/layers.js says them where its first layer has the cell."""
    told = [layer.line.format(**facts) for layer in matrix.layers if (facts := layer.find_facts(row, col))]
    return ". ".join(told).replace("`", "")


def list_cells(matrix: LiveMatrix) -> list[tuple[int, int]]:
    """Every 7th cell, which meets each row and column of these matrices."""
    return [divmod(cell, matrix.cols) for cell in range(0, matrix.rows * matrix.cols, 7)]


@for_each(
    ("shown", "owners"),
    [
        (M16, [M16.operand(name).owner for name in "abd"]),
        (WGMMA.operand("d"), [WGMMA.operand("d").owner]),
        (SPARSE.operand("a"), [SPARSE.operand("a").owner]),
        (
            VOLTA.operand("a"),
            [lambda row, col: VOLTA.operand("a").owner(row, col, 0)],
        ),
        (Pattern.parse("(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)"), [M16.operand("a").owner]),
        (MMA, [MMA.a.owner, MMA.b.owner, MMA.c.owner]),
        (GAPS.c, [GAPS.c.owner]),
        (COPIES, [COPIES.owner]),
        (BLOCKED, [BLOCKED.owner]),
        (DEEP, [lambda row, col: DEEP.owner(0, row, col)]),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_holders_of_a_cell_are_the_owners_of_the_element(shown: Any, owners: Any) -> None:
    matrices = draw_live(shown).matrices
    assert len(matrices) == len(owners)
    for matrix, owner in zip(matrices, owners, strict=True):
        for row, col in list_cells(matrix):
            holders = matrix.list_holders(row, col)
            assert sorted(holders) == sorted(owner(row, col))
            assert all(matrix.find_element(*holder) == (row, col) for holder in holders)


def test_both_sides_of_a_copy_are_shown() -> None:
    copy = tiled_copy("universal", bits=128, thr_layout="(8,4):(4,1)", val_layout="(1,8)", tile=(8, 32))
    source, destination = draw_live(copy).matrices
    assert source.list_holders(3, 9) == copy.source.owner(3, 9)
    assert destination.list_holders(3, 9) == copy.destination.owner(3, 9)


def test_a_value_of_memory_is_an_offset() -> None:
    (tile,) = draw_live(TILE).matrices
    for row, col in list_cells(tile):
        assert tile.list_holders(row, col) == [(None, (TILE.address(row, col) - TILE.base) // 2)]
    (cute,) = draw_live(CUTE).matrices
    assert (cute.rows, cute.cols, cute.list_holders(3, 2)) == (4, 3, [(None, 24 + 2 + 16)])


def test_operands_in_shared_memory_have_no_holders() -> None:
    a, _, c = draw_live(tiled_mma("SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>")).matrices
    assert a.list_holders(3, 2) == [] and c.list_holders(3, 2) == WGMMA.operand("d").owner(3, 2)


def test_what_is_said_of_a_cell() -> None:
    a, b, _ = draw_live(MMA).matrices
    assert say(a, 11, 2) == "A[11][2] is in thread 13, value 2. Also in thread 77, value 2"
    assert say(draw_live(M16).matrices[0], 11, 2) == "A[11][2] is in lane 13, value a2"
    assert say(draw_live(TILE).matrices[0], 9, 3) == "(9,3) is at offset 587 in elements, byte 1174, bank 5"
    assert "Copies beside these: 4" in say(draw_live(COPIES).matrices[0], 0, 0)
    assert b.title == "B"


def test_an_element_keeps_the_lane_that_holds_a_copy_of_it() -> None:
    matrices = {one.name: one for one in draw_live(MMA).matrices}
    chosen = settle_selection(matrices, Selection("a", 77, 0, (11, 2)), "element")
    assert (chosen.lane, chosen.value) == (77, 2)
    assert settle_selection(matrices, Selection("a", 5, 0, (11, 2)), "element").lane == 13


def test_a_wrong_word_says_where_an_element_is_read_and_where_it_lies() -> None:
    """SBO is 16 bytes too large: from row 8 on every byte is read 16 later, before the XOR."""
    right = TILE.descriptor(k=16)
    wrong = right.replace(sbo_encoded=65)
    (matrix,) = draw_descriptor(wrong, WGMMA, "a", TILE, k=16).matrices
    read = int(matrix.list_holders(9, 3)[0][1])
    lies = int(TILE.address(9, 19))
    assert say(matrix, 9, 3).startswith(f"[9][3] is read from byte {read:#x}, but is at {lies:#x}")
    assert say(matrix, 3, 3) == f"[3][3] is read from byte {int(TILE.address(3, 19)):#x}, where it is"
    drawn = draw_descriptor(str(right), WGMMA.ptx, "a", TILE, k=16)
    assert "1024 of 1024" in drawn.title
    alone = draw_descriptor(right, WGMMA, "a", None).matrices[0]
    assert alone.list_holders(3, 3) == [(None, int(TILE.address(3, 19)))]


def test_the_byte_that_is_read_names_its_element() -> None:
    """LBO is not read with this swizzle; a start 32 bytes early reads the K step before."""
    (matrix,) = draw_descriptor(TILE.descriptor(k=0), WGMMA, "a", TILE, k=16).matrices
    assert "is the byte of" not in say(matrix, 9, 3)  # the element before lies outside the slice
    (shifted,) = draw_descriptor(TILE.descriptor(k=16).replace(sbo_encoded=128), WGMMA, "a", TILE, k=16).matrices
    assert f"{int(TILE.address(17, 19)):#x} is the byte of [17][3]" in say(shifted, 9, 3)


@for_each(("name", "verdict"), [("right", "match"), ("panel", "mismatch")])
def test_a_capture_shows_the_elements_that_were_read(name: str, verdict: str) -> None:
    verified = capture.verify(build_capture(name))
    drawn = draw_capture(verified)
    (matrix,) = drawn.matrices
    assert drawn.title.startswith(f"{verdict}: ")
    picture = verified.picture or verified.opening
    assert picture is not None and bool(picture.right.all()) == (name == "right")
    mn, k = int(picture.side.mn[3, 5]), int(picture.side.k[3, 5])
    letter = picture.side.operand.upper()
    assert say(matrix, 3, 5).startswith(f"place (3,5) has {letter}[{mn}][{k}]")
    assert ("should be there" in say(matrix, 3, 5)) == (name == "panel")
    assert draw_capture(capture.read(build_capture(name))).title == drawn.title


@for_each(
    ("shown", "says"),
    [
        (3.5, "A live view shows no float. Allowed: Operand, Instruction"),
        (parse_cute_layout("(512,512):(512,1)"), "262144 elements are more than a live view shows"),
        (parse_cute_layout("(2,3):(1,2147483647)"), "Offsets up to"),
        (Pattern.parse("(a:2) (b:2 c:2) -> (a) (b) (c)"), "has 3 coordinates"),
    ],
    ids=["kind", "size", "offset", "coordinates"],
)
def test_what_has_no_view_is_refused(shown: Any, says: str) -> None:
    with pytest.raises(LayoutError, match=says):
        draw_live(shown)


def test_tables_travel_as_little_endian_int32() -> None:
    packed = draw_live(M16.operand("a")).matrices[0].pack()
    held = np.frombuffer(packed["held"], "<i4").reshape(32, 8)
    assert held[13, 2] == 11 * 16 + 2
