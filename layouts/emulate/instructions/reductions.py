"""Reductions of asynchronous copies: destination op source, elementwise. PTX ISA 9.1, 9.7.9.25.4.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import UnknownInstructionError
from lanescope.emulate.instructions.async_work import Bytes
from lanescope.emulate.instructions.floats import choose_extreme, mark_nan32
from lanescope.emulate.instructions.rounding import ELEMENTS, Element, add_to_odd, decode, encode
from lanescope.emulate.text.program import Statement
from lanescope.ptx.register_types import TYPES

Array = NDArray[Any]
# element type of a tensor map → type of its reduction
MAP_TYPES = {
    "UINT32": "u32",
    "INT32": "s32",
    "UINT64": "u64",
    "INT64": "s64",
    "FLOAT16": "f16",
    "FLOAT32": "f32",
    "BFLOAT16": "bf16",
}
_TYPES_OF = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f64"),
    "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "max": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
}
UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    **UFUNCS,
    "inc": lambda old, value: np.where(old >= value, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, value: np.where((old == 0) | (old > value), value, old - old.dtype.type(1)),
}
OPERATIONS = tuple(INTEGER)


def check_reduction(statement: Statement, operation: str, name: str) -> str:
    """Return the type in which a reduction is computed; UnknownInstructionError for a pair that PTX does not define."""
    if operation in ("and", "or", "xor") and name[:1] in "us":
        name = f"b{name[1:]}"
    if name not in _TYPES_OF.get(operation, ()):
        raise UnknownInstructionError(statement, f"{statement.opcode} of .{name} is not emulated")
    return name


def reduce_bytes(statement: Statement, operation: str, name: str, old: Bytes, values: Bytes) -> Bytes:
    """Return the bytes of old op values; both hold elements of one type."""
    element = ELEMENTS.get(name)
    dtype = TYPES[name].dtype if element is None else element.bits
    a, b = old.copy().view(dtype), np.ascontiguousarray(values).view(dtype)
    result = INTEGER[operation](a, b) if element is None else _reduce_floats(statement, operation, element, a, b)
    return np.ascontiguousarray(result.astype(dtype)).view(np.uint8)


def _reduce_floats(statement: Statement, operation: str, element: Element, a: Array, b: Array) -> Array:
    """Return the bits of the result for floats, given as bits.

    f32 keeps subnormal numbers and has a single NaN, as on an H100, contrary to PTX.
    """
    if element.name == "f32" and operation == "add":
        return mark_nan32(a.view(np.float32) + b.view(np.float32)).view(element.bits)
    x, y = decode(a, element), decode(b, element)
    with np.errstate(all="ignore"):
        total = x + y if element.name == "f64" else add_to_odd(x, y)
    if (np.isnan(total) if operation == "add" else np.isnan(x) | np.isnan(y)).any():
        raise UnknownInstructionError(statement, f"{statement.opcode} of a NaN is not emulated")
    if operation == "add":
        return encode(total, element)
    return choose_extreme([a, b], element, frozenset(), operation == "min")
