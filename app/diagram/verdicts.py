"""The verdict on a descriptor as a picture for documents: what the word reads beside the tile as it is stored. No
framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from lanescope.app.diagram import forms as diagrams
from lanescope.app.diagram.forms import Draw, Made
from lanescope.app.diagram.options import DRAWN
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.picture import DrawingJob
from lanescope.app.memory import descriptors
from lanescope.app.memory.editor import JudgedRequest, build_request, judge_request, list_assumed_fields
from lanescope.app.memory.questions import VERDICT
from lanescope.descriptor import causes
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.render.diagram import DiagramStyle, render_diagram
from lanescope.render.palette import Palette
from lanescope.render.read_pictures import make_figure
from lanescope.render.svg import render_swatches
from lanescope.render.view import FigurePanel

_LINE, _ADVANCE = 16.0, 6.7  # of a line below the panels: its height, and a letter's width


def has_verdict_query(query: Mapping[str, str]) -> bool:
    """Whether the address of a descriptor's picture asks for a verdict, and not for the 64 bits alone."""
    return any(name in query for name in ("rows", *VERDICT))


def render_query(form: str, word: Descriptor, query: Mapping[str, str], draw: Draw = DrawingJob.render) -> Made:
    """The verdict that the address of a descriptor's page asks for."""
    diagrams.check_picture_options(form, query, ("rows", *DRAWN), tuple(VERDICT))
    asked_ = {name: value for name, value in query.items() if name in VERDICT and value}
    try:
        return render_verdict(form, build_request(word, asked_), query, draw, list_assumed_fields(word, asked_))
    except LayoutError as error:  # the field as the address names it
        field = error.field.replace("storage.", "s_").replace("slice.", "slice_")
        raise LayoutError(error.code, error.message, error.hint, field) from None


def render_verdict(
    form: str,
    request: dict[str, Any],
    query: Mapping[str, str],
    draw: Draw = DrawingJob.render,
    taken: tuple[str, ...] = (),
) -> Made:
    """What an instruction reads through a word and, where the request says how the tile is stored, whether that is
    right; txt, md: the lines of the operand; csv: every element; json: the API's answer. taken: what of the storage
    comes from the word.
    """
    window = diagrams.parse_span("rows", query)
    found = judge_request(request, taken)
    if form == "json":
        return encode_json(descriptors.build_verified(found.request)), FORMS[form]
    if form == "csv":
        return _format_csv(found).encode(), FORMS[form]
    lines = found.cells.lines
    if window and window[1] >= lines:
        raise LayoutError(
            "bad_option", f"rows is '{query['rows']}'.", f"The picture has rows 0 to {lines - 1}.", "rows"
        )
    first, last = window or (0, lines - 1)
    if form in ("txt", "md"):
        return _format_text(form, found, first, last).encode(), FORMS[form]
    return diagrams.render_svg(
        form, _draw_verdict(found, first, last, diagrams.get_palette(query), query.get("title")), query, draw
    )


def draw_inline(word: Descriptor, query: Mapping[str, str]) -> str:
    """The same in a page's colours, for the guide; LayoutError where the address names none."""
    asked_ = {name: value for name, value in query.items() if name in VERDICT}
    found = judge_request(build_request(word, asked_), list_assumed_fields(word, asked_))
    first, last = diagrams.parse_span("rows", query) or (0, found.cells.lines - 1)
    return _draw_verdict(found, first, last, None, None)


def format_headline(found: JudgedRequest) -> str:
    """The verdict in a sentence, with its sign."""
    letter, result = found.cells.operand, found.result
    if result is None:
        size, last = found.read.size, int(found.read.max()) + max(found.seen.bits // 8, 1) - 1
        return f"{size:,} elements of {letter} are read from {int(found.read.min()):#x} to {last:#x}"
    bad = result.total - result.matched
    if result.match:
        return f"{'!' if found.careful else '✓'} {replace(found, named=True).headline}"
    if not bad:
        return "✗ The bytes are right, but the word is not a descriptor of this format"
    return f"✗ {bad:,} of {result.total:,} elements of {letter} are read from the wrong place"


def list_findings(found: JudgedRequest) -> list[str]:
    """What the picture shows, what the verdict is about, and the cause of a mismatch with its repair."""
    request, out = found.request, [f"1 cell = {found.seen.per} elements = 16 B ← the address they are read from"]
    seen = f"operand {found.cells.operand}, {found.seen.major}-major"
    out.append(f"{request['descriptor']}, {descriptors.parse_view(request)[0]}, {seen}")
    if found.stored is not None:
        at = request["slice"]
        part = "" if at["mn"] == at["k"] == "0" else f"; the slice at mn {at['mn']}, k {at['k']}"
        out.append(f"Stored as {found.stored.text}{part}")
    if found.result is not None and not found.result.match:
        for cause in found.result.diagnoses[:1]:
            out.append(causes.get_cause_title(cause.code) + (f"; repair: {cause.fix}" if cause.fix else ""))
    return out


def _draw_verdict(found: JudgedRequest, first: int, last: int, palette: Palette | None, given: str | None) -> str:
    made = make_figure(found.cells, first, last)
    head = format_headline(found)
    below, lines = made.height, list_findings(found)
    extra, wide = _draw_findings(found, palette, lines, made.panels, below)
    wide = max(wide, made.width, (len(head if given is None else given) + 2) * 8.5)
    tall = below + _LINE * len(lines) + (28 if found.result else 6)
    style = DiagramStyle(palette=palette, title=head if given is None else given)
    moved = type(made)(wide, tall, made.panels)
    return render_diagram(moved, style, head, ". ".join([head, *lines]), extra)


def _draw_findings(
    found: JudgedRequest, palette: Palette | None, lines: list[str], panels: tuple[FigurePanel, ...], top: float
) -> tuple[str, float]:
    """(SVG of what stands below the panels, how wide it is)."""
    muted = palette.muted if palette else "var(--muted)"
    out = [
        f'<text x="8" y="{top + 12 + _LINE * n:g}" font-size="11" fill="{muted}">{escape(text)}</text>'
        for n, text in enumerate(lines)
    ]
    wide = max(len(text) for text in lines) * _ADVANCE + 16
    drawn = np.concatenate([panel.status.ravel() for panel in panels if panel.status is not None])
    if found.result is not None:
        across, _, legend = render_swatches(
            drawn, palette, {"right": "read where it is stored", "wrong": "read elsewhere"}
        )
        out.append(f'<g transform="translate(8 {top + _LINE * len(lines) + 6:g})">{legend}</g>')
        wide = max(wide, across + 16)
    return "".join(out), wide


def _format_text(form: str, found: JudgedRequest, first: int, last: int) -> str:
    cells, judged_ = found.cells, found.result is not None
    along = "row" if found.seen.major == "K" else "k"
    rows = []
    for line in range(first, last + 1):
        marks = ["" if not judged_ else "✓ " if ok else "✗ " for ok in cells.right[line].tolist()]
        got = [f"{mark}{at:#x}" for mark, at in zip(marks, cells.read[line].tolist(), strict=True)]
        rows.append((line, got))
    head = [format_headline(found), *list_findings(found)]
    if form == "txt":
        return "\n".join([*head, *(f"{along} {line:3}  {'  '.join(got)}" for line, got in rows)]) + "\n"
    columns = "".join(f" +{n * found.seen.per} |" for n in range(cells.across))
    table = [f"| {along} |{columns}", "|---:|" + "---|" * cells.across]
    table += [f"| **{line}** | {' | '.join(got)} |" for line, got in rows]
    return f"### {head[0]}\n\n" + "\n".join(f"{text}  " for text in head[1:]) + "\n\n" + "\n".join(table) + "\n"


def _format_csv(found: JudgedRequest) -> str:
    """Every element: where it is read and, where a storage is said, stored, as byte addresses."""
    stored = found.result.expected if found.result else None
    out = ["row,k,read,stored,right" if stored is not None else "row,k,read"]
    for row, line in enumerate(found.read.tolist()):
        for k, at in enumerate(line):
            want = None if stored is None else int(stored[row, k])
            out.append(f"{row},{k},{at}" + ("" if want is None else f",{want},{int(at == want)}"))
    return "\n".join(out) + "\n"
