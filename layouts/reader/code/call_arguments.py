"""The arguments of a call: their values, types and places."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import CHAR, ULONG
from lanescope.reader.code import tree
from lanescope.reader.code.constness import const_of
from lanescope.reader.code.lifetimes import has_name
from lanescope.reader.code.overloads import Argument
from lanescope.reader.code.values import (
    PLACES,
    Address,
    Array,
    Cell,
    Closure,
    Kind,
    Object,
    Part,
    Referred,
    Scope,
    Term,
)
from lanescope.reader.code.word import Int

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call, and what is called.

    target: what the name means; templates: template arguments of a function that the text does not have; named: of
    Python. arguments and given: the arguments, and their values, once they are evaluated.
    """

    one: tree.Call
    target: Any
    name: str
    templates: tuple[Any, ...]
    named: dict[str, Any]
    scope: Scope
    arguments: list[Argument] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)

    @property
    def owner(self) -> Any:
        """Return the object whose member is called; None where it is not known."""
        return self.target.arguments[0] if isinstance(self.target, Term) and self.target.arguments else None


@dataclass(frozen=True, slots=True)
class Braced:
    """An argument in braces, whose type its parameter decides."""

    items: tree.Items
    scope: Scope


def arguments(ev: Evaluator, one: tree.Call, scope: Scope) -> list[Argument]:
    """Return the arguments of a call, evaluated from left to right, with their types."""
    out: list[Argument] = []
    for argument in one.arguments[:64]:
        if isinstance(argument, tree.Unary) and argument.op == "...":
            inner = argument.value
            for each in ev.pack_scopes(inner, scope):
                out.append(ev.evaluate_argument(inner, each))
        else:
            out.append(ev.evaluate_argument(argument, scope))
    return out


def evaluate_argument(ev: Evaluator, one: Any, scope: Scope) -> Argument:
    """Evaluate one argument of a call, with its type and the place that it names."""
    if isinstance(one, tree.Items) and one.type is None:
        return Argument(Braced(one, scope), None, braced=len(one.items) + 1)
    if isinstance(one, tree.Items) and one.type is not None:
        return Argument(ev.value(one, scope), ev.kind(one.type, scope))
    forwarded: Argument | None = _forwarded(ev, one, scope)
    if forwarded is not None:
        return forwarded
    if is_move(one) and not isinstance(ev.resolve(one.function.path, scope), Closure):
        place = ev.place(one.arguments[0], scope)
        if isinstance(place, PLACES):
            value = ev.load(place, one)
            const = is_const(ev, place, scope, one.arguments[0])
            return Argument(value, ev.declared_kind(place, value), False, const, where=place)
    place = ev.place(one, scope)
    if isinstance(place, Referred):
        place = place.place
    if isinstance(place, PLACES):
        value = ev.load(place, one)
        kind = ev.declared_kind(place, value)
        return Argument(value, kind, True, is_const(ev, place, scope, one), where=place)
    made: Argument = ev.argument_of(place)
    text = ev.words(one) if isinstance(one, tree.Num) else ""
    return replace(made, zero=isinstance(one, tree.Num) and one.value == 0, null=text == "nullptr")


def _forwarded(ev: Evaluator, one: tree.Expression, scope: Scope) -> Argument | None:
    """Evaluate std::forward<T>(name): an lvalue where T is a reference, else an rvalue."""
    if not isinstance(one, tree.Call) or not isinstance(one.function, tree.Name) or one.function.last != "forward":
        return None
    given = one.function.path[-1][1]
    if not given or len(one.arguments) != 1:
        return None
    kind, place = ev.template_argument(given[0], scope), ev.place(one.arguments[0], scope)
    if not isinstance(place, PLACES) or not isinstance(kind, Kind):
        return None
    value = ev.load(place, one)
    own = ev.declared_kind(place, value)
    return Argument(value, own, kind.reference == "&", is_const(ev, place, scope, one.arguments[0]), where=place)


def argument_of(ev: Evaluator, value: Any) -> Argument:
    """Return a value that no variable holds, as an argument."""
    if isinstance(value, Argument):
        return value
    if isinstance(value, Address):
        inner = ev.load(value.place, tree.Other(""))
        pointed = value.element or ev.declared_kind(value.place, inner)
        kind = replace(pointed, pointers=pointed.pointers + 1, reference="") if pointed is not None else None
        return Argument(value, kind)
    if isinstance(value, Term) and value.kind is None:
        return Argument(value, None)
    if isinstance(value, str):
        array = (Int(len(value) + 1, ULONG),) if "\\" not in value else ()
        return Argument(value, Kind("char", CHAR, 8, pointers=not array, dims=array, const=True), True, True)
    return Argument(value, ev.kind_of(value) if not isinstance(value, Closure) else None)


def declared_kind(ev: Evaluator, place: Any, value: Any) -> Kind | None:
    """Return the type of what a place holds: as it was declared, else that of its value."""
    if isinstance(place, Cell) and place.kind is not None and place.kind.name not in ("auto", ""):
        return replace(place.kind, reference="", const=place.const or place.kind.const)
    if isinstance(place, Part) and place.field.inner is not None:
        return Kind(place.field.inner.name, record=place.field.inner)
    if isinstance(place, Part) and place.field.whole is not None:
        return Kind(place.field.whole.name, place.field.whole, place.field.whole.bits)
    return _kind_of_held(ev, value)


def _kind_of_held(ev: Evaluator, value: Any) -> Kind | None:
    """Return the type of what a place of an unknown type holds."""
    if isinstance(value, Term):
        return value.kind
    if isinstance(value, Array) and value.typed is None:
        e = value.element
        return None if e is None else replace(e, dims=(Int(len(value.cells)), *e.dims))
    if isinstance(value, Array):
        return value.typed if isinstance(value.typed, Kind) else None
    if isinstance(value, Closure):
        return None
    found: Kind | None = ev.argument_of(value).kind if isinstance(value, Address) else ev.kind_of(value)
    return found


def is_const(ev: Evaluator, place: Any, scope: Scope, one: tree.Expression) -> bool | None:
    """Return whether a place cannot be written; None where that is not known."""
    if isinstance(place, Cell) and (
        place.const or (place.kind is not None and place.kind.const and not place.kind.pointers)
    ):
        return True
    return const_of(ev, one, scope)


def argument_value(ev: Evaluator, argument: Argument) -> Any:
    """Return the value of an argument, of one in braces as a list."""
    value = argument.value
    return ev.initial(value.items, None, value.scope, "") if isinstance(value, Braced) else value


def is_move(one: tree.Expression) -> bool:
    """Return whether an expression is std::move(name)."""
    if not isinstance(one, tree.Call) or len(one.arguments) != 1 or not isinstance(one.function, tree.Name):
        return False
    return one.function.last == "move"


def argument_in(ev: Evaluator, one: tree.Expression, scope: Scope, value: Object) -> Argument:
    """Return an object that has a name, as the argument of a copy constructor."""
    moved = isinstance(one, tree.Call) and has_name(one)
    const = const_of(ev, one.arguments[0] if moved and isinstance(one, tree.Call) else one, scope)
    made: Argument = ev.argument_of_place(value)
    return replace(made, place=not moved, const=const, loose=not has_name(one))


def argument_like(ev: Evaluator, given: Any) -> Argument:
    """Return what a constructor is given, as an argument: of an object whose value category is not known."""
    if isinstance(given, Argument):
        return given
    made: Argument = ev.argument_of(given)
    if isinstance(given, Object) and given.held:
        return replace(made, place=True, const=None, loose=True, where=Cell(given, made.kind))
    return made
