"""C's and Python's operators over values that may be symbols, and the warnings of C's pitfalls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx import integers as c_integers
from lanescope.cxx import sizes as c_sizes
from lanescope.cxx.integers import BOOL, INT, LONG, ULONG, common, promoted
from lanescope.reader.code import tree, word
from lanescope.reader.code.known import THREADS
from lanescope.reader.code.lookup import find_name
from lanescope.reader.code.records import measured
from lanescope.reader.code.static_types import declared_type, type_of
from lanescope.reader.code.values import (
    Address,
    Array,
    Cell,
    Closure,
    Either,
    Kind,
    Object,
    Pack,
    Part,
    Pointer,
    Scope,
    Template,
    Term,
    moved,
    number,
    size_bytes,
)
from lanescope.reader.code.word import UNKNOWN, Int, free

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_binary(ev: Evaluator, one: tree.Binary, scope: Scope) -> Any:
    if one.op == ",":
        first = ev.value(one.left, scope)
        if isinstance(first, Object) and "operator," in first.record.methods:
            return ev.operator(",", first, ev.value(one.right, scope), one)
        return ev.value(one.right, scope)
    if one.op == ">" and not ev.python and (name := _misread_name(ev, one, scope)) is not None:
        return ev.value(name, scope)
    if not ev.python and one.op in ev.overloaded and one.op not in ("&&", "||"):
        left_operand, right_operand = (ev.evaluate_argument(side, scope) for side in (one.left, one.right))
        own = ev.operator(one.op, left_operand, right_operand, one)
        if own is not None:
            return own
        left, right = ev.argument_value(left_operand), ev.argument_value(right_operand)
        return ev.operate(one.op, left, right, one, left_at=one.left, right_at=one.right)
    left = ev.value(one.left, scope)
    if isinstance(left, Object) and one.op in ("&&", "||") and f"operator{one.op}" in left.record.methods:
        return ev.operator(one.op, left, ev.value(one.right, scope), one)
    if one.op in ("&&", "||"):
        truth = ev.truth(left)
        if truth is not None and truth == (one.op == "||"):
            return left if ev.python else Int(int(truth), BOOL)
        right = ev.value(one.right, scope) if truth is not None or ev.python else _perhaps(ev, one, scope)
        other = ev.truth(right)
        if truth is not None and ev.python:
            return right
        decided = other is not None and (truth is not None or other == (one.op == "||")) and not ev.python
        return Int(int(bool(other)), BOOL) if decided else _both_open(ev, one, left, right, truth)
    right = ev.value(one.right, scope)
    return ev.operate(one.op, left, right, one, left_at=one.left, right_at=one.right)


def _misread_name(ev: Evaluator, one: tree.Binary, scope: Scope) -> tree.Name | None:
    """Outer<4>::Inner<4>::value, which the grammar reads as Outer<4>::Inner < 4 > ::value."""
    left, right = one.left, one.right
    if not (isinstance(left, tree.Binary) and left.op == "<" and isinstance(left.left, tree.Name)):
        return None
    if not isinstance(right, tree.Name) or right.path[0][0]:
        return None
    if not isinstance(ev.resolve(left.left.path, scope, left.span[0]), Template):
        return None
    *outer, (last, _) = left.left.path
    return tree.Name((*outer, (last, (left.right,)), *right.path[1:]), span=one.span)


def _perhaps(ev: Evaluator, one: tree.Binary, scope: Scope) -> Any:
    """The right side of && or || that may not be evaluated."""
    values: list[Any] = []
    ev.alternatives([(ev.words(one.left), lambda: values.append(ev.value(one.right, scope))), ("", lambda: None)])
    return values[0] if values else Term(ev.words(one.right))


def _both_open(ev: Evaluator, one: tree.Binary, left: Any, right: Any, truth: bool | None) -> Int:
    """a && b and a || b that the text leaves open."""
    a, b = number(left), number(right)
    if ev.python or a is None or b is None or isinstance(left, Term) or isinstance(right, Term):
        return ev.unknown(one)
    if truth is not None:
        return word.truth_of(b)
    return word.opaque(f"{word.factor(a)} {one.op} {word.factor(b)}", BOOL, a, b)


def unknown(ev: Evaluator, one: tree.Expression) -> Int:
    return free(ev.words(one), BOOL)


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
    if isinstance(left, Array) and left.name == "" and left.element is not None:
        left = ev.decayed(left)
    if isinstance(left, Pointer) and op == "-" and isinstance(right, Array) and right.typed is None:
        right = ev.decayed(right)
    if isinstance(left, Address) and op in ("+", "-") and not isinstance(right, Pointer | Address):
        step = number(right)
        return replace(left, at=word.add(left.at, step, 1 if op == "+" else -1)) if step else Term(ev.words(at))
    if isinstance(left, Pointer) and isinstance(right, Pointer) and op == "-" and not ev.python:
        return _apart(ev, left, right, at)
    if isinstance(left, Pointer) and not isinstance(right, Pointer):
        step = number(right)
        if op in ("+", "-") and step is not None:
            return moved(left, step, 1 if op == "+" else -1)
    if op == "+" and isinstance(right, Pointer) and number(left) is not None:
        return moved(right, ev.whole_number(left))
    if isinstance(left, Array) and op in ("+", "-") and not isinstance(left.typed, Kind) and number(right) is not None:
        if ev.python:
            return Term(ev.words(at))
        return moved(ev.decayed(left), ev.whole_number(right), 1 if op == "+" else -1)
    if not ev.python:
        ev.loose.update(v.text for v in (left, right) if isinstance(v, Term) and (not v.kind or v.kind.open))
    user = ev.operator(op, left, right, at)
    if user is not None:
        return user
    if ev.python and op in ("==", "!=") and (none := [_is_none(v) for v in (left, right)]) and any(none):
        known = all(none) or all(_is_none(v) or _given(v) for v in (left, right))
        return Int(int(all(none) == (op == "==")), BOOL) if known else ev.unknown(at)
    if op in ("==", "!=") and (isinstance(left, str | Kind) or isinstance(right, str | Kind)):
        same = str(left) == str(right)
        loose = isinstance(left, Term) or isinstance(right, Term)
        return ev.unknown(at) if loose else Int(int(same == (op == "==")), BOOL)
    if isinstance(left, Address) and isinstance(right, Address) and op in ("==", "!="):
        alike = _same_place(left, right)
        return ev.unknown(at) if alike is None else Int(int(alike == (op == "==")), BOOL)
    if not ev.python and any(_is_misread(value) for value in (left, right)):
        return Term(ev.words(at), head="misread")
    if not ev.python:
        left, right = ev.number_of_object(left), ev.number_of_object(right)
    one, two = number(left), number(right)
    if one is None or two is None or (op not in c_integers.COMPARED and (one.type.scoped or two.type.scoped)):
        return Term(ev.words(at))  # an operator of an enum class that the text does not show
    if any(isinstance(v, Term) and v.kind is not None and v.kind.name in ("float", "double") for v in (left, right)):
        if op in ("<", ">", "<=", ">=", "==", "!="):
            return ev.unknown(at)
        return Term(ev.fresh(ev.words(at)), Kind("double", None, 64))
    if op in ("|", "|=", "+", "^"):
        one, two = marked(ev, one, left_at), marked(ev, two, right_at)
    ev.check(op, one, two, at)
    made = ev.binary(op, one, two)
    if made.pieces and op in c_integers.COMPARED and (isinstance(left, Term) or isinstance(right, Term)):
        return word.opaque(ev.words(at), BOOL, one, two)  # as it is written: f<2>::value looks like two of them
    if op in (">>", "/"):
        return word.shared_out(made, THREADS)
    return word.rounded(made) if op in ("&", "*", "<<") else made


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
    return ev.mark(value, at.span) if at is not None else value


def binary(ev: Evaluator, op: str, one: Int, two: Int) -> Int:
    """An operator over integers; one of Python's that grows without end is given up."""
    made = _binary_of(ev, op, one, two)
    return made if made.const.bit_length() <= word.MOST_BITS else word.opaque(f"{op} of a long number", made.type)


def _binary_of(ev: Evaluator, op: str, one: Int, two: Int) -> Int:
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
    kind = promoted(one.type)
    by = two.known
    one = word.convert(one, kind)
    if by is None or by > c_integers.MOST_SHIFT or (by < 0 and not kind.bits):
        return word.opaque(f"{word.factor(one)} {op} {word.factor(two)}", kind, one, two)
    if kind == UNKNOWN and one.known is not None and not INT.holds(one.known << by if op == "<<" else one.known):
        return word.opaque(f"{word.factor(one)} {op} {by}", kind, one, two)  # it may have 32 bits
    origin = tuple(dict.fromkeys((*one.origin, *two.origin)))[: word.MOST_ORIGINS]
    if kind.bits and not 0 <= by < kind.bits:  # undefined; PTX's shl gives 0, and shr 0 or the sign
        signed = op == ">>" and not word.nonnegative(one)
        if one.known is None and (signed or kind == UNKNOWN):
            return word.opaque(f"{word.factor(one)} {op} {by}", kind, one, two)
        made = c_integers.shift(op, one.known or 0, kind, by).value or 0
        return Int(made, kind, low=by if op == "<<" and by > 0 else 0, origin=origin)
    out = word.shifted(one, by if op == "<<" else -by)
    low = by if op == "<<" and one.known is not None and not one.known else out.low
    return Int(out.const, kind, out.pieces, low=low, marks=out.marks, origin=origin, assumed=out.assumed)


def evaluate_unary(ev: Evaluator, one: tree.Unary, scope: Scope) -> Any:
    if one.op == "post":
        return _post(ev, one, scope)
    if one.op == "&":
        if "&" in ev.overloaded and isinstance(value := ev.evaluate_argument(one.value, scope).value, Object):
            own_address = ev.operator("&", value, None, one)
            if own_address is not None:
                return ev.load(own_address, one)
        return ev.address_of(one.value, scope)
    if one.op == "...":
        return Term(ev.words(one))
    value = ev.value(one.value, scope)
    if one.op == "*":
        return ev.load(ev.pointee_of(value, one), one)
    if not ev.python:
        own_operator = ev.operator(one.op, value, None, one)
        if own_operator is not None:
            return ev.load(own_operator, one)
    if one.op in ("!", "not"):
        truth = ev.truth(value)
        if truth is not None:
            return Int(int(not truth), BOOL)
        own = number(value)
        return word.opaque(f"{word.factor(own)} == 0", BOOL, own) if own is not None else ev.unknown(one)
    if not ev.python:
        value = ev.number_of_object(value)
    if isinstance(value, Term) and value.kind is not None and value.kind.name in ("float", "double"):
        return Term(ev.words(one), value.kind)
    own = number(value)
    if own is None:
        return Term(ev.words(one))
    kind = promoted(own.type)
    if one.op == "+":
        return word.convert(own, kind)
    if one.op == "-":
        return word.add(Int(0, kind), word.convert(own, kind), -1)
    return word.inverted(own)


def _post(ev: Evaluator, one: tree.Unary, scope: Scope) -> Any:
    """x++ and x--: the value before."""
    assert isinstance(one.value, tree.Assign)
    if not ev.python:
        place = ev.place(one.value.target, scope)
        value = ev.load(place, one)
        if isinstance(value, Object):
            made = ev.operator(one.value.op * 2, value, Int(0), one)
            if made is None:
                ev.forget(place)
            return ev.load(made, one) if made is not None else Term(ev.words(one))
        old = ev.copied(value)
    else:
        old = ev.value(one.value.target, scope)
    ev.value(one.value, scope)
    return old


def evaluate_choice(ev: Evaluator, one: tree.Choice, scope: Scope) -> Any:
    asked = ev.value(one.condition, scope)
    condition = ev.truth(asked)
    if condition is None:
        text = ev.condition_text(asked, one.condition)
        if ev.python:
            return ev.merge(text, ev.value(one.yes, scope), ev.value(one.no, scope))
        return ev.evaluate_both_arms(one, text, scope)
    return ev.chosen_arm(one, condition, ev.value(one.yes if condition else one.no, scope), scope)


def chosen_arm(ev: Evaluator, one: tree.Choice, condition: bool, chosen: Any, scope: Scope) -> Any:
    """The value of the arm that a condition chooses, in the type that both arms have in common."""
    if not isinstance(chosen, Int) or ev.python:
        return chosen
    other = type_of(ev, one.no if condition else one.yes, scope)
    if other is None:
        return chosen
    kind = c_integers.arms(chosen.type, other)
    if kind == UNKNOWN and chosen.known is not None and chosen.known < 0:  # -1 of how many bits?
        return word.opaque(f"{chosen.known} of an unknown type", kind)
    return word.convert(chosen, kind)


def evaluate_both_arms(ev: Evaluator, one: tree.Choice, text: str, scope: Scope) -> Any:
    """Both arms of a choice that the text leaves open."""
    values: list[Any] = []
    ev.alternatives(
        [
            (text, lambda: values.append(ev.value(one.yes, scope))),
            (f"!({text})", lambda: values.append(ev.value(one.no, scope))),
        ]
    )
    if len(values) < 2:  # the other throws
        return values[0] if values else Term(ev.words(one))
    return ev.merge(text, *values)


def condition_text(ev: Evaluator, asked: Any, at: tree.Expression) -> str:
    """A condition's name: of its value where it is a number, else as it is written."""
    own = number(asked) if not isinstance(asked, Term) else None
    text = word.name(own) if own is not None else ev.words(at)
    return text[1:-1] if word.bracketed(text) else text


def truth(ev: Evaluator, value: Any) -> bool | None:
    """Whether a value is true; None where the text leaves it open."""
    if ev.python and _is_none(value):
        return False
    if isinstance(value, str | dict):
        return bool(value)
    if ev.python and isinstance(value, Array):
        return bool(value.cells)
    if isinstance(value, Object) and not ev.python:
        value = ev.decay(value, Kind("bool", BOOL, 1)) if value.record.methods else value
        if isinstance(value, Object):
            return None
    if isinstance(value, Pointer) and not ev.python and value.array is None:
        if any(name.startswith("&") for name, _ in value.base.terms):
            return True
        return None if value.base.terms else bool(value.base.const)
    if isinstance(value, Pointer | Address | Array | Closure | Either):
        return True
    if isinstance(value, Term) and value.kind is not None and value.kind.name in ("float", "double"):
        return None
    own = number(value)
    if own is None:
        return None
    if own.known is not None:
        return bool(own.known)
    return True if own.const else None


def evaluate_sizeof(ev: Evaluator, one: tree.SizeOf, inner: tree.Expression, scope: Scope) -> Int:
    if one.pack:
        found = find_name(scope, inner.path[0][0])[0] if isinstance(inner, tree.Name | tree.Type) else None
        return Int(len(found), ULONG) if isinstance(found, Pack) else free(ev.words(one), ULONG, 16)
    if isinstance(inner, tree.Text) and "\\" not in inner.value:
        return Int(len(inner.value) + 1, ULONG)
    if isinstance(inner, tree.Type) and inner.dims and not inner.pointers:
        found = ev.resolve(inner.path, scope, inner.span[0])
        if isinstance(found, Cell):  # sizeof(array[0]), which the grammar reads as a type
            sizes = tuple(dim if dim is not None else tree.Other("") for dim in inner.dims)
            value: tree.Expression = tree.Name(inner.path, span=inner.span)
            for size in sizes:
                value = tree.Index(value, (size,), span=inner.span)
            return ev.evaluate_sizeof(one, value, scope)
    if isinstance(inner, tree.Type | tree.Name):
        declared = declared_type(ev, inner, scope)
        held = ev.named(inner, scope) if declared is None else declared
        if isinstance(held, Array) and held.typed is None:  # a parameter, which is a pointer
            return free(ev.words(one), ULONG, 16)
    else:
        member = isinstance(inner, tree.Member | tree.Index) or (isinstance(inner, tree.Unary) and inner.op in "*&")
        declared = declared_type(ev, inner, scope) if member else None
        if declared is not None and (known := size_of(ev, declared, one)).known is not None:
            return known
        held = _unevaluated(ev, inner, scope)
        unsure = Pointer if isinstance(inner, tree.Member) else Pointer | Int
        if member and isinstance(held, unsure) and declared is None:
            return free(ev.words(one), ULONG, 16)  # an array may be read as a pointer to its first item
    return _size_of_value(ev, one, inner, held)


def _size_of_value(ev: Evaluator, one: tree.SizeOf, inner: tree.Expression, value: Any) -> Int:
    if isinstance(value, Kind):
        return size_of(ev, replace(value, reference=""), one)
    if isinstance(value, Int) and value.type.bits and value.type != UNKNOWN:
        return Int(value.type.size, ULONG)
    if isinstance(value, Object):
        return size_of(ev, Kind(value.record.name, record=value.record, bits=value.record.bits or None), one)
    if isinstance(value, Term) and value.kind is not None:
        return size_of(ev, value.kind, one)
    if isinstance(value, Array) and value.typed is None and value.element is not None:
        return word.times(size_of(ev, value.element, one), Int(len(value.cells), ULONG))
    known = c_sizes.size_of(value.text) if isinstance(value, Term) and value.kind is None else None
    if known is not None or isinstance(value, Pointer):
        return Int(known.bytes if known is not None else 8, ULONG)
    return free(f"sizeof({ev.words(inner)})", ULONG, 16)


def _unevaluated(ev: Evaluator, inner: tree.Expression, scope: Scope) -> Any:
    """The value of an operand that is not evaluated: for its type."""
    values: list[Any] = []
    first = len(ev.temporaries)
    ev.followed(lambda: values.append(ev.value(inner, scope)))
    del ev.temporaries[first:]
    return values[0] if values else Term(ev.words(inner))


def size_of(ev: Evaluator, kind: Kind, one: tree.SizeOf) -> Int:
    """sizeof or alignof of a type."""
    if kind.dims and not kind.pointers and kind.record is not None and kind.record.fields is None:
        whole = size_of(ev, replace(kind, dims=()), one)
        for dim in kind.dims if not one.align else ():
            whole = word.times(whole, dim)
        return whole
    if kind.record is not None and not kind.pointers and kind.record.fields is None:
        made = measured(ev, kind.record)
        known = made.align if one.align else made.size
        return Int(known, ULONG) if known is not None else free(ev.words(one), ULONG, 16)
    if not one.align:
        return size_bytes(kind)
    if kind.pointers:
        return Int(8, ULONG)
    if kind.whole is not None:
        return Int(kind.whole.size, ULONG)
    if kind.record is not None and kind.record.fields is not None:
        return Int(kind.record.align // 8, ULONG)
    size = c_sizes.size_of(kind.name) if kind.record is None and not kind.arguments else None
    return Int(size.align, ULONG) if size is not None else free(f"alignof({kind})", ULONG, 16)


# given by the classes below


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


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, Term) and value.text == "None")


def _given(value: Any) -> bool:
    """Whether a value is surely something: a number of known value, a list, an object, a text."""
    return isinstance(value, Array | str) or (isinstance(value, Int) and value.known is not None)
