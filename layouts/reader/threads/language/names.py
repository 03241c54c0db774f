"""Resolve names of device code: values, types, and structs with their members."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.naming.header_names import LIMITS
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.cute import cute_types
from lanescope.reader.threads.instructions.fragment_types import list_arguments, make_library_type
from lanescope.reader.threads.language.character_arrays import find_string
from lanescope.reader.threads.language.enumerations import evaluate_enumeration
from lanescope.reader.threads.language.numbers import ThreadNumber, make_uniform
from lanescope.reader.threads.language.program import FunctionSet, LaterValue, Scope, StructSet, find_namespace
from lanescope.reader.threads.language.shared_arrays import allocate_shared, is_shared
from lanescope.reader.threads.language.structs import bind_templates, lay_out_struct, make_struct
from lanescope.reader.threads.language.types import SizedType, find_builtin, make_pointer_type
from lanescope.reader.threads.language.values import convert_value
from lanescope.reader.threads.memory.storage import LocalMemory, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_NAMESPACES = frozenset(("", "std", "cute", "cutlass", "cuda"))  # whose names are taken for those of the text


_KEYWORDS = frozenset(
    ("auto", "void", "bool", "char", "short", "int", "long", "float", "double", "unsigned", "unsigned int")
)
_CONSTANTS = re.compile(  # of math.h and CUDA
    r"(CUDART_ZERO\w*)|(INFINITY|HUGE_VALF?|CUDART_INF\w*)|(?:FLT|DBL)_MAX|CUDART_MAX_NORMAL\w*"
)


def find_constant(name: str) -> float | None:
    """Return the number that a macro of math.h or CUDA stands for; None if it is not one of them.

    >>> find_constant("CUDART_ZERO_FP16"), find_constant("INFINITY"), find_constant("N")
    (0.0, inf, None)
    """
    found = _CONSTANTS.fullmatch(name)
    return None if found is None else 0.0 if found[1] else math.inf if found[2] else float(np.finfo(np.float32).max)


def resolve_path(run: KernelRunner, path: tree.Path, scope: Scope) -> Any:
    """Return the place, value, functions, struct or type of a name; None if nothing declares it."""
    plain = len(path) == 1 and path[0][0] not in _NAMESPACES
    found: Any = scope.find(path[0][0]) if plain else None
    if plain and path[0][1] and (own := scope.find_class(path[0][0])) is not None:
        return make_struct(run, own, path[0][1], scope)
    if found is not None and not isinstance(found, LaterValue | StructSet):
        return found
    parts = path if plain else tuple(part for part in path if part[0] not in _NAMESPACES)
    found = _resolve_parts(run, parts, scope)
    if found is None and (names_cute(run.text) or cute_types.names_trait(path)):
        return cute_types.evaluate_path(run, path, scope)
    return _find_limit(parts, scope) if found is None else found


def _resolve_parts(run: KernelRunner, parts: tree.Path, scope: Scope) -> Any:
    """Return what the text declares by a name, each part in what those before it mean; None if it declares nothing."""
    found: Any = None
    for n, (name, arguments) in enumerate(parts):
        found = _find_member(run, found, parts[n - 1][0], name, scope) if n else _find_name(run, name, scope)
        if isinstance(found, LaterValue):
            found = _evaluate_later(run, found, arguments, scope)
        if isinstance(found, StructSet):
            found = make_struct(run, found, arguments or (), scope)
    return found


def _find_name(run: KernelRunner, name: str, scope: Scope) -> Any:
    """Return the meaning of a name; in the type of an alias of this name, the one that the alias hides. Source: C++20,
    6.4.2.
    """
    found: Any = scope.find(name)
    while isinstance(found, LaterValue) and isinstance(found.statement, tree.Alias) and found in run.opening:
        outside = owner.parent if (owner := scope.find_owner(name)) is not None else None
        if outside is None:
            return None
        scope, found = outside, outside.find(name)
    return found


def _find_limit(path: tree.Path, scope: Scope) -> ThreadNumber | None:
    """Return the value of a name of <climits> or of warpSize, unless the text declares it."""
    name = path[0][0] if len(path) == 1 else ""
    if name not in LIMITS or scope.find_owner(name) is not None:
        return None
    value, kind = LIMITS[name]
    return make_uniform(value, (kind.bits, kind.signed))


def _find_member(run: KernelRunner, owner: Any, qualifier: str, name: str, scope: Scope) -> Any:
    """Return the meaning of a name after ::. owner: what its qualifier means, None for a namespace."""
    if isinstance(owner, SizedType) and owner.scope is not None:
        return owner.scope.names.get(name)
    if isinstance(owner, SizedType) and owner.enumeration is not None:
        return evaluate_enumeration(run, owner.enumeration[0], name, owner.enumeration[1])
    if cute_types.is_cute_value(owner):
        return cute_types.find_member_type(run, owner, name)
    if scope.find_owner(qualifier) is not None:  # a type that is not known
        return None
    namespace = find_namespace(run.text, run.globals.namespaces, qualifier)
    return (run.globals.find_home(namespace) if namespace >= 0 else _leave_function(run, scope)).find(name)


def _leave_function(run: KernelRunner, scope: Scope) -> Scope:
    """Return the scope of the namespace or the text around a function, where qualified names are looked up."""
    outside = (run.globals, *run.globals.namespaces.values())
    while scope.parent is not None and not any(scope is home for home in outside):
        scope = scope.parent
    return scope


def _evaluate_later(run: KernelRunner, later: LaterValue, arguments: Any, scope: Scope) -> Any:
    """Return the value of a constant, a member of an enumeration, or an alias."""
    if later in run.values and not arguments:
        return run.values[later]
    if later in run.opening:
        return None
    run.opening.add(later)
    try:
        value = _evaluate_statement(run, later, arguments, scope)
    finally:
        run.opening.discard(later)
    run.values[later] = value
    return value


def _evaluate_statement(run: KernelRunner, later: LaterValue, arguments: Any, scope: Scope) -> Any:
    """Return the type of an alias, the value of an enumerator or of a constant."""
    statement = later.statement
    home = later.home or run.globals.find_home(statement.span[0])
    if isinstance(statement, tree.Enum):
        return evaluate_enumeration(run, statement, later.member, home)
    if isinstance(statement, tree.Alias):
        return _evaluate_alias(run, statement, arguments, scope, Scope(home))
    kind = find_type(run, statement.type, home) if statement.type is not None else None
    if not statement.const and statement.value is None:
        return allocate_shared(run, statement, kind) if is_shared(run, statement) else None
    value = run.evaluate(statement.value, home)
    if isinstance(value, ThreadNumber) and kind is not None and kind.integer:
        return convert_value(run, value, kind)
    if statement.value is None and kind is not None and kind.scope is not None:  # an object, for its constants
        return Pointer("local", LocalMemory(), make_uniform(0), kind)
    return value


def _evaluate_alias(run: KernelRunner, alias: tree.Alias, arguments: Any, scope: Scope, inner: Scope) -> Any:
    bind_templates(run, alias.templates, arguments or (), scope, inner)
    kind = find_type(run, alias.type, inner)
    return evaluate_template(run, alias.type, inner) if kind is None and alias.type is not None else kind


def evaluate_template(run: KernelRunner, argument: tree.Expression, scope: Scope) -> Any:
    """Return a template argument: a type, a number, or the text of a constant array of characters."""
    found = _evaluate_template(run, argument, scope)
    return find_string(run.text, argument) if found is None else found


def _evaluate_template(run: KernelRunner, argument: tree.Expression, scope: Scope) -> Any:
    if isinstance(argument, tree.Type):
        found = find_type(run, argument, scope)
        if found is None and not argument.pointers and not argument.dims:
            found = resolve_path(run, argument.path, scope)
        if isinstance(found, Pointer):  # a variable: what is in <> is parsed as a type
            return run.evaluate(tree.Name(argument.path, span=argument.span), scope)
        return cute_types.evaluate_type(run, argument, scope) if found is None else found
    if isinstance(argument, tree.Name):
        found = resolve_path(run, argument.path, scope)
        if found is None:
            found = find_builtin(argument.last)
        if found is None and argument.last in ("true", "false"):
            return make_uniform(int(argument.last == "true"))
        return found if not isinstance(found, Pointer) else run.evaluate(argument, scope)
    return run.evaluate(argument, scope)


def find_type(run: KernelRunner, type_: tree.Type | None, scope: Scope) -> SizedType | None:
    """Return a type with its size, None if unknown."""
    if type_ is None or not type_.path:
        return None
    kind = _find_unqualified_type(run, type_, scope)
    if kind is None and not type_.pointers:
        return None
    kind = kind or SizedType(type_.name, 1)
    dims = (*find_dims(run, type_.dims, scope), *kind.dims)
    if not type_.pointers:
        return replace(kind, dims=dims) if dims else kind
    for level in range(type_.pointers):
        kind = make_pointer_type(kind, dims if level == 0 else ())
    return kind


def _find_unqualified_type(run: KernelRunner, type_: tree.Type, scope: Scope) -> SizedType | None:
    """Return a type without its pointers and dimensions: of the text, built in, or of a library; None if unknown."""
    found: Any = None if _is_builtin(run, type_, scope) else resolve_path(run, type_.path, scope)
    found = _find_declared_type(run, type_, scope) if found is None and type_.name == "decltype" else found
    found = find_own_class(found, type_.name, scope) or found
    if isinstance(type_.body, tree.StructDefinition) and not isinstance(found, SizedType):
        found = lay_out_struct(run, StructSet(type_.body.name, (type_.body,)), type_.body, (), scope)
    kind = (
        found if isinstance(found, SizedType) else None if cute_types.is_cute_value(found) else find_builtin(type_.name)
    )
    kind = kind or _find_library_type(type_)
    return kind or make_library_type(type_, [evaluate_template(run, n, scope) for n in list_arguments(type_)])


def find_own_class(found: Any, name: str, scope: Scope) -> SizedType | None:
    """Return the class that the name of its constructors means in its members; None for another name.

    Source: ISO C++20, [class.pre], the injected-class-name.
    """
    own = scope.find("this") if isinstance(found, FunctionSet) else None
    kind = own.type if isinstance(own, Pointer) else None
    same = kind is not None and kind.name == name and kind.scope is not None and kind.scope.names.get(name) is found
    return kind if same else None


def _find_declared_type(run: KernelRunner, type_: tree.Type, scope: Scope) -> SizedType | None:
    """Return the type that decltype gives of a variable or a member; None for another expression."""
    node = (type_.path[0][1] or (None,))[0]
    place = run.find_place(node, scope) if isinstance(node, tree.Name | tree.Member) else None
    if not isinstance(place, Pointer) or not isinstance(place.type, SizedType):
        return None
    return replace(place.type, dims=place.dims) if place.dims else place.type


def _is_builtin(run: KernelRunner, type_: tree.Type, scope: Scope) -> bool:
    """Return whether a type is a keyword, or the name of a built-in type that nothing else declares."""
    name = type_.name
    if name in _KEYWORDS:
        return True
    plain = len(type_.path) == 1 and find_builtin(name) is not None and not names_cute(run.text)
    return plain and scope.find_owner(name) is None


def _find_library_type(type_: tree.Type) -> SizedType | None:
    """Return a type of cuda::barrier."""
    names = [name for name, _ in type_.path]
    if names[-2:] == ["cuda", "barrier"]:
        return SizedType("cuda::barrier", 8)
    return SizedType("arrival_token", 8, True, False) if names[-1] == "arrival_token" else None


def find_dims(run: KernelRunner, dims: Sequence[tree.Expression | None], scope: Scope) -> tuple[int, ...]:
    """Return the sizes of an array; 0 for an unknown one."""
    result = []
    for dim in dims:
        value = run.evaluate(dim, scope) if dim is not None else None
        result.append((value.known or 0) if isinstance(value, ThreadNumber) else 0)
    return tuple(result)
