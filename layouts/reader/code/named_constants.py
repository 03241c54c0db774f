"""Integer constants of C++ and CUDA by name: constexpr and const variables, macros, enumerators, members of classes,
defaults of template parameters, and constants inside functions.

A name is looked up as C++ does at the end of the text: BM, cfg::BM, Traits<128>::stages. What is not found so is looked
for as a default of a template parameter or a constant inside a function, which its owner may precede: gemm::BM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.cxx.integers import INT
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, shorten_value
from lanescope.reader.code import cxx, tree
from lanescope.reader.code.definitions import DEFINITIONS
from lanescope.reader.code.evaluation import BUDGET, make_evaluator
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.expressions import BudgetError
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.predefined import ARCHITECTURE
from lanescope.reader.code.preprocessor import Preprocessor
from lanescope.reader.code.scopes import Cell, NameScope, number_places
from lanescope.reader.code.source import PreparedSource
from lanescope.reader.code.symbolic_integers import make_free
from lanescope.reader.code.tree_statements import Block, UnreadText
from lanescope.reader.code.values import NamespaceValue, OpaqueValue
from lanescope.reader.code.variants import list_leaves, make_variants

MOST_TEXT = 1 << 18
MOST_NAME = 200
_PATIENCE = 8
_DEVICES = ("750", "800", "890", "900", "1000", "1030", "1100", "1200")  # values of __CUDA_ARCH__
_PROBE = "lanescope_constant_{}"
_NAME = re.compile(r"[A-Za-z_][\w:<>,\s.()\-+*/]*")
_HINT = "Name a constexpr or const integer, a macro, an enumerator or a template parameter with a default."


@dataclass(frozen=True, slots=True)
class NamedConstant:
    """An integer constant of a text; owner: the template or function that was looked into, "" for C++'s own lookup."""

    name: str
    value: int
    owner: str = ""


@number_places()
def read_constants(
    text: str, names: Sequence[str], defines: Mapping[str, str] | None = None
) -> dict[str, NamedConstant]:
    """Return the value of every name at the end of a text. defines: macros, as -D gives them.

    LayoutError `unknown_constant` for a name that the text does not define, `open_constant` if its value is not known
    or depends on a condition that the text leaves open.
    """
    if not isinstance(text, str) or len(text) > MOST_TEXT:
        raise LayoutError(
            "bad_text", "The source is not text, or too long.", f"At most {MOST_TEXT} characters.", "source"
        )
    for name in names:
        if not isinstance(name, str) or len(name) > MOST_NAME or not _NAME.fullmatch(name):
            raise LayoutError("bad_name", f"'{shorten_value(name)}' is not the name of a constant.", _HINT, "name")
    probes = "".join(f"\nconst auto {_PROBE.format(n)} = ({name});" for n, name in enumerate(names))
    leaves = [
        leaf
        for given in _list_defines(text, defines or {})
        for leaf in list_leaves(make_variants(Preprocessor(text + probes, _PATIENCE, given)))
    ]
    found = [_read_leaf(text + probes, leaf, names) for leaf in leaves]
    for name in names:
        values = {constants[name].value for constants in found}
        if len(values) > 1:
            raise LayoutError(
                "open_constant",
                f"{name} is {' or '.join(map(str, sorted(values)))}: it depends on a condition that the text leaves"
                " open.",
                "Give the macro that decides it in `defines`.",
                name,
            )
    return found[0]


def _list_defines(text: str, defines: Mapping[str, str]) -> list[Mapping[str, str]]:
    """List the macros to read a text with: one list a device, where it asks for the device and nobody says which."""
    if ARCHITECTURE not in text or ARCHITECTURE in defines:
        return [defines]
    return [{**defines, ARCHITECTURE: device} for device in _DEVICES]


def _read_leaf(text: str, leaf: PreparedSource, names: Sequence[str]) -> dict[str, NamedConstant]:
    """Return the constants under one choice of what conditions leave open."""
    body, _ = cxx.parse_cxx_parts(leaf.source)
    ev, scope = make_evaluator(text, BUDGET * _PATIENCE)
    try:
        for statement in body:
            ev.define(statement, scope)
        for statement in body:
            if not isinstance(statement, DEFINITIONS):
                ev.execute_statement(statement, scope)
        owners = tuple(_list_owners(ev, body, scope, ()))
        return {name: _read_constant(ev, scope, owners, name, n) for n, name in enumerate(names)}
    except (BudgetError, RecursionError):
        raise LayoutError(
            "open_constant",
            "The source takes too many steps to evaluate.",
            "Give the part with the constants.",
            "source",
        ) from None


def _read_constant(
    ev: Evaluator, scope: NameScope, owners: tuple[_Owner, ...], name: str, number: int
) -> NamedConstant:
    cell = scope.names.get(_PROBE.format(number))
    plain = scope.find_name(name)
    if isinstance(plain, Cell) and not plain.const:
        raise LayoutError("open_constant", f"{name} is a variable, not a constant.", "Declare it constexpr.", name)
    value = cell.value if isinstance(cell, Cell) else None
    integer = get_integer(value) if value is not None and not isinstance(value, OpaqueValue) else None
    if integer is not None and integer.known is not None:
        return NamedConstant(name, integer.known)
    inside = _find_inside(ev, owners, name)
    if inside:
        return _choose_inside(name, inside)
    if integer is not None:
        raise LayoutError(
            "open_constant", f"{name} is {shorten_value(str(integer))}, which has no known value.", _HINT, name
        )
    if isinstance(plain, Cell):
        raise LayoutError("open_constant", f"{name} is not an integer constant.", _HINT, name)
    nearest = _find_nearest(scope, owners, name)
    raise LayoutError(
        "unknown_constant", f"The source has no constant '{name}'.", f"Nearest: {nearest}." if nearest else _HINT, name
    )


def _find_nearest(scope: NameScope, owners: tuple[_Owner, ...], name: str) -> str:
    """Return a function or class of the name, else the known name that is most like it, "" for none."""
    last = name.rpartition("::")[2]
    inner = ["::".join(one.path) for one in owners if one.path[-1] == last and len(one.path) > 1]
    every = [*_list_names(scope), *(known for one in owners for known in one.names)]
    return inner[0] if inner else find_nearest_word(name, every)


def _list_names(scope: NameScope) -> list[str]:
    return [name for name, held in scope.names.items() if isinstance(held, Cell) and not name.startswith("lanescope_")]


def _choose_inside(name: str, inside: list[tuple[str, int | None]]) -> NamedConstant:
    """Return the constant of templates and functions, in which it has one value."""
    values = {value for _, value in inside}
    where = ", ".join(f"{owner}::{name.rpartition('::')[2]}" for owner, _ in inside)
    if None in values:
        raise LayoutError("open_constant", f"{name} has no known value in {where}.", _HINT, name)
    if len(values) > 1:
        raise LayoutError("open_constant", f"{name} has several values.", f"Say which: {where}.", name)
    return NamedConstant(name, next(value for value in values if value is not None), inside[0][0])


# inside templates and functions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Owner:
    """A template or function, the scope around it, and the names that it may define constants of."""

    path: tuple[str, ...]
    node: tree.Function | tree.StructDefinition | tree.Alias | tree.Declaration
    home: NameScope
    names: frozenset[str]


def _list_owners(
    ev: Evaluator, body: Sequence[tree.Statement], scope: NameScope, path: tuple[str, ...]
) -> Iterator[_Owner]:
    for one in body:
        if isinstance(one, tree.Namespace):
            home = ev.spaces.get(id(one))
            if isinstance(home, NameScope | NamespaceValue):
                inner = home.scope if isinstance(home, NamespaceValue) else home
                yield from _list_owners(ev, one.body, inner, (*path, *one.names))
        elif isinstance(one, UnreadText):
            yield from _list_owners(ev, one.body, scope, path)
        elif isinstance(one, tree.Function | tree.StructDefinition | tree.Alias | tree.Declaration):
            yield _Owner((*path, one.name), one, scope, frozenset(_list_defined(one)))
            if isinstance(one, tree.StructDefinition):
                yield from _list_owners(ev, one.members, scope, (*path, one.name))


def _list_defined(node: tree.Statement) -> Iterator[str]:
    for parameter in getattr(node, "templates", ()):
        if parameter.default is not None and not parameter.is_type:
            yield parameter.name
    for statement in _walk_block(_get_body(node)):
        if isinstance(statement, tree.Declaration) and statement.const:
            yield statement.name


def _get_body(node: tree.Statement) -> tree.Statement | None:
    body = node.body if isinstance(node, tree.Function) else None
    return body.make() if isinstance(body, tree.DeferredBody) else body


def _walk_block(statement: tree.Statement | None) -> Iterator[tree.Statement]:
    """Yield the statements of a block and of blocks inside it; no others, which may or may not run."""
    if isinstance(statement, Block):
        for inside in statement.body:
            yield from _walk_block(inside)
    elif statement is not None:
        yield statement


def _find_inside(ev: Evaluator, owners: tuple[_Owner, ...], name: str) -> list[tuple[str, int | None]]:
    """Return (owner, value) of the templates and functions that define a name, None for a value that is open."""
    *given, last = name.split("::")
    found = []
    for owner in owners:
        if last in owner.names and (not given or owner.path[-len(given) :] == tuple(given)):
            inner = _open_owner(ev, owner)
            cell = inner.names.get(last)
            integer = get_integer(cell.value) if isinstance(cell, Cell) else None
            found.append(("::".join(owner.path), integer.known if integer is not None else None))
    return found


def _open_owner(ev: Evaluator, owner: _Owner) -> NameScope:
    """Return a scope with the defaults of the template's parameters and the constants of the function."""
    inner = NameScope(owner.home)
    for parameter in getattr(owner.node, "templates", ()):
        value: Any = make_free(parameter.name, INT)
        if parameter.default is not None:
            value = ev.evaluate_template_argument(parameter.default, inner)
        inner.names[parameter.name] = value if parameter.is_type else Cell(value, name=parameter.name, const=True)
    function = owner.node
    if isinstance(function, tree.Function):
        for argument in function.parameters:
            inner.names[argument.name] = Cell(make_free(argument.name, INT), name=argument.name)
    seen: set[str] = set()
    for statement in _walk_block(_get_body(function)):
        if isinstance(statement, DEFINITIONS):
            ev.define(statement, inner)
        elif isinstance(statement, tree.Declaration) and statement.const and statement.name not in seen:
            ev.execute_statement(statement, inner)
            seen.add(statement.name)
        elif isinstance(statement, tree.Declaration):  # a variable, or one name in several blocks
            inner.names[statement.name] = Cell(make_free(statement.name, INT), name=statement.name)
    return inner
