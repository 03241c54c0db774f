"""The state of one CTA: groups of threads with a common program counter, their registers, shared and local memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.state.memory import RANK_SHIFT, Allocation, Memory, make_shared
from lanescope.emulate.text.program import Statement
from lanescope.ptx.register_types import STORAGE
from lanescope.ptx.threads import WARP

if TYPE_CHECKING:
    from lanescope.emulate.code import Code
    from lanescope.emulate.state.cluster_run import ClusterRun

Array = NDArray[Any]
Threads = slice | NDArray[np.int64]


class Frame:
    """Registers and parameters of one function, for all threads of a block; register values are [threads]."""

    __slots__ = ("carry", "code", "depth", "local_base", "parameters", "registers")

    def __init__(self, code: Code, depth: int, threads: int, local_base: int) -> None:
        self.code, self.depth, self.local_base = code, depth, local_base
        slots: dict[int, list[int]] = {}
        for slot, row in enumerate(code.function.registers):
            slots.setdefault(row.bits, []).append(slot)
        self.registers: list[Array] = [np.empty(0)] * len(code.function.registers)
        for bits, numbers in slots.items():
            values = np.zeros((len(numbers), threads), STORAGE[bits])
            for number, slot in enumerate(numbers):
                self.registers[slot] = values[number]
        self.parameters = np.zeros((threads, code.parameter_bytes), np.uint8)
        self.carry = np.zeros(threads, bool)  # CC.CF


@dataclass(slots=True)
class Call:
    """The return address of a group."""

    frame: Frame
    pc: int
    statement: Statement


@dataclass(slots=True)
class Wait:
    """Why a group is suspended. ready: whether it may continue; what: words for reports; facts: for programs."""

    kind: str
    what: str
    ready: Callable[[], bool]
    facts: dict[str, Any] = field(default_factory=dict)


class Group:
    """Converged threads of a block: one program counter. threads: a slice or sorted indices."""

    __slots__ = ("block", "frame", "pc", "polls", "stack", "threads", "wait", "yields")

    def __init__(self, block: Block, frame: Frame, threads: Threads, pc: int = 0, stack: tuple[Call, ...] = ()) -> None:
        self.block, self.frame, self.threads, self.pc, self.stack = block, frame, threads, pc, stack
        self.wait: Wait | None = None
        self.yields = 0  # number of times it yielded to others
        self.polls = 0  # polls of a value that others change, since its last other action

    @property
    def ids(self) -> NDArray[np.int64]:
        """The threads' linear indices in the block."""
        threads = self.threads
        return np.arange(threads.start, threads.stop) if isinstance(threads, slice) else threads

    @property
    def count(self) -> int:
        threads = self.threads
        return threads.stop - threads.start if isinstance(threads, slice) else len(threads)

    @property
    def first(self) -> int:
        threads = self.threads
        return threads.start if isinstance(threads, slice) else int(threads[0])

    @property
    def warps(self) -> tuple[int, ...]:
        return tuple(int(warp) for warp in np.unique(self.ids // WARP))

    @property
    def statement(self) -> Statement:
        """The instruction at the program counter."""
        return self.frame.code.function.statements[self.pc]

    @property
    def memory(self) -> Memory:
        return self.block.run.memory

    @property
    def run(self) -> ClusterRun:
        return self.block.run

    def find_block(self, rank: int) -> Block:
        """Return the CTA of the cluster with a rank, as in an address of shared memory."""
        return self.block if rank == self.block.rank else self.block.run.find_block(rank, self.statement)

    def select(self, chosen: Array) -> Group:
        """Return some of the threads as a new group. chosen: a mask or indices into this group."""
        group = Group(self.block, self.frame, simplify(self.ids[chosen]), self.pc, self.stack)
        return group

    def take_complete_warps(self) -> NDArray[np.int64]:
        """Return the warps of the group.

        NotConvergedError where threads of a warp have not arrived at the statement, as `.aligned` requires.
        """
        ids = self.ids
        warps = np.unique(ids // WARP)
        lanes = warps[:, None] * WARP + np.arange(WARP)
        if self.block.live[lanes].sum() != len(ids):
            missing = np.setdiff1d(lanes[self.block.live[lanes]], ids)
            raise NotConvergedError(ids[np.isin(ids // WARP, missing // WARP)], missing, aligned=True)
        return warps


class NotConvergedError(Exception):
    """Some threads of a group must wait for others of their warp.

    ids: who waits; missing: for whom; aligned: whether the statement requires that all threads of the warp execute it
    together.
    """

    def __init__(self, ids: NDArray[np.int64], missing: NDArray[np.int64], aligned: bool = False) -> None:
        super().__init__()
        self.ids, self.missing, self.aligned = ids, missing, aligned


def simplify(ids: NDArray[np.int64]) -> Threads:
    """Return sorted thread indices as a slice where they are consecutive."""
    first, last = int(ids[0]), int(ids[-1])
    return slice(first, last + 1) if last - first + 1 == len(ids) else ids


@dataclass(slots=True)
class NamedBarrier:
    """A barrier of bar and barrier: the arrivals of the current phase. expected: threads, 0 until specified."""

    expected: int = 0
    arrived: int = 0
    phase: int = 0
    groups: list[tuple[Statement, tuple[int, ...]]] = field(default_factory=list)
    votes: list[Array] = field(default_factory=list)
    outcome: dict[int, Array] = field(default_factory=dict)


class Block:
    """One CTA. index: ctaid; rank: in the cluster; live: [threads], not exited."""

    def __init__(
        self,
        run: ClusterRun,
        index: tuple[int, int, int],
        rank: int,
        entry: Code,
        shape: tuple[int, int, int],
        *,
        shared: int,
    ) -> None:
        self.run, self.index, self.rank, self.shape = run, index, rank, shape
        self.thread_count = shape[0] * shape[1] * shape[2]
        self.padded = -(-self.thread_count // WARP) * WARP
        self.live = np.zeros(self.padded, bool)
        self.live[: self.thread_count] = True
        self.shared = make_shared(shared)
        self.local_bytes = 0
        self.local = Allocation("local memory", 0, np.zeros(0, np.uint8))
        self.frames: dict[tuple[str, int, int], Frame] = {}
        self.barriers: dict[int, NamedBarrier] = {}
        self.special: dict[str, Array] = {}
        self.synced = np.full(self.padded, -1, np.int64)  # step of a thread's last barrier or fence
        self.fenced = np.full(self.padded, -1, np.int64)  # step of its last fence.proxy
        self.state: dict[str, Any] = {}  # state of instructions: mbarriers, tensor memory, groups of copies
        self.entry = entry

    @property
    def linear_index(self) -> int:
        x, y, z = self.index
        grid = self.run.grid
        return x + grid[0] * (y + grid[1] * z)

    @property
    def shared_rank_bits(self) -> int:
        return self.rank << RANK_SHIFT

    def get_frame(self, code: Code, depth: int, local_base: int) -> Frame:
        """Return the registers of a function at a call depth; threads in it at the same time share the arrays."""
        key = (code.function.name, depth, local_base)
        if key not in self.frames:
            self.frames[key] = Frame(code, depth, self.padded, local_base)
        frame = self.frames[key]
        self.reserve_local(local_base + code.local_bytes)
        return frame

    def reserve_local(self, size: int) -> None:
        """Ensure that every thread has at least this much local memory."""
        size = -(-size // 16) * 16
        if size > self.local_bytes:
            data = np.zeros((self.padded, size), np.uint8)
            data[:, : self.local_bytes] = self.local.data.reshape(self.padded, self.local_bytes)
            self.local_bytes, self.local = size, Allocation("local memory", 0, data.reshape(-1))

    def free(self) -> None:
        """Free registers and local memory, once every thread has exited."""
        self.frames, self.special, self.local_bytes = {}, {}, 0
        self.local = Allocation("local memory", 0, np.zeros(0, np.uint8))

    def make_groups(self, by_warp: bool) -> list[Group]:
        """Return the threads at the entry's first statement as groups: one, or one per warp."""
        frame = self.get_frame(self.entry, 0, 0)
        step = WARP if by_warp else self.padded
        return [
            Group(self, frame, slice(first, min(first + step, self.thread_count)))
            for first in range(0, self.thread_count, step)
        ]
