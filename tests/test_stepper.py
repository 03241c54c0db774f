"""The stepper: what it shows of a product is what the engine says."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.kit.question import read_question
from lanescope.app.steps.stepper import Stepper, StepperOperand, StepperQuestion, build_stepper, can_step
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.shared import chain
from lanescope.shared.operand_storage import make_operand_storage
from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
SWIZZLED = {"kind": "rows", "inner": "K", "pitch_bytes": 128, "swizzle": "128B", "base": 0}


def step(ptx: str, **asked: Any) -> Stepper:
    return build_stepper(read_question(StepperQuestion, {"instruction": ptx, **asked}))


def list_brought(operand: StepperOperand) -> set[int]:
    """Return the slots whose bytes their move's addresses cover."""
    covered = set()
    for move in operand.moves:
        each = len(move.slots) // len(move.addresses)
        for n, slot in enumerate(move.slots):
            first = 8 * move.addresses[n // each]
            if first <= operand.reads[slot] <= first + 8 * move.size - operand.element_bits:
                covered.add(slot)
    return covered


def list_shown() -> list[Instruction]:
    return take_sample([i for i in catalog.instructions() if can_step(i)], 10)


@for_each("i", list_shown, ids=lambda i: i.ptx)
@for_each("major", ["K", "MN"])
def test_every_element_lands_in_the_register_that_the_map_says(i: Instruction, major: str) -> None:
    try:
        found = step(i.ptx, major_a=major, major_b=major)
    except LayoutError as error:
        assert error.code == "tile_too_large"
        return
    for name, operand in (("a", found.a), ("b", found.b)):
        op = i.operands[name]
        assert not operand.wrong and list_brought(operand) == set(range(32 * op.values))
        for slot, bit in enumerate(operand.reads):
            lane, value = divmod(slot, op.values)
            element = int(op.coords["row"][lane, value]) * op.col_count + int(op.coords["col"][lane, value])
            assert bit == operand.at[element]


@for_each("i", list_shown, ids=lambda i: i.ptx)
def test_d_is_the_product_of_the_matrices_that_are_shown(i: Instruction) -> None:
    found = step(i.ptx)
    assert found.agrees and np.array_equal(found.d.sums[-1], found.d.expected)
    if i.scales or i.types["a"] == "b1":
        return
    k, m, n = i.sizes["k"], i.sizes["m"], i.sizes["n"]
    a = np.zeros((m, k))
    a[np.repeat(np.arange(m), found.a.cols), found.a.k] = found.a.numbers
    b = np.reshape(found.b.numbers, (k, n))
    for (_, end), total in zip(found.k_groups, found.d.sums[1:], strict=True):
        assert np.array_equal(np.reshape(total - found.d.sums[0], (m, n)), a[:, :end] @ b[:end])


def test_the_accumulator_goes_on_from_k_step_to_k_step() -> None:
    first, second = step(M16), step(M16, k_step=1)
    assert first.k_steps == 4 and np.array_equal(first.d.expected, second.d.sums[0])


@for_each("k_step", [0, 1, 3])
def test_a_k_step_shows_its_own_numbers_and_their_bytes(k_step: int) -> None:
    found = step(M16, k_step=k_step)
    for operand in (found.a, found.b):
        assert not operand.wrong and np.array_equal(np.asarray(operand.at)[operand.holds], operand.reads)
    a, b = (np.reshape(one.numbers, (one.rows, one.cols)) for one in (found.a, found.b))
    assert np.array_equal(np.reshape(found.d.sums[-1] - found.d.sums[0], (16, 8)), a @ b)


@for_each("load", ["", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x2.shared.b16"])
def test_addresses_in_moves_and_sentences_are_those_of_the_chain(load: str) -> None:
    op = find(M16).operand("a")
    known = chain.make_chain(
        find(load or "ldmatrix.sync.aligned.m8n8.x4.shared.b16"), op, make_operand_storage(SWIZZLED, op, "K")
    )
    found = step(M16, storage=SWIZZLED, operand="a", load_a=load)
    for move in found.a.moves:
        assert move.addresses == [known.lane_addresses[0, move.turn, move.lanes[0]]]
    said = [one for one in found.steps if one.kind == "move" and one.operand == "a"]
    for one in said:
        move = found.a.moves[one.index]
        assert one.caption.startswith(f"Lane {move.lanes[0]} gives `0x{move.addresses[0]:03X}`")


def test_the_xor_moves_chunks_and_frees_the_banks() -> None:
    swizzled, plain = (step(M16, storage=SWIZZLED | {"swizzle": swizzle}) for swizzle in ("128B", "none"))
    for chunk in swizzled.a.chunks:
        line, place = divmod(chunk.before, 128)
        assert chunk.after == 128 * line + 16 * (place // 16 ^ line % 8)
    assert all(chunk.before == chunk.after for chunk in plain.a.chunks)
    assert {move.wavefronts for move in swizzled.a.moves} == {1} and {move.wavefronts for move in plain.a.moves} == {8}
    assert [one.kind for one in plain.steps[:2]] == ["plain", "addresses"]


def test_the_sentence_of_d_names_the_registers_of_its_rows() -> None:
    """By hand: rows 0–7 of D are registers 0 and 1, rows 8–15 registers 2 and 3."""
    said = [one.caption for one in step(M16).steps if one.kind == "out"]
    assert said == [
        "Rows 0–7 of D are registers R0 and R1 as f32: lane 0 holds D[0][0] and D[0][1].",
        "Rows 8–15 of D are registers R2 and R3 as f32: lane 0 holds D[8][0] and D[8][1].",
    ]


def test_addresses_without_the_xor_bring_wrong_elements() -> None:
    """Row 0 is not moved by the XOR; in row 1 chunks 0 and 1 change places."""
    found = step(M16, no_xor="1")
    wrong = {one.slot: one for one in found.a.wrong}
    rows = np.asarray(found.a.holds) // 16
    assert {int(rows[slot]) % 8 for slot in wrong} == set(range(1, 8))
    slot = int(np.flatnonzero(np.asarray(found.a.holds) == 16)[0])  # A[1][0]
    assert (wrong[slot].expected, wrong[slot].arrived) == ("A[1][0]", "A[1][8]")
    assert wrong[slot].value == found.a.numbers[24] and not found.agrees
    said = next(one for one in found.steps if one.kind == "move" and one.index == 1)
    assert "✗ Lane 4 should have A[1][0] in R0; A[1][8] arrives." in said.caption


def test_a_load_without_trans_brings_wrong_elements() -> None:
    storage = {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B"}
    load = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"
    right, wrong = (
        step(M16, major_b="MN", storage=storage, load_b=one) for one in (f"{load[:-11]}.trans.shared.b16", load)
    )
    assert not right.b.wrong and wrong.b.wrong and right.b.load == "ldmatrix.x2.trans"
    assert not wrong.agrees


def test_bytes_of_no_element_leave_d_unknown() -> None:
    """Rows of 32 bytes at a pitch of 48: without the XOR of 32 bytes … a lane reads padding that nobody wrote."""
    storage = {"kind": "rows", "pitch_bytes": 48, "swizzle": "128B", "inner": "K"}
    found = step(M16, storage=storage, operand="a", no_xor="1")
    unknown = [one for one in found.a.wrong if one.value is None]
    assert unknown and all(one.arrived == "" for one in unknown)
    rows = {found.a.holds[one.slot] // 16 for one in unknown}
    for row in range(16):
        assert np.isnan(np.reshape(found.d.sums[-1], (16, 8))[row]).all() == (row in rows)


def test_metadata_say_which_row_of_b_a_stored_element_meets() -> None:
    found = step(SPARSE)
    k = np.reshape(found.a.k, (16, 16))
    assert (np.diff(k, axis=1) > 0).all() and (k.reshape(16, 8, 2) // 4 == np.arange(8)[:, None]).all()


def test_registers_of_64_bits_take_plain_loads() -> None:
    found = step(F64)
    assert found.a.load == "ld.shared" and [move.size for move in found.a.moves] == [8]
    assert "64-bit registers" in next(one.caption for one in found.steps if one.kind == "addresses")


@for_each(
    ("asked", "field"),
    [
        ({"k_step": 3, "a": "i"}, "k_step"),
        ({"load_a": "mma.m16n8k8.row.col.f32.f16.f16.f32"}, "load_a"),
        ({"storage": {"kind": "rows", "pitch_bytes": "x"}}, "storage.pitch_bytes"),
        ({"instruction": "wgmma.mma_async.m64n8k16.f32.f16.f16"}, "instruction"),
    ],
)
def test_refusals_name_their_field(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(LayoutError) as refused:
        build_stepper(read_question(StepperQuestion, {"instruction": M16} | asked))
    assert refused.value.field == field


def test_values_too_long_for_an_address_are_posted_and_linked_nowhere(client: Client) -> None:
    """16 × 16 numbers, 40 characters each: 10 KB. The steps, the text and the switches are not links then."""
    rows = "\n".join(" ".join(f"{20 * r + c:40}" for c in range(16)) for r in range(16))
    page = client.post("/steps/ldmatrix.m8n8.x4.shared.b16", data={"values": rows})
    assert page.status_code == 200 and "data-posted" in page.text and "too long for a link" in page.text
    assert all(len(href) < 7000 for href in re.findall(r'href="([^"]*)"', page.text))
    assert re.search(r'<textarea name="values"[^>]* rows="2"', page.text) and f"{73:40}" in page.text
    drawn = json.loads(re.findall(r'id="stepper-data" data-posted>(.*?)</script>', page.text)[0])
    assert sorted(drawn["s"]["numbers"])[:3] == [0, 1, 2] and max(drawn["s"]["numbers"]) == 315


def test_bytes_before_and_after_the_xor_are_those_of_the_rule() -> None:
    """Rows of 128 bytes with the 128B swizzle, worked out by hand: chunk c of line r lies at place c XOR r mod 8."""
    found = step(M16, k_step=1)
    row, col = np.divmod(np.arange(16 * 16), 16)
    before = 128 * row + 2 * (col + 16)
    assert np.array_equal(found.a.before, 8 * before)
    assert np.array_equal(found.a.at, 8 * (before ^ row % 8 << 4))
    k, n = np.divmod(np.arange(16 * 8), 8)
    assert np.array_equal(found.b.before, 8 * (2048 + 128 * n + 2 * (k + 16)))
    assert np.array_equal(found.b.k, k)


def test_the_sentence_of_the_addresses_names_the_rows_that_lanes_point_at() -> None:
    """ldmatrix.x4 for A of m16n8k16: lanes 0–7 give rows 0–7, lanes 8–15 rows 8–15 of the same columns."""
    captions = [one.caption for one in step(M16).steps if one.kind == "addresses"]
    assert captions[0].endswith("lane 0 points at A[0][0…7], lane 1 at A[1][0…7], lane 8 at A[8][0…7].")
    assert "lane 0 points at B[0…7][0], lane 1 at B[0…7][1], lane 8 at B[8…15][0]." in captions[1]
    assert captions[1].endswith("The addresses of lanes 16–31 are not used.")
