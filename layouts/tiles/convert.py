"""Conversions between layouts of threads: elements that stay, shuffles, and the cost of a trip through shared memory.

Triton lowers ttg.convert_layout in three ways: renamed registers, warp shuffles, or a store, a barrier and a load
(lib/Conversion/TritonGPUToLLVM/ConvertLayoutOpToLLVM.cpp, Triton 3.9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.notebook import NotebookObject
from lanescope.ptx.threads import WARP
from lanescope.shared import banks, freeing
from lanescope.shared.banks import AccessUse, Cost
from lanescope.shared.freeing import SwizzleSolution
from lanescope.tiles.access_cost import TotalCost
from lanescope.triton.gluon import TritonLayout

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]
Way = Literal["same", "registers", "warp", "shared", "cluster"]
WIDEST_BITS = 128


@dataclass(frozen=True, slots=True)
class BufferAccess(TotalCost):
    """The stores to or loads from a scratch buffer by all warps.

    values: per access; costs, repeats: of each distinct access of a warp.
    """

    name: str
    values: int
    costs: tuple[Cost, ...]
    repeats: tuple[int, ...]
    uses: tuple[AccessUse, ...]


@dataclass(frozen=True, slots=True)
class BufferTrip:
    """A trip through a row-major scratch buffer without a swizzle.

    solution: the smallest swizzle that frees both accesses of bank conflicts, None if there are no conflicts.
    """

    store: BufferAccess
    load: BufferAccess
    bytes: int
    solution: SwizzleSolution | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Conversion(NotebookObject):
    """A conversion.

    places: the number of (thread, register) pairs of the destination; in_thread, in_warp, in_block: how many of them
    have their element in the same thread, warp or block of the source; moved, leaves: bool [threads, registers] of the
    destination, whether the element comes from another thread, from another warp; order: the source register of each
    destination register, if it is the same in every thread.
    """

    places: int
    in_thread: int
    in_warp: int
    in_block: int
    moved: Mask
    leaves: Mask
    order: tuple[int, ...] | None
    trip: BufferTrip | None

    @property
    def way(self) -> Way:
        """The conversion's kind: nothing moves, renamed registers, shuffles, shared memory, or other blocks' memory."""
        if self.in_thread == self.places:
            return "same" if self.order == tuple(range(self.moved.shape[1])) else "registers"
        if self.in_warp == self.places:
            return "warp"
        return "shared" if self.in_block == self.places else "cluster"


def convert_layout(source: TritonLayout, target: TritonLayout, costs: bool = True) -> Conversion:
    """Return the conversion between two layouts; costs: whether to compute the trip through shared memory.

    LayoutError if they are not layouts of threads over one tensor in one kernel.
    """
    for layout, field in ((source, "text"), (target, "to")):
        if not layout.of_threads:
            memory, op = ("shared", "local") if layout.shared else ("tensor", "tmem")
            raise LayoutError(
                "bad_conversion",
                f"{layout.kind} is a layout of {memory} memory.",
                f"Give layouts of threads: {op}_load and {op}_store are not conversions.",
                field,
            )
    if source.shape != target.shape:
        raise LayoutError(
            "bad_conversion",
            f"The tensors are {list(source.shape)} and {list(target.shape)}.",
            "convert_layout keeps the shape.",
            "to",
        )
    if source.lanes != target.lanes:
        raise LayoutError(
            "bad_conversion",
            f"A warp of the first layout has {source.lanes} lanes, one of the second {target.lanes}.",
            "All layouts of a kernel have the same ttg.threads-per-warp.",
            "to",
        )
    for name in ("warps", "blocks"):
        have, want = getattr(source, name), getattr(target, name)
        if have != want:
            raise LayoutError(
                "bad_conversion",
                f"The first layout has {have} {name[:-1] if have == 1 else name}, the second {want}.",
                "All layouts of a kernel have the same ttg.num-warps and blocks.",
                "to",
            )
    costs = costs and source.blocks == 1 and not (source.of_amd or target.of_amd)  # the banks are NVIDIA's
    return count_moves(
        _number_elements(source),
        _number_elements(target),
        prod(source.shape),
        (source.lanes, source.lanes * source.warps),
        source.element_bits if costs else 0,
    )


def count_moves(have: Longs, want: Longs, size: int, units: tuple[int, int], element_bits: int) -> Conversion:
    """Return the conversion between two maps of `size` elements.

    have, want: int64 [threads, registers], the element of each place; units: threads per warp and per block;
    element_bits: less than 8 for no trip through shared memory.
    """
    is_local = {}
    threads = np.arange(max(len(have), len(want)))[:, None]
    for name, per in zip(("thread", "warp", "block"), (1, *units), strict=True):
        unit = threads // per
        is_local[name] = _mask_holding_units(unit[: len(have)], have, unit[: len(want)], want, size)
    counts = {name: int(np.count_nonzero(mask)) for name, mask in is_local.items()}
    trip = counts["warp"] < want.size and element_bits >= 8
    return Conversion(
        places=want.size,
        in_thread=counts["thread"],
        in_warp=counts["warp"],
        in_block=counts["block"],
        moved=~is_local["thread"],
        leaves=~is_local["warp"],
        order=_find_register_order(have, want) if is_local["thread"].all() else None,
        trip=_make_trip(have, want, size, element_bits) if trip else None,
    )


def _mask_holding_units(units: Longs, have: Longs, needed: Longs, want: Longs, size: int) -> Mask:
    """Return whether the unit (thread, warp or block) that needs an element has it: bool, shaped like `want`.

    units, needed: the unit of each row of `have` and of `want`.
    """
    in_place = np.zeros(want.shape, dtype=np.bool_)
    unit, element = np.broadcast_to(units, have.shape).reshape(-1), have.reshape(-1)
    for _ in range(4):  # each round checks one unit that holds the element
        place = np.full(size, -1, dtype=np.int64)
        place[element] = unit
        in_place |= place[want] == needed
        remaining = place[element] != unit
        unit, element = unit[remaining], element[remaining]
        if not element.size:
            return in_place
    return np.asarray(in_place | np.isin(needed * size + want, unit * size + element))


def _number_elements(layout: TritonLayout) -> Longs:
    """Return the element of each place, numbered with the last axis fastest: int64 [threads, registers]."""
    numbers = np.zeros_like(layout.coords[0])
    for axis, size in zip(layout.coords, layout.shape, strict=True):
        numbers = numbers * size + axis
    return numbers


def _find_register_order(have: Longs, want: Longs) -> tuple[int, ...] | None:
    """Return the source register of each target register, if it is the same in every thread; else None."""
    if len(have) != len(want):
        return None
    order = np.argmax(have[:1, None, :] == want[:1, :, None], axis=2)[0]
    return tuple(order.tolist()) if np.array_equal(have[:, order], want) else None


def _make_trip(have: Longs, want: Longs, size: int, bits: int) -> BufferTrip:
    store, load = _make_scratch_access("st", have, bits), _make_scratch_access("ld", want, bits)
    worst = [use for side in (store, load) for use, cost in zip(side.uses, side.costs, strict=True) if cost.ways > 1]
    every = [*store.uses[:8], *load.uses[:8]] if worst else []
    return BufferTrip(store, load, size * bits // 8, freeing.find_freeing_swizzle(every) if every else None)


def _make_scratch_access(verb: str, elements: Longs, bits: int) -> BufferAccess:
    """Return the stores or loads of all warps.

    Each thread accesses its elements in memory order, as many at once as are contiguous and aligned in every thread.
    """
    step = bits // 8
    rows = [np.unique(row) for row in elements]
    values = 1
    while values * 2 * bits <= WIDEST_BITS and all(_has_aligned_runs(row, values * 2) for row in rows):
        values *= 2
    kind = banks.get_access(f"{verb}.shared.b{values * bits}")
    counts: dict[tuple[int | None, ...], int] = {}
    starts = np.stack([row[::values] for row in rows]) * step
    for first in range(0, len(rows), WARP):
        for column in starts[first : first + WARP].T.tolist():
            base = min(column) // 128 * 128
            key = tuple([at - base for at in column] + [None] * (WARP - len(column)))
            counts[key] = counts.get(key, 0) + 1
    uses = [banks.make_address_use(kind, list(key)) for key in counts]
    costs = [use.compute_use_cost(freeing.PLAIN) for use in uses]
    order: Sequence[int] = sorted(range(len(uses)), key=lambda at: -costs[at].ways)
    repeats = list(counts.values())
    return BufferAccess(
        kind.name,
        values,
        tuple(costs[n] for n in order),
        tuple(repeats[n] for n in order),
        tuple(uses[n] for n in order),
    )


def _has_aligned_runs(row: Longs, count: int) -> bool:
    """Return whether sorted elements are aligned runs of `count`."""
    if row.size % count:
        return False
    grouped = row.reshape(-1, count)
    return bool((grouped[:, 0] % count == 0).all() and (np.diff(grouped, axis=1) == 1).all())
