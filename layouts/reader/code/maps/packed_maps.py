"""Read tensor maps encoded by TileLang's packed function, which passes each array item as a separate argument.

Source: TileLang, src/runtime/runtime.cc (TensorMapArgs): the strides begin with the innermost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.values import ArrayValue, OpaqueValue

_NAME = re.compile(r"(?:__)?tvm_tensormap_create_tiled")
_CALLS = ("call_packed", "tvm_call_packed", "call_cpacked", "call_packed_lowered")
_MOST_RANK = 5


def is_packed_call(term: OpaqueValue) -> bool:
    """Return whether a call encodes a packed tensor map, by its name or by a string argument that names it."""
    if term.head in _CALLS:
        return bool(term.arguments) and _NAME.fullmatch(str(term.arguments[0]).strip("\"'")) is not None
    return _NAME.fullmatch(term.head) is not None


def unpack_arguments(arguments: Sequence[Any]) -> list[Any] | None:
    """Return the arguments in the form of cuTensorMapEncodeTiled, without the map; None if their number is wrong."""
    values = list(arguments)
    if values and isinstance(values[0], str) and _NAME.fullmatch(values[0].strip("\"'")):
        values = values[1:]
    rank = get_integer(values[2]) if len(values) > 3 and not isinstance(values[2], str) else None
    if rank is None or rank.known is None or not 0 < rank.known <= _MOST_RANK:
        return None
    size, rest = rank.known, values[4:]
    if len(rest) != 4 * size + 4:
        return None
    arrays = [ArrayValue([Cell(item) for item in rest[n * size : (n + 1) * size]]) for n in range(4)]
    arrays[1].cells.pop(0)  # the innermost stride is not passed to the driver
    return [*values[1:4], *arrays, *rest[4 * size :]]
