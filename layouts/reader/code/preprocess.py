"""What C's preprocessor does to a text: macros expanded, conditions decided, attributes of compilers blanked; each
character of the result keeps its place in the pasted text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

from layouts.reader.code.brackets import bare
from layouts.reader.code.word import Span

MOST_EXPANDED = 4000  # expansions of macros in a text
MOST_NESTED = 12
MOST_TEXT = 1 << 17  # characters after expansion
_LINE = re.compile(r"(?:\\\n|[^\n])*\n|(?:\\\n|[^\n])+")
_DEFINE = re.compile(r"\s*#\s*define\s+([A-Za-z_]\w*)(\(([^)]*)\))?[ \t]*(.*)", re.S)
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|$)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|[A-Za-z_]\w*|\d[\w.']*|\s+|.", re.S
)
_BRANCH = re.compile(r"^[ \t]*#[ \t]*(if\w*|else|elif|endif)", re.M)
_WORD = re.compile(r"[A-Za-z_]\w*")
# Words in front of a declaration that say nothing of values: gcc's and CUDA's attributes, and macros made for them.
_ATTRIBUTE = re.compile(
    r"__forceinline__|__noinline__|__inline__|__grid_constant__"
    r"|__attribute__\s*\(\([^()]*(?:\([^()]*\))?[^()]*\)\)|__restrict__|__restrict"
    r"|__align__\s*\([^()]*\)|alignas\s*\((?:[^()]|\([^()]*\))*\)|\[\[[^\]\n]*\]\]|\bnoexcept\b"
    r"|\b[A-Z][A-Z0-9_]*(?:DEVICE|INLINE|HOST|GLOBAL|CALLABLE|UNROLL|HDFUNC|_API)\b(?!\s*[(:<.=;,)])"
    r"|\b[A-Z][A-Z0-9_]{2,}(?=\s+(?:static|inline|constexpr|void|auto|bool|int|unsigned|u?int\d+_t|uint\d\d|size_t)\b)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A text to parse, and where its characters came from: `starts` of the stretches, each (place in the original,
    its length there, whether it is a copy)."""

    text: str
    starts: tuple[int, ...]
    places: tuple[tuple[int, int, bool], ...]

    def original(self, start: int, end: int) -> Span:
        """The stretch of the pasted text that (start, end) of this text came from."""
        if len(self.places) == 1 and self.places[0] == (0, len(self.text), True) and end > start:
            return start, end
        n = bisect_right(self.starts, start) - 1
        if n >= 0 and end > start and self.places[n][2] and (n + 1 == len(self.starts) or end <= self.starts[n + 1]):
            first, length, _ = self.places[n]
            away = first - self.starts[n]
            return min(start + away, first + length), min(end - 1 + away, first + length) + 1
        return self._place(start, False), self._place(max(end - 1, start), True)

    def _place(self, at: int, last: bool) -> int:
        n = max(bisect_right(self.starts, at) - 1, 0)
        if not self.places:
            return at + last
        start, length, copied = self.places[n]
        if copied:
            return min(start + at - self.starts[n], start + length) + last
        return start + length if last else start


_RUST = re.compile(r"\blet (?:mut )?\w+(?:: u64)? =|\d_?u64\b|\bas u64\b")


@dataclass(frozen=True, slots=True)
class _Macro:
    parameters: tuple[str, ...] | None
    body: str


def plain(text: str) -> Source:
    """A text that needs no preprocessor."""
    return Source(text, (0,), ((0, len(text), True),))


def prepare(text: str) -> Source:
    """The text as a C++ parser should see it."""
    made = _Preprocessor(_blank(text)).run()
    return replace(made, text=bare(made.text))


def _of_rust(text: str) -> str:
    """Rust's integers as C spells them, as long as they were: `let d: u64 = 64u64 << 32 | x as u64`."""
    text = re.sub(r"\blet(?: mut)? (\w+): u64(?= =)", lambda found: f"u64 {found[1]}".ljust(len(found[0])), text)
    text = re.sub(
        r"(?<![\w.])(0x[0-9a-fA-F_]+|\d[\d_]*)_?u64\b",
        lambda found: f"{found[1].replace('_', '')}ull".ljust(len(found[0])),
        text,
    )
    text = re.sub(r"(?<![\w.])(\d+)( as u64)\b", r"\1ull    ", text)
    return re.sub(r"(?<=[\w)]) as u(?:64|32|size)\b", lambda found: " " * len(found[0]), text)


def _blank(text: str) -> str:
    if "u64" in text and _RUST.search(text):
        text = _of_rust(text)
    text = re.sub(r"[^\x00-\x7f]", "?", text)
    return _ATTRIBUTE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _followed(text: str) -> tuple[list[int], list[bool]]:
    """(where each directive of a condition begins, whether an #else or #elif of the same condition follows it)."""
    starts: list[int] = []
    followed: list[bool] = []
    open_: list[int] = []  # the last branch of each condition that is not closed
    for n, found in enumerate(_BRANCH.finditer(text)):
        starts.append(found.start())
        followed.append(False)
        if found[1].startswith("if"):
            open_.append(n)
        elif open_ and found[1] == "endif":
            open_.pop()
        elif open_:
            followed[open_[-1]] = True
            open_[-1] = n
    return starts, followed


class _Kept:
    """The open conditions, the innermost last; all: whether every one counts."""

    def __init__(self) -> None:
        self.conditions: list[bool] = []
        self.left_out = 0

    def push(self, truth: bool) -> None:
        self.conditions.append(truth)
        self.left_out += not truth

    def pop(self) -> None:
        self.left_out -= not self.conditions.pop()

    @property
    def all(self) -> bool:
        return not self.left_out


class _Preprocessor:
    def __init__(self, text: str) -> None:
        self.text = text
        self.macros: dict[str, _Macro] = {}
        self.out: list[str] = []
        self.length = 0
        self.starts: list[int] = []
        self.places: list[tuple[int, int, bool]] = []
        self.left = MOST_EXPANDED
        self.branches: tuple[list[int], list[bool]] | None = None

    def run(self) -> Source:
        if "#" not in self.text:
            return plain(self.text)
        kept = _Kept()  # of each open condition: whether the branch counts
        taken: list[bool] = []  # … and whether one of its branches did
        start = 0  # of the stretch that was not written yet
        for line in _LINE.finditer(self.text):
            stripped = line[0].lstrip()
            if not stripped.startswith("#"):
                if kept.all and start < 0:
                    start = line.start()
                continue
            if start >= 0 and kept.all:
                self._code(start, line.start())
            start = -1
            self._directive(stripped, kept, taken, line.end())
            if kept.all:
                start = line.end()
        if start >= 0 and kept.all:
            self._code(start, len(self.text))
        return Source("".join(self.out), tuple(self.starts), tuple(self.places))

    def _directive(self, line: str, kept: _Kept, taken: list[bool], after: int) -> None:
        word = re.match(r"#\s*(\w*)\s*(.*)", line.replace("\\\n", " "), re.S)
        name, rest = (word[1], word[2].partition("//")[0].strip()) if word else ("", "")
        if name in ("if", "ifdef", "ifndef"):
            truth = self._holds(name, rest, after)
            kept.push(truth)
            taken.append(truth)
        elif name in ("else", "elif") and taken:
            truth = not taken[-1] and (name == "else" or self._holds("if", rest, after))
            kept.pop()
            kept.push(truth)
            taken[-1] = taken[-1] or truth
        elif name == "endif" and taken:
            kept.pop()
            taken.pop()
        elif name == "define" and kept.all:
            self._define(line)
        elif name == "undef" and kept.all:
            self.macros.pop(rest, None)

    def _holds(self, name: str, rest: str, after: int) -> bool:
        """Whether a branch counts. A name that the text does not define is C's 0, unless there is no other branch or it
        asks for the device or a version, which any reader of this has."""
        if name == "ifndef":
            return rest not in self.macros
        if name == "ifdef" and rest in self.macros:
            return True
        if name == "if":
            if re.fullmatch(r"\(?\s*\d+\s*\)?", rest):
                return int(re.sub(r"\D", "", rest)) != 0
            known = re.fullmatch(r"!?\s*defined\s*\(?\s*(\w+)\s*\)?", rest)
            if known and known[1] in self.macros:
                return not rest.startswith("!")
            if rest.startswith("!"):
                return not re.search("CUDA|SM_?[0-9]", rest)
            macro = re.fullmatch(r"\(?\s*(\w+)\s*(==|!=|>=|<=|>|<)?\s*(\d*)\s*\)?", rest)
            if macro and macro[1] in self.macros and (macro[3] or not macro[2]):
                body = self.macros[macro[1]].body.strip("() ")
                if body.isdigit():
                    return _compare(int(body), macro[2] or "!=", int(macro[3] or 0))
        if re.search(r"CUDA|SM_?\d|ARCH|__NVCC__|HOPPER|__cplusplus", rest):
            return True
        return not self._has_else(after)

    def _has_else(self, at: int) -> bool:
        """Whether another branch follows that of the last directive before a place."""
        if self.branches is None:
            self.branches = _followed(self.text)
        starts, followed = self.branches
        n = bisect_right(starts, at - 1) - 1
        return n >= 0 and followed[n]

    def _define(self, line: str) -> None:
        found = _DEFINE.match(line.replace("\\\n", "  "))
        if found:
            parameters = tuple(p.strip() for p in found[3].split(",") if p.strip()) if found[2] is not None else None
            body = re.sub(r"//[^\n]*|/\*.*?\*/", " ", found[4], flags=re.S).strip()
            self.macros[found[1]] = _Macro(parameters, body)

    # output ----------------------------------------------------------------------------------------------------------

    def _write(self, text: str, start: int, length: int, copied: bool) -> None:
        if text and self.length < MOST_TEXT:
            self.starts.append(self.length)
            self.places.append((start, length, copied))
            self.out.append(text)
            self.length += len(text)

    def _code(self, start: int, end: int) -> None:
        """A stretch of code, its macros expanded."""
        if not any(name in self.macros for name in set(_WORD.findall(self.text, start, end))):
            self._write(self.text[start:end], start, end - start, True)
            return
        copied = at = start
        while at < end:
            found = _TOKEN.match(self.text, at, end)
            if found is None:
                break
            past = found.end()
            if found[0] in self.macros and self.left > 0:
                made = self._expanded(found[0], self.text, past, end, ())
                if made is not None:
                    self._write(self.text[copied:at], copied, at - copied, True)
                    body, past = made
                    self._write(body, at, past - at, False)
                    copied = past
            at = past
        self._write(self.text[copied:end], copied, end - copied, True)

    def _expanded(self, name: str, text: str, at: int, end: int, inside: tuple[str, ...]) -> tuple[str, int] | None:
        """(what a use of a macro becomes, where its use ends); None for a function-like one without its arguments."""
        macro = self.macros[name]
        self.left -= 1
        given: list[str] = []
        if macro.parameters is not None:
            opened = re.compile(r"\s*\(").match(text, at, end)
            if opened is None:
                return None
            read = _arguments(text, opened.end(), end)
            if read is None:
                return None
            given, at = read
        values = {}
        for place, parameter in enumerate(macro.parameters or ()):
            if parameter.endswith("..."):  # gcc gives the rest a name: #define F(rest...)
                values[parameter[:-3].strip() or "__VA_ARGS__"] = ",".join(given[place:])
            else:
                values[parameter] = given[place] if place < len(given) else ""
        values = {key: self._text(value, inside) for key, value in values.items()}
        body = "".join(values.get(token, token) for token in _TOKEN.findall(macro.body))
        body = re.sub(r"\s*##\s*", "", body)
        return self._text(body, (*inside, name)), at

    def _text(self, text: str, inside: tuple[str, ...]) -> str:
        """A text with its macros expanded, but those it stands in."""
        if len(inside) > MOST_NESTED or not any(name in self.macros for name in _WORD.findall(text)):
            return text[:MOST_TEXT]
        out: list[str] = []
        at, size = 0, 0
        while at < len(text) and size < MOST_TEXT:
            found = _TOKEN.match(text, at)
            if found is None:
                break
            token, at = found[0], found.end()
            if token in self.macros and token not in inside and self.left > 0:
                made = self._expanded(token, text, at, len(text), inside)
                if made is not None:
                    token, at = made
            out.append(token)
            size += len(token)
        return "".join(out)


def _compare(left: int, op: str, right: int) -> bool:
    return {"==": left == right, "!=": left != right, ">=": left >= right, "<=": left <= right, ">": left > right}.get(
        op, left < right
    )


def _arguments(text: str, at: int, end: int) -> tuple[list[str], int] | None:
    """The arguments after an opening parenthesis, and where its closing one ends."""
    given, depth, start = [], 0, at
    while at < end:
        found = _TOKEN.match(text, at, end)
        if found is None:
            return None
        token = found[0]
        if token in "([{":
            depth += 1
        elif token == ")" and not depth:
            given.append(text[start:at].strip())
            return given, found.end()
        elif token in ")]}":
            depth -= 1
        elif token == "," and not depth:
            given.append(text[start:at].strip())
            start = found.end()
        at = found.end()
    return None
