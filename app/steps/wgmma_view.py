"""The stepper of a wgmma above its tables, and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kit.question import labels_of, options_of, read_question
from lanescope.app.steps.stage import STATE, build_stage, place_refusal
from lanescope.app.steps.wgmma_plan import USUAL
from lanescope.app.steps.wgmma_registers import HeldOperand
from lanescope.app.steps.wgmma_stepper import (
    COLUMNS,
    ReadWord,
    WgmmaStepperQuestion,
    build_wgmma_stepper,
    can_step_wgmma,
)
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.product.options import parse_options
from lanescope.product.plan import Options
from lanescope.ptx.instruction import Instruction
from lanescope.shared.swizzle import NAMES

FIELDS = tuple(name for name in options_of(WgmmaStepperQuestion) if name != "instruction")
LABELS = labels_of(WgmmaStepperQuestion)
OWN_STATE = (*STATE, "warp")
IN_TABLES = ("row", "col", "seed", "backend", "d", "data_a", "data_b", "c")  # fields of the form above the tables
CARRIED = (*IN_TABLES, "a", "b")  # fields of the form of options
CHOICES = {"major": ("K", "MN"), "swizzle": NAMES, "descriptor": ()}  # fields per operand: a_major, b_swizzle …
IN_REGISTERS = "registers"  # among the swizzles of A's form


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


def build_wgmma_view(
    instruction: Instruction, query: Mapping[str, str], tables_error: LayoutError | None = None
) -> dict[str, Any]:
    """Return the template's variables of the stepper; nothing for a wgmma without one. tables_error: why there are
    no tables.
    """
    if not can_step_wgmma(instruction):
        return {}
    request: dict[str, Any] = {name: query[name] for name in FIELDS if query.get(name)}
    context: dict[str, Any] = {"stepper_labels": LABELS}
    try:
        stepper = build_wgmma_stepper(read_question(WgmmaStepperQuestion, request | {"instruction": instruction.ptx}))
    except LayoutError as error:
        context |= place_refusal(error, tables_error, IN_TABLES)
        if error.code == "no_stepper":
            return context
        stepper = build_wgmma_stepper(read_question(WgmmaStepperQuestion, {"instruction": instruction.ptx}))
    n = instruction.sizes["n"]
    return (
        context
        | build_stage(stepper, query)
        | _judge_words(stepper, {name: value for name, value in query.items() if value and name != "step"})
        | {
            "stored": {side: _read_stored(query, side) for side in "ab"},
            "turned": instruction.operands["a"].element.bits == 16,  # may be MN-major
            "swizzles": NAMES,
            "windows": [(first, min(n, first + COLUMNS) - 1) for first in range(0, n, COLUMNS)] if n > COLUMNS else [],
            "typed": {name: query.get(name, "") for name in FIELDS},
            "carried": dict.fromkeys(OWN_STATE, "")
            | {name: value for name, value in query.items() if name in OWN_STATE or (value and name in CARRIED)},
            "tables_open": any(query.get(name) for name in IN_TABLES),
        }
    )


def _judge_words(stepper: Any, kept: Mapping[str, str]) -> dict[str, Any]:
    """Return which operands have descriptors, their errors, and the words that read the data."""
    operands = _list_operands(stepper)
    return {
        "described": [name for name, _ in operands],
        "repairs": {name: _find_repair(name, operand.words[0], kept) for name, operand in operands},
        "causes": {name: next((word.cause for word in operand.words if word.cause), "") for name, operand in operands},
    }


def _read_stored(query: Mapping[str, str], side: str) -> Options:
    """Return the storage of an operand in the form; a text that is not a list of options is kept as typed."""
    try:
        return parse_options(query.get(side, ""), side)
    except LayoutError:
        return {"kind": query[side]}


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
