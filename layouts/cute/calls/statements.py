"""Evaluate statements of CuTe's algebra step by step: `zipped_divide(composition(A, B), (4, _))`.

    A = (6,2):(8,2)
    B = (4,3):(3,1)
    composition(A, B)                     ((2,2),3):((24,2),8)

Statements are separated by line ends or `;`. Names denote layouts; `A o B` is composition, `A(2,_)` a slice and
`A(2,1)` an index. C++ (`cute::`, `auto A = …`), the Python DSL and pycute's names are understood. If CuTe would not
compile an operation, it is the last step, with the reason and what is allowed.
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

HINT = "Try logical_divide((4,2,3):(2,1,8), 4:2), or (6,2):(8,2) o (4,3):(3,1)."
MOST_STEPS = 64
_OF_TYPES = {"make_fragment_like", "make_layout_like"}  # take an element type as template argument
_ASSIGNED = re.compile(r"\s*(?:(?:const|constexpr|auto|using|Layout)\s+)*([A-Za-z]\w*)\s*=(?!=)\s*", re.DOTALL)


class _RefusedStepError(Exception):
    """A step failed: the following ones are not computed."""


class _StatementReader(CuteReader):
    """Parses one statement; every operation is appended to the steps as soon as its arguments are parsed."""

    tuples = ("(", "[", "<")

    def __init__(self, text: str, names: dict[str, Value], steps: list[AlgebraStep]) -> None:
        super().__init__(text, "expression")
        self.names, self.steps = names, steps

    def run_operation(self, op: str, arguments: Sequence[Value]) -> Value:
        if len(self.steps) >= MOST_STEPS:
            raise LayoutError("too_large", f"There are more than {MOST_STEPS} steps.", "Write fewer.", "expression")
        step = apply_operation(op, arguments)
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
            coord, layout = [*self.parse_bracketed_values("(", ")"), None, None][:2]
            return self.slice_layout(layout, coord)
        if self.next == "(" and self.is_unknown_operation(name):
            near = find_nearest_word(name, OPS)
            raise self.make_error(
                f"calls '{shorten_value(name)}', which is not an operation here",
                f"Did you mean {near}?" if near else HINT,
            )
        return super().parse_name(token)

    def parse_template(self, op: str) -> list[Value]:
        """Parse template arguments; the element type of a fragment does not affect its layout and is dropped."""
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
        """Return whether a called name is neither an operation nor a constructor of CuTe values."""
        return name not in OPS and name not in KNOWN and not name.startswith("make_")

    def is_swizzle_composition(self, name: str) -> bool:
        """Return whether a call is composition(Swizzle<…>{}, …), which CuteReader parses as a ComposedLayout."""
        ahead = self.tokens[self.at + 1 : self.at + 2]
        return (
            name == "composition"
            and bool(ahead)
            and ahead[0].rpartition("::")[2].rpartition(".")[2] in ("Swizzle", "Sw", "make_swizzle")
        )

    def parse_pair(self) -> Value:
        return self.apply_brackets(super().parse_pair())

    def parse_brackets(self, value: Value) -> Value:
        return self.apply_brackets(value) if isinstance(value, CuteLayout) else super().parse_brackets(value)

    def apply_brackets(self, value: Value) -> Value:
        """Parse and apply brackets after a layout: an index, or a slice if they contain an underscore."""
        while self.next == "(" and isinstance(value, CuteLayout):
            self.take_token("(")
            coord = [value for _, value in self.parse_items(")")]
            if coord:
                value = self.slice_layout(value, coord[0] if len(coord) == 1 else tuple(coord))
        return value

    def slice_layout(self, layout: Value, coord: Value) -> Value:
        coord_text = algebra.format_coordinate(coord) if isinstance(coord, tuple) else f"({format_value(coord)})"
        text = f"{format_value(layout)}{coord_text}"
        try:
            if not isinstance(layout, CuteLayout) or not tuples.is_coordinate(coord):
                raise LayoutError(
                    "bad_cute",
                    f"{shorten_value(text, 80)} is not a slice.",
                    "layout(coordinate): A(2,_).",
                    "expression",
                )
            step = _make_slice_step(text, layout, coord)
        except LayoutError as error:
            step = AlgebraStep("slice", text, (layout, coord), None, "", error.move_to_field("expression"))
        self.steps.append(step)
        if step.error:
            raise _RefusedStepError
        return step.result

    def compose(self, parts: Sequence[Value]) -> CuteLayout:
        """Return the composition of layouts, each with its swizzle, pointer and offset."""
        for at in reversed(range(len(parts) - 1)):
            if isinstance(parts[at], CuteLayout):
                right = super().compose(parts[at + 1 :])
                parts = [*parts[:at], self.run_operation("composition", [parts[at], right])]
        return super().compose(parts)


def _make_slice_step(text: str, layout: CuteLayout, coord: Value) -> AlgebraStep:
    algebra.require_inside(coord, layout.shape)
    if None not in tuples.list_leaves(coord):
        index = layout(*coord) if isinstance(coord, tuple) else layout(coord)
        steps = " + ".join(
            f"{c}·{d}"
            for c, d in zip(_list_digits(coord, layout.shape), tuples.list_leaves(layout.stride), strict=True)
        )
        unswizzled = algebra.strip_swizzle(layout)
        unswizzled_index = unswizzled(*coord) if isinstance(coord, tuple) else unswizzled(coord)
        plain = f"{steps} = {unswizzled_index}"
        return AlgebraStep(
            "index", text, (layout, coord), index, plain + (f", then {layout.swizzle}." if layout.swizzle else ".")
        )
    rest, start = algebra.slice_and_offset(layout, coord)
    where = "" if layout.swizzle else f", from index {start}"
    return AlgebraStep("slice", text, (layout, coord), rest, f"The modes at the underscores stay{where}.")


def _list_digits(coord: Value, shape: Any) -> list[int]:
    if isinstance(coord, int):
        return tuples.list_leaves(tuples.index_to_coordinate(coord, shape)) if not isinstance(shape, int) else [coord]
    return [digit for part, mode in zip(coord, shape, strict=True) for digit in _list_digits(part, mode)]


def evaluate_statements(text: str) -> list[AlgebraStep]:
    """Return the steps of statements, in the order of evaluation.

    If a step fails, it is the last one and has an error. If the last statement is a plain layout, it is a step of its
    own. LayoutError for a text that cannot be parsed.
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
        raise _bad(f"'{shorten_value(text, 60)}' is not an operation." if names else "The expression is empty.")
    return out


def _make_plain_step(name: str, body: str, value: Value) -> list[AlgebraStep]:
    """Return the step of a statement without an operation: a layout, or a shape as a compact layout."""
    if not name and isinstance(value, tuple) and is_shape(value):
        value = algebra.make_layout(value)
    if isinstance(value, CuteLayout):
        if value.size > MOST_SIZE:
            raise _bad(f"{value} has {value.size} elements.", f"At most {MOST_SIZE}.", "too_large")
        return [AlgebraStep("layout", str(value), (value,), value, describe_layout(value), name=name)]
    if not name:
        raise _bad(f"'{shorten_value(body, 60)}' is not an operation.")
    return []


def _bad(why: str, hint: str = HINT, code: str = "bad_cute") -> LayoutError:
    return LayoutError(code, why, hint, "expression")


def _split_statements(text: str) -> list[str]:
    """Split at `;` and at line ends outside brackets; drop comments of C++ and Python."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|#[^\n]*", " ", text, flags=re.DOTALL)
    out, start, deep = [], 0, 0
    for at, mark in enumerate(text):
        deep += (mark in "([{") - (mark in ")]}")
        if mark == ";" or (mark == "\n" and deep <= 0):
            out.append(text[start:at])
            start = at + 1
    out.append(text[start:])
    return [part.strip() for part in out if part.strip()]
