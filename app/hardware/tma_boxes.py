"""Part "boxes": TMA loads executed, and tensor maps encoded by the driver, against the rules of layouts/shared/tma.py.

A load's box holds random bytes, so a byte in the wrong place shows; shared memory around the box must stay as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from lanescope.app.hardware.device import Array, CudaDevice
from lanescope.app.hardware.map_calls import encode_map
from lanescope.app.hardware.samples import CaseCounts, take_first_of_each
from lanescope.errors import LayoutError
from lanescope.messages.map_calls import MapCall
from lanescope.render.template import Templates
from lanescope.shared import storage, tma
from lanescope.shared.map_enums import MAP_TYPES
from lanescope.shared.swizzle import MODES

# the element types that are loaded: those that are not packed, and without the variants that flush subnormals
TYPES = {row.name: row for row in MAP_TYPES if row.bits == row.shared_bits >= 8 and "FTZ" not in row.name}
UNTOUCHED = 0xEE
AFTER = 1024  # bytes after the box that must stay untouched
OFFERED = 200  # tensor maps per rule
_PROGRAMS = Templates(__package__)


def render_kernel(rank: int) -> str:
    """Render the kernel that loads one box of a tensor of this rank and returns shared memory."""
    return _PROGRAMS.fill(
        "box.cu",
        untouched=f"0x{UNTOUCHED:X}",
        rank=rank,
        places=", ".join(f"%{3 + n}" for n in range(rank)),
        coordinates=", ".join(f'"r"(at[{n}])' for n in range(rank)),
    )


@dataclass(frozen=True)
class BoxLoad:
    """One box loaded: its map, the coordinates, and how far behind a multiple of 1024 it begins in shared memory."""

    key: str
    map: MapCall
    at: tuple[int, ...]
    offset: int = 0

    def compute_expected(self, memory: Array, window: int) -> Array:
        """Compute shared memory from the window on after the load, by the storage of layouts/shared/tma.py; elements
        outside the tensor are zero.
        """
        m, size = self.map, self.map.bits // 8
        image = np.full(self.offset + self.room, UNTOUCHED, np.uint8)
        spec = tma.make_box_storage(m.box, m.bits, m.swizzle, m.strides, window + self.offset, "K")
        layout = storage.storage(spec, m.bits, "K")
        lines = spec["inner_stride"] // spec["line_stride"] if spec["kind"] == "atoms" else int(np.prod(m.box[1:]))
        for n, outer in enumerate(product(*(range(most) for most in reversed(m.box[1:])))):
            index = tuple(reversed(outer))
            first = sum((c + i) * s for c, i, s in zip(self.at[1:], index, m.strides, strict=True))
            row_in_tensor = all(0 <= c + i < d for c, i, d in zip(self.at[1:], index, m.dims[1:], strict=True))
            for x in range(m.box[0]):
                offset = int(layout.address(n % lines, n // lines * m.box[0] + x)) - window
                place = first + (self.at[0] + x) * size
                in_tensor = row_in_tensor and 0 <= self.at[0] + x < m.dims[0]
                image[offset : offset + size] = memory[place : place + size] if in_tensor else 0
        return image

    @property
    def room(self) -> int:
        """Return the bytes of shared memory from the box on: its maximum size, and some behind it."""
        rows = int(np.prod(self.map.box[1:]))
        return rows * tma.get_pitch_bytes(self.map.box[0] * self.map.bits // 8, self.map.swizzle) + AFTER


def _make_dense_map(type: str, dims: tuple[int, ...], box: tuple[int, ...], swizzle: str) -> MapCall:
    """Return the map of a tensor without gaps."""
    strides = tuple(prod(dims[: n + 1]) * TYPES[type].bits // 8 for n in range(len(dims) - 1))
    return MapCall(type=type, dims=dims, strides=strides, box=box, swizzle=swizzle)


def generate_loads() -> Iterator[BoxLoad]:
    """Yield every data type; every width of the inner box in every mode; places in shared memory; ranks 1 to 5; panels,
    also with a dimension of one element; boxes that reach out of the tensor.
    """
    for name, bits in ((row.name, row.bits) for row in TYPES.values()):
        dims: tuple[int, ...] = (4096 // bits, 40)
        for swizzle in MODES:
            width = (128 if swizzle.chunks == 1 else swizzle.width_bytes) * 8 // bits
            box = _make_dense_map(name, dims, (width, 24), swizzle.name)
            yield BoxLoad(f"{name}", box, (128 // bits * 3, 5))
    for swizzle in MODES:
        most = 256 if swizzle.chunks == 1 else swizzle.width_bytes
        width = min(most, 128) // 2
        for name, inner in product(("UINT8", "BFLOAT16", "FLOAT32", "FLOAT64"), range(16, most + 1, 16)):
            bits = TYPES[name].bits
            if inner * 8 // bits > tma.MOST_BOX:
                continue
            dims = (8192 // bits, 64)
            box = _make_dense_map(name, dims, (inner * 8 // bits, 24), swizzle.name)
            yield BoxLoad(f"inner box, swizzle {swizzle.name}", box, (256 // bits, 9))
        for offset in range(128, 2048, 128):
            box = _make_dense_map("BFLOAT16", (512, 64), (width, 24), swizzle.name)
            yield BoxLoad(f"first byte, swizzle {swizzle.name}", box, (16, 5), offset)
        ranks: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...] = (
            ((512,), (width,), (8,)),
            ((128, 32, 8), (width, 8, 3), (16, 5, 2)),
            ((128, 32, 8), (width, 5, 3), (16, 5, 2)),
            ((128, 16, 8, 4), (width, 8, 3, 2), (0, 5, 2, 1)),
            ((128, 16, 8, 4, 3), (width, 4, 3, 2, 2), (8, 5, 2, 1, 1)),
            ((128, 32, 8), (8, 5, 3), (16, 5, 2)),
        )
        for dims, sizes, coordinates in ranks:
            box = _make_dense_map("BFLOAT16", dims, sizes, swizzle.name)
            yield BoxLoad(f"{len(dims)} dimensions", box, coordinates)
        for lines, count in ((8, 3), (64, 2), (5, 4)):
            tensor = _make_dense_map("BFLOAT16", (width, 80, 512 // width), (width, lines, count), swizzle.name)
            yield BoxLoad("panels", replace(tensor, strides=(1024, 2 * width)), (0, 7, 1))
            heads = _make_dense_map("BFLOAT16", (width, 3, 80, 512 // width), (width, 1, lines, count), swizzle.name)
            yield BoxLoad("panels of one head", replace(heads, strides=(1024, 3072, 2 * width)), (0, 1, 7, 1))
        for column, row in ((-8, 20), (104, -3), (0, 28), (-16, -16)):
            box = _make_dense_map("BFLOAT16", (128, 30), (width, 24), swizzle.name)
            yield BoxLoad("outside the tensor", box, (column, row))


def generate_maps() -> Iterator[tuple[str, MapCall]]:
    """Yield random tensor maps near the rules' edges: the rule that each is about, and the map."""
    rng = np.random.default_rng(17)
    names = tuple(TYPES)

    def make_legal_map(name: str) -> MapCall:
        bits = TYPES[name].bits
        swizzle = MODES[int(rng.integers(len(MODES)))].name
        widest = 256 if swizzle == "none" else min(256, tma.WIDTHS[swizzle] * 8 // bits)
        step = 128 // bits
        inner = step * int(rng.integers(1, widest // step + 1))
        rank = int(rng.integers(2, 4))
        rows = int(rng.integers(1, 33))
        box = (inner, rows, *(int(rng.integers(1, 4)) for _ in range(rank - 2)))
        dims = (step * int(rng.integers(1, 200)), *(int(rng.integers(1, 500)) for _ in range(rank - 1)))
        return _make_dense_map(name, dims, box, swizzle)

    def replace_at(values: tuple[int, ...], position: int, value: int) -> tuple[int, ...]:
        return (*values[:position], value, *values[position + 1 :])

    for n in range(OFFERED):
        name = names[n % len(names)]
        legal = make_legal_map(name)
        yield "within every rule", legal
        box, strides, dims = legal.box, legal.strides, legal.dims
        yield "inner box", replace(legal, box=replace_at(box, 0, int(rng.integers(1, 300))))
        yield "box", replace(legal, box=replace_at(box, 1, int(rng.choice([0, 1, 255, 256, 257, 258, 1000]))))
        position = int(rng.integers(len(strides)))
        grain = int(rng.choice([1, 2, 4, 8, 16, 32]))
        yield "stride", replace(legal, strides=replace_at(strides, position, grain * int(rng.integers(1, 4000))))
        far_stride = int(rng.choice([(1 << 40) - 16, 1 << 40, (1 << 40) + 16, 1 << 41]))
        yield "stride", replace(legal, strides=replace_at(strides, len(strides) - 1, far_stride))
        size = int(rng.choice([0, 1, 2, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 33]))
        yield "dimension", replace(legal, dims=replace_at(dims, len(dims) - 1, size))
        yield "element strides", replace(legal, steps=tuple(int(rng.integers(0, 11)) for _ in box))
        large = (box[0], int(rng.integers(1, 257)), int(rng.integers(1, 257)))
        yield "bytes of the box", _make_dense_map(name, (1 << 12,) * 3, large, legal.swizzle)
        rank = int(rng.integers(1, 8))
        small = (128 // TYPES[name].bits,) * rank
        yield "rank", MapCall(type=name, dims=small, strides=(16,) * (rank - 1), box=small)


def run_boxes(device: CudaDevice, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Count the correct predictions of layouts/shared/tma.py, by the varied parameter of a load, and by the rule of a
    map; {} before sm_90.
    """
    if float(device.info()["compute_capability"]) < 9.0:
        return {}
    counts = CaseCounts()
    rng = np.random.default_rng(5)
    for load in take_first_of_each(generate_loads(), lambda load: load.key, per_kind):
        counts.add(f"load: {load.key}", run_load(device, load, rng))
    address = device.cupy.zeros(1 << 16, np.uint8).data.ptr
    for rule, tensor_map in take_first_of_each(generate_maps(), lambda case: case[0], per_kind):
        broken = list(find_broken_rules(tensor_map))
        refused = encode_map(tensor_map, address) is None
        counts.add(f"rule: {rule}", bool(broken) == refused, str(tensor_map), refused=refused)
    return counts


def find_broken_rules(map: MapCall) -> Iterator[tuple[str, str]]:
    """Yield (code, sentence) for every rule of layouts/shared/tma.py that a map breaks."""
    return tma.find_broken_rules(map.bits, map.dims, map.strides, box=map.box, steps=map.steps, swizzle=map.swizzle)


def fill_random_memory(map: MapCall, rng: np.random.Generator) -> Array:
    """Return random bytes of a tensor; those of a TFLOAT32 one are values of tf32, to which TMA would round."""
    size = max([map.dims[0] * map.bits // 8, *(d * s for d, s in zip(map.dims[1:], map.strides, strict=True))])
    raw = rng.integers(0, 256, size + map.dims[0] * map.bits // 8, dtype=np.uint8)
    if map.type == "TFLOAT32":
        raw = (raw.view(np.uint32) & np.uint32(0x3FFFE000) | np.uint32(0x20000000)).view(np.uint8)
    return raw


def run_load(device: CudaDevice, load: BoxLoad, rng: np.random.Generator) -> bool:
    """Return whether a load left every byte of shared memory as expected."""
    cupy = device.cupy
    memory = fill_random_memory(load.map, rng)
    tensor = cupy.asarray(memory)
    words = encode_map(load.map, tensor.data.ptr)
    if words is None:
        raise LayoutError("bad_usage", f"The driver refuses {load.map}.", "A case of this part must be legal.", "part")
    size = load.offset + load.room
    shared_memory, status = device.run_kernel(
        render_kernel(len(load.at)),
        np.zeros(size, np.uint8),
        np.frombuffer(words, np.uint8),
        np.array(load.at, np.int32),
        np.uint32(load.map.box_bytes),
        np.uint32(load.offset),
        np.uint32(size),
        np.zeros(2, np.uint32),
        threads=128,
        shared=size,
        returns=(0, 6),
    )
    window, done = status.tolist()
    if not done:
        raise RuntimeError("A TMA load did not complete.")
    return bool(np.array_equal(shared_memory, load.compute_expected(memory, window)))
