"""Find the value of a name at its place: a definition in an enclosing scope, a member of a class or a namespace, or the
argument of a template's only instantiation.

The name is open if several definitions may apply and differ, if a variable changes, or if a parameter has several
different arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lanescope.reader.grammars.grammar import SyntaxTerm
from lanescope.reader.grammars.scopes import Definition, Parameter, Scope, visible_definitions

if TYPE_CHECKING:
    from lanescope.reader.grammars.terms import TermText

_MOST_USES = 24  # instantiations per template
_MOST_BASES = 4  # levels of base classes
_MOST_NAMES = 16  # open names per value
_SELF = frozenset(("self", "cls", "this"))
_DECLARING = re.compile(r"(?P<template>\btemplate\s+)?\b(?:struct|class|union|enum)\s+\Z")
Value = Any


def find_value(home: TermText, term: SyntaxTerm) -> Value:
    """Return the value of a name at its place; None if the text does not determine it.

    >>> from lanescope.reader.grammars import terms
    >>> text = terms.make_term_text("void f() { constexpr int n = 4; } template <int n> struct A { int m = n; };")
    >>> text.parse_number(SyntaxTerm("n", span=(31, 32))), text.parse_number(SyntaxTerm("n", span=(70, 71)))
    (4, None)
    """
    if term.name.startswith("#"):
        return _find_alias(home, term)
    if term.owner is not None:
        return _find_member(home, term)
    return _find_visible(home, term.name, term.span[0])


def _find_alias(home: TermText, term: SyntaxTerm) -> Value:
    """Return the value of an MLIR alias, which is visible in the whole text."""
    places = [place for place in home.aliases.get(term.name, ()) if not place[0] <= term.span[0] <= place[1]]
    before = [place for place in places if place[0] < term.span[0]]
    chosen = before[-1:] or places[:1]
    return home.parse_term(chosen[0][1], alone=True) if chosen else None


def _find_visible(home: TermText, name: str, place: int) -> Value:
    index = home.scopes
    if macros := [definition for definition in index.macros.get(name, ()) if definition.place != place]:
        return _get_common_value(home, macros, index.outermost)
    for scope in index.find_scope(place).list_outward():
        found = visible_definitions(scope, name, place)
        if name in scope.parameters:
            return None if found else _bind_parameters(home, scope, scope.parameters[name])
        if found:
            return _get_common_value(home, found, scope)
        if scope.member_of and any(name in owner.definitions for owner in index.list_named("class", scope.member_of)):
            return _find_in_class(home, SyntaxTerm(scope.member_of, span=(scope.start, scope.start)), name)
        if scope.kind == "class" and (value := _find_in_bases(home, scope, name)) is not None:
            return value
    return _find_in_namespaces(home, name)


def _find_in_namespaces(home: TermText, name: str) -> Value:
    """Return the value of a name in a namespace that the text may use."""
    found = [(member, scope) for scope in home.scopes.list_namespaces() for member in scope.definitions.get(name, ())]
    return _get_common_value(home, [member for member, _ in found], found[0][1]) if found else None


def _get_common_value(home: TermText, found: list[Definition], scope: Scope) -> Value:
    """Return the common value of all definitions; None if they differ or may change."""
    if any(definition.begin is None for definition in found) or any(
        _can_change(home, definition, scope) for definition in found
    ):
        return None
    values = [
        home.parse_term(definition.begin, alone=definition.typed)
        for definition in found
        if definition.begin is not None
    ]
    first = values[0]
    if len(values) > 1 and any(_make_key(home, value) != _make_key(home, first) for value in values[1:]):
        return None
    return first


def _can_change(home: TermText, definition: Definition, scope: Scope) -> bool:
    """Return whether a C++ variable is assigned again, incremented, or passed by address."""
    if definition.fixed or definition.typed or home.python:
        return False
    enclosing = [outer for outer in scope.list_outward() if outer.kind in ("function", "class")]
    part = enclosing[-1] if enclosing else home.scopes.outermost
    name = re.escape(definition.name)
    changed = re.compile(
        rf"(?<![\w.>]){name}\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--|>>\s*|[(,]\s*&\s*){name}\b"
    )
    places = (match.start() for match in changed.finditer(home.scopes.code, part.start, part.end))
    return any(place != definition.place for place in places)


# templates ------------------------------------------------------------------------------------------------------------


def _bind_parameters(home: TermText, scope: Scope, parameter: Parameter) -> Value:
    """Return the argument for a parameter in all instantiations of a template or all calls of a Python function.

    Returns None if they differ.
    """
    if parameter.pack or not (parameter.template or home.python):
        return None
    values = [_get_argument(home, use, parameter) for use in list_uses(home, scope)]
    if not values or values[0] is None:
        return None
    keys = [_make_key(home, value) for value in values]
    return values[0] if all(key == keys[0] for key in keys[1:]) else None


def _get_argument(home: TermText, use: SyntaxTerm, parameter: Parameter) -> Value:
    if parameter.name in use.keywords:
        return use.keywords[parameter.name]
    method = home.python and isinstance(use.owner, SyntaxTerm) and use.owner.path in _SELF
    arguments = (use.args if home.python else use.angle) or ()
    place = parameter.place - method
    if 0 <= place < len(arguments):
        return arguments[place]
    return home.parse_term(parameter.default, angle=parameter.template) if parameter.default is not None else None


def list_uses(home: TermText, scope: Scope) -> list[SyntaxTerm]:
    """Return the instantiations of a template or the calls of a Python function; [] if there may be unseen ones."""
    if id(scope) not in home.uses:
        home.uses[id(scope)] = []  # a marker while they are collected
        home.uses[id(scope)] = _find_calls(home, scope) if home.python else _find_uses(home, scope)
    return home.uses[id(scope)]


def _find_instance(home: TermText, at: int, name: str) -> SyntaxTerm | None:
    """Return the part of a term with a name's template arguments."""
    use = home.parse_term(at, alone=True)
    while isinstance(use, SyntaxTerm) and use.name != name:
        use = use.owner
    return use if isinstance(use, SyntaxTerm) and use.angle is not None else None


def _find_uses(home: TermText, scope: Scope) -> list[SyntaxTerm]:
    index = home.scopes
    if not scope.name or len(index.list_named(scope.kind, scope.name)) > 1:
        return []
    name, uses = re.escape(scope.name), []
    for match in re.finditer(rf"(?<!\w){name}\s*(?P<mark>[<(]?)", index.code):
        if scope.start <= match.start() < scope.end:
            continue
        declared = _DECLARING.search(index.code[max(0, match.start() - 40) : match.start()])
        if declared and not declared["template"] and match["mark"] == "<":
            return []  # a specialisation
        if match["mark"] == "(" and scope.kind == "function":
            return []  # deduced arguments
        use = _find_instance(home, match.start(), scope.name) if match["mark"] == "<" else None
        if use is not None:
            uses.append(use)
        if len(uses) > _MOST_USES:
            return []
    return uses


def _find_calls(home: TermText, scope: Scope) -> list[SyntaxTerm]:
    """Return the calls of a Python function; [] if its name is also used otherwise."""
    index = home.scopes
    if scope.kind != "function" or len(index.list_named(scope.kind, scope.name)) > 1:
        return []
    calls: list[SyntaxTerm] = []
    for match in re.finditer(rf"(?<!\w)(?P<owner>self\.|\w*\.)?{re.escape(scope.name)}\b(?P<mark>\s*\()?", index.code):
        if scope.start <= match.start() < scope.body:
            continue
        if index.code[match.end() : match.end() + 1] == "." and not match["mark"]:
            continue  # kernel.set_name_prefix(…)
        call = home.parse_term(match.start(), alone=True) if match["mark"] else None
        while isinstance(call, SyntaxTerm) and call.name != scope.name and call.args:
            call = call.args[0]  # kernel(…).launch(…)
        if not isinstance(call, SyntaxTerm) or call.name != scope.name or len(calls) >= _MOST_USES:
            return []
        if match["owner"] not in (None, "self."):
            return []
        calls.append(call)
    return calls


def describe_instantiation(home: TermText, place: int) -> str:
    """Return the text of the only instantiation of the templates around a place; "" if there is none."""
    for scope in home.scopes.find_scope(place).list_outward():
        uses = list_uses(home, scope) if scope.kind in ("class", "function") and scope.templated else []
        template = [parameter for parameter in scope.parameters.values() if parameter.template]
        if uses and all(_bind_parameters(home, scope, parameter) is not None for parameter in template):
            return home.format_words(uses[0])
    return ""


def _make_key(home: TermText, value: Value, depth: int = 0) -> object:
    """Return a key that is the same for equal values; an open value equals only itself."""
    number = home.parse_number(value) if not isinstance(value, str) else None
    if number is not None:
        return number
    value = home.resolve_value(value)
    if depth > _MOST_BASES or value is None:
        return object()
    if isinstance(value, tuple):
        return tuple(_make_key(home, item, depth + 1) for item in value)
    if not isinstance(value, SyntaxTerm):
        return value
    if value.symbol or is_open(home, value):
        return object()
    parts = tuple(_make_key(home, item, depth + 1) for item in value.inside)
    return value.path, parts, tuple((name, _make_key(home, item, depth + 1)) for name, item in value.named)


# members --------------------------------------------------------------------------------------------------------------


def _find_member(home: TermText, term: SyntaxTerm) -> Value:
    """Return the value of a member of a class or a namespace."""
    owner = term.owner
    if home.python and isinstance(owner, SyntaxTerm) and owner.path in _SELF:
        return _find_attribute(home, term)
    namespaces = home.scopes.list_named("namespace", owner.name) if isinstance(owner, SyntaxTerm) else []
    found = [member for scope in namespaces for member in scope.definitions.get(term.name, ())]
    if found:
        return _get_common_value(home, found, namespaces[0])
    if isinstance(owner, SyntaxTerm) and owner.path in _SELF:
        return _find_visible(home, term.name, term.span[0])
    return _find_in_class(home, home.resolve_value(owner), term.name)


def _find_attribute(home: TermText, term: SyntaxTerm) -> Value:
    """Return the value of self.name, which the methods of a class set once."""
    for scope in home.scopes.find_scope(term.span[0]).list_outward():
        if scope.kind == "class":
            found = [*scope.definitions.get(f"self.{term.name}", ()), *scope.definitions.get(term.name, ())]
            return _get_common_value(home, found, scope) if found else None
    return None


def _find_in_class(home: TermText, owner: Value, name: str, depth: int = 0) -> Value:
    if not isinstance(owner, SyntaxTerm) or (home.python and (owner.args or owner.named)):
        return None
    scopes = home.scopes.list_named("class", owner.name)
    if len(scopes) != 1 or scopes[0].specialised:
        return None
    (scope,) = scopes
    if found := scope.definitions.get(name, []):
        return _get_common_value(home, found, scope)
    return _find_in_bases(home, scope, name, depth)


def _find_in_bases(home: TermText, scope: Scope, name: str, depth: int = 0) -> Value:
    if depth > _MOST_BASES:
        return None
    for begin in scope.bases:
        base = home.resolve_value(home.parse_type(begin))
        if (value := _find_in_class(home, base, name, depth + 1)) is not None:
            return value
    return None


# open names -----------------------------------------------------------------------------------------------------------


def is_open(home: TermText, term: SyntaxTerm) -> bool:
    """Return whether an unresolved name is a parameter without a value, or a variable that changes."""
    owner = term
    while isinstance(owner.owner, SyntaxTerm):
        owner = owner.owner
    for scope in home.scopes.find_scope(owner.span[0]).list_outward():
        if owner.name in scope.parameters or owner.name in scope.definitions:
            return True
    return False


def list_open_names(home: TermText, value: Value) -> list[str]:
    """Return the names that an open value depends on, or the value's own words if it has none."""
    return list(dict.fromkeys(_walk_open_names(home, value, 0)))[:_MOST_NAMES]


def _walk_open_names(home: TermText, value: Value, depth: int) -> Iterator[str]:
    if depth > 2 * _MOST_NAMES or isinstance(value, int | str) or value is None or home.parse_number(value) is not None:
        return
    if isinstance(value, tuple):
        for item in value:
            yield from _walk_open_names(home, item, depth + 1)
        return
    value = home.resolve_value(value)
    if not isinstance(value, SyntaxTerm):
        yield from _walk_open_names(home, value, depth + 1)
        return
    inner = (*value.inside, *(item for _, item in value.named))
    names = list(dict.fromkeys(name for item in inner for name in _walk_open_names(home, item, depth + 1)))
    if names:
        yield from names
    elif value.symbol or inner:
        yield home.format_words(value)
    else:
        yield _shorten_owner(home, value)


def _shorten_owner(home: TermText, term: SyntaxTerm) -> str:
    """Return the text of a name, or of the open value whose member it is."""
    return term.path if not term.path.startswith("decltype") else home.format_words(term)
