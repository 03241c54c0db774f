"""Loads in im2col mode against loops over images, written from PTX ISA 9.1, 5.5.4. im2col-0 of test_emulate_device is
what an H200 did.

The numbers of `SHOWN` are those that Triton's Gluon tutorial on im2col prints from its run on a GPU.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lanescope
from lanescope.emulate.launching.launch import parse_launch
from lanescope.emulate.machine import Machine, Schedule
from lanescope.emulate.state.im2col import PixelBox
from lanescope.emulate.state.tensor_maps import decode_tensor_map, encode_tensor_map, make_tensor_map
from lanescope.errors import LayoutError
from tests.async_kernels import list_codes, run, take, wait
from tests.cases import for_each
from tests.test_emulate_boxes import DUMP, FILL, swizzle, write_coordinates

Array = NDArray[Any]


def list_pixels(tensor: Array, box: PixelBox, steps: tuple[int, ...], at: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every base of a filter from `at` on, in order: (n, d, h, w). tensor: N D H W C; box and steps: W H D."""
    images, *sizes = tensor.shape[:-1]
    ranges = [
        range(low, size + high, step)
        for low, high, size, step in zip(box.lower[::-1], box.upper[::-1], sizes, steps[::-1], strict=True)
    ]
    every = [(n, *place) for n in range(images + 64) for place in product(*ranges)]
    return every[every.index(at[::-1]) :][: box.pixels]


def load_column(
    tensor: Array, box: PixelBox, steps: tuple[int, ...], at: tuple[int, ...], offsets: tuple[int, ...], channel: int
) -> Array:
    """What a load brings: [pixels, channels], 0 outside the tensor. at: of the base, W H D N."""
    column = np.zeros((box.pixels, box.channels), tensor.dtype)
    for row, (n, *base) in enumerate(list_pixels(tensor, box, steps, at)):
        place = [first + offset for first, offset in zip(base, offsets[::-1], strict=True)]
        inside = n < len(tensor) and all(0 <= i < size for i, size in zip(place, tensor.shape[1:-1], strict=True))
        for c in range(box.channels):
            if inside and 0 <= channel + c < tensor.shape[-1]:
                column[row, c] = tensor[(n, *place, channel + c)]
    return column


def describe_map(tensor: Array, name: str, box: PixelBox, steps: tuple[int, ...], mode: str) -> dict[str, Any]:
    dims = tensor.shape[::-1]
    strides = tuple(int(np.prod(dims[: n + 1])) * tensor.itemsize for n in range(len(dims) - 1))
    elements = (1, *steps, 1)
    return {"type": name, "dims": dims, "strides": strides, "element_strides": elements, "swizzle": mode} | {
        "pixel_box": box
    }


def run_load(
    tensor: Array, made: dict[str, Any], at: tuple[int, ...], offsets: tuple[int, ...], late: bool = False
) -> Machine:
    """Load one column with thread 0, and copy 8 KB of shared memory to out. at: C W H D N."""
    moves, names = write_coordinates(at)
    box: PixelBox = made["pixel_box"]
    shifts = "".join(f".reg .u16 %o{n}; mov.u16 %o{n}, {value};\n" for n, value in enumerate(offsets))
    vector = ", ".join(f"%o{n}" for n in range(len(offsets)))
    size = box.channels * box.pixels * tensor.itemsize
    body = FILL + (
        f"@!%p bra J;\nmbarrier.init.shared::cta.b64 [%bar], 1; fence.mbarrier_init.release.cluster;\n{moves}{shifts}"
        f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {size};\n"
        f"cp.async.bulk.tensor.{len(at)}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%s],"
        f" [%map, {{{names}}}], [%bar], {{{vector}}};\nJ: bar.sync 0;\n" + wait(0) + DUMP
    )
    return run(body, tensor, np.zeros(8192, np.uint8), 128, Schedule(late=late), make_map=made)


def read_column(machine: Machine, like: Array, box: PixelBox, mode: str = "none") -> Array:
    """The pixels in shared memory, with the swizzle taken off."""
    image = take(machine, np.zeros(8192, np.uint8))
    width = box.channels * like.itemsize
    rows = np.zeros((box.pixels, width), np.uint8)
    for r, c in product(range(box.pixels), range(0, width, 16)):
        place = swizzle(r * width + c, mode)
        rows[r, c : c + 16] = image[place : place + 16]
    return rows.view(like.dtype)


NUMBERS = np.repeat(np.arange(1, 33, dtype=np.float32), 4).reshape(2, 4, 4, 4)
SHOWN = {  # lower = upper corner, base (n, h, w), offset → the first channel of 16 pixels
    "simple": (0, (0, 0, 0), 0, list(range(1, 17))),
    "padded": (-1, (0, -1, -1), 0, [0, 0, 0, 0, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11]),
    "offset": (-1, (0, -1, -1), 1, list(range(1, 17))),
    "images": (0, (0, 1, 3), 0, list(range(8, 24))),
    "both": (-1, (0, 1, 2), 0, [7, 0, 9, 10, 11, 0, 0, 0, 0, 0, 17, 18, 19, 0, 21, 22]),
}


@for_each("name", SHOWN)
def test_pixels_are_those_that_a_gpu_is_shown_to_load(name: str) -> None:
    corner, (n, h, w), offset, expected = SHOWN[name]
    box = PixelBox((corner, corner), (corner, corner), 4, 16)
    made = describe_map(NUMBERS, "f32", box, (1, 1), "none")
    machine = run_load(NUMBERS, made, (0, w, h, n), (offset, offset))
    assert machine.status == "finished" and not machine.findings
    assert read_column(machine, NUMBERS, box)[:, 0].tolist() == expected


@for_each("seed", range(12))
def test_a_load_walks_through_the_box_and_the_images(seed: int) -> None:
    """Random corners, strides, offsets and bases of 3, 4 and 5 dimensions; channels and images also end."""
    rng = np.random.default_rng(seed)
    spatial = 1 + seed % 3
    mode, width = [("none", 32), ("32B", 32), ("64B", 64), ("128B", 128)][seed % 4]
    channels = width // 2
    sizes = [int(rng.integers(3, 7)) for _ in range(spatial)]  # W H D
    lower = tuple(int(rng.integers(-2, 2)) for _ in range(spatial))
    upper = tuple(int(rng.integers(-1, 2)) for _ in range(spatial))
    steps = tuple(int(rng.integers(1, 4)) for _ in range(spatial))
    tensor = rng.integers(1, 999, (2, *sizes[::-1], channels + 8)).astype(np.uint16)
    box = PixelBox(lower, upper, channels, int(rng.integers(1, 60)))
    base = tuple(
        int(rng.choice(range(low, size + high, step)))
        for low, high, size, step in zip(lower, upper, sizes, steps, strict=True)
    )
    offsets = tuple(int(rng.integers(0, 3)) for _ in range(spatial))
    at, channel = (*base, int(rng.integers(0, 2))), int(rng.choice([-8, 0, 8, 16]))
    made = describe_map(tensor, "u16", box, steps, mode)
    machine = run_load(tensor, made, (channel, *at), offsets, late=bool(seed % 2))
    assert machine.status == "finished" and not machine.findings
    expected = load_column(tensor, box, steps, at, offsets, channel)
    assert np.array_equal(read_column(machine, tensor, box, mode), expected)


def test_loads_of_a_filters_offsets_are_the_matrix_of_a_convolution() -> None:
    """The product of what they bring with the filter is the convolution, stride 2 and padding 1, by its definition."""
    rng = np.random.default_rng(3)
    images = rng.integers(-3, 4, (2, 7, 6, 8)).astype(np.float32)
    kernel = rng.integers(-3, 4, (3, 3, 8)).astype(np.float32)
    rows, columns = 4, 3  # (7 + 2 - 3) // 2 + 1 and (6 + 2 - 3) // 2 + 1
    box = PixelBox((-1, -1), (-1, -1), 8, 2 * rows * columns)
    made = describe_map(images, "f32", box, (2, 2), "none")
    total = np.zeros(box.pixels, np.float32)
    for r, s in product(range(3), range(3)):
        machine = run_load(images, made, (0, -1, -1, 0), (s, r))
        total += read_column(machine, images, box) @ kernel[r, s]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = [
        (padded[n, 2 * y : 2 * y + 3, 2 * x : 2 * x + 3] * kernel).sum()
        for n, y, x in product(range(2), range(rows), range(columns))
    ]
    assert total.tolist() == expected


def test_outside_the_tensor_stands_the_fill_of_the_map() -> None:
    tensor = np.ones((1, 2, 2, 8), np.uint16)
    box = PixelBox((-1, -1), (0, 0), 8, 12)
    made = describe_map(tensor, "f16", box, (1, 1), "none") | {"fill": "nan"}
    found = read_column(run_load(tensor, made, (0, -1, -1, 0), (0, 0)), tensor, box)[:, 0]
    nan = 0x7FF7
    assert found.tolist() == [nan, nan, nan, nan, 1, 1, nan, 1, 1, nan, nan, nan]


STORE = (
    "@!%p bra J; mov.u32 %a0, 0; {fill} fence.proxy.async.shared::cta;\n"
    "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%map, {{%a0, %a1, %a0}}], [%s];\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nJ:\n"
)


def test_a_store_without_offsets_writes_the_pixels_of_a_box() -> None:
    """Two rows of a batch, W from 1 on: pixels 1 2 of image 0, then 0 1 2 of image 1."""
    fill = "mov.u32 %a1, 1; " + "".join(f"mov.u32 %a2, {n + 1}; st.shared.u32 [%s+{4 * n}], %a2; " for n in range(20))
    tensor = np.zeros((2, 3, 4), np.uint32)
    box = PixelBox((0,), (0,), 4, 5)
    made = describe_map(tensor, "u32", box, (1,), "none")
    machine = run(STORE.format(fill=fill), tensor, tensor, make_map=made, on_output=True)
    assert machine.status == "finished" and not machine.findings
    expected = tensor.reshape(6, 4).copy()
    expected[1:6] = np.arange(1, 21).reshape(5, 4)
    assert np.array_equal(take(machine, tensor).reshape(6, 4), expected)


@for_each(("lower", "upper", "status"), [(-1, -1, "fault"), (0, 1, "unknown_instruction")])
def test_a_store_through_a_map_with_corners_is_not_executed(lower: int, upper: int, status: str) -> None:
    """At -1 an H100 and an H200 end the launch, also where every pixel is inside the image."""
    tensor = np.zeros((2, 3, 4), np.uint32)
    made = describe_map(tensor, "u32", PixelBox((lower,), (upper,), 4, 1), (1,), "none")
    machine = run(STORE.format(fill="mov.u32 %a1, 1;"), tensor, tensor, make_map=made, on_output=True)
    assert machine.status == status and "corners" in machine.findings[0].message


@for_each(
    ("at", "offsets", "words"),
    [
        ((0, 4, 0, 0), (0, 0), "the coordinate 4 along W is not in the pixel box, 0 to 3"),
        ((0, 0, -1, 0), (0, 0), "the coordinate -1 along H is not in the pixel box"),
        ((0, 1, 0, 0), (0, 0), "plus a multiple of 2"),
        ((0, 0, 0, 0), (0, 256), "the offset 256 along H is not in 0 to 255"),
    ],
)
def test_what_the_document_leaves_open_is_refused_by_name(
    at: tuple[int, ...], offsets: tuple[int, ...], words: str
) -> None:
    box = PixelBox((0, 0), (0, 0), 4, 4)
    machine = run_load(NUMBERS, describe_map(NUMBERS, "f32", box, (2, 1), "none"), at, offsets)
    assert machine.status == "unknown_instruction" and words in machine.findings[0].message


def test_the_mode_of_the_instruction_is_that_of_the_map() -> None:
    made = {"type": "f32", "dims": (4, 4, 8), "strides": (16, 64), "box": (4, 1, 1)}
    machine = run(STORE.format(fill="mov.u32 %a1, 0;"), NUMBERS, NUMBERS, make_map=made)
    assert machine.status == "fault" and list_codes(machine) == ["tensor_map_mode"]


RIGHT: dict[str, Any] = {"type": "f16", "dims": (64, 9, 14, 64), "strides": (128, 1152, 16128)}


@for_each(
    ("box", "more", "field"),
    [
        (PixelBox((-129, 0), (0, 0), 8, 64), {}, "pixel_lower"),
        (PixelBox((0, 0), (128, 0), 8, 64), {}, "pixel_upper"),
        (PixelBox((0, 0), (0, -14), 8, 64), {}, "pixel_upper"),
        (PixelBox((0, 0), (0, 0), 264, 64), {}, "channels"),
        (PixelBox((0, 0), (0, 0), 4, 64), {}, "channels"),
        (PixelBox((0, 0), (0, 0), 8, 1025), {}, "pixels"),
        (PixelBox((0, 0), (0, 0), 64, 64), {"swizzle": "64B"}, "channels"),
        (PixelBox((0,), (0, 0), 8, 64), {}, "pixel_lower"),
        (PixelBox((0, 0), (0, 0), 8, 64), {"element_strides": (1, 9, 1, 1)}, "element_strides"),
        (PixelBox((), (), 8, 64), {"dims": (64, 9), "strides": (128,)}, "dims"),
    ],
)
def test_maps_that_the_driver_refuses(box: PixelBox, more: dict[str, Any], field: str) -> None:
    """CUDA driver API 13.0, cuTensorMapEncodeIm2col."""
    with pytest.raises(LayoutError) as refused:
        make_tensor_map(address=1024, **(RIGHT | more), pixel_box=box)
    assert refused.value.field == field


@for_each("corners", [((-1, -1), (-1, -1)), ((-128, 0), (127, -13))])
def test_a_map_survives_its_128_bytes(corners: tuple[tuple[int, int], tuple[int, int]]) -> None:
    made = make_tensor_map(address=1024, **RIGHT, pixel_box=PixelBox(*corners, 8, 1024))
    assert decode_tensor_map(encode_tensor_map(made)) == made
    assert made.box_bytes == 8 * 1024 * 2


def test_a_launch_has_im2col_maps() -> None:
    ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .align 64 .b8 map[128]) { ret; }\n"
    made = {"mode": "im2col", "buffer": "A", "dims": [8, 5, 5, 2], "strides": [16, 80, 400]}
    made |= {"pixel_lower": [-1, -1], "pixel_upper": [-1, -1], "channels": 8, "pixels": 32}
    launch: dict[str, Any] = {"grid": [1], "block": [1], "args": ["map"], "tensor_map": {"map": made}}
    launch["buffer"] = {"A": {"shape": [2, 5, 5, 8], "type": "f16"}}
    assert parse_launch(launch).maps["map"].pixel_box == PixelBox((-1, -1), (-1, -1), 8, 32)
    assert lanescope.emulate(ptx, launch).passed
    launch["tensor_map"] = {"map": made | {"channels": 512}}
    result = lanescope.emulate(ptx, launch)
    assert result.status == "fault" and "cuTensorMapEncodeIm2col rejects it" in result.findings[0].message
    for wrong, field in (({"mode": "im2cow"}, "mode"), ({"box": [8, 8]}, "box"), ({"pixel_lower": [0]}, "pixel_lower")):
        launch["tensor_map"] = {"map": made | wrong}
        with pytest.raises(LayoutError) as refused:
            lanescope.emulate(ptx, launch)
        assert refused.value.field == f"tensor_map.map.{field}"
