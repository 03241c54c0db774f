"""The page of a product's stepper, and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.kit.question import labels_of, options_of, read_question
from lanescope.app.memory.storage import KINDS, build_form, parse_storage
from lanescope.app.steps.second import list_seconds
from lanescope.app.steps.stage import STATE, build_stage, collect_storage, place_refusal
from lanescope.app.steps.stepper import StepperQuestion, build_stepper, can_step, find_majors
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction

FIELDS = tuple(name for name in options_of(StepperQuestion) if name not in ("instruction", "storage"))
LABELS = labels_of(StepperQuestion)
IN_TABLES = ("row", "col", "product", "seed", "backend", "a", "b", "c")  # fields of the form above the tables


def build_view(
    instruction: Instruction, query: Mapping[str, str], tables_error: LayoutError | None = None
) -> dict[str, Any]:
    """Return the template's variables of the stepper; nothing for an instruction without one. tables_error: why
    there are no tables.
    """
    if not can_step(instruction):
        return {}
    spec = collect_storage(query)
    request: dict[str, Any] = {name: query[name] for name in FIELDS if query.get(name)}
    context: dict[str, Any] = {"stepper_labels": LABELS}
    try:
        if query.get("s_kind"):
            request["storage"] = parse_storage(spec, "K")
        stepper = build_stepper(read_question(StepperQuestion, request | {"instruction": instruction.ptx}))
    except LayoutError as error:
        context |= place_refusal(error, tables_error, IN_TABLES)
        stepper = build_stepper(read_question(StepperQuestion, {"instruction": instruction.ptx}))
    return (
        context
        | build_stage(stepper, query)
        | {
            "typed": {name: query.get(name, "") for name in FIELDS} | {"s_kind": query.get("s_kind", "")},
            "carried": dict.fromkeys(STATE, "")
            | {name: value for name, value in query.items() if name in STATE or (value and name in IN_TABLES)},
            "seconds": [second.ptx for second in list_seconds(instruction)],
            "majors": find_majors(instruction),
            "storage_form": build_form(
                spec | {"kind": query.get("s_kind", "")},
                {"s_kind": {"": "rows of 128 bytes, 128B swizzle"} | KINDS},
                but=("inner",),
                error=context.get("stepper_error"),
            ),
            "tables_open": any(query.get(name) for name in IN_TABLES),
        }
    )
