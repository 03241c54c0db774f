"""wgmma.mma_async, dense and sparse, what it reads by descriptors, its fences and its groups. PTX ISA 9.1, 9.7.15.

Each warp has its own queue of groups and multiplies its own 16 rows of D; warps of a warpgroup at the same statement
are computed together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.bits import format_word
from lanescope.descriptor import matrix
from lanescope.descriptor.matrix import SHARED_BEGIN, WINDOW_BYTES, Descriptor, View, compute_chunk_addresses
from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.fragments import (
    MatrixEvent,
    bind_instruction,
    decode,
    encode,
    record_event,
    require_number,
    take_full_warps,
    unpack_matrix,
    write_registers,
)
from lanescope.emulate.instructions.hopper_sums import add_products, is_known
from lanescope.emulate.instructions.matrices import name_operands, spread_metadata
from lanescope.emulate.instructions.sums import count_digits, is_exact, note_inexact
from lanescope.emulate.machine import PendingWork
from lanescope.emulate.state.block import Group, Wait
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.state.wgmma_order import Issued, collect_slots, get_queues, watch_registers
from lanescope.emulate.text.program import Operand, Statement, VectorOperand
from lanescope.errors import LayoutError
from lanescope.ptx import fragment_words
from lanescope.ptx.register_types import TYPES
from lanescope.ptx.threads import GROUP_WARPS, WARP, WARPGROUP

Array = NDArray[Any]
CHUNK = 16


@dataclass(frozen=True, slots=True)
class _Issue:
    """One wgmma as issued by a warpgroup, or by those of its warps at the statement. group: those threads."""

    group: Group
    word_a: int
    word_b: int
    adds: bool
    complete: bool  # all four warps


class _Wgmma:
    """One wgmma.mma_async statement."""

    def __init__(self, compiler: Compiler, statement: Statement) -> None:
        self.statement = statement
        self.bound = bound = bind_instruction(statement)
        self.from_registers = isinstance(statement.operand(1), VectorOperand)
        self.named = named = name_operands(bound, statement, "registers" if self.from_registers else "shared")
        ops = bound.operands
        self.immediates = self._read_immediates()
        self.read_d = compiler.read_all(named["d"], TYPES["b32"])
        self.write_d = write_registers(compiler, named["d"], ops["d"])
        self.read_a = compiler.read_all(named["a"], TYPES["b32"]) if self.from_registers else None
        self.word_a = None if self.from_registers else compiler.read(named["a_desc"], TYPES["b64"])
        self.word_b = compiler.read(named["b_desc"], TYPES["b64"])
        self.scale_d = compiler.read(named["scale_d"], TYPES["pred"])
        sparse = ops["a"].sparsity is not None
        self.metadata = compiler.read_all(named["e"], TYPES["b32"]) if sparse else None
        self.selector = require_number(named["f"], statement, "the sparsity selector") if sparse else 0
        self.view_a = matrix.view(bound, "a", self._get_major("a"))
        self.view_b = matrix.view(bound, "b", self._get_major("b"))
        self.d_slots = collect_slots(named["d"])
        self.a_slots = collect_slots(named["a"]) if self.from_registers else frozenset()
        self.target = compiler.module.target
        self.digits, self.saturates = count_digits(bound), "satfinite" in bound.modifiers
        watch_registers(compiler.code)

    def _read_immediates(self) -> dict[str, int]:
        immediates = {}
        for name, legal in (("imm_scale", (1, -1)), ("imm_trans", (0, 1))):
            for letter in "ab":
                operand: Operand | None = self.named.get(f"{name}_{letter}")
                if operand is not None:
                    value = require_number(operand, self.statement, name.replace("_", "-"))
                    if value not in legal:
                        raise UnknownInstructionError(self.statement, f"{name.replace('_', '-')}-{letter} is {value}")
                    immediates[f"{name.removeprefix('imm_')}_{letter}"] = value
        return immediates

    def _get_major(self, letter: str) -> str:
        return "MN" if self.immediates.get(f"trans_{letter}") else "K"

    def issue(self, group: Group) -> None:
        """Issue it for every warpgroup of the group."""
        machine = group.run.machine
        for part in self._list_issues(group):
            self._check(part)
            issued = Issued(self.statement, self.d_slots, self.a_slots)
            queues = get_queues(part.group.block)
            chained = queues.note_issue(part.group, issued)
            if machine.recorders:
                self._record(part, issued, chained)
            work = PendingWork("wgmma", partial(self._multiply, part), group.block, self.statement)
            issued.work = work
            machine.submit(work)
            machine.log("wgmma", part.group, instruction=self.bound.ptx)

    def _list_issues(self, group: Group) -> Iterator[_Issue]:
        warps = take_full_warps(group, self.statement)
        a = self._read_uniform(group, self.word_a, "descriptor A")
        b = self._read_uniform(group, self.word_b, "descriptor B")
        adds = self._read_uniform(group, self.scale_d, "scale-d")
        ids = group.ids // WARPGROUP
        for number in np.unique(warps // GROUP_WARPS):
            in_warpgroup = warps // GROUP_WARPS == number
            for what, values in (("descriptor A", a), ("descriptor B", b), ("scale-d", adds)):
                if len(np.unique(values[in_warpgroup])) > 1:
                    raise UnknownInstructionError(
                        self.statement, f"{what} of wgmma differs between warps of a warpgroup"
                    )
            part = group.select(ids == number)
            yield _Issue(
                part,
                int(a[in_warpgroup][0]),
                int(b[in_warpgroup][0]),
                bool(adds[in_warpgroup][0]),
                int(in_warpgroup.sum()) == GROUP_WARPS,
            )

    def _read_uniform(self, group: Group, read: Any, what: str) -> Array:
        """Return an operand's value in every warp; UnknownInstructionError where lanes differ, which is undefined."""
        if read is None:
            return np.zeros(group.count // WARP, np.uint64)
        values = np.broadcast_to(read(group), (group.count,)).reshape(-1, WARP)
        if (values != values[:, :1]).any():
            raise UnknownInstructionError(self.statement, f"{what} of wgmma differs between the lanes of a warp")
        firsts: Array = values[:, 0]
        return firsts

    def _check(self, part: _Issue) -> None:
        if not self.from_registers:
            check_reads(part.group, part.word_a, self.view_a, "A")
        check_reads(part.group, part.word_b, self.view_b, "B")

    def _spread_threads(self, part: _Issue, values: Array) -> Array:
        """Return registers [threads, count] of the present warps as those of a complete warpgroup."""
        if part.complete:
            return values
        spread = np.zeros((WARPGROUP, values.shape[1]), values.dtype)
        spread[part.group.ids % WARPGROUP] = values
        return spread

    def _read_matrix_a(self, part: _Issue) -> Array:
        """Return the dense A, [64, k]."""
        op = self.bound.operands["a"]
        if self.read_a is not None:
            registers = self._spread_threads(part, self.read_a(part.group))
            bits = unpack_matrix(op, registers[None], self.statement)[0]
        else:
            bits = read_described(part.group, part.word_a, self.view_a)
        values = decode(bits, op.element.name)
        if self.metadata is not None:
            words = self._spread_metadata_words(part)
            dense = spread_metadata(self.bound, values[None, ..., None], words, self.selector, self.statement)
            values = dense[0, ..., 0]
        scale = self.immediates.get("scale_a", 1)
        return values * scale if scale < 0 else values

    def _spread_metadata_words(self, part: _Issue) -> Array:
        assert self.metadata is not None
        words = self.metadata(part.group)
        if part.complete:
            return words.reshape(1, -1)
        legal = np.full((WARPGROUP, 1), 0x44444444, words.dtype)  # of absent warps; their rows are dropped
        legal[part.group.ids % WARPGROUP] = words
        return legal.reshape(1, -1)

    def _multiply(self, part: _Issue) -> None:
        bound, group = self.bound, part.group
        a = self._read_matrix_a(part)
        b = decode(read_described(group, part.word_b, self.view_b), bound.types["b"]).T
        if self.immediates.get("scale_b", 1) < 0:
            b = -b
        op = bound.operands["d"]
        c = None
        if part.adds:
            registers = self._spread_threads(part, self.read_d(group))
            c = decode(fragment_words.unpack(op, registers[None])[0][0], bound.types["d"])
        with np.errstate(invalid="ignore", over="ignore"):
            total = a @ b if c is None else a @ b + c
        if bound.types["d"] != "s32" and not is_exact(a, b, c, self.digits):
            known = is_known(bound, self.target)
            note_inexact(group, self.statement, known)
            total = add_products(bound, a, b, c) if known else total
        packed = fragment_words.pack(op, encode(total, bound.types["d"], self.saturates)[None])[0]
        self.write_d(group, packed if part.complete else packed[group.ids % WARPGROUP])

    def _record(self, part: _Issue, issued: Issued, chained: bool) -> None:
        """Report it to recorders: A and C in registers, then the instruction; D when the program reads it."""
        group = part.group
        if self.read_a is not None:
            record_event(self._make_fragment(group, "A", self.read_a(group)))
        if part.adds and not chained:
            c = self.read_d(group)
            if c.any():
                record_event(self._make_fragment(group, "C", c))
        first = group.first // WARPGROUP * WARPGROUP
        if group.first == first:  # once a warpgroup
            words = {"a": [part.word_a], "b": [part.word_b]}
            record_event(MatrixEvent("wgmma", group, self.statement, self.bound, (first,), words, self.immediates))
        issued.snapshot = lambda: self._make_fragment(group, "D", self.read_d(group))

    def _make_fragment(self, group: Group, label: str, values: Array) -> MatrixEvent:
        firsts = tuple(int(warp) * WARP for warp in group.warps)
        registers = {"a" if label == "A" else "d": values.reshape(len(firsts), WARP, -1)}
        return MatrixEvent("fragment", group, self.statement, self.bound, firsts, registers=registers, label=label)


@instruction("wgmma.mma_async")
def build_wgmma(compiler: Compiler, statement: Statement) -> Action:
    return _Wgmma(compiler, statement).issue


@instruction("wgmma.fence")
def build_fence(compiler: Compiler, statement: Statement) -> Action:
    watch_registers(compiler.code)

    def fence(group: Group) -> None:
        take_full_warps(group, statement)
        get_queues(group.block).fence(group)

    return fence


@instruction("wgmma.commit_group")
def build_commit(compiler: Compiler, statement: Statement) -> Action:
    def commit(group: Group) -> None:
        take_full_warps(group, statement)
        get_queues(group.block).commit(group)
        group.run.machine.log("wgmma_commit", group)

    return commit


@instruction("wgmma.wait_group")
def build_wait(compiler: Compiler, statement: Statement) -> Action:
    most = require_number(statement.operand(0), statement, "the number of groups")

    def wait(group: Group) -> None:
        take_full_warps(group, statement)
        queues = get_queues(group.block)
        group.run.machine.log("wgmma_wait", group, pending=most)
        if queues.is_met(group, most):
            queues.wait(group, most)
            return

        def ready() -> bool:
            if not queues.is_met(group, most):
                return False
            queues.wait(group, most)
            return True

        group.wait = Wait("wgmma", "the other warps of the warpgroup to issue the same wgmma", ready)

    return wait


@lru_cache(maxsize=4096)
def find_chunks(word: int, view: View) -> tuple[Array, int, int]:
    """Return the 16-byte chunks that a descriptor reads, counted from the block's first byte; and the first and last.

    FaultError `bad_descriptor` where its mode is reserved.
    """
    try:
        _ = Descriptor(word).mode
    except LayoutError as error:
        raise FaultError("bad_descriptor", f"The matrix descriptor {format_word(word)}: {error.message}") from None
    chunks = (compute_chunk_addresses(word, view) - SHARED_BEGIN) // CHUNK
    chunks.flags.writeable = False
    return chunks, int(chunks.min()), int(chunks.max())


def check_reads(group: Group, word: int, view: View, letter: str) -> None:
    """Raise FaultError where a descriptor reads outside the block's shared memory: an illegal address on an H200."""
    _, first, last = find_chunks(word, view)
    size = group.block.shared.size
    if first < 0 or (last + 1) * CHUNK > size:
        address = SHARED_BEGIN + (first if first < 0 else last) * CHUNK
        past = ", past what a descriptor can address" if address >= WINDOW_BYTES else ""
        raise FaultError(
            "out_of_bounds",
            f"Descriptor {letter} {format_word(word)} reads shared memory at {address:#x}{past}; the block has"
            f" {size:,} bytes from {SHARED_BEGIN:#x} on.",
        )


def read_described(group: Group, word: int, view: View) -> Array:
    """Return element bits [rows, k] as stored in shared memory; reads of unwritten bytes are reported."""
    chunks, _, _ = find_chunks(word, view)
    shared, memory = group.block.shared, group.memory
    if shared.written is not None and memory.unwritten is not None:
        written = shared.written.reshape(-1, CHUNK)[chunks].all(axis=-1)
        if not written.all():
            memory.unwritten(group, shared, int(chunks[~written].min()) * CHUNK)
    for observer in memory.observers:
        observer(group, "shared", shared, np.unique(chunks) * CHUNK, CHUNK, writes=False)
    data = shared.data.reshape(-1, CHUNK)[chunks]  # [rows, chunks, 16], or [chunks of rows, k, 16]
    bits = _split(data, view.bits)
    if view.major == "K":
        return bits.reshape(view.rows, view.k)
    return bits.transpose(0, 2, 1).reshape(view.rows, view.k)


def _split(data: Array, bits: int) -> Array:
    """Return the elements of 16-byte chunks, low bits first: [..., elements]."""
    if bits < 8:
        single = np.unpackbits(data, axis=-1, bitorder="little")
        if bits == 1:
            return single
        return np.packbits(single.reshape(*data.shape[:-1], -1, bits), axis=-1, bitorder="little")[..., 0]
    return data.view({8: np.uint8, 16: np.uint16, 32: np.uint32}[bits])
