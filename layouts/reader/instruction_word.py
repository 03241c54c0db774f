"""A tcgen05 instruction descriptor: 32 bits that are legal under a kind, as a number or as code that names them so.

The word does not say its kind, so every kind under which it is legal is named. PTX ISA 9.1, 9.7.16.4.2.
"""

from __future__ import annotations

import re

from layouts import idesc
from layouts.errors import LayoutError
from layouts.idesc import Idesc
from layouts.kind import Kind
from layouts.reader.found import Found
from layouts.reading import listed
from layouts.spelling import read_word
from layouts.table.kinds import KINDS

_NUMBER = re.compile(r"\s*0[xX][0-9a-fA-F']{6,9}[uU]?[lL]{0,2}\s*;?\s*")
_MOVED = re.compile(r"\bmov\.[bu]32\s+%?\w*(?:id|idesc|i_desc)\s*,\s*(0[xX][0-9a-fA-F]{1,8}|[1-9]\d{0,9})\s*;")
_NAMED = re.compile(r"\b\w*?(?:i_?desc|instr(?:uction)?_desc\w*)\w*\s*(?:=|\{)", re.I)
_MOST = 2000  # characters of code that spells one word


def read(text: str) -> tuple[Found, ...]:
    """The word of a text that is one, under the kinds that take it; none where no kind does."""
    if moved := _MOVED.search(text):
        named = set(re.findall(r"kind::(\w+)", text))
        return _found(int(moved[1], 0), [row for row in KINDS if row.name in named], False)
    number = _NUMBER.fullmatch(text) is not None
    if not number and (len(text) > _MOST or "<<" not in text or not _NAMED.search(text)):
        return ()
    try:
        word = idesc.read(text.strip().rstrip(";")) if number else read_word(text, "text").word
    except LayoutError:
        return ()
    return _found(word, list(KINDS), not number)


def _found(word: int, kinds: list[Kind], sure: bool) -> tuple[Found, ...]:
    if word > idesc.MOST:
        return ()
    legal = [one for row in kinds if idesc.legal_forms(one := Idesc(word, row))]
    if not legal:
        return ()
    first = legal[0]
    title = f"tcgen05 instruction descriptor {first}: M {first.m}, N {first.n}, "
    notice = "The word does not say its kind; the opcode does." if len(legal) > 1 else ""
    facts = {"topic": "idesc", "word": str(first), "kind": first.kind.name}
    title += listed([_types(one) for one in legal], "or")
    return (Found("topic", title, facts, (notice,) if notice else (), sure),)


def _types(one: Idesc) -> str:
    types = one.types
    return f"{types['d']} += {types['a']} × {types['b']} with kind::{one.kind.name}"
