"""The capture file: written and read back, and what is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lanescope import capture
from lanescope.capture import file_format, fills as fill, operand_sources as matrices
from lanescope.capture.file_format import HEADER_BYTES, HEADER_TYPE, RECORD_TYPE, Capture, Record
from lanescope.errors import LayoutError
from lanescope.ptx.codec import decode_bits
from lanescope.ptx.dtypes import get_dtype
from tests.cases import for_each

RNG = np.random.default_rng(3)
WGMMA = Record(
    "wgmma",
    "kernel.cu",
    42,
    label="AB",
    text="wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
    block=(1, 2, 3),
    thread=128,
    words={"a": 0x4000004000010040, "b": (1 << 64) - 1},
    slice={"m": 64, "k": 16},
    immediates={"scale_a": -1, "scale_b": 1, "trans_a": 0, "trans_b": 1},
    window_first=1024,
    window=RNG.integers(0, 256, 4096, dtype=np.uint8),
)
LOAD = Record(
    "ldmatrix",
    "kernel.cu",
    43,
    label="A",
    text="ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    thread=32,
    window=RNG.integers(0, 256, 64, dtype=np.uint8),
    addresses=RNG.integers(0, 1 << 32, 32, dtype=np.uint32),
    registers={"a": RNG.integers(0, 1 << 32, (32, 4), dtype=np.uint32)},
)
MMA = Record(
    "mma",
    "größe.cu",
    44,
    text="mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    registers={name: RNG.integers(0, 1 << 32, (32, n), dtype=np.uint32) for name, n in (("a", 4), ("b", 2), ("d", 4))},
)
WHOLE = Capture((WGMMA, LOAD, MMA))


def is_same(one: Record, other: Record) -> bool:
    for name in Record.__slots__:
        left, right = getattr(one, name), getattr(other, name)
        if name == "registers":
            if left.keys() != right.keys() or not all(np.array_equal(left[n], right[n]) for n in left):
                return False
        elif not np.array_equal(left, right):
            return False
    return True


def test_what_is_written_is_read() -> None:
    raw = capture.write(WHOLE)
    for given in (raw, bytearray(raw), memoryview(raw), np.frombuffer(raw, np.uint8), np.frombuffer(raw, np.int32)):
        told = capture.read(given)
        assert all(is_same(a, b) for a, b in zip(told.records, WHOLE.records, strict=True))
        assert told.dropped == 0 and not told.cut
    assert told.records[0].warp == 4 and told.records[0].where == "kernel.cu:42"


def test_a_small_buffer_drops_records_and_counts_them() -> None:
    raw = capture.write(WHOLE, len(capture.write(Capture((WGMMA,)))) + 8)
    told = capture.read(raw)
    assert not told.is_complete and capture.read(capture.write(WHOLE)).is_complete
    assert capture.read(capture.write(Capture((), skipped=3))).skipped == 3
    assert [one.kind for one in told.records] == ["wgmma"] and told.dropped == 2


def get_refusal(raw: bytes) -> str:
    with pytest.raises(LayoutError) as error:
        capture.read(raw)
    assert error.value.code == "bad_capture" and error.value.field == "capture" and error.value.hint
    return error.value.message


@for_each("cut", [1, 100, 1000, 3000])
def test_a_truncated_file_is_refused(cut: int) -> None:
    assert "truncated" in get_refusal(capture.write(WHOLE)[:-cut])


def test_foreign_files_are_refused() -> None:
    for raw in (b"", b"LANE", b"\x93NUMPY" + bytes(200), bytes(4096)):
        assert "not a capture" in get_refusal(raw)
    assert "truncated" in get_refusal(capture.write(WHOLE)[:20])
    with pytest.raises(LayoutError, match="objects"):
        capture.read(np.array([None]))


def change_record(row: str, value: int, at: int, kind: np.dtype) -> bytes:
    data = np.frombuffer(capture.write(WHOLE), np.uint8).copy()
    data[at : at + kind.itemsize].view(kind)[row] = value
    return data.tobytes()


def test_other_versions_are_refused_by_number() -> None:
    assert "version 2" in get_refusal(change_record("version", 2, 0, HEADER_TYPE))


@for_each(
    ("row", "value", "says"),
    [
        ("mark", 0, "is incomplete"),
        ("bytes", 96, "damaged"),
        ("bytes", 1 << 31, "damaged"),
        ("kind", 9, "damaged"),
        ("window_bytes", 1 << 30, "damaged"),
        ("text_bytes", 1 << 31, "damaged"),
        ("text_bytes", 5, "damaged"),
        ("addresses", 7, "damaged"),
        ("registers_a", 1 << 20, "damaged"),
    ],
)
def test_damaged_records_are_refused(row: str, value: int, says: str) -> None:
    assert says in get_refusal(change_record(row, value, HEADER_BYTES, RECORD_TYPE))


def test_more_records_than_bytes_are_refused() -> None:
    assert "truncated" in get_refusal(change_record("records", 4, 0, HEADER_TYPE))
    assert "truncated" in get_refusal(change_record("records", 0xFFFFFFFF, 0, HEADER_TYPE))


@for_each(("row", "wrong"), [("version", 0), ("version", 2), ("header_bytes", 63), ("header_bytes", 65)])
def test_a_header_of_another_program_is_refused(row: str, wrong: int) -> None:
    assert "version" in get_refusal(change_record(row, wrong, 0, HEADER_TYPE))


def test_the_extent_is_what_was_used_of_the_capacity() -> None:
    size = len(capture.write(WHOLE))
    assert file_format.get_extent(change_record("capacity", 1 << 30, 0, HEADER_TYPE)) == size
    assert file_format.get_extent(change_record("capacity", 64, 0, HEADER_TYPE)) == 64
    assert file_format.get_extent(change_record("used", 160, 0, HEADER_TYPE)) == 160
    head = np.frombuffer(capture.write(WHOLE)[:HEADER_BYTES], HEADER_TYPE).copy()
    head["used"], head["capacity"] = file_format.MOST_FILE, 1 << 40
    assert file_format.get_extent(head.tobytes()) == file_format.MOST_FILE
    head["used"] = file_format.MOST_FILE + 1
    with pytest.raises(LayoutError):
        file_format.get_extent(head.tobytes())


@for_each(
    "change",
    [
        {"text": "x" * (file_format.MOST_TEXT - 3)},
        {"window": np.zeros(file_format.MOST_WINDOW, np.uint8)},
        {"label": "ä"},
        *({"registers": {name: np.ones((32, n), np.uint32)}} for name in "abcd" for n in (1, 256)),
        {"addresses": np.arange(32, dtype=np.uint32)},
        *({"slice": {name: n}} for name in "mnk" for n in (0, 7)),
        *({"immediates": {name: n}} for name in ("scale_a", "scale_b", "trans_a", "trans_b") for n in (-127, -1, 1)),
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_record_at_its_bounds_is_read_as_it_was_written(change: dict) -> None:
    one = dataclasses.replace(MMA, **{"registers": {}, "file": "", "text": "", **change})
    (found,) = capture.read(capture.write(Capture((one,)))).records
    assert is_same(found, one)


@for_each(
    "change",
    [
        {"text": "x" * (file_format.MOST_TEXT - 2)},
        {"window": np.zeros(file_format.MOST_WINDOW + 1, np.uint8)},
        {"label": "A\0B"},
        *({"registers": {name: np.ones((32, 257), np.uint32)}} for name in "abcd"),
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_record_beyond_its_bounds_is_damaged(change: dict) -> None:
    one = dataclasses.replace(MMA, **{"registers": {}, "file": "", "text": "", **change})
    assert "damaged" in get_refusal(capture.write(Capture((one,))))


def test_an_empty_buffer_has_whole_grains_and_says_which_blocks_record() -> None:
    assert [capture.empty(size).size for size in (160, 161, 175, 1023, 4096)] == [160, 160, 160, 1008, 4096]
    head = capture.empty(4096, (3, 5))[:HEADER_BYTES].view(HEADER_TYPE)[0]
    assert (head["block_first"], head["block_last"], head["used"], head["capacity"]) == (3, 5, HEADER_BYTES, 4096)
    assert capture.read(capture.empty(4096, (0, (1 << 32) - 1))).records == ()
    for size, blocks, field in (
        (159, (0, 0), "size"),
        ((1 << 30) + 1, (0, 0), "size"),
        (4096, (0, 1 << 32), "blocks"),
        (4096, (-1, 0), "blocks"),
        (4096, (4, 3), "blocks"),
    ):
        with pytest.raises(LayoutError) as error:
            capture.empty(size, blocks)
        assert error.value.field == field


def test_tensors_of_other_libraries_are_brought_to_the_host() -> None:

    class Cupy:
        __cuda_array_interface__ = ()

        def get(self) -> str:
            return "got"

    class Torch:
        def __init__(self, has: bool) -> None:
            self.has = has

        def cpu(self) -> Torch:
            return self

        def float(self) -> Torch:
            return Torch(True)

        def numpy(self) -> str:
            if not self.has:
                raise TypeError
            return "its numbers"

    class Grad(Torch):
        def detach(self) -> Torch:
            return Torch(self.has)

        def cpu(self) -> Torch:
            raise AssertionError("detach comes first")

    assert [matrices.copy_to_host(one) for one in (Cupy(), Torch(True), Torch(False), Grad(True), Grad(False), 3)] == [
        *("got", "its numbers", "its numbers", "its numbers", "its numbers", 3)
    ]


HALF = np.arange(512, dtype=np.float16).reshape(16, 32)


def make_known_codes(
    name: str, a: object, b: object, nk: bool = False, stored: int = 1
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The codes [mn][k] of A and of B, and the notes."""
    notes: list[str] = []
    found = matrices.identify_operands((name, name), [[]], a=a, b=b, nk=nk, notes=notes, steps=(), kept=stored)
    return found["a"].codes[0], found["b"].codes[0], notes


def test_a_and_b_are_kept_along_k() -> None:
    """A as (m, k), B turned from (k, n); (n, k) where it is said, or where nothing else fits."""
    bits = HALF.view(np.uint16)
    for b, nk, noted in ((HALF.T, False, 0), (HALF, True, 0), (HALF, False, 1)):
        codes_a, codes_b, notes = make_known_codes("f16", HALF, b, nk)
        assert np.array_equal(codes_a, bits) and np.array_equal(codes_b, bits) and len(notes) == noted


@for_each("name", ["bf16", "tf32", "e4m3", "s8", "u8"])
def test_given_matrices_are_elements_of_the_instructions_type(name: str) -> None:
    whole = (np.arange(512) % 8).reshape(16, 32)
    codes_a, codes_b, _ = make_known_codes(name, whole, whole.T)
    assert np.array_equal(decode_bits(codes_a.astype(np.uint64), name), whole) and np.array_equal(codes_a, codes_b)


def test_a_stored_half_of_a_sparse_matrix_has_twice_its_k() -> None:
    codes_a, codes_b, _ = make_known_codes("f16", HALF[:, :16], HALF, True, 2)
    assert codes_a.shape == (16, 16) and codes_b.shape == (16, 32)


@for_each(
    ("name", "a", "b", "nk", "stored", "field"),
    [
        ("f16", HALF, HALF[:, :16], False, 1, "b"),
        ("f16", HALF, HALF[:, :16], True, 1, "b"),
        ("f16", HALF, HALF, True, 2, "b"),
        ("f16", HALF[0], HALF, False, 1, "a"),
        ("f16", HALF[:0], HALF, False, 1, "a"),
        ("f16", 3, HALF, False, 1, "a"),
        ("f16", HALF, "text", False, 1, "b"),
        ("f16", HALF.astype(complex), HALF, False, 1, "a"),
        ("s4", HALF % 7, HALF.T % 7, False, 1, "type"),
        ("f16", np.broadcast_to(HALF[:1, :1], ((1 << 12) + 1, 1 << 12)), HALF, False, 1, "a"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(
    name: str, a: object, b: object, nk: bool, stored: int, field: str
) -> None:
    with pytest.raises(LayoutError) as error:
        make_known_codes(name, a, b, nk, stored)
    assert error.value.field == field


# fills ----------------------------------------------------------------------------------------------------------------


@for_each("name", fill.TYPES)
def test_fills_tell_each_element_of_a_period_apart(name: str) -> None:
    """And A from B: one code where an element has one of its own, else 16 bytes along K, and along M or N; every code
    is a finite number, neither zero nor subnormal where the type has a normal range.
    """
    mn, k = fill.get_periods(name)
    parts, per = range(1, fill.count_passes(name) + 1), fill.count_blocks(name)
    single: list[np.ndarray] = []
    along: dict[int, list[np.ndarray]] = {0: [], 1: []}
    for operand in "ab":
        codes = [
            fill.compute_codes(np.arange(mn)[:, None], np.arange(k)[None, :], name, operand, part).astype(np.int64)
            for part in parts
        ]
        for one in codes:
            values = decode_bits(one.astype(np.uint64), name)
            assert np.isfinite(values).all() and (values != 0).all() and one.max() < 1 << get_dtype(name).bits
        single.append(sum(one << 32 * n for n, one in enumerate(codes)).ravel())
        along[0].append(codes[0].reshape(-1, per) if k % per == 0 else codes[0][:0])
        along[1].append(codes[0].T.reshape(-1, per) if mn % per == 0 else codes[0][:0])
    if len(parts) == 2:
        assert np.unique(np.concatenate(single)).size == 2 * mn * k
    for chunks in along.values() if get_dtype(name).bits == 16 else [along[0]]:
        whole = np.concatenate(chunks)
        assert np.unique(whole, axis=0).shape == whole.shape
    if name == "tf32":
        assert not (codes[0] & 0x1FFF).any()  # what the tensor core does not read


def test_a_fill_repeats_by_its_periods_and_turns_with_b() -> None:
    for name, kind in (("bf16", np.uint16), ("tf32", np.uint32)):
        mn, k = fill.get_periods(name)
        whole = capture.fill((mn + 8, k + 64), name)
        assert whole.dtype == kind and k > 7 * 64
        assert np.array_equal(whole[mn:, k:], whole[:8, :64]) and not np.array_equal(whole[:8, 128:192], whole[:8, :64])
    assert np.array_equal(capture.fill((30, 20), "e4m3", "b", 2), capture.fill((20, 30), "e4m3", "b", 2, nk=True).T)


@for_each(
    ("given", "field"),
    [
        (((0, 4), "f16"), "shape"),
        (((1 << 20, 1 << 20), "f16"), "shape"),
        (((4, 4), "f64"), "type"),
        (((4, 4), "f16", "c"), "operand"),
        (((4, 4), "f16", "a", 2), "pass"),
        (((4, 4), "f16", "a", 0), "pass"),
        (((4, 4), "s8", "a", 3), "pass"),
    ],
)
def test_wrong_fills_are_refused_by_name(given: tuple, field: str) -> None:
    with pytest.raises(LayoutError) as error:
        capture.fill(*given)
    assert error.value.field == field and error.value.hint
