"""Calls of functions that the text does not define: those of the standard library that are known, and all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, LONG, ULONG, IntegerType, common
from lanescope.reader.code import traits, tree, word
from lanescope.reader.code.calls import MISSING, known
from lanescope.reader.code.overloads import Argument
from lanescope.reader.code.side_effects import forget_escaped, forget_unknown, may_throw
from lanescope.reader.code.values import (
    PLACES,
    Address,
    Array,
    Blurred,
    Cell,
    Deref,
    Enumeration,
    Kind,
    Object,
    Part,
    Pointer,
    Referred,
    Scope,
    Template,
    Term,
    moved,
    number,
    short,
    size_bytes,
)
from lanescope.reader.code.word import Int, free

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_RANGES = frozenset("begin cbegin end cend data size empty".split())  # of std, of an array


def call_library(
    ev: Evaluator,
    one: tree.Call,
    target: Any,
    *,
    name: str,
    templates: tuple[Any, ...],
    arguments: list[Argument],
    named: dict[str, Any],
    scope: Scope,
) -> Any:
    function = one.function
    given = [ev.argument_value(a) for a in arguments]
    for argument, expression in zip(arguments, one.arguments, strict=False):
        if isinstance(argument.value, Int | Object) and not isinstance(expression, tree.Name):
            ev.notice(argument.value, ev.words(expression), expression.span)
    of_layout = isinstance(target, Term) and target.head == "tile_to_shape" and bool(target.arguments)
    if of_layout or (isinstance(target, Array) and target.typed is not None):  # a slice of it: layout(_, _, 0)
        return target
    held = target.arguments[0] if isinstance(target, Term) and target.arguments else None
    if isinstance(held, Array) and held.typed is not None:
        found = ev.call_array_member(held, name, given)
        if found is not None:
            return found
        forget_escaped(ev, Cell(held))
    kind = kind_called(ev, target, one, scope)
    if kind is not None:
        whole = kind.record is not None and not kind.pointers
        return ev.construct(kind, arguments if whole else given, one, scope)
    if name == "memcpy" and len(arguments) == 3:
        return _copy_bytes(ev, arguments, one)
    if name == "memset" and len(arguments) == 3:
        return _set_bytes(ev, arguments, one)
    if target is None and len(given) == 1 and isinstance(given[0], Array) and name in _RANGES:
        found = ev.call_array_member(given[0], name, [])
        if found is not None:
            return found
    if name in ("min", "max") and len(arguments) == 2 and target is None:
        extreme = _extreme(ev, name, arguments, templates)
        if extreme is not None:
            return extreme
    if name == "exchange" and len(arguments) == 2 and isinstance(arguments[0].where, PLACES):
        old = ev.copied(arguments[0].value)
        if isinstance(old, Object) and (old.record.copies or old.record.assigns):
            ev.forget(arguments[0].where)
            ev.forget_globals()
            return ev.forgotten(old)
        ev.store(arguments[0].where, arguments[1].value, one.span)
        return old
    if target is None or isinstance(target, Term):
        limit = _limit(ev, function, scope)
        if limit is not None:
            return limit
        made = known(ev, name, templates, given, one.span)
        if made is not MISSING:
            return made
    if target is None and isinstance(function, tree.Name) and len(given) == 1:
        own = ev.builtin_kind(function.path, scope)
        if own is not None and own.whole is not None:
            return ev.converted(given[0], own, one.span)
    made = unknown_call(ev, one, name, templates=templates, given=given, named=named, target=target)
    if not isinstance(function, tree.Name | tree.Type | tree.Member):  # (object.*function)(…)
        ev.forget_names(ev.text[slice(*function.span)], scope)
        ev.forget_globals()
    forget_unknown(ev, name, arguments, one)
    if isinstance(held, Object) and held.record.opaque:
        ev.forget(Cell(held.whole or held))
    if templates and not ev.python:
        ev.kept_by_library(templates, scope)
    may_throw(ev, name)
    return made


def call_array_member(ev: Evaluator, array: Array, name: str, given: list[Any]) -> Any:
    """What a member function of std::array gives, or std::begin and its kind of an array; None for another."""
    if array.typed is not None and not (isinstance(array.typed, Kind) and array.typed.name.endswith("array")):
        return None
    at = number(given[0]) if name == "at" and given else None
    if at is not None and at.known is not None and 0 <= at.known < len(array.cells):
        return Referred(array.cells[at.known])
    if name in ("front", "back") and array.cells:
        return Referred(array.cells[0 if name == "front" else -1])
    if name in ("data", "begin", "cbegin") and array.element is not None:
        return ev.decayed(array)
    if name in ("end", "cend") and array.element is not None:
        return moved(ev.decayed(array), Int(len(array.cells), LONG))
    if name == "empty":
        return Int(int(not array.cells), BOOL)
    return Int(len(array.cells), ULONG) if name in ("size", "max_size", "ssize") else None


def _extreme(ev: Evaluator, name: str, arguments: list[Argument], templates: tuple[Any, ...]) -> Any:
    """The smaller or larger of two numbers: that very variable, where both are variables of one type; None where it
    is not known which.
    """
    left, right = (number(argument.value) for argument in arguments)
    if left is None or right is None:
        return None
    places = [argument.where for argument in arguments]
    given = templates[0].whole if templates and isinstance(templates[0], Kind) else None
    if templates and given is None:
        return None
    if left.type != right.type or (given is not None and given != left.type):
        kind = given or common(left.type, right.type)
        left, right, places = word.convert(left, kind), word.convert(right, kind), [None, None]
    second = word.compare("<" if name == "min" else ">", right, left)
    if second is None:
        return None
    chosen = places[int(second)]
    return Referred(chosen) if isinstance(chosen, PLACES) else (left, right)[int(second)]


def _limit(ev: Evaluator, function: tree.Expression, scope: Scope) -> Int | None:
    """std::numeric_limits<T>::max()."""
    if not isinstance(function, tree.Name) or len(function.path) < 2:
        return None
    head, given = function.path[-2]
    if head != "numeric_limits" or not given:
        return None
    kind = ev.template_argument(given[0], scope)
    return traits.limit(kind, function.path[-1][0]) if isinstance(kind, Kind) else None


def tuple_item(ev: Evaluator, one: tree.Call, templates: tuple[Any, ...], scope: Scope) -> Any:
    """std::get<n>(tuple), as a place."""
    whole = ev.place(one.arguments[0], scope)
    value = ev.load(whole, one.arguments[0]) if isinstance(whole, PLACES) else whole
    at = number(templates[0]) if not isinstance(templates[0], Kind) else None
    if isinstance(value, Array) and at is not None and at.known is not None and 0 <= at.known < len(value.cells):
        return Referred(value.cells[at.known])
    return Term(ev.words(one), span=one.span, head="get", arguments=(value,))


def swap(ev: Evaluator, arguments: list[Argument], one: tree.Call) -> None:
    """std::swap."""
    left, right = (argument.where for argument in arguments)
    plain = not any(_copies_itself(argument.value) for argument in arguments)
    if plain and isinstance(left, PLACES) and isinstance(right, PLACES):
        values = [argument.value for argument in arguments]
        first, second = (ev.copied(one, 1) if isinstance(one, Object | Part | Array) else one for one in values)
        ev.store(left, second, one.span)
        ev.store(right, first, one.span)
    else:
        ev.forget(left)
        ev.forget(right)
        ev.forget_globals()


def _copy_bytes(ev: Evaluator, arguments: list[Argument], one: tree.Call) -> Any:
    """memcpy(to, from, bytes)."""
    count = number(arguments[2].value)
    bytes_ = count.known if count is not None else None
    bits = IntegerType("bits", 8 * (bytes_ or 0), False)
    if not bytes_ or bytes_ > 512:
        ev.forget(ev.pointee_of(arguments[0].value, one))
        return arguments[0].value
    kind = Kind("bits", bits, bits.bits)
    to = ev.pointee_of(arguments[0].value, one)
    target, origin = (_bytes_at(ev, a.value, kind, one) for a in arguments[:2])
    if isinstance(target, PLACES) and not isinstance(target, Deref):
        copied = ev.load(origin, one) if isinstance(origin, PLACES) else free(ev.fresh("memcpy"), bits)
        ev.store(target, copied, one.span)
    else:
        ev.forget(to)
    return arguments[0].value


def _bytes_at(ev: Evaluator, value: Any, kind: Kind, one: tree.Expression) -> Any:
    """What a pointer points to, as an integer of so many bits."""
    if isinstance(value, Array) and value.typed is None:
        value = ev.decayed(value)
    element = value.element if isinstance(value, Address | Pointer) else None
    at = value.at.known if isinstance(value, Address | Pointer) and value.at is not None else None
    if isinstance(value, Address) and at is not None and (at == 0 or element is not None):
        size = size_of_kind(ev, element) if at else 0
        return ev.viewed_bits(value.place, kind, at * size * 8) if size is not None else Blurred(value.place)
    if isinstance(value, Pointer) and value.array is not None and at is not None:
        size = size_of_kind(ev, element or value.array.element)
        return ev.viewed_bits(Cell(value.array), kind, at * size * 8) if size else Blurred(Cell(value.array))
    return ev.pointee_of(value, one)


def size_of_kind(ev: Evaluator, kind: Kind | None) -> int | None:
    """sizeof a type where it is known."""
    return size_bytes(kind).known if kind is not None else None


def _set_bytes(ev: Evaluator, arguments: list[Argument], one: tree.Call) -> Any:
    """memset(to, byte, bytes)."""
    count, byte = number(arguments[2].value), number(arguments[1].value)
    to = ev.pointee_of(arguments[0].value, one)
    size = count.known if count is not None else None
    if (
        not isinstance(to, PLACES)
        or isinstance(to, Deref)
        or not size
        or size > 512
        or byte is None
        or byte.known is None
    ):
        ev.forget(to)
        return arguments[0].value
    bits = IntegerType("bits", 8 * size, False)
    target = _bytes_at(ev, arguments[0].value, Kind("bits", bits, bits.bits), one)
    ev.store(target, Int(int.from_bytes(bytes([byte.known & 255]) * size, "little"), bits), one.span)
    return arguments[0].value


def unknown_call(
    ev: Evaluator,
    one: tree.Call,
    name: str,
    *,
    templates: tuple[Any, ...],
    given: list[Any],
    named: dict[str, Any],
    target: Any,
) -> Term:
    inner = ", ".join(short(value) for value in given)
    listed = f"<{', '.join(map(short, templates))}>" if templates else ""
    head = "".join(str(one.function)) if isinstance(one.function, tree.Name) else ev.words(one.function)
    this = (target.arguments[0],) if isinstance(target, Term) and target.arguments and target.head == name else ()
    term = Term(
        f"{head}{listed}({inner})"[:120],
        None,
        name,
        tuple(given),
        (*named.items(), *((("<>", templates),) if templates else ()), *((("self", this[0]),) if this else ())),
        one.span,
    )
    ev.kept(term)
    return term


def kind_called(ev: Evaluator, target: Any, one: tree.Call, scope: Any) -> Kind | None:
    if isinstance(target, Template):
        path = one.function.path if isinstance(one.function, tree.Name | tree.Type) else ()
        made: Kind | None = ev.kind(tree.Type(path, span=one.span), scope) if path else ev.applied(target, [])
        return made
    if isinstance(target, Enumeration):
        return target.kind if not ev.python else None
    return target if isinstance(target, Kind) else None


def _copies_itself(value: Any) -> bool:
    """Whether the class of an object says how it is copied."""
    if isinstance(value, Array) and value.typed is None:
        return True  # its items are swapped, and pointers to them stay
    if not isinstance(value, Object):
        return isinstance(value, Term)
    own = value.record.methods.get(value.record.name)
    one_each = own is not None and any(len(f.parameters) == 1 for f in own.functions)
    inner = any(_copies_itself(cell.value) for cell in value.members.values() if not isinstance(cell.value, Term))
    assigns = "operator=" in value.record.methods or value.record.assigns or value.record.copies
    return assigns or one_each or inner
