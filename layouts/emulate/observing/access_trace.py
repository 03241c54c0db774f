"""Observers of memory that make schedules comparable.

They record the writer of every value that a thread reads, and reads without a proxy fence. A write is identified by one
number: block, statement, thread, and how often the thread had executed the statement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.instructions.async_work import Issuer
from lanescope.emulate.machine import Machine
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.memory import Addresses, Allocation
from lanescope.emulate.text.program import Statement

MOST_TRACED = 16 << 20  # bytes of an allocation whose writers are kept
_THREAD, _STATEMENT, _BLOCK = 17, 28, 48  # first bits; below them the count
_ASYNC = ("wgmma", "tcgen05")  # read shared memory through the async proxy
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Access:
    """One access.

    statement: its number in the module. thread: linear index in the block. count: how often the thread had executed the
    statement.
    """

    block: int
    statement: int
    thread: int
    count: int


def decode_access(number: int) -> Access | None:
    """Return the access with this number; None for a value from before the kernel."""
    if number < 0:
        return None
    return Access(
        number >> _BLOCK,
        number >> _STATEMENT & 0xFFFFF,
        number >> _THREAD & 0x7FF,
        number & (1 << _THREAD) - 1,
    )


@dataclass(slots=True)
class Reads:
    """The reads of one statement in one block: [accesses] arrays in execution order."""

    threads: list[Ids] = field(default_factory=list)
    writers: list[Ids] = field(default_factory=list)
    overwritten: list[Ids] = field(default_factory=list)  # the writers before these
    steps: list[Ids] = field(default_factory=list)
    places: list[Ids] = field(default_factory=list)


class AccessTrace:
    """Records the last writer of every byte, and the writer of every value read."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.reads: dict[tuple[int, int], Reads] = {}
        functions = machine.program.module.functions.values()
        self.statements = [statement for function in functions for statement in function.statements]
        self._numbers = {id(statement): number for number, statement in enumerate(self.statements)}
        self._writers: dict[int, tuple[Allocation, Ids]] = {}
        self._before: dict[int, Ids] = {}
        self._counts: dict[tuple[int, int, bool], Ids] = {}
        machine.memory.observers.append(self)

    def __call__(
        self, group: Group, space: str, allocation: Allocation, offsets: Addresses, size: int, *, writes: bool
    ) -> None:
        if allocation.read_only or space == "local" or allocation.size > MOST_TRACED:
            return
        block = group.block
        statement = self._numbers[id(group.statement)]
        ids = group.ids
        threads = ids if len(ids) == len(offsets) else ids[:1]
        number = block.linear_index
        counts = self._counts.setdefault((number, statement, writes), np.zeros(block.padded, np.int64))
        counts[threads] += 1
        bytes_of = offsets[:, None] + np.arange(size)
        writers, before = self.get_writers(allocation), self._before[id(allocation)]
        if writes:
            before[bytes_of] = writers[bytes_of]
            names = (number << _BLOCK) | (statement << _STATEMENT) | (threads << _THREAD) | counts[threads]
            writers[bytes_of] = names[:, None]
            return
        reads = self.reads.setdefault((number, statement), Reads())
        reads.threads.append(np.broadcast_to(threads, offsets.shape))
        previous = writers[bytes_of]
        latest = np.argmax(previous, axis=1)[:, None]
        reads.writers.append(np.take_along_axis(previous, latest, 1)[:, 0])
        reads.overwritten.append(np.take_along_axis(before[bytes_of], latest, 1)[:, 0])
        reads.steps.append(np.full(len(offsets), self.machine.steps))
        reads.places.append(offsets + allocation.base)

    def get_writers(self, allocation: Allocation) -> Ids:
        """Return the last writer of each byte of an allocation, -1 for none."""
        key = id(allocation)
        if key not in self._writers:
            self._writers[key] = (allocation, np.full(allocation.size, -1, np.int64))
            self._before[key] = np.full(allocation.size, -1, np.int64)
        return self._writers[key][1]


class ProxyWatch:
    """Reports async-proxy reads of generic-proxy writes without a fence.proxy.async between them."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._steps: dict[int, tuple[Allocation, Ids, Ids]] = {}
        self._lines: dict[int, Statement] = {}
        machine.memory.observers.append(self)

    def __call__(
        self, group: Group, space: str, allocation: Allocation, offsets: Addresses, size: int, *, writes: bool
    ) -> None:
        if allocation.written is None:  # shared memory alone keeps that
            return
        key = id(allocation)
        if key not in self._steps:
            blank = np.full(allocation.size, -1, np.int64)
            self._steps[key] = (allocation, blank, blank.copy())
        _, steps, threads = self._steps[key]
        bytes_of = offsets[:, None] + np.arange(size)
        through_async = group.proxy == "async" if isinstance(group, Issuer) else group.statement.words[0] in _ASYNC
        if writes:
            steps[bytes_of] = -1 if through_async else self.machine.steps
            if not through_async:
                ids = group.ids
                threads[bytes_of] = (ids if len(ids) == len(offsets) else ids[:1])[:, None]
                self._lines[self.machine.steps] = group.statement
        elif through_async:
            self._check(group, steps[bytes_of].reshape(-1), threads[bytes_of].reshape(-1), allocation)

    def _check(self, group: Group, steps: Ids, threads: Ids, allocation: Allocation) -> None:
        owner = next((block for block in group.run.blocks if block.shared is allocation), None)
        if owner is None:
            return
        issued = int(group.block.fenced[group.ids].max())
        bare = (steps >= 0) & (steps > issued) & (steps > owner.fenced[threads])
        if not bare.any():
            return
        first = int(np.flatnonzero(bare)[0])
        written = self._lines[int(steps[first])]
        statement = group.statement
        self.machine.report(
            "missing_proxy_fence",
            f"{statement.opcode.partition('.shared')[0]} reads shared memory through the async proxy that thread"
            f" {int(threads[first])} wrote in line {written.line}{_format_place(written)}; neither that thread nor the"
            " one that issues it executed fence.proxy.async since. Put fence.proxy.async after the stores, before"
            " the barrier",
            statement,
            "warning",
        )


def _format_place(statement: Statement) -> str:
    return f" ({statement.place.brief})" if statement.place else ""


def sort_by_thread(reads: Reads) -> tuple[Any, ...]:
    """Return a statement's reads sorted by thread, then time.

    As arrays: threads, writers, steps, places and overwritten writers.
    """
    parts = reads.threads, reads.writers, reads.steps, reads.places, reads.overwritten
    columns = [np.concatenate(part) for part in parts]
    order = np.argsort(columns[0], kind="stable")
    return tuple(column[order] for column in columns)
