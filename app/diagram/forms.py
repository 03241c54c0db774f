"""Every form of a diagram, for stable addresses and the command line: svg, png, pdf, tex, txt, md, csv, json. No
framework.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.instruction import facts as about, state
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.picture import DrawingJob, limit_scale
from lanescope.app.kit.rings import draw_rings
from lanescope.app.kit.sheets import PINS
from lanescope.app.memory import descriptors, facts as memory, find
from lanescope.app.memory.options import LOOK
from lanescope.app.memory.tile_figure import TileLook, draw_pins, draw_tile, parse_look
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.inputs import parse_ranges, shorten_value
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.render import tables
from lanescope.render.descriptor_bits import render_descriptor_bits
from lanescope.render.diagram import WORDS, DiagramStyle, format_caption, render_diagram
from lanescope.render.figure import FigurePanel, PanelFigure, make_figure, make_operand_figure
from lanescope.render.palette import PALETTES, Palette
from lanescope.render.tikz import render_tikz
from lanescope.shared.tile_map import TileMap
from lanescope.shared.tiling import Tile

DEFAULTS = {"theme": "light", "lang": "en", "scale": "2"}
LONGEST_TITLE = 200
Picture = str | bytes | DrawingJob  # text, JSON, or an SVG that is still to be drawn as PNG or PDF
MOST_SPAN = 4096  # rows or columns of a window; drawing checks the operand's size


def render_instruction(
    form: str,
    instruction: Instruction,
    operand: Operand | None,
    query: Mapping[str, str],
) -> Picture:
    """Render a diagram of one operand, or of A, B and D as in a product."""
    style, page_state = check_options(form, instruction, query)
    figure = make_window_figure(form, instruction, operand, page_state.product, query)
    title = f"{operand.name.upper()} of {instruction.ptx}" if operand else instruction.ptx
    if form in ("txt", "md", "csv"):
        return _render_text(form, figure, style, title)
    if form == "json":
        facts = about.build_operand_map(instruction, operand) if operand else about.build_detail(instruction)
        return encode_json(facts)
    rings = draw_rings(figure.panels, _list_pinned(figure, page_state), style.palette)
    drawing = render_diagram(figure, style, title, describe_figure(instruction, figure), rings)
    return render_svg(form, drawing, query)


def make_window_figure(
    form: str, instruction: Instruction, operand: Operand | None, product: int, query: Mapping[str, str]
) -> PanelFigure:
    """Return the figure of an instruction, or of an operand or the window of it that a query asks for."""
    cell, rows, cols = _parse_cell(query), parse_span("rows", query), parse_span("cols", query)
    if operand:
        return make_operand_figure(operand, product, cell, rows, cols)
    if rows or cols:
        example = f"…/{next(iter(instruction.operands))}.{form}?rows=0-7"
        raise LayoutError("bad_option", "A window needs one operand.", example, "rows")
    return make_figure(instruction, product, cell)


def _list_pinned(figure: PanelFigure, page_state: state.PageState) -> Iterator[tuple[str, int, int]]:
    """Yield the cells of each pin: its element, or all that its thread holds."""
    for element, thread in map(state.split_pin, page_state.list_pins()):
        if element:
            yield element
        else:
            for panel in figure.panels:
                held = np.argwhere((panel.grid.thread == thread).any(axis=2)) if panel.grid else ()
                yield from ((panel.name, int(row), int(col)) for row, col in held)


def check_options(
    form: str, instruction: Instruction, query: Mapping[str, str]
) -> tuple[DiagramStyle, state.PageState]:
    """Return the style that a query asks for; LayoutError for an option that is unknown or not legal here, even if the
    form ignores it: JSON without a descriptor takes the options of the picture, which shows the usual one.
    """
    _check_known(form, query)
    parse_span("rows", query), parse_span("cols", query)
    return parse_style(state.bind_descriptor(instruction, query), query)


def describe_figure(instruction: Instruction, figure: PanelFigure) -> str:
    """Describe the picture in words: each operand's pattern."""
    patterns = [f"{p.name.upper()}: {p.grid.operand.pattern}" for p in figure.panels if p.grid]
    return f"{instruction.ptx}. " + "; ".join(patterns)


def parse_style(instruction: Instruction, query: Mapping[str, str]) -> tuple[DiagramStyle, state.PageState]:
    """Return the style that a query asks for; LayoutError for the first option that is not legal here."""
    options = {name: value for name, value in query.items() if name in state.PICTURED and value}
    page_state = state.parse_legal_state(instruction, options)
    threads = page_state.parse_threads()
    if query.get("warps"):
        spans = parse_ranges(query["warps"], "warps", instruction.threads // 32)
        of_warps = frozenset(thread for first, last in spans for thread in range(32 * first, 32 * (last + 1)))
        threads = of_warps if threads is None else threads & of_warps
    lang = query.get("lang") or DEFAULTS["lang"]
    if lang not in WORDS:
        raise LayoutError("bad_option", f"No language '{lang[:20]}'.", f"Allowed: {', '.join(WORDS)}.", "lang")
    style = DiagramStyle(
        page_state.colour,
        page_state.label,
        threads=threads,
        palette=get_palette(query),
        title=_parse_title(query),
        legend=_parse_flag("legend", query),
        caption=_parse_flag("caption", query),
        lang=lang,
    )
    return style, page_state


def get_palette(query: Mapping[str, str]) -> Palette:
    """Return the palette that a query names."""
    name = query.get("theme") or DEFAULTS["theme"]
    if name not in PALETTES:
        raise LayoutError(
            "bad_option", f"No theme '{catalog.shorten(name, 20)}'.", f"Allowed: {', '.join(PALETTES)}.", "theme"
        )
    return PALETTES[name]


def _check_known(form: str, query: Mapping[str, str], more: tuple[str, ...] = ()) -> None:
    check_picture_options(form, query, (*DIAGRAM, *state.PICTURED), more)
    _parse_cell(query)


def check_picture_options(
    form: str, query: Mapping[str, str], options: Iterable[str], more: tuple[str, ...] = ()
) -> None:
    """Raise LayoutError if a form or an option is unknown, or an option common to all pictures is not legal."""
    if form not in FORMS:
        raise LayoutError("not_found", f"No form '{form[:20]}'.", f"Allowed: {', '.join(FORMS)}.", "form")
    allowed = (*more, *dict.fromkeys(options))
    unknown = sorted(set(query) - set(allowed))
    if unknown:
        raise LayoutError(
            "bad_option",
            f"No option '{unknown[0][:40]}'.",
            f"Allowed: {', '.join(name for name in allowed if name in DIAGRAM or name not in state.PICTURED)}.",
            unknown[0][:40],
        )
    for name in ("legend", "caption", "embed"):
        _parse_flag(name, query)
    get_palette(query), _parse_scale(query), _parse_title(query)


def _parse_title(query: Mapping[str, str]) -> str | None:
    title = query.get("title")
    if title and len(title) > LONGEST_TITLE:
        raise LayoutError("bad_option", f"title has {len(title)} characters.", f"At most {LONGEST_TITLE}.", "title")
    return title


def _parse_flag(name: str, query: Mapping[str, str]) -> bool:
    value = query.get(name) or "0"
    if value not in ("0", "1"):
        raise LayoutError("bad_option", f"{name} is '{value[:20]}'.", "Allowed: 0, 1.", name)
    return value == "1"


def _parse_cell(query: Mapping[str, str]) -> tuple[float, float] | None:
    text = query.get("cell", "")
    if not text:
        return None
    match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)(?:x([0-9]{1,3}(?:\.[0-9]{1,3})?))?", text)
    width, height = (float(match[1]), float(match[2] or max(14.0, 0.45 * float(match[1])))) if match else (0.0, 0.0)
    if not 2 <= width <= 200 or not 2 <= height <= 200:
        raise LayoutError(
            "bad_option", f"cell is '{text[:20]}'.", "A width, or width x height, from 2 to 200: 40 or 40x20.", "cell"
        )
    return width, height


def parse_span(name: str, query: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the first and last row or column that an option names; None if it names none."""
    text = query.get(name, "")
    if not text:
        return None
    spans = parse_ranges(text, name, MOST_SPAN)
    if len(spans) > 1:
        raise LayoutError("bad_option", f"{name} is '{shorten_value(text)}'.", "First and last: 0-15.", name)
    return spans[0]


def render_svg(form: str, drawing: str, query: Mapping[str, str]) -> Picture:
    """Render an SVG in one of the forms that are drawn: svg, tex, png, pdf."""
    if form == "svg":
        return drawing
    if form == "tex":
        return render_tikz(drawing, standalone=not _parse_flag("embed", query))
    if form == "pdf":
        return DrawingJob(form, drawing)
    scale = _parse_scale(query)
    return DrawingJob(form, drawing, scale if query.get("scale") else limit_scale(drawing, scale))


def _parse_scale(query: Mapping[str, str]) -> float:
    text = query.get("scale") or DEFAULTS["scale"]
    if not re.fullmatch(r"[0-9](\.[0-9]{1,3})?", text) or not 0.25 <= float(text) <= 8:
        raise LayoutError("bad_option", f"scale is '{text[:20]}'.", "A number from 0.25 to 8.", "scale")
    return float(text)


def _render_text(form: str, figure: PanelFigure, style: DiagramStyle, title: str) -> str:
    panels = [panel for panel in figure.panels if panel.grid]
    if form == "csv":
        return _render_csv(panels, style)
    heading = title if style.title is None else style.title
    mark = _MARKS[form]
    parts = [mark.title.format(heading)] if heading else []
    for panel in panels:
        head = mark.head.format(panel.title) if len(panels) > 1 else ""
        parts.append(head + mark.table(panel, style.label, style.threads))
    if style.caption:
        parts.append(mark.caption.format("\n".join(format_caption(figure, style.lang))))
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Mark:
    """How a form of text marks a title, the head of a panel, its table, and a caption."""

    title: str
    head: str
    table: Callable[..., str]
    caption: str


_MARKS = {
    "txt": _Mark("{}\n", "{}\n", tables.render_plain, "{}\n"),
    "md": _Mark("### {}\n", "**{}**\n\n", tables.render_markdown, "```\n{}\n```\n"),
}


def _render_csv(panels: list[FigurePanel], style: DiagramStyle) -> str:
    """Return the elements of one panel, or of every operand of several."""
    grids = [panel.grid for panel in panels if panel.grid]
    if len(grids) == 1:
        return tables.render_csv(grids[0].operand, panels[0], style.threads)
    lines: list[str] = []
    for operand in {grid.operand.name: grid.operand for grid in grids}.values():
        head, *operand_lines = tables.render_csv(operand, None, style.threads).splitlines()
        lines += [] if lines else [f"operand,{head}"]
        lines += [f"{operand.name},{line}" for line in operand_lines]
    return "\n".join(lines) + "\n"


# shared memory and descriptors ----------------------------------------------------------------------------------------


def render_tile(form: str, query: Mapping[str, str]) -> Picture:
    """Render a tile in shared memory: logical and memory picture with LBO and SBO; txt, md, csv: where every element
    (chunk) lies.
    """
    fields = (*memory.TILE_FIELDS, "format")
    _check_known(form, query, (*fields, *LOOK))
    tile, rows = memory.parse_tile({name: query[name] for name in fields if name in query})
    look = parse_look(query)
    title = f"{tile.mn}×{tile.k} {tile.element_bits}-bit {tile.major}-major, swizzle {tile.mode.name}"
    if form == "json":
        return encode_json(memory.build_tile(tile, rows))
    if form == "csv":
        offsets = (line.tolist() for line in tile.compute_offsets())
        rows_ = ("".join(f"{mn},{k},{at}\n" for k, at in enumerate(row)) for mn, row in enumerate(offsets))
        return "mn,k,offset_bytes\n" + "".join(rows_)
    if form in ("txt", "md"):
        return _format_tile(form, tile, rows, title, look)
    palette = get_palette(query)
    drawing = draw_tile(tile, look, rows, palette.ink, palette.ink)
    style = DiagramStyle(palette=palette, title=_parse_title(query))
    page = find.make_sheet_page(tile)
    pins, refusal = page.parse_pins({name: query.get(name, "") for name in PINS})
    if refusal:
        raise LayoutError("bad_option", refusal, "Write pin=tile:5,9.", "pin")
    extra = drawing.extra + draw_pins(drawing, pins, palette)
    return render_svg(form, render_diagram(drawing.figure, style, title, title, extra), query)


def _format_tile(form: str, tile: Tile, rows: int, title: str, look: TileLook) -> str:
    """Format the position of every cell, in bytes from the tile's start."""
    facts = memory.build_tile(tile, rows)
    cells = TileMap(tile, look.down, look.unit)
    head = [
        f"{name} {size} bytes" + ("" if used else ", not read")
        for name, size, used in (("LBO", facts.lbo_bytes, facts.lbo_used), ("SBO", facts.sbo_bytes, facts.sbo_used))
    ]
    offsets = [[f"{n:#x}" for n in row] for row in (cells.list_cell_offsets(look.plain) * cells.bits // 8).tolist()]
    facts_line = f"{title}; {'; '.join(head)}; descriptor {facts.descriptor}; {facts.cute.elements}"
    dims = ("mn", "k") if cells.rows_are_mn else ("k", "mn")
    down, across = ("chunk" if step > 1 else dim for dim, step in zip(dims, cells.steps, strict=True))
    heads = [f"{across} {c}" for c in range(cells.cols)]
    numbers = range(len(offsets))
    if form == "md":
        return f"### {title}\n\n{facts_line}\n\n{tables.format_markdown_grid(numbers, heads, offsets, down)}"
    return f"{facts_line}\n\n{tables.format_plain_grid(numbers, heads, offsets, down)}"


def render_descriptor(form: str, word: Descriptor, query: Mapping[str, str]) -> Picture:
    """Render the 64 bits of a descriptor with their fields."""
    _check_known(form, query, ("target",))
    if form == "json":
        return encode_json(descriptors.build_decoded(word))
    rows = [
        (f.name, f"{f.high}:{f.low}", f"{f.get(word.word):#x}", word.format.format_field_value(word.word, f))
        for f in word.format.fields
    ]
    if form in ("txt", "md", "csv"):
        return tables.format_titled(form, str(word), ("field", "bits", "encoded", "amount"), rows)
    return render_svg(form, render_descriptor_bits(word, get_palette(query)), query)
