"""Find the top-level declarations of C++ text: their spans and declared names; blank some of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from lanescope.cxx.source_text import blank
from lanescope.reader.code.symbolic_integers import Span

_MARK = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|(?:u8|[uUL])?\bR\"(?P<raw>[^ ()\\\s\"]{0,16})\(.*?(?:\)(?P=raw)\"|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\""
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n]){1,16}'|[{}();]",
    re.S,
)
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?(?:\*/|\Z))*", re.S)
_NAMESPACE = re.compile(r"(?:\binline\s+)?\bnamespace\b[^=;(){}]*\Z|\bextern\s*\"C(?:\+\+)?\"\s*\Z")
_TYPED = re.compile(r"\b(?:struct|class|union|enum)\b|\btypedef\b")
_ASSIGNED = re.compile(r"(?<![=!<>])=(?!=)")
_GOES_ON = re.compile(r"(?:else|catch|while)\b")
_NAME = re.compile(r"[A-Za-z_]\w*")
_TYPE_NAME = re.compile(r"\b(?:struct|class|union|enum|using)\s+(?:class\s+|struct\s+)?([A-Za-z_]\w*)")
_DECLARED = re.compile(
    r"\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?=\(|[=;,{:)]|(?:[-+*/%&|^]|<<|>>)=|\+\+|--|<[^;{}()]*>\s*[({=;])"
)
_WORDS = frozenset(
    "if for while switch return sizeof alignof decltype static_assert __launch_bounds__ template typename const"
    " constexpr static inline extern operator int unsigned long short char bool void float double auto public private"
    " protected asm volatile struct class union enum using typedef namespace requires noexcept override final".split()
)
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_LOOSE = re.compile(r"\s*(?:(?:if|for|while|switch|do|else|try)\b|\{)")
_TYPES = re.compile(r"\s*(?:template|using|struct|class|union|enum|typedef|namespace|static_assert)\b")
_FUNCTION = re.compile(r"(?=[^={;)]*\))[^={;]*\{")
_TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")


@dataclass(slots=True)
class NamespaceSpan:
    """A namespace: its header, and the place of its closing brace, -1 without one."""

    header: Span
    close: int = -1


@dataclass(frozen=True, slots=True)
class TopDeclaration:
    """A declaration and its span. namespaces: the enclosing namespaces, outermost first."""

    start: int
    end: int
    namespaces: tuple[NamespaceSpan, ...] = ()

    def list_spans(self) -> Iterator[Span]:
        """Yield the spans that make the declaration a complete text, in order."""
        yield from (space.header for space in self.namespaces)
        yield self.start, self.end
        for space in reversed(self.namespaces):
            if space.close >= self.end:
                yield space.close, space.close + 1


def find_declarations(text: str) -> Iterator[TopDeclaration]:
    """Yield the declarations of a text at namespace scope.

    They cover all text except headers and ends of namespaces, white space, and text after the last declaration.
    """
    cutter = _Cutter(text)
    for mark in _MARK.finditer(text):
        word = mark[0]
        if word == "(":
            cutter.brackets += 1
        elif word == ")":
            cutter.brackets = max(cutter.brackets - 1, 0)
        elif word == "{":
            cutter.open_brace(mark.start(), mark.end())
        elif word == "}":
            yield from cutter.close_brace(mark.start(), mark.end())
        elif word == ";" and not cutter.depth and not cutter.brackets:
            yield cutter.end_declaration(mark.end())
    if text[cutter.start :].strip():
        yield cutter.end_declaration(len(text))


@dataclass(slots=True)
class _Cutter:
    """The state of splitting a text. start: of the current declaration; head: where its body opens."""

    text: str
    namespaces: list[NamespaceSpan] = field(default_factory=list)  # the namespaces that are open
    depth: int = 0
    brackets: int = 0
    start: int = 0
    head: int = 0

    def end_declaration(self, end: int) -> TopDeclaration:
        """End the current declaration."""
        piece = TopDeclaration(self.start, end, tuple(self.namespaces))
        self.start = end
        return piece

    def _find_words(self, at: int) -> int:
        """Return where the words before a brace begin, after the last of the marks that do not stand among them."""
        return max(self.start, *(self.text.rfind(mark, self.start, at) + 1 for mark in "=;(){}"))

    def open_brace(self, at: int, past: int) -> None:
        if not self.depth and not self.brackets and _NAMESPACE.search(self.text, self._find_words(at), at):
            self.namespaces.append(NamespaceSpan((self.start, past)))
            self.start = past
            return
        if not self.depth:
            self.head = at
        self.depth += 1

    def close_brace(self, at: int, past: int) -> Iterator[TopDeclaration]:
        if self.depth:
            self.depth -= 1
            if self.depth:
                return
            self.brackets = 0
            if not _is_continued(self.text, self.start, self.head, past):
                yield self.end_declaration(past)
        elif self.namespaces:
            if self.text[self.start : at].strip():
                yield self.end_declaration(at)
            self.namespaces.pop().close = at
            self.start = past
            self.brackets = 0


def group_declarations(text: str, most: int) -> Iterator[TopDeclaration]:
    """Yield the declarations of a text; consecutive ones of a namespace are joined up to `most` characters."""
    top_declaration: TopDeclaration | None = None
    for piece in list(find_declarations(text)):  # so that every namespace's end is known
        if (
            top_declaration is not None
            and piece.namespaces == top_declaration.namespaces
            and piece.end - top_declaration.start <= most
        ):
            top_declaration = TopDeclaration(top_declaration.start, piece.end, top_declaration.namespaces)
            continue
        if top_declaration is not None:
            yield top_declaration
        top_declaration = piece
    if top_declaration is not None:
        yield top_declaration


def _is_continued(text: str, start: int, head: int, past: int) -> bool:
    """Return whether a declaration continues after its closing brace, to a semicolon or an else."""
    match = _SPACE.match(text, past)
    following = match.end() if match else past
    if text[following : following + 1] in (";", ",", ")", "(", "."):
        return True
    if _GOES_ON.match(text, following):
        return True
    before = text[start:head]
    if _ASSIGNED.search(before):
        return True
    return "(" not in before and _TYPED.search(before) is not None and text[following : following + 1] not in ("", "}")


def list_declared_names(text: str, piece: TopDeclaration) -> set[str]:
    """Return the names that a declaration may declare or write, by its head: too many rather than too few."""
    piece_text = text[piece.start : piece.end]
    if _LOOSE.match(piece_text):
        return set(_DECLARED.findall(piece_text)) - _WORDS
    head = piece_text[: piece_text.find("{") + 1 or len(piece_text)]
    if _is_function_head(head):
        return {next((name for name in _CALLED.findall(head) if name not in _WORDS), "operator")}
    names = set(_DECLARED.findall(head)) | set(_TYPE_NAME.findall(head))
    if re.search(r"\b(?:enum|typedef)\b", head):
        names |= set(_NAME.findall(piece_text))
    return names - _WORDS


def _is_function_head(head: str) -> bool:
    """Return whether the text before a body is the head of a function."""
    return head.endswith("{") and _FUNCTION.match(_TEMPLATE.sub("", head)) is not None


def is_function_definition(text: str, piece: TopDeclaration) -> bool:
    """Return whether a declaration is a function definition."""
    piece_text = text[piece.start : piece.end]
    return not _LOOSE.match(piece_text) and _is_function_head(piece_text[: piece_text.find("{") + 1])


def may_be_variable(text: str, piece: TopDeclaration) -> bool:
    """Return whether a declaration may declare a variable or write one."""
    piece_text = text[piece.start : piece.end]
    if _LOOSE.match(piece_text):
        return True
    return not _TYPES.match(piece_text) and not is_function_definition(text, piece)


@dataclass(frozen=True, slots=True)
class LostStretch:
    """A span of text that differs from what C++ would see, and the names that C++ may declare or write there."""

    start: int
    end: int
    names: frozenset[str]


def blank_declarations(text: str, stretches: Iterable[LostStretch]) -> tuple[str, list[Span]]:
    """Blank the declarations in lost stretches and those that depend on them; return (text, blanked spans).

    Dependent are declarations of the same names, and of variables that they name.
    """
    every = [TopDeclaration(_get_begin(text, piece), piece.end, piece.namespaces) for piece in find_declarations(text)]
    stretches = sorted(stretches, key=lambda stretch: stretch.start)
    gone = _find_dependent(text, every, stretches)
    spans = sorted(
        [*((every[n].start, every[n].end) for n in gone), *((stretch.start, stretch.end) for stretch in stretches)]
    )
    declarations, at = [], 0
    for start, end in spans:
        start = max(start, at)
        if start < end:
            declarations += [text[at:start], blank(text[start:end])]
            at = end
    return "".join((*declarations, text[at:])), spans


def _find_dependent(text: str, every: Sequence[TopDeclaration], stretches: Sequence[LostStretch]) -> set[int]:
    """Return the indices of the declarations that depend on lost stretches."""
    owners: dict[str, list[int]] = {}  # name → its declarations
    variables: dict[str, list[int]] = {}  # name → its declarations as a variable
    for n, piece in enumerate(every):
        for name in list_declared_names(text, piece):
            owners.setdefault(name, []).append(n)
            if may_be_variable(text, piece):
                variables.setdefault(name, []).append(n)
    todo = _find_touched(every, stretches)
    tainted = [name for stretch in stretches for name in stretch.names if name not in _WORDS]
    todo += [n for name in dict.fromkeys(tainted) for n in owners.get(name, ())]
    gone: set[int] = set()
    while todo:
        n = todo.pop()
        if n in gone:
            continue
        gone.add(n)
        declared_names = list_declared_names(text, every[n])
        for name in set(_NAME.findall(text, every[n].start, every[n].end)):
            if name in declared_names:
                todo += owners.pop(name, ())
                variables.pop(name, None)
            else:
                todo += variables.pop(name, ())
    return gone


def _find_touched(every: Sequence[TopDeclaration], stretches: Sequence[LostStretch]) -> list[int]:
    """Return the indices of the declarations inside lost stretches."""
    starts = [stretch.start for stretch in stretches]
    ends = list(accumulate((stretch.end for stretch in stretches), max))
    result: list[int] = []
    for n, piece in enumerate(every):
        before = bisect_left(starts, piece.end)
        if before and ends[before - 1] > piece.start:
            result.append(n)
    return result


def _get_begin(text: str, piece: TopDeclaration) -> int:
    """Return where a declaration begins, after white space and comments."""
    match = _SPACE.match(text, piece.start, piece.end)
    return match.end() if match else piece.start
