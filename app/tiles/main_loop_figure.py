"""A main loop as a picture for documents, in every format: the cost of each warp in each K iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from lanescope.app.diagram import forms as diagrams
from lanescope.app.diagram.forms import Picture
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.maps import drawing
from lanescope.app.tiles import main_loop_facts, main_loop_page
from lanescope.app.tiles.main_loop_facts import LoopFacts, LoopOperand, LoopStep
from lanescope.render.figure import GAP, LEFT, TOP, FigurePanel
from lanescope.render.palette import RIGHT, WRONG, Palette
from lanescope.render.tables import format_columns, format_table

OPTIONS = {name: says for name, says in drawing.STYLE.items() if name != "legend"}
WIDE, HIGH, LINE = 112.0, 22.0, 18.0  # of a cell; of a line of text
HEAD = ("operand", "stage", "access", "count", "units", "ideal")
TITLE = "wavefronts of each warp’s loads in each K iteration"


def render_loop(form: str, query: Mapping[str, str]) -> Picture:
    """Return the picture, tables or facts of a main loop for a query. LayoutError names the first illegal option."""
    diagrams.check_picture_options(form, query, OPTIONS, tuple(main_loop_page.FIELDS))
    found = main_loop_facts.build_loop(main_loop_page.build_body(main_loop_page.parse_form(query)))
    if form == "json":
        return encode_json(found)
    if form == "csv":
        return _format_csv(found)
    if form in ("txt", "md"):
        return "\n".join(_format_text(form, found))
    return diagrams.render_svg(form, draw_loop(found, diagrams.get_palette(query), query.get("title", "")), query)


def draw_inline(query: Mapping[str, str]) -> str:
    """Return the picture of a page's address in the page's colours, for the guide."""
    return draw_loop(main_loop_facts.build_loop(main_loop_page.build_body(main_loop_page.parse_form(query))), None)


def draw_loop(loop: LoopFacts, theme: Palette | None, title: str = "") -> str:
    """Return the SVG: a line per stage, then for each operand that is loaded a row per warp, a column per K
    iteration.
    """
    y = drawing.ABOVE if title else 0.0
    lines = [_format_stage(stage) for stage in loop.stages]
    lines.append(("ok", f"A × B: registers → {loop.mma} mma, {loop.k_steps} K iteration{'s' * (loop.k_steps > 1)}"))
    extra = []
    for mark, text in lines:
        y += LINE
        sign = {"ok": "✓", "bad": "✗"}[mark]
        extra.append(
            f'<text x="8" y="{y:.1f}" font-size="12" fill="{drawing.get_colour(theme)}"><tspan'
            f' fill="{drawing.get_colour(theme, mark)}">'
            f"{sign}</tspan> {escape(text, quote=False)}</text>"
        )
    panels, x = [], LEFT + 12
    for name, operand in _list_operands(loop):
        panels.append(_build_panel(name, main_loop_page.build_step_table(operand), (x, y + TOP + 10)))
        x += max(panels[-1].width, 6.9 * len(panels[-1].title)) + GAP + LEFT
    description = f"Main loop: {main_loop_page.format_cost(loop)}"
    wide = max(len(text) for _, text in lines) * 7.4 + 24
    return drawing.draw_panels(
        tuple(panels),
        theme,
        title=title,
        description=description,
        legend=[],
        labelled=True,
        extra="".join(extra),
        least=(wide, y + 10),
        pointed=theme is None,
    )


def _list_operands(loop: LoopFacts) -> list[tuple[str, LoopOperand]]:
    return [(name, operand) for name, operand in (("A", loop.a), ("B", loop.b)) if operand and operand.steps]


def _format_stage(stage: main_loop_facts.LoopStage) -> tuple[str, str]:
    text = (
        f"{stage.operand.upper()} {main_loop_page.STAGES[stage.stage]}, {stage.access}: {stage.count} {stage.units}, "
    )
    text += "no more than needed" if stage.count == stage.ideal else f"{stage.ideal} needed"
    return "ok" if stage.count == stage.ideal else "bad", text


def _build_panel(name: str, rows: Sequence[Sequence[LoopStep]], place: tuple[float, float]) -> FigurePanel:
    status = np.array(
        [[WRONG if step.wrong or step.wavefronts > step.ideal else RIGHT for step in row] for row in rows],
        dtype=np.int32,
    )
    texts = [[_format_cell(step) for step in row] for row in rows]
    return FigurePanel(
        name.lower(),
        f"{name}: {TITLE}",
        len(rows),
        len(rows[0]),
        WIDE,
        HIGH,
        x=place[0],
        y=place[1],
        texts=texts,
        status=status,
        row_names=tuple(f"w{warp}" for warp in range(len(rows))),
    )


def _format_cell(step: LoopStep) -> str:
    """Return a cell's text: 16; 128, 16 needed; 12 wrong."""
    if step.wrong:
        return f"{step.wrong} wrong"
    return str(step.wavefronts) if step.wavefronts == step.ideal else f"{step.wavefronts}, {step.ideal} needed"


def _format_csv(loop: LoopFacts) -> str:
    """Return a line for every warp and K iteration."""
    lines = ["operand,warp,k_iteration,loads,wavefronts,ideal,wrong"]
    for name, operand in _list_operands(loop):
        lines += [
            f"{name.lower()},{s.warp},{s.step},{s.loads},{s.wavefronts},{s.ideal},{s.wrong}" for s in operand.steps
        ]
    return "\n".join(lines) + "\n"


def _format_text(form: str, loop: LoopFacts) -> list[str]:
    rows = [[getattr(stage, name) for name in HEAD] for stage in loop.stages]
    table = [[str(cell).upper() if n == 0 else str(cell) for n, cell in enumerate(row)] for row in rows]
    out = [f"{format_table(HEAD, table)}\n" if form == "md" else format_columns([HEAD, *table])]
    for name, operand in _list_operands(loop):
        body = [[_format_cell(step) for step in row] for row in main_loop_page.build_step_table(operand)]
        out.append(drawing.format_matrix(form, f"{name}: {TITLE}", body, range(len(body)), range(len(body[0]))))
    return out
