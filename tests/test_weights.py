"""Prepacked weights against the published definitions, the catalogue's fragments, and code that is executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.render.weights import render_weights
from lanescope.weights import sparse
from lanescope.weights.formats import FORMATS
from lanescope.weights.layout import (
    WeightLayout,
    evaluate_columns,
    find_side_order,
    pack_zeros,
    packed_weights,
    permute_scales,
)
from tests.cases import for_each
from tests.oracle import weights as oracle
from tests.sample import take_sample
from tests.weight_kernels import needs_nvrtc, run_cuda

EVERY = [(name, bits) for name, row in FORMATS.items() for bits in row.left]
FED = [(name, bits) for name, bits in EVERY if FORMATS[name].ptx]


def make_layout(name: str, bits: int, down: int = 2, across: int = 3) -> WeightLayout:
    """A matrix of down × across tiles."""
    k, n = packed_weights(name, bits=bits).tile.extents
    return packed_weights(name, k * down, n * across, bits)


def make_weights(layout: WeightLayout) -> NDArray[Any]:
    return np.random.default_rng(38).integers(0, 1 << layout.bits, (layout.k, layout.n)).astype(np.uint8)


@for_each(("name", "bits"), EVERY)
def test_words_are_those_of_the_published_definition(name: str, bits: int) -> None:
    layout = make_layout(name, bits)
    weights = make_weights(layout)
    words = layout.pack(weights)
    assert words.shape == layout.shape
    assert (words.reshape(-1) == oracle.pack(name, weights, bits)).all()
    assert (layout.unpack(words) == weights).all() and (layout.unpack(words.view(np.int32)) == weights).all()


@for_each(("name", "bits"), EVERY)
def test_a_place_and_its_element_lead_to_each_other(name: str, bits: int) -> None:
    layout = make_layout(name, bits)
    words, weights = layout.pack(make_weights(layout)).reshape(-1), make_weights(layout)
    for k, n in np.random.default_rng(7).integers(0, weights.shape, (200, 2)).tolist():
        place = layout.locate(k, n)
        assert words[place.word] >> place.field * bits & (1 << bits) - 1 == weights[k, n]
        assert layout.find_element(place.word, place.field) == (k, n)


@dataclass(frozen=True)
class Slots:
    """Where each element of a tile is in its operand, [k][n]. instruction: of those that the thread takes part in."""

    thread: NDArray[Any]
    instruction: NDArray[Any]
    value: NDArray[Any]


def find_slots(layout: WeightLayout) -> Slots:
    """From the catalogue's owners, not from whose word it is."""
    operand, fragment = layout.operand, layout.fragment
    assert operand and fragment
    thread, value = (array[..., 0] for array in operand.pattern.inverse())
    instruction, row, col = fragment.evaluate()
    k, n = layout.tile.evaluate()
    own = layout.tile.value_count // operand.values
    out = [np.empty(layout.tile.extents, np.int64) for _ in range(3)]
    group = instruction // own if layout.threads > operand.threads else 0 * instruction
    out[0][k, n] = thread[row, col] + operand.threads * group
    out[1][k, n] = instruction % own
    out[2][k, n] = value[row, col]
    return Slots(*out)


@for_each(("name", "bits"), FED)
def test_a_thread_loads_exactly_its_fragments(name: str, bits: int) -> None:
    """Every element of a tile: the thread whose words have it is the owner in the operand, and no slot is met twice."""
    layout = make_layout(name, bits, 1, 1)
    slots = find_slots(layout)
    k, n = layout.tile.evaluate()
    assert (slots.thread[k, n] == np.arange(layout.threads)[:, None]).all()
    found = np.stack([slots.thread, slots.instruction, slots.value]).reshape(3, -1)
    assert np.unique(found, axis=1).shape == found.shape
    for at in np.random.default_rng(5).integers(0, k.size, 50).tolist():
        held = layout.locate(int(k.flat[at]), int(n.flat[at])).fragment
        place = int(k.flat[at]), int(n.flat[at])
        assert held and held.value == slots.value[place] and held.thread == slots.thread[place] % 128
        assert held.instruction % (slots.instruction.max() + 1) == slots.instruction[place]


def test_the_examples_by_hand() -> None:
    """Marlin: lane 10 is group 2, thread 2 of it: rows 4, 5, 12, 13 of columns 2 + 8i. AWQ: 0 2 4 6 1 3 5 7. GPTQ: row
    13 is field 5 of word row 1.
    """
    marlin = packed_weights("marlin", 32, 128)
    assert [marlin.find_element(40, field) for field in range(8)] == [
        (4, 2), (12, 2), (4, 10), (12, 10), (5, 2), (13, 2), (5, 10), (13, 10)
    ]  # fmt: skip
    assert (marlin.locate(16, 64).tile, marlin.locate(16, 64).word) == (3, 3 * 128)
    awq = packed_weights("awq", 2, 16)
    assert [awq.find_element(3, field)[1] - 8 for field in range(8)] == [0, 2, 4, 6, 1, 3, 5, 7]
    gptq = packed_weights("gptq", 16, 5)
    assert (gptq.locate(13, 2).word, gptq.locate(13, 2).field) == (5 + 2, 5)
    machete = packed_weights("machete", 128, 256)
    assert (machete.locate(0, 128).word, machete.locate(64, 0).word) == (1024, 2048)
    assert machete.locate(0, 64).thread == 128


@for_each(("name", "bits"), EVERY)
def test_elements_are_numbered_in_the_words_that_hold_them(name: str, bits: int) -> None:
    layout = make_layout(name, bits)
    k, n = np.divmod(np.arange(0, layout.k * layout.n, 997), layout.n)
    word, field, thread = layout.number_elements(k, n)
    for at in range(len(k)):
        place = layout.locate(int(k[at]), int(n[at]))
        assert (word[at], field[at], thread[at]) == (place.word, place.field, max(place.thread, 0))
        assert layout.find_element(place.word, place.field) == (k[at], n[at])


def test_scales_and_zero_points_are_permuted_as_published() -> None:
    for (name, by), order in oracle.list_scale_orders().items():
        columns = evaluate_columns(find_side_order(FORMATS[name].scales, by, "Scales")).tolist()
        ours, theirs = ([start + n for start in range(0, 64, len(part)) for n in part] for part in (columns, order))
        assert ours == theirs, (name, by)
    for name, bits in EVERY:
        layout = packed_weights(name, None, 128, bits)
        zeros = np.random.default_rng(1).integers(0, 1 << bits, (3, 128))
        if layout.format.zeros.orders:
            assert (pack_zeros(layout, zeros).reshape(-1) == oracle.pack_zeros(name, zeros, bits)).all(), name
    scales = np.arange(128.0).reshape(1, 128)
    assert permute_scales(packed_weights("marlin", n=128), scales)[0, :10].tolist() == [
        0, 8, 16, 24, 32, 40, 48, 56, 1, 9
    ]  # fmt: skip
    assert (permute_scales(packed_weights("awq", n=128), scales) == scales).all()


def test_the_scales_that_a_lane_reads_are_those_of_its_columns() -> None:
    """Marlin reads eight halves at 8 · (lane / 4): of instruction i, whose column is lane / 4."""
    layout = packed_weights("marlin")
    stored = permute_scales(layout, np.arange(64).reshape(1, 64))[0]
    for n in range(64):
        held = layout.locate(0, n).fragment
        assert held and stored[8 * (held.thread // 4) + held.instruction] == n


# 2:4 ------------------------------------------------------------------------------------------------------------------


def make_sparse(layout: WeightLayout, zero: int) -> NDArray[Any]:
    rng = np.random.default_rng(24)
    dense = rng.integers(0, 16, (2 * layout.k, layout.n))
    kept = np.argsort(rng.random((layout.k // 2, 4, layout.n)), axis=1) < 2
    return np.where(kept.reshape(dense.shape), dense, zero)


def test_sparse_weights_come_back_from_what_is_kept() -> None:
    layout = packed_weights("sparse-marlin", 64, 128)
    dense = make_sparse(layout, 8)
    kept, words = sparse.compress_weights(layout, dense, 8)
    assert (sparse.expand_weights(layout, layout.unpack(layout.pack(kept)), words, 8) == dense).all()
    indices = sparse.unpack_metadata(layout, words)
    assert (oracle.order_metadata(indices) == words.reshape(-1)).all()
    assert set(np.unique(indices)) <= {0x4, 0x8, 0x9, 0xC, 0xD, 0xE}


def test_groups_with_fewer_elements_keep_the_positions_that_the_published_code_keeps() -> None:
    """Its table of encodings: none or one at the end 1110, position 2 1110, position 1 1001, position 0 1000."""
    layout = packed_weights("sparse-marlin", 16, 64)
    dense = np.full((32, 64), 8)
    for group, position in enumerate((0, 1, 2, 3)):
        dense[4 * group + position, :] = 3
    kept, words = sparse.compress_weights(layout, dense, 8)
    assert sparse.unpack_metadata(layout, words)[5].tolist() == [0x8, 0x9, 0xE, 0xE, 0xE, 0xE, 0xE, 0xE]
    assert (sparse.expand_weights(layout, kept, words, 8) == dense).all()


def test_the_lane_that_reads_a_word_of_metadata_supplies_it() -> None:
    """ldmatrix.x2 gives lane l word l of each half: the suppliers of mma.sp by the catalogue."""
    layout = packed_weights("sparse-marlin", 32, 64)
    operand = layout.operand
    assert operand and operand.sparsity
    for k in range(0, layout.k, 3):
        for n in range(layout.n):
            held, at = layout.locate(k, n).fragment, sparse.locate_metadata(layout, k, n)
            assert held
            lane, bit = operand.sparsity.find_suppliers(at["selector"])
            assert (lane[held.thread, held.value], bit[held.thread, held.value]) == (at["lane"], at["bit"])
            assert held.instruction == 2 * at["register"] + at["selector"]


# code -----------------------------------------------------------------------------------------------------------------


@for_each(("name", "bits"), EVERY)
def test_the_numpy_code_packs_and_unpacks(name: str, bits: int) -> None:
    layout = make_layout(name, bits)
    weights = make_weights(layout)
    scope: dict[str, Any] = {}
    exec(render_weights(layout)["numpy"], scope)
    words = layout.pack(weights).reshape(-1)
    assert (scope["pack"](weights) == words).all()
    assert (scope["unpack"](words, layout.k, layout.n) == weights).all()


@needs_nvrtc
@for_each(("name", "bits"), take_sample(EVERY, 4))
def test_the_cuda_kernels_pack_and_unpack(name: str, bits: int) -> None:
    layout = make_layout(name, bits, *((1, 1) if name.startswith("machete") else (2, 3)))
    weights, words = make_weights(layout), np.empty(layout.word_count, np.uint32)
    source, sizes, threads = render_weights(layout)["cuda"], [layout.k, layout.n], layout.word_count
    packed = run_cuda(source, "pack_weights", threads, ["weights", "out", *sizes], words, weights=weights)
    assert (packed == layout.pack(weights).reshape(-1)).all()
    back = run_cuda(source, "unpack_words", threads, ["words", "out", *sizes], np.empty_like(weights), words=packed)
    assert (back.reshape(weights.shape) == weights).all()


@needs_nvrtc
@for_each(("name", "bits"), FED)
def test_the_cuda_load_gives_each_thread_its_fragments(name: str, bits: int) -> None:
    layout = make_layout(name, bits, 1, 1)
    operand, code = layout.operand, render_weights(layout)["fragments"]
    assert operand
    weights = make_weights(layout)
    each = layout.tile.value_count * operand.container_bits // 32
    source = f"""{code}
__global__ void load(const unsigned* words, unsigned* out) {{
  Fragments mine;
  load_fragments(words, threadIdx.x, mine);
  for (int n = 0; n < {each}; ++n) out[threadIdx.x * {each} + n] = (&mine[0][0])[n];
}}"""
    words = np.empty((layout.threads, each), np.uint32)
    given = run_cuda(source, "load", layout.threads, ["words", "out"], words, words=layout.pack(weights))
    kind, zero = (np.float16, 1 << bits - 1) if operand.container_bits == 16 else (np.uint8, 0)
    slots = find_slots(layout)
    expected = np.empty((layout.threads, layout.tile.value_count), kind)
    expected[slots.thread, slots.instruction * operand.values + slots.value] = weights.astype(int) - zero
    assert (given.view(kind).reshape(expected.shape) == expected).all()


@needs_nvrtc
@for_each("name", ["awq", "awq-tinychat"])
def test_a_converted_word_has_its_elements_in_order(name: str) -> None:
    layout = packed_weights(name)
    weights = make_weights(layout)
    source = f"""{render_weights(layout)["fragments"]}
__global__ void convert(const unsigned* words, unsigned* out) {{
  unsigned mine[4];
  convert_word(words[threadIdx.x], mine);
  for (int n = 0; n < 4; ++n) out[threadIdx.x * 4 + n] = mine[n];
}}"""
    count = layout.word_count
    words = layout.pack(weights).reshape(-1)
    given = run_cuda(source, "convert", count, ["words", "out"], np.empty((count, 4), np.uint32), words=words)
    for word in range(count):
        inside = sorted(layout.find_element(word, field) for field in range(8))
        assert given.view(np.float16).reshape(count, 8)[word].tolist() == [int(weights[at]) - 8 for at in inside]


@needs_nvrtc
def test_the_conversions_take_any_zero_point() -> None:
    four, eight = (render_weights(packed_weights("marlin", bits=bits))["fragments"] for bits in (4, 8))
    source = f"""{four.partition("using Fragments")[0]}{eight.partition("using Fragments")[0]}
__global__ void convert(const unsigned* words, unsigned* out) {{
  const unsigned q = words[0];
  out[0] = low_halves<0>(q), out[1] = low_halves<15>(q), out[2] = high_halves<0>(q), out[3] = high_halves<15>(q);
  out[4] = byte_halves<0x5350, 0>(q), out[5] = byte_halves<0x5350, 255>(q);
}}"""
    words = np.array([0xF3A29160], np.uint32)
    given = run_cuda(source, "convert", 1, ["words", "out"], np.empty(6, np.uint32), words=words)
    assert given.view(np.float16).tolist() == [0, 2, -15, -13, 6, 10, -9, -5, 0x60, 0xF3, 0x60 - 255, 0xF3 - 255]


def test_fields_in_order_have_no_fast_conversion_to_pairs() -> None:
    """Why GPTQ's 4-bit words are repacked: a pair of fp16 takes fields that are 16 bits apart."""
    assert render_weights(packed_weights("gptq"))["fragments"] == ""


# refusals -------------------------------------------------------------------------------------------------------------


@for_each(
    ("asked", "code", "said"),
    [
        (
            {"name": "marlin", "k": 24},
            "bad_tile",
            "k is 24. A tile of Marlin with 4 bits has 16. Give a multiple of 16",
        ),
        ({"name": "marlin", "n": 32}, "bad_tile", "Give a multiple of 64"),
        ({"name": "machete", "n": 64}, "bad_tile", "Give a multiple of 128"),
        ({"name": "gptq", "bits": 3}, "bad_bits", "Give 2 or 4 or 8."),
        ({"name": "marlin", "bits": 2}, "bad_bits", "Give 4 or 8."),
        ({"name": "marlyn"}, "bad_format", "marlin"),
        ({"name": "awq", "n": 1 << 24}, "bad_tile", "up to 1048576"),
    ],
)
def test_what_is_no_layout_is_refused(asked: dict[str, Any], code: str, said: str) -> None:
    with pytest.raises(LayoutError) as refused:
        packed_weights(**asked)
    assert refused.value.code == code and said in str(refused.value)


def test_what_does_not_fit_is_refused() -> None:
    layout = packed_weights("marlin")
    for weights in (np.zeros((16, 63), int), np.full((16, 64), 16), np.full((16, 64), -1), np.zeros((16, 64))):
        with pytest.raises(LayoutError):
            layout.pack(weights)
    for words in (np.zeros(127, np.uint32), np.zeros(128, np.int16), np.zeros(128)):
        with pytest.raises(LayoutError):
            layout.unpack(words)
    for k, n in ((16, 0), (-1, 0), (0, 64)):
        with pytest.raises(LayoutError):
            layout.locate(k, n)
    with pytest.raises(LayoutError):
        layout.find_element(0, 8)
    crowded = np.full((32, 64), 9)
    crowded[1, 0], crowded[:, 1:] = 8, 8
    with pytest.raises(LayoutError, match="Column 0, rows 0 to 3 have 3 elements other than 8"):
        sparse.compress_weights(packed_weights("sparse-marlin"), crowded, 8)
    with pytest.raises(LayoutError, match="stores dense weights"):
        sparse.compress_weights(layout, crowded, 8)
