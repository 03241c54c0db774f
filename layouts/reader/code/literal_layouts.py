"""The shared-memory layout of make_tiled_tma_atom where a program spells it: a swizzle and a layout of two modes.

CUTLASS 4.7: cute/atom/copy_traits_sm90_tma.hpp. The swizzle Sw<B,4,3> of a layout that TMA fills is the 16·2^B-byte
mode, whatever the element; the box's innermost dimension is the layout's contiguous mode.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cxx.sizes import find_element_bits
from lanescope.errors import LayoutError
from lanescope.reader.code.call_layouts import CallLayout, make_canonical_tile
from lanescope.reader.code.cute_mmas import OpenCuteValueError
from lanescope.reader.code.cute_values import make_call_layout
from lanescope.reader.code.values import OpaqueValue
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tma import MOST_BOX

_MOST_ELEMENTS = 1 << 16
_WIDTHS = {1: "32B", 2: "64B", 3: "128B"}


def find_named_element(value: Any) -> tuple[int | None, str | None]:
    """Return (bits, name) of an element type of the DSL: cutlass.Float16."""
    name = re.split(r"[.:]", str(value))[-1]
    bits = find_element_bits(name)
    return bits, name if bits else None


def read_literal_layout(value: Any, bits: int | None, element: str | None) -> CallLayout | None:
    """Read the layout in a call, for elements of `bits` bits; None if it is unknown."""
    if not isinstance(value, OpaqueValue) or bits is None:
        return None
    try:
        layout = make_call_layout(value, "", bits)
    except (OpenCuteValueError, LayoutError):
        return None
    if layout.rank != 2 or layout.offset or not 0 < layout.size <= _MOST_ELEMENTS:
        return None
    mn, k = (mode.size for mode in layout.modes)
    if layout.swizzle is None:
        box = _find_plain_box(layout)
        storage = {"kind": "cute", "layout": str(layout), "base": None}
        return CallLayout(bits, element, "none", storage, box=box) if box else None
    name = _WIDTHS.get(layout.swizzle.bits)
    if name is None or (layout.swizzle.base, layout.swizzle.shift) != (4, 3):
        return None
    plain = algebra.strip_swizzle(layout).list_indices()
    for major in ("K", "MN"):
        for order in ((0, 1), (1, 0)):
            if _is_canonical(plain, get_mode(name).get_atom_size(bits, major), (mn, k), (major, order)):
                return make_canonical_tile((major, name, bits, element), [mn, k], [*order])
    return None


def _is_canonical(plain: Any, atom: tuple[int, int], sizes: tuple[int, int], way: tuple[str, tuple[int, int]]) -> bool:
    """Return whether indices are those of a swizzle atom tiled to the sizes in some order."""
    (rows, columns), (major, order) = atom, way
    if sizes[0] % rows or sizes[1] % columns:
        return False
    block = CuteLayout((rows, columns), (columns, 1) if major == "K" else (1, rows))
    return bool(np.array_equal(algebra.tile_to_shape(block, sizes, order).list_indices(), plain))


def _find_plain_box(layout: CuteLayout) -> tuple[int, int] | None:
    """Return the box of consecutive rows, contiguous mode first; None for another layout."""
    rows, columns = (algebra.coalesce(mode) for mode in layout.modes)
    if not (isinstance(rows.shape, int) and isinstance(columns.shape, int)):
        return None
    down, across = rows.stride, columns.stride
    size = rows.shape, columns.shape
    if (across, down) == (1, size[1]):
        box = size[1], size[0]
    elif (down, across) == (1, size[0]):
        box = size
    else:
        return None
    return box if max(box) <= MOST_BOX else None
