"""Pictures of layouts for documents: /layouts/triton, /layouts/tv and /cute in every format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from lanescope.app.diagram import forms as diagrams
from lanescope.app.diagram.forms import Picture
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.maps import figure
from lanescope.app.kit.maps.bench import MapBench
from lanescope.app.kit.question import fields_of, nest_fields, read_question
from lanescope.app.layouts import cute, triton, tv
from lanescope.app.layouts.facts import CuteQuestion, TvBody, build_cute, build_tv
from lanescope.app.layouts.triton_facts import TritonBody, build_triton
from lanescope.errors import LayoutError
from lanescope.render.sheet import TileSheet, draw_sheets
from lanescope.render.tables import format_csv, format_table

Asked = TypeVar("Asked")
Parts = list[tuple[TileSheet, str, str]]
LOOKS = {
    "colour": "warp, thread, lane, value or vector; bank or address of shared memory; moves of a comparison",
    "axes": "of more than two axes: those drawn down and across, 0,2",
    "at": "the index of each other axis: 3",
    "to": "another layout of the same tile: before and after",
    "label": "thread:value, value, row,col, bank or none; of memory offset, byte, bank, row,col or none",
    "warps": "warps shown: 0-3,8",
    "lanes": "lanes shown: 0-7",
    "view": "a window: r:0-32,c:0-16",
    "legend": "1: what the colours mean",
    "pin": "a cell or a thread with a ring: tile:2,6",
    "pin2": "a second one",
}
STAGED = (
    "to",
    "slice",
    "label",
    "warps",
    "lanes",
    "view",
    "legend",
    "pin",
    "pin2",
)  # options that only the page's stage has
STYLE = {
    "theme": "light, dark or bw (hatches)",
    "title": "text above; that of the layout where left out",
    "scale": "PNG pixels a unit, 0.25 to 8; 2 or what fits",
    "embed": "TeX: 1 for a tikzpicture to \\input",
}


@dataclass(frozen=True, slots=True)
class LayoutPicture:
    """A page that has pictures: its fields, the sheets of a query, the letter of a value, and its JSON."""

    fields: Mapping[str, str]
    parts: Callable[[Mapping[str, str]], Parts]
    letter: str
    json: Callable[[Mapping[str, str]], Any]
    staged: Callable[[Mapping[str, str]], tuple[MapBench, dict[str, str]]] | None = None


def _read(question: type[Asked], query: Mapping[str, str]) -> Asked:
    """Return the API's question with the fields of a picture."""
    fields = fields_of(question)
    return read_question(question, nest_fields(fields, {name: query[name] for name in fields if name in query}))


KINDS = {
    "triton": LayoutPicture(
        {
            "text": "#ttg.…<{…}>, or a Gluon class with its arguments",
            "shape": "the tensor: 32x32",
            "element_bits": "bits of an element",
            **LOOKS,
        },
        triton.build_sheets,
        "R",
        lambda query: build_triton(_read(TritonBody, query)),
        triton.build_staged_bench,
    ),
    "tv": LayoutPicture(
        {
            "cute": "(thread, value) → element",
            "tile": "its sizes, the first fastest: 16x16",
            "element_bits": "bits of an element",
            "stored": "element → place in shared memory, for banks",
            "slice": "a coordinate with underscores: (5,_)",
            **LOOKS,
        },
        tv.build_sheets,
        "V",
        lambda query: build_tv(_read(TvBody, query)),
        tv.build_staged_bench,
    ),
    "cute": LayoutPicture(
        {"expression": "operations, nested or as statements behind ;"},
        cute.build_sheets,
        "V",
        lambda query: build_cute(CuteQuestion(expression=query.get("expression", ""))),
    ),
}


def render_layout(name: str, form: str, query: Mapping[str, str]) -> Picture:
    """Return the picture, the table of cells, or the facts for a query. LayoutError names the first illegal option."""
    kind = KINDS[name]
    diagrams.check_picture_options(form, query, STYLE, tuple(kind.fields))
    theme = diagrams.get_palette(query)
    if form == "json":
        return encode_json(kind.json(query))
    if kind.staged and (any(query.get(name) for name in STAGED) or query.get("colour") in ("moves", "line", "cell")):
        return _render_stage(form, *kind.staged(query), query)
    parts = kind.parts(query)
    if form in ("txt", "md", "csv"):
        return "\n".join(_format_sheet(form, sheet, kind.letter, title) for sheet, _, title in parts)
    if query.get("title"):
        parts = [(parts[0][0], parts[0][1], query["title"][:120]), *parts[1:]]
    return diagrams.render_svg(form, draw_sheets(parts, parts[0][2], theme, kind.letter), query)


def _render_stage(form: str, bench: MapBench, look: Mapping[str, str], query: Mapping[str, str]) -> Picture:
    """Return the stage of a page's address in a format."""
    if form in ("txt", "md", "csv"):
        return "\n".join(figure.format_maps(form, bench, look))
    if len(bench.maps) > 1:
        bench = replace(
            bench,
            maps=tuple(
                replace(holder_map, title=f"{holder_map.title}: {holder_map.about}") for holder_map in bench.maps
            ),
        )
    title = query.get("title", "")[:120]
    svg = figure.draw_bench(bench, look, diagrams.get_palette(query), title, query.get("legend") == "1")
    return diagrams.render_svg(form, svg, query)


def _format_sheet(form: str, sheet: TileSheet, letter: str, title: str) -> str:
    """Return the texts of the cells, row by row."""
    if sheet.rows * sheet.cols > 1 << 16:
        raise LayoutError("too_large", f"The table has {sheet.rows * sheet.cols} cells.", "At most 65536.", "shape")
    rows = [[sheet.format_cell(row, col, letter) for col in range(sheet.cols)] for row in range(sheet.rows)]
    if form == "csv":
        return format_csv(rows)
    if form == "md":
        head = (title, *map(str, range(sheet.cols)))
        return f"{format_table(head, [(str(n), *row) for n, row in enumerate(rows)])}\n"
    wide = max(len(text) for row in rows for text in row)
    return f"{title}\n" + "".join(" ".join(text.rjust(wide) for text in row).rstrip() + "\n" for row in rows)
