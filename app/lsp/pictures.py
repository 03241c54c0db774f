"""Small pictures for hovers, as lines of text or as SVG."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lanescope.app.read.draw import HeldTile, build_offset_table, draw_meaning, find_tiles
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Operand
from lanescope.render.descriptor_bits import render_descriptor_bits
from lanescope.render.diagram import DiagramStyle, render_diagram
from lanescope.render.figure import make_operand_figure
from lanescope.render.palette import LIGHT
from lanescope.render.view import OperandGrid
from lanescope.shared.storage import storage

ROWS, COLS = 8, 16  # of a picture of text


def embed_svg(svg: str, title: str) -> str:
    """Return an SVG as a Markdown image with a data URL."""
    data = base64.b64encode(svg.encode()).decode()
    return f"![{title}](data:image/svg+xml;base64,{data})"


def format_operand(operand: Operand) -> str:
    """Return the first rows and columns of an operand: thread and value of each element."""
    return _format_cells(OperandGrid(operand).format_labels("lane:value", slice(ROWS), slice(COLS)))


def draw_operand(operand: Operand, title: str) -> str:
    """Draw an operand as SVG."""
    return render_diagram(make_operand_figure(operand), DiagramStyle(palette=LIGHT, title=title), title, title)


def draw_bits(descriptor: Descriptor) -> str:
    """Draw the bits of a descriptor as SVG."""
    return render_descriptor_bits(descriptor, LIGHT)


def format_meaning(kind: str, facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return (caption, lines) of a meaning's picture; ("", "") if the text does not determine one."""
    found = find_tiles(kind, facts)
    if found.tiles:
        tile = found.tiles[0]
        return found.note or f"{tile.title}: thread:value", _format_tile(tile)
    if kind == "layout" and (table := _try_offsets(facts.get("cute"))) is not None:
        return f"Offset of (row, column), in {table.unit}", _format_cells(
            [[str(number) for number in row[:COLS]] for row in table.index[:ROWS]]
        )
    if kind == "tensor_map":
        return _format_box(facts)
    return "", ""


def draw_meaning_svg(kind: str, facts: Mapping[str, Any]) -> str:
    """Draw a meaning's first tile as SVG; "" if there is none."""
    drawn = draw_meaning(kind, facts, LIGHT).drawn
    return drawn[0][1] if drawn else ""


def _try_offsets(cute: str | None) -> Any:
    try:
        return build_offset_table(cute)
    except LayoutError:
        return None


def _format_tile(tile: HeldTile) -> str:
    """Return the first rows and columns of a tile: the first holder of each element, marked `+` if there are more."""
    rows, cols = min(tile.size[0], ROWS), min(tile.size[1], COLS)
    holders: dict[tuple[int, int], list[str]] = {}
    inside = np.argwhere((tile.rows < rows) & (tile.cols < cols))
    for thread, value in inside.tolist():
        number = thread if tile.ids is None else int(tile.ids[thread])
        place = int(tile.rows[thread, value]), int(tile.cols[thread, value])
        holders.setdefault(place, []).append(f"T{number}:{value}")
    cells = [[holders.get((row, col), []) for col in range(cols)] for row in range(rows)]
    return _format_cells(
        [[f"{holders[0]}{'+' * (len(holders) > 1)}" if holders else "" for holders in row] for row in cells]
    )


def _format_box(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return where TMA puts the 16-byte chunks of a box's first rows; ("", "") if the text does not determine it."""
    spec, bits = facts.get("storage"), facts.get("element_bits")
    box = facts.get("box") or []
    if not spec or not bits or len(box) < 2 or None in box:
        return "", ""
    spec = {**spec, "base": 0, **({"inner": spec["inner"] or "K"} if "inner" in spec else {})}  # the rows lie alike
    if None in spec.values():
        return "", ""
    try:
        stored = storage(spec, bits, str(spec.get("inner", "K")))
    except LayoutError:
        return "", ""
    per_chunk, inner_k = 128 // bits, spec.get("inner", "K") == "K"
    lines, chunks = np.arange(min(box[1], ROWS))[:, None], np.arange(min(box[0] // per_chunk, 8))[None, :]
    at = (lines, chunks * per_chunk) if inner_k else (chunks * per_chunk, lines)
    offsets = np.asarray(stored.address(*at)) - stored.base
    if not offsets.size:
        return "", ""
    return "Byte offset of each 16-byte chunk of the box's first rows", _format_cells(
        [[f"{int(number):#x}" for number in row] for row in np.broadcast_to(offsets, (lines.size, chunks.size))]
    )


def _format_cells(cells: Sequence[Sequence[str]]) -> str:
    """Return rows of text with their numbers, in columns of one width."""
    if not cells:
        return ""
    width = max(3, *(len(text) for row in cells for text in row))
    head = " " * 5 + " ".join(str(col).rjust(width) for col in range(len(cells[0])))
    return "\n".join([head, *(f"{n:4} " + " ".join(text.rjust(width) for text in row) for n, row in enumerate(cells))])
