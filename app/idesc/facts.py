"""Questions and facts about instruction descriptors, for the API, the command line and the pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from lanescope.app.kit.enumerations import KindName, Number, Word32, Word64
from lanescope.app.kit.fact import Description, Json, copy_fact, fact
from lanescope.app.kit.question import (
    declare_question,
    flag_field,
    make_question,
    number_field,
    parsed_field,
    raw_field,
    text_field,
    word_field,
)
from lanescope.app.kit.target import parse_target, target_field
from lanescope.bits import BitField
from lanescope.blackwell import idesc, zeromask
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.kind import KindField, MmaKind
from lanescope.blackwell.zeromask import ZeroMask
from lanescope.descriptor.notices import FieldNotice
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, get_field_value
from lanescope.ptx.table.kinds import KINDS, RUBIN_KINDS
from lanescope.render.idesc import describe_field, render_code

EVIDENCE = "documented; agrees with CUTLASS (304 words); not executed on hardware"
EVIDENCE_RUBIN = "documented (PTX ISA 9.4); not executed on hardware"
MASK_EVIDENCE = "documented; equals the 7 masks of PTX's examples; not executed on hardware"
EVERY_KIND = (*KINDS, *RUBIN_KINDS.values())
FORM = ("cta_group", "ws")  # how the MMA is issued, besides the fields of the word
BITS = {"minimum": 0, "maximum": 63}
BY_OPCODE = "The kind of its tcgen05.mma, which the word does not contain."


def _require_kind(value: Any, field: str) -> MmaKind:
    if not value:
        hint = f"Allowed: {', '.join(idesc.NAMES)}. The kind is part of the opcode, not of the word."
        raise LayoutError("unknown_kind", "kind is missing.", hint, field)
    return _parse_kind(value, field)


def _parse_kind(value: Any, field: str) -> MmaKind:
    return idesc.get_kind(value)


@declare_question
class IdescQuestion:
    """A word, and the kind under which it is read."""

    kind: MmaKind = word_field(idesc.NAMES, "Kind", BY_OPCODE, "", parse=_require_kind)
    value: int = parsed_field(
        lambda value, field: idesc.parse_idesc_word(value),
        "Word",
        "32 bits: hex, 0b…, or a constant C++ expression.",
        required=True,
        argument=True,
        metavar="word",
        examples=("0x08400490",),
    )
    target: str = target_field()


@declare_question
class DecodeQuestion(IdescQuestion):
    """A word, and the kind under which it is read: f16 by default."""

    kind: MmaKind = word_field(idesc.NAMES, "Kind", BY_OPCODE, "f16", parse=_parse_kind)


def _declare_part(part: KindField) -> Any:
    """Declare a field of a product: words, a number or a switch."""
    label, says = part.field.title[0].upper() + part.field.title[1:], f"{part.field.title}: {part.field.meaning}."
    if part.chosen:
        known = (kind.get_field(part.name).codes for kind in EVERY_KIND if kind.has_field(part.name))
        words = sorted({word for codes in known for word in codes})
        return text_field("", label, f"{says} {', '.join(words)}.", type=str | int)
    if part.codes:  # yes, MN: only the kind says which
        return raw_field(label, says, 0, type=Number | bool)
    needed = part.name in ("m", "n")
    return number_field(None if needed else 0, label, says, type=Number | bool, required=needed)


def _declare_product(names: Iterable[str]) -> Json:
    """Declare the fields of a product by name, and how its MMA is issued."""
    parts = {part.name: part for kind in reversed(EVERY_KIND) for part in kind.parts}
    issued = "1 or 2: how the MMA is issued; without it, any legal form."
    return {
        "kind": word_field(idesc.NAMES, "Kind", BY_OPCODE, "f16", type=KindName),
        "cta_group": number_field(1, "CTA group", issued, derived=True),
        "ws": flag_field(".ws", "1: with .ws."),
        "target": target_field(),
        **{name: _declare_part(parts[name]) for name in names},
    }


IdescBody = make_question(
    "IdescBody",
    "A product: its types, sizes and majors. Fields that the kind does not have are rejected.",
    _declare_product(dict.fromkeys(part.name for kind in EVERY_KIND for part in kind.parts)),
)
EncodeQuestion = make_question(
    "EncodeQuestion",
    "A product as the command has it: further fields are name=value.",
    _declare_product(("m", "n", "a", "b", "d")),
)


@fact
class IdescField:
    """One bit field, and its meaning in this kind."""

    name: str
    title: str
    low: Annotated[int, Description(limits=BITS)]
    high: Annotated[int, Description(limits=BITS)]
    encoded: int
    says: Annotated[str, Description("A type, a size, a flag, or that the code is reserved.", ("bf16", "256"))]
    meaning: str


@fact
class Problem:
    """An error or a warning: its code, the field, and the source of the rule."""

    code: Annotated[str, Description(limits={"pattern": "^[a-z0-9_]+$"})]
    field: str
    message: str
    source: str


@fact
class IdescTypes:
    d: str
    a: str
    b: str


@fact
class IdescCode:
    """The word as a C++ constant, as CUTLASS makes it, and as inline PTX uses it."""

    constant: str
    cutlass: Annotated[str, Description("Empty if CUTLASS's types cannot express the word.")]
    ptx: str


@fact
class InstructionDescriptor:
    """An instruction descriptor under a kind."""

    word: Word32
    kind: KindName
    fields: list[IdescField]
    reserved: Annotated[Word32, Description("The reserved bits that are set.")]
    m: int
    n: int
    k: Annotated[int | None, Description("null where its code has no meaning.")]
    types: IdescTypes
    sparse: bool
    legal: Annotated[bool, Description("Whether it is legal in some form.")]
    forms: Annotated[
        dict[str, list[Problem]],
        Description("cta_group::1, cta_group::2 and ws: what is illegal in that form alone."),
    ]
    problems: Annotated[list[Problem], Description("What is illegal in every form.")]
    warnings: list[Problem]
    code: IdescCode
    evidence: str


def decode_idesc(question: IdescQuestion) -> InstructionDescriptor:
    """Return the fields of an instruction descriptor, and the forms in which it is legal."""
    return build_idesc(IdescWord(question.value, question.kind, question.target))


def decode_text_of_kind(word: str, kind: str) -> InstructionDescriptor:
    """Decode a word under a kind, both as text. LayoutError if either is wrong."""
    return build_idesc(IdescWord(int(word, 16), idesc.get_kind(kind)))


def encode_idesc(body: Json) -> InstructionDescriptor:
    """Return the instruction descriptor of a product. LayoutError names an illegal field."""
    return build_idesc(parse_wish(body))


def parse_wish(body: Json) -> IdescWord:
    """Return the instruction descriptor of a product. LayoutError names the illegal field."""
    target = parse_target(body)
    row = idesc.get_kind(body.get("kind", "f16"), target)
    check_keys(body, ("kind", *(part.name for part in row.parts), *FORM, "target"), "", "unknown_field")
    form = ""
    if any(str(body.get(name, "")).strip() for name in FORM):
        form = idesc.get_form(get_field_value(body, "cta_group", 1), get_field_value(body, "ws", 0))
    wish = {name: value for name, value in body.items() if name not in ("kind", *FORM, "target")}
    return idesc.encode(row, wish, form, target)


def build_idesc(word: IdescWord) -> InstructionDescriptor:
    """Return all facts about a word under its kind."""
    return InstructionDescriptor(
        word=str(word),
        kind=word.kind.name,
        fields=[
            copy_fact(
                IdescField,
                part.field,
                name=part.name,
                encoded=part.field.get(word.word),
                says=describe_field(part, word),
            )
            for part in word.kind.parts
        ],
        reserved=idesc.format_word(word.reserved),
        m=word.m,
        n=word.n,
        k=word.k or None,
        types=IdescTypes(**word.types),
        sparse=word.sparse,
        legal=bool(idesc.find_legal_forms(word)),
        forms={form: build_problems(why) for form, why in idesc.find_problems_by_form(word).items()},
        problems=build_problems(idesc.find_problems(word)),
        warnings=build_problems(idesc.find_warnings(word)),
        code=IdescCode(**render_code(word)),
        evidence=EVIDENCE_RUBIN if word.on_rubin else EVIDENCE,
    )


def build_problems(notices: Iterable[FieldNotice]) -> list[Problem]:
    return [copy_fact(Problem, n) for n in notices]


# the zero-column mask -------------------------------------------------------------------------------------------------


@declare_question
class MaskProduct:
    """The product whose B the mask applies to."""

    m: int = number_field(128, "M", "M of the product: 32, 64 or 128.")
    n: int = number_field(128, "N", "N of the product: 64, 128 or 256.")


@declare_question
class MaskQuestion(MaskProduct):
    """A mask word and its product."""

    value: int = parsed_field(
        lambda value, field: zeromask.parse_mask_word(value),
        "Word",
        "64 bits: hex, 0b…, or a constant C++ expression.",
        required=True,
        argument=True,
        metavar="word",
        examples=("0x0003028000000000",),
    )


def _format_mask_label(field: BitField) -> str:
    """Return a field's name with its bits."""
    place = f"{field.high}:{field.low}" if field.high > field.low else str(field.low)
    return f"{field.name.replace('_', ' ').capitalize()} [{place}]"


MaskBody = make_question(
    "MaskBody",
    "The fields of a zero-column mask descriptor, and M and N of the product.",
    {
        field.name: number_field(0, _format_mask_label(field), field.meaning, most=field.most)
        for field in zeromask.FIELDS
    },
    MaskProduct,
)


@fact
class MaskField:
    """One bit field of a zero-column mask descriptor."""

    name: str
    low: Annotated[int, Description(limits=BITS)]
    high: Annotated[int, Description(limits=BITS)]
    value: int
    meaning: str


@fact
class ZeroColumns:
    """A zero-column mask descriptor, and the columns of B that it zeroes."""

    word: Word64
    m: int
    n: int
    fields: list[MaskField]
    columns: Annotated[list[int], Description("The columns of the product whose B is zero.")]
    first_column: Annotated[int, Description("The column of B that column 0 of the product takes: the shift.")]
    sub_masks: Annotated[int, Description("Sub-masks that make up the mask: 1, 2 or 4.")]
    problems: list[str]
    evidence: str


def decode_mask(question: MaskQuestion) -> ZeroColumns:
    """Return the fields of a zero-column mask descriptor, and the columns of B that it zeroes."""
    return build_mask(ZeroMask(question.value), question.m, question.n)


def encode_mask(question: Any) -> ZeroColumns:
    """Return a zero-column mask descriptor from its fields."""
    fields = {name: getattr(question, name) for name in zeromask.NAMES}
    return build_mask(zeromask.encode_mask(fields), question.m, question.n)


def build_mask(mask: ZeroMask, m: int, n: int) -> ZeroColumns:
    """Return the columns that a mask zeroes in an M × N product of .ws."""
    columns = mask.list_zero_columns(m, n)
    return ZeroColumns(
        word=str(mask),
        m=m,
        n=n,
        fields=[copy_fact(MaskField, field, value=field.get(mask.word)) for field in zeromask.FIELDS],
        columns=columns,
        first_column=mask.get_field("shift"),
        sub_masks=zeromask.SUBMASKS[m],
        problems=mask.find_problems(m),
        evidence=MASK_EVIDENCE,
    )
