"""The phrases at a character of a source: words and expressions around it, the innermost first, each read alone.

String literals are read by their value: adjacent literals are joined, and escapes are replaced.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lanescope.cxx.source_text import blank_matches

Span = tuple[int, int]
MOST_TEXT = 1 << 18  # characters around a place that are looked at
MOST_PHRASE = 1 << 12
MOST_LEVELS = 6  # of calls around a place

_CXX = re.compile(
    r"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)"
    r'|(?P<raw>(?:u8|[uUL])?R"(?P<tag>[^\s()\\]{0,16})\((?P<rawbody>.*?)\)(?P=tag)")'
    r'|(?P<string>(?:u8|[uUL])?"(?P<body>(?:[^"\\\n]|\\(?:\r\n|.))*)"?)'
    r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'",
    re.S,
)
_PYTHON = re.compile(
    r"#[^\n]*"
    r"|(?P<raw>(?:[bBfFuU]?[rR][bBfF]?)(?P<tag>\"\"\"|'''|\"|')(?P<rawbody>.*?)(?P=tag))"
    r"|(?P<string>[bBfFuU]?(?P<quote>\"\"\"|''')(?P<body>(?:[^\\]|\\.)*?)(?P=quote)"
    r"|[bBfFuU]?(?P<mark>[\"'])(?P<line>(?:(?!(?P=mark))[^\\\n]|\\(?:\r\n|.))*)(?P=mark)?)",
    re.S,
)
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{1,8}|[0-7]{1,3}|\r\n|.)", re.S)
_MEANT = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b", "0": "\0"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_MNEMONIC = re.compile(r"(?<![\w.%$@])[a-z]\w*(?:(?:\.|::)\w+)+")
NUMBER = re.compile(
    r"(?<![\w.])(?:0[xX][0-9a-fA-F](?:['_]?[0-9a-fA-F])*|-?[0-9](?:['_]?[0-9])*)(?:[uUlLzZ]{0,4})(?![\w.])"
)
_NAME = re.compile(r"#?!?(?:[A-Za-z_]\w*(?:::|\.))*[A-Za-z_]\w*(?:\.[A-Za-z0-9_]+)*")
_ASSIGNED = re.compile(r"([A-Za-z_][\w.]*)\s*(?:\[[^\]\n]{0,40}\])?\s*(?:=|:|\(|\{)\s*$")
_OPEN, _CLOSE = "([{<", ")]}>"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text to be read, and its place in the source. kind: number, ptx, expression, or around for a call around the
    place; label: the name of a number in the source, "" for none, or the mnemonic of PTX; part: whether the number
    is part of a larger expression.
    """

    kind: str
    text: str
    span: Span
    label: str = ""
    part: bool = False


@dataclass(frozen=True, slots=True)
class _Joined:
    """The value of joined literals. places: of each of its characters in the source, and of its end."""

    text: str
    places: Sequence[int]

    def cover(self, first: int, past: int) -> Span:
        return self.places[first], self.places[past - 1] + 1 if past > first else self.places[first]


def list_phrases(text: str, offset: int, language: str) -> Iterator[Phrase]:
    """Yield the phrases at a character of a text, the innermost first. language: cxx, python or ptx."""
    low = max(text.rfind("\n", 0, max(offset - MOST_TEXT // 2, 0)) + 1, 0)
    window = text[low : offset + MOST_TEXT // 2]
    for phrase in _list_in_window(window, offset - low, language):
        if len(phrase.text) > MOST_PHRASE:
            continue
        yield Phrase(phrase.kind, phrase.text, (phrase.span[0] + low, phrase.span[1] + low), phrase.label, phrase.part)


def _list_in_window(text: str, offset: int, language: str) -> Iterator[Phrase]:
    joined = _find_joined(text, offset, language)
    if joined is not None:
        at = bisect_right(joined.places, offset) - 1
        yield from _list_in_ptx(joined, at)
        return
    if language == "ptx":
        yield from _list_in_ptx(_Joined(text, range(len(text) + 1)), offset)
    yield from _list_numbers(text, offset)
    yield from _list_expressions(text, offset)


def _find_joined(text: str, offset: int, language: str) -> _Joined | None:
    """Find the literal at a position, joined with adjacent ones; None outside of literals."""
    if language == "ptx":
        return None
    for group in _list_literals(text, language):
        if group.places[0] <= offset <= group.places[-1]:
            return group
    return None


@lru_cache(maxsize=8)
def _list_literals(text: str, language: str) -> tuple[_Joined, ...]:
    """Return the string literals of a text, adjacent ones together."""
    groups: list[tuple[list[str], list[int]]] = []
    end = -1
    for match in (_PYTHON if language == "python" else _CXX).finditer(text):
        if match["raw"] is None and match["string"] is None:
            end = match.end() if end >= 0 and not text[end : match.start()].strip() else -1  # a comment between
            continue
        if end < 0 or text[end : match.start()].strip("\\ \t\r\n"):
            groups.append(([], []))
        letters, places = groups[-1]
        if places:
            places.pop()
        body = next(
            name for name in ("rawbody", "body", "line") if name in match.re.groupindex and match[name] is not None
        )
        first, past = match.span(body)
        for letter, at in _unescape(text, first, past) if match["raw"] is None else _list_letters(text, first, past):
            letters.append(letter)
            places.append(at)
        places.append(past)
        end = match.end()
    return tuple(_Joined("".join(letters), places) for letters, places in groups)


def _list_letters(text: str, first: int, past: int) -> Iterator[tuple[str, int]]:
    return zip(text[first:past], range(first, past), strict=True)


def _unescape(text: str, first: int, past: int) -> Iterator[tuple[str, int]]:
    """Yield the characters of a literal's value, each with its position."""
    at = first
    for match in _ESCAPE.finditer(text, first, past):
        yield from _list_letters(text, at, match.start())
        at = match.end()
        code = match[0][1:]
        if code in ("\n", "\r\n"):
            continue
        if code[0] == "x" and len(code) > 1:
            yield chr(min(int(code[1:], 16), 0x10FFFF)), match.start()
        else:
            yield _MEANT.get(code, code[-1:]), match.start()
    yield from _list_letters(text, at, past)


def _list_in_ptx(joined: _Joined, at: int) -> Iterator[Phrase]:
    """Yield the number and the statement of PTX at a character."""
    plain = blank_matches(_COMMENT, joined.text)
    for phrase in _list_numbers(plain, at):
        yield Phrase(phrase.kind, phrase.text, joined.cover(*phrase.span), phrase.label, phrase.part)
    first = plain.rfind(";", 0, at) + 1
    past = plain.find(";", at)
    past = len(plain) if past < 0 else past
    mnemonics = list(_MNEMONIC.finditer(plain, first, past)) if past - first <= MOST_PHRASE else []
    chosen = [match for match in mnemonics if match.start() <= at] or mnemonics[:1]
    if chosen and (plain[first:at].strip() or chosen[-1].start() <= at or not plain[at : at + 1].isspace()):
        match = chosen[-1]
        span = joined.cover(match.start(), past)
        yield Phrase("ptx", plain[match.start() : past].strip(), span, match[0])
        yield Phrase("ptx", match[0], span, match[0])
    for phrase in _list_expressions(plain, at):
        yield Phrase(phrase.kind, phrase.text, joined.cover(*phrase.span))


def _list_numbers(text: str, at: int) -> Iterator[Phrase]:
    """Yield the number at a character, with the name that it is assigned to."""
    low, high = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line_end = len(text) if high < 0 else high
    for match in NUMBER.finditer(text, low, line_end):
        if match.start() <= at <= match.end():
            before, behind = text[low : match.start()], text[match.end() : line_end].lstrip()
            named = _ASSIGNED.search(before)
            part = bool(re.search(r"[|&^+*/~-]\s*$|<<\s*$|>>\s*$", before)) or behind.startswith(
                ("|", "&", "^", "+", "*", "/", "<<", ">>", "- ")
            )
            yield Phrase("number", match[0], match.span(), named[1] if named else "", part)


def _list_expressions(text: str, at: int) -> Iterator[Phrase]:
    """Yield a CuTe layout at a character, the name there with its arguments, and the calls around it."""
    if (span := _find_layout(text, at)) is not None:
        yield Phrase("expression", text[slice(*span)], span)
    low = max(at - MOST_PHRASE, 0)
    for match in _NAME.finditer(text, text.rfind("\n", 0, at) + 1):
        if match.start() > at:
            break
        if match.start() <= at <= match.end():
            past = _find_arguments_end(text, match.end())
            if past > match.end():
                yield Phrase("expression", text[match.start() : past], (match.start(), past))
            yield Phrase("expression", match[0], match.span())
            at, low = match.start(), max(match.start() - MOST_PHRASE, 0)
            break
    for _ in range(MOST_LEVELS):
        opened = _find_open(text, at, low)
        if opened < 0:
            return
        names = [
            m
            for m in _NAME.finditer(text, max(text.rfind("\n", 0, opened) + 1, low), opened)
            if not text[m.end() : opened].strip()
        ]
        start = names[-1].start() if names else opened
        past = _find_arguments_end(text, names[-1].end() if names else opened)
        if names and past > opened:
            yield Phrase("around", text[start:past], (start, past))
        at = start


def _find_open(text: str, at: int, low: int) -> int:
    """Return the nearest bracket before a character that is not closed before it; -1 if there is none."""
    depth = 0
    for place in range(at - 1, low - 1, -1):
        letter = text[place]
        if letter in ";" and not depth:
            return -1
        if letter in _CLOSE and not (letter == ">" and text[place - 1 : place] in ("-", "=", " ")):
            depth += 1
        elif letter in _OPEN and not (letter == "<" and text[place - 1 : place] in ("<", " ")):
            if not depth:
                return place
            depth -= 1
    return -1


def _find_arguments_end(text: str, at: int) -> int:
    """Return the end of the brackets after a name: <…>, (…) and {…}, one after the other."""
    while True:
        first = at + len(text[at : at + 4]) - len(text[at : at + 4].lstrip(" "))
        if text[first : first + 1] not in ("(", "[", "{", "<") or (
            text[first] == "<" and text[first + 1 : first + 2] in "< ="
        ):
            return at
        past = _find_close(text, first)
        if past < 0 or (text[first] == "{" and ";" in text[first:past]):  # a body, no arguments
            return at
        at = past


def _drop_comparisons(stack: list[str]) -> None:
    """Drop assumed template brackets that are not closed before the bracket around them."""
    while stack and stack[-1] == ">":
        stack.pop()


def _opens_arguments(text: str, at: int, stack: list[str]) -> bool:
    """Return whether a < may begin template arguments: not in brackets, in others, or after a name."""
    return not stack or stack[-1] == ">" or text[at - 1].isalnum()


def _find_close(text: str, first: int) -> int:
    """Return the position after the closing bracket; -1 if it is not nearby."""
    stack: list[str] = []
    pairs = dict(zip(_OPEN, _CLOSE, strict=True))
    for at in range(first, min(len(text), first + MOST_PHRASE)):
        letter = text[at]
        if letter in "([{" or (letter == "<" and _opens_arguments(text, at, stack)):
            stack.append(pairs[letter])
        elif letter in ")]}":
            _drop_comparisons(stack)
            if not stack or stack.pop() != letter:
                return -1
        elif letter == ">" and stack and stack[-1] == ">":
            stack.pop()
        elif letter == ";" and "}" not in stack:
            return -1
        if not stack:
            return at + 1
    return -1


def _find_layout(text: str, at: int) -> Span | None:
    """Find a printed CuTe layout, `Sw<3,4,3> o (8,64):(64,1)`, around a character of a line."""
    low, high = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line_end = len(text) if high < 0 else high
    for match in re.finditer(r"(?<=[\w)]):(?=[\w(])", text[low:line_end]):
        colon = low + match.start()
        first, past = _extend_left(text, colon, low), _extend_right(text, colon + 1, line_end)
        if first < 0 or past < 0:
            continue
        head = re.search(
            r"(?:Sw<\d,\d,\d>\s*o\s*)?(?:smem_ptr\[\d+b\]\([^)\n]*\)\s*o\s*)?(?:\S{1,12}\s+o\s+)?$", text[low:first]
        )
        first = low + head.start() if head else first
        if first <= at <= past and re.search(r"\(", text[first:past]):
            return first, past
    return None


def _extend_left(text: str, past: int, low: int) -> int:
    """Return the beginning of the tuple or number that ends before a character."""
    if text[past - 1] != ")":
        at = past
        while at > low and (text[at - 1].isalnum() or text[at - 1] == "_"):
            at -= 1
        return at
    depth = 0
    for at in range(past - 1, low - 1, -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if not depth:
            return at
    return -1


def _extend_right(text: str, first: int, high: int) -> int:
    """Return the end of the tuple or number that begins at a character."""
    depth = 0
    for at in range(first, high):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth < 0:
            return at if at > first else -1
        if not depth and text[at] == ")":
            return at + 1
        if not depth and not (text[at].isalnum() or text[at] == "_"):
            return at if at > first else -1
    return high if not depth and high > first else -1
