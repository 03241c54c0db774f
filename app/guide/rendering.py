"""A guide page from its Markdown: values, tables and parts put in, figures drawn. No framework."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from html import escape, unescape
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from lanescope import find
from lanescope.app.banks import facts as bank_facts
from lanescope.app.banks.draw import draw_banks
from lanescope.app.chain.forms import draw_figure
from lanescope.app.diagram import forms as pictures
from lanescope.app.diagram import verdicts
from lanescope.app.guide import benchmarks
from lanescope.app.guide import reference as guide_reference
from lanescope.app.guide import values as guide_values
from lanescope.app.guide.examples import BY_SLUG, TRANSPOSE
from lanescope.app.guide.index import ORDER, read_source
from lanescope.app.kit.links import link_instruction
from lanescope.app.layouts import cute, triton, tv
from lanescope.app.memory import descriptors
from lanescope.app.memory import facts as memory
from lanescope.app.memory.tile_figure import LABELLED, draw_tile, parse_look
from lanescope.app.read import text_meanings
from lanescope.app.scales.feature import SCALE_FACTORS
from lanescope.app.tiles import chains, main_loop_figure, tiled_copy_figure
from lanescope.app.tiles import figure as whole_tiles
from lanescope.app.tmem.feature import PLACEMENT
from lanescope.errors import LayoutError
from lanescope.render.diagram import render_diagram
from lanescope.render.svg import render_svg

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
from lanescope.render.descriptor_bits import render_descriptor_bits
from lanescope.render.view import make_figure, make_operand_figure

_FIGURE = re.compile(r"^@figure (\S+) \| (.+)$", re.M)
PASTED = "paste "  # the mark of an example for the reader, and the kind it is read as
KINDS = {  # what readers' kinds are called
    "instruction": "an instruction",
    "descriptor": "a descriptor",
    "builder": "code that builds a descriptor",
    "tensor_map": "a tensor map",
    "layout": "a layout",
    "tiled_mma": "a TiledMMA",
    "tiled_copy": "a TiledCopy",
    "triton": "a Triton layout",
    "topic": "a page",
    "unknown": "nothing that is known",
}


@cache
def get_renderer() -> MarkdownIt:
    """The renderer, made with the first page of the guide."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def list_slugs() -> list[str]:
    """Every page of the guide."""
    return [*ORDER, TRANSPOSE, *BY_SLUG, benchmarks.SLUG]


@lru_cache(maxsize=64)
def render_guide_page(slug: str) -> str:
    """A page's HTML: Markdown with its values and parts put in, and `@figure address | caption` lines drawn as live
    pictures.
    """
    figures: list[str] = []

    def keep(match: re.Match[str]) -> str:
        figures.append(render_figure(match[1], match[2]))
        return f"FIGURE-{len(figures) - 1}-"

    text = guide_values.expand_values(guide_reference.expand_parts(read_source(slug)))
    return "\n".join(_group_rows([_insert_figure(block, figures) for block in render_blocks(_FIGURE.sub(keep, text))]))


def render_blocks(text: str) -> list[str]:
    """The top-level blocks of a Markdown text as HTML: a heading with its anchor, a table in a box that scrolls."""
    made = get_renderer()
    tokens = made.parse(text)
    out, first = [], 0
    for at, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            block = _add_anchor(made.renderer.render(tokens[first : at + 1], made.options, {}).strip())
            out.append(block + (_render_recognition(token.content) if token.info.startswith(PASTED) else ""))
            first = at + 1
    instead = {
        "<table>": '<div class="scroll" tabindex="0"><table>',
        "</table>": "</table></div>",
        ' style="text-align:right"': ' class="num"',  # pages take no inline style
    }
    for old, new in instead.items():
        out = [block.replace(old, new) for block in out]
    return out


def _render_recognition(text: str) -> str:
    """What the reader makes of an example, with the page that shows it."""
    text = text.strip()
    made = text_meanings.read_text(text)
    title = made.title if len(made.title) <= 90 else f"{made.title[:89]}…"
    said = f'Read as <strong>{escape(KINDS.get(made.kind, made.kind))}</strong>: <a href="{escape(made.link)}">'
    return f'<p class="read-as">{said}{escape(title)}</a></p>'


def render_markdown(markdown: str) -> str:
    """Markdown as HTML; a wide table scrolls in its own box."""
    return "\n".join(render_blocks(markdown))


def _add_anchor(block: str) -> str:
    """A heading of a section with an id: the one given as `{#id}`, else its words."""
    match = re.fullmatch(r"<h2>(.*?)(?: \{#([\w-]+)\})?</h2>", block)
    if not match:
        return block
    plain = unescape(re.sub(r"<[^>]*>", "", match[1])).lower()
    return f'<h2 id="{match[2] or re.sub(r"[^a-z0-9]+", "-", plain).strip("-")}">{match[1]}</h2>'


def _insert_figure(block: str, figures: list[str]) -> str:
    match = re.fullmatch(r"<p>FIGURE-(\d+)-</p>", block)
    return figures[int(match[1])] if match else block


def _group_rows(made: list[str]) -> list[str]:
    """Blocks with the figures that follow a run of text set beside it, where the window is wide enough; neighbouring
    figures share a row.
    """
    out: list[str] = []
    for kind, run in groupby(made, _classify_block):
        held = list(run)
        if kind == "narrow" and out and out[-1].startswith("<p>"):
            out[-1] = f'<div class="beside"><div>\n{out[-1]}\n</div><div>\n{chr(10).join(held)}\n</div></div>'
        elif kind == "narrow" and len(held) > 1:
            out.append(f'<div class="beside">{chr(10).join(held)}</div>')
        elif kind == "text":
            out.append("\n".join(held))
        else:
            out += held
    return out


def _classify_block(block: str) -> str:
    """text: it may stand beside a figure; narrow: a figure that leaves room for text; wide: it takes the row."""
    if block.startswith("<figure>"):
        size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', block)
        assert size
        return "narrow" if float(size[1]) < 2 * float(size[2]) or float(size[1]) < 460 else "wide"
    return "text" if block.startswith(("<p>", "<ul>", "<ol>")) and "<p>@ask" not in block else "wide"


@lru_cache(maxsize=64)
def list_sections(slug: str) -> list[tuple[str, str]]:
    """The sections of a page: (id, heading as plain text)."""
    return parse_headings(render_guide_page(slug))


def parse_headings(made: str) -> list[tuple[str, str]]:
    """The sections of a page's HTML."""
    found = re.findall(r'<h2 id="([^"]*)">(.*?)</h2>', made)
    return [(name, unescape(re.sub(r"<[^>]*>", "", heading))) for name, heading in found]


@lru_cache(maxsize=64)
def render_thumbnail(slug: str) -> str:
    """A page's first figure for the index: its cells without their texts; "" for a page without a figure."""
    match = _FIGURE.search(read_source(slug))
    if not match:
        return ""
    drawn, _ = draw_address(match[1], match[2], legend=False)
    drawn = re.sub(r"<(text|title|desc)\b.*?</\1>\n?", "", drawn, flags=re.S)
    return drawn.replace('role="img"', 'aria-hidden="true" focusable="false"', 1)


def insert_ptx_form(body: str, given: str) -> str:
    """A page whose reader may type a PTX text: a form, and that text word by word. A text that is none keeps the page's
    own.
    """

    def form(match: re.Match[str]) -> str:
        notice, shown = "", given.strip()[:400] or match[1]
        try:
            words = guide_reference.render_part("words", shown)
        except LayoutError as error:
            notice = f'<p class="notice" role="status">{escape(error.message)} {escape(error.hint)}</p>'
            words = guide_reference.render_part("words", match[1])
        field = (
            f'<label>any matrix instruction of the catalogue <input name="ptx" value="{escape(shown)}" size="64"'
            ' spellcheck="false" autocomplete="off"></label>'
        )
        return f'<form class="strip ask">{field}<button>read</button></form>{notice}{render_markdown(words)}'

    return re.sub(r"<p>@ask (\S+)</p>", form, body)


def render_figure(address: str, caption: str) -> str:
    """A picture in the page's colours, linked to the page that shows exactly it. LayoutError for an address that draws
    nothing.
    """
    drawn, page = draw_address(address, caption)
    return (
        "<figure><a"
        f' href="{escape(page)}">{drawn}</a><figcaption>{get_renderer().renderInline(caption)}</figcaption></figure>'
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """A picture that a page asks for. rest: the path after its kind; query: as text, and its options."""

    address: str
    rest: str
    text: str
    query: dict[str, str]
    caption: str
    legend: bool


def draw_address(address: str, caption: str, legend: bool = True) -> tuple[str, str]:
    """A picture as SVG, and the address of the page that shows exactly it. LayoutError for an address that draws
    nothing.
    """
    parts = urlsplit(address)
    kind, _, rest = parts.path.lstrip("/").partition("/")
    draw = DRAWINGS.get(f"{kind}/{rest}") or DRAWINGS.get(kind)
    if draw is None:
        raise LayoutError(
            "bad_figure",
            f"'{address}' draws nothing.",
            "/i/…, /smem, /tmem, /descriptor/…, /banks, /chain, /cute, /layouts/…, /tiles/…",
            "figure",
        )
    drawn = draw(Wanted(address, rest, parts.query, dict(parse_qsl(parts.query)), caption, legend))
    return drawn if isinstance(drawn, tuple) else (drawn, address)


def _instruction(wanted: Wanted) -> tuple[str, str]:
    name, slash, letter = wanted.rest.rpartition("/")
    found = find(name if slash else wanted.rest)
    operand = found.operand(letter) if slash else None
    style, chosen = pictures.parse_style(found, wanted.query)
    drawn = render_diagram(
        make_operand_figure(operand, chosen.product) if operand else make_figure(found, chosen.product),
        replace(style, palette=None, legend=wanted.legend),
        wanted.caption,
    )
    return drawn, link_instruction(found) + (f"?{wanted.text}" if wanted.text else "")


def _tile(wanted: Wanted) -> str:
    tile, _ = memory.parse_tile(wanted.query)
    drawing = draw_tile(tile, parse_look(wanted.query))
    return render_svg(
        drawing.figure, title=wanted.caption, palette=None, extra=drawing.extra, labels_up_to=2 * LABELLED
    )


def _descriptor(wanted: Wanted) -> tuple[str, str]:
    name, _, word = wanted.rest.rpartition("/")
    parsed = descriptors.parse_descriptor(word, descriptors.find_format({"format": name}))
    drawn = (
        verdicts.draw_inline(parsed, wanted.query)
        if verdicts.has_verdict_query(wanted.query)
        else render_descriptor_bits(parsed, None)
    )
    kept = {option: value for option, value in wanted.query.items() if option != "rows"}
    return drawn, urlsplit(wanted.address).path + (f"?{urlencode(kept)}" if kept else "")


def _banks(wanted: Wanted) -> str:
    use, xor = bank_facts.parse_use(wanted.query)
    return draw_banks([use.compute_use_cost(xor)])


# what the path of a figure begins with, or all of it → its picture, and its page's address where that is another
DRAWINGS: dict[str, Callable[[Wanted], str | tuple[str, str]]] = {
    "i": _instruction,
    "smem": _tile,
    "descriptor": _descriptor,
    "tmem": lambda wanted: PLACEMENT.figure(wanted.query),
    "scale-factors": lambda wanted: SCALE_FACTORS.figure(wanted.query),
    "banks": _banks,
    "chain": lambda wanted: draw_figure(wanted.query),
    "cute": lambda wanted: cute.draw_figure(wanted.query, wanted.caption),
    "layouts/triton": lambda wanted: triton.draw_figure(wanted.query, wanted.caption),
    "layouts/tv": lambda wanted: tv.draw_figure(wanted.query, wanted.caption),
    "tiles/mma": lambda wanted: whole_tiles.draw_inline(wanted.query),
    "tiles/mma/chain": lambda wanted: chains.draw_inline(wanted.query),
    "tiles/copy": lambda wanted: tiled_copy_figure.draw_inline(wanted.query),
    "tiles/loop": lambda wanted: main_loop_figure.draw_inline(wanted.query),
}
