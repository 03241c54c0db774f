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
from lanescope.cute.calls.operations import ALIASES, MOST_SIZE, OPS, AlgebraStep, apply_operation, is_shape
from lanescope.cute.calls.sentences import Value, describe_layout, format_value
from lanescope.cute.grammar import KNOWN, CuteReader
from lanescope.cute.layout import LONGEST, CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, shorten_value

HINT = "e.g. logical_divide((4,2,3):(2,1,8), 4:2), or (6,2):(8,2) o (4,3):(3,1)."
MOST_STEPS = 64
_OF_TYPES = {"make_fragment_like", "make_layout_like"}  # whose template argument is an element type
_ASSIGNED = re.compile(r"\s*(?:(?:const|constexpr|auto|using|Layout)\s+)*([A-Za-z]\w*)\s*=(?!=)\s*", re.DOTALL)


class _RefusedStepError(Exception):
    """A step that was refused: nothing after it is computed."""


class _StatementReader(CuteReader):
    """One statement; operations become steps as their brackets close."""

    tuples = ("(", "[", "<")

    def __init__(self, text: str, names: dict[str, Value], steps: list[AlgebraStep]) -> None:
        super().__init__(text, "expression")
        self.names, self.steps = names, steps

    def run_operation(self, op: str, given: Sequence[Value]) -> Value:
        if len(self.steps) >= MOST_STEPS:
            raise LayoutError("too_large", f"There are more than {MOST_STEPS} steps.", "Write fewer.", "expression")
        step = apply_operation(op, given)
        self.steps.append(step)
        if step.error:
            raise _RefusedStepError
        return step.result

    def parse_name(self, token: str) -> Value:
        name = token.replace("::", ".").rpartition(".")[2]
        if name in self.names and self.next != "<":
            return self.apply_brackets(self.names[name])
        op = ALIASES.get(name, name)
        if op in OPS and self.next in ("(", "<") and not self.is_swizzle_composition(name):
            templated = self.parse_template(op) if self.next == "<" else []
            return self.apply_brackets(self.run_operation(op, [*self.parse_bracketed_values("(", ")"), *templated]))
        if name == "slice" and self.next == "(":
            coord, one = [*self.parse_bracketed_values("(", ")"), None, None][:2]
            return self.slice_layout(one, coord)
        if self.next == "(" and self.is_unknown_operation(name):
            near = find_nearest_word(name, OPS)
            raise self.make_error(
                f"calls '{shorten_value(name)}', which is not an operation here",
                f"Did you mean {near}?" if near else HINT,
            )
        return super().parse_name(token)

    def parse_template(self, op: str) -> list[Value]:
        """Parse template arguments; the element type of a fragment says nothing about its layout and is dropped."""
        close = self.tokens.index(">", self.at) if ">" in self.tokens[self.at :] else self.at
        inside = self.tokens[self.at + 1 : close]
        if inside in (["true"], ["false"]) or (op in _OF_TYPES and len(inside) == 1):
            self.at = close + 1
            return [] if op in _OF_TYPES else [inside == ["true"]]
        if op == "convert_layout_acc_Aregs" and inside and not inside[0].strip("_").isdecimal():
            hint = "Give the bits of A: convert_layout_acc_Aregs<16>(accumulator), or 8."
            raise self.make_error(f"names a TiledMMA, '{shorten_value(' '.join(inside))}', and not how wide A is", hint)
        return self.parse_bracketed_values("<", ">")

    def parse_bracketed_values(self, opened: str, closed: str) -> list[Value]:
        """Parse the values between brackets."""
        self.take_token(opened)
        return [value for _, value in self.parse_items(closed)]

    def is_unknown_operation(self, name: str) -> bool:
        """Return whether a called name is neither an operation nor something that the reader of layouts knows."""
        return name not in OPS and name not in KNOWN and not name.startswith("make_")

    def is_swizzle_composition(self, name: str) -> bool:
        """Return whether a call is composition(Swizzle<…>{}, …), a ComposedLayout that the reader of layouts parses."""
        ahead = self.tokens[self.at + 1 : self.at + 2]
        return (
            name == "composition"
            and bool(ahead)
            and ahead[0].rpartition("::")[2].rpartition(".")[2] in ("Swizzle", "Sw", "make_swizzle")
        )

    def parse_pair(self) -> Value:
        return self.apply_brackets(super().parse_pair())

    def parse_brackets(self, found: Value) -> Value:
        return self.apply_brackets(found) if isinstance(found, CuteLayout) else super().parse_brackets(found)

    def apply_brackets(self, found: Value) -> Value:
        """Apply brackets after a layout: an index, or a slice where they contain an underscore."""
        while self.next == "(" and isinstance(found, CuteLayout):
            self.take_token("(")
            given = [value for _, value in self.parse_items(")")]
            if given:
                found = self.slice_layout(found, given[0] if len(given) == 1 else tuple(given))
        return found

    def slice_layout(self, one: Value, coord: Value) -> Value:
        where = algebra.format_coordinate(coord) if isinstance(coord, tuple) else f"({format_value(coord)})"
        text = f"{format_value(one)}{where}"
        try:
            if not isinstance(one, CuteLayout) or not _is_coordinate(coord):
                raise LayoutError(
                    "bad_cute",
                    f"{shorten_value(text, 80)} is not a slice.",
                    "layout(coordinate): A(2,_).",
                    "expression",
                )
            step = _make_slice_step(text, one, coord)
        except LayoutError as error:
            step = AlgebraStep("slice", text, (one, coord), None, "", error.move_to_field("expression"))
        self.steps.append(step)
        if step.error:
            raise _RefusedStepError
        return step.result

    def compose(self, parts: Sequence[Value]) -> CuteLayout:
        """Return the composition of layouts, each with what stands in front of it."""
        for at in reversed(range(len(parts) - 1)):
            if isinstance(parts[at], CuteLayout):
                right = super().compose(parts[at + 1 :])
                parts = [*parts[:at], self.run_operation("composition", [parts[at], right])]
        return super().compose(parts)


def _is_coordinate(value: Value) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_coordinate, value))
    return value is None or isinstance(value, int)


def _make_slice_step(text: str, one: CuteLayout, coord: Value) -> AlgebraStep:
    algebra.require_inside(coord, one.shape)
    if not _has_underscore(coord):
        index = one(*coord) if isinstance(coord, tuple) else one(coord)
        steps = " + ".join(
            f"{c}·{d}" for c, d in zip(_list_digits(coord, one.shape), tuples.list_leaves(one.stride), strict=True)
        )
        plain = (
            f"{steps} ="
            f" {algebra.strip_swizzle(one)(*coord) if isinstance(coord, tuple) else algebra.strip_swizzle(one)(coord)}"
        )
        return AlgebraStep(
            "index", text, (one, coord), index, plain + (f", then {one.swizzle}." if one.swizzle else ".")
        )
    rest, start = algebra.slice_and_offset(one, coord)
    where = "" if one.swizzle else f", from index {start}"
    return AlgebraStep("slice", text, (one, coord), rest, f"The modes at the underscores stay{where}.")


def _list_digits(coord: Value, shape: Any) -> list[int]:
    if isinstance(coord, int):
        return tuples.list_leaves(tuples.index_to_coordinate(coord, shape)) if not isinstance(shape, int) else [coord]
    return [digit for part, mode in zip(coord, shape, strict=True) for digit in _list_digits(part, mode)]


def _has_underscore(coord: Value) -> bool:
    return any(map(_has_underscore, coord)) if isinstance(coord, tuple) else coord is None


def evaluate_statements(text: str) -> list[AlgebraStep]:
    """Return the steps of statements, in the order in which they are computed.

    The last has an error where one is refused; the last statement's value is a step of its own where it is a plain
    layout. LayoutError for a text that cannot be read.
    """
    if len(text) > LONGEST:
        raise _bad(f"The expression has {len(text)} characters.", f"At most {LONGEST}.")
    out: list[AlgebraStep] = []
    names: dict[str, Value] = {}
    for statement in _split_statements(text):
        match = _ASSIGNED.match(statement)
        name, body = (match[1], statement[match.end() :]) if match else ("", re.sub(r"^\s*return\b", "", statement))
        if name in OPS:
            raise _bad(f"'{name}' is an operation.", "Give the layout another name.")
        before = len(out)
        try:
            found = _StatementReader(body, names, out).parse_text()
        except _RefusedStepError:
            return out
        if len(out) == before or (isinstance(found, CuteLayout) and found != out[-1].result):
            out += _make_plain_step(name, body, found)
        elif name:
            out[-1] = replace(out[-1], name=name)
        if name:
            names[name] = found
    if not out:
        raise _bad(f"'{shorten_value(text, 60)}' computes nothing." if names else "The expression is empty.")
    return out


def _make_plain_step(name: str, body: str, found: Value) -> list[AlgebraStep]:
    """Return the step of a statement without an operation: a layout, or a shape that is shown as one."""
    if not name and isinstance(found, tuple) and is_shape(found):
        found = algebra.make_layout(found)
    if isinstance(found, CuteLayout):
        if found.size > MOST_SIZE:
            raise _bad(f"{found} has {found.size} elements.", f"At most {MOST_SIZE}.", "too_large")
        return [AlgebraStep("layout", str(found), (found,), found, describe_layout(found), name=name)]
    if not name:
        raise _bad(f"'{shorten_value(body, 60)}' computes nothing.")
    return []


def _bad(why: str, hint: str = HINT, code: str = "bad_cute") -> LayoutError:
    return LayoutError(code, why, hint, "expression")


def _split_statements(text: str) -> list[str]:
    """Cut at `;` and at line ends outside all brackets; drop comments of C++ and Python."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|#[^\n]*", " ", text, flags=re.DOTALL)
    out, start, deep = [], 0, 0
    for at, mark in enumerate(text):
        deep += (mark in "([{") - (mark in ")]}")
        if mark == ";" or (mark == "\n" and deep <= 0):
            out.append(text[start:at])
            start = at + 1
    out.append(text[start:])
    return [part.strip() for part in out if part.strip()]
