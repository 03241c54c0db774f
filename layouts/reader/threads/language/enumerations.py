"""Enumerations of device code: their members, which are integers, and the type that a value is cast to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.numbers import add_numbers, make_uniform
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType, find_builtin

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


def evaluate_enumeration(run: KernelRunner, enum: tree.Enum, member: str, home: Scope) -> Any:
    """Return the value of a member, or the type if that is "". home: where the names in its values are looked up."""
    if not member:
        return _make_type(run, enum, home)
    value: Any = make_uniform(-1)
    inside = Scope(home)
    for name, expression, _ in enum.members:
        value = run.evaluate(expression, inside) if expression is not None else add_numbers(value, make_uniform(1))
        inside.names[name] = value
    return inside.names.get(member)


def _make_type(run: KernelRunner, enum: tree.Enum, home: Scope) -> SizedType | None:
    """Return the type of an enumeration, whose values are integers of its underlying type."""
    base = run.find_type(enum.base, home) if enum.base is not None else find_builtin("int")
    return replace(base, name=enum.name, enumeration=(enum, home)) if base is not None else None
