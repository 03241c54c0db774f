"""The value of an expression: C's conversions, pointers, structs and calls over values that may be symbols."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, PYTHON, UINT, ULONG
from lanescope.deadline import check_deadline
from lanescope.reader.code import traits, tree, word
from lanescope.reader.code.finding import Made
from lanescope.reader.code.known import CONSTANTS, LIMITS, MEMBERS
from lanescope.reader.code.lookup import find_name, this_of
from lanescope.reader.code.operators import evaluate_fold
from lanescope.reader.code.paths import Escape, Left
from lanescope.reader.code.pointers import pointee
from lanescope.reader.code.records import measured
from lanescope.reader.code.values import (
    PLACES,
    VOID,
    Address,
    Array,
    Cell,
    Closure,
    Enumeration,
    Kind,
    Object,
    Overlay,
    Pointer,
    Record,
    Referred,
    Scope,
    Template,
    Term,
    short,
)
from lanescope.reader.code.word import Int, Linear, Span, free, symbol
from lanescope.reader.code.writes import used_names

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_MADE = 2000  # calls without a body that are kept
MOST_ALIKE = 256  # of one name that says something of maps and descriptors, and of all other names together
_TELLING = re.compile(r"desc|mma|gemm|map|tma|tensor|encode", re.I)
MOST_KEPT = 64  # items of an array that is kept with a call


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
    ev.targets = ev.frames.pop().targets


def cast_int(ev: Evaluator, value: Int, bits: int) -> Int:
    return word.convert(value, UINT if bits == 32 else ULONG)


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
    ev.spend()
    ev.nested += 1
    try:
        return _value(ev, one, scope)
    finally:
        ev.nested -= 1


def _value(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    match one:
        case tree.Num(value=value, type=kind):
            return Int(value, PYTHON if ev.python else kind, low=_lowest(value), origin=(one.span,))
        case tree.Text(value=value):
            return value
        case tree.Name() | tree.Type():
            return ev.named(one, scope)
        case tree.Binary():
            made = ev.evaluate_binary(one, scope)
            return ev.load(made, one) if isinstance(made, Referred) else made
        case tree.Assign():
            return ev.evaluate_assignment(one, scope)
        case tree.Call():
            made = ev.evaluate_call(one, scope)
            return ev.load(made, one) if isinstance(made, Referred) else made
        case tree.Member() | tree.Index():
            return ev.load(ev.place(one, scope), one)
        case tree.Cast(type=kind) if kind.reference and not ev.python:
            return ev.load(ev.place(one, scope), one)
        case tree.Cast(type=kind, value=inner):
            if (summed := _misread_cast(ev, one, scope)) is not None:
                return ev.value(summed, scope)
            made = ev.kind(kind, scope)
            if isinstance(inner, tree.Items):
                return ev.initial(inner, made, scope, "")
            given = ev.value(inner, scope)
            if isinstance(given, Int):
                given = _cast(ev, one, made, inner, given)
            return cast(ev, given, made, inner, one)
        case tree.Unary():
            return ev.evaluate_unary(one, scope)
        case tree.Declared(statement=statement):
            ev.execute(statement, scope)
            found = scope.names.get(statement.name)
            return ev.load(found, one) if isinstance(found, PLACES) else found
        case tree.Fold():
            return evaluate_fold(ev, one, scope)
        case tree.New():
            return _new(ev, one, scope)
        case tree.Delete():
            return ev.delete(one, scope)
        case tree.OffsetOf():
            record = ev.kind(one.type, scope).record
            found = measured(ev, record).offsets.get(one.member) if record is not None else None
            return Int(found, ULONG) if found is not None else free(ev.words(one), ULONG)
        case tree.Real(text=text, bits=bits):
            return Term(text, Kind("double" if bits == 64 else "float", None, bits), span=one.span)
        case tree.Choice():
            return ev.evaluate_choice(one, scope)
        case tree.Items():
            return ev.initial(one, ev.kind(one.type, scope) if one.type else None, scope, "")
        case tree.SizeOf(value=inner):
            return ev.evaluate_sizeof(one, inner, scope)
        case tree.Lambda(function=function):
            return Closure((function,), scope) if ev.python else _lambda(ev, one, scope)
        case tree.Table(items=items):
            return {ev.key(ev.value(k, scope)): ev.value(v, scope) for k, v in items}
        case tree.Other(text=text):
            if _ACTS.search(text) and not ev.python:  # ({ … }), and what else is not evaluated
                ev.forget_names(text, scope)
                ev.forget_globals()
            if ev.tries and _THROWS.search(text):
                ev.escape("?", Left("throw", None), {})
            return Term(text, span=one.span)
        case _:
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


def _lambda(ev: Evaluator, one: tree.Lambda, scope: Scope) -> Closure:
    """A lambda with copies of what it captures by value, as it is made."""
    inner = Scope(scope, "lambda")
    inner.consts.add("(new)")
    named = {capture.name: capture for capture in one.captures}
    if one.default == "=":
        for name in used_names(one.function):
            found, home = find_name(scope, name)
            member = "this" in home.names  # [=] captures `this`, not what it points to
            local = isinstance(found, PLACES) and home.owner != "namespace" and name not in named and not member
            if local and name != "this":
                value = _captured(ev, ev.load(found, one))
                inner.names[name] = Cell(value, None, name, one.span, -1)
    for capture in one.captures:
        if capture.name == "*this":
            this = this_of(scope)
            if isinstance(this, Object):
                members = ev.this_scope(scope, ev.copied(this), None)
                inner.names.update(members.names)
            continue
        if capture.name == "this":
            continue
        if capture.value is not None:
            place = ev.place(capture.value, scope) if capture.by_reference else None
            value = (
                place
                if isinstance(place, PLACES)
                else Cell(_captured(ev, ev.value(capture.value, scope)), None, capture.name, capture.span, -1)
            )
            inner.names[capture.name] = value
        elif not capture.by_reference:
            found = find_name(scope, capture.name)[0]
            if isinstance(found, PLACES):
                value = _captured(ev, ev.load(found, one))
                kind = found.kind if isinstance(found, Cell) else None
                inner.names[capture.name] = Cell(value, kind, capture.name, capture.span, -1)
    return Closure((one.function,), scope, captured=inner)


def _captured(ev: Evaluator, value: Any) -> Any:
    """A copy that a lambda keeps. Where it is destroyed is not followed."""
    if isinstance(value, Object) and value.record.ends and ev.haunting is not None:
        ev.haunting.append(value)
    if isinstance(value, Object) and value.held and value.record.copies:
        return ev.copied(value)
    return ev.copied(value, 1 if not isinstance(value, Object) or value.held else 0)


def _new(ev: Evaluator, one: tree.New, scope: Scope) -> Any:
    kind = ev.kind(one.type, scope)
    places = [ev.pointee_of(ev.value(where, scope), one) for where in one.placement]
    for place in places:  # what stood there is no more
        ev.forget(place)
    if ev.allocates("new", kind.record):
        ev.forget_all(scope)
    if kind.dims:
        return _new_array(ev, one, kind, scope)
    if one.braced:
        value = ev.initial(tree.Items(tuple(("", a) for a in one.arguments)), kind, scope, "")
    elif one.bare:
        value = ev.default(kind, ev.fresh("new"))
    else:
        given = ev.arguments(tree.Call(tree.Other(""), one.arguments), scope)
        if kind.record is not None and not kind.pointers:
            value = ev.constructed(ev.instance(kind.record, ""), given)
        else:
            value = ev.construct(kind, [argument.value for argument in given], one, scope)
    if isinstance(value, Object):
        value.held = True
        for place in places:
            inner = place.place if isinstance(place, Overlay) else place
            old = inner.value if isinstance(inner, Cell) else None
            if isinstance(inner, Cell) and isinstance(old, Object) and old.record is value.record:
                ev.put(inner, value)
                return Address(place)
    return Address(Cell(value, kind, "new", one.span, born=0))


def allocates(ev: Evaluator, word: str, record: Record | None) -> bool:
    """Whether the text has an operator new or delete of its own for a class."""
    own = record.methods if record is not None else {}
    return f"operator{word}" in own or find_name(ev.globals, f"operator{word}")[0] is not None


def _new_array(ev: Evaluator, one: tree.New, kind: Kind, scope: Scope) -> Any:
    name = ev.fresh("new")
    if one.bare:
        value = ev.default(kind, name)
    else:
        value = ev.initial(tree.Items(tuple(("", a) for a in one.arguments)), kind, scope, name)
    element = replace(kind, dims=kind.dims[1:])
    if isinstance(value, Array):
        value.name = name
        return ev.decayed(value)
    if element.record is not None and element.record.begins:
        ev.forget_all(scope)  # so many constructors
    return Pointer(symbol(name), element)


# names -----------------------------------------------------------------------------------------------------------


def named(ev: Evaluator, one: tree.Name | tree.Type, scope: Scope) -> Any:
    shaped = isinstance(one, tree.Type) and (one.pointers or one.dims or one.reference or one.const or one.body)
    if isinstance(one, tree.Type) and (shaped or one.name == "decltype"):
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
    last = one.path[-1][0] if one.path else ""
    if last in CONSTANTS:
        return Int(CONSTANTS[last], INT, origin=(one.span,))
    if last in LIMITS and not ev.python:
        return Int(*LIMITS[last], origin=(one.span,))
    for scope_name, _ in one.path[:-1]:
        if (scope_name, last) in MEMBERS:
            return Int(MEMBERS[scope_name, last], INT, origin=(one.span,))
    if not ev.python and one.path and one.path[-1][1] is not None and isinstance(one, tree.Name | tree.Type):
        known = traits.value_named(last, ev.template_arguments(one.path[-1][1], scope))
        if known is not None:
            return known
    if not ev.python and len(one.path) > 1 and last in ("value", "type"):
        kind = ev.builtin_kind(one.path[:-1], scope)
        inner = traits.member(kind, last) if kind is not None else None
        if inner is not None:
            return inner
    made = ev.builtin_kind(one.path, scope)
    if made is not None:
        return made
    return Term("::".join(name for name, _ in one.path), span=one.span)


_ACTS = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--|\(")


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
