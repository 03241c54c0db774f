"""Fragments of nvcuda::wmma: the elements that load_matrix_sync takes, and the products of mma_sync.

Which lane holds an element of a wmma fragment is not specified. The elements are followed as in the mma of the same
matrices: a wmma of 16×16×16 is two mma of m16n8k16 (CUDA C++ Programming Guide 13.0, "Warp Matrix Functions").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.instructions.fragment_types import FRAGMENT_BYTES, FragmentShape
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, add_numbers, make_number, multiply_numbers
from lanescope.reader.threads.language.places import find_place
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.records import MmaUse, RegisterUse, Span, StoredFragment
from lanescope.reader.threads.memory.storage import (
    SHARED_BYTES,
    DataBytes,
    Ints,
    LocalMemory,
    Pointer,
    ReadBytes,
    join_data,
    spread_coefficient,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFragment:
    """The registers that a fragment has in the mma of its matrices: of A once, of B for each 8 columns."""

    shape: FragmentShape
    registers: tuple[tuple[DataBytes, ...], ...]
    site: Span


def _find_fragment(run: KernelRunner, node: tree.Expression, scope: Scope) -> tuple[Pointer, FragmentShape, int] | None:
    """Return (place, shape, offset) of a fragment; None if it is not known."""
    place = find_place(run, node, scope)
    shape = place.type.target if isinstance(place, Pointer) and isinstance(place.type, SizedType) else None
    offset = place.offset.known if isinstance(place, Pointer) and place.offset is not None else None
    if not isinstance(shape, FragmentShape) or offset is None or not isinstance(place.array, LocalMemory):
        return None
    return place, shape, offset


def call_load_matrix(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Follow wmma::load_matrix_sync of A or B."""
    found = _find_fragment(run, node.arguments[0], scope)
    if found is None:
        return
    place, shape, offset = found
    pointer, pitch = (run.evaluate(argument, scope) for argument in node.arguments[1:3])
    registers = None
    if shape.opcode and shape.use in ("matrix_a", "matrix_b") and isinstance(pointer, Pointer):
        registers = _load_registers(run, shape, pointer, pitch, node.span)
    value = LoadedFragment(shape, registers, node.span) if registers else None
    place.array.write_value(offset, FRAGMENT_BYTES, value, None)


def _load_registers(
    run: KernelRunner, shape: FragmentShape, pointer: Pointer, pitch: Any, site: Span
) -> tuple[tuple[DataBytes, ...], ...] | None:
    try:
        operand = catalog.find(shape.opcode).operand(shape.use[-1])
    except LayoutError:
        return None
    if not isinstance(pitch, ThreadNumber) or pointer.type.size * 8 != operand.container_bits:
        return None
    row, column = (np.asarray(operand.coords[axis], np.int64) for axis in ("row", "col"))
    result = []
    for first in (0, 8) if shape.use == "matrix_b" else (0,):
        lanes = np.arange(run.threads) % 32
        elements = []
        for element in range(row.shape[1]):
            i, j = row[lanes, element], column[lanes, element]
            j = j + first if shape.use == "matrix_b" else j
            line, at = (i, j) if shape.layout == "row_major" else (j, i)
            data = _load_element(run, pointer, pitch, (line, at), site)
            if data is None:
                return None
            elements.append(data)
        whole = join_data(elements)
        cut = [whole.cut_bytes(4 * n, 4) for n in range(operand.registers)]
        result.append(tuple(ReadBytes(part.record, part.thread, part.byte, (site,) * part.size) for part in cut))
    return tuple(result)


def _load_element(
    run: KernelRunner, pointer: Pointer, pitch: ThreadNumber, at: tuple[Ints, Ints], site: Span
) -> DataBytes | None:
    """Return one element of each thread: of its line and place in the line."""
    size = pointer.type.size
    away = add_numbers(multiply_numbers(make_number(at[0], LONG), pitch), make_number(at[1], LONG))
    moved = add_numbers(pointer.offset, multiply_numbers(away, make_number(size, LONG)))
    if moved is None or pointer.space not in ("shared", "global"):
        return None
    if pointer.space == "global":
        return run.load_global(pointer.array, moved, size, site)
    if moved.const is None:
        return None
    places = spread_coefficient(moved.const, run.threads)
    if places.min() < 0 or places.max() + size > SHARED_BYTES:
        return None
    return run.shared.load_bytes(places, size, run.mask)


def store_matrix(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Follow wmma::store_matrix_sync: no fragment changes; where D is in global memory is recorded."""
    pointer, pitch = (run.evaluate(node.arguments[n], scope) for n in (0, 2))
    found = _find_fragment(run, node.arguments[1], scope)
    if not isinstance(pointer, Pointer):
        return
    if pointer.space == "shared":
        run.shared.broken = run.shared.broken or f"{name} writes it"
    elif found is not None and isinstance(pitch, ThreadNumber) and isinstance(pointer.offset, ThreadNumber):
        by_rows = getattr(node.arguments[3], "last", "") == "mem_row_major"
        where = str(pointer.array), pointer.offset, pitch, by_rows, found[0].array, node.span, pointer.type.size
        run.stored_fragments.setdefault(node.span, StoredFragment(*where))


def call_mma(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Follow wmma::mma_sync: one product for each 8 columns."""
    result = _find_fragment(run, node.arguments[0], scope)
    sides = [_find_fragment(run, argument, scope) for argument in node.arguments[1:3]]
    if result is None or any(side is None for side in sides):
        return
    a, b = (side[0].array.read_value(side[2], FRAGMENT_BYTES) for side in sides if side is not None)
    if not isinstance(a, LoadedFragment) or not isinstance(b, LoadedFragment) or run.is_full:
        return
    place, _, offset = result
    for n, registers in enumerate(b.registers):
        use = MmaUse(
            a.shape.opcode,
            node.span,
            tuple(RegisterUse(data) for data in a.registers[0]),
            tuple(RegisterUse(data) for data in registers),
            tuple(run.calls),
            run.mask.copy(),
            tuple(run.turns),
            (place.array, offset + n),
            fragments=(a.shape.span, b.shape.span),
            broken=run.shared.broken,
            ends=tuple(run.ends),
        )
        run.products.append(use)
