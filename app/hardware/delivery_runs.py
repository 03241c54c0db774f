"""Part "delivery": programs that deliver operands, executed: the named ones and random ones, every register's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lanescope.app.hardware.code_runs import CodeCase
from lanescope.app.hardware.device import Array
from lanescope.delivery.ask import DeliveryRequest, answer_request
from lanescope.delivery.named import BF16, F16, FP8, NAMED
from lanescope.delivery.solve import Delivery
from lanescope.errors import LayoutError
from lanescope.ptx.codec import encode_values
from lanescope.ptx.targets import strip_suffix
from lanescope.render import delivery as render

RANDOM = 40
SEED = 38
FIRST_FP8 = 89  # cvt to e4m3x2. PTX ISA 9.1, 9.7.9.22
_INSTRUCTIONS = (F16, BF16, FP8, "mma.m16n8k32.row.col.s32.s8.s8.s32", "mma.m16n8k8.row.col.f32.tf32.tf32.f32")


class DeliveryCase(CodeCase):
    """One program: `deliver` fills a warp's registers, which the kernel writes."""

    def render_kernel(self) -> str:
        return self.code


def make_case(key: str, delivery: Delivery, rng: np.random.Generator) -> DeliveryCase:
    """Return the kernel of a delivery with random elements; any codes if it converts no types."""
    count, width = delivery.goal.space.size, delivery.goal.width
    stored = delivery.memory.width if delivery.memory else delivery.start.width if delivery.start else width
    if delivery.stored == delivery.type:
        values = rng.integers(0, 1 << min(width, 32), count, np.uint64)
        codes = values
    else:
        most = 8 if "e5m2" in (delivery.stored, delivery.type) else 16  # whole numbers exact in either type
        values = rng.integers(0, most, count).astype(np.uint64)
        codes, values = (_encode(values, name) for name in (delivery.stored, delivery.type))
    if delivery.memory:
        inputs = np.zeros(delivery.memory.size, np.uint64)
        inputs[delivery.memory.address] = codes
    else:
        assert delivery.start
        inputs = codes[delivery.start.list_elements()].reshape(-1)
    expected = values[delivery.goal.list_elements()].reshape(-1)
    return DeliveryCase(
        key, render.render_kernel(delivery), (), _pack(inputs, stored), _pack(expected, width), threads=32, shared=0
    )


def _encode(values: Array, name: str) -> Array:
    return values if name in ("u4", "u8") else np.asarray(encode_values(values.astype(np.int64), name), np.uint64)


def _pack(codes: Array, width: int) -> Array:
    """Pack codes into words, the first in the lowest bits."""
    per = 32 // width
    padded = np.concatenate([codes, np.zeros(-len(codes) % per, np.uint64)]).reshape(-1, per)
    shifts = np.arange(per, dtype=np.uint64) * np.uint64(width)
    return np.asarray((padded << shifts).sum(axis=1, dtype=np.uint64), np.uint32)


def generate_requests(rng: np.random.Generator) -> Iterator[DeliveryRequest]:
    """Yield random requests, with or without a solution: operands, sizes, storages, permutations allowed."""
    while True:

        def pick(*words: Any) -> Any:
            return words[int(rng.integers(len(words)))]

        operand = pick("a", "b")
        yield DeliveryRequest(
            instruction=pick(*_INSTRUCTIONS),
            operand=operand,
            first=pick(1, 2),
            second=pick(1, 2),
            source=pick("rows", "columns", "chosen"),
            pitch_bytes=pick(128, 144, 256),
            swizzle=pick("none", "32B", "64B", "128B"),
            renumber=pick("none", "none", "k", "n") if operand == "b" else pick("none", "k"),
            moves=pick("", "", "ld.32 prmt shfl", "ld.64 ld.128 prmt shfl lop3", "ldmatrix ldmatrix.trans prmt shfl"),
            limit=48,
        )


def generate_cases(target: str = "sm_90a", count: int = RANDOM) -> Iterator[DeliveryCase]:
    """Yield the named programs whose conversions the target supports, then `count` random ones."""
    fp8 = int(strip_suffix(target)[3:]) >= FIRST_FP8
    rng = np.random.default_rng(SEED)
    for name, request in NAMED.items():
        if fp8 or request.stored != "f32":
            yield make_case(f"named: {name}", answer_request(request), rng)
    generated = 0
    for request in generate_requests(rng):
        if generated == count:
            return
        try:
            found = answer_request(request)
        except LayoutError:
            continue  # a storage that does not hold the operand
        if found.found:
            generated += 1
            yield make_case(f"random: {request.source}", found, rng)
