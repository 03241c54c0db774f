"""Instructions for agents: those that a name means, and why a text is illegal."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.app.catalogue import facts as catalogue
from lanescope.app.kit.fact import Json, fact
from lanescope.app.kit.question import declare_question, text_field, word_field
from lanescope.app.kit.rows import build_row
from lanescope.app.kit.target import target_field
from lanescope.app.read.facts import Reading
from lanescope.app.read.text_meanings import read_text
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.names.form_names import name_form
from lanescope.names.forms import find_forms
from lanescope.ptx import catalog
from lanescope.ptx.architectures import require_instruction
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.targets import format_targets

LONGEST = 4000  # characters of a text that is explained


@declare_question
class FindQuestion:
    """Filters of the catalogue."""

    q: str = text_field(
        "",
        "Name",
        "PTX text, a part of it, or a name: 'mma.m16n8k16 bf16', 'wgmma 64x128x16 half', a CUTLASS atom or a SASS"
        " opcode.",
        most=400,
        examples=("wgmma 64x128x16 half", "SM90_64x128x16_F32BF16BF16_SS", "HMMA.16816.F32"),
    )
    family: str = word_field(catalog.FAMILY_NAMES, "Family", "One family of instructions.", "")
    type: str = word_field(catalog.list_element_types(), "Type", "The element type of some operand.", "")
    shape: str = text_field("", "Shape", "A whole shape or a part: m16n8k16, k16.", most=20)
    target: str = target_field()


@fact
class FoundInstructions:
    """The matching instructions; details of the first."""

    count: int
    instructions: list[str]
    first: Json
    notes: list[str]


def find_instructions(question: FindQuestion) -> FoundInstructions:
    """Return the instructions that a name or filters mean."""
    filters = {name: getattr(question, name) for name in ("family", "type", "target", "shape")}
    if not (question.q or any(filters.values())):
        raise LayoutError("bad_request", "The request is empty.", "Give q, or one of the filters.", "q")
    found = [row.ptx for row in catalogue.list_instructions(**filters, q=question.q).instructions]
    notes: list[str] = []
    if not found and question.q:
        allowed = {row.ptx for row in catalogue.list_instructions(**filters).instructions}
        named, notes = _find_by_name(question.q)
        found = [ptx for ptx in named if ptx in allowed]
        if named and not found:
            notes = [f"{named[0]} is not among what family, type, shape and target leave."]
    first = _describe(found[0]) if found else {}
    return FoundInstructions(count=len(found), instructions=found, first=first, notes=notes)


def _find_by_name(text: str) -> tuple[list[str], list[str]]:
    """Return the instructions that a text means, and notes about it."""
    matches = find_forms(text)
    if matches.forms and not matches.ignored:
        return [form.listed_ptx for form in matches.forms], []
    reading = read_text(text)
    facts = reading.facts if reading.kind == "instruction" else {}
    named = [ptx for ptx in (facts.get("ptx"), *facts.get("candidates", ())) if ptx]
    return list(dict.fromkeys(named)), list(reading.notices)


def _describe(ptx: str) -> Json:
    """Return the facts of an instruction from its row of the catalogue."""
    form = catalog.find(ptx)
    row = build_row(form)
    names = ("ptx", "shape", "types", "ptx_version")
    facts = {name: value for name in names if (value := getattr(row, name))}
    return {"name": name_form(form).text} | facts | {"targets": format_targets(row.targets)}


@declare_question
class RefusalQuestion:
    """A text that may be illegal."""

    text: str = text_field(
        "",
        "Text",
        "A PTX instruction, or any text that the other tools take: a 64-bit word, a CuTe or Triton layout, a CUTLASS"
        " atom, a SASS opcode.",
        most=LONGEST,
        required=True,
        examples=("mma.sync.aligned.m16n8k12.row.col.f32.f16.f16.f32",),
    )
    target: str = target_field()


@fact
class Refusal:
    """Whether a text is legal, and why not.

    nearest: similar legal PTX; targets: those that assemble a legal text; reads_as: the meaning of a text that is not
    an instruction.
    """

    legal: bool
    what: str = ""
    why: str = ""
    allowed: str = ""
    code: str = ""
    field: str = ""
    nearest: Sequence[str] = ()
    targets: str = ""
    notes: Sequence[str] = ()


def explain_refusal(question: RefusalQuestion) -> Refusal:
    """Return why a text is illegal and what is allowed, or its targets if it is legal."""
    try:
        form = lookup.parse_instruction(question.text, "text")
    except LayoutError as error:
        reading = read_text(question.text)
        return _refuse(error, reading) if reading.kind in ("unknown", "topic") else _accept(reading)
    try:
        require_instruction(form, question.target)
    except LayoutError as error:
        return _refuse(error, None, form)
    notes = () if form.ptx in question.text else (form.ptx,)
    return Refusal(legal=True, what=name_form(form).text, targets=_format_targets(form), notes=notes)


def _format_targets(form: Instruction) -> str:
    return format_targets(catalog.get_target_support(form).targets)


def _accept(reading: Reading) -> Refusal:
    return Refusal(legal=True, what=f"{reading.kind}: {reading.title}", notes=reading.notices)


def _refuse(error: LayoutError, reading: Reading | None, form: Instruction | None = None) -> Refusal:
    return Refusal(
        legal=False,
        what=name_form(form).text if form else "",
        why=error.message,
        allowed=error.hint,
        code=error.code,
        field=error.field,
        nearest=error.nearest,
        targets=_format_targets(form) if form else "",
        notes=[notice for notice in reading.notices if error.message not in notice] if reading else [],
    )
