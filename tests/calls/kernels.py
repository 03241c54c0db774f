"""Whole captures made in memory: right loops, and one mistake each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lanescope.capture.form import Capture, Record, write
from lanescope.capture.verify import verify
from lanescope.descriptor.matrix import encode as word
from lanescope.shared.storage import storage
from tests.calls import Call
from tests.calls.captured import A_AT, B_AT, EMPTY, LOAD, MMA, call, fragment, record, tile

RNG = np.random.default_rng(23)
# numbers whose 16 bytes, and mostly whose 2, are once in a matrix
A = np.arange(64 * 64).reshape(64, 64).astype(np.uint16) + 0x3C00
B = np.arange(8 * 64).reshape(8, 64).astype(np.uint16) + 0x5000
GIVEN: dict[str, Any] = {"a": A, "b": B, "nk": True}


def window(parts: Sequence[tuple[int, np.ndarray, str]], size: int = 10240) -> np.ndarray:
    """Shared memory from byte 1024 on. parts: where a tile begins, its codes [mn][k], its swizzle."""
    out = np.zeros(size, np.uint8)
    for base, codes, swizzle in parts:
        count, depth = codes.shape
        spec = stored(base, count, depth, swizzle)
        rows, columns = np.indices(codes.shape)
        at = np.asarray(storage(spec, 16, "K").address(rows, columns)) - 1024
        out[at], out[at + 1] = codes & 255, codes >> 8
    return out


def stored(base: int, rows: int, depth: int, swizzle: str) -> dict[str, Any]:
    """A tile's storage: canonical with a swizzle, or rows of 144 bytes."""
    if swizzle == "rows":
        return {"kind": "rows", "pitch_bytes": 144, "swizzle": "none", "base": base}
    return {"kind": "canonical", "major": "K", "swizzle": swizzle, "mn": rows, "k": depth, "base": base}


def looped(a: Any, b: Any, held: np.ndarray, mode: str = "128B", **more: Any) -> list[Record]:
    """A step of a wgmma m64n8k16 for each of the bytes that its words begin past their tiles."""
    out = []
    for at_a, at_b in zip(a, b, strict=True):
        words = [word(base + at, 16, 1024, 0, mode) for base, at in ((A_AT, at_a), (B_AT, at_b))]
        out.append(record(words={"a": words[0].word, "b": words[1].word}, window=held, **more))
    return out


def told(records: Sequence[Record], **more: Any) -> list[Any]:
    made = verify(write(Capture(tuple(records))), **more)
    return [made.text.split("\n"), made]


def of_kernels() -> Iterator[Call]:
    """Words: each mistake that a loop of descriptors makes, over matrices that are given and over fills."""
    steps = range(0, 96, 32)
    both = window([(A_AT, A, "128B"), (B_AT, B, "128B")])
    for words, a, b, mode, held in (
        ("right", steps, steps, "128B", both), ("a stays", [0] * 3, steps, "128B", both),
        ("b stays", steps, [0] * 3, "128B", both),
        ("in elements", range(0, 48, 16), steps, "128B", both), ("a swizzle", steps[:2], steps[:2], "64B", both),
        ("a ahead", [64, 96], [0, 32], "128B", both), ("rows ahead", [1024], [0], "128B", both),
        ("exchanged", [B_AT - A_AT], [A_AT - B_AT], "128B", both),
        ("past the end", steps[:2], [4096, 4128], "128B", both),
        ("before", [-1024], [0], "128B", both), ("between", [16], [0], "128B", both),
        ("another swizzle", steps[:2], steps[:2], "128B", window([(A_AT, A, "64B"), (B_AT, B, "128B")])),
        ("no b", steps[:2], steps[:2], "128B", window([(A_AT, A, "128B")])),
        ("part of a", steps[:2], steps[:2], "128B", window([(A_AT, A[:32], "128B"), (B_AT, B, "128B")])),
        ("rows of a", [0], [0], "128B",
        window([(A_AT, np.where(np.arange(64)[:, None] == 5, 0, A), "128B"), (B_AT, B, "128B")])),
        ("some of a", [0], [0], "128B",
        window([(A_AT, np.where(np.indices(A.shape).sum(axis=0) // 8 % 3, A, 0), "128B"), (B_AT, B, "128B")])),
        ("k of a", [0, 32], [0, 32], "128B",
        window([(A_AT, np.where(np.arange(64)[None] // 8 == 3, 0, A), "128B"), (B_AT, B, "128B")])),
        ("in no layout", [0], [0], "128B", window([(A_AT, A[RNG.permutation(64)], "128B"), (B_AT, B, "128B")])),
    ):  # fmt: skip
        records = looped(a, b, held, mode)
        yield call(words, told, records, **GIVEN)
        if words in ("no b", "a ahead"):
            stated = [replace(one, slice={"m": 0, "n": 0, "k": 16 * n}) for n, one in enumerate(records)]
            yield call(f"stated {words}", told, stated, **GIVEN)
    right = looped(steps, steps, both)
    fill = window([(A_AT, tile("bf16", "a", 0, 0, 64, 64), "128B"), (B_AT, tile("bf16", "b", 0, 0, 8, 64), "128B")])
    yield call("fills", told, looped(steps, steps, fill))
    yield call("fills, a stays", told, looped([0] * 2, steps[:2], fill))
    yield call("fills, exchanged", told, looped([B_AT - A_AT], [A_AT - B_AT], fill))
    yield call("no fills", told, looped([0], [0], np.zeros(10240, np.uint8)))
    yield call("no steps", told, [])
    for most in (0, 2, 3):
        yield call(f"most {most}", told, right, most=most, **GIVEN)
    yield call("groups", told, [*right[:2], *[replace(one, thread=128) for one in right[:2]]], **GIVEN)
    yield call("foreign", told, [replace(right[0], text="wgmma.x"), *right[1:]], **GIVEN)
    yield call(
        "narrow", told, [replace(right[0], text="wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc")], **GIVEN
    )
    raw = write(Capture(tuple(right)))
    yield call("three", verify, [raw, raw, raw])
    yield call("none", verify, [])
    yield call("two of one", verify, [raw, raw], **GIVEN)
    yield call("unlike", verify, raw, second=write(Capture(tuple(right[:3]))), **GIVEN)
    yield call("dropped", lambda: verify(write(Capture(tuple(right[:1]), dropped=2, skipped=1234)), **GIVEN).text)
    yield call("deep", told, right, a=A, b=B[:, :32], nk=True)
    yield call("turned", told, right, a=A, b=B)
    yield call("as k by n", told, right, a=A, b=B.T)


def of_loads() -> Iterator[Call]:
    """Registers: of an ldmatrix whose lanes give other rows, of a slice elsewhere, in another order."""
    some = ("", "plain", "late", "pitch", "swizzle", "early", "elements", "xor")
    for words in ("xor", "", "matrices", "halves", "plain", "late", "early", "elements", "pitch", "transposed",
    "unknown",
    "row", "swizzle",
                  "rotated", "other mma"):  # fmt: skip
        for swizzle in ("128B", "rows") if words in some else ("128B",):
            yield call(f"{words or 'right'} {swizzle}", told, loads(words, swizzle))
    one = {"a": fragment("a", tile("f16", "a", 0, 0, 16, 16)), "b": fragment("b", tile("f16", "b", 0, 0, 8, 16))}
    for name, order in (("a", (1, 0, 2, 3)), ("a", (3, 2, 1, 0)), ("a", (1, 2, 3, 0)), ("a", (0, 2, 3, 1)),
    ("b", (1, 0)),
                        ("a", (0, 0, 2, 3))):  # fmt: skip
        held = {**one, name: one[name][:, list(order)]}
        yield call(f"order {name} {order}", told, [multiply(held, k=0, m=0, n=0)])
    for name, mn, k in (("a", 16, 0), ("a", 0, 16), ("b", 8, 32), ("b", 0, 16)):
        other = fragment(name, tile("f16", name, mn, k, 16 if name == "a" else 8, 16))
        yield call(f"slice {name} {mn} {k}", told, [multiply({**one, name: other}, k=0, m=0, n=0)])
    for name, at in (("a", (0, 0)), ("a", (9, 3)), ("b", (5, 0)), ("b", (17, 1))):
        spoiled = one[name].copy()
        spoiled[at] = 0x00010001
        yield call(f"word {name} {at}", told, [multiply({**one, name: spoiled}, k=0, m=0, n=0)])
    yield call("only a", told, [multiply({"a": one["a"]}, k=0, m=0, n=0)])
    yield call("nothing stated", told, [multiply({**one, "b": one["b"][:, ::-1].copy()})])


def multiply(held: dict[str, np.ndarray], **part: int) -> Record:
    return Record("mma", "k.cu", 20, "", MMA, (0, 0, 0), 0, {}, part, {}, 0, EMPTY, None, held)


def loads(bug: str, swizzle: str) -> list[Record]:
    """An ldmatrix.x4 of A, one of B for two mma, at k = 16, and the mma of the first."""
    k, size = 16, 8192
    parts = [(1024, tile("f16", "a", 0, 0, 16, 64)), (1024 + 4096, tile("f16", "b", 0, 0, 16, 64))]
    held = window([(base, codes, swizzle) for base, codes in parts], size)
    stores = [storage(stored(base, 16, 64, swizzle), 16, "K") for base, _ in parts]
    lanes = np.arange(32)
    rows, along = lanes % 16, lanes // 16
    if bug == "matrices":
        rows, along = lanes % 8 + 8 * (lanes // 16), lanes // 8 % 2
    if bug == "rotated":
        turned = np.array([1, 2, 3, 0])[lanes // 8]
        rows, along = lanes % 8 + 8 * (turned % 2), turned // 2
    if bug == "row":
        rows = np.where(lanes == 5, 6, rows)
    a = np.asarray(stores[0].address(rows, k + 8 * along)).astype(np.int64)
    first = np.asarray(stores[0].address(rows, 8 * along)).astype(np.int64)
    a = {
        "plain": 1024 + rows * 128 + (k + 8 * along) * 2, "late": a + 16, "early": a - 32, "elements": first + k,
        "xor": 1024 + (rows * 144 + (k + 8 * along) * 2 ^ rows * 9 % 8 * 16),
        "pitch": 1024 + rows * 160 + (k + 8 * along) * 2, "unknown": np.where(lanes == 9, 1024 + 2048 + 64, a),
        "swizzle": 1024 + (rows * 128 + (k + 8 * along) * 2 ^ rows // 2 % 4 * 16),
    }.get(bug, a)  # fmt: skip
    text = LOAD.replace(".x4", ".x4.trans") if bug == "transposed" else LOAD
    b = np.asarray(stores[1].address(lanes % 8 + 8 * (lanes // 16), k + 8 * (lanes // 8 % 2))).astype(np.int64)
    of_a, of_b = fetched(held, a, bug == "transposed"), fetched(held, b)
    base = Record("ldmatrix", "k.cu", 10, "A", text, (0, 0, 0), 0, {}, {}, {}, 1024, held)
    out = [
        replace(base, addresses=a.astype(np.uint32), registers={"a": of_a}),
        replace(base, text=LOAD, line=11, label="B", addresses=b.astype(np.uint32), registers={"a": of_b}),
    ]
    taken = {"halves": [0, 2], "other mma": [1, 0]}.get(bug, [0, 1])
    return [*out, multiply({"a": of_a, "b": of_b[:, taken]}, m=0, n=0, k=k)]


def fetched(held: np.ndarray, address: np.ndarray, turned: bool = False) -> np.ndarray:
    """What ldmatrix.x4 gives from the rows at these addresses, from byte 1024 on."""
    at = address.reshape(4, 8)[:, :, None] - 1024 + np.arange(16)
    rows = (
        held[at].reshape(4, 8, 8, 2)[..., 0].astype(np.uint32)
        | held[at].reshape(4, 8, 8, 2)[..., 1].astype(np.uint32) << 8
    )
    rows = rows.swapaxes(1, 2) if turned else rows
    lane = np.arange(32)
    return np.stack([m[lane // 4, lane % 4 * 2] | m[lane // 4, lane % 4 * 2 + 1] << 16 for m in rows], 1).astype(
        np.uint32
    )
