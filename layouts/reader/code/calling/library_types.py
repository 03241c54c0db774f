"""Construct library types that a text uses without their headers: CUDA's vectors, CUTLASS atoms, index sequences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.calling.call_arguments import Invocation
from lanescope.reader.code.naming.header_names import VECTOR_TYPES
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types import traits
from lanescope.reader.code.values import OpaqueValue, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_ATOM = re.compile(r"(?:SM\d{2,3}_|MMA_)(?:\w*_)?\d+x\d+(?:x\d+)?_")  # cute/arch: types of instructions


def construct_library_type(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate make_uint2(a, b), std::make_index_sequence<4>() and MMA_64x128x16_F32F16F16_SS<…>(); None for another
    call.
    """
    if call.target is not None:
        return None
    vector = call.name.removeprefix("make_")
    if vector != call.name and vector in VECTOR_TYPES:
        vector_type = ev.resolve_type(tree.Type(((vector, None),), span=call.node.span), call.scope)
        return ev.construct_value(vector_type, call.arguments, call.node)
    if call.arguments:
        return None
    kind = traits.make_sequence(call.name, list(call.templates))
    if kind is not None:
        return ev.construct_value(kind, [], call.node)
    if not _ATOM.match(call.name):
        return None
    return OpaqueValue(call.name, ResolvedType(call.name, arguments=call.templates), span=call.node.span)


def is_atom_call(call: Invocation) -> bool:
    """Return whether a call is fma of a CUTLASS atom, whose arguments are descriptors whatever their names."""
    owner = dict(call.target.named).get("::") if isinstance(call.target, OpaqueValue) else None
    return call.name == "fma" and isinstance(owner, ResolvedType) and _ATOM.match(owner.name) is not None
