"""Values that depend on the lane, and shuffles of them.

For value = `lane < 4 ? base + lane * step : 0`, __shfl_sync(mask, value, stage) returns base + stage * step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import COMPARED
from lanescope.ptx.threads import WARP
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.write_summaries import walk_nodes
from lanescope.reader.code.symbolic_integers import SymbolicInt, convert_int
from lanescope.reader.code.syntax import tree

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_EFFECTS = (tree.Call, tree.Assignment, tree.Unary)  # not allowed in an arm that is evaluated for every lane


def note_lane_choice(ev: Evaluator, node: tree.ConditionalExpression, chosen: Any, scope: NameScope) -> None:
    """Record each lane's value of a choice decided by a comparison of the lane, for later shuffles."""
    if ev.python or not isinstance(chosen, SymbolicInt):
        return
    cell = _find_lane(node.condition, scope)
    if cell is None or any(isinstance(inner, _EFFECTS) for inner in walk_nodes(node)):
        return
    symbol, lane_values = cell.value, []
    try:
        for lane in range(WARP):
            cell.value = convert_int(SymbolicInt(lane), symbol.type)
            truth = ev.evaluate_truth(ev.evaluate_expression(node.condition, scope))
            arm = ev.evaluate_expression(node.yes if truth else node.no, scope) if truth is not None else None
            value = get_integer(arm) if arm is not None and not isinstance(arm, str) else None
            lane_values.append(convert_int(value, chosen.type) if value is not None else None)
    finally:
        cell.value = symbol
    ev.lane_choices[chosen.const, chosen.pieces] = lane_values


def shuffle_value(ev: Evaluator, value: Any, lane: Any) -> Any:
    """Return a lane's value; the value itself if it is the same in all lanes or unknown."""
    number = get_integer(lane) if not isinstance(lane, str) else None
    if not isinstance(value, SymbolicInt) or number is None or number.known is None or not 0 <= number.known < WARP:
        return value
    lane_values = ev.lane_choices.get((value.const, value.pieces))
    lane_value = lane_values[number.known] if lane_values is not None else None
    return value if lane_value is None else lane_value


def _find_lane(condition: tree.Expression, scope: NameScope) -> Cell | None:
    """Return the variable that holds the lane in a comparison; None for another condition."""
    if not isinstance(condition, tree.Binary) or condition.op not in COMPARED:
        return None
    for side in (condition.left, condition.right):
        entity = find_name(scope, side.last)[0] if isinstance(side, tree.Name) and len(side.path) == 1 else None
        if isinstance(entity, Cell) and isinstance(entity.value, SymbolicInt) and _is_lane(entity.value):
            return entity
    return None


def _is_lane(value: SymbolicInt) -> bool:
    """Return whether a value is %laneid, or the low five bits of threadIdx.x: threadIdx.x % 32."""
    plain = value.plain
    if plain is None or plain.const or len(plain.terms) != 1:
        return False
    name, factor = plain.terms[0]
    return factor == 1 and (name == "%laneid" or (name == "threadIdx.x" and 1 << value.pieces[0].width == WARP))
