"""The shared parts of a page: title, verdict and picture, read from the rendered page itself, and texts to copy.

Read from the page, a card cannot say anything else.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, urlencode

from lanescope.app.kit.fact import Description, copy_fact, fact, make_optional_field

SITE = " · Lanescope"
EMBED, PICTURE, CARD = "/embed", "/picture", "/card"  # prefixes of a page's address: its frame, its picture, its card
CARD_SIZE = (1200, 630)  # pixels, as chats and issue trackers expect
_TITLE = re.compile(r"<title>(.*?)</title>", re.S)
_SUMMARY = re.compile(r'<meta name="description" content="([^"]*)">')
_VERDICT = re.compile(r'<(?P<tag>div|p|section) class="verdict ?(?P<look>[^"]*)"[^>]*>(?P<inside>.*?)</(?P=tag)>', re.S)
_ANSWER = re.compile(r'<section class="answer"\s[^>]*>(?P<inside>.*?)</div>', re.S)  # about a pinned place
_HEAD = re.compile(r"<h2[^>]*>(.*?)</h2>", re.S)
_DRAWN = (
    re.compile(r'<link rel="alternate" type="image/svg\+xml" href="([^"]+)">'),
    re.compile(r'<a\s[^>]*?href="([^"]+)"[^>]*?\sdata-verdict="svg"'),
    re.compile(r'<a\s[^>]*?href="([^"]+)"[^>]*?\sdata-form=["\']?svg\b'),
)
_SVG = re.compile(r"<svg\b[^>]*>")
# Drawn with the page's style sheet, or a bar that is stretched.
_STYLED = re.compile(r'class="(?:cells|pair|reads|statuses|word|tiny|hidden)\b|preserveAspectRatio="none"')
_RINGED = 'class="ringed"'
_LOOKS = {"ok": "ok", "bad": "bad", "warn": "warn", "": "plain"}


@dataclass(frozen=True, slots=True)
class PageCard:
    """A page's title, verdict and picture.

    look: ok, bad, warn or plain; drawn: address of its picture, "" if it has none; svg: the picture if it exists only
    in the page.
    """

    title: str
    summary: str
    verdict: str = ""
    look: str = "plain"
    drawn: str = ""
    svg: str = ""

    @property
    def pictured(self) -> bool:
        return bool(self.drawn or self.svg)

    @property
    def headline(self) -> str:
        """Return the title with the verdict."""
        return f"{self.title}: {self.verdict}" if self.adds_verdict else self.title

    @property
    def adds_verdict(self) -> bool:
        """Return whether the verdict adds something to the title."""
        return bool(self.verdict) and self.verdict.rstrip(".") not in self.title


@fact
class Share:
    """The texts and links to copy of a page; picture and embed only if it has a picture."""

    title: str
    verdict: Annotated[str, Description("The page's verdict; empty if it has none.")]
    look: Annotated[str, Description("of the verdict", limits={"enum": ["ok", "bad", "warn", "plain"]})]
    link: str
    markdown: Annotated[str, Description("For an issue: the picture, the verdict and the link.")]
    svg: Annotated[str | None, Description("The picture's address.")] = make_optional_field()
    png: str | None = make_optional_field()
    pdf: str | None = make_optional_field()
    latex: str | None = make_optional_field()
    embed: Annotated[str | None, Description("An <iframe> for another site.")] = make_optional_field()


def read_card(text: str) -> PageCard:
    """Return title, verdict and picture of a rendered page.

    >>> read_card('<title>Banks · Lanescope</title><div class="verdict bad"><h2>8-way</h2></div>').headline
    'Banks: 8-way'
    """
    title, summary = _TITLE.search(text), _SUMMARY.search(text)
    verdict, look = _read_verdict(text)
    drawn = next((html.unescape(found[1]) for found in (each.search(text) for each in _DRAWN) if found), "")
    ringed = "" if "pin=" in drawn else _find_svg(text, ringed=True)
    return PageCard(
        title=_strip_markup(title[1]).removesuffix(" guide").removesuffix(SITE) if title else "Lanescope",
        summary=_strip_markup(summary[1]) if summary else "",
        verdict=verdict,
        look=look,
        drawn="" if ringed else drawn,
        svg=ringed or ("" if drawn else _find_svg(text)),
    )


def _read_verdict(text: str) -> tuple[str, str]:
    if pinned := _ANSWER.search(text):
        return "; ".join(map(_strip_markup, _HEAD.findall(pinned["inside"]))), "plain"
    if found := _VERDICT.search(text):
        head = _HEAD.search(found["inside"])
        look = next((word for word in found["look"].split() if word in _LOOKS), "")
        return _strip_markup(head[1] if head else found["inside"]), _LOOKS[look]
    return "", "plain"


def _strip_markup(markup: str) -> str:
    """Return markup as the text that a reader sees."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def _find_svg(text: str, ringed: bool = False) -> str:
    """Return the first picture that needs no style sheet, or the first with a ringed pin; "" if there is none.

    Icons have no role, and other drawings need classes.
    """
    start = text.find("<main")
    for opening in _SVG.finditer(text, max(start, 0)):
        if 'role="img"' in opening[0] and not _STYLED.search(opening[0]):
            svg = text[opening.start() : text.index("</svg>", opening.end()) + len("</svg>")]
            if not ringed or _RINGED in svg:
                return svg
    return ""


# addresses ------------------------------------------------------------------------------------------------------------


def make_picture_address(card: PageCard, address: str, form: str, theme: str = "") -> str:
    """Return the address of a page's picture in a format.

    An SVG with an address of its own keeps it. PNG and PDF are drawn through the page's address, whatever their size.
    """
    drawn = card.drawn if form == "svg" else ""
    return _add_theme(drawn or _name_file(PICTURE, address, form), theme)


def make_card_address(address: str) -> str:
    """Return the address of a page's card."""
    return _name_file(CARD, address, "png")


def _name_file(kind: str, address: str, form: str) -> str:
    path, _, query = address.partition("?")
    return f"{kind}{path}.{form}" + (f"?{query}" if query else "")


def _add_theme(address: str, theme: str) -> str:
    return address + ("&" if "?" in address else "?") + urlencode({"theme": theme}) if theme else address


def quote_address(address: str) -> str:
    """Return an address with the characters quoted that Markdown, LaTeX or a shell would interpret."""
    return quote(address, safe="/:?&=%,;+@-._~")


# texts ----------------------------------------------------------------------------------------------------------------


def build_share(card: PageCard, address: str, base: str) -> Share:
    """Return the texts and links to copy of the page at an address. base: the server's address without trailing
    slash.
    """
    link = base + quote_address(address)
    if not card.pictured:
        return Share(
            title=card.title, verdict=card.verdict, look=card.look, link=link, markdown=format_markdown(card, link)
        )
    svg, png, pdf = (base + quote_address(make_picture_address(card, address, form)) for form in ("svg", "png", "pdf"))
    return copy_fact(
        Share,
        card,
        link=link,
        svg=svg,
        png=png,
        pdf=pdf,
        markdown=format_markdown(card, link, png),
        latex=_format_latex(card, link, pdf),
        embed=f'<iframe src="{html.escape(base + EMBED + quote_address(address))}" width="100%" height="480"'
        f' loading="lazy" title="{html.escape(card.title)}"></iframe>',
    )


def format_markdown(card: PageCard, link: str, picture: str = "") -> str:
    """Return Markdown for an issue: picture, verdict and link."""
    shown = f"![{escape_markdown(card.title)}]({picture})\n\n" if picture else ""
    verdict = f"**{escape_markdown(card.verdict)}**\n\n" if card.verdict else ""
    called = card.title if card.adds_verdict or not card.verdict else "Open in Lanescope"
    return f"{shown}{verdict}[{escape_markdown(called)}]({link})"


def escape_markdown(text: str) -> str:
    """Escape what Markdown would read as markup.

    >>> escape_markdown("A[5][9] of m64*")
    'A\\\\[5\\\\]\\\\[9\\\\] of m64\\\\*'
    """
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)


_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {letter: "\\" + letter for letter in "&%$#_{}"}
_LATEX |= {"×": r"$\times$", "→": r"$\to$", "·": r"$\cdot$", "–": "--", "…": r"\ldots{}", "’": "'"}


def _format_latex(card: PageCard, link: str, pdf: str) -> str:
    stem = re.sub(r"[^\w]+", "-", card.title.split(" · ")[0]).strip("-").lower()[:48]
    caption = "".join(_LATEX.get(letter, letter) for letter in card.headline)
    return (
        f"% curl -o {stem}.pdf '{pdf}'\n\\begin{{figure}}\n  \\includegraphics[width=\\linewidth]{{{stem}}}\n"
        f"  \\caption{{{caption}}}\n\\end{{figure}}\n% {link}"
    )
