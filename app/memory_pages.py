"""Pages of shared memory: the tile explorer and the descriptor editor. Everything works by links and forms; scripts make it quick."""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from app import memory
from app.resources import templates
from app.wire import Body, dumps
from layouts import descriptor as desc
from layouts.descriptor import Descriptor
from layouts.errors import LayoutError
from layouts.palette import PALETTES, Palette
from layouts.render.svg import svg
from layouts.tiling import Tile
from layouts.verify import Verdict
from layouts.view import Figure, Panel

router = APIRouter(include_in_schema=False)
DEFAULT_WORD = "0x4000004000010100"
# The storage of the verifier's form: query name → default. `kind` chooses which of them are read.
STORAGE = {
    "kind": "canonical", "swizzle": "128B", "mn": "64", "k": "64", "order": "mn", "base": "0x1000", "inner": "K", "pitch_bytes": "128",
    "width_bytes": "128", "outer8_stride": "1024", "inner_stride": "8192", "line_stride": "128", "swizzle_by": "address",
    "layout": "Sw<3,3,3> o ((8,8),(64,1)):((64,512),(1,0))", "unit": "elements",
}  # fmt: skip
USED = {
    "canonical": ("swizzle", "mn", "k", "order", "base"),
    "atoms": ("inner", "width_bytes", "outer8_stride", "inner_stride", "line_stride", "swizzle", "swizzle_by", "base"),
    "rows": ("inner", "pitch_bytes", "swizzle", "swizzle_by", "base"),
    "cute": ("layout", "unit", "base"),
}
VIEW = {"instruction": memory.FIXED, "operand": "a", "major": "K", "slice_mn": "0", "slice_k": "0"}


# the tile explorer ----------------------------------------------------------------------------------------------------------


@router.get("/smem")
async def smem(request: Request) -> Response:
    """A tile in shared memory: logical and memory picture, strides, CuTe, steps."""
    given = {name: request.query_params.get(name, "") or default for name, default in memory.TILE_FIELDS.items()}
    context: dict[str, Any] = {"given": given, "error": None, "query": urlencode({k: v for k, v in given.items() if v})}
    try:
        tile, rows = memory.tile_of(given)
    except LayoutError as error:
        context["error"] = error
        tile, rows = memory.tile_of({})
    facts = memory.tile_facts(tile, rows)
    plain = request.query_params.get("plain") == "1"
    figure, extra = tile_figure(tile, plain)
    context |= {
        "tile": tile,
        "facts": facts,
        "plain": plain,
        "svg": svg(
            figure, title="tile and memory", palette=None, labels_up_to=1100, extra=extra + "".join(_marker(p) for p in figure.panels)
        ),
        "data": dumps(
            memory.chunk_views(tile)
            | {"panels": _places(figure), "base": tile.base, "chunks": tile.mode.chunks, "per": tile.per, "major": tile.major}
        ).decode(),
        "units": [
            ("16-byte chunks", facts["cute"]["chunks"]),
            ("elements", facts["cute"]["elements"]),
            ("bytes", facts["cute"]["bytes"]),
            ("bits", facts["cute"]["bits"]),
        ],
    }
    return templates.TemplateResponse(request, "smem.html", context, 422 if context["error"] else 200)


@router.get("/smem.{form}")
async def smem_form(request: Request, form: str) -> Response:
    """The same as a picture or JSON: stable addresses for documents."""
    options = dict(request.query_params)
    palette = _theme(options.pop("theme", "light"))
    tile, rows = memory.tile_of(options)
    if form == "json":
        return Body(dumps(memory.tile_facts(tile, rows)), "application/json").respond(request)
    if form != "svg":
        raise LayoutError("not_found", f"No form '{form[:20]}' of a tile.", "Allowed: svg, json.", "form")
    figure, extra = tile_figure(tile, options.get("plain") == "1", palette.ink)
    title = f"{tile.mn}×{tile.k} {tile.element_bits}-bit {tile.major}-major, swizzle {tile.mode.name}"
    return Body(svg(figure, title=title, palette=palette, extra=extra).encode(), "image/svg+xml").respond(request)


def _theme(name: str) -> Palette:
    if name not in PALETTES:
        raise LayoutError("bad_option", f"No theme '{name[:20]}'.", f"Allowed: {', '.join(PALETTES)}.", "theme")
    return PALETTES[name]


def tile_figure(tile: Tile, plain: bool = False, ink: str = "var(--trace)") -> tuple[Figure, str]:
    """Left the tile, a cell a 16-byte chunk; right memory, a line 128 bytes; and the two strides as arrows."""
    views = memory.chunk_views(tile)
    place = np.asarray(views["before" if plain else "after"])
    lines, across, high = views["lines"], views["across"], views["memory_lines"]
    column = np.tile(np.arange(across) % 8, lines)
    logical = column.reshape(lines, across).astype(np.int32)
    held = np.full(high * 8, -1)
    held[place] = np.arange(len(place))
    colours = np.where(held >= 0, column[np.clip(held, 0, None)], 7).reshape(high, 8).astype(np.int32)
    width = min(34.0, 500 / across)
    height = min(19.0, max(3.0, 620 / max(lines, high)))
    numbers = np.arange(lines * across).reshape(lines, across)
    texts = [[str(n) for n in line] for line in numbers.tolist()]
    memory_texts = [[str(n) if n >= 0 else "" for n in line] for line in held.reshape(high, 8).tolist()]
    way = "row × K" if tile.major == "K" else "k × MN"
    first = Panel("logical", f"tile: {way}, a cell 16 bytes", lines, across, 34.0, 36.0, width, height, None, logical, texts)
    x = 34 + max(across * width, 170) + 70
    second = Panel(
        "memory",
        f"memory{' before swizzle' if plain else ''}: a line 128 bytes, 4 banks a cell",
        high,
        8,
        x,
        36.0,
        34.0,
        height,
        None,
        colours,
        memory_texts,
    )
    figure = Figure(x + 8 * 34 + 110, 36 + max(lines, high) * height + 10, (first, second))
    return figure, _atom(tile, first, second, ink) + _arrows(tile, second, ink)


def _atom(tile: Tile, logical: Panel, stored: Panel, ink: str) -> str:
    """The first atom outlined in both pictures."""
    out = []
    for panel, cols, rows in ((logical, tile.mode.chunks, 8), (stored, 8, tile.mode.chunks)):
        width, height = min(cols, panel.cols) * panel.cell_width, min(rows, panel.rows) * panel.cell_height
        out.append(
            f'<rect x="{panel.x:.2f}" y="{panel.y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="none" stroke="{ink}" stroke-width="2"/>'
        )
    return "".join(out)


def _arrows(tile: Tile, panel: Panel, ink: str) -> str:
    """LBO and SBO from core matrix (0,0) to its neighbours, in memory."""
    lbo, sbo = tile.lbo_sbo()
    used = dict(zip(("LBO", "SBO"), tile.used(min(tile.mn, 64)), strict=True))
    out = []
    for number, (name, stride) in enumerate((("LBO", lbo), ("SBO", sbo))):
        if not used[name] or stride >= tile.bytes:
            continue
        end = panel.y + (stride // 128 + 0.5) * panel.cell_height
        start = panel.y + 0.5 * panel.cell_height
        x = panel.x + panel.width + 14 + 46 * number
        out.append(
            f'<g stroke="{ink}" fill="none" stroke-width="1.6" data-stride="{name.lower()}"><path d="M{x - 10:.1f} {start:.1f}h10V{end:.1f}h-10"/>'
            f'<path d="M{x - 5:.1f} {end - 4:.1f}l-6 4 6 4"/></g>'
            f'<text x="{x + 3:.1f}" y="{(start + end) / 2 - 2 + 12 * number:.1f}" font-size="10" fill="{ink}">{name}<tspan x="{x + 3:.1f}" dy="11">{stride} B</tspan></text>'
        )
    return "".join(out)


def _marker(panel: Panel) -> str:
    return f'<rect id="mark-{panel.name}" width="{panel.cell_width:.2f}" height="{panel.cell_height:.2f}" fill="none" stroke="var(--ink)" stroke-width="2.5" visibility="hidden"/>'


def _places(figure: Figure) -> list[dict[str, Any]]:
    return [
        {"name": p.name, "rows": p.rows, "cols": p.cols, "x": p.x, "y": p.y, "cell_width": p.cell_width, "cell_height": p.cell_height}
        for p in figure.panels
    ]


# the descriptor editor ------------------------------------------------------------------------------------------------------


@router.get("/descriptor")
@router.get("/descriptor/wgmma")
async def descriptor_entry(request: Request) -> Response:
    """From a form: a word, or its fields, to the page of that descriptor."""
    query = dict(request.query_params)
    word = query.pop("word", "").strip()
    amounts = {name: query.pop(name) for name in ("start_address", "lbo_bytes", "sbo_bytes", "base_offset", "swizzle") if name in query}
    text = word or DEFAULT_WORD
    if amounts and not word:
        text = memory.encode(amounts)["descriptor"]
    try:
        text = str(memory.parse_descriptor(text))
    except LayoutError as error:
        context = page_context(Descriptor(memory.parse_word(DEFAULT_WORD)), query) | {"word_error": error, "typed": text}
        return templates.TemplateResponse(request, "descriptor.html", context, 422)
    return RedirectResponse(f"/descriptor/wgmma/{text}" + (f"?{urlencode(query)}" if query else ""), 303)


@router.get("/descriptor/wgmma/{word:path}")
async def descriptor_page(request: Request, word: str) -> Response:
    """The editor and verifier of one descriptor; .json and .svg give those forms."""
    query = dict(request.query_params)
    stem, dot, form = word.rpartition(".")
    if dot and form in ("json", "svg"):
        descriptor = memory.parse_descriptor(stem)
        if form == "json":
            return Body(dumps(memory.descriptor_facts(descriptor)), "application/json").respond(request)
        return Body(bits_svg(descriptor, _theme(query.get("theme", "light"))).encode(), "image/svg+xml").respond(request)
    try:
        descriptor = memory.parse_descriptor(word)
    except LayoutError as error:
        context = page_context(Descriptor(memory.parse_word(DEFAULT_WORD)), query) | {"word_error": error, "typed": word}
        return templates.TemplateResponse(request, "descriptor.html", context, 422)
    context = page_context(descriptor, query)
    context["no_gpu"] = request.app.state.hardware.reason
    part = query.get("part") == "analysis"
    return templates.TemplateResponse(request, "analysis.html" if part else "descriptor.html", context)


def page_context(descriptor: Descriptor, query: dict[str, str]) -> dict[str, Any]:
    """Everything the editor shows: fields, warnings, and the verification the query asks for."""
    view = {name: query.get(name, default) for name, default in VIEW.items()}
    spec = {name: query.get(f"s_{name}", default) for name, default in STORAGE.items()}
    context: dict[str, Any] = {
        "descriptor": descriptor,
        "facts": memory.descriptor_facts(descriptor),
        "bits": [[descriptor.word >> n & 1, field_at(n)] for n in range(63, -1, -1)],
        "view": view,
        "storage": spec,
        "used": USED,
        "word_error": None,
        "typed": str(descriptor),
        "query": urlencode({k: v for k, v in query.items() if k != "part"}),
        "fields_data": dumps([{"name": f.name, "low": f.low, "high": f.high, "unit": f.unit} for f in desc.FIELDS]).decode(),
        "error": None,
        "compare": None,
    }
    request = {
        "descriptor": str(descriptor),
        **{name: view[name] for name in ("instruction", "operand", "major")},
        "storage": {"kind": spec["kind"], "major": view["major"], **{name: spec[name] for name in USED.get(spec["kind"], ())}},
        "slice": {"mn": view["slice_mn"], "k": view["slice_k"]},
    }
    try:
        result, seen, _ = memory.verdict_of(request)
        context |= {"result": result, "seen": seen, "unused": desc.inert(descriptor, seen), "pictures": verdict_svg(result)}
        context["command"] = _command(request)
        context["ways"] = desc.bank_ways(result.read, seen)
        tile = _tile(request)
        at_mn, at_k = int(view["slice_mn"], 0), int(view["slice_k"], 0)
        context["canonical"] = _slice(tile, at_mn, at_k, seen.k)
        step = seen.k if tile else 0
        context["next_query"] = urlencode({**{k: v for k, v in query.items() if k != "part"}, "slice_k": at_k + step})
        context["next"] = {"k": at_k + step, "word": _slice(tile, at_mn, at_k + step, seen.k)} if tile else None
    except LayoutError as error:
        context |= {"error": error, "unused": {}}
    if query.get("compare"):
        try:
            other = memory.parse_descriptor(query["compare"])
            context["compare"] = {
                "word": str(other),
                "facts": memory.descriptor_facts(other),
                "differ": {f.name for f in desc.FIELDS if f.get(other.word) != f.get(descriptor.word)},
            }
        except LayoutError as error:
            context["compare_error"] = error
    return context


def _tile(request: dict[str, Any]) -> Tile | None:
    """The canonical tile of a request, None for another storage."""
    _, seen = memory.seen_by(request)
    return memory.storage(request["storage"], seen.bits, seen.major).tile


def _slice(tile: Tile | None, mn: int, k: int, reach: int) -> str | None:
    """The descriptor of a slice, None where none can begin there."""
    try:
        return str(tile.descriptor(mn, k, reach)) if tile else None
    except LayoutError:
        return None


def _command(request: dict[str, Any]) -> str:
    """The same verification in a shell."""
    spec = " ".join(f"--storage '{name}={value}'" for name, value in request["storage"].items())
    part = "".join(f" --slice-{name} {value}" for name, value in request["slice"].items() if str(value) != "0")
    return f"lanescope descriptor verify {request['descriptor']} --instruction {request['instruction']} --operand {request['operand']} --major {request['major']} {spec}{part}"


def field_at(bit: int) -> str:
    """The field a bit belongs to, "" for a reserved one."""
    return next((f.name for f in desc.FIELDS if f.low <= bit <= f.high), "")


MOST_LINES = 300


def verdict_svg(result: Verdict) -> str:
    """Logical: right and wrong elements. Memory: what is read, what was stored, both."""
    wrong = (result.read != result.expected).astype(np.int32)
    rows, k = wrong.shape
    height = min(9.0, max(2.6, 560 / rows))
    logical = Panel(
        "logical", f"row × k: {result.matched} of {result.total} right", rows, k, 34.0, 36.0, min(14.0, 300 / k), height, None, wrong * 2
    )
    read, stored = (np.unique(array >> 4) for array in (result.read, result.expected))
    low = min(int(read.min()), int(stored.min())) // 8 * 8
    high = max(int(read.max()), int(stored.max())) // 8 + 1
    lines = min(high - low // 8, MOST_LINES)
    state = np.zeros(lines * 8, dtype=np.int32)
    for chunks, value in ((read, 1), (stored, 2)):
        inside = chunks[chunks - low < lines * 8] - low
        state[inside] += value
    colour = np.array([2, 1, 3, 0], dtype=np.int32)[state]  # untouched, read only, stored only, both
    text = np.array(["", "R", "S", "●"])[state].reshape(lines, 8).tolist()
    note = f", first {lines} lines" if lines < high - low // 8 else ""
    x = 34 + max(k * logical.cell_width, 170.0) + 80
    tall = min(14.0, max(3.0, 560 / lines))
    shared = Panel(
        "memory",
        f"memory from {low * 16:#x}{note}: ● read and stored, R read, S stored",
        lines,
        8,
        x,
        36.0,
        30.0,
        tall,
        None,
        colour.reshape(lines, 8),
        text,
    )
    figure = Figure(x + 8 * 30 + 190, 36 + max(rows * height, lines * tall) + 8, (logical, shared))
    return svg(figure, title="what is read and what was stored", palette=None, labels_up_to=3000)


def bits_svg(descriptor: Descriptor, palette: Palette) -> str:
    """The 64 bits in two rows with their fields, for documents."""
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 190" width="780" height="190" role="img" font-family="\'DejaVu Sans Mono\', ui-monospace, monospace">',
        f"<title>wgmma matrix descriptor {descriptor}</title>",
        f'<rect width="780" height="190" fill="{palette.paper}"/>',
        f'<text x="10" y="18" font-size="13" fill="{palette.muted}">{descriptor}</text>',
    ]
    fills = {f.name: palette.fills[n] for n, f in enumerate(desc.FIELDS)}
    for bit in range(63, -1, -1):
        row, col = divmod(63 - bit, 32)
        x, y, name = 10 + col * 23.7, 42 + row * 74, field_at(bit)
        out.append(f'<text x="{x + 11:.1f}" y="{y - 4}" font-size="8" text-anchor="middle" fill="{palette.muted}">{bit}</text>')
        out.append(
            f'<rect x="{x:.1f}" y="{y}" width="23.7" height="24" fill="{fills.get(name, palette.paper)}" stroke="{palette.line}" stroke-width=".6"/>'
        )
        out.append(
            f'<text x="{x + 11.8:.1f}" y="{y + 16}" font-size="12" text-anchor="middle" fill="{palette.ink}">{descriptor.word >> bit & 1}</text>'
        )
    amounts = {"start_address": f"{descriptor.start_address} B", "lbo": f"{descriptor.lbo_bytes} B", "sbo": f"{descriptor.sbo_bytes} B",
               "base_offset": str(descriptor.base_offset), "swizzle": descriptor.mode.name}  # fmt: skip
    for field in desc.FIELDS:
        row, col = divmod(63 - field.high, 32)
        short = {"base_offset": "base", "swizzle": "swz", "start_address": "start"}.get(field.name, field.name.upper())
        out.append(
            f'<text x="{10 + col * 23.7:.1f}" y="{42 + row * 74 + 40}" font-size="11" fill="{palette.muted}">{escape(short)} {escape(amounts[field.name])}</text>'
        )
    return "\n".join([*out, "</svg>\n"])
