"""Captures made by hand: tiles of codes in shared memory, the words that read them, and K loops over one tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lanescope import capture
from lanescope.capture import fills
from lanescope.capture.file_format import Capture, Record
from lanescope.descriptor.matrix import Descriptor, encode_wgmma as word
from lanescope.dump import written
from lanescope.shared.storage import storage

BF16 = "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
LOAD = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
BASE_A, BASE_B = 1024, 1024 + (64 << 10)


def build_tile(name: str, operand: str, first: tuple[int, int], size: tuple[int, int], part: int = 1) -> np.ndarray:
    mn, k = first[0] + np.arange(size[0])[:, None], first[1] + np.arange(size[1])[None, :]
    return fills.compute_codes(mn, k, name, operand, part)


def build_storage(
    size: tuple[int, int], base: int, swizzle: str = "128B", major: str = "K", **more: Any
) -> dict[str, Any]:
    return {"kind": "canonical", "major": major, "swizzle": swizzle, "mn": size[0], "k": size[1], "base": base, **more}


def build_memory(*tiles: tuple[dict[str, Any], np.ndarray], bits: int = 16, size: int = 160 << 10) -> np.ndarray:
    out = np.zeros(size, np.uint8)
    for one, codes in tiles:
        stored = storage(one, bits, one["major"])
        held = written(stored, codes, bits, 1024, size).data
        out |= held
    return out


def build_record(a: Descriptor, b: Descriptor, window: np.ndarray, n: int = 64, **more: Any) -> Record:
    made = Record(
        "wgmma",
        "k.cu",
        10,
        label="AB",
        text=BF16.format(n=n),
        words={"a": a.word, "b": b.word},
        immediates={"scale_a": 1, "scale_b": 1, "trans_a": 0, "trans_b": 0},
        window_first=1024,
        window=window,
    )
    return replace(made, **more)


def build_word(base: int, k: int = 0, rows: int = 64, mode: str = "128B") -> Descriptor:
    """The word of a K-major 128B tile of 16-bit elements, at a K of it."""
    return word(base + k // 64 * rows * 128 + k % 64 * 2, 16, 1024, 0, mode)


def build_steps(window: np.ndarray, count: int = 4, **more: Any) -> list[Record]:
    """K steps over 64 rows of A and of B."""
    return [build_record(build_word(BASE_A, 16 * s), build_word(BASE_B, 16 * s), window, **more) for s in range(count)]


def build_matrices(held: Sequence[np.ndarray]) -> np.ndarray:
    """Memory with A and B [64, 64], as the words of their elements."""
    a, b = ((build_storage((64, 64), base), one) for base, one in zip((BASE_A, BASE_B), held, strict=True))
    return build_memory(a, b)


def verify_records(records: Sequence[Record], **more: Any) -> Any:
    return capture.verify(capture.write(Capture(tuple(records))), **more)


def build_loop(count: int, a: Any = None, b: Any = None, n: int = 64, k: int = 64) -> Any:
    """A K loop over one tile; a, b: step → the K whose word is given."""
    window = build_memory(
        (build_storage((64, k), BASE_A), build_tile("bf16", "a", (0, 0), (64, k))),
        (build_storage((n, k), BASE_B), build_tile("bf16", "b", (0, 0), (n, k))),
    )
    a, b = a or (lambda s: 16 * s), b or (lambda s: 16 * s)
    return verify_records(
        [build_record(build_word(BASE_A, a(s)), build_word(BASE_B, b(s), n), window, n) for s in range(count)]
    )


def compute_loaded(window: np.ndarray, address: np.ndarray) -> np.ndarray:
    """What ldmatrix.x4 gives: lane l has 4 bytes of row l / 4 of each matrix."""
    lanes, matrices = np.arange(32)[:, None], np.arange(4)[None, :]
    at = address.astype(np.int64)[8 * matrices + lanes // 4] - 1024 + lanes % 4 * 4
    return (
        np.stack([window[at + byte].astype(np.uint32) << 8 * byte for byte in range(4)]).sum(axis=0).astype(np.uint32)
    )


def build_warp() -> list[Record]:
    """A warp's 32×32 tile over K = 64: two loads of A and two of B a step, each of B for two mma."""
    stored = [storage(build_storage((32, 64), base), 16, "K") for base in (1024, 8192)]
    window = build_memory(
        (build_storage((32, 64), 1024), build_tile("f16", "a", (0, 0), (32, 64))),
        (build_storage((32, 64), 8192), build_tile("f16", "b", (0, 0), (32, 64))),
        size=16 << 10,
    )
    base = Record(
        "ldmatrix",
        "k.cu",
        10,
        label="A",
        text=LOAD,
        window_first=1024,
        window=window,
    )
    lanes, records = np.arange(32), []
    for k in range(0, 64, 16):
        a, b = [], []
        for m in (0, 16):
            rows, along = lanes % 16, lanes // 16
            address = np.asarray(stored[0].address(m + rows, k + 8 * along)).astype(np.uint32)
            a.append(compute_loaded(window, address))
            records.append(replace(base, addresses=address, registers={"a": a[-1]}))
        for n in (0, 16):
            row, along = n + lanes % 8 + 8 * (lanes // 16), k + 8 * (lanes // 8 % 2)
            address = np.asarray(stored[1].address(row, along)).astype(np.uint32)
            held = compute_loaded(window, address)
            records.append(replace(base, line=11, label="B", addresses=address, registers={"a": held}))
            b += [held[:, :2], held[:, 2:]]
        records += [
            Record(
                "mma",
                "k.cu",
                20,
                text=MMA,
                registers={"a": x, "b": y},
            )
            for x in a
            for y in b
        ]
    return records
