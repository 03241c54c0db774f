"""Places of a fragment's values: in a register array and in memory, for all threads at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.reader.code.syntax import tree

Values = NDArray[np.int64]  # [trials, threads, values of i]; each axis may have length 1
Place = tuple[str, tuple[Values, ...]]  # an array, and the indices of an element


def make_open_error(why: str) -> LayoutError:
    """Return the LayoutError for code with unknown coordinates."""
    return LayoutError(
        "open_formula",
        f"The coordinates cannot be determined: {why}.",
        "Known names: lane, groupID, threadID_in_group, warp_id, threadIdx.x, and i for the value's index.",
        "text",
    )


@dataclass(frozen=True, slots=True)
class FragmentMove:
    """One value of a fragment and its place in memory. value: its indices in the register array; place: the index in
    memory, or (row, column); pointee: the type of the pointer through which memory is accessed, "" if it is not cast;
    both: whether the register array is, too.
    """

    value: tuple[int, ...]
    place: tuple[Values, ...]
    pointee: str = ""
    both: bool = False


def find_pointee(expression: tree.Expression) -> str:
    """Return the type of the pointer through which an expression accesses memory, "" if none is cast."""
    match expression:
        case tree.Unary(op="*", value=tree.Cast() as cast) | tree.Index(value=tree.Cast() as cast):
            return cast.type.name
    return ""


def is_open(values: NDArray[Any]) -> bool:
    """Return whether values depend on an undefined name."""
    return values.ndim == 3 and values.shape[0] > 1


def pair_registers(
    registers: Sequence[Place], indices: tuple[Values, ...], pointee: str, of_registers: str
) -> list[FragmentMove]:
    """Return the moves of elements of one register array to consecutive places of memory.

    pointee, of_registers: the types of the pointers to both, "" for none.
    """
    moves = []
    pointee = pointee if len(registers) == 1 else ""  # make_float2(d[0], d[1]) names each element
    for n, (name, register) in enumerate(registers):
        if name != registers[0][0]:
            raise make_open_error("it stores several arrays as one")
        if any(map(is_open, register)):
            raise make_open_error("the index in the register array is open")
        value = tuple(int(index.flat[0]) for index in register)
        moves.append(FragmentMove(value, (*indices[:-1], indices[-1] + n), pointee, bool(of_registers)))
    return moves


def is_uniform(values: Values) -> bool:
    return bool((values == values.flat[0]).all())


def spell_member(expression: tree.Member) -> str:
    inner = expression.value
    return f"{inner.last}.{expression.name}" if isinstance(inner, tree.Name) else f"?.{expression.name}"


def spell_array(expression: tree.Expression) -> str:
    """Return the name of an array, such as d or frag.x; "" for other expressions."""
    if isinstance(expression, tree.Name):
        return expression.last
    return spell_member(expression) if isinstance(expression, tree.Member) else ""
