"""A guide page from its Markdown: values, tables and parts put in, figures drawn. No framework."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from html import escape
from urllib.parse import parse_qsl, urlsplit

from markdown_it import MarkdownIt

from app.banks import facts as bank_facts
from app.banks.draw import banks_svg
from app.chain.forms import chain_figure
from app.diagram import forms as pictures
from app.guide import reference as guide_reference
from app.guide import values as guide_values
from app.guide.examples import BY_SLUG, TRANSPOSE
from app.guide.index import ORDER, source
from app.kit.links import path_of
from app.memory import descriptors
from app.memory import facts as memory
from app.memory.draw import bits_svg
from app.memory.tiles import LABELLED, look_of, tile_figure
from layouts import find
from layouts.errors import LayoutError
from layouts.render.diagram import diagram
from layouts.render.svg import svg
from layouts.view import figure_of, operand_figure

_FIGURE = re.compile(r"^@figure (\S+) \| (.+)$", re.M)
MARKDOWN = MarkdownIt("commonmark").enable("table")


def slugs() -> list[str]:
    """Every page of the guide."""
    return [*ORDER, TRANSPOSE, *BY_SLUG]


@lru_cache(maxsize=64)
def rendered(slug: str) -> str:
    """A page's HTML: Markdown with its values and parts put in, and `@figure address | caption` lines drawn as live
    pictures.
    """
    figures: list[str] = []

    def keep(match: re.Match[str]) -> str:
        figures.append(figure_html(match[1], match[2]))
        return f"FIGURE-{len(figures) - 1}-"

    text = guide_values.fill(guide_reference.fill(source(slug)))
    made = re.sub(r"<p>FIGURE-(\d+)-</p>", lambda m: figures[int(m[1])], html(_FIGURE.sub(keep, text)))
    return re.sub(r"<h2>(.*?) \{#([\w-]+)\}</h2>", r'<h2 id="\2">\1</h2>', made)


def html(markdown: str) -> str:
    """Markdown as HTML; a wide table scrolls in its own box."""
    made: str = MARKDOWN.render(markdown)
    return made.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")


def asked(body: str, given: str) -> str:
    """A page whose reader may type a PTX text: a form, and that text word by word. A text that is none keeps the page's
    own.
    """

    def form(match: re.Match[str]) -> str:
        notice, shown = "", given.strip()[:400] or match[1]
        try:
            words = guide_reference.part("words", shown)
        except LayoutError as error:
            notice = f'<p class="notice" role="status">{escape(error.message)} {escape(error.hint)}</p>'
            words = guide_reference.part("words", match[1])
        field = (
            f'<label>any matrix instruction of the catalogue <input name="ptx" value="{escape(shown)}" size="64"'
            ' spellcheck="false" autocomplete="off"></label>'
        )
        return f'<form class="strip ask">{field}<button>read</button></form>{notice}{html(words)}'

    return re.sub(r"<p>@ask (\S+)</p>", form, body)


def figure_html(address: str, caption: str) -> str:
    """A picture in the page's colours, linked to the page that shows exactly it. LayoutError for an address that draws
    nothing.
    """
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    kind, _, rest = parts.path.lstrip("/").partition("/")
    if kind == "i":
        name, slash, letter = rest.rpartition("/")
        found = find(name if slash else rest)
        operand = found.operand(letter) if slash else None
        style, chosen = pictures.read(found, query)
        drawn = diagram(
            operand_figure(operand, chosen.product) if operand else figure_of(found, chosen.product),
            replace(style, palette=None, legend=True),
            caption,
        )
        address = path_of(found) + (f"?{parts.query}" if parts.query else "")
    elif kind == "smem":
        tile, _ = memory.tile_of(query)
        drawing = tile_figure(tile, look_of(query))
        drawn = svg(drawing.figure, title=caption, palette=None, extra=drawing.extra, labels_up_to=2 * LABELLED)
    elif kind == "descriptor":
        drawn = bits_svg(descriptors.parse_descriptor(rest.rpartition("/")[2]), None)
    elif kind == "banks":
        use, xor = bank_facts.use_of(query)
        drawn = banks_svg([use.cost(xor)])
    elif kind == "chain":
        drawn = chain_figure(query)
    else:
        raise LayoutError(
            "bad_figure", f"'{address}' draws nothing.", "/i/…, /smem, /descriptor/…, /banks, /chain", "figure"
        )
    return (
        "<figure><a"
        f' href="{escape(address)}">{drawn}</a><figcaption>{MARKDOWN.renderInline(caption)}</figcaption></figure>'
    )
