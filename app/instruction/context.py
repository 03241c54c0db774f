"""The context of an instruction's page, and the data of its script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from lanescope.app.catalogue import topics
from lanescope.app.hardware import fragment_runs
from lanescope.app.instruction import facts as about, find, head, headline, lanes, pickers, state, tcgen05, terms
from lanescope.app.instruction.access_form import build_access_form
from lanescope.app.instruction.code import build_code_parts
from lanescope.app.instruction.evidence import list_evidence
from lanescope.app.instruction.matrices import build_matrices, build_supply_matrix, list_views
from lanescope.app.instruction.page_data import build_page_data
from lanescope.app.instruction.pressure import build_pressure
from lanescope.app.instruction.spread import build_chart as build_spread_chart, build_spreads
from lanescope.app.instruction.state import PageState
from lanescope.app.instruction.supplies import build_supplies
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import copy_fact, fact
from lanescope.app.kit.links import link_instruction
from lanescope.product.planning import is_plannable
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.ptx.targets import format_targets
from lanescope.render import window
from lanescope.render.figure import PanelFigure, make_figure

TABS = {
    "registers": "Registers",
    "formulas": "Formulas",
    "code": "Code",
    "layouts": "CuTe and Triton",
    "evidence": "Evidence",
    "run": "Run",
}


@fact
class RunChoices:
    """The options of the page's run form. reason: why the GPU button is disabled."""

    kinds: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]
    forms: tuple[str, ...]
    reason: str
    steps: bool


@fact
class ScaleTable(about.ScaleMap):
    """A scale map as a table: a cell is lane and byte, a line of cells one row of A or column of B."""

    cells: tuple[tuple[str, ...], ...]
    line: str


def build_run_choices(instruction: Instruction, reason: str) -> RunChoices | None:
    """Return the runs of an instruction, None if it has not been run."""
    multiplies = is_plannable(instruction)
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
    """Return the template's variables of an instruction's page.

    reason: why no GPU can run it; table_values: size up to which a map is in the page as a table.
    """
    figure = make_figure(instruction, page_state.product)
    supplied = build_supplies(instruction, figure, page_state)
    distinct = lanes.list_distinct_operands(instruction)
    spans = window.parse_window(page_state.view, instruction, figure)
    painted = state.resolve_colour(instruction, page_state, spans)
    figures = head.list_pictures(instruction, painted)
    run = build_run_choices(instruction, reason)
    pressure = build_pressure(instruction)
    return {
        "found": instruction,
        "issued": tcgen05.build_idesc_view(instruction, urlencode(query), figure, page_state.list_pins()),
        "scope": instruction.family.scope,
        "path": link_instruction(instruction),
        "detail": about.build_detail(instruction),
        "related": topics.find_instruction_topics(instruction),
        "assembled": catalog.get_target_support(instruction),
        "assembled_for": format_targets(catalog.get_target_support(instruction).targets),
        "assembler": catalog.get_assembler()["assembler"],
        "evidence": list_evidence(instruction),
        "cutlass_b": instruction.operands["b"].transposed_cute if "b" in instruction.operands else "",
        "operands": [about.build_operand(instruction, op) for op in distinct],
        "state": page_state,
        "notices": notices,
        "pickers": pickers.build_pickers(instruction),
        "head": head.build_head(instruction),
        "matrices": [
            *build_matrices(instruction, figure, painted, spans),
            *(build_supply_matrix(supply, painted, spans) for supply in supplied.values()),
        ],
        "beside": list(supplied.values()),
        "views": [
            (view, link_instruction(instruction) + _build_view_query(page_state, instruction, view.value))
            for view in list_views(instruction, figure, page_state)
        ],
        "minimap": is_d_cut(instruction, figure),
        "legend": terms.build_legend(instruction, figure, painted, supplied),
        "terms": terms.format_terms(figure, page_state),
        "share": format_a_share(instruction, spans),
        "pictures": figures,
        "following": head.list_next_pages(instruction, page_state, figures[-1]),
        "code": build_code_parts(instruction),
        "program": is_plannable(instruction),
        **build_access_form(instruction, query),
        "scales": build_scale_tables(instruction, page_state),
        "majors": {name: list_majors(instruction, page_state, name) for name in state.MAJORS},
        "run": run,
        "cell_answer": headline.build_answer(instruction, figure, page_state),
        "grid": lanes.build_lanes_grid(instruction, figure, supplied),
        "example": find.format_example(instruction, figure),
        "shown_lanes": lanes.build_shown_lanes(instruction, figure, page_state),
        "tabs": [(name, _format_tab(instruction, text)) for name, text in TABS.items() if name != "run" or run],
        "spreads": build_spreads(instruction),
        "spread_chart": build_spread_chart(instruction),
        "pressure": pressure,
        "pressure_chart": encode_json(pressure.chart).decode() if pressure else "",
        "tables": [lanes.build_full_table(op) for op in distinct if op.threads * op.values <= table_values],
        "data": encode_json(build_page_data(instruction, figure, page_state, supplied)).decode().replace("</", "<\\/"),
    }


def _format_tab(instruction: Instruction, text: str) -> str:
    """Format a tab's label: operands in tensor memory have no registers."""
    return (
        "Tensor memory" if text == TABS["registers"] and instruction.family.scope.place is OperandPlace.TENSOR else text
    )


def _build_view_query(page_state: PageState, instruction: Instruction, view: str) -> str:
    """Build the page's query with another view."""
    query = page_state.format_query(state.make_default_state(instruction), view=view)
    return f"?{query}" if query else ""


@fact
class MajorLink:
    """A major of an operand in shared memory, and the page with it."""

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
    """Return the relative width of A beside D, "" if the instruction does not multiply."""
    if not instruction.family.multiplies:
        return ""
    k, n = (last - first for first, last in (spans.get("s") or spans["k"], spans["n"]))
    return "wide" if k >= 2 * n else "even" if k >= n else "narrow"


def is_d_cut(instruction: Instruction, figure: PanelFigure) -> bool:
    """Return whether the opening view omits a part of D, so that an overview helps."""
    opening, counts = window.make_opening_window(instruction, figure), window.count_cells(instruction, figure)
    return instruction.family.multiplies and any(opening[dim] != (0, counts[dim]) for dim in "mn")


def build_scale_tables(instruction: Instruction, page_state: PageState) -> list[ScaleTable]:
    """Build tables of the lanes that supply each scale factor under the chosen byte-id and thread-id."""
    tables = []
    for name in instruction.scales:
        scale_map = about.build_scale_map(instruction, name, *page_state.get_scale_ids(name[-1]))
        cells = tuple(
            tuple(f"T{t}.b{b}" for t, b in zip(ts, bs, strict=True))
            for ts, bs in zip(scale_map.thread.tolist(), scale_map.byte.tolist(), strict=True)
        )
        line = "row" if name == "scale_a" else "column"
        tables.append(copy_fact(ScaleTable, scale_map, cells=cells, line=line))
    return tables
