"""Declarations and calls of device code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from lanescope.cxx.source_text import read_statement_head, strip_comments
from lanescope.reader.code import tree
from lanescope.reader.threads import library, objects
from lanescope.reader.threads.cute import calls as cute_calls
from lanescope.reader.threads.cute.calls import NOT_HERE as NOT_CUTE
from lanescope.reader.threads.cute.cute_types import is_cute_value, names_cute
from lanescope.reader.threads.names import bind_templates, find_type, resolve_path
from lanescope.reader.threads.numbers import LONG, ThreadNumber, make_number
from lanescope.reader.threads.order_events import follow_call
from lanescope.reader.threads.overload_choice import choose_overload
from lanescope.reader.threads.places import find_place
from lanescope.reader.threads.program import FunctionSet, Scope, StructSet
from lanescope.reader.threads.storage import DataBytes, LocalMemory, Pointer
from lanescope.reader.threads.types import VOID, SizedType, find_builtin, make_pointer_type
from lanescope.reader.threads.values import cast_value, convert_value, load_place, store_place

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MOST_DEEP = 24


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A lambda and its enclosing scope."""

    function: tree.Function
    scope: Scope


# declarations ---------------------------------------------------------------------------------------------------------


def define_local(run: KernelRunner, statement: Any, scope: Scope) -> None:
    """Define an alias, a struct or a function of a body."""
    if isinstance(statement, tree.StructDefinition):
        scope.names[statement.name] = StructSet(statement.name, (statement,))
    elif isinstance(statement, tree.Alias):
        scope.names[statement.name] = run.evaluate_template(statement.type, scope) if statement.type else None


def declare_variable(run: KernelRunner, declaration: tree.Declaration, scope: Scope) -> None:
    """Make a variable: shared memory, an array, a reference or a value."""
    type_ = declaration.type
    kind = find_type(run, type_, scope)
    head = _read_line_head(run.text, declaration.span[0])
    if "__shared__" in head:
        scope.names[declaration.name] = _allocate_shared(run, declaration, kind, head)
        return
    if type_ is not None and type_.reference:
        scope.names[declaration.name] = _find_referenced(run, declaration.value, scope)
        return
    value = _evaluate_initial(run, declaration, scope)
    if value is None and kind is None and type_ is not None:
        value = _evaluate_declared(run, type_, scope)
    if type_ is not None and type_.name == "auto" and declaration.value is None and declaration.arguments is None:
        kind = make_pointer_type(VOID, ())  # T (*p)[n], which is given a value later
    if kind is None or kind.name == "auto":
        scope.names[declaration.name] = hold_value(value, (declaration.value, scope))
    else:
        _allocate_local(run, declaration, kind, value, scope)


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
    memory = LocalMemory(initializer=(initial, scope))
    listed = not kind.pointer or (declaration.type is not None and declaration.type.dims)  # not T (*)[n] of an alias
    dims, item_type = (kind.dims, replace(kind, dims=())) if listed else ((), kind)
    place = Pointer("local", memory, make_number(0, LONG), item_type, dims)
    scope.names[declaration.name] = place
    if item_type.scope is not None and not dims:
        constructed = construct_object(run, place, declaration, scope)
        objects.note_object(run, place, scope, constructed)
        if constructed:
            return
    if dims and isinstance(initial, tree.ItemList):
        fill_list(run, place, initial, scope)
    elif (initial is not None or declaration.arguments is not None) and not dims:
        mask = run.mask
        run.mask = run.everyone  # a new variable: what other threads would hold is not looked at
        store_place(run, place, value, declaration.span)
        run.mask = mask


def construct_object(run: KernelRunner, place: Pointer, declaration: tree.Declaration, scope: Scope) -> bool:
    """Construct an object by its constructor or from its members' items; return whether that was possible."""
    arguments = _list_constructor_arguments(run, place.type.name, declaration, scope)
    functions = place.type.scope.names.get(place.type.name)
    if arguments is None and declaration.value is None and isinstance(functions, FunctionSet):
        arguments = ()
    if arguments is None:
        return False
    chosen = choose_overload(run, functions, arguments, scope) if isinstance(functions, FunctionSet) else None
    home = _make_member_scope(place)
    if chosen is not None and len(run.frames) < MOST_DEEP:
        call = tree.Call(tree.Name(((place.type.name, None),)), tuple(arguments), span=declaration.span)
        _run_constructor(run, chosen, call, scope, home)
        return True
    if isinstance(functions, FunctionSet) or len(arguments) > len(place.type.members):
        return False
    for member, expression in zip(place.type.members, arguments, strict=False):
        target = home.names[member.name]
        if isinstance(expression, tree.ItemList) and member.dims:
            fill_list(run, target, expression, scope)
        elif not member.dims:
            store_place(run, target, run.evaluate(expression, scope), declaration.span)
    return True


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


def _run_constructor(run: KernelRunner, constructor: tree.Function, call: tree.Call, scope: Scope, home: Scope) -> None:
    """Initialize the members of an object by its constructor's list, then run its body. home: the members' places."""
    inner = Scope(home)
    _bind_parameters(run, constructor, call, scope, inner)
    for name, arguments in constructor.starts:
        member = home.names.get(name)
        if isinstance(member, Pointer) and not member.dims and len(arguments) == 1:
            store_place(run, member, run.evaluate(arguments[0], inner), call.span)
    run.run_function(constructor.body, inner, call.span)


def _make_member_scope(base: Pointer) -> Scope:
    """Return the scope of an object's functions, with its members as places of the object."""
    home = Scope(base.type.scope)
    for member in base.type.members:
        home.names[member.name] = base.find_part(member.offset, member.type, member.dims)
    return home


def fill_list(run: KernelRunner, place: Pointer, initial: tree.ItemList, scope: Scope) -> None:
    """Write the items of a braced list into an array of one dimension."""
    dims = place.dims[1:]
    step = place.type.size * prod(dims)
    for n, (_, expression) in enumerate(initial.items):
        at = place.find_part(n * step, place.type, dims)
        if isinstance(expression, tree.ItemList) and dims:
            fill_list(run, at, expression, scope)
        elif not dims:
            store_place(run, at, run.evaluate(expression, scope), expression.span)


def hold_value(value: Any, arguments: Any = None) -> Any:
    """Return a place that holds a value, typed by the value; numbers too, since they may be written."""
    if isinstance(value, Pointer | ThreadNumber | DataBytes):
        memory = LocalMemory(initializer=arguments)
        if isinstance(value, Pointer) and value.type.scope is not None and not value.dims and value.space == "local":
            return value
        if isinstance(value, Pointer):
            kind = make_pointer_type(value.type, value.dims)
        elif isinstance(value, ThreadNumber):
            kind = _make_auto_type(*value.kind)
        else:
            kind = SizedType("auto", value.size, vector=4 if value.size > 4 else 2 if value.size == 4 else 0)
        memory.write_value(0, kind.size, value, None)
        return Pointer("local", memory, make_number(0, LONG), kind)
    return value


@cache
def _make_auto_type(bits: int, signed: bool) -> SizedType:
    """Return the type of a variable that holds an integer."""
    return SizedType("auto", bits // 8, True, signed)


@lru_cache(maxsize=4096)
def _read_line_head(text: str, at: int) -> str:
    return strip_comments(read_statement_head(text, at))


def _allocate_shared(run: KernelRunner, declaration: tree.Declaration, kind: SizedType | None, head: str) -> Any:
    """Return the place of an array in shared memory; all names of dynamic shared memory share one address."""
    if kind is None:
        run.shared.broken = "shared memory of a type that is not known"
        return None
    dims, item_type = kind.dims, replace(kind, dims=())
    if "extern" in head or declaration.external:
        known = run.dynamic.get("")
        address = known.offset if known is not None else make_number(128 * 1024, LONG)
        result = Pointer("shared", None, address, item_type, (0, *dims[1:]))
        run.dynamic.setdefault("", result)
        return result
    key = f"{declaration.span}"
    if key in run.dynamic:
        return run.dynamic[key]
    size = item_type.size * prod(dims)
    if not size or size > 100 * 1024:
        run.shared.broken = "shared memory of a size that is not known"
        return None
    run.dynamic[key] = Pointer("shared", None, make_number(run.shared.allocate_array(size), LONG), item_type, dims)
    return run.dynamic[key]


# calls ----------------------------------------------------------------------------------------------------------------


def _find_called(run: KernelRunner, function: tree.Expression, scope: Scope) -> Any:
    """Return the functions, the lambda, the type or the value of CuTe that a call names."""
    if isinstance(function, tree.Type):
        return run.evaluate_template(function, scope)
    if isinstance(function, tree.Call):
        return run.evaluate(function, scope)
    if isinstance(function, tree.Name) and function.path[0][0] == "cute":
        return None  # not what the text calls alike
    found = resolve_path(run, function.path, scope) if isinstance(function, tree.Name) else None
    return run.evaluate(function, scope) if isinstance(found, Pointer) else found


def _call_overload(run: KernelRunner, name: tree.Name, found: FunctionSet, node: tree.Call, scope: Scope) -> Any:
    """Call the overload with these arguments; one without a body may write its arguments."""
    templates = name.path[-1][1] or ()
    at = node.span[0] if len(name.path) == 1 else -1
    chosen = _choose_function(run, found, node, scope, len(templates), at)
    if chosen is not None:
        return call_function(run, chosen, node, templates, scope, _find_home(run, name.path, found, scope))
    result = cute_calls.call_function(run, name.last, node, templates, scope) if names_cute(run.text) else NOT_CUTE
    if result is not NOT_CUTE:
        return result
    follow_call(run, name.last, node, scope)
    return library.forget_arguments(run, node, scope)


def evaluate_call(run: KernelRunner, node: tree.Call, scope: Scope) -> Any:
    """Call a function, a lambda, a constructor of a known type, or a function of CUDA."""
    function = node.function
    name = function.last if isinstance(function, tree.Name) else ""
    if isinstance(function, tree.Member):
        return _call_member(run, node, function, scope)
    called = objects.call_operator(run, "()", (function, *node.arguments), node, scope)
    if called is not objects.NOT_HERE:
        return called
    found = _find_called(run, function, scope)
    if is_cute_value(found):
        value = cute_calls.index_value(run, found, node, scope)
        return load_place(run, value, node.span) if isinstance(value, Pointer) else value
    if isinstance(found, Closure):
        return call_function(run, found.function, node, (), scope, found.scope)
    if isinstance(found, FunctionSet) and isinstance(function, tree.Name):
        return _call_overload(run, function, found, node, scope)
    if found is None and isinstance(function, tree.Name) and names_cute(run.text):
        result = cute_calls.call_function(run, name, node, function.path[-1][1] or (), scope)
        if result is not NOT_CUTE:
            return result
    if found is None and name and not isinstance(function, tree.Type):
        result = library.call_library(run, name, node, scope)
        if result is not library.NOT_HERE:
            return result
        found = find_builtin(name)
    if isinstance(found, SizedType) and found.scope is None:
        values = [run.evaluate(argument, scope) for argument in node.arguments]
        return cast_value(run, values[0], found) if len(values) == 1 else None
    return library.forget_arguments(run, node, scope)


def _find_home(run: KernelRunner, path: tree.Path, found: FunctionSet, scope: Scope) -> Scope:
    """Return the scope that a function runs in; a member called by another member shares its object."""
    name, owner = path[-1][0], resolve_path(run, path[:-1], scope)
    if isinstance(owner, SizedType) and owner.scope is not None and owner.scope.names.get(name) is found:
        return owner.scope  # type: ignore[no-any-return]
    inner: Scope = scope
    enclosing = scope.parent
    while enclosing is not None:
        if enclosing.names.get(name) is found and enclosing is not run.globals:
            return inner
        inner, enclosing = enclosing, enclosing.parent
    return run.globals


def _call_member(run: KernelRunner, node: tree.Call, function: tree.Member, scope: Scope) -> Any:
    base = run.evaluate(function.value, scope) if function.arrow else find_place(run, function.value, scope)
    owner = run.evaluate(function.value, scope) if base is None and names_cute(run.text) else base
    if is_cute_value(owner):
        return cute_calls.call_member(run, owner, function.name, node, scope)
    if isinstance(base, Pointer) and base.dims and function.name in ("begin", "data"):  # of an ArrayEngine
        return replace(base, dims=base.dims[1:])
    chosen = _choose_function(run, objects.find_method(base, function.name), node, scope)
    if chosen is not None:
        return call_function(run, chosen, node, (), scope, _make_member_scope(base))
    follow_call(run, function.name, node, scope)
    return library.forget_arguments(run, node, scope)


def call_method(run: KernelRunner, place: Pointer, name: str, node: tree.Call, scope: Scope) -> Any:
    """Call a function of an object's class; if which one is not certain, its effect on the order is unknown."""
    chosen = _choose_function(run, objects.find_method(place, name), node, scope)
    if chosen is not None:
        return call_function(run, chosen, node, (), scope, _make_member_scope(place))
    run.forget_order()
    return library.forget_arguments(run, node, scope)


def _choose_function(
    run: KernelRunner, found: FunctionSet | None, node: tree.Call, scope: Scope, templates: int = 0, at: int = -1
) -> tree.Function | None:
    """Return the function that a call runs; None if that is not certain, or it has no body, or calls nest too deep."""
    chosen = choose_overload(run, found, node.arguments, scope, templates, at) if found is not None else None
    return chosen if chosen is not None and chosen.body is not None and len(run.frames) < MOST_DEEP else None


def call_function(
    run: KernelRunner,
    function: tree.Function,
    node: tree.Call,
    templates: Sequence[tree.Expression],
    scope: Scope,
    home: Scope,
) -> Any:
    """Run a function for the threads that call it."""
    inner = Scope(home)
    bind_templates(run, function.templates, templates, scope, inner)
    _bind_parameters(run, function, node, scope, inner)
    result = run.run_function(function.body, inner, node.span)
    kind = find_type(run, function.returns, inner) if isinstance(result, ThreadNumber) else None
    if kind is not None and kind.integer:
        return convert_value(run, result, kind)
    return result


def _bind_parameters(run: KernelRunner, function: tree.Function, node: tree.Call, scope: Scope, inner: Scope) -> None:
    for n, parameter in enumerate(function.parameters):
        expression = node.arguments[n] if n < len(node.arguments) else parameter.default
        enclosing = scope if n < len(node.arguments) else inner
        type_ = parameter.type
        if type_ is not None and type_.reference and expression is not None:
            place = find_place(run, expression, enclosing)
            if isinstance(place, Pointer):
                _deduce_template_arguments(inner, type_, SizedType("", 0) if place.dims else place.type)
                inner.names[parameter.name] = place
                continue
        value = run.evaluate(expression, enclosing)
        if is_cute_value(value) and type_ is not None:
            _bind_cute_type(inner, type_, value)
        if isinstance(value, Pointer) and type_ is not None:
            _deduce_template_arguments(inner, type_, value.type)
        kind = find_type(run, type_, inner) if type_ is not None and type_.name != "auto" else None
        converted = value if kind is None else _convert_argument(run, value, kind)
        inner.names[parameter.name] = hold_value(converted, (expression, enclosing))


def _convert_argument(run: KernelRunner, value: Any, kind: SizedType) -> Any:
    """Convert a value to a parameter's type: an array decays to a pointer to its first item."""
    if kind.dims and not kind.pointer:
        kind = make_pointer_type(replace(kind, dims=()), kind.dims[1:])
    if not kind.pointer or kind.target is None or not isinstance(value, Pointer):
        return convert_value(run, value, kind)
    known = kind.target.name != "void" and kind.target.size
    return replace(value, type=kind.target, dims=kind.dims) if known else value


def _deduce_template_arguments(inner: Scope, type_: tree.Type, kind: SizedType) -> None:
    """Bind a type parameter to the type of its argument."""
    name = type_.name
    if name in inner.names and inner.names[name] is None and len(type_.path) == 1 and kind.size:
        inner.names[name] = kind


def _bind_cute_type(inner: Scope, type_: tree.Type, value: Any) -> None:
    """Bind a type parameter to a value of CuTe, and those of Tensor<Engine, Layout> to the tensor."""
    names = [type_.name, *(getattr(n, "name", getattr(n, "last", "")) for n in type_.path[-1][1] or ())]
    for name in names:
        if name in inner.names and inner.names[name] is None:
            inner.names[name] = value
