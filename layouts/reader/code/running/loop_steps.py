"""Estimate the steps that a loop takes before it is cut, without running it."""

from __future__ import annotations

from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Block, ExpressionStatement, If, Loop

MOST_SPENT = (4000, 1000, 250)  # steps of a loop that builds nothing, by nesting depth
LEAST_TURNS = 3  # of a loop whose steps are spent
_OPEN_TURNS = 2  # of a silent loop with an unknown bound


def count_cut_steps(loop: Loop, scope: NameScope, depth: int, bounded: bool, most: int) -> int:
    """Estimate the steps that a silent loop takes before it is cut; 0 if it may end earlier.

    depth: how many loops run, with this one; bounded: whether its condition is known to hold for the first value of its
    variable; most: its step limit.
    """
    per_turn = _count_turn_steps(loop, scope, depth)
    if not bounded:
        return _OPEN_TURNS * per_turn
    steps = _limit_steps(_count_turns(loop, scope, None), per_turn, most)
    return steps if steps > most else 0


def _limit_steps(turns: int, per_turn: int, most: int) -> int:
    """Return the number of steps of some turns: at least LEAST_TURNS run, more only up to `most` steps."""
    every = turns * per_turn
    return every if every <= most else max(min(most + per_turn, every), min(LEAST_TURNS, turns) * per_turn)


def _count_turns(loop: Loop, scope: NameScope, start: int | None) -> int:
    """Return the number of turns of `for (…; i < bound; i += step)`, 1 if unknown. start: the value of i."""
    condition, step = loop.condition, loop.step
    while isinstance(step, tree.Unary):
        step = step.value
    if (
        not isinstance(condition, tree.Binary)
        or condition.op not in ("<", "<=")
        or not isinstance(step, tree.Assignment)
    ):
        return 1
    name, target = condition.left, step.target
    if (
        not isinstance(name, tree.Name)
        or not isinstance(target, tree.Name)
        or name.path != target.path
        or step.op != "+"
    ):
        return 1
    first = _find_number(name, scope) if start is None else start
    past, by = _find_number(condition.right, scope), _find_number(step.value, scope)
    if first is None or past is None or by is None or by <= 0:
        return 1
    return max((past - first + (condition.op == "<=") + by - 1) // by, 0)


def _find_number(expression: tree.Expression, scope: NameScope) -> int | None:
    """Return the value of a literal or of a known variable; None for another expression."""
    if isinstance(expression, tree.NumberLiteral):
        return expression.value
    entity = find_name(scope, expression.last)[0] if isinstance(expression, tree.Name) else None
    return entity.value.known if isinstance(entity, Cell) and isinstance(entity.value, SymbolicInt) else None


def _count_turn_steps(loop: Loop, scope: NameScope, depth: int) -> int:
    """Return the least number of steps of one turn. depth: how many loops run."""
    return sum(_count_steps(part, scope, depth) for part in (loop.condition, loop.step, loop.body))


def _count_steps(node: object, scope: NameScope, depth: int) -> int:
    """Return the least number of steps that a statement or an expression takes."""
    match node:
        case Block():
            return 1 + sum(_count_steps(part, scope, depth) for part in node.body)
        case ExpressionStatement():
            return 1 + _count_steps(node.value, scope, depth)
        case tree.Declaration():
            return 1 + _count_steps(node.value, scope, depth)
        case If():
            return 1 + _count_steps(node.condition, scope, depth)
        case Loop():
            declared = node.start.value if isinstance(node.start, tree.Declaration) else None
            start = _find_number(declared, scope) if declared is not None else None
            turns = _count_turns(node, scope, start) if start is not None else 1
            most = MOST_SPENT[min(depth, len(MOST_SPENT) - 1)]
            return 1 + _limit_steps(turns, _count_turn_steps(node, scope, depth + 1), most)
        case tree.Assignment():
            return 1 + _count_steps(node.value, scope, depth)
        case tree.Binary() if node.op not in ("&&", "||"):
            return 1 + _count_steps(node.left, scope, depth) + _count_steps(node.right, scope, depth)
    return int(isinstance(node, tree.Expression))
