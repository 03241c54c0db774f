"""Loads that feed operands: the field's known pairings, refusals with the reason, and what arrives over
real storages.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lanescope import find
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Operand
from lanescope.shared import chain, pieces
from lanescope.shared.feeding import explain_no_feed
from lanescope.shared.operand_storage import make_operand_storage
from lanescope.shared.storage import Storage
from tests.cases import for_each

F16 = "mma.m16n8k16.row.col.f32.f16.f16.f32"
S8 = "mma.m16n8k32.row.col.s32.s8.s8.s32"


@for_each(
    ("ptx", "operand", "major", "load", "line", "byte"),
    [
        (F16, "a", "K", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "lane & 15", "(lane >> 4) * 16"),
        (
            F16,
            "a",
            "MN",
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
            "(lane & 7) + (lane >> 4) * 8",
            "((lane >> 3) & 1) * 16",
        ),
        (F16, "b", "K", "ldmatrix.sync.aligned.m8n8.x2.shared.b16", "lane & 7", "((lane >> 3) & 1) * 16"),
        (F16, "b", "MN", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "lane & 15", "0"),
        (S8, "a", "K", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "lane & 15", "(lane >> 4) * 16"),
        ("mma.m8n8k16.row.col.s32.s8.s8.s32", "b", "K", "ldmatrix.sync.aligned.m8n8.x1.shared.b16", "lane & 7", "0"),
        (
            "mma.m16n8k64.row.col.s32.s4.s4.s32",
            "a",
            "K",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "lane & 15",
            "(lane >> 4) * 16",
        ),
        (
            "mma.m16n8k8.row.col.f32.tf32.tf32.f32",
            "a",
            "K",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "lane & 15",
            "(lane >> 4) * 16",
        ),
        (
            "mma.sp.m16n8k32.row.col.f32.f16.f16.f32",
            "a",
            "K",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "lane & 15",
            "(lane >> 4) * 16",
        ),
        (
            "wgmma.mma_async.m64n64k16.f32.f16.f16",
            "a",
            "K",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "(lane & 15) + warp * 16",
            "(lane >> 4) * 16",
        ),
    ],
)
def test_known_pairings(ptx: str, operand: str, major: str, load: str, line: str, byte: str) -> None:
    best = chain.list_best_chains(find(ptx).operand(operand), major)[0]
    assert best.load.instruction.ptx == load
    assert chain.make_lane_formula(best) == {"line": line, "byte": byte}


def test_formulas_give_every_lane_its_row() -> None:
    for found in chain.list_best_chains(find(F16).operand("a"), "MN"):
        formula = chain.make_lane_formula(found)
        for lane in range(found.load.instruction.address.threads):  # type: ignore[union-attr]
            place = [eval(text, {"lane": lane, "warp": 0}) for text in (formula["line"], formula["byte"])]
            assert place == found.lane_places[0, 0, lane].tolist()


def build_chain(load: str, operand: Operand, spec: dict[str, object], major: str = "K") -> chain.Chain:
    return chain.make_chain(find(load), operand, make_operand_storage(spec, operand, major))


# 16-bit pieces --------------------------------------------------------------------------------------------------------

S4 = "mma.m16n8k64.row.col.s32.s4.s4.s32"
B1 = "mma.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"
TF32 = "mma.m16n8k8.row.col.f32.tf32.tf32.f32"
PIECES = [
    ("mma.m8n8k16.row.col.s32.s8.s8.s32", "b", "x1", "(8,(2,8)):(2,(1,16))", "bytes"),
    ("mma.m8n8k16.row.col.s32.s8.s8.s32", "a", "x1", "(8,(2,8)):(2,(1,16))", "elements"),
    ("mma.m8n8k32.row.col.s32.s4.s4.s32", "b", "x1", "(8,(4,8)):(4,(1,32))", "elements"),
    ("mma.m8n8k32.row.col.s32.s4.s4.s32", "b", "x1", "(8,(2,8)):(2,(1,16))", "bytes"),
    (S8, "a", "x4", "(16,(2,16)):(2,(1,32))", "bytes"),
    (S8, "a", "x2", "(16,(2,16)):(2,(1,32))", "bytes"),
    (S8, "b", "x2", "(8,(2,16)):(2,(1,16))", "bytes"),
    (S4, "a", "x4", "(16,(4,16)):(4,(1,64))", "elements"),
    (S4, "b", "x2", "(8,(4,16)):(4,(1,32))", "elements"),
    (B1, "a", "x4", "(16,(16,16)):(16,(1,256))", "elements"),
    (F16, "a", "x4", "(16,16):(1,16)", "elements"),
    (F16, "b", "x2", "(8,(2,16)):(2,(1,16))", "bytes"),
    (TF32, "a", "x4", "(16,(2,2,8)):(2,(1,32,64))", "bytes"),
    ("wgmma.mma_async.m64n64k32.f32.e4m3.e4m3", "a", "x4", "(64,(2,16)):(2,(1,128))", "bytes"),
]


@for_each(("ptx", "operand", "count", "layout", "unit"), PIECES)
def test_pieces_of_16_bits_go_through_trans_with_whatever_they_hold(
    ptx: str, operand: str, count: str, layout: str, unit: str
) -> None:
    op = find(ptx).operand(operand)
    spec = {"kind": "cute", "layout": layout, "unit": unit, "base": 0x40}
    found = build_chain(f"ldmatrix.m8n8.{count}.trans.shared.b16", op, spec)
    assert found.match and found.matched == op.threads * op.values
    assert {c.load.instruction.ptx for c in chain.list_best_chains(op, make_operand_storage(spec, op, "K"))} >= {
        found.load.instruction.ptx
    }
    straight = build_chain(f"ldmatrix.m8n8.{count}.shared.b16", op, spec)
    assert not straight.match
    assert np.array_equal(read_registers(found), list_wanted_units(op, found.where))
    assert not np.array_equal(read_registers(straight), list_wanted_units(op, found.where))


def read_registers(found: chain.Chain) -> NDArray[np.int64]:
    """What ldmatrix leaves in the registers, [thread, register, half]: two units a register by PTX's rule, from memory
    whose unit u holds u.
    """
    load = found.load.instruction.ptx
    out = np.zeros((found.want.operand.threads, found.want.operand.registers, 2), np.int64)
    for warp, turns in enumerate(found.lane_addresses):
        for turn, address in enumerate(turns):
            for lane in range(32):
                for register in range(found.load.registers):
                    for half in (0, 1):
                        row, col = (
                            (2 * (lane % 4) + half, lane // 4)
                            if ".trans" in load
                            else (lane // 4, 2 * (lane % 4) + half)
                        )
                        out[32 * warp + lane, turn * found.load.registers + register, half] = (
                            address[8 * register + row] // 2 + col
                        )
    return out


def list_wanted_units(op: Operand, where: Storage) -> NDArray[np.int64]:
    """The 16-bit unit of memory in which the storage holds what each half of each register wants, [thread, register,
    half]; whole units only.
    """
    placed, bits = where.placed, op.container_bits
    assert placed is not None
    out = np.zeros((op.threads, op.registers, 2), np.int64)
    for thread in range(op.threads):
        for register in range(op.registers):
            for half in (0, 1):
                bit = 32 * register + 16 * half
                row, col = int(op.rows[thread, bit // bits]), int(op.coords["col"][thread, bit // bits])
                mn, k = (col, row) if op.name == "b" else (row, col)
                out[thread, register, half] = placed.locate_bits(placed.before(mn, k, bit % bits)) // 16
    return out


@for_each("operand", ["a", "b"])
def test_eight_bit_data_cannot_be_transposed_by_sixteen_bit_loads(operand: str) -> None:
    op = find(S8).operand(operand)
    assert chain.list_best_chains(op, "MN") == []
    assert "pairs of bytes stay together" in explain_no_feed(op, "MN")


WHY = [
    (
        S8,
        "a",
        {"kind": "rows", "inner": "MN", "pitch_bytes": 48},
        "Lane 0 needs A[0,0] and A[0,1] in one unit of register 0, but in memory they are 48 bytes apart",
        "pairs k, k + 1 in one 16-bit unit and lay the units side by side along M",
    ),
    (S4, "b", {"kind": "rows", "inner": "MN", "pitch_bytes": 48}, "B[0,0] and B[1,0] in one unit", "groups of four k"),
    (
        S4,
        "b",
        {"kind": "cute", "layout": "(8,(2,32)):(2,(1,16))"},
        "four elements stay together. Lane 0 needs B[0,0] and B[2,0]",
        "8 bytes apart",
    ),
    (
        TF32,
        "b",
        {"kind": "rows", "inner": "MN", "pitch_bytes": 48},
        "B[0,0] and B[1,0] are 48 bytes apart",
        "Store it K-major, or load it with ld.shared.",
    ),
    (
        F16,
        "a",
        {"kind": "cute", "layout": "(16,16):(32,2)"},
        "here 4 bytes from a unit to the next and 8 bytes from a lane to the next",
        "here 64 bytes from lane 0 to lane 4",
    ),
    (
        F16,
        "a",
        {"kind": "rows", "pitch_bytes": 40},
        "Lane 1's row starts at 40,",
        "multiple of 16",
    ),
    (
        F16,
        "a",
        {"kind": "rows", "pitch_bytes": 48, "base": 8},
        "Lane 0's row starts at 8,",
        "The base",
    ),
    (
        F16,
        "a",
        {"kind": "cute", "layout": "(16,16):(32,2)"},
        "4 bytes from a unit to the next and 8 bytes from a lane to the next",
        "64 bytes from lane 0 to lane 4",
    ),
    (
        F16,
        "a",
        {"kind": "cute", "layout": "Sw<3,0,3> o smem_ptr[16b](unset) o (16,16):(16,1)"},
        "The swizzle splits A",
        "its base M is smaller than the element",
    ),
]


@for_each(("ptx", "operand", "spec", "says", "too"), WHY)
def test_why_nothing_feeds_is_said_of_this_storage(
    ptx: str, operand: str, spec: dict[str, object], says: str, too: str
) -> None:
    op = find(ptx).operand(operand)
    where = make_operand_storage(spec, op, "K")
    assert chain.list_best_chains(op, where) == []
    told = explain_no_feed(op, where)
    assert says in told and too in told, told


def test_byte_loads_and_two_permutes_do_transpose_b() -> None:
    """m16n16.trans.b8 puts k 4t+2r, 4t+2r+1 of n g and g+8 in register r: __byte_perm 0x5410 and 0x7632 make B's
    registers of both n.
    """
    given = pieces.make_matrix_move(find("ldmatrix.m16n16.x1.trans.shared.b8"))
    want = pieces.make_operand_granules(find(S8).operand("b"))
    for lane in range(32):
        places = [(int(given.row[lane, r, b]), int(given.byte[lane, r, b])) for r in (0, 1) for b in range(4)]  # (k, n)
        for n_tile, picked in ((0, (0, 1, 4, 5)), (8, (2, 3, 6, 7))):
            got = [places[b] for b in picked]
            needed = [(int(want.k[0, lane, 0, b]), int(want.mn[0, lane, 0, b]) + n_tile) for b in range(4)]
            assert got == needed


# storages -------------------------------------------------------------------------------------------------------------


def test_a_wrong_trans_is_told_element_by_element() -> None:
    op = find(F16).operand("b")
    spec = {"kind": "rows", "inner": "K", "pitch_bytes": 32}
    told = build_chain("ldmatrix.m8n8.x2.trans.shared.b16", op, spec)
    assert not told.match and told.total == 32 * 4
    first = told.first_mismatch
    assert first and first.read != first.expected
    right = build_chain("ldmatrix.m8n8.x2.shared.b16", op, spec)
    assert right.match and right.lane_addresses[0, 0, :16].tolist() == [
        (lane & 7) * 32 + (lane >> 3) * 16 for lane in range(16)
    ]


def test_the_addresses_of_a_wrong_load_are_the_best_there_are() -> None:
    """Every other address of any row makes no more of its bytes right."""
    op = find(F16).operand("b")
    told = build_chain("ldmatrix.m8n8.x2.trans.shared.b16", op, {"kind": "rows", "pitch_bytes": 48})
    starts = told.expected - (told.read - 8 * told.rows[0, 0][told.load.matrix, told.load.row][None])
    for matrix in range(2):
        for row in range(8):
            mine = starts[0][(told.load.matrix == matrix) & (told.load.row == row)]
            legal = mine[(mine >= 0) & (mine % 128 == 0)]
            best = max((np.count_nonzero(mine == at) for at in legal), default=0)
            assert np.count_nonzero(mine == 8 * told.rows[0, 0, matrix, row]) == best


@for_each("swizzle", ["none", "32B", "64B", "128B"])
@for_each(("operand", "major"), [("a", "K"), ("a", "MN"), ("b", "K"), ("b", "MN")])
def test_every_canonical_storage_is_read_right(operand: str, major: str, swizzle: str) -> None:
    op = find(F16).operand(operand)
    where = make_operand_storage({"kind": "canonical", "swizzle": swizzle, "mn": 64, "k": 64, "base": 0}, op, major)
    assert chain.list_best_chains(op, where)[0].match


def test_a_pitch_off_sixteen_bytes_faults() -> None:
    op = find(F16).operand("a")
    told = build_chain("ldmatrix.m8n8.x4.shared.b16", op, {"kind": "rows", "pitch_bytes": 40})
    assert not told.match and "is not a multiple of 16" in told.notes[0] and not told.costs


@for_each(
    ("ptx", "spec", "field"),
    [
        (F16, {"kind": "canonical", "swizzle": "32B", "mn": 8, "k": 16}, "storage.mn"),
        (F16, {"kind": "cute", "layout": "(16,8):(8,1)"}, "storage.layout"),
        (F16, {"kind": "rows", "pitch_bytes": 1 << 16}, "storage"),
        (S8, {"kind": "canonical", "element_bits": 16, "swizzle": "32B", "mn": 16, "k": 32}, "storage.element_bits"),
    ],
)
def test_a_storage_that_cannot_hold_the_operand_is_refused(ptx: str, spec: dict[str, object], field: str) -> None:
    with pytest.raises(LayoutError) as refused:
        make_operand_storage(spec, find(ptx).operand("a"), "K")
    assert refused.value.field == field


def test_stores_of_accumulators() -> None:
    d = pieces.pack_operand(find(F16).operand("d"), 16)
    assert (
        chain.list_best_chains(d, "K", store=True)[0].load.instruction.ptx == "stmatrix.sync.aligned.m8n8.x2.shared.b16"
    )
    assert (
        chain.list_best_chains(d, "MN", store=True)[0].load.instruction.ptx
        == "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16"
    )
    wide = pieces.pack_operand(find("wgmma.mma_async.m64n64k16.f32.f16.f16").operand("d"), 16)
    best = chain.list_best_chains(wide, "K", store=True)[0]
    assert best.count == 4 and chain.compute_turn_steps(best) == [(0, 0), (0, 32), (0, 64), (0, 96)]
    assert np.array_equal(best.lane_places[1, 0, :, 0], best.lane_places[0, 0, :, 0] + 16)


@for_each(
    ("load", "ptx", "operand", "message"),
    [
        ("ldmatrix.m8n8.x4.shared.b16", F16, "b", "fills 4 registers"),
        ("movmatrix.m8n8.trans.b16", F16, "b", "is not an ldmatrix"),
        ("ldmatrix.m8n8.x1.shared.b16", "mma.m8n8k4.row.col.f64.f64.f64.f64", "a", "64-bit registers"),
        ("ldmatrix.m8n8.x2.shared.b16", "mma.m8n8k4.row.col.f32.f16.f16.f32", "a", "four products"),
        ("ldmatrix.m16n16.x1.trans.shared.b8x16.b4x16_p64", S8, "b", "unpacks"),
    ],
)
def test_refusals(load: str, ptx: str, operand: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        chain.make_chain(find(load), find(ptx).operand(operand), "K")
