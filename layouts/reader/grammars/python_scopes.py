"""Find the scopes of Python: classes and functions by their indentation. Attributes of self belong to the class."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lanescope.cxx.source_text import blank_matches, walk_outside_brackets
from lanescope.reader.grammars.scopes import Definition, Parameter, Scope, ScopeIndex

_SKIPPED = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|(?<![\w#])#(?![A-Za-z_]\w*\s*=)[^\n]*", re.S
)
_HEAD = re.compile(r"(?:async\s+)?(?P<kind>def|class)\s+(?P<name>\w+)\s*(?P<taken>\()?")
_TARGET = re.compile(r"(?P<name>#?(?:self\.)?[A-Za-z_]\w*)\s*(?::\s*[\w.\[\], |]{1,200})?=(?!=)\s*")
_NAMES = re.compile(r"(?<![\w.])(?:self\.)?[A-Za-z_]\w*(?![\w.(\[])")
_BOUND = re.compile(r"(?:async\s+)?for\s+(?P<names>.*?)\s+in\b|with\b.*?\bas\s+(?P<one>\w+)", re.S)
_BRANCH = re.compile(r"(?:if|elif|else|for|while|try|except|finally|with|match|case|async)\b")
_PARAMETER = re.compile(r"\s*(?P<stars>\*{0,2})(?P<name>\w+)\s*(?::[^=]*)?(?P<default>=\s*)?")


def index_python_scopes(text: str) -> ScopeIndex:
    """Index the scopes of a Python text and their definitions.

    >>> index = index_python_scopes("class A:\\n    def f(self):\\n        pass\\n")
    >>> [(scope.kind, scope.name) for scope in index.scopes]
    [('text', ''), ('class', 'A'), ('function', 'f')]
    """
    code = blank_matches(_SKIPPED, text)
    scanner = _Scanner(code)
    scanner.scan()
    return ScopeIndex(scanner.scopes, code, {})


@dataclass(slots=True)
class _Scanner:
    """Scanner for the logical lines of a text. open: (indentation, scope, is a branch) of the blocks around a line."""

    code: str
    scopes: list[Scope] = field(default_factory=list)
    open: list[tuple[int, Scope, bool]] = field(default_factory=list)

    def scan(self) -> None:
        module = Scope("text", "", 0, 0, len(self.code))
        self.scopes.append(module)
        self.open.append((-1, module, False))
        at = 0
        while at < len(self.code):
            past = self.find_line_end(at)
            for first, last in self.split_statements(at, past):
                self.add_line(first, last)
            at = past + 1
        for _, scope, branch in self.open[1:]:
            if not branch:
                scope.end = len(self.code)

    def find_line_end(self, at: int) -> int:
        """Return the end of a logical line, which continues inside brackets and after a backslash."""
        ends = walk_outside_brackets(self.code, "\n", at, len(self.code))
        return next((end for end in ends if self.code[end - 1 : end] != "\\"), len(self.code))

    def split_statements(self, at: int, past: int) -> list[tuple[int, int]]:
        """Split a logical line at semicolons outside brackets."""
        parts, first = [], at
        for place in walk_outside_brackets(self.code, ";", at, past):
            parts.append((first, place))
            first = place + 1
        return [*parts, (first, past)]

    def add_line(self, at: int, past: int) -> None:
        line = self.code[at:past]
        if not line.strip():
            return
        indent = len(line) - len(line.lstrip())
        first = at + indent
        starts_line = at == 0 or self.code[at - 1] == "\n"
        while starts_line and len(self.open) > 1 and self.open[-1][0] >= indent:
            _, scope, branch = self.open.pop()
            if not branch:
                scope.end = at
        scope = self.open[-1][1]
        if head := _HEAD.match(self.code, first, past):
            self.open_scope(indent, scope, head, past)
            return
        if _BRANCH.match(self.code, first, past) and ":" in line:
            self.open.append((indent, scope, True))
        self.add_definitions(scope, first, past)

    def open_scope(self, indent: int, parent: Scope, head: re.Match[str], past: int) -> None:
        kind = "class" if head["kind"] == "class" else "function"
        new_scope = Scope(kind, head["name"], head.start(), past, past, parent)
        if kind == "function" and head["taken"]:
            for place, (begin, end) in enumerate(_split_items(self.code, head.end(), past)):
                match = _PARAMETER.match(self.code, begin, end)
                if match:
                    default = match.end() if match["default"] else None
                    new_scope.parameters[match["name"]] = Parameter(
                        match["name"], False, place, default, bool(match["stars"])
                    )
        parent.inner.append(new_scope)
        self.scopes.append(new_scope)
        self.open.append((indent, new_scope, False))

    def add_definitions(self, scope: Scope, first: int, past: int) -> None:
        alone = not any(branch for _, inner, branch in self.open if inner is scope)
        if match := _TARGET.match(self.code, first, past):
            self.add(scope, match["name"], Definition(match["name"], first, match.end(), False, False, alone, past))
            return
        for name in _list_targets(self.code, first, past):
            self.add(scope, name, Definition(name, first, None, False, False, alone, past))

    def add(self, scope: Scope, name: str, definition: Definition) -> None:
        """Add a definition to its scope; an attribute of self to the enclosing class."""
        if name.startswith("self."):
            scope = next((outer for outer in scope.list_outward() if outer.kind == "class"), scope)
            definition = Definition(name, definition.place, definition.begin, False, False, False, definition.past)
        scope.definitions.setdefault(name, []).append(definition)


def _list_targets(code: str, first: int, past: int) -> list[str]:
    """Return the names that a statement binds in other ways than `name =`: a, b =; x += 1; for; with."""
    if bound := _BOUND.match(code, first, past):
        return _NAMES.findall(bound["names"] or bound["one"])
    place = next(walk_outside_brackets(code, "=", first, past), None)
    if place is None or code[place + 1 : place + 2] == "=" or code[place - 1] in "!<>=:":
        return []
    return _NAMES.findall(code[first:place].rstrip("+-*/%&|^<>@ "))


def _split_items(code: str, first: int, past: int) -> list[tuple[int, int]]:
    """Split the contents of parentheses at commas."""
    items, begin = [], first
    for place in walk_outside_brackets(code, ",)", first, past):
        items.append((begin, place))
        begin = place + 1
        if code[place] == ")":
            break
    return [item for item in items if code[item[0] : item[1]].strip()]
