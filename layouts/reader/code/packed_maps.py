"""Tensor maps that TileLang's packed function encodes: every number of the arrays is an argument of its own.

Source: TileLang, src/runtime/runtime.cc (TensorMapArgs): the strides begin with the innermost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.scopes import Cell
from lanescope.reader.code.values import ArrayValue, OpaqueValue

_NAME = re.compile(r"(?:__)?tvm_tensormap_create_tiled")
_CALLS = ("call_packed", "tvm_call_packed", "call_cpacked", "call_packed_lowered")
_MOST_RANK = 5


def is_packed_call(term: OpaqueValue) -> bool:
    """Return whether a call is one of such a function, by its own name or by the string that names it."""
    if term.head in _CALLS:
        return bool(term.arguments) and _NAME.fullmatch(str(term.arguments[0]).strip("\"'")) is not None
    return _NAME.fullmatch(term.head) is not None


def unpack_arguments(arguments: Sequence[Any]) -> list[Any] | None:
    """Return the arguments as cuTensorMapEncodeTiled has them, without the map; None if their number is another."""
    given = list(arguments)
    if given and isinstance(given[0], str) and _NAME.fullmatch(given[0].strip("\"'")):
        given = given[1:]
    rank = get_integer(given[2]) if len(given) > 3 and not isinstance(given[2], str) else None
    if rank is None or rank.known is None or not 0 < rank.known <= _MOST_RANK:
        return None
    size, rest = rank.known, given[4:]
    if len(rest) != 4 * size + 4:
        return None
    arrays = [ArrayValue([Cell(item) for item in rest[n * size : (n + 1) * size]]) for n in range(4)]
    arrays[1].cells.pop(0)  # which the driver does not get
    return [*given[1:4], *arrays, *rest[4 * size :]]
