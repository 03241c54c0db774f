"""CuTe's algebra as people write it, step by step: `zipped_divide(composition(A, B), (4, _))`.

    A = (6,2):(8,2)
    B = (4,3):(3,1)
    composition(A, B)                     ((2,2),3):((24,2),8)

Statements stand on lines of their own or behind `;`; names stand for layouts; `A o B` is composition, `A(2,_)` a slice
and `A(2,1)` an index. C++ (`cute::`, `auto A = …`), the Python DSL and pycute's names are read alike. What CuTe would
not compile is the last step, with the reason and what would do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lanescope.cute import algebra, tuples
from lanescope.cute.calls.operations import ALIASES, MOST_SIZE, OPS, Step, called, is_shape
from lanescope.cute.calls.sentences import Value, of_layout, written
from lanescope.cute.layout import LONGEST, CuteLayout
from lanescope.cute.text import Reader
from lanescope.errors import LayoutError
from lanescope.reading import nearest, shown

HINT = "e.g. logical_divide((4,2,3):(2,1,8), 4:2), or (6,2):(8,2) o (4,3):(3,1)."
MOST_STEPS = 64
_ASSIGNED = re.compile(r"\s*(?:(?:const|constexpr|auto|Layout)\s+)*([A-Za-z]\w*)\s*=(?!=)\s*", re.DOTALL)

# What the reader of layouts knows by itself.
MADE = (
    "make_",
    "Layout",
    "Shape",
    "Stride",
    "Step",
    "Coord",
    "Tile",
    "tuple",
    "Tuple",
    "Int",
    "C",
    "Constant",
    "S",
    "ComposedLayout",
    "Underscore",
    "constant",
    "Sw",
    "Swizzle",
    "X",
)


class _RefusedError(Exception):
    """A step that was refused: nothing after it is computed."""


class _Calls(Reader):
    """One statement; operations become steps as their brackets close."""

    tuples = ("(", "[", "<")

    def __init__(self, text: str, names: dict[str, Value], steps: list[Step]) -> None:
        super().__init__(text, "expression")
        self.names, self.steps = names, steps

    def act(self, op: str, given: Sequence[Value]) -> Value:
        if len(self.steps) >= MOST_STEPS:
            raise LayoutError("too_large", f"There are more than {MOST_STEPS} steps.", "Write fewer.", "expression")
        step = called(op, given)
        self.steps.append(step)
        if step.error:
            raise _RefusedError
        return step.result

    def named(self, token: str) -> Value:
        name = token.replace("::", ".").rpartition(".")[2]
        if name in self.names and self.next != "<":
            return self.sliced(self.names[name])
        op = ALIASES.get(name, name)
        if op in OPS and self.next in ("(", "<") and not self.swizzles(name):
            templated = self.parse_brackets("<", ">") if self.next == "<" else []
            return self.sliced(self.act(op, [*self.parse_brackets("(", ")"), *templated]))
        if name == "slice" and self.next == "(":
            coord, one = [*self.parse_brackets("(", ")"), None, None][:2]
            return self.slice(one, coord)
        if self.next == "(" and self.is_unknown_operation(name):
            near = nearest(name, OPS)
            raise self.bad(
                f"calls '{shown(name)}', which is not an operation here", f"Did you mean {near}?" if near else HINT
            )
        return super().named(token)

    def parse_brackets(self, opened: str, closed: str) -> list[Value]:
        """Parse the values between brackets."""
        self.take(opened)
        return [value for _, value in self.items(closed)]

    def is_unknown_operation(self, name: str) -> bool:
        """Return whether a called name is neither an operation nor something that the reader of layouts knows."""
        return bool(re.fullmatch(r"[A-Za-z]\w*", name)) and name not in OPS and not name.startswith(MADE)

    def swizzles(self, name: str) -> bool:
        """Return whether a call is composition(Swizzle<…>{}, …), a ComposedLayout that the reader of layouts parses."""
        ahead = self.tokens[self.at + 1 : self.at + 2]
        return (
            name == "composition"
            and bool(ahead)
            and ahead[0].rpartition("::")[2].rpartition(".")[2]
            in (
                "Swizzle",
                "Sw",
                "make_swizzle",
            )
        )

    def pair(self) -> Value:
        return self.sliced(super().pair())

    def applied(self, found: Value) -> Value:
        return self.sliced(found) if isinstance(found, CuteLayout) else super().applied(found)

    def sliced(self, found: Value) -> Value:
        """Apply brackets after a layout: an index, or a slice where they contain an underscore."""
        while self.next == "(" and isinstance(found, CuteLayout):
            self.take("(")
            given = [value for _, value in self.items(")")]
            if given:
                found = self.slice(found, given[0] if len(given) == 1 else tuple(given))
        return found

    def slice(self, one: Value, coord: Value) -> Value:
        text = f"{written(one)}{algebra.said(coord) if isinstance(coord, tuple) else f'({written(coord)})'}"
        try:
            if not isinstance(one, CuteLayout) or not _is_coordinate(coord):
                raise LayoutError(
                    "bad_cute", f"{shown(text, 80)} is not a slice.", "layout(coordinate): A(2,_).", "expression"
                )
            step = _sliced(text, one, coord)
        except LayoutError as error:
            step = Step("slice", text, (one, coord), None, "", error.at("expression"))
        self.steps.append(step)
        if step.error:
            raise _RefusedError
        return step.result

    def in_front(self, part: Value, made: CuteLayout) -> CuteLayout:
        if isinstance(part, CuteLayout):
            found: CuteLayout = self.act("composition", [part, made])
            return found
        return super().in_front(part, made)


def _is_coordinate(value: Value) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_coordinate, value))
    return value is None or isinstance(value, int)


def _sliced(text: str, one: CuteLayout, coord: Value) -> Step:
    algebra.inside(coord, one.shape)
    if not _open(coord):
        index = one(*coord) if isinstance(coord, tuple) else one(coord)
        steps = " + ".join(
            f"{c}·{d}" for c, d in zip(_digits(coord, one.shape), tuples.leaves(one.stride), strict=True)
        )
        plain = f"{steps} = {algebra.body(one)(*coord) if isinstance(coord, tuple) else algebra.body(one)(coord)}"
        return Step("index", text, (one, coord), index, plain + (f", then {one.swizzle}." if one.swizzle else "."))
    rest, start = algebra.sliced(one, coord)
    where = "" if one.swizzle else f", from index {start}"
    return Step("slice", text, (one, coord), rest, f"The modes at the underscores stay{where}.")


def _digits(coord: Value, shape: Any) -> list[int]:
    if isinstance(coord, int):
        return tuples.leaves(tuples.coordinate(coord, shape)) if not isinstance(shape, int) else [coord]
    return [digit for part, mode in zip(coord, shape, strict=True) for digit in _digits(part, mode)]


def _open(coord: Value) -> bool:
    return any(map(_open, coord)) if isinstance(coord, tuple) else coord is None


def steps(text: str) -> list[Step]:
    """Return the steps of statements, in the order in which they are computed.

    The last has an error where one is refused; the last statement's value is a step of its own where it is a plain
    layout. LayoutError for a text that cannot be read.
    """
    if len(text) > LONGEST:
        raise _bad(f"The expression has {len(text)} characters.", f"At most {LONGEST}.")
    out: list[Step] = []
    names: dict[str, Value] = {}
    for statement in _statements(text):
        match = _ASSIGNED.match(statement)
        name, body = (match[1], statement[match.end() :]) if match else ("", statement)
        if name in OPS:
            raise _bad(f"'{name}' is an operation.", "Give the layout another name.")
        before = len(out)
        try:
            found = _Calls(body, names, out).whole()
        except _RefusedError:
            return out
        if len(out) == before:
            out += _make_plain_step(name, body, found)
        elif name:
            out[-1] = replace(out[-1], name=name)
        if name:
            names[name] = found
    if not out:
        raise _bad(f"'{shown(text, 60)}' computes nothing." if names else "The expression is empty.")
    return out


def _make_plain_step(name: str, body: str, found: Value) -> list[Step]:
    """Return the step of a statement without an operation: a layout, or a shape that is shown as one."""
    if not name and isinstance(found, tuple) and is_shape(found):
        found = algebra.layout(found)
    if isinstance(found, CuteLayout):
        if found.size > MOST_SIZE:
            raise _bad(f"{found} has {found.size} elements.", f"At most {MOST_SIZE}.", "too_large")
        return [Step("layout", str(found), (found,), found, of_layout(found), name=name)]
    if not name:
        raise _bad(f"'{shown(body, 60)}' computes nothing.")
    return []


def _bad(why: str, hint: str = HINT, code: str = "bad_cute") -> LayoutError:
    return LayoutError(code, why, hint, "expression")


def _statements(text: str) -> list[str]:
    """Cut at `;` and at line ends outside all brackets; drop comments of C++ and Python."""
    text = re.sub(r"//[^\n]*|#[^\n]*", "", text)
    out, start, deep = [], 0, 0
    for at, mark in enumerate(text):
        deep += (mark in "([{") - (mark in ")]}")
        if mark == ";" or (mark == "\n" and deep <= 0):
            out.append(text[start:at])
            start = at + 1
    out.append(text[start:])
    return [part.strip() for part in out if part.strip()]
