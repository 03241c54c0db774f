"""An operation on registers: the types of its operands, and its result for an array of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.register_types import TYPES, RegisterType

Array = NDArray[Any]
Compute = Callable[..., Any]
Words = tuple[str, ...]  # of an opcode, split at the dots
PLAIN = "u16 u32 u64 s16 s32 s64"
U32, B32 = TYPES["u32"], TYPES["b32"]


@dataclass(frozen=True, slots=True)
class Operation:
    """The types of the result and of the sources, and the result for arrays of these types.

    divides: whether PTX leaves the result open where the second source is 0.
    """

    to: RegisterType
    sources: tuple[RegisterType, ...]
    compute: Compute
    divides: bool = False


class OperationError(Exception):
    """An opcode that has no operation here. Its text says why, if it says anything."""


Maker = Callable[[Words], Operation]
MAKERS: dict[str, Maker] = {}  # the first words of an opcode → its operation


def operation(*names: str) -> Callable[[Maker], Maker]:
    """Register the function that makes the operations of some opcodes."""

    def register(maker: Maker) -> Maker:
        MAKERS.update(dict.fromkeys(names, maker))
        return maker

    return register


def declare(names: Mapping[str, Compute], types: str, sources: int, to: str = "", divides: bool = False) -> None:
    """Register opcodes whose only other word is a type. to: the type of the result, if it is another."""

    def make(words: Words) -> Operation:
        row = take_type(words, types)
        return Operation(TYPES[to] if to else row, (row,) * sources, names[words[0]], divides)

    operation(*names)(make)


def check_words(words: Words, allowed: Collection[str], types: int = 1) -> tuple[RegisterType, ...]:
    """Return the types of an opcode; OperationError for another number of them or another word."""
    rows = []
    for word in words[1:]:
        if word in TYPES:
            rows.append(TYPES[word])
        elif word not in allowed:
            raise OperationError(f"{'.'.join(words)}: .{word} is not emulated")
    if len(rows) != types:
        raise OperationError
    return tuple(rows)


def take_type(words: Words, types: str, allowed: Collection[str] = ()) -> RegisterType:
    """Return the only type of an opcode, which must be one of some types. allowed: its other words."""
    (row,) = check_words(words, allowed)
    if row.name not in types.split():
        raise OperationError(f"{'.'.join(words)}: type .{row.name} is not emulated")
    return row


def require_half(words: Words) -> bool:
    """Return whether an opcode has .hi; OperationError unless it has either .hi or .lo."""
    if ("lo" in words) == ("hi" in words):
        raise OperationError
    return "hi" in words


def take_lanes(values: Array, dtype: Any) -> Array:
    """Return the packed elements of registers: [threads, lanes], or [1, lanes] for a scalar."""
    registers = np.atleast_1d(np.ascontiguousarray(values))
    return np.asarray(registers.view(dtype).reshape(len(registers), -1))


def join_lanes(lanes: Array, storage: np.dtype[Any]) -> Array:
    """Return registers made of packed elements [threads, lanes]."""
    return np.ascontiguousarray(lanes).view(storage)[:, 0]


def encode_integers(values: Any, row: RegisterType) -> Array:
    """Return an integer, or 64-bit integers, wrapped to a type."""
    if isinstance(values, int):
        values = np.array([values & (1 << 64) - 1], np.uint64)
    low = values & values.dtype.type(1) if row.bits == 1 else values
    return np.asarray(low.astype(row.storage)).view(row.dtype)
