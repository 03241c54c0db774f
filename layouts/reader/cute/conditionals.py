"""Describe the atom in each branch of std::conditional_t."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lanescope.cxx.source_text import split_list
from lanescope.reader.cute import atoms
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText
from lanescope.reader.meaning import TextMeaning

_CONDITIONAL = re.compile(r"(?<![\w.])(?:std::|cute::|cuda::std::)?conditional(?:_t)?\s*<")
_MOST = 8  # conditionals per text
_DEEPEST = 4
_LONGEST = 80  # characters of a branch or a condition
_CHOSEN = ("instruction", "tiled_mma", "tiled_copy", "layout")


def add_conditionals(text: str, meanings: list[TextMeaning]) -> list[TextMeaning]:
    """Return the meanings with the atoms that the text's undecided conditionals choose between."""
    if "conditional" not in text or not _CONDITIONAL.search(text):
        return meanings
    home = terms.make_term_text(text)
    notices: list[str] = []
    past = 0
    for term in terms.find_terms(home, _CONDITIONAL):
        if term.span[0] >= past and len(notices) < _MOST:
            past = term.span[1]
            notices += _describe_arms(home, term, "")
    if not notices:
        return meanings
    return [_add_notices(meaning, tuple(notices)) for meaning in meanings]


def _add_notices(meaning: TextMeaning, notices: tuple[str, ...]) -> TextMeaning:
    count = len(meaning.facts.get("candidates", ()))
    title = (
        f"std::conditional_t: {count} instructions fit"
        if meaning.kind == "instruction" and count > 1
        else meaning.title
    )
    return replace(meaning, title=title, notices=(*meaning.notices, *notices)) if meaning.kind in _CHOSEN else meaning


def _describe_arms(home: TermText, term: SyntaxTerm, before: str, depth: int = 0) -> Iterator[str]:
    """Yield a sentence for each branch: the condition, the type, and the instruction if it is an atom."""
    angle = term.angle or ()
    written = _split_arguments(home.text[slice(*term.span)])
    if len(angle) != 3 or len(written) != 3 or depth > _DEEPEST:
        return
    condition, *names = (" ".join(words.split())[:_LONGEST] for words in written)
    for holds, value, name in zip(("", "not "), angle[1:], names, strict=True):
        where = f"{before}{holds}({condition})" if holds else f"{before}{condition}"
        meant = home.resolve_value(value)
        if isinstance(meant, SyntaxTerm) and meant.name in ("conditional_t", "conditional"):
            yield from _describe_arms(home, meant, f"{where} and ", depth + 1)
        else:
            yield f"If {where}, {name}{_describe_arm_atom(home, value, name)}."


def _describe_arm_atom(home: TermText, value: Any, name: str) -> str:
    """Describe a branch of a conditional: its atom and the atom's instruction; "" if the type is not an atom."""
    atom = atoms.parse_atom(home, value)
    if atom is None or not atom.found:
        return ""
    called = f" = {atom.name}" if atom.name and atom.name not in name else ""
    return f"{called}: {atom.found[0].ptx if len(atom.found) == 1 else f'{len(atom.found)} instructions'}"


def _split_arguments(text: str) -> list[str]:
    """Return the arguments of the first <…> in a text; [] if it is not closed."""
    places, end = split_list(text, text.find("<") + 1)
    return [text[first:past] for first, past in places] if text[end : end + 1] == ">" else []
