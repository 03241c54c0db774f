"""The page of the steps of one ldmatrix or stmatrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from lanescope.app.chain.forms import CHAIN_STORAGE
from lanescope.app.hardware.user_matrices import format_number
from lanescope.app.instruction import wording
from lanescope.app.kernel import facts as programs
from lanescope.app.kit import links
from lanescope.app.kit.question import labels_of, options_of, read_question
from lanescope.app.kit.question_form import Control, form_of
from lanescope.app.memory import storage
from lanescope.app.memory.storage import parse_storage
from lanescope.app.steps.captions import format_load
from lanescope.app.steps.matrix_moves import ARRANGEMENTS
from lanescope.app.steps.matrix_stepper import MatrixStepper, MatrixStepperQuestion, build_matrix_stepper
from lanescope.app.steps.stage import STATE, answer_stepper, blank_usual, build_stage, collect_storage
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction

FIELDS = tuple(name for name in options_of(MatrixStepperQuestion) if name not in ("instruction", "storage"))
LABELS = labels_of(MatrixStepperQuestion)
STORAGE = CHAIN_STORAGE | {"pitch_bytes": "128", "swizzle": "128B", "swizzle_by": "address"}
FORM_FIELDS = (
    "matrices",
    "first_col",
    "addresses",
    "values",
    "pin",
    "step",
)  # not carried to another form of the instruction


def answer_query(instruction: Instruction, query: Mapping[str, str]) -> MatrixStepper:
    """Return the stepper of a page's query. LayoutError names the wrong field."""
    request: dict[str, Any] = {name: query[name] for name in FIELDS if query.get(name)}
    if query.get("s_kind"):
        request["storage"] = parse_storage(collect_storage(query, STORAGE), "K")
    return build_matrix_stepper(read_question(MatrixStepperQuestion, request | {"instruction": instruction.ptx}))


def build_matrix_view(instruction: Instruction, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables."""
    spec = collect_storage(query, STORAGE)
    kept = {name: value for name, value in query.items() if value and name not in ("step", "more")}
    context: dict[str, Any] = {
        "found": instruction,
        "title": wording.format_title(instruction),
        "labels": LABELS,
        "typed": {name: query.get(name, "") for name in FIELDS},
        "carried": {name: query.get(name, "") for name in STATE},
        "inverse": _link_inverse(instruction),
        "forms": list(_list_forms(instruction, kept | {name: query[name] for name in ("step",) if query.get(name)})),
        "program": _link_program(instruction, spec),
        "query": urlencode(kept),
    }
    stepper, error = answer_stepper(partial(answer_query, instruction), MatrixStepperQuestion, query)
    form = _build_form(stepper, context["typed"], error) | storage.build_form(spec, but=("inner",), error=error)
    context |= {"error": error, "form": form}
    return context | build_stage(stepper, query) | {"held": _format_values(stepper)}


def _build_form(stepper: MatrixStepper, typed: Mapping[str, str], error: LayoutError | None) -> dict[str, Control]:
    """Return the controls of what can be chosen here. The usual choices are blank, so that addresses leave them out."""
    usual = {"matrices": stepper.arrangements[0], "first_col": "0", "no_xor": "0"}
    choices = {
        "matrices": {word: ARRANGEMENTS[word] for word in stepper.arrangements},
        "first_col": {str(n): str(n) for n in stepper.first_cols},
        "no_xor": {"0": "addresses with the XOR", "1": "addresses without the XOR"},
    }
    form = form_of(MatrixStepperQuestion, *blank_usual(usual, typed, choices), error)
    names = [name for name in ("matrices", "first_col") if len(choices[name]) > 1 or form[name].error]
    return {name: form[name] for name in (*names, "values", "addresses", "no_xor")}


def _format_values(steps: MatrixStepper) -> list[str]:
    """Return the values of each lane's registers as text."""
    tile = steps.s
    wrong = {mismatch.slot: mismatch.value for mismatch in tile.wrong} if not steps.stores else {}
    numbers = [wrong.get(slot, tile.numbers[element]) for slot, element in enumerate(tile.holds.tolist())]
    shown = ["?" if number is None or number != number else format_number(number) for number in numbers]
    return [" ".join(shown[first : first + tile.values]) for first in range(0, len(shown), tile.values)]


def _list_forms(instruction: Instruction, query: dict[str, str]) -> Iterator[list[tuple[str, str, bool]]]:
    """Yield the page's groups of links to other forms: (text, address, whether it is the current form)."""
    others = {name: value for name, value in query.items() if name not in FORM_FIELDS}
    straight, count = instruction.ptx.replace(".trans", ""), f".x{instruction.counts['x']}"
    transposed = straight.replace(count, f"{count}.trans")
    yield [
        (words, links.link_steps(form, query), form.ptx == instruction.ptx)
        for words, ptx in (("without .trans", straight), (".trans", transposed))
        if (form := _find(ptx))
    ]
    yield [
        (f"x{n}", links.link_steps(form, query if form.ptx == instruction.ptx else others), form.ptx == instruction.ptx)
        for n in (1, 2, 4)
        if (form := _find(instruction.ptx.replace(count, f".x{n}")))
    ]


def _link_inverse(instruction: Instruction) -> tuple[str, str] | None:
    """Return the (name, address) of the store that undoes a load, or of the load that undoes a store."""
    opcode = "stmatrix" if instruction.family.loads else "ldmatrix"
    other = _find(instruction.ptx.replace(instruction.syntax.opcode, opcode))
    return (format_load(other.ptx), links.link_steps(other, {})) if other else None


def _find(ptx: str) -> Instruction | None:
    try:
        return lookup.find(ptx)
    except LayoutError:
        return None


def _link_program(instruction: Instruction, spec: dict[str, str]) -> str:
    """Link to a whole program around the instruction, with the same pitch and swizzle if it supports them."""
    named = {"pitch_bytes": spec["pitch_bytes"], "swizzle": spec["swizzle"]}
    text = ",".join(f"{name}={value}" for name, value in named.items()) if spec["kind"] == "rows" else ""
    return programs.link_program(instruction, {"data": text} if text else {})
