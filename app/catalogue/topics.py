"""Topics: pages that explain something, found by name or by their words; a search lists them beside instructions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated

from lanescope.app.guide import index as guide_index
from lanescope.app.kit.fact import Description, copy_fact, fact
from lanescope.names import vocabulary
from lanescope.ptx import syntax
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.wmma_api import FUNCTIONS

MOST = 6
SILENT = vocabulary.SENTENCE | syntax.SILENT | {"a", "and"}
_WORD = re.compile(r"[0-9a-z_]+")
_THREAD = re.compile(r"#(\d+)$")  # of a name: a thread's number, which counts as a word
_MARKS = re.compile(r"[`*]|\[([^\]]*)\]\([^)]*\)|\{\{[^}]*\}\}")


@fact
class Topic:
    """One page."""

    page: Annotated[str, Description("Its address.")]
    title: str
    summary: Annotated[str, Description("The question that it answers.")]


@fact
class Topics:
    """The topics of a text, the named ones first."""

    count: int
    topics: tuple[Topic, ...]


@fact
class TopicEntry(Topic):
    """A topic with its unambiguous names, and the words that find it by their beginnings."""

    names: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def shown(self) -> Topic:
        """Return the topic as a fact of an answer."""
        return copy_fact(Topic, self)


@fact
class TopicExport:
    """Every topic with its keys, the number that a search shows, and the words to ignore."""

    silent: tuple[str, ...]
    most: int
    topics: tuple[TopicEntry, ...]


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _take_first_sentence(text: str) -> str:
    """Return the first sentence of a paragraph, or what comes before a colon as one, without Markdown's marks."""
    plain = _MARKS.sub(lambda match: match[1] or "", text)
    return re.sub(r":$", ".", re.split(r"(?<=[.:]) (?=[A-Z])", plain)[0])


@lru_cache(maxsize=1)
def list_topics() -> tuple[TopicEntry, ...]:
    """List every topic, in the guide's order."""
    topics = []
    for entry in guide_index.ENTRIES:
        title = guide_index.read_title(entry.slug)
        words = [
            entry.slug.lower(),
            *_split_words(title),
            *_split_words(entry.slug),
            *_split_words(entry.words),
            *(word for name in entry.names for word in _split_words(name)),
        ]
        summary = _take_first_sentence(guide_index.read_lead(entry.slug))
        topics.append(
            TopicEntry(
                page=f"/guide/{entry.slug}",
                title=title,
                summary=summary,
                names=entry.names,
                words=tuple(dict.fromkeys(words)),
            )
        )
    return tuple(topics)


BY_PAGE = {topic.page: topic for topic in list_topics()}


def find_named_topics(text: str) -> list[TopicEntry]:
    """Find the topics that a text names, in the text's order: `wgmma.fence` in an asm statement, load_matrix_sync in
    C++.

    If one name is part of another (nvcuda::wmma, bmma_sync, fence.proxy.async::generic), only the longer one counts.
    """
    spans: dict[TopicEntry, tuple[int, int]] = {}
    for topic in list_topics():
        for name in topic.names:
            past = r"\w|::" if "." in name else r"\w"  # wmma::fragment names wmma, async::generic is another word
            match = re.search(rf"(?<![\w.]){re.escape(name)}(?!{past})", text)
            if match and (topic not in spans or match.start() < spans[topic][0]):
                spans[topic] = match.span()
    return sorted(spans, key=lambda topic: spans[topic])


def find_instruction_topics(instruction: Instruction) -> list[TopicEntry]:
    """Find the pages of an instruction: the C++ function that compiles to it, or the instructions that order a
    wgmma.
    """
    if instruction.family.ordered_by:
        names = list(instruction.family.ordered_by)
    else:
        become = [
            function for function in FUNCTIONS if function.becomes and instruction.ptx.startswith(function.becomes)
        ]
        special = [function for function in become if function.modifier and function.modifier in instruction.modifiers]
        names = [function.name for function in special or become if special or not function.modifier]
    return [BY_PAGE[f"/guide/{name}"] for name in names]


def find_topics(text: str) -> list[TopicEntry]:
    """Find the topics of a search text: first the named ones, then those with all its words, full words before
    beginnings.
    """
    first = find_named_topics(text)
    numbers = {match[1] for topic in list_topics() for name in topic.names if (match := _THREAD.search(name))}
    words = [
        word for word in _split_words(text[:400]) if word not in SILENT and (not word.isdecimal() or word in numbers)
    ]
    rest = [
        topic
        for topic in list_topics()
        if words and topic not in first and all(any(word.startswith(part) for word in topic.words) for part in words)
    ]
    rest.sort(key=lambda topic: -sum(part in topic.words for part in words))
    return [*first, *rest][:MOST]


def build_export() -> TopicExport:
    """Build the topics and their keys for the script of an exported site, which follows the rules of `find_topics`."""
    return TopicExport(silent=tuple(sorted(SILENT)), most=MOST, topics=list_topics())
