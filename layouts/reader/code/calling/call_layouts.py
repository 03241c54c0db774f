"""Find shared-memory layouts in the arguments of a call: tile_to_shape of GMMA::Layout_K_SW128_Atom<half_t> and the
like, and those that a program spells, a swizzle and a layout of two modes.

CUTLASS 4.7: cute/atom/copy_traits_sm90_tma.hpp. The swizzle Sw<B,4,3> of a layout that TMA fills is the 16·2^B-byte
mode, whatever the element; the box's innermost dimension is the layout's contiguous mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.calls.functions import OpenCuteValueError, call_function
from lanescope.cute.layout import CuteLayout
from lanescope.cute.words import TUPLES
from lanescope.cxx.sizes import find_element_bits
from lanescope.errors import LayoutError
from lanescope.reader.code.cute.cute_atoms import find_smem_atom
from lanescope.reader.code.cute.cute_mmas import get_type_bits
from lanescope.reader.code.cute.cute_values import CuteEvaluator, make_call_layout
from lanescope.reader.code.values import ArrayValue, OpaqueValue, ResolvedType
from lanescope.reader.cute.smem_atoms import SmemAtomName, make_canonical_layout, make_storage
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile
from lanescope.shared.tma import MOST_BOX

MOST_WALKED = 400
_MOST_ELEMENTS = 1 << 16
_WIDTHS = {1: "32B", 2: "64B", 3: "128B"}


@dataclass(frozen=True, slots=True)
class CallLayout:
    """A shared-memory layout.

    storage: in the form of the contract. tile: if the layout is canonical. box: the TMA box that fills another layout.
    """

    element_bits: int | None
    element: str | None
    swizzle: str | None
    storage: Mapping[str, Any] | None
    tile: Tile | None = None
    box: tuple[int, int] | None = None


def find_layout(values: Iterable[Any]) -> CallLayout | None:
    """Find the first layout in some arguments, at any depth."""
    for value in values:
        for inner in walk_values(value):
            layout = _parse_tile_to_shape(inner)
            if layout is not None:
                return layout
    return None


def walk_values(value: Any) -> Iterator[Any]:
    """Yield a value and its parts, each once, breadth first, up to MOST_WALKED: values may be cyclic."""
    pending, seen = [value], {id(value)}
    for current in pending:
        yield current
        inner: tuple[Any, ...] = ()
        if isinstance(current, OpaqueValue):
            inner = (*current.arguments, *(v for _, v in current.named), current.kind)
        elif isinstance(current, ResolvedType):
            inner = current.arguments
        elif isinstance(current, ArrayValue):
            inner = (current.typed, *(cell.value for cell in current.cells))
        elif isinstance(current, tuple):
            inner = current
        for part in inner:
            if part is not None and id(part) not in seen and len(pending) < MOST_WALKED:
                seen.add(id(part))
                pending.append(part)


def _list_extents(value: Any) -> list[int | None]:
    """Return the extents of make_shape(…) or Shape<…>; None for an unknown one."""
    if not isinstance(value, ArrayValue):
        return []
    items: Iterable[Any] = [cell.value for cell in value.cells]
    if not items and isinstance(value.typed, ResolvedType) and value.typed.name in TUPLES:
        items = value.typed.arguments
    return [_get_extent(item) for item in items]


def _get_extent(value: Any) -> int | None:
    """Return the size of a mode; None if it is unknown."""
    try:
        size: int = call_function("size", [CuteEvaluator("", None).evaluate_value(value)])
    except (OpenCuteValueError, LayoutError):
        return None
    return size


def _parse_tile_to_shape(value: Any) -> CallLayout | None:
    """Parse tile_to_shape(atom, shape[, order]) as a canonical tile; None for another value."""
    if not (isinstance(value, OpaqueValue) and value.head == "tile_to_shape" and len(value.arguments) >= 2):
        return None
    atom, element = next(filter(None, map(find_smem_atom, walk_values(value.arguments[0]))), (None, None))
    if atom is None or atom.sparse:
        return None
    bits, sizes = get_type_bits(element), _list_extents(value.arguments[1])
    order = _list_extents(value.arguments[2]) if len(value.arguments) > 2 else None
    return _make_canonical_tile(atom, (bits, None if element is None else str(element)), sizes, order)


def _make_canonical_tile(
    atom: SmemAtomName,
    element: tuple[int | None, str | None],
    sizes: Sequence[int | None],
    order: Sequence[int | None] | None,
) -> CallLayout:
    """Make the layout of tile_to_shape(atom, sizes, order) for an element (bits, name); unknown sizes are None."""
    storage, tile = make_storage(atom, element[0], sizes, order), None
    mn, k = storage["mn"], storage["k"]
    if element[0] and mn and k:
        with suppress(LayoutError):
            tile = Tile(element[0], atom.major, atom.mode, mn, k, order=storage["order"], base=0, swizzle_by="address")
    return CallLayout(*element, atom.mode.name, storage, tile)


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
    plain, mode = algebra.strip_swizzle(layout).list_indices(), get_mode(name)
    for major, order in product(("K", "MN"), ((0, 1), (1, 0))):
        block = algebra.strip_swizzle(make_canonical_layout(major, mode, bits))
        with suppress(LayoutError):  # the block does not divide the tile
            if np.array_equal(algebra.tile_to_shape(block, (mn, k), order).list_indices(), plain):
                return _make_canonical_tile(SmemAtomName(major, mode), (bits, element), (mn, k), order)
    return None


def _find_plain_box(layout: CuteLayout) -> tuple[int, int] | None:
    """Return the box of consecutive rows, contiguous mode first; None for another layout."""
    mn, k = (mode.size for mode in layout.modes)
    for stride, box in (((k, 1), (k, mn)), ((1, mn), (mn, k))):
        if np.array_equal(CuteLayout((mn, k), stride).list_indices(), layout.list_indices()):
            return box if max(box) <= MOST_BOX else None
    return None
