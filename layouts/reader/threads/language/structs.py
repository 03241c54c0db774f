"""Structs of device code: their definitions, the arguments of their templates, and the layout of their members."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, find_integer_type
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.specializations import choose_special
from lanescope.reader.code.values import OpaqueValue, ResolvedType
from lanescope.reader.threads.cute import cute_types
from lanescope.reader.threads.language.bit_fields import lay_out_bit_fields
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.program import BASES, DEFAULTS, LaterValue, Scope, StructSet, list_enumeration
from lanescope.reader.threads.language.types import SizedType, StructLayout, make_reference_type

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_ALIGN = re.compile(r"(?:alignas|__align__|aligned)\s*\(\s*\(?\s*(\w+)")


def bind_templates(
    run: KernelRunner,
    parameters: Sequence[tree.Parameter],
    arguments: Sequence[tree.Expression],
    scope: Scope,
    inner: Scope,
) -> None:
    """Bind template parameters in `inner` to arguments, which are evaluated in `scope`, or to their defaults."""
    for n, parameter in enumerate(parameters):
        value: Any = None
        if n < len(arguments):
            value = run.evaluate_template(arguments[n], scope)
        elif parameter.default is not None:
            value = run.evaluate_template(parameter.default, inner)
        inner.names[parameter.name] = value


def _enter_member(member: Any, inner: Scope) -> None:
    """Enter a function, an alias, a class or a static value of a struct into its scope."""
    if isinstance(member, tree.Function):
        inner.add_function(member)
    elif isinstance(member, tree.Alias | tree.Declaration):
        inner.names[member.name] = LaterValue(member, home=inner)
    elif isinstance(member, tree.StructDefinition):
        inner.names[member.name] = StructSet(member.name, (member,), inner)
    elif isinstance(member, tree.Enum):
        inner.names.update(list_enumeration(member, inner))


def make_struct(run: KernelRunner, found: StructSet, arguments: Sequence[tree.Expression], scope: Scope) -> Any:
    """Return a struct as a type: its members and static names under its template arguments."""
    if found in run.structs and not arguments:
        return run.structs[found]
    chosen = _choose_definition(run, found, arguments, scope)
    if chosen is None:
        return None
    result = lay_out_struct(run, found, *chosen, scope)
    if not arguments:
        run.structs[found] = result
    return result


def _choose_definition(
    run: KernelRunner, found: StructSet, arguments: Sequence[tree.Expression], scope: Scope
) -> tuple[Any, Sequence[tree.Expression]] | None:
    """Return the definition that some arguments choose, and the arguments of its parameters; None if not certain."""
    primary = next((d for d in found.definitions if d.specialized is None and d.complete), None)
    specials = [d for d in found.definitions if d.specialized is not None]
    chosen = _choose_special(run, found, specials, arguments, scope) if specials else (None, arguments)
    if chosen is None or (chosen[0] is None and primary is None):
        return None
    return chosen[0] or primary, chosen[1]


def _choose_special(
    run: KernelRunner,
    found: StructSet,
    specials: Sequence[tree.StructDefinition],
    arguments: Sequence[tree.Expression],
    scope: Scope,
) -> tuple[Any, Sequence[tree.Expression]] | None:
    """Return the specialization that some arguments choose, None for the template, and the arguments of its parameters;
    None if that is not certain.
    """
    arguments = _append_defaults(found, arguments)
    given = [_find_argument(run, argument, scope) for argument in arguments]
    home = found.home or run.globals.find_home(found.definitions[0].span[0])
    if any(len(special.specialized or ()) != len(given) for special in specials):
        return None  # a default that is not known, or a pack
    chosen = choose_special(specials, given, lambda pattern, _: _find_argument(run, pattern, home))
    if chosen is None or chosen[0] is None:
        return None if chosen is None else (None, arguments)
    special, bound = chosen
    own = [n for p in special.templates for n, value in enumerate(given) if bound.get(p.name) is value]
    return (special, [arguments[n] for n in own]) if len(own) == len(special.templates) else None


def _append_defaults(found: StructSet, arguments: Sequence[tree.Expression]) -> Sequence[tree.Expression]:
    """Append the default arguments of a template that are numbers."""
    for declared in found.definitions:
        defaults = [p.default for p in declared.templates[len(arguments) :] if declared.specialized is None]
        arguments = (*arguments, *(default for default in defaults if isinstance(default, tree.NumberLiteral)))
    return arguments


def _find_argument(run: KernelRunner, argument: tree.Expression, scope: Scope) -> Any:
    """Return a template argument as templates compare it, an opaque value if it is not known."""
    value = run.evaluate_template(argument, scope)
    if isinstance(value, ThreadNumber) and value.known is not None:
        return SymbolicInt(value.known, INT)
    qualified = isinstance(argument, tree.Type) and (argument.const or argument.reference)  # which types here drop
    plain = isinstance(value, SizedType) and value.scope is None and not (value.pointer or value.dims or qualified)
    return ResolvedType(value.name, find_integer_type(value.name)) if plain else OpaqueValue("")


def lay_out_struct(
    run: KernelRunner,
    found: StructSet,
    definition: tree.StructDefinition,
    arguments: Sequence[tree.Expression],
    scope: Scope,
) -> SizedType:
    """Lay out a struct; one without a name of its own is within `scope`."""
    home = found.home or (run.globals.find_home(definition.span[0]) if definition.name else scope)
    inner = Scope(home)
    bind_templates(run, definition.templates, arguments, scope, inner)
    if definition.bases:
        inner.names[BASES] = definition.bases
    inner.names[DEFAULTS] = tuple(
        member for member in definition.members if isinstance(member, tree.Declaration) and member.value is not None
    )
    word = lay_out_bit_fields(definition, lambda width: run.evaluate(width, inner))
    if word is not None:
        for function in definition.members:
            if not isinstance(function, tree.Declaration) or function.static:
                _enter_member(function, inner)
        return SizedType(found.name, word[1], members=word[0], scope=inner, align=word[2])
    layout = StructLayout(definition.union)
    last = definition.span[0]
    for member in definition.members:
        if not isinstance(member, tree.Declaration) or member.static:
            _enter_member(member, inner)
        elif not _append_member(run, layout, member, inner, run.text[last : member.span[0]]):
            return SizedType(found.name, 0, scope=inner)
        last = member.span[1]
    return SizedType(found.name, layout.size, members=tuple(layout.members), scope=inner, align=layout.align)


def _append_member(
    run: KernelRunner, layout: StructLayout, member: tree.Declaration, inner: Scope, before: str
) -> bool:
    """Append a member to the layout of a struct; return whether its type is known. before: the text before it."""
    kind = run.find_type(member.type, inner)
    value = _find_cute_member(run, member, inner) if kind is None else None
    if value is not None:
        inner.names[member.name], layout.sized = value, False
        return True
    kind = kind or run.open_member
    if kind is None:
        return False
    kind = make_reference_type(kind) if member.type is not None and member.type.reference else kind
    if not member.name:
        layout.append_members(kind)
        return True
    written = _ALIGN.findall(before)
    least = _read_align(run, written[-1], inner) if written else 1
    layout.append_member(member.name, kind, max(kind.alignment, least))
    return True


def _find_cute_member(run: KernelRunner, member: tree.Declaration, scope: Scope) -> Any:
    """Return the value of a member whose type is CuTe's, as its type determines it."""
    return cute_types.make_cute_argument(run, member.type, scope) if member.type is not None else None


def _read_align(run: KernelRunner, word: str, scope: Scope) -> int:
    if word.isdigit():
        return int(word)
    found = run.resolve(((word, None),), scope)
    return (found.known or 1) if isinstance(found, ThreadNumber) else 1
