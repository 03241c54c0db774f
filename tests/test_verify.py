"""The verifier: every named mistake with its repair, what looks wrong but is right, and storages as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.memory.verdicts import Verified, build_verified
from lanescope.bits import format_word
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View, encode_wgmma
from lanescope.descriptor.verify import verify
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared.storage import Storage, storage
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile
from tests.cases import for_each

M64N64 = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"


def build_canonical(**more: Any) -> dict[str, Any]:
    return {
        "kind": "canonical",
        "element_bits": 16,
        "major": "K",
        "swizzle": "128B",
        "mn": 64,
        "k": 64,
        "order": "mn",
        "base": 4096,
    } | more


def verify_word(
    descriptor: Descriptor | int,
    spec: dict[str, Any],
    instruction: str = M64N64,
    *,
    operand: str = "a",
    major: str = "K",
    mn: int = 0,
    k: int = 0,
) -> Verified:
    word = descriptor.word if isinstance(descriptor, Descriptor) else descriptor
    return build_verified(
        {
            "descriptor": format_word(word),
            "instruction": instruction,
            "operand": operand,
            "major": major,
            "storage": spec,
            "slice": {"mn": mn, "k": k},
        }
    )


def build_right_word(spec: dict[str, Any], mn: int = 0, k: int = 0) -> Descriptor:
    tile = storage(spec, 16, "K").tile
    assert tile
    return tile.descriptor(mn, k)


@for_each(("by", "base_offset"), [("address", 0), ("tile", 3)])
def test_canonical_tiles_honour_swizzle_by(by: str, base_offset: int) -> None:
    spec = build_canonical(base=4096 + 3 * 128, swizzle_by=by)
    for given in (0, 3):
        told = verify_word(encode_wgmma(spec["base"], 16, 1024, given, "128B"), spec)
        assert told.verdict == ("match" if given == base_offset else "mismatch")
    assert str(build_right_word(spec)) == str(encode_wgmma(spec["base"], 16, 1024, base_offset, "128B"))


def test_a_panel_pair_as_cutlass_lays_it_is_right() -> None:
    """N-major B, 128×64 with the 128B swizzle: two panels of 64, K first inside each; LBO leads from panel to panel."""
    spec = {"kind": "canonical", "major": "MN", "swizzle": "128B", "mn": 128, "k": 64, "base": 1024}
    n128 = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"
    assert verify_word(0x4000004002000040, spec, n128, operand="b", major="MN").verdict == "match"
    assert verify_word(0x4000008000400040, spec, n128, operand="b", major="MN").verdict == "mismatch"
    assert verify_word(0x4000008000400040, spec | {"order": "mn"}, n128, operand="b", major="MN").verdict == "match"


GOOD = build_right_word(build_canonical())
NONE = build_canonical(swizzle="none")
WIDE = build_canonical(mn=128, k=128)
MN_TILE = build_canonical(major="MN", swizzle="64B", mn=128, k=32)

# code → (descriptor, storage, further arguments): each must be named, and its repair must verify.
MISTAKES: dict[str, tuple[Descriptor, dict[str, Any], dict[str, Any]]] = {
    "bytes_not_shifted": (GOOD.replace(sbo_encoded=1024), build_canonical(), {}),
    "shifted_twice": (GOOD.replace(sbo_encoded=4), build_canonical(), {}),
    "lbo_sbo_swapped": (
        build_right_word(NONE).replace(
            lbo_encoded=build_right_word(NONE).sbo_bytes // 16, sbo_encoded=build_right_word(NONE).lbo_bytes // 16
        ),
        NONE,
        {},
    ),
    "tma_swizzle_enum": (GOOD.replace(swizzle=3), build_canonical(), {}),
    "swizzle_mode": (GOOD.replace(swizzle=2), build_canonical(), {}),
    "base_offset_missing": (
        encode_wgmma(4096 + 384, 16, 1024, 0, "128B"),
        {"kind": "rows", "inner": "K", "pitch_bytes": 128, "swizzle": "128B", "swizzle_by": "tile", "base": 4096 + 384},
        {},
    ),
    "base_offset_from_shifted_start": (encode_wgmma(8192, 16, 1024, 4, "128B"), build_canonical(base=8192), {}),
    "base_offset_as_k_advance": (GOOD.replace(base_offset=1), build_canonical(), {"k": 16}),
    "base_offset_wrong": (GOOD.replace(base_offset=5), build_canonical(), {}),
    "sbo_other_width": (GOOD.replace(sbo_encoded=512 // 16), build_canonical(), {}),
    "k_advance_past_atom": (build_right_word(WIDE).replace(start_address_encoded=(4096 + 128) // 16), WIDE, {"k": 64}),
    "panel_stride_from_instruction": (
        build_right_word(WIDE).replace(start_address_encoded=(4096 + 64 * 128) // 16),
        WIDE,
        {"k": 64},
    ),
    "start_wrong": (GOOD.replace(start_address_encoded=0x101), build_canonical(), {}),
    "overlapping_core_matrices": (build_right_word(NONE).replace(lbo_encoded=1, sbo_encoded=4), NONE, {}),
    "generic_pointer": (Descriptor(GOOD.word | 0x7F12_3400_0000 >> 4), build_canonical(), {}),
}


@for_each("code", MISTAKES)
def test_each_mistake_is_named_and_its_repair_verifies(code: str) -> None:
    descriptor, spec, more = MISTAKES[code]
    result = verify_word(descriptor, spec, **more)
    assert result.verdict == "mismatch" and result.matched < result.total == 64 * 16
    assert code in [d.code for d in result.diagnoses], result.diagnoses
    fix = result.diagnoses[0].fix
    assert fix and verify_word(int(fix.descriptor, 16), spec, **more).verdict == "match"
    assert set(fix.changes) <= {f.name for f in WGMMA.fields}


def test_lbo_of_the_instructions_rows() -> None:
    """N = 64 of a buffer of 128: LBO must step over the buffer's panel, not the instruction's."""
    spec = build_canonical(swizzle="none", mn=128)
    result = verify_word(build_right_word(spec).replace(lbo_encoded=64 * 16 // 16), spec, operand="b")
    assert [d.code for d in result.diagnoses] == ["panel_stride_from_instruction"]


def test_one_field_is_preferred_to_two() -> None:
    result = verify_word(GOOD.replace(sbo_encoded=1), build_canonical())
    assert list(result.diagnoses[0].fix.changes) == ["sbo"]
    both = verify_word(GOOD.replace(sbo_encoded=1, start_address_encoded=1), build_canonical())
    assert set(both.diagnoses[0].fix.changes) == {"sbo", "start_address"}


def test_wrong_transpose() -> None:
    result = verify_word(build_right_word(MN_TILE), MN_TILE, operand="b", major="K")
    assert result.diagnoses[0].code == "wrong_transpose" and result.diagnoses[0].fix is None
    assert verify_word(build_right_word(MN_TILE), MN_TILE, operand="b", major="MN").verdict == "match"


@for_each("pitch", [32, 64, 128, 144, 256])
def test_plain_rows_are_not_readable(pitch: int) -> None:
    result = verify_word(
        encode_wgmma(4096, 128, 256),
        {"kind": "rows", "inner": "K", "pitch_bytes": pitch, "swizzle": "none", "base": 4096},
    )
    diagnosis = result.diagnoses[0]
    assert diagnosis.code == "row_major_not_core_matrix" and diagnosis.fix is None
    # 144 = 128 + 16: the XOR of mode 128B undoes the 16 in the first core matrix, and the next one gives it away
    assert f"Core matrix (0, {int(pitch == 144)})" in diagnosis.message and f"{pitch} bytes apart" in diagnosis.message


def test_an_offset_inside_an_mn_major_atom_is_illegal() -> None:
    spec = build_canonical(major="MN", swizzle="128B", mn=128, k=16)
    tile = storage(spec, 16, "MN").tile
    assert tile
    with pytest.raises(LayoutError, match="inside an MN-major atom"):
        tile.descriptor(32, 0)
    shifted = tile.descriptor().replace(start_address_encoded=(4096 + 64) // 16)
    result = verify_word(shifted, spec, "wgmma.mma_async.m64n32k16.f32.f16.f16", operand="b", major="MN", mn=48)
    assert [d.code for d in result.diagnoses] == ["mn_offset_inside_atom"]


RIGHT_BUT_ODD = {
    "LBO 0 in swizzled K-major": (GOOD.replace(lbo_encoded=0), build_canonical(), {}),
    "LBO nonsense in swizzled K-major": (GOOD.replace(lbo_encoded=0x3FFF), build_canonical(), {}),
    "SBO 0 with N = 8": (
        GOOD.replace(sbo_encoded=0),
        build_canonical(),
        {"instruction": "wgmma.mma_async.m64n8k16.f32.f16.f16", "operand": "b"},
    ),
    "SBO 144, rows padded by a chunk": (
        encode_wgmma(4096, 2048, 144),
        {
            "kind": "atoms",
            "inner": "K",
            "width_bytes": 16,
            "outer8_stride": 144,
            "inner_stride": 2048,
            "line_stride": 16,
            "base": 4096,
        },
        {},
    ),
    "SBO 2048, every other atom": (
        encode_wgmma(4096, 16, 2048, 0, "128B"),
        {
            "kind": "atoms",
            "inner": "K",
            "width_bytes": 128,
            "outer8_stride": 2048,
            "inner_stride": 0,
            "swizzle": "128B",
            "base": 4096,
        },
        {},
    ),
    "SBO 8192": (
        encode_wgmma(4096, 16, 8192, 0, "128B"),
        {
            "kind": "atoms",
            "inner": "K",
            "width_bytes": 128,
            "outer8_stride": 8192,
            "inner_stride": 0,
            "swizzle": "128B",
            "base": 4096,
        },
        {},
    ),
    "unaligned start of data swizzled by address": (
        encode_wgmma(4096 + 384, 16, 1024, 0, "128B"),
        {
            "kind": "rows",
            "inner": "K",
            "pitch_bytes": 128,
            "swizzle": "128B",
            "swizzle_by": "address",
            "base": 4096 + 384,
        },
        {},
    ),
    "K step inside the atom": (build_right_word(build_canonical(), k=48), build_canonical(), {"k": 48}),
    "reserved bits": (Descriptor(GOOD.word | 1 << 52), build_canonical(), {}),
}


@for_each("name", RIGHT_BUT_ODD)
def test_what_looks_wrong_but_is_right(name: str) -> None:
    descriptor, spec, more = RIGHT_BUT_ODD[name]
    result = verify_word(descriptor, spec, **more)
    assert (result.verdict, result.diagnoses, result.first_mismatch) == ("match", [], None)


@for_each("unit", ["elements", "chunks", "bytes"])
@for_each(("major", "name"), [("K", "none"), ("K", "128B"), ("MN", "64B"), ("K", "32B")])
def test_a_cute_string_is_the_same_storage(unit: str, major: str, name: str) -> None:
    spec = build_canonical(major=major, swizzle=name, mn=64, k=64)
    tile = storage(spec, 16, major).tile
    assert tile
    text = {"kind": "cute", "layout": tile.cute()[unit], "unit": unit, "base": 4096}
    mn, k = np.arange(64)[:, None], np.arange(64)[None, :]
    assert np.array_equal(storage(text, 16, major).address(mn, k), tile.address(mn, k))


def test_cutes_pointer_swizzle_is_in_bytes() -> None:
    mn, k = np.arange(64)[:, None], np.arange(16)[None, :]
    pointer = storage(
        {"kind": "cute", "layout": "Sw<3,4,3> o smem_ptr16b o ((8,8),(64,1)):((64,512),(1,0))", "base": 1024}, 16, "K"
    )
    literal = storage({"kind": "cute", "layout": "Sw<3,3,3> o ((8,8),(64,1)):((64,512),(1,0))", "base": 1024}, 16, "K")
    assert np.array_equal(pointer.address(mn, k), literal.address(mn, k))


def test_verify_refuses_a_slice_outside() -> None:
    with pytest.raises(LayoutError, match="exceeds the"):
        verify(GOOD, View(64, 16, 16, "K"), storage(build_canonical(), 16, "K"), mn=0, k=64)


def test_canonical_sparse_b_verifies_in_every_mode() -> None:
    seen = desc.view(find("wgmma.mma_async.sp.m64n32k32.f32.f16.f16"), "b", "K")
    for mode_name in ("none", "32B", "64B", "128B"):
        tile = Tile(16, "K", get_mode(mode_name), 32, 64)
        stored = Storage(tile.address, "", 32, 64, tile)
        assert verify(tile.descriptor(0, 32, seen.k), seen, stored, mn=0, k=32).match
        wrong = tile.descriptor(0, 0, seen.k).replace(sbo_encoded=1)
        assert verify(wrong, seen, stored).diagnoses[0].fix is not None


@for_each("major", ["K", "MN"])
@for_each("swizzle", ["none", "32B", "64B", "128B"])
@for_each("at", [1, 4, 9])
def test_a_slice_that_begins_inside_a_chunk_is_told_so(major: str, swizzle: str, at: int) -> None:
    """No descriptor can start there; that was looked for until the stack was full."""
    tile = {"kind": "canonical", "swizzle": swizzle, "mn": 128, "k": 64, "base": 4096}
    part = {"k" if major == "K" else "mn": at}
    given = {
        "descriptor": "0x4000004004000101",
        "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
        "major": major,
        "storage": tile,
        "slice": part,
    }
    told = build_verified(given)
    assert told.verdict == "mismatch" and [d.code for d in told.diagnoses] == ["not_canonical"]
    assert f"The slice begins at {at} of" in told.diagnoses[0].message and "multiple of 8." in told.diagnoses[0].message


def test_data_that_nothing_reads_end_in_words() -> None:
    strange = {
        "kind": "atoms",
        "inner": "MN",
        "width_bytes": 16,
        "outer8_stride": 7,
        "inner_stride": 5,
        "line_stride": 9,
        "swizzle": "64B",
        "swizzle_by": "tile",
        "base": 4112,
    }
    given = {
        "descriptor": "0x7cb09b8d2d0a9355",
        "instruction": "wgmma.mma_async.sp.m64n32k32.f32.f16.f16",
        "operand": "b",
        "major": "MN",
    }
    for part in ({"mn": 1, "k": 16}, {"mn": 8}, {"mn": 3}):
        assert build_verified(given | {"storage": strange, "slice": part}).diagnoses
