"""Part "maps": calls of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, each checked by the driver and by the
rules of layouts/messages/map_rules.py.

The driver should reject every rule's wrong call and accept its right one; random calls change one argument of a right
call to values around its limits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from lanescope.app.hardware.device import CudaDevice
from lanescope.app.hardware.samples import CaseCounts
from lanescope.messages.map_calls import MapCall, find_refusal
from lanescope.messages.map_rules import RULES

RANDOM = 200  # calls
PACKED = "16U"  # types of sub-byte elements begin so: tensor maps of sm_100 and later
LARGEST_OFFSET = 4096
_SIZES = (0, 1, 2, 7, 8, 16, 32, 64, 128, 255, 256, 257)
_CHOICES: dict[str, Sequence[Any]] = {
    "offset": (0, 4, 8, 16, 24, 32, 48, 64, 128),
    "interleave": ("none", "16B", "32B"),
    "swizzle": ("none", "32B", "64B", "128B"),
    "fill": ("zero", "nan"),
    "type": ("UINT8", "UINT16", "INT32", "FLOAT16", "FLOAT32", "BFLOAT16", "FLOAT64"),
    "channels": (0, 4, 8, 12, 16, 32, 64, 128, 256, 257, 264),
    "pixels": (0, 1, 64, 1023, 1024, 1025),
}
_NUMBERS: dict[str, Sequence[int]] = {
    "dims": (0, 1, 3, 64, 1000, (1 << 32) - 1, 1 << 32, (1 << 32) + 1),
    "strides": (0, 8, 16, 24, 32, 48, 128, 136, 4096, (1 << 40) - 16, 1 << 40),
    "box": _SIZES,
    "steps": (0, 1, 2, 4, 7, 8, 9),
    "lower": (-129, -128, -16, -1, 0, 1, 127, 128),
    "upper": (-129, -128, -16, -1, 0, 1, 127, 128),
}


@cache
def load_driver() -> Any:
    """Load the driver's library."""
    return ctypes.CDLL("libcuda.so.1")


def encode_map(call: MapCall, address: int) -> bytes | None:
    """Return the driver's CUtensorMap of a call for a tensor at an address; None if it refuses the call."""
    rank = len(call.dims)
    room = ctypes.create_string_buffer(192)
    place = (ctypes.addressof(room) + 63) // 64 * 64
    type_code, interleave, swizzle, fill = call.codes
    start = (
        ctypes.c_void_p(place),
        type_code,
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address + call.offset),
        (ctypes.c_uint64 * max(1, rank))(*call.dims),
        (ctypes.c_uint64 * max(1, rank - 1))(*call.strides),
    )
    steps = (ctypes.c_uint32 * max(1, rank))(*call.element_strides)
    end = (steps, interleave, swizzle, 0, fill)
    if call.lower is not None and call.upper is not None:
        corners = [(ctypes.c_int * max(1, len(corner)))(*corner) for corner in (call.lower, call.upper)]
        pixels = (ctypes.c_uint32(call.channels), ctypes.c_uint32(call.pixels))
        status = load_driver().cuTensorMapEncodeIm2col(*start, *corners, *pixels, *end)
    else:
        status = load_driver().cuTensorMapEncodeTiled(*start, (ctypes.c_uint32 * max(1, rank))(*call.box), *end)
    if status not in (0, 1):  # CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE
        raise RuntimeError(f"The driver answers {status} to {call}.")
    return ctypes.string_at(place, 128) if status == 0 else None


def generate_random_calls(count: int = RANDOM) -> Iterator[MapCall]:
    """Yield right calls with one argument changed; the same in every run."""
    rng = np.random.default_rng(38)
    plain = [rule.right for rule in RULES if not rule.right.type.startswith(PACKED)]
    for _ in range(count):
        call = plain[int(rng.integers(len(plain)))]
        fields = [name for name in (*_CHOICES, *_NUMBERS) if _has_field(call, name)]
        yield _change_field(call, fields[int(rng.integers(len(fields)))], rng)


def _has_field(call: MapCall, name: str) -> bool:
    """Return whether a call has an argument."""
    if name in ("channels", "pixels", "lower", "upper"):
        return call.is_im2col
    return not (name == "box" and call.is_im2col)


def _change_field(call: MapCall, name: str, rng: np.random.Generator) -> MapCall:
    """Change one argument, of an array one number."""
    changed: dict[str, Any] = {}
    if name in _CHOICES:
        values = _CHOICES[name]
        changed[name] = values[int(rng.integers(len(values)))]
        return replace(call, **changed)
    array = list(call.element_strides if name == "steps" else getattr(call, name))
    if array:
        numbers = _NUMBERS[name]
        array[int(rng.integers(len(array)))] = numbers[int(rng.integers(len(numbers)))]
    changed[name] = tuple(array)
    return replace(call, **changed)


def run_maps(device: CudaDevice, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Count by rule the calls on which driver and rules agree; {} before sm_90.

    per_kind: number of random calls; 0: all.
    """
    capability = float(device.info()["compute_capability"])
    if capability < 9.0:
        return {}
    memory = device.cupy.zeros(1 << 16, np.uint8)
    address = -(-memory.data.ptr // LARGEST_OFFSET) * LARGEST_OFFSET
    counts = CaseCounts()
    cases = [
        (rule.row.slug, call)
        for rule in RULES
        if capability >= 10.0 or not rule.right.type.startswith(PACKED)
        for call in (rule.wrong, rule.right)
    ]
    for key, call in [*cases, *(("random", call) for call in generate_random_calls(per_kind or RANDOM))]:
        refused = encode_map(call, address) is None
        counts.add(key, refused == (find_refusal(call) is not None), str(call), refused=refused)
    return counts
