"""Parse types, calls and attributes as one tree: C++ templates, Python calls, MLIR attributes.

    TiledMMA<MMA_Atom<X>, Layout<Shape<_2,_2,_1>>>      name, <…>
    cute.make_tiled_mma(op, (2,2,1), permutation_mnk=t) name, (…), keywords
    #ttg.blocked<{order = [1, 0]}>                      name, <…>, keywords

Only the requested term is parsed. Names that the text defines (`using X = …`, `X = …`, `typedef … X;`) are looked up,
and arithmetic of known numbers is evaluated. The number of steps per text is bounded. Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from lanescope.cute.words import INTEGERS
from lanescope.reader.grammars import lookup
from lanescope.reader.grammars.cxx_scopes import index_cxx_scopes
from lanescope.reader.grammars.grammar import (
    DEEPEST,
    MOST_STEPS,
    PYTHON_TOKEN,
    TOKEN,
    SyntaxTerm,
    UnreadableError,
    Value,
    compute_integer,
)
from lanescope.reader.grammars.python_scopes import index_python_scopes
from lanescope.reader.grammars.scopes import ScopeIndex
from lanescope.reader.grammars.term_reader import TermReader

__all__ = ["MOST_STEPS", "SyntaxTerm", "TermText", "Value", "find_terms", "make_term_text"]

MOST_TERMS = 64  # terms per text
MOST_OPERATORS = 64  # operators nested in one number
_CASTS = frozenset(("constexpr", "Int32", "int", "int32_t", "size_t", "unsigned", "uint32_t", "static_cast"))
_NOT_PYTHON = re.compile(r";|::|#t|%\w|^[ \t]*//|[,({<>][ \t]{0,40}//|[\w>]\{\}|\b(?:auto|using|template)\b", re.M)
_PYTHON = re.compile(
    r"^[ \t]*(?:def \w+\(|from [\w.]+ import\b|import \w[\w.]*[ \t]*(?:as \w+)?$|class \w+.*:[ \t]*$)", re.M
)
_CXX = re.compile(
    r"^[ \t]*#[ \t]*(?:include|pragma)\b|\btemplate\s*<|\busing\s+\w+\s*=|\b(?:constexpr|namespace)\b", re.M
)
_ALIAS = re.compile(r"(?<![\w.#])(#[A-Za-z_]\w*)[ \t]*=(?!=)")  # of MLIR


# name → function that evaluates its call or member, None if arguments are unknown (`constants.py`)
REDUCERS: dict[str, Callable[[TermText, SyntaxTerm], Value]] = {}


@dataclass(slots=True)
class TermText:
    """A text with its definitions, for looking up values.

    words: text of open values → the names that they depend on.
    """

    text: str
    steps: int = 0
    evaluated: int = 0  # values of CuTe
    looked: dict[tuple[str, int], Value] = field(default_factory=dict)
    token: re.Pattern[str] = TOKEN
    parsed: dict[tuple[int, str], Value] = field(default_factory=dict)
    reduced: dict[tuple[str, tuple[int, int]], Value] = field(default_factory=dict)
    uses: dict[int, list[SyntaxTerm]] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def python(self) -> bool:
        """Whether the text shows no sign of C++."""
        return self.token is PYTHON_TOKEN

    @property
    def aliases(self) -> dict[str, list[tuple[int, int]]]:
        """Name of an MLIR alias → (place, start of its value) of its definitions."""
        return _index_aliases(self.text)

    @property
    def scopes(self) -> ScopeIndex:
        """The scopes of its names."""
        return _index_scopes(self.text, self.python)

    def parse_term(self, start: int, alone: bool = False, angle: bool = False) -> Value:
        """Parse the value at a place; None if it cannot be parsed.

        alone: parse a name with its brackets, no arithmetic; angle: the place is inside <…>, where > is not a
        comparison.
        """
        return self._parse(start, "term" if alone else "angle" if angle else "expression")

    def parse_type(self, start: int) -> Value:
        """Parse the type at a place, without the brackets after it."""
        return self._parse(start, "type")

    def _parse(self, start: int, what: str) -> Value:
        key = start, what
        if key not in self.parsed:
            try:
                reader = TermReader(self, start)
                reader.angles, reader.calls = int(what == "angle"), what != "type"
                self.parsed[key] = reader.parse_primary() if what in ("term", "type") else reader.parse_complete()
            except (UnreadableError, RecursionError):
                self.parsed[key] = None
        return self.parsed[key]

    def resolve_value(self, value: Value) -> Value:
        """Resolve names and evaluate calls; an unknown name is returned unchanged."""
        for _ in range(DEEPEST):
            if not isinstance(value, SyntaxTerm):
                break
            reduced = self._reduce_term(value)
            if reduced is None and (value.named or value.symbol or value.args):
                return value
            definition = reduced if reduced is not None else self._find_definition(value)
            if definition is None:
                return value
            value = definition
        return value

    def find_name(self, value: Value) -> str:
        """Return the name that a value resolves to, "" if it is not a name."""
        value = self.resolve_value(value)
        return value if isinstance(value, str) else value.name if isinstance(value, SyntaxTerm) else ""

    def _reduce_term(self, term: SyntaxTerm) -> Value:
        """Evaluate a call or a member; None if it is open or already being evaluated."""
        reducer = REDUCERS.get(term.path if term.symbol else term.name)
        if reducer is None or self.steps >= MOST_STEPS or self.scopes.list_named("function", term.name):
            return None  # the text's function of that name takes precedence
        key = term.path, term.span
        if key not in self.reduced:
            self.reduced[key] = None
            self.reduced[key] = reducer(self, term)
        return self.reduced[key]

    def _find_definition(self, term: SyntaxTerm) -> Value:
        key = term.path, term.span[0]
        if key not in self.looked:
            self.looked[key] = None
            if self.steps < MOST_STEPS:
                value = lookup.find_value(self, term)
                inside = isinstance(value, SyntaxTerm) and value.span[0] <= term.span[0] < value.span[1]
                self.looked[key] = None if inside or value == term else value
        return self.looked[key]

    def parse_number(self, value: Value, depth: int = 0) -> int | None:
        """Return the integer of 64, _64, Int<64>, C<64>, Int<64>{}, a name defined as such, or arithmetic of them.

        Returns None if it is unknown, or if more than MOST_OPERATORS are nested.
        """
        value = self.resolve_value(value)
        if depth > MOST_OPERATORS:
            return None
        if not isinstance(value, SyntaxTerm):
            return value if isinstance(value, int) else None
        if re.fullmatch(r"_\d+", value.name):
            return int(value.name[1:])
        if value.name in INTEGERS or value.name in _CASTS:
            inside = value.inside
            return self.parse_number(inside[-1], depth + 1) if inside else None
        if value.symbol and value.args and len(value.args) == 2:
            left, right = (self.parse_number(argument, depth + 1) for argument in value.args)
            return None if left is None or right is None else compute_integer(value.path, left, right, self.python)
        return None

    def get_number_or_words(self, value: Value) -> int | str:
        """Return the number, or the value's text if unknown."""
        number = self.parse_number(value)
        if number is not None:
            return number
        words = self.format_words(value)
        self.words.setdefault(words, tuple(lookup.list_open_names(self, value)))
        return words

    def list_missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names that the open values depend on; `words` has names and texts of values."""
        return tuple(dict.fromkeys(root for name in names for root in self.words.get(name) or (name,)))

    def format_words(self, value: Value) -> str:
        """Return a value as written in the text, on one line of limited length."""
        if isinstance(value, SyntaxTerm):
            name = value.name if value.name in ("Int", "C") and value.angle else ""
            if name:
                return str(self.get_number_or_words((value.angle or ("",))[-1]))
            return " ".join(self.text[value.span[0] : value.span[1]].split())[:80]
        return str(value)[:80]


@lru_cache(maxsize=8)
def _index_scopes(text: str, python: bool) -> ScopeIndex:
    return index_python_scopes(text) if python else index_cxx_scopes(text)


@lru_cache(maxsize=8)
def _index_aliases(text: str) -> dict[str, list[tuple[int, int]]]:
    places: dict[str, list[tuple[int, int]]] = {}
    for match in _ALIAS.finditer(text):
        places.setdefault(match[1], []).append((match.start(), match.end()))
    return places


def make_term_text(text: str) -> TermText:
    """Return a text for name lookup, with its own step limit."""
    python = _PYTHON.search(text) and not _CXX.search(text)
    return TermText(text, token=PYTHON_TOKEN if python or not _NOT_PYTHON.search(text) else TOKEN)


def find_terms(text: TermText, pattern: re.Pattern[str]) -> Iterator[SyntaxTerm]:
    """Yield every term of a text that begins at a match of the pattern."""
    past = 0
    for count, match in enumerate(pattern.finditer(text.text)):
        if count >= MOST_TERMS:
            return
        if match.start() < past:
            continue
        value = text.parse_term(match.start(), alone=True)
        if isinstance(value, SyntaxTerm):
            past = value.span[1]
            yield value
