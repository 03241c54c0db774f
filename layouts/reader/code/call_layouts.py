"""Find CuTe layouts in the arguments of a call: tile_to_shape of GMMA::Layout_K_SW128_Atom<half_t> and the like."""

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
MOST_DEPTH = 4  # nesting of modes


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
    symbols: Mapping[str, str] = field(default_factory=dict)
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


def _parse_atom(value: Any) -> tuple[str, str, int | None, str | None] | None:
    """Parse the name of an atom into (major, swizzle, element bits, element); None for another value."""
    if isinstance(value, OpaqueValue) and value.head == "make_smem_layout_atom" and len(value.arguments) > 1:
        return _parse_dsl_atom(value)
    kind = value.typed if isinstance(value, ArrayValue) else value
    name = kind.name if isinstance(kind, ResolvedType) else value.head if isinstance(value, OpaqueValue) else ""
    atom = parse_atom_name(name)
    if atom is None or atom.sparse or atom.base32:
        return None
    arguments = kind.arguments if isinstance(kind, ResolvedType) else dict(value.named).get("<>", ())
    element = arguments[0] if arguments else None
    bits = element.bits if isinstance(element, ResolvedType) else ELEMENT_BITS.get(str(element).split("::")[-1])
    return atom.major, atom.mode.name, bits, str(element) if element is not None else None


def _parse_dsl_atom(call: OpaqueValue) -> tuple[str, str, int | None, str | None] | None:
    """Parse the Python DSL's make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, cutlass.Float16) likewise."""
    kind = parse_atom_kind(str(call.arguments[0]))
    if kind is None or kind.base32:
        return None
    name = re.split(r"[.:]", str(call.arguments[1]))[-1]
    bits = find_element_bits(name)
    return kind.major, kind.mode.name, bits, name if bits else None


def _list_extents(value: Any, depth: int = 0) -> list[int | None] | None:
    """Return the extents of make_shape(…) or Shape<…>; of a nested mode, their product."""
    items: list[Any] | None = None
    if isinstance(value, ArrayValue):
        items = [cell.value for cell in value.cells]
        if not items and isinstance(value.typed, ResolvedType) and value.typed.name in TUPLES:
            items = list(value.typed.arguments)
    if items is None or depth > MOST_DEPTH:
        return None
    return [_get_extent(item, depth) for item in items[:8]]


def _get_extent(value: Any, depth: int) -> int | None:
    if isinstance(value, ResolvedType):
        match = re.fullmatch(r"_(\d+)", value.name)
        if match:
            return int(match[1])
        return _get_extent(value.arguments[-1], depth) if value.name in INTEGERS and value.arguments else None
    inner = _list_extents(value, depth + 1)
    if inner:
        product = 1
        for extent in inner:
            if extent is None:
                return None
            product *= extent
        return product
    integer = get_integer(value) if not isinstance(value, str | ArrayValue) else None
    return integer.known if integer is not None else None


def _parse_tile_to_shape(value: Any) -> CallLayout | None:
    """Parse tile_to_shape(atom, shape[, order]) as a canonical tile; None for another value."""
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
    """Make the layout of tile_to_shape(atom, sizes, order); unknown sizes are None."""
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
