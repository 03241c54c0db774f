"""Data of the script of an instruction's page."""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.app.instruction import headline, lanes, state, terms, wording
from lanescope.app.instruction.state import AutomaticColour, PageState
from lanescope.app.instruction.supplies import TIP, SupplyMatrix, list_facts
from lanescope.app.kit.answer import AnswerWords, get_per_register, list_value_bits
from lanescope.app.kit.fact import Numbers, copy_fact, fact, make_optional_field
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.maps.bench import PIN
from lanescope.app.kit.matrix import MatrixData
from lanescope.ptx.instruction import WARP, Instruction
from lanescope.render import palette, window
from lanescope.render.figure import PanelFigure
from lanescope.render.view import (
    ADDRESS,
    BETWEEN_OWNERS,
    LABELS,
    CellCategory,
    OperandGrid,
    get_owner_template,
    get_spoken_template,
    list_labels,
)


@fact
class PanelData:
    """One matrix: its size, and the dimensions that its rows and columns follow; subject: its name in the legend;
    beside: whether it belongs to another one.
    """

    name: str
    title: str
    rows: int
    cols: int
    dims: tuple[str, str]
    warp_edges: tuple[int, ...]
    subject: str
    beside: bool | None = make_optional_field()


@fact
class CategoryData:
    """A colouring of cells: a number for every thread or every value, and their colours."""

    of: str
    numbers: Numbers
    count: int
    wheel: tuple[str, ...]


@fact
class OperandData(MatrixData):
    """One matrix for the script: owners by cell, data of each thread or value, and templates of the sentences.

    Of metadata and scale factors also: texts of their cells; of, down, across: the panel whose elements they belong to,
    and for each of its rows and columns the row and column here.
    """

    thread: Numbers
    value: Numbers
    register: Numbers
    categories: dict[str, CategoryData]
    plane: tuple[str, str]
    sparse: tuple[int, int] | None = make_optional_field()
    held: str
    head: str
    tip: str
    answer: str
    value_bits: tuple[str, ...]
    per_register: int
    lines: tuple[lanes.NumericLine, ...]
    fields: Mapping[str, Numbers | list[str]] | None = make_optional_field()
    texts: dict[str, str] | None = make_optional_field()
    of: str | None = make_optional_field()
    down: Numbers | None = make_optional_field()
    across: Numbers | None = make_optional_field()


@fact
class SpokenData:
    """Templates of the sentences about a cell and its owners."""

    cell: str
    owner: str
    between: str


@fact
class PageData:
    """The data of the page's script: the owner of every cell, digits, the state with its defaults; the size of each
    dimension and its opening range; `warp`: the lanes of a warp if there are several warps, otherwise 0.
    """

    ptx: str
    threads: int
    path: str
    state: PageState
    defaults: PageState
    pictured: PageState
    pin: str
    labels: dict[str, str]
    unit: str
    letter: str
    register: str
    spoken: SpokenData
    extents: dict[str, int]
    opening: dict[str, tuple[float, float]]
    colours: dict[str, str]
    automatic: AutomaticColour | None
    warp: int
    words: AnswerWords
    panels: tuple[PanelData, ...]
    operands: dict[str, OperandData]


def build_page_data(
    instruction: Instruction, figure: PanelFigure, page_state: PageState, supplies: Mapping[str, SupplyMatrix]
) -> PageData:
    """Build the data of the page's script."""
    return PageData(
        ptx=instruction.ptx,
        threads=instruction.threads,
        path=link_instruction(instruction),
        state=page_state,
        defaults=state.make_default_state(instruction),
        pictured=PageState(),
        pin=PIN,
        labels=list_labels(instruction.family.scope),
        unit=instruction.family.scope.thread,
        letter=instruction.family.scope.letter,
        register=instruction.family.scope.register,
        spoken=SpokenData(
            cell=get_spoken_template(next(iter(instruction.operands.values()))),
            owner=get_owner_template(instruction.family.scope),
            between=BETWEEN_OWNERS,
        ),
        extents=window.count_cells(instruction, figure),
        opening=window.make_opening_window(instruction, figure),
        colours=wording.describe_names(instruction),
        automatic=state.select_automatic(instruction),
        warp=WARP.threads if instruction.family.scope.several else 0,
        words=headline.build_words(instruction, figure, supplies),
        panels=tuple(
            copy_fact(
                PanelData,
                p,
                dims=window.get_dimensions(instruction, p),
                warp_edges=tuple(p.warp_edges),
                subject=terms.format_subject(p),
            )
            for p in figure.panels
        )
        + tuple(_build_supply_panel(supply) for supply in supplies.values()),
        operands={
            **{
                name: build_operand_data(grid, name, list_facts(supplies, name))
                for name, grid in lanes.build_panel_grids(instruction, figure).items()
            },
            **{name: build_supply_data(supply) for name, supply in supplies.items()},
        },
    )


def _build_supply_panel(supply: SupplyMatrix) -> PanelData:
    """Build the panel: it scrolls with the rows of A or the columns of B, and shows all of its other dimension."""
    dims = ("", "n") if supply.of == "b" else ("m", "")
    edges = tuple(supply.list_warp_edges())
    return copy_fact(PanelData, supply, dims=dims, warp_edges=edges, subject=supply.title, beside=True)


def build_supply_data(supply: SupplyMatrix) -> OperandData:
    """Build metadata or scale factors for the script."""
    bits = tuple(supply.format_bits(unit) for unit in range(supply.units))
    spans = [f"bits {unit * supply.unit_bits} to {(unit + 1) * supply.unit_bits - 1}" for unit in range(supply.units)]
    return copy_fact(
        OperandData,
        supply,
        element_type=f"b{supply.unit_bits}",
        copies=1,
        bits=tuple(f"[{text}]" for text in bits),
        spoken_bits=tuple(spans),
        digits=(),
        extra={},
        thread=supply.thread.ravel(),
        value=supply.unit.ravel(),
        register=(0,) * supply.units,
        categories=_build_categories(supply.categories),
        plane=("row", "col"),
        held=supply.element,
        head=supply.head.replace("{bits}", "{range}"),
        tip=TIP,
        answer=supply.answer.replace("{bits}", "{range}"),
        value_bits=bits,
        per_register=0,
        lines=(),
        fields={
            **{name: numbers.ravel() for name, numbers in supply.numbers.items()},
            "range": [bits[unit] for unit in supply.unit.ravel().tolist()],
        },
        texts={name: "" if name == "none" else supply.label for name in LABELS},
    )


def _build_categories(categories: Mapping[str, CellCategory]) -> dict[str, CategoryData]:
    return {
        name: copy_fact(CategoryData, c, wheel=tuple(palette.list_fill_variables(c.count)))
        for name, c in categories.items()
    }


def build_operand_data(grid: OperandGrid, panel: str, fields: Mapping[str, Numbers]) -> OperandData:
    """Build one matrix for the script. fields: numbers of its elements for the sentences, each [rows, cols]."""
    op = grid.operand
    return OperandData(
        name=op.name,
        title=lanes.format_panel_title(panel),
        element_type=op.element.name,
        rows=grid.rows,
        cols=grid.cols,
        copies=op.pattern.copies,
        thread=grid.thread.ravel(),
        value=grid.value.ravel(),
        register=grid.categories["register"].numbers,
        bits=tuple(grid.format_bits(value) for value in range(op.values)),
        spoken_bits=tuple(grid.format_spoken_bits(value) for value in range(op.values)),
        digits=tuple(d.name for d in op.pattern.digits),
        categories=_build_categories(grid.categories),
        plane=op.plane,
        extra={axis: grid.product for axis in op.axes if axis not in op.plane},
        sparse=op.kept_of_group,
        held=lanes.HELD_ROW if op.name == ADDRESS else lanes.HELD,
        head=lanes.format_table_head(op),
        tip=lanes.TIP,
        answer=headline.get_element_template(op),
        value_bits=list_value_bits(op),
        per_register=get_per_register(op),
        lines=lanes.list_numeric_lines(op),
        fields={name: numbers.ravel() for name, numbers in fields.items()} or None,
    )
