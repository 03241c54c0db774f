"""wmma.load and wmma.store: fragments from and to matrices in memory. PTX ISA 9.1, 9.7.14.4.3 and 9.7.14.4.4.

PTX leaves the layout of fragments to the architecture; these maps are those of an H100 (sm_90). For another target the
run has a note: only code that accesses single elements of a fragment can observe the difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.data import find_space
from lanescope.emulate.instructions.fragments import bind_instruction, read_registers, take_full_warps, write_registers
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Operand, Statement, require_address
from lanescope.ptx import fragment_words
from lanescope.ptx.register_types import STORAGE, TYPES
from lanescope.ptx.threads import WARP
from lanescope.ptx.wmma import check_pointer, get_default_stride

Array = NDArray[Any]
NOTE = "measured_fragment"


class _MatrixAccess:
    """The positions in memory of the elements of a warp's fragment."""

    def __init__(self, compiler: Compiler, statement: Statement, address: Operand, stride: Operand | None) -> None:
        address = require_address(address)
        self.statement, self.target = statement, compiler.module.target
        self.bound = bind_instruction(statement)
        (self.op,) = self.bound.operands.values()
        (self.layout,) = self.bound.syntax.layouts
        self.bits = self.op.element.bits
        self.space, _ = find_space(compiler, statement, address)
        self.read = compiler.read_address(address)
        self.read_stride = None if stride is None else compiler.read(stride, TYPES["u32"])

    def locate(self, group: Group) -> tuple[Array, Array]:
        """Return (byte addresses, first bit within that byte) of every value: int64 [threads, values]."""
        take_full_warps(group, self.statement)
        if not self.target.startswith("sm_90"):
            self._note(group)
        bases = self._take_uniform(self.read(group), "the address")
        if self.read_stride is None:
            strides = np.full_like(bases, get_default_stride(self.op, self.layout))
        else:
            strides = self._take_uniform(np.broadcast_to(self.read_stride(group), (group.count,)), "the stride")
        for base, stride in zip(bases.tolist(), strides.tolist(), strict=True):
            self._check(base, stride)
        first, second = (self.op.rows, self.op.cols) if self.layout == "row" else (self.op.cols, self.op.rows)
        index = strides[:, None, None].astype(np.int64) * first + second  # [warps, 32, values]
        at = index * self.bits
        located = bases[:, None, None].astype(np.int64) + at // 8
        return located.reshape(group.count, -1), (at % 8).reshape(group.count, -1)

    def _check(self, base: int, stride: int) -> None:
        """Raise UnknownInstructionError for a pointer or stride that neither PTX nor CUDA C++ defines."""
        rules = {rule.name: rule for rule in check_pointer(self.op, base, stride, self.layout)}
        for what in ("pointer", "ldm"):
            if not (rules[f"PTX {what}"].holds or rules[f"CUDA C++ {what}"].holds):
                text = rules[f"CUDA C++ {what}"].text
                raise UnknownInstructionError(self.statement, f"{what} of wmma: {text}. The behavior is undefined")

    def _take_uniform(self, values: Array, what: str) -> Array:
        by_warp = values.reshape(-1, WARP)
        if (by_warp != by_warp[:, :1]).any():
            raise UnknownInstructionError(self.statement, f"{what} of wmma differs between the lanes of a warp")
        firsts: Array = by_warp[:, 0]
        return firsts

    def _note(self, group: Group) -> None:
        machine = group.run.machine
        if not any(finding.code == NOTE for finding in machine.findings):
            machine.report(
                NOTE,
                f"Fragments of wmma have the layout measured on sm_90; that of {self.target} may differ",
                self.statement,
                "note",
            )


@instruction("wmma.load")
def build_fragment_load(compiler: Compiler, statement: Statement) -> Action:
    target, address, *stride = statement.take(2, more=True)
    access = _MatrixAccess(compiler, statement, address, stride[0] if stride else None)
    op, bits = access.op, access.bits
    dtype, write = STORAGE[max(bits, 8)], write_registers(compiler, target, op)

    def load(group: Group) -> None:
        addresses, shifts = access.locate(group)
        values = np.empty(addresses.shape, np.uint64)
        for value in range(addresses.shape[1]):
            values[:, value] = group.memory.load(group, access.space, addresses[:, value], dtype)[:, 0]
        if bits < 8:
            values = values >> shifts.astype(np.uint64) & np.uint64((1 << bits) - 1)
        write(group, fragment_words.pack_values(op, values.reshape(-1, WARP, op.values)))

    return load


@instruction("wmma.store")
def build_fragment_store(compiler: Compiler, statement: Statement) -> Action:
    address, source, *stride = statement.take(2, more=True)
    access = _MatrixAccess(compiler, statement, address, stride[0] if stride else None)
    op = access.op
    dtype, read = STORAGE[access.bits], read_registers(compiler, source, op)

    def store(group: Group) -> None:
        addresses, _ = access.locate(group)
        values = fragment_words.unpack_values(op, read(group)).reshape(group.count, -1).astype(dtype)
        for value in range(values.shape[1]):
            group.memory.store(group, access.space, addresses[:, value], values[:, value : value + 1])
        group.run.machine.version += 1

    return store
