"""What the page of a tcgen05.mma shows beside its matrices: the fields of its instruction descriptor, what each operand
takes of tensor memory, and the pictures of scale factors and metadata. No framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.idesc.forms import ORDER
from lanescope.app.kit.fact import fact
from lanescope.app.kit.links import link_instruction
from lanescope.app.tmem.feature import PLACEMENT
from lanescope.blackwell import bound
from lanescope.blackwell.bound import BoundMma
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.role import TENSOR
from lanescope.ptx.table.kinds import WS
from lanescope.render.idesc import render_code
from lanescope.render.svg import render_svg
from lanescope.render.view import make_operand_figure

FIRST = ("a", "b", "d", "scale_type", "m", "n", "k", "transpose_a", "transpose_b")
WINDOW = 32  # rows of their figures
BESIDE = "abd"  # the matrices that the stage shows; the others have figures of their own


@fact
class IdescFormField:
    """A field of the form: its name in the address, its words, what it says, and what may be chosen."""

    name: str
    title: str
    value: str
    choices: tuple[tuple[str, str], ...]


@fact
class TmemOperandView:
    """One operand in tensor memory: columns, pattern, what stands behind it, and its picture where the stage has
    none.
    """

    name: str
    size: str
    columns: int
    pattern: str
    told: str
    inferred: bool
    href: str
    svg: str


@fact
class IdescView:
    """Everything of the descriptor: the word and its page, what it decides, the form, and the operands."""

    word: str
    page: str
    given: bool
    says_open: str
    layout: str
    product: str
    share: str
    fields: tuple[IdescFormField, ...]
    more: tuple[IdescFormField, ...]
    places: tuple[TmemOperandView, ...]
    open: dict[str, str]
    tmem: str
    map: str
    code: str


def parse_idesc_query(found: Instruction, query: Mapping[str, str]) -> dict[str, str]:
    """The query with its fields of a descriptor as one word; {} where it names none, or none that is legal."""
    if not found.family.issue:
        return {}
    names = [part.name for part in bound.get_mma_opcode(found).kind.parts]
    asked = {name: query[name] for name in names if query.get(name, "").strip()}
    if not asked:
        return {}
    rest = {name: value for name, value in query.items() if name not in names and name != "idesc" and value}
    try:
        return rest | {"idesc": str(bound.bind(found, _format_options(asked)).word)}
    except LayoutError:
        return rest | {"idesc": _format_options(asked)}


def _format_options(asked: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in asked.items())


def build_idesc_view(found: Instruction, query: str) -> IdescView | None:
    """What the page says of the descriptor; None of an instruction that takes none. query: the rest of the address."""
    if not isinstance(found, BoundMma):
        return None
    mma, given = found.mma, found.word
    kind, fields = mma.kind.name, _build_fields(found)
    return IdescView(
        word=str(given),
        page=f"/idesc/{given}?kind={kind}",
        given="idesc=" in query,
        says_open=bound.describe_open(found),
        layout=mma.place.letter,
        product=f"M {mma.m} × N {mma.n} × K {mma.k}",
        share=bound.describe_share(mma),
        fields=tuple(one for one in fields if one.name in FIRST),
        more=tuple(one for one in fields if one.name not in FIRST),
        places=tuple(
            _build_operand_view(found, op, told)
            for op, told in zip(found.held, bound.list_evidence(found), strict=True)
        ),
        open=dict(found.open),
        tmem=link_tmem(found),
        map=PLACEMENT.figure(_build_placement_query(found)),
        code=render_code(given)["constant"],
    )


def is_on_stage(operand: Operand) -> bool:
    """Whether the stage shows an operand: those of tensor memory beside A, B and D have figures of their own."""
    return operand.scope is not TENSOR or operand.name in (*BESIDE, "data")


def link_tmem(found: BoundMma) -> str:
    """The page of tensor memory with this product's operands side by side."""
    return PLACEMENT.link(_build_placement_query(found))


def _build_placement_query(found: BoundMma) -> dict[str, str]:
    """What that page is asked: the product, and a column for every operand, D first."""
    mma, at = found.mma, 0
    query: dict[str, Any] = {
        "kind": mma.kind.name,
        "cta_group": mma.ctas,
        "ws": int(mma.form == WS),
        "sparse": int(mma.sparse),
        "m": mma.m,
        "n": mma.n,
        "access": "",
    }
    query |= {"scale_vec": mma.scale_vec} if mma.scale_vec else {}
    for op in sorted(found.held, key=lambda op: op.name != "d"):
        query[f"{op.name}_at"] = at
        at += op.registers
    return {name: str(value) for name, value in query.items()}


def _build_fields(found: BoundMma) -> tuple[IdescFormField, ...]:
    """What may be chosen: sizes and types first."""
    kind = found.mma.kind
    out = []
    for part in sorted(kind.parts, key=lambda part: ORDER.index(part.name)):
        if part.name == "sparse" or (part.codes and len(part.codes) == 1):
            continue
        if part.name == "m":
            sizes = kind.sizes[found.mma.form, found.mma.sparse].m
            choices = tuple((str(m), str(m)) for m in sizes)
        else:
            majors = {"K": "K-major", "MN": "MN-major"}
            choices = tuple((name, majors.get(name, name)) for name in part.codes)
        out.append(
            IdescFormField(
                name=part.name,
                title=part.field.title[0].upper() + part.field.title[1:],
                value=part.format_code(found.word.word),
                choices=choices,
            )
        )
    return tuple(out)


def _build_operand_view(found: BoundMma, op: Any, told: bound.OperandEvidence) -> TmemOperandView:
    figure = make_operand_figure(op, rows=(0, min(op.row_count, WINDOW) - 1)) if op.name not in BESIDE else None
    drawn = render_svg(figure, title=f"{op.name} of {found.ptx}", palette=None, labels_up_to=600) if figure else ""
    return TmemOperandView(
        name=op.name,
        size=f"{op.row_count} × {op.col_count} {op.element.name}",
        columns=op.registers,
        pattern=str(op.pattern),
        told=told.text,
        inferred=told.inferred,
        href=link_instruction(found, op, "svg", {"idesc": str(found.word)}),
        svg=drawn,
    )
