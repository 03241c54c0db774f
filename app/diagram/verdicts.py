"""The verdict on a descriptor as a picture for documents: the bytes that the word reads, and the stored tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from lanescope.app.diagram import forms as diagrams
from lanescope.app.diagram.forms import Picture
from lanescope.app.diagram.options import DRAWN
from lanescope.app.kit.encoding import encode_json
from lanescope.app.memory.questions import VERDICT
from lanescope.app.memory.verdicts import build_verified, parse_view
from lanescope.app.memory.verification import JudgedRequest, build_request, judge_request, list_assumed_fields
from lanescope.descriptor import causes
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.render.diagram import DiagramStyle, render_diagram
from lanescope.render.figure import FigurePanel
from lanescope.render.palette import Palette
from lanescope.render.read_pictures import make_figure
from lanescope.render.statuses import render_swatches
from lanescope.render.tables import format_markdown_grid

_LINE, _ADVANCE = 16.0, 6.7  # height of a line below the panels, and width of a letter


def has_verdict_query(query: Mapping[str, str]) -> bool:
    """Return whether a picture's address requests a verdict, not only the 64 bits."""
    return any(name in query for name in ("rows", *VERDICT) if name != "target")


def render_query(form: str, word: Descriptor, query: Mapping[str, str]) -> Picture:
    """Render the verdict of the address of a descriptor's page."""
    diagrams.check_picture_options(form, query, ("rows", *DRAWN), tuple(VERDICT))
    verdict_query = {name: value for name, value in query.items() if name in VERDICT and value}
    try:
        return render_verdict(form, build_request(word, verdict_query), query, list_assumed_fields(word, verdict_query))
    except LayoutError as error:  # name the field as the address does
        field = error.field.replace("storage.", "s_").replace("slice.", "slice_")
        raise LayoutError(error.code, error.message, error.hint, field) from None


def render_verdict(
    form: str,
    request: dict[str, Any],
    query: Mapping[str, str],
    assumed: tuple[str, ...] = (),
) -> Picture:
    """Render the bytes that an instruction reads through a word and, if the request has a storage, whether they are
    right.

    txt, md: the lines of the operand; csv: every element; json: the API's answer. assumed: the fields of the storage
    that come from the word.
    """
    window = diagrams.parse_span("rows", query)
    judged = judge_request(request, assumed)
    if form == "json":
        return encode_json(build_verified(judged.request))
    if form == "csv":
        return _format_csv(judged)
    lines = judged.cells.lines
    if window and window[1] >= lines:
        raise LayoutError(
            "bad_option", f"rows is '{query['rows']}'.", f"The picture has rows 0 to {lines - 1}.", "rows"
        )
    first, last = window or (0, lines - 1)
    if form in ("txt", "md"):
        return _format_text(form, judged, first, last)
    return diagrams.render_svg(
        form, _draw_verdict(judged, first, last, diagrams.get_palette(query), query.get("title")), query
    )


def draw_inline(word: Descriptor, query: Mapping[str, str]) -> str:
    """Draw the verdict in a page's colours, for the guide; LayoutError if the address requests none."""
    verdict_query = {name: value for name, value in query.items() if name in VERDICT}
    judged = judge_request(build_request(word, verdict_query), list_assumed_fields(word, verdict_query))
    first, last = diagrams.parse_span("rows", query) or (0, judged.cells.lines - 1)
    return _draw_verdict(judged, first, last, None, None)


def format_headline(judged: JudgedRequest) -> str:
    """Format the verdict as a sentence, with its sign."""
    letter, result = judged.cells.operand, judged.result
    if result is None:
        size, last = judged.read.size, int(judged.read.max()) + max(judged.seen.bits // 8, 1) - 1
        return f"{size:,} elements of {letter} are read from {int(judged.read.min()):#x} to {last:#x}"
    wrong = result.total - result.matched
    if result.match:
        return f"{'!' if judged.careful else '✓'} {replace(judged, named=True).headline}"
    if not wrong:
        return "✗ The bytes are right, but the word is not a descriptor of this format"
    return f"✗ {wrong:,} of {result.total:,} elements of {letter} are read from the wrong place"


def list_findings(judged: JudgedRequest) -> list[str]:
    """List the sentences below the picture: its scale, the verdict, and the cause of a mismatch with its repair."""
    request = judged.request
    findings = [f"1 cell = {judged.seen.per} elements = 16 B ← the address they are read from"]
    view = f"operand {judged.cells.operand}, {judged.seen.major}-major"
    findings.append(f"{request['descriptor']}, {parse_view(request)[0]}, {view}")
    if judged.stored is not None:
        start = request["slice"]
        part = "" if start["mn"] == start["k"] == "0" else f"; the slice at mn {start['mn']}, k {start['k']}"
        findings.append(f"Stored as {judged.stored.text}{part}")
    if judged.result is not None and not judged.result.match:
        for cause in judged.result.diagnoses[:1]:
            findings.append(causes.get_cause_title(cause.code) + (f"; repair: {cause.fix}" if cause.fix else ""))
    return findings


def _draw_verdict(judged: JudgedRequest, first: int, last: int, palette: Palette | None, title: str | None) -> str:
    figure = make_figure(judged.cells, first, last)
    head = format_headline(judged)
    below, lines = figure.height, list_findings(judged)
    extra, width = _draw_findings(judged, palette, lines, figure.panels, below)
    width = max(width, figure.width, (len(head if title is None else title) + 2) * 8.5)
    height = below + _LINE * len(lines) + (28 if judged.result else 6)
    style = DiagramStyle(palette=palette, title=head if title is None else title)
    enlarged = type(figure)(width, height, figure.panels)
    return render_diagram(enlarged, style, head, ". ".join([head, *lines]), extra, pointed=palette is None)


def _draw_findings(
    judged: JudgedRequest, palette: Palette | None, lines: list[str], panels: tuple[FigurePanel, ...], top: float
) -> tuple[str, float]:
    """Return (SVG of the text below the panels, its width)."""
    muted = palette.muted if palette else "var(--muted)"
    parts = [
        f'<text x="8" y="{top + 12 + _LINE * n:g}" font-size="11" fill="{muted}">{escape(text)}</text>'
        for n, text in enumerate(lines)
    ]
    width = max(len(text) for text in lines) * _ADVANCE + 16
    statuses = np.concatenate([panel.status.ravel() for panel in panels if panel.status is not None])
    if judged.result is not None:
        across, _, legend = render_swatches(
            statuses, palette, {"right": "read where it is stored", "wrong": "read elsewhere"}
        )
        parts.append(f'<g transform="translate(8 {top + _LINE * len(lines) + 6:g})">{legend}</g>')
        width = max(width, across + 16)
    return "".join(parts), width


def _format_text(form: str, judged: JudgedRequest, first: int, last: int) -> str:
    cells, has_verdict = judged.cells, judged.result is not None
    line_axis = "row" if judged.seen.major == "K" else "k"
    rows = []
    for line in range(first, last + 1):
        marks = ["" if not has_verdict else "✓ " if ok else "✗ " for ok in cells.right[line].tolist()]
        addresses = [f"{mark}{address:#x}" for mark, address in zip(marks, cells.read[line].tolist(), strict=True)]
        rows.append((line, addresses))
    head = [format_headline(judged), *list_findings(judged)]
    if form == "txt":
        return "\n".join([*head, *(f"{line_axis} {line:3}  {'  '.join(addresses)}" for line, addresses in rows)]) + "\n"
    columns = [f"+{n * judged.seen.per}" for n in range(cells.across)]
    table = format_markdown_grid((line for line, _ in rows), columns, [texts for _, texts in rows], line_axis)
    return f"### {head[0]}\n\n" + "\n".join(f"{text}  " for text in head[1:]) + f"\n\n{table}"


def _format_csv(judged: JudgedRequest) -> str:
    """Format every element: the byte address that it is read from and, if a storage is known, stored at."""
    stored = judged.result.expected if judged.result else None
    lines = ["row,k,read,stored,right" if stored is not None else "row,k,read"]
    for row, line in enumerate(judged.read.tolist()):
        for k, address in enumerate(line):
            expected = None if stored is None else int(stored[row, k])
            lines.append(
                f"{row},{k},{address}" + ("" if expected is None else f",{expected},{int(address == expected)}")
            )
    return "\n".join(lines) + "\n"
