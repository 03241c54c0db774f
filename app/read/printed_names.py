"""Names that the site prints: code and links in the guide, examples and fields of the tools. A text that is one of them
and nothing else opens the page where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from lanescope.app.catalogue import full_text, topics
from lanescope.app.features import load_features
from lanescope.app.guide import index as guide_index
from lanescope.app.kit.feature import Tool
from lanescope.app.kit.links import link_smem
from lanescope.app.kit.menus import list_entries
from lanescope.app.kit.question import options_of
from lanescope.app.memory import choices
from lanescope.app.read.facts import Meaning
from lanescope.app.read.page_meanings import build_page_meaning
from lanescope.app.tiles import presets
from lanescope.blackwell import zeromask
from lanescope.ptx.table.descriptors import FORMATS
from lanescope.ptx.table.kinds import KINDS

LONGEST = 160  # characters of a name
_MOST = 4  # pages of one name
_LEAST = 2  # characters
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\[([^\]\n]+)\]\((/[^)\s]*)\)")
_STRONG = re.compile(r"\*\*([^*\n]+)\*\*")
_MARKS = re.compile(r"[`*]|\[([^\]]*)\]\([^)]*\)")
_OF_TOOL = re.compile(r"\w[-_ ]\w|\d")  # a word of English, such as nothing, is not only a field's
_SENTENCE = re.compile(r"(?<=[.:?!]) (?=[A-Z`*\[])")
_CELL = re.compile(r"\s*(?<!\\)\|\s*")


def find_titled(text: str) -> list[Meaning]:
    """Find the examples of tools, and the headings and groups of the guide that have a name of several words.

    >>> [meaning.link for meaning in find_titled("M = 32: no wgmma")]
    ['/triton-dot?m=32']
    """
    return _find(text, 0) if " " in text.strip() else []


def find_printed(text: str, in_code: bool = True) -> list[Meaning]:
    """Find the pages that print a name, those that it leads to first; [] if it is none.

    in_code: whether code and emphasis in a text count, too, and not only what leads to a page.

    >>> find_printed("perPhase")[0].link, find_printed("perPhase", in_code=False)
    ('/guide/ptx-cute-triton#shared-memory', [])
    """
    return _find(text, 0) or _find(text, 1) or (_find(text, 2) if in_code else [])


def _find(text: str, tier: int) -> list[Meaning]:
    """Find a name in one of the indices."""
    found = index_names()[tier].get(_normalize(text), {}) if len(text) <= LONGEST else {}
    return list(found.values())[:_MOST]


def _normalize(text: str) -> str:
    """Return a name without the marks around it, in lower case."""
    return " ".join(text.split()).strip("`→ ").rstrip(".:").replace("×", "x").lower()


_Names = dict[str, dict[str, Meaning]]  # name → link → meaning


@lru_cache(maxsize=1)
def index_names() -> tuple[_Names, _Names, _Names]:
    """Return the names that are titles, those that lead to pages, and those that stand on one."""
    titles = (*_list_examples(), *_list_presets(), *_list_headings())
    return _join(titles), _join(_list_links()), _join((*_list_fields(), *_list_bit_fields(), *_list_code()))


def _join(pairs: Iterable[tuple[str, Meaning]]) -> _Names:
    names: _Names = {}
    for name, meaning in pairs:
        if len(key := _normalize(name)) >= _LEAST:
            names.setdefault(key, {}).setdefault(meaning.link, meaning)
    return names


def _list_pages() -> Iterator[tuple[Tool[Any, Any], str]]:
    """Yield every tool with a page, and the page's title."""
    titles = {entry.href: entry.text for links in list_entries().values() for entry in links}
    for feature in load_features().values():
        yield from ((tool, titles.get(tool.page, tool.page.strip("/"))) for tool in feature.tools if tool.page)


def _list_examples() -> Iterator[tuple[str, Meaning]]:
    """Yield the examples of the tools."""
    for tool, title in _list_pages():
        for example, query in tool.examples:
            yield example, build_page_meaning(f"{title}: {example}", tool.link(query), ())


def _list_fields() -> Iterator[tuple[str, Meaning]]:
    """Yield the fields of the tools, by their labels, names and options."""
    for tool, title in _list_pages():
        for name, option in options_of(tool.question).items():
            notices = (option.meaning,) if option.meaning else ()
            meaning = build_page_meaning(f"{title}: {option.label}", tool.page, notices)
            names = [(name, meaning), (option.label, meaning)]
            for word in option.words if not option.flag else ():
                says = f"{option.label}: {option.called.get(word, word)}."
                chosen = build_page_meaning(f"{title}: {word}", tool.link({name: word}), (says, *notices))
                names += [(word, chosen), (option.called.get(word, ""), chosen)]
            yield from ((spelled, page) for spelled, page in names if _OF_TOOL.search(spelled))


def _list_bit_fields() -> Iterator[tuple[str, Meaning]]:
    """Yield the fields of descriptors, by their names and titles."""
    matrix = [(part, "Matrix descriptor", f"/descriptor/{form.name}") for form in FORMATS for part in form.fields]
    issued = [(part.field, "Instruction descriptor", "/idesc") for kind in KINDS for part in kind.parts]
    zeroed = [(part, "Zero-column mask", "/zero-column-mask") for part in zeromask.FIELDS]
    for part, title, page in (*matrix, *issued, *zeroed):
        label = part.name.replace("_", " ")
        meaning = build_page_meaning(f"{title}: {label}", page, (f"{part.meaning[:1].upper()}{part.meaning[1:]}.",))
        yield from ((spelled, meaning) for spelled in (part.name, label, part.title))


def _list_presets() -> Iterator[tuple[str, Meaning]]:
    """Yield the presets of pages with forms of their own."""
    for preset in presets.PRESETS:
        meaning = build_page_meaning(f"TiledMMA: {preset.kernel}", presets.link_preset(preset), (f"{preset.about}.",))
        yield preset.kernel, meaning
    for common in choices.COMMON:
        link = link_smem(choices.build_tile_query(common.tile))
        yield common.title, build_page_meaning(f"Swizzled tile: {common.title}", link, (f"{common.about}.",))


def _list_parts() -> Iterator[tuple[str, Meaning, str]]:
    """Yield the parts of the guide: heading, page and text."""
    for topic in topics.list_topics():
        for heading, anchor, body in full_text.split_sections(guide_index.read_source(topic.page.rpartition("/")[2])):
            title, link = (
                (f"{topic.title}: {heading}", f"{topic.page}#{anchor}") if heading else (topic.title, topic.page)
            )
            yield heading, build_page_meaning(title, link, (topic.summary,)), body


def _list_headings() -> Iterator[tuple[str, Meaning]]:
    """Yield the groups and the headings of the guide."""
    for title, pages in guide_index.GROUPS:
        first = topics.BY_PAGE[f"/guide/{pages[0].slug}"]
        yield title, build_page_meaning(title, "/guide", (f"A group of the guide, from {first.title} on.",))
    yield from ((heading, page) for heading, page, _ in _list_parts())


def _list_links() -> Iterator[tuple[str, Meaning]]:
    """Yield the texts of links in the guide."""
    for _, _, body in _list_parts():
        yield from ((name, build_page_meaning(_strip(name), to, ())) for name, to in _LINK.findall(body))


def _list_code() -> Iterator[tuple[str, Meaning]]:
    """Yield the code and the emphasis in the guide."""
    for _, page, body in _list_parts():
        for name, says in _list_marked(body):
            yield name, build_page_meaning(page.title, page.link, page.notices if "{{" in says else (says,))


def _list_marked(body: str) -> Iterator[tuple[str, str]]:
    """Yield the code and the emphasis of a part of the guide, and the first cells of its tables, each with its sentence
    or its row.
    """
    for line in body.split("\n"):
        row = [cell for cell in _CELL.split(line.strip()) if cell] if line.lstrip().startswith("|") else []
        if len(row) > 1:
            yield _strip(row[0]), _strip(" · ".join(row))
        for sentence in [" · ".join(row)] if row else _SENTENCE.split(line):
            for pattern in (_CODE, _STRONG):
                yield from ((name, _strip(sentence)) for name in pattern.findall(sentence))


def _strip(text: str) -> str:
    """Return a text of Markdown without its marks."""
    return _MARKS.sub(lambda match: match[1] or "", text).strip()
