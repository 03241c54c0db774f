"""The context of an instruction's page, and the data of its script. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from lanescope.app.catalogue import topics
from lanescope.app.hardware import fragment_runs, runs
from lanescope.app.instruction import facts as about
from lanescope.app.instruction import find, head, headline, lanes, pickers, shown_lanes, state, tcgen05, terms, wording
from lanescope.app.instruction import wmma as wmma_facts
from lanescope.app.instruction.code import build_code_parts
from lanescope.app.instruction.matrices import build_matrices, list_views
from lanescope.app.instruction.pressure import build_pressure
from lanescope.app.instruction.state import AutomaticColour, PageState
from lanescope.app.kernel import facts as programs
from lanescope.app.kit.answer import AnswerWords, get_per_register, list_value_bits
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import Numbers, extend_fact, fact
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.matrix import MatrixData
from lanescope.inputs import parse_digits
from lanescope.ptx import catalog
from lanescope.ptx.instruction import WARP, Instruction, OperandPlace
from lanescope.ptx.targets import format_targets
from lanescope.render import palette, window
from lanescope.render.view import (
    ADDRESS,
    BETWEEN_OWNERS,
    OperandGrid,
    PanelFigure,
    get_owner_template,
    get_spoken_template,
    list_labels,
    make_figure,
)

TABS = {
    "registers": "Registers",
    "formulas": "Formulas",
    "code": "Code",
    "layouts": "CuTe and Triton",
    "evidence": "Evidence",
    "run": "Run",
}


SEPARATE_WORDS = {
    "product": ("Product", 1),
    "half": ("First lane", 16),
}  # axis of which a page shows one place → (label, step)


@fact
class RunChoices:
    """What the page's run form offers; `reason`: why the GPU's button is off."""

    kinds: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]
    forms: tuple[str, ...]
    reason: str
    steps: bool


@fact
class ScaleTable(about.ScaleMap):
    """A scale map as a table: a cell is lane and byte, a line of cells one row of A or column of B."""

    cells: tuple[tuple[str, ...], ...]
    notice: str
    letter: str
    line: str


@fact
class PanelData:
    """One matrix: its size, and the dimensions that its rows and columns follow."""

    name: str
    title: str
    rows: int
    cols: int
    dims: tuple[str, str]
    warp_edges: tuple[int, ...]


@fact
class CategoryData:
    """A name that cells may be coloured by: its number for every thread or every value, and their colours."""

    of: str
    numbers: Numbers
    count: int
    wheel: tuple[str, ...]


@fact
class AxisData:
    """How an axis follows from thread and value: its formula, and the same as a template to fill."""

    axis: str
    text: str
    template: str


@fact
class OperandData(MatrixData):
    """One matrix for the script: owners by cell, what depends on the thread or the value alone, and templates of what
    is said.
    """

    thread: Numbers
    value: Numbers
    register: Numbers
    categories: dict[str, CategoryData]
    axes: tuple[AxisData, ...]
    plane: tuple[str, str]
    sparse: tuple[int, int] | None
    held: str
    head: str
    tip: str
    answer: str
    value_bits: tuple[str, ...]
    per_register: int
    lines: tuple[lanes.NumericLine, ...]


@fact
class SpokenData:
    """Templates of what is said of a cell and its owners."""

    cell: str
    owner: str
    between: str


@fact
class PageData:
    """What the page's script draws from: the owner of every cell, digits, the state with its defaults; how far each
    dimension goes and what of it is shown first; `warp`: the lanes of a warp, where there are several, else 0.
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


def build_run_choices(instruction: Instruction, reason: str) -> RunChoices | None:
    """Return the runs of an instruction, None if it has not been run."""
    multiplies = runs.is_multiply(instruction)
    kinds = [("mma", "product against NumPy")] if multiplies else []
    measured = () if fragment_runs.explain_unmeasured(instruction) else fragment_runs.list_measurable(instruction)
    if measured:
        kinds.append(("fragment", "measure one operand's map"))
    forms = instruction.family.forms if multiplies else ()
    if not kinds:
        return None
    return RunChoices(kinds=tuple(kinds), operands=tuple(measured), forms=tuple(forms), reason=reason, steps=multiplies)


def build_context(
    instruction: Instruction,
    page_state: PageState,
    notices: list[str],
    query: Mapping[str, str],
    reason: str,
    table_values: int,
) -> dict[str, Any]:
    """Build everything that the page of one instruction shows.

    reason: why no run goes to a GPU; table_values: how large a map stands in the page as a table.
    """
    figure = make_figure(instruction, page_state.product)
    distinct = lanes.list_distinct_operands(instruction)
    spans = window.parse_window(page_state.view, instruction, figure)
    painted = state.resolve_colour(instruction, page_state, spans)
    figures = head.list_pictures(instruction, painted)
    run = build_run_choices(instruction, reason)
    pressure = build_pressure(instruction)
    return {
        "found": instruction,
        "issued": tcgen05.build_idesc_view(instruction, urlencode(query)),
        "separate": SEPARATE_WORDS[
            next((a for op in instruction.operands.values() for a in op.axes if a == "half"), "product")
        ],
        "scope": instruction.family.scope,
        "path": link_instruction(instruction),
        "detail": about.build_detail(instruction),
        "related": topics.find_instruction_topics(instruction),
        "assembled": catalog.get_target_support(instruction),
        "assembled_for": format_targets(catalog.get_target_support(instruction).targets),
        "assembler": catalog.get_assembler()["assembler"],
        "evidence": about.list_evidence(instruction),
        "cutlass_b": instruction.operands["b"].turned if "b" in instruction.operands else "",
        "operands": [about.build_operand(instruction, op) for op in distinct],
        "state": page_state,
        "notices": notices,
        "pickers": pickers.build_pickers(instruction),
        "colours": wording.list_colours(instruction),
        "labels": wording.list_labels(instruction),
        "head": head.build_head(instruction),
        "matrices": build_matrices(instruction, figure, painted, spans),
        "views": [
            (view, link_instruction(instruction) + _build_view_query(page_state, instruction, view.value))
            for view in list_views(instruction, figure, page_state)
        ],
        "minimap": is_d_cut(instruction, figure),
        "legend": terms.build_legend(instruction, figure, painted),
        "terms": terms.format_terms(figure, page_state),
        "share": format_a_share(instruction, spans),
        "pictures": figures,
        "following": head.list_next_pages(instruction, page_state, figures[-1]),
        "code": build_code_parts(instruction),
        "program": programs.has_program(instruction),
        "wmma": wmma_facts.check_memory(instruction, query),
        "scales": build_scale_tables(instruction, query),
        "products": state.count_products(instruction),
        "majors": {name: list_majors(instruction, page_state, name) for name in state.MAJORS},
        "run": run,
        "answer": headline.build_answer(instruction, figure, page_state),
        "grid": shown_lanes.build_lanes_grid(instruction, figure),
        "example": find.format_example(instruction, figure),
        "shown_lanes": shown_lanes.build_shown_lanes(instruction, figure, page_state),
        "tabs": [(name, _format_tab(instruction, text)) for name, text in TABS.items() if name != "run" or run],
        "pressure": pressure,
        "pressure_chart": encode_json(pressure.chart).decode() if pressure else "",
        "tables": [lanes.build_full_table(op) for op in distinct if op.threads * op.values <= table_values],
        "data": encode_json(build_page_data(instruction, figure, page_state)).decode().replace("</", "<\\/"),
    }


def _format_tab(instruction: Instruction, text: str) -> str:
    """Format a tab's label: operands of tensor memory lie in no registers."""
    return (
        "Tensor memory" if text == TABS["registers"] and instruction.family.scope.place is OperandPlace.TENSOR else text
    )


def _build_view_query(page_state: PageState, instruction: Instruction, view: str) -> str:
    """Build the page's query with another view."""
    query = page_state.format_query(state.make_default_state(instruction), view=view)
    return f"?{query}" if query else ""


@fact
class MajorLink:
    """One way in which a multiplicand may lie in shared memory, and the page with it."""

    text: str
    value: str
    href: str
    chosen: bool


def list_majors(instruction: Instruction, page_state: PageState, name: str) -> list[MajorLink]:
    """List the majors that a_major or b_major may take."""
    links = []
    for major in state.list_majors(instruction, name[0]):
        query = page_state.format_query(state.make_default_state(instruction), **{name: major})
        href = f"{link_instruction(instruction)}{'?' if query else ''}{query}"
        links.append(
            MajorLink(text=f"{major}-major", value=major, href=href, chosen=page_state.get_major(name[0]) == major)
        )
    return links


def format_a_share(instruction: Instruction, spans: Mapping[str, tuple[float, float]]) -> str:
    """Return how wide A stands beside D, "" if the matrices are no product."""
    if not instruction.family.multiplies:
        return ""
    k, n = (last - first for first, last in (spans.get("s") or spans["k"], spans["n"]))
    return "wide" if k >= 2 * n else "even" if k >= n else "narrow"


def is_d_cut(instruction: Instruction, figure: PanelFigure) -> bool:
    """Return whether the opening view leaves out a part of D, so that a small picture of the whole helps."""
    opening, counts = window.make_opening_window(instruction, figure), window.count_cells(instruction, figure)
    return instruction.family.multiplies and any(opening[dim] != (0, counts[dim]) for dim in "mn")


def build_scale_tables(instruction: Instruction, query: Mapping[str, str]) -> list[ScaleTable]:
    """Build tables of who supplies each scale factor under the chosen byte-id and thread-id."""
    tables = []
    for name in instruction.scales:
        texts = {key: query.get(f"{key}_{name[-1]}", "0") for key in ("byte_id", "thread_id")}
        scale, notice = instruction.scales[name], ""
        legal = {"byte_id": scale.byte_ids, "thread_id": scale.thread_ids}
        parsed = {key: parse_digits(text.strip()) for key, text in texts.items()}
        selection = {key: digits[0] if digits and digits[0] in legal[key] else 0 for key, digits in parsed.items()}
        if any(not digits or digits[0] != selection[key] for key, digits in parsed.items()):
            notice = (
                f"{name}: byte-id is one of {', '.join(map(str, scale.byte_ids))}, thread-id one of"
                f" {', '.join(map(str, scale.thread_ids))}; 0 is shown."
            )
        scale_map = about.build_scale_map(instruction, name, selection["byte_id"], selection["thread_id"])
        cells = tuple(
            tuple(f"T{t}.b{b}" for t, b in zip(ts, bs, strict=True))
            for ts, bs in zip(scale_map.thread.tolist(), scale_map.byte.tolist(), strict=True)
        )
        line = "row" if name == "scale_a" else "column"
        tables.append(extend_fact(scale_map, ScaleTable, cells=cells, notice=notice, letter=name[-1], line=line))
    return tables


def build_page_data(instruction: Instruction, figure: PanelFigure, page_state: PageState) -> PageData:
    """Build what the page's script draws from."""
    return PageData(
        ptx=instruction.ptx,
        threads=instruction.threads,
        path=link_instruction(instruction),
        state=page_state,
        defaults=state.make_default_state(instruction),
        pictured=PageState(),
        pin=state.PIN,
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
        words=headline.build_words(instruction, figure),
        panels=tuple(
            PanelData(
                name=p.name,
                title=p.title,
                rows=p.rows,
                cols=p.cols,
                dims=window.get_dimensions(instruction, p),
                warp_edges=tuple(p.warp_edges),
            )
            for p in figure.panels
        ),
        operands={
            name: build_operand_data(grid, name) for name, grid in lanes.build_panel_grids(instruction, figure).items()
        },
    )


def build_operand_data(grid: OperandGrid, panel: str) -> OperandData:
    """Build one matrix for the script."""
    op = grid.operand
    forward = op.formula()["forward"]
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
        categories={
            name: CategoryData(
                of=c.of, numbers=c.numbers, count=c.count, wheel=tuple(palette.list_fill_variables(c.count))
            )
            for name, c in grid.categories.items()
        },
        axes=tuple(
            AxisData(axis=axis, text=forward[axis], template=text) for axis, text in grid.make_axis_templates().items()
        ),
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
    )
