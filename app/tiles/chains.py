"""The accumulator of one TiledMMA as A of the next: verdict, registers and picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np

from lanescope.app.kit.fact import Json
from lanescope.app.kit.find_field import FindField, FindMatrix, HeldCell
from lanescope.app.kit.maps.bench import CellHolders
from lanescope.app.kit.question import declare_question, number_field, options_of, text_field
from lanescope.app.kit.sheets import PinSheet, SheetGrid, SheetLayer, SheetPage, SheetWords, point_at_sheets
from lanescope.app.tiles import draw, facts, forms, questions
from lanescope.app.tiles.facts import ChainedFacts
from lanescope.inputs import parse_integer
from lanescope.render.figure import LEFT, FigurePanel, PanelFigure
from lanescope.render.palette import MOVED, REORDERED, RIGHT, STATUSES
from lanescope.render.statuses import render_status_legend
from lanescope.render.svg import render_svg
from lanescope.tiles.mma import TiledMMA, TileOperand

PATH = "/tiles/mma/chain"


@declare_question
class ChainForm:
    """The form of the page: N of the first tile is K of the second."""

    first: str = text_field("SM80_16x8x16_F32F16F16F32_TN", "First atom", "", size=34)
    second: str = text_field("", "Second atom", "", size=34, placeholder="the same")
    atom_layout: str = text_field(
        "(4,1,1)",
        "Atom layout (M, N, K)",
        "",
        size=10,
        placeholder="(1,1,1)",
        covers=("first.atom_layout", "second.atom_layout"),
    )
    tile: str = text_field("64x128x64", "First tile (M, N, K)", "", size=12, covers=("first.tile",))
    width: str = text_field("64", "Second N", "", size=6, covers=("second.tile",))
    row: int = number_field(0, "Rows drawn", "")
    col: int = number_field(0, "Columns drawn", "")


WINDOW = {"row": 16, "col": 16}  # rows and columns of the picture
FIELDS = {name: option.default for name, option in options_of(ChainForm).items() if name not in WINDOW}
PRESETS = {
    "FlashAttention-2, head dimension 64": FIELDS,
    "FlashAttention-2, 128 rows": {**FIELDS, "tile": "128x128x64"},
    "FlashAttention-3, bf16": {
        "first": "SM90_64x128x16_F32BF16BF16_SS",
        "second": "SM90_64x128x16_F32BF16BF16_RS",
        "atom_layout": "(2,1,1)",
        "tile": "128x128x128",
        "width": "128",
    },
    "FlashAttention-3, fp8": {
        "first": "SM90_64x128x32_F32E4M3E4M3_SS_TN",
        "second": "SM90_64x128x32_F32E4M3E4M3_RS_TN",
        "atom_layout": "(2,1,1)",
        "tile": "128x128x128",
        "width": "128",
    },
    "Warps along N": {**FIELDS, "atom_layout": "(2,2,1)"},
}
TITLES = {
    "same": "C is A: the same registers",
    "reordered": "C is A after renaming registers",
    "in_warp": "Lanes of a warp exchange elements",
    "across_warps": "Elements cross warps",
}
LISTED = 32  # values of the table


def build_body(fields: Mapping[str, str]) -> Json:
    """Return the body of POST /api/v1/tiles/mma/chain: N of the first tile is K of the second."""
    first: Json = {"atom": fields["first"]}
    second: Json = {"atom": fields["second"] or fields["first"]}
    if fields["atom_layout"]:
        first["atom_layout"] = second["atom_layout"] = fields["atom_layout"]
    if fields["tile"]:
        first["tile"] = questions.parse_sizes(fields["tile"])
        m, n = (*first["tile"], "", "")[:2]
        second["tile"] = [m, fields["width"] or n, n]
    return {"first": first, "second": second}


def build_context(fields: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables; LayoutError if a field does not fit. query: the address with its pins."""
    body = build_body(fields)
    first, second = (questions.parse_mma(body[name], name) for name in ("first", "second"))
    found = facts.build_chain(questions.TiledChainBody(first=first, second=second))
    holders = draw.list_first_holders(first.c), draw.list_first_holders(second.a)
    # any element may be pinned; the first pin selects what is drawn
    pins, _ = make_sheet_page((), *holders).parse_pins(query)
    corner = choose_corner(first.c, query, pins)
    panels = place_panels(first, second, corner)
    sheets = make_sheet_page(panels, *holders)
    pinned = sheets.build_context(query)
    return {
        **pinned,
        "found": found,
        "title": "C is A once K is reordered" if found.k_order is not None else TITLES[found.verdict],
        "good": found.verdict in ("same", "reordered"),
        "svg": sheets.ring(draw_panels(panels), SELECTOR, pinned["pins"]),
        "windows": list_windows(first.c),
        "corner": dict(zip(WINDOW, map(str, corner), strict=True)),
        "moves": list_moves(first, second, found),
        "k_order": ", ".join(map(str, (found.k_order or [])[:LISTED])),
        "listed": LISTED,
        "code": render_code(found, second),
        "first": first,
        "second": second,
        "benches": [link_bench(body[name]) for name in ("first", "second")],
    }


def draw_inline(query: Mapping[str, str]) -> str:
    """Return the picture of an address in the page's colours, for the guide."""
    body = build_body(parse_form(query))
    first, second = (questions.parse_mma(body[name], name) for name in ("first", "second"))
    panels = place_panels(first, second, choose_corner(first.c, query, ()))
    holders = draw.list_first_holders(first.c), draw.list_first_holders(second.a)
    return point_at_sheets(draw_panels(panels), make_sheet_page(panels, *holders).sheets, "thread")


def choose_corner(c: TileOperand, query: Mapping[str, str], pins: Sequence[str]) -> tuple[int, int]:
    """Return the first row and column of the picture: from the address, or around the first pin."""
    at = dict(zip(WINDOW, map(int, pins[0].partition(":")[2].split(",")), strict=True)) if pins else {}
    corner = []
    for (name, size), count in zip(WINDOW.items(), (c.row_count, c.col_count), strict=True):
        chosen = query.get(name) and not query.get("find")
        first = min(parse_integer(query[name], name), count - 1) if chosen else at.get(name, 0)
        corner.append(first // size * size)
    return corner[0], corner[1]


def list_windows(c: TileOperand) -> dict[str, dict[str, str]]:
    """Return the parts of each axis that the picture can show: first → text. Omit an axis that is shown in full."""
    return {
        name: {str(n): f"{n}–{min(n + size, count) - 1} of {count}" for n in range(0, count, size)}
        for (name, size), count in zip(WINDOW.items(), (c.row_count, c.col_count), strict=True)
        if count > size
    }


def link_bench(body: Json) -> str:
    """Link to one of the two TiledMMAs."""
    query = {**body, "tile": "x".join(body["tile"])} if "tile" in body else body
    return f"/tiles/mma?{urlencode(query, safe='(),:')}"


def link_chain(fields: Mapping[str, str]) -> str:
    """Link to the page with these fields."""
    return f"{PATH}?{urlencode({k: v for k, v in fields.items() if v}, safe='(),:')}"


def list_moves(first: TiledMMA, second: TiledMMA, chain: ChainedFacts) -> list[tuple[str, str, str, str]]:
    """Return (value of A, its element, holder of that element in C, value of C) of thread 0."""
    a, c = second.a, first.c
    holders = draw.list_first_holders(c)
    rows = []
    for value in range(min(a.values, LISTED)):
        row, col = int(a.rows[0, value]), int(a.cols[0, value])
        thread, at = int(holders.thread[row, col]), int(holders.value[row, col])
        rows.append(
            (f"A{value}", f"({row},{col})", "the same" if thread == a.thread_ids[0] else f"thread {thread}", f"C{at}")
        )
    return rows


def place_panels(first: TiledMMA, second: TiledMMA, corner: tuple[int, int]) -> tuple[FigurePanel, ...]:
    """Place the rows and columns of C and A from a corner on: each element's holder, and whether it must move."""
    c, a = first.c, second.a
    top, left = corner
    high, wide = min(WINDOW["row"], c.row_count - top), min(WINDOW["col"], c.col_count - left)
    part = "" if (high, wide) == (c.row_count, c.col_count) else f" (part of {c.row_count} × {c.col_count})"
    holders, wanted = draw.list_first_holders(c), draw.list_first_holders(a)
    stays = holders.thread == wanted.thread
    status = np.where(stays, np.where(holders.value == wanted.value, RIGHT, REORDERED), MOVED).astype(np.int32)
    width = 42.0
    beside = LEFT + wide * width + 2 * LEFT
    return tuple(
        FigurePanel(
            name,
            title,
            rows=high,
            cols=wide,
            x=x,
            cell_width=width,
            cell_height=17.0,
            row0=top,
            col0=left,
            texts=draw.format_cells(made, op, (range(top, top + high), range(left, left + wide))),
            category=None if what is not None else np.full(status.shape, -1, dtype=np.int32),
            of=1,
            status=what,
        )
        for name, title, x, made, op, what in (
            ("c", f"C of the first{part}: thread : value", LEFT, first, c, None),
            ("a", f"A of the second{part}", beside, second, a, status[top : top + high, left : left + wide]),
        )
    )


def draw_panels(panels: tuple[FigurePanel, ...]) -> str:
    """Draw both panels, with the legend of their signs."""
    last = panels[-1]
    assert last.status is not None
    figure = PanelFigure(last.x + last.width + 8, last.y + last.height + 8, panels)
    texts = {
        "right": "the same thread and value",
        "reordered": "the same thread, another value",
        "moved": "another thread holds it",
    }
    drawing = render_svg(figure, title="C of the first product beside A of the second", palette=None, labels_up_to=4096)
    words = {STATUSES[n].name: texts[STATUSES[n].name] for n in (RIGHT, MOVED, REORDERED)}
    return drawing + render_status_legend(last.status, words)


def render_code(chain: ChainedFacts, second: TiledMMA) -> str:
    """Return the CuTe code between the two products."""
    m, _, k = second.tile
    if chain.verdict == "same":
        return (
            "// rP: the accumulator of the first product, converted to A's type\n"
            "auto layout = make_layout(partition_shape_A(tiled_mma_2,"
            f" make_shape(Int<{m}>{{}}, Int<{k}>{{}})));\n"
            "Tensor tCrA = make_tensor(rP.data(), layout);  // the same registers, nothing moves\n"
        )
    if chain.verdict == "reordered":
        listed = ", ".join(map(str, chain.order or []))
        return (
            f"// A value i of every thread is C value order[i]\nconstexpr int order[{len(chain.order or [])}] ="
            f" {{{listed}}};\nfor (int i = 0; i < size(tCrA); ++i) tCrA(i) = rP(order[i]);  // unrolled: renames\n"
        )
    if chain.k_order is not None:
        listed = ", ".join(map(str, chain.k_order))
        return (
            f"// A's column k takes C's column order[k]; load row order[k] of B as its row k\n"
            f"constexpr int order[{len(chain.k_order)}] = {{{listed}}};\n"
        )
    return ""


def parse_form(query: Mapping[str, str]) -> dict[str, str]:
    """Return the form's fields."""
    return forms.parse_fields(query, FIELDS)


# texts of the cells ---------------------------------------------------------------------------------------------------


EXAMPLE = "C(5,9), T13, T13:2"
SELECTOR = ".chained > svg"
WORDS = SheetWords(
    nothing="Which element?",
    invitation=f"Click a cell, or type one: {EXAMPLE}. Shift and a click pin a second one.",
    together="C has both in the same thread.",
    apart="C has them in different threads.",
)


def make_sheet_page(panels: tuple[FigurePanel, ...], c: CellHolders, a: CellHolders) -> SheetPage:
    """Return the sheet of all elements, which the panels of C and A share."""
    high, wide = c.thread.shape
    numbers = {"thread": c.thread, "value": c.value, "wanted": a.thread, "place": a.value}
    arrays = {name: array.astype(np.int64) for name, array in numbers.items()}
    line = "`C({row},{col})` is in `thread {thread}`, value `{value}`; A needs it in `thread {wanted}`, value `{place}`"
    sheet = PinSheet("c", "C", high, wide, (SheetLayer(line, arrays),), tuple(map(_make_grid, panels)), group="thread")
    return SheetPage((sheet,), WORDS, EXAMPLE, lambda text: find_pins(sheet, text))


def _make_grid(panel: FigurePanel) -> SheetGrid:
    wide, high, row, col = panel.cell_width, panel.cell_height, panel.row0, panel.col0
    return SheetGrid(SELECTOR, panel.x - col * wide, panel.y - row * high, wide, high, row, col, panel.rows, panel.cols)


def find_pins(sheet: PinSheet, text: str) -> list[str]:
    """Return the pins of the elements that a text names (a thread: its first value). LayoutError names the legal
    range.
    """
    threads = range(int(sheet.layers[0].numbers["thread"].max()) + 1)
    matrices = dict.fromkeys("acd", FindMatrix(sheet.name, sheet.title, sheet.rows, sheet.cols))
    field = FindField(matrices, EXAMPLE, threads, list_cells=partial(_list_held, sheet))
    places = [
        replace(place, value=place.value or 0) if place.thread is not None and place.register is None else place
        for place in field.parse_places(text)
    ]
    return list(field.find_pins(places).values())


def _list_held(sheet: PinSheet, thread: int) -> list[HeldCell]:
    """Return a thread's values of C."""
    numbers = sheet.layers[0].numbers
    cells = [(int(numbers["value"][row, col]), row, col) for row, col in np.argwhere(numbers["thread"] == thread)]
    return [HeldCell(sheet.name, "C", value, value, int(row), int(col)) for value, row, col in sorted(cells)]
