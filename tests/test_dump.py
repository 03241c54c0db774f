"""Memory dumps: what is read, what is wrong, where the tile really lies, which layout that is, and the repair.

The storages that write a tile are those of the contract, and the numbers of f16, bf16 and tf32 are NumPy's: what finds
them again is layouts/descriptor/tile_search.py and layouts/ptx/codec.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanescope import dump as engine, find
from lanescope.descriptor import tile_search
from lanescope.descriptor.matrix import Descriptor, View, encode_wgmma as word_of
from lanescope.descriptor.tile_search import ABSENT, SEVERAL
from lanescope.dump import Dump, Examined, examine, of_file, parse_expected_tile, written
from lanescope.errors import LayoutError
from lanescope.ptx.codec import decode_bits, encode_values
from lanescope.ptx.dtypes import get_dtype
from lanescope.shared.storage import storage
from tests.cases import for_each
from tests.npy_files import encode_npy

BASE = engine.BASE
F16 = "wgmma.mma_async.m64n64k16.f32.f16.f16"


def make_distinct_codes(mn: int, k: int, bits: int = 16) -> Any:
    """Codes of a tile; of 16 bits all different and finite, of 8 in an order that repeats nowhere."""
    if bits >= 16:
        return (np.arange(mn * k) % 31744).astype(np.uint64).reshape(mn, k) + (
            0x8000 * (np.arange(mn * k) // 31744)
        ).astype(np.uint64).reshape(mn, k)
    return np.random.default_rng(mn * k).integers(0, 1 << min(bits, 6), (mn, k)).astype(np.uint64)


def examine_stored(
    spec: dict[str, Any],
    word: Descriptor,
    codes: Any = None,
    *,
    mn: int = 64,
    k: int = 64,
    ptx: str = F16,
    operand: str = "a",
    major: str = "K",
    origin: tuple[int, int] = (0, 0),
    **more: Any,
) -> Examined:
    """A tile stored so, examined with itself as the expected one."""
    row = get_dtype(find(ptx).types[operand])
    codes = make_distinct_codes(mn, k, row.bits) if codes is None else codes
    made = written(storage(spec, row.bits, major), codes, row.bits, size=more.pop("size", 0))
    expected = codes.astype(f"<u{max(row.bits // 8, 1)}")
    return examine(
        more.pop("dump", made),
        word,
        find(ptx),
        operand=operand,
        major=major,
        expected=encode_npy(expected.T if operand == "b" else expected),
        taken="bits",
        origin=origin,
    )


# values ---------------------------------------------------------------------------------------------------------------


@for_each(
    ("ptx", "k"),
    [
        ("wgmma.mma_async.m64n64k16.f32.f16.f16", 64),
        ("wgmma.mma_async.m64n64k16.f32.bf16.bf16", 64),
        ("wgmma.mma_async.m64n64k8.f32.tf32.tf32", 32),
        ("wgmma.mma_async.m64n64k32.f32.e4m3.e4m3", 128),
        ("wgmma.mma_async.m64n64k32.f32.e5m2.e5m2", 128),
        ("wgmma.mma_async.m64n64k32.s32.s8.s8", 128),
        ("wgmma.mma_async.m64n64k32.s32.u8.u8", 128),
        ("wgmma.mma_async.m64n64k256.s32.b1.b1.and.popc", 1024),
    ],
)
def test_every_type_is_read_back(ptx: str, k: int) -> None:
    """A right word reads the numbers that were stored, in every type that a descriptor reads."""
    row = get_dtype(find(ptx).types["b"])
    seed = np.random.default_rng(k)
    least = 0 if row.name in ("u8", "b1") else -50
    whole = seed.integers(0, 2, (64, k)) if row.bits == 1 else seed.integers(least, 51, (64, k))
    numbers = decode_bits(encode_values(whole, row.name), row.name)  # as the type holds them
    spec = {"kind": "canonical", "element_bits": max(row.bits, 1), "swizzle": "128B", "mn": 64, "k": k, "base": BASE}
    made = written(storage(spec, row.bits, "K"), encode_values(whole, row.name), row.bits)
    word = word_of(BASE, 16, 1024, 0, "128B")
    step = find(ptx).sizes["k"]
    told = examine(made, word, find(ptx), operand="b", major="K", expected=encode_npy(numbers.T))
    assert (told.verdict, told.matched, told.outside) == ("match", 64 * step, 0)
    np.testing.assert_array_equal(told.values, numbers[:, :step])


def test_numbers_are_those_of_numpy() -> None:
    """f16, bf16 and tf32 beside NumPy's own reading of the same bytes."""
    raw = np.random.default_rng(3).integers(0, 256, 8192, dtype=np.uint8)
    word = word_of(BASE, 16, 1024, 0, "none")
    for ptx, taken in (
        (F16, lambda at: raw[at : at + 2].view("<f2")[0]),
        (F16.replace("f16", "bf16"), lambda at: np.array([0, 0, *raw[at : at + 2]], np.uint8).view("<f4")[0]),
        (
            "wgmma.mma_async.m64n64k8.f32.tf32.tf32",
            lambda at: (raw[at : at + 4].view("<u4") & np.uint32(0xFFFFE000)).view("<f4")[0],
        ),
    ):
        told = examine(Dump(raw), word, find(ptx))
        for row, k in ((0, 0), (5, 3), (63, 7)):
            at = int(told.address[row, k]) - BASE
            np.testing.assert_equal(told.values[row, k], float(taken(at)))


# where it lies --------------------------------------------------------------------------------------------------------

STORED = [
    *(
        {"kind": "canonical", "swizzle": s, "mn": 64, "k": 64, "order": o, "base": BASE + 2048, "major": m}
        for s in ("none", "32B", "64B", "128B")
        for o in ("mn", "k")
        for m in ("K", "MN")
    ),
    *({"kind": "rows", "inner": i, "pitch_bytes": p, "base": BASE} for i in ("K", "MN") for p in (128, 136, 144, 512)),
    *({"kind": "rows", "inner": "K", "pitch_bytes": 128, "swizzle": s, "base": BASE} for s in ("32B", "64B")),
    {"kind": "rows", "inner": "K", "pitch_bytes": 128, "swizzle": "128B", "swizzle_by": "tile", "base": BASE + 384},
    *(
        {
            "kind": "atoms",
            "inner": "K",
            "width_bytes": w,
            "outer8_stride": 8 * w,
            "inner_stride": 64 * w + 1024,
            "swizzle": s,
            "base": BASE,
        }
        for w, s in ((32, "32B"), (64, "64B"), (64, "none"), (16, "none"))
    ),
]


@for_each("spec", STORED, ids=str, sample=10)
def test_a_stored_tile_is_found_again(spec: dict[str, Any]) -> None:
    """The layout that is found puts every element where it was stored, and the verifier's repair reads it all."""
    told = examine_stored(spec, word_of(0x8000, 32, 48, 0, "64B"), origin=(0, 16), size=48 << 10)
    assert told.verdict == "mismatch" and told.layout_count == 1 and told.where is not None
    stored, (one,) = storage(spec, 16, "K"), told.layouts
    mn, k = np.arange(64)[:, None], np.arange(64)[None, :]
    np.testing.assert_array_equal(one.fit.stored.address(mn, k), stored.address(mn, k))
    assert one.fit.is_complete and one.fit.stored.spec["kind"] in (spec["kind"], "canonical")
    assert told.where.by == "layout"
    np.testing.assert_array_equal(told.where.address, np.asarray(stored.address(mn, k))[:, 16:32])
    repair = one.diagnoses[0].fix
    if repair:
        major = one.fit.stored.get_major("K")
        again = examine_stored(spec, repair, origin=(0, 16), size=48 << 10, major=major)
        assert again.verdict == "match"


@for_each("swizzle", ["none", "32B", "64B", "128B"])
@for_each(
    ("ptx", "mn", "k"),
    [
        ("wgmma.mma_async.m64n64k32.f32.e4m3.e4m3", 64, 128),
        ("wgmma.mma_async.m64n64k8.f32.tf32.tf32", 64, 32),
        ("wgmma.mma_async.m64n64k256.s32.b1.b1.and.popc", 64, 1024),
    ],
)
def test_narrow_and_wide_elements_are_found(ptx: str, mn: int, k: int, swizzle: str) -> None:
    row = get_dtype(find(ptx).types["b"])
    codes = np.random.default_rng(5).integers(0, 1 << min(row.bits, 6), (mn, k)).astype(np.uint64)
    codes = codes << np.uint64(13) if row.name == "tf32" else codes
    spec = {"kind": "canonical", "element_bits": row.bits, "swizzle": swizzle, "mn": mn, "k": k, "base": BASE + 512}
    told = examine_stored(spec, word_of(BASE, 16, 256, 0, "none"), codes, ptx=ptx, operand="b", size=16384)
    assert [one.fit.stored.spec["swizzle"] for one in told.layouts] == [swizzle]
    assert told.layouts[0].fit.stored.spec["kind"] == "canonical"


def test_a_few_wrong_values_do_not_hide_the_layout() -> None:
    """Three overwritten elements are wrong, nowhere in the dump, and the layout explains all others."""
    codes = make_distinct_codes(64, 64)
    spec = {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": BASE}
    made = written(storage(spec, 16, "K"), codes, 16)
    where = np.asarray(storage(spec, 16, "K").address(np.array([3, 9, 40]), np.array([2, 5, 11]))) - BASE
    for at in where:
        made.data[at : at + 2] = 255
    told = examine_stored(spec, word_of(BASE, 16, 1024, 0, "128B"), codes, dump=made)
    assert told.verdict == "mismatch" and told.matched == 64 * 16 - 3
    assert told.layouts[0].fit.matched == 64 * 64 - 3 and not told.layouts[0].diagnoses
    assert told.where is not None and told.right is not None and told.where.by == "value"
    assert (told.where.address[~told.right] == ABSENT).all()


def test_what_the_values_do_not_tell_is_counted() -> None:
    """A tile of one number fits anywhere; one whose rows are alike fits several layouts; two copies are two places."""
    spec = {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": BASE}
    word = word_of(BASE, 16, 512, 0, "64B")
    ones = examine_stored(spec, word, np.full((64, 64), 7, np.uint64))
    assert ones.verdict == "match" and ones.distinct == 1
    alike = examine_stored(spec, word, np.broadcast_to(np.arange(64, dtype=np.uint64), (64, 64)))
    assert alike.verdict == "mismatch" and alike.layouts and not any(one.fit.determined for one in alike.layouts)
    assert alike.where is not None and alike.right is not None
    assert (alike.where.address[~alike.right] == SEVERAL).all()
    codes = make_distinct_codes(64, 64)
    once = written(storage(spec, 16, "K"), codes, 16, size=8192).data
    twice = examine_stored(spec, word, codes, dump=Dump(np.concatenate([once, once])))
    assert all(one.fit.determined for one in twice.layouts)
    assert sorted(one.fit.stored.base for one in twice.layouts) == [BASE, BASE + 8192]


def test_candidates_are_tried_once_and_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many walks there are, and however often two come to one storage."""
    tried: list[Any] = []
    monkeypatch.setattr(tile_search, "_fit_storage", lambda image, tile, bits, spec, major: tried.append((spec, major)))
    spec = {"kind": "rows", "inner": "K", "pitch_bytes": 128, "swizzle": "none", "swizzle_by": "address", "base": 0}
    image = tile_search.MemoryImage(np.zeros(8192, np.uint8), 0)
    word: Any = None  # the standard layouts alone ask it
    for bases, most in (((0, 16) * 100, 2), (range(1000), tile_search.MOST_TRIED)):
        tried.clear()
        monkeypatch.setattr(
            tile_search, "_list_walked_storages", lambda *_, of=bases: (({**spec, "base": n}, "K") for n in of)
        )
        monkeypatch.setattr(tile_search, "_list_standard_storages", lambda *_: iter(()))
        tile_search.find_layouts(image, make_distinct_codes(64, 64), 16, word)
        assert len(tried) == 2 * most  # aligned chunks, then any


def test_a_wrong_base_and_a_transposed_tile_are_named() -> None:
    codes = make_distinct_codes(64, 64)
    spec = {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": BASE}
    made = written(storage(spec, 16, "K"), codes, 16)
    told = examine_stored(spec, word_of(0x8000, 16, 1024, 0, "128B"), codes, dump=made)
    assert told.begins == (0x8000,) and told.outside == told.total and told.verdict == "unknown"
    square = "wgmma.mma_async.m64n16k16.f32.f16.f16"
    spec = {"kind": "canonical", "swizzle": "32B", "mn": 16, "k": 16, "base": BASE}
    small = make_distinct_codes(16, 16)
    made = written(storage(spec, 16, "K"), small, 16)
    turned = examine(
        made,
        word_of(BASE, 16, 256, 0, "32B"),
        find(square),
        operand="b",
        major="K",
        expected=encode_npy(small.astype(np.uint16)),
        taken="bits",
    )
    assert turned.transposed and turned.verdict == "mismatch"


def test_an_element_that_the_dump_cuts_is_not_held() -> None:
    held = engine.Dump(np.arange(5, dtype=np.uint8), 1024)
    codes, inside = engine.gather(held, np.array([[1022, 1024, 1027, 1028, 1030]]), 16)
    assert codes.tolist() == [[0, 0x0100, 0x0403, 0, 0]] and inside.tolist() == [[False, True, True, False, False]]


def test_a_dump_that_ends_early_is_no_verdict_on_the_rest() -> None:
    codes = make_distinct_codes(64, 64)
    spec = {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": BASE}
    whole = written(storage(spec, 16, "K"), codes, 16)
    told = examine_stored(spec, word_of(BASE, 16, 1024, 0, "128B"), codes, dump=Dump(whole.data[:4096]))
    assert (told.verdict, told.outside, told.matched) == ("unknown", 512, 512)
    bare = examine(Dump(whole.data[:4096]), word_of(BASE, 16, 1024, 0, "128B"), find(F16))
    assert (bare.verdict, bare.outside, bare.matched) == ("unknown", 512, None)
    assert np.isnan(bare.values[32:]).all() and not np.isnan(bare.values[:32]).any()


def test_panels_that_a_dump_does_not_show_are_no_layout_of_overlapping_rows() -> None:
    """The first of two panels is a walk, too; rows with a pitch of 32 bytes do not hold 64 bytes each."""
    codes = make_distinct_codes(128, 32)
    codes[:8, 16:] = codes[1:9, :16]  # by chance
    spec = {"kind": "canonical", "element_bits": 16, "major": "K", "swizzle": "32B", "mn": 128, "k": 32, "base": BASE}
    half = Dump(written(storage(spec, 16, "K"), codes, 16).data[: 128 * 32])
    told = examine_stored(spec, word_of(BASE, 16, 1024, 0, "128B"), codes, dump=half, origin=(64, 16))
    assert told.verdict != "match" and all(one.fit.stored.spec["kind"] != "rows" for one in told.layouts)


# files ----------------------------------------------------------------------------------------------------------------


def test_files_are_taken_as_they_lie() -> None:
    raw = np.arange(64, dtype=np.uint8)
    for same in (
        raw.tobytes(),
        encode_npy(raw),
        encode_npy(raw.view("<f2").reshape(4, 8)),
        encode_npy(raw.view("<V2")),
        encode_npy(raw).replace(b"'fortran_order': False", b"'fortran_order': True "),  # one axis has no order
    ):
        assert of_file(same).data.tobytes() == raw.tobytes()


F = np.zeros((64, 16), np.float16)


def test_codes_need_the_elements_width() -> None:
    seen = View(64, 16, 16, "K")
    with pytest.raises(LayoutError, match="not codes of f16"):
        parse_expected_tile(encode_npy(F.astype(np.int64)), "f16", "a", seen, "bits")
    with pytest.raises(LayoutError, match="raw bytes"):
        parse_expected_tile(encode_npy(np.zeros((64, 32), "V1")), "s8", "a", View(64, 32, 8, "K"))
    with pytest.raises(LayoutError, match=r"\[2,1\] = 0.5 is not representable as s8"):
        values = np.zeros((64, 32))
        values[2, 1] = 0.5
        parse_expected_tile(encode_npy(values), "s8", "a", View(64, 32, 8, "K"))
