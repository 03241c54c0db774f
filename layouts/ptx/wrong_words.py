"""Blame the word of an opcode that PTX lacks, or that is illegal beside the others, with the words allowed there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches

from lanescope import inputs
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.syntax import LAYOUTS, SILENT, STATE_SPACES, OpcodeSyntax

_TYPE_LIKE = re.compile(r"(?!x\d+\Z)[a-z]{1,6}\d\w*")
_NEAR = 0.6  # ratio of difflib from which a word is a misspelling
_LETTER = re.compile(r"\{([a-z])\}")
_LONG_NAMES = {"s": "the scale factors"}


def replace_unknown_words(
    opcode: str, syntax: OpcodeSyntax, rows: Sequence[Instruction]
) -> tuple[OpcodeSyntax, list[str]]:
    """Return a syntax without the words that no instruction has, and a reason for each word that was replaced.

    A word such as `f17` or `cool` takes the place of a type or a layout; others stay modifiers.
    """
    known = {modifier for i in rows for modifier in i.modifiers} | STATE_SPACES
    unknown = {word for word in syntax.modifiers if word not in known}
    reasons: list[str] = []
    if not unknown:
        return syntax, reasons
    words = "".join(opcode.split()).split(".")
    for word in sorted(unknown, key=words.index):
        if near := get_close_matches(word, sorted(SILENT), 1, _NEAR):
            reasons.append(_format_unknown("word", word, near))
        elif near := get_close_matches(word, LAYOUTS, 1, _NEAR):
            syntax = replace(syntax, layouts=_insert_word(words, word, syntax.layouts, near[0]))
            reasons.append(_format_unknown("layout", word, near))
        else:
            continue
        unknown.discard(word)
        syntax = replace(syntax, modifiers=tuple(modifier for modifier in syntax.modifiers if modifier != word))
    wrong = [word for word in words if word in unknown and _TYPE_LIKE.fullmatch(word)]
    return _replace_types(words, syntax, rows, wrong, reasons)


def _insert_word(words: Sequence[str], word: str, others: Sequence[str], correct: str) -> tuple[str, ...]:
    """Return the words of one kind with another in its place among them."""
    left = list(others)
    before = sum(left.count(other) > 0 for other in words[: words.index(word)])
    return *left[:before], correct, *left[before:]


def _replace_types(
    words: Sequence[str], syntax: OpcodeSyntax, rows: Sequence[Instruction], wrong: Sequence[str], reasons: list[str]
) -> tuple[OpcodeSyntax, list[str]]:
    """Replace words that are no types by the nearest types that fit the others."""
    types = [word for word in words if word in wrong or word in syntax.types]
    fitting = list(_list_fitting(syntax, types, wrong, rows)) if wrong else []
    if not fitting:
        return syntax, reasons
    for place, word in enumerate(types):
        if word in wrong:
            allowed = list(dict.fromkeys(i.syntax.types[place] for i in fitting))
            reasons.append(_format_unknown("type", word, allowed, name_type_place(fitting[0], place)))
    spelled = ".".join(types)
    near = max(fitting, key=lambda i: SequenceMatcher(None, spelled, ".".join(i.syntax.types)).ratio())
    rest = tuple(modifier for modifier in syntax.modifiers if modifier not in wrong)
    return replace(syntax, types=near.syntax.types, modifiers=rest), reasons


def _list_fitting(
    syntax: OpcodeSyntax, types: Sequence[str], wrong: Collection[str], rows: Sequence[Instruction]
) -> Iterator[Instruction]:
    """Yield the instructions that have the known types at their places: of the same shape, else of any."""
    alike = [
        i
        for i in rows
        if i.syntax.opcode == syntax.opcode
        and len(i.syntax.types) == len(types)
        and all(word in wrong or word == expected for word, expected in zip(types, i.syntax.types, strict=True))
    ]
    modifiers = {modifier for modifier in syntax.modifiers if modifier not in wrong}
    same = [i for i in alike if i.shape == syntax.shape and modifiers - STATE_SPACES == set(i.modifiers)]
    yield from same or [i for i in alike if i.shape == syntax.shape] or alike


def name_type_place(instruction: Instruction, place: int) -> str:
    """Return which operand the type at a place of an opcode is for: " of A"; "" if the opcode has one type."""
    letters = _LETTER.findall(instruction.family.ptx)
    if len(letters) < 2 or place >= len(letters):
        return ""
    return f" of {_LONG_NAMES.get(letters[place], letters[place].upper())}"


def _format_unknown(kind: str, word: str, allowed: Sequence[str], place: str = "") -> str:
    return f"{kind} '{word}'{place} does not exist (allowed here: {', '.join(allowed)})"


def explain_types(types: Sequence[str], fitting: Sequence[Instruction]) -> str:
    """Return which one of several types would have to be another, "" if no single one. fitting: the instructions that
    differ in their types alone.
    """
    alternatives: dict[int, list[str]] = {}
    for i in fitting:
        expected = i.syntax.types
        different = [
            place for place, word in enumerate(types) if len(expected) == len(types) and expected[place] != word
        ]
        if len(different) == 1 and expected[different[0]] not in alternatives.setdefault(different[0], []):
            alternatives[different[0]].append(expected[different[0]])
    if not alternatives:
        return ""
    named = [(name_type_place(fitting[0], place), types[place], words) for place, words in alternatives.items()]
    if len(named) == 1:
        name, word, words = named[0]
        return f"type '{word}'{name} is not legal here (allowed: {', '.join(words)})"
    ways = inputs.join_words([f"{inputs.join_words(words, 'or')} as the type{name}" for name, _, words in named], "or")
    return f"types '{'.'.join(types)}' are not legal here (allowed: {ways})"
