"""A guide page from its Markdown: values, tables and parts expanded, figures drawn."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from html import escape, unescape
from itertools import groupby
from typing import TYPE_CHECKING

from lanescope.app.guide import benchmarks, examples, integrations, reference as guide_reference, values as guide_values
from lanescope.app.guide.drawings import draw_address
from lanescope.app.guide.index import ORDER, read_source
from lanescope.app.read import text_meanings
from lanescope.errors import LayoutError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

RULES = "check-rules"  # the page whose rows have the codes that they begin with as their ids
_FIGURE = re.compile(r"^@figure ((?:\{\{[^{}]*\}\}|\S)+) \| (.+)$", re.M)
_STEPPER = re.compile(r"^@stepper (\S+) \| ((?:\{\{[^{}]*\}\}|\S)+) \| (.+)$", re.M)
PASTED = "paste "  # marks an example for the reader, before the kind it is read as
BESIDE, ALONE = (535.0, 416.0), (1070.0, 544.0)  # pixels of a figure in a window of 1440 pixels, by guide.css
READABLE = 6.0  # pixels of the smallest text that can be read
KINDS = {  # kind of a reading → its name
    "instruction": "an instruction",
    "descriptor": "a descriptor",
    "builder": "code that builds a descriptor",
    "tensor_map": "a tensor map",
    "layout": "a layout",
    "tiled_mma": "a TiledMMA",
    "tiled_copy": "a TiledCopy",
    "triton": "a Triton layout",
    "fragment": "a formula or loop of a fragment",
    "topic": "a page",
    "unknown": "nothing that Lanescope recognizes",
}


@cache
def get_renderer() -> MarkdownIt:
    """Return the renderer, created for the first page of the guide."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def list_slugs() -> list[str]:
    """List every page of the guide."""
    return [*ORDER, examples.SLUG, benchmarks.SLUG]


@lru_cache(maxsize=64)
def render_guide_page(slug: str) -> str:
    """Render a page as HTML: Markdown with its values and parts expanded, and `@figure address | caption` lines drawn
    as live pictures.
    """
    figures: list[str] = []

    def keep(match: re.Match[str]) -> str:
        figures.append(render_figure(match[1], match[2]))
        return f"FIGURE-{len(figures) - 1}-"

    def keep_stepper(match: re.Match[str]) -> str:
        figures.append(render_still(*match.groups()))
        return f"FIGURE-{len(figures) - 1}-"

    text = guide_values.expand_values(guide_reference.expand_parts(read_source(slug)))
    text = _STEPPER.sub(keep_stepper, _FIGURE.sub(keep, text))
    blocks = [_insert_figure(block, figures) for block in render_blocks(text)]
    return "\n".join(_group_rows([_add_row_anchors(block) for block in blocks] if slug == RULES else blocks))


def find_stepper(slug: str) -> str:
    """Find the address of a page's stepper; "" if it has none."""
    match = _STEPPER.search(guide_values.expand_values(read_source(slug)))
    return match[1] if match else ""


def render_still(address: str, still: str, caption: str) -> str:
    """Render the place of a stepper: scripts insert the stepper; without scripts it is a picture that links to its
    page.
    """
    svg, _ = draw_address(still, caption)
    page, text = escape(address), get_renderer().renderInline(caption)
    return (
        f'<figure class="stepping"><!--stepper--><noscript><a href="{page}">{svg}</a></noscript><figcaption>{text}'
        f' <a href="{page}">Open the stepper with its options</a></figcaption></figure>'
    )


def render_blocks(text: str) -> list[str]:
    """Render the top-level blocks of a Markdown text as HTML: a heading with its anchor, a table that scrolls in its
    box.
    """
    renderer = get_renderer()
    tokens = renderer.parse(text)
    blocks, first = [], 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            block = _add_anchor(renderer.renderer.render(tokens[first : index + 1], renderer.options, {}).strip())
            blocks.append(block + (_render_recognition(token.content) if token.info.startswith(PASTED) else ""))
            first = index + 1
    replacements = {
        "<table>": '<div class="scroll" tabindex="0"><table>',
        "</table>": "</table></div>",
        ' style="text-align:right"': ' class="num"',  # the security policy forbids inline styles
    }
    for old, new in replacements.items():
        blocks = [block.replace(old, new) for block in blocks]
    return blocks


def _render_recognition(text: str) -> str:
    """Render the reader's meaning of an example, with a link to its page."""
    text = text.strip()
    meaning = text_meanings.read_text(text)
    title = meaning.title if len(meaning.title) <= 90 else f"{meaning.title[:89]}…"
    label = (
        f'Read as <strong>{escape(KINDS.get(meaning.kind, meaning.kind))}</strong>: <a href="{escape(meaning.link)}">'
    )
    return f'<p class="read-as">{label}{escape(title)}</a></p>'


def render_markdown(markdown: str) -> str:
    """Render Markdown as HTML; a wide table scrolls in its own box."""
    return "\n".join(render_blocks(markdown))


def _add_anchor(block: str) -> str:
    """Add an id to the heading of a section: the one written as `{#id}`, otherwise its words."""
    match = re.fullmatch(r"<h2>(.*?)(?: \{#([\w-]+)\})?</h2>", block)
    if not match:
        return block
    plain = unescape(re.sub(r"<[^>]*>", "", match[1])).lower()
    return f'<h2 id="{match[2] or re.sub(r"[^a-z0-9]+", "-", plain).strip("-")}">{match[1]}</h2>'


def _add_row_anchors(block: str) -> str:
    """Add the code in the first cell of each table row as its id."""
    return re.sub(r"<tr>(\s*<td><code>(\w+)</code></td>)", r'<tr id="\2">\1', block)


def _insert_figure(block: str, figures: list[str]) -> str:
    match = re.fullmatch(r"<p>FIGURE-(\d+)-</p>", block)
    return figures[int(match[1])] if match else block


def _group_rows(blocks: list[str]) -> list[str]:
    """Place narrow figures beside the text before them, if the window is wide enough; neighbouring figures share a
    row.
    """
    rows: list[str] = []
    for kind, run in groupby(blocks, _classify_block):
        run_blocks = list(run)
        if kind == "narrow" and rows and rows[-1].startswith("<p>"):
            rows[-1] = f'<div class="beside"><div>\n{rows[-1]}\n</div><div>\n{chr(10).join(run_blocks)}\n</div></div>'
        elif kind == "narrow" and len(run_blocks) > 1:
            rows.append(f'<div class="beside">{chr(10).join(run_blocks)}</div>')
        elif kind == "text":
            rows.append("\n".join(run_blocks))
        else:
            rows += run_blocks
    return rows


def _classify_block(block: str) -> str:
    """Classify a block: "text" can be beside a figure, a "narrow" figure leaves room for text, a "wide" one fills the
    row, because of its shape or to be read.
    """
    if block.startswith("<figure"):
        width, height = _measure_figure(block)
        return "narrow" if _is_readable(block, BESIDE) and (width < 2 * height or width < 460) else "wide"
    return "text" if block.startswith(("<p>", "<ul>", "<ol>")) and "<p>@ask" not in block else "wide"


def _measure_figure(block: str) -> tuple[float, float]:
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', block)
    assert size
    return float(size[1]), float(size[2])


def _is_readable(figure: str, most: tuple[float, float]) -> bool:
    """Return whether the smallest text of a figure can be read if it has at most this width and height."""
    width, height = _measure_figure(figure)
    smallest = min(map(float, re.findall(r'font-size="([\d.]+)"', figure)), default=READABLE)
    return min(most[0] / width, most[1] / height, 1) * smallest >= READABLE


@lru_cache(maxsize=1)
def render_integrations() -> str:
    """Render /docs/integrations below its lead, with a copy button for every block of code."""
    blocks = render_blocks(integrations.read_integrations())[2:]
    return "\n".join(blocks).replace("<pre>", "<pre data-copy>")


@lru_cache(maxsize=64)
def list_sections(slug: str) -> list[tuple[str, str]]:
    """List the sections of a page: (id, heading as plain text)."""
    return parse_headings(render_guide_page(slug))


def parse_headings(page_html: str) -> list[tuple[str, str]]:
    """Parse the sections of a page's HTML: (id, heading as plain text)."""
    headings = re.findall(r'<h2 id="([^"]*)">(.*?)</h2>', page_html)
    return [(name, unescape(re.sub(r"<[^>]*>", "", heading))) for name, heading in headings]


@lru_cache(maxsize=64)
def render_thumbnail(slug: str) -> str:
    """Render a page's first figure for the index: its cells without texts; "" for a page without a figure."""
    match = _FIGURE.search(read_source(slug))
    if not match:
        return ""
    svg, _ = draw_address(guide_values.expand_values(match[1]), match[2], legend=False)
    svg = svg[: svg.index("</svg>") + len("</svg>")]  # the legend follows
    svg = re.sub(r' data-cells="[^"]*"', "", re.sub(r"<(text|title|desc)\b.*?</\1>\n?", "", svg, flags=re.S))
    return svg.replace('role="img"', 'aria-hidden="true" focusable="false"', 1)


def insert_ptx_form(body: str, text: str) -> str:
    """Insert the form for a PTX text, and the text word by word. A text that is not an instruction shows the page's
    own.
    """

    def render_form(match: re.Match[str]) -> str:
        notice, shown_text = "", text.strip()[:400] or match[1]
        try:
            words = guide_reference.render_part("words", shown_text)
        except LayoutError as error:
            notice = f'<p class="notice" role="status">{escape(error.message)} {escape(error.hint)}</p>'
            words = guide_reference.render_part("words", match[1])
        field = (
            f'<label>any matrix instruction of the catalogue <input name="ptx" value="{escape(shown_text)}" size="64"'
            ' spellcheck="false" autocomplete="off"></label>'
        )
        return f'<form class="strip ask">{field}<button>read</button></form>{notice}{render_markdown(words)}'

    return re.sub(r"<p>@ask (\S+)</p>", render_form, body)


def render_figure(address: str, caption: str) -> str:
    """Render a picture in the page's colours, linked to its page; LayoutError for an address without a picture."""
    svg, page = draw_address(address, caption)
    look = "" if _is_readable(svg, ALONE) else ' class="tall"'
    return (
        f"<figure{look}><a"
        f' href="{escape(page)}">{svg}</a><figcaption>{get_renderer().renderInline(caption)}</figcaption></figure>'
    )
