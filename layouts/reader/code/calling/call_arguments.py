"""Evaluate the arguments of a call: their values, types and places."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import CHAR, ULONG
from lanescope.cxx.value_class import value_class
from lanescope.reader.code.calling.overloads import CallArgument
from lanescope.reader.code.cute.cute_values import is_cute_value
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.lifetimes import is_named_object
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.constness import find_constness
from lanescope.reader.code.values import (
    PLACES,
    Address,
    ArrayValue,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    ReferredPlace,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_VECTORS = frozenset("vector host_vector device_vector universal_vector array unique_ptr shared_ptr".split())
_POINTERS = frozenset("data get begin raw_pointer_cast".split())


@value_class(frozen=True, slots=True)
class Invocation:
    """A call, and what it calls.

    target: the value of the called expression. templates: template arguments of a function that is not in the text.
    named: keyword arguments of Python. arguments, values: the evaluated arguments, and their values.
    """

    node: tree.Call
    target: Any
    name: str
    templates: tuple[Any, ...]
    named: dict[str, Any]
    scope: NameScope
    arguments: list[CallArgument] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    @property
    def owner(self) -> Any:
        """The object whose member is called; None if unknown."""
        return self.target.arguments[0] if isinstance(self.target, OpaqueValue) and self.target.arguments else None


@dataclass(frozen=True, slots=True)
class BracedArgument:
    """A braced argument, whose type is that of its parameter."""

    items: tree.ItemList
    scope: NameScope


def evaluate_typed_arguments(ev: Evaluator, call: tree.Call, scope: NameScope) -> list[CallArgument]:
    """Evaluate the arguments of a call from left to right, with their types."""
    arguments: list[CallArgument] = []
    for argument in call.arguments[:64]:
        if isinstance(argument, tree.Unary) and argument.op == "...":
            inner = argument.value
            for element_scope in ev.make_pack_scopes(inner, scope):
                arguments.append(ev.evaluate_argument(inner, element_scope))
        else:
            arguments.append(ev.evaluate_argument(argument, scope))
    return arguments


def evaluate_argument(ev: Evaluator, expression: Any, scope: NameScope) -> CallArgument:
    """Evaluate one argument of a call, with its type and place."""
    if isinstance(expression, tree.ItemList) and expression.type is None:
        return CallArgument(BracedArgument(expression, scope), None, braced=len(expression.items) + 1)
    if isinstance(expression, tree.ItemList) and expression.type is not None:
        return CallArgument(ev.evaluate_expression(expression, scope), ev.resolve_type(expression.type, scope))
    forwarded: CallArgument | None = _evaluate_forward(ev, expression, scope)
    if forwarded is not None:
        return forwarded
    if is_move_call(expression) and not isinstance(ev.resolve_name(expression.function.path, scope), FunctionSet):
        place = ev.find_place(expression.arguments[0], scope)
        if isinstance(place, PLACES):
            value = ev.load_place(place, expression)
            const = is_const_place(ev, place, scope, expression.arguments[0])
            return CallArgument(value, ev.find_declared_type(place, value), False, const, where=place)
    place = ev.find_place(expression, scope)
    if isinstance(place, ReferredPlace):
        place = place.place
    if isinstance(place, PLACES):
        value = ev.load_place(place, expression)
        kind = ev.find_declared_type(place, value)
        return CallArgument(value, kind, True, is_const_place(ev, place, scope, expression), where=place)
    argument: CallArgument = ev.make_argument(place)
    if not isinstance(expression, tree.NumberLiteral):
        return argument
    return replace(argument, zero=expression.value == 0, null=ev.format_expression(expression) == "nullptr")


def _evaluate_forward(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> CallArgument | None:
    """Evaluate std::forward<T>(name): an lvalue if T is a reference, else an rvalue."""
    if (
        not isinstance(expression, tree.Call)
        or not isinstance(expression.function, tree.Name)
        or expression.function.last != "forward"
    ):
        return None
    templates = expression.function.path[-1][1]
    if not templates or len(expression.arguments) != 1:
        return None
    kind, place = ev.evaluate_template_argument(templates[0], scope), ev.find_place(expression.arguments[0], scope)
    if not isinstance(place, PLACES) or not isinstance(kind, ResolvedType):
        return None
    value = ev.load_place(place, expression)
    declared_type = ev.find_declared_type(place, value)
    return CallArgument(
        value,
        declared_type,
        kind.reference == "&",
        is_const_place(ev, place, scope, expression.arguments[0]),
        where=place,
    )


def make_argument(ev: Evaluator, value: Any) -> CallArgument:
    """Make an argument of a value that no variable holds."""
    if isinstance(value, CallArgument):
        return value
    if isinstance(value, Address):
        inner = ev.load_place(value.place, tree.OpaqueExpression(""))
        pointed = value.element or ev.find_declared_type(value.place, inner)
        kind = replace(pointed, pointers=pointed.pointers + 1, reference="") if pointed is not None else None
        return CallArgument(value, kind)
    if isinstance(value, OpaqueValue) and value.kind is None:
        return CallArgument(value, _find_pointer_type(value))
    if isinstance(value, ArrayValue) and isinstance(value.typed, ResolvedType) and not is_cute_value(value):
        return CallArgument(value, value.typed)
    if isinstance(value, str):
        array = (SymbolicInt(len(value) + 1, ULONG),) if "\\" not in value else ()
        return CallArgument(
            value, ResolvedType("char", CHAR, 8, pointers=not array, dims=array, const=True), True, True
        )
    return CallArgument(value, ev.get_value_type(value) if not isinstance(value, FunctionSet) else None)


def _find_pointer_type(value: OpaqueValue) -> ResolvedType | None:
    """Return T* for data() of a library's vector<T>, and for get() of that; None for another value."""
    owner = dict(value.named).get("self", next(iter(value.arguments), None))
    if value.head not in _POINTERS or len(value.arguments) + len(value.named) != 1:
        return None
    if isinstance(owner, OpaqueValue):
        return _find_pointer_type(owner)
    kind = owner.typed if isinstance(owner, ArrayValue) else None
    if not isinstance(kind, ResolvedType) or kind.record is not None or kind.name.split("::")[-1] not in _VECTORS:
        return None
    item = kind.arguments[0] if kind.arguments else None
    return replace(item, pointers=item.pointers + 1) if isinstance(item, ResolvedType) else None


def find_declared_type(ev: Evaluator, place: Any, value: Any) -> ResolvedType | None:
    """Return the declared type of a place, else the type of its value."""
    if isinstance(place, Cell) and place.kind is not None and place.kind.name not in ("auto", ""):
        const = place.const or place.kind.const
        if not place.kind.reference and place.kind.const == const:
            return place.kind
        return replace(place.kind, reference="", const=const)
    if isinstance(place, ObjectPart) and place.field.inner is not None:
        return ResolvedType(place.field.inner.name, record=place.field.inner)
    if isinstance(place, ObjectPart) and place.field.integer is not None:
        return ResolvedType(place.field.integer.name, place.field.integer, place.field.integer.bits)
    return _find_type_of_value(ev, value)


def _find_type_of_value(ev: Evaluator, value: Any) -> ResolvedType | None:
    """Return the type of the value in a place without a declared type."""
    if isinstance(value, OpaqueValue):
        return value.kind or _find_pointer_type(value)
    if isinstance(value, ArrayValue) and value.typed is None:
        item_type = value.element
        return None if item_type is None else replace(item_type, dims=(SymbolicInt(len(value.cells)), *item_type.dims))
    if isinstance(value, ArrayValue):
        return value.typed if isinstance(value.typed, ResolvedType) else None
    if isinstance(value, FunctionSet):
        return None
    resolved_type: ResolvedType | None = (
        ev.make_argument(value).kind if isinstance(value, Address) else ev.get_value_type(value)
    )
    return resolved_type


def is_const_place(ev: Evaluator, place: Any, scope: NameScope, expression: tree.Expression) -> bool | None:
    """Return whether a place is const; None if unknown."""
    if isinstance(place, Cell) and (
        place.const or (place.kind is not None and place.kind.const and not place.kind.pointers)
    ):
        return True
    return find_constness(ev, expression, scope)


def get_argument_value(ev: Evaluator, argument: CallArgument) -> Any:
    """Return the value of an argument; a braced one as a list."""
    value = argument.value
    return ev.evaluate_initializer(value.items, None, value.scope, "") if isinstance(value, BracedArgument) else value


def is_move_call(expression: tree.Expression) -> bool:
    """Return whether an expression is std::move(name)."""
    if (
        not isinstance(expression, tree.Call)
        or len(expression.arguments) != 1
        or not isinstance(expression.function, tree.Name)
    ):
        return False
    return expression.function.last == "move"


def make_copy_argument(
    ev: Evaluator, expression: tree.Expression, scope: NameScope, value: ObjectValue
) -> CallArgument:
    """Make the argument of a copy constructor from a named object."""
    moved = isinstance(expression, tree.Call) and is_named_object(expression)
    const = find_constness(
        ev, expression.arguments[0] if moved and isinstance(expression, tree.Call) else expression, scope
    )
    argument: CallArgument = ev.make_place_argument(value)
    return replace(argument, place=not moved, const=const, loose=not is_named_object(expression))


def make_constructor_argument(ev: Evaluator, value: Any) -> CallArgument:
    """Make the argument of a constructor; the value category of a stored object is unknown."""
    if isinstance(value, CallArgument):
        return value
    argument: CallArgument = ev.make_argument(value)
    if isinstance(value, ObjectValue) and value.stored:
        return replace(argument, place=True, const=None, loose=True, where=Cell(value, argument.kind))
    return argument
