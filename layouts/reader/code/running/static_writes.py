"""Find the variables that a text writes: a static variable has its initial value only if nothing writes it.

Names are matched in the text without scopes, so a local variable of the same name only makes a static one unknown.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.cxx.source_text import blank_matches, read_statement_head

_BLANKED = re.compile(r"//[^\n]*|/\*.*?(?:\*/|$)|\"(?:\\.|[^\"\\\n]){6,}\"|'(?:\\.|[^'\\\n])'", re.S)
_PATH = r"(?:\s*\.\s*\w+|\s*\[[^\[\]]*\])*"  # of a member or an item
# a name followed by = or +=, at the start of a statement or an expression: no type precedes it
_ASSIGNED = re.compile(
    rf"(?P<before>(?:[;{{}}(),=?:&|!]|\belse|\bdo|\breturn)\s*|^[ \t]*)(?P<name>[A-Za-z_]\w*){_PATH}\s*"
    r"(?:[-+*/%&|^]|<<|>>)?=(?!=)",
    re.M,
)
_COUNTED = re.compile(
    rf"(?:\+\+|--)\s*(?P<first>[A-Za-z_]\w*)"
    rf"|(?<![\w.])(?!(?:return|else|do)\b)(?P<last>[A-Za-z_]\w*){_PATH}\s*(?:\+\+|--)"
)
_ADDRESS = re.compile(r"(?<=[(,={;!?:~<>])\s*&\s*(?:\w+\s*::\s*)*(?P<name>[A-Za-z_]\w*)|\breturn\s*&\s*(?P<given>\w+)")
_OUTPUT = re.compile(r"\"[=+][^\"]*\"\s*\(\s*(?P<name>[A-Za-z_]\w*)")
_COPIED = re.compile(r"\bcuda(?:MemcpyToSymbol\w*|GetSymbolAddress)\s*\([^;]*?(?P<name>[A-Za-z_]\w*)\s*,")
_DECLARATION = re.compile(r"\s*(?:[A-Za-z_][\w:]*(?:<[^;{}]*>)?[\s*&]+)+[A-Za-z_]\w*\s*[=,\[({]")


@lru_cache(maxsize=4)
def find_written_names(text: str) -> frozenset[str]:
    """Return the names that C++ code assigns, increments, takes the address of or passes to asm as an output.

    >>> sorted(find_written_names("int BM = 64, BN = 128; int last = 0; void f(int n) { if (last != n) last = n; }"))
    ['last']
    """
    code = blank_matches(_BLANKED, text)
    names = {name for written in _COUNTED.finditer(code) for name in written.groups() if name}
    for pattern in (_ADDRESS, _OUTPUT, _COPIED):
        names |= {name for written in pattern.finditer(code) for name in written.groups() if name}
    at = 0
    while match := _ASSIGNED.search(code, at):
        if match["before"].strip() != "," or not _is_declarator_comma(code, match.start()):
            names.add(match["name"])
        at = max(match.end("name"), at + 1)
    return frozenset(names)


def _is_declarator_comma(code: str, comma: int) -> bool:
    """Return whether a comma separates declarators: int a = 1, b = 2."""
    statement = read_statement_head(code, comma, ";{}#")
    depth = statement.count("(") - statement.count(")")
    return not depth and _DECLARATION.match(statement) is not None
