"""Facts about tensor memory for the API, the command line and the page."""

from __future__ import annotations

from typing import Annotated

from lanescope.app.kit.fact import Description, IntegerArray, Numbers, copy_fact, fact, make_optional_field
from lanescope.app.kit.question import declare_question, flag_field, number_field, text_field, word_field
from lanescope.app.kit.target import target_field
from lanescope.app.kit.tcgen05 import columns_of_d_field, rows_of_d_field
from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.kind import MmaKind
from lanescope.blackwell.tmem import OPERANDS, TmemMma
from lanescope.inputs import parse_integer
from lanescope.ptx import catalog
from lanescope.ptx.architectures import require_instruction, require_kind


def _parse_group(value: object, field: str) -> int:
    return parse_integer(value, field, 1, 2)


def _parse_switch(value: object, field: str) -> bool:
    return bool(parse_integer(value, field, 0, 1))


@declare_question
class MmaQuestion:
    """One tcgen05.mma."""

    kind: MmaKind = word_field(
        idesc.NAMES, "Kind", "The kind of the MMA.", "f16", parse=lambda value, field: idesc.get_kind(value)
    )
    cta_group: int = word_field(("1", "2"), "CTA group", "CTAs that issue it together.", parse=_parse_group)
    ws: bool = flag_field(".ws", "1: with .ws.", _parse_switch)
    sparse: bool = flag_field("Sparse A", "1: with .sp.", _parse_switch)
    m: int = rows_of_d_field(size=4)
    n: int = columns_of_d_field(size=4)
    k: int | None = number_field(None, "K", "K of one instruction; the kind's where it is empty.")
    bits: int | None = number_field(
        None, "Element bits", "Bits of an element of A in its container; the kind's where it is empty."
    )
    scale_vec: str = word_field(
        ("1X", "2X", "4X"),
        "Scale vector",
        "Scale factors per row; the kind's first if empty.",
        "",
        code="bad_scale_vec",
    )
    target: str = target_field()


@declare_question
class OperandQuestion:
    """An operand in tensor memory."""

    operand: str = word_field(OPERANDS, "Operand", "Which operand.", "d", code="bad_operand")


@declare_question
class LayoutQuestion(MmaQuestion, OperandQuestion):
    """Where an operand of an MMA is; `operand` comes before the MMA's options."""


@declare_question
class AccessQuestion:
    """An access to tensor memory."""

    access: str = text_field(
        tmem.EXAMPLE,
        "Access",
        "A tcgen05.ld, .st, .cp or .shift.",
        check=tmem.parse_access,
        examples=(tmem.EXAMPLE,),
    )
    split: int = number_field(
        0, "Half split", "The constant of 16x32bx2; x, or 2x packed, where it is 0.", most=tmem.COLUMNS
    )
    target: str = target_field()


@fact
class TmemLayout:
    """Where an operand of one MMA is in the tensor memory of one CTA."""

    operand: str
    id: Annotated[str, Description("PTX's letter of the data-path layout.", ("D",))]
    pattern: Annotated[str, Description("(lane)(unit) → the axes.")]
    axes: tuple[str, ...]
    row: Annotated[Numbers, IntegerArray(2, "[lane][unit]; rows of this CTA, columns of B for scale_b.")]
    col: Annotated[Numbers, IntegerArray(2, "[lane][unit]: column of D, k, group of K, or number of the scale factor.")]
    unit_bits: int
    columns: Annotated[int, Description("32-bit columns it takes.")]
    rows_of_cta: Annotated[int, Description("Rows of A and D that one CTA holds.")]
    evidence: str
    half: Annotated[
        Numbers | None,
        IntegerArray(2, "[lane][unit] of layouts C and F: 0 or 1, the lane (0 or 16) at which it begins."),
    ] = make_optional_field()


@fact
class TmemAccess:
    """The lanes and columns of an access, relative to its address."""

    ptx: str
    pattern: str
    axes: tuple[str, ...]
    registers: int
    columns: int
    evidence: str
    lane: Annotated[Numbers | None, IntegerArray(2, "[thread][value] of ld and st.")] = make_optional_field()
    column: Annotated[Numbers | None, IntegerArray(2, "[thread][value] of ld and st.")] = make_optional_field()
    row: Annotated[Numbers | None, IntegerArray(2, "[lane][column] of cp: row of shared memory.")] = (
        make_optional_field()
    )
    word: Annotated[Numbers | None, IntegerArray(2, "[lane][column] of cp: 32-bit word of that row.")] = (
        make_optional_field()
    )


def parse_mma(question: MmaQuestion) -> TmemMma:
    """Return the MMA of a question. LayoutError names the illegal field."""
    require_kind(question.kind.name, question.target)
    form = idesc.get_form(question.cta_group, int(question.ws))
    return TmemMma(
        question.kind,
        form,
        question.sparse,
        question.m,
        question.n,
        k=question.k or 0,
        bits=question.bits or 0,
        scale_vec=question.scale_vec,
    )


def layout(question: LayoutQuestion) -> TmemLayout:
    """Return which lane and column of tensor memory holds which element of an operand of one tcgen05.mma."""
    mma = parse_mma(question)
    found = tmem.make_tmem_layout(mma, question.operand)
    coords = list(found.coords.values())
    return copy_fact(
        TmemLayout,
        found,
        operand=question.operand,
        id=found.letter,
        pattern=str(found.pattern),
        row=coords[0],
        col=coords[1],
        half=coords[2] if len(coords) > 2 else None,
        unit_bits=found.bits,
        rows_of_cta=mma.place.rows,
    )


def access(question: AccessQuestion) -> TmemAccess:
    """Return the lanes and columns that an access touches, relative to its address, and the register of each."""
    found = tmem.parse_access(question.access, question.split)
    require_instruction(catalog.find(found.ptx), question.target)
    first, second = found.pattern.evaluate()[:2]
    second = tmem.place_columns(found, second)
    moved = found.by_warp or found.verb == "shift"
    return copy_fact(
        TmemAccess,
        found,
        pattern=str(found.pattern),
        lane=first if moved else None,
        column=second if moved else None,
        row=None if moved else first,
        word=None if moved else second,
    )
