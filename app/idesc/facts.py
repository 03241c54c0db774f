"""What the API, the command line and the pages say about an instruction descriptor. No framework."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from lanescope.app.kit.enumerations import KindName, Word32, Word64
from lanescope.app.kit.fact import Description, Json, fact
from lanescope.bits import BitField
from lanescope.blackwell import idesc, zeromask
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.zeromask import ZeroMask
from lanescope.descriptor.matrix import FieldNotice
from lanescope.errors import LayoutError
from lanescope.inputs import get_given, parse_integer
from lanescope.render.idesc import describe_field, render_code

EVIDENCE = "documented; agrees with CUTLASS (304 words); not executed on hardware"
MASK_EVIDENCE = "documented; equals the 7 masks of PTX's examples; not executed on hardware"
FORM = ("cta_group", "ws")  # how it is issued: beside the fields of the word
BITS = {"minimum": 0, "maximum": 63}


@fact
class IdescField:
    """One bit field, and what it says in this kind."""

    name: str
    title: str
    low: Annotated[int, Description(limits=BITS)]
    high: Annotated[int, Description(limits=BITS)]
    encoded: int
    says: Annotated[str, Description("A type, a size, a flag, or that the code is reserved.", ("bf16", "256"))]
    meaning: str


@fact
class Problem:
    """Something illegal, or to be checked: by its code, about a field, with the rule's source."""

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
    """The word as a C++ constant, as CUTLASS makes it, and the inline PTX that takes it."""

    constant: str
    cutlass: Annotated[str, Description("Empty where CUTLASS's types cannot say the word.")]
    ptx: str


@fact
class InstructionDescriptor:
    """An instruction descriptor taken apart under a kind."""

    word: Word32
    kind: KindName
    fields: list[IdescField]
    reserved: Annotated[Word32, Description("The reserved bits that are set.")]
    m: int
    n: int
    k: int
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


def decode_idesc(word: object, kind: object) -> InstructionDescriptor:
    """GET /instruction-descriptors/{word}."""
    if not kind:
        hint = f"Allowed: {', '.join(idesc.NAMES)}. The kind stands in the opcode, not in the word."
        raise LayoutError("unknown_kind", "kind is missing.", hint, "kind")
    return build_idesc(IdescWord(idesc.parse_idesc_word(word), idesc.get_kind(kind)))


def encode_idesc(given: Json) -> InstructionDescriptor:
    """POST /instruction-descriptors/encode."""
    return build_idesc(parse_wish(given))


def parse_wish(given: Json) -> IdescWord:
    """The word of a wish; LayoutError names the field that is illegal."""
    row = idesc.get_kind(given.get("kind", "f16"))
    form = ""
    if any(str(given.get(name, "")).strip() for name in FORM):
        form = idesc.get_form(get_given(given, "cta_group", 1), get_given(given, "ws", 0))
    wish = {name: value for name, value in given.items() if name not in ("kind", *FORM)}
    return idesc.encode(row, wish, form)


def build_idesc(given: IdescWord) -> InstructionDescriptor:
    """Everything said of a word under its kind."""
    return InstructionDescriptor(
        word=str(given),
        kind=given.kind.name,
        fields=[
            IdescField(
                name=part.name,
                title=part.field.title,
                low=part.field.low,
                high=part.field.high,
                encoded=part.field.get(given.word),
                says=describe_field(part, given),
                meaning=part.field.meaning,
            )
            for part in given.kind.parts
        ],
        reserved=idesc.format_word(given.reserved),
        m=given.m,
        n=given.n,
        k=given.k,
        types=IdescTypes(**given.types),
        sparse=given.sparse,
        legal=bool(idesc.find_legal_forms(given)),
        forms={form: build_problems(why) for form, why in idesc.find_problems_by_form(given).items()},
        problems=build_problems(idesc.find_problems(given)),
        warnings=build_problems(idesc.find_warnings(given)),
        code=IdescCode(**render_code(given)),
        evidence=EVIDENCE,
    )


def build_problems(notices: Iterable[FieldNotice]) -> list[Problem]:
    return [Problem(code=n.code, field=n.field, message=n.message, source=n.source) for n in notices]


# the zero-column mask -------------------------------------------------------------------------------------------------


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
    """A zero-column mask descriptor, and the columns of B that it makes zero."""

    word: Word64
    m: int
    n: int
    fields: list[MaskField]
    columns: Annotated[list[int], Description("The columns of the product whose B is zero.")]
    first_column: Annotated[int, Description("The column of B that column 0 of the product takes: the shift.")]
    sub_masks: Annotated[int, Description("Sub-masks that make up the mask: 1, 2 or 4.")]
    problems: list[str]
    evidence: str


def parse_mask(word: object, m: object, n: object) -> ZeroColumns:
    """GET /zero-column-masks/{word}."""
    return build_mask(ZeroMask(zeromask.parse_mask_word(word)), parse_integer(m, "m"), parse_integer(n, "n"))


def encode_mask(given: Json) -> ZeroColumns:
    """POST /zero-column-masks/encode: the fields, and m and n of the product."""
    fields = {name: value for name, value in given.items() if name not in ("m", "n")}
    m, n = (parse_integer(given.get(name, default), name) for name, default in (("m", 128), ("n", 128)))
    return build_mask(zeromask.encode_mask(fields), m, n)


def build_mask(mask: ZeroMask, m: int, n: int) -> ZeroColumns:
    """The columns it zeroes in an M × N product of .ws."""
    columns = mask.list_zero_columns(m, n)
    return ZeroColumns(
        word=str(mask),
        m=m,
        n=n,
        fields=[_build_mask_field(mask, one) for one in zeromask.FIELDS],
        columns=columns,
        first_column=mask.get_field("shift"),
        sub_masks=zeromask.SUBMASKS[m],
        problems=mask.find_problems(m),
        evidence=MASK_EVIDENCE,
    )


def _build_mask_field(mask: ZeroMask, one: BitField) -> MaskField:
    return MaskField(name=one.name, low=one.low, high=one.high, value=one.get(mask.word), meaning=one.meaning)
