"""What an operator gives for two values that may be symbols, and the warnings of C's pitfalls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import BOOL, INT, LONG, common, promoted
from lanescope.reader.code import tree, word
from lanescope.reader.code.branches import is_none, is_real
from lanescope.reader.code.known import THREADS
from lanescope.reader.code.values import (
    Address,
    Array,
    Cell,
    Closure,
    Kind,
    Object,
    Part,
    Pointer,
    Template,
    Term,
    moved,
    number,
    size_bytes,
)
from lanescope.reader.code.word import UNKNOWN, Int

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def operate(
    ev: Evaluator,
    op: str,
    left: Any,
    right: Any,
    at: tree.Expression,
    *,
    left_at: tree.Expression | None = None,
    right_at: tree.Expression | None = None,
) -> Any:
    """left op right, for every operator but && and ||; warns of C's pitfalls at the operator's place."""
    left, right = _decay_operands(ev, op, left, right)
    for rule in _RULES:
        made = rule(ev, op, left, right, at)
        if made is not None:
            return made
    if not ev.python:
        left, right = ev.number_of_object(left), ev.number_of_object(right)
    one, two = number(left), number(right)
    if one is None or two is None or _is_hidden(op, one, two):
        return Term(ev.words(at))
    if is_real(left) or is_real(right):
        return _operate_reals(ev, op, at)
    if op in ("|", "|=", "+", "^"):
        one, two = marked(ev, one, left_at), marked(ev, two, right_at)
    ev.check(op, one, two, at)
    made = ev.binary(op, one, two)
    if made.pieces and op in c_integers.COMPARED and (isinstance(left, Term) or isinstance(right, Term)):
        return word.opaque(ev.words(at), BOOL, one, two)  # as it is written: f<2>::value looks like two of them
    return _shared_out(op, made)


def _decay_operands(ev: Evaluator, op: str, left: Any, right: Any) -> tuple[Any, Any]:
    """Return (left, right), where an array that is a value or is subtracted from a pointer is a pointer."""
    if isinstance(left, Array) and left.name == "" and left.element is not None:
        left = ev.decayed(left)
    if isinstance(left, Pointer) and op == "-" and isinstance(right, Array) and right.typed is None:
        right = ev.decayed(right)
    return left, right


def _is_hidden(op: str, one: Int, two: Int) -> bool:
    """Return whether this is an operator of an enum class that the text does not show."""
    return op not in c_integers.COMPARED and (one.type.scoped or two.type.scoped)


def _operate_reals(ev: Evaluator, op: str, at: tree.Expression) -> Int | Term:
    """Return an unknown floating-point number, or truth of a comparison."""
    if op in ("<", ">", "<=", ">=", "==", "!="):
        return ev.unknown(at)
    return Term(ev.fresh(ev.words(at)), Kind("double", None, 64))


def _shared_out(op: str, made: Int) -> Int:
    """Return a number in terms of the thread's parts that shifts, quotients and masks take of it."""
    if op in (">>", "/"):
        return word.shared_out(made, THREADS)
    return word.rounded(made) if op in ("&", "*", "<<") else made


# rules that are tried in order, before operands are numbers: each returns None where it says nothing -----------------

_SIGNS = {"+": 1, "-": -1}


def _move_address(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """&variable + n."""
    if op not in _SIGNS or not isinstance(left, Address) or isinstance(right, Pointer | Address):
        return None
    step = number(right)
    return replace(left, at=word.add(left.at, step, _SIGNS[op])) if step else Term(ev.words(at))


def _subtract_pointers(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Count the elements between two pointers."""
    both = isinstance(left, Pointer) and isinstance(right, Pointer)
    return _apart(ev, left, right, at) if both and op == "-" and not ev.python else None


def _move_pointer(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """pointer + n, pointer - n, n + pointer."""
    if op in _SIGNS and isinstance(left, Pointer) and not isinstance(right, Pointer):
        step = number(right)
        if step is not None:
            return moved(left, step, _SIGNS[op])
    if op == "+" and isinstance(right, Pointer) and number(left) is not None:
        return moved(right, ev.whole_number(left))
    return None


def _move_array(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """array + n, a pointer to its item n."""
    if op not in _SIGNS or not isinstance(left, Array) or isinstance(left.typed, Kind) or number(right) is None:
        return None
    if ev.python:
        return Term(ev.words(at))
    return moved(ev.decayed(left), ev.whole_number(right), _SIGNS[op])


def _apply_own(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Call an operator that the text defines; note the names of unknown type that it computes with."""
    if not ev.python:
        ev.loose.update(v.text for v in (left, right) if isinstance(v, Term) and (not v.kind or v.kind.open))
    return ev.operator(op, left, right, at)


def _compare_none(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Compare with Python's None."""
    if not ev.python or op not in ("==", "!="):
        return None
    none = [is_none(value) for value in (left, right)]
    if not any(none):
        return None
    known = all(none) or all(is_none(value) or _given(value) for value in (left, right))
    return Int(int(all(none) == (op == "==")), BOOL) if known else ev.unknown(at)


def _compare_names(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Compare texts and types."""
    if op not in ("==", "!=") or not (isinstance(left, str | Kind) or isinstance(right, str | Kind)):
        return None
    if isinstance(left, Term) or isinstance(right, Term):
        return ev.unknown(at)
    return Int(int((str(left) == str(right)) == (op == "==")), BOOL)


def _compare_addresses(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Compare addresses of variables."""
    if op not in ("==", "!=") or not isinstance(left, Address) or not isinstance(right, Address):
        return None
    alike = _same_place(left, right)
    return ev.unknown(at) if alike is None else Int(int(alike == (op == "==")), BOOL)


def _name_misread(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Name what the grammar took for an operator: template arguments."""
    return Term(ev.words(at), head="misread") if not ev.python and (_is_misread(left) or _is_misread(right)) else None


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


def number_of_object(ev: Evaluator, value: Any) -> Any:
    """An object as the integer that its only conversion gives."""
    if isinstance(value, Part) and value.field.inner is not None:
        value = ev.part_object(value)
    if isinstance(value, Object) and any(name.startswith("operator ") for name in value.record.methods):
        return ev.decay(value, Kind("", None))
    return value


def _apart(ev: Evaluator, left: Pointer, right: Pointer, at: tree.Expression) -> Any:
    """How many elements lie between two pointers."""
    if left.array is not None and left.array is right.array and left.at is not None and right.at is not None:
        return word.convert(word.add(left.at, right.at, -1), LONG)
    size = size_bytes(left.element).known
    gap = (left.base + right.base.scaled(-1)).divided(size) if size else None
    return word.of_linear(gap, LONG) if gap is not None else Term(ev.words(at))


def marked(ev: Evaluator, value: Int, at: tree.Expression | None) -> Int:
    """Note of a number where the text writes it."""
    return ev.mark(value, at.span) if at is not None else value


def binary(ev: Evaluator, op: str, one: Int, two: Int) -> Int:
    """An operator over integers; one of Python's that grows without end is given up."""
    made = _binary_of(ev, op, one, two)
    return made if made.const.bit_length() <= word.MOST_BITS else word.opaque(f"{op} of a long number", made.type)


def _binary_of(ev: Evaluator, op: str, one: Int, two: Int) -> Int:
    """Apply an operator to two integers."""
    kind = common(one.type, two.type)
    match op:
        case "+" | "-":
            return word.add(one, two, 1 if op == "+" else -1)
        case "|":
            return word.either(one, two)
        case "&":
            return word.both(one, two)
        case "^":
            return word.exclusive(one, two)
        case "*":
            return word.times(one, two)
        case "<<" | ">>":
            return _shift(ev, op, one, two)
        case "/" | "//":
            return word.quotient(one, two, op)
        case "%":
            return word.remainder(one, two)
        case "**" if one.known is not None and two.known is not None:
            made = c_integers.binary("**", one.known, c_integers.PYTHON, two.known, c_integers.PYTHON)
            if made.value is not None:
                return Int(made.value, kind)
        case "<" | ">" | "<=" | ">=" | "==" | "!=":
            truth = word.compare(op, one, two)
            if truth is not None:
                return Int(int(truth), BOOL)
            a, b = word.convert(one, kind), word.convert(two, kind)
            return word.opaque(f"{word.factor(a)} {op} {word.factor(b)}", BOOL, a, b)
    return word.opaque(f"{word.factor(one)} {op} {word.factor(two)}", kind, one, two)


def _shift(ev: Evaluator, op: str, one: Int, two: Int) -> Int:
    """Shift a number."""
    kind = promoted(one.type)
    by = two.known
    one = word.convert(one, kind)
    if by is None or by > c_integers.MOST_SHIFT or (by < 0 and not kind.bits):
        return word.opaque(f"{word.factor(one)} {op} {word.factor(two)}", kind, one, two)
    if kind == UNKNOWN and one.known is not None and not INT.holds(one.known << by if op == "<<" else one.known):
        return word.opaque(f"{word.factor(one)} {op} {by}", kind, one, two)  # it may have 32 bits
    if kind.bits and not 0 <= by < kind.bits:
        return _shift_too_far(op, one, two, kind, by)
    out = word.shifted(one, by if op == "<<" else -by)
    low = by if op == "<<" and one.known is not None and not one.known else out.low
    origin = _origin_of_both(one, two)
    return Int(out.const, kind, out.pieces, low=low, marks=out.marks, origin=origin, assumed=out.assumed)


def _shift_too_far(op: str, one: Int, two: Int, kind: c_integers.IntegerType, by: int) -> Int:
    """Shift by as many bits as a number has, or more: undefined; PTX's shl gives 0, and shr 0 or the sign."""
    signed = op == ">>" and not word.nonnegative(one)
    if one.known is None and (signed or kind == UNKNOWN):
        return word.opaque(f"{word.factor(one)} {op} {by}", kind, one, two)
    made = c_integers.shift(op, one.known or 0, kind, by).value or 0
    return Int(made, kind, low=by if op == "<<" and by > 0 else 0, origin=_origin_of_both(one, two))


def _origin_of_both(one: Int, two: Int) -> tuple[Any, ...]:
    """Return where the text writes the numbers that two are made of."""
    return tuple(dict.fromkeys((*one.origin, *two.origin)))[: word.MOST_ORIGINS]


def _same_place(one: Address, two: Address) -> bool | None:
    """Whether two addresses are of one object; None where that is not known."""
    if one.at.known != 0 or two.at.known != 0:
        return None
    places = (one.place, two.place)
    if any(not isinstance(place, Cell) for place in places):
        return True if one.place == two.place else None
    held = [place.value for place in places]
    if all(isinstance(value, Object) for value in held):
        first, second = ((value.whole or value) for value in held)
        return first is second or (None if first.members and first.members is second.members else False)
    return one.place is two.place


def _is_misread(value: Any) -> bool:
    """Whether an operand is a type or a function: the grammar took template arguments for comparisons."""
    return isinstance(value, Kind | Template | Closure) or (isinstance(value, Term) and value.head == "misread")


def _given(value: Any) -> bool:
    """Whether a value is surely something: a number of known value, a list, an object, a text."""
    return isinstance(value, Array | str) or (isinstance(value, Int) and value.known is not None)
