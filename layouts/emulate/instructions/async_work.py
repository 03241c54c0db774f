"""Shared parts of asynchronous copies: the issuing threads, memory accesses on their behalf, groups of copies.

PTX ISA 9.1, 9.7.9.25.1: a copy completes at any time between its issue and the wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.machine import Machine, PendingWork
from lanescope.emulate.state.block import Block, Group, simplify
from lanescope.emulate.state.memory import Allocation, FaultError

Bytes = NDArray[np.uint8]
Ids = NDArray[np.int64]


class Issuer(Group):
    """The threads that issued asynchronous work, at its statement. proxy: the one through which it accesses memory."""

    __slots__ = ("proxy",)

    def __init__(self, group: Group, chosen: Any = None, proxy: str = "async") -> None:
        ids = group.ids if chosen is None else group.ids[chosen]
        super().__init__(group.block, group.frame, simplify(ids), group.pc, group.stack)
        self.proxy = proxy

    def select(self, chosen: Any) -> Group:
        """Return some of the threads; a single thread stands for all places that it accesses."""
        return self if self.count == 1 else Issuer(self, chosen, self.proxy)


def load_bytes(issuer: Group, space: str, address: int, size: int) -> Bytes:
    """Return the bytes at an address of the space, checked and observed."""
    allocation, first = resolve_run(issuer, space, address, size, writes=False)
    return allocation.data[first : first + size].copy()


def store_bytes(issuer: Group, space: str, address: int, data: Bytes) -> None:
    """Store bytes at an address of the space, checked and observed."""
    allocation, first = resolve_run(issuer, space, address, data.size)
    allocation.data[first : first + data.size] = data


def resolve_run(issuer: Group, space: str, address: int, size: int, writes: bool = True) -> tuple[Allocation, int]:
    """Return (allocation, offset) of consecutive bytes to be written, or read."""
    unit = _find_unit(address, size)
    addresses = np.arange(address, address + size, unit, dtype=np.int64)
    parts = list(issuer.memory.resolve(issuer, space, addresses, unit, writes=writes, align=1))
    if len(parts) != 1:
        way = "to" if writes else "from"
        raise FaultError("out_of_bounds", f"A copy of {size:,} bytes {way} {address:#x} crosses allocations.")
    _, allocation, offsets = parts[0]
    return allocation, int(offsets[0])


def _find_unit(address: int, size: int) -> int:
    both = address | size | 16
    return both & -both


def _get_committed(block: Block, kind: str) -> Ids:
    """Return how many groups of copies of one kind, cp.async or bulk, each thread of a block has committed."""
    if kind not in block.state:
        block.state[kind] = np.zeros(block.padded, np.int64)
    committed: Ids = block.state[kind]
    return committed


def submit_to_group(group: Group, kind: str, ids: Ids, run: Callable[[], None], read: Callable[[], None]) -> None:
    """Issue work that the next commit makes part of a group.

    run: completes it. read: reads its source, no later than `run`.
    """
    keys = {"group": kind, "ids": ids, "numbers": _get_committed(group.block, kind)[ids], "read": read}
    group.run.machine.submit(PendingWork(kind, run, group.block, group.statement, keys))


def commit_group(group: Group, kind: str) -> None:
    """Commit each thread's open copies as a group."""
    _get_committed(group.block, kind)[group.ids] += 1


def wait_for_groups(group: Group, kind: str, count: int, read_only: bool = False) -> None:
    """Complete all but the last `count` groups of each thread.

    read_only: only read their sources.
    """
    machine, block = group.run.machine, group.block
    limits = np.full(block.padded, -1, np.int64)
    limits[group.ids] = _get_committed(block, kind)[group.ids] - count

    def is_due(work: PendingWork) -> bool:
        if work.block is not block or work.keys.get("group") != kind:
            return False
        return bool((work.keys["numbers"] < limits[work.keys["ids"]]).any())

    _end(machine, is_due, read_only)


def _end(machine: Machine, is_due: Callable[[PendingWork], bool], read_only: bool) -> None:
    if not read_only:
        machine.settle_all(is_due)
        return
    for work in machine.pending:
        if is_due(work):
            work.keys["read"]()
