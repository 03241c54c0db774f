"""Where a program stores the elements of an operand that a load of lanes fills: any storage, or plain lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lanescope.cute.text import parse_layout
from lanescope.descriptor.matrix import WINDOW_BYTES
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.ptx.instruction import Operand
from lanescope.shared.storage import BitPlacement, Storage, storage
from lanescope.shared.swizzle import Swizzle

LINE = 1 << 16  # bytes from one line of make_line_storage to the next


def make_line_storage(operand: Operand, major: str) -> Storage:
    """Return a storage in plain lines, contiguous along K (major "K") or along M or N (major "MN").

    For c and d, "K" means contiguous along N.
    """
    if major not in ("K", "MN"):
        raise LayoutError("bad_major", f"No major '{major}'.", "Allowed: K, MN.", "major")
    bits = operand.container_bits

    def before(mn: Any, k: Any, bit: Any) -> Any:
        line, along = (mn, k) if major == "K" else (k, mn)
        return 8 * LINE * line + bits * along + bit

    placed = BitPlacement(before, Swizzle(0, 0, 0), "tile", 0)
    return Storage(placed.address, f"lines, {major} contiguous", placed=placed)


def make_operand_storage(spec: dict[str, Any], operand: Operand, major: str) -> Storage:
    """Parse the storage of an operand; LayoutError if it is too small or exceeds shared memory.

    For elements narrower than a byte, layouts in bytes or chunks, and canonical tiles, hold bytes of elements adjacent
    along K.
    """
    bits = operand.container_bits
    unit = _get_unit_bits(spec, bits)
    if spec.get("kind") == "canonical":
        if (declared := parse_integer(spec.get("element_bits", unit), "storage.element_bits")) != unit:
            raise LayoutError(
                "bad_storage",
                f"The tile has {declared}-bit elements, the operand {bits}-bit ones.",
                f"element_bits: {unit}.",
                "storage.element_bits",
            )
        spec = {**spec, "element_bits": unit}
    stored = storage(spec, unit, major)
    if unit != bits:
        stored = _split_bytes(stored, bits)
    mn, k = (operand.col_count, operand.row_count) if operand.name == "b" else (operand.row_count, operand.col_count)
    for has, needs, name in ((stored.mn, mn, "mn"), (stored.k, k, "k")):
        if has is not None and has < needs:
            field = "storage.layout" if spec.get("kind") == "cute" else f"storage.{name}"
            raise LayoutError(
                "bad_storage",
                f"The storage holds {stored.mn}×{stored.k} elements (mn×k), operand {operand.name} has {mn}×{k}.",
                f"Give {name} = {needs * bits // unit} or more.",
                field,
            )
    last = int(stored.compute_addresses(mn, k).max())
    if last >= WINDOW_BYTES:
        raise LayoutError(
            "reads_outside",
            f"The operand would reach byte {last}.",
            f"Shared addresses end below {WINDOW_BYTES}.",
            "storage",
        )
    return stored


def _get_unit_bits(spec: dict[str, Any], bits: int) -> int:
    """Return the bits of one unit of a storage's coordinates: an element, or a byte of several elements."""
    if bits >= 8:
        return bits
    if spec.get("kind") == "canonical":
        return bits if bits == 1 and spec.get("element_bits") in (1, "1") else 8
    if spec.get("kind") == "cute":
        try:
            layout_bits = parse_layout(str(spec.get("layout", ""))).unit_bits
        except LayoutError:
            return 8  # storage() reports the error
        return bits if (layout_bits or (bits if spec.get("unit", "elements") == "elements" else 8)) == bits else 8
    return bits


def _split_bytes(stored: Storage, bits: int) -> Storage:
    """Return a storage of bytes as a storage of the elements in them; elements adjacent along K share a byte."""
    placed = stored.placed
    assert placed is not None
    inner, per = placed.before, 8 // bits

    def before(mn: Any, k: Any, bit: Any) -> Any:
        return inner(mn, k // per, k % per * bits + bit)

    split = replace(placed, before=before)
    return replace(stored, address=split.address, placed=split, k=None if stored.k is None else stored.k * per)
