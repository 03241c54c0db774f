"""The HTML pages and pictures. A page's whole state is in its URL; everything a script shows stands in the page without one."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from app import payload, pickers, state, words
from app.resources import templates
from app.wire import Body, Cache, dumps
from layouts import catalog
from layouts.errors import LayoutError
from layouts.instruction import Instruction, Operand
from layouts.palette import PALETTES
from layouts.render.svg import svg
from layouts.view import LABELS, Figure, Grid, figure_of, operand_figure

router = APIRouter(include_in_schema=False)
CACHE = Cache(512)

FAVOURITES = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32",
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
)
PAGE_ROWS = 200
FULL_TABLE_VALUES = 1024


@router.get("/")
async def catalogue(request: Request) -> Response:
    """Search and families; one exact hit of a pasted line leads straight to its page."""
    given = {name: request.query_params.get(name, "").strip() for name in payload.FILTERS}
    notices, found = [], {"count": 0, "instructions": []}
    try:
        found = payload.listing(**given)
    except LayoutError as error:
        notices.append(f"{error.message} {error.hint} Shown without this filter.")
        found = payload.listing(**{**given, error.field: ""})
    guess = None
    if given["q"] and catalog.opcode_of(given["q"]):
        try:
            guess = catalog.find(given["q"])
        except LayoutError as error:
            if not found["count"]:
                notices.append(f"{error.message} {error.hint}")
    context = {
        "given": given,
        "notices": notices,
        "found": found,
        "rows": found["instructions"][:PAGE_ROWS],
        "guess": guess,
        "families": family_counts(),
        "types": payload.known_types(),
        "targets": catalog.TARGETS,
        "shapes": known_shapes(),
        "total": len(catalog.instructions()),
        "favourites": thumbnails() if not any(given.values()) else [],
    }
    page = "rows.html" if request.query_params.get("part") == "rows" else "index.html"
    return templates.TemplateResponse(request, page, context)


@router.get("/go")
async def go(request: Request) -> Response:
    """Where pickers and the search box lead without scripts."""
    text = request.query_params.get("ptx", "")
    try:
        return RedirectResponse(path_of(catalog.find(text)), 303)
    except LayoutError:
        return RedirectResponse("/?q=" + quote(text), 303)


@router.get("/docs")
async def api_docs(request: Request) -> Response:
    """The API's routes, read from the OpenAPI document; no script of anybody else's."""
    document = request.app.openapi()
    routes = [
        {"method": method.upper(), "path": path, **{key: entry.get(key, "") for key in ("description", "parameters")}}
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    ]
    return templates.TemplateResponse(request, "docs.html", {"routes": routes, "document": document, "examples": words.EXAMPLES})


@router.get("/help")
async def help_page(request: Request) -> Response:
    """Keys and words."""
    return templates.TemplateResponse(request, "help.html", {"keys": words.KEYS, "glossary": words.GLOSSARY})


@router.get("/i/{rest:path}")
async def instruction_page(request: Request, rest: str) -> Response:
    """One instruction: the page, or with .json, .svg its other forms; with /operand.svg one operand's picture."""
    stem, dot, form = rest.rpartition(".")
    if not (dot and form in ("json", "svg")):
        stem, form = rest, ""
    name, slash, letter = stem.rpartition("/")
    found = catalog.find(name if slash else stem)
    operand = found.operand(letter) if slash else None
    chosen, notices = state.read(found, request.query_params)
    if form == "json":
        make = (lambda: payload.operand_map(found, operand)) if operand else (lambda: payload.detail(found))
        return CACHE.json(("json", found.ptx, letter), make).respond(request)
    if form == "svg":
        return picture(request, found, operand, chosen)
    if operand:
        return RedirectResponse(path_of(found) + f"?pin={operand.name}:0,0", 303)
    return CACHE.get(
        ("page", found.ptx, chosen, tuple(notices)),
        lambda: Body(render_page(request, found, chosen, notices), "text/html; charset=utf-8"),
    ).respond(request)


def picture(request: Request, found: Instruction, operand: Operand | None, chosen: state.PageState) -> Response:
    """A stable SVG for <img>, its options in the query."""
    theme = request.query_params.get("theme", "light")
    if theme not in PALETTES:
        raise LayoutError("bad_option", f"No theme '{catalog.shorten(theme)}'.", f"Allowed: {', '.join(PALETTES)}.", "theme")
    figure = operand_figure(operand, chosen.product) if operand else figure_of(found, chosen.product)
    title = f"{operand.name.upper()} of {found.ptx}" if operand else found.ptx

    def draw() -> Body:
        text = svg(
            figure, title=title, description=describe(found, figure), colour=chosen.colour, label=chosen.label,
            threads=chosen.thread_set(), palette=PALETTES[theme], labels_up_to=20000 if operand else 900,
        )  # fmt: skip
        return Body(text.encode(), "image/svg+xml")

    return CACHE.get(("svg", found.ptx, operand.name if operand else "", chosen, theme), draw).respond(request)


def path_of(instruction: Instruction) -> str:
    return "/i/" + quote(instruction.ptx, safe=":.")


def describe(instruction: Instruction, figure: Figure) -> str:
    """The picture in words: each operand's pattern."""
    known = [f"{p.name.upper()}: {p.grid.operand.pattern}" for p in figure.panels if p.grid]
    return f"{instruction.ptx}. " + "; ".join(known)


def family_counts() -> list[dict[str, Any]]:
    """Families in the contract's order with their number of variants."""
    counts = dict.fromkeys(catalog.FAMILY_NAMES, 0)
    for instruction in catalog.instructions():
        counts[instruction.family.name] += 1
    return [{"name": name, "count": count} for name, count in counts.items() if count]


def known_shapes() -> list[str]:
    return sorted(
        {i.shape for i in catalog.instructions()},
        key=lambda s: [int(n) for n in s.replace("m", "").replace("n", " ").replace("k", " ").split()],
    )


def thumbnails() -> list[dict[str, Any]]:
    """The instructions people look for most, each with its figure."""
    out = []
    for ptx in FAVOURITES:
        found = catalog.find(ptx)
        picture = svg(figure_of(found), title=ptx, colour="g", label="none", palette=None)
        out.append(
            {
                "ptx": ptx,
                "path": path_of(found),
                "svg": picture,
                "types": found.syntax.types,
                "shape": found.shape,
                "family": found.family.name,
            }
        )
    return out


def render_page(request: Request, found: Instruction, chosen: state.PageState, notices: list[str]) -> bytes:
    """The HTML of one instruction."""
    figure = figure_of(found, chosen.product)
    distinct = distinct_operands(found)
    lane = lane_of(found, chosen)
    drawing = svg(
        figure, title=found.ptx, description=describe(found, figure), colour=chosen.colour, label=chosen.label,
        threads=chosen.thread_set(), palette=None,
    )  # fmt: skip
    context = {
        "request": request,
        "found": found,
        "path": path_of(found),
        "detail": payload.detail(found),
        "assembled": catalog.assembled(found),
        "evidence": payload.evidence(found),
        "operands": [payload.operand_facts(found, op) for op in distinct],
        "state": chosen,
        "notices": notices,
        "pickers": pickers.pickers(found),
        "colours": state.colour_names(found),
        "labels": LABELS,
        "products": state.products(found),
        "svg": drawing,
        "lane": lane,
        "lane_rows": [lane_registers(op, lane) for op in distinct],
        "tables": [full_table(op) for op in distinct if op.threads * op.values <= FULL_TABLE_VALUES],
        "data": dumps(page_data(found, figure, chosen)).decode().replace("</", "<\\/"),
    }
    return templates.get_template("instruction.html").render(context).encode()


def distinct_operands(found: Instruction) -> list[Operand]:
    """The operands to draw: C only where its map or type is not D's."""
    ops = found.operands
    same = "c" in ops and (ops["c"].pattern, ops["c"].element) == (ops["d"].pattern, ops["d"].element)
    return [op for name, op in ops.items() if not (name == "c" and same)]


def lane_of(found: Instruction, chosen: state.PageState) -> int:
    """The thread whose registers the page lists: the pinned cell's owner, else the first shown."""
    pin = chosen.pinned()
    if pin:
        return int(Grid(found.operands[pin[0]], chosen.product).thread[pin[1], pin[2], 0])
    return min(chosen.thread_set() or {0})


def lane_registers(op: Operand, thread: int) -> dict[str, Any]:
    """One thread's registers of one operand, each with its values' names, bits and places."""
    coords = [array[thread] for array in op.coords.values()]
    registers: list[list[dict[str, Any]]] = [[] for _ in range(op.registers)]
    for value in range(op.values):
        register, bit = op.register_of(value)
        place = ",".join(str(int(axis[value])) for axis in coords[:2])
        registers[register].append({"name": f"{op.name}{value}", "bits": f"[{bit + op.container_bits - 1}:{bit}]", "place": place})
    return {"name": op.name, "element": op.element.name, "registers": registers}


def full_table(op: Operand) -> dict[str, Any]:
    """Every thread's elements as text, for reading without scripts."""
    rows, cols = op.rows.tolist(), op.cols.tolist()
    return {
        "name": op.name,
        "values": [f"{op.name}{v}" for v in range(op.values)],
        "threads": [[f"{r},{c}" for r, c in zip(rs, cs, strict=True)] for rs, cs in zip(rows, cols, strict=True)],
    }


def page_data(found: Instruction, figure: Figure, chosen: state.PageState) -> dict[str, Any]:
    """What the page's script draws from: geometry, the owner of every cell, digits, and the state with its defaults."""
    return {
        "ptx": found.ptx,
        "threads": found.threads,
        "path": path_of(found),
        "state": {name: getattr(chosen, name) for name in state.SPEC},
        "defaults": state.SPEC,
        "figure": {"width": figure.width, "height": figure.height},
        "panels": [
            {
                "name": p.name, "title": p.title, "rows": p.rows, "cols": p.cols, "x": p.x, "y": p.y,
                "cell_width": p.cell_width, "cell_height": p.cell_height, "mapped": p.grid is not None,
            }
            for p in figure.panels
        ],
        "operands": panel_operands(found, figure),
    }  # fmt: skip


def panel_operands(found: Instruction, figure: Figure) -> dict[str, dict[str, Any]]:
    """What is drawn, by panel, and after it operands that have no panel of their own (a C that is not D's)."""
    out = {panel.name: operand_data(found, panel.grid, panel.name) for panel in figure.panels if panel.grid}
    return out | {op.name: operand_data(found, Grid(op), op.name) for op in distinct_operands(found) if op.name == "c" and len(out) > 1}


def operand_data(found: Instruction, grid: Grid, panel: str) -> dict[str, Any]:
    """One matrix for the script: owners by cell, and everything that depends on the thread or the value alone."""
    import numpy as np

    op = grid.operand
    facts = payload.operand_facts(found, op)
    digits = op.pattern.digit_values()
    on_thread = {d.name for d in op.pattern.threads}
    register, bit = np.divmod(np.arange(op.values) * op.container_bits, op.register_bits)
    return {key: facts[key] for key in ("name", "rows", "cols", "values", "element_type", "element_bits", "container_bits", "register_bits", "pattern", "copies", "terms", "formula")} | {
        "title": panel.upper() if len(panel) == 1 else panel,
        "rows": grid.rows,
        "cols": grid.cols,
        "thread": grid.thread.ravel(),
        "value": grid.value.ravel(),
        "register": register,
        "bit": bit,
        "thread_digits": {name: array for name, array in digits.items() if name in on_thread},
        "value_digits": {name: array for name, array in digits.items() if name not in on_thread},
        "colours": grid.colour_names,
    }  # fmt: skip
