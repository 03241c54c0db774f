"""Evaluate CuTe's shapes, strides, layouts and tilers in C++ and Python; open numbers keep their words."""

from __future__ import annotations

from itertools import chain
from typing import Any

from lanescope.cute import algebra, layout as cute, text as cute_text, tuples
from lanescope.cute.calls.functions import FUNCTIONS, OpenCuteValueError, call_function
from lanescope.cute.calls.modes import MODE_FUNCTIONS
from lanescope.cute.calls.operations import ALIASES, OPS
from lanescope.cute.layout import CuteLayout
from lanescope.cute.making import MAKERS, Value
from lanescope.cute.tuples import Symbol, find_size, has_symbol, list_leaves
from lanescope.cute.words import CONSTANTS, LAYOUTS
from lanescope.cxx.sizes import find_element_bits
from lanescope.errors import LayoutError
from lanescope.reader.cute.smem_atoms import SmemAtomName, make_canonical_layout, parse_atom_kind, parse_atom_name
from lanescope.reader.grammars.lookup import is_open as is_open_name
from lanescope.reader.grammars.terms import SyntaxTerm, TermText
from lanescope.shared.swizzle import Swizzle

Nested = Any  # an int, a symbol, or a tuple of Nested
_EVALUATED = FUNCTIONS - MODE_FUNCTIONS.keys() - ALIASES.keys()  # TermText evaluates the others
_MOST_EVALUATED = 1 << 13  # values per text
_ATOM_CALLS = frozenset(("make_smem_layout_atom", "get_smem_layout_atom"))


def evaluate_term(home: TermText, value: Any, bits: int | None = None, depth: int = 0) -> Value:
    """Return the CuTe value of a term, with symbols for open numbers.

    bits: of an element of unknown type. OpenCuteValueError for a layout that the text does not determine, LayoutError
    for one that CuTe does not compile.
    """
    value = home.resolve_value(value)
    home.evaluated += 1
    if depth > cute.DEEPEST or home.evaluated > _MOST_EVALUATED:
        raise OpenCuteValueError(home.format_words(value))
    if isinstance(value, tuple):
        return tuple(evaluate_term(home, item, bits, depth + 1) for item in value)
    if not isinstance(value, SyntaxTerm):
        return value
    if value.name == "decltype" and value.args:
        return evaluate_term(home, value.args[0], bits, depth + 1)
    if value.name in CONSTANTS and not is_open_name(home, value):
        return CONSTANTS[value.name]
    if (atom := find_atom(home, value)) is not None:
        return _make_atom(home, value, atom[0], find_atom_bits(home, *atom) or bits)
    if _calls_cute(home, value):
        return _call_function(home, value, bits, depth)
    number = home.get_number_or_words(value)
    return Symbol(number) if isinstance(number, str) else number


def _calls_cute(home: TermText, term: SyntaxTerm) -> bool:
    """Return whether a term calls a function of CuTe, not one of the text by its name."""
    own = term.name not in MAKERS and home.scopes.list_named("function", term.name)
    return term.name in _EVALUATED and bool(term.inside or term.named) and not own


def _call_function(home: TermText, term: SyntaxTerm, bits: int | None, depth: int) -> Value:
    templates, values = (
        [evaluate_term(home, item, bits, depth + 1) for item in items or ()] for items in (term.angle, term.args)
    )
    words = {word: evaluate_term(home, item, bits, depth + 1) for word, item in term.named}
    if term.name in MAKERS:
        templates, values = [], templates or values
        if term.name in LAYOUTS and not isinstance(values[0] if values else None, CuteLayout):
            values = values[:2]  # what follows may be brackets after the call
    swizzled = bool(values) and isinstance(values[0], Swizzle)
    text = home.format_words(term)
    if term.name in OPS and not swizzled and is_open((*values, *templates, *words.values())):
        raise OpenCuteValueError(text)
    return call_function(term.name, values, templates, words, text)


def is_open(value: Value) -> bool:
    """Return whether a value contains a symbol."""
    return any(
        isinstance(leaf, Symbol) or (isinstance(leaf, CuteLayout) and not leaf.known) for leaf in list_leaves(value)
    )


def find_atom(home: TermText, value: SyntaxTerm) -> tuple[SmemAtomName, Any] | None:
    """Return the swizzle atom that a term names, and the type of its elements, None without one."""
    if value.name in _ATOM_CALLS:
        kind, element, *_ = (*(value.args or ()), None, None)
        kind = home.resolve_value(kind)
        atom = find_atom(home, kind) if isinstance(kind, SyntaxTerm) else None
        return atom and (atom[0], element)
    named, element = parse_atom_name(value.name) or parse_atom_kind(value.path), (*(value.angle or ()), None)[0]
    return (named, element) if named is not None else None


def find_atom_bits(home: TermText, atom: SmemAtomName, element: Any) -> int | None:
    """Return the bits of an atom's element, None for an unknown type."""
    return 1 if atom.in_bits else find_element_bits(home.find_name(element)) if element is not None else None


def _make_atom(home: TermText, value: SyntaxTerm, atom: SmemAtomName, bits: int | None) -> CuteLayout:
    if bits is None:
        raise OpenCuteValueError(home.format_words(value))
    return make_canonical_layout(atom.major, atom.mode, bits)


def list_symbols(*values: Nested) -> list[str]:
    """Return the symbols in shapes and layouts, without repeats."""
    leaves = [leaf for value in values for leaf in list_leaves(value) if not isinstance(leaf, int)]
    names = (
        list_symbols(leaf.shape, leaf.stride or ()) if isinstance(leaf, CuteLayout) else [str(leaf)] for leaf in leaves
    )
    return list(dict.fromkeys(chain(*names)))


def parse_layout(home: TermText, value: Any) -> CuteLayout | None:
    """Parse a layout without swizzle, or a shape as a compact layout; None for other values."""
    try:
        found = evaluate_term(home, value)
        layout = call_function("make_layout", [found]) if isinstance(found, CuteLayout | tuple) else None
    except (OpenCuteValueError, LayoutError):
        return None
    return layout if isinstance(layout, CuteLayout) and not layout.swizzle and not layout.offset else None


def parse_printed_layout(words: str) -> CuteLayout | None:
    """Parse a printed layout, also `32:1` and plain sizes."""
    try:
        return algebra.strip_swizzle(cute_text.parse_cute_layout(words))
    except LayoutError:
        return None


def compute_covered_size(layout: CuteLayout) -> int | None:
    """Return the least size of a tile's mode with this permutation, gaps included; None if it contains a symbol.

    For a permutation that CuTe rejects, this is its number of elements.
    """
    if not layout.known or not tuples.is_congruent(layout.shape, layout.stride):
        return find_size(layout.shape)
    try:
        return algebra.get_covered_size(layout)
    except LayoutError:
        return find_size(layout.shape)


def parse_tiler(home: TermText, value: Any) -> tuple[str | None, list[Any]]:
    """Parse a tiler; return its CuTe Tile text (None if it tiles no mode) and the size of each mode.

    A size is an int, a symbol, or None for the complete mode.
    """
    try:
        return _describe_tiler(evaluate_term(home, value))
    except (OpenCuteValueError, LayoutError):
        return None, []


def parse_printed_tiler(words: str) -> tuple[str | None, list[Any]]:
    """Parse a printed tiler: (_32,_32,_16), (_,_,_), (32:1,32:1,16:1), (_32,(_8,_2):(_1,_16),_16)."""
    try:
        tiler = cute_text.parse_tiler(words.replace("*", "_"))
    except LayoutError:
        return None, []
    modes = tiler if isinstance(tiler, tuple) else ()
    return _describe_tiler(
        tuple(mode.shape if isinstance(mode, CuteLayout) and mode.stride == 1 else mode for mode in modes)
    )


def _describe_tiler(tiler: Value) -> tuple[str | None, list[Any]]:
    modes = tiler if isinstance(tiler, tuple) else ()
    sizes = [
        (compute_covered_size(mode) or str(mode))
        if isinstance(mode, CuteLayout)
        else mode
        if mode is None or has_symbol(mode)
        else find_size(mode)
        for mode in modes
    ]
    return (algebra.format_tiler(modes) if any(mode is not None for mode in modes) else None), sizes
