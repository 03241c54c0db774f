"""C's and Python's operators over values that may be symbols, and the warnings of C's pitfalls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from layouts.reader.code import tree, word
from layouts.reader.code.ctype import BOOL, ULONG, CType, common, promoted
from layouts.reader.code.finding import Finding
from layouts.reader.code.values import (
    UNKNOWN,
    Address,
    Array,
    Closure,
    Kind,
    Object,
    Pointer,
    Scope,
    Term,
    moved,
    number,
    size_bytes,
)
from layouts.reader.code.word import Int, free


class Operators(Finding):
    """Operators of one evaluation."""

    def _binary(self, one: tree.Binary, scope: Scope) -> Any:
        if one.op == ",":
            self.value(one.left, scope)
            return self.value(one.right, scope)
        left = self.value(one.left, scope)
        if one.op in ("&&", "||"):
            truth = self.truth(left)
            if truth is not None and truth == (one.op == "||"):
                return left if self.python else Int(int(truth), BOOL)
            right = self.value(one.right, scope)
            other = self.truth(right)
            if truth is not None:
                return right if self.python else Int(int(other), BOOL) if other is not None else self.unknown(one)
            decided = other is not None and other == (one.op == "||") and not self.python
            return Int(int(bool(other)), BOOL) if decided else self.unknown(one)
        right = self.value(one.right, scope)
        return self.operate(one.op, left, right, one, one.left, one.right)

    def unknown(self, one: tree.Expression) -> Int:
        return free(self.words(one), BOOL)

    def operate(
        self, op: str, left: Any, right: Any, at: tree.Expression,
        left_at: tree.Expression | None = None, right_at: tree.Expression | None = None,
    ) -> Any:  # fmt: skip
        """left op right, for every operator but && and ||; warns of C's pitfalls at the operator's place."""
        if isinstance(left, Array) and left.name == "" and left.element is not None:
            left = self.decayed(left)
        if isinstance(left, Pointer) and not isinstance(right, Pointer):
            step = number(right)
            if op in ("+", "-") and step is not None:
                return moved(left, step, 1 if op == "+" else -1)
        if op == "+" and isinstance(right, Pointer) and number(left) is not None:
            return moved(right, self.whole_number(left))
        if (
            isinstance(left, Array)
            and op in ("+", "-")
            and not isinstance(left.typed, Kind)
            and number(right) is not None
        ):
            if self.python:
                return Term(self.words(at))
            return moved(self.decayed(left), self.whole_number(right), 1 if op == "+" else -1)
        if not self.python:
            self.loose.update(v.text for v in (left, right) if isinstance(v, Term) and (not v.kind or v.kind.open))
        user = self.operator(op, left, right, at)
        if user is not None:
            return user
        if self.python and op in ("==", "!=") and (none := [_is_none(v) for v in (left, right)]) and any(none):
            known = all(none) or all(_is_none(v) or _given(v) for v in (left, right))
            return Int(int(all(none) == (op == "==")), BOOL) if known else self.unknown(at)
        if op in ("==", "!=") and (isinstance(left, str | Kind) or isinstance(right, str | Kind)):
            same = str(left) == str(right)
            loose = isinstance(left, Term) or isinstance(right, Term)
            return self.unknown(at) if loose else Int(int(same == (op == "==")), BOOL)
        one, two = number(left), number(right)
        if one is None or two is None:
            return Term(self.words(at))
        if op in ("|", "|=") or (op in "+^" and not self.python and (one.low or two.low)) or op in "+^":
            one, two = self.marked(one, left_at), self.marked(two, right_at)
        self.check(op, one, two, at)
        return self.binary(op, one, two, self.words(at) if op in ("<", ">", "==") else "")

    def marked(self, value: Int, at: tree.Expression | None) -> Int:
        return self.mark(value, at.span) if at is not None else value

    def binary(self, op: str, one: Int, two: Int, text: str = "") -> Int:
        """An operator over integers; one of Python's that grows without end is given up."""
        made = self._binary_of(op, one, two, text)
        return made if made.const.bit_length() <= word.MOST_BITS else free("(…)", made.type)

    def _binary_of(self, op: str, one: Int, two: Int, text: str) -> Int:
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
                return self._shift(op, one, two)
            case "/" | "//":
                return word.quotient(one, two) or word.opaque(f"{one} / 0", kind)
            case "%":
                return word.remainder(one, two) or word.opaque(f"{one} % 0", kind)
            case "**":
                if (
                    one.known is not None
                    and two.known is not None
                    and 0 <= two.known <= 64
                    and abs(one.known) <= 1 << 64
                ):
                    return Int(one.known**two.known, kind)
                return word.opaque(f"{one} ** {two}", kind, one, two)
            case "<" | ">" | "<=" | ">=" | "==" | "!=":
                return self._compared(op, one, two, kind, text)
        return word.opaque(f"{one} {op} {two}", kind, one, two)

    def _compared(self, op: str, one: Int, two: Int, kind: CType, text: str) -> Int:
        left, right = one.known, two.known
        if left is None or right is None:
            gap = (one.linear() + two.linear().scaled(-1)) if one.plain and two.plain else None
            if gap is None or gap.terms:
                return free(text or f"{one} {op} {two}", BOOL)
            left, right = gap.const, 0
        elif kind.bits:
            left, right = kind.wrap(left), kind.wrap(right)
        return Int(
            int({"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right,
                 "==": left == right, "!=": left != right}[op]), BOOL,
        )  # fmt: skip

    def _shift(self, op: str, one: Int, two: Int) -> Int:
        kind = promoted(one.type)
        by = two.known
        one = word.convert(one, kind)
        if by is None or by < 0 or by > 4096:
            return word.opaque(f"{one} {op} {two}", kind, one, two)
        origin = tuple(dict.fromkeys((*one.origin, *two.origin)))[: word.MOST_ORIGINS]
        if kind.bits and by >= kind.bits:  # PTX's shl and shr give 0; C leaves it undefined
            return Int(0, kind, low=by if op == "<<" else 0, origin=origin)
        out = word.shifted(one, by if op == "<<" else -by)
        low = by if op == "<<" and one.known is not None and not one.known else out.low
        return Int(out.const, kind, out.pieces, low, out.marks, origin)

    def _unary(self, one: tree.Unary, scope: Scope) -> Any:
        if one.op == "post":
            assert isinstance(one.value, tree.Assign)
            old = self.value(one.value.target, scope)
            self.value(one.value, scope)
            return old
        if one.op == "&":
            return self._address(one.value, scope)
        value = self.value(one.value, scope)
        if one.op == "*":
            if isinstance(value, Address):
                return self.load(value.place, one)
            return self.load(Deref(value), one) if isinstance(value, Pointer) else Term(f"*{value}")
        if one.op in ("!", "not"):
            truth = self.truth(value)
            return Int(int(not truth), BOOL) if truth is not None else self.unknown(one)
        own = number(value)
        if own is None:
            return Term(self.words(one))
        kind = promoted(own.type)
        if one.op == "+":
            return word.convert(own, kind)
        if one.op == "-":
            return word.add(Int(0, kind), word.convert(own, kind), -1)
        if own.known is not None:
            return Int(kind.wrap(~own.known), kind, origin=own.origin)
        return word.opaque(f"~{own}", kind, own)

    def _choice(self, one: tree.Choice, scope: Scope) -> Any:
        condition = self.truth(self.value(one.condition, scope))
        if condition is not None:
            return self.value(one.yes if condition else one.no, scope)
        return self.merge(self.words(one.condition), self.value(one.yes, scope), self.value(one.no, scope))

    def truth(self, value: Any) -> bool | None:
        """Whether a value is true; None where the text leaves it open."""
        if self.python and _is_none(value):
            return False
        if isinstance(value, str | dict):
            return bool(value)
        if self.python and isinstance(value, Array):
            return bool(value.cells)
        if isinstance(value, Pointer | Address | Array | Closure):
            return True
        own = number(value)
        if own is None:
            return None
        if own.known is not None:
            return bool(own.known)
        return True if own.const else None

    def _sizeof(self, inner: tree.Expression, scope: Scope) -> Int:
        value = self.named(inner, scope) if isinstance(inner, tree.Type | tree.Name) else self.value(inner, scope)
        if isinstance(value, Kind):
            return size_bytes(value)
        if isinstance(value, Int) and value.type.bits and value.type is not UNKNOWN:
            return Int(value.type.bits // 8, ULONG)
        if isinstance(value, Object) and value.record.bits:
            return Int(value.record.bits // 8, ULONG)
        if isinstance(value, Array):
            each = size_bytes(value.element)
            return word.times(each, Int(len(value.cells), ULONG))
        return free(f"sizeof({self.words(inner)})", ULONG, 16)

    # given by the classes below
    value: Any
    load: Any
    place: Any
    named: Any
    merge: Any
    operator: Any
    decayed: Any
    whole_number: Any
    _address: Any


@dataclass(frozen=True, slots=True)
class Deref:
    """What an address points to."""

    pointer: Pointer


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, Term) and value.text == "None")


def _given(value: Any) -> bool:
    """Whether a value is surely something: a number of known value, a list, an object, a text."""
    return isinstance(value, Array | str) or (isinstance(value, Int) and value.known is not None)
