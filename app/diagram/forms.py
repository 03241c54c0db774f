"""Every form of a diagram, for stable addresses and the command line: svg, png, pdf, tex, txt, md, csv, json. No
framework.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.instruction import facts as about
from lanescope.app.instruction import state
from lanescope.app.kit.encode import dumps
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.picture import Drawing, fitting
from lanescope.app.memory import descriptors
from lanescope.app.memory import facts as memory
from lanescope.app.memory.options import LOOK
from lanescope.app.memory.tiles import Look, look_of, tile_figure
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.reading import ranges, shown
from lanescope.render import tables
from lanescope.render.diagram import WORDS, Style, caption, diagram
from lanescope.render.palette import PALETTES, Palette
from lanescope.render.tikz import tikz
from lanescope.render.view import Figure, Panel, figure_of, operand_figure
from lanescope.render.word import bits_svg
from lanescope.shared.tile_map import TileMap
from lanescope.shared.tiling import Tile

DEFAULTS = {"theme": "light", "lang": "en", "scale": "2"}
LONGEST_TITLE = 200
Made = tuple[Any, str]  # what was made, bytes unless `draw` says otherwise, and its media type
Draw = Callable[[Drawing], Any]  # what makes a PNG or PDF of a drawing: here and now, or later elsewhere
MOST_SPAN = 4096  # rows or columns of a window; the operand's own size is checked where it is drawn


def instruction(
    form: str, found: Instruction, operand: Operand | None, query: Mapping[str, str], draw: Draw = Drawing.made
) -> Made:
    """A diagram of one operand, or of A, B and D as in a product."""
    style, chosen = check(form, found, query)
    cell, rows, cols = _cell(query), span("rows", query), span("cols", query)
    if operand is None and (rows or cols):
        raise LayoutError(
            "bad_option", "A window needs one operand.", f"…/{next(iter(found.operands))}.{form}?rows=0-7", "rows"
        )
    figure = (
        operand_figure(operand, chosen.product, cell, rows, cols) if operand else figure_of(found, chosen.product, cell)
    )
    title = f"{operand.name.upper()} of {found.ptx}" if operand else found.ptx
    if form in ("txt", "md", "csv"):
        return _text(form, figure, style, title).encode(), FORMS[form]
    if form == "json":
        facts = about.operand_map(found, operand) if operand else about.detail(found)
        return dumps(facts), FORMS[form]
    return drawn(form, diagram(figure, style, title, describe(found, figure)), query, draw)


def check(form: str, found: Instruction, query: Mapping[str, str]) -> tuple[Style, state.PageState]:
    """The style a query asks for; LayoutError for an option that is not known or not legal here, whatever the form
    makes of it: JSON without a descriptor takes the options of the picture, which shows the usual one.
    """
    _known(form, query)
    span("rows", query), span("cols", query)
    return read(state.with_descriptor(found, query), query)


def describe(found: Instruction, figure: Figure) -> str:
    """The picture in words: each operand's pattern."""
    known = [f"{p.name.upper()}: {p.grid.operand.pattern}" for p in figure.panels if p.grid]
    return f"{found.ptx}. " + "; ".join(known)


def read(found: Instruction, query: Mapping[str, str]) -> tuple[Style, state.PageState]:
    """The style a query asks for; LayoutError for the first option that is not legal here."""
    given = {name: value for name, value in query.items() if name in state.PICTURED and value}
    chosen, notices = state.read(found, given, state.PageState())
    if notices:
        raise LayoutError(
            "bad_option",
            notices[0].replace(" Shown with the default instead.", ""),
            "GET /diagram lists the options.",
            notices[0].split(" ")[0],
        )
    threads = chosen.thread_set()
    if query.get("warps"):
        spans = ranges(query["warps"], "warps", found.threads // 32)
        inside = frozenset(thread for first, last in spans for thread in range(32 * first, 32 * (last + 1)))
        threads = inside if threads is None else threads & inside
    lang = query.get("lang") or DEFAULTS["lang"]
    if lang not in WORDS:
        raise LayoutError("bad_option", f"No language '{lang[:20]}'.", f"Allowed: {', '.join(WORDS)}.", "lang")
    style = Style(
        chosen.colour,
        chosen.label,
        threads=threads,
        palette=theme(query),
        title=_title(query),
        legend=_flag("legend", query),
        caption=_flag("caption", query),
        lang=lang,
    )
    return style, chosen


def theme(query: Mapping[str, str]) -> Palette:
    """The palette a query names."""
    name = query.get("theme") or DEFAULTS["theme"]
    if name not in PALETTES:
        raise LayoutError(
            "bad_option", f"No theme '{catalog.shorten(name, 20)}'.", f"Allowed: {', '.join(PALETTES)}.", "theme"
        )
    return PALETTES[name]


def _known(form: str, query: Mapping[str, str], more: tuple[str, ...] = ()) -> None:
    known(form, query, (*DIAGRAM, *state.PICTURED), more)
    _cell(query)


def known(form: str, query: Mapping[str, str], options: Iterable[str], more: tuple[str, ...] = ()) -> None:
    """LayoutError where a form or an option is not known, or an option that all pictures have is not legal."""
    if form not in FORMS:
        raise LayoutError("not_found", f"No form '{form[:20]}'.", f"Allowed: {', '.join(FORMS)}.", "form")
    listed = (*more, *dict.fromkeys(options))
    unknown = sorted(set(query) - set(listed))
    if unknown:
        raise LayoutError(
            "bad_option",
            f"No option '{unknown[0][:40]}'.",
            f"Allowed: {', '.join(name for name in listed if name in DIAGRAM or name not in state.PICTURED)}.",
            unknown[0][:40],
        )
    for name in ("legend", "caption", "embed"):
        _flag(name, query)
    theme(query), _scale(query), _title(query)


def _title(query: Mapping[str, str]) -> str | None:
    given = query.get("title")
    if given and len(given) > LONGEST_TITLE:
        raise LayoutError("bad_option", f"title has {len(given)} characters.", f"At most {LONGEST_TITLE}.", "title")
    return given


def _flag(name: str, query: Mapping[str, str]) -> bool:
    given = query.get(name) or "0"
    if given not in ("0", "1"):
        raise LayoutError("bad_option", f"{name} is '{given[:20]}'.", "Allowed: 0, 1.", name)
    return given == "1"


def _cell(query: Mapping[str, str]) -> tuple[float, float] | None:
    given = query.get("cell", "")
    if not given:
        return None
    match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)(?:x([0-9]{1,3}(?:\.[0-9]{1,3})?))?", given)
    wide, high = (float(match[1]), float(match[2] or max(14.0, 0.45 * float(match[1])))) if match else (0.0, 0.0)
    if not 2 <= wide <= 200 or not 2 <= high <= 200:
        raise LayoutError(
            "bad_option", f"cell is '{given[:20]}'.", "A width, or width x height, from 2 to 200: 40 or 40x20.", "cell"
        )
    return wide, high


def span(name: str, query: Mapping[str, str]) -> tuple[int, int] | None:
    """The first and last row or column that an option names; None where it names none."""
    given = query.get(name, "")
    if not given:
        return None
    spans = ranges(given, name, MOST_SPAN)
    if len(spans) > 1:
        raise LayoutError("bad_option", f"{name} is '{shown(given)}'.", "First and last: 0-15.", name)
    return spans[0]


def drawn(form: str, drawing: str, query: Mapping[str, str], draw: Draw) -> Made:
    """An SVG in one of the forms that are drawn: svg, tex, png, pdf."""
    if form == "svg":
        return drawing.encode(), FORMS[form]
    if form == "tex":
        return tikz(drawing, standalone=not _flag("embed", query)).encode(), FORMS[form]
    if form == "pdf":
        return draw(Drawing(form, drawing)), FORMS[form]
    scale = _scale(query)
    return draw(Drawing(form, drawing, scale if query.get("scale") else fitting(drawing, scale))), FORMS[form]


def _scale(query: Mapping[str, str]) -> float:
    given = query.get("scale") or DEFAULTS["scale"]
    if not re.fullmatch(r"[0-9](\.[0-9]{1,3})?", given) or not 0.25 <= float(given) <= 8:
        raise LayoutError("bad_option", f"scale is '{given[:20]}'.", "A number from 0.25 to 8.", "scale")
    return float(given)


def _text(form: str, figure: Figure, style: Style, title: str) -> str:
    panels = [panel for panel in figure.panels if panel.grid]
    if form == "csv":
        return _csv(panels, style)
    shown = title if style.title is None else style.title
    mark = _MARKS[form]
    parts = [mark.title.format(shown)] if shown else []
    for panel in panels:
        head = mark.head.format(panel.title) if len(panels) > 1 else ""
        parts.append(head + mark.table(panel, style.label, style.threads))
    if style.caption:
        parts.append(mark.caption.format("\n".join(caption(figure, style.lang))))
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Mark:
    """How a form of text marks a title, the head of a panel, its table, and a caption."""

    title: str
    head: str
    table: Callable[..., str]
    caption: str


_MARKS = {
    "txt": _Mark("{}\n", "{}\n", tables.plain, "{}\n"),
    "md": _Mark("### {}\n", "**{}**\n\n", tables.markdown, "```\n{}\n```\n"),
}


def _csv(panels: list[Panel], style: Style) -> str:
    """Return the elements of one panel, or of every operand of several."""
    grids = [panel.grid for panel in panels if panel.grid]
    if len(grids) == 1:
        return tables.csv(grids[0].operand, panels[0], style.threads)
    out: list[str] = []
    for operand in {grid.operand.name: grid.operand for grid in grids}.values():
        head, *lines = tables.csv(operand, None, style.threads).splitlines()
        out += [] if out else [f"operand,{head}"]
        out += [f"{operand.name},{line}" for line in lines]
    return "\n".join(out) + "\n"


# shared memory and descriptors ----------------------------------------------------------------------------------------


def tile(form: str, query: Mapping[str, str], draw: Draw = Drawing.made) -> Made:
    """A tile in shared memory: logical and memory picture with LBO and SBO; txt, md, csv: where every element (chunk)
    lies.
    """
    fields = (*memory.TILE_FIELDS, "format")
    _known(form, query, (*fields, *LOOK))
    made, rows = memory.tile_of({name: query[name] for name in fields if name in query})
    look = look_of(query)
    title = f"{made.mn}×{made.k} {made.element_bits}-bit {made.major}-major, swizzle {made.mode.name}"
    if form == "json":
        return dumps(memory.tile_facts(made, rows)), FORMS[form]
    if form == "csv":
        offsets = (line.tolist() for line in made.offsets())
        rows_ = ("".join(f"{mn},{k},{at}\n" for k, at in enumerate(row)) for mn, row in enumerate(offsets))
        return ("mn,k,offset_bytes\n" + "".join(rows_)).encode(), FORMS[form]
    if form in ("txt", "md"):
        return _tile_text(form, made, rows, title, look).encode(), FORMS[form]
    palette = theme(query)
    drawing = tile_figure(made, look, rows, palette.ink, palette.ink)
    style = Style(palette=palette, title=_title(query))
    return drawn(form, diagram(drawing.figure, style, title, title, drawing.extra), query, draw)


def _tile_text(form: str, made: Tile, rows: int, title: str, look: Look) -> str:
    """Where every cell lies, in bytes from the tile's start."""
    facts = memory.tile_facts(made, rows)
    cells = TileMap(made, look.down, look.unit)
    head = [
        f"{name} {size} bytes" + ("" if used else ", not read")
        for name, size, used in (("LBO", facts.lbo_bytes, facts.lbo_used), ("SBO", facts.sbo_bytes, facts.sbo_used))
    ]
    at = [[f"{n:#x}" for n in row] for row in (cells.memory(look.plain) * cells.bits // 8).tolist()]
    told = f"{title}; {'; '.join(head)}; descriptor {facts.descriptor}; {facts.cute.elements}"
    dims = ("mn", "k") if cells.rows_are_mn else ("k", "mn")
    down, across = ("chunk" if step > 1 else dim for dim, step in zip(dims, cells.steps, strict=True))
    heads = [f"{across} {c}" for c in range(cells.cols)]
    if form == "md":
        return f"### {title}\n\n{told}\n\n{_markdown_table(down, heads, at)}"
    return f"{told}\n\n{_plain_table(down, heads, at)}"


def _markdown_table(down: str, heads: list[str], rows: list[list[str]]) -> str:
    """Return numbered rows of text under heads, as Markdown."""
    lines = [f"| {down} |" + "".join(f" {head} |" for head in heads), "|---:|" + "---|" * len(heads)]
    lines += [f"| **{n}** |" + "".join(f" {text} |" for text in row) for n, row in enumerate(rows)]
    return "\n".join(lines) + "\n"


def _plain_table(down: str, heads: list[str], rows: list[list[str]]) -> str:
    """Return numbered rows of text under heads, in columns of one width."""
    width = max(len(heads[-1]), max(len(text) for row in rows for text in row))
    lines = [f"{down:>5} " + " ".join(head.rjust(width) for head in heads)]
    lines += [f"{n:5} " + " ".join(text.rjust(width) for text in row) for n, row in enumerate(rows)]
    return "\n".join(lines) + "\n"


def descriptor(form: str, word: Descriptor, query: Mapping[str, str], draw: Draw = Drawing.made) -> Made:
    """The 64 bits of a descriptor with their fields."""
    _known(form, query)
    if form == "json":
        return dumps(descriptors.descriptor_facts(word)), FORMS[form]
    rows = [
        (f.name, f"{f.high}:{f.low}", f"{f.get(word.word):#x}", word.format.said(word.word, f))
        for f in word.format.fields
    ]
    if form == "csv":
        return ("\n".join(["field,bits,encoded,amount", *(",".join(row) for row in rows)]) + "\n").encode(), FORMS[form]
    if form == "md":
        lines = [
            f"### {word}",
            "",
            "| field | bits | encoded | amount |",
            "|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
        return ("\n".join(lines) + "\n").encode(), FORMS[form]
    if form == "txt":
        return (
            "\n".join(
                [str(word), *(f"  {name:14} {bits:>6}  {encoded:>7}  {amount}" for name, bits, encoded, amount in rows)]
            )
            + "\n"
        ).encode(), FORMS[form]
    return drawn(form, bits_svg(word, theme(query)), query, draw)
