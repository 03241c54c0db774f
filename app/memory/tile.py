"""What the tile page shows of a tile: its picture, its cells for the script, its steps, and the programs around it. No
framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from app.kernel import facts as programs
from app.kit import links
from app.kit.encode import dumps
from app.memory import facts as memory
from app.memory.options import LOOK
from app.memory.storage import ORDERS
from app.memory.tiles import LABELLED, LOOKS, look_of, tile_figure
from layouts import catalog
from layouts.descriptor import WGMMA
from layouts.errors import LayoutError
from layouts.render.svg import svg
from layouts.tiling import ELEMENT_BITS, Tile
from layouts.view import Figure, Panel


def context(query: Mapping[str, str]) -> dict[str, Any]:
    """What /smem shows for a query; a wrong option is told and the default tile, or the usual drawing, shown."""
    given = {name: query.get(name, "") or default for name, default in memory.TILE_FIELDS.items()}
    looks = {name: query.get(name, "") or default for name, (default, _) in LOOK.items()}
    asked = {k: v for k, v in given.items() if v} | {k: v for k, v in looks.items() if v != LOOK[k][0]}
    out: dict[str, Any] = {"given": given | looks, "error": None, "query": urlencode(asked)}
    try:
        tile, rows = memory.tile_of(given)
    except LayoutError as error:
        out |= {"error": error, "instead": "Below: the default tile."}
        tile, rows = memory.tile_of({})
    try:
        drawing = tile_figure(tile, look_of(looks), rows)
    except LayoutError as error:
        out |= {"error": out["error"] or error, "instead": "Below: drawn in the usual way."}
        drawing = tile_figure(tile, None, rows)
    facts = memory.tile_facts(tile, rows)
    figure = drawing.figure
    out |= {
        "tile": tile,
        "orders": ORDERS,
        "facts": facts,
        "looks": LOOKS,
        "wide": figure.width > 1100,
        "whole": whole(
            reader(tile, rows)[0], programs.with_tile(catalog.find(reader(tile, rows)[0]), reader(tile, rows)[1], tile)
        ),
        "element_bits": ELEMENT_BITS,
        "mode_code": WGMMA.codes[tile.mode],
        "steps": [(step, step_query(tile, rows, step.k)) for step in facts.k_steps],
        "svg": svg(
            figure,
            title="tile and memory",
            palette=None,
            labels_up_to=2 * LABELLED,
            extra=drawing.extra + "".join(marker(p) for p in figure.panels),
        ),
        "data": dumps(drawing.script() | {"panels": places(figure)}).decode(),
        "units": [
            ("16-byte chunks", facts.cute.chunks),
            ("elements", facts.cute.elements),
            ("bytes", facts.cute.bytes),
            ("bits", facts.cute.bits),
        ],
    }
    return out


READERS = {
    1: "wgmma.mma_async.m64n{}k256.s32.b1.b1.and.popc",
    8: "wgmma.mma_async.m64n{}k32.f32.e4m3.e4m3",
    16: "wgmma.mma_async.m64n{}k16.f32.f16.f16",
    32: "wgmma.mma_async.m64n{}k8.f32.tf32.tf32",
}


def reader(tile: Tile, rows: int) -> tuple[str, str]:
    """(instruction, operand) of these elements that reads `rows` rows of a tile."""
    if rows != 64:
        with suppress(LayoutError):  # where no instruction has so many rows, A's 64 stand for them
            return catalog.find(READERS[tile.element_bits].format(rows)).ptx, "b"
    return READERS[tile.element_bits].format(64), "a"


def whole(instruction: str, given: dict[str, str] | None) -> dict[str, str] | None:
    """Links to a whole product with these options: its program, and its run; None where there are none."""
    if given is None:
        return None
    found = catalog.find(instruction)
    return {"program": programs.address(found, given), "run": links.run(found, given)}


def product(request: dict[str, Any], tile: Tile | None, first: int, k: int) -> dict[str, str] | None:
    """Links to a whole product with the operand stored and the word given as a verification has them; None for a slice
    inside K.
    """
    found, operand, word = catalog.find(request["instruction"]), request["operand"].lower(), request["descriptor"]
    if k or (first and not tile):
        return None
    given = (
        programs.with_tile(found, operand, tile, first, word)
        if tile
        else programs.with_storage(found, operand, request["storage"], request["major"], word)
    )
    return whole(found.ptx, given)


def step_query(tile: Tile, rows: int, k: int) -> str:
    """The query under which the descriptor page verifies one K step: an instruction of these elements that reads `rows`
    rows.
    """
    instruction, operand = reader(tile, rows)
    asked = {
        "instruction": instruction,
        "operand": operand,
        "major": tile.major,
        "s_swizzle": tile.mode.name,
        "s_mn": tile.mn,
        "s_k": tile.k,
    }
    return urlencode(asked | {"s_order": tile.order, "s_base": tile.base, "slice_k": k})


def marker(panel: Panel) -> str:
    return (
        f'<rect id="mark-{panel.name}" width="{panel.cell_width:.2f}" height="{panel.cell_height:.2f}" fill="none"'
        ' stroke="var(--ink)" stroke-width="2.5" visibility="hidden"/>'
    )


def places(figure: Figure) -> list[dict[str, Any]]:
    return [
        {
            "name": p.name,
            "rows": p.rows,
            "cols": p.cols,
            "x": p.x,
            "y": p.y,
            "cell_width": p.cell_width,
            "cell_height": p.cell_height,
        }
        for p in figure.panels
    ]
