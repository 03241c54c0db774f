"""Evaluate CuTe layouts in code: Layout<…>, ComposedLayout<…>, make_layout(…), composition(Swizzle…, …), GMMA's atoms,
tile_to_shape and the rest of the algebra, through aliases, templates and decltype.

CUTLASS 4.7: cute/layout.hpp, cute/swizzle_layout.hpp, cute/pointer_flagged.hpp (smem_ptr_flag_bits: the swizzle XORs
the byte address, the layout counts elements of so many bits) and cute/atom/mma_traits_sm90_gmma.hpp (the atoms).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.cute.calls.functions import FUNCTIONS, OpenCuteValueError, call_function
from lanescope.cute.calls.modes import MODE_FUNCTIONS
from lanescope.cute.layout import DEEPEST, MOST, CuteLayout
from lanescope.cute.making import MAKERS, PointerUnit, Value
from lanescope.cute.tuples import list_leaves
from lanescope.cute.words import CONSTANTS, INTEGERS
from lanescope.cxx.integers import INT
from lanescope.errors import LayoutError
from lanescope.reader.code.cute.cute_atoms import SMEM_SELECTORS, make_atom_layout, select_smem_atom
from lanescope.reader.code.cute.cute_mmas import MMA_CALLS, evaluate_mma_call, get_last_word
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.values import CALLED, ArrayValue, OpaqueValue, ResolvedType, shorten_name
from lanescope.reader.cute import shapes
from lanescope.reader.grammars import terms

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_NUMBER = re.compile(r"_(\d{1,10})")
_FLAG = re.compile(r"smem_(?:ptr|sparse_ptr)_flag(?:_bits)?")
_DECLTYPE = "decltype("
SIZES = frozenset("size tile_size rank cosize".split())
_CUTE = re.compile(r"\bcute\b")  # its namespace, or a path of its headers
_TEMPLATED = MODE_FUNCTIONS.keys() | {"upcast", "downcast"}  # numbers in their angle brackets matter
_OWNERS = frozenset(("self", CALLED))
_PURE = FUNCTIONS | MMA_CALLS | SMEM_SELECTORS | {"make_tiled_mma"}
_MOST_MODES = 16  # of a tuple
_KEYWORDS = frozenset(("typename", "template"))  # which the parser may pass on as values


def make_tensor_layout(call: OpaqueValue, text: str, bits: int | None = None) -> CuteLayout:
    """Return the layout of a make_tensor call, given after the pointer as a layout or as shape and stride.

    text: the source of the call. bits: of an element of unknown type. OpenCuteValueError if something is unknown,
    LayoutError for code that CuTe does not compile.
    """
    arguments = CuteEvaluator(text, bits).evaluate_arguments(call, 0, skipped=1)
    if not arguments:
        raise OpenCuteValueError("a layout")
    return _make_layout(arguments)


def make_call_layout(call: OpaqueValue, text: str, bits: int | None = None) -> CuteLayout:
    """Return the layout that a CuTe call makes. Errors as in make_tensor_layout."""
    return _make_layout([CuteEvaluator(text, bits).evaluate_value(call)])


def _make_layout(values: list[Value]) -> CuteLayout:
    layout: CuteLayout = call_function("make_layout", values, text="a layout")
    return layout


@dataclass(frozen=True, slots=True)
class CuteEvaluator:
    """An evaluator of CuTe values in one text. bits: of an element of unknown type."""

    text: str
    bits: int | None

    def evaluate_value(self, value: Any, depth: int = 0) -> Value:
        """Evaluate a number, a tuple, a layout or a swizzle. Errors as in make_tensor_layout."""
        if depth > DEEPEST:
            raise OpenCuteValueError(shorten_name(value))
        if isinstance(value, tuple):
            return tuple(self.evaluate_value(item, depth + 1) for item in value)
        if (atom := make_atom_layout(value, self.bits)) is not None:
            return atom
        if isinstance(value, ResolvedType):
            return self._evaluate_type(value, depth)
        if isinstance(value, ArrayValue):
            return self._evaluate_braces(value, depth)
        if isinstance(value, OpaqueValue):
            return self._evaluate_call(value, depth)
        if value is None or isinstance(value, str):
            raise OpenCuteValueError(str(value))
        read = get_integer(value)
        if read is None or read.known is None:
            raise OpenCuteValueError(shorten_name(value) if read is None else str(read))
        return _require_size(read.known)

    def evaluate_arguments(self, call: OpaqueValue, depth: int, skipped: int = 0) -> list[Value]:
        """Evaluate a call's arguments except the first `skipped`.

        Arguments up to the last one that was parsed as a comparison (`A<B<_8, _64>>{}`) are parsed again from their
        text.
        """
        arguments = [
            argument
            for argument in call.arguments
            if not (isinstance(argument, OpaqueValue) and argument.text in _KEYWORDS)
        ]
        split = 1 + max((n for n, argument in enumerate(arguments) if _is_misread(argument)), default=-1)
        if not split:
            return [self.evaluate_value(argument, depth + 1) for argument in arguments[skipped:]]
        last_arguments = [
            argument
            for argument in arguments[split:]
            if not (isinstance(argument, ArrayValue) and argument.typed is None and not argument.cells)
        ]
        return self._parse_arguments(call, skipped, len(last_arguments)) + [
            self.evaluate_value(argument, depth + 1) for argument in last_arguments
        ]

    def _parse_arguments(self, call: OpaqueValue, skipped: int, dropped_last: int) -> list[Value]:
        """Parse the arguments of a call from its text, without the first `skipped` and the last `dropped_last`."""
        home = terms.make_term_text(self.text)
        term = home.parse_term(call.span[0], alone=True)
        spelled = list(term.args or ()) if isinstance(term, terms.SyntaxTerm) and term.span[1] <= call.span[1] else []
        if len(spelled) - dropped_last < skipped:
            raise OpenCuteValueError(call.text)
        result: list[Value] = []
        for argument in spelled[skipped : len(spelled) - dropped_last]:
            result.append(shapes.evaluate_term(home, argument, self.bits))
            if shapes.is_open(result[-1]):
                raise OpenCuteValueError(home.format_words(argument))
        return result

    def _evaluate_type(self, kind: ResolvedType, depth: int) -> Value:
        """Evaluate a type as T{}."""
        name = kind.name.split("::")[-1]
        if match := _NUMBER.fullmatch(name):
            return _require_size(int(match[1]))
        if name in CONSTANTS:
            return CONSTANTS[name]
        if (inner := _get_inner(name, kind)) is not None:
            return self.evaluate_value(inner, depth + 1)
        if _FLAG.fullmatch(name):
            return PointerUnit(self._get_flag_bits(kind, depth))
        if name not in FUNCTIONS:
            raise OpenCuteValueError(str(kind))
        return call_function(name, [self.evaluate_value(item, depth + 1) for item in kind.arguments], text=str(kind))

    def _get_flag_bits(self, kind: ResolvedType, depth: int) -> int:
        """Return the element bits of a flagged pointer; for an unknown type, those of the instruction."""
        try:
            return int(self.evaluate_value(kind.arguments[0], depth + 1)) if kind.arguments else 1
        except OpenCuteValueError:
            if self.bits is None or not kind.arguments or "sizeof" not in str(kind.arguments[0]):
                raise
            return self.bits

    def _evaluate_braces(self, value: ArrayValue, depth: int) -> Value:
        """Evaluate T{…}, make_shape(…), and Python's tuples."""
        cells = [cell.value for cell in value.cells]
        typed = value.typed
        if not isinstance(typed, ResolvedType):
            if not cells:
                raise OpenCuteValueError(str(value))
            return tuple(self.evaluate_value(cell_value, depth + 1) for cell_value in cells)
        name = typed.name.split("::")[-1]
        if not cells and not name.startswith("make_"):
            return self.evaluate_value(typed, depth + 1)
        if name in INTEGERS or _NUMBER.fullmatch(name):
            return self.evaluate_value(typed, depth + 1)
        if name not in FUNCTIONS:
            raise OpenCuteValueError(str(typed))
        return call_function(name, [self.evaluate_value(item, depth + 1) for item in cells], text=str(typed))

    def _evaluate_call(self, term: OpaqueValue, depth: int) -> Value:
        """Evaluate a CuTe call; a plain name is unknown."""
        name = get_last_word(term.head)
        if not name:
            return self._evaluate_name(term, depth)
        named = dict(term.named)
        templates = named.pop("<>", ())
        if name in SMEM_SELECTORS:
            return select_smem_atom(term, lambda value: self.evaluate_value(value, depth + 1))
        if name in MMA_CALLS:
            return self._evaluate_mma_call(name, term, depth)
        if name not in FUNCTIONS:
            raise OpenCuteValueError(term.text)
        chosen = [item for item in templates if str(item) not in _KEYWORDS]
        mode = named.pop("mode", None)  # of the DSL
        places = self._evaluate_places(chosen if mode is None else [mode], depth) if name in _TEMPLATED else ()
        words = {word: self.evaluate_value(value, depth + 1) for word, value in named.items() if word not in _OWNERS}
        return call_function(name, self.evaluate_arguments(term, depth), places, words, term.text)

    def _evaluate_mma_call(self, name: str, term: OpaqueValue, depth: int) -> Value:
        """Evaluate a call on a TiledMMA: its sizes, and the shapes of partitioned tensors."""
        value = evaluate_mma_call(name, term, lambda value: self.evaluate_value(value, depth + 1))
        if value is None:
            raise OpenCuteValueError(term.text)
        return value

    def _evaluate_places(self, templates: Sequence[Any], depth: int) -> tuple[int, ...]:
        places = tuple(list_leaves(tuple(self.evaluate_value(template, depth + 1) for template in templates)))
        if not all(isinstance(place, int) for place in places):
            raise OpenCuteValueError(", ".join(map(str, templates)))
        return places

    def _evaluate_name(self, term: OpaqueValue, depth: int) -> Value:
        """Evaluate a name or a word: an atom, None, a number."""
        word = get_last_word(term.text)
        if term.kind is not None and not term.kind.open:
            return self.evaluate_value(term.kind, depth + 1)
        if term.text.split(".")[-1] == "None" or word in ("_", "Underscore"):
            return None
        if match := _NUMBER.fullmatch(word):
            return _require_size(int(match[1]))
        raise OpenCuteValueError(term.text)


def _get_inner(name: str, kind: ResolvedType) -> Any:
    """Return the argument of decltype or of an integer constant; None for another type."""
    if name == "decltype":
        return kind.arguments[0] if kind.arguments else None
    return kind.arguments[-1] if name in INTEGERS and kind.arguments else None


def _is_misread(value: Any) -> bool:
    """Return whether template brackets in a value were parsed as comparisons, or decltype as a function.

    Calls inside the value are not examined.
    """
    if isinstance(value, ArrayValue) and not value.cells:
        return _is_misread(value.typed)
    if isinstance(value, ResolvedType):
        return any(map(_is_misread, value.arguments))
    return isinstance(value, OpaqueValue) and (
        value.head == "misread" or (not value.head and value.text.startswith(_DECLTYPE))
    )


def _require_size(size: int) -> int:
    if not 0 <= size <= MOST:
        raise OpenCuteValueError(str(size))
    return size


def is_cute_value(value: Any) -> bool:
    """Return whether a value is a CuTe layout, shape or TiledMMA, whose type determines it."""
    if isinstance(value, ArrayValue):
        kind = value.typed
        return isinstance(kind, ResolvedType) and get_last_word(kind.name) in (*MAKERS, "decltype")
    return isinstance(value, OpaqueValue) and is_cute_call(get_last_word(value.head))


def is_cute_call(name: str) -> bool:
    """Return whether a CuTe function makes a layout, a tuple or a TiledMMA from its arguments."""
    return name in _PURE


def is_size_call(ev: Evaluator, name: str) -> bool:
    """Return whether a function is a CuTe function that returns a size, or an item of a shape."""
    return (name in SIZES or name == "get") and not ev.python and names_cute(ev.text)


def measure_cute(ev: Evaluator, term: OpaqueValue) -> SymbolicInt | None:
    """Return the number that size<0>(shape), get<0>(shape) and the like are; None for another value."""
    try:
        size = CuteEvaluator(ev.text, None).evaluate_value(term) if names_cute(ev.text) else None
    except (OpenCuteValueError, LayoutError):
        return None
    return SymbolicInt(size, INT) if isinstance(size, int) else None


@lru_cache(maxsize=4)
def names_cute(text: str) -> bool:
    """Return whether a text names CuTe."""
    return _CUTE.search(text) is not None


def freeze_value(value: Any, depth: int = 0) -> Any:
    """Copy a CuTe tuple, so that values and types made from it do not change with the variable."""
    if not isinstance(value, ArrayValue) or depth > DEEPEST or len(value.cells) > _MOST_MODES:
        return value
    cells = [Cell(freeze_value(cell.value, depth + 1), cell.kind, cell.name) for cell in value.cells]
    return ArrayValue(cells, value.element, value.name, value.typed)
