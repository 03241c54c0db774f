"""Remove what a terminal, a web page, a diff or a listing adds to a text.

Every change keeps the length and the lines, so places in the result are places in the text. Characters removed from a
word are replaced by blanks after it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence

_MOST_COMMENTED = 8192  # characters of a text that is one comment, whose contents are used instead
_ESCAPE = r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[@-Z\\^_])"  # of a terminal
_UNSEEN = "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
_ADDED = re.compile(rf"(?:{_ESCAPE}|{_UNSEEN})+")
_WORD = re.compile(rf"[^\s\x1b]*(?:(?:{_ESCAPE}|{_UNSEEN})+[^\s\x1b]*)+")
_ENTITY = r"&(?:quot|lt|gt|amp|nbsp|apos|colon|lpar|rpar|#\d{1,5}|#[xX][0-9a-fA-F]{1,4});"
_ENTITIES = re.compile(rf"(?:{_ENTITY})+")
# Replaced one by one: full-width forms, blanks of all widths, and a word processor's typographic characters
_SAME = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000), " "),
    **dict.fromkeys(map(ord, "“”„‟″＂"), '"'),
    **dict.fromkeys(map(ord, "‘’‚‛′"), "'"),
    **dict.fromkeys(map(ord, "‐‑‒–−"), "-"),
    **dict.fromkeys(map(ord, "⟨〈〈‹"), "<"),
    **dict.fromkeys(map(ord, "⟩〉〉›"), ">"),
    **dict.fromkeys(map(ord, "∶ː"), ":"),
    ord("∘"): "o",
}
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.M)
_HEAD = re.compile(r"(?:diff --git |index [0-9a-f]{6}|--- \S|\+\+\+ \S|@@ -\d)")
_REPLACED = re.compile(r"(?P<old>-+)(?P<new>\++)")  # first characters of lines
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")
_PLUS = re.compile(r"\+(?!\+\+ )")
# `file.cu:41:` of grep -n, `  41 | ` and `41:` of an editor, a Markdown quote's `>`
_FOUND = re.compile(
    r"(?P<added>[\w./+-]{1,120}\.(?:cu|cuh|h|hpp|hh|cc|cpp|cxx|c|py|inl|ptx|mlir|ll)[:-](?P<n>\d{1,6})[:-])"
)
_NUMBERED = re.compile(  # 4:1 may be a layout
    r"(?P<added>[ \t]{0,12}(?P<n>\d{1,6})(?:[ \t]?(?:[|│]|:(?!\d+\b))|[ \t])[ \t]?)"
)
_BARRED = re.compile(r"(?P<added>[ \t]{0,12}(?P<n>\d{1,6})[ \t]?[|│][ \t]?)")  # for a single line
_TIME = r"(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?"
_LOGGED = re.compile(  # a time, a level, [rank0]:
    rf"(?P<added>[ \t]{{0,8}}(?:\[?{_TIME}\]?[ \t]+|\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\]?:?[ \t]+"
    rf"|\[(?![^\]\n]{{0,30}}(?:[Dd]esc|DESC))[A-Za-z][\w ./-]{{0,30}}\]:?[ \t]+){{1,4}})(?=\S)"
)
_CHECKED = re.compile(  # of LLVM's FileCheck
    r"(?P<added>[ \t]{0,40}(?://|[#;])?[ \t]{0,20}(?:[A-Z][A-Z0-9_-]{0,30}-)?CHECK(?:-[A-Z0-9_-]{1,30})?:)"
)
_FENCE = re.compile(r"[ \t]{0,3}```(?P<behind>[^`\n]*)$")
# after Markdown's fence: a language and attributes
LANGUAGE = re.compile(r"\s*[A-Za-z+#-]{0,20}\d{0,2}(?:\s+[A-Za-z]+|\s+[\w-]+=\S+|\s*\{[^{}]*\})*\s*")
_CODE = re.compile(r"[;{}=<>]|0x|::|\w\.\w+\.|\w_\w|\)\s?:\s?\(|\d{10}")
_FIRST = re.compile(r"^[^\n]*\S[^\n]*", re.M)
_LETTERS = re.compile(r"[A-Za-z]{2}|\)\s?:\s?\(")
_QUOTED = re.compile(r"(?P<added>[ \t]{0,3}>)(?:[ \t]|$)")
_SLASHES = re.compile(r"(?P<added>[ \t]{0,40}//[/!]?)")
_HASH = re.compile(
    r"(?P<added>[ \t]{0,40}#)(?=\s)(?!\s*(?:define|undef|include|pragma|if|ifdef|ifndef|elif|else|endif)\b)"
)


def clean_text(text: str, places: bool = False) -> str:
    r"""Return a pasted text without such additions, of the same length.

    places: whether text after an HTML entity must keep its place, not only its line.

    >>> clean_text("mma.sync\u200b.aligned &lt;&lt; １６", places=True)
    'mma.sync.aligned  <<       16'
    """
    if not text.isascii():
        text = text.translate(_SAME)
    if _ADDED.search(text):
        text = _WORD.sub(lambda match: _ADDED.sub("", match[0]).ljust(len(match[0])), text)
    if "&" in text and _ENTITIES.search(text):
        if places:
            text = _ENTITIES.sub(lambda match: _unescape_html(match[0]), text)
        else:
            text = "\n".join(_unescape_html(line) if "&" in line else line for line in text.split("\n"))
    return _strip_line_heads(text)


def make_place_map(text: str) -> Callable[[int, int], tuple[int, int]] | None:
    """Return a function that maps (first, past last) in the cleaned text to the place in the text.

    Returns None if the places are the same, because no word contains a zero-width character.

    >>> make_place_map("a\\u200bb c")(0, 2)
    (0, 3)
    """
    if not _ADDED.search(text):
        return None
    at = list(range(len(text)))
    for word in _WORD.finditer(text):
        places = list(_list_seen_places(word))
        at[word.start() : word.end()] = places + [word.end() - 1] * (len(word[0]) - len(places))
    return lambda first, past: (at[first], at[past - 1] + 1) if first < past else (first, past)


def _list_seen_places(word: re.Match[str]) -> Iterator[int]:
    """Return the places of a word's visible characters."""
    last = word.start()
    for added in _ADDED.finditer(word.string, *word.span()):
        yield from range(last, added.start())
        last = added.end()
    yield from range(last, word.end())


def _unescape_html(text: str) -> str:
    return _ENTITIES.sub(lambda match: re.sub(r"[\xa0\r\n]", " ", html.unescape(match[0])), text).ljust(len(text))


def _strip_line_heads(text: str) -> str:
    """Strip line numbers, prompts and similar heads of lines."""
    if _HUNK.search(text) or text.lstrip().startswith(("+ ", "+\t")) or "\n+ " in text:
        text = _take_new_side(text)
    if not text.strip():
        return text
    text = strip_quotes(text)
    if "```" in text:
        text = _strip_fences(text)
    for pattern in (_LOGGED, _FOUND, _CHECKED, _NUMBERED if "\n" in text.strip() else _BARRED, _SLASHES, _HASH):
        text = _blank_line_heads(pattern, text)
    return text


def strip_quotes(text: str) -> str:
    """Strip a quote's `>` if all lines begin with it."""
    return _blank_line_heads(_QUOTED, text)


def _strip_fences(text: str) -> str:
    """Strip Markdown's fences and the prose around them, unless the prose contains code."""
    lines = text.split("\n")
    fences, starts_inside = (
        [],
        sum(_FENCE.match(line) is not None for line in lines) % 2 == 1,
    )  # an incomplete block: no line is prose
    for line, (mark, inside) in zip(lines, find_fences(lines), strict=True):
        if mark and not LANGUAGE.fullmatch(mark["behind"]):
            line = line.replace("```", "   ")  # the paste begins there
        elif mark or not (starts_inside or inside or _CODE.search(line)):
            line = " " * len(line)
        fences.append(line)
    return "\n".join(fences)


def find_fences(lines: Sequence[str]) -> list[tuple[re.Match[str] | None, bool]]:
    """Return (the fence's mark, whether the line is inside a block) for every line.

    A paste may begin inside a block. This is assumed if otherwise a mark with a language would be inside a block, or if
    the last block would not be closed.
    """
    marks = [_FENCE.match(line) for line in lines]
    languages = [bool(mark["behind"].strip()) for mark in marks if mark]

    def clashes(inside: bool) -> int:
        return sum(language and (at % 2 == 1) != inside for at, language in enumerate(languages))

    odd = len(languages) % 2 == 1
    inside = clashes(True) < clashes(False) or (odd and clashes(True) == clashes(False))
    fences: list[tuple[re.Match[str] | None, bool]] = []
    for mark in marks:
        inside ^= mark is not None
        fences.append((mark, inside))
    return fences


def _take_new_side(text: str) -> str:
    """Return the new side of a diff, or the text itself if it may be a list or a sum."""
    lines = text.split("\n")
    has_hunks = _HUNK.search(text) is not None
    if not has_hunks and not _has_diff_marks(lines):
        return text
    result = []
    for line in lines:
        if line[:1] == "-" or (has_hunks and _HEAD.match(line)):
            result.append(" " * len(line))
        else:
            result.append(_PLUS.sub(" ", line, count=1) if line[:1] == "+" else line)
    return "\n".join(result)


def _has_diff_marks(lines: list[str]) -> bool:
    """Return whether lines without a hunk's head are a diff: all new, or new lines after the old ones they replace.

    In a sum over several lines, only the last line ends a statement.
    """
    filled = [line for line in lines if line.strip()]
    signs = "".join(line[0] for line in filled)
    if not set(signs) <= set("+- "):
        return False
    for match in _REPLACED.finditer(signs):
        old, new = (filled[slice(*match.span(side))] for side in ("old", "new"))
        ends = old[-1].rstrip().endswith(";"), new[-1].rstrip().endswith(";")
        if ends[0] == ends[1] and _collect_words(old) & _collect_words(new):
            return True
    return set(signs) == {"+"}


def _collect_words(lines: list[str]) -> set[str]:
    return {word for line in lines for word in _IDENTIFIER.findall(line)}


def _blank_line_heads(pattern: re.Pattern[str], text: str) -> str:
    """Blank the matching head of each line if all non-empty lines match; else return the text itself.

    Line numbers must be consecutive.
    """
    first = _FIRST.search(text)
    commented = pattern in (_SLASHES, _HASH)
    if first is None or not pattern.match(first[0]) or (commented and len(text) > _MOST_COMMENTED):
        return text
    lines = text.split("\n")
    heads, last = [], None
    for line in lines:
        match = pattern.match(line)
        if match is None:
            if line.strip():
                return text
            heads.append(line)
            continue
        if "n" in pattern.groupindex:
            number = int(match["n"])
            if last is not None and number <= last:
                return text
            last = number
        heads.append(" " * match.end("added") + line[match.end("added") :])
    blanked = "\n".join(heads)
    return blanked if "n" not in pattern.groupindex or _LETTERS.search(blanked) else text  # only numbers: a table
