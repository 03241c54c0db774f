"""Read integer constants of C++ and CUDA by name: constexpr and const variables, macros, enumerators, members of
classes, defaults of template parameters, and constants inside functions.

A name is looked up as C++ would at the end of the text: BM, cfg::BM, Traits<128>::stages. If that fails, it is looked
up among defaults of template parameters and constants inside functions, optionally qualified by their owner: gemm::BM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.cxx.integers import INT
from lanescope.errors import LayoutError
from lanescope.inputs import find_nearest_word, shorten_value
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.expression.expressions import BudgetError
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.definitions import DEFINITIONS
from lanescope.reader.code.naming.scopes import Cell, NameScope, number_places
from lanescope.reader.code.preprocessing.predefined import ARCHITECTURE
from lanescope.reader.code.preprocessing.preprocessor import Preprocessor
from lanescope.reader.code.preprocessing.variants import list_leaves, make_variants
from lanescope.reader.code.running.statement_run import BUDGET, make_evaluator
from lanescope.reader.code.symbolic_integers import make_free
from lanescope.reader.code.syntax import cxx, tree
from lanescope.reader.code.syntax.source import PreparedSource
from lanescope.reader.code.syntax.tree_statements import Block, UnreadText
from lanescope.reader.code.values import NamespaceValue, OpaqueValue

MOST_TEXT = 1 << 18
MOST_NAME = 200
_PATIENCE = 8
_DEVICES = ("750", "800", "890", "900", "1000", "1030", "1100", "1200")  # values of __CUDA_ARCH__
_PROBE = "lanescope_constant_{}"
_NAME = re.compile(r"[A-Za-z_][\w:<>,\s.()\-+*/]*")
_HINT = "Name a constexpr or const integer, a macro, an enumerator or a template parameter with a default."


@number_places()
def read_constants(text: str, names: Sequence[str], defines: Mapping[str, str] | None = None) -> dict[str, int]:
    """Return the value of each name at the end of a text. defines: macros, as given with -D.

    LayoutError `unknown_constant` if the text does not define a name, `open_constant` if its value is unknown or
    depends on an undecided condition.
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
        for macros in _list_defines(text, defines or {})
        for leaf in list_leaves(make_variants(Preprocessor(text + probes, _PATIENCE, macros)))
    ]
    constants_by_variant = [_read_leaf(text + probes, leaf, names) for leaf in leaves]
    for name in names:
        values = {constants[name] for constants in constants_by_variant}
        if len(values) > 1:
            raise LayoutError(
                "open_constant",
                f"{name} is {' or '.join(map(str, sorted(values)))}: a condition depends on an undefined macro.",
                "Define the macro in `defines`.",
                name,
            )
    return constants_by_variant[0]


def _list_defines(text: str, defines: Mapping[str, str]) -> list[Mapping[str, str]]:
    """List the macro definitions to read a text with: one per architecture if __CUDA_ARCH__ is tested but not given."""
    if ARCHITECTURE not in text or ARCHITECTURE in defines:
        return [defines]
    return [{**defines, ARCHITECTURE: device} for device in _DEVICES]


def _read_leaf(text: str, leaf: PreparedSource, names: Sequence[str]) -> dict[str, int]:
    """Return the constants of one variant of the text."""
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


def _read_constant(ev: Evaluator, scope: NameScope, owners: tuple[_Owner, ...], name: str, number: int) -> int:
    cell = scope.names.get(_PROBE.format(number))
    plain = scope.find_name(name)
    if isinstance(plain, Cell) and not plain.const:
        raise LayoutError("open_constant", f"{name} is a variable, not a constant.", "Declare it constexpr.", name)
    value = cell.value if isinstance(cell, Cell) else None
    integer = get_integer(value) if value is not None and not isinstance(value, OpaqueValue) else None
    if integer is not None and integer.known is not None:
        return integer.known
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
    """Return a function or class of that name, else the most similar known name, "" for none."""
    last = name.rpartition("::")[2]
    inside = ["::".join(owner.path) for owner in owners if owner.path[-1] == last and len(owner.path) > 1]
    known_names = [*_list_names(scope), *(known for owner in owners for known in owner.names)]
    return inside[0] if inside else find_nearest_word(name, known_names)


def _list_names(scope: NameScope) -> list[str]:
    return [
        name for name, value in scope.names.items() if isinstance(value, Cell) and not name.startswith("lanescope_")
    ]


def _choose_inside(name: str, inside: list[tuple[str, int | None]]) -> int:
    """Return the value of a constant that has the same value in all templates and functions that define it."""
    values = {value for _, value in inside}
    where = ", ".join(f"{owner}::{name.rpartition('::')[2]}" for owner, _ in inside)
    if None in values:
        raise LayoutError("open_constant", f"{name} has no known value in {where}.", _HINT, name)
    if len(values) > 1:
        raise LayoutError("open_constant", f"{name} has several values.", f"Qualify it: {where}.", name)
    return next(value for value in values if value is not None)


# inside templates and functions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Owner:
    """A template or function, the scope that encloses it, and the names of constants that it may define."""

    path: tuple[str, ...]
    node: tree.Function | tree.StructDefinition | tree.Alias | tree.Declaration
    home: NameScope
    names: frozenset[str]


def _list_owners(
    ev: Evaluator, body: Sequence[tree.Statement], scope: NameScope, path: tuple[str, ...]
) -> Iterator[_Owner]:
    for statement in body:
        if isinstance(statement, tree.Namespace):
            home = ev.namespace_scopes.get(id(statement))
            if isinstance(home, NameScope | NamespaceValue):
                inner = home.scope if isinstance(home, NamespaceValue) else home
                yield from _list_owners(ev, statement.body, inner, (*path, *statement.names))
        elif isinstance(statement, UnreadText):
            yield from _list_owners(ev, statement.body, scope, path)
        elif isinstance(statement, tree.Function | tree.StructDefinition | tree.Alias | tree.Declaration):
            yield _Owner((*path, statement.name), statement, scope, frozenset(_list_defined(statement)))
            if isinstance(statement, tree.StructDefinition):
                yield from _list_owners(ev, statement.members, scope, (*path, statement.name))


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
    """Yield the statements of a block and of nested blocks, but not of branches and loops."""
    if isinstance(statement, Block):
        for inside in statement.body:
            yield from _walk_block(inside)
    elif statement is not None:
        yield statement


def _find_inside(ev: Evaluator, owners: tuple[_Owner, ...], name: str) -> list[tuple[str, int | None]]:
    """Return (owner, value) of the templates and functions that define a name; value None if it is unknown."""
    *qualifiers, last = name.split("::")
    constants = []
    for owner in owners:
        if last in owner.names and (not qualifiers or owner.path[-len(qualifiers) :] == tuple(qualifiers)):
            inner = _open_owner(ev, owner)
            cell = inner.names.get(last)
            integer = get_integer(cell.value) if isinstance(cell, Cell) else None
            constants.append(("::".join(owner.path), integer.known if integer is not None else None))
    return constants


def _open_owner(ev: Evaluator, owner: _Owner) -> NameScope:
    """Return a scope with the defaults of a template's parameters and the constants of a function."""
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
        elif isinstance(statement, tree.Declaration):  # a variable, or a name declared in several blocks
            inner.names[statement.name] = Cell(make_free(statement.name, INT), name=statement.name)
    return inner
