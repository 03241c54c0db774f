"""A CuTe layout inside a call: GMMA::Layout_K_SW128_Atom<half_t> with tile_to_shape, or the atom alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lanescope.cute.words import INTEGERS, TUPLES
from lanescope.cxx.sizes import ELEMENT_BITS, find_element_bits
from lanescope.errors import LayoutError
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.values import ArrayValue, OpaqueValue, ResolvedType
from lanescope.reader.smem_atoms import parse_atom_kind, parse_atom_name
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile

MOST_WALKED = 400
MOST_DEEP = 4  # modes in modes


@dataclass(frozen=True, slots=True)
class CallLayout:
    """A shared-memory layout: its element type, its swizzle, its storage as the contract has it, its tile where it is a
    canonical one, the box that fills another one."""

    element_bits: int | None
    element: str | None
    swizzle: str | None
    storage: Mapping[str, Any] | None
    tile: Tile | None = None
    symbols: Mapping[str, str] = field(default_factory=dict)
    box: tuple[int, int] | None = None


def find_layout(values: Iterable[Any]) -> CallLayout | None:
    """Find the first layout among some arguments, however deeply nested."""
    for value in values:
        for inner in walk_values(value):
            layout = _parse_tile_to_shape(inner)
            if layout is not None:
                return layout
    return None


def walk_values(value: Any) -> Iterator[Any]:
    """Yield a value and what it holds, each once, breadth first, up to a limit: values may hold one another."""
    waiting, seen = [value], {id(value)}
    for current in waiting:
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
        for each in inner:
            if each is not None and id(each) not in seen and len(waiting) < MOST_WALKED:
                seen.add(id(each))
                waiting.append(each)


def _parse_atom(value: Any) -> tuple[str, str, int | None, str | None] | None:
    """Parse (major, swizzle, element bits, element) of an atom's name."""
    if isinstance(value, OpaqueValue) and value.head == "make_smem_layout_atom" and len(value.arguments) > 1:
        return _dsl_atom(value)
    kind = value.typed if isinstance(value, ArrayValue) else value
    name = kind.name if isinstance(kind, ResolvedType) else value.head if isinstance(value, OpaqueValue) else ""
    found = parse_atom_name(name)
    if found is None or found.sparse or found.base32:
        return None
    arguments = kind.arguments if isinstance(kind, ResolvedType) else dict(value.named).get("<>", ())
    element = arguments[0] if arguments else None
    bits = element.bits if isinstance(element, ResolvedType) else ELEMENT_BITS.get(str(element).split("::")[-1])
    return found.major, found.mode.name, bits, str(element) if element is not None else None


def _dsl_atom(call: OpaqueValue) -> tuple[str, str, int | None, str | None] | None:
    """The same of the Python DSL: make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, cutlass.Float16)."""
    said = parse_atom_kind(str(call.arguments[0]))
    if said is None or said.base32:
        return None
    name = re.split(r"[.:]", str(call.arguments[1]))[-1]
    bits = find_element_bits(name)
    return said.major, said.mode.name, bits, name if bits else None


def _list_extents(value: Any, deep: int = 0) -> list[int | None] | None:
    """Return the extents of make_shape(…) or Shape<…>; for a nested mode their product."""
    items: list[Any] | None = None
    if isinstance(value, ArrayValue):
        items = [cell.value for cell in value.cells]
        if not items and isinstance(value.typed, ResolvedType) and value.typed.name in TUPLES:
            items = list(value.typed.arguments)
    if items is None or deep > MOST_DEEP:
        return None
    return [_get_extent(item, deep) for item in items[:8]]


def _get_extent(value: Any, deep: int) -> int | None:
    if isinstance(value, ResolvedType):
        found = re.fullmatch(r"_(\d+)", value.name)
        if found:
            return int(found[1])
        return _get_extent(value.arguments[-1], deep) if value.name in INTEGERS and value.arguments else None
    inner = _list_extents(value, deep + 1)
    if inner:
        product = 1
        for extent in inner:
            if extent is None:
                return None
            product *= extent
        return product
    read = get_integer(value) if not isinstance(value, str | ArrayValue) else None
    return read.known if read is not None else None


def _parse_tile_to_shape(value: Any) -> CallLayout | None:
    """Parse tile_to_shape(atom, shape[, order]) as a canonical tile; an atom alone is a tile of its own size."""
    if isinstance(value, OpaqueValue) and value.head == "tile_to_shape" and len(value.arguments) >= 2:
        atom = next((a for a in (_parse_atom(argument) for argument in walk_values(value.arguments[0])) if a), None)
        if atom is None:
            return None
        sizes = _list_extents(value.arguments[1]) or []
        order = _list_extents(value.arguments[2]) if len(value.arguments) > 2 else None
        return make_canonical_tile(atom, sizes, order)
    return None


def make_canonical_tile(
    atom: tuple[str, str, int | None, str | None], sizes: list[int | None], order: list[int | None] | None
) -> CallLayout:
    """Make the layout of tile_to_shape(atom, sizes, order); None for a size that is open."""
    major, swizzle, bits, element = atom
    mn, k = [*sizes, None, None][:2]
    outer, inner = [*(order or ()), None, None][:2]
    k_first = outer is not None and inner is not None and outer > inner
    storage = {
        "kind": "canonical",
        "element_bits": bits,
        "major": major,
        "swizzle": swizzle,
        "mn": mn,
        "k": k,
        "order": "k" if k_first else "mn",
        "base": None,
    }
    tile = None
    if bits and mn and k:
        try:
            tile = Tile(
                bits, major, get_mode(swizzle), mn, k, order="k" if k_first else "mn", base=0, swizzle_by="address"
            )
        except LayoutError:
            tile = None
    return CallLayout(bits, element, swizzle, storage, tile)
