"""Blank the parentheses of (buf) + k * 32, which the grammar alone would read as a cast of `+k` to a type `buf`.

They are kept if the name is that of a type. Every other character keeps its place.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.cxx.integers import find_integer_type
from lanescope.cxx.sizes import ELEMENT_BITS

_LONE = re.compile(r"\([ \t]{0,8}([A-Za-z_]\w{0,60})[ \t]{0,8}\)(?=\s{0,40}[-+*&](?![-+=&]))")
_LOOKBEHIND = 80  # characters examined before the parenthesis
_CAST = re.compile(r"\(\s*(?:const\s+|volatile\s+)?([A-Za-z_][\w:]*(?:<[^<>()]*>)?)\s*(\*+\s*(?:const\s*)?)?\)$")
_WORDS = re.compile(r"(?:^|\W)(?:return|case|throw|co_return|else|do)$")
_TYPED = re.compile(
    r"\b(?:enum\s+(?:class|struct)|typename|class|struct|enum|union|using)\s+"
    r"(?:(?:alignas|__align__)\s*\([^()]*\)\s*)?([A-Za-z_]\w*)|\btypedef\b[^;{}]{0,200}?(\w+)\s{0,8};"
)


@lru_cache(maxsize=4)
def find_declared_types(text: str) -> frozenset[str]:
    """Find the names of the types that a text declares."""
    return frozenset(type_name or typedef_name for type_name, typedef_name in _TYPED.findall(text))


def blank_brackets(text: str) -> str:
    """Blank the parentheses around names that are not types.

    >>> blank_brackets("make((half*)(buf) + k * 16, (buf) - 8, (size_t)-1, f<T>(buf) + 1)")
    'make((half*) buf  + k * 16,  buf  - 8, (size_t)-1, f<T>(buf) + 1)'
    """
    types = find_declared_types(text)

    def blanked(match: re.Match[str]) -> str:
        name = match[1]
        before = text[max(match.start() - _LOOKBEHIND, 0) : match.start()].rstrip()
        if _is_type_name(name, types) or not _can_begin_operand(before, types):
            return match[0]
        return f" {match[0][1:-1]} "

    return _LONE.sub(blanked, text)


def _is_type_name(name: str, types: frozenset[str]) -> bool:
    """Return whether a name is that of a type: of C, of an element, defined by the text, or spelled like one."""
    if name in types or find_integer_type(name) is not None or name in ELEMENT_BITS or name.endswith("_t"):
        return True
    if name in ("void", "auto", "decltype", "sizeof", "alignof", "double", "float"):
        return True
    return name[0].isupper() and (len(name) == 1 or any(letter.islower() for letter in name))


def _can_begin_operand(before: str, types: frozenset[str]) -> bool:
    """Return whether an operand can begin after this text: an operator, an opening bracket, return or a cast."""
    if not before or before[-1] in "([{,;=+-*/%&|^!~<?:":
        return True
    if before[-1] == ")":
        cast = _CAST.search(before)
        if cast is None:
            return False
        return bool(cast[2]) or _is_type_name(cast[1].split("::")[-1].split("<")[0], types)
    return bool(_WORDS.search(before))
