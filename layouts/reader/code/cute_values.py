"""CuTe's layouts as code makes them, evaluated: Layout<…>, ComposedLayout<…>, make_layout(…), composition(Swizzle…, …),
GMMA's atoms, tile_to_shape and the rest of the algebra, behind aliases, templates and decltype.

CUTLASS 4.7: cute/layout.hpp, cute/swizzle_layout.hpp, cute/pointer_flagged.hpp (smem_ptr_flag_bits: the swizzle XORs
the byte address, the layout counts elements of so many bits) and cute/atom/mma_traits_sm90_gmma.hpp (the atoms).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from layouts import algebra
from layouts.cute import DEEPEST, MOST, CuteLayout
from layouts.cutecalls.operations import ALIASES, OPS, called
from layouts.errors import LayoutError
from layouts.reader.code.values import Array, Kind, Term, number, short
from layouts.swizzle import Swizzle, mode
from layouts.tuples import congruent, leaves

_NUMBER = re.compile(r"_(\d{1,10})")
_ATOM = re.compile(r"Layout_(K|MN)_(INTER|SW(?:32|64|128))_(?:Sp)?Atom(_Bits)?")
_KIND = re.compile(r"SmemLayoutAtomKind\.(K|MN)_(INTER|SW(?:32|64|128))$")
_DSL_BITS = re.compile(r"[BT]?(?:Float|U?[Ii]nt)(\d+)\w*")
_INTEGERS = frozenset(("Int", "C", "constant", "integral_constant", "Number", "Constant"))
_TUPLES = frozenset(
    f"{prefix}{name}" for name in ("Shape", "Stride", "Step", "Coord", "Tile", "tuple") for prefix in ("", "make_")
) | frozenset(
    f"make_{name}" for name in ("shape", "stride", "step", "coord", "tile")
) | frozenset(("Tuple", "IntTuple"))
_LEFT, _RIGHT = ("LayoutLeft", "GenColMajor"), ("LayoutRight", "GenRowMajor")
_FLAG = re.compile(r"smem_(?:ptr|sparse_ptr)_flag(?:_bits)?")
_UNSAID = frozenset(("typename", "template"))  # words that a parser hands on as values

Value = Any  # an int, None, a tuple of Values, a CuteLayout, a Swizzle, a Flag, "left" or "right"


class OpenValueError(Exception):
    """What a layout depends on and the text does not say, as it is written."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


@dataclass(frozen=True, slots=True)
class Flag:
    """smem_ptr_flag_bits<N>."""

    bits: int


def cute_layout(values: Sequence[Any], bits: int | None = None) -> CuteLayout:
    """Return the layout that some arguments make: one layout, or a shape and a stride, as make_tensor takes them.

    bits: of an element whose type is open. OpenValueError for what the text leaves open, LayoutError for what CuTe
    would not compile.
    """
    given = [value_of(one, bits) for one in values if not (isinstance(one, Term) and one.text in _UNSAID)]
    if not given:
        raise OpenValueError("a layout")
    return _made(given)


def value_of(value: Any, bits: int | None = None, deep: int = 0) -> Value:
    """A CuTe value: a number, a tuple, a layout, a swizzle. Errors as cute_layout."""
    if deep > DEEPEST:
        raise OpenValueError(short(value))
    if isinstance(value, tuple):
        return tuple(value_of(one, bits, deep + 1) for one in value)
    if isinstance(value, Kind):
        return _of_kind(value, bits, deep)
    if isinstance(value, Array):
        return _of_array(value, bits, deep)
    if isinstance(value, Term):
        return _of_call(value, bits, deep)
    if value is None or isinstance(value, str):
        raise OpenValueError(str(value))
    read = number(value)
    if read is None or read.known is None:
        raise OpenValueError(short(value) if read is None else str(read))
    return _sized(read.known)


def _sized(found: int) -> int:
    if not 0 <= found <= MOST:
        raise OpenValueError(str(found))
    return found


def _of_kind(kind: Kind, bits: int | None, deep: int) -> Value:
    """A type, as T{} would be."""
    name = kind.name.split("::")[-1]
    if found := _NUMBER.fullmatch(name):
        return _sized(int(found[1]))
    if name in ("Underscore", "X", "_"):
        return None
    if name in _LEFT or name in _RIGHT:
        return "left" if name in _LEFT else "right"
    if found := _ATOM.fullmatch(name):
        of = 1 if found[3] else _element_bits(kind.arguments[:1], bits)
        return canonical_atom(found[1], found[2], of)
    if name == "decltype" and kind.arguments:
        return value_of(kind.arguments[0], bits, deep + 1)
    if name in _INTEGERS and kind.arguments:
        return value_of(kind.arguments[-1], bits, deep + 1)
    if _FLAG.fullmatch(name):
        return Flag(_flag_bits(kind, bits, deep))
    given = [value_of(one, bits, deep + 1) for one in kind.arguments] if _is_cute(name) else []
    return _called(name, given, {}, str(kind))


def _flag_bits(kind: Kind, bits: int | None, deep: int) -> int:
    """Of what a flagged pointer points to: bits; those of an open type are the instruction's."""
    try:
        return int(value_of(kind.arguments[0], bits, deep + 1)) if kind.arguments else 1
    except OpenValueError:
        if bits is None or not kind.arguments or "sizeof" not in str(kind.arguments[0]):
            raise
        return bits


def _of_array(value: Array, bits: int | None, deep: int) -> Value:
    """T{…}, make_shape(…), and Python's tuples."""
    cells = [cell.value for cell in value.cells]
    typed = value.typed
    if not isinstance(typed, Kind):
        if not cells:
            raise OpenValueError(str(value))
        return tuple(value_of(one, bits, deep + 1) for one in cells)
    name = typed.name.split("::")[-1]
    if not cells and not name.startswith("make_"):
        return value_of(typed, bits, deep + 1)
    if name in _INTEGERS or _NUMBER.fullmatch(name):
        return value_of(typed, bits, deep + 1)
    return _called(name, [value_of(one, bits, deep + 1) for one in cells], {}, str(typed))


def _of_call(term: Term, bits: int | None, deep: int) -> Value:
    """A call of CuTe's; a name that stands for itself is open."""
    name = re.split(r"::|\.", term.head)[-1] if term.head else ""
    if term.head.split(".")[-1] == "make_smem_layout_atom" and len(term.arguments) > 1:
        said = _KIND.search(str(term.arguments[0]))
        if said is None:
            raise OpenValueError(str(term.arguments[0]))
        return canonical_atom(said[1], said[2], _element_bits(term.arguments[1:2], bits))
    if not name:
        if found := _ATOM.fullmatch(re.split(r"::|\.", term.text)[-1]):
            return canonical_atom(found[1], found[2], _element_bits((), bits))
        if term.kind is not None and not term.kind.open:
            return value_of(term.kind, bits, deep + 1)
        if term.text.split(".")[-1] == "None":
            return None
        if re.split(r"::|\.", term.text)[-1] in ("_", "Underscore"):
            return None
        if found := _NUMBER.fullmatch(re.split(r"::|\.", term.text)[-1]):
            return _sized(int(found[1]))
        raise OpenValueError(term.text)
    if not _is_cute(name):
        raise OpenValueError(term.text)
    plain = [one for one in term.arguments if not (isinstance(one, Term) and one.text in _UNSAID)]
    given = [value_of(one, bits, deep + 1) for one in plain]
    named = dict(term.named)
    templates = named.pop("<>", ())
    named.pop("self", None)
    if templates and name in ("upcast", "downcast"):
        given += [value_of(one, bits, deep + 1) for one in templates[:1]]
    words = {word: value_of(one, bits, deep + 1) for word, one in named.items()}
    return _called(name, given, words, term.text)


def _is_cute(name: str) -> bool:
    return name in _TUPLES or name in _CALLS or ALIASES.get(name, name) in OPS


_CALLS = frozenset(
    "Layout ComposedLayout Swizzle make_layout make_ordered_layout make_composed_layout make_swizzle composition".split()
)


def _called(name: str, given: list[Value], words: dict[str, Value], text: str) -> Value:
    """What a type or a function of CuTe makes of its arguments."""
    if name in _TUPLES:
        return tuple(given)
    if name in ("Swizzle", "make_swizzle"):
        if len(given) != 3 or not all(isinstance(one, int) for one in given):
            raise OpenValueError(text)
        return Swizzle(*given)
    if name == "make_composed_layout" and words:
        given = [words.get("inner"), words.get("offset", 0), words.get("outer")]
    if name in ("ComposedLayout", "make_composed_layout", "composition") and given and isinstance(given[0], Swizzle):
        return _composed(given, text)
    if name == "make_ordered_layout":
        shape, order = [*given, *words.values(), None, None][:2]
        if not isinstance(order, tuple) or not all(isinstance(one, int) for one in order):
            raise OpenValueError(text)
        return algebra.ordered(_ints(shape, text), order)
    if name in ("Layout", "make_layout"):
        shape = given or [words.get("shape")]
        return _made([*shape, words["stride"]] if "stride" in words else shape, text)
    op = ALIASES.get(name, name)
    if op in OPS:
        order = words.get("order", words.get("trg_order"))
        step = called(op, [*given, *([order] if order is not None else [])])
        if step.error:
            raise step.error
        return step.result
    raise OpenValueError(text)


def _composed(given: list[Value], text: str) -> CuteLayout:
    """Swizzle ∘ offset ∘ layout: with a flagged pointer in the middle the XOR is on the byte address."""
    found = given[-1]
    made = found if isinstance(found, CuteLayout) else _made([found], text)
    offset, unit = 0, None
    for one in given[1:-1]:
        if isinstance(one, Flag):
            unit = one.bits
        elif isinstance(one, int):
            offset = one
        else:
            raise OpenValueError(text)
    if made.swizzle is not None or made.offset or made.unit_bits or (unit and offset):
        raise OpenValueError(text)
    return replace(made, swizzle=given[0] if given[0].bits else None, offset=offset, unit_bits=unit)


def _made(given: list[Value], text: str = "a layout") -> CuteLayout:
    """make_layout of layouts, or of a shape and a stride."""
    if all(isinstance(one, CuteLayout) for one in given):
        return given[0] if len(given) == 1 else algebra.joined(*given)
    shape = _ints(given[0], text)
    if len(given) > 2:
        raise OpenValueError(text)
    stride = given[1] if len(given) == 2 else "left"
    if stride in ("left", "right"):
        return algebra.layout(shape) if stride == "left" else algebra.row_major(shape)
    stride = _ints(stride, text)
    if not congruent(shape, stride) or 0 in leaves(shape):
        raise LayoutError("bad_cute", f"Shape and stride of {text} are not nested alike.", "Give one stride a size.")
    return CuteLayout(shape, stride)


def _ints(value: Value, text: str) -> Any:
    if isinstance(value, tuple) and value:
        return tuple(_ints(one, text) for one in value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise OpenValueError(text)
    return value


def _element_bits(given: Sequence[Any], bits: int | None) -> int:
    """Of an atom's element type; `bits` where that is open."""
    for one in given:
        own = one.bits if isinstance(one, Kind) else None
        word = _DSL_BITS.fullmatch(re.split(r"[.:]", str(one))[-1]) if isinstance(one, Term) else None
        if own or word:
            return own or int((word or "0")[1])
    if bits is None:
        raise OpenValueError(short(given[0]) if given else "the element type")
    return bits


def canonical_atom(major: str, width: str, bits: int) -> CuteLayout:
    """GMMA::Layout_K_SW128_Atom and its like, in elements of so many bits."""
    swizzle = mode("none" if width == "INTER" else width.removeprefix("SW") + "B")
    if bits not in (1, 2, 4, 8, 16, 32, 64):
        raise OpenValueError(f"elements of {bits} bits")
    run = swizzle.width_bytes * 8 // bits
    shape, stride = ((8, run), (run, 1)) if major == "K" else ((run, 8), (1, run))
    return CuteLayout(shape, stride, Swizzle(swizzle.chunks.bit_length() - 1, 4, 3) if swizzle.chunks > 1 else None,
                      bits)  # fmt: skip


__all__ = ["OpenValueError", "canonical_atom", "cute_layout", "value_of"]
