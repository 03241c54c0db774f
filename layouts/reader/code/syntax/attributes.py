"""Blank attributes of gcc and CUDA, and macros for them, keeping the place of every other character."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lanescope.cxx.source_text import blank
from lanescope.reader.code.preprocessing.lexing import PreprocessingToken

# An unmatched quote extends to the end of its line; searching for its pair from each quote would be quadratic.
_KEPT = r"//[^\n]*|/\*.*?(?:\*/|\Z)|'(?:\\.|[^'\\\n])'|\"(?:\\.|[^\"\\\n])*+\"?"
_NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_OWN = (
    r"\b(?:__forceinline__|__noinline__|__inline__|__grid_constant__|C(?:UTE|UTLASS)_GRID_CONSTANT|__restrict__|__restrict)\b"
    rf"|\b__attribute__\s*{_NESTED}|\b__align__\s*{_NESTED}|\balignas\s*{_NESTED}|\[\[[^\]\n]{{0,200}}\]\]"
    rf"|(?<![(=|,!])(?<![(=|,!]\s)\bnoexcept\b(?:\s*{_NESTED})?|\b_Pragma\s*{_NESTED}"
    rf"|\b__(?:cluster_dims|maxnreg|block_size)__\s*{_NESTED}"
)
_GAP = r"(?:\s|//[^\n]*|/\*.*?\*/)*+"
# An undefined macro spelled like one for attributes.
_SPELLED = (
    r"\b[A-Z][A-Z0-9_]*(?:DEVICE|INLINE|HOST|GLOBAL|CALLABLE|UNROLL|HDFUNC|_API)\b"
    rf"(?={_GAP}(?:[A-Za-z_~]|\[\[|\Z))(?!\s+(?:and|or|xor|bitand|bitor|not_eq)\b)"
    r"|(?<![\w.>=+*/%&|^!~?<(,-])(?<![\w.>=+*/%&|^!~?<(,-][ ])\b[A-Z][A-Z0-9_]{2,}"
    r"(?=\s+(?:static|inline|constexpr|void|auto|bool|int|unsigned|u?int\d+_t|uint\d\d|size_t)\b(?!\s*[({]))"
)
_FIRST = r"(?=[/'\"_anA-Z\[])"  # characters that one of them begins with: others are passed over at once
_ATTRIBUTE = re.compile(rf"{_FIRST}(?:(?P<kept>{_KEPT})|(?P<own>{_OWN})|(?P<spelled>{_SPELLED}))", re.S)
_NAMED = re.compile(
    r"\b(?:struct|class|union|enum|typename|using)\s+([A-Z][A-Z0-9_]*)\b|\b([A-Z][A-Z0-9_]*)\s*(?:;|=(?!=))"
)
_WORDS = frozenset(
    "__forceinline__ __noinline__ __inline__ __inline inline __host__ __device__ __restrict__ __restrict restrict"
    " noexcept".split()
)
_WITH_BRACKETS = frozenset(
    "__attribute__ _Pragma __pragma __declspec __launch_bounds__ __cluster_dims__ __maxnreg__ __block_size__".split()
)


def blank_attributes(text: str, macros: Iterable[str]) -> str:
    """Blank the attributes of a text; macros: names of macros that expand to attributes only.

    >>> blank_attributes("MY_DEVICE __forceinline__ int f() noexcept;", ()).split()
    ['int', 'f()', ';']
    """
    names_in_code = {type_name or defined_name for type_name, defined_name in _NAMED.findall(text)}
    sorted_macros = sorted(macros)
    if sorted_macros:
        text = re.sub(rf"{_KEPT}|\b(?:{'|'.join(map(re.escape, sorted_macros))})\b", _blank_macro, text, flags=re.S)

    def blanked(match: re.Match[str]) -> str:
        spelling = match[0]
        if match.lastgroup == "kept" or (match.lastgroup == "spelled" and spelling in names_in_code):
            return spelling
        return blank(spelling)

    return _ATTRIBUTE.sub(blanked, text)


def _blank_macro(match: re.Match[str]) -> str:
    return match[0] if match[0][0] in "/\"'" else " " * len(match[0])


def is_attributes_only(body: Iterable[PreprocessingToken]) -> bool:
    """Return whether a macro's replacement consists of attributes only.

    >>> is_attributes_only([PreprocessingToken("inline", "name"), PreprocessingToken("__attribute__", "name"),
    ... PreprocessingToken("(", "op"), PreprocessingToken(")", "op")])
    True
    """
    depth, before = 0, ""
    for token in body:
        if token.text in "([":
            if not depth and token.text == "(" and before not in _WITH_BRACKETS:
                return False
            depth += 1
        elif token.text in ")]":
            depth -= 1
        elif not depth and token.text not in _WORDS and token.text not in _WITH_BRACKETS:
            return False
        before = token.text
    return True
