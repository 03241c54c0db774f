"""Apply operators to values that may be symbolic, with warnings about C pitfalls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import BOOL, INT, LONG, find_common_type, promote
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.expression.integer_values import (
    get_integer,
    get_integer_or_symbol,
    identify_place,
    make_size,
    move_pointer,
)
from lanescope.reader.code.expression.operators import make_unknown
from lanescope.reader.code.findings import check_operation, mark_bits
from lanescope.reader.code.naming.header_names import THREADS
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.running.branches import is_floating_point, is_none
from lanescope.reader.code.running.side_effects import forget_escaped
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    Address,
    ArrayValue,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    Pointer,
    ResolvedType,
    TemplateEntity,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def apply_operator(
    ev: Evaluator,
    op: str,
    left: Any,
    right: Any,
    at: tree.Expression,
    *,
    left_at: tree.Expression | None = None,
    right_at: tree.Expression | None = None,
) -> Any:
    """Apply any operator other than && and ||; warn of C pitfalls at the operator."""
    if not (_is_plain_integer(left) and _is_plain_integer(right)):
        left, right, result = _apply_to_objects(ev, op, left, right, at)
        if result is not None:
            return result
    left_int, right_int = get_integer(left), get_integer(right)
    if left_int is None or right_int is None or _is_hidden(op, left_int, right_int):
        return OpaqueValue(ev.format_expression(at))
    if is_floating_point(left) or is_floating_point(right):
        return _operate_reals(ev, op, (left, right), at)
    if op in ("|", "|=", "+", "^"):
        left_int, right_int = mark_value(left_int, left_at), mark_value(right_int, right_at)
    check_operation(ev, op, left_int, right_int, at)
    result = apply_integer_operator(op, left_int, right_int)
    if result.pieces and op in c_integers.COMPARED and OpaqueValue in (type(left), type(right)):
        # the grammar reads f<2>::value as two comparisons
        return symbolic_integers.make_opaque(ev.format_expression(at), BOOL, left_int, right_int)
    return _name_thread_parts(op, result)


def _apply_to_objects(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> tuple[Any, Any, Any]:
    """Return (left, right, result): None if no rule of `_RULES` applies, and the operands as numbers if possible."""
    left, right = _decay_operands(ev, op, left, right)
    result = _apply_rules(ev, op, left, right, at)
    if result is not None or ev.python:
        return left, right, result
    operands = left, right
    left, right = map(ev.convert_object_to_number, operands)
    if _is_new_pointer(left, operands[0]) or _is_new_pointer(right, operands[1]):
        result = _apply_rules(ev, op, left, right, at)
        return left, right, OpaqueValue(ev.format_expression(at)) if result is None else result
    return left, right, None


def _apply_rules(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Apply the first rule that fits the operands; None if none does."""
    for rule in _RULES:
        result = rule(ev, op, left, right, at)
        if result is not None:
            return result
    return None


def _is_new_pointer(value: Any, operand: Any) -> bool:
    """Return whether a conversion function has made a pointer of an operand."""
    return value is not operand and isinstance(value, Address | Pointer)


def _is_plain_integer(value: Any) -> bool:
    """Return whether a value is an integer but not an enumerator, so that no rule of `_RULES` applies."""
    return type(value) is SymbolicInt and value.type.underlying is None


def _decay_operands(ev: Evaluator, op: str, left: Any, right: Any) -> tuple[Any, Any]:
    """Return (left, right), with arrays decayed to pointers if the operator needs it."""
    if isinstance(left, ArrayValue) and left.name == "" and left.element is not None:
        left = ev.decay_array(left)
    if isinstance(left, Pointer) and op == "-" and isinstance(right, ArrayValue) and right.typed is None:
        right = ev.decay_array(right)
    for value in (left, right):
        if isinstance(value, ObjectPart) and value.field.count:
            forget_escaped(ev, value)  # a pointer into an array member that is kept as bits
    if op in _SIGNS and not ev.python and f"operator{op}" not in ev.operators:
        return _convert_distances(ev, left, right)
    return left, right


def _convert_distances(ev: Evaluator, left: Any, right: Any) -> tuple[Any, Any]:
    """Return (left, right), with an object that a pointer is moved by as a number."""
    if isinstance(left, Address | Pointer | ArrayValue):
        right = ev.convert_object_to_number(right)
    if isinstance(right, Address | Pointer | ArrayValue):
        left = ev.convert_object_to_number(left)
    return left, right


def _is_hidden(op: str, left: SymbolicInt, right: SymbolicInt) -> bool:
    """Return whether the operator is one of an enum class that is not in the text."""
    return op not in c_integers.COMPARED and (left.type.scoped or right.type.scoped)


def _operate_reals(ev: Evaluator, op: str, operands: Iterable[Any], at: tree.Expression) -> SymbolicInt | OpaqueValue:
    """Make an unknown floating-point number, float unless an operand is a double, or the bool of a comparison."""
    if op in ("<", ">", "<=", ">=", "==", "!="):
        return make_unknown(ev, at)
    double = any(isinstance(one, OpaqueValue) and one.kind and one.kind.name == "double" for one in operands)
    kind = ResolvedType("double", None, 64) if double else ResolvedType("float", None, 32)
    return OpaqueValue(ev.make_fresh_name(ev.format_expression(at)), kind)


def _name_thread_parts(op: str, integer: SymbolicInt) -> SymbolicInt:
    """Return an operand with shifted, divided or masked thread indices as new symbols."""
    if op in (">>", "/"):
        return symbolic_integers.divide_as_symbol(integer, THREADS)
    return symbolic_integers.round_as_symbol(integer) if op in ("&", "*", "<<") else integer


# rules tried in order before operands are converted to integers; each returns None if it does not apply ------------

_SIGNS = {"+": 1, "-": -1}


def _move_address(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Move an address: &variable + n."""
    if op not in _SIGNS or not isinstance(left, Address) or isinstance(right, Pointer | Address):
        return None
    step = get_integer(right)
    return (
        replace(left, at=symbolic_integers.add_ints(left.at, step, _SIGNS[op]))
        if step
        else OpaqueValue(ev.format_expression(at))
    )


def _subtract_pointers(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Count the elements between two pointers."""
    both = isinstance(left, Pointer) and isinstance(right, Pointer)
    return _count_elements_between(ev, left, right, at) if both and op == "-" and not ev.python else None


def _move_pointer(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Move a pointer: pointer + n, pointer - n, n + pointer."""
    if op in _SIGNS and isinstance(left, Pointer) and not isinstance(right, Pointer):
        step = get_integer(right)
        if step is not None:
            return move_pointer(left, step, _SIGNS[op])
    if op == "+" and isinstance(right, Pointer) and get_integer(left) is not None:
        return move_pointer(right, get_integer_or_symbol(left))
    return None


def _move_array(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Return array + n, a pointer to its item n."""
    if (
        op not in _SIGNS
        or not isinstance(left, ArrayValue)
        or isinstance(left.typed, ResolvedType)
        or get_integer(right) is None
    ):
        return None
    if ev.python:
        return OpaqueValue(ev.format_expression(at))
    return move_pointer(ev.decay_array(left), get_integer_or_symbol(right), _SIGNS[op])


def _apply_own(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Call an overloaded operator; note the undeclared names among the operands."""
    if not ev.python:
        ev.undeclared_names.update(
            v.text for v in (left, right) if isinstance(v, OpaqueValue) and (not v.kind or v.kind.open)
        )
    return ev.evaluate_operator(op, left, right, at)


def _compare_none(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Compare with Python's None."""
    if not ev.python or op not in ("==", "!="):
        return None
    none = [is_none(value) for value in (left, right)]
    if not any(none):
        return None
    known = all(none) or all(is_none(value) or _is_surely_something(value) for value in (left, right))
    return SymbolicInt(int(all(none) == (op == "==")), BOOL) if known else make_unknown(ev, at)


def _compare_names(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Compare strings and types."""
    if op not in ("==", "!=") or not (isinstance(left, str | ResolvedType) or isinstance(right, str | ResolvedType)):
        return None
    if isinstance(left, OpaqueValue) or isinstance(right, OpaqueValue):
        return make_unknown(ev, at)
    return SymbolicInt(int((str(left) == str(right)) == (op == "==")), BOOL)


def _compare_addresses(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Compare addresses of variables."""
    if op not in ("==", "!=") or not isinstance(left, Address) or not isinstance(right, Address):
        return None
    alike = _is_same_place(left, right)
    return make_unknown(ev, at) if alike is None else SymbolicInt(int(alike == (op == "==")), BOOL)


def _name_misread(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Name an expression whose template arguments were parsed as operators."""
    return (
        OpaqueValue(ev.format_expression(at), head="misread")
        if not ev.python and (_is_misread_operand(left) or _is_misread_operand(right))
        else None
    )


_RULES: tuple[Callable[[Evaluator, str, Any, Any, tree.Expression], Any], ...] = (
    _move_address,
    _subtract_pointers,
    _move_pointer,
    _move_array,
    _apply_own,
    _compare_none,
    _compare_names,
    _compare_addresses,
    _name_misread,
)


def convert_object_to_number(ev: Evaluator, value: Any) -> Any:
    """Convert an object to an integer with its only conversion function."""
    if isinstance(value, ObjectPart) and value.field.inner is not None:
        value = ev.make_part_object(value)
    if isinstance(value, ObjectValue) and any(name.startswith("operator ") for name in value.record.methods):
        return ev.convert_object_to_integer(value, ResolvedType("", None))
    return value


def _count_elements_between(ev: Evaluator, left: Pointer, right: Pointer, at: tree.Expression) -> Any:
    """Return the number of elements between two pointers."""
    if left.array is not None and left.array is right.array and left.at is not None and right.at is not None:
        return symbolic_integers.convert_int(symbolic_integers.add_ints(left.at, right.at, -1), LONG)
    size = make_size(left.element).known
    gap = (left.base + right.base.scale(-1)).divide_exactly(size) if size else None
    return symbolic_integers.int_from_linear(gap, LONG) if gap is not None else OpaqueValue(ev.format_expression(at))


def mark_value(value: SymbolicInt, at: tree.Expression | None) -> SymbolicInt:
    """Mark a number with its place in the text."""
    return mark_bits(value, at.span) if at is not None else value


def apply_integer_operator(op: str, left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Apply an operator to integers; a Python integer that grows too large becomes unknown."""
    result = _apply_binary(op, left, right)
    return (
        result
        if result.const.bit_length() <= symbolic_integers.MOST_BITS
        else symbolic_integers.make_opaque(f"{op} of a long number", result.type)
    )


def _apply_binary(op: str, left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Apply an operator to two integers."""
    kind = find_common_type(left.type, right.type)
    match op:
        case "+" | "-":
            return symbolic_integers.add_ints(left, right, 1 if op == "+" else -1)
        case "|":
            return symbolic_integers.or_ints(left, right)
        case "&":
            return symbolic_integers.mask_int(left, right)
        case "^":
            return symbolic_integers.xor_ints(left, right)
        case "*":
            return symbolic_integers.multiply_ints(left, right)
        case "<<" | ">>":
            return _apply_shift(op, left, right)
        case "/" | "//":
            return symbolic_integers.divide_ints(left, right, op)
        case "%":
            return symbolic_integers.get_remainder(left, right)
        case "**" if left.known is not None and right.known is not None:
            result = c_integers.compute_binary("**", left.known, c_integers.PYTHON, right.known, c_integers.PYTHON)
            if result.value is not None:
                return SymbolicInt(result.value, kind)
        case "<" | ">" | "<=" | ">=" | "==" | "!=":
            truth = symbolic_integers.compare_ints(op, left, right)
            if truth is not None:
                return SymbolicInt(int(truth), BOOL)
            a, b = symbolic_integers.convert_int(left, kind), symbolic_integers.convert_int(right, kind)
            return symbolic_integers.make_opaque(
                f"{symbolic_integers.format_factor(a)} {op} {symbolic_integers.format_factor(b)}", BOOL, a, b
            )
    return symbolic_integers.make_opaque(
        f"{symbolic_integers.format_factor(left)} {op} {symbolic_integers.format_factor(right)}", kind, left, right
    )


def _apply_shift(op: str, left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Shift an integer."""
    kind = promote(left.type)
    by = right.known
    left = symbolic_integers.convert_int(left, kind)
    if by is None or by > c_integers.MOST_SHIFT or (by < 0 and not kind.bits):
        return symbolic_integers.make_opaque(
            f"{symbolic_integers.format_factor(left)} {op} {symbolic_integers.format_factor(right)}", kind, left, right
        )
    if kind == UNKNOWN and left.known is not None and not INT.can_hold(left.known << by if op == "<<" else left.known):
        return symbolic_integers.make_opaque(
            f"{symbolic_integers.format_factor(left)} {op} {by}", kind, left, right
        )  # it may have 32 bits
    if kind.bits and not 0 <= by < kind.bits:
        return _shift_too_far(op, left, right, kind, by)
    result = symbolic_integers.shift_int(left, by if op == "<<" else -by)
    low = by if op == "<<" and left.known is not None and not left.known else result.low
    origin = _join_both_origins(left, right)
    return SymbolicInt(
        result.const, kind, result.pieces, low=low, marks=result.marks, origin=origin, assumed=result.assumed
    )


def _shift_too_far(
    op: str, left: SymbolicInt, right: SymbolicInt, kind: c_integers.IntegerType, by: int
) -> SymbolicInt:
    """Shift by at least the width: undefined in C++; PTX's shl gives 0, shr gives 0 or the sign."""
    signed = op == ">>" and not symbolic_integers.is_nonnegative(left)
    if left.known is None and (signed or kind == UNKNOWN):
        return symbolic_integers.make_opaque(f"{symbolic_integers.format_factor(left)} {op} {by}", kind, left, right)
    shifted = c_integers.compute_shift(op, left.known or 0, kind, by).value or 0
    return SymbolicInt(shifted, kind, low=by if op == "<<" and by > 0 else 0, origin=_join_both_origins(left, right))


def _join_both_origins(left: SymbolicInt, right: SymbolicInt) -> tuple[Any, ...]:
    """Join the origins of two integers."""
    return tuple(dict.fromkeys((*left.origin, *right.origin)))[: symbolic_integers.MOST_ORIGINS]


def _is_same_place(left: Address, right: Address) -> bool | None:
    """Return whether two addresses are of one object; None if unknown."""
    if left.at.known != 0 or right.at.known != 0:
        return None
    places = (left.place, right.place)
    if any(not isinstance(place, Cell) for place in places):
        return True if identify_place(left.place) == identify_place(right.place) else None
    contents = [place.value for place in places]
    if all(isinstance(value, ObjectValue) for value in contents):
        first, second = ((value.derived or value) for value in contents)
        return first is second or (None if first.members and first.members is second.members else False)
    return left.place is right.place


def _is_misread_operand(value: Any) -> bool:
    """Return whether an operand is a type or function, so that template arguments were parsed as comparisons."""
    return isinstance(value, ResolvedType | TemplateEntity | FunctionSet) or (
        isinstance(value, OpaqueValue) and value.head == "misread"
    )


def _is_surely_something(value: Any) -> bool:
    """Return whether a value is known: an integer, a list, an object or a string."""
    return isinstance(value, ArrayValue | str) or (isinstance(value, SymbolicInt) and value.known is not None)
