"""The form of a run: fields of every kind, of which runs.FIELDS names those that a kind has."""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.app.hardware import runs
from lanescope.app.hardware.fragment_runs import list_measurable
from lanescope.app.hardware.product_inputs import SEED
from lanescope.app.kit.labels import SIDES
from lanescope.app.kit.question import (
    declare_question,
    fields_of,
    labels_of,
    number_field,
    parsed_field,
    raw_field,
    word_field,
)
from lanescope.app.kit.question_form import Control, form_of
from lanescope.app.runs.facts import FleetStatus
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.shared import banks
from lanescope.shared.tiling import DEFAULT_ORDER

DEFAULT = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@declare_question
class RunForm:
    """A run; what a field may be depends on the kind and on the instruction."""

    kind: str = word_field(runs.KINDS, "Kind", "What is run: a product, or the measurement of a map or of clocks.")
    access: str = word_field(banks.ACCESSES, "Access", "The access that is timed.")
    address: str = raw_field("One byte address per lane", "32 byte addresses, with commas.", wide=True, rows=2, size=90)
    instruction: str = raw_field("Instruction", "PTX text, with or without .sync.aligned.", DEFAULT, wide=True, size=70)
    descriptor: str = parsed_field(
        lambda value, field: parse_word(value),
        "Descriptor",
        "The 64-bit word.",
        derived=True,
        size=20,
        placeholder="for kind descriptor",
    )
    major: str = word_field(DEFAULT_ORDER, "Major", "The contiguous dimension of the operand in shared memory.", "K")
    operand: str = raw_field("Operand", "The operand whose map is measured.")
    a_from: str = word_field(("registers", "shared"), "A from", "Where wgmma reads A.", "")
    a: str = raw_field(SIDES["a"], "How A is stored.", size=26, placeholder="major=MN,swizzle=64B")
    b: str = raw_field(SIDES["b"], "How B is stored.", size=26, placeholder="major=MN,swizzle=64B")
    d: str = raw_field(SIDES["d"], "What becomes of C and D.", size=10, placeholder="scale=0")
    seed: int | None = number_field(None, "Seed", "Of the random numbers.", size=10, placeholder=str(SEED))
    architecture: str = raw_field("Architecture", "A device of this architecture only.")
    worker: str = raw_field("Device", "This device only.")


FIELDS = fields_of(RunForm)
LABELS = labels_of(RunForm)
TEXTS = tuple(name for name, (_, option) in FIELDS.items() if option.needs_value)


def build_form(
    query: Mapping[str, str], fleet: FleetStatus | None, error: LayoutError | None = None
) -> dict[str, Control]:
    """Return the controls of a run of the query's kind; without one, those of the page where a run begins."""
    sent = {name: value for name, value in query.items() if value or name in TEXTS}
    kind, choices = sent.get("kind", ""), _list_choices(sent, fleet)
    if choices.get("operand"):
        sent.setdefault("operand", next(iter(choices["operand"])))
    form = form_of(RunForm, sent, choices, error)
    names = {"kind", *runs.FIELDS.get(kind, ("instruction", "descriptor")), *(runs.PLACES if fleet else ())}
    return {name: one for name, one in form.items() if name in names or one.error}


def _list_choices(query: Mapping[str, str], fleet: FleetStatus | None) -> dict[str, dict[str, str]]:
    """Return field → word → text, of what the request may choose from."""
    stored = any(query.get(side) for side in SIDES)
    usual = "as stored" if stored else "registers"
    choices = {"a_from": {"": f"{usual} (default)", "registers": "registers", "shared": "shared"}}
    if "kind" not in query:
        choices["kind"] = {name: name for name in runs.KINDS if name != "banks"}
    elif query["kind"] in ("fragment", "descriptor"):
        names = ("a", "b") if query["kind"] == "descriptor" else _list_operands(query.get("instruction", ""))
        choices["operand"] = {name: name.upper() for name in names}
    if fleet:
        for field, what in (("architecture", "architecture"), ("worker", "name")):
            choices[field] = {"": "any"} | {name: name for name in fleet.named(what, query.get(field, ""))}
    return choices


def _list_operands(text: str) -> tuple[str, ...]:
    """Return the operands of an instruction that can be measured; () if the instruction is unknown."""
    try:
        return list_measurable(lookup.parse_instruction(text, "instruction"))
    except LayoutError:
        return ()
