"""Run declarations of variables, references and structured bindings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import ULONG
from lanescope.reader.code.calling.overloads import CallArgument, binds_without_conversion
from lanescope.reader.code.expression.conversions import converts_to, find_converted_place
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.construction import takes_variable
from lanescope.reader.code.objects.initializers import make_text_array
from lanescope.reader.code.objects.lifetimes import is_named_object
from lanescope.reader.code.running.side_effects import forget_initializer, may_refer
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.constness import find_constness
from lanescope.reader.code.types.records import lay_out_record
from lanescope.reader.code.values import (
    PLACES,
    ArrayValue,
    BlurredPlace,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    PointedPlace,
    RecordType,
    ReferredPlace,
    ResolvedType,
    SplitPlace,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def declare(ev: Evaluator, declaration: tree.Declaration, scope: NameScope) -> None:
    """Run the declaration of a variable, a reference or an anonymous union."""
    if _is_defined(declaration):
        ev.define(declaration, scope)
        return
    body = declaration.type.body if declaration.type else None
    if not declaration.name:
        _declare_anonymous(ev, declaration, body, scope)
        return
    if isinstance(body, tree.StructDefinition) and body.name:
        ev.define(body, scope)
    if declaration.lasting and _declare_static_variable(ev, declaration, scope):
        return
    kind = ev.resolve_type(declaration.type, scope) if declaration.type else None
    if kind is not None and kind.record is None and may_refer(kind):
        forget_initializer(ev, declaration, scope)
    if kind is not None and kind.reference and declaration.value is not None:
        _declare_reference(ev, declaration, kind, scope)
    else:
        _declare_variable(ev, declaration, kind, scope)


def _is_defined(declaration: tree.Declaration) -> bool:
    """Return whether a declaration is a variable template, its specialization, or an out-of-class static member."""
    return bool(declaration.templates or declaration.owner) or declaration.specialized is not None


def _declare_anonymous(
    ev: Evaluator, declaration: tree.Declaration, body: tree.Statement | None, scope: NameScope
) -> None:
    """Declare the members of an anonymous union as variables; any other declaration without a name declares nothing."""
    if not isinstance(body, tree.StructDefinition):
        return
    instance = ev.make_instance(lay_out_record(ev, RecordType("", body, scope)), declaration.name)
    for name in (*instance.members, *(instance.record.fields or {})):
        scope.names[name] = ev.find_member(instance, name, declaration.span)


def _declare_variable(
    ev: Evaluator, declaration: tree.Declaration, kind: ResolvedType | None, scope: NameScope
) -> None:
    """Declare a variable with its initial value. kind: its declared type."""
    value = _make_initial_value(ev, declaration, kind, scope)
    if kind is not None and kind.dims:
        kind, value = _complete_array(ev, declaration, kind, value)
    value = _convert_initial_value(ev, declaration, kind, value, scope)
    const = declaration.const and not (kind is not None and kind.pointers)
    cell_kind = None if _is_auto(declaration) else kind
    cell = Cell(ev.copy_assigned(value), cell_kind, declaration.name, declaration.span, len(ev.frames), const)
    if isinstance(cell.value, ArrayValue) and not cell.value.name:
        cell.value.name = declaration.name
    scope.names[declaration.name] = cell
    if not ev.python:
        _end_with_block(cell, scope)
    if declaration.value is not None or declaration.arguments is not None:
        ev.note_variable(cell, declaration.span)
    if kind is not None and not ev.python and _is_foreign_template(kind):
        ev.note_library_objects((kind,), scope)


def _convert_initial_value(
    ev: Evaluator, declaration: tree.Declaration, kind: ResolvedType | None, value: Any, scope: NameScope
) -> Any:
    """Convert an initial value to the declared type; copy it if it is a named object."""
    if (
        isinstance(value, ObjectValue)
        and not ev.python
        and declaration.value is not None
        and is_named_object(declaration.value)
        and (kind is None or _is_auto(declaration) or kind.record is not None)
        and not converts_to(value, kind)
    ):
        moved = ev.make_copy_argument(declaration.value, scope, value)
        value = ev.copy_construct(ev.slice_to_base(value, kind), moved)
    if kind is not None and not _is_auto(declaration):
        return ev.convert_to_kind(value, kind, declaration.span, declaration.name)
    if isinstance(value, ArrayValue) and value.typed is None and not ev.python and _is_decaying(declaration):
        return ev.decay_array(value)  # auto p = array
    return value


def _is_auto(declaration: tree.Declaration) -> bool:
    """Return whether a variable takes the type of its initializer."""
    return declaration.type is None or declaration.type.name == "auto"


def _is_foreign_template(kind: ResolvedType) -> bool:
    """Return whether a type is an instance of a template that the text does not define."""
    return kind.record is None and bool(kind.arguments) and not kind.pointers


def _make_initial_value(
    ev: Evaluator, declaration: tree.Declaration, kind: ResolvedType | None, scope: NameScope
) -> Any:
    """Make a variable's initial value: by `= value`, by `(arguments)`, unknown if external, or by default."""
    record = kind.record if kind is not None and not kind.pointers and not kind.dims else None
    if record is not None and takes_variable(record) and isinstance(declaration.value, tree.Name | tree.Member):
        argument = ev.evaluate_argument(declaration.value, scope)
        if not isinstance(argument.value, ObjectValue | ObjectPart):
            return ev.construct_object(ev.make_instance(record, declaration.name), [argument])
    if declaration.value is not None:
        return ev.evaluate_initializer(
            declaration.value, None if _is_auto(declaration) else kind, scope, declaration.name
        )
    if declaration.arguments is not None:
        return _construct_declared(ev, declaration, kind, scope)
    if declaration.external:
        return ev.make_symbolic_value(kind, declaration.name)
    return ev.make_default(kind, declaration.name)


def _complete_array(
    ev: Evaluator, declaration: tree.Declaration, kind: ResolvedType, value: Any
) -> tuple[ResolvedType, Any]:
    """Return (type, value) of an array: the characters of a string literal, and the number of items for []."""
    unsized = not kind.dims[0].known and declaration.type and declaration.type.dims[:1] == (None,)
    if isinstance(value, str):
        value = make_text_array(value, kind, declaration.name)
    if unsized:
        count = (
            SymbolicInt(len(value.cells), ULONG)
            if isinstance(value, ArrayValue)
            else make_free(f"length of {declaration.name}", ULONG, 16)
        )
        kind = replace(kind, dims=(count, *kind.dims[1:]))
    return kind, value


def _end_with_block(cell: Cell, scope: NameScope) -> None:
    """Register a variable for destruction at the end of its block, if it has a destructor."""
    if _is_destroyed(cell.value):
        scope.names["(destroyed)"] = (*scope.names.get("(destroyed)", ()), cell)


def _is_destroyed(value: Any) -> bool:
    """Return whether a value has a destructor to run."""
    if isinstance(value, ArrayValue):
        return bool(value.cells) and _is_destroyed(value.cells[0].value)
    if not isinstance(value, ObjectValue):
        return False
    return value.record.ends


def _is_decaying(declaration: tree.Declaration) -> bool:
    """Return whether an array initializer decays to a pointer: it is not a braced list."""
    return declaration.type is not None and not isinstance(declaration.value, tree.ItemList)


def _construct_declared(
    ev: Evaluator, declaration: tree.Declaration, kind: ResolvedType | None, scope: NameScope
) -> Any:
    """Construct the initial value of `type name(arguments)`."""
    assert declaration.arguments is not None
    call = tree.Call(tree.OpaqueExpression(""), declaration.arguments, span=declaration.span)
    arguments = (
        [ev.evaluate_expression(a, scope) for a in declaration.arguments]
        if ev.python
        else ev.evaluate_typed_arguments(call, scope)
    )
    if kind is not None and kind.record is not None and not kind.pointers and not ev.python:
        instance = ev.make_instance(kind.record, declaration.name)
        return ev.construct_object(instance, arguments)
    return ev.construct_value(kind, [getattr(a, "value", a) for a in arguments], declaration)


def _declare_static_variable(ev: Evaluator, declaration: tree.Declaration, scope: NameScope) -> bool:
    """Declare a static variable of a function, initialized in an earlier call.

    Return False for a constant or at namespace scope: it is declared like any other variable.
    """
    scope.consts.add(f"static {declaration.name}")
    if declaration.const or ev.python or scope.owner == "namespace":
        return False
    frame = ev.frames[-1]
    key = (id(declaration), frame.instance)
    cell = ev.static_variables.get(key)
    if cell is None:
        declare(ev, replace(declaration, lasting=False), scope)
        variable = scope.names.get(declaration.name)
        scope.names["(destroyed)"] = tuple(c for c in scope.names.get("(destroyed)", ()) if c is not variable)
        if isinstance(variable, Cell):
            ev.static_variables[key] = variable
            variable.outlive_block()
            entered = len(ev.frames) > 1 and ev.frames[1].entry
            if (frame.template or entered) and ev.is_changed_before_entry(declaration):
                ev.give_earlier_value(variable)
        return True
    scope.names[declaration.name] = cell
    return True


# references ------------------------------------------------------------------------------------------------------


def _declare_reference(ev: Evaluator, declaration: tree.Declaration, kind: ResolvedType, scope: NameScope) -> None:
    """Declare a reference to a place, or to a temporary whose life it extends."""
    assert declaration.value is not None
    place = _find_referred_place(ev, declaration.value, scope)
    if isinstance(place, PLACES):
        value = ev.load_place(place, declaration.value)
        bound = _find_bound_place(ev, declaration, kind, place, value)
        if bound is not None:
            scope.names[declaration.name] = bound
            _mark_const(ev, declaration, kind, scope)
            return
        place = value
    elif isinstance(declaration.value, tree.ItemList):
        place = ev.evaluate_initializer(declaration.value, replace(kind, reference=""), scope, declaration.name)
    if isinstance(place, OpaqueValue) and isinstance(declaration.value, tree.Call) and not kind.const:
        argument = _find_possible_places(ev, declaration.value, place, scope)
        if argument is not None:
            scope.names[declaration.name] = BlurredPlace(argument)
            return
    _bind_temporary(ev, declaration, kind, place, scope)


def _find_referred_place(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Find the place of a reference's initializer; temporaries may live as long as the reference."""
    first = len(ev.temporaries)
    place = ev.find_place(expression, scope) if not isinstance(expression, tree.ItemList) else None
    for value, _ in ev.temporaries[first:] if isinstance(place, PLACES) else ():
        if not value.stored and ev.pending_objects is not None:
            value.stored = True
            ev.pending_objects.append(value)
    return place.place if isinstance(place, ReferredPlace) else place


def _find_bound_place(ev: Evaluator, declaration: tree.Declaration, kind: ResolvedType, place: Any, value: Any) -> Any:
    """Return the place that a reference is bound to, given its initializer's; None if it is a converted value."""
    name = declaration.name
    if isinstance(value, ObjectValue):
        if converts_to(value, kind):
            return find_converted_place(ev, value, kind, declaration.span)
        if kind.record is not None and value.record is not kind.record:
            return Cell(ev.upcast_object(value, kind.record), kind, name, declaration.span)
    if isinstance(place, PointedPlace) and isinstance(value, OpaqueValue) and value.kind is not None:
        return Cell(OpaqueValue(name, value.kind), None, name, declaration.span)
    declared_type = ev.find_declared_type(place, value)
    if declared_type is None or kind.name == "auto" or binds_without_conversion(declared_type, kind):
        return place
    if isinstance(value, ObjectValue) and kind.reference == "&" and not kind.const:  # its conversion refers to it
        ev.forget_place(place)
        return Cell(OpaqueValue(ev.make_fresh_name(name)), None, name, declaration.span)
    return None


def _mark_const(ev: Evaluator, declaration: tree.Declaration, kind: ResolvedType, scope: NameScope) -> None:
    """Record whether a reference is to const: as declared, or for auto, as its initializer is."""
    assert declaration.value is not None
    if kind.const and not kind.pointers:
        scope.consts.add(declaration.name)
    elif kind.name == "auto":
        const = find_constness(ev, declaration.value, scope)
        if const is not False:
            scope.consts.add(declaration.name if const else f"?{declaration.name}")


def _find_possible_places(ev: Evaluator, call: tree.Call, opaque: OpaqueValue, scope: NameScope) -> Any:
    """Return the places of a call's arguments, any of which its result may refer to; None if there are none."""
    place: Any = opaque
    places = [ev.find_place(a, scope) for a in call.arguments if isinstance(a, tree.Name | tree.Member)]
    for candidate in (candidate for candidate in places if isinstance(candidate, PLACES)):
        place = SplitPlace("?", candidate, place) if isinstance(place, PLACES) else candidate
    return place if isinstance(place, PLACES) else None


def _bind_temporary(
    ev: Evaluator, declaration: tree.Declaration, kind: ResolvedType, value: Any, scope: NameScope
) -> None:
    """Bind a reference to a temporary, and extend its life."""
    record = kind.record
    other = value if isinstance(value, ObjectValue) and value.record is not record else None
    if other is not None and record is not None and other.record.is_derived_from(record):  # seen as its base
        scope.names[declaration.name] = Cell(ev.upcast_object(other, record), kind, declaration.name, declaration.span)
        hidden = Cell(ev.copy_assigned(other), None, declaration.name, declaration.span)
        scope.names["(destroyed)"] = (*scope.names.get("(destroyed)", ()), hidden)
        return
    converted = (
        ev.convert_to_kind(value, replace(kind, reference=""), declaration.span, declaration.name)
        if kind.name != "auto"
        else value
    )
    cell = Cell(ev.copy_assigned(converted), None, declaration.name, declaration.span, len(ev.frames), kind.const)
    scope.names[declaration.name] = cell
    _end_with_block(cell, scope)


# structured bindings ---------------------------------------------------------------------------------------------


def unpack(ev: Evaluator, node: tree.UnpackDeclaration, scope: NameScope) -> None:
    """Run `auto [a, b] = value`, `auto& [a, b] = value` and Python's `a, b = value`."""
    if node.reference and not ev.python:
        _refer_to_parts(ev, node, scope)
        return
    value = ev.copy_assigned(ev.evaluate_expression(node.value, scope))
    for index, name in enumerate(node.names):
        item = ev.get_item(value, index, node.span)
        if ev.python:
            assign_name(ev, name, item, scope, node.span)
        else:
            cell = scope.names[name] = Cell(item, None, name, node.span, len(ev.frames))
            scope.consts.add(f"?{name}")
            ev.note_variable(cell, node.span)


def _refer_to_parts(ev: Evaluator, node: tree.UnpackDeclaration, scope: NameScope) -> None:
    """Bind each name to the place of its part."""
    value = ev.find_place(node.value, scope)
    value = value.place if isinstance(value, ReferredPlace) else value
    inner = ev.load_place(value, node.value) if isinstance(value, PLACES) else value
    scope.consts |= {f"?{name}" for name in node.names}
    for n, name in enumerate(node.names):
        item = get_item_place(ev, inner, n)
        scope.names[name] = item if isinstance(item, PLACES) else Cell(ev.get_item(inner, n, node.span))


def get_item_place(ev: Evaluator, value: Any, at: int) -> Any:
    """Return the place of an item of an array, a tuple or a struct; None if it has no such item."""
    if isinstance(value, ArrayValue) and at < len(value.cells):
        return value.cells[at]
    if isinstance(value, ObjectValue) and not value.record.bases:
        names = list(value.record.members)
        return ev.find_member(value, names[at], (0, 0)) if at < len(names) else None
    return None


def assign_name(ev: Evaluator, name: str, value: Any, scope: NameScope, span: tuple[int, int]) -> None:
    """Assign a Python variable; create it if it does not exist."""
    if not name or name == "_":
        return
    cell = scope.names.get(name)
    if isinstance(cell, Cell):
        ev.write_cell(cell, value)
    else:
        cell = scope.names[name] = Cell(value, None, name, span, len(ev.frames))
    ev.note_variable(cell, span)


def make_place_argument(ev: Evaluator, value: ObjectValue) -> CallArgument:
    """Make an lvalue argument of an object."""
    kind = ev.get_value_type(value)
    return CallArgument(value, kind, True, False, where=Cell(value, kind))
