"""The stepper of a wgmma above its tables, and its options."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kernel import facts as programs
from lanescope.app.kit.question import labels_of, options_of, read_question
from lanescope.app.kit.question_form import Control, answer_without_wrong, form_of
from lanescope.app.steps.forms import IN_REGISTERS, WgmmaOptions
from lanescope.app.steps.stage import STATE, build_stage
from lanescope.app.steps.wgmma_plan import USUAL
from lanescope.app.steps.wgmma_registers import HeldOperand
from lanescope.app.steps.wgmma_stepper import (
    COLUMNS,
    ReadWord,
    WgmmaStepper,
    WgmmaStepperQuestion,
    build_wgmma_stepper,
    can_step_wgmma,
)
from lanescope.errors import LayoutError, join_errors
from lanescope.names import lookup
from lanescope.product.options import parse_options
from lanescope.product.plan import Options
from lanescope.ptx.instruction import Instruction

FIELDS = tuple(name for name in options_of(WgmmaStepperQuestion) if name != "instruction")
LABELS = labels_of(WgmmaStepperQuestion)
OWN_STATE = (*STATE, "warp")
IN_TABLES = ("row", "col", "seed", "backend", "d", "data_a", "data_b", "c")  # fields of the form above the tables
CARRIED = (*IN_TABLES, "a", "b")  # fields of the form of options
CHOICES = {"major": "K", "swizzle": USUAL, "descriptor": ""}  # fields per operand, as usual: a_major, b_swizzle …


def fill_storage(rest: str, query: Mapping[str, str]) -> dict[str, str]:
    """Return the query of a page with the storages of A and B in `a` and `b`, from the options beside the title; by
    default with the 128B swizzle.
    """
    filled = dict(query)
    try:
        if not can_step_wgmma(lookup.find(rest)):
            return filled
        for side in "ab":
            options = _choose_options(parse_options(query.get(side, ""), side), side, query)
            filled[side] = ",".join(f"{name}={value}" for name, value in options.items())
    except LayoutError:  # the page reports the error of the text itself
        return dict(query)
    for side in "ab":
        for name in CHOICES:
            filled.pop(f"{side}_{name}", None)
    return filled


def _choose_options(options: Options, side: str, query: Mapping[str, str]) -> Options:
    chosen = query.get("a_swizzle") if side == "a" else ""
    kept = {name: value for name, value in options.items() if name in ("k", "scale", "selector")}
    if chosen == IN_REGISTERS:
        return kept | {"from": IN_REGISTERS}
    if chosen and options.get("from") == IN_REGISTERS:
        options = kept
    if options.get("from", "shared") != "shared" or any(name in options for name in ("row", "kind")):
        return options
    options.setdefault("swizzle", USUAL)
    for name in CHOICES:
        value = query.get(f"{side}_{name}")
        if value is None:
            continue
        options.pop(name, None)
        options |= {name: value.strip()} if value.strip() else {}
    return {name: value for name, value in options.items() if (name, value) != ("major", "K")}


def build_wgmma_view(instruction: Instruction, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables of the stepper; nothing for a wgmma without one."""
    if not can_step_wgmma(instruction):
        return {}
    stepper, refused = _step_without_wrong(instruction, {name: query[name] for name in FIELDS if query.get(name)})
    if stepper is None:
        return {"labels": LABELS, "stepper_error": refused}
    form = _build_form(instruction, stepper, query, refused)
    return (
        build_stage(stepper, query)
        | _judge_words(stepper, {name: value for name, value in query.items() if value and name != "step"})
        | {
            "labels": LABELS,
            "stepper_error": refused,
            "form": form,
            "own": [name for name in form if name in ("a", "b") or name.endswith("_descriptor")],
            "carried": dict.fromkeys(OWN_STATE, "")
            | {
                name: value
                for name, value in query.items()
                if name in OWN_STATE or (value and name in CARRIED and name not in form)
            },
            "tables_open": any(query.get(name) for name in IN_TABLES),
        }
    )


def _step_without_wrong(
    instruction: Instruction, request: Mapping[str, str]
) -> tuple[WgmmaStepper | None, LayoutError | None]:
    """Return the stepper of a request, built without the options that are wrong, and their errors."""
    options, unread = programs.split_options({side: request.get(side, "") for side in "ab"})
    sent = {name: text for name, text in request.items() if name not in ("a", "b")} | options

    def build(kept: Mapping[str, str]) -> WgmmaStepper:
        texts = programs.parse_options({name: text for name, text in kept.items() if name in options})
        others = {name: text for name, text in kept.items() if name not in options}
        named = others | {"a": texts["a"], "b": texts["b"], "instruction": instruction.ptx}
        return build_wgmma_stepper(read_question(WgmmaStepperQuestion, named))

    stepper, error = answer_without_wrong(build, sent, partial(programs.find_option, sent))
    return stepper, join_errors((*unread, error))


def _build_form(
    instruction: Instruction, stepper: Any, query: Mapping[str, str], error: LayoutError | None
) -> dict[str, Control]:
    """Return the controls of the options that the operands have as they are stored: all of them if a text is not a list
    of options.
    """
    n = instruction.sizes["n"]
    windows = {str(first or ""): f"{first}–{min(n, first + COLUMNS) - 1}" for first in range(0, n, COLUMNS)}
    given = {"n": query.get("n", "") if error else str(stepper.d.first or "")} if n > COLUMNS else {}
    given |= _list_stored_values(instruction, query, "a") | _list_stored_values(instruction, query, "b")
    form = form_of(WgmmaOptions, given, {"n": windows}, error)
    return {name: one for name, one in form.items() if name in given}


def _list_stored_values(instruction: Instruction, query: Mapping[str, str], side: str) -> dict[str, str]:
    """Return the values of an operand's controls: of its choices, unless it is stored in another way, and its text."""
    stored, unread = _read_stored(query, side)
    if stored.get("from") == IN_REGISTERS:
        return {f"{side}_swizzle": IN_REGISTERS}
    if "kind" in stored:
        return {side: query[side]}
    rest = ",".join(f"{name}={value}" for name, value in stored.items() if name not in CHOICES)
    turned = instruction.operands["a"].element.bits == 16  # may be MN-major
    chosen = {
        f"{side}_{name}": query.get(f"{side}_{name}") or stored.get(name, usual)
        for name, usual in CHOICES.items()
        if name != "major" or turned
    }
    return chosen | {side: unread or rest}


def _judge_words(stepper: Any, kept: Mapping[str, str]) -> dict[str, Any]:
    """Return which operands have descriptors, their errors, and the words that read the data."""
    operands = _list_operands(stepper)
    return {
        "described": [name for name, _ in operands],
        "repairs": {name: _find_repair(name, operand.words[0], kept) for name, operand in operands},
        "causes": {name: next((word.cause for word in operand.words if word.cause), "") for name, operand in operands},
    }


def _read_stored(query: Mapping[str, str], side: str) -> tuple[Options, str]:
    """Return the storage of an operand in the form, and its text if that is not a list of options."""
    try:
        return parse_options(query.get(side, ""), side), ""
    except LayoutError:
        return {}, query[side]


def _list_operands(stepper: Any) -> list[tuple[str, Any]]:
    """List the operands that have descriptors."""
    return [
        (name, operand)
        for name, operand in (("a", stepper.a), ("b", stepper.b))
        if not isinstance(operand, HeldOperand)
    ]


def _find_repair(name: str, word: ReadWord, query: Mapping[str, str]) -> dict[str, str] | None:
    """Return the word that reads the first K step, and the page's query with it."""
    if word.repair is None:
        return None
    options = parse_options(query.get(name, ""), name) | {"descriptor": word.repair}
    text = ",".join(f"{option}={value}" for option, value in options.items())
    return {"word": word.repair, "query": urlencode({**query, name: text})}
