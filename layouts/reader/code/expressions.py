"""The value of an expression: C's conversions, pointers, structs and calls over values that may be symbols."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, PYTHON, ULONG
from lanescope.deadline import check_deadline
from lanescope.reader.code import traits, tree
from lanescope.reader.code.allocating import evaluate_new
from lanescope.reader.code.assigning import evaluate_assignment
from lanescope.reader.code.branches import evaluate_choice
from lanescope.reader.code.finding import Made
from lanescope.reader.code.known import CONSTANTS, LIMITS, MEMBERS
from lanescope.reader.code.lambdas import evaluate_lambda
from lanescope.reader.code.lifetimes import delete
from lanescope.reader.code.operators import evaluate_fold, evaluate_unary
from lanescope.reader.code.paths import Escape, Left
from lanescope.reader.code.pointers import pointee
from lanescope.reader.code.records import measured
from lanescope.reader.code.values import (
    PLACES,
    VOID,
    Array,
    Cell,
    Enumeration,
    Kind,
    Object,
    Pointer,
    Referred,
    Scope,
    Template,
    Term,
    short,
)
from lanescope.reader.code.word import Int, Linear, Span, free

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_MADE = 2000  # calls without a body that are kept
MOST_ALIKE = 256  # of one name that says something of maps and descriptors, and of all other names together
_TELLING = re.compile(r"desc|mma|gemm|map|tma|tensor|encode", re.I)
MOST_KEPT = 64  # items of an array that is kept with a call
_ACTS = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--|\(")
_THROWS = re.compile(r"\bthrow\b")
_ADDRESS = re.compile(r"addr|desc|enc|int|u32|u64|off|base|lo(?:w)?$|start", re.I)  # a number by its name


class BudgetError(Exception):
    """The budget of an evaluation is spent."""


@dataclass(slots=True)
class Frame:
    """A function being run: what its parameters were given, those that are symbols, the paths that returned under open
    conditions.

    returns: the type it gives; refers: whether that is a reference; constant: whether its object is const; template:
    whether it is one of many instances; lost: whether a goto left open where it is; start, depth: how long the log of
    writes was when it began, and how many branches were being followed.
    """

    name: str
    span: Span
    entry: bool = False
    passed: dict[str, tree.Expression] = field(default_factory=dict)
    symbols: frozenset[str] = frozenset()
    escapes: list[Escape] = field(default_factory=list)
    returns: Kind | None = None
    refers: bool = False
    constant: bool = False
    template: bool = False
    instance: str = ""
    lost: bool = False
    start: int = 0
    depth: int = 0
    targets: list[Any] = field(default_factory=list)
    single: bool = False  # whether it has one return
    scope: Scope | None = None  # of the statement that is being run


def enter(
    ev: Evaluator,
    name: str,
    span: Span,
    *,
    entry: bool = False,
    passed: dict[str, tree.Expression] | None = None,
    refers: bool = False,
    constant: bool = False,
) -> None:
    """Begin to run a function."""
    frame = Frame(name, span, entry, passed or {}, refers=refers, constant=constant)
    frame.start, frame.depth = len(ev.log), len(ev.branches)
    frame.targets, ev.targets = ev.targets, []
    ev.frames.append(frame)


def written(ev: Evaluator, one: tree.Expression) -> tuple[Span, tuple[Span, ...]]:
    """(where an expression is written that only passes a parameter on: in the function that gave it, and so on
    outwards; the calls around that place, innermost first).
    """
    deep = len(ev.frames) - 1
    while deep > 0:
        inner = one
        while isinstance(inner, tree.Cast | tree.Member):
            inner = inner.value
        given = ev.frames[deep].passed.get(inner.last) if isinstance(inner, tree.Name) else None
        if given is None:
            break
        one = given
        deep -= 1
    return one.span, tuple(frame.span for frame in ev.frames[deep:0:-1] if not frame.entry)


def leave(ev: Evaluator) -> None:
    """End the function that was entered last."""
    ev.targets = ev.frames.pop().targets


def kept(ev: Evaluator, term: Term) -> None:
    """A call the text has no body of. Those that may make a tensor map or take a descriptor are counted apart: they
    may come behind hundreds of others.
    """
    whose = term.head if _TELLING.search(term.head) or len(term.arguments) > 8 else ""
    own = ev.often[whose] = ev.often.get(whose, 0) + 1
    if own <= MOST_ALIKE and len(ev.made) < MOST_MADE:
        term = replace(term, arguments=tuple(_snapshot(value) for value in term.arguments))
        ev.ran += 1
        loops = tuple(one for one in ev.loops if one[0])
        ev.made.append(Made(term, loops, calls=ev.within(), order=ev.ran))


def spend(ev: Evaluator) -> None:
    """Count a step; BudgetError where the budget is spent."""
    check_deadline()
    ev.left -= 1
    if ev.left < 0 or ev.nested > 150:
        raise BudgetError


def drop(ev: Evaluator, one: tree.Expression, scope: Scope) -> None:
    """An expression for its effect."""
    if isinstance(one, tree.Unary) and one.op == "post" and ev.python:
        one = one.value
    ev.value(one, scope)


def value(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """Return what an expression gives; see values.py for what that can be."""
    ev.spend()
    ev.nested += 1
    try:
        return _RULES.get(type(one), _evaluate_unread)(ev, one, scope)
    finally:
        ev.nested -= 1


# rules, by the class of an expression ------------------------------------------------------------------------------


def _evaluate_integer(ev: Evaluator, one: tree.Num, scope: Scope) -> Int:
    """An integer literal."""
    return Int(one.value, PYTHON if ev.python else one.type, low=_lowest(one.value), origin=(one.span,))


def _evaluate_real(ev: Evaluator, one: tree.Real, scope: Scope) -> Term:
    """A floating-point literal."""
    return Term(one.text, Kind("double" if one.bits == 64 else "float", None, one.bits), span=one.span)


def _evaluate_text(ev: Evaluator, one: tree.Text, scope: Scope) -> str:
    """A string literal."""
    return one.value


def _evaluate_place(ev: Evaluator, one: tree.Member | tree.Index, scope: Scope) -> Any:
    """A member or an item."""
    return ev.load(ev.place(one, scope), one)


def _evaluate_operation(ev: Evaluator, one: tree.Binary, scope: Scope) -> Any:
    """left op right; what the reference of an operator of the text names."""
    made = ev.evaluate_binary(one, scope)
    return ev.load(made, one) if isinstance(made, Referred) else made


def _evaluate_call(ev: Evaluator, one: tree.Call, scope: Scope) -> Any:
    """A call; what the reference that the function gives names."""
    made = ev.evaluate_call(one, scope)
    return ev.load(made, one) if isinstance(made, Referred) else made


def _evaluate_cast(ev: Evaluator, one: tree.Cast, scope: Scope) -> Any:
    """A cast, also T(value) and T{…}."""
    if one.type.reference and not ev.python:
        return ev.load(ev.place(one, scope), one)
    summed = _misread_cast(ev, one, scope)
    if summed is not None:
        return ev.value(summed, scope)
    made = ev.kind(one.type, scope)
    if isinstance(one.value, tree.Items):
        return ev.initial(one.value, made, scope, "")
    given = ev.value(one.value, scope)
    if isinstance(given, Int):
        given = _cast(ev, one, made, one.value, given)
    return cast(ev, given, made, one.value, one)


def _evaluate_declared(ev: Evaluator, one: tree.Declared, scope: Scope) -> Any:
    """A declaration as a condition: the variable's value."""
    ev.execute(one.statement, scope)
    found = scope.names.get(one.statement.name)
    return ev.load(found, one) if isinstance(found, PLACES) else found


def _evaluate_offset(ev: Evaluator, one: tree.OffsetOf, scope: Scope) -> Int:
    """offsetof(type, member)."""
    record = ev.kind(one.type, scope).record
    found = measured(ev, record).offsets.get(one.member) if record is not None else None
    return Int(found, ULONG) if found is not None else free(ev.words(one), ULONG)


def _evaluate_items(ev: Evaluator, one: tree.Items, scope: Scope) -> Any:
    """{a, b} and T{a, b}."""
    return ev.initial(one, ev.kind(one.type, scope) if one.type else None, scope, "")


def _evaluate_sizeof(ev: Evaluator, one: tree.SizeOf, scope: Scope) -> Int:
    """sizeof and alignof."""
    return ev.evaluate_sizeof(one, one.value, scope)


def _evaluate_table(ev: Evaluator, one: tree.Table, scope: Scope) -> dict[Any, Any]:
    """A dict of Python."""
    return {ev.key(ev.value(k, scope)): ev.value(v, scope) for k, v in one.items}


def _evaluate_other(ev: Evaluator, one: tree.Other, scope: Scope) -> Term:
    """What is not evaluated, ({ … }) among it: what it may write is not known, and it may throw."""
    if _ACTS.search(one.text) and not ev.python:
        ev.forget_names(one.text, scope)
        ev.forget_globals()
    if ev.tries and _THROWS.search(one.text):
        ev.escape("?", Left("throw", None), {})
    return Term(one.text, span=one.span)


def _evaluate_unread(ev: Evaluator, one: tree.Expression, scope: Scope) -> Term:
    """An expression that has no rule: a symbol of its text."""
    return Term(ev.words(one), span=one.span)


def _cast(ev: Evaluator, one: tree.Cast, kind: Kind, inner: tree.Expression, given: Int) -> Any:
    """What a cast is given, where names that the text does not declare may be pointers: (uint64_t)(p + k) is an
    address in bytes or a pointer that counts elements.
    """
    if kind.pointers or (one.pointer and kind.whole):
        return ev.pointed(given, pointee(kind) or VOID, cast=True) or given
    summed = isinstance(inner, tree.Binary) and inner.op in "+-"
    wide = kind.whole is not None and kind.whole.bits == 64
    if ev.python or not summed or not wide or "cast<" in ev.text[slice(*one.span)][:20]:
        return given  # static_cast takes no pointer
    found = ev.pointed(given, VOID)
    if found is None or not (name := pointer_like(found.base)):
        return given
    ev.widened.add(name)
    return found


def key(ev: Evaluator, value: Any) -> Any:
    """Return a value as the key of a dict."""
    return value.known if isinstance(value, Int) and value.known is not None else str(value)


def cast(ev: Evaluator, given: Any, kind: Kind, inner: tree.Expression, one: tree.Cast) -> Any:
    """A value explicitly converted to a type."""
    if isinstance(given, Object) and kind.record is None and kind.whole is None and kind.open:
        return Term(ev.words(one), kind, span=one.span)
    if isinstance(given, Object) and kind.whole is not None and given.record.fields is not None:
        converts = any(name.startswith("operator ") for name in given.record.methods)
        if not converts and given.record.bits not in (0, kind.whole.bits):
            return Term(ev.words(one), kind, span=one.span)
    ev.casting, before = True, ev.casting
    try:
        return ev.converted(given, kind, one.span)
    finally:
        ev.casting = before


def _misread_cast(ev: Evaluator, one: tree.Cast, scope: Scope) -> tree.Binary | None:
    """(name) + 1, which the grammar reads as a cast of +1 to a type."""
    kind, inner = one.type, one.value
    if ev.python or not isinstance(inner, tree.Unary) or inner.op not in "+-*&" or kind.pointers or kind.dims:
        return None
    found = ev.resolve(kind.path, scope, kind.span[0]) if kind.path and not kind.const else None
    if not isinstance(found, PLACES) or (isinstance(found, Cell) and isinstance(found.value, Kind)):
        return None
    return tree.Binary(inner.op, tree.Name(kind.path, span=kind.span), inner.value, span=one.span)


# names -----------------------------------------------------------------------------------------------------------


def named(ev: Evaluator, one: tree.Name | tree.Type, scope: Scope) -> Any:
    """What a name or a type means: a variable's value, a type, functions, or what is known without the text."""
    if isinstance(one, tree.Type) and _is_type(one):
        return ev.kind(one, scope)
    found = ev.resolve(one.path, scope, one.span[0])
    if isinstance(found, PLACES):
        return ev.load(found, one)
    if isinstance(found, Template):
        return ev.kind(tree.Type(one.path, span=one.span), scope)
    if isinstance(found, Enumeration):
        return found.kind
    if found is not None:
        return found
    for rule in _UNDECLARED:
        made = rule(ev, one, scope)
        if made is not None:
            return made
    return Term("::".join(name for name, _ in one.path), span=one.span)


def _is_type(one: tree.Type) -> bool:
    """Return whether what the grammar reads as a type is surely one."""
    shaped = one.pointers or one.dims or one.reference or one.const or one.body
    return bool(shaped) or one.name == "decltype"


# names that the text does not declare: rules that are tried in order, each gives None where it says nothing -----------


def _constant(ev: Evaluator, one: tree.Name | tree.Type, scope: Scope) -> Int | None:
    """A constant of CUDA or of C's limits, by its last name."""
    last = one.path[-1][0] if one.path else ""
    if last in CONSTANTS:
        return Int(CONSTANTS[last], INT, origin=(one.span,))
    if last in LIMITS and not ev.python:
        return Int(*LIMITS[last], origin=(one.span,))
    return None


def _member_constant(ev: Evaluator, one: tree.Name | tree.Type, scope: Scope) -> Int | None:
    """A constant of an enumeration of a library."""
    for name, _ in one.path[:-1]:
        if (name, one.path[-1][0]) in MEMBERS:
            return Int(MEMBERS[name, one.path[-1][0]], INT, origin=(one.span,))
    return None


def _trait(ev: Evaluator, one: tree.Name | tree.Type, scope: Scope) -> Any:
    """A trait of the standard library: is_same_v<A, B>, is_same<A, B>::value, remove_cv<T>::type."""
    if ev.python or not one.path:
        return None
    last, arguments = one.path[-1]
    if arguments is not None:
        known = traits.value_named(last, ev.template_arguments(arguments, scope))
        if known is not None:
            return known
    if len(one.path) > 1 and last in ("value", "type"):
        kind = ev.builtin_kind(one.path[:-1], scope)
        return traits.member(kind, last) if kind is not None else None
    return None


def _builtin(ev: Evaluator, one: tree.Name | tree.Type, scope: Scope) -> Kind | None:
    """A type that needs no declaration."""
    return ev.builtin_kind(one.path, scope)


_UNDECLARED: tuple[Callable[[Evaluator, tree.Name | tree.Type, Scope], Any], ...] = (
    _constant,
    _member_constant,
    _trait,
    _builtin,
)

_RULES: dict[type[tree.Expression], Callable[[Evaluator, Any, Scope], Any]] = {
    tree.Num: _evaluate_integer,
    tree.Real: _evaluate_real,
    tree.Text: _evaluate_text,
    tree.Name: named,
    tree.Type: named,
    tree.Binary: _evaluate_operation,
    tree.Assign: evaluate_assignment,
    tree.Call: _evaluate_call,
    tree.Member: _evaluate_place,
    tree.Index: _evaluate_place,
    tree.Cast: _evaluate_cast,
    tree.Unary: evaluate_unary,
    tree.Declared: _evaluate_declared,
    tree.Fold: evaluate_fold,
    tree.New: evaluate_new,
    tree.Delete: delete,
    tree.OffsetOf: _evaluate_offset,
    tree.Choice: evaluate_choice,
    tree.Items: _evaluate_items,
    tree.SizeOf: _evaluate_sizeof,
    tree.Lambda: evaluate_lambda,
    tree.Table: _evaluate_table,
    tree.Other: _evaluate_other,
}


def pointer_like(base: Linear) -> str:
    """The name of an address that counts sizeof(*name), of such as pointers have; "" for addresses and descriptors."""
    names = [name for name, factor in base.terms if factor == 1 and re.fullmatch(r"[A-Za-z_]\w*", name)]
    return next((name for name in names if not _ADDRESS.search(name)), "")


def _snapshot(value: Any, deep: int = 0) -> Any:
    """An array as it is now, whatever is put into it later; arrays in it no deeper than a tensor map has them."""
    if isinstance(value, Pointer) and value.array is not None:
        return replace(value, array=_snapshot(value.array, deep))
    if not isinstance(value, Array):
        return value
    if deep > 1:
        return Term(short(value))
    cells = [Cell(_snapshot(c.value, deep + 1), c.kind, c.name) for c in value.cells[:MOST_KEPT]]
    return Array(cells, value.element, value.name, value.typed)


def _lowest(value: int) -> int:
    """A literal's lowest bit where it is clearly a mask put in place (0x4000…), else 0."""
    return (value & -value).bit_length() - 1 if value >= 1 << 32 else 0
