"""The guide as Markdown for programs: values and tables expanded, figures as links to their pictures, addresses below a
root; and the list of pages, llms.txt.
"""

from __future__ import annotations

import re
from functools import partial
from urllib.parse import quote, urlsplit

from lanescope.app.guide import benchmarks, examples, integrations
from lanescope.app.guide.index import GROUPS, MOVED, ORDER, read_lead, read_source, read_title
from lanescope.app.guide.markdown import format_code_block, format_link
from lanescope.app.guide.reference import expand_parts, render_part
from lanescope.app.guide.values import expand_values
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, shorten_value
from lanescope.render.tables import format_table
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile

_FIGURE = re.compile(r"^@figure (\S+) \| (.+)$", re.M)
_STEPPER = re.compile(r"^@stepper (\S+) \| (\S+) \| (.+)$", re.M)
_ASK = re.compile(r"^@ask (\S+)$", re.M)
_LIVE = re.compile(r"^@(row|pipeline)\b.*$\n?", re.M)
_ANCHOR = re.compile(r"^(#+ .*?) \{#[\w-]+\}$", re.M)
_PASTE = re.compile(r"^```paste \w+$", re.M)
_LINK = re.compile(r"\]\((/[^)\s]*)\)")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.M | re.S)
PICTURED = (  # prefixes of addresses with a picture of their own
    *("/i/", "/smem", "/descriptor/", "/cute", "/layouts/triton", "/layouts/tv"),
    *("/tiles/mma?", "/tiles/copy?", "/tiles/loop?"),
)
INTRODUCTION = (
    "Lanescope shows which lane and register of an NVIDIA GPU holds which element of a tensor-core fragment, how tiles"
    " are in shared and tensor memory, and whether a matrix descriptor reads them: from maps that were measured on"
    " hardware or read from documents, with the source of each."
)


def list_markdown_slugs() -> tuple[str, ...]:
    """Return the pages that are available as Markdown, in the guide's order."""
    return (integrations.SLUG, *ORDER, examples.SLUG, benchmarks.SLUG)


def describe_page(slug: str) -> tuple[str, str]:
    """Return the title of a page and the question that it answers. LayoutError for an unknown page."""
    if slug == examples.SLUG:
        return examples.TITLE, examples.LEAD
    if slug == benchmarks.SLUG:
        return benchmarks.TITLE, benchmarks.LEAD
    if slug == integrations.SLUG:
        return integrations.TITLE, integrations.read_integrations_lead()
    if slug not in ORDER:
        near = MOVED.get(slug, "").partition("#")[0] or find_nearest_word(slug, list_markdown_slugs())
        hint = f"Did you mean '{near}'? /llms.txt lists the pages." if near else "/llms.txt lists the pages."
        raise LayoutError("not_found", f"No guide page '{shorten_value(slug)}'.", hint, "slug")
    return read_title(slug), read_lead(slug)


def render_page_markdown(slug: str, root: str = "") -> str:
    """Return a page as Markdown whose links begin with a root. LayoutError for an unknown page."""
    describe_page(slug)
    if slug == examples.SLUG:
        return _place_links(_render_examples(), root)
    if slug == benchmarks.SLUG:
        return _place_links(benchmarks.read_benchmarks(), root)
    if slug == integrations.SLUG:
        return _place_links(integrations.read_integrations(), root)
    text = expand_values(expand_parts(read_source(slug)))
    text = _FIGURE.sub(lambda match: _link_figure(match[1], match[2]), text)
    text = _STEPPER.sub(lambda match: f"{_link_figure(*match.group(2, 3))}, {format_link('steps', match[1])}", text)
    text = _ASK.sub(lambda match: render_part("words", match[1]), text)
    text = _PASTE.sub("```text", _ANCHOR.sub(r"\1", _LIVE.sub("", text)))
    return _place_links(text, root)


def find_picture_address(address: str) -> str:
    """Return the address of the picture of a page, "" if it has none.

    >>> find_picture_address("/smem?mn=8&k=64"), find_picture_address("/banks?row_bytes=128")
    ('/smem.svg?mn=8&k=64', '')
    """
    parts = urlsplit(address)
    if not address.startswith(PICTURED):
        return ""
    return quote(f"{parts.path}.svg", safe="/:,._-~") + (f"?{parts.query}" if parts.query else "")


def _link_figure(address: str, caption: str) -> str:
    """Return a figure as its caption with links to the picture and to the page that shows it."""
    links = {"picture": find_picture_address(address), "page": address}
    return f"Figure: {caption} " + ", ".join(format_link(text, _escape(to)) for text, to in links.items() if to)


def _escape(address: str) -> str:
    """Escape brackets and blanks of an address in Markdown."""
    return "".join(quote(letter, safe="") if letter in "()<> |" else letter for letter in address)


def _place_links(text: str, root: str) -> str:
    """Prefix the links of a text with a root, and link the Markdown of other pages; code is unchanged."""
    parts = _CODE.split(text)
    place = partial(_place_link, root)
    return "".join(part if part.startswith("`") else _LINK.sub(place, part) for part in parts)


def _place_link(root: str, match: re.Match[str]) -> str:
    path, hash_sign, section = match[1].partition("#")
    slug = path.removeprefix("/guide/")
    if slug != path and slug in list_markdown_slugs():
        path = f"{path}.md"
    return f"]({root}{path}{hash_sign}{section})"


def _render_examples() -> str:
    """Render the worked examples: the strides and the word of each operand, and its code."""
    parts = [f"# {examples.TITLE}", examples.LEAD, f"Instruction: `{examples.INSTRUCTION}`."]
    for example in examples.EXAMPLES:
        parts += [f"## {example.title}", example.text]
        for letter, stored, rows, base in (("A", example.a, 64, 0x1000), ("B", example.b, 32, 0x2000)):
            if stored:
                tile = Tile(16, stored[0], get_mode(stored[1]), rows, 16, order="mn", base=base)
                parts += _render_side(letter, tile)
    return "\n\n".join(parts) + "\n"


def _render_side(letter: str, tile: Tile) -> list[str]:
    side = examples.build_side(letter, tile)
    rows = (
        ("LBO", f"{side['lbo']} × 16 B" if side["lbo_used"] else "not read"),
        ("SBO", f"{side['sbo']} × 16 B" if side["sbo_used"] else "not read"),
        ("layout in elements", f"`{side['cute']['elements']}`"),
        (f"descriptor at {tile.base:#x}", format_link(f"`{side['descriptor']}`", _escape(side["verify"]))),
    )
    layout = f"{tile.mn}×{tile.k}, {tile.major}-major, swizzle {tile.mode.name}"
    title = f"### {letter}: {layout}, transpose {side['trans']}"
    return [title, format_table(("", ""), rows), format_code_block(side["code"])]


def render_llms(root: str = "") -> str:
    """Return llms.txt: what Lanescope is, its interfaces for programs, and a line for every page of the guide."""
    lines = ["# Lanescope", "", f"> {INTRODUCTION}", ""]
    lines += [
        "For programs: the tools of `lanescope mcp` (Model Context Protocol), the command `lanescope … --json`, and"
        f" the [JSON API]({root}/openapi.json). A 64-bit word is a hex string in JSON.",
        "",
        f"[Messages]({root}/api/v1/messages) of ptxas, cuTensorMapEncode and CuTe, each with its reason, the change and"
        f" the smallest programs; `?text=` finds those of a pasted output.",
        "",
    ]
    groups = (
        ("Set-up", [integrations.SLUG]),
        *((name, [entry.slug for entry in entries]) for name, entries in GROUPS),
        ("Examples and figures", [examples.SLUG, benchmarks.SLUG]),
    )
    for group, slugs in groups:
        lines += [f"## {group}", "", *(_list_page(slug, root) for slug in slugs), ""]
    return "\n".join(lines)


def _list_page(slug: str, root: str) -> str:
    title, lead = describe_page(slug)
    address = integrations.ADDRESS if slug == integrations.SLUG else f"/guide/{slug}"
    return f"- [{title}]({root}{address}.md): {shorten_lead(lead)}"


def shorten_lead(lead: str) -> str:
    """Return the first sentence of a page's lead, without links.

    >>> shorten_lead("See [the page](/smem). More.")
    'See the page.'
    """
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", expand_values(lead))
    return re.split(r"(?<=[.?!]) (?=[A-Z`*])", plain)[0]
