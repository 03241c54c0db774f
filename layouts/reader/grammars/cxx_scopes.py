"""Find the scopes of C++: namespaces, classes, functions and blocks by their braces, templates by their heads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lanescope.cxx.source_text import blank_matches, split_list
from lanescope.reader.grammars.scopes import Definition, Parameter, Scope, ScopeIndex

_SKIPPED = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![\w'])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\r?\n|[^\n])*", re.S | re.M
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+(?=\S)", re.M)
_MARK = re.compile(r"[{}();]|\btemplate\s*(?=<)")
_CONTROL = re.compile(r"(?:else\s+)?(?:if|for|while|switch|catch)\b|(?:else|do|try)\s*\Z")
_CLASS = re.compile(
    r"(?:\w+\s+)*?(?:struct|class|union)\s+(?:(?:alignas|\w*ALIGN\w*|__align__)\s*\([^()]*\)\s*|\[\[[^\]]*\]\]\s*)*"
    r"(?P<name>[A-Za-z_][\w:]*)\s*(?P<special><)?"
)
_FUNCTION = re.compile(r"(operator\s*\(\s*\)|operator\W{1,3}|~?[A-Za-z_]\w*)\s*\Z")
_MEMBER = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>]*>)?\s*::\s*\Z")
_LAMBDA = re.compile(r"\]\s*(?P<taken>\()?")
_BEHIND_LAMBDA = re.compile(r"\s*(?:mutable\b|noexcept\b|constexpr\b|__\w+__\s*|->[^{}()]*)*\s*\Z")
_ATTRIBUTE = re.compile(
    r"\b(?:__launch_bounds__|__cluster_dims__|__maxnreg__|__attribute__|alignas|requires|decltype|explicit"
    r"|noexcept)\s*\Z"
)
_QUALIFIERS = r"(?:(?:static|constexpr|const|typename|mutable|extern|inline|__shared__|__device__|volatile)\s+)*"
_ASSIGNED = re.compile(
    r"\s*(?P<head>(?:[\w:<>,\s*&\[\]()]|\{\s*\})*?)(?<![\w.>])"
    r"(?P<name>[A-Za-z_]\w*)\s*(?:\[[^\[\]]*\]\s*)*(?<![=!<>+*/%&|^-])=(?!=)"
)
_USING = re.compile(r"\s*using\s+(?P<name>[A-Za-z_]\w*)\s*=")
_TYPEDEF = re.compile(r"\s*typedef\s+(?P<type>.+?)\s+(?P<name>[A-Za-z_]\w*)\s*\Z", re.S)
_DECLARED = re.compile(
    rf"\s*{_QUALIFIERS}(?P<type>(?:::)?[A-Za-z_][\w:]*(?:\s*<.*>)?(?:::\w+)*)"
    rf"\s+(?P<name>[A-Za-z_]\w*)\s*(?:\{{.*\}})?\s*\Z",
    re.S,
)
_BUILT_IN = frozenset(
    "int unsigned long short char float double bool auto void size_t uint32_t int32_t uint64_t int64_t uint8_t uint16_t"
    " return else case goto using namespace typename struct class enum union template delete new throw friend".split()
)
_LONGEST = 8192  # characters of a definition's statement
_FIXED = re.compile(r"\b(?:const|constexpr|using|static\s+const)\b")
_ENUMERATOR = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")


def index_cxx_scopes(text: str) -> ScopeIndex:
    """Index the scopes of a C++ text and their definitions.

    >>> [(scope.kind, scope.name) for scope in index_cxx_scopes("struct A { void f(int n) { } };").scopes]
    [('text', ''), ('class', 'A'), ('function', 'f')]
    """
    code = blank_matches(_SKIPPED, text)
    scanner = _Scanner(code)
    scanner.scan()
    macros: dict[str, list[Definition]] = {}
    for match in _DEFINE.finditer(text):
        macros.setdefault(match[1], []).append(Definition(match[1], match.start(1), match.end()))
    return ScopeIndex(scanner.scopes, code, macros)


@dataclass(slots=True)
class _Scanner:
    """Scanner for the braces, parentheses and semicolons of a text.

    boundary: end of the last statement; depth: of parentheses in the scope; braces: for each open `{` the state before
    it.
    """

    code: str
    scopes: list[Scope] = field(default_factory=list)
    boundary: int = 0
    depth: int = 0
    braces: list[tuple[Scope | None, int, int]] = field(default_factory=list)

    def scan(self) -> None:
        scope = Scope("text", "", 0, 0, len(self.code))
        self.scopes.append(scope)
        for match in _MARK.finditer(self.code):
            at, mark = match.start(), match[0]
            if mark == "(":
                self.depth += 1
            elif mark == ")":
                self.depth = max(0, self.depth - 1)
            elif mark == "{":
                scope = self.open_brace(scope, at)
            elif mark == "}":
                scope = self.close_brace(scope, at)
            elif mark == ";" and not self.depth:
                self.end_statement(scope, at)
        for open_scope, _, _ in self.braces:
            if open_scope is not None:
                open_scope.end = len(self.code)
        self.end_statement(scope, len(self.code))
        self.scopes.sort(key=lambda scope: (scope.start, -scope.end))

    def open_brace(self, scope: Scope, at: int) -> Scope:
        """Open a scope at a brace, or skip the braces of a value, which belong to the statement."""
        new_scope = _make_scope(self.code, self.boundary, at, scope, self.depth)
        self.braces.append((new_scope, self.boundary, self.depth))
        if new_scope is None:
            return scope
        self.scopes.append(new_scope)
        scope.inner.append(new_scope)
        self.boundary, self.depth = at + 1, 0
        return new_scope

    def close_brace(self, scope: Scope, at: int) -> Scope:
        if not self.braces:
            self.boundary, self.depth = at + 1, 0
            return scope
        closed_scope, boundary, depth = self.braces.pop()
        if closed_scope is None:
            return scope
        if closed_scope.kind == "enum":
            _add_enumerators(closed_scope, self.code, at)
        else:
            self.end_statement(closed_scope, at)
        closed_scope.end = at + 1
        self.depth = depth
        # a class and a lambda extend to the `;`; other bodies end their statement
        self.boundary = boundary if depth or closed_scope.kind == "lambda" else at + 1
        if closed_scope.kind in ("lambda", "enum"):
            closed_scope.kind = "function" if closed_scope.kind == "lambda" else "block"
        assert closed_scope.parent is not None
        return closed_scope.parent

    def end_statement(self, scope: Scope, at: int) -> None:
        """Add the definitions of the statement that ends here."""
        start, self.boundary = self.boundary, at + 1
        for definition, parameters in _list_definitions(self.code, start, at):
            home = scope
            if parameters:
                home = Scope("alias", definition.name, start, definition.begin or at, at + 1, scope, parameters)
                scope.inner.append(home)
                self.scopes.append(home)
            scope.definitions.setdefault(definition.name, []).append(definition)


def _add_enumerators(scope: Scope, code: str, at: int) -> None:
    """Add an enum's enumerators with a value to the enclosing scope."""
    assert scope.parent is not None
    for match in _ENUMERATOR.finditer(code, scope.body, at):
        found = Definition(match[1], match.start(1), match.end())
        scope.parent.definitions.setdefault(match[1], []).append(found)


def _list_definitions(code: str, start: int, at: int) -> Iterator[tuple[Definition, dict[str, Parameter]]]:
    """Yield the definitions of a statement, with a template's parameters."""
    while start < at and code[start] in " \t\r\n:":  # behind public:
        start += 1
    label = re.compile(r"(?:public|private|protected|default)\s*:(?!:)\s*").match(code, start, at)
    first = label.end() if label else start
    parameters, first = _parse_template_heads(code, first, at)
    if at - first > _LONGEST:
        return
    if match := _USING.match(code, first, at):
        yield Definition(match["name"], match.start("name"), match.end(), past=at), parameters
    elif match := _TYPEDEF.match(code, first, at):
        yield Definition(match["name"], match.start("name"), match.start("type"), typed=True, past=at), parameters
    elif (match := _find_assigned(code, first, at)) is not None:
        fixed = bool(_FIXED.search(match["head"]))
        found = Definition(match["name"], match.start("name"), match.end(), fixed=fixed, alone=False, past=at)
        yield found, parameters
    elif (match := _DECLARED.match(code, first, at)) and match["type"] not in _BUILT_IN:
        yield Definition(match["name"], match.start("name"), match.start("type"), typed=True, past=at), parameters


def _find_assigned(code: str, first: int, at: int) -> re.Match[str] | None:
    """Match `type name = ` at the start of a statement; None if `=` is inside parentheses."""
    equals = re.compile(r"(?<![=!<>])=(?!=)").search(code, first, at)
    if equals is None or code.count("(", first, equals.start()) != code.count(")", first, equals.start()):
        return None
    return _ASSIGNED.match(code, first, at)


def _parse_template_heads(code: str, first: int, at: int) -> tuple[dict[str, Parameter], int]:
    """Parse the `template <…>` before a declaration; return (parameters, start of the declaration)."""
    parameters: dict[str, Parameter] = {}
    head = re.compile(r"\s*template\s*<")
    while match := head.match(code, first, at):
        items, first = _split_brackets(code, match.end(), at)
        for place, (begin, past) in enumerate(items):
            if found := _parse_parameter(code, begin, past, place, template=True):
                parameters[found.name] = found
    return parameters, first


def _split_brackets(code: str, first: int, at: int) -> tuple[list[tuple[int, int]], int]:
    """Split the contents of angle brackets or parentheses at commas; return (places, end)."""
    items, end = split_list(code, first, at)
    return items if code[slice(*items[-1])].strip() else items[:-1], min(end + 1, at)


def _parse_parameter(code: str, begin: int, past: int, place: int, template: bool) -> Parameter | None:
    equals = re.compile(r"(?<![=!<>])=(?!=)").search(code, begin, past)
    end = equals.start() if equals else past
    name = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*\Z").search(code, begin, end)
    if name is None or name[1] in ("typename", "class", "int", "bool", "void", "auto"):
        return None
    default = equals.end() if equals else None
    return Parameter(name[1], template, place, default, pack="..." in code[begin:end])


def _make_scope(code: str, boundary: int, at: int, parent: Scope, depth: int) -> Scope | None:
    """Return the scope of a `{`; None if the braces enclose a value."""
    label = re.compile(r"[\s:]*(?:(?:public|private|protected|default)\s*:(?!:))?\s*").match(code, boundary, at)
    first = label.end() if label else boundary
    if lambda_scope := _make_lambda_scope(code, first, at, parent):
        return lambda_scope
    parameters, rest = _parse_template_heads(code, first, at)
    head = code[rest:at].strip()
    if depth or head.endswith(("=", ",", "(", "return")):
        return None
    if not head or _CONTROL.match(head):
        return Scope("block", "", first, at + 1, at + 1, parent, _list_loop_names(code, rest, at))
    if re.match(r"(?:inline\s+)?namespace\b", head) or re.match(r"extern\s*\Z", head):
        return Scope("namespace", head.split()[-1] if " " in head else "", first, at + 1, at + 1, parent)
    if re.match(r"(?:typedef\s+)?enum\b", head):
        return Scope("enum", "", first, at + 1, at + 1, parent)
    if match := _CLASS.match(head):
        return _make_class_scope(code, (first, rest, at), parent, parameters, match)
    return _make_function_scope(code, first, rest, at, parent, parameters)


def _list_loop_names(code: str, first: int, at: int) -> dict[str, Parameter]:
    """Return the variables that a for or if declares; their values change."""
    opened = code.find("(", first, at)
    if opened < 0:
        return {}
    names = re.findall(r"(?:[\w>&*]\s+|[&*])([A-Za-z_]\w*)\s*[=:;](?![=:])", code[opened:at])
    return {name: Parameter(name, False, 0) for name in names}


def _make_class_scope(
    code: str, places: tuple[int, int, int], parent: Scope, parameters: dict[str, Parameter], match: re.Match[str]
) -> Scope | None:
    """Return the scope of a class. places: start of the template head, start of the class, and the brace."""
    first, rest, at = places
    head = code[rest:at].lstrip()
    rest = at - len(head)
    if "=" in re.sub(r"<.*>", "", head, flags=re.S):
        return None
    scope = Scope("class", match["name"].split("::")[-1], first, at + 1, at + 1, parent, parameters)
    scope.specialised = bool(match["special"])
    colon = re.compile(r"[^:]:(?!:)").search(head, match.end() - 1)
    if colon and not match["special"]:
        first = rest + colon.end()
        named = re.compile(r"\s*(?:(?:public|private|protected|virtual|typename)\s+)*")
        items, _ = _split_brackets(code, first, at)
        heads = ((named.match(code, begin), begin) for begin, _ in items)
        scope.bases = tuple(head_match.end() if head_match else begin for head_match, begin in heads)
    return scope


def _make_function_scope(
    code: str, first: int, rest: int, at: int, parent: Scope, parameters: dict[str, Parameter]
) -> Scope | None:
    """Return the scope of a function's body; None for `T x{…}`."""
    opened = code.find("(", rest, at)
    while opened >= 0:
        before = code[rest:opened]
        name = _FUNCTION.search(before)
        if name and not _ATTRIBUTE.search(before) and before.count("<") == before.count(">"):
            items, _ = _split_brackets(code, opened + 1, at)
            all_parameters = dict(parameters)
            for place, (begin, past) in enumerate(items):
                if found := _parse_parameter(code, begin, past, place, template=False):
                    all_parameters[found.name] = found
            scope = Scope("function", name[1], first, at + 1, at + 1, parent, all_parameters)
            outside = _MEMBER.search(before[: name.start()])
            scope.member_of = outside[1] if outside else ""
            return scope
        opened = code.find("(", _split_brackets(code, opened + 1, at)[1], at)
    return None


def _make_lambda_scope(code: str, first: int, at: int, parent: Scope) -> Scope | None:
    """Return the scope of a lambda's body; None if the brace does not begin one."""
    bracket = code.rfind("]", first, at)
    if bracket < 0 or not (match := _LAMBDA.match(code, bracket, at)):
        return None
    items, end = _split_brackets(code, match.end(), at) if match["taken"] else ([], match.end())
    if not _BEHIND_LAMBDA.match(code[end:at]) or not re.search(
        r"(?:[=(,&|{]|\breturn)\s*\[[^\[\]]*\]", code[first : bracket + 1]
    ):
        return None
    parsed = (_parse_parameter(code, begin, past, n, template=False) for n, (begin, past) in enumerate(items))
    opened = code.rfind("[", first, bracket)
    return Scope(
        "lambda", "", opened, at + 1, at + 1, parent, {parameter.name: parameter for parameter in parsed if parameter}
    )
