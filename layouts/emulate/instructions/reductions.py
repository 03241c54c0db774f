"""Reductions of asynchronous copies: destination op source, elementwise. PTX ISA 9.1, 9.7.9.25.4.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import UnknownInstructionError
from lanescope.emulate.instructions.async_work import Bytes
from lanescope.emulate.text.program import Statement

Array = NDArray[Any]
OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_DTYPES = {
    **{
        f"{kind}{bits}": f"{name}{bits}"
        for kind, name in (("u", "uint"), ("s", "int"), ("b", "uint"))
        for bits in (32, 64)
    },
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "uint16",
}
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
_INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda old, value: old + value,
    "min": np.minimum,
    "max": np.maximum,
    "inc": lambda old, value: np.where(old >= value, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, value: np.where((old == 0) | (old > value), value, old - old.dtype.type(1)),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def check_reduction(statement: Statement, operation: str, name: str) -> str:
    """Return the type in which a reduction is computed; UnknownInstructionError for a pair that PTX does not define."""
    if operation in ("and", "or", "xor") and name[:1] in "us":
        name = f"b{name[1:]}"
    if name not in _TYPES_OF.get(operation, ()):
        raise UnknownInstructionError(statement, f"{statement.opcode} of .{name} is not emulated")
    return name


def reduce_bytes(statement: Statement, operation: str, name: str, old: Bytes, values: Bytes) -> Bytes:
    """Return the bytes of old op values; both hold elements of one type."""
    dtype = np.dtype(_DTYPES[name])
    a, b = old.copy().view(dtype), np.ascontiguousarray(values).view(dtype)
    if name in ("f16", "bf16", "f32", "f64"):
        result = _reduce_floats(statement, operation, name, a, b)
    else:
        result = _INTEGER[operation](a, b)
    return np.ascontiguousarray(result.astype(dtype)).view(np.uint8)


def _reduce_floats(statement: Statement, operation: str, name: str, a: Array, b: Array) -> Array:
    """Return the result for floats.

    f32 keeps subnormal numbers and has a single NaN, as on an H100, contrary to PTX.
    """
    wide_a, wide_b = _widen(name, a), _widen(name, b)
    with np.errstate(all="ignore"):
        total = wide_a + wide_b
    nan = np.isnan(total) if operation == "add" else np.isnan(wide_a) | np.isnan(wide_b)
    if name == "f32" and operation == "add":
        return np.where(nan, np.uint32(0x7FFFFFFF), total.view(np.uint32)).view(np.float32)
    if nan.any():
        raise UnknownInstructionError(statement, f"{statement.opcode} of a NaN is not emulated")
    return _narrow(name, total) if operation == "add" else _order(operation, a, b)


def _widen(name: str, values: Array) -> Array:
    """Return values exactly in a type that NumPy can add.

    For types of 11 significant bits, rounding twice is harmless.
    """
    if name == "bf16":
        return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return values.astype(np.float32) if name == "f16" else values


def _narrow(name: str, values: Array) -> Array:
    if name != "bf16":
        return values.astype(_DTYPES[name])
    bits = values.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def _order(operation: str, a: Array, b: Array) -> Array:
    """Return the smaller or larger of each pair; -0 is smaller than +0."""
    first, second = a.view(np.int16).astype(np.int32), b.view(np.int16).astype(np.int32)
    keys = [np.where(words < 0, -32768 - words - 1, words) for words in (first, second)]
    take_first = keys[0] <= keys[1] if operation == "min" else keys[0] >= keys[1]
    return np.where(take_first, a, b)
