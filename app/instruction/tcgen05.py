"""The parts of a tcgen05.mma's page beside its matrices: the fields of its instruction descriptor, the place of each
operand in tensor memory, and the pictures of scale factors and metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanescope.app.idesc.forms import ORDER, link_idesc
from lanescope.app.instruction.state import find_binding_target, split_pin
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import fact
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.question import Field, Option, declare_question, raw_field
from lanescope.app.kit.question_form import Control, build_controls
from lanescope.app.kit.rings import LEAST_RING, draw_ring
from lanescope.app.kit.sheets import SheetGrid
from lanescope.app.tmem import draw
from lanescope.app.tmem.feature import PLACEMENT
from lanescope.blackwell import bound
from lanescope.blackwell.bound import BoundMma
from lanescope.blackwell.idesc import IdescWord, fit_kind
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.role import TENSOR
from lanescope.ptx.table.kinds import WS
from lanescope.render.figure import PanelFigure, make_operand_figure
from lanescope.render.idesc import render_code
from lanescope.render.kernel import format_plan_options
from lanescope.render.svg import render_svg

WINDOW = 32  # rows of a figure
MAJORS = {"K": "K-major", "MN": "MN-major"}
BESIDE = "abd"  # the matrices that the stage shows; the others have figures of their own


@declare_question
class WordForm:
    """The instruction descriptor as one word."""

    idesc: str = raw_field("Word", "The 32-bit word in any spelling, or fields: m=128,n=256,a=bf16.", size=10)


@fact
class TmemOperandView:
    """One operand in tensor memory: columns, pattern, evidence, and its picture if the stage has none."""

    name: str
    size: str
    columns: int
    pattern: str
    evidence: str
    inferred: bool
    href: str
    svg: str


@fact
class IdescView:
    """The descriptor: the word and its page, the product that it defines, the form, and the operands.

    place: JSON; the positions of lanes and columns in the map, and the first column of each operand.
    """

    word: str
    page: str
    target: str
    has_word: bool
    says_open: str
    layout: str
    product: str
    share: str
    fields: dict[str, Control]
    places: tuple[TmemOperandView, ...]
    open: dict[str, str]
    tmem: str
    map: str
    place: str
    code: str


def parse_idesc_query(instruction: Instruction, query: Mapping[str, str]) -> dict[str, str]:
    """Parse the query's fields of a descriptor into one word; {} if it names none."""
    if not instruction.family.issue:
        return {}
    target = find_binding_target(instruction, query)
    names = [part.name for part in fit_kind(bound.get_mma_opcode(instruction).kind, target).parts]
    options = {name: query[name] for name in names if query.get(name, "").strip()}
    if not options:
        return {}
    rest = {name: value for name, value in query.items() if name not in names and name != "idesc" and value}
    try:
        return rest | {"idesc": str(bound.bind(instruction, format_plan_options(options), target).word)}
    except LayoutError:
        return rest | {"idesc": format_plan_options(options)}


def make_idesc_query(word: IdescWord) -> dict[str, str]:
    """Return the fields of a descriptor in a page's address: the word, and its target."""
    return {"idesc": str(word), **({"target": word.target} if word.target else {})}


def build_idesc_view(
    instruction: Instruction, query: str, figure: PanelFigure, pins: Sequence[str]
) -> IdescView | None:
    """Build the view of the descriptor; None for an instruction without one. query: the rest of the address; figure:
    the matrices of the page; pins: the ringed places.
    """
    if not isinstance(instruction, BoundMma):
        return None
    mma, word = instruction.mma, instruction.word
    x, y, width, height = draw.list_grids(mma.ctas)[0]  # the page's rows and columns are those of the first CTA
    grid, columns = SheetGrid("", x, y, width, height), _list_columns(instruction)
    place = {"x": x, "y": y, "cell_width": width, "cell_height": height, "least": LEAST_RING, "columns": columns}
    return IdescView(
        word=str(word),
        page=link_idesc(word),
        target=word.target,
        has_word="idesc=" in query,
        says_open=bound.describe_open(instruction),
        layout=mma.place.letter,
        product=f"M {word.m} × N {word.n} × K {word.k}",
        share=bound.describe_share(mma),
        fields=_build_fields(instruction),
        places=tuple(
            _build_operand_view(instruction, op, evidence)
            for op, evidence in zip(instruction.tensor_operands, bound.list_evidence(instruction), strict=True)
        ),
        open=dict(instruction.open),
        tmem=link_tmem(instruction),
        map=_draw_map(instruction, grid, figure, pins),
        place=encode_json(place).decode(),
        code=render_code(word)["constant"],
    )


def is_on_stage(operand: Operand) -> bool:
    """Return whether the stage shows an operand: other operands in tensor memory than A, B and D have their own
    figures.
    """
    return operand.scope is not TENSOR or operand.name in (*BESIDE, "data")


def link_tmem(instruction: BoundMma) -> str:
    """Link the page of tensor memory with this product's operands side by side."""
    return PLACEMENT.link(_build_placement_query(instruction))


def _list_columns(instruction: BoundMma) -> dict[str, int]:
    """List the first column of each operand in the map."""
    query = _build_placement_query(instruction)
    return {op.name: int(query[f"{op.name}_at"]) for op in instruction.tensor_operands}


def _draw_map(instruction: BoundMma, grid: SheetGrid, figure: PanelFigure, pins: Sequence[str]) -> str:
    """Draw the operands in tensor memory with a ring around the cells of each pinned element."""
    columns = _list_columns(instruction)
    grids = {panel.name: panel.grid for panel in figure.panels if panel.grid and panel.name in columns}
    rings = ""
    for name, row, col in (element for element, _ in map(split_pin, pins) if element and element[0] in grids):
        operand_grid = grids[name]
        for lane, value in zip(
            operand_grid.thread[row, col].tolist(), operand_grid.value[row, col].tolist(), strict=True
        ):
            rings += draw_ring(grid, lane, columns[name] + operand_grid.operand.register_of(value)[0])
    return PLACEMENT.draw_query(_build_placement_query(instruction)).replace("</svg>", f"{rings}</svg>")


def _build_placement_query(instruction: BoundMma) -> dict[str, str]:
    """Build the query of that page: the product, and a column for every operand, D first."""
    mma, column = instruction.mma, 0
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
    for op in sorted(instruction.tensor_operands, key=lambda op: op.name != "d"):
        query[f"{op.name}_at"] = column
        column += op.registers
    return {name: str(value) for name, value in query.items()}


def _build_fields(instruction: BoundMma) -> dict[str, Control]:
    """Build the controls of the word's fields: sizes and types first."""
    kind = instruction.word.kind
    fields, given, choices = {}, {}, {}
    for part in sorted(kind.parts, key=lambda part: ORDER.index(part.name)):
        if part.name == "sparse" or (part.codes and len(part.codes) == 1):
            continue
        if part.name == "m":
            sizes = kind.sizes[instruction.mma.form, instruction.mma.sparse].m
            choices[part.name] = {str(m): str(m) for m in sizes}
        elif part.codes:
            choices[part.name] = {name: MAJORS.get(name, name) for name in part.codes}
        label = part.field.title[0].upper() + part.field.title[1:]
        fields[part.name] = Field(part.name, Option(label=label, help="", parse=parse_integer, size=4, numeric=True))
        given[part.name] = part.format_code(instruction.word.word)
    return build_controls(fields, given, choices)


def _build_operand_view(instruction: BoundMma, op: Any, evidence: bound.OperandEvidence) -> TmemOperandView:
    figure = make_operand_figure(op, rows=(0, min(op.row_count, WINDOW) - 1)) if op.name not in BESIDE else None
    svg = render_svg(figure, title=f"{op.name} of {instruction.ptx}", palette=None, labels_up_to=600) if figure else ""
    return TmemOperandView(
        name=op.name,
        size=f"{op.row_count} × {op.col_count} {op.element.name}",
        columns=op.registers,
        pattern=str(op.pattern),
        evidence=evidence.text,
        inferred=evidence.inferred,
        href=link_instruction(instruction, op, "svg", make_idesc_query(instruction.word)),
        svg=svg,
    )
