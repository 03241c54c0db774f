"""Pages and API of what lies beside one instruction: reuse of D as A, comparison, sparsity metadata."""

from __future__ import annotations

import re
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.compare.schemas import Comparison, Reuse
from app.instruction.schemas import Metadata
from app.kit.api import ApiRoute, Ptx, text
from app.kit.page import page
from app.kit.schemas import PTX, NumberText
from app.kit.wire import json_body
from layouts import catalog, reading
from layouts.errors import LayoutError
from layouts.instruction import Instruction, Operand
from layouts.render.reuse import code, conversion
from layouts.render.svg import svg
from layouts.reuse import reuse
from layouts.view import Figure, Grid, Panel, row_figure

router = APIRouter(tags=["v1"], route_class=ApiRoute)
FLASH = ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")


# reuse --------------------------------------------------------------------------------------------------------------------


def reuse_facts(first: Instruction, second: Instruction, step_text: int | str = "0") -> dict[str, Any]:
    """Which of A's values are already in their lane, in which order of K all are, and the code that makes A's registers.

    tile, thread, value: those of one K step; stay, total, order and code: of all.
    """
    found = reuse(first, second)
    step = reading.number(step_text or "0", "step", 0, found.steps - 1)
    return {
        "from": first.ptx,
        "to": second.ptx,
        "verdict": found.verdict,
        "tiles": found.tiles,
        "steps": found.steps,
        "stay": int(found.stays.sum()),
        "total": int(found.stays.size),
        "order": found.order,
        "order_period": found.period,
        "step": step,
        "tile": found.tile[step],
        "thread": found.lane[step],
        "value": found.value[step],
        "conversion": conversion(found.source.element.name, found.target).note,
        "code": code(found),
    }


@router.get("/api/v1/reuse", responses={200: {"model": Reuse}})
def reuse_api(
    first: Annotated[str, text("The instruction whose D is reused.", PTX, alias="from")],
    second: Annotated[str, text("The instruction whose A it becomes.", PTX, alias="to")],
    step: Annotated[NumberText, Query(description="The K step of A that tile, thread and value show.", examples=["0"])] = "0",
) -> Response:
    """Reuse of D of `from` as A of `to`: [thread][value] of A in one K `step` → the D tile, thread and value that hold the element."""
    return json_body(reuse_facts(_instruction(first, "from"), _instruction(second, "to"), step))


@router.get("/reuse", include_in_schema=False)
def reuse_page(request: Request) -> Response:
    """Which elements of an accumulator stay in their lane when it becomes the next A."""
    given = {"from": request.query_params.get("from") or FLASH[0], "to": request.query_params.get("to") or FLASH[1]}
    context: dict[str, Any] = {"given": given, "error": None}
    try:
        first, second = _instruction(given["from"], "from"), _instruction(given["to"], "to")
        facts = reuse_facts(first, second, request.query_params.get("step") or "0")
        context |= {"facts": facts, "svg": _reuse_svg(second, facts), "first": first, "second": second}
    except LayoutError as error:
        context["error"] = error
    return page(request, "reuse/page.html", context, 422 if context["error"] else 200)


def _reuse_svg(second: Instruction, facts: dict[str, Any]) -> str:
    op = second.operand("a")
    grid = Grid(op)
    t, v = grid.thread[:, :, 0], grid.value[:, :, 0]
    source, value, tile = (np.asarray(facts[name])[t, v] for name in ("thread", "value", "tile"))
    texts = [
        [f"T{a}:d{b}" + (f"/{c}" if facts["tiles"] > 1 else "") for a, b, c in zip(*row, strict=True)]
        for row in zip(source.tolist(), value.tolist(), tile.tolist(), strict=True)
    ]
    return _marked(
        grid, (source != t).astype(np.int32), texts, f"A of {second.ptx}: where each element of K step {facts['step']} comes from"
    )


def _marked(grid: Grid, category: Any, texts: list[list[str]], title: str) -> str:
    figure = row_figure([(f"{grid.operand.name.upper()} {grid.rows}×{grid.cols}", grid)])
    panel = figure.panels[0]
    marked = Panel(
        panel.name, panel.title, panel.rows, panel.cols, panel.x, panel.y, panel.cell_width, panel.cell_height, grid, category, texts
    )
    return svg(Figure(figure.width, figure.height, (marked,)), title=title, palette=None, labels_up_to=1100)


# compare ------------------------------------------------------------------------------------------------------------------


def compare_facts(left: Operand, right: Operand) -> dict[str, Any]:
    """How many elements two operands of one size hold in another lane, or in another place of the same lane."""
    a, b = Grid(left), Grid(right)
    if (a.rows, a.cols) != (b.rows, b.cols):
        raise LayoutError(
            "cannot_compare", f"The left is {a.rows}×{a.cols}, the right {b.rows}×{b.cols}.", "Both must be of one size.", "right"
        )
    lane = a.thread[:, :, 0] != b.thread[:, :, 0]
    place = ~lane & (a.value[:, :, 0] != b.value[:, :, 0])
    return {"total": a.rows * a.cols, "other_lane": int(lane.sum()), "other_value": int(place.sum()), "moved": lane * 2 + place}


@router.get("/api/v1/compare", responses={200: {"model": Comparison}})
def compare_api(
    left: Annotated[str, text("{ptx}/{operand}", "ldmatrix.m8n8.x1.b16/data")],
    right: Annotated[str, text("{ptx}/{operand} of the same size", "ldmatrix.m8n8.x1.trans.b16/data")],
) -> Response:
    """Two operands, each `{ptx}/{operand}`: moved[row][col] is 0 same place, 1 other value of the same lane, 2 another lane."""
    return json_body(compare_facts(_operand(left, "left")[1], _operand(right, "right")[1]))


@router.get("/compare", include_in_schema=False)
def compare_page(request: Request) -> Response:
    """Two operands side by side with the elements that moved."""
    default = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32/a"
    given = {
        "left": request.query_params.get("left") or default,
        "right": request.query_params.get("right") or "wmma.load.a.sync.aligned.row.m16n16k16.f16/a",
    }
    context: dict[str, Any] = {"given": given, "error": None}
    try:
        sides = [_operand(given[side], side) for side in ("left", "right")]
        facts = compare_facts(sides[0][1], sides[1][1])
        drawings = [_marked(Grid(op), facts["moved"], Grid(op).labels("lane:value"), f"{op.name.upper()} of {i.ptx}") for i, op in sides]
        context |= {
            "facts": facts,
            "sides": [{"ptx": i.ptx, "op": op, "svg": drawing} for (i, op), drawing in zip(sides, drawings, strict=True)],
        }
    except LayoutError as error:
        context["error"] = error
    return page(request, "compare/page.html", context, 422 if context["error"] else 200)


# metadata -----------------------------------------------------------------------------------------------------------------


def metadata_facts(instruction: Instruction, words_text: str, selector: int) -> dict[str, Any]:
    """The dense column of every stored value under the given words; LayoutError names a word or nibble that is not legal."""
    op = instruction.operand("a")
    if op.sparsity is None:
        raise LayoutError("not_sparse", f"A of {instruction.ptx} is dense.", "Choose an mma.sp or wgmma.sp instruction.", "ptx")
    words = read_words(words_text, op.threads)
    thread, bit = op.sparsity.suppliers(selector)
    dense = op.sparsity.dense_columns(op.coords["col"], words, selector)
    return {
        "ptx": instruction.ptx,
        "selector": selector,
        "selectors": op.sparsity.selectors,
        "words": [f"0x{word:08X}" for word in words],
        "used": sorted({int(t) for t in thread.ravel()}),
        "row": op.rows,
        "stored_col": op.coords["col"],
        "col": dense,
        "meta_thread": thread,
        "meta_bit": bit,
    }


def read_words(text: str, threads: int) -> list[int]:
    """Hex words: one for every thread, or one for all of them; spaces, commas and `_` between digits accepted."""
    tokens = re.split(r"[\s,]+", text.strip()) if text.strip() else ["0x44444444"]
    words = []
    for number, token in enumerate(tokens):
        read = reading.digits(token if token[:2].lower() == "0x" else f"0x{token}")
        if read is None or read[0] >> 32:
            raise LayoutError(
                "bad_metadata",
                f"Word {number}, '{reading.shown(token)}', is no 32-bit hex word.",
                "Write eight hex digits, e.g. 0x44444444.",
                "words",
            )
        words.append(read[0])
    if len(words) not in (1, threads):
        raise LayoutError("bad_metadata", f"{len(words)} words were given.", f"Write {threads}, one a lane, or one for all.", "words")
    return words * threads if len(words) == 1 else words


@router.get("/api/v1/instructions/{ptx}/metadata", responses={200: {"model": Metadata}})
def metadata_api(
    ptx: Ptx,
    words: Annotated[str, text("Hex words: one a thread, or one for all; 0x44444444 where it is empty.", "0x44444444")] = "",
    selector: Annotated[NumberText, Query(description="Which lanes supply the metadata.")] = "0",
) -> Response:
    """A stored A under given metadata words: [thread][value] → dense column, and which lane's e and bit names it."""
    return json_body(metadata_facts(catalog.find(ptx), words, reading.number(selector or 0, "selector")))


@router.get("/metadata/{ptx}", include_in_schema=False)
def metadata_page(request: Request, ptx: str) -> Response:
    """The metadata editor: type the words, or click the kept positions; dense A beside stored A."""
    found = catalog.find(ptx)
    typed = request.query_params.get("words", "")
    chosen = request.query_params.get("selector", "0")
    context: dict[str, Any] = {"found": found, "typed": typed, "error": None, "selector": chosen}
    op = found.operand("a")
    try:
        facts = metadata_facts(found, typed, reading.number(chosen, "selector"))
    except LayoutError as error:
        context["error"] = error
        if op.sparsity is None:
            raise
        facts = metadata_facts(found, "", 0)
    context |= {
        "facts": facts,
        "cells": _dense_cells(op, facts),
        "stored": _stored_cells(op, facts),
        "op": op,
        "nibbles": op.sparsity.nibbles if op.sparsity else (),
    }
    part = request.query_params.get("part") == "editor"
    return page(request, "metadata/editor.html" if part else "metadata/page.html", context, 422 if context["error"] else 200)


def _dense_cells(op: Operand, facts: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Dense A by row: every cell with its group's metadata place, kept ones with who stores them."""
    assert op.sparsity is not None
    rows: list[list[dict[str, Any]]] = [[{} for _ in range(op.dense_col_count)] for _ in range(op.row_count)]
    group = op.sparsity.group
    flat = zip(*(np.asarray(facts[key]).ravel().tolist() for key in ("row", "col", "stored_col", "meta_thread", "meta_bit")), strict=True)
    for number, (row, col, stored, lane, bit) in enumerate(flat):
        thread, value = divmod(number, op.values)
        start = stored // op.sparsity.kept * group
        nibble = bit & ~3
        for at in range(start, start + group):
            rows[row][at].setdefault("lane", lane)
            rows[row][at].setdefault("bit", nibble)
        rows[row][col] |= {"kept": f"T{thread} a{value}", "stored": stored, "lane": lane, "bit": nibble}
    return rows


def _stored_cells(op: Operand, facts: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Stored A by row: who holds each element and the dense column it stands for."""
    grid = Grid(op)
    thread, value = grid.thread[:, :, 0], grid.value[:, :, 0]
    columns = np.asarray(facts["col"])[thread, value]
    return [
        [{"owner": f"T{t} a{v}", "col": c} for t, v, c in zip(ts, vs, cs, strict=True)]
        for ts, vs, cs in zip(thread.tolist(), value.tolist(), columns.tolist(), strict=True)
    ]


# reading ------------------------------------------------------------------------------------------------------------------


def _instruction(text: str, field: str) -> Instruction:
    try:
        return catalog.find(text)
    except LayoutError as error:
        raise LayoutError(error.code, error.message, error.hint, field, error.nearest) from None


def _operand(text: str, field: str) -> tuple[Instruction, Operand]:
    name, slash, letter = text.strip().rpartition("/")
    if not slash:
        raise LayoutError(
            "bad_operand",
            f"'{catalog.shorten(text)}' names no operand.",
            "Write {ptx}/{operand}, e.g. mma.m16n8k16.row.col.f32.f16.f16.f32/a.",
            field,
        )
    found = _instruction(name, field)
    return found, found.operand(letter)
