"""Structs of threads' code: where their members lie, and what is static in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.threads.calling import evaluate_template, find_type, resolve_path
from lanescope.reader.threads.numbers import ThreadNumber
from lanescope.reader.threads.program import FunctionSet, LaterValue, Scope, StructSet
from lanescope.reader.threads.types import SizedType, StructMember

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_ALIGN = re.compile(r"(?:alignas|__align__|aligned)\s*\(\s*\(?\s*(\w+)")


def make_struct(run: KernelRunner, found: StructSet, arguments: Sequence[tree.Expression], scope: Scope) -> Any:
    """Return a struct as a type: its members and static names under its template arguments."""
    definition = next((d for d in found.definitions if d.specialized is None), None)
    if definition is None or (len(found.definitions) > 1 and arguments):
        return None
    inner = Scope(run.globals)
    for n, parameter in enumerate(definition.templates):
        if n < len(arguments):
            inner.names[parameter.name] = evaluate_template(run, arguments[n], scope)
        elif parameter.default is not None:
            inner.names[parameter.name] = evaluate_template(run, parameter.default, inner)
    members: list[StructMember] = []
    offset, most, last = 0, 1, definition.span[0]
    for member in definition.members:
        if isinstance(member, tree.Function):
            known = inner.names.get(member.name)
            before = known.functions if isinstance(known, FunctionSet) else ()
            inner.names[member.name] = FunctionSet(member.name, (*before, member))
        elif isinstance(member, tree.Alias) or (isinstance(member, tree.Declaration) and member.static):
            inner.names[member.name] = LaterValue(member, home=inner)
        elif isinstance(member, tree.Declaration):
            kind = find_type(run, member.type, inner)
            if kind is None:
                return SizedType(found.name, 0, scope=inner)
            told = _ALIGN.findall(run.text[last : member.span[0]])
            asked = _read_align(run, told[-1], inner) if told else 1
            align = max(kind.alignment, asked)
            own_dims = kind.dims
            offset = -(-offset // align) * align if not definition.union else 0
            members.append(StructMember(member.name, offset, replace(kind, dims=()) if own_dims else kind, own_dims))
            size = kind.size * prod(own_dims)
            offset = offset + size if not definition.union else max(offset, size)
            most = max(most, align)
        last = member.span[1]
    size = max((m.offset + m.type.size * prod(m.dims) for m in members), default=1)
    size = -(-size // most) * most
    return SizedType(found.name, size, members=tuple(members), scope=inner, align=most)


def _read_align(run: KernelRunner, word: str, scope: Scope) -> int:
    if word.isdigit():
        return int(word)
    found = resolve_path(run, ((word, None),), scope)
    return (found.known or 1) if isinstance(found, ThreadNumber) else 1
