"""Find the jumps out of statements of device code, in their syntax."""

from __future__ import annotations

from typing import Any

from lanescope.reader.code.syntax import tree, tree_statements as statements

_ORDERING = ("<", "<=", ">", ">=")
_LEAVING = statements.Return | statements.Jump | statements.Throw


def can_leave(statement: tree.Statement | None, kinds: Any = _LEAVING) -> bool:
    """Return whether a statement ends in a jump out of its block, of these kinds."""
    if isinstance(statement, tree.DeferredBody):
        return can_leave(statement.make(), kinds)
    if isinstance(statement, statements.Block):
        return bool(statement.body) and can_leave(statement.body[-1], kinds)
    return isinstance(statement, kinds)


def find_limited(statement: statements.If) -> tree.Name | None:
    """Return the variable that an if without else limits, such as n in if (n > most) n = most; None for another if."""
    body = statement.yes
    while isinstance(body, tree.DeferredBody | statements.Block):
        parts = (body.make(),) if isinstance(body, tree.DeferredBody) else body.body
        if len(parts) != 1:
            return None
        body = parts[0]
    match body:
        case statements.ExpressionStatement(value=tree.Assignment(op="", target=tree.Name() as name)) if (
            not statement.no
        ):
            return name if name.last in _list_compared(statement.condition) else None
    return None


def _list_compared(condition: tree.Expression, joined: bool = True) -> set[str]:
    """Return the variables that a condition orders by < and the like. joined: whether it may be several conditions."""
    if isinstance(condition, tree.Binary):
        below = joined and condition.op in ("||", "&&")
        if joined and not below and condition.op not in _ORDERING:
            return set()
        return _list_compared(condition.left, below) | _list_compared(condition.right, below)
    return {condition.last} if isinstance(condition, tree.Name) and not joined else set()


def is_endless(loop: statements.Loop) -> bool:
    """Return whether the condition of a loop never ends it, as for (;;) and while (true)."""
    return loop.condition is None or (isinstance(loop.condition, tree.NumberLiteral) and bool(loop.condition.value))


def is_left_by_jumps(loop: statements.Loop) -> bool:
    """Return whether only a jump in its body ends a loop, and the body has one."""
    return is_endless(loop) and _has_exit(loop.body, breaks=True)


def _has_exit(statement: tree.Statement | None, *, breaks: bool) -> bool:
    """Return whether a statement has a return, or a break of what is around it. breaks: whether a break counts."""
    match statement:
        case statements.Return():
            return True
        case statements.Jump():
            return breaks and statement.word == "break"
        case tree.DeferredBody():
            return _has_exit(statement.make(), breaks=breaks)
        case statements.Block():
            return any(_has_exit(part, breaks=breaks) for part in statement.body)
        case statements.If():
            return _has_exit(statement.yes, breaks=breaks) or _has_exit(statement.no, breaks=breaks)
        case statements.Loop() | statements.RangeLoop():
            return _has_exit(statement.body, breaks=False)
        case statements.Switch():
            return any(_has_exit(part, breaks=False) for _, body in statement.cases for part in body)
    return False
