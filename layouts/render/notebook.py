"""Notebook representations of the engine's objects: one painter per class (called by layouts/notebook.py).

Each imports the drawing code on its first use, which keeps the package's import fast.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanescope.cute.layout import CuteLayout
    from lanescope.descriptor.matrix import Descriptor
    from lanescope.descriptor.verify import Verdict
    from lanescope.ptx.instruction import Instruction, Operand
    from lanescope.render.sheet import TileSheet
    from lanescope.shared.banks import Cost
    from lanescope.shared.chain import Chain
    from lanescope.shared.tiling import Tile
    from lanescope.tiles.convert import Conversion
    from lanescope.tiles.copy import TiledCopy

MOST_CELLS = 1 << 12  # of a CuTe layout
WAYS = {
    "same": "nothing moves",
    "registers": "registers are renamed",
    "warp": "lanes of a warp exchange elements",
    "shared": "through shared memory",
    "cluster": "through shared memory of other blocks",
}


def format_operand_title(operand: Operand) -> str:
    return f"{operand.name.upper()}, {operand.row_count} × {operand.col_count}: {operand.pattern}"


def _paint_operand(operand: Operand) -> str:
    from lanescope.render.diagram import DiagramStyle, render_diagram
    from lanescope.render.figure import make_operand_figure

    title = format_operand_title(operand)
    return render_diagram(make_operand_figure(operand), DiagramStyle(legend=True), title, title)


def _paint_instruction(instruction: Instruction) -> str | None:
    """Return the SVG of an instruction; None for a tcgen05.mma without its instruction descriptor."""
    from lanescope.render.diagram import DiagramStyle, render_diagram
    from lanescope.render.figure import make_figure

    return (
        render_diagram(make_figure(instruction), DiagramStyle(legend=True), instruction.ptx, instruction.ptx)
        if instruction.operands
        else None
    )


def make_index_sheet(layout: CuteLayout) -> TileSheet:
    """Return the index of every coordinate: mode 0 down, the others across; a single mode as a row."""
    from lanescope.render.sheet import TileSheet

    rows = layout.modes[0].size if layout.rank > 1 else 1
    cells = layout.list_indices().reshape(-1, rows).T
    return TileSheet(rows, cells.shape[1], place=cells, groups=cells, grouped="index")


def _paint_layout(layout: CuteLayout) -> str | None:
    if not 0 < layout.size <= MOST_CELLS:
        return None
    from lanescope.render.palette import LIGHT
    from lanescope.render.sheet import draw_sheets

    return draw_sheets([(make_index_sheet(layout), "index", str(layout))], str(layout), LIGHT)


def make_offset_sheet(tile: Tile) -> tuple[TileSheet, str]:
    """Return each element's place in memory, M or N down and K across, and a title."""
    from lanescope.render.sheet import DrawingPlane, make_memory_sheet

    title = (
        f"{tile.mn} × {tile.k}, {tile.element_bits}-bit, {tile.major}-major, swizzle {tile.mode.name}: offset in"
        " elements"
    )
    offsets = tile.compute_offsets() * 8 // tile.element_bits
    return make_memory_sheet(offsets, DrawingPlane.make_plane((tile.mn, tile.k)), tile.element_bits), title


def _paint_tile(tile: Tile) -> str:
    from lanescope.render.palette import LIGHT
    from lanescope.render.sheet import draw_sheets

    sheet, title = make_offset_sheet(tile)
    return draw_sheets([(sheet, "bank", title)], title, LIGHT)


def _paint_descriptor(descriptor: Descriptor) -> str:
    from lanescope.render.descriptor_bits import render_descriptor_bits
    from lanescope.render.palette import LIGHT

    return render_descriptor_bits(descriptor, LIGHT)


def _paint_copy(copy: TiledCopy) -> str:
    sides = "".join(f"<td valign='top'>{side._repr_svg_()}</td>" for side in (copy.source, copy.destination))
    return f"<table><tr><th>Source</th><th>Destination</th></tr><tr>{sides}</tr></table>"


def _render_verdict(good: bool, head: str, *lines: str) -> str:
    """Return a verdict as HTML: its sign and sentence, then the detail lines."""
    from lanescope.render.palette import LIGHT

    colour = LIGHT.ok if good else LIGHT.bad
    text = "".join(f"<div>{line}</div>" for line in lines)
    return f"<div><b style='color:{colour}'>{'✓' if good else '✗'} {escape(head)}</b>{text}</div>"


def _paint_verdict(verdict: Verdict) -> str:
    lines = []
    if first := verdict.first_mismatch:
        lines.append(f"First: [{first.row},{first.k}] is at {first.expected:#x}, read from {first.read:#x}.")
    for cause in verdict.diagnoses:
        fix = f" Repair: <code>{cause.fix}</code>." if cause.fix else ""
        lines.append(f"{escape(cause.message)}{fix}")
    return _render_verdict(
        verdict.match,
        f"{'match' if verdict.match else 'mismatch'}: {verdict.matched} of {verdict.total} elements",
        *lines,
    )


def _paint_chain(chain: Chain) -> str:
    good = chain.matched == chain.total
    loads = f"{chain.load.instruction.ptx}, {chain.count} of them"
    return _render_verdict(
        good, f"{'match' if good else 'mismatch'}: {chain.matched} of {chain.total} elements", escape(loads)
    )


def _paint_cost(cost: Cost) -> str:
    good = cost.ways == 1
    sentence = "no bank conflicts" if good else f"{cost.ways}-way bank conflicts"
    return _render_verdict(
        good, f"{cost.access.name}: {sentence}", f"{cost.wavefronts} wavefronts, {cost.ideal} without conflicts."
    )


def _paint_conversion(conversion: Conversion) -> str:
    lines = [
        f"{conversion.in_thread} of {conversion.places} elements stay in their thread,"
        f" {conversion.in_warp} in their warp."
    ]
    if conversion.trip:
        costs = (
            f"{side.name}: {side.wavefronts} wavefronts, {side.ideal} without conflicts."
            for side in (conversion.trip.store, conversion.trip.load)
        )
        lines += costs
    return _render_verdict(conversion.way in ("same", "registers"), WAYS[conversion.way], *lines)


PAINTERS: dict[tuple[str, str], Callable[[Any], str | None]] = {  # (class, svg or html) → painter
    ("Operand", "svg"): _paint_operand,
    ("Instruction", "svg"): _paint_instruction,
    ("CuteLayout", "svg"): _paint_layout,
    ("Tile", "svg"): _paint_tile,
    ("Descriptor", "svg"): _paint_descriptor,
    ("TiledCopy", "html"): _paint_copy,
    ("Verdict", "html"): _paint_verdict,
    ("Chain", "html"): _paint_chain,
    ("Cost", "html"): _paint_cost,
    ("Conversion", "html"): _paint_conversion,
}
