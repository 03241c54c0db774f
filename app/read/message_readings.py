"""Messages of ptxas, the driver and CuTe in a text, each with its page."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from functools import lru_cache

from lanescope.app.catalogue import full_text
from lanescope.app.kit.fact import copy_fact
from lanescope.app.messages.facts import NUMBER_NOTICE, link_message
from lanescope.app.read import meaning_links
from lanescope.app.read.facts import Meaning, Reading
from lanescope.messages import ROWS, FoundMessage, MessageRow, recognise_messages
from lanescope.messages.map_rules import find_rules
from lanescope.messages.row import DRIVER, PTXAS
from lanescope.reader.instructions.assembler import recognise_ptxas_message

MOST_TITLED = 10  # if more messages have all words of a text, it names a subject and not a message
_PROGRAM = re.compile(r"__global__\s|^\s*\.version\s+\d|^\s*#\s*include\b", re.M)


def read_message(text: str) -> Reading | None:
    """Read the messages that a tool printed.

    None for other texts, for programs, and for refused driver calls, whose arguments say more.
    """
    if _PROGRAM.search(text):
        return None
    reading = recognise_messages(text)
    rows = [message.row for message in reading.found if message.row.source != DRIVER] or list(reading.numbers)
    if not rows:
        return None
    about = _explain_instruction(text) if rows[0].source == PTXAS else None
    pages = [build_page(row) for row in rows]
    if about is not None:
        pages[0] = dataclasses.replace(pages[0], notices=(*about.notices, *pages[0].notices))
        pages.append(about)
    if len(rows) > 1 and reading.numbers:
        pages[0] = dataclasses.replace(pages[0], notices=(NUMBER_NOTICE, *pages[0].notices))
    return copy_fact(Reading, pages[0], also=tuple(pages[1:]))


def find_link(text: str) -> str:
    """Find the page of the one message that a tool printed in a text, "" if it has several or none."""
    found = () if _PROGRAM.search(text) else recognise_messages(text).found
    return link_message(found[0].row.slug) if len(found) == 1 else ""


def is_title(text: str) -> bool:
    """Return whether a text has the words of one message's title, and no others."""
    words = set(full_text.split_words(text[: full_text.LONGEST]))
    return len(words) > 1 and any(words == set(full_text.split_words(row.title)) for row in ROWS)


def find_titled(text: str) -> list[Meaning]:
    """Find the messages that have all words of a text in their titles or in their output; at most a few."""
    words = set(full_text.split_words(text[: full_text.LONGEST]))
    found = [row for row, title_words in _index_titles() if words and words <= title_words]
    return [build_page(row) for row in found] if len(found) <= MOST_TITLED else []


@lru_cache(maxsize=1)
def _index_titles() -> tuple[tuple[MessageRow, frozenset[str]], ...]:
    return tuple((row, frozenset(full_text.split_words(" ".join((row.title, *row.texts))))) for row in ROWS)


def build_page(row: MessageRow) -> Meaning:
    """Build the meaning of a message: its page."""
    page = link_message(row.slug)
    return Meaning(kind="topic", title=row.title, link=page, facts={"page": page}, notices=(row.reason, row.change))


def list_nearest(text: str) -> list[Meaning]:
    """List the pages of the messages most similar to a printed text; [] if it has no message, or a known one."""
    return [build_page(row) for row in recognise_messages(text).nearest]


def add_rules(meanings: Sequence[Meaning], text: str) -> list[Meaning]:
    """Add the page of each rule that a tensor map among the meanings breaks, and of the driver's own message."""
    maps = [meaning for meaning in meanings if meaning.kind == "tensor_map"]
    if not maps:
        return list(meanings)
    rows = find_rules(notice for meaning in maps for notice in meaning.notices)
    refusals = [_build_refusal(message) for message in recognise_messages(text).found if message.row.source == DRIVER]
    return [*meanings, *(build_page(row) for row in rows), *refusals]


def _build_refusal(message: FoundMessage) -> Meaning:
    """Build the meaning of the driver's message, with the meaning of its result code."""
    page = build_page(message.row)
    result = dict(message.values).get("result", "1")
    if result == "1":
        return page
    notice = f"The result is {result}, not 1: an earlier kernel failed, and the tensor map may well be right."
    return dataclasses.replace(page, notices=(notice, *page.notices))


def _explain_instruction(text: str) -> Meaning | None:
    """Explain the instruction that a message of ptxas names: its targets, the nearest shapes."""
    for found in recognise_ptxas_message(text):
        page = meaning_links.link_topic(dict(found.facts))
        return Meaning(kind="topic", title=found.title, link=page, facts={"page": page}, notices=found.notices)
    return None
