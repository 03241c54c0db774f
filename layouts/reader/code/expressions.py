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
from lanescope.reader.code.assignments import evaluate_assignment
from lanescope.reader.code.branches import evaluate_choice
from lanescope.reader.code.findings import BodilessCall
from lanescope.reader.code.header_names import CONSTANTS, LIMITS, MEMBERS
from lanescope.reader.code.lambdas import evaluate_lambda
from lanescope.reader.code.lifetimes import run_delete
from lanescope.reader.code.operators import evaluate_fold, evaluate_unary
from lanescope.reader.code.paths import EarlyExit, EscapedPath
from lanescope.reader.code.pointers import get_pointee_type
from lanescope.reader.code.records import measure_record
from lanescope.reader.code.symbolic_integers import LinearExpression, Span, SymbolicInt, make_free
from lanescope.reader.code.values import (
    PLACES,
    VOID,
    ArrayValue,
    Cell,
    EnumerationType,
    NameScope,
    ObjectValue,
    OpaqueValue,
    Pointer,
    ReferredPlace,
    ResolvedType,
    TemplateEntity,
    shorten_name,
)

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
class CallFrame:
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
    escapes: list[EscapedPath] = field(default_factory=list)
    returns: ResolvedType | None = None
    refers: bool = False
    constant: bool = False
    template: bool = False
    instance: str = ""
    lost: bool = False
    start: int = 0
    depth: int = 0
    targets: list[Any] = field(default_factory=list)
    single: bool = False  # whether it has one return
    scope: NameScope | None = None  # of the statement that is being run


def enter_function(
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
    frame = CallFrame(name, span, entry, passed or {}, refers=refers, constant=constant)
    frame.start, frame.depth = len(ev.log), len(ev.branches)
    frame.targets, ev.targets = ev.targets, []
    ev.frames.append(frame)


def find_origin(ev: Evaluator, one: tree.Expression) -> tuple[Span, tuple[Span, ...]]:
    """Find (where an expression is written, the calls around that place, innermost first).

    An expression that only passes a parameter on is followed to the function that gave it, and so on outwards.
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


def leave_function(ev: Evaluator) -> None:
    """End the function that was entered last."""
    ev.targets = ev.frames.pop().targets


def record_call(ev: Evaluator, term: OpaqueValue) -> None:
    """Record a call of a bodiless function.

    Those that may make a tensor map or take a descriptor are counted apart: they may come after hundreds of others.
    """
    whose = term.head if _TELLING.search(term.head) or len(term.arguments) > 8 else ""
    own = ev.often[whose] = ev.often.get(whose, 0) + 1
    if own <= MOST_ALIKE and len(ev.made) < MOST_MADE:
        term = replace(term, arguments=tuple(_copy_array(value) for value in term.arguments))
        ev.ran += 1
        loops = tuple(one for one in ev.loops if one[0])
        ev.made.append(BodilessCall(term, loops, calls=ev.list_running_functions(), order=ev.ran))


def spend_step(ev: Evaluator) -> None:
    """Count a step; BudgetError where the budget is spent."""
    check_deadline()
    ev.left -= 1
    if ev.left < 0 or ev.nested > 150:
        raise BudgetError


def evaluate_for_effect(ev: Evaluator, one: tree.Expression, scope: NameScope) -> None:
    """Evaluate an expression for its effect."""
    if isinstance(one, tree.Unary) and one.op == "post" and ev.python:
        one = one.value
    ev.evaluate_expression(one, scope)


def evaluate_expression(ev: Evaluator, one: tree.Expression, scope: NameScope) -> Any:
    """Return what an expression gives; see values.py for what that can be."""
    ev.spend_step()
    ev.nested += 1
    try:
        return _RULES.get(type(one), _evaluate_unread)(ev, one, scope)
    finally:
        ev.nested -= 1


# rules, by the class of an expression ------------------------------------------------------------------------------


def _evaluate_integer(ev: Evaluator, one: tree.NumberLiteral, scope: NameScope) -> SymbolicInt:
    """Evaluate an integer literal."""
    return SymbolicInt(
        one.value, PYTHON if ev.python else one.type, low=_get_lowest_mask_bit(one.value), origin=(one.span,)
    )


def _evaluate_real(ev: Evaluator, one: tree.RealLiteral, scope: NameScope) -> OpaqueValue:
    """Evaluate a floating-point literal."""
    return OpaqueValue(one.text, ResolvedType("double" if one.bits == 64 else "float", None, one.bits), span=one.span)


def _evaluate_text(ev: Evaluator, one: tree.StringLiteral, scope: NameScope) -> str:
    """Evaluate a string literal."""
    return one.value


def _evaluate_place(ev: Evaluator, one: tree.Member | tree.Index, scope: NameScope) -> Any:
    """Evaluate a member or an item."""
    return ev.load_place(ev.find_place(one, scope), one)


def _evaluate_operation(ev: Evaluator, one: tree.Binary, scope: NameScope) -> Any:
    """Evaluate left op right, or load the reference that an operator of the text returns."""
    made = ev.evaluate_binary(one, scope)
    return ev.load_place(made, one) if isinstance(made, ReferredPlace) else made


def _evaluate_call(ev: Evaluator, one: tree.Call, scope: NameScope) -> Any:
    """Evaluate a call, or load the reference that the function returns."""
    made = ev.evaluate_call(one, scope)
    return ev.load_place(made, one) if isinstance(made, ReferredPlace) else made


def _evaluate_cast(ev: Evaluator, one: tree.Cast, scope: NameScope) -> Any:
    """Evaluate a cast, also T(value) and T{…}."""
    if one.type.reference and not ev.python:
        return ev.load_place(ev.find_place(one, scope), one)
    summed = _find_misread_cast(ev, one, scope)
    if summed is not None:
        return ev.evaluate_expression(summed, scope)
    made = ev.resolve_type(one.type, scope)
    if isinstance(one.value, tree.ItemList):
        return ev.evaluate_initializer(one.value, made, scope, "")
    given = ev.evaluate_expression(one.value, scope)
    if isinstance(given, SymbolicInt):
        given = _prepare_cast(ev, one, made, one.value, given)
    return convert_explicitly(ev, given, made, one.value, one)


def _evaluate_declared(ev: Evaluator, one: tree.ConditionDeclaration, scope: NameScope) -> Any:
    """Evaluate a declaration as a condition: the variable's value."""
    ev.execute_statement(one.statement, scope)
    found = scope.names.get(one.statement.name)
    return ev.load_place(found, one) if isinstance(found, PLACES) else found


def _evaluate_offset(ev: Evaluator, one: tree.OffsetOf, scope: NameScope) -> SymbolicInt:
    """Evaluate offsetof(type, member)."""
    record = ev.resolve_type(one.type, scope).record
    found = measure_record(ev, record).offsets.get(one.member) if record is not None else None
    return SymbolicInt(found, ULONG) if found is not None else make_free(ev.format_expression(one), ULONG)


def _evaluate_items(ev: Evaluator, one: tree.ItemList, scope: NameScope) -> Any:
    """Evaluate {a, b} and T{a, b}."""
    return ev.evaluate_initializer(one, ev.resolve_type(one.type, scope) if one.type else None, scope, "")


def _evaluate_sizeof(ev: Evaluator, one: tree.SizeOf, scope: NameScope) -> SymbolicInt:
    """Evaluate sizeof and alignof."""
    return ev.evaluate_sizeof(one, one.value, scope)


def _evaluate_table(ev: Evaluator, one: tree.DictLiteral, scope: NameScope) -> dict[Any, Any]:
    """Evaluate a dict of Python."""
    return {ev.make_key(ev.evaluate_expression(k, scope)): ev.evaluate_expression(v, scope) for k, v in one.items}


def _evaluate_other(ev: Evaluator, one: tree.OpaqueExpression, scope: NameScope) -> OpaqueValue:
    """Evaluate what is not supported, such as ({ … }): what it may write becomes unknown, and it may throw."""
    if _ACTS.search(one.text) and not ev.python:
        ev.forget_names(one.text, scope)
        ev.forget_globals()
    if ev.tries and _THROWS.search(one.text):
        ev.keep_escape("?", EarlyExit("throw", None), {})
    return OpaqueValue(one.text, span=one.span)


def _evaluate_unread(ev: Evaluator, one: tree.Expression, scope: NameScope) -> OpaqueValue:
    """Evaluate an expression without a rule: a symbol named by its text."""
    return OpaqueValue(ev.format_expression(one), span=one.span)


def _prepare_cast(ev: Evaluator, one: tree.Cast, kind: ResolvedType, inner: tree.Expression, given: SymbolicInt) -> Any:
    """Prepare the operand of a cast if undeclared names may be pointers.

    (uint64_t)(p + k) is an address in bytes or a pointer that counts elements.
    """
    if kind.pointers or (one.pointer and kind.whole):
        return ev.make_name_pointer(given, get_pointee_type(kind) or VOID, cast=True) or given
    summed = isinstance(inner, tree.Binary) and inner.op in "+-"
    wide = kind.whole is not None and kind.whole.bits == 64
    if ev.python or not summed or not wide or "cast<" in ev.text[slice(*one.span)][:20]:
        return given  # static_cast takes no pointer
    found = ev.make_name_pointer(given, VOID)
    if found is None or not (name := get_pointer_name(found.base)):
        return given
    ev.widened.add(name)
    return found


def make_key(ev: Evaluator, value: Any) -> Any:
    """Return a value as the key of a dict."""
    return value.known if isinstance(value, SymbolicInt) and value.known is not None else str(value)


def convert_explicitly(ev: Evaluator, given: Any, kind: ResolvedType, inner: tree.Expression, one: tree.Cast) -> Any:
    """Convert a value explicitly to a type."""
    if isinstance(given, ObjectValue) and kind.record is None and kind.whole is None and kind.open:
        return OpaqueValue(ev.format_expression(one), kind, span=one.span)
    if isinstance(given, ObjectValue) and kind.whole is not None and given.record.fields is not None:
        converts = any(name.startswith("operator ") for name in given.record.methods)
        if not converts and given.record.bits not in (0, kind.whole.bits):
            return OpaqueValue(ev.format_expression(one), kind, span=one.span)
    ev.casting, before = True, ev.casting
    try:
        return ev.convert_to_kind(given, kind, one.span)
    finally:
        ev.casting = before


def _find_misread_cast(ev: Evaluator, one: tree.Cast, scope: NameScope) -> tree.Binary | None:
    """Find (name) + 1, which the grammar reads as a cast of +1 to a type."""
    kind, inner = one.type, one.value
    if ev.python or not isinstance(inner, tree.Unary) or inner.op not in "+-*&" or kind.pointers or kind.dims:
        return None
    found = ev.resolve_name(kind.path, scope, kind.span[0]) if kind.path and not kind.const else None
    if not isinstance(found, PLACES) or (isinstance(found, Cell) and isinstance(found.value, ResolvedType)):
        return None
    return tree.Binary(inner.op, tree.Name(kind.path, span=kind.span), inner.value, span=one.span)


# names -----------------------------------------------------------------------------------------------------------


def evaluate_name(ev: Evaluator, one: tree.Name | tree.Type, scope: NameScope) -> Any:
    """Evaluate a name or a type: a variable's value, a type, functions, or what is known without the text."""
    if isinstance(one, tree.Type) and _is_type(one):
        return ev.resolve_type(one, scope)
    found = ev.resolve_name(one.path, scope, one.span[0])
    if isinstance(found, PLACES):
        return ev.load_place(found, one)
    if isinstance(found, TemplateEntity):
        return ev.resolve_type(tree.Type(one.path, span=one.span), scope)
    if isinstance(found, EnumerationType):
        return found.kind
    if found is not None:
        return found
    for rule in _UNDECLARED:
        made = rule(ev, one, scope)
        if made is not None:
            return made
    return OpaqueValue("::".join(name for name, _ in one.path), span=one.span)


def _is_type(one: tree.Type) -> bool:
    """Return whether what the grammar reads as a type is surely one."""
    shaped = one.pointers or one.dims or one.reference or one.const or one.body
    return bool(shaped) or one.name == "decltype"


# names that the text does not declare: rules that are tried in order, each gives None where it says nothing -----------


def _constant(ev: Evaluator, one: tree.Name | tree.Type, scope: NameScope) -> SymbolicInt | None:
    """Return a constant of CUDA or of C's limits, by its last name."""
    last = one.path[-1][0] if one.path else ""
    if last in CONSTANTS:
        return SymbolicInt(CONSTANTS[last], INT, origin=(one.span,))
    if last in LIMITS and not ev.python:
        return SymbolicInt(*LIMITS[last], origin=(one.span,))
    return None


def _member_constant(ev: Evaluator, one: tree.Name | tree.Type, scope: NameScope) -> SymbolicInt | None:
    """Return a constant of an enumeration of a library."""
    for name, _ in one.path[:-1]:
        if (name, one.path[-1][0]) in MEMBERS:
            return SymbolicInt(MEMBERS[name, one.path[-1][0]], INT, origin=(one.span,))
    return None


def _trait(ev: Evaluator, one: tree.Name | tree.Type, scope: NameScope) -> Any:
    """Evaluate a trait of the standard library: is_same_v<A, B>, is_same<A, B>::value, remove_cv<T>::type."""
    if ev.python or not one.path:
        return None
    last, arguments = one.path[-1]
    if arguments is not None:
        known = traits.find_trait_value(last, ev.evaluate_template_arguments(arguments, scope))
        if known is not None:
            return known
    if len(one.path) > 1 and last in ("value", "type"):
        kind = ev.find_builtin_type(one.path[:-1], scope)
        return traits.find_trait_member(kind, last) if kind is not None else None
    return None


def _builtin(ev: Evaluator, one: tree.Name | tree.Type, scope: NameScope) -> ResolvedType | None:
    """Return a type that needs no declaration."""
    return ev.find_builtin_type(one.path, scope)


_UNDECLARED: tuple[Callable[[Evaluator, tree.Name | tree.Type, NameScope], Any], ...] = (
    _constant,
    _member_constant,
    _trait,
    _builtin,
)

_RULES: dict[type[tree.Expression], Callable[[Evaluator, Any, NameScope], Any]] = {
    tree.NumberLiteral: _evaluate_integer,
    tree.RealLiteral: _evaluate_real,
    tree.StringLiteral: _evaluate_text,
    tree.Name: evaluate_name,
    tree.Type: evaluate_name,
    tree.Binary: _evaluate_operation,
    tree.Assignment: evaluate_assignment,
    tree.Call: _evaluate_call,
    tree.Member: _evaluate_place,
    tree.Index: _evaluate_place,
    tree.Cast: _evaluate_cast,
    tree.Unary: evaluate_unary,
    tree.ConditionDeclaration: _evaluate_declared,
    tree.Fold: evaluate_fold,
    tree.New: evaluate_new,
    tree.Delete: run_delete,
    tree.OffsetOf: _evaluate_offset,
    tree.ConditionalExpression: evaluate_choice,
    tree.ItemList: _evaluate_items,
    tree.SizeOf: _evaluate_sizeof,
    tree.Lambda: evaluate_lambda,
    tree.DictLiteral: _evaluate_table,
    tree.OpaqueExpression: _evaluate_other,
}


def get_pointer_name(base: LinearExpression) -> str:
    """Return the name of an address that counts sizeof(*name), as pointers do; "" for addresses and descriptors."""
    names = [name for name, factor in base.terms if factor == 1 and re.fullmatch(r"[A-Za-z_]\w*", name)]
    return next((name for name in names if not _ADDRESS.search(name)), "")


def _copy_array(value: Any, deep: int = 0) -> Any:
    """Copy an array as it is now; arrays in it no deeper than a tensor map has them."""
    if isinstance(value, Pointer) and value.array is not None:
        return replace(value, array=_copy_array(value.array, deep))
    if not isinstance(value, ArrayValue):
        return value
    if deep > 1:
        return OpaqueValue(shorten_name(value))
    cells = [Cell(_copy_array(c.value, deep + 1), c.kind, c.name) for c in value.cells[:MOST_KEPT]]
    return ArrayValue(cells, value.element, value.name, value.typed)


def _get_lowest_mask_bit(value: int) -> int:
    """Return a literal's lowest bit if it is clearly a mask put in place (0x4000…), else 0."""
    return (value & -value).bit_length() - 1 if value >= 1 << 32 else 0
