"""CuTe values as people paste them: layouts, tilers, shapes and swizzles of C++, of the Python DSL, of pycute and as
CuTe prints them.

    (_8,_16):(_64,_1)                               printed
    Layout<Shape<_4,_8>,Stride<_8,_1>>{}            C++ types; a missing stride is compact column-major
    make_layout(make_shape(4, 8), LayoutRight{})    C++ calls
    cute.make_layout((4, 8), stride=(8, 1))         the DSL; Layout((4, 8), (8, 1)) is pycute's
    Tile<_32,Layout<Shape<_4,_2>,Stride<_1,_32>>,_> a tiler; so are (32:1,_,(4,2):(1,8)) and [32, None]
    Sw<3,4,3> o 0 o (8,64):(64,1)                   and ComposedLayout<Swizzle<3,4,3>,_0,Layout<…>>

`_8`, `8`, `Int<8>`, `C<2*4>` and `Int<8>{}` are 8; `_`, `Underscore`, `X` and `None` are the underscore. A name that
stands for a number is refused: its value is not in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lanescope.cute import algebra
from lanescope.cute import layout as cute
from lanescope.cute.layout import DEEPEST, LONGEST, MOST, CuteLayout
from lanescope.cute.tuples import Nested, explain_incongruence, is_congruent, list_leaves
from lanescope.cute.words import LEFT, RIGHT, TUPLES, UNDERSCORES
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.shared.swizzle import Swizzle

HINT = "e.g. (4,8):(8,1), Layout<Shape<_4,_8>,Stride<_8,_1>> or make_layout((4, 8), stride=(8, 1))."
_TOKEN = re.compile(
    r"\s*(?:(smem_ptr\s*\[?\s*\d{1,3}b\s*\]?(?:\s*\([^()]*\))?)|([0-9][0-9']{0,24})|"
    r"([A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)*)|(.))"
)
_NAMED = re.compile(r"(?:.*(?:::|\.))?(\w+)\Z")
_NUMBERS = ("Int", "C", "constant", "integral_constant", "Constant")
_WORDS = {  # names that are values
    **dict.fromkeys(UNDERSCORES),
    **dict.fromkeys(LEFT, "left"),
    **dict.fromkeys(RIGHT, "right"),
}
_SWIZZLES = ("Sw", "Swizzle", "S")
_CLOSE = {"(": ")", "[": "]", "<": ">", "{": "}"}

Value = Any  # an int, None, a tuple of Values, a CuteLayout, a Swizzle, or "left" and "right"


class CuteReader:
    """A recursive-descent parser of one text."""

    tuples: tuple[str, ...] = ("(", "[")  # what opens a tuple

    def __init__(self, text: str, field: str) -> None:
        if len(text) > LONGEST:
            raise LayoutError("bad_cute", f"The layout has {len(text)} characters.", f"At most {LONGEST}.", field)
        self.text, self.field, self.at, self.deep = text, field, 0, 0
        self.tokens = [next(part for part in match.groups() if part) for match in _TOKEN.finditer(text.rstrip())]

    def make_error(self, why: str, hint: str = HINT) -> LayoutError:
        return LayoutError("bad_cute", f"'{shorten_value(self.text, 80)}' {why}.", hint, self.field)

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take_token(self, token: str = "") -> str:
        found = self.next
        if token and found != token:
            raise self.make_error(
                f"has '{shorten_value(found)}' where '{token}' is expected" if found else f"ends before a '{token}'"
            )
        self.at += 1
        return found

    def parse_text(self) -> Value:
        if not self.tokens:
            raise LayoutError("bad_cute", "The layout is empty.", HINT, self.field)
        found = self.parse_composition()
        while self.next == ";":
            self.take_token()
        if self.next:
            raise self.make_error(f"goes on with '{shorten_value(self.next)}' after its layout")
        return found

    def parse_composition(self) -> Value:
        """Parse values with `o` between them: a swizzle, an offset, a layout."""
        parts: list[Value] = []
        while True:
            if self.next.startswith("smem_ptr"):
                unit = re.search(r"(\d+)b", self.take_token())
                parts.append(("unit", int(unit[1]) if unit else 8))
            else:
                parts.append(self.parse_pair())
            if self.next not in ("o", "∘"):
                break
            self.take_token()
        if isinstance(parts[-1], tuple) and parts[-1][:1] == ("unit",):
            raise self.make_error("ends with a pointer, and no layout behind it")
        if len(parts) == 1:
            return parts[0]
        made = self.make_compact_layout(parts[-1])
        for part in reversed(parts[:-1]):
            made = self.put_in_front(part, made)
        return made

    def put_in_front(self, part: Value, made: CuteLayout) -> CuteLayout:
        """Return swizzle ∘ layout or offset ∘ layout."""
        if isinstance(part, Swizzle) and made.swizzle is None:
            return replace(made, swizzle=part if part.bits else None)
        if isinstance(part, int) and not made.offset and made.swizzle is None:
            return replace(made, offset=part)
        if isinstance(part, tuple) and part[:1] == ("unit",):
            return replace(made, unit_bits=part[1])
        raise self.make_error(
            "composes values that CuTe does not print in a layout", "Allowed: Sw<B,M,S> o offset o shape:stride."
        )

    def parse_pair(self) -> Value:
        """Parse one value, or shape:stride."""
        found = self.parse_value()
        if self.next != ":":
            return found
        self.take_token()
        stride = self.parse_value()
        return self.layout(found, stride)

    def layout(self, shape: Value, stride: Value) -> CuteLayout:
        if stride == "right" or stride == "left":
            return (
                algebra.make_row_major(self.require_ints(shape))
                if stride == "right"
                else algebra.make_layout(self.require_ints(shape))
            )
        shape, stride = self.require_ints(shape), self.require_ints(stride)
        if not is_congruent(shape, stride):
            raise self.make_error(
                "has a shape and a stride that are not congruent, that is not nested alike:"
                f" {shorten_value(explain_incongruence(shape, stride), 80)}"
            )
        if 0 in list_leaves(shape):
            raise self.make_error("has a size of 0")
        return CuteLayout(shape, stride)

    def require_ints(self, value: Value) -> Nested:
        if isinstance(value, bool) or not isinstance(value, int | tuple) or value == ():
            what = "an underscore" if value is None else f"'{value}'"
            raise self.make_error(f"has {what} where a number or a tuple of numbers is expected")
        return value if isinstance(value, int) else tuple(self.require_ints(item) for item in value)

    def make_compact_layout(self, value: Value) -> CuteLayout:
        """Return a layout; a shape becomes one with compact column-major strides."""
        return value if isinstance(value, CuteLayout) else self.layout(value, "left")

    def parse_value(self) -> Value:
        self.deep += 1
        if self.deep > DEEPEST * 2:
            raise self.make_error(f"is nested deeper than {DEEPEST}")
        token = self.take_token()
        if token in self.tuples:
            found: Value = tuple(v for _, v in self.parse_items(_CLOSE[token]))
        elif re.fullmatch(r"_?[0-9][0-9']*", token):
            found = self.parse_number(token)
        elif re.match(r"[A-Za-z_]", token):
            found = self.parse_name(token)
        else:
            raise self.make_error(
                f"has '{shorten_value(token)}' where a value is expected" if token else "ends where a value is expected"
            )
        while self.next in ("{", "*") or (self.next == "(" and isinstance(found, CuteLayout | int)):
            if self.next == "*":
                self.take_token()
                right = self.parse_value()
                if not (isinstance(found, int) and isinstance(right, int)):
                    raise self.make_error("multiplies something that is not a number")
                found = self.parse_number(str(found * right))
            elif self.next == "(":
                found = self.parse_brackets(found)
            else:
                self.take_token()
                self.take_token("}")
        self.deep -= 1
        return found

    def parse_brackets(self, found: Value) -> Value:
        """Apply brackets after a value: nothing, as in `Int<8>{}()`."""
        self.take_token("(")
        self.take_token(")")
        return found

    def parse_number(self, token: str) -> int:
        digits = token.lstrip("_").replace("'", "")
        if len(digits) > 10 or int(digits) > MOST:
            raise self.make_error(f"has the number {shorten_value(token)}, more than {MOST}")
        return int(digits)

    def parse_items(self, close: str) -> list[tuple[str, Value]]:
        """Parse values up to a closing bracket, each with its keyword or ""."""
        out: list[tuple[str, Value]] = []
        while self.next != close:
            word = ""
            if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1] == "=":
                word = self.take_token()
                self.take_token("=")
            out.append((word, self.parse_composition()))
            if not self.next:
                raise self.make_error(f"ends before a bracket is closed: '{close}' is expected")
            if self.next != close:
                self.take_token(",")
        self.take_token(close)
        return out

    def parse_name(self, token: str) -> Value:
        """Parse a name, and what stands between its brackets."""
        name = (_NAMED.match(token) or ["", token])[1]
        if name in _WORDS:
            return _WORDS[name]
        if re.fullmatch(r"_\d+", name):
            return self.parse_number(name)
        if name in _SWIZZLES and self.next == "<":
            self.take_token("<")
            return self.parse_swizzle()
        if self.next not in ("<", "(", "{"):
            raise self.make_error(
                f"has the name '{shorten_value(token)}': its value is not in the text", "Write the number in its place."
            )
        values, words = self.parse_arguments()
        make = _MAKERS.get(name)
        if make is None:
            raise self.refuse_name(name)
        return make(self, name, values, words)

    def parse_arguments(self) -> tuple[list[Value], dict[str, Value]]:
        """Parse the values, and those given by name, between the brackets of a name: `<…>`, `(…)` or `<…>(…)`."""
        given: list[tuple[str, Value]] = []
        opened = ""
        while self.next in ("<", "(") and opened != "(":  # brackets behind the call are not its own
            opened = self.take_token()
            given += self.parse_items(_CLOSE[opened])
        return [v for word, v in given if not word], {word: v for word, v in given if word}

    def refuse_name(self, name: str) -> LayoutError:
        return self.make_error(f"has '{shorten_value(name)}', which is not a CuTe layout, shape or swizzle")

    def make_number(self, name: str, values: list[Value], words: dict[str, Value]) -> int:
        """Return the number of `Int<8>`."""
        numbers = [v for v in values if isinstance(v, int)]
        if len(numbers) != 1:
            raise self.make_error(f"has '{name}' without a number")
        return numbers[0]

    def make_tuple(self, name: str, values: list[Value], words: dict[str, Value]) -> tuple[Value, ...]:
        """Return the tuple of `Shape<_4,_8>` and of `make_shape(4, 8)`."""
        return tuple(values)

    def make_swizzle(self, name: str, values: list[Value], words: dict[str, Value]) -> Swizzle:
        """Return the swizzle of `make_swizzle(3, 4, 3)`."""
        if len(values) != 3:
            raise self.refuse_name(name)
        return Swizzle(*(self.require_ints(v) for v in values))

    def make_ordered_layout(self, name: str, values: list[Value], words: dict[str, Value]) -> CuteLayout:
        """Return the layout of `make_ordered_layout(shape, order)`."""
        shape, order = (*values, *words.values())[:2] if len(values) + len(words) == 2 else (None, None)
        order = self.require_ints(order)
        if isinstance(order, int) or any(isinstance(item, tuple) for item in order):
            raise self.make_error("orders modes that are nested")
        return algebra.make_ordered_layout(self.require_ints(shape), order)

    def make_composed_layout(self, name: str, values: list[Value], words: dict[str, Value]) -> CuteLayout:
        """Return the layout of `make_composed_layout(inner, offset, outer)`."""
        parts = [words.get("inner"), words.get("offset", 0), words.get("outer")] if words else values
        return self.make_composition("ComposedLayout", parts, {})

    def make_composition(self, name: str, values: list[Value], words: dict[str, Value]) -> CuteLayout:
        """Return the layout of `composition(…)` or `ComposedLayout<…>`, a swizzle in front or not."""
        if any(isinstance(v, Swizzle) for v in values):
            made = self.make_compact_layout(values[-1])
            for part in reversed(values[:-1]):
                made = self.put_in_front(part, made)
            return made
        if name == "composition" and len(values) == 2:
            return algebra.composition(self.make_compact_layout(values[0]), values[1])
        return self.make_layout(name, values, words)

    def make_layout(self, name: str, values: list[Value], words: dict[str, Value]) -> CuteLayout:
        """Return the layout of `make_layout(shape, stride)`, and that of several layouts side by side."""
        if len(values) > 1 and all(isinstance(v, CuteLayout) for v in values):
            return algebra.concatenate(*values)
        shape = values[0] if values else words.get("shape")
        stride = words.get("stride", values[1] if len(values) > 1 else "left")
        if isinstance(shape, CuteLayout) and len(values) == 1:
            return shape
        return self.layout(shape, stride)

    def parse_swizzle(self) -> Swizzle:
        parts: list[str] = []
        while self.next and self.next != ">":
            parts.append(self.take_token())
        self.take_token(">")
        return cute.parse_swizzle("".join(part.lstrip("_") for part in parts), self.field)


def parse_cute_layout(text: str, field: str = "layout") -> CuteLayout:
    """Parse a layout with everything that may precede it; a shape alone has compact column-major strides.

    >>> str(parse_cute_layout("Layout<Shape<_4,Int<8>>,Stride<_8,_1>>{}"))
    '(4,8):(8,1)'
    """
    reader = CuteReader(text, field)
    found = reader.parse_text()
    if isinstance(found, Swizzle) or found is None or isinstance(found, str):
        raise reader.make_error("is not a layout")
    return reader.make_compact_layout(found)


def parse_tiler(text: str, field: str = "tiler") -> algebra.Tiler:
    """Parse a tiler: a layout, an int, None for the underscore, or a tuple of tilers.

    >>> parse_tiler("Tile<_32,_,Layout<Shape<_4,_2>,Stride<_1,_8>>>")
    (32, None, CuteLayout(shape=(4, 2), stride=(1, 8), swizzle=None, unit_bits=None, offset=0))
    """
    reader = CuteReader(text, field)
    found = reader.parse_text()
    if isinstance(found, Swizzle | str) or 0 in _list_sizes(found):
        raise reader.make_error(
            "is not a tiler", "e.g. Tile<_32,_,Layout<Shape<_4,_2>,Stride<_1,_8>>> or (32:1,_,(4,2):(1,8))."
        )
    return found


def _list_sizes(tiler: algebra.Tiler) -> list[int]:
    if isinstance(tiler, tuple):
        return [n for item in tiler for n in _list_sizes(item)]
    return [] if tiler is None else [tiler] if isinstance(tiler, int) else [tiler.size]


def parse_coordinate(text: str, field: str = "coord") -> Nested:
    """Parse a coordinate: ints, tuples, and None for underscores."""
    reader = CuteReader(text, field)
    found = reader.parse_text()

    def check(value: Value) -> None:
        if isinstance(value, tuple):
            for item in value:
                check(item)
        elif not (value is None or isinstance(value, int)):
            raise reader.make_error("is not a coordinate", "e.g. (3,_) or (_,(1,_)).")

    check(found)
    return found


# printing -------------------------------------------------------------------------------------------------------------


def _format_ctype(nested: Nested, name: str) -> str:
    """Return `Shape<_4,Shape<_2,_8>>`; an int is `_4`."""
    return (
        f"_{nested}" if isinstance(nested, int) else f"{name}<{','.join(_format_ctype(item, name) for item in nested)}>"
    )


def _shorten_constants(text: str) -> str:
    """Return _N where CuTe has that name, else Int<N>."""
    return re.sub(r"_(\d+)", lambda m: m[0] if int(m[1]) in NAMED else f"Int<{m[1]}>", text)


# CUTLASS 4.7, include/cute/numeric/integral_constant.hpp
NAMED = {*range(11), 12, 16, 384, 512, 768, *range(24, 257, 8), *(1 << n for n in range(10, 20))}


def format_cxx(one: CuteLayout) -> str:
    """Return a layout as a C++ type: `Layout<Shape<_4,_8>,Stride<_8,_1>>`."""
    plain = _shorten_constants(f"Layout<{_format_ctype(one.shape, 'Shape')},{_format_ctype(one.stride, 'Stride')}>")
    if not one.swizzle and not one.offset:
        return plain
    xor = one.swizzle or Swizzle(0, 4, 3)
    return f"ComposedLayout<Swizzle<{xor.bits},{xor.base},{xor.shift}>,{_shorten_constants(f'_{one.offset}')},{plain}>"


def format_cxx_tiler(tiler: algebra.Tiler) -> str:
    """Return a tiler as a C++ type: `Tile<_32,_,Layout<…>>`."""
    if isinstance(tiler, tuple):
        return f"Tile<{','.join(map(format_cxx_tiler, tiler))}>"
    return (
        "Underscore"
        if tiler is None
        else _shorten_constants(f"_{tiler}")
        if isinstance(tiler, int)
        else format_cxx(tiler)
    )


def _format_python_tuple(nested: Nested) -> str:
    if isinstance(nested, int):
        return str(nested)
    return f"({', '.join(map(_format_python_tuple, nested))}{',' if len(nested) == 1 else ''})"


def format_python(one: CuteLayout) -> str:
    """Return a layout in CuTe's Python DSL: `cute.make_layout((4, 8), stride=(8, 1))`."""
    plain = f"cute.make_layout({_format_python_tuple(one.shape)}, stride={_format_python_tuple(one.stride)})"
    if not one.swizzle and not one.offset:
        return plain
    xor = one.swizzle or Swizzle(0, 4, 3)
    swizzle = f"cute.make_swizzle({xor.bits}, {xor.base}, {xor.shift})"
    return f"cute.make_composed_layout({swizzle}, {one.offset}, {plain})"


def format_static(one: CuteLayout) -> str:
    """Return a layout as CuTe prints static ones: `(_4,_8):(_8,_1)`."""
    front, _, last = str(one).rpartition(" o ")
    return (f"{front} o " if front else "") + re.sub(r"(\d+)", r"_\1", last)


_MAKERS: dict[str, Callable[[CuteReader, str, list[Value], dict[str, Value]], Value]] = {
    **dict.fromkeys(_NUMBERS, CuteReader.make_number),
    **dict.fromkeys(TUPLES, CuteReader.make_tuple),
    **dict.fromkeys(("Layout", "make_layout"), CuteReader.make_layout),
    **dict.fromkeys(("ComposedLayout", "composition"), CuteReader.make_composition),
    "make_ordered_layout": CuteReader.make_ordered_layout,
    "make_composed_layout": CuteReader.make_composed_layout,
    "make_swizzle": CuteReader.make_swizzle,
}
