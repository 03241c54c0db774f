"""Parse a kernel's launch (grid, arguments, buffers, tensor maps) from the object in a TOML or JSON text.

    kernel = "matmul"                # part of the entry's name; optional if there is only one
    grid = [16, 1, 1]
    block = [256, 1, 1]
    shared = 65536                   # dynamic shared memory in bytes
    args = [512, "C", "&mapA", "mapB", {hex = "0100000000000000"}]
    [buffer.C]
    shape = [512, 512]
    type = "bf16"

This module reads no files; a buffer contains the name of its file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from lanescope.emulate.launching.elements import FILLS, ElementType, get_element_type
from lanescope.emulate.state.im2col import PixelBox
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer, quote_value, require_object
from lanescope.ptx.threads import MOST_THREADS

MOST_BLOCK = (1024, 1024, 64)
MOST_GRID = ((1 << 31) - 1, 65535, 65535)
MOST_BUFFER = 1 << 31  # bytes of one buffer
KEYS = ("kernel", "grid", "block", "cluster", "shared", "args", "buffer", "tensor_map")
BUFFER_KEYS = ("file", "shape", "type", "fill", "output", "operand", "major", "pass")
MODE_KEYS = {"tiled": ("box",), "im2col": ("pixel_lower", "pixel_upper", "channels", "pixels")}
MAP_KEYS = ("buffer", "type", "mode", "dims", "strides", "element_strides", "swizzle", "interleave", "fill")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A buffer in global memory.

    file: the array with its initial contents; else shape, type and fill define them. number: the fill if it is a
    number. operand, major, part: the encodings that "identify" fills in. output: a file for the final contents.
    """

    name: str
    file: str = ""
    shape: tuple[int, ...] = ()
    type: ElementType | None = None
    fill: str = "0"
    number: float = 0
    output: str = ""
    operand: str = "a"
    major: str = "k"
    part: int = 1


@dataclass(frozen=True, slots=True)
class TensorMapSpec:
    """A tensor map, with the arguments of cuTensorMapEncodeTiled; with a pixel box, of cuTensorMapEncodeIm2col.

    dims, strides and box innermost first, strides in bytes. type: of a buffer or of CUtensorMapDataType, "" for that of
    its buffer.
    """

    name: str
    buffer: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    type: str = ""
    swizzle: str = "none"
    interleave: str = "none"
    fill: str = "zero"
    pixel_box: PixelBox | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch with well-formed values. `prepare_kernel` checks it against the kernel and its target.

    cluster: None if the launch does not specify one.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] | None = None
    shared: int = 0
    args: tuple[Any, ...] = ()
    buffers: Mapping[str, BufferSpec] = field(default_factory=dict)
    maps: Mapping[str, TensorMapSpec] = field(default_factory=dict)
    kernel: str = ""


def parse_toml(text: str) -> Launch:
    """Return the launch in a TOML text; LayoutError `bad_launch` for a syntax error or a wrong field."""
    return parse_launch(load_toml(text))


def load_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text; LayoutError `bad_launch` gives the line of a syntax error."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LayoutError(
            "bad_launch",
            f"The launch is not TOML: {error}.",
            'Write it as grid = [1, 1, 1] and args = [1, "A"].',
            "launch",
        ) from None


def parse_launch(data: object) -> Launch:
    """Return the launch in an object; LayoutError names the wrong field, its value and the allowed ones."""
    launch = require_object(data, "launch", "Give an object with grid, block and args.", "bad_launch")
    check_keys(launch, KEYS)
    for name in ("grid", "block"):
        if name not in launch:
            raise LayoutError("bad_launch", f"{name} is missing.", f"Give {name} = [x, y, z].", name)
    block = _parse_extents(launch["block"], "block", MOST_BLOCK)
    if prod(block) > MOST_THREADS:
        raise LayoutError(
            "bad_launch",
            f"block is {list(block)}, {prod(block):,} threads.",
            f"At most {MOST_THREADS} threads a block.",
            "block",
        )
    buffers = {
        name: _parse_buffer(name, value) for name, value in _parse_table(launch.get("buffer", {}), "buffer").items()
    }
    maps = {
        name: _parse_map(name, value, buffers)
        for name, value in _parse_table(launch.get("tensor_map", {}), "tensor_map").items()
    }
    both = sorted(set(buffers) & set(maps))
    if both:
        raise LayoutError(
            "bad_launch",
            f"'{both[0]}' is the name of a buffer and of a tensor map.",
            "Give them different names, because an argument may be either.",
            f"tensor_map.{both[0]}",
        )
    args = launch.get("args", [])
    if not isinstance(args, list | tuple):
        raise LayoutError(
            "bad_launch", f"args is {quote_value(args)}.", 'Give a list, as in args = [512, "A"].', "args"
        )
    kernel = launch.get("kernel", "")
    if not isinstance(kernel, str):
        raise LayoutError(
            "bad_launch", f"kernel is {quote_value(kernel)}.", "Give a part of the entry's name.", "kernel"
        )
    cluster = _parse_extents(launch["cluster"], "cluster", (16, 16, 16)) if "cluster" in launch else None
    return Launch(
        _parse_extents(launch["grid"], "grid", MOST_GRID),
        block,
        cluster,
        parse_integer(launch.get("shared", 0), "shared", 0, 1 << 20),
        tuple(args),
        buffers,
        maps,
        kernel,
    )


def _parse_extents(value: object, name: str, most: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return up to three extents, completed with 1 as in dim3."""
    parts = list(value) if isinstance(value, list | tuple) else [value]
    if not 1 <= len(parts) <= 3:
        raise LayoutError("bad_launch", f"{name} has {len(parts)} extents.", f"Give {name} = [x, y, z].", name)
    x, y, z = (
        parse_integer(part, name, 1, limit, "bad_launch") for part, limit in zip([*parts, 1, 1][:3], most, strict=True)
    )
    return x, y, z


def _parse_table(value: object, name: str) -> dict[str, Any]:
    table = require_object(value, name, f"Give tables, as in [{name}.A].", "bad_launch")
    for key, inner in table.items():
        if not _NAME.fullmatch(str(key)):
            raise LayoutError(
                "bad_launch", f"{name} has the name {quote_value(key)}.", "Letters, digits and _, no digit first.", name
            )
        require_object(inner, f"{name}.{key}", f"Give a table, as in [{name}.{key}].", "bad_launch")
    return table


def _parse_integers(value: object, name: str, least: int, most: int, counts: range) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or len(value) not in counts:
        allowed = f"{counts.start}" + (f" to {counts.stop - 1}" if len(counts) > 1 else "")
        description = f"has {len(value)} numbers" if isinstance(value, list | tuple) else f"is {quote_value(value)}"
        noun = "integer" if counts == range(1, 2) else "integers"
        raise LayoutError("bad_launch", f"{name} {description}.", f"A list of {allowed} {noun}.", name)
    return tuple(_parse_integer(part, name, least, most) for part in value)


def _parse_integer(value: object, name: str, least: int, most: int) -> int:
    """Return an item of a list of integers. The LayoutError names the buffer or map."""
    try:
        return parse_integer(value, name, least, most)
    except LayoutError:
        raise LayoutError(
            "bad_launch", f"{name} has {quote_value(value)}.", f"Integers from {least} to {most}.", name
        ) from None


def _parse_word(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise LayoutError("bad_launch", f"{name} is {quote_value(value)}.", "Give text.", name)
    return value


def _parse_buffer(name: str, value: Mapping[str, Any]) -> BufferSpec:
    path = f"buffer.{name}"
    check_keys(value, BUFFER_KEYS, path)
    row = get_element_type(value["type"], f"{path}.type") if "type" in value else None
    file = _parse_word(value["file"], f"{path}.file") if "file" in value else ""
    output = _parse_word(value["output"], f"{path}.output") if "output" in value else ""
    if "shape" not in value:
        if "fill" in value:
            raise LayoutError("bad_launch", f"{path} has fill and no shape.", "Give shape and type.", f"{path}.shape")
        return BufferSpec(name, file, (), row, output=output)  # a file, or an array passed with the launch
    if file and "fill" in value:
        raise LayoutError("bad_launch", f"{path} has file and fill.", "Give one of them.", f"{path}.fill")
    shape = _parse_integers(value["shape"], f"{path}.shape", 1, 1 << 40, range(1, 9))
    if row is None and not file:
        raise LayoutError("bad_launch", f"{path} has no type.", 'Give type, as in type = "bf16".', f"{path}.type")
    if row and prod(shape) * row.bits > MOST_BUFFER * 8:
        raise LayoutError(
            "too_large",
            f"{path} has {prod(shape) * row.bits // 8:,} bytes.",
            f"At most {MOST_BUFFER:,}.",
            f"{path}.shape",
        )
    fill, number = _parse_fill(value.get("fill", 0), f"{path}.fill")
    operand = value.get("operand", "b" if name.lower() == "b" else "a")
    return BufferSpec(
        name,
        file,
        shape,
        row,
        fill,
        number,
        output,
        parse_choice(operand, f"{path}.operand", ("a", "b")),
        parse_choice(value.get("major", "K"), f"{path}.major", ("K", "MN")).lower(),
        parse_integer(value.get("pass", 1), f"{path}.pass", 1, 2),
    )


def _parse_fill(value: object, name: str) -> tuple[str, float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "0", float(value)
    if not isinstance(value, str) or value.strip().lower() not in FILLS:
        raise LayoutError(
            "bad_launch", f"{name} is {quote_value(value)}.", 'Give a number, "random" or "identify".', name
        )
    return value.strip().lower(), 0


def _parse_map(name: str, value: Mapping[str, Any], buffers: Mapping[str, BufferSpec]) -> TensorMapSpec:
    path = f"tensor_map.{name}"
    mode = parse_choice(value.get("mode", "tiled"), f"{path}.mode", tuple(MODE_KEYS))
    check_keys(value, (*MAP_KEYS, *MODE_KEYS[mode]), path)
    for key in ("buffer", "dims", *MODE_KEYS[mode]):
        if key not in value:
            raise LayoutError("bad_launch", f"{path} has no {key}.", f"Give {key}.", f"{path}.{key}")
    buffer = value["buffer"]
    if buffer not in buffers:
        raise LayoutError(
            "bad_launch",
            f"{path}.buffer is {quote_value(buffer)}.",
            f"The launch has the buffers {', '.join(buffers) or 'none'}.",
            f"{path}.buffer",
        )
    dims = _parse_integers(value["dims"], f"{path}.dims", 1, 1 << 32, range(1, 6))
    rank = range(len(dims), len(dims) + 1)
    kind, swizzle, interleave, fill = (
        _parse_word(value.get(key, default), f"{path}.{key}")
        for key, default in (("type", " "), ("swizzle", "none"), ("interleave", "none"), ("fill", "zero"))
    )
    return TensorMapSpec(
        name,
        buffer,
        dims,
        _parse_integers(value.get("strides", []), f"{path}.strides", 0, 1 << 40, range(len(dims) - 1, len(dims))),
        _parse_integers(value["box"], f"{path}.box", 1, 1 << 16, rank) if mode == "tiled" else (),
        _parse_integers(value.get("element_strides", [1] * len(dims)), f"{path}.element_strides", 1, 1 << 16, rank),
        kind,
        swizzle,
        interleave,
        fill,
        _parse_pixel_box(value, path, len(dims)) if mode == "im2col" else None,
    )


def _parse_pixel_box(value: Mapping[str, Any], path: str, rank: int) -> PixelBox:
    """Return the pixel box of a map in im2col mode: corners along W, H and D, and the counts."""
    count = range(max(rank - 2, 1), max(rank - 1, 2))
    lower, upper = (
        _parse_integers(value[key], f"{path}.{key}", -(1 << 15), (1 << 15) - 1, count)
        for key in ("pixel_lower", "pixel_upper")
    )
    channels, pixels = (_parse_integer(value[key], f"{path}.{key}", 1, 1 << 15) for key in ("channels", "pixels"))
    return PixelBox(lower, upper, channels, pixels)
