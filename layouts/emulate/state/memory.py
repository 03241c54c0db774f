"""Memory of an emulated grid: allocations at generic addresses, the windows of shared and local memory, and checks.

The windows' addresses are arbitrary, but the shared window keeps what programs rely on: a 32-bit address holds the
CTA's rank in its cluster from bit 24 on and the offset below (CUTLASS clears bit 24 to address the even CTA of a pair:
include/cute/arch/copy_sm100_tma.hpp), and a block's own memory starts at 1024 on sm_90 (measured).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from lanescope.descriptor.matrix import SHARED_BEGIN

if TYPE_CHECKING:
    from lanescope.emulate.state.block import Group

Array = NDArray[Any]
Addresses = NDArray[np.int64]

LOCAL_WINDOW = 0x7D00_0000_0000
SHARED_WINDOW = 0x7E00_0000_0000
GLOBAL_WINDOW = 0x7F00_0000_0000
RANK_SHIFT = 24  # position of the CTA's rank in an address of shared::cluster
OFFSET_MASK = (1 << RANK_SHIFT) - 1  # the offset in that CTA's shared memory
WINDOW_SIZE = 1 << 40
_GUARD = 4096  # unmapped bytes between two allocations
_ALIGN = 512


class FaultError(Exception):
    """An access or instruction that a GPU rejects; it ends the run."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(slots=True)
class Allocation:
    """Bytes with a name. written: which of them were written, None if all count as written."""

    name: str
    base: int
    data: NDArray[np.uint8]
    written: NDArray[np.bool_] | None = None
    read_only: bool = False

    @property
    def size(self) -> int:
        return self.data.size


class Observer(Protocol):
    """Called on every load and store. offsets: of the first bytes in the allocation; size: bytes of each."""

    def __call__(
        self, group: Group, space: str, allocation: Allocation, offsets: Addresses, size: int, *, writes: bool
    ) -> None: ...


@dataclass(slots=True)
class Memory:
    """The global memory of a grid, and access to every state space by address."""

    allocations: list[Allocation] = field(default_factory=list)
    observers: list[Observer] = field(default_factory=list)
    unwritten: Callable[[Group, Allocation, int], None] | None = None  # called for reads of unwritten bytes
    _bases: list[int] = field(default_factory=list)
    _next: int = GLOBAL_WINDOW

    def allocate(self, name: str, data: NDArray[np.uint8], read_only: bool = False) -> Allocation:
        """Allocate global memory for bytes, aligned to 512."""
        allocation = Allocation(name, self._next, data, read_only=read_only)
        self.allocations.append(allocation)
        self._bases.append(allocation.base)
        self._next += -(-(data.size + _GUARD) // _ALIGN) * _ALIGN
        return allocation

    def find_global(self, address: int) -> Allocation | None:
        """Return the allocation that contains a generic address of global memory."""
        number = bisect_right(self._bases, address) - 1
        if number < 0:
            return None
        allocation = self.allocations[number]
        return allocation if address < allocation.base + allocation.size else None

    def load(self, group: Group, space: str, addresses: Addresses, dtype: np.dtype[Any], count: int = 1) -> Array:
        """Return `count` adjacent values from each address: [threads, count]. FaultError for accesses that a GPU
        rejects.
        """
        size = dtype.itemsize * count
        parts = list(self.resolve(group, space, addresses, size, writes=False, align=size))
        if len(parts) == 1 and parts[0][0] is None:
            return _gather(parts[0][1], parts[0][2], dtype, count)
        values = np.empty((len(addresses), count), dtype)
        for chosen, allocation, offsets in parts:
            values[chosen] = _gather(allocation, offsets, dtype, count)
        return values

    def store(self, group: Group, space: str, addresses: Addresses, values: Array) -> None:
        """Store [threads, count] values, adjacent from each address on. FaultError for accesses that a GPU rejects."""
        count = values.shape[1]
        size = values.dtype.itemsize * count
        for chosen, allocation, offsets in self.resolve(group, space, addresses, size, writes=True, align=size):
            _scatter(allocation, offsets, values if chosen is None else values[chosen])

    def resolve(
        self, group: Group, space: str, addresses: Addresses, size: int, *, writes: bool, align: int
    ) -> Iterator[tuple[Array | None, Allocation, Addresses]]:
        """Yield (which of the addresses, None for all; their allocation; their offsets in it), all checked.

        space: global, shared, shared::cluster, local, const, param or "" (generic). addresses: in that space.
        """
        if not len(addresses):
            return
        wrong = addresses & (align - 1)
        if align > 1 and wrong.any():
            address = int(addresses[np.flatnonzero(wrong)[0]])
            verb = "store to" if writes else "load from"
            raise FaultError(
                "misaligned", f"A {size}-byte {verb} {format_address(address)} is not aligned to {align} bytes."
            )
        for chosen, allocation, offsets in self._find(group, space, addresses, size, writes):
            if writes and allocation.read_only:
                raise FaultError("read_only", f"A store to {allocation.name}, which is read-only.")
            if allocation.written is not None:
                self._track(group, allocation, offsets, size, writes)
            for observer in self.observers:
                part = group if chosen is None else group.select(chosen)
                observer(part, space, allocation, offsets, size, writes=writes)
            yield chosen, allocation, offsets

    def _track(self, group: Group, allocation: Allocation, offsets: Addresses, size: int, writes: bool) -> None:
        assert allocation.written is not None
        bytes_of = offsets[:, None] + np.arange(size)
        if writes:
            allocation.written[bytes_of] = True
        elif self.unwritten is not None:
            written = allocation.written[bytes_of].all(axis=1)
            if not written.all():
                self.unwritten(group, allocation, int(offsets[np.flatnonzero(~written)[0]]))

    def _find(
        self, group: Group, space: str, addresses: Addresses, size: int, writes: bool
    ) -> Iterator[tuple[Array | None, Allocation, Addresses]]:
        if space == "param":
            space, addresses = "global", addresses + group.run.parameter_base
        low, high = int(addresses.min()), int(addresses.max())
        if space == "":  # generic
            if low >= GLOBAL_WINDOW:
                space = "global"
            elif low >= SHARED_WINDOW and high < SHARED_WINDOW + WINDOW_SIZE:
                space, addresses = "shared::cluster", addresses - SHARED_WINDOW
                low, high = low - SHARED_WINDOW, high - SHARED_WINDOW
            elif low >= LOCAL_WINDOW and high < LOCAL_WINDOW + WINDOW_SIZE:
                space, addresses = "local", addresses - LOCAL_WINDOW
                low, high = low - LOCAL_WINDOW, high - LOCAL_WINDOW
            else:
                yield from self._split(group, addresses, addresses >> 40, size, writes)
                return
        if space in ("shared", "shared::cta", "shared::cluster"):
            yield from self._find_shared(group, addresses, size, writes)
            return
        if space == "local":
            yield None, group.block.local, _place_local(group, addresses, size)
            return
        allocation = self.find_global(low)
        if allocation is None or high + size > allocation.base + allocation.size:
            yield from self._find_each(addresses, size, writes)
            return
        yield None, allocation, addresses - allocation.base

    def _find_shared(
        self, group: Group, addresses: Addresses, size: int, writes: bool
    ) -> Iterator[tuple[Array | None, Allocation, Addresses]]:
        low, high = int(addresses.min()), int(addresses.max())
        if low < 0 or high >> 32:
            addresses = truncate_address(addresses)
            low, high = int(addresses.min()), int(addresses.max())
        if low >> RANK_SHIFT != high >> RANK_SHIFT:
            ranks = addresses >> RANK_SHIFT
            for rank in np.unique(ranks):
                chosen = np.flatnonzero(ranks == rank)
                for _, allocation, offsets in self._find_shared(group, addresses[chosen], size, writes):
                    yield chosen, allocation, offsets
            return
        allocation = group.find_block(low >> RANK_SHIFT).shared
        offsets = (addresses & OFFSET_MASK) - allocation.base
        _check_bounds(allocation, offsets, addresses, size, writes, "shared memory")
        yield None, allocation, offsets

    def _split(
        self, group: Group, addresses: Addresses, keys: Addresses, size: int, writes: bool
    ) -> Iterator[tuple[Array | None, Allocation, Addresses]]:
        """Yield as `resolve` does for generic addresses of several spaces."""
        if (int(addresses.min()) < LOCAL_WINDOW) or len(np.unique(keys)) == 1:
            raise _find_nothing(int(addresses.min()), writes)
        for key in np.unique(keys):
            chosen = np.flatnonzero(keys == key)
            for inner, allocation, offsets in self._find(group.select(chosen), "", addresses[chosen], size, writes):
                yield chosen if inner is None else chosen[inner], allocation, offsets

    def _find_each(
        self, addresses: Addresses, size: int, writes: bool
    ) -> Iterator[tuple[Array | None, Allocation, Addresses]]:
        numbers = np.searchsorted(np.array(self._bases, np.int64), addresses, side="right") - 1
        for number in np.unique(numbers):
            chosen = np.flatnonzero(numbers == number)
            allocation = self.allocations[number] if number >= 0 else None
            offsets = addresses[chosen] - (allocation.base if allocation else 0)
            if allocation is None:
                raise _find_nothing(int(addresses[chosen[0]]), writes)
            _check_bounds(allocation, offsets, addresses[chosen], size, writes, "global memory")
            yield chosen, allocation, offsets


def _find_nothing(address: int, writes: bool) -> FaultError:
    near = " (a null pointer)" if 0 <= address < 4096 else ""
    return FaultError(
        "out_of_bounds",
        f"{'A store to' if writes else 'A load from'} {format_address(address)}{near}, where no memory is allocated.",
    )


def _place_local(group: Group, addresses: Addresses, size: int) -> Addresses:
    """Return the offsets of addresses in local memory, where each thread has its own range."""
    low, high, room = int(addresses.min()), int(addresses.max()), group.block.local_bytes
    if low < 0 or high + size > room:
        raise FaultError(
            "out_of_bounds",
            f"An access to {format_address(low if low < 0 else high)} of local memory: a thread has {room} bytes.",
        )
    return addresses + group.ids * room


def _check_bounds(
    allocation: Allocation, offsets: Addresses, addresses: Addresses, size: int, writes: bool, what: str
) -> None:
    outside = (offsets < 0) | (offsets + size > allocation.size)
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        verb = "store to" if writes else "load from"
        after = int(offsets[first])
        raise FaultError(
            "out_of_bounds",
            f"A {size}-byte {verb} {format_address(int(addresses[first]))} of {what}: {allocation.name} has"
            f" {allocation.size:,} bytes, and this is byte {after:,}.",
        )


_Address = TypeVar("_Address", int, Addresses)


def truncate_address(address: _Address) -> _Address:
    """Return the 32 bits of an address that an access to shared memory uses. PTX ISA 9.1, 9.7.9.8 (ld)."""
    return address & 0xFFFFFFFF


def format_address(address: int) -> str:
    """Return an address in hexadecimal; one of shared memory as 32 bits."""
    return f"{address:#x}"


def _gather(allocation: Allocation, offsets: Addresses, dtype: np.dtype[Any], count: int) -> Array:
    size = dtype.itemsize
    if allocation.size % size == 0 and allocation.data.ctypes.data % size == 0 and not (offsets % size).any():
        view = allocation.data.view(dtype)
        first = offsets // size
        return view[first[:, None] + np.arange(count)] if count > 1 else view[first][:, None]
    raw = allocation.data[offsets[:, None] + np.arange(size * count)]
    return np.ascontiguousarray(raw).view(dtype)


def _scatter(allocation: Allocation, offsets: Addresses, values: Array) -> None:
    size, count = values.dtype.itemsize, values.shape[1]
    if allocation.size % size == 0 and allocation.data.ctypes.data % size == 0 and not (offsets % size).any():
        first = offsets // size
        allocation.data.view(values.dtype)[first[:, None] + np.arange(count)] = values
        return
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), size * count)
    allocation.data[offsets[:, None] + np.arange(size * count)] = raw


def make_shared(size: int) -> Allocation:
    """Return a block's shared memory, all of it unwritten; addresses start at 1024."""
    size = -(-size // 16) * 16
    return Allocation("shared memory", SHARED_BEGIN, np.zeros(size, np.uint8), np.zeros(size, bool))
