"""The page of a product's stepper, and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.kit.question import labels_of, options_of, read_question
from lanescope.app.kit.question_form import Control, form_of
from lanescope.app.memory import storage
from lanescope.app.memory.storage import KINDS, parse_storage
from lanescope.app.steps.captions import format_load
from lanescope.app.steps.second import list_seconds
from lanescope.app.steps.stage import STATE, answer_stepper, blank_usual, build_stage, collect_storage
from lanescope.app.steps.stepper import Stepper, StepperQuestion, build_stepper, can_step, find_majors
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction

FIELDS = tuple(name for name in options_of(StepperQuestion) if name not in ("instruction", "storage"))
LABELS = labels_of(StepperQuestion)
IN_TABLES = ("row", "col", "product", "seed", "backend", "a", "b", "c")  # fields of the form above the tables


def build_view(instruction: Instruction, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables of the stepper; nothing for an instruction without one."""
    if not can_step(instruction):
        return {}
    spec = collect_storage(query)

    def build(kept: Mapping[str, str]) -> Stepper:
        request: dict[str, Any] = {name: kept[name] for name in FIELDS if kept.get(name)}
        if kept.get("s_kind"):
            request["storage"] = parse_storage(collect_storage(kept), "K")
        return build_stepper(read_question(StepperQuestion, request | {"instruction": instruction.ptx}))

    stepper, error = answer_stepper(build, StepperQuestion, query)
    typed = {name: query.get(name, "") for name in FIELDS} | {"s_kind": query.get("s_kind", "")}
    return build_stage(stepper, query) | {
        "typed": typed,
        "labels": LABELS,
        "stepper_error": error,
        "form": _build_form(instruction, stepper, spec, typed, error),
        "carried": dict.fromkeys(STATE, "")
        | {name: value for name, value in query.items() if name in STATE or (value and name in IN_TABLES)},
        "seconds": [second.ptx for second in list_seconds(instruction)],
        "tables_open": any(query.get(name) for name in IN_TABLES),
    }


def _build_form(
    instruction: Instruction,
    stepper: Stepper,
    spec: dict[str, str],
    typed: Mapping[str, str],
    error: LayoutError | None,
) -> dict[str, Control]:
    """Return the controls of what can be chosen here. The usual choices are blank, so that addresses leave them out."""
    operands = {"a": (stepper.a, "M"), "b": (stepper.b, "N")}
    seconds = [second.ptx for second in list_seconds(instruction)]
    typed = {**typed, "then": stepper.then.ptx} if stepper.then else typed
    usual = {"k_step": "0", "no_xor": "0", "operand": "ab"} | {
        f"major_{name}": major for name, major in find_majors(instruction).items()
    }
    choices = {
        "k_step": {str(n): str(n) for n in range(stepper.k_steps)},
        **{f"major_{name}": {"K": "K-major", "MN": f"{mn}-major"} for name, (_, mn) in operands.items()},
        "then": {"": "nothing: one product"} | {ptx: ptx.replace(".sync.aligned", "") for ptx in seconds},
        **{
            f"load_{name}": {"": f"Best: {'chosen by the storage' if typed[f'load_{name}'] else one.load}"}
            | {load: format_load(load) for load in (*one.loads, "ld.shared")}
            for name, (one, _) in operands.items()
        },
        "no_xor": {"0": "with the XOR", "1": "without the XOR"},
        "operand": {"ab": "A and B", "a": "A", "b": "B"},
    }
    form = form_of(StepperQuestion, *blank_usual(usual, typed, choices), error)
    stored = storage.build_form(
        spec | {"kind": typed["s_kind"]},
        {"s_kind": {"": "rows of 128 bytes, 128B swizzle"} | KINDS},
        but=("inner",),
        error=error,
    )
    used = {"k_step": stepper.k_steps > 1, "then": seconds, "operand": typed["s_kind"]}
    return {name: form[name] for name in choices if used.get(name, True) or form[name].error} | stored
