"""What the API, the command line and the pages say about an instruction descriptor. No framework."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from lanescope.app.kit.fact import Json, Says, fact
from lanescope.app.kit.names import KindName, Word32, Word64
from lanescope.bits import Field
from lanescope.blackwell import idesc, zeromask
from lanescope.blackwell.idesc import Idesc
from lanescope.blackwell.zeromask import ZeroMask
from lanescope.descriptor.matrix import Notice
from lanescope.errors import LayoutError
from lanescope.reading import asked, number
from lanescope.render.idesc import code, said

EVIDENCE = "documented; agrees with CUTLASS (304 words); not executed on hardware"
MASK_EVIDENCE = "documented; equals the 7 masks of PTX's examples; not executed on hardware"
FORM = ("cta_group", "ws")  # how it is issued: beside the fields of the word
BITS = {"minimum": 0, "maximum": 63}


@fact
class IdescField:
    """One bit field, and what it says in this kind."""

    name: str
    title: str
    low: Annotated[int, Says(limits=BITS)]
    high: Annotated[int, Says(limits=BITS)]
    encoded: int
    says: Annotated[str, Says("A type, a size, a flag, or that the code is reserved.", ("bf16", "256"))]
    meaning: str


@fact
class Problem:
    """Something illegal, or to be checked: by its code, about a field, with the rule's source."""

    code: Annotated[str, Says(limits={"pattern": "^[a-z0-9_]+$"})]
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
    cutlass: Annotated[str, Says("Empty where CUTLASS's types cannot say the word.")]
    ptx: str


@fact
class InstructionDescriptor:
    """An instruction descriptor taken apart under a kind."""

    word: Word32
    kind: KindName
    fields: list[IdescField]
    reserved: Annotated[Word32, Says("The reserved bits that are set.")]
    m: int
    n: int
    k: int
    types: IdescTypes
    sparse: bool
    legal: Annotated[bool, Says("Whether it is legal in some form.")]
    forms: Annotated[
        dict[str, list[Problem]],
        Says("cta_group::1, cta_group::2 and ws: what is illegal in that form alone."),
    ]
    problems: Annotated[list[Problem], Says("What is illegal in every form.")]
    warnings: list[Problem]
    code: IdescCode
    evidence: str


def decoded(word: object, kind: object) -> InstructionDescriptor:
    """GET /instruction-descriptors/{word}."""
    if not kind:
        hint = f"Allowed: {', '.join(idesc.NAMES)}. The kind stands in the opcode, not in the word."
        raise LayoutError("unknown_kind", "kind is missing.", hint, "kind")
    return facts_of(Idesc(idesc.read(word), idesc.kind(kind)))


def encoded(given: Json) -> InstructionDescriptor:
    """POST /instruction-descriptors/encode."""
    return facts_of(wished(given))


def wished(given: Json) -> Idesc:
    """The word of a wish; LayoutError names the field that is illegal."""
    row = idesc.kind(given.get("kind", "f16"))
    form = ""
    if any(str(given.get(name, "")).strip() for name in FORM):
        form = idesc.form_of(asked(given, "cta_group", 1), asked(given, "ws", 0))
    wish = {name: value for name, value in given.items() if name not in ("kind", *FORM)}
    return idesc.encode(row, wish, form)


def facts_of(given: Idesc) -> InstructionDescriptor:
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
                says=said(part, given),
                meaning=part.field.meaning,
            )
            for part in given.kind.parts
        ],
        reserved=idesc.hex_word(given.reserved),
        m=given.m,
        n=given.n,
        k=given.k,
        types=IdescTypes(**given.types),
        sparse=given.sparse,
        legal=bool(idesc.legal_forms(given)),
        forms={form: told(why) for form, why in idesc.forms(given).items()},
        problems=told(idesc.problems(given)),
        warnings=told(idesc.warnings(given)),
        code=IdescCode(**code(given)),
        evidence=EVIDENCE,
    )


def told(notices: Iterable[Notice]) -> list[Problem]:
    return [Problem(code=n.code, field=n.field, message=n.message, source=n.source) for n in notices]


# the zero-column mask -------------------------------------------------------------------------------------------------


@fact
class MaskField:
    """One bit field of a zero-column mask descriptor."""

    name: str
    low: Annotated[int, Says(limits=BITS)]
    high: Annotated[int, Says(limits=BITS)]
    value: int
    meaning: str


@fact
class ZeroColumns:
    """A zero-column mask descriptor, and the columns of B that it makes zero."""

    word: Word64
    m: int
    n: int
    fields: list[MaskField]
    columns: Annotated[list[int], Says("The columns of the product whose B is zero.")]
    first_column: Annotated[int, Says("The column of B that column 0 of the product takes: the shift.")]
    sub_masks: Annotated[int, Says("Sub-masks that make up the mask: 1, 2 or 4.")]
    problems: list[str]
    evidence: str


def mask_of(word: object, m: object, n: object) -> ZeroColumns:
    """GET /zero-column-masks/{word}."""
    return mask_facts(ZeroMask(zeromask.read(word)), number(m, "m"), number(n, "n"))


def mask_encoded(given: Json) -> ZeroColumns:
    """POST /zero-column-masks/encode: the fields, and m and n of the product."""
    fields = {name: value for name, value in given.items() if name not in ("m", "n")}
    m, n = (number(given.get(name, default), name) for name, default in (("m", 128), ("n", 128)))
    return mask_facts(zeromask.encode(fields), m, n)


def mask_facts(mask: ZeroMask, m: int, n: int) -> ZeroColumns:
    """The columns it zeroes in an M × N product of .ws."""
    columns = mask.columns(m, n)
    return ZeroColumns(
        word=str(mask),
        m=m,
        n=n,
        fields=[_mask_field(mask, one) for one in zeromask.FIELDS],
        columns=columns,
        first_column=mask.get("shift"),
        sub_masks=zeromask.SUBMASKS[m],
        problems=mask.problems(m),
        evidence=MASK_EVIDENCE,
    )


def _mask_field(mask: ZeroMask, one: Field) -> MaskField:
    return MaskField(name=one.name, low=one.low, high=one.high, value=one.get(mask.word), meaning=one.meaning)
