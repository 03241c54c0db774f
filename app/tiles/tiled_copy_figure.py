"""A TiledCopy as a picture for documents, in every format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from lanescope.app.diagram import forms as diagrams
from lanescope.app.diagram.forms import Picture
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.maps import drawing, figure, stage
from lanescope.app.kit.maps.bench import HolderMap, MapBench
from lanescope.app.kit.sheets import point_at_sheets
from lanescope.app.tiles import tiled_copy_facts, tiled_copy_page
from lanescope.app.tiles.tiled_copy_maps import COPY_LOOK, build_copy_bench, build_tma_bench, make_tma_look
from lanescope.inputs import parse_choice
from lanescope.render.figure import FigurePanel
from lanescope.tiles.bulk import TmaCopy, is_tma
from lanescope.tiles.copy import TiledCopy, TransferSide
from lanescope.tiles.memory import SharedCopySide

OPTIONS = {
    "side": "source or destination alone; of TMA tile, shared or storage",
    "colour": "warp, group, lane, value, access, or bank where shared memory is described; of TMA chunk, box, cta,"
    " phase or bank",
    "label": "thread:value, register (the access), row,col, bank or none; of TMA element, byte, chunk, bank or none",
    "warps": "warps shown: 0-3,8",
    "lanes": "lanes shown: 0-7",
    "view": "a window: r:0-32,c:0-16",
    "pin": "a cell or a thread with a ring: source:2,3",
    "pin2": "a second one",
    **drawing.STYLE,
}


def render_tiled_copy(form: str, query: Mapping[str, str]) -> Picture:
    """Return the picture, table or text of a TiledCopy for a query. LayoutError names the first illegal option."""
    diagrams.check_picture_options(form, query, OPTIONS, tuple(tiled_copy_page.FIELDS))
    body = tiled_copy_page.build_body(tiled_copy_page.parse_form(query))
    if form == "json":
        tma = is_tma(str(body.get("atom")))
        return encode_json(tiled_copy_facts.build_tma_copy(body) if tma else tiled_copy_facts.build_tiled_copy(body))
    found, shared, bench, look = _parse_query(query)
    if form == "csv":
        made_of = _format_boxes_csv(found) if isinstance(found, TmaCopy) else _format_csv(found, shared, bench, look)
        return made_of
    if form in ("txt", "md"):
        return "\n".join(figure.format_maps(form, bench, look))
    drawing = figure.draw_bench(
        bench, look, diagrams.get_palette(query), query.get("title", ""), query.get("legend") == "1"
    )
    return diagrams.render_svg(form, drawing, query)


@dataclass(frozen=True, slots=True, eq=False)
class DrawnCopy:
    """The picture of a copy in the page's colours, its maps, and their positions."""

    svg: str
    maps: tuple[HolderMap, ...]
    panels: tuple[FigurePanel, ...]


def draw_copy(query: Mapping[str, str]) -> DrawnCopy:
    """Draw the picture of a page's address. LayoutError if it is not legal."""
    _, _, bench, look = _parse_query(query)
    return DrawnCopy(figure.draw_bench(bench, look, None), bench.maps, figure.place_panels(bench, look)[0])


def draw_inline(query: Mapping[str, str]) -> str:
    """Return the picture of a page's address in the page's colours, for the guide. LayoutError if it is not legal."""
    _, _, bench, look = _parse_query(query)
    svg = figure.draw_bench(bench, look, None, legend=query.get("legend") == "1")
    return point_at_sheets(svg, figure.list_sheets(bench, look), "thread")


def _parse_query(
    query: Mapping[str, str],
) -> tuple[TiledCopy | TmaCopy, SharedCopySide | None, MapBench, dict[str, str]]:
    body = tiled_copy_page.build_body(tiled_copy_page.parse_form(query))
    found: TiledCopy | TmaCopy
    shared, default_look = None, COPY_LOOK
    if is_tma(str(body.get("atom"))):
        found = tiled_copy_facts.parse_tma_copy(body)
        bench, default_look = build_tma_bench(found), make_tma_look(found)
    else:
        found = tiled_copy_facts.parse_tiled_copy(body)
        shared, _ = tiled_copy_facts.build_cost_sides(found, body)
        bench = build_copy_bench(found, shared)
    if query.get("side"):
        name = parse_choice(query["side"], "side", [holder_map.name for holder_map in bench.maps])
        bench = replace(bench, maps=tuple(holder_map for holder_map in bench.maps if holder_map.name == name))
    look = stage.require_look(bench, query, default_look)
    return found, shared, bench, look


def _format_csv(tiled_copy: TiledCopy, shared: SharedCopySide | None, bench: MapBench, look: Mapping[str, str]) -> str:
    """Return a line for every value of every visible thread, with byte and bank if shared memory is described."""
    keep = stage.select_holders(bench, look)
    lines = ["side,thread,warp,lane,value,access,row,col" + ",byte,bank" * (shared is not None)]
    for holder_map in bench.maps:
        side: TransferSide = getattr(tiled_copy, holder_map.name)
        byte = holder_map.fields.get("byte")
        for thread in range(side.threads) if keep is None else np.flatnonzero(keep).tolist():
            head = f"{holder_map.name},{thread},{thread // 32},{thread % 32}"
            for value, (row, col) in enumerate(
                zip(side.rows[thread].tolist(), side.cols[thread].tolist(), strict=True)
            ):
                at = "" if byte is None else f",{byte[row, col]},{holder_map.fields['bank'][row, col]}"
                lines.append(f"{head},{value},{value // side.access},{row},{col}{at}")
    return "\n".join(lines) + "\n"


def _format_boxes_csv(tma_copy: TmaCopy) -> str:
    """Return a line for every element: its box, the CTA that copies it, and the bytes where it arrives and where it
    is stored.
    """
    lines = ["row,col,box,cta,byte,bank,stored"]
    for (row, col), byte in np.ndenumerate(tma_copy.address):
        columns = (
            row,
            col,
            tma_copy.number[row, col],
            tma_copy.cta[row, col],
            byte,
            byte // 4 % 32,
            tma_copy.expected[row, col],
        )
        lines.append(",".join(map(str, columns)))
    return "\n".join(lines) + "\n"
