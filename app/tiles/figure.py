"""A TiledMMA as a picture for documents, in every form. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor

import numpy as np

from app.diagram import forms as diagrams
from app.diagram.forms import Draw, Made
from app.kit.encode import dumps
from app.kit.media import FORMS
from app.kit.picture import Drawing
from app.tiles import bench, draw, facts, forms, state
from app.tiles.state import BenchState
from layouts import window
from layouts.errors import LayoutError
from layouts.palette import Palette
from layouts.render.svg import svg
from layouts.tiles import shades
from layouts.tiles.mma import TiledMMA, TileOperand
from layouts.view import GAP, LEFT, TOP, Figure, Panel

OPTIONS = {
    "operand": "a, b or c alone",
    "colour": "warp, warpgroup, group, lane, value, register, k, m or n",
    "label": "thread:value, register, row,col or none",
    "warps": "warps shown: 0-3,8",
    "lanes": "lanes shown: 0-7",
    "k": "one K iteration: 0",
    "m": "one repeat in M: 0",
    "n": "one repeat in N: 0",
    "view": "a window: m:0-32,n:0-32,k:0-16",
    "theme": "light, dark or bw (hatches)",
    "title": "text above; empty for none",
    "legend": "1: what the colours mean",
    "scale": "PNG pixels a unit, 0.25 to 8; 2 or what fits",
    "embed": "TeX: 1 for a tikzpicture to \\input",
}
MOST_LABELS, MOST_TEXT = 8192, 1 << 15
_WIDE = 1080.0


def made(form: str, query: Mapping[str, str], draw_: Draw = Drawing.made) -> Made:
    """The picture, table or text of a TiledMMA that a query names; LayoutError for the first option that does not
    fit.
    """
    diagrams.known(form, query, OPTIONS, tuple(forms.MMA))
    asked = forms.given(query, forms.MMA)
    found = facts.mma_of(forms.mma_body(asked))
    chosen, notices = state.read(found, bench.base(asked), query)
    if notices:
        raise LayoutError("bad_option", notices[0].replace(" Shown with the default instead.", ""),
                          "The page /tiles/mma offers what is legal.", notices[0].split(" ")[0])  # fmt: skip
    if form == "json":
        return dumps(facts.mma_facts(found)), FORMS[form]
    ops = [found.operand(query["operand"])] if query.get("operand") else [found.a, found.b, found.c]
    if form == "csv":
        return _csv(found, ops, chosen).encode(), FORMS[form]
    if form in ("txt", "md"):
        return _text(form, found, ops, chosen).encode(), FORMS[form]
    drawing = picture(found, ops, chosen, diagrams.theme(query), query.get("title", ""), query.get("legend") == "1")
    return diagrams.drawn(form, drawing, query, draw_)


def _spans(found: TiledMMA, op: TileOperand, chosen: BenchState) -> tuple[range, range]:
    shown = window.parts(chosen.view, state.extents(found))
    first, last = (range(floor(shown[dim][0]), ceil(shown[dim][1])) for dim in state.DIMS[op.name])
    return first, last


def picture(
    found: TiledMMA, ops: list[TileOperand], chosen: BenchState, theme: Palette | None, title: str = "",
    legend: bool = False,
) -> str:  # fmt: skip
    """The SVG of A, B and C as in a product, or of one of them; theme None takes the page's colours."""
    spans = {op.name: _spans(found, op, chosen) for op in ops}
    total = sum(len(rows) * len(cols) for rows, cols in spans.values())
    labelled = chosen.label != "none" and total <= MOST_LABELS
    wide = sum(len(cols) for name, (_, cols) in spans.items() if name != "b" or len(spans) == 1)
    width = 44.0 if labelled else max(2.0, min(14.0, _WIDE / wide))
    height = 17.0 if labelled else width
    above = 22.0 if title else 0.0
    right = LEFT + (len(spans["a"][1]) * width + GAP + LEFT if len(spans) > 1 else 0)
    below = above + TOP + (len(spans["b"][0]) * height + GAP + TOP if len(spans) > 1 else 0)
    place = {"a": (LEFT, below), "b": (right, above + TOP), "c": (right, below)}
    panels = tuple(
        _panel(found, op, chosen, spans[op.name], place[op.name] if len(ops) > 1 else (LEFT, above + TOP),
               (width, height), labelled)
        for op in ops
    )  # fmt: skip
    size = max(p.x + p.width for p in panels) + 8, max(p.y + p.height for p in panels) + 8
    extra = []
    if title:
        extra.append(f'<text x="8" y="17" font-size="14" font-weight="600" fill="{_ink(theme)}">{_safe(title)}</text>')
    lines = bench.legend(found, chosen) if legend else []
    for number, (text, fills) in enumerate(lines):
        extra += _legend(text, fills, size[1] + 4 + 20 * number, theme)
    figure = Figure(max(size[0], 200.0, len(title) * 8.5 + 16), size[1] + 20 * len(lines) + 4 * bool(lines), panels)
    said = f"{found.atom.instruction.ptx}, atoms {found.atom_layout}, tile {'×'.join(map(str, found.tile))}"
    return svg(figure, title=title or said, description=said, palette=theme, labels_up_to=MOST_LABELS,
               extra="".join(extra), label="none" if not labelled else "lane:value")  # fmt: skip


def inline(query: Mapping[str, str]) -> str:
    """The picture of a page's address in a page's colours, for the guide; LayoutError where it is none."""
    asked = forms.given(query, forms.MMA)
    found = facts.mma_of(forms.mma_body(asked))
    chosen, notices = state.read(found, bench.base(asked), query)
    if notices:
        raise LayoutError("bad_option", notices[0], "The page /tiles/mma offers what is legal.", "figure")
    return picture(found, [found.a, found.b, found.c], chosen, None, legend=query.get("legend") == "1")


def _ink(theme: Palette | None, name: str = "ink") -> str:
    return str(getattr(theme, name)) if theme else f"var(--{name})"


def _safe(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _legend(text: str, fills: list[str], y: float, theme: Palette | None) -> list[str]:
    muted = _ink(theme, "muted")
    out = [f'<text x="8" y="{y + 10:.1f}" font-size="11" fill="{muted}">{_safe(text)}</text>']
    x = 20 + len(text) * 6.7
    for number in range(len(fills)):
        fill = theme.fill(number, len(fills)) if theme else f"var(--{fills[number]})"
        out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="12" fill="{fill}" stroke="{muted}"'
                   ' stroke-width="0.5"/>')  # fmt: skip
        out.append(f'<text x="{x + 16:.1f}" y="{y + 10:.1f}" font-size="11" fill="{muted}">{number}</text>')
        x += 34
    return out


def _panel(
    found: TiledMMA, op: TileOperand, chosen: BenchState, spans: tuple[range, range], place: tuple[float, float],
    cell: tuple[float, float], labelled: bool,
) -> Panel:  # fmt: skip
    """An operand's window; elements of other steps than the chosen one have no colour."""
    drawn, held = draw.panel(found, op, chosen, chosen.threads(found))
    category = drawn.category
    away = draw.elsewhere(found, op, held, chosen)
    if category is not None and away is not None:
        category = np.where(away, -1, category).astype(np.int32)
    texts = draw.texts(found, op, held, chosen.label, *spans) if labelled else None
    if texts:
        texts = [row or [""] * op.col_count for row in texts]
    rows, cols = spans
    return Panel(op.name, drawn.title, len(rows), len(cols), *place, *cell, None, category, texts, rows.start,
                 cols.start, of=drawn.of)  # fmt: skip


def _csv(found: TiledMMA, ops: list[TileOperand], chosen: BenchState) -> str:
    """Every value of every thread that is shown: one a line."""
    shown = chosen.threads(found)
    lines = ["operand,thread,warp,lane,value,register,row,col"]
    for op in ops:
        number = [""] * op.values if op.shared else [str(n) for n in shades.registers(found, op)]
        rows, cols = op.rows.tolist(), op.cols.tolist()
        for at, thread in enumerate(op.thread_ids.tolist()):
            if shown is not None and thread not in shown:
                continue
            head = f"{op.name},{thread},{thread // 32},{thread % 32}"
            lines += [
                f"{head},{value},{number[value]},{row},{col}"
                for value, (row, col) in enumerate(zip(rows[at], cols[at], strict=True))
            ]
    return "\n".join(lines) + "\n"


def _text(form: str, found: TiledMMA, ops: list[TileOperand], chosen: BenchState) -> str:
    """Each matrix with its row and column numbers."""
    parts = []
    for op in ops:
        rows, cols = _spans(found, op, chosen)
        if len(rows) * len(cols) > MOST_TEXT:
            raise LayoutError(
                "too_large",
                f"Operand {op.name.upper()} has {len(rows) * len(cols)} elements; as text at most {MOST_TEXT}.",
                "Give a window, e.g. view=m:0-32,n:0-32,k:0-16.",
                "view",
            )
        held = draw.cells(op)
        body = draw.texts(found, op, held, chosen.label, rows, cols)
        title = f"{op.name.upper()} {op.row_count}×{op.col_count}"
        if form == "md":
            lines = [f"**{title}**", "", "| |" + "".join(f" {c} |" for c in cols), "|---:|" + "---|" * len(cols)]
            lines += [f"| **{r}** |" + "".join(f" {body[r][c]} |" for c in cols) for r in rows]
        else:
            width = max(3, *(len(body[r][c]) for r in rows for c in cols), len(str(cols[-1])))
            lines = [title, (" " * 5 + " ".join(str(c).rjust(width) for c in cols)).rstrip()]
            lines += [f"{r:4} " + " ".join(body[r][c].rjust(width) for c in cols) for r in rows]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
