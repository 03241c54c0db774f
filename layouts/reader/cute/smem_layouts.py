"""Recognise shared-memory layouts of CUTLASS and CuTe's DSL: swizzle atoms, and tile_to_shape of them.

CUTLASS 4.7, cute/atom/mma_traits_sm90_gmma.hpp and mma_traits_sm100.hpp: Layout_{K,MN}_{INTER,SW32,SW64,SW128}_Atom<T>
are 8 rows of one swizzle width, or its transpose. tile_to_shape repeats the atom, the first mode fastest unless a Step
or an order is passed; a third mode is the pipeline stage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lanescope.cute import algebra
from lanescope.cute.calls.functions import FUNCTIONS, OpenCuteValueError
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import find_size, format_tuple
from lanescope.cute.words import LAYOUTS
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.reader.cute import shapes
from lanescope.reader.cute.smem_atoms import NAMED, SmemAtomName, make_canonical_layout, make_storage, parse_atom_name
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText
from lanescope.reader.meaning import TextMeaning, drop_repeats
from lanescope.shared.swizzle import Swizzle

_TILE_TO_SHAPE = re.compile(r"(?<![\w.])(?:\w+(?:::|\.)){0,6}tile_to_(?:mma_)?shape\s*\(")
_ALONE = re.compile(
    rf"(?<![\w.])(?:\w+::){{0,6}}{NAMED}\b(?!\s*[=:]\s*(?:Sw?<|smem_ptr|\())"
    r"|(?<![\w.])(?:\w+\.){0,6}make_smem_layout_atom\s*\("
    r"|(?<![\w.])(?:\w+\.){0,6}SmemLayoutAtomKind\.\w+"
    r"|(?<![\w:])composition\s*\(\s*(?:\w+::)?Swizzle\s*<"
)
_MOST_LAYOUTS = 16
_LONGEST_NAME = 80
_MOST_PARTS = 3  # of a composition: swizzle, offset, layout
_LAYS = LAYOUTS | {"composition", "ComposedLayout", "make_composed_layout"}
_LAID = re.compile(r"Layout|make_(?:ordered_)?layout|composition\s*\(")
# names of tiles of A or B in shared memory, and names of other things
_OF_TILE = re.compile(
    r"(?i:smem|shared|shmem)\w*?(?:(?<=[a-z\d_])[AB]|_[ab])(?![a-z])|(?<![A-Za-z])(?:s_?[AB]|s_[ab])(?![a-z])"
    r"|(?<![A-Za-z])[ABab]_?(?:[Ss]mem|[Ss]hared)"
)
_OF_OTHER = re.compile(r"gmem|glob|thr|tid|copy|tiler|tv|cluster|warp|atom|block|reg|acc|(?<![A-Za-z])g[AB]", re.I)


@dataclass(frozen=True, slots=True)
class SwizzleAtom:
    """A swizzle atom.

    swizzle: None if it is not known; bits: of an element whose type the atom states; laid: the layout with its swizzle,
    None if a number or the type is unknown; named: the canonical atom.
    """

    swizzle: Swizzle | None
    bits: int | None
    laid: CuteLayout | None
    named: SmemAtomName | None = None
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


def parse_swizzle_atom(home: TermText, value: Any, bits: int | None = None) -> SwizzleAtom | None:
    """Parse the swizzle atom that a value names, makes or composes; a plain layout is an atom without swizzle.

    bits: of an element of unknown type.
    """
    value = _strip_decltype(home, value)
    if not isinstance(value, SyntaxTerm):
        return None
    if named := shapes.find_atom(home, value):
        return _make_named_atom(home, *named, bits)
    if value.name not in _LAYS or (value.name not in LAYOUTS and len(value.inside) > _MOST_PARTS):
        return None
    try:
        layout = shapes.evaluate_term(home, value)
    except OpenCuteValueError:
        if shapes.parse_layout(home, (*value.inside, *value.keywords.values())[-1]) is None:
            return None
        return SwizzleAtom(None, None, None, opened=home.list_missing(_list_open_words(home, value)))
    if not isinstance(layout, CuteLayout):
        return None
    swizzle = layout.swizzle or Swizzle(0, 0, 0)
    if layout.known:
        return SwizzleAtom(swizzle, layout.unit_bits, layout)
    names = tuple(shapes.list_symbols(layout.shape))
    return SwizzleAtom(swizzle if layout.unit_bits else None, layout.unit_bits, None, opened=names)


def _make_named_atom(home: TermText, atom: SmemAtomName, element: Any, bits: int | None) -> SwizzleAtom:
    bits = shapes.find_atom_bits(home, atom, element) or bits
    opened = () if bits or element is None else (home.format_words(element),)
    laid = make_canonical_layout(atom.major, atom.mode, bits) if bits else None
    return SwizzleAtom(atom.mode.swizzle(), bits, laid, atom, opened)


def _list_open_words(home: TermText, value: Any) -> Iterator[str]:
    """Yield the numbers that a text leaves open in a layout."""
    value = _strip_decltype(home, value)
    if isinstance(value, SyntaxTerm) and value.name in FUNCTIONS:
        for part in (*value.inside, *value.keywords.values()):
            yield from _list_open_words(home, part)
        return
    try:
        yield from shapes.list_symbols(shapes.evaluate_term(home, value))
    except OpenCuteValueError as error:
        yield error.words


def _strip_decltype(home: TermText, value: Any) -> Any:
    value = home.resolve_value(value)
    while isinstance(value, SyntaxTerm) and value.name == "decltype" and value.args:
        value = home.resolve_value(value.args[0])
    return value


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
    value = _strip_decltype(home, value)
    tile = _parse_tile_to_shape(home, value, bits) if isinstance(value, SyntaxTerm) else None
    if tile is None:
        atom = parse_swizzle_atom(home, value, bits)
        tile = _Tile(atom, None, None) if atom is not None else None
    return tile.laid if tile is not None and tile.laid is not None and tile.laid.size else None


def _parse_tile_to_shape(home: TermText, term: SyntaxTerm, bits: int | None = None) -> _Tile | None:
    """Parse tile_to_shape(atom, shape, order)."""
    args = list(term.args or ())
    if term.name not in ("tile_to_shape", "tile_to_mma_shape") or len(args) < 2:
        return None
    atom = parse_swizzle_atom(home, args[0], bits)
    if atom is None:
        atom = SwizzleAtom(None, None, None, opened=(home.format_words(args[0]),))
    shape = shapes.evaluate_term(home, args[1])
    ordered = args[2] if len(args) > 2 else term.get_argument(9, "order", "trg_order")
    order = shapes.evaluate_term(home, ordered) if ordered is not None else None
    ranks = tuple(order) if isinstance(order, tuple) and all(isinstance(n, int) for n in order) else None
    return _Tile(atom, shape if isinstance(shape, tuple) else (shape,), ranks)


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
        if self.atom.named:
            return make_storage(self.atom.named, self.atom.bits, self.mn_k, self.order)
        return {"kind": "cute", "layout": self.text} if self.text and self.modes == 2 else None

    @property
    def swizzle(self) -> str | None:
        """The numbers of the swizzle, None if they are unknown."""
        xor = self.atom.swizzle
        return None if xor is None else f"{xor.bits},{xor.base},{xor.shift}"

    @property
    def facts(self) -> dict[str, Any]:
        return {
            **make_layout_facts(self.laid or algebra.ONE),
            **({} if self.laid else dict.fromkeys(("cute", "shape", "stride", "size", "cosize"))),
            "swizzle": self.swizzle,
            "element_bits": self.atom.bits,
            "modes": self.modes,
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
        named, bits = self.atom.named, self.atom.bits
        if named is None or named.major != "MN" or bits in (None, 1, 16):
            return ()
        also = TCGEN05.allows_elements(bits, "MN", named.mode)
        other = "tcgen05 reads this tile." if also else "tcgen05 has no MN-major tile with this swizzle."
        return (f"wgmma reads MN-major tiles of 16-bit types only; this one has {bits}-bit elements. {other}",)

    @property
    def title(self) -> str:
        what = "×".join("?" if not isinstance(n, int) else str(n) for n in (self.sizes or self.mn_k))
        named = self.atom.named
        mode = f"{named.major}-major, swizzle {named.mode.name}" if named else f"Sw<{self.swizzle or '?'}>"
        stages = f", {self.stages} stages" if self.stages is not None else ""
        return f"Shared-memory layout {what}, {mode}{stages}"


def make_layout_facts(layout: CuteLayout) -> dict[str, Any]:
    """Return the facts of any layout: shape, strides, size and swizzle, and a storage if it has two modes."""
    swizzle = layout.swizzle
    return {
        "cute": str(layout),
        "swizzle": f"{swizzle.bits},{swizzle.base},{swizzle.shift}" if swizzle else None,
        "element_bits": layout.unit_bits,
        "shape": format_tuple(layout.shape),
        "stride": format_tuple(layout.stride),
        "modes": layout.rank,
        "size": layout.size,
        "cosize": layout.cosize,
        "storage": {"kind": "cute", "layout": str(layout)} if layout.rank == 2 else None,
    }


def _get_extent(mode: Any) -> Any:
    size = find_size(mode)
    return size if size is not None else format_tuple(mode)


def _get_atom_sizes(atom: SwizzleAtom) -> tuple[Any, Any]:
    shape = atom.laid.shape if atom.laid and isinstance(atom.laid.shape, tuple) else (None, None)
    return find_size(shape[0]) if shape[0] else None, find_size(shape[1]) if shape[1] else None


def _tile_atom(layout: CuteLayout, sizes: list[int], order: tuple[int, ...] | None) -> CuteLayout | None:
    """Return the layout of an atom repeated to fill a shape, each mode (atom, copies); None if it does not divide
    it.
    """
    order = order if order and len(order) == len(sizes) else None
    try:
        tiled = algebra.tile_to_shape(layout, tuple(sizes), order)
    except LayoutError:
        return None
    once = [mode.modes[1].size == 1 for mode in tiled.modes]
    strides = tuple((inner, 0 if one else step) for (inner, step), one in zip(tiled.stride, once, strict=True))
    return replace(tiled, stride=strides)
