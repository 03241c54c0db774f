"""A recursive-descent parser of CuTe's layouts, tilers, shapes and swizzles.

layouts/cute/text.py describes the texts; layouts/cute/calls/ extends this parser by operations and names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanescope.cute.layout import DEEPEST, LONGEST, MOST, CuteLayout
from lanescope.cute.making import (
    MAKERS,
    UNITS,
    PointerUnit,
    UnmadeValueError,
    Value,
    compose_layout,
    drop_empty_swizzle,
    make_compact_layout,
    make_strided_layout,
)
from lanescope.cute.words import CONSTANTS, INTEGERS, PRINTED_SWIZZLES
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.shared.swizzle import Swizzle

HINT = "Try (4,8):(8,1), Layout<Shape<_4,_8>,Stride<_8,_1>> or make_layout((4, 8), stride=(8, 1))."
PRINTED_HINT = "Allowed: 'shape:stride', e.g. '((4,8),2):((2,8),1)', with 'Sw<3,4,3> o' in front."
# Possessive (*+), so that long texts do not backtrack.
_POINTER = r"smem_ptr\s*+\[?\s*+[0-9]{1,3}b\s*+\]?"
_PAIR = re.compile(r"\([^:;]*\)\s*:\s*\([^:;]*\)")  # shape and strides, whatever they hold
_OPEN_VALUE = re.compile(r"(?<![\w.])(?:[A-Za-z]\w*|\?|-\d+)(?![\w(<])")
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
_CLOSE = {"(": ")", "[": "]", "<": ">", "{": "}"}


def _explain_negative(text: str, value: re.Match[str]) -> tuple[str, str]:
    """Return why a layout with a negative number is refused, and what is allowed."""
    if value.start() < text.index(":"):
        return f"has the size {value[0]}", "Sizes are from 1."
    return f"has the stride {value[0]}", "Lanescope reads strides from 0."


class CuteReader:
    """The parser of one text. printed: whether to accept only what CuTe prints of a layout."""

    tuples: tuple[str, ...] = ("(", "[")  # opening brackets of a tuple

    def __init__(self, text: str, field: str, printed: bool = False) -> None:
        if len(text) > LONGEST:
            raise LayoutError("bad_cute", f"The layout has {len(text)} characters.", f"At most {LONGEST}.", field)
        self.text, self.field, self.printed, self.at, self.deep = text.strip(), field, printed, 0, 0
        self.hint, self.deepest = (PRINTED_HINT, DEEPEST) if printed else (HINT, 2 * DEEPEST)  # types nest twice
        if not self.text:
            raise LayoutError("bad_cute", "The layout is empty.", self.hint, field)
        if printed and not (_PRINTED.fullmatch(self.text) and self.text.count(":") == 1):
            open_value = _OPEN_VALUE.search(self.text) if _PAIR.fullmatch(self.text) else None
            raise self.make_error(
                *(
                    ("is not a CuTe layout",)
                    if open_value is None
                    else _explain_negative(self.text, open_value)
                    if open_value[0].startswith("-")
                    else (f"has '{open_value[0]}': its value is not in the text", "Write the number in its place.")
                )
            )
        self.tokens = [match[match.lastindex or 0] for match in _TOKEN.finditer(self.text)] + [""]

    def make_error(self, why: str, hint: str = "") -> LayoutError:
        return LayoutError("bad_cute", f"'{shorten_value(self.text, 80)}' {why}.", hint or self.hint, self.field)

    @property
    def next(self) -> str:
        return self.tokens[self.at]

    def take_token(self, token: str = "") -> str:
        taken = self.next
        if token and taken != token:
            raise self.make_error(
                f"has '{shorten_value(taken)}' where '{token}' is expected" if taken else f"ends before a '{token}'"
            )
        self.at += taken != ""
        return taken

    def parse_text(self) -> Value:
        """Parse the whole text into one value."""
        try:
            value = self.parse_composition()
        except UnmadeValueError as error:
            raise self.make_error(error.why, error.hint) from None
        while self.next == ";":
            self.take_token()
        if self.next:
            raise self.make_error(f"goes on with '{shorten_value(self.next)}' after its layout")
        return value

    def parse_composition(self) -> Value:
        """Parse values with `o` between them: a swizzle, a pointer, an offset, a layout."""
        parts = [self.parse_part()]
        while self.next in ("o", "∘") or self.next.startswith("_smem_ptr"):  # Sw<3,4,3>_smem_ptr[16b]
            if len(self.next) == 1:
                self.take_token()
            parts.append(self.parse_part())
        if len(parts) == 1:
            return parts[0]
        if isinstance(parts[-1], PointerUnit):
            raise self.make_error("ends with a pointer and has no layout after it")
        return self.compose(parts)

    def compose(self, parts: Sequence[Value]) -> CuteLayout:
        """Return the layout of values with `o` between them; a swizzle of no bits is kept if it was printed."""
        layout = compose_layout(parts)
        return layout if self.printed else drop_empty_swizzle(layout)

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

    def parse_pair(self) -> Value:
        """Parse one value, or shape:stride."""
        value = self.parse_value()
        if self.next != ":":
            return value
        self.take_token()
        stride = self.parse_value()
        return make_strided_layout(value, stride)

    def make_layout(self, value: Value) -> CuteLayout:
        """Return a value as a layout; a shape has compact column-major strides."""
        try:
            return make_compact_layout(value)
        except UnmadeValueError as error:
            raise self.make_error(error.why, error.hint) from None

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

    def parse_brackets(self, value: Value) -> Value:
        """Parse empty brackets after a value, as in `Int<8>{}()`."""
        self.take_token("(")
        self.take_token(")")
        return value

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
        """Parse a name with its arguments."""
        name = (_NAMED.match(token) or ["", token])[1]
        if name in CONSTANTS:
            return CONSTANTS[name]
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
        if name in INTEGERS:
            return self.make_number(name, values)
        if name not in MAKERS:
            raise self.make_error(f"has '{shorten_value(name)}', which is not a CuTe layout, shape or swizzle")
        return MAKERS[name](values, words)

    def parse_arguments(self) -> tuple[list[Value], dict[str, Value]]:
        """Parse the arguments of a name, `<…>`, `(…)` or `<…>(…)`: (positional values, values by keyword)."""
        pairs: list[tuple[str, Value]] = []
        opened = ""
        while self.next in ("<", "(") and opened != "(":  # brackets after the call are not its own
            opened = self.take_token()
            pairs += self.parse_items(_CLOSE[opened])
        return [v for word, v in pairs if not word], {word: v for word, v in pairs if word}

    def make_number(self, name: str, values: list[Value]) -> int:
        """Return the number of `Int<8>`."""
        numbers = [v for v in values if isinstance(v, int)]
        if len(numbers) != 1:
            raise self.make_error(f"has '{name}' without a number")
        return numbers[0]

    def parse_swizzle(self) -> Swizzle:
        """Parse the numbers of a swizzle, up to its `>`."""
        parts: list[str] = []
        while self.next and self.next != ">":
            parts.append(self.take_token().lstrip("_"))
        self.take_token(">")
        match = SWIZZLE.fullmatch("".join(parts))
        swizzle: Swizzle = MAKERS["make_swizzle"]([int(number) for number in match.groups()] if match else [], {})
        return swizzle


KNOWN = frozenset((*MAKERS, *INTEGERS, *CONSTANTS, *PRINTED_SWIZZLES))  # the names that are read
