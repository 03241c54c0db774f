"""Evaluate calls of functions that the text does not define: known functions of the standard library, and others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, LONG, ULONG, find_common_type
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.calling.builtin_calls import MISSING, evaluate_known_function
from lanescope.reader.code.calling.byte_calls import copy_bytes, set_bytes
from lanescope.reader.code.calling.call_arguments import Invocation
from lanescope.reader.code.calling.call_frames import record_call
from lanescope.reader.code.calling.launches import launch_kernels, note_unread_call
from lanescope.reader.code.calling.library_types import construct_library_type, is_atom_call
from lanescope.reader.code.calling.overloads import CallArgument
from lanescope.reader.code.cute.cute_values import freeze_value, is_cute_call, is_size_call, measure_cute
from lanescope.reader.code.expression.integer_values import get_integer, move_pointer
from lanescope.reader.code.maps.map_objects import fill_map, is_allocated_map, is_map_type, make_allocated_map, move_map
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.side_effects import forget_escaped, forget_unknown, note_possible_throw
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types import traits
from lanescope.reader.code.values import (
    CALLED,
    PLACES,
    Address,
    ArrayValue,
    EnumerationType,
    ObjectPart,
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

_RANGES = frozenset("begin cbegin end cend data size empty".split())  # of std, of an array


Rule = Callable[["Evaluator", Invocation], Any]  # returns the value of a call, MISSING if it does not apply
_RULES: list[Rule] = []  # tried in order


def _register_rule(function: Rule) -> Rule:
    """Append a rule to the table."""
    _RULES.append(function)
    return function


def call_library(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate a call of a function that the text does not define."""
    call = replace(call, values=[ev.get_argument_value(a) for a in call.arguments])
    for argument, expression in zip(call.arguments, call.node.arguments, strict=False):
        plain = isinstance(expression, tree.Name) and not is_atom_call(call)
        if isinstance(argument.value, SymbolicInt | ObjectValue) and not plain:
            ev.note_value(argument.value, ev.format_expression(expression), expression.span)
    if not ev.python:
        launch_kernels(ev, call)
    for rule in _RULES:
        result = rule(ev, call)
        if result is not MISSING:
            return result
    return _call_unknown(ev, call)


def _call_unknown(ev: Evaluator, call: Invocation) -> OpaqueValue:
    """Return a term for an unknown call, and make unknown what it may write."""
    function, owner = call.node.function, call.owner
    note_unread_call(ev, call.name, call.arguments)
    recorded = len(ev.bodiless_calls)
    result = name_unknown_call(ev, call)
    if not isinstance(function, tree.Name | tree.Type | tree.Member):  # (object.*function)(…)
        ev.forget_names(ev.text[slice(*function.span)], call.scope)
        ev.forget_globals()
    forget_unknown(ev, call.name, call.arguments, call.node)
    fill_map(ev, result, len(ev.bodiless_calls) > recorded)
    if isinstance(owner, ObjectValue) and owner.record.opaque:
        ev.forget_place(Cell(owner.derived or owner))
    if call.templates and not ev.python:
        ev.note_library_objects(call.templates, call.scope)
    note_possible_throw(ev, call.name)
    return result


@_register_rule
def _slice_layout(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate layout(_, _, 0): a slice of a layout is treated as the layout."""
    target = call.target
    of_layout = isinstance(target, OpaqueValue) and target.head == "tile_to_shape" and bool(target.arguments)
    return target if of_layout or (isinstance(target, ArrayValue) and target.typed is not None) else MISSING


@_register_rule
def _call_owner_member(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate array.size() of std::array; an unknown member function may write the array."""
    if not isinstance(call.owner, ArrayValue) or call.owner.typed is None:
        return MISSING
    result = call_array_member(ev, call.owner, call.name, call.values)
    if result is not None:
        return result
    forget_escaped(ev, Cell(call.owner))
    return MISSING


@_register_rule
def _construct_type(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate T(a, b)."""
    kind = find_constructed_kind(ev, call)
    if kind is None:
        return MISSING
    of_record = kind.record is not None and not kind.pointers
    return ev.construct_value(kind, call.arguments if of_record else call.values, call.node)


@_register_rule
def _construct_library_type(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate T() of a library type."""
    result = construct_library_type(ev, call)
    return MISSING if result is None else result


@_register_rule
def _allocate_map(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate std::make_unique<CUtensorMap>() and the pointer's get()."""
    function = call.node.function
    if call.name == "get" and isinstance(function, tree.Member) and is_map_type(getattr(call.owner, "kind", None)):
        pointer = ev.evaluate_expression(function.value, call.scope)
        return pointer if is_allocated_map(pointer) else MISSING
    allocated = make_allocated_map(call.name, tuple(call.templates or ()), call.values)
    return MISSING if allocated is None else allocated


@_register_rule
def _move_map(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate cudaMalloc and cudaMemcpy of tensor maps."""
    return name_unknown_call(ev, call) if move_map(ev, call.name, call.values) else MISSING


@_register_rule
def _move_bytes(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate memcpy and memset."""
    move = {"memcpy": copy_bytes, "memset": set_bytes}.get(call.name)
    return move(ev, call.arguments, call.node) if move is not None and len(call.arguments) == 3 else MISSING


@_register_rule
def _call_range_access(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate std::begin, std::size and the like of an array."""
    if call.target is not None or len(call.values) != 1 or call.name not in _RANGES:
        return MISSING
    result = call_array_member(ev, call.values[0], call.name, []) if isinstance(call.values[0], ArrayValue) else None
    return result if result is not None else MISSING


@_register_rule
def _choose_extreme(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate std::min and std::max of two arguments."""
    if call.name not in ("min", "max") or len(call.arguments) != 2 or call.target is not None:
        return MISSING
    result = _find_extreme(call.name, call.arguments, call.templates)
    return result if result is not None else MISSING


@_register_rule
def _refer_to_argument(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate std::move(x) and std::as_const(x), which refer to x, and std::addressof(x)."""
    if call.target is not None or len(call.arguments) != 1:
        return MISSING
    argument = call.arguments[0]
    if not argument.place or not isinstance(argument.where, PLACES):
        return MISSING
    if call.name in ("move", "as_const", "forward"):
        return ReferredPlace(argument.where)
    if call.name == "addressof" and not isinstance(argument.value, Pointer | ArrayValue | OpaqueValue):
        return Address(argument.where)
    return MISSING


@_register_rule
def _exchange(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate std::exchange."""
    if call.name != "exchange" or len(call.arguments) != 2 or not isinstance(call.arguments[0].where, PLACES):
        return MISSING
    first, second = call.arguments
    old = ev.copy_assigned(first.value)
    if isinstance(old, ObjectValue) and (old.record.copies or old.record.assigns):
        ev.forget_place(first.where)
        ev.forget_globals()
        return ev.forget_members(old)
    ev.store_value(first.where, second.value, call.node.span)
    return old


@_register_rule
def _call_known(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate std::numeric_limits<T>::max(), and the functions of builtin_calls.py."""
    if call.target is not None and not isinstance(call.target, OpaqueValue):
        return MISSING
    limit = _evaluate_limit(ev, call.node.function, call.scope)
    return (
        limit
        if limit is not None
        else evaluate_known_function(ev, call.name, call.templates, call.values, call.node.span)
    )


@_register_rule
def _measure_cute(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate size<0>(shape), tile_size<1>(tiled_mma) and the like for known CuTe values."""
    if not is_size_call(ev, call.name) or len(call.values) != 1 or isinstance(call.node.function, tree.Member):
        return MISSING  # tensor.size(1) belongs to another library
    term = OpaqueValue(call.name, None, call.name, tuple(call.values), (("<>", call.templates),), call.node.span)
    size = measure_cute(ev, term)
    return MISSING if size is None else size


@_register_rule
def _cast_to_integer(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate uint64_t(value)."""
    function = call.node.function
    if call.target is not None or not isinstance(function, tree.Name) or len(call.values) != 1:
        return MISSING
    kind = ev.find_builtin_type(function.path, call.scope)
    if kind is None or kind.integer is None:
        return MISSING
    return ev.convert_to_kind(call.values[0], kind, call.node.span)


def call_array_member(ev: Evaluator, array: ArrayValue, name: str, arguments: list[Any]) -> Any:
    """Evaluate a member function of std::array, or std::begin and the like of an array; None for another."""
    if array.typed is not None and not (isinstance(array.typed, ResolvedType) and array.typed.name.endswith("array")):
        return None
    if name == "at" and arguments:
        return _find_item(array, get_integer(arguments[0]))
    access = _ARRAY_MEMBERS.get(name)
    return access(ev, array) if access is not None else None


def _find_item(array: ArrayValue, at: SymbolicInt | None) -> ReferredPlace | None:
    """Return item `at` of an array as a place; None if it does not exist or the index is unknown."""
    if at is None or at.known is None or not 0 <= at.known < len(array.cells):
        return None
    return ReferredPlace(array.cells[at.known])


def _make_begin(ev: Evaluator, array: ArrayValue) -> Any:
    """Return a pointer to an array's first item."""
    return ev.decay_array(array) if array.element is not None else None


def _make_end(ev: Evaluator, array: ArrayValue) -> Any:
    """Return a pointer past an array's last item."""
    return (
        move_pointer(ev.decay_array(array), SymbolicInt(len(array.cells), LONG)) if array.element is not None else None
    )


def _count_items(ev: Evaluator, array: ArrayValue) -> SymbolicInt:
    """Return the number of an array's items."""
    return SymbolicInt(len(array.cells), ULONG)


_ARRAY_MEMBERS: dict[str, Callable[[Evaluator, ArrayValue], Any]] = {
    "front": lambda ev, array: ReferredPlace(array.cells[0]) if array.cells else None,
    "back": lambda ev, array: ReferredPlace(array.cells[-1]) if array.cells else None,
    "empty": lambda ev, array: SymbolicInt(int(not array.cells), BOOL),
    **dict.fromkeys(("data", "begin", "cbegin"), _make_begin),
    **dict.fromkeys(("end", "cend"), _make_end),
    **dict.fromkeys(("size", "max_size", "ssize"), _count_items),
}


def _find_extreme(name: str, arguments: list[CallArgument], templates: tuple[Any, ...]) -> Any:
    """Return the smaller or larger of two numbers, as a place if both are variables of one type; None if unknown."""
    left, right = (get_integer(argument.value) for argument in arguments)
    stated_type = templates[0].integer if templates and isinstance(templates[0], ResolvedType) else None
    if left is None or right is None or (templates and stated_type is None):
        return None
    same = left.type == right.type and stated_type in (None, left.type)
    if not same:
        kind = stated_type or find_common_type(left.type, right.type)
        left, right = symbolic_integers.convert_int(left, kind), symbolic_integers.convert_int(right, kind)
    second = symbolic_integers.compare_ints("<" if name == "min" else ">", right, left)
    if second is None:
        return None
    chosen = arguments[int(second)].where if same else None
    return ReferredPlace(chosen) if isinstance(chosen, PLACES) else (left, right)[int(second)]


def _evaluate_limit(ev: Evaluator, function: tree.Expression, scope: NameScope) -> SymbolicInt | None:
    """Evaluate std::numeric_limits<T>::max() and the like; None for another function."""
    if not isinstance(function, tree.Name) or len(function.path) < 2:
        return None
    head, template_arguments = function.path[-2]
    if head != "numeric_limits" or not template_arguments:
        return None
    kind = ev.evaluate_template_argument(template_arguments[0], scope)
    return traits.get_numeric_limit(kind, function.path[-1][0]) if isinstance(kind, ResolvedType) else None


def get_tuple_item(ev: Evaluator, call: tree.Call, templates: tuple[Any, ...], scope: NameScope) -> Any:
    """Evaluate std::get<n>(tuple), as a place, and CuTe's get<n>(shape)."""
    place = ev.find_place(call.arguments[0], scope)
    value = ev.load_place(place, call.arguments[0]) if isinstance(place, PLACES) else place
    at = get_integer(templates[0]) if not isinstance(templates[0], ResolvedType) else None
    if item := _find_item(value, at) if isinstance(value, ArrayValue) else None:
        return item
    named = (("<>", templates),)
    term = OpaqueValue(ev.format_expression(call), head="get", arguments=(value,), named=named, span=call.span)
    return measure_cute(ev, term) or term


def swap_places(ev: Evaluator, arguments: list[CallArgument], node: tree.Call) -> None:
    """Evaluate std::swap."""
    left, right = (argument.where for argument in arguments)
    plain = not any(_has_own_copy(argument.value) for argument in arguments)
    if plain and isinstance(left, PLACES) and isinstance(right, PLACES):
        values = [argument.value for argument in arguments]
        first, second = (
            ev.copy_assigned(value, 1) if isinstance(value, ObjectValue | ObjectPart | ArrayValue) else value
            for value in values
        )
        ev.store_value(left, second, node.span)
        ev.store_value(right, first, node.span)
    else:
        ev.forget_place(left)
        ev.forget_place(right)
        ev.forget_globals()


def name_unknown_call(ev: Evaluator, call: Invocation) -> OpaqueValue:
    """Make and record a term for an unknown call with its values."""
    inner = ", ".join(shorten_name(value) for value in call.values)
    template_list = f"<{', '.join(map(shorten_name, call.templates))}>" if call.templates else ""
    function, target = call.node.function, call.target
    head = str(function) if isinstance(function, tree.Name) else ev.format_expression(function)
    named = [*call.named.items()]
    if call.templates:
        named.append(("<>", call.templates))
    if isinstance(target, OpaqueValue) and target.arguments and target.head == call.name:
        named.append(("self", call.owner))
    elif isinstance(target, OpaqueValue) and target.arguments and not ev.python:
        named.append((CALLED, target))
    if isinstance(target, OpaqueValue):
        named += [(name, kind) for name, kind in target.named if name == "::"]  # Type::function(…)
    values = map(freeze_value, call.values) if is_cute_call(call.name) and not ev.python else call.values
    term = OpaqueValue(
        f"{head}{template_list}({inner})"[:120], None, call.name, tuple(values), tuple(named), call.node.span
    )
    record_call(ev, term)
    return term


def find_constructed_kind(ev: Evaluator, call: Invocation) -> ResolvedType | None:
    """Return the type that a call constructs; None if it calls a function."""
    target, node = call.target, call.node
    if isinstance(target, TemplateEntity):
        path = node.function.path if isinstance(node.function, tree.Name | tree.Type) else ()
        resolved_type: ResolvedType | None = (
            ev.resolve_type(tree.Type(path, span=node.span), call.scope) if path else ev.apply_template(target, [])
        )
        return resolved_type
    if isinstance(target, EnumerationType):
        return target.kind if not ev.python else None
    return target if isinstance(target, ResolvedType) else None


def _has_own_copy(value: Any) -> bool:
    """Return whether copying a value runs functions of its class."""
    if isinstance(value, ArrayValue) and value.typed is None:
        return True  # its items are swapped, and pointers to them stay
    if not isinstance(value, ObjectValue):
        return isinstance(value, OpaqueValue)
    constructors = value.record.methods.get(value.record.name)
    one_each = constructors is not None and any(len(f.parameters) == 1 for f in constructors.functions)
    inner = any(_has_own_copy(cell.value) for cell in value.members.values() if not isinstance(cell.value, OpaqueValue))
    assigns = "operator=" in value.record.methods or value.record.assigns or value.record.copies
    return assigns or one_each or inner
