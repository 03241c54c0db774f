"""The arguments of a kernel: arrays in global memory and numbers whose values are open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.threads.calling import hold_value
from lanescope.reader.threads.cute.cute_types import make_cute_argument
from lanescope.reader.threads.names import find_type
from lanescope.reader.threads.numbers import LONG, make_name, make_number
from lanescope.reader.threads.program import Scope
from lanescope.reader.threads.storage import LocalMemory, Pointer
from lanescope.reader.threads.types import SizedType

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


def make_argument(run: KernelRunner, parameter: tree.Parameter, scope: Scope) -> Any:
    """Return the value of a kernel's parameter: an array in global memory, or an open number."""
    kind = find_type(run, parameter.type, scope)
    if kind is None:
        return make_cute_argument(run, parameter.type, scope) if parameter.type is not None else None
    if kind.scope is None or kind.pointer:
        return hold_value(_make_open_value(run, parameter.name, kind))
    memory = LocalMemory()
    for member in kind.members:
        value = _make_open_value(run, f"{parameter.name}.{member.name}", member.type) if not member.dims else None
        memory.write_value(member.offset, member.type.size, value, None)
    return Pointer("local", memory, make_number(0, LONG), kind)


def _make_open_value(run: KernelRunner, name: str, kind: SizedType) -> Any:
    """Return what a parameter, or a member of one, is: an array in global memory, or an open number."""
    if kind.pointer and kind.target is not None:
        return Pointer("global", name, make_number(0, LONG), kind.target, kind.dims)
    size = (max(kind.size * 8, 32), kind.signed)
    if kind.integer and run.size:
        return make_number(1 if kind.name == "bool" else run.size, size)
    return make_name(name, size) if kind.integer else None
