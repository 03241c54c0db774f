"""Follow D of mma and wgmma through registers, conversions and arithmetic to stores to global memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.threads.numbers import ThreadNumber
from lanescope.reader.threads.records import CombinedBytes, FactorUse, MmaUse, ProductResult, ResultStore, Span
from lanescope.reader.threads.storage import DataBytes, Ints, Pointer, make_open_data

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MOST_RESULTS, MOST_STORES = 4000, 2000
_REGISTER_BYTES = 4


def make_results(run: KernelRunner, opcode: str, span: Span, use: MmaUse | None, count: int) -> list[DataBytes]:
    """Return the registers of D of a product, each byte with its place among those of its thread."""
    if len(run.results) >= MOST_RESULTS:
        return [make_open_data(run.threads, _REGISTER_BYTES)] * count
    run.results.append(ProductResult(opcode, span, use))
    size = 2 * _REGISTER_BYTES if ".f64." in f"{opcode}." else _REGISTER_BYTES
    record = np.full((run.threads, size), -len(run.results), np.int64)
    return [DataBytes(record, *_place_result(run.threads, size, n)) for n in range(count)]


@lru_cache(maxsize=1 << 10)
def _place_result(threads: int, size: int, number: int) -> tuple[Ints, Ints]:
    """Return (thread, byte) of the bytes of a register of D."""
    shape = threads, size
    first = np.broadcast_to(np.arange(size) + size * number, shape)
    return np.broadcast_to(np.arange(threads)[:, None], shape), first


def find_added(run: KernelRunner, value: Any) -> MmaUse | None:
    """Return the mma that has made a register of C; None if none or several have."""
    first = int(value.record[0, 0]) if isinstance(value, DataBytes) and value.size else 0
    if first >= 0 or not (value.record == first).all():
        return None
    return run.results[-first - 1].use


def is_result(value: Any) -> bool:
    """Return whether a value is of elements of D in some thread."""
    return isinstance(value, DataBytes) and bool((value.record < 0).any())


def keep_result(run: KernelRunner, *operands: Any) -> DataBytes | None:
    """Return the operand of an arithmetic operation that is of elements of D: alpha * d + beta * c, or the first of two
    that are the same elements of two products. Where sizes are known, also what is computed of other elements.
    """
    found = [value for value in operands if is_result(value)]
    if len(found) < 2:
        others = [one for value in operands if value not in found for one in _list_parts(value)]
        if found and len(run.factors) < MOST_STORES:
            run.factors += (FactorUse(found[0], other, run.mask.copy()) for other in others)
        return found[0] if found else _combine_elements(run, others)
    first, second = found
    if not ((first.thread == second.thread) & (first.byte == second.byte)).all():
        return None
    records = np.unique(np.stack([one.record[:, 0] for one in found], axis=1)[run.mask], axis=0)
    run.joined.update((int(one), int(other)) for one, other in records if one != other)
    return first if (records < 0).all() else None


def _list_parts(value: Any) -> tuple[DataBytes, ...]:
    """Return the elements of global memory that a value is computed from."""
    if isinstance(value, CombinedBytes):
        return value.parts
    return (value,) if isinstance(value, DataBytes) and value.size else ()


def _combine_elements(run: KernelRunner, parts: Sequence[DataBytes]) -> DataBytes | None:
    """Return what is computed from several elements of global memory in a run that knows all sizes."""
    if run.sizes is None or len(parts) < 2:
        return None
    unknown = make_open_data(run.threads, parts[0].size)
    return CombinedBytes(unknown.record, unknown.thread, unknown.byte, tuple(parts))


def store_result(run: KernelRunner, place: Pointer, value: Any, site: Span, adds: bool = False) -> None:
    """Record a store to global memory if it is of elements of D. adds: to what is there."""
    if not is_result(value) or len(run.outputs) >= MOST_STORES:
        return
    vector = 2 if place.type.size >= 4 and has_two(value) else place.type.vector
    size = vector or place.type.size
    if not isinstance(place.offset, ThreadNumber) or value.size != place.type.size:
        run.open_outputs.add(site)
        return
    run.outputs.append(ResultStore(str(place.array), place.offset, value, run.mask.copy(), site, size, adds))


def has_two(value: Any) -> bool:
    """Return whether each four bytes are two elements of 16 bits."""
    if not isinstance(value, DataBytes) or value.size % 4:
        return False
    known = (value.record < 0).all(axis=1)
    return bool(known.any() and (value.byte[known, 2] != value.byte[known, 0] + 2).any())
