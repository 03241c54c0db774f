"""Fragments of nvcuda::wmma: the elements that load_matrix_sync takes, the products of mma_sync, and stores of D.

Which lane holds an element of a wmma fragment is not specified. The elements are followed as in the mma of the same
matrices: a wmma of 16×16×16 is two mma of m16n8k16 (CUDA C++ Programming Guide 13.0, "Warp Matrix Functions"). Elements
that code takes out of a fragment one by one, or puts into it, are not known, unless it does the same with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.instructions.fragment_types import REGISTER_BYTES, FragmentShape
from lanescope.reader.threads.language.numbers import (
    LONG,
    ThreadNumber,
    add_numbers,
    make_number,
    make_uniform,
    multiply_numbers,
)
from lanescope.reader.threads.language.places import find_place
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.language.values import store_place
from lanescope.reader.threads.memory.records import MmaUse, RegisterUse
from lanescope.reader.threads.memory.results import describe_start, find_added, make_results
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.storage import (
    CONSTANT,
    ZERO,
    DataBytes,
    FloatConstant,
    LocalMemory,
    Pointer,
    ReadBytes,
    Span,
    is_zero,
    join_data,
    make_open_data,
    spread_coefficient,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


@dataclass(frozen=True, slots=True)
class Fragment:
    """A fragment of a kernel: where its registers are, in the order of the mma of its matrices."""

    memory: LocalMemory
    first: int
    shape: FragmentShape

    def list_values(self) -> list[Any]:
        """Return its registers; of each None if it is not known."""
        return [
            self.memory.read_value(self.first + REGISTER_BYTES * n, REGISTER_BYTES) for n in range(self.shape.count)
        ]

    def write_values(self, run: KernelRunner, values: Sequence[Any] | None) -> None:
        """Set its registers in the running threads, to unknown values by default."""
        mask = None if run.mask is self.memory.owners or run.runs_everyone() else run.mask
        for n in range(self.shape.count):
            at = self.first + REGISTER_BYTES * n
            self.memory.write_value(at, REGISTER_BYTES, values[n] if values is not None else None, mask)

    def is_unset(self, part: int) -> bool:
        """Return whether nothing has written the registers of one of its mma."""
        size = REGISTER_BYTES * self.shape.registers
        return self.memory.is_unset(self.first + size * part, size)


def _find_fragment(run: KernelRunner, node: tree.Expression, scope: Scope) -> Fragment | None:
    """Return a fragment; None if it is not known. One that is an unknown item of an array may be any of them."""
    place = find_place(run, node, scope)
    shape = place.type.target if isinstance(place, Pointer) and isinstance(place.type, SizedType) else None
    if not isinstance(shape, FragmentShape) or not isinstance(place.array, LocalMemory):
        return None
    first = place.offset.known if place.offset is not None else None
    if first is None:
        place.array.forget_values()
    return Fragment(place.array, first, shape) if first is not None and shape.opcode else None


def call_load_matrix(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Follow wmma::load_matrix_sync."""
    fragment = _find_fragment(run, node.arguments[0], scope)
    if fragment is None:
        return
    pointer, pitch = (run.evaluate(argument, scope) for argument in node.arguments[1:3])
    by_rows = fragment.shape.layout == "row_major" if fragment.shape.layout else _is_by_rows(node.arguments[3:])
    elements = _list_elements(run, fragment.shape, (pointer, pitch), by_rows)
    fragment.write_values(run, _load_registers(run, fragment.shape, list(elements), node.span))


def _is_by_rows(layout: Sequence[tree.Expression]) -> bool:
    """Return whether a layout that is given with a pointer is mem_row_major."""
    return any(getattr(argument, "last", "") == "mem_row_major" for argument in layout)


def _list_elements(
    run: KernelRunner, shape: FragmentShape, where: tuple[Any, Any], by_rows: bool
) -> Iterator[Pointer | None]:
    """Yield the place in memory of each element of a fragment, as its threads hold them; None if it is not known.

    where: the pointer and the pitch that load_matrix_sync or store_matrix_sync is given.
    """
    pointer, pitch = where
    for i, j in _list_coordinates(shape, run.threads):
        yield _move_pointer(pointer, pitch, (i, j) if by_rows else (j, i))


@lru_cache(maxsize=64)
def _list_coordinates(shape: FragmentShape, threads: int) -> tuple[tuple[ThreadNumber, ThreadNumber], ...]:
    """Return the row and the column of each element of a fragment, the same numbers whenever it is loaded."""
    row, column = (np.asarray(shape.operand.coords[axis], np.int64) for axis in ("row", "col"))
    lanes = np.arange(threads) % 32
    return tuple(
        (make_number(row[lanes, element] + down, LONG), make_number(column[lanes, element] + right, LONG))
        for down, right in shape.list_parts()
        for element in range(row.shape[1])
    )


def _move_pointer(pointer: Any, pitch: Any, at: tuple[ThreadNumber, ThreadNumber]) -> Pointer | None:
    """Return the place of an element of each thread, of its line and place in the line."""
    if not isinstance(pointer, Pointer) or not isinstance(pitch, ThreadNumber):
        return None
    away = add_numbers(multiply_numbers(at[0], pitch), at[1])
    moved = add_numbers(pointer.offset, multiply_numbers(away, make_uniform(pointer.type.size, LONG)))
    return replace(pointer, offset=moved, dims=()) if moved is not None else None


def _load_registers(
    run: KernelRunner, shape: FragmentShape, places: Sequence[Pointer | None], site: Span
) -> list[DataBytes] | None:
    """Return the registers of a fragment of which each element is loaded; None if one is not known.

    Those of a place in shared memory that is not known, such as a stage that depends on K, are open.
    """
    if shape.use != "accumulator" and all(place is not None and _is_unplaced(place) for place in places):
        return [make_open_data(run.threads, REGISTER_BYTES)] * shape.count
    elements = [_load_element(run, place, site) for place in places if place is not None]
    known = [data for data in elements if data is not None]
    size = shape.operand.container_bits // 8
    if len(known) < len(places) or not known or (known[0].size != size and shape.use != "accumulator"):
        return None
    whole = join_data([data.resize_element(size) for data in known])
    cut = [whole.cut_bytes(REGISTER_BYTES * n, REGISTER_BYTES) for n in range(shape.count)]
    return [ReadBytes(part.record, part.thread, part.byte, (site,) * part.size) for part in cut]


def _is_unplaced(place: Pointer) -> bool:
    return place.space == "shared" and (place.offset is None or place.offset.const is None)


def _load_element(run: KernelRunner, place: Pointer, site: Span) -> DataBytes | None:
    """Return one element of each thread."""
    size = place.type.size
    if place.space == "global":
        return run.load_global(place.array, place.offset, size, site)
    offset = place.offset.const if place.offset is not None else None
    if place.space != "shared" or offset is None:
        return None
    places = np.where(run.mask, spread_coefficient(offset, run.threads), 0)  # of other threads, it may be anything
    if places.min() < 0 or places.max() + size > SHARED_BYTES:
        return None
    return run.shared.load_bytes(places, size, run.mask)


def fill_fragment(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Follow wmma::fill_fragment."""
    fragment = _find_fragment(run, node.arguments[0], scope)
    if fragment is None:
        return
    value = run.evaluate(node.arguments[1], scope)
    known = ZERO if is_zero(value) else CONSTANT if isinstance(value, FloatConstant | ThreadNumber) else None
    known = run.tape.apply(run, "+", (value,)) if run.tape is not None else known
    fragment.write_values(run, [known] * fragment.shape.count)


def store_matrix(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Follow wmma::store_matrix_sync."""
    pointer, pitch = (run.evaluate(node.arguments[n], scope) for n in (0, 2))
    fragment = _find_fragment(run, node.arguments[1], scope)
    if not isinstance(pointer, Pointer):
        return
    if fragment is None:
        if pointer.space == "shared":
            run.shared.incomplete = run.shared.incomplete or f"{name} writes it"
        return
    values = fragment.list_values()
    for place, value in zip(
        _list_elements(run, fragment.shape, (pointer, pitch), _is_by_rows(node.arguments[3:])), values, strict=True
    ):
        store_place(run, place or replace(pointer, offset=None, dims=()), value, node.arguments[0].span)


def call_mma(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Follow wmma::mma_sync: one product for each 16 rows and 8 columns."""
    d, a, b, c = (_find_fragment(run, argument, scope) for argument in node.arguments[:4])
    if d is None:
        return
    if a is None or b is None or c is None or run.is_full or a.shape.opcode != b.shape.opcode:
        d.write_values(run, None)
        return
    of_a, of_b = ([_use_registers(part) for part in _split(one)] for one in (a, b))
    results: list[DataBytes] = []
    for part, added in enumerate(_split(c)):
        row, column = divmod(part, len(of_b))
        use = MmaUse(
            a.shape.opcode,
            node.span,
            of_a[row],
            of_b[column],
            tuple(run.calls),
            run.mask.copy(),
            tuple(run.turns),
            (d.memory, d.first + REGISTER_BYTES * d.shape.registers * part),
            c.is_unset(part),
            start=describe_start(run, added, c.is_unset(part)),
            adds=find_added(run, added[0]),
            fragments=(a.shape.span, b.shape.span),
            broken=run.shared.broken,
            ends=tuple(run.ends),
        )
        run.products.append(use)
        results += make_results(run, a.shape.opcode, node.span, use, d.shape.registers, added)
    d.write_values(run, results)


def _use_registers(values: Sequence[Any]) -> tuple[RegisterUse, ...]:
    return tuple(RegisterUse(value if isinstance(value, DataBytes) else None) for value in values)


def _split(fragment: Fragment) -> list[list[Any]]:
    """Return the registers of each mma of a fragment."""
    values, size = fragment.list_values(), fragment.shape.registers
    return [values[first : first + size] for first in range(0, len(values), size)]


@dataclass(frozen=True, slots=True)
class ElementUpdate:
    """The same assignment to each element of a fragment, as far as it is run: for one register. index: the variable
    that counts the elements; read: the registers that the value depends on.
    """

    index: str
    register: int
    read: list[Any] = field(default_factory=list)

    def find_place(self, run: KernelRunner, node: tree.Index, scope: Scope) -> Pointer | None:
        """Return the place of this register in the fragment that an expression takes an element of."""
        owner = find_owner(node)
        fragment = _find_fragment(run, owner, scope) if owner is not None else None
        if fragment is None or getattr(node.indices[0], "last", "") != self.index:
            return None
        if self.register >= fragment.shape.count:
            return None
        self.read.append(fragment.list_values()[self.register])
        at = make_number(fragment.first + REGISTER_BYTES * self.register, LONG)
        return Pointer("local", fragment.memory, at, SizedType("float", REGISTER_BYTES))


def find_owner(node: tree.Index) -> tree.Expression | None:
    """Return the fragment f of an expression that may be its element, f.x[i]; None for any other."""
    return node.value.value if isinstance(node.value, tree.Member) and node.value.name == "x" else None


def assign_elements(run: KernelRunner, node: tree.Assignment, scope: Scope) -> bool:
    """Assign an element of a fragment, f.x[i] = …; return whether the target is one.

    If the value depends on elements with the same index alone, all of them are computed so, whatever their places.
    """
    target = node.target
    owner = find_owner(target) if isinstance(target, tree.Index) else None
    fragment = _find_fragment(run, owner, scope) if owner is not None else None
    if fragment is None or not isinstance(target, tree.Index):
        return False
    value = node.value if not node.op else tree.Binary(node.op, target, node.value, span=node.span)
    index = getattr(target.indices[0], "last", "")
    alike = bool(index) and not _depends_on_place(run.text[slice(*node.value.span)], index)
    values = [
        _compute_register(run, value, ElementUpdate(index, n), scope) for n in range(fragment.shape.count * alike)
    ]
    fragment.write_values(run, values if values else None)
    return True


def _depends_on_place(text: str, index: str) -> bool:
    """Return whether an expression may depend on which element it is for, but by elements of fragments."""
    rest = re.sub(rf"(?:\w+(?:\s*\[[^\]]*\])*\s*\.\s*)+x\s*\[\s*{index}\s*\]", "", text)
    return re.search(rf"\[|\bthreadIdx\b|\b{index}\b", rest) is not None


def _compute_register(run: KernelRunner, value: tree.Expression, update: ElementUpdate, scope: Scope) -> Any:
    """Return the value of a register; None if it depends on anything else than elements of fragments and constants."""
    factors, outer, run.update = len(run.factors), run.update, update
    result = run.evaluate(value, scope)
    run.update = outer
    others = (factor.factor for factor in run.factors[factors:])
    if any(all(one is not other for one in update.read) for other in others):
        del run.factors[factors:]
        return None
    if isinstance(result, ThreadNumber | FloatConstant):
        return ZERO if is_zero(result) else CONSTANT
    return _fit(result)


def _fit(value: Any) -> DataBytes | None:
    """Return the value of one element, in a register of its own whatever its type; None if it is not known."""
    return value.resize_element(REGISTER_BYTES) if isinstance(value, DataBytes) else None
