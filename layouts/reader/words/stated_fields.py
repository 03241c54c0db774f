"""Compare the fields that a line states beside a descriptor word with those of the word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lanescope.blackwell.idesc import IdescWord
from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx.table.descriptors import get_format_of_word

_LONGEST = 200  # characters of one line
_NUMBER = r"(?:[ \t]*(?:[:=]|is|of)[ \t]*|[ \t]+)(?P<value>0[xX][0-9a-fA-F]{1,8}|\d{1,8})(?![\w.*+/])"
_AMOUNTS = {
    "lbo_bytes": ("LBO", re.compile(rf"(?<![A-Za-z])(?:LBO|leading(?:[ _]\w+){{0,3}}?){_NUMBER}", re.I)),
    "sbo_bytes": ("SBO", re.compile(rf"(?<![A-Za-z])(?:SBO|stride(?:[ _]\w+){{0,3}}?){_NUMBER}", re.I)),
    "start_address": ("start address", re.compile(rf"\bstart(?:[ _]addr(?:ess)?)?{_NUMBER}", re.I)),
    "base_offset": ("base offset", re.compile(rf"\bbase[ _]offset{_NUMBER}", re.I)),
}
_WIDTH = re.compile(
    r"\b(?P<width>32|64|128)[ -]?B(?:ytes?)?[ -]swizzle"
    r"|swizzl(?:e|ed|ing)(?:[ _](?:mode|of|by))?[ \t]*[:= _]?[ \t]*(?P<of>32|64|128)[ -]?B"
    r"|(?P<none>\b(?:no[ -]swizzle|unswizzled|swizzle[ :=_]+none))\b",
    re.I,
)
_SHAPE = re.compile(r"\bm(\d{1,3})n(\d{1,3})(?:k\d+)?\b|\bM[ =:]{1,3}(\d{1,3})\b|\bN[ =:]{1,3}(\d{1,3})\b", re.I)


def compare_matrix_fields(text: str, word: int) -> tuple[str, ...]:
    """Return a sentence for each field of a matrix descriptor that a line states and that its word has otherwise.

    >>> compare_matrix_fields("desc 0x4000004000010000 (SBO 512)", 0x4000004000010000)
    ('The text says SBO 512, but the word has SBO 1,024.',)
    """
    if len(text) > _LONGEST or "\n" in text.strip():
        return ()
    facts = Descriptor(word, get_format_of_word(word)).facts
    return tuple(_compare_amounts(text, facts))


def _compare_amounts(text: str, facts: Mapping[str, Any]) -> Iterator[str]:
    for amount, (title, pattern) in _AMOUNTS.items():
        has = facts.get(amount)
        for match in pattern.finditer(text) if isinstance(has, int) else ():
            stated, show = int(match["value"], 0), _choose_form(match["value"])
            if isinstance(has, int) and stated not in (has, has >> 4):  # in bytes, or as the field has it
                yield f"The text says {title} {show(stated)}, but the word has {title} {show(has)}."
    for match in _WIDTH.finditer(text):
        stated_mode = "none" if match["none"] else f"{match['width'] or match['of']}B"
        if str(facts["swizzle"]).partition("_")[0] != stated_mode:
            yield f"The text says swizzle {stated_mode}, but the word has swizzle {facts['swizzle']}."


def _choose_form(spelled: str) -> Callable[[int], str]:
    """Return the function that writes a number in the base of a spelled one."""
    return hex if spelled[:2].lower() == "0x" else "{:,}".format


def compare_sizes(text: str, word: IdescWord) -> tuple[str, ...]:
    """Return a sentence for an M or N that a line states and that an instruction descriptor has otherwise."""
    if len(text) > _LONGEST or "\n" in text.strip():
        return ()
    stated = [
        (name, size) for m, n, big_m, big_n in _SHAPE.findall(text) for name, size in _name_sizes(m, n, big_m, big_n)
    ]
    sizes = {"M": word.m, "N": word.n}
    return tuple(
        f"The text says {name} {size}, but the word has {name} {sizes[name]}."
        for name, size in dict.fromkeys(stated)
        if int(size) != sizes[name]
    )


def _name_sizes(m: str, n: str, big_m: str, big_n: str) -> Iterator[tuple[str, str]]:
    return ((name, size) for name, size in (("M", m or big_m), ("N", n or big_n)) if size)
