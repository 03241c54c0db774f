"""Loads that feed operands: the field's known pairings, refusals with the reason, and what arrives over real storages."""

from __future__ import annotations

import numpy as np
import pytest

from layouts import chain, find
from layouts.errors import LayoutError
from layouts.storage import storage

F16 = "mma.m16n8k16.row.col.f32.f16.f16.f32"
S8 = "mma.m16n8k32.row.col.s32.s8.s8.s32"


@pytest.mark.parametrize(
    ("ptx", "operand", "major", "load", "line", "byte"),
    [
        (F16, "a", "K", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "lane & 15", "(lane >> 4) * 16"),
        (F16, "a", "MN", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "(lane & 7) + (lane >> 4) * 8", "((lane >> 3) & 1) * 16"),
        (F16, "b", "K", "ldmatrix.sync.aligned.m8n8.x2.shared.b16", "lane & 7", "((lane >> 3) & 1) * 16"),
        (F16, "b", "MN", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "lane & 15", "0"),
        (S8, "a", "K", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "lane & 15", "(lane >> 4) * 16"),
        ("mma.m8n8k16.row.col.s32.s8.s8.s32", "b", "K", "ldmatrix.sync.aligned.m8n8.x1.shared.b16", "lane & 7", "0"),
        ("mma.m16n8k64.row.col.s32.s4.s4.s32", "a", "K", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "lane & 15", "(lane >> 4) * 16"),
        ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "a", "K", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "lane & 15", "(lane >> 4) * 16"),
        ("mma.sp.m16n8k32.row.col.f32.f16.f16.f32", "a", "K", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "lane & 15", "(lane >> 4) * 16"),
        ("wgmma.mma_async.m64n64k16.f32.f16.f16", "a", "K", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "(lane & 15) + warp * 16", "(lane >> 4) * 16"),
    ],
)  # fmt: skip
def test_known_pairings(ptx: str, operand: str, major: str, load: str, line: str, byte: str) -> None:
    best = chain.advise(find(ptx).operand(operand), major)[0]
    assert best.load.instruction.ptx == load
    assert chain.lane_formula(best) == {"line": line, "byte": byte}


def test_formulas_give_every_lane_its_row() -> None:
    for found in chain.advise(find(F16).operand("a"), "MN"):
        formula = chain.lane_formula(found)
        for lane in range(found.load.instruction.address.threads):  # type: ignore[union-attr]
            place = [eval(text, {"lane": lane, "warp": 0}) for text in (formula["line"], formula["byte"])]
            assert place == found.lane_places[0, 0, lane].tolist()


@pytest.mark.parametrize("operand", ["a", "b"])
def test_eight_bit_data_cannot_be_transposed_by_sixteen_bit_loads(operand: str) -> None:
    op = find(S8).operand(operand)
    assert chain.advise(op, "MN") == []
    assert "pairs of bytes stay together" in chain.why_not(op, "MN")


def test_byte_loads_and_two_permutes_do_transpose_b() -> None:
    """m16n16.trans.b8 puts k 4t+2r, 4t+2r+1 of n g and g+8 in register r: __byte_perm 0x5410 and 0x7632 make B's registers of both n."""
    given = chain.given(find("ldmatrix.m16n16.x1.trans.shared.b8"))
    want = chain.wanted(find(S8).operand("b"), "MN")
    for lane in range(32):
        places = [(int(given.row[lane, r, b]), int(given.byte[lane, r, b])) for r in (0, 1) for b in range(4)]  # (k, n)
        for n_tile, picked in ((0, (0, 1, 4, 5)), (8, (2, 3, 6, 7))):
            got = [places[b] for b in picked]
            needed = [(int(want.line[0, lane, 0, b]), int(want.along[0, lane, 0, b]) + n_tile) for b in range(4)]
            assert got == needed


def test_a_wrong_trans_is_told_element_by_element() -> None:
    op = find(F16).operand("b")
    wrong = chain.chain(find("ldmatrix.m8n8.x2.trans.shared.b16"), op, "K")
    stored = storage({"kind": "rows", "inner": "K", "pitch_bytes": 32}, 16, "K")
    told = chain.follow(wrong, stored)
    assert not told.match and told.total == 32 * 4
    first = told.first_mismatch
    assert first and first["read"] != first["expected"]
    right = chain.follow(chain.chain(find("ldmatrix.m8n8.x2.shared.b16"), op, "K"), stored)
    assert right.match and right.lane_addresses[0, 0, :16].tolist() == [(lane & 7) * 32 + (lane >> 3) * 16 for lane in range(16)]


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize(("operand", "major"), [("a", "K"), ("a", "MN"), ("b", "K"), ("b", "MN")])
def test_every_canonical_storage_is_read_right(operand: str, major: str, swizzle: str) -> None:
    op = find(F16).operand(operand)
    stored = storage({"kind": "canonical", "swizzle": swizzle, "mn": 64, "k": 64, "base": 0}, 16, major)
    assert chain.follow(chain.advise(op, major)[0], stored).match


def test_a_pitch_off_sixteen_bytes_faults() -> None:
    stored = storage({"kind": "rows", "inner": "K", "pitch_bytes": 40}, 16, "K")
    assert "does not start on 16 bytes" in chain.follow(chain.advise(find(F16).operand("a"), "K")[0], stored).notes[0]


def test_stores_of_accumulators() -> None:
    d = chain.packed(find(F16).operand("d"), 16)
    assert chain.advise(d, "K", store=True)[0].load.instruction.ptx == "stmatrix.sync.aligned.m8n8.x2.shared.b16"
    assert chain.advise(d, "MN", store=True)[0].load.instruction.ptx == "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16"
    wide = chain.packed(find("wgmma.mma_async.m64n64k16.f32.f16.f16").operand("d"), 16)
    best = chain.advise(wide, "K", store=True)[0]
    assert best.count == 4 and chain.turn_steps(best) == [(0, 0), (0, 32), (0, 64), (0, 96)]
    assert np.array_equal(best.place[1, 0, :, 0], best.place[0, 0, :, 0] + 16)


@pytest.mark.parametrize(
    ("load", "ptx", "operand", "message"),
    [
        ("ldmatrix.m8n8.x4.shared.b16", F16, "b", "fills 4 registers"),
        ("movmatrix.m8n8.trans.b16", F16, "b", "is no ldmatrix"),
        ("ldmatrix.m8n8.x1.shared.b16", "mma.m8n8k4.row.col.f64.f64.f64.f64", "a", "64-bit registers"),
        ("ldmatrix.m8n8.x2.shared.b16", "mma.m8n8k4.row.col.f32.f16.f16.f32", "a", "four products"),
        ("ldmatrix.m16n16.x1.trans.shared.b8x16.b4x16_p64", S8, "b", "unpacks"),
    ],
)
def test_refusals(load: str, ptx: str, operand: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        chain.chain(find(load), find(ptx).operand(operand), "K")
