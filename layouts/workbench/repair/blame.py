"""Find the line that must be changed for a wrong read.

`workbench_builder.py` uses it for each operand's first wrong step, `check.py` for every wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set

from lanescope.descriptor.case import Diagnosis
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.workbench.repair.blamed_numbers import find_argument_span, list_local_values
from lanescope.workbench.repair.blamed_terms import (
    STAGE,
    find_given_argument,
    find_loop_step,
    find_pointer_value,
    find_wrong_loop,
    follow_stage_item,
    narrow_to_term,
)
from lanescope.workbench.results import OperandStep, Span, VerifiedOperand, Workbench
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function
from lanescope.workbench.text.known_values import find_common_value
from lanescope.workbench.text.loop_texts import list_loops_at

_SWIZZLE = 9  # index of the swizzle among cuTensorMapEncodeTiled's arguments


class BlameFinder:
    """Find the places to blame for the wrong reads of one text.

    If a repair was found (`repairs.py`), its first edit is the place. If one field, or LBO and SBO together, must
    change, the place is where the code sets the first of them, provided that everything that reads it is wrong in the
    same way. A wrong transpose immediate is reported at the instruction; a start that does not move with its loop at
    the call in that loop; anything else at the descriptor of the step.
    """

    def __init__(self, text: str, bench: Workbench, built: Iterable[DescriptorBuilder]) -> None:
        self.text = text
        self.blank = blank_text(text)
        self.bench = bench
        self.built = {builder.span: builder for builder in reversed(list(built))}

    def find_blamed_span(self, operand: VerifiedOperand, wrong: OperandStep) -> Span:
        """Return the span that must be changed for a wrong step."""
        at = next((n for n, other in enumerate(self.bench.operands) if other is operand), -1)
        repaired = next((repair for repair in self.bench.repairs if at in repair.operands), None)
        if repaired is not None:
            return min(edit.span for edit in repaired.edits)
        if not wrong.causes:
            return wrong.span
        cause = wrong.causes[0]
        return self._find_outside_span(operand, wrong, cause.code) or self._find_field_span(operand, wrong, cause)

    def _find_outside_span(self, operand: VerifiedOperand, wrong: OperandStep, cause: str) -> Span | None:
        """Return the span to change if a cause has to be removed elsewhere than in the fields of the descriptor."""
        if cause == "stages_overlap":
            return self._find_stage_distance(wrong)
        if cause == "wrong_transpose" and len(operand.wrong) == len(operand.steps):
            spans = (p.spans for p in self.bench.pieces if p.facts.get("ptx") == operand.instruction)
            return next(spans, (wrong.span,))[0]
        return self._find_map_swizzle(operand) if cause == "stored_swizzle" else None

    def _find_field_span(self, operand: VerifiedOperand, wrong: OperandStep, cause: Diagnosis) -> Span:
        """Return the span that gives the wrong fields of a descriptor."""
        origins = self._find_origins(operand, wrong, cause.changes)
        places = {span for origin in origins.values() for span in origin}
        if not places or not self._are_all_wrong(cause.code, origins.keys(), places):
            started = cause.changes.keys() == {"start_address"}
            return self._find_start(operand, wrong) if started else self._find_field(operand, wrong, cause.changes)
        for field, origin in origins.items():
            shift = self._find_wrong_shift(operand, field, origin, cause.changes[field])
            if shift is not None:
                return shift
        return min(self._find_giving_place(origin, cause.changes, field) for field, origin in origins.items())

    def _find_origins(
        self, operand: VerifiedOperand, wrong: OperandStep, changed: Collection[str]
    ) -> Mapping[str, tuple[Span, ...]]:
        """Map each field to the places of the code that set it: the wrong field, or LBO and SBO if they have to change.

        Empty if other fields have to change, or if the text sets them only in the step's own expression.
        """
        fields = set(changed)
        builder = self.find_builder(operand, wrong)
        if builder is not None and len(fields) > 1:
            fields = {field for field in fields if builder.origins.get(field)} or fields
        if builder is None or "start_address" in fields or not (len(fields) == 1 or fields == {"lbo", "sbo"}):
            return {}
        origins = {field: builder.origins.get(field, ()) for field in fields}
        first, past = wrong.span
        inside = any(first <= span[0] < past for origin in origins.values() for span in origin)
        return {} if inside or not all(origins.values()) else origins

    def _find_map_swizzle(self, operand: VerifiedOperand) -> Span | None:
        """Find the swizzle argument of an operand's tensor map."""
        piece = self.bench.pieces[operand.storage] if operand.storage is not None else None
        if piece is None or piece.kind != "tensor_map":
            return None
        at = find_argument_span(self.blank, piece.spans[0], _SWIZZLE)
        return at if at is not None and "SWIZZLE" in self.text[slice(*at)].upper() else None

    def _find_stage_distance(self, wrong: OperandStep) -> Span:
        """Find what sets the distance of stages: where their pointers are set, else the term that names the stage."""
        turned = self._find_turned_span(wrong)
        within = follow_stage_item(self.blank, turned)
        if within != turned:
            return within
        found = narrow_to_term(self.blank, _list_chain(wrong), turned, STAGE)
        named = any(re.fullmatch(STAGE, word) for word in re.findall(r"\w+", self.blank[slice(*found)]))
        return found if named else find_pointer_value(self.blank, found)

    def _find_field(self, operand: VerifiedOperand, wrong: OperandStep, changed: Collection[str]) -> Span:
        """Find the argument of the helper's call that gives the one wrong field; the call where that is not certain."""
        builder = self.find_builder(operand, wrong)
        if builder is None or len(changed) != 1:
            return wrong.span
        origins = builder.origins.get(next(iter(changed)), ())
        arguments = {find_given_argument(self.blank, origin, wrong.span) for origin in origins} - {None}
        return find_common_value(arguments) or wrong.span

    def _find_start(self, operand: VerifiedOperand, wrong: OperandStep) -> Span:
        """Find the expression behind a wrong start: a term of an argument, or of the loop if all operands are wrong."""
        variable = find_wrong_loop(operand, wrong).rstrip("'")
        at = self._find_turned_span(wrong)
        at = narrow_to_term(self.blank, _list_chain(wrong), at, re.escape(variable))
        body = self._find_loop_body(variable, at)
        turned = [
            next((step for step in inside if step.verdict == "mismatch"), None)
            for other in self.bench.operands
            if body and (inside := [step for step in other.steps if _is_turned(step, variable, body)])
        ]
        together = bool(turned) and all(turned)
        return find_loop_step(self.blank, at, variable) or at if together else at

    def _find_turned_span(self, wrong: OperandStep) -> Span:
        """Find the place of a wrong start inside the loop that has to move it: the innermost call in that loop."""
        variable = next(reversed(list(wrong.loops)), "").rstrip("'")
        spans = (wrong.span, *wrong.around)
        inside = next((span for span in spans if self._find_loop_body(variable, span)), None)
        return (
            (inside and self._find_value_in_loop(variable, inside))
            or inside
            or self._find_use(variable, wrong.span)
            or wrong.span
        )

    def _find_value_in_loop(self, variable: str, at: Span) -> Span | None:
        """Find the only value of a descriptor that is declared inside the loop over a variable."""
        body, function = self._find_loop_body(variable, at), find_enclosing_function(self.blank, at[0])
        name = self.blank[slice(*at)].strip()
        if body is None or function is None or not name.isidentifier():
            return None
        values = list_local_values(self.blank, function, name, at)
        return values[0] if len(values) == 1 and body[0] < values[0][0] else None

    def _find_use(self, variable: str, value: Span) -> Span | None:
        """Find the first use, inside a loop over a variable, of what is declared or set before this loop."""
        named = re.match(r"([A-Za-z_]\w*)\s*(?:[={(]|\Z)", self.blank[slice(*value)])
        function = find_enclosing_function(self.blank, value[0])
        if named is None or function is None or not variable:
            return None
        uses = re.compile(rf"\b{named[1]}\b").finditer(self.blank, value[1], function.body[1])
        return next((use.span() for use in uses if self._find_loop_body(variable, use.span())), None)

    def _find_loop_body(self, variable: str, at: Span) -> Span | None:
        """Find the body of the innermost loop over a variable around a place."""
        loops = list_loops_at(self.blank, at[0]) if variable else ()
        return next((loop.body for loop in reversed(loops) if loop.variable == variable), None)

    def find_builder(self, operand: VerifiedOperand, step: OperandStep) -> DescriptorBuilder | None:
        """Find the code that builds the descriptor of a step."""
        return self.built.get(step.span) or self.built.get(self.bench.pieces[operand.descriptor].spans[0])

    def find_number(self, origin: tuple[Span, ...]) -> Span:
        """Return the number among the places of a field that is not a shift amount, else the longest place."""
        numbers = [
            span
            for span in origin
            if self.text[span[0] : span[0] + 1].isdigit()
            and not self.text[: span[0]].rstrip(" (").endswith(("<<", ">>"))
        ]
        return next(iter(numbers), max(origin, key=lambda span: span[1] - span[0]))

    def _find_wrong_shift(
        self, operand: VerifiedOperand, field: str, origin: tuple[Span, ...], change: tuple[int, int]
    ) -> Span | None:
        """Find the amount of the one shift that puts a right value at a wrong bit. change: old and required value."""
        amounts = [span for span in origin if self.text[: span[0]].rstrip(" (").endswith("<<")]
        digits = self.text[slice(*amounts[0])].rstrip("uUlLzZ") if len(amounts) == 1 else ""
        away = operand.form.get_field(field).low - int(digits) if digits.isdecimal() else 0
        present, needed = change
        right = present << away == needed if away > 0 else present == needed << -away
        return amounts[0] if away and present and right else None

    def _find_giving_place(self, origin: tuple[Span, ...], changes: Mapping[str, tuple[int, int]], field: str) -> Span:
        """Find the place of a field's wrong number, else the place that puts it into the descriptor."""
        encoded, modes = changes[field][0], []
        for span in origin:
            if self.text[: span[0]].rstrip(" (").endswith(("<<", ">>")):
                continue  # the field's shift amount
            digits = self.text[slice(*span)].rstrip("uUlLzZ").replace("'", "")
            try:
                value = int(digits, 0)
            except ValueError:
                continue
            if encoded and field != "swizzle" and value in (encoded, 16 * encoded):
                return span
            modes += [span] if value == encoded and field == "swizzle" else []
        if len(modes) == 1:
            return modes[0]
        return max(origin, key=lambda span: span[1] - span[0])

    def _are_all_wrong(self, code: str, fields: Collection[str], places: Set[Span]) -> bool:
        """Return whether all operands with fields from these places are wrong from the first step on, for this cause.

        Operands without a verdict count as wrong.
        """
        seen = [
            operand
            for operand in self.bench.operands
            if operand.verdict != "unknown" and self._has_shared_fields(operand, fields, places)
        ]
        first = [operand.first_wrong for operand in seen]
        return bool(seen) and all(
            wrong is not None and wrong == operand.steps[0] and bool(wrong.causes) and wrong.causes[0].code == code
            for operand, wrong in zip(seen, first, strict=True)
        )

    def _has_shared_fields(self, operand: VerifiedOperand, fields: Collection[str], places: Set[Span]) -> bool:
        """Return whether the fields of an operand's descriptors may come from these places of the text."""
        builder = self.find_builder(operand, operand.steps[0]) if operand.steps else None
        return builder is None or any(not places.isdisjoint(builder.origins.get(field, ())) for field in fields)


def _list_chain(step: OperandStep) -> list[Span]:
    """Return the expression of a step's descriptor and the calls around it, innermost first."""
    return list(dict.fromkeys(step.around if step.span in step.around else (step.span, *step.around)))


def _is_turned(step: OperandStep, variable: str, body: Span) -> bool:
    """Return whether a step runs in a loop over a variable, by the name and the body of the loop."""
    inside = any(body[0] <= span[0] < body[1] for span in (step.span, *step.around))
    return inside and any(name.rstrip("'") == variable for name in step.loops)
