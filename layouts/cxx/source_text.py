"""Find comments, brackets and commas of a text in C++, PTX or CuTe's notation without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from lanescope.errors import LayoutError

WORD_START = r"(?:\b|(?<=\\[nt]))"  # also after \n of a string
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_NO_CODE = re.compile(COMMENT.pattern + r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.){1,4}'", re.S)
_VALUE_END = re.compile(r"\}\s*[)>:.]")  # of T{}, where a value continues
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]*>\s*)?\(")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)((?:[^\n]*\\\n)*[^\n]*)", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]{1,200})"|<([^>\n]{1,200})>)[^\n]*$', re.M)
CLOSING = {"(": ")", "[": "]", "{": "}"}
_WORD = re.compile(r"[A-Za-z_]\w*")
_PASTED = re.compile(r"\s*##\s*")
_JOINED = re.compile(r"([A-Za-z_]\w*)\s*##")  # the first part of a name that a macro joins
_DIVISOR = r"(?<=[\w)])[ \t]*//[ \t]*(?=(?:\w+|\([^()\n]*\))"
_FLOOR_DIVISION = re.compile(rf"{_DIVISOR}[ \t]*(?:[)|&^+*%,]|<<|>>|//))")
_DIVIDED_OR_NOTE = re.compile(r"(?<=[\w)])[ \t]*//[ \t]*(?:0[xX][0-9a-fA-F]+|\d+)[ \t]*$", re.M)
_BRACKETS = {opening: re.compile(rf"[{re.escape(opening + closing)}]") for opening, closing in CLOSING.items()}


KERNEL_WORDS = frozenset(("__global__", "CUTLASS_GLOBAL"))  # CUTLASS's macro, cutlass/detail/helper_macros.hpp


def is_kernel_head(text: str) -> bool:
    """Return whether a declaration, or a text, has a word that makes a function a kernel."""
    return any(word in text for word in KERNEL_WORDS)


def blank_comments_and_literals(text: str) -> str:
    """Return a text whose comments, strings and characters are blanked.

    >>> blank_comments_and_literals('f("a"); // b')
    'f(   );     '
    """
    return blank_matches(_NO_CODE, text)


@lru_cache(maxsize=4)
def blank_comments(text: str) -> str:
    """Return a text whose comments are blanked; // in a string begins none.

    >>> blank_comments('f("//"); // b')
    'f("//");     '
    """
    return _NO_CODE.sub(lambda match: blank(match[0]) if match[0][0] == "/" else match[0], text)


def list_called_names(blank_text: str) -> list[str]:
    """Return the names before the parentheses of a blanked text, keywords among them.

    >>> list_called_names("if (f<2>(x)) g();")
    ['if', 'f', 'g']
    """
    return _CALLED.findall(blank_text)


def strip_comments(text: str) -> str:
    """Return a text with one blank in place of each comment.

    >>> strip_comments("a /* b */ c // d")
    'a   c  '
    """
    return COMMENT.sub(" ", text)


def write_floor_divisions(text: str) -> str:
    """Write Python's // as / in a line without semicolons: a number or a name follows it, then an operator or a
    bracket. Any other // begins a comment of C++.

    LayoutError if only a number follows it: both are possible.

    >>> write_floor_divisions("8 << 17 | 128 // 16 << 24"), write_floor_divisions("8 << 17 // N = 64")
    ('8 << 17 | 128 / 16 << 24', '8 << 17 // N = 64')
    """
    if ";" in text or "//" not in text:
        return text
    if match := _DIVIDED_OR_NOTE.search(text):
        raise LayoutError(
            "bad_text",
            f"'{match[0].strip()}' is a comment in C++ and a division in Python.",
            "Put the division in brackets, or remove the comment.",
            "text",
        )
    return _FLOOR_DIVISION.sub(" / ", text)


@lru_cache(maxsize=4)
def list_macros(text: str) -> tuple[tuple[str, str], ...]:
    """List (name, parameters and replacement) of each macro that a text defines.

    >>> list_macros("#define N 4\\n#define F(x) x")
    (('N', ' 4'), ('F', '(x) x'))
    """
    return tuple((macro[1], macro[2]) for macro in MACRO.finditer(text))


def list_reached(body: str, named: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a text, and those of the functions and macros that it names, one through another. named: (name, text).

    >>> list(list_reached("f();", [("f", "g##h();"), ("g1", "1"), ("h", "2"), ("i", "3")]))
    ['f();', 'g##h();', '1', '2']
    """
    texts: dict[str, list[str]] = {}
    for name, text in named:
        texts.setdefault(name, []).append(text)
    waiting = [body]
    for reached in waiting:
        yield reached
        words, pasted = set(_WORD.findall(reached)), tuple(_JOINED.findall(reached))
        named_here = [name for name in texts if name in words or (pasted and name.startswith(pasted))]
        for name in [name for name in named_here if not _is_variable(reached, name)]:
            waiting += texts.pop(name)


def _is_variable(text: str, name: str) -> bool:
    """Return whether a text declares a variable of this name, and never calls a function of this name. A name in
    capitals is that of a macro.

    >>> _is_variable("auto load = *p; f(load);", "load"), _is_variable("auto x = load(p);", "load")
    (True, False)
    """
    if name.isupper():
        return False
    declared = rf"(?<![\w.])(?!(?:return|case|goto|else|new)\b)[A-Za-z_][\w:]*(?:<[^<>;]*>)?[\s*&]+{name}\s*[=;,\[{{]"
    return re.search(declared, text) is not None and re.search(rf"(?<!\w){name}\s*[(<]", text) is None


def expand_macro(text: str, name: str, arguments: str) -> str:
    """Return the replacement of a macro with parameters that a text defines once; "" if it defines none.

    >>> expand_macro("#define F(T, n) T f##n(T)", "F", "int, 4")
    ' int f4(int)'
    """
    found = [rest for macro, rest in list_macros(text) if macro == name]
    if len(found) != 1 or not found[0].startswith("("):
        return ""
    places, closed = split_list(found[0], 1)
    names = (found[0][slice(*place)].strip() for place in places)
    given = dict(zip(names, map(str.strip, split_arguments(arguments)), strict=False))
    body = found[0][closed + 1 :].replace("\\\n", "\n")
    return _PASTED.sub("", _WORD.sub(lambda word: given.get(word[0], word[0]), body))


def blank(text: str) -> str:
    """Return blanks in place of a text's characters, with its line ends, so that later lines and places stay the
    same.
    """
    return re.sub(r"[^\n]", " ", text)


def blank_matches(pattern: re.Pattern[str], text: str) -> str:
    """Return a text whose matches of a pattern are blanked.

    >>> blank_matches(COMMENT, "a // b")
    'a     '
    """
    return pattern.sub(lambda match: blank(match[0]), text)


def split_arguments(text: str, brackets: tuple[str, str] = ("([{", ")]}")) -> list[str]:
    """Split arguments at commas outside brackets; brackets: the opening and the closing ones.

    >>> split_arguments("a, f(b, c), {d, e}")
    ['a', ' f(b, c)', ' {d, e}']
    """
    parts, depth, start = [], 0, 0
    opening, closing = brackets
    for at, letter in enumerate(text):
        if letter in opening:
            depth += 1
        elif letter in closing:
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]] if text.strip() else []


def walk_outside_brackets(text: str, letters: str, first: int, past: int) -> Iterator[int]:
    """Yield the places of some letters outside of brackets.

    >>> list(walk_outside_brackets("a = f(b = 1), c[d = 2]", "=,", 0, 22))
    [2, 12]
    """
    depth = 0
    for at in range(first, past):
        letter = text[at]
        if not depth and letter in letters:
            yield at
        depth = max(0, depth + (letter in "([{") - (letter in ")]}"))


def split_list(text: str, first: int, past: int | None = None) -> tuple[list[tuple[int, int]], int]:
    """Split a list after an opening bracket, such as a template's <, at commas; return (places, closing place).

    Inside other brackets < and > are comparisons. past: the end of the search, and the closing place of an unterminated
    list.

    >>> split_list("A<B<1, 2>, (3 < 4)>;", 2)
    ([(2, 9), (10, 18)], 18)
    """
    past = len(text) if past is None else past
    places: list[tuple[int, int]] = []
    opened: list[str] = []
    begin = at = first
    while at < past:
        letter = text[at]
        angles = not opened or opened[-1] == "<"
        if letter in "([{" or (letter == "<" and angles):
            opened.append(letter)
        elif letter in ")]}" or (letter == ">" and angles and text[at - 1] not in "-="):
            if not opened:
                break
            opened.pop()
        elif letter == "," and not opened:
            places.append((begin, at))
            begin = at + 1
        at += 1
    return [*places, (begin, at)], at


def find_closing(text: str, at: int) -> int:
    """Return the place of the closing bracket of the one at a place; the end of the text without one.

    Brackets of other kinds are ignored.

    >>> find_closing("f(a, g[0], (b)) + c", 1)
    14
    """
    opening = text[at]
    depth = 0
    for match in _BRACKETS[opening].finditer(text, at):
        depth += 1 if match[0] == opening else -1
        if not depth:
            return match.start()
    return len(text)


def is_parenthesized(text: str) -> bool:
    """Return whether one pair of parentheses encloses the complete text.

    >>> is_parenthesized("(a + (b))"), is_parenthesized("(a) + (b)"), is_parenthesized("(a")
    (True, False, False)
    """
    return text[:1] == "(" and text[-1:] == ")" and find_closing(text, 0) == len(text) - 1


def strip_parentheses(text: str) -> str:
    """Return a text without the parentheses around all of it, and the blanks inside of them.

    >>> strip_parentheses("((a) + b )"), strip_parentheses("(a) + (b)")
    ('(a) + b', '(a) + (b)')
    """
    while is_parenthesized(text):
        text = text[1:-1].strip()
    return text


def trim_span(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Return a span without the blanks at its ends.

    >>> trim_span("f( a )", (2, 5))
    (3, 4)
    """
    part = text[slice(*span)]
    first = span[0] + len(part) - len(part.lstrip())
    return first, first + len(part.strip())


def list_argument_spans(text: str, first: int, past: int) -> list[tuple[int, int]]:
    """List the places of the arguments between two brackets, as split_arguments finds them, without blanks.

    >>> list_argument_spans("f(a, g(b, c))", 2, 12)
    [(2, 3), (5, 12)]
    """
    spans, at = [], first
    for part in split_arguments(text[first:past]):
        spans.append(trim_span(text, (at, at + len(part))))
        at += len(part) + 1
    return spans


def read_statement_head(text: str, at: int, ends: str = ";{}") -> str:
    """Return the text between the end of the previous statement and a place.

    >>> read_statement_head("{ int x; const int y = 1; }", 19)
    ' const int '
    >>> read_statement_head("int x; __launch_bounds__(size(Mma{})) void f()", 44)
    ' __launch_bounds__(size(Mma{})) void f'
    """
    start = at
    while (start := max(text.rfind(end, 0, start) for end in ends)) >= 0 and _VALUE_END.match(text, start):
        start = max(text.rfind("{", 0, start), 0)
    return text[start + 1 : at]
