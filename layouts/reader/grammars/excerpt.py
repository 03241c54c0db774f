"""Extract the code of an article: its code blocks, with functions that end in `...` continued.

Every change keeps the length and the lines, as those of layouts/reader/grammars/pasted_text.py do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.reader.grammars.pasted_text import LANGUAGE, find_fences, strip_quotes

MOST_CUT = 16  # functions per text that are continued further below
LONGEST_HEAD = 1000  # characters of a function's head
_CODE = re.compile(r"[;{}=]|::|\w\(")
_OTHER = frozenset("bash sh shell zsh console json yaml yml toml cmake make makefile ini text txt log output".split())
_PYTHON = frozenset("python py python3".split())
_DOTS = re.compile(r"(?<=[{;}\n])[ \t]{0,80}(?://+[ \t]{0,8})?(?:\.{3,8}|…{1,8})[ \t]{0,8};?[ \t]{0,80}(?=[}\n]|\Z)")
_CLOSED = re.compile(r"(?>\s+|//[^\n]*|/\*.*?\*/)*+\}", re.S)  # possessive: no second way to split at slashes
_BRACED = re.compile(r"[;{][ \t]*(?://[^\n]*)?$", re.M)
_TOKEN = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n]){1,4}'|#[^\n]*|[{}();]", re.S)
# what begins a definition without statements of a kernel, and what a host runs
_DEFINES = re.compile(
    r"(?:template|struct|union|class|enum|namespace|extern|typedef|using|#|static|inline|constexpr"
    r"|__device__|__host__|__constant__)(?!\w)"
)
_ENTRY = re.compile(r"__global__|(?<!\w)main\s*\(")
_HOST = re.compile(r"<<<|\bcuda[A-Z]\w+\s*\(|\b(?:std|thrust)::")
_FUNCTION = re.compile(
    r"(?!(?:if|for|while|switch|do|else|asm|return)\b)[\w:<>,*&\s]+?[\s*&][\w:~]+\s*\([^;{}]*\)[\w\s]*\{"
)


def extract_code(text: str, legible: str) -> str:
    r"""Return the code of a text, with the text's length.

    Of Markdown only the code blocks are kept. A `...` at the end of a function is replaced by the statements after the
    function. legible: the cleaned text (pasted_text).

    >>> cut = "__global__ void f() {\n  ...\n}\nx = 1;\n"
    >>> extract_code(cut, cut)
    '__global__ void f() {\n     \n \nx = 1;}'
    """
    code = _extract_blocks(text, legible) if "```" in text else legible
    if not ("..." in code or "…" in code) or not _DOTS.search(code) or not _BRACED.search(code):
        return code
    ends = list(_find_function_ends(code))
    code = _DOTS.sub(lambda match: " " * len(match[0]), code)
    for end in reversed(ends):
        code = _continue_function(code, end)
    return code


def _extract_blocks(text: str, legible: str) -> str:
    """Blank everything outside a text's code blocks; return the text itself if they contain no code."""
    lines = legible.split("\n")
    marks = find_fences(strip_quotes(text).split("\n"))
    if len(marks) != len(lines):
        return legible
    code_lines = list(_list_lines_inside(marks))
    code_lines = [block for block in code_lines if block[0] not in _OTHER] or code_lines
    if any(language not in _PYTHON and _CODE.search(lines[n]) for language, n in code_lines):
        code_lines = [block for block in code_lines if block[0] not in _PYTHON]
    numbers = {n for _, n in code_lines}
    if not any(_CODE.search(lines[n]) for n in numbers):
        return legible
    return "\n".join(line if n in numbers else " " * len(line) for n, line in enumerate(lines))


def _list_lines_inside(marks: list[tuple[re.Match[str] | None, bool]]) -> Iterator[tuple[str, int]]:
    """Return (language, number) of each line inside a block."""
    language = ""
    for n, (mark, inside) in enumerate(marks):
        if mark and inside:
            language = mark["behind"].split("{")[0].split()[0].lower() if mark["behind"].strip("{} ") else ""
        if inside and not (mark and LANGUAGE.fullmatch(mark["behind"])):
            yield language, n


@dataclass(frozen=True, slots=True)
class _FunctionEnd:
    """The end of a function that contains `...`: its closing braces, and the place after them."""

    braces: tuple[int, ...]
    past: int


def _find_function_ends(text: str) -> Iterator[_FunctionEnd]:
    """Yield the ends of functions whose last statement is `...`."""
    dots = [match.end() for match in _DOTS.finditer(text)][:MOST_CUT]
    depth, n = 0, 0
    for token in _TOKEN.finditer(text):
        while n < len(dots) and dots[n] <= token.start():
            if depth and (closed := _match_closing(text, dots[n], depth)):
                yield closed
            n += 1
        depth = max(depth + (token[0] == "{") - (token[0] == "}"), 0)


def _match_closing(text: str, at: int, depth: int) -> _FunctionEnd | None:
    """Match closing braces directly after a place; None if other code comes first."""
    braces: list[int] = []
    while len(braces) < depth:
        closing = _CLOSED.match(text, at)
        if closing is None:
            return None
        at = closing.end()
        braces.append(at - 1)
    return _FunctionEnd(tuple(braces), at)


def _continue_function(text: str, end: _FunctionEnd) -> str:
    """Move the statements after a function into it."""
    past = end.past
    for first, last in _list_units(text, end.past):
        unit = text[first:last]
        if _ENTRY.search(unit[: unit.find("{") + 1 or None]) or _HOST.search(unit):
            break
        if not _DEFINES.match(unit) and not _FUNCTION.match(unit[:LONGEST_HEAD]):
            past = last
    if past == end.past:
        return text
    rest = text[past:]
    room = len(rest) - len(rest.lstrip())
    count = len(end.braces)
    if room < count and room < len(rest):
        return text
    letters = list(text)
    for brace in end.braces:
        letters[brace] = " "
    letters[past : past + min(count, room)] = "}" * count
    return "".join(letters)


def _list_units(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the outermost statements and definitions from a place on."""
    first, depth, round_ = at, 0, 0
    for token in _TOKEN.finditer(text, at):
        mark = token[0]
        if mark[0] in "/#":  # a comment or a preprocessor line before a unit does not belong to it
            if not text[first : token.start()].strip():
                first = token.end()
            continue
        depth += (mark == "{") - (mark == "}")
        round_ += (mark == "(") - (mark == ")")
        ends = (mark == ";" and not depth and round_ <= 0) or (mark == "}" and depth <= 0)
        if depth < 0:
            return
        if ends:
            begin = first + len(text[first : token.end()]) - len(text[first : token.end()].lstrip())
            if text[begin : token.end()] != ";":
                yield begin, token.end()
            first, round_ = token.end(), 0
