"""Two products in a row: what the stepper says of D as the next A is what the engine and NumPy say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.hardware import product_inputs
from lanescope.app.kit.question import read_question
from lanescope.app.steps.second import SecondProduct, list_seconds
from lanescope.app.steps.stepper import Stepper, StepperQuestion, build_stepper
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.codec import decode_bits, encode_values
from lanescope.tiles.reuse import match_accumulator
from tests.cases import for_each
from tests.client import Client

F16 = "mma.m16n8k16.row.col.f32.f16.f16.f32"
BF16 = "mma.m16n8k16.row.col.f32.bf16.bf16.f32"
SHORT = "mma.m16n8k8.row.col.f32.f16.f16.f32"
HALF = "mma.m16n8k16.row.col.f16.f16.f16.f16"
INT8 = "mma.m16n8k32.row.col.s32.s8.s8.s32"
WMMA = "wmma.mma.row.col.m16n16k16.f32.f32"
SPARSE = "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32"
PAIRS = [(F16, F16), (F16, SHORT), (SHORT, F16), (BF16, BF16), (HALF, F16), (INT8, BF16), (WMMA, WMMA), (SPARSE, F16)]


def step(first: str, then: str, **asked: Any) -> tuple[Stepper, SecondProduct]:
    found = build_stepper(read_question(StepperQuestion, {"instruction": first, "then": then, **asked}))
    assert found.then
    return found, found.then


def list_captions(found: Stepper, kind: str) -> list[str]:
    return [one.caption for one in found.steps if one.kind == kind and one.operand == "then"]


@for_each(("first", "then"), PAIRS)
def test_every_value_of_a_is_the_value_of_d_that_its_lane_holds(first: str, then: str) -> None:
    """Read D as its own lanes hold it, slot by slot, and A as its instruction maps it."""
    found, second = step(first, then)
    a, holds = second.a, np.asarray(found.d.holds)
    assert a and second.verdict == "registers" and np.array_equal(second.sources[0], found.d.sums[-1])
    numbers, name = np.asarray(a.numbers), find(then).types["a"]
    for slot, element in enumerate(np.asarray(a.holds).tolist()):
        lane = slot // a.values
        assert a.lane[slot] == lane
        held = second.sources[a.tile[slot]][holds[lane * found.d.values + a.value[slot]]]
        assert numbers[element] == decode_bits(encode_values(np.array([held]), name), name)[0]
    reuse = match_accumulator(find(first), find(then))
    assert (second.stay, second.total, second.tiles) == (int(reuse.stays.sum()), reuse.stays.size, reuse.tiles)


@for_each(("first", "then"), PAIRS)
def test_the_second_d_is_numpys_product_after_every_step_of_k(first: str, then: str) -> None:
    found, second = step(first, then)
    assert second.a and second.b and second.d
    i = find(then)
    side_by_side = np.concatenate([tile.reshape(found.d.rows, found.d.cols) for tile in second.sources], axis=1)
    a = decode_bits(encode_values(side_by_side, i.types["a"]), i.types["a"])
    b = np.reshape(second.b.numbers, (second.b.rows, second.b.cols))
    assert np.array_equal(np.ravel(a), second.a.numbers)
    for total, (_, end) in zip(second.d.sums[1:], second.k_groups, strict=True):
        assert np.array_equal(np.reshape(total, (i.sizes["m"], i.sizes["n"])), a[:, :end] @ b[:end])
    assert not np.asarray(second.d.sums[0]).any() and np.array_equal(second.d.sums[-1], second.d.expected)


def test_the_second_tile_is_the_same_a_times_other_columns_of_b() -> None:
    found, second = step(F16, F16)
    inputs = product_inputs.make_random_inputs(find(F16), 1)
    solved = np.linalg.lstsq(inputs.a[0].astype(float), np.reshape(second.sources[1], (16, 8)), rcond=None)
    assert found.k_step == 0 and np.allclose(inputs.a[0] @ solved[0], np.reshape(second.sources[1], (16, 8)))
    assert not np.array_equal(second.sources[0], second.sources[1])


def test_a_number_is_rounded_to_the_type_of_a() -> None:
    """257 = 2⁸ + 1 lies between 256 and 258 in bf16, whose even neighbour is 256; f16 holds it."""
    for then, kept in ((BF16, 256), (F16, 257)):
        _, second = step(F16, then, a="row == 0 && col == 0", b="row == 0 && col == 0 ? 257 : 0")
        assert second.a and second.a.numbers[0] == kept


def test_a_register_is_packed_from_a_pair_of_one_lane() -> None:
    """By hand, lane 5 = 4 · 1 + 1: D[1][2] and D[1][3] are its R0 and R1, and A's R0; the second tile is its R2."""
    found, second = step(F16, F16)
    first, _, third, _ = list_captions(found, "become")
    d = second.sources
    assert f"Lane 5: D[1][2] = {d[0][10]:g} in bits 15:0, D[1][3] = {d[0][11]:g} in bits 31:16." in first
    assert f"Lane 5: D[1][2] = {d[1][10]:g} in bits 15:0, D[1][3] = {d[1][11]:g} in bits 31:16." in third
    assert "R0 and R1 of D tile 0 to f16 (rounds to nearest even) and packs R0 of A₂" in first
    assert "tile 1" in third and "no value moves between lanes" in list_captions(found, "meet")[0]


def test_f16_accumulators_are_a_as_they_are() -> None:
    found, _ = step(HALF, F16)
    assert list_captions(found, "become")[1].startswith("R1 of A₂ is register R1 of D tile 0 as it is, already f16.")


def test_values_that_would_change_lanes_are_not_drawn() -> None:
    found, second = step(INT8, INT8)
    reuse = match_accumulator(find(INT8), find(INT8))
    assert (second.verdict, second.a, second.b, second.d) == ("reordered", None, None, None)
    [said] = list_captions(found, "meet")
    row, col, lane, other = second.moved
    assert f"{int(reuse.stays.sum())} of {reuse.stays.size} elements are in their lane" in said
    assert f"A₂[{row}][{col}], which lane {lane} needs, is in lane {other}." in said and lane != other
    assert find(INT8).operand("a").owner(row, col)[0][0] == lane
    assert find(INT8).operand("d").owner(row, col % 8)[0][0] == other
    assert [one.name for one in found.phases[5:]] == ["D becomes A"] and found.phases[5].steps == 1


def test_unknown_sums_stay_unknown_in_the_second_product() -> None:
    storage = {"kind": "rows", "pitch_bytes": 48, "swizzle": "128B", "inner": "K"}
    found, second = step(F16, F16, storage=storage, operand="a", no_xor="1")
    assert second.a and second.d
    unknown = np.isnan(np.concatenate([tile.reshape(16, 8) for tile in second.sources], axis=1))
    assert np.isnan(found.d.sums[-1]).any() and not unknown.all()
    assert np.array_equal(np.isnan(np.reshape(second.a.numbers, (16, 16))), unknown)
    last = np.isnan(np.reshape(second.d.sums[-1], (16, 8)))
    assert np.array_equal(last, np.repeat(unknown.any(axis=1)[:, None], 8, axis=1))


def test_the_first_offer_is_the_one_most_like_the_first_product() -> None:
    for first, best in ((F16, F16), (BF16, BF16), (SHORT, SHORT), (HALF, F16), (INT8, F16), (WMMA, WMMA)):
        assert list_seconds(find(first))[0].ptx == find(best).ptx
    assert find(INT8) in list_seconds(find(INT8))


@for_each(
    "then", ["mma.m16n8k16.row.col", SPARSE, HALF, "mma.m8n8k4.row.col.f64.f64.f64.f64", "ldmatrix.m8n8.x4.shared.b16"]
)
def test_refusals_name_the_second_mma(then: str) -> None:
    with pytest.raises(LayoutError) as refused:
        step(F16, then)
    assert refused.value.field == "then"


def test_a_sparse_or_block_scaled_second_product_is_refused_with_its_reason() -> None:
    """mma.sp.m16n8k32 stores 16 columns of 32; an mxf8 A has a scale factor for each 32 columns of a row."""
    scaled = next(i for i in catalog.instructions() if i.scales and i.shape == "m16n8k32")
    for then, why in ((SPARSE, "stores 16 of the 32 columns"), (scaled.ptx, "a scale factor for each block of a row")):
        with pytest.raises(LayoutError, match=why):
            step(F16, then)


def test_sparse_and_block_scaled_products_may_come_first() -> None:
    firsts = [find(SPARSE), next(i for i in catalog.instructions() if i.scales and i.types["d"] == "f32")]
    for first in firsts:
        then = list_seconds(first)[0]
        found, second = step(first.ptx, then.ptx)
        assert second.verdict == "registers" and second.d is not None and found.agrees
        assert np.array_equal(second.d.sums[-1], second.d.expected)


def test_the_answer_has_the_second_product_only_where_it_is_asked_for(client: Client) -> None:
    body = {"instruction": F16, "then": F16}
    assert "then" not in client.post("/api/v1/stepper", json=body | {"then": ""}).json()
    second = client.post("/api/v1/stepper", json=body).json()["then"]
    assert second["verdict"] == "registers" and len(second["d"]["sums"]) == 17
