"""Recognise messages in a pasted text among file names, line numbers, functions and other noise."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lanescope.messages.row import CUTE, PTXAS, MessageRow, compile_text
from lanescope.messages.table import ROWS
from lanescope.reader.instructions.assembler import recognise_ptxas_message

LONGEST = 1 << 16  # characters that are searched
NEAREST = 3
MOST_WORDS = 8  # most blanks in a query for a number
LEAST_FRAGMENT, LEAST_WORDS = 16, 3  # minimum characters and words of a fragment that finds a message
_ASSERTION = re.compile(r"static[ _]assert(?:ion)? failed", re.I)
_QUOTES = str.maketrans({"‘": "'", "’": "'", "`": "'", "“": '"', "”": '"', "\u00a0": " "})
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_CODE = re.compile(r"\(?\b(C7[0-9]{3})\b\)?")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
# output of a tool, not a program or a question
_PRINTED = re.compile(
    rf"\b(?:error|fatal|warning|info)\b\s*(?:#[\w-]+)?\s*:|{_ASSERTION.pattern}|\bptxas\b"
    r"|Potential Performance Loss"
)


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message in a text. values: the printed values of the row's {names}; code: the message's number."""

    row: MessageRow
    values: tuple[tuple[str, str], ...]
    code: str


@dataclass(frozen=True, slots=True)
class MessageReading:
    """The messages of a text in order, one per row.

    nearest: the most similar rows if none matches; numbers: rows with the number, if the text is only a number.
    """

    found: tuple[FoundMessage, ...] = ()
    nearest: tuple[MessageRow, ...] = ()
    numbers: tuple[MessageRow, ...] = ()


def clean_message(text: str) -> str:
    """Return a text with plain quotes and single spaces, without terminal colours."""
    return " ".join(_ESCAPE.sub("", text[:LONGEST]).translate(_QUOTES).split())


def recognise_messages(text: str) -> MessageReading:
    """Return the messages of tools in a text.

    CuTe's assertions are short and use common words, so they are accepted only after "static assertion failed", or as
    the complete text. A fragment of a message is accepted if no other message contains it.
    """
    cleaned = clean_message(text)
    if not cleaned:
        return MessageReading()
    matches = _drop_contained([(match.start(), match.end(), row, match) for row, match in _match_rows(cleaned)])
    if any(row.matrix_only for _, _, row, _ in matches) and not recognise_ptxas_message(text[:LONGEST]):
        matches = [item for item in matches if not item[2].matrix_only]
    first: dict[str, FoundMessage] = {}
    for start, _, row, match in matches:
        values = tuple((name, value) for name, value in match.groupdict().items() if value)
        first.setdefault(row.slug, FoundMessage(row, values, _find_code_before(cleaned, start)))
    if first:
        return MessageReading(found=tuple(first.values()))
    is_printed = _PRINTED.search(cleaned) is not None
    if (code := _CODE.search(cleaned)) and not is_printed and cleaned.count(" ") < MOST_WORDS:
        return MessageReading(numbers=list_numbered(code[1]))
    if part_of := _find_fragment(cleaned):
        return MessageReading(found=(FoundMessage(part_of, (), ""),))
    return MessageReading(nearest=_find_nearest(cleaned) if is_printed else ())


def _find_fragment(cleaned: str) -> MessageRow | None:
    """Return the only row that contains a text; None if the text is short or in several rows."""
    part = cleaned.strip("\"'.: ").lower()
    if len(part) < LEAST_FRAGMENT or part.count(" ") < LEAST_WORDS - 1:
        return None
    rows = [row for row in ROWS if any(part in text.lower() for text in row.texts)]
    return rows[0] if len(rows) == 1 else None


def list_numbered(code: str) -> tuple[MessageRow, ...]:
    """Return the rows with a message number of any ptxas release."""
    return tuple(row for row in ROWS if any(number == code for _, number in row.codes))


@lru_cache(maxsize=1)
def _compile_rows() -> tuple[tuple[MessageRow, str, re.Pattern[str]], ...]:
    """Return (row, longest literal part, pattern), longest first; the literal part is for a quick pre-check."""
    rows = [(row, max(re.split(r"\{\w+\}", text), key=len), compile_text(text)) for row in ROWS for text in row.texts]
    return tuple(sorted(rows, key=lambda compiled: -len(compiled[1])))


def _match_rows(cleaned: str) -> list[tuple[MessageRow, re.Match[str]]]:
    """Return the rows that match, each with its first place that is not inside a longer match."""
    asserted = [match.end() for match in _ASSERTION.finditer(cleaned)]
    occupied = bytearray(len(cleaned))  # 1 if the text contains a longer literal part
    matches = []
    for row, literal, pattern in _compile_rows():
        is_matched = False
        for match in pattern.finditer(cleaned) if literal in cleaned else ():
            is_new = not all(occupied[match.start() : match.end()])
            occupied[match.start() : match.end()] = b"\1" * (match.end() - match.start())
            if not is_matched and is_new and (row.source != CUTE or _is_asserted(cleaned, match, asserted)):
                matches.append((row, match))
                is_matched = True
    return matches


def _is_asserted(cleaned: str, match: re.Match[str], asserted: list[int]) -> bool:
    """Return whether an assertion's text follows a compiler's words, or is the complete text."""
    if cleaned.strip("\"'. ") == match[0].strip("\"'. "):
        return True
    return any(end <= match.start() for end in asserted)


def _drop_contained(
    matches: list[tuple[int, int, MessageRow, re.Match[str]]],
) -> list[tuple[int, int, MessageRow, re.Match[str]]]:
    """Return the matches that are not inside longer ones, in the order of the text."""
    remaining = [
        match
        for match in matches
        if not any(
            container[0] <= match[0] and match[1] <= container[1] and container[1] - container[0] > match[1] - match[0]
            for container in matches
        )
    ]
    return sorted(remaining, key=lambda match: match[0])


def _find_code_before(cleaned: str, start: int) -> str:
    """Return the number before a ptxas message, "" if there is none."""
    before = re.search(r"\((C7\d{3})\)\s*$", cleaned[max(0, start - 12) : start])
    return before[1] if before else ""


@lru_cache(maxsize=1)
def _index_words() -> tuple[tuple[MessageRow, frozenset[str]], ...]:
    return tuple(
        (row, frozenset(_WORD.findall(re.sub(r"\{\w+\}", " ", text).lower()))) for row in ROWS for text in row.texts
    )


def _find_nearest(cleaned: str) -> tuple[MessageRow, ...]:
    """Return the rows that share the most words with a text, or else those with its number."""
    words = frozenset(_WORD.findall(cleaned.lower()))
    number = _CODE.search(cleaned)
    near: dict[MessageRow, float] = {}
    for row, texts in _index_words():
        shared = len(words & texts) / max(len(texts), 4)
        if row.source == PTXAS and number and any(code == number[1] for _, code in row.codes):
            shared += 0.2
        near[row] = max(near.get(row, 0.0), shared)
    ordered = sorted(near, key=lambda row: -near[row])[:NEAREST]
    alike = tuple(row for row in ordered if near[row] >= 0.5)
    return alike or (list_numbered(number[1]) if number else ())
