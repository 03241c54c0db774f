"""The grammar of CuTe's text: a recursive-descent reader of layouts, tilers, shapes and swizzles.

layouts/cute/text.py says what the texts look like; layouts/cute/calls/ adds operations and names to this reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanescope.cute import algebra
from lanescope.cute.layout import DEEPEST, LONGEST, MOST, CuteLayout
from lanescope.cute.tuples import Nested, explain_incongruence, is_congruent, list_leaves
from lanescope.cute.words import INTEGERS, LEFT, PRINTED_SWIZZLES, RIGHT, TUPLES, UNDERSCORES
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.shared.swizzle import Swizzle

HINT = "e.g. (4,8):(8,1), Layout<Shape<_4,_8>,Stride<_8,_1>> or make_layout((4, 8), stride=(8, 1))."
PRINTED_HINT = "Allowed: 'shape:stride', e.g. '((4,8),2):((2,8),1)', with 'Sw<3,4,3> o' in front."
UNITS = (1, 2, 4, 8, 16, 32, 64, 128)  # bits
# Possessive (*+), so that a long text can be cut in one way only.
_POINTER = r"smem_ptr\s*+\[?\s*+[0-9]{1,3}b\s*+\]?"
_UNIT = re.compile(r"_?smem_ptr\s*\[?\s*([0-9]{1,3})b")
_TOKEN = re.compile(
    rf"\s*(?:(_?{_POINTER}(?:\s*+\([^()]*\))?)|([0-9][0-9']{{0,24}})|([A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)*)|(.))"
)
_NAMED = re.compile(r"(?:.*(?:::|\.))?(\w+)\Z")
_NUMBER = re.compile(r"_?[0-9][0-9']*")
_SWIZZLE_NAME = "|".join(PRINTED_SWIZZLES)
SWIZZLE = re.compile(
    rf"(?:(?:{_SWIZZLE_NAME})\s*<)?\s*([0-9]{{1,20}})\s*,\s*([0-9]{{1,20}})\s*,\s*(-?[0-9]{{1,20}})\s*>?"
)
# All that CuTe prints: numbers, brackets, a swizzle, a pointer, and the `o` between them.
_PRINTED = re.compile(
    rf"(?:[\s(),:0-9]|_(?=[0-9])|_?{_POINTER}(?:\s*+\(\s*(?:unset|0x[0-9a-fA-F]{{1,16}})\s*\))?"
    rf"|(?:{_SWIZZLE_NAME})\s*<[^<>]*>|o)*+"
)
_WORDS = {  # names that are values
    **dict.fromkeys(UNDERSCORES),
    **dict.fromkeys(LEFT, "left"),
    **dict.fromkeys(RIGHT, "right"),
}
_CLOSE = {"(": ")", "[": "]", "<": ">", "{": "}"}

Value = Any  # an int, None, a tuple of Values, a CuteLayout, a Swizzle, a PointerUnit, or "left" and "right"


@dataclass(frozen=True, slots=True)
class PointerUnit:
    """smem_ptr[16b]: the bits of what a layout behind a pointer counts."""

    bits: int


class CuteReader:
    """A recursive-descent parser of one text. printed: whether it reads only what CuTe prints of a layout."""

    tuples: tuple[str, ...] = ("(", "[")  # what opens a tuple

    def __init__(self, text: str, field: str, printed: bool = False) -> None:
        if len(text) > LONGEST:
            raise LayoutError("bad_cute", f"The layout has {len(text)} characters.", f"At most {LONGEST}.", field)
        self.text, self.field, self.printed, self.at, self.deep = text.strip(), field, printed, 0, 0
        self.hint, self.deepest = (PRINTED_HINT, DEEPEST) if printed else (HINT, 2 * DEEPEST)  # types nest twice
        if not self.text:
            raise LayoutError("bad_cute", "The layout is empty.", self.hint, field)
        if printed and not (_PRINTED.fullmatch(self.text) and self.text.count(":") == 1):
            raise self.make_error("is not a CuTe layout")
        self.tokens = [next(part for part in match.groups() if part) for match in _TOKEN.finditer(self.text)]

    def make_error(self, why: str, hint: str = "") -> LayoutError:
        return LayoutError("bad_cute", f"'{shorten_value(self.text, 80)}' {why}.", hint or self.hint, self.field)

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
        found = self.parse_composition()
        while self.next == ";":
            self.take_token()
        if self.next:
            raise self.make_error(f"goes on with '{shorten_value(self.next)}' after its layout")
        return found

    def parse_composition(self) -> Value:
        """Parse values with `o` between them: a swizzle, a pointer, an offset, a layout."""
        parts = [self.parse_part()]
        while self.next in ("o", "∘") or self.next.startswith("_smem_ptr"):  # Sw<3,4,3>_smem_ptr[16b]
            if len(self.next) == 1:
                self.take_token()
            parts.append(self.parse_part())
        if isinstance(parts[-1], PointerUnit):
            raise self.make_error("ends with a pointer, and no layout behind it")
        return parts[0] if len(parts) == 1 else self.compose(parts)

    def parse_part(self) -> Value:
        """Parse a pointer, a value, or shape:stride."""
        pointer = _UNIT.match(self.next)
        if pointer is None:
            return self.parse_pair()
        self.take_token()
        bits = int(pointer[1])
        if bits not in UNITS:
            raise self.make_error(f"counts units of {bits} bits", f"Allowed: {', '.join(map(str, UNITS))}.")
        return PointerUnit(bits)

    def compose(self, parts: Sequence[Value]) -> CuteLayout:
        """Return swizzle ∘ pointer ∘ offset ∘ layout; all but the layout may be missing."""
        *front, last = parts
        made = self.make_compact_layout(last)
        swizzle, unit, offset = (
            front.pop(0) if front and isinstance(front[0], kind) else None for kind in (Swizzle, PointerUnit, int)
        )
        if front or (made.swizzle and len(parts) > 1) or (made.offset and offset is not None):
            raise self.make_error(
                "composes values that CuTe does not print in a layout", "Allowed: Sw<B,M,S> o offset o shape:stride."
            )
        if unit and offset:
            raise self.make_error(f"has the offset {offset}", "Give it as the base, in bytes.")
        made = replace(made, offset=offset or made.offset, unit_bits=unit.bits if unit else made.unit_bits)
        # A swizzle of no bits is shown where it is printed, and is none in the algebra.
        return replace(made, swizzle=swizzle) if swizzle and (swizzle.bits or self.printed) else made

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
        if self.deep > self.deepest:
            raise self.make_error(f"is nested deeper than {DEEPEST}")
        token = self.take_token()
        if token in self.tuples:
            found: Value = tuple(v for _, v in self.parse_items(_CLOSE[token]))
        elif _NUMBER.fullmatch(token):
            found = self.parse_number(token)
        elif re.match(r"[A-Za-z_]", token):
            found = self.parse_name(token)
        else:
            raise self.make_error(
                f"has '{shorten_value(token)}' where a value is expected" if token else "ends where a value is expected"
            )
        while self.next in ("{", "*") or (
            self.next == "(" and isinstance(found, CuteLayout | int) and not self.printed
        ):
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
        while self.next != close or self.printed:
            word = ""
            if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1] == "=":
                word = self.take_token()
                self.take_token("=")
            out.append((word, self.parse_composition()))
            if not self.next:
                raise self.make_error(f"ends before a bracket is closed: '{close}' is expected")
            if self.next == close:
                break
            self.take_token(",")
        self.take_token(close)
        return out

    def parse_name(self, token: str) -> Value:
        """Parse a name, and what stands between its brackets."""
        name = (_NAMED.match(token) or ["", token])[1]
        if name in _WORDS:
            return _WORDS[name]
        if _NUMBER.fullmatch(name):
            return self.parse_number(name)
        if name in PRINTED_SWIZZLES and self.next == "<":
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
        if len(values) != 3 or not all(isinstance(v, int) for v in values):
            raise self.refuse_name(name)
        return make_swizzle(*values, self.field)

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
            return self.compose(values)
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
        """Parse the numbers of a swizzle, up to its `>`."""
        parts: list[str] = []
        while self.next and self.next != ">":
            parts.append(self.take_token().lstrip("_"))
        self.take_token(">")
        match = SWIZZLE.fullmatch("".join(parts))
        if not match:
            raise self.make_error("has a swizzle that is not three numbers", "Sw<B,M,S>, e.g. Sw<3,4,3>.")
        return make_swizzle(*map(int, match.groups()), self.field)


def make_swizzle(bits: int, base: int, shift: int, field: str) -> Swizzle:
    if bits > abs(shift) or bits + base + abs(shift) > 32:
        raise LayoutError(
            "bad_cute",
            f"Sw<{bits},{base},{shift}> is not a swizzle of 32-bit indices.",
            "Sw<B,M,S> needs |S| ≥ B and B + M + |S| ≤ 32.",
            field,
        )
    return Swizzle(bits, base, shift)


_MAKERS: dict[str, Callable[[CuteReader, str, list[Value], dict[str, Value]], Value]] = {
    **dict.fromkeys(INTEGERS, CuteReader.make_number),
    **dict.fromkeys(TUPLES, CuteReader.make_tuple),
    **dict.fromkeys(("Layout", "make_layout"), CuteReader.make_layout),
    **dict.fromkeys(("ComposedLayout", "composition"), CuteReader.make_composition),
    "make_ordered_layout": CuteReader.make_ordered_layout,
    "make_composed_layout": CuteReader.make_composed_layout,
    "make_swizzle": CuteReader.make_swizzle,
}
KNOWN = frozenset((*_MAKERS, *_WORDS, *PRINTED_SWIZZLES))  # the names that are read
