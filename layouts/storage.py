"""Where a program put element (mn, k) of an operand in shared memory: a canonical tile, panels, rows, or a CuTe layout.

The keys of each kind, and what they take, are KEYS; the pages' forms are made from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from layouts.errors import LayoutError
from layouts.pattern import parse_cute
from layouts.reading import choice, keys, number, shown
from layouts.swizzle import MODES, Mode, Swizzle, mode
from layouts.tiling import MOST_BYTES as MOST_BYTES_OF_BLOCK
from layouts.tiling import SWIZZLED_BY, Tile

# kind → its keys beside `kind`
KEYS: dict[str, tuple[str, ...]] = {
    "canonical": ("element_bits", "major", "swizzle", "swizzle_by", "mn", "k", "order", "base"),
    "atoms": ("inner", "width_bytes", "outer8_stride", "inner_stride", "line_stride", "swizzle", "swizzle_by", "base"),
    "rows": ("inner", "pitch_bytes", "swizzle", "swizzle_by", "base"),
    "cute": ("layout", "unit", "base"),
}
UNITS = ("elements", "bytes", "chunks")
MOST_BYTES = 1 << 30  # of a stride or an offset: far past shared memory, so that nothing below can overflow 64 bits


@dataclass(frozen=True)
class Storage:
    """Where a program put element (mn, k): `address` broadcasts; sizes are None where the storage has no end."""

    address: Any
    text: str
    mn: int | None = None
    k: int | None = None
    tile: Tile | None = None


def storage(spec: Mapping[str, Any], element_bits: int, major: str) -> Storage:
    """Read a storage of the contract: canonical, atoms, rows or cute. LayoutError names the field that is wrong, `storage.…`."""
    try:
        kind = choice(spec.get("kind"), "kind", KEYS, "bad_storage")
        keys(spec, ("kind", *KEYS[kind]))
        return {"canonical": _canonical, "atoms": _lines, "rows": _lines, "cute": _cute}[kind](spec, element_bits, major)
    except LayoutError as error:
        raise LayoutError(error.code, error.message, error.hint, f"storage.{error.field}".rstrip("."), error.nearest) from None


def _canonical(spec: Mapping[str, Any], element_bits: int, major: str) -> Storage:
    order = spec.get("order", "")
    tile = Tile(
        _bytes(spec, "element_bits", element_bits), choice(spec.get("major", major), "major", ("K", "MN"), "bad_major"), _mode(spec),
        _bytes(spec, "mn"), _bytes(spec, "k"), order and choice(order, "order", ("mn", "k"), "bad_tile"), _bytes(spec, "base", 0), _by(spec),
    )  # fmt: skip
    first = "K" if tile.order == "k" else "M or N"
    text = f"a canonical {tile.major}-major tile of {tile.mn}×{tile.k} (mn×k), atoms laid {first} first, swizzle {tile.mode.name} by {tile.swizzle_by}"
    return Storage(tile.address, text, tile.mn, tile.k, tile)


def _lines(spec: Mapping[str, Any], element_bits: int, major: str) -> Storage:
    """Rows with a pitch, or panels: lines of the dimension that is not `inner`, bytes along it."""
    inner = choice(spec.get("inner", major), "inner", ("K", "MN"), "bad_storage")
    base, swizzled, by = _bytes(spec, "base", 0), _mode(spec), _by(spec)
    if spec["kind"] == "rows":
        pitch = _bytes(spec, "pitch_bytes", least=1)

        def place(n: Any, b: Any) -> Any:
            return n * pitch + b

        text = f"rows with a pitch of {pitch} bytes"
    else:
        width = _bytes(spec, "width_bytes", least=1)
        outer, across, line = _bytes(spec, "outer8_stride"), _bytes(spec, "inner_stride", 0), _bytes(spec, "line_stride", width)

        def place(n: Any, b: Any) -> Any:
            return n // 8 * outer + n % 8 * line + b // width * across + b % width

        text = f"panels {width} bytes wide"

    def address(mn: Any, k: Any) -> Any:
        n, along = (mn, k) if inner == "K" else (k, mn)
        offset = place(n, along * element_bits // 8)
        xor = swizzled.swizzle()
        return xor(base + offset) if by == "address" else base + xor(offset)

    return Storage(address, f"{text}, {inner} inside, swizzle {swizzled.name} by {by}")


def _bytes(spec: Mapping[str, Any], name: str, default: int | None = None, least: int = 0) -> int:
    return number(spec.get(name, default), name, least, MOST_BYTES, "bad_storage")


def _mode(spec: Mapping[str, Any]) -> Mode:
    return mode(choice(spec.get("swizzle", "none"), "swizzle", [m.name for m in MODES], "unknown_swizzle"))


def _by(spec: Mapping[str, Any]) -> str:
    return choice(spec.get("swizzle_by", "address"), "swizzle_by", SWIZZLED_BY, "bad_storage")


_CUTE = re.compile(r"(?:Sw<\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*>\s*o\s*)?(smem_ptr\S*\s*o\s*)?(.+)\Z")


def _cute(spec: Mapping[str, Any], element_bits: int, major: str) -> Storage:
    text = str(spec.get("layout", "")).strip()
    match = _CUTE.match(text)
    unit = choice(spec.get("unit", "elements"), "unit", UNITS, "bad_storage")
    bits = {"bytes": 8, "elements": element_bits, "chunks": 128}[unit]
    if not match:
        raise LayoutError("bad_cute", "The layout is empty.", "e.g. Sw<3,4,3> o ((8,8),(8,2)):((8,64),(1,512)).", "layout")
    try:
        shape, stride = parse_cute(match[5])
    except LayoutError as error:
        raise LayoutError(error.code, error.message, error.hint, "layout") from None
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise LayoutError("bad_cute", f"'{shown(text)}' has not two modes.", "Give (mn, k).", "layout")
    base = _bytes(spec, "base", 0)
    swizzle = Swizzle(*(int(n) for n in match.group(1, 2, 3))) if match[1] else Swizzle(0, 0, 3)
    on_pointer = bool(match[4])  # CuTe's smem_ptr layouts XOR the byte address
    modes = [list(zip(_leaves(s), _leaves(d), strict=True)) for s, d in zip(shape, stride, strict=True)]
    mn, k = (prod(size for size, _ in mode_) for mode_ in modes)
    if mn * k * bits > MOST_BYTES_OF_BLOCK * 8:
        raise LayoutError(
            "too_large",
            f"A layout of {shown(mn)}×{shown(k)} {unit} does not fit the {MOST_BYTES_OF_BLOCK} bytes of shared memory a block has.",
            "Give the layout of one stage's tile.",
            "layout",
        )
    per_unit = bits // element_bits if bits > element_bits else 1
    k_scale, mn_scale = (1, 1)
    if per_unit > 1:  # chunks: the way that is contiguous counts chunks
        contiguous_k = any(step == 1 for _, step in modes[1])
        k_scale, mn_scale = (per_unit, 1) if contiguous_k else (1, per_unit)
    if bits < element_bits:  # bytes: the contiguous way counts bytes of an element
        narrower = element_bits // bits
        contiguous_k = any(step == 1 for _, step in modes[1])
        k, mn = (k // narrower, mn) if contiguous_k else (k, mn // narrower)

    def address(row: Any, col: Any) -> Any:
        inside = 0
        if per_unit > 1:
            inside = (col % per_unit if k_scale > 1 else row % per_unit) * element_bits // 8
            row, col = row // mn_scale, col // k_scale
        if bits < element_bits:
            row, col = (
                (row, col * (element_bits // bits)) if any(step == 1 for _, step in modes[1]) else (row * (element_bits // bits), col)
            )
        index = _crd2idx(row, modes[0]) + _crd2idx(col, modes[1])
        index = index if on_pointer else swizzle(index)
        byte = index * bits // 8 + inside
        return swizzle(base + byte) if on_pointer else base + byte

    return Storage(address, text, mn * mn_scale, k * k_scale)


def _leaves(nested: Any) -> list[int]:
    return [nested] if isinstance(nested, int) else [n for item in nested for n in _leaves(item)]


def _crd2idx(coordinate: Any, modes: list[tuple[int, int]]) -> Any:
    """CuTe's colexicographic coordinate to index of one mode; the last digit takes the rest."""
    index = 0
    for number_, (size, step) in enumerate(modes):
        digit = coordinate if number_ + 1 == len(modes) else coordinate % size
        index = index + digit * step
        coordinate = coordinate // size
    return index
