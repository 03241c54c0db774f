"""Example dumps, a row each: a tile, and a word that reads it correctly or not."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lanescope.dump import BASE, written
from lanescope.ptx.codec import encode_values
from lanescope.ptx.dtypes import get_dtype
from lanescope.shared.storage import storage

F16 = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
FP8 = "wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3"


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpExample:
    """An example dump: its name in an address, what it shows, how the tile is stored, and its query."""

    name: str
    title: str
    element: str
    mn: int
    k: int
    stored: Mapping[str, Any]
    query: Mapping[str, str]


def _describe_tile(swizzle: str, mn: int, k: int, **more: Any) -> dict[str, Any]:
    return {"kind": "canonical", "swizzle": swizzle, "mn": mn, "k": k, "base": BASE, **more}


EXAMPLES = (
    DumpExample(
        name="swizzle",
        title="Stored with the 64B swizzle, read with 128B",
        element="f16",
        mn=64,
        k=64,
        stored=_describe_tile("64B", 64, 64),
        query={"descriptor": "0x4000004000010042", "instruction": F16, "slice_k": "16"},
    ),
    DumpExample(
        name="k-step",
        title="The second K step reads the first",
        element="f16",
        mn=64,
        k=64,
        stored=_describe_tile("128B", 64, 64),
        query={"descriptor": "0x4000004000010040", "instruction": F16, "slice_k": "16"},
    ),
    DumpExample(
        name="row-major",
        title="Rows with padding, no swizzle",
        element="f16",
        mn=64,
        k=16,
        stored={"kind": "rows", "pitch_bytes": 48, "base": BASE},
        query={"descriptor": "0x0000000800040040", "instruction": F16},
    ),
    DumpExample(
        name="fp8",
        title="B of fp8 in another place",
        element="e4m3",
        mn=32,
        k=32,
        stored=_describe_tile("32B", 32, 32, base=BASE + 2048),
        query={"descriptor": "0xc000001000010040", "instruction": FP8, "operand": "b"},
    ),
    DumpExample(
        name="right",
        title="A correct descriptor",
        element="f16",
        mn=64,
        k=64,
        stored=_describe_tile("128B", 64, 64),
        query={"descriptor": "0x4000004000010042", "instruction": F16, "slice_k": "16"},
    ),
)
BY_NAME = {example.name: example for example in EXAMPLES}


@lru_cache(maxsize=len(EXAMPLES))
def build_files(name: str) -> tuple[bytes, bytes]:
    """Return (dump, expected tile) of an example as files."""
    example = BY_NAME[name]
    bits = get_dtype(example.element).bits
    count = np.arange(example.mn * example.k).reshape(example.mn, example.k)
    values = count % 512 - 256 + (count // 512) / 8.0 if bits == 16 else (count * 37 % 113 - 56) / 4.0
    codes = encode_values(values, example.element)
    dump = written(storage(example.stored, bits, "K"), codes, bits)
    tile = codes.astype(f"<u{bits // 8}")
    stream = io.BytesIO()
    np.save(stream, tile.T if example.query.get("operand") == "b" else tile)
    return dump.data.tobytes(), stream.getvalue()
