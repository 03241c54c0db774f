"""Recognise shared-memory layouts of CUTLASS and CuTe's DSL: swizzle atoms, and tile_to_shape of them.

CUTLASS 4.7, cute/atom/mma_traits_sm90_gmma.hpp and mma_traits_sm100.hpp: Layout_{K,MN}_{INTER,SW32,SW64,SW128}_Atom<T>
are 8 rows of one swizzle width, or its transpose. tile_to_shape repeats the atom, the first mode fastest unless a Step
or an order is passed; a third mode is the pipeline stage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lanescope.cute.algebra import tile_to_shape
from lanescope.cute.layout import CuteLayout
from lanescope.cute.making import drop_empty_swizzle
from lanescope.cute.text import parse_layout
from lanescope.cute.tuples import format_tuple
from lanescope.cute.words import LAYOUTS, SWIZZLES
from lanescope.cxx.sizes import find_element_bits
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.reader.cute import shapes
from lanescope.reader.cute.smem_atoms import (
    NAMED,
    SmemAtomName,
    make_canonical_layout,
    make_storage,
    parse_atom_kind,
    parse_atom_name,
)
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText
from lanescope.reader.meaning import TextMeaning, drop_repeats
from lanescope.shared.swizzle import Mode, Swizzle

_TILE_TO_SHAPE = re.compile(r"(?<![\w.])(?:\w+(?:::|\.)){0,6}tile_to_(?:mma_)?shape\s*\(")
_ALONE = re.compile(
    rf"(?<![\w.])(?:\w+::){{0,6}}{NAMED}\b(?!\s*[=:]\s*(?:Sw?<|smem_ptr|\())"
    r"|(?<![\w.])(?:\w+\.){0,6}make_smem_layout_atom\s*\("
    r"|(?<![\w.])(?:\w+\.){0,6}SmemLayoutAtomKind\.\w+"
    r"|(?<![\w:])composition\s*\(\s*(?:\w+::)?Swizzle\s*<"
)
_MOST_LAYOUTS = 16
_LONGEST_NAME = 80
_COMPOSITIONS = frozenset(("composition", "ComposedLayout", "make_composed_layout"))
_LAYS = LAYOUTS | {"ComposedLayout", "composition"}
_LAID = re.compile(r"Layout|make_(?:ordered_)?layout|composition\s*\(")
# names of tiles of A or B in shared memory, and names of other things
_OF_TILE = re.compile(
    r"(?i:smem|shared|shmem)\w*?(?:(?<=[a-z\d_])[AB]|_[ab])(?![a-z])|(?<![A-Za-z])(?:s_?[AB]|s_[ab])(?![a-z])"
    r"|(?<![A-Za-z])[ABab]_?(?:[Ss]mem|[Ss]hared)"
)
_OF_OTHER = re.compile(r"gmem|glob|thr|tid|copy|tiler|tv|cluster|warp|atom|block|reg|acc|(?<![A-Za-z])g[AB]", re.I)


@dataclass(frozen=True, slots=True)
class SwizzleAtom:
    """A swizzle atom: its swizzle, its layout with it (None if a number or the type is unknown), and the major and
    swizzle of a canonical atom.
    """

    swizzle: Swizzle
    bits: int | None
    laid: CuteLayout | None
    major: str = ""
    mode: Mode | None = None
    by_element: bool = False  # the swizzle applies to element indices, as in composition(Swizzle, Layout)
    opened: tuple[str, ...] = ()


def recognise_smem_layouts(text: str) -> tuple[TextMeaning, ...]:
    """Return the shared-memory layouts that a text makes from atoms, without repeats; bare atoms if none is tiled."""
    if not (_TILE_TO_SHAPE.search(text) or _ALONE.search(text)):
        return ()
    home = terms.make_term_text(text)
    tiles = [tile for term in terms.find_terms(home, _TILE_TO_SHAPE) if (tile := _parse_tile_to_shape(home, term))]
    if not tiles:
        tiles = [
            _Tile(swizzle_atom, None, None)
            for term in terms.find_terms(home, _ALONE)
            if (swizzle_atom := parse_swizzle_atom(home, term))
        ]
    return drop_repeats((tile.meaning for tile in tiles), _MOST_LAYOUTS)


def parse_swizzle_atom(home: TermText, value: Any) -> SwizzleAtom | None:
    """Parse the swizzle atom that a value names, makes or composes; a plain layout is an atom without swizzle."""
    value = home.resolve_value(value)
    if not isinstance(value, SyntaxTerm):
        return None
    if named := parse_atom_name(value.name):
        bits = 1 if named.in_bits else find_element_bits(home.find_name(value.angle[0])) if value.angle else None
        opened = () if bits else tuple(home.format_words(argument) for argument in (value.angle or ())[:1])
        return _make_canonical_atom(named.major, named.mode, bits, opened)
    if kind := parse_atom_kind(value.path):
        return _make_canonical_atom(kind.major, kind.mode, None, ())
    read_atom = _ATOM_READERS.get(value.name)
    return read_atom(home, value) if read_atom else None


def _parse_declared_atom(home: TermText, value: SyntaxTerm) -> SwizzleAtom | None:
    """Parse decltype(…)."""
    return parse_swizzle_atom(home, value.args[0]) if value.args else None


def _parse_atom_of_kind(home: TermText, value: SyntaxTerm) -> SwizzleAtom | None:
    """Parse make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, element_type)."""
    inner = parse_swizzle_atom(home, value.args[0]) if value.args else None
    if inner is None or inner.mode is None or not value.args:
        return None
    bits = find_element_bits(home.find_name(value.args[1])) if len(value.args) > 1 else None
    opened = (home.format_words(value.args[1]),) if len(value.args) > 1 and bits is None else ()
    return _make_canonical_atom(inner.major, inner.mode, bits, opened)


def _parse_unswizzled_atom(home: TermText, value: SyntaxTerm) -> SwizzleAtom | None:
    """Parse Layout<…>, make_layout(…) and make_ordered_layout(…)."""
    layout = shapes.parse_layout(home, value)
    if layout is None:
        return None
    names = tuple(shapes.list_symbols(layout.shape))
    laid = parse_layout(str(layout)) if layout.known else None
    return SwizzleAtom(Swizzle(0, 0, 0), None, laid, by_element=True, opened=names)


def _set_element(atom: SwizzleAtom, bits: int | None) -> SwizzleAtom:
    """Return the atom with elements of these bits if it is canonical and its element type is unknown; else
    unchanged.
    """
    if atom.bits is not None or atom.mode is None or not bits:
        return atom
    return _make_canonical_atom(atom.major, atom.mode, bits, ())


def _make_canonical_atom(major: str, mode: Mode, bits: int | None, opened: tuple[str, ...]) -> SwizzleAtom:
    laid = make_canonical_layout(major, mode, bits) if bits else None
    return SwizzleAtom(mode.swizzle(), bits, laid, major=major, mode=mode, opened=opened)


def _parse_composition(home: TermText, value: SyntaxTerm) -> SwizzleAtom | None:
    """Parse composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{}).

    The swizzle applies to element indices, or with smem_ptr_flag_bits<16> in a ComposedLayout<…> to byte addresses.
    """
    parts = [home.resolve_value(part) for part in value.inside]
    spelled = _parse_swizzle(home, parts[0]) if len(parts) in (2, 3) else None
    inner = shapes.parse_layout(home, parts[-1]) if spelled else None
    flagged, amount = _parse_between(home, parts[1] if len(parts) == 3 else 0)
    if spelled is None or inner is None or (amount is None and not flagged):
        return None
    (xor, opened), bits = spelled, amount if flagged else None
    if opened or not inner.known or amount is None:
        return SwizzleAtom(xor, bits, None, "", None, not flagged, (*shapes.list_symbols(inner.shape), *opened))
    laid = parse_layout(f"{xor} o {f'smem_ptr[{bits}b](unset)' if flagged else amount} o {inner}")
    return SwizzleAtom(xor, bits, laid if flagged else drop_empty_swizzle(laid), by_element=not flagged)


def _parse_swizzle(home: TermText, value: Any) -> tuple[Swizzle, list[str]] | None:
    """Return (swizzle, the text of its unknown numbers) of Swizzle<3,3,3>; None for other values."""
    if not isinstance(value, SyntaxTerm) or value.name not in SWIZZLES or len(value.inside) != 3:
        return None
    numbers = [(part, home.parse_number(part)) for part in value.inside]
    opened = [home.format_words(part) for part, number in numbers if number is None]
    return Swizzle(*(number or 0 for _, number in numbers)), opened


def _parse_between(home: TermText, value: Any) -> tuple[bool, int | None]:
    """Return what is between a swizzle and a layout: (True, bits of a flagged pointer) or (False, an offset)."""
    if not isinstance(value, SyntaxTerm) or value.name != "smem_ptr_flag_bits":
        return False, home.parse_number(value)
    return True, home.parse_number(value.inside[0]) if value.inside else None


_ATOM_READERS: Mapping[str, Callable[[TermText, SyntaxTerm], SwizzleAtom | None]] = {
    "decltype": _parse_declared_atom,
    **dict.fromkeys(("make_smem_layout_atom", "get_smem_layout_atom"), _parse_atom_of_kind),
    **dict.fromkeys(_COMPOSITIONS, _parse_composition),
    **dict.fromkeys(LAYOUTS, _parse_unswizzled_atom),
}


def find_tiled_layouts(text: str, bits: int | None = None) -> Iterator[tuple[str, tuple[int, int], CuteLayout]]:
    """Yield (name, span, layout) of every tile_to_shape with known sizes.

    bits: bits of an element of unknown type.
    """
    if "tile_to_" not in text or not _TILE_TO_SHAPE.search(text):
        return
    home = terms.make_term_text(text)
    for term in terms.find_terms(home, _TILE_TO_SHAPE):
        laid = find_known_layout(home, term, bits)
        if laid is not None:
            line = text[max(0, term.span[0] - 120) : term.span[0]]
            named = re.search(r"([A-Za-z_]\w*)\s*=\s*(?:decltype\s*\(\s*)?(?:\w+(?:::|\.)){0,3}$", line)
            yield named[1] if named else "", term.span, laid


def find_named_layouts(text: str, bits: int | None = None) -> Iterator[tuple[str, tuple[int, int], CuteLayout]]:
    """Yield (name, span, layout) of every layout named like a shared-memory tile: SmemLayoutA, sB_layout.

    Results of tile_to_shape (see `find_tiled_layouts`) and atoms are left out.
    """
    if not (_LAID.search(text) and _OF_TILE.search(text)):
        return
    home = terms.make_term_text(text)
    for definition in home.scopes.list_first_definitions():
        name, begin = definition.name, definition.begin
        if begin is None or definition.typed or len(name) > _LONGEST_NAME or not _names_tile(name):
            continue
        value = home.parse_term(begin)
        while isinstance(value, SyntaxTerm) and value.name == "decltype" and value.args:
            value = value.args[0]
        if isinstance(value, SyntaxTerm) and (value.name in _LAYS or parse_atom_name(value.name)):
            laid = find_known_layout(home, value, bits)
            if laid is not None:
                yield name, value.span, laid


def _names_tile(name: str) -> bool:
    """Return whether a variable is named as a tile of A or B is."""
    return _OF_TILE.search(name) is not None and _OF_OTHER.search(name) is None


def find_known_layout(home: TermText, value: Any, bits: int | None = None) -> CuteLayout | None:
    """Return parse_known_layout's layout; None also if CuTe has no such layout."""
    try:
        return parse_known_layout(home, value, bits)
    except LayoutError:
        return None


def parse_known_layout(home: TermText, value: Any, bits: int | None = None) -> CuteLayout | None:
    """Return the layout that a value spells, tiles or composes; None if unknown or without elements.

    LayoutError if CuTe has no such layout. bits: of an element of unknown type.
    """
    value = home.resolve_value(value)
    while isinstance(value, SyntaxTerm) and value.name == "decltype" and value.args:
        value = home.resolve_value(value.args[0])
    tile = _parse_tile_to_shape(home, value, bits) if isinstance(value, SyntaxTerm) else None
    if tile is None:
        atom = parse_swizzle_atom(home, value)
        tile = _Tile(_set_element(atom, bits), None, None) if atom is not None else None
    return tile.laid if tile is not None and tile.laid is not None and tile.laid.size else None


def _parse_tile_to_shape(home: TermText, term: SyntaxTerm, bits: int | None = None) -> _Tile | None:
    """Parse tile_to_shape(atom, shape, order)."""
    args = list(term.args or ())
    if term.name not in ("tile_to_shape", "tile_to_mma_shape") or len(args) < 2:
        return None
    atom = parse_swizzle_atom(home, args[0])
    if atom is None:
        atom = SwizzleAtom(Swizzle(0, 0, 0), None, None, by_element=True, opened=(home.format_words(args[0]),))
    shape = shapes.parse_nested(home, args[1])
    ordered = args[2] if len(args) > 2 else term.get_argument(9, "order", "trg_order")
    order = shapes.parse_nested(home, ordered) if ordered is not None else None
    ranks = tuple(order) if isinstance(order, tuple) and all(isinstance(n, int) for n in order) else None
    return _Tile(_set_element(atom, bits), shape if isinstance(shape, tuple) else (shape,), ranks)


@dataclass(frozen=True)
class _Tile:
    """A shared-memory layout: an atom repeated to fill a shape, in an order of the modes. shape: None for a bare
    atom.
    """

    atom: SwizzleAtom
    shape: Any
    order: tuple[int, ...] | None

    @cached_property
    def sizes(self) -> list[Any] | None:
        """The size of each mode, its words if unknown."""
        return [_get_extent(mode) for mode in self.shape] if self.shape is not None else None

    @cached_property
    def laid(self) -> CuteLayout | None:
        layout, sizes = self.atom.laid, self.sizes
        if layout is None or sizes is None:
            return layout
        return _tile_atom(layout, sizes, self.order) if all(isinstance(n, int) for n in sizes) else None

    @property
    def text(self) -> str | None:
        return str(self.laid) if self.laid else None

    @property
    def meaning(self) -> TextMeaning:
        missing = ["element_bits"] if self.atom.bits is None else []
        missing += ["cute"] if self.laid is None else []
        names = [*self.atom.opened, *(shapes.list_symbols(self.shape) if self.shape is not None else [])]
        undetermined = tuple(dict.fromkeys((*missing, *names)))
        return TextMeaning("layout", self.title, self.facts, self.notices, True, undetermined)

    @property
    def mn_k(self) -> tuple[Any, Any]:
        """The two sizes of the tile, their words if unknown."""
        sizes = self.sizes
        return (sizes[0], sizes[1]) if sizes and len(sizes) > 1 else _get_atom_sizes(self.atom)

    @property
    def stages(self) -> Any:
        return self.sizes[2] if self.sizes and len(self.sizes) > 2 else None

    @property
    def modes(self) -> int:
        if self.laid:
            return self.laid.rank
        return len(self.sizes) if self.sizes else 2

    @property
    def storage(self) -> dict[str, Any] | None:
        """The storage of a stage, as POST /memory takes it."""
        if self.atom.mode:
            named = SmemAtomName(self.atom.major, self.atom.mode)
            return make_storage(named, self.atom.bits, self.mn_k, self.order)
        return {"kind": "cute", "layout": self.text} if self.text and self.modes == 2 else None

    @property
    def swizzle(self) -> str | None:
        """The numbers of the swizzle; None if they apply to elements of an unknown layout."""
        xor = self.atom.swizzle
        return None if self.atom.by_element and self.atom.laid is None else f"{xor.bits},{xor.base},{xor.shift}"

    @property
    def facts(self) -> dict[str, Any]:
        layout = self.laid
        return {
            "cute": self.text,
            "swizzle": self.swizzle,
            "element_bits": self.atom.bits,
            "shape": format_tuple(layout.shape) if layout else None,
            "stride": format_tuple(layout.stride) if layout else None,
            "modes": self.modes,
            "size": layout.size if layout else None,
            "cosize": layout.cosize if layout else None,
            "storage": self.storage,
            **self.stage_facts,
        }

    @property
    def stage_facts(self) -> dict[str, Any]:
        """The number of stages and the bytes of a stage, if the tile has a third mode."""
        if self.stages is None:
            return {}
        (mn, k), bits = self.mn_k, self.atom.bits
        known = bits and isinstance(mn, int) and isinstance(k, int)
        return {
            "stages": self.stages if isinstance(self.stages, int) else None,
            "stage_bytes": mn * k * bits // 8 if known else None,
        }

    @property
    def notices(self) -> tuple[str, ...]:
        atom = self.atom
        if atom.mode is None or atom.major != "MN" or atom.bits in (None, 1, 16):
            return ()
        also = TCGEN05.allows_elements(atom.bits, "MN", atom.mode)
        other = "tcgen05 reads this tile." if also else "tcgen05 has no MN-major tile with this swizzle."
        return (f"wgmma reads MN-major tiles of 16-bit types only; this one has {atom.bits}-bit elements. {other}",)

    @property
    def title(self) -> str:
        what = "×".join("?" if not isinstance(n, int) else str(n) for n in (self.sizes or self.mn_k))
        atom = self.atom
        mode = f"{atom.major}-major, swizzle {atom.mode.name}" if atom.mode else f"Sw<{self.swizzle or '?'}>"
        stages = f", {self.stages} stages" if self.stages is not None else ""
        return f"Shared-memory layout {what}, {mode}{stages}"


def _get_extent(mode: Any) -> Any:
    size = shapes.compute_size(mode)
    return size if size is not None else format_tuple(mode)


def _get_atom_sizes(atom: SwizzleAtom) -> tuple[Any, Any]:
    shape = atom.laid.shape if atom.laid and isinstance(atom.laid.shape, tuple) else (None, None)
    return shapes.compute_size(shape[0]) if shape[0] else None, shapes.compute_size(shape[1]) if shape[1] else None


def _tile_atom(layout: CuteLayout, sizes: list[int], order: tuple[int, ...] | None) -> CuteLayout | None:
    """Return the layout of an atom repeated to fill a shape, each mode (atom, copies); None if it does not divide
    it.
    """
    order = order if order and len(order) == len(sizes) else None
    try:
        tiled = tile_to_shape(layout, tuple(sizes), order)
    except LayoutError:
        return None
    once = [mode.modes[1].size == 1 for mode in tiled.modes]
    strides = tuple((inner, 0 if one else step) for (inner, step), one in zip(tiled.stride, once, strict=True))
    return replace(tiled, stride=strides)
