"""CuTe's layouts as code makes them, evaluated: Layout<…>, ComposedLayout<…>, make_layout(…), composition(Swizzle…, …),
GMMA's atoms, tile_to_shape and the rest of the algebra, behind aliases, templates and decltype.

CUTLASS 4.7: cute/layout.hpp, cute/swizzle_layout.hpp, cute/pointer_flagged.hpp (smem_ptr_flag_bits: the swizzle XORs
the byte address, the layout counts elements of so many bits) and cute/atom/mma_traits_sm90_gmma.hpp (the atoms).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.cute.calls.operations import ALIASES, OPS, apply_operation
from lanescope.cute.layout import DEEPEST, MOST, CuteLayout
from lanescope.cute.making import MAKERS, PointerUnit, UnmadeValueError, Value
from lanescope.cute.text import parse_layout
from lanescope.cute.words import INTEGERS, LEFT, RIGHT, UNDERSCORES
from lanescope.cxx.sizes import find_element_bits
from lanescope.errors import LayoutError
from lanescope.reader import smem_layouts, terms
from lanescope.reader.code.values import ArrayValue, OpaqueValue, ResolvedType, get_integer, shorten_name
from lanescope.reader.smem_atoms import SmemAtomName, parse_atom_kind, parse_atom_name
from lanescope.shared.swizzle import Swizzle

_NUMBER = re.compile(r"_(\d{1,10})")
_FLAG = re.compile(r"smem_(?:ptr|sparse_ptr)_flag(?:_bits)?")
_DECLTYPE = "decltype("
_UNSAID = frozenset(("typename", "template"))  # words that a parser hands on as values


class OpenLayoutValueError(Exception):
    """What a layout depends on and the text does not say, as it is written."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


def make_tensor_layout(call: OpaqueValue, text: str, bits: int | None = None) -> CuteLayout:
    """Return the layout that make_tensor is given behind its pointer: one layout, or a shape and a stride.

    text: that the call stands in; bits: of an element whose type is open. OpenLayoutValueError for what the text
    leaves open, LayoutError for what CuTe would not compile.
    """
    given = CuteEvaluator(text, bits).evaluate_arguments(call, 0, skipped=1)
    if not given:
        raise OpenLayoutValueError("a layout")
    return _make_layout(given)


def make_call_layout(call: OpaqueValue, text: str, bits: int | None = None) -> CuteLayout:
    """Return the layout that a call of CuTe's makes. Errors as in make_tensor_layout."""
    return _make_layout([CuteEvaluator(text, bits).evaluate_value(call)])


def _make_layout(given: list[Value]) -> CuteLayout:
    made: CuteLayout = _make("make_layout", given, {}, "a layout")
    return made


@dataclass(frozen=True, slots=True)
class CuteEvaluator:
    """CuTe's values in one text. bits: of an element whose type is open."""

    text: str
    bits: int | None

    def evaluate_value(self, value: Any, deep: int = 0) -> Value:
        """A number, a tuple, a layout, a swizzle. Errors as in make_tensor_layout."""
        if deep > DEEPEST:
            raise OpenLayoutValueError(shorten_name(value))
        if isinstance(value, tuple):
            return tuple(self.evaluate_value(one, deep + 1) for one in value)
        if isinstance(value, ResolvedType):
            return self._evaluate_type(value, deep)
        if isinstance(value, ArrayValue):
            return self._evaluate_braces(value, deep)
        if isinstance(value, OpaqueValue):
            return self._evaluate_call(value, deep)
        if value is None or isinstance(value, str):
            raise OpenLayoutValueError(str(value))
        read = get_integer(value)
        if read is None or read.known is None:
            raise OpenLayoutValueError(shorten_name(value) if read is None else str(read))
        return _require_size(read.known)

    def evaluate_arguments(self, call: OpaqueValue, deep: int, skipped: int = 0) -> list[Value]:
        """The values of a call's arguments, but for the first ones. Those before the last that the parser took for
        comparisons (`A<B<_8, _64>>{}`) are read as they are spelled.
        """
        given = [one for one in call.arguments if not (isinstance(one, OpaqueValue) and one.text in _UNSAID)]
        split = 1 + max((n for n, one in enumerate(given) if _is_misread(one)), default=-1)
        if not split:
            return [self.evaluate_value(one, deep + 1) for one in given[skipped:]]
        behind = [
            one for one in given[split:] if not (isinstance(one, ArrayValue) and one.typed is None and not one.cells)
        ]
        return self._spelled(call, skipped, len(behind)) + [self.evaluate_value(one, deep + 1) for one in behind]

    def _spelled(self, call: OpaqueValue, skipped: int, behind: int) -> list[Value]:
        """The arguments of a call as its text spells them, without the first and the last ones."""
        home = terms.make_term_text(self.text)
        found = home.parse_term(call.span[0], alone=True)
        spelled = (
            list(found.args or ()) if isinstance(found, terms.SyntaxTerm) and found.span[1] <= call.span[1] else []
        )
        if len(spelled) - behind < skipped:
            raise OpenLayoutValueError(call.text)
        out: list[Value] = []
        for one in spelled[skipped : len(spelled) - behind]:
            block = smem_layouts.parse_layout_text(home, one, self.bits)
            if block is None:
                raise OpenLayoutValueError(home.format_words(one))
            out.append(parse_layout(block))
        return out

    def _evaluate_type(self, kind: ResolvedType, deep: int) -> Value:
        """A type, as T{} would be."""
        name = kind.name.split("::")[-1]
        if found := _NUMBER.fullmatch(name):
            return _require_size(int(found[1]))
        if name in UNDERSCORES:
            return None
        if name in LEFT or name in RIGHT:
            return "left" if name in LEFT else "right"
        if (atom := parse_atom_name(name)) and not atom.base32:
            of = 1 if atom.in_bits else _get_element_bits(kind.arguments[:1], self.bits)
            return make_canonical_atom(atom, of)
        if name == "decltype" and kind.arguments:
            return self.evaluate_value(kind.arguments[0], deep + 1)
        if name in INTEGERS and kind.arguments:
            return self.evaluate_value(kind.arguments[-1], deep + 1)
        if _FLAG.fullmatch(name):
            return PointerUnit(self._get_flag_bits(kind, deep))
        given = [self.evaluate_value(one, deep + 1) for one in kind.arguments] if _is_cute_name(name) else []
        return _call_cute(name, given, {}, str(kind))

    def _get_flag_bits(self, kind: ResolvedType, deep: int) -> int:
        """Of what a flagged pointer points to: bits; those of an open type are the instruction's."""
        try:
            return int(self.evaluate_value(kind.arguments[0], deep + 1)) if kind.arguments else 1
        except OpenLayoutValueError:
            if self.bits is None or not kind.arguments or "sizeof" not in str(kind.arguments[0]):
                raise
            return self.bits

    def _evaluate_braces(self, value: ArrayValue, deep: int) -> Value:
        """T{…}, make_shape(…), and Python's tuples."""
        cells = [cell.value for cell in value.cells]
        typed = value.typed
        if not isinstance(typed, ResolvedType):
            if not cells:
                raise OpenLayoutValueError(str(value))
            return tuple(self.evaluate_value(one, deep + 1) for one in cells)
        name = typed.name.split("::")[-1]
        if not cells and not name.startswith("make_"):
            return self.evaluate_value(typed, deep + 1)
        if name in INTEGERS or _NUMBER.fullmatch(name):
            return self.evaluate_value(typed, deep + 1)
        return _call_cute(name, [self.evaluate_value(one, deep + 1) for one in cells], {}, str(typed))

    def _evaluate_call(self, term: OpaqueValue, deep: int) -> Value:
        """A call of CuTe's; a name that stands for itself is open."""
        if term.head.split(".")[-1] == "make_smem_layout_atom" and len(term.arguments) > 1:
            said = parse_atom_kind(str(term.arguments[0]))
            if said is None or said.base32:
                raise OpenLayoutValueError(str(term.arguments[0]))
            return make_canonical_atom(said, _get_element_bits(term.arguments[1:2], self.bits))
        name = _last_word(term.head)
        if not name:
            return self._of_text(term, deep)
        if not _is_cute_name(name):
            raise OpenLayoutValueError(term.text)
        given = self.evaluate_arguments(term, deep)
        named = dict(term.named)
        templates = named.pop("<>", ())
        named.pop("self", None)
        if templates and name in ("upcast", "downcast"):
            given += [self.evaluate_value(one, deep + 1) for one in templates[:1]]
        words = {word: self.evaluate_value(one, deep + 1) for word, one in named.items()}
        return _call_cute(name, given, words, term.text)

    def _of_text(self, term: OpaqueValue, deep: int) -> Value:
        """What is no call, but a name or a word: an atom, None, a number."""
        word = _last_word(term.text)
        if (atom := parse_atom_name(word)) and not atom.base32:
            return make_canonical_atom(atom, _get_element_bits((), self.bits))
        if term.kind is not None and not term.kind.open:
            return self.evaluate_value(term.kind, deep + 1)
        if term.text.split(".")[-1] == "None" or word in ("_", "Underscore"):
            return None
        if found := _NUMBER.fullmatch(word):
            return _require_size(int(found[1]))
        raise OpenLayoutValueError(term.text)


def _is_misread(value: Any) -> bool:
    """Whether a parser took a template's brackets for comparisons in a value, or decltype for a function; not in the
    calls that the value is made of.
    """
    if isinstance(value, ArrayValue) and not value.cells:
        return _is_misread(value.typed)
    if isinstance(value, ResolvedType):
        return any(map(_is_misread, value.arguments))
    return isinstance(value, OpaqueValue) and (
        value.head == "misread" or (not value.head and value.text.startswith(_DECLTYPE))
    )


def _require_size(found: int) -> int:
    if not 0 <= found <= MOST:
        raise OpenLayoutValueError(str(found))
    return found


def _is_cute_name(name: str) -> bool:
    return name in MAKERS or ALIASES.get(name, name) in OPS


def _call_cute(name: str, given: list[Value], words: dict[str, Value], text: str) -> Value:
    """What a type or a function of CuTe makes of its arguments."""
    op = ALIASES.get(name, name)
    if name in MAKERS and (op not in OPS or (given and isinstance(given[0], Swizzle))):
        return _make(name, given, words, text)
    if op not in OPS:
        raise OpenLayoutValueError(text)
    order = words.get("order", words.get("trg_order"))
    step = apply_operation(op, [*given, *([order] if order is not None else [])])
    if step.error:
        raise step.error
    return step.result


def _make(name: str, given: list[Value], words: dict[str, Value], text: str) -> Value:
    """What a constructor of CuTe makes; text: of its call."""
    try:
        return MAKERS[name](given, words)
    except UnmadeValueError as error:
        if error.wrong:
            raise LayoutError("bad_cute", f"'{text}' {error.why}.", error.hint or "Give one stride a size.") from None
        raise OpenLayoutValueError(text) from None


def _last_word(text: str) -> str:
    """The last name of a path: of cute::make_layout, of cute.make_layout."""
    return re.split(r"::|\.", text)[-1] if text else ""


def _get_element_bits(given: Sequence[Any], bits: int | None) -> int:
    """Of an atom's element type; `bits` where that is open."""
    for one in given:
        own = one.bits if isinstance(one, ResolvedType) else None
        if isinstance(one, OpaqueValue):
            own = find_element_bits(re.split(r"[.:]", str(one))[-1])
        if own:
            return own
    if bits is None:
        raise OpenLayoutValueError(shorten_name(given[0]) if given else "the element type")
    return bits


def make_canonical_atom(atom: SmemAtomName, bits: int) -> CuteLayout:
    """GMMA::Layout_K_SW128_Atom and its like, in elements of so many bits."""
    mode = atom.mode
    if bits not in (1, 2, 4, 8, 16, 32, 64):
        raise OpenLayoutValueError(f"elements of {bits} bits")
    run = mode.width_bytes * 8 // bits
    shape, stride = ((8, run), (run, 1)) if atom.major == "K" else ((run, 8), (1, run))
    return CuteLayout(shape, stride, mode.swizzle() if mode.bits else None, bits)


__all__ = ["OpenLayoutValueError", "make_call_layout", "make_canonical_atom", "make_tensor_layout"]
