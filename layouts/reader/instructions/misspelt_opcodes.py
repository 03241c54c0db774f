"""Correct the misspelt words of a PTX opcode: its first word, that of a family's instruction, and its modifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache

from lanescope.inputs import join_words
from lanescope.ptx.table.modifiers import MODIFIERS as MATRIX_MODIFIERS
from lanescope.ptx.table.opcodes import FIRST_WORDS, MODIFIERS, NUMBERED, SECOND_WORDS, UNDOCUMENTED

# ratios of difflib from which a word is a misspelling
_NEAR_FIRST, _NEAR_FAMILY, _NEAR_SECOND, _NEAR_MODIFIER = 0.65, 0.6, 0.6, 0.75
_SHORTEST = 3  # characters of a word that is judged: `v.x` is a component of a vector
_LISTED = ("kind::", "cta_group::")  # all that ptxas has are known; elsewhere another number may be newer
_DIGITS = re.compile(r"\d+")


@lru_cache(maxsize=512)
def correct_opcode(opcode: str) -> str:
    """Return an opcode with its misspelt words corrected; "" if it has none.

    An unknown word that is like no word of PTX is not judged: it may be newer, or not PTX.

    >>> correct_opcode("mbarier.init.shared::cta.b64")
    'mbarrier.init.shared::cta.b64'
    """
    words = opcode.split(".")
    if len(words) < 2 or words[0] in UNDOCUMENTED:
        return ""
    first = _correct_first(words)
    known = 2 if first in SECOND_WORDS else 1  # words that a table lists at their place
    second = [_correct_second(first, words[1])] if known == 2 else []
    corrected = first, *second, *(_correct_modifier(word) for word in words[known:])
    return ".".join(corrected) if corrected != tuple(words) else ""


def explain_misspelling(opcode: str) -> str:
    """Return which word of an opcode PTX lacks, with the nearest form; "" if none is a misspelling.

    >>> explain_misspelling("mbarier.init.shared::cta.b64")
    "PTX has no instruction 'mbarier'. Nearest: mbarrier.init.shared::cta.b64."
    """
    corrected = correct_opcode(opcode)
    return (
        f"{_describe_first_difference(opcode.split('.'), corrected.split('.'))} Nearest: {corrected}."
        if corrected
        else ""
    )


def is_opcode(opcode: str) -> bool:
    """Return whether PTX has every word of an opcode.

    >>> [is_opcode(opcode) for opcode in ("cvt.rn.bf16x2.f32", "match.group", "std.max")]
    [True, False, False]
    """
    first, *modifiers = opcode.split(".")
    return first in FIRST_WORDS and bool(modifiers) and all(map(is_modifier, modifiers))


def _correct_first(words: Sequence[str]) -> str:
    """Return the first word of an opcode, corrected if its other words show that it is PTX."""
    first = words[0]
    if first in SECOND_WORDS and words[1] not in SECOND_WORDS[first]:  # wmma.fence: wgmma has it
        others = [family for family, seconds in SECOND_WORDS.items() if words[1] in seconds]
        return next(iter(get_close_matches(first, others, 1, _NEAR_FAMILY)), first)
    shown = any(len(word) > 1 and is_modifier(word) for word in words[1:])
    if first in FIRST_WORDS or len(first) < _SHORTEST or not shown:
        return first
    return next(iter(get_close_matches(first, sorted(FIRST_WORDS), 1, _NEAR_FIRST)), first)


def _correct_second(family: str, word: str) -> str:
    """Return the word nearest to one that follows a family's name, else the word itself."""
    words = SECOND_WORDS[family]
    return word if word in words else next(iter(get_close_matches(word, words, 1, _NEAR_SECOND)), word)


def _correct_modifier(word: str) -> str:
    """Return the nearest modifier of a misspelt one, else the word itself."""
    if len(word) < _SHORTEST or is_modifier(word):
        return word
    near = get_close_matches(word, _list_modifiers(), 1, _NEAR_MODIFIER)
    newer = near and not word.startswith(_LISTED) and _DIGITS.sub("", near[0]) == _DIGITS.sub("", word)
    return near[0] if near and not newer else word


def is_modifier(word: str) -> bool:
    """Return whether PTX has a modifier, or it has digits as types and shapes do."""
    return word in _list_modifiers() or NUMBERED.fullmatch(word) is not None


@lru_cache(maxsize=1)
def _list_modifiers() -> dict[str, None]:
    return dict.fromkeys(sorted(MODIFIERS | MATRIX_MODIFIERS.keys()))


def _describe_first_difference(words: Sequence[str], corrected: Sequence[str]) -> str:
    n = next(n for n, (word, other) in enumerate(zip(words, corrected, strict=True)) if word != other)
    if n == 0 and words[0] not in FIRST_WORDS:
        return f"PTX has no instruction '{words[0]}'."
    if n == 0:
        return f"{words[0]} has no '.{words[1]}'."
    if n == 1 and words[0] in SECOND_WORDS:
        return f"PTX has no '{'.'.join(words[:2])}': {words[0]} has {join_words(list(SECOND_WORDS[words[0]]))}."
    return f"PTX has no modifier '.{words[n]}'."
