"""Where a program stores element (mn, k) of an operand in shared memory: a canonical tile, panels, rows, a CuTe layout.

KEYS lists the keys of each kind; the pages' forms are derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cute import layout as cute
from lanescope.cute.text import parse_layout
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer, quote_value, shorten_value
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared.swizzle import Mode, Swizzle
from lanescope.shared.tiling import SWIZZLED_BY, Tile

# kind → its keys beside `kind`
KEYS: dict[str, tuple[str, ...]] = {
    "canonical": ("element_bits", "major", "swizzle", "swizzle_by", "mn", "k", "order", "base"),
    "atoms": ("inner", "width_bytes", "outer8_stride", "inner_stride", "line_stride", "swizzle", "swizzle_by", "base"),
    "rows": ("inner", "pitch_bytes", "swizzle", "swizzle_by", "base"),
    "cute": ("layout", "unit", "base"),
}
HINT = "Give {" + " or ".join(f"'kind': '{kind}'" for kind in KEYS) + ", …}."
CUTE_HINT = "Try Sw<3,4,3> o ((8,8),(8,2)):((8,64),(1,512))."
UNITS = ("elements", "bytes", "chunks")
MOST_BYTES = 1 << 30  # of a stride or an offset: far beyond shared memory, and sums of them fit in 64 bits


@dataclass(frozen=True, slots=True)
class BitPlacement:
    """The bit address of bit `bit` of element (mn, k).

    before: (mn, k, bit) → bit offset from the base before the XOR, broadcasts; xor: in bits, applied to the absolute
    address or to the offset from the base (by: "address" or "tile").
    """

    before: Callable[[Any, Any, Any], Any]
    xor: Swizzle
    by: str
    base: int

    def locate_bits(self, bits: Any) -> Any:
        """Return the absolute bit address of a bit offset from the base before the XOR."""
        return self.xor(8 * self.base + bits) if self.by == "address" else 8 * self.base + self.xor(bits)

    def address(self, mn: Any, k: Any) -> Any:
        """Return the absolute byte address of element (mn, k), or of the byte that contains it."""
        return self.locate_bits(self.before(mn, k, 0)) >> 3


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a program stores element (mn, k): `address` broadcasts; mn and k are None if the storage is unbounded."""

    address: Any
    text: str
    mn: int | None = None
    k: int | None = None
    tile: Tile | None = None
    placed: BitPlacement | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)  # the fields of the request, as `storage` takes them
    form: DescriptorFormat = WGMMA

    def compute_addresses(self, rows: int, cols: int, mn: int = 0, k: int = 0) -> NDArray[np.int64]:
        """Return the byte address of every element of the slice that begins at (mn, k): int64 [rows, cols]."""
        lines, columns = np.arange(mn, mn + rows)[:, None], np.arange(k, k + cols)[None, :]
        return np.broadcast_to(np.asarray(self.address(lines, columns), np.int64), (rows, cols))

    @property
    def base(self) -> int:
        """The address of the tile's first byte."""
        return self.tile.base if self.tile else _parse_bytes(self.spec, "base", 0)

    @property
    def mode(self) -> Mode:
        """The swizzle mode of the stored data; none for a CuTe layout with an XOR that is no mode's."""
        if self.tile:
            return self.tile.mode
        if self.spec.get("kind") != "cute":
            return _parse_mode(self.spec, self.form)
        plain, *swizzled = self.form.codes
        return next((m for m in swizzled if self.placed and self.placed.xor == m.swizzle(1)), plain)

    @property
    def swizzle_by(self) -> str:
        """ "address" if the XOR applies to the absolute address, "tile" if it applies to the offset from the base."""
        if self.tile:
            return self.tile.swizzle_by
        if self.spec.get("kind") == "cute":
            return "address" if "smem_ptr" in str(self.spec["layout"]) else "tile"
        return _parse_swizzle_by(self.spec)

    def get_major(self, default: str) -> str:
        """Return the contiguous dimension, K or MN; `default` if the storage does not determine it (a CuTe layout)."""
        return self.tile.major if self.tile else str(self.spec.get("inner", default))

    def get_number(self, name: str) -> int:
        """Return a number of the request; 0 if it was left out."""
        return _parse_bytes(self.spec, name, 0)

    @property
    def pitch_bytes(self) -> int | None:
        """The bytes from one row to the next; None for other kinds than rows."""
        return _parse_bytes(self.spec, "pitch_bytes") if self.spec.get("kind") == "rows" else None


def storage(spec: Mapping[str, Any], element_bits: int, major: str, form: DescriptorFormat = WGMMA) -> Storage:
    """Parse a storage of kind canonical, atoms, rows or cute, for descriptors of a format.

    LayoutError names the invalid field, `storage.…`.
    """
    try:
        kind = parse_choice(spec.get("kind"), "kind", KEYS, "bad_storage")
        check_keys(spec, ("kind", *KEYS[kind]))
        parsed = {
            "canonical": _make_canonical_storage,
            "atoms": _make_line_storage,
            "rows": _make_line_storage,
            "cute": _make_cute_storage,
        }[kind](spec, element_bits, major, form)
        return replace(parsed, spec={**spec, "kind": kind}, form=form)
    except LayoutError as error:
        raise error.move_to_field(f"storage.{error.field}".rstrip(".")) from None


def parse_operand_storage(spec: Mapping[str, Any], view: View) -> Storage:
    """Parse the storage of an operand; LayoutError also if its elements have another size than the instruction's."""
    stored = storage(spec, view.bits, view.major, view.form)
    require_element_size(stored, view)
    return stored


def require_element_size(stored: Storage, view: View) -> None:
    """Raise LayoutError if a tile has elements of another size than the instruction reads."""
    if stored.tile and stored.tile.element_bits != view.bits:
        raise LayoutError(
            "bad_storage",
            f"The tile has {stored.tile.element_bits}-bit elements, the instruction {view.bits}.",
            f"element_bits: {view.bits}.",
            "storage.element_bits",
        )


def make_tile_spec(tile: Tile) -> dict[str, Any]:
    """Return the fields of a tile, as `storage` takes them."""
    return {
        "kind": "canonical",
        "element_bits": tile.element_bits,
        "major": tile.major,
        "swizzle": tile.mode.name,
        "swizzle_by": tile.swizzle_by,
        "mn": tile.mn,
        "k": tile.k,
        "order": tile.order,
        "base": tile.base,
    }


def make_tile_storage(tile: Tile) -> Storage:
    """Return the storage of a tile."""
    return storage(make_tile_spec(tile), tile.element_bits, tile.major, tile.form)


def _make_canonical_storage(spec: Mapping[str, Any], element_bits: int, major: str, form: DescriptorFormat) -> Storage:
    order = spec.get("order", "")
    tile = Tile(
        _parse_bytes(spec, "element_bits", element_bits),
        parse_choice(spec.get("major", major), "major", ("K", "MN"), "bad_major"),
        _parse_mode(spec, form),
        _parse_bytes(spec, "mn"),
        _parse_bytes(spec, "k"),
        order=order and parse_choice(order, "order", ("mn", "k"), "bad_tile"),
        base=_parse_bytes(spec, "base", 0),
        swizzle_by=_parse_swizzle_by(spec),
        form=form,
    )
    first = "K" if tile.order == "k" else "M or N"
    pattern = f"swizzle {tile.mode.name} by {tile.swizzle_by}" if tile.mode.bits else "no swizzle"
    text = f"a canonical {tile.major}-major tile of {tile.mn}×{tile.k} (mn×k), atoms laid {first} first, {pattern}"

    def before(mn: Any, k: Any, bit: Any) -> Any:
        return 8 * tile.compute_offset_before(mn, k) + (k if tile.major == "K" else mn) * tile.element_bits % 8 + bit

    return Storage(
        tile.address,
        text,
        tile.mn,
        tile.k,
        tile,
        BitPlacement(before, tile.mode.swizzle(1), tile.swizzle_by, tile.base),
    )


def _make_line_storage(spec: Mapping[str, Any], element_bits: int, major: str, form: DescriptorFormat) -> Storage:
    """Parse rows with a pitch, or panels: lines of the dimension that is not `inner`, bytes along it."""
    inner = parse_choice(spec.get("inner", major), "inner", ("K", "MN"), "bad_storage")
    base, swizzled, by = _parse_bytes(spec, "base", 0), _parse_mode(spec, form), _parse_swizzle_by(spec)
    if spec["kind"] == "rows":
        pitch = _parse_bytes(spec, "pitch_bytes", least=1)

        def place(n: Any, b: Any) -> Any:
            return n * pitch + b

        text = f"rows with a pitch of {pitch} bytes"
    else:
        width = _parse_bytes(spec, "width_bytes", least=1)
        outer, across, line = (
            _parse_bytes(spec, "outer8_stride"),
            _parse_bytes(spec, "inner_stride", 0),
            _parse_bytes(spec, "line_stride", width),
        )

        def place(n: Any, b: Any) -> Any:
            return n // 8 * outer + n % 8 * line + b // width * across + b % width

        text = f"panels {width} bytes wide"

    def before(mn: Any, k: Any, bit: Any) -> Any:
        n, along = (mn, k) if inner == "K" else (k, mn)
        at = along * element_bits + bit
        return 8 * place(n, at // 8) + at % 8

    placed = BitPlacement(before, swizzled.swizzle(1), by, base)
    pattern = f"swizzle {swizzled.name} by {by}" if swizzled.bits else "no swizzle"
    return Storage(placed.address, f"{text}, {inner} contiguous, {pattern}", placed=placed)


def _parse_bytes(spec: Mapping[str, Any], name: str, default: int | None = None, least: int = 0) -> int:
    return parse_integer(spec.get(name, default), name, least, MOST_BYTES, "bad_storage")


def _parse_mode(spec: Mapping[str, Any], form: DescriptorFormat) -> Mode:
    return form.get_mode_by_name(parse_choice(spec.get("swizzle", "none"), "swizzle", form.names, "unknown_swizzle"))


def _parse_swizzle_by(spec: Mapping[str, Any]) -> str:
    return parse_choice(spec.get("swizzle_by", "address"), "swizzle_by", SWIZZLED_BY, "bad_storage")


def _make_cute_storage(spec: Mapping[str, Any], element_bits: int, major: str, form: DescriptorFormat) -> Storage:
    """Parse a CuTe layout (mn, k). Its index counts `unit`s.

    With smem_ptr it counts elements, and the XOR is on bytes.
    """
    text = spec.get("layout", "")
    if not isinstance(text, str):
        raise LayoutError("bad_cute", f"layout is {quote_value(text)}.", CUTE_HINT, "layout")
    layout = parse_layout(text)
    bits = _get_unit_bits(spec, layout, element_bits)
    if not isinstance(layout.shape, tuple) or len(layout.shape) != 2:
        raise LayoutError(
            "bad_cute", f"'{shorten_value(text, 80)}' does not have two modes.", "Give (mn, k).", "layout"
        )
    modes = [mode.digits for mode in layout.modes]
    extents = [prod(size for size, _ in mode_) for mode_ in modes]
    if extents[0] * extents[1] * bits > form.block_bytes * 8:
        raise LayoutError(
            "too_large",
            f"A layout of {extents[0]}×{extents[1]} units of {bits} bits does not fit the {form.block_bytes} bytes of"
            " shared memory a block has.",
            "Give the layout of one stage's tile.",
            "layout",
        )
    base = _parse_bytes(spec, "base", 0)
    # The dimension that counts units, if these are not elements.
    flat = 0 if bits == element_bits else _find_contiguous(modes, major)
    if extents[flat] * bits % element_bits:
        raise LayoutError(
            "bad_cute",
            f"{extents[flat]} units of {bits} bits are not complete {element_bits}-bit elements.",
            "Give the layout in elements.",
            "layout",
        )
    extents[flat] = extents[flat] * bits // element_bits
    xor = layout.swizzle or Swizzle(0, 0, 3)
    on_address = layout.unit_bits is not None

    def before(mn: Any, k: Any, bit: Any) -> Any:
        at = [mn, k]
        at[flat], inside = divmod(at[flat] * element_bits + bit, bits)
        return (
            layout.offset + cute.compute_index(at[0], modes[0]) + cute.compute_index(at[1], modes[1])
        ) * bits + inside

    unit = 8 if on_address else bits  # of the XOR
    placed = BitPlacement(
        before,
        Swizzle(xor.bits, xor.base + unit.bit_length() - 1, xor.shift),
        "address" if on_address else "tile",
        base,
    )
    return Storage(placed.address, f"the CuTe layout {shorten_value(text, 200)}", extents[0], extents[1], placed=placed)


def _get_unit_bits(spec: Mapping[str, Any], layout: cute.CuteLayout, element_bits: int) -> int:
    """Return the bits of the unit that the layout's index counts."""
    bits_of = {"elements": element_bits, "bytes": 8, "chunks": 128}
    if layout.unit_bits is None:
        return bits_of[parse_choice(spec.get("unit", "elements"), "unit", UNITS, "bad_storage")]
    unit = parse_choice(spec["unit"], "unit", UNITS, "bad_storage") if "unit" in spec else ""
    if layout.unit_bits not in (8, 16, 32, 128) and layout.unit_bits != element_bits:
        raise LayoutError(
            "bad_cute",
            f"smem_ptr[{layout.unit_bits}b] is not a multiple of a byte.",
            "Recast the layout to the element type.",
            "layout",
        )
    if unit and unit != "elements" and bits_of[unit] != layout.unit_bits:
        raise LayoutError(
            "bad_storage",
            f"unit is '{unit}', but smem_ptr counts {layout.unit_bits} bits.",
            "Leave the unit out: smem_ptr determines it.",
            "unit",
        )
    return layout.unit_bits


def _find_contiguous(modes: list[list[tuple[int, int]]], major: str) -> int:
    """Return which dimension, 0 (mn) or 1 (k), is contiguous in memory.

    It is the one whose first digit has stride 1; if both have (mode none in chunks), the one whose first digit has size
    1; if that does not decide, the major does.
    """
    first = [digits[0] for digits in modes]
    single = [dim for dim, digit in enumerate(first) if digit == (1, 1)]
    unit = single if len(single) == 1 else [dim for dim, digit in enumerate(first) if digit[1] == 1]
    return unit[0] if len(unit) == 1 else int(major == "K")
