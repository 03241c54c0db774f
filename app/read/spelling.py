"""Correct near misses in short texts."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache

from lanescope.app.catalogue import full_text
from lanescope.ptx import catalog
from lanescope.reader.instructions import sass

LONGEST = 80  # characters of a text that is respelled
LEAST_LETTERS = 4
LEAST_ALIKE = 0.8
_WORD = re.compile(r"[A-Za-z]+")


def respell(text: str) -> str:
    """Return a short text with misspelled words replaced by known ones; "" if there are none.

    >>> respell("ldmatirx x4")
    'ldmatrix x4'
    """
    if len(text) > LONGEST or re.search(r"[<>{};=\"\n/\\\\]", text):
        return ""
    respelled = _WORD.sub(lambda match: _respell_word(match[0]), text)
    return "" if respelled == text else respelled


def _respell_word(word: str) -> str:
    known = _list_known()
    if len(word) < LEAST_LETTERS or any(form in known for form in (word.lower(), *full_text.split_words(word))):
        return word
    near = [
        candidate for candidate in known if candidate[0] == word[0].lower() and len(candidate) >= LEAST_LETTERS
    ]  # people mistype the first letter least
    return next(iter(get_close_matches(word.lower(), near, 1, LEAST_ALIKE)), word)


@lru_cache(maxsize=1)
def _list_known() -> dict[str, None]:
    """List the known words: opcodes of PTX and SASS first, then those of titles and headings."""
    opcodes = (word for opcode in (*catalog.OPCODES, *sass.OPCODES) for word in re.findall("[a-z]{4,}", opcode.lower()))
    return dict.fromkeys((*opcodes, *full_text.list_prominent()))
