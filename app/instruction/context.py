"""What an instruction's page shows, and what its script draws from. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.catalogue import topics
from app.diagram import forms as pictures
from app.gpu import fragments, runs
from app.instruction import facts as payload
from app.instruction import lanes, pickers, state
from app.instruction import wmma as wmma_facts
from app.instruction.code import code_parts
from app.kernel import facts as programs
from app.kit.encode import dumps
from app.kit.links import path_of
from layouts import catalog, palette
from layouts.instruction import Instruction
from layouts.reading import digits
from layouts.render.svg import svg
from layouts.view import ADDRESS, BETWEEN_OWNERS, LABEL_TEMPLATES, LABELS, OWNER, SPOKEN, Figure, Grid, figure_of


def run_choices(found: Instruction, reason: str) -> dict[str, Any]:
    """What the page's run form offers; `reason`: why the GPU's button is off."""
    multiplies = runs.multiplies(found)
    kinds = [("mma", "product against NumPy")] if multiplies else []
    measured = () if fragments.unmeasured(found) else fragments.operands(found)
    if measured:
        kinds.append(("fragment", "measure one operand's map"))
    forms = found.family.forms if multiplies else ()
    return {"kinds": kinds, "operands": measured, "forms": forms, "reason": reason, "steps": multiplies} if kinds else {}


def page_context(
    found: Instruction, chosen: state.PageState, notices: list[str], query: Mapping[str, str], reason: str, table_values: int
) -> dict[str, Any]:
    """Everything the page of one instruction shows. reason: why no run goes to a GPU; table_values: how large a map stands in the page as a table."""
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
        "wmma": wmma_facts.checked(found, query),
        "scales": scale_tables(found, query),
        "products": state.products(found),
        "svg": drawing,
        "run": run_choices(found, reason),
        "lane": lane,
        "lane_rows": [rows for rows in held if rows],
        "tables": [lanes.full_table(op) for op in distinct if op.threads * op.values <= table_values],
        "data": dumps(page_data(found, figure, chosen)).decode().replace("</", "<\\/"),
    }


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
