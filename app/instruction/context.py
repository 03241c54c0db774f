"""What an instruction's page shows, and what its script draws from. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from lanescope.app.catalogue import topics
from lanescope.app.hardware import fragment_runs, runs
from lanescope.app.instruction import facts as about
from lanescope.app.instruction import head, lanes, pickers, state, tcgen05, terms, wording
from lanescope.app.instruction import wmma as wmma_facts
from lanescope.app.instruction.code import build_code_parts
from lanescope.app.instruction.matrices import build_matrices, list_views
from lanescope.app.instruction.pressure import build_pressure
from lanescope.app.instruction.state import AutomaticColour, PageState
from lanescope.app.kernel import facts as programs
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import Numbers, extend_fact, fact
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.matrix import MatrixData
from lanescope.inputs import parse_digits
from lanescope.ptx import catalog
from lanescope.ptx.instruction import WARP, Instruction, OperandPlace
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


SEPARATE_WORDS = {"product": ("Product", 1), "half": ("First lane", 16)}  # what a page shows one of, and its step


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
    panels: tuple[PanelData, ...]
    operands: dict[str, OperandData]


def build_run_choices(found: Instruction, reason: str) -> RunChoices | None:
    """Return the runs of an instruction, None if it has not been run."""
    multiplies = runs.is_multiply(found)
    kinds = [("mma", "product against NumPy")] if multiplies else []
    measured = () if fragment_runs.explain_unmeasured(found) else fragment_runs.list_measurable(found)
    if measured:
        kinds.append(("fragment", "measure one operand's map"))
    forms = found.family.forms if multiplies else ()
    if not kinds:
        return None
    return RunChoices(kinds=tuple(kinds), operands=tuple(measured), forms=tuple(forms), reason=reason, steps=multiplies)


def build_context(
    found: Instruction, chosen: PageState, notices: list[str], query: Mapping[str, str], reason: str, table_values: int
) -> dict[str, Any]:
    """Everything the page of one instruction shows. reason: why no run goes to a GPU; table_values: how large a map
    stands in the page as a table.
    """
    figure = make_figure(found, chosen.product)
    distinct = lanes.list_distinct_operands(found)
    lane = lanes.find_selected_lane(found, figure, chosen)
    held = (
        lanes.build_lane_registers(grid, name, lane) for name, grid in lanes.build_panel_grids(found, figure).items()
    )
    shown = window.parse_window(chosen.view, found, figure)
    painted = state.resolve_colour(found, chosen, shown)
    figures = head.list_pictures(found, painted)
    run = build_run_choices(found, reason)
    pressed = build_pressure(found)
    return {
        "found": found,
        "issued": tcgen05.build_idesc_view(found, urlencode(query)),
        "separate": SEPARATE_WORDS[
            next((a for op in found.operands.values() for a in op.axes if a == "half"), "product")
        ],
        "scope": found.family.scope,
        "path": link_instruction(found),
        "detail": about.build_detail(found),
        "related": topics.find_instruction_topics(found),
        "assembled": catalog.get_target_support(found),
        "assembler": catalog.get_assembler()["assembler"],
        "evidence": about.list_evidence(found),
        "cutlass_b": found.operands["b"].turned if "b" in found.operands else "",
        "operands": [about.build_operand(found, op) for op in distinct],
        "state": chosen,
        "notices": notices,
        "pickers": pickers.build_pickers(found),
        "colours": wording.list_colours(found),
        "labels": wording.list_labels(found),
        "head": head.build_head(found),
        "matrices": build_matrices(found, figure, painted, shown),
        "views": [
            (view, link_instruction(found) + _build_view_query(chosen, found, view.value))
            for view in list_views(found, figure, chosen)
        ],
        "minimap": is_d_cut(found, figure),
        "legend": terms.build_legend(found, figure, painted),
        "terms": terms.format_terms(figure, chosen),
        "share": format_a_share(found, shown),
        "pictures": figures,
        "following": head.list_next_pages(found, chosen, figures[-1]),
        "code": build_code_parts(found),
        "program": programs.has_program(found),
        "wmma": wmma_facts.check_memory(found, query),
        "scales": build_scale_tables(found, query),
        "products": state.count_products(found),
        "majors": {name: list_majors(found, chosen, name) for name in state.MAJORS},
        "run": run,
        "holder": wording.format_holder(found, lane),
        "element": lanes.describe_element(figure, chosen),
        "tabs": [(name, _format_tab(found, text)) for name, text in TABS.items() if name != "run" or run],
        "lane_rows": [rows for rows in held if rows],
        "pressure": pressed,
        "pressure_chart": encode_json(pressed.chart).decode() if pressed else "",
        "tables": [lanes.build_full_table(op) for op in distinct if op.threads * op.values <= table_values],
        "data": encode_json(build_page_data(found, figure, chosen)).decode().replace("</", "<\\/"),
    }


def _format_tab(found: Instruction, text: str) -> str:
    """A tab's words: operands of tensor memory lie in no registers."""
    return "Tensor memory" if text == TABS["registers"] and found.family.scope.place is OperandPlace.TENSOR else text


def _build_view_query(chosen: PageState, found: Instruction, view: str) -> str:
    """The page's query with another view."""
    query = chosen.format_query(state.make_default_state(found), view=view)
    return f"?{query}" if query else ""


@fact
class MajorLink:
    """One way in which a multiplicand may lie in shared memory, and the page with it."""

    text: str
    value: str
    href: str
    chosen: bool


def list_majors(found: Instruction, chosen: PageState, name: str) -> list[MajorLink]:
    """The majors that a_major or b_major may take."""
    out = []
    for major in state.list_majors(found, name[0]):
        query = chosen.format_query(state.make_default_state(found), **{name: major})
        href = f"{link_instruction(found)}{'?' if query else ''}{query}"
        out.append(MajorLink(text=f"{major}-major", value=major, href=href, chosen=chosen.get_major(name[0]) == major))
    return out


def format_a_share(found: Instruction, shown: Mapping[str, tuple[float, float]]) -> str:
    """How wide A stands beside D, "" where the matrices are no product."""
    if not found.family.multiplies:
        return ""
    k, n = (last - first for first, last in (shown.get("s") or shown["k"], shown["n"]))
    return "wide" if k >= 2 * n else "even" if k >= n else "narrow"


def is_d_cut(found: Instruction, figure: PanelFigure) -> bool:
    """Whether the opening view leaves out a part of D, so that a small picture of the whole helps."""
    opened, whole = window.make_opening_window(found, figure), window.count_cells(found, figure)
    return found.family.multiplies and any(opened[dim] != (0, whole[dim]) for dim in "mn")


def build_scale_tables(found: Instruction, query: Mapping[str, str]) -> list[ScaleTable]:
    """Who supplies each scale factor under the chosen byte-id and thread-id."""
    out = []
    for name in found.scales:
        chosen = {key: query.get(f"{key}_{name[-1]}", "0") for key in ("byte_id", "thread_id")}
        scale, notice = found.scales[name], ""
        legal = {"byte_id": scale.byte_ids, "thread_id": scale.thread_ids}
        read = {key: parse_digits(text.strip()) for key, text in chosen.items()}
        picked = {key: found_[0] if found_ and found_[0] in legal[key] else 0 for key, found_ in read.items()}
        if any(not found_ or found_[0] != picked[key] for key, found_ in read.items()):
            notice = (
                f"{name}: byte-id is one of {', '.join(map(str, scale.byte_ids))}, thread-id one of"
                f" {', '.join(map(str, scale.thread_ids))}; 0 is shown."
            )
        facts = about.build_scale_map(found, name, picked["byte_id"], picked["thread_id"])
        cells = tuple(
            tuple(f"T{t}.b{b}" for t, b in zip(ts, bs, strict=True))
            for ts, bs in zip(facts.thread.tolist(), facts.byte.tolist(), strict=True)
        )
        line = "row" if name == "scale_a" else "column"
        out.append(extend_fact(facts, ScaleTable, cells=cells, notice=notice, letter=name[-1], line=line))
    return out


def build_page_data(found: Instruction, figure: PanelFigure, chosen: PageState) -> PageData:
    """What the page's script draws from."""
    return PageData(
        ptx=found.ptx,
        threads=found.threads,
        path=link_instruction(found),
        state=chosen,
        defaults=state.make_default_state(found),
        pictured=PageState(),
        pin=state.PIN,
        labels=list_labels(found.family.scope),
        unit=found.family.scope.thread,
        letter=found.family.scope.letter,
        register=found.family.scope.register,
        spoken=SpokenData(
            cell=get_spoken_template(next(iter(found.operands.values()))),
            owner=get_owner_template(found.family.scope),
            between=BETWEEN_OWNERS,
        ),
        extents=window.count_cells(found, figure),
        opening=window.make_opening_window(found, figure),
        colours=wording.describe_names(found),
        automatic=state.select_automatic(found),
        warp=WARP.threads if found.family.scope.several else 0,
        panels=tuple(
            PanelData(
                name=p.name,
                title=p.title,
                rows=p.rows,
                cols=p.cols,
                dims=window.get_dimensions(found, p),
                warp_edges=tuple(p.warp_edges),
            )
            for p in figure.panels
        ),
        operands={
            name: build_operand_data(grid, name) for name, grid in lanes.build_panel_grids(found, figure).items()
        },
    )


def build_operand_data(grid: OperandGrid, panel: str) -> OperandData:
    """One matrix for the script."""
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
        sparse=op.kept,
        held=lanes.HELD_ROW if op.name == ADDRESS else lanes.HELD,
        head=lanes.format_table_head(op),
        tip=lanes.TIP,
    )
