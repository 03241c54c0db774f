"""Declarations of device code: variables, arrays, shared memory, objects and their constructors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.cute.cute_types import is_cute_value
from lanescope.reader.threads.instructions.special_registers import SPECIAL, SPECIAL_TYPE
from lanescope.reader.threads.language import objects
from lanescope.reader.threads.language.arguments import bind_parameters, hold_value, is_object, is_plain
from lanescope.reader.threads.language.names import find_type
from lanescope.reader.threads.language.numbers import LONG, make_uniform
from lanescope.reader.threads.language.overload_choice import choose_overload
from lanescope.reader.threads.language.places import evaluate_operand, find_member_place, find_place
from lanescope.reader.threads.language.program import DEFAULTS, FunctionSet, Scope, StructSet, list_enumeration
from lanescope.reader.threads.language.shared_arrays import allocate_shared, is_shared
from lanescope.reader.threads.language.types import VOID, SizedType, StructMember, make_pointer_type
from lanescope.reader.threads.language.values import fill_zeros, split_vector, store_place
from lanescope.reader.threads.memory.storage import LocalMemory, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MOST_DEEP = 24


def define_local(run: KernelRunner, statement: Any, scope: Scope) -> None:
    """Define an alias, a struct, an enumeration or a function of a body."""
    if isinstance(statement, tree.StructDefinition):
        scope.names[statement.name] = StructSet(statement.name, (statement,), scope)
    elif isinstance(statement, tree.Enum):
        scope.names.update(list_enumeration(statement, scope))
    elif isinstance(statement, tree.Alias):
        scope.names[statement.name] = run.evaluate_template(statement.type, scope) if statement.type else None


def declare_variable(run: KernelRunner, declaration: tree.Declaration, scope: Scope) -> None:
    """Make a variable: shared memory, an array, a reference or a value."""
    type_ = declaration.type
    kind = find_type(run, type_, scope)
    if is_shared(run, declaration):
        scope.names[declaration.name] = allocate_shared(run, declaration, kind)
        return
    if type_ is not None and type_.reference:
        scope.names[declaration.name] = _find_referenced(run, declaration.value, scope)
        return
    value = _evaluate_initial(run, declaration, scope)
    if value is None and kind is None and type_ is not None:
        value = _evaluate_declared(run, type_, scope)
        if value is None and type_.path[0][0] == "cutlass" and "Convert" in type_.path[-1][0]:
            scope.names[f"{declaration.name}()"] = True
    kind = _find_other_type(run, declaration, kind, scope)
    if kind is None or kind.name == "auto":
        scope.names[declaration.name] = hold_value(value, (declaration.value, scope), run.mask)
    else:
        _allocate_local(run, declaration, kind, value, scope)


def _find_other_type(
    run: KernelRunner, declaration: tree.Declaration, kind: SizedType | None, scope: Scope
) -> SizedType | None:
    """Return the type of a variable: for auto that of a named object, or of T (*p)[n], which is given a value later."""
    type_, initial = declaration.type, declaration.value
    is_auto = type_ is not None and type_.name == "auto"
    if is_auto and initial is None and declaration.arguments is None:
        return make_pointer_type(VOID, ())
    if isinstance(initial, tree.Name) and initial.last in SPECIAL:
        return SPECIAL_TYPE
    place = find_place(run, initial, scope) if is_auto and isinstance(initial, tree.Name | tree.Member) else None
    return place.type if is_object(place) else kind


def _evaluate_declared(run: KernelRunner, type_: tree.Type, scope: Scope) -> Any:
    """Return the value of a variable without initializer whose type is CuTe's."""
    value = run.evaluate_template(type_, scope) if names_cute(run.text) else None
    return value if is_cute_value(value) else None


def _find_referenced(run: KernelRunner, initial: tree.Expression | None, scope: Scope) -> Any:
    """Return the place that a reference is bound to, else the value."""
    if initial is None:
        return None
    place = find_place(run, initial, scope)
    if isinstance(place, Pointer):
        return place
    value = run.evaluate(initial, scope)
    return hold_value(value) if isinstance(value, Pointer) else value


def _evaluate_initial(run: KernelRunner, declaration: tree.Declaration, scope: Scope) -> Any:
    """Return the initial value of a declaration, given by = or by one argument."""
    if declaration.value is not None and declaration.type is not None and is_plain(declaration.type):
        return evaluate_operand(run, declaration.value, scope)
    value = run.evaluate(declaration.value, scope) if declaration.value is not None else None
    if declaration.arguments is None:
        return value
    arguments = [run.evaluate(argument, scope) for argument in declaration.arguments]
    return arguments[0] if len(arguments) == 1 else None


def _allocate_local(
    run: KernelRunner, declaration: tree.Declaration, kind: SizedType, value: Any, scope: Scope
) -> None:
    """Make a variable of a known type with its value, items or constructor."""
    initial = declaration.value
    valued = initial is not None or declaration.arguments is not None
    memory = LocalMemory(initializer=(initial, scope), owners=run.mask, valued=valued)
    listed = not kind.pointer or (declaration.type is not None and declaration.type.dims)  # not T (*)[n] of an alias
    dims, item_type = (kind.dims, replace(kind, dims=())) if listed and kind.dims else ((), kind)
    place = Pointer("local", memory, make_uniform(0, LONG), item_type, dims)
    scope.names[declaration.name] = place
    if item_type.scope is not None and _start_object(run, place, declaration, value, scope):
        return
    if isinstance(initial, tree.ItemList) and (dims or (value is None and item_type.scope is None)):
        fill_list(run, place, initial, scope)
    elif valued and not dims:
        mask = run.mask
        run.mask = run.everyone  # a new variable: what other threads would hold is not looked at
        store_place(run, place, value, declaration.span)
        run.mask = mask


def _start_object(run: KernelRunner, place: Pointer, declaration: tree.Declaration, value: Any, scope: Scope) -> bool:
    """Construct the object of a declaration, unless it is a copy of one, or those of an array without a list; return
    whether that was possible.
    """
    if place.dims:
        plain = declaration.value is None and declaration.arguments is None
        return plain and _start_items(run, place, declaration, scope)
    copied = is_object(value) and value.type.name == place.type.name
    constructed = not copied and construct_object(run, place, declaration, scope)
    objects.note_object(run, place, scope, copied or constructed)
    return constructed


def _start_items(run: KernelRunner, array: Pointer, declaration: tree.Declaration, scope: Scope) -> bool:
    """Construct the objects of an array by their default constructor and the initializers of their members; return
    whether their class has any.
    """
    names = array.type.scope.names
    count = prod(array.dims) if DEFAULTS in names or array.type.name in names else 0
    for n in range(count):
        item = replace(array, offset=make_uniform(n * array.type.size, LONG), dims=())
        objects.note_object(run, item, scope, construct_object(run, item, declaration, scope))
    return count > 0


def make_object(run: KernelRunner, kind: SizedType, node: tree.Call, scope: Scope) -> Pointer | None:
    """Return a new object that a call of its class constructs; None if that is not followed."""
    place = Pointer("local", LocalMemory(), make_uniform(0, LONG), kind)
    declaration = tree.Declaration(name="", type=None, arguments=node.arguments, span=node.span)
    constructed = construct_object(run, place, declaration, scope)
    objects.note_object(run, place, scope, constructed)
    return place if constructed else None


def construct_object(run: KernelRunner, place: Pointer, declaration: tree.Declaration, scope: Scope) -> bool:
    """Construct an object by its constructor or from its members' items; return whether that was possible."""
    _set_defaults(run, place)
    arguments = _list_constructor_arguments(run, place.type.name, declaration, scope)
    functions = place.type.scope.names.get(place.type.name)
    if arguments is None and declaration.value is None and isinstance(functions, FunctionSet):
        arguments = ()
    if arguments is None:
        return False
    chosen = choose_overload(run, functions, arguments, scope) if isinstance(functions, FunctionSet) else None
    home = make_member_scope(run, place)
    if chosen is not None and len(run.frames) < MOST_DEEP:
        call = tree.Call(tree.Name(((place.type.name, None),)), tuple(arguments), span=declaration.span)
        _run_constructor(run, place, chosen, call, scope, home)
        return True
    if isinstance(functions, FunctionSet) or len(arguments) > len(place.type.members):
        return False
    _clear_members(run, place, len(arguments), declaration.span)
    for member, expression in zip(place.type.members, arguments, strict=False):
        target = home.names[member.name]
        if member.type.reference:
            _bind_reference(run, place, member, expression, scope)
        elif isinstance(expression, tree.ItemList) and member.dims:
            fill_list(run, target, expression, scope)
        elif not member.dims:
            store_place(run, target, run.evaluate(expression, scope), declaration.span)
    return True


def _clear_members(run: KernelRunner, place: Pointer, given: int, site: tuple[int, int]) -> None:
    """Set the members of a new object to 0 that neither a list nor an initializer gives a value. given: the length of
    the list (ISO C++20: [dcl.init.aggr]).
    """
    home = make_member_scope(run, place)
    defaults = {declaration.name for declaration in place.type.scope.names.get(DEFAULTS, ())}
    for member in place.type.members[given:]:
        if member.name not in defaults and not member.type.reference:
            fill_zeros(run, home.names[member.name], site)


def _set_defaults(run: KernelRunner, place: Pointer) -> None:
    """Give the members of a new object their initializers."""
    home = make_member_scope(run, place)
    for declaration in place.type.scope.names.get(DEFAULTS, ()):
        member = home.names.get(declaration.name)
        if not isinstance(member, Pointer) or declaration.static:
            continue
        if member.dims and isinstance(declaration.value, tree.ItemList):
            fill_list(run, member, declaration.value, home)
        elif not member.dims:
            store_place(run, member, run.evaluate(declaration.value, home), declaration.span)


def _list_constructor_arguments(
    run: KernelRunner, name: str, declaration: tree.Declaration, scope: Scope
) -> Sequence[tree.Expression] | None:
    """Return the constructor arguments of a declaration; None for another kind of initializer."""
    initial = declaration.value
    if declaration.arguments is not None:
        return declaration.arguments
    if isinstance(initial, tree.ItemList):
        return tuple(value for _, value in initial.items)
    if isinstance(initial, tree.Call) and find_type(run, declaration.type, scope) is not None:
        called = initial.function
        return initial.arguments if getattr(called, "last", getattr(called, "name", "")) == name else None
    return None


def _run_constructor(
    run: KernelRunner, place: Pointer, constructor: tree.Function, call: tree.Call, scope: Scope, home: Scope
) -> None:
    """Initialize the members of an object by its constructor's list, then run its body. home: the members' places."""
    inner = Scope(home)
    bind_parameters(run, constructor, call, scope, inner)
    members = {member.name: member for member in place.type.members}
    for name, arguments in constructor.starts:
        member = home.names.get(name)
        if name in members and members[name].type.reference and len(arguments) == 1:
            home.names[name] = _bind_reference(run, place, members[name], arguments[0], inner)
        elif isinstance(member, Pointer) and not arguments:
            fill_zeros(run, member, call.span)
        elif isinstance(member, Pointer) and member.dims:
            fill_list(run, member, tree.ItemList(tuple(("", one) for one in arguments), span=call.span), inner)
        elif isinstance(member, Pointer) and member.type.is_object:
            _start_member(run, member, arguments, call, inner)
        elif isinstance(member, Pointer) and len(arguments) == 1:
            store_place(run, member, run.evaluate(arguments[0], inner), call.span)
    run.run_function(constructor.body, inner, call.span)


def _start_member(
    run: KernelRunner, member: Pointer, arguments: Sequence[tree.Expression], call: tree.Call, scope: Scope
) -> None:
    """Initialize a member that is an object itself: as a copy of one, or by its constructor."""
    copied = len(arguments) == 1 and isinstance(arguments[0], tree.Name | tree.Member | tree.Call)
    value = run.evaluate(arguments[0], scope) if copied else None
    if is_object(value) and value.type.name == member.type.name:
        store_place(run, member, value, call.span)
    else:
        construct_object(run, member, tree.Declaration(None, "", arguments=tuple(arguments), span=call.span), scope)


def _bind_reference(
    run: KernelRunner, place: Pointer, member: StructMember, expression: tree.Expression, scope: Scope
) -> Pointer | None:
    """Bind a member of a new object that is a reference; return the place that it refers to, None if unknown."""
    found = find_place(run, expression, scope)
    target = found if isinstance(found, Pointer) else None
    store_place(run, place.find_part(member.offset, member.type), target, expression.span)
    return target


def make_member_scope(run: KernelRunner, base: Pointer) -> Scope:
    """Return the scope of an object's functions, with its members as places of the object."""
    home = Scope(base.type.scope)
    home.names["this"] = base
    for member in base.type.members:
        home.names[member.name] = find_member_place(run, base, member)
    return home


def fill_list(run: KernelRunner, place: Pointer, initial: tree.ItemList, scope: Scope) -> None:
    """Write the items of a braced list into an array or a vector, and 0 into the rest (ISO C++20: [dcl.init.aggr])."""
    fill_zeros(run, place, initial.span)
    place = split_vector(place)
    if not any(isinstance(item, tree.ItemList) for _, item in initial.items):  # inner braces may be left out
        place = replace(place, dims=(prod(place.dims),))
    dims = place.dims[1:]
    step = place.type.size * prod(dims)
    for n, (_, expression) in enumerate(initial.items):
        at = place.find_part(n * step, place.type, dims)
        if isinstance(expression, tree.ItemList) and dims:
            fill_list(run, at, expression, scope)
        elif not dims:
            store_place(run, at, run.evaluate(expression, scope), expression.span)


def assign_list(run: KernelRunner, node: tree.Assignment, place: Any, scope: Scope) -> bool:
    """Assign a braced list to a variable of a built-in type in a thread's own memory; return whether it is that."""
    local = isinstance(place, Pointer) and place.space == "local" and place.type.scope is None
    if not local or node.op or not isinstance(node.value, tree.ItemList):
        return False
    fill_list(run, place, node.value, scope)
    return True
