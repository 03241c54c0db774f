"""The HTML pages and pictures. A page's whole state is in its URL; everything a script shows stands in the page without one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from app.catalogue import topics
from app.diagram import forms as pictures
from app.gpu import fragments, runs
from app.instruction import facts as payload
from app.instruction import lanes, pickers, state
from app.instruction import wmma as wmma_facts
from app.kernel import facts as programs
from app.kit import words
from app.kit.api import OffLoop
from app.kit.encode import dumps
from app.kit.page import page
from layouts import catalog, palette
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.reading import digits
from layouts.render import cuda, ptx, python, wmma_cpp
from layouts.render.svg import svg
from layouts.table import atoms
from layouts.view import ADDRESS, BETWEEN_OWNERS, LABEL_TEMPLATES, LABELS, OWNER, SPOKEN, Figure, Grid, figure_of

router = APIRouter(include_in_schema=False, route_class=OffLoop)

FAVOURITES = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many rows the catalogue shows at once, and up to how many values a map stands in its page as a table."""

    rows: int = 200
    table_values: int = 1024


@router.get("/")
def catalogue(request: Request) -> Response:
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
            if not found["count"] and not topics.named(given["q"]):
                notices.append(f"{error.message} {error.hint}")
    context = {
        "given": given,
        "notices": notices,
        "found": found,
        "rows": [(row, *payload.in_words(catalog.find(row["ptx"]))) for row in found["instructions"][: request.app.state.limits.rows]],
        "guess": guess,
        "topics": topics.find(given["q"]),
        "topic_named": bool(topics.named(given["q"])),
        "families": family_counts(),
        "types": payload.known_types(),
        "targets": catalog.TARGETS,
        "shapes": known_shapes(),
        "total": len(catalog.instructions()),
        "favourites": thumbnails() if not any(given.values()) else [],
    }
    return page(request, "catalogue/rows.html" if request.query_params.get("part") == "rows" else "catalogue/page.html", context)


@router.get("/go")
def go(request: Request) -> Response:
    """Where pickers and the search box lead without scripts."""
    text = request.query_params.get("ptx", "")
    try:
        return RedirectResponse(path_of(catalog.find(text)), 303)
    except LayoutError:
        named = topics.named(text)
        return RedirectResponse(named[0].page if named else "/?q=" + quote(text), 303)


@router.get("/help")
def help_page(request: Request) -> Response:
    """Keys and words."""
    return page(request, "kit/help.html", {"keys": words.KEYS, "glossary": words.GLOSSARY})


@router.get("/i/{rest:path}")
def instruction_page(request: Request, rest: str) -> Response:
    """One instruction; with /operand its page where that operand is pinned."""
    name, slash, letter = rest.rpartition("/")
    try:
        found = catalog.find(name if slash else rest)
    except LayoutError:
        named = topics.named(rest)
        if named:
            return RedirectResponse(named[0].page, 303)
        raise
    operand = found.operand(letter) if slash else None
    chosen, notices = state.read(found, request.query_params)
    if operand:
        return RedirectResponse(path_of(found) + f"?pin={operand.name}:0,0", 303)
    return page(request, "instruction/page.html", page_context(request, found, chosen, notices))


def path_of(instruction: Instruction) -> str:
    return "/i/" + quote(instruction.ptx, safe=":.")


def family_counts() -> list[dict[str, Any]]:
    """Families in the contract's order with their number of variants."""
    counts = dict.fromkeys(catalog.FAMILY_NAMES, 0)
    for instruction in catalog.instructions():
        counts[instruction.family.name] += 1
    return [{"name": name, "count": count} for name, count in counts.items() if count]


def known_shapes() -> list[str]:
    """Every shape, small ones first."""
    return sorted({i.shape for i in catalog.instructions()}, key=lambda shape: [int(n) for n in re.findall(r"\d+", shape)])


def thumbnails() -> list[dict[str, Any]]:
    """The instructions people look for most, each with its figure."""
    out = []
    for name in FAVOURITES:
        found = catalog.find(name)
        picture = svg(figure_of(found), title=name, colour="g", label="none", palette=None)
        out.append(
            {
                "ptx": name,
                "path": path_of(found),
                "svg": picture,
                "types": found.syntax.types,
                "shape": found.shape,
                "family": found.family.name,
            }
        )
    return out


def run_choices(found: Instruction, reason: str) -> dict[str, Any]:
    """What the page's run form offers; `reason`: why the GPU's button is off."""
    multiplies = runs.multiplies(found)
    kinds = [("mma", "product against NumPy")] if multiplies else []
    measured = () if fragments.unmeasured(found) else fragments.operands(found)
    if measured:
        kinds.append(("fragment", "measure one operand's map"))
    forms = found.family.forms if multiplies else ()
    return {"kinds": kinds, "operands": measured, "forms": forms, "reason": reason, "steps": multiplies} if kinds else {}


def page_context(request: Request, found: Instruction, chosen: state.PageState, notices: list[str]) -> dict[str, Any]:
    """Everything the page of one instruction shows."""
    figure = figure_of(found, chosen.product)
    distinct = lanes.distinct_operands(found)
    lane = lanes.lane_of(found, figure, chosen)
    held = (lanes.lane_registers(grid, name, lane) for name, grid in lanes.panel_grids(found, figure).items())
    drawing = svg(
        figure, title=found.ptx, description=pictures.describe(found, figure), colour=chosen.colour, label=chosen.label,
        threads=chosen.thread_set(), palette=None,
    )  # fmt: skip
    return {
        "found": found,
        "path": path_of(found),
        "detail": payload.detail(found),
        "related": topics.of(found),
        "assembled": catalog.assembled(found),
        "assembler": catalog.assembler()["assembler"],
        "evidence": payload.evidence(found),
        "operands": [payload.operand_facts(found, op) for op in distinct],
        "state": chosen,
        "notices": notices,
        "pickers": pickers.pickers(found),
        "colours": state.colour_names(found),
        "labels": LABELS,
        "code": code_parts(found),
        "program": programs.available(found),
        "wmma": wmma_facts.checked(found, request.query_params),
        "scales": scale_tables(found, request.query_params),
        "products": state.products(found),
        "svg": drawing,
        "run": run_choices(found, request.app.state.hardware.reason),
        "lane": lane,
        "lane_rows": [rows for rows in held if rows],
        "tables": [lanes.full_table(op) for op in distinct if op.threads * op.values <= request.app.state.limits.table_values],
        "data": dumps(page_data(found, figure, chosen)).decode().replace("</", "<\\/"),
    }


def code_parts(found: Instruction) -> list[dict[str, str]]:
    """Everything generated from the rows, each with a title: PTX, CUDA, NumPy, CuTe and CUTLASS, Triton."""
    parts = [
        {"title": "PTX" + (" with A from shared memory" if form == "shared" else ""), "text": ptx.syntax(found, form)}
        for form in found.family.forms
    ]
    parts.append({"title": "CUDA C++: wrapper, loads and stores", "text": cuda.program(found)})
    if wmma_cpp.available(found):
        parts.append({"title": "CUDA C++: nvcuda::wmma, one warp", "text": wmma_cpp.kernel(found).text})
    operands = lanes.distinct_operands(found)
    parts += [{"title": f"NumPy: pack and unpack {op.name.upper()}", "text": python.snippet(op)} for op in operands]
    atom = atoms.atom(found)
    layouts = "\n".join(f"{op.name.upper():5} {op.cute}" for op in operands)
    parts.append(
        {
            "title": "CuTe TV layouts" + (f", CUTLASS atom {atom}" if atom else ""),
            "text": f"// (thread, value) -> {'row + rows * col'}, B as (k, n)\n{layouts}\n",
        }
    )
    bases = [
        f"{op.name.upper()}\n" + "\n".join(f"  {key:9} {rows}" for key, rows in ((op.pattern.linear_layout() or {}).items()))
        for op in operands
        if op.pattern.linear_layout()
    ]
    if bases:
        parts.append({"title": "Triton linear-layout bases", "text": "\n".join(bases) + "\n"})
    return parts


def scale_tables(found: Instruction, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Who supplies each scale factor under the chosen byte-id and thread-id."""
    out = []
    for name in found.scales:
        chosen = {key: query.get(f"{key}_{name[-1]}", "0") for key in ("byte_id", "thread_id")}
        scale, notice = found.scales[name], ""
        legal = {"byte_id": scale.byte_ids, "thread_id": scale.thread_ids}
        read = {key: digits(text.strip()) for key, text in chosen.items()}
        picked = {key: found_[0] if found_ and found_[0] in legal[key] else 0 for key, found_ in read.items()}
        if any(not found_ or found_[0] != picked[key] for key, found_ in read.items()):
            notice = f"{name}: byte-id is one of {', '.join(map(str, scale.byte_ids))}, thread-id one of {', '.join(map(str, scale.thread_ids))}; 0 is shown."
        facts = payload.scale_map(found, name, picked["byte_id"], picked["thread_id"])
        cells = [
            [f"T{t}.b{b}" for t, b in zip(ts, bs, strict=True)]
            for ts, bs in zip(facts["thread"].tolist(), facts["byte"].tolist(), strict=True)
        ]
        out.append(facts | {"cells": cells, "notice": notice, "letter": name[-1], "line": "row" if name == "scale_a" else "column"})
    return out


def page_data(found: Instruction, figure: Figure, chosen: state.PageState) -> dict[str, Any]:
    """What the page's script draws from: geometry, the owner of every cell, digits, and the state with its defaults."""
    return {
        "ptx": found.ptx,
        "threads": found.threads,
        "path": path_of(found),
        "state": {name: getattr(chosen, name) for name in state.SPEC},
        "defaults": state.SPEC,
        "pin": state.PIN,
        "labels": LABEL_TEMPLATES,
        "unit": found.family.scope.thread,
        "spoken": {"cell": SPOKEN, "owner": OWNER, "between": BETWEEN_OWNERS},
        "figure": {"width": figure.width, "height": figure.height},
        "panels": [
            {
                "name": p.name, "title": p.title, "rows": p.rows, "cols": p.cols, "x": p.x, "y": p.y,
                "cell_width": p.cell_width, "cell_height": p.cell_height, "warp_edges": p.warp_edges,
            }
            for p in figure.panels
        ],
        "operands": {name: operand_data(grid, name) for name, grid in lanes.panel_grids(found, figure).items()},
    }  # fmt: skip


def operand_data(grid: Grid, panel: str) -> dict[str, Any]:
    """One matrix for the script: owners by cell, what depends on the thread or the value alone, and templates of what is said."""
    op = grid.operand
    forward = op.formula()["forward"]
    extra = {axis: grid.product for axis in op.axes if axis not in ("row", "col")}
    return {
        "name": op.name,
        "title": lanes.title_of(panel),
        "element_type": op.element.name,
        "rows": grid.rows,
        "cols": grid.cols,
        "copies": op.pattern.copies,
        "thread": grid.thread.ravel(),
        "value": grid.value.ravel(),
        "register": grid.categories["register"].numbers,
        "bits": [grid.bits(value) for value in range(op.values)],
        "spoken_bits": [grid.spoken_bits(value) for value in range(op.values)],
        "digits": [d.name for d in op.pattern.digits],
        "categories": {
            name: {"of": c.of, "numbers": c.numbers, "count": c.count, "wheel": palette.wheel(c.count)}
            for name, c in grid.categories.items()
        },
        "axes": [{"axis": axis, "text": forward[axis], "template": text} for axis, text in grid.axis_templates().items()],
        "extra": extra,
        "held": lanes.HELD_ROW if op.name == ADDRESS else lanes.HELD,
        "head": lanes.HEAD_ROW if op.name == ADDRESS else lanes.HEAD,
    }
