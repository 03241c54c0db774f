"""What the module of dumps answers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from lanescope import dump, find
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.dump import npy
from lanescope.shared.storage import storage
from tests.asked import W16
from tests.calls import Call
from tests.held import whole

# dumps ----------------------------------------------------------------------------------------------------------------


def saved(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def of_dumps() -> Iterator[Call]:
    most = dump.MOST_DUMP
    numbers = np.arange(64, dtype=np.uint8)
    files: dict[str, bytes] = {
        "empty": b"", "raw": bytes(range(256)), "most": b"\1" * most, "one more": b"\1" * (most + 1),
        "most of a file": b"\1" * dump.MOST_FILE,
        "more than a file": b"\1" * (dump.MOST_FILE + 1), "bytes": saved(numbers),
        "columns": saved(np.asfortranarray(numbers.reshape(8, 8))),
        "one column": saved(np.asfortranarray(numbers)), "big": saved(numbers.astype(">u2")),
        "halves": saved(numbers.astype("f2")),
        "complex": saved(numbers.astype("c8")), "text": saved(np.array(["a"])), "struct": saved(np.zeros(2, [("a",
        "u1")])), "bool": saved(numbers > 5),
        "cut": saved(numbers)[:-1], "longer": saved(numbers) + b"\0", "head": saved(numbers)[:20],
        "void": saved(numbers.view("V2")), "magic": npy.MAGIC,
        "nothing": saved(numbers[:0]), "large": saved(np.zeros(most + 4, np.uint8)),
        "large enough": saved(np.zeros(most, np.uint8)), "one number": saved(np.uint8(5)),
    }  # fmt: skip
    for name, raw in files.items():
        yield f"file {name}", lambda raw=raw: [(d := dump.of_file(raw)).base, d.end, d.data]
        yield f"tile file {name}", lambda raw=raw: dump.tile_of(raw, "f16", "a", View(8, 8, 16, "K"))
    for base in (0, 4, 2, -4, 0xFFFFFC, 0x1000000, 0x3FFFC, 0x40000):
        yield f"base {base:#x}", lambda base=base: dump.of_file(b"1234", base).end
    seen = View(8, 16, 16, "K")
    for shape, letter in product(((8, 16), (16, 8), (9, 17), (7, 16), (8, 15), (8,), (8, 16, 1)), "ab"):
        yield (
            f"shape {shape} {letter}",
            lambda s=shape, o=letter: [(t := dump.tile_of(saved(np.ones(s)), "f16", o, seen)).taken, t.codes.shape],
        )
    rng = np.random.default_rng(3)
    arrays = {"f4": rng.normal(size=(2, 3)).astype("f4"), "f8": rng.normal(size=(2, 3)) * 1e3, "u2": rng.integers(0,
        1 << 16, (2, 3)).astype("u2"), "u1": rng.integers(0, 256, (2, 3)).astype("u1"),
              "i1": rng.integers(-128, 128, (2, 3)).astype("i1"), "i8": rng.integers(-9, 9, (2, 3)),
              "nan": np.array([[np.nan, 1.0]]), "inf": np.array([[np.inf, -np.inf]]), "bool": np.array([[True]]),
              "huge": np.array([[65504.0, 65505.0]]), "huger": np.array([[0.0, -65520.0]]), "edge": np.array([[127.0,
              -128.0]]), "over": np.array([[1.0, 128.0]]), "part": np.array([[1.5]]), "V2": np.zeros((1, 2), "V2"),
                  "V1": np.zeros((1, 2), "V1")}  # fmt: skip
    for (name, made), element, taken in product(
        arrays.items(), ("f16", "bf16", "e4m3", "s8", "u8", "b1", "tf32", "e2m1"), ("", "values", "bits")
    ):
        yield f"codes {name} {element} {taken}", lambda m=made, e=element, t=taken: dump.codes_of(m, e, t)
    w16 = find(W16)
    right = Descriptor(0x4000004000010040)
    codes = rng.integers(0, 1 << 15, (64, 16)).astype(np.uint64)
    stored = storage({"kind": "canonical", "mn": 64, "k": 64, "swizzle": "128B", "base": 1024}, 16, "K")
    made = dump.written(stored, codes, 16)
    tile = saved(codes.astype("u2"))
    for name, word in (
        ("right", right),
        ("start", right.replace(start_address_encoded=65)),
        ("sbo", right.replace(sbo_encoded=32)),
        ("mode", right.replace(swizzle=0)),
        ("far", right.replace(start_address_encoded=900)),
    ):
        for given, taken, origin in (
            (None, "", (0, 0)),
            (tile, "", (0, 0)),
            (tile, "bits", (8, 0)),
            (tile, "values", (0, 0)),
            (tile, "x", (0, 0)),
            (saved(codes.astype("u2")[::-1].copy()), "", (0, 0)),
        ):
            yield f"examined {name} {given is not None} {taken} {origin}", lambda w=word, g=given, t=taken, o=origin: [
                (e := dump.examine(made, w, w16, "a", "K", g, t, o)).verdict, e.matched, e.outside, e.distinct,
                e.needed, e.layout_count, e.begins, e.transposed,
                dump.summary(e), [whole(one.fit, False) for one in e.layouts],
                    [d.message for one in e.layouts for d in one.diagnoses]]  # fmt: skip
