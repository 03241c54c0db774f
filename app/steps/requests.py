"""Fields of a request for steps: an instruction, an element of D, and the user's matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from lanescope.app.hardware import user_matrices
from lanescope.app.instruction import wording
from lanescope.app.kernel import facts as programs
from lanescope.app.kit.question import fields_of, options_of
from lanescope.app.kit.question_form import add_wrong_fields, list_unplaced_errors
from lanescope.app.steps import facts as steps
from lanescope.app.steps.draw import MOST_SHOWN
from lanescope.app.steps.forms import TEXTS, ElementForm, build_tables_form
from lanescope.app.steps.stage import MOST_QUERY
from lanescope.app.steps.wgmma import require_inside
from lanescope.errors import LayoutError, join_errors
from lanescope.inputs import check_keys, parse_integer
from lanescope.names import lookup
from lanescope.product.planning import SIDES, is_plannable
from lanescope.ptx.instruction import Instruction

OPTIONS = {name: option.default for name, option in options_of(ElementForm).items()} | {"seed": "1", "backend": "numpy"}


def find_instruction(body: Mapping[str, Any]) -> tuple[Instruction, dict[str, Any]]:
    """Return the instruction of a body, and its options of storage and matrices."""
    check_keys(body, ("instruction", *OPTIONS, *SIDES, "data"))
    found = lookup.parse_instruction(body.get("instruction"), "instruction")
    stored = [side for side in SIDES if side in body]
    if stored and not found.family.by_descriptor:
        hint = "A warp's mma is stepped through from plain rows; matrices are in data."
        raise LayoutError("bad_usage", f"{stored[0]} is for wgmma.", hint, stored[0])
    return found, {name: body[name] for name in (*SIDES, "data") if name in body}


def parse_element(instruction: Instruction, body: Mapping[str, Any]) -> dict[str, int]:
    """Return the element of D and the seed of a body. LayoutError names every wrong field."""
    steps.require_steps(instruction)
    d = instruction.operands["d"]
    extents = {"row": d.row_count, "col": d.col_count, "product": d.extents.get("product", 1)}
    element: dict[str, int] = {}
    wrong = []
    for name in ("row", "col", "product", "seed"):
        try:
            element[name] = parse_integer(body.get(name, OPTIONS[name]), name)
            require_inside({name: (element[name], extents[name])} if name in extents else {})
        except LayoutError as error:
            wrong.append(error)
    if refused := join_errors(wrong):
        raise refused
    return element


def parse_inputs(instruction: Instruction, texts: Mapping[str, str]) -> dict[str, Any]:
    options, data = steps.parse_inputs(instruction, texts)
    return options | ({"data": data} if data else {})


def place_error(error: LayoutError, instruction: Instruction, texts: Mapping[str, str]) -> LayoutError:
    """Return the error under the name of the form's input."""
    name = error.field.removeprefix("data.")
    if instruction.family.by_descriptor and error.field.startswith("data.") and texts.get(f"data_{name}"):
        name = f"data_{name}"
    return error.move_to_field(name)


def build_context(ptx: str, query: Mapping[str, str], reason: str) -> dict[str, Any]:
    instruction = lookup.find(ptx)
    options = {name: query.get(name) or default for name, default in OPTIONS.items()}
    texts = {name: query.get(name, "") for name in TEXTS}
    kept = {name: value for name, value in options.items() if value != OPTIONS[name]} | {
        name: value for name, value in texts.items() if value
    }
    storages = {side: texts[side] for side in SIDES if texts[side]} if instruction.family.by_descriptor else {}
    return {
        "program": programs.link_program(instruction, storages) if is_plannable(instruction) else "",
        "found": instruction,
        "title": wording.format_title(instruction),
        "given": options | texts,
        "matrices": ("data_a", "data_b", "c") if instruction.family.by_descriptor else user_matrices.OPERANDS,
        "shapes": _format_shapes(instruction),
        "most_shown": MOST_SHOWN,
        "shown": user_matrices.format_number,
        "error": None,
        "stepper_error": None,
        "form": {},  # of the stepper's options
        "labels": {},
        "s": None,
        "reason": reason,
        "query": urlencode(kept),
        "too_long": len(urlencode(kept)) > MOST_QUERY,
        "query_but": urlencode({k: v for k, v in kept.items() if k not in ("row", "col")}),
    }


def place_errors(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form above the tables, and which of both forms shows what is wrong: each shows its own fields."""
    options, fields = context["form"], fields_of(ElementForm)
    error = add_wrong_fields(context["error"], fields, context["given"])
    error = join_errors(list_unplaced_errors(error, options))
    others = join_errors((error, *list_unplaced_errors(context["stepper_error"], options)))
    tables, labels = build_tables_form(context["found"], context["given"], others)
    return {
        "error": error,
        "in_options": any(control.error for control in options.values()),
        "in_tables": any(control.error for control in tables.values()),
        "tables": tables,
        "labels": labels | context["labels"],
    }


def _format_shapes(instruction: Instruction) -> dict[str, str]:
    """Return rows × columns of each matrix that a user may supply."""
    names = set(instruction.operands) | ({"b"} if instruction.family.by_descriptor else set())
    if not {"a", "b", "d"} <= names or "k" not in instruction.sizes:
        return {}
    return {
        name: " × ".join(map(str, user_matrices.get_matrix_shape(instruction, name))) for name in user_matrices.OPERANDS
    }
