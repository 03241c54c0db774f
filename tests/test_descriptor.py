"""Descriptors: the measured maps, the round trips, tiles against CuTe, spellings and refusals."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pycute
import pytest
from hypothesis import given, strategies as st

from lanescope import find
from lanescope.app.memory import descriptors, facts
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View, compute_many_addresses, encode_wgmma, reads
from lanescope.descriptor.notices import find_outside_reads, find_warnings
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared import slices
from lanescope.shared.swizzle import MODES, Swizzle, get_mode
from lanescope.shared.tiling import Tile
from tests.cases import for_each
from tests.sample import take_sample
from tests.test_verify import GOOD, NONE, build_canonical, build_right_word

BITS = {"f16": 16, "u8": 8, "tf32": 32, "e4m3": 8}
SHARED_END = desc.SHARED_BEGIN + desc.MOST_SHARED


def build_case_view(case: dict[str, Any]) -> View:
    return View(case["rows"], case["k"], BITS[case["type"]], "MN" if case["tnsp"] else "K")


@pytest.fixture(scope="module")
def measured() -> list[dict[str, Any]]:
    """Descriptors, and the addresses that a device read with each."""
    path = Path(__file__).parent / "golden" / "hardware" / "wgmma_reads.json.gz"
    cases: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["cases"]
    return cases


def test_all_measured_maps_exactly(measured: list[dict[str, Any]]) -> None:
    assert (
        len(measured) == 500
        and {c["swizzle_mode"] for c in measured} == {0, 1, 2, 3}
        and any(c["base_offset"] for c in measured)
    )
    for case in measured:
        descriptor = Descriptor(int(case["descriptor"], 16))
        assert np.array_equal(reads(descriptor, build_case_view(case)), case["address"]), case["descriptor"]
        decoded = (
            descriptor.start_address,
            descriptor.lbo_bytes,
            descriptor.sbo_bytes,
            descriptor.base_offset,
            descriptor.mode_code,
        )
        assert decoded == tuple(
            case[k] for k in ("start_address", "lbo_bytes", "sbo_bytes", "base_offset", "swizzle_mode")
        )


def test_many_at_once_equal_one_by_one(measured: list[dict[str, Any]]) -> None:
    words = np.array([int(c["descriptor"], 16) for c in measured[:40]], dtype=np.uint64)
    seen = View(64, 16, 16, "K")
    many = compute_many_addresses(words, seen)
    assert all(np.array_equal(many[n], reads(Descriptor(int(word)), seen)) for n, word in enumerate(words))


@given(st.integers(0, (1 << 64) - 1))
def test_replacing_fields_by_themselves_keeps_every_bit(word: int) -> None:
    descriptor = Descriptor(word)
    assert descriptor.replace(**{f.encoded_name: f.get(word) for f in WGMMA.fields}).word == word
    cleared = descriptor.replace(**{f.encoded_name: 0 for f in WGMMA.fields})
    assert cleared.word == descriptor.reserved == word & WGMMA.reserved_mask
    assert parse_word(str(descriptor)).word == word


@given(
    st.integers(0, 0x3FFF), st.integers(0, 0x3FFF), st.integers(0, 0x3FFF), st.integers(0, 7), st.sampled_from(MODES)
)
def test_encode_and_decode_are_inverse(start: int, lbo: int, sbo: int, base_offset: int, m: Any) -> None:
    made = encode_wgmma(start * 16, lbo * 16, sbo * 16, base_offset, m.name)
    assert (made.start_address, made.lbo_bytes, made.sbo_bytes, made.base_offset, made.mode) == (
        start * 16,
        lbo * 16,
        sbo * 16,
        base_offset,
        m,
    )
    assert not made.reserved


@given(st.sampled_from(MODES), st.integers(0, 0x3FFFF), st.sampled_from([8, 16, 32, 128]))
def test_swizzle_is_its_own_inverse_and_the_same_in_every_unit(m: Any, address: int, unit: int) -> None:
    xor = m.swizzle(unit)
    assert xor(xor(address)) == address
    assert m.swizzle(8)(address * unit // 8 // 16 * 16) // 16 == m.swizzle(128)(address * unit // 8 // 16)


TILES = [
    (bits, major, m.name, mn, k, order)
    for bits in (8, 16, 32)
    for major in (("K", "MN") if bits == 16 else ("K",))
    for m in MODES
    for mn, k in ((64, 128), (128, 256), (192, 128))
    for order in ("mn", "k")
]


@for_each("row", take_sample(TILES, 20), ids=str)
def test_tiles_equal_cute_tile_to_shape(row: tuple[int, str, str, int, int, str]) -> None:
    """The tiling written once more with pycute: atom, logical product, swizzle; and the printed CuTe string
    evaluated.
    """
    bits, major, name, mn, k, order = row
    tile = Tile(bits, major, get_mode(name), mn, k, order)
    (am, ak), (nm, nk) = tile.atom, tile.atoms
    atom = pycute.Layout((am, ak), (ak, 1) if major == "K" else (1, am))
    tiler = pycute.Layout((nm, nk), (1, nm) if order == "mn" else (nk, 1))
    whole = pycute.logical_product(atom, tiler)
    xor = pycute.Swizzle(tile.mode.bits, (128 // bits).bit_length() - 1, 3)
    offsets = tile.compute_offsets()
    printed = {unit: text.split(" o ") for unit, text in tile.cute().items()}
    assert printed["elements"][0] == f"Sw<{xor.bits},{xor.base},{xor.shift}>"
    shape, stride = (eval(part) for part in printed["elements"][1].split(":"))
    text = pycute.Layout(shape, stride)
    bits_xor, bits_text = printed["bits"][0], pycute.Layout(*(eval(part) for part in printed["bits"][1].split(":")))
    in_bits = pycute.Swizzle(*eval(bits_xor.removeprefix("Sw").replace("<", "(").replace(">", ")")))
    for i in range(0, mn, 5):
        for j in range(0, k, 3):
            expected = xor(int(whole(i % am + am * (j % ak), i // am + nm * (j // ak))))
            at = (i, j * bits) if major == "K" else (i * bits, j)
            assert offsets[i, j] * 8 == in_bits(int(bits_text(*at)))
            assert offsets[i, j] * 8 // bits == expected == xor(int(text(i, j)))


@for_each("row", TILES, ids=str)
def test_a_tiles_own_descriptors_read_each_byte_once(row: tuple[int, str, str, int, int, str]) -> None:
    bits, major, name, mn, k, order = row
    tile = Tile(bits, major, get_mode(name), mn, k, order, base=8192)
    seen = View(64, tile.step(), bits, major)
    got = [reads(tile.descriptor(i, j), seen) for i in range(0, mn, 64) for j in range(0, k, tile.step())]
    everything = np.sort(np.concatenate([g.ravel() for g in got]))
    assert np.array_equal(everything, np.arange(8192, 8192 + tile.bytes, bits // 8))
    assert np.array_equal(got[0], tile.compute_offsets()[:64, : tile.step()] + 8192)


def test_the_default_order_is_that_of_cutlass_collectives() -> None:
    """K-major Step<_1,_2,_3>, MN-major Step<_2,_1,_3> (sm90_mma_tma_gmma_ss_warpspecialized.hpp): tile_to_shape written
    once more.
    """
    for m in MODES:
        for major in ("K", "MN"):
            tile = Tile(16, major, m, 128, 64)
            (am, ak), (nm, nk) = tile.atom, tile.atoms
            atom = pycute.Layout((am, ak), (ak, 1) if major == "K" else (1, am))
            whole = pycute.logical_product(atom, pycute.Layout((nm, nk), (1, nm) if major == "K" else (nk, 1)))
            for i, j in ((0, 0), (64, 0), (0, 8), (127, 63), (72, 40)):
                assert tile.compute_offset_before(i, j) == 2 * int(
                    whole(i % am + am * (j % ak), i // am + nm * (j // ak))
                )
    assert str(Tile(16, "MN", get_mode("128B"), 128, 64, base=1024).descriptor()) == "0x4000004002000040"
    assert str(Tile(16, "MN", get_mode("128B"), 128, 64, order="mn", base=1024).descriptor()) == "0x4000008000400040"


@for_each("name", ["32B", "64B", "128B"])
@for_each("rows", range(8))
def test_a_tile_swizzled_from_its_own_start(name: str, rows: int) -> None:
    """The bytes are those of an aligned tile, moved; the descriptor's base offset makes the hardware read them."""
    for major in ("K", "MN"):
        aligned, moved = (
            Tile(16, major, get_mode(name), 64, 64, order="", base=base, swizzle_by="tile")
            for base in (8192, 8192 + 128 * rows)
        )
        assert np.array_equal(aligned.compute_offsets(), moved.compute_offsets())
        assert np.array_equal(
            aligned.compute_offsets(), Tile(16, major, get_mode(name), 64, 64, order="", base=8192).compute_offsets()
        )
        for k in (0, 16, 48):
            got = reads(moved.descriptor(0, k), View(64, 16, 16, major))
            assert np.array_equal(got, moved.base + moved.compute_offsets()[:, k : k + 16])
    if rows % get_mode(name).chunks:
        assert not np.array_equal(
            moved.compute_offsets(),
            Tile(16, major, get_mode(name), 64, 64, order="", base=moved.base).compute_offsets(),
        )
    with pytest.raises(LayoutError, match="rows of 128 bytes"):
        Tile(16, "K", get_mode(name), 64, 64, order="", base=16, swizzle_by="tile").descriptor()


WORKED = [  # the m64n32k16 examples of the seed, LBO and SBO in 16-byte units; None: nothing reads it
    (64, "K", "none", 64, 8),
    (32, "K", "none", 32, 8),
    (64, "MN", "64B", 32, 64),
    (32, "MN", "none", 32, 8),
    (64, "MN", "128B", None, 64),
    (32, "K", "32B", None, 16),
    (32, "MN", "64B", None, 32),
]


@for_each("row", WORKED, ids=str)
def test_worked_examples(row: tuple[int, str, str, int | None, int]) -> None:
    mn, major, name, lbo, sbo = row
    tile = Tile(16, major, get_mode(name), mn, 16, "mn")
    lbo_used, _ = tile.get_used_strides(mn)
    assert (
        tile.get_lbo_sbo_bytes()[1] == sbo * 16
        and lbo_used == (lbo is not None)
        and (lbo is None or tile.get_lbo_sbo_bytes()[0] == lbo * 16)
    )


@for_each(("swizzle", "reach", "lbo"), [("32B", 32, 2048), ("64B", 32, 16), ("64B", 64, 4096), ("128B", 64, 16)])
def test_lbo_leads_to_the_next_atom_where_the_instruction_reaches_it(swizzle: str, reach: int, lbo: int) -> None:
    """Elsewhere it is 16, as CUTLASS writes what nothing reads."""
    assert Tile(16, "K", get_mode(swizzle), 64, 128, "mn").get_lbo_sbo_bytes(reach)[0] == lbo


def test_constant_expressions() -> None:
    assert (
        descriptors.parse_descriptor("((uint64_t)1 << 62) | ((uint64_t)(1024 >> 4) << 32) | (4096 >> 4)").word
        == GOOD.replace(lbo_encoded=0).word
    )
    for bad in ("f(1)", "1 << 99", "__import__('os') | 1", "a | b", "1 / 0 | 1", "9" * 600 + " | 1"):
        with pytest.raises(LayoutError, match="is not a constant expression"):
            descriptors.parse_descriptor(bad)


@for_each(
    ("given", "field"),
    [
        ({"start_address": 8}, "start_address"),
        ({"start_address": 0x40000}, "start_address"),
        ({"lbo_bytes": 100}, "lbo_bytes"),
        ({"sbo_bytes": 16 << 14}, "sbo_bytes"),
        ({"base_offset": 8}, "base_offset"),
        ({"swizzle": "16B"}, "swizzle"),
        ({"colour": 1}, "colour"),
        ({"lbo_bytes": "x"}, "lbo_bytes"),
        ({"lbo_bytes": -16}, "lbo_bytes"),
    ],
)
def test_encode_names_the_wrong_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(LayoutError) as caught:
        descriptors.encode_descriptor(given)
    assert caught.value.field == field and caught.value.hint


@for_each(
    ("change", "field"),
    [
        ({"mn": "60"}, "mn"),
        ({"k": "48"}, "k"),
        ({"swizzle": "256B"}, "swizzle"),
        ({"major": "N"}, "major"),
        ({"major": "MN", "element_bits": "8"}, "major"),
        ({"element_bits": "4"}, "element_bits"),
        ({"base": "8"}, "base"),
        ({"order": "x"}, "order"),
        ({"rows": "12"}, "rows"),
        ({"mn": "-8"}, "mn"),
    ],
)
def test_tiles_name_the_wrong_field(change: dict[str, str], field: str) -> None:
    with pytest.raises(LayoutError) as caught:
        facts.parse_tile(change)
    assert caught.value.field == field and caught.value.hint


def test_sparse_b_takes_64_bytes_of_k_as_measured_on_an_h200() -> None:
    """The first addresses of each 16-byte chunk of K, rows 0, 1, 8 and 16, as a device run printed them (LBO 0x1000,
    SBO 0x4000).
    """
    i = find("wgmma.mma_async.sp.m64n32k32.f32.f16.f16")
    assert desc.view(i, "a", "K").k == 16
    seen = desc.view(i, "b", "K")
    measured = {
        "none": [
            [0, 0x1000, 0x2000, 0x3000],
            [0x10, 0x1010, 0x2010, 0x3010],
            [0x4000, 0x5000, 0x6000, 0x7000],
            [0x8000, 0x9000, 0xA000, 0xB000],
        ],
        "32B": [
            [0, 0x10, 0x1000, 0x1010],
            [0x20, 0x30, 0x1020, 0x1030],
            [0x4000, 0x4010, 0x5000, 0x5010],
            [0x8000, 0x8010, 0x9000, 0x9010],
        ],
        "64B": [
            [0, 0x10, 0x20, 0x30],
            [0x40, 0x50, 0x60, 0x70],
            [0x4000, 0x4010, 0x4020, 0x4030],
            [0x8000, 0x8010, 0x8020, 0x8030],
        ],
        "128B": [
            [0, 0x10, 0x20, 0x30],
            [0x90, 0x80, 0xB0, 0xA0],
            [0x4000, 0x4010, 0x4020, 0x4030],
            [0x8000, 0x8010, 0x8020, 0x8030],
        ],
    }
    for mode_name, rows in measured.items():
        word = desc.encode_wgmma(0x2000, 0x1000, 0x4000, 0, mode_name)
        assert (desc.reads(word, seen)[[0, 1, 8, 16], ::8] - 0x2000).tolist() == rows, mode_name
    modes = [desc.encode_wgmma(0, 16, 16, 0, name).mode for name in ("32B", "64B")]
    assert ["lbo" in desc.find_unread_fields(mode, seen) for mode in modes] == [False, True]


def test_warnings_are_about_what_is_there() -> None:
    def codes(word: Descriptor) -> set[str]:
        return {notice.code for notice in find_warnings(word)}

    assert codes(GOOD) == set()
    assert codes(build_right_word(build_canonical(), k=16)) == set()
    assert codes(GOOD.replace(start_address_encoded=0x101)) == {"start_inside_row"}
    assert codes(GOOD.replace(start_address_encoded=0x110)) == {"start_off_pattern"}
    assert codes(build_right_word(NONE).replace(base_offset=1)) == {"base_offset_in_none"}
    assert codes(build_right_word(NONE).replace(lbo_encoded=1, sbo_encoded=4)) == {"overlap"}
    assert codes(Descriptor(GOOD.word | 1 << 46)) == {"tcgen05_format"}
    assert codes(Descriptor(GOOD.word | 1 << 46 | 1 << 30)) == {"reserved_bits"}
    assert codes(GOOD.replace(start_address_encoded=0x3FC0)) == {"start_beyond_shared"}


def test_a_tile_ends_inside_the_window() -> None:
    """Its last slice's start would wrap to the window's beginning: hardware does not wrap, it faults."""
    assert (
        Tile(16, "K", get_mode("128B"), 64, 64, base=2**18 - 8192).descriptor(0, 48).start_address == 2**18 - 8192 + 96
    )
    with pytest.raises(LayoutError, match="ends past 262144") as caught:
        Tile(16, "K", get_mode("128B"), 64, 128, base=2**18 - 8192)
    assert (caught.value.field, caught.value.hint) == ("base", "At most 245760.")
    with pytest.raises(LayoutError):
        Tile(16, "K", get_mode("none"), 8, 8, base=2**18)


def test_the_ends_of_shared_memory_and_of_its_window_are_exact() -> None:
    seen = View(64, 16, 16, "K")
    size = int(reads(encode_wgmma(0, 128, 256, 0, "none"), seen).max()) + 2
    for end, inside, beyond in (
        (SHARED_END, [], ["reads_beyond_shared"]),
        (desc.WINDOW_BYTES, ["reads_beyond_shared"], ["reads_beyond_window"]),
    ):
        for start, codes in ((end - size, inside), (end - size + 16, beyond)):
            assert [one.code for one in find_outside_reads(encode_wgmma(start, 128, 256, 0, "none"), seen)] == codes
    for start, told in ((SHARED_END - 16, False), (SHARED_END, True)):
        codes = [one.code for one in find_warnings(encode_wgmma(start, 128, 256, 0, "none"))]
        assert ("start_beyond_shared" in codes) is told


def test_reads_beyond_shared_memory_are_told() -> None:
    """A block's own memory is 1024 to 1024 + 227 KiB; past 2^18 the read is an illegal address."""
    seen, size = View(64, 16, 16, "K"), 63 * 128 + 32
    for start, code, count in (
        (SHARED_END - size, None, 0),
        (SHARED_END - 8192 + 1024, "reads_beyond_shared", 8 * 16),
        (2**18 - 8192 + 1024, "reads_beyond_window", 64 * 16),
    ):
        told = find_outside_reads(encode_wgmma(start // 16 * 16, 16, 1024, 0, "128B"), seen)
        assert [notice.code for notice in told] == ([code] if code else [])
        assert not code or told[0].message.startswith(f"{count} of 1024 elements")
        assert ("illegal address" in str(told)) == (code == "reads_beyond_window")
    far = encode_wgmma(4096, 16, 0x3FFF * 16, 0, "128B")
    assert (
        find_outside_reads(far, seen)[0].code == "reads_beyond_window"
        and find_outside_reads(far, View(8, 16, 16, "K")) == []
    )


def test_k_steps_read_what_the_tile_holds() -> None:
    for name, order in (("128B", "mn"), ("64B", "k"), ("none", "mn")):
        tile = Tile(16, "K", get_mode(name), 128, 128, order=order, base=2048)
        for step in slices.list_k_steps(tile):
            got = reads(step.descriptor, View(64, 16, 16, "K"))
            assert np.array_equal(got - 2048, tile.compute_offsets()[:64, step.k : step.k + 16])


def test_swizzle_text() -> None:
    assert str(Swizzle(3, 4, 3)) == "Sw<3,4,3>" and WGMMA.codes[get_mode("128b")] == 1
    with pytest.raises(LayoutError, match="No swizzle mode 'x'"):
        get_mode("x")


def test_bank_conflicts_of_core_matrices() -> None:
    seen = View(64, 16, 16, "K")
    for m in MODES:
        tile = Tile(16, "K", m, 64, 64)
        assert desc.count_bank_ways(reads(tile.descriptor(), seen), seen) == 1
    # 128-byte rows read without their XOR all begin in the same banks; SBO does not matter inside a core matrix
    plain = np.arange(64)[:, None] * 128 + np.arange(16)[None, :] * 2
    assert desc.count_bank_ways(plain.astype(np.int64), seen) == 8
    assert desc.count_bank_ways((plain // 2).astype(np.int64), seen) == 4
    turned = View(64, 16, 16, "MN")
    tile = Tile(16, "MN", get_mode("64B"), 64, 16)
    assert desc.count_bank_ways(reads(tile.descriptor(), turned), turned) == 1


@for_each("word", [-1, 1 << 64, "0x40", None, 64.0])
def test_a_word_has_64_bits(word: Any) -> None:
    assert Descriptor((1 << 64) - 1).word == (1 << 64) - 1 and Descriptor(0).word == 0
    with pytest.raises(LayoutError, match=r"^word is .* An integer from 0 to 2") as refused:
        Descriptor(word)
    assert (refused.value.code, refused.value.field) == ("bad_word", "word")
    assert ("parse_word" in refused.value.hint) == isinstance(word, str)


def test_reads_end_where_shared_memory_ends() -> None:
    """The last byte of shared memory may be read, the one after is told."""
    view = View(64, 16, 16, "K")
    size = int(desc.reads(encode_wgmma(0, 128, 256, 0, "none"), view).max()) + 2
    last = encode_wgmma((SHARED_END - size) // 16 * 16, 128, 256, 0, "none")
    assert int(desc.reads(last, view).max()) + 2 == SHARED_END and find_outside_reads(last, view) == []
    beyond = encode_wgmma(last.start_address + 16, 128, 256, 0, "none")
    (told,) = find_outside_reads(beyond, view)
    assert told.code == "reads_beyond_shared" and told.message.startswith("8 of 1024 ")
