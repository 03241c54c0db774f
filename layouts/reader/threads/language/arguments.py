"""Arguments of calls and of kernels in device code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeGuard

from lanescope.cxx.source_text import blank_comments
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.cute.cute_types import is_cute_value, make_cute_argument
from lanescope.reader.threads.language.names import find_type
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_name, make_number, make_uniform
from lanescope.reader.threads.language.places import evaluate_operand, find_place, hold_pointer
from lanescope.reader.threads.language.program import LaterValue, Scope
from lanescope.reader.threads.language.types import (
    SizedType,
    StructMember,
    find_builtin,
    find_component,
    make_pointer_type,
)
from lanescope.reader.threads.language.values import convert_value, store_place
from lanescope.reader.threads.memory.storage import CONSTANT, DataBytes, LocalMemory, Mask, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

GIVEN_REAL = 0.375  # of every floating-point parameter of a run that computes
OPEN_MEMBER = SizedType("open member", 1 << 16)  # a member of an unknown type
_SIZE = re.compile(r"[mnkMNK]|rows|columns|cols|height|width|depth|batch(?:_count)?|size")
_VECTORS = ("device_vector", "universal_vector")  # of Thrust, whose elements are in global memory


def hold_value(value: Any, arguments: Any = None, owners: Mask | None = None) -> Any:
    """Return a place that holds a value, typed by the value; numbers too, since they may be written.

    owners: the threads that declare it, None for all.
    """
    if isinstance(value, Pointer | ThreadNumber | DataBytes):
        memory = LocalMemory(initializer=arguments, owners=owners)
        if is_object(value):
            return value
        if isinstance(value, Pointer):
            kind = make_pointer_type(value.type, value.dims)
        elif isinstance(value, ThreadNumber):
            kind = _make_auto_type(*value.kind)
        else:
            kind = SizedType("auto", value.size, vector=4 if value.size > 4 else 2 if value.size == 4 else 0)
        memory.write_value(0, kind.size, value, None)
        return Pointer("local", memory, make_uniform(0, LONG), kind)
    return value


def is_object(value: Any) -> TypeGuard[Pointer]:
    """Return whether a value is an object of a class in a thread's own memory."""
    return isinstance(value, Pointer) and value.type.scope is not None and not value.dims and value.space == "local"


def is_plain(type_: tree.Type) -> bool:
    """Return whether a type is a pointer or built in, to which an object is converted."""
    return bool(type_.pointers) or find_builtin(type_.name) is not None


def _copy_object(run: KernelRunner, place: Pointer) -> Pointer:
    """Return a copy of an object."""
    copy = Pointer("local", LocalMemory(), make_uniform(0, LONG), place.type)
    store_place(run, copy, place, (0, 0))
    return copy


@cache
def _make_auto_type(bits: int, signed: bool) -> SizedType:
    """Return the type of a variable that holds an integer."""
    return SizedType("auto", bits // 8, True, signed)


def bind_parameters(run: KernelRunner, function: tree.Function, node: tree.Call, scope: Scope, inner: Scope) -> None:
    """Bind the parameters of a function in `inner` to the arguments of a call, or to their defaults."""
    for n, parameter in enumerate(function.parameters):
        given = n < len(node.arguments)
        expression, enclosing = (node.arguments[n], scope) if given else (parameter.default, inner)
        place = _find_referenced(run, parameter.type, expression, enclosing)
        if place is not None:
            _deduce_array(inner, parameter.type, place)
            inner.names[parameter.name] = place
        else:
            plain = parameter.type is not None and expression is not None and is_plain(parameter.type)
            if isinstance(expression, tree.ItemList) and expression.type is None:
                expression = replace(expression, type=parameter.type)
            value = evaluate_operand(run, expression, enclosing) if plain else run.evaluate(expression, enclosing)
            converted = value if parameter.type is None else _pass_value(run, value, parameter.type, inner)
            if is_object(converted) and parameter.type is not None and not parameter.type.reference:
                is_pointer = parameter.type.pointers or parameter.type.dims
                inner.names[parameter.name] = hold_pointer(converted) if is_pointer else _copy_object(run, converted)
            else:
                inner.names[parameter.name] = hold_value(converted, (expression, enclosing), run.mask)
            inner.passed[parameter.name] = expression, enclosing


def _find_referenced(run: KernelRunner, type_: tree.Type | None, expression: Any, scope: Scope) -> Pointer | None:
    """Return the place that a reference parameter is bound to."""
    if type_ is None or not type_.reference or expression is None:
        return None
    place = find_place(run, expression, scope)
    return place if isinstance(place, Pointer) else None


def _pass_value(run: KernelRunner, value: Any, type_: tree.Type, inner: Scope) -> Any:
    """Convert an argument to the type of its parameter, and deduce template arguments from it."""
    if is_cute_value(value):
        _bind_cute_type(inner, type_, value)
    elif isinstance(value, Pointer):
        _deduce_template_arguments(inner, type_, value.type)
    kind = find_type(run, type_, inner) if type_.name != "auto" else None
    return value if kind is None else _convert_argument(run, value, kind)


def _convert_argument(run: KernelRunner, value: Any, kind: SizedType) -> Any:
    """Convert a value to a parameter's type: an array decays to a pointer to its first item."""
    if kind.dims and not kind.pointer:
        kind = make_pointer_type(replace(kind, dims=()), kind.dims[1:])
    if not kind.pointer or kind.target is None or not isinstance(value, Pointer):
        return convert_value(run, value, kind)
    known = kind.target.name != "void" and kind.target.size
    return Pointer(value.space, value.array, value.offset, kind.target, kind.dims) if known else value


def _deduce_array(inner: Scope, type_: tree.Type | None, place: Pointer) -> None:
    """Bind the template parameters in T (&x)[n], or in T& x, to the element type and the sizes of an argument."""
    sizes = type_.dims if type_ is not None else ()
    if len(sizes) == len(place.dims):
        _deduce_template_arguments(inner, type_, place.type)
    for size, count in zip(sizes, place.dims, strict=False):
        if isinstance(size, tree.Name) and size.last in inner.names and inner.names[size.last] is None:
            inner.names[size.last] = make_number(count)


def _deduce_template_arguments(inner: Scope, type_: tree.Type | None, kind: SizedType) -> None:
    """Bind a type parameter to the type of its argument."""
    if type_ is None:
        return
    name = type_.name
    if name in inner.names and inner.names[name] is None and len(type_.path) == 1 and kind.size:
        inner.names[name] = kind


def deduce_template_argument(
    host: KernelRunner, parameter: tree.Parameter, argument: tree.Expression, enclosing: Scope, inner: Scope
) -> None:
    """Bind the type parameter of a kernel that a launch gives only by the type of an argument."""
    type_ = parameter.type
    if type_ is None or len(type_.path) != 1 or inner.names.get(type_.name, type_) is not None:
        return
    value = host.evaluate(argument, enclosing)
    if value is None:
        value = _find_declared_value(host, argument, enclosing) or _find_declared_array(host, argument, enclosing)
    if is_cute_value(value):
        _bind_cute_type(inner, type_, value)
    elif isinstance(value, Pointer) and type_.pointers == 1:
        _deduce_template_arguments(inner, type_, value.type)


def deduce_called_template(
    host: KernelRunner,
    function: tree.Function,
    arguments: Sequence[tree.Expression],
    outer: tuple[tree.Function | None, Scope],
    inner: Scope,
) -> None:
    """Bind the type parameters of a function that its call gives by the types of the arguments. outer: the function
    around the call, and its scope.
    """
    caller, enclosing = outer
    given = {one.name: one.type for one in caller.parameters} if caller is not None else {}
    for parameter, argument in zip(function.parameters, arguments, strict=False):
        type_ = given.get(argument.last) if isinstance(argument, tree.Name) else None
        kind = find_type(host, type_, enclosing) if type_ is not None else None
        if kind is None:
            deduce_template_argument(host, parameter, argument, enclosing, inner)
        elif parameter.type is not None and parameter.type.pointers == kind.pointer:
            _deduce_template_arguments(inner, parameter.type, (kind.target or kind) if kind.pointer else kind)


def _find_declared_value(host: KernelRunner, node: tree.Expression, scope: Scope) -> Any:
    """Return the value of CuTe of a variable that is declared with its type alone."""
    found = scope.names.get(node.last) if isinstance(node, tree.Name) else None
    statement = found.statement if isinstance(found, LaterValue) else None
    type_ = statement.type if isinstance(statement, tree.Declaration) and statement.value is None else None
    value = host.evaluate_template(type_, scope) if type_ is not None and not type_.dims else None
    return value if is_cute_value(value) else None


def _find_declared_array(host: KernelRunner, node: tree.Expression, scope: Scope) -> Pointer | None:
    """Return the array of a pointer that is declared without a value, or of a vector: raw_pointer_cast(a.data())."""
    node = _strip_data_calls(node)
    found = scope.names.get(node.last) if isinstance(node, tree.Name) else None
    statement = found.statement if isinstance(found, LaterValue) else None
    type_ = statement.type if isinstance(statement, tree.Declaration) else None
    if type_ is None or type_.dims:
        return None
    name, templates = type_.path[-1]
    if name in _VECTORS and templates and isinstance(templates[0], tree.Type):
        return _make_array(name, find_type(host, templates[0], scope)) if not type_.pointers else None
    kind = find_type(host, type_, scope)
    return _make_array(name, kind.target if kind is not None and kind.pointer else None)


def _strip_data_calls(node: tree.Expression) -> tree.Expression:
    """Return the object of a.data(), of a.data().get() and of raw_pointer_cast(a.data())."""
    while isinstance(node, tree.Call):
        casts = isinstance(node.function, tree.Name) and node.function.last == "raw_pointer_cast" and node.arguments
        node = node.arguments[0] if casts else node.function
        node = node.value if isinstance(node, tree.Member) and node.name in ("data", "get") else node
    return node


def _make_array(name: str, element: SizedType | None) -> Pointer | None:
    return Pointer("global", name, make_number(0, LONG), element) if element is not None else None


def _bind_cute_type(inner: Scope, type_: tree.Type, value: Any) -> None:
    """Bind a type parameter to a value of CuTe, and those of Tensor<Engine, Layout> to the tensor."""
    names = [type_.name, *(getattr(n, "name", getattr(n, "last", "")) for n in type_.path[-1][1] or ())]
    for name in names:
        if name in inner.names and inner.names[name] is None:
            inner.names[name] = value


def make_argument(run: KernelRunner, parameter: tree.Parameter, scope: Scope) -> Any:
    """Return the value of a kernel's parameter: an array in global memory, an open number, or a struct of these."""
    kind = find_type(run, parameter.type, scope)
    if kind is None:
        return make_cute_argument(run, parameter.type, scope) if parameter.type is not None else None
    if kind.scope is not None and not kind.size and not kind.pointer:
        kind = _lay_out_apart(run, parameter.type, scope) or kind
    if _list_members(kind) and not kind.dims:
        memory = LocalMemory()
        members = tuple(_write_members(run, memory, parameter.name, kind, 0))
        return Pointer("local", memory, make_uniform(0, LONG), replace(kind, members=members))
    return hold_value(_make_plain_argument(run, parameter.name, kind))


def _lay_out_apart(run: KernelRunner, type_: tree.Type | None, scope: Scope) -> SizedType | None:
    """Return a struct with members of unknown types, each apart from the others."""
    before = run.structs, run.open_member
    run.structs, run.open_member = {}, OPEN_MEMBER
    kind = find_type(run, type_, scope)
    run.structs, run.open_member = before
    return kind


def find_size(run: KernelRunner, place: Any, function: str) -> ThreadNumber | None:
    """Return the size that a function of a kernel's argument of an unknown class returns, such as shape.m(); None for
    another function or object.
    """
    if not isinstance(place, Pointer) or place.type.name != OPEN_MEMBER.name or not isinstance(place.type.target, str):
        return None
    kind = SizedType("int", 4, True)
    return _make_plain_argument(run, f"{place.type.target}.{function}", kind) if _SIZE.fullmatch(function) else None


def _make_plain_argument(run: KernelRunner, name: str, kind: SizedType) -> Any:
    """Return an array in global memory, or a number that is open unless the run has known sizes."""
    if kind.pointer and kind.target is not None:
        if run.tape is not None:
            run.tape.note_array(name, kind.target)
        return Pointer("global", name, make_uniform(0, LONG), kind.target, kind.dims)
    if not kind.integer:
        known = kind.scope is None and not kind.pointer and not kind.vector and kind.size <= 8
        return run.make_real(CONSTANT, GIVEN_REAL) if known else None
    number_kind = (max(kind.size * 8, 32), kind.signed)
    if run.sizes is not None and name in run.sizes:
        return make_number(run.sizes[name], number_kind)
    if run.size and _may_be_size(run, name):
        if run.sizes is not None:
            run.unsized.add(name)
        return run.turn_counts.make_argument(name, 1 if kind.name == "bool" else run.size, number_kind)
    return make_name(name, number_kind)


def _may_be_size(run: KernelRunner, name: str) -> bool:
    """Return whether a parameter may be a size; with known sizes, strides of CuTe have those of their lines."""
    return _is_size(run.text, name) and not (run.sizes is not None and _is_only_stride(run.text, name))


@lru_cache(maxsize=1024)
def _is_only_stride(text: str, name: str) -> bool:
    """Return whether a parameter is a stride of CuTe's layouts, whose shapes tell what it is, and nothing is computed
    from it.
    """
    word, code = re.escape(name), blank_comments(text)
    computed = rf"[-+*/%<>]\s*{word}\b|\b{word}\s*[-+*/%<>]"
    return bool(re.search(rf"\bmake_stride\s*\([^()]*\b{word}\b", code)) and not re.search(computed, code)


@lru_cache(maxsize=1024)
def _is_size(text: str, name: str) -> bool:
    """Return whether a parameter may be a size: one that is only compared for equality is a mode or a count."""
    _, member, last = name.rpartition(".")
    for use in re.finditer(rf"(?<![\w{'' if member else '.>'}]){re.escape(last)}\b", text):
        before, after = text[: use.start()].rstrip()[-2:], text[use.end() :].lstrip()[:2]
        if not before[-1:].isidentifier() and not {"==", "!="} & {before, after}:  # not its declaration either
            return True
    return False


def _list_members(kind: SizedType) -> Sequence[StructMember]:
    """Return the members of a struct, or those of a vector of integers such as int3."""
    item = find_component(kind) if kind.vector else None
    if kind.pointer or item is None or not item.integer:
        return () if kind.pointer else kind.members
    return [StructMember(name, n * item.size, item) for n, name in enumerate("xyzw"[: kind.size // item.size])]


def _write_members(
    run: KernelRunner, memory: LocalMemory, name: str, kind: SizedType, at: int
) -> Iterator[StructMember]:
    """Write the members of a struct at an offset, arguments of their own; yield them."""
    for member in _list_members(kind):
        path, open_, type_ = f"{name}.{member.name}", member.type.name == OPEN_MEMBER.name, member.type
        if _list_members(type_) and not member.dims:
            type_ = replace(type_, members=tuple(_write_members(run, memory, path, type_, at + member.offset)))
        elif not member.dims and not open_:
            value = _make_plain_argument(run, path, type_)
            if value is not None:
                memory.write_value(at + member.offset, type_.size, value, None)
        yield replace(member, type=replace(type_, target=path) if open_ else type_)
