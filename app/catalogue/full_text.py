"""Every page by its words: titles, headings and text of the guide, menu entries of the tools. A question finds the
pages that share words with it, rare words before common ones. Built once, from the Markdown.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from lanescope.app.catalogue import topics
from lanescope.app.guide import index as guide_index
from lanescope.app.kit import menus
from lanescope.names import vocabulary

MOST = 6  # pages of an answer
LONGEST = 400  # characters of a question
MOST_COMMON = 0.4  # share of the pages that have a word that alone finds none
TITLE, HEADING, LEAD, BODY = 8.0, 4.0, 3.0, 1.0  # weight of a word, by its place
_WORD = re.compile(r"[a-z0-9_]+")
_HEADING = re.compile(r"^##+ (.*?)(?: \{#([\w-]+)\})?$")
SILENT = vocabulary.SENTENCE | frozenset(  # words that never select a page
    """a about all also and any as be been but can could did done each every get gives go had has here if just like made
    make makes mean means more most much need never no not nothing once one only other our out own please same say
    should so some something such take than their them then there these they thing too two up us used uses very want
    was way we were when while who why will work works world would you your""".split()
)
_QUESTION = re.compile(
    r"\s*(?:how|what|which|why|where|when|who|can|could|do|does|is|are|should|must|will)\b.*|.*[a-z)]\s*\?\s*",
    re.I | re.S,
)
_PLAIN = re.compile(r"[\w'+-]+(?:(?:[,:]? +|[./]|::)[\w'+-]+)*[.?!]?", re.A)  # words of one line, without other marks
LEAST_SHARE = 0.5  # share of a question's words that the pages have
# Phrases of a question → the words that the pages have for it.
SYNONYMS = {
    "2cta": "pair cta_group",
    "2sm": "pair cta_group",
    "1sm": "cta_group",
    "reorder_meta": "metadata order reorder",
    "reordermeta": "metadata order reorder",
    "multicast": "tma multicast",
    "xor": "swizzle xor",
    "smem": "shared memory",
    "tmem": "tensor memory",
    "umma": "tcgen05",
    "gmma": "wgmma descriptor",
    "sf": "scale factor",
    "sfa": "scale factor",
    "sfb": "scale factor",
    "garbage": "wrong results",
    "incorrect": "wrong results",
    "nan": "wrong results",
    "permuted": "wrong results permuted",
    "swapped": "wrong results permuted",
    "zero": "zero wrong results",
    "shuffled": "wrong results permuted",
    "preshuffle": "permutation pair rows",
    "tensormap": "tensor map tma",
    "flash": "flashattention",
    "attention": "flashattention",
    "advance": "advance step",
    "slow": "slow bank conflicts",
    "transposed": "transpose trans",
    "hopper": "wgmma",
    "blackwell": "tcgen05",
    "quantized": "scale factor",
    "deadlock": "wait fence",
    "race": "fence proxy async",
    "hazard": "fence proxy async",
    "leading": "lbo leading",
    "stride": "stride sbo",
    "holds": "lane register fragment",
    "owns": "lane register fragment",
    "layouts": "layout",
}


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page for a question: its address, with the best heading if there is one, its title and its lead."""

    page: str
    title: str
    summary: str


@dataclass(frozen=True, slots=True)
class _Section:
    """A page, or a part of one below a heading: its words with their weights."""

    page: str
    anchor: str
    title: str
    heading: str
    summary: str
    weights: dict[str, float]


@dataclass(frozen=True, slots=True)
class _TextIndex:
    sections: tuple[_Section, ...]
    pages: dict[str, frozenset[int]]  # word → sections that have it
    rarity: dict[str, float]  # word → log of how few pages have it


def find_pages(text: str) -> list[FoundPage]:
    """Find the pages that share words with a question, best first; [] if no word is significant.

    >>> find_pages("which address is swizzled")[0].page
    '/guide/swizzle#which-address-is-swizzled'
    """
    index = _build_index()
    words = [word for word in _expand(split_words(text[:LONGEST])) if word in index.rarity]
    prominent = {word for word in words if _is_prominent(index, word)}
    telling = prominent | {word for word in words if index.rarity[word] > -math.log(MOST_COMMON)}
    if not prominent and len(telling) < 2:
        return []
    scores: dict[int, float] = {}
    for word in dict.fromkeys(words):
        for number in index.pages[word]:
            scores[number] = scores.get(number, 0.0) + index.rarity[word] * index.sections[number].weights[word]
    best: dict[str, tuple[float, _Section]] = {}
    for number, sum_of_words in scores.items():
        section = index.sections[number]
        shared = len(telling & section.weights.keys())
        if not shared:
            continue
        score = sum_of_words * (1 + shared / len(telling)) / 2
        if section.page not in best or score > best[section.page][0]:
            best[section.page] = (score, section)
    ranked = sorted(best.values(), key=lambda pair: -pair[0])[:MOST]
    return [_describe(section) for _, section in ranked]


def is_asked(text: str) -> bool:
    """Return whether a text is a search: a question most of whose words are known, or words that are all known.

    Any other text only shares words with them: prose, a date, a path, a log.

    >>> is_asked("why are my results wrong"), is_asked("2026-11-22"), is_asked("commit 9fceb02d0ae598e9")
    (True, False, False)
    """
    plain = text.strip()
    words = [spellings for word in set(_WORD.findall(plain.lower())) if (spellings := split_words(word))]
    if not any(re.search("[a-z]", word) for word, *_ in words):
        return False  # numbers alone
    known = [spellings for spellings in words if _is_known(spellings)]
    if _QUESTION.fullmatch(plain):
        return len(known) >= LEAST_SHARE * len(words)
    return len(known) == len(words) and _PLAIN.fullmatch(plain) is not None


def _is_known(spellings: list[str]) -> bool:
    """Return whether the pages have a word or, of a name with _, all its parts. spellings: of `split_words`."""
    full_word, *parts = (word in _build_index().rarity or word in SYNONYMS for word in spellings)
    return full_word or (bool(parts) and all(parts))


def find_titled(text: str) -> list[FoundPage]:
    """Find the pages whose title is a text.

    >>> [found.page for found in find_titled("Instruction descriptor")]
    ['/idesc']
    """
    words = split_words(text[:LONGEST])
    titled = [
        section for section in _build_index().sections if not section.heading and split_words(section.title) == words
    ]
    return [_describe(section) for section in titled if words]


def _is_prominent(index: _TextIndex, word: str) -> bool:
    """Return whether a single word selects a page: it occurs in a title, a heading or a first sentence."""
    if len(word) < 2:
        return False
    return any(index.sections[number].weights[word] >= LEAD for number in index.pages[word])


def list_prominent() -> list[str]:
    """List the words that select a page alone."""
    index = _build_index()
    return [word for word in index.rarity if word.isalpha() and _is_prominent(index, word)]


def measure_rarity(word: str) -> float:
    """Return the rarity of a word: high if few pages have it, highest if none has."""
    index = _build_index()
    most = max(index.rarity.values())
    return max((index.rarity.get(part, most) for part in split_words(word)), default=most)


def split_words(text: str) -> list[str]:
    """Split a text into the words of the index: lower case, without the s of a plural; parts of a name with _, too."""
    words = []
    for word in _WORD.findall(text.lower()):
        parts = [word, *(part for part in word.split("_") if part != word and len(part) > 1)]
        words += [_strip_plural(part) for part in parts if part not in SILENT and (len(part) > 1 or part == "k")]
    return words


def _strip_plural(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _expand(words: list[str]) -> list[str]:
    """Return the words of a question with their synonyms on the pages."""
    more = [other for word in words if word in SYNONYMS for other in split_words(SYNONYMS[word])]
    return [*words, *more]


def _describe(section: _Section) -> FoundPage:
    page = f"{section.page}#{section.anchor}" if section.anchor else section.page
    title = f"{section.title}: {section.heading}" if section.heading else section.title
    return FoundPage(page, title, section.summary)


@lru_cache(maxsize=1)
def _build_index() -> _TextIndex:
    sections = (*_list_guide_sections(), *_list_tools())
    having: dict[str, set[int]] = {}
    for number, section in enumerate(sections):
        for word in section.weights:
            having.setdefault(word, set()).add(number)
    pages = {word: {sections[number].page for number in numbers} for word, numbers in having.items()}
    count = len({section.page for section in sections})
    return _TextIndex(
        sections,
        {word: frozenset(numbers) for word, numbers in having.items()},
        {word: math.log((count + 1) / len(found)) for word, found in pages.items()},
    )


def _list_guide_sections() -> Iterator[_Section]:
    """Yield every page of the guide, and every part of it below a heading."""
    for topic in topics.list_topics():
        slug = topic.page.removeprefix("/guide/")
        parts = split_sections(guide_index.read_source(slug))
        entry = next(entry for entry in guide_index.ENTRIES if entry.slug == slug)
        title_words = _count(f"{topic.title} {slug} {entry.words} {' '.join(entry.names)}", TITLE)
        lead = _count(topic.summary, LEAD)
        full_text = _count(" ".join(body for _, _, body in parts), BODY)
        headings = _count(" ".join(heading for heading, _, _ in parts), HEADING)
        yield _Section(topic.page, "", topic.title, "", topic.summary, _join(title_words, lead, full_text, headings))
        for heading, anchor, body in parts:
            if heading:
                weights = _join(title_words, _count(heading, TITLE), _count(body, BODY * 1.5), lead)
                yield _Section(topic.page, anchor, topic.title, heading, topic.summary, weights)


def split_sections(markdown: str) -> list[tuple[str, str, str]]:
    """Split a page into (heading, its anchor, its lines); the first has no heading. The anchors are those of
    app/guide/rendering.py.
    """
    parts: list[tuple[str, str, list[str]]] = [("", "", [])]
    for line in markdown.splitlines()[1:]:
        if match := _HEADING.match(line):
            plain = re.sub(r"[`*]|<[^>]*>", "", match[1])
            parts.append((plain, match[2] or re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-"), []))
        else:
            parts[-1][2].append(line)
    return [(heading, anchor, "\n".join(lines)) for heading, anchor, lines in parts]


def _list_tools() -> Iterator[_Section]:
    """Yield the pages of all menus except the guide."""
    for links in menus.list_entries().values():
        for entry in links:
            if entry.href.startswith("/guide"):
                continue
            path = " ".join(part for part in entry.href.split("/") if part)
            weights = _join(_count(f"{entry.text} {path}", TITLE), _count(entry.about, HEADING))
            yield _Section(entry.href, "", entry.text, "", entry.summary, weights)


def _count(text: str, weight: float) -> dict[str, float]:
    """Return the weight of each word of a text; repetitions add little."""
    return {word: weight * (1 + math.log(n)) for word, n in Counter(split_words(text)).items()}


def _join(*weights: dict[str, float]) -> dict[str, float]:
    """Join weights: of several places of a word, the best counts and the others add a little."""
    joined: dict[str, float] = {}
    for each in weights:
        for word, weight in each.items():
            before = joined.get(word, 0.0)
            joined[word] = max(before, weight) + 0.25 * min(before, weight)
    return joined
