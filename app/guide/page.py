"""The guide: docs/guide/*.md with live figures, and worked examples. Every figure comes from the engine, every link opens the exact state."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import APIRouter, Request
from markdown_it import MarkdownIt
from starlette.responses import Response

from app.catalogue import topics
from app.chain import facts as chains
from app.chain.page import banks_svg, chain_figure
from app.diagram import forms as pictures
from app.guide import reference as guide_reference
from app.guide import values as guide_values
from app.guide.index import GROUPS, ORDER, source, title_of
from app.kernel import facts as programs
from app.kit.api import OffLoop
from app.kit.page import page
from app.memory import facts as memory
from app.memory.draw import bits_svg
from app.memory.tiles import LABELLED, look_of, tile_figure
from layouts import find
from layouts.errors import LayoutError
from layouts.render import smem
from layouts.render.diagram import diagram
from layouts.render.svg import svg
from layouts.swizzle import mode
from layouts.tiling import Tile
from layouts.view import figure_of, operand_figure

router = APIRouter(include_in_schema=False, route_class=OffLoop)
INSTRUCTION = "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16"


@dataclass(frozen=True, slots=True)
class Example:
    """One m64n32k16 f16 product: how A and B lie in shared memory, and what to notice."""

    slug: str
    title: str
    a: tuple[str, str] | None
    b: tuple[str, str]
    text: str


EXAMPLES = (
    Example(
        "k-major-none", "A and B K-major, no swizzle", ("K", "none"), ("K", "none"),
        "Without a swizzle an atom is one core matrix: 8 rows of 16 bytes, one under the other. A core matrix of A has 7 others below it, 128 bytes "
        "apart: that is SBO. The second 8 columns of K begin after all of them: that is LBO. Both are read.",
    ),
    Example(
        "mn-major-64b", "A M-major with the 64-byte swizzle, B N-major without one", ("MN", "64B"), ("MN", "none"),
        "A's atom is 32 elements of M wide and 8 of K deep, so 64 rows need two atoms side by side: LBO is the step between them, SBO the one to the "
        "next 8 of K. B without a swizzle turns the roles round: LBO runs along K and SBO along N. Both transpose immediates are 1.",
    ),
    Example(
        "mixed-128b-32b", "A M-major with the 128-byte swizzle, B K-major with the 32-byte one", ("MN", "128B"), ("K", "32B"),
        "A's atom is 64 wide, as wide as M: there is no second atom along M, so nothing reads LBO. B's atom is exactly one K step wide; "
        "a dense wgmma never reads the LBO of a swizzled K-major operand.",
    ),
    Example(
        "registers-64b", "A from registers, B N-major with the 64-byte swizzle", None, ("MN", "64B"),
        "A needs no descriptor: each thread packs its fragment. B's 32 columns are one atom of 32, so LBO is not read; SBO is the step to the next 8 of K.",
    ),
)  # fmt: skip
BY_SLUG = {example.slug: example for example in EXAMPLES}


TRANSPOSE = "k-major-needs-no-transpose"
_FIGURE = re.compile(r"^@figure (\S+) \| (.+)$", re.M)
MARKDOWN = MarkdownIt("commonmark").enable("table")


def slugs() -> list[str]:
    """Every page of the guide."""
    return [*ORDER, TRANSPOSE, *BY_SLUG]


@lru_cache(maxsize=64)
def rendered(slug: str) -> str:
    """A page's HTML: Markdown with its values and parts put in, and `@figure address | caption` lines drawn as live pictures."""
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
    """A page whose reader may type a PTX text: a form, and that text word by word. A text that is none keeps the page's own."""

    def form(match: re.Match[str]) -> str:
        notice, shown = "", given.strip()[:400] or match[1]
        try:
            words = guide_reference.part("words", shown)
        except LayoutError as error:
            notice = f'<p class="notice" role="status">{escape(error.message)} {escape(error.hint)}</p>'
            words = guide_reference.part("words", match[1])
        field = f'<label>any matrix instruction of the catalogue <input name="ptx" value="{escape(shown)}" size="64" spellcheck="false" autocomplete="off"></label>'
        return f'<form class="strip ask">{field}<button>read</button></form>{notice}{html(words)}'

    return re.sub(r"<p>@ask (\S+)</p>", form, body)


def figure_html(address: str, caption: str) -> str:
    """A picture in the page's colours, linked to the page that shows exactly it. LayoutError for an address that draws nothing."""
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
        address = f"/i/{found.ptx}" + (f"?{parts.query}" if parts.query else "")
    elif kind == "smem":
        tile, _ = memory.tile_of(query)
        drawing = tile_figure(tile, look_of(query))
        drawn = svg(drawing.figure, title=caption, palette=None, extra=drawing.extra, labels_up_to=2 * LABELLED)
    elif kind == "descriptor":
        drawn = bits_svg(memory.parse_descriptor(rest.rpartition("/")[2]), None)
    elif kind == "banks":
        use, xor = chains.use_of(query)
        drawn = banks_svg([use.cost(xor)])
    elif kind == "chain":
        drawn = chain_figure(query)
    else:
        raise LayoutError("bad_figure", f"'{address}' draws nothing.", "/i/…, /smem, /descriptor/…, /banks, /chain", "figure")
    return f'<figure><a href="{escape(address)}">{drawn}</a><figcaption>{MARKDOWN.renderInline(caption)}</figcaption></figure>'


@router.get("/guide")
def index(request: Request) -> Response:
    """What there is to read."""
    groups = [(name, [topics.BY_PAGE[f"/guide/{entry.slug}"] for entry in entries]) for name, entries in GROUPS]
    return page(request, "guide/index.html", {"examples": EXAMPLES, "groups": groups})


@router.get(f"/guide/{TRANSPOSE}")
def transpose(request: Request) -> Response:
    """Why K-major operands take transpose 0."""
    pictures = []
    for letter, major in (("B", "K"), ("B", "MN")):
        tile = Tile(16, major, mode("none"), 32, 16, "mn")
        pictures.append(side(letter, tile))
    return page(request, "guide/transpose.html", {"sides": pictures})


@router.get("/guide/{slug}")
def example(request: Request, slug: str) -> Response:
    """One worked m64n32k16 example."""
    if slug in ORDER:
        at = ORDER.index(slug)
        near = {"before": ORDER[at - 1] if at else None, "after": ORDER[at + 1] if at + 1 < len(ORDER) else None}
        context = {
            "slug": slug,
            "title": title_of(slug),
            "body": asked(rendered(slug), request.query_params.get("ptx", "")),
            "near": near,
            "title_of": title_of,
        }
        return page(request, "guide/page.html", context)
    found = BY_SLUG.get(slug)
    if found is None:
        raise LayoutError("not_found", f"No guide page '{slug[:60]}'.", "There are " + ", ".join(slugs()) + ".", "slug")
    sides = []
    if found.a:
        sides.append(side("A", Tile(16, found.a[0], mode(found.a[1]), 64, 16, "mn", 0x1000)))
    sides.append(side("B", Tile(16, found.b[0], mode(found.b[1]), 32, 16, "mn", 0x2000)))
    instruction = find(INSTRUCTION)
    context = {
        "example": found, "sides": sides, "instruction": instruction, "a": instruction.operand("a"), "others": EXAMPLES,
        "program": programs.address(instruction, {letter: stored(given) for letter, given in (("a", found.a), ("b", found.b))}),
    }  # fmt: skip
    return page(request, "guide/example.html", context)


def stored(given: tuple[str, str] | None) -> str:
    """How an operand of an example is stored, as options of a whole program."""
    return f"major={given[0]},swizzle={given[1]},order=mn" if given else "from=registers"


def side(letter: str, tile: Tile) -> dict[str, Any]:
    """One operand of an example: its tile's figure, strides, descriptor, code and links."""
    rows = tile.mn
    lbo, sbo = tile.lbo_sbo()
    lbo_used, sbo_used = tile.used(rows)
    drawing = tile_figure(tile, None, rows)
    word = str(tile.descriptor())
    shape = {
        "element_bits": 16,
        "major": tile.major,
        "swizzle": tile.mode.name,
        "mn": tile.mn,
        "k": tile.k,
        "rows": rows,
        "order": tile.order,
        "base": tile.base,
    }
    check = {
        "instruction": INSTRUCTION, "operand": letter.lower(), "major": tile.major, "s_swizzle": tile.mode.name, "s_mn": tile.mn, "s_k": tile.k, "s_order": tile.order, "s_base": hex(tile.base),
    }  # fmt: skip
    name = letter.lower()
    return {
        "letter": letter, "tile": tile, "lbo": lbo // 16, "sbo": sbo // 16, "lbo_used": lbo_used, "sbo_used": sbo_used, "cute": tile.cute(), "descriptor": word,
        "svg": svg(drawing.figure, title=f"{letter}: {tile.major}-major, swizzle {tile.mode.name}", palette=None, extra=drawing.extra),
        "smem": "/smem?" + urlencode(shape), "verify": f"/descriptor/wgmma/{word}?" + urlencode(check), "code": smem.fill(tile, name) + smem.describe(tile, name),
        "trans": 0 if tile.major == "K" else 1,
    }  # fmt: skip
