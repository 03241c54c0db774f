"""Constants and variables of the host at the place of a launch, as the statements before it leave them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, repeat
from typing import Any

from lanescope.cxx.integers import INT
from lanescope.reader.code.running.write_summaries import walk_nodes
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import (
    Block,
    ExpressionStatement,
    If,
    Loop,
    RangeLoop,
    Return,
    Switch,
    Throw,
    Try,
)

_Declared = tree.Declaration | tree.Alias
_AXES, _ONE = "xyz", tree.NumberLiteral(1, INT)


def list_local_constants(function: tree.Function | None, at: int) -> list[_Declared]:
    """List the constants and aliases in the blocks around a place in a function that launches a kernel."""
    found: list[_Declared] = []
    waiting: list[Any] = [function.body] if function is not None else []
    for part in waiting:
        waiting += _list_inner(part, at)
        if isinstance(part, tree.Declaration | tree.Alias):  # also behind a kernel that a later call launches
            found.append(part)
        elif part is not None and part.span[1] <= at:
            found = _set_sizes(found, part)
    return found


def _list_inner(part: Any, at: int) -> Sequence[Any]:
    """List the statements in a statement whose declarations may hold at a place."""
    match part:
        case tree.DeferredBody():
            return (part.make(),)
        case Block() if part.span[1] <= part.span[0] or _is_in(part, at):
            return part.body
        case If() if _is_in(part, at):
            return part.yes, part.no
        case Loop() | RangeLoop() | Try() if _is_in(part, at):
            return (part.body,)
        case Switch():
            cases = (body for _, body in part.cases if any(_is_in(one, at) for one in body))
            return [*chain.from_iterable(cases)]
    return ()


def _is_in(part: tree.Statement, at: int) -> bool:
    """Return whether a place is in a statement."""
    return part.span[0] <= at < part.span[1]


def _set_sizes(found: list[_Declared], statement: Any) -> list[_Declared]:
    """Return what is declared as it is after a statement."""
    match statement:
        case ExpressionStatement():
            return [_set_size(one, statement.value) for one in found]
        case Block():
            own = {getattr(one, "name", "") for one in statement.body}
            after = reduce(_set_sizes, statement.body, found)
            return [before if before.name in own else one for before, one in zip(found, after, strict=True)]
        case Loop() | RangeLoop() | Try():
            pairs = zip(found, _set_sizes(found, statement.body), strict=True)
            return [one if after is one else _forget_value(one) for one, after in pairs]
        case If():
            return _set_in_branches(found, statement)
    return found


def _set_in_branches(found: list[_Declared], statement: If) -> list[_Declared]:
    """Return what is declared as it is after an if; after the other branch of one that ends the function."""
    yes, no = (_set_sizes(found, branch) for branch in (statement.yes, statement.no))
    if _leaves(statement.yes) or _leaves(statement.no):
        return no if _leaves(statement.yes) else yes
    return [_join_branches(statement.condition, *pair) for pair in zip(yes, no, strict=True)]


def _leaves(statement: Any) -> bool:
    """Return whether a statement ends the function, as far as its last part says."""
    if isinstance(statement, Block):
        return bool(statement.body) and _leaves(statement.body[-1])
    return isinstance(statement, Return | Throw)


def _uses(declared: tree.Declaration, name: str) -> bool:
    """Return whether a variable's value depends on another one."""
    return any(getattr(one, "last", "") == name for one in walk_nodes((declared.value, declared.arguments)))


def _is_variable(name: tree.Name) -> bool:
    """Return whether a name may be that of a variable, which another assignment may change."""
    return name.last != "dim3" and not name.last.isupper() and not re.match(r"k[A-Z]", name.last)


def _forget_value(declared: _Declared) -> _Declared:
    """Return a variable whose value is not known."""
    if isinstance(declared, tree.Alias):
        return declared
    return replace(declared, value=tree.OpaqueExpression(""), arguments=None)


def _join_branches(condition: tree.Expression, yes: _Declared, no: _Declared) -> _Declared:
    """Return a variable as it is after both branches of an if; one that has no value in a branch is as in the other."""
    if not isinstance(yes, tree.Declaration) or not isinstance(no, tree.Declaration) or yes is no:
        return yes
    if yes.arguments != no.arguments:
        return _forget_value(yes)
    if yes.value is None or no.value is None:
        return no if yes.value is None else yes
    return replace(yes, value=tree.ConditionalExpression(condition, yes.value, no.value, span=condition.span))


def _set_size(declared: _Declared, expression: tree.Expression) -> _Declared:
    """Return a variable as it is after `threads = 128`, or a dim3 declared without arguments after `block.x = 128`;
    others as they are.
    """
    match declared, expression:
        case (
            tree.Declaration(type=tree.Type(name="dim3"), value=None),
            tree.Assignment(target=tree.Member(value=tree.Name() as name, name=axis), op="", value=size),
        ) if name.last == declared.name and axis in _AXES:
            sizes = [*(declared.arguments or ()), *repeat(_ONE, len(_AXES))][: len(_AXES)]
            sizes[_AXES.index(axis)] = size
            return replace(declared, arguments=tuple(sizes))
        case tree.Declaration(), tree.Assignment(target=tree.Name() as name, op=op, value=value):
            if name.last != declared.name:
                return _forget_value(declared) if _uses(declared, name.last) else declared
            known = not op and not any(isinstance(one, tree.Name) and _is_variable(one) for one in walk_nodes(value))
            return replace(declared, value=value, arguments=None) if known else _forget_value(declared)
    return declared
