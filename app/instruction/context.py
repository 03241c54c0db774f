"""What an instruction's page shows, and what its script draws from. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from lanescope.app.catalogue import topics
from lanescope.app.hardware import fragments, runs
from lanescope.app.instruction import facts as about
from lanescope.app.instruction import head, issued, lanes, pickers, state, terms, words
from lanescope.app.instruction import wmma as wmma_facts
from lanescope.app.instruction.code import code_parts
from lanescope.app.instruction.matrices import matrices, views
from lanescope.app.instruction.pressure import pressure
from lanescope.app.instruction.state import Automatic, PageState
from lanescope.app.kernel import facts as programs
from lanescope.app.kit.encode import dumps
from lanescope.app.kit.fact import Numbers, extended, fact
from lanescope.app.kit.links import path_of
from lanescope.app.kit.matrix import MatrixData
from lanescope.ptx import catalog
from lanescope.ptx.instruction import WARP, Instruction, Place
from lanescope.reading import digits
from lanescope.render import palette, window
from lanescope.render.view import ADDRESS, BETWEEN_OWNERS, Figure, Grid, figure_of, labels_of, owner_of, spoken_of

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
    automatic: Automatic | None
    warp: int
    panels: tuple[PanelData, ...]
    operands: dict[str, OperandData]


def run_choices(found: Instruction, reason: str) -> RunChoices | None:
    """Return the runs of an instruction, None if it has not been run."""
    multiplies = runs.multiplies(found)
    kinds = [("mma", "product against NumPy")] if multiplies else []
    measured = () if fragments.unmeasured(found) else fragments.operands(found)
    if measured:
        kinds.append(("fragment", "measure one operand's map"))
    forms = found.family.forms if multiplies else ()
    if not kinds:
        return None
    return RunChoices(kinds=tuple(kinds), operands=tuple(measured), forms=tuple(forms), reason=reason, steps=multiplies)


def page_context(
    found: Instruction, chosen: PageState, notices: list[str], query: Mapping[str, str], reason: str, table_values: int
) -> dict[str, Any]:
    """Everything the page of one instruction shows. reason: why no run goes to a GPU; table_values: how large a map
    stands in the page as a table.
    """
    figure = figure_of(found, chosen.product)
    distinct = lanes.distinct_operands(found)
    lane = lanes.lane_of(found, figure, chosen)
    held = (lanes.lane_registers(grid, name, lane) for name, grid in lanes.panel_grids(found, figure).items())
    shown = window.read(chosen.view, found, figure)
    painted = state.painted(found, chosen, shown)
    figures = head.pictures(found, painted)
    run = run_choices(found, reason)
    pressed = pressure(found)
    return {
        "found": found,
        "issued": issued.shown(found, urlencode(query)),
        "separate": SEPARATE_WORDS[
            next((a for op in found.operands.values() for a in op.axes if a == "half"), "product")
        ],
        "scope": found.family.scope,
        "path": path_of(found),
        "detail": about.detail(found),
        "related": topics.of(found),
        "assembled": catalog.assembled(found),
        "assembler": catalog.assembler()["assembler"],
        "evidence": about.evidence(found),
        "cutlass_b": found.operands["b"].turned if "b" in found.operands else "",
        "operands": [about.operand_facts(found, op) for op in distinct],
        "state": chosen,
        "notices": notices,
        "pickers": pickers.pickers(found),
        "colours": words.colours(found),
        "labels": words.labels(found),
        "head": head.head(found),
        "matrices": matrices(found, figure, painted, shown),
        "views": [(view, path_of(found) + _query(chosen, found, view.value)) for view in views(found, figure, chosen)],
        "minimap": cuts_d(found, figure),
        "legend": terms.legend(found, figure, painted),
        "terms": terms.terms(figure, chosen),
        "share": share_of_a(found, shown),
        "pictures": figures,
        "following": head.following(found, chosen, figures[-1]),
        "code": code_parts(found),
        "program": programs.available(found),
        "wmma": wmma_facts.checked(found, query),
        "scales": scale_tables(found, query),
        "products": state.products(found),
        "majors": {name: majors(found, chosen, name) for name in state.MAJORS},
        "run": run,
        "holder": words.holder(found, lane),
        "element": lanes.element(figure, chosen),
        "tabs": [(name, _tab(found, text)) for name, text in TABS.items() if name != "run" or run],
        "lane_rows": [rows for rows in held if rows],
        "pressure": pressed,
        "pressure_chart": dumps(pressed.chart).decode() if pressed else "",
        "tables": [lanes.full_table(op) for op in distinct if op.threads * op.values <= table_values],
        "data": dumps(page_data(found, figure, chosen)).decode().replace("</", "<\\/"),
    }


def _tab(found: Instruction, text: str) -> str:
    """A tab's words: operands of tensor memory lie in no registers."""
    return "Tensor memory" if text == TABS["registers"] and found.family.scope.place is Place.TENSOR else text


def _query(chosen: PageState, found: Instruction, view: str) -> str:
    """The page's query with another view."""
    query = chosen.query(state.defaults(found), view=view)
    return f"?{query}" if query else ""


@fact
class MajorLink:
    """One way in which a multiplicand may lie in shared memory, and the page with it."""

    text: str
    value: str
    href: str
    chosen: bool


def majors(found: Instruction, chosen: PageState, name: str) -> list[MajorLink]:
    """The majors that a_major or b_major may take."""
    out = []
    for major in state.majors(found, name[0]):
        query = chosen.query(state.defaults(found), **{name: major})
        href = f"{path_of(found)}{'?' if query else ''}{query}"
        out.append(MajorLink(text=f"{major}-major", value=major, href=href, chosen=chosen.major(name[0]) == major))
    return out


def share_of_a(found: Instruction, shown: Mapping[str, tuple[float, float]]) -> str:
    """How wide A stands beside D, "" where the matrices are no product."""
    if not found.family.multiplies:
        return ""
    k, n = (last - first for first, last in (shown.get("s") or shown["k"], shown["n"]))
    return "wide" if k >= 2 * n else "even" if k >= n else "narrow"


def cuts_d(found: Instruction, figure: Figure) -> bool:
    """Whether the opening view leaves out a part of D, so that a small picture of the whole helps."""
    opened, whole = window.opening(found, figure), window.extents(found, figure)
    return found.family.multiplies and any(opened[dim] != (0, whole[dim]) for dim in "mn")


def scale_tables(found: Instruction, query: Mapping[str, str]) -> list[ScaleTable]:
    """Who supplies each scale factor under the chosen byte-id and thread-id."""
    out = []
    for name in found.scales:
        chosen = {key: query.get(f"{key}_{name[-1]}", "0") for key in ("byte_id", "thread_id")}
        scale, notice = found.scales[name], ""
        legal = {"byte_id": scale.byte_ids, "thread_id": scale.thread_ids}
        read = {key: digits(text.strip()) for key, text in chosen.items()}
        picked = {key: found_[0] if found_ and found_[0] in legal[key] else 0 for key, found_ in read.items()}
        if any(not found_ or found_[0] != picked[key] for key, found_ in read.items()):
            notice = (
                f"{name}: byte-id is one of {', '.join(map(str, scale.byte_ids))}, thread-id one of"
                f" {', '.join(map(str, scale.thread_ids))}; 0 is shown."
            )
        facts = about.scale_map(found, name, picked["byte_id"], picked["thread_id"])
        cells = tuple(
            tuple(f"T{t}.b{b}" for t, b in zip(ts, bs, strict=True))
            for ts, bs in zip(facts.thread.tolist(), facts.byte.tolist(), strict=True)
        )
        line = "row" if name == "scale_a" else "column"
        out.append(extended(facts, ScaleTable, cells=cells, notice=notice, letter=name[-1], line=line))
    return out


def page_data(found: Instruction, figure: Figure, chosen: PageState) -> PageData:
    """What the page's script draws from."""
    return PageData(
        ptx=found.ptx,
        threads=found.threads,
        path=path_of(found),
        state=chosen,
        defaults=state.defaults(found),
        pictured=PageState(),
        pin=state.PIN,
        labels=labels_of(found.family.scope),
        unit=found.family.scope.thread,
        letter=found.family.scope.letter,
        register=found.family.scope.register,
        spoken=SpokenData(
            cell=spoken_of(next(iter(found.operands.values()))),
            owner=owner_of(found.family.scope),
            between=BETWEEN_OWNERS,
        ),
        extents=window.extents(found, figure),
        opening=window.opening(found, figure),
        colours=words.names(found),
        automatic=state.automatic(found),
        warp=WARP.threads if found.family.scope.several else 0,
        panels=tuple(
            PanelData(
                name=p.name,
                title=p.title,
                rows=p.rows,
                cols=p.cols,
                dims=window.dims_of(found, p),
                warp_edges=tuple(p.warp_edges),
            )
            for p in figure.panels
        ),
        operands={name: operand_data(grid, name) for name, grid in lanes.panel_grids(found, figure).items()},
    )


def operand_data(grid: Grid, panel: str) -> OperandData:
    """One matrix for the script."""
    op = grid.operand
    forward = op.formula()["forward"]
    return OperandData(
        name=op.name,
        title=lanes.title_of(panel),
        element_type=op.element.name,
        rows=grid.rows,
        cols=grid.cols,
        copies=op.pattern.copies,
        thread=grid.thread.ravel(),
        value=grid.value.ravel(),
        register=grid.categories["register"].numbers,
        bits=tuple(grid.bits(value) for value in range(op.values)),
        spoken_bits=tuple(grid.spoken_bits(value) for value in range(op.values)),
        digits=tuple(d.name for d in op.pattern.digits),
        categories={
            name: CategoryData(of=c.of, numbers=c.numbers, count=c.count, wheel=tuple(palette.wheel(c.count)))
            for name, c in grid.categories.items()
        },
        axes=tuple(
            AxisData(axis=axis, text=forward[axis], template=text) for axis, text in grid.axis_templates().items()
        ),
        plane=op.plane,
        extra={axis: grid.product for axis in op.axes if axis not in op.plane},
        sparse=op.kept,
        held=lanes.HELD_ROW if op.name == ADDRESS else lanes.HELD,
        head=lanes.head_of(op),
        tip=lanes.TIP,
    )
