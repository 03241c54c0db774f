"""Dumps to try, a row each: a tile stored in one way and a word that may say another. No framework."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lanescope.dump import BASE, written
from lanescope.ptx.codec import encode
from lanescope.ptx.dtypes import dtype
from lanescope.shared.storage import storage

F16 = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
FP8 = "wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3"


@dataclass(frozen=True, slots=True)
class Example:
    """One dump: its name in an address, what it shows, how the tile is stored, and the query that examines it."""

    name: str
    title: str
    element: str
    mn: int
    k: int
    stored: Mapping[str, Any]
    query: Mapping[str, str]


def _tile(swizzle: str, mn: int, k: int, **more: Any) -> dict[str, Any]:
    return {"kind": "canonical", "swizzle": swizzle, "mn": mn, "k": k, "base": BASE, **more}


EXAMPLES = (
    Example("swizzle", "Stored with the 64B swizzle, read with 128B", "f16", 64, 64, _tile("64B", 64, 64),
            {"descriptor": "0x4000004000010042", "instruction": F16, "slice_k": "16"}),
    Example("k-step", "The second K step reads the first", "f16", 64, 64, _tile("128B", 64, 64),
            {"descriptor": "0x4000004000010040", "instruction": F16, "slice_k": "16"}),
    Example("row-major", "Rows with padding, no swizzle", "f16", 64, 16,
            {"kind": "rows", "pitch_bytes": 48, "base": BASE},
            {"descriptor": "0x0000000800040040", "instruction": F16}),
    Example("fp8", "B of fp8 in another place", "e4m3", 32, 32, _tile("32B", 32, 32, base=BASE + 2048),
            {"descriptor": "0xc000001000010040", "instruction": FP8, "operand": "b"}),
    Example("right", "A right word", "f16", 64, 64, _tile("128B", 64, 64),
            {"descriptor": "0x4000004000010042", "instruction": F16, "slice_k": "16"}),
)  # fmt: skip
BY_NAME = {example.name: example for example in EXAMPLES}


@lru_cache(maxsize=len(EXAMPLES))
def files(name: str) -> tuple[bytes, bytes]:
    """(dump, expected tile) of an example, as the files that somebody would send."""
    example = BY_NAME[name]
    bits = dtype(example.element).bits
    count = np.arange(example.mn * example.k).reshape(example.mn, example.k)
    values = count % 512 - 256 + (count // 512) / 8.0 if bits == 16 else (count * 37 % 113 - 56) / 4.0
    codes = encode(values, example.element)
    dump = written(storage(example.stored, bits, "K"), codes, bits)
    tile = codes.astype(f"<u{bits // 8}")
    stream = io.BytesIO()
    np.save(stream, tile.T if example.query.get("operand") == "b" else tile)
    return dump.data.tobytes(), stream.getvalue()
