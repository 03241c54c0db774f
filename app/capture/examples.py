"""Example captures, a row each: a K loop over a tile with the 128B swizzle, correct or with one mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lanescope import capture
from lanescope.capture.file_format import Capture, Record
from lanescope.descriptor.matrix import SHARED_BEGIN, encode_wgmma
from lanescope.dump import written
from lanescope.shared.storage import storage

PTX = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
ROWS, K, STEP, PANEL = 64, 128, 16, 64 * 128
A, B = SHARED_BEGIN, SHARED_BEGIN + 2 * PANEL
WINDOW = 4 * PANEL


@dataclass(frozen=True, slots=True)
class CaptureExample:
    """An example capture: its name in an address, what it shows, the bytes by which B advances per K step, and A's
    sbo_bytes.
    """

    name: str
    title: str
    to_b: Callable[[int], int]
    sbo_bytes: int = 1024


def _expect_offset(step: int) -> int:
    return step // 4 * PANEL + step % 4 * 32


EXAMPLES = (
    CaptureExample("k-step", "The K step of B runs past the swizzle atom", lambda step: 32 * step),
    CaptureExample("panel", "Half the panel stride in B", lambda step: step // 4 * PANEL // 2 + step % 4 * 32),
    CaptureExample("strides", "LBO and SBO of A exchanged", _expect_offset, 16),
    CaptureExample("right", "A correct K loop", _expect_offset),
)
BY_NAME = {example.name: example for example in EXAMPLES}


@lru_cache(maxsize=len(EXAMPLES))
def build_capture(name: str) -> bytes:
    """Return the capture of an example as a file."""
    example = BY_NAME[name]
    window = np.zeros(WINDOW, np.uint8)
    for base, operand in ((A, "a"), (B, "b")):
        spec = {"kind": "canonical", "swizzle": "128B", "mn": ROWS, "k": K, "base": base}
        codes = capture.fill((ROWS, K), "bf16", operand, nk=True).astype(np.uint64)
        window |= written(storage(spec, 16, "K"), codes, 16, SHARED_BEGIN, WINDOW).data
    immediates = {"scale_a": 1, "scale_b": 1, "trans_a": 0, "trans_b": 0}
    records = []
    for step in range(K // STEP):
        lbo_bytes = 1024 if example.sbo_bytes == 16 else 16
        words = {
            "a": encode_wgmma(A + _expect_offset(step), lbo_bytes, example.sbo_bytes, 0, "128B").word,
            "b": encode_wgmma(B + example.to_b(step), 16, 1024, 0, "128B").word,
        }
        records.append(
            Record(
                "wgmma",
                "gemm.cu",
                57,
                label="AB",
                text=PTX,
                block=(0, 0, 0),
                thread=0,
                words=words,
                slice={},
                immediates=immediates,
                window_first=SHARED_BEGIN,
                window=window,
            )
        )
    return capture.write(Capture(tuple(records)))
