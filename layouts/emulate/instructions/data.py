"""Data movement: mov, ld, st, address conversions. PTX ISA 9.1, 9.7.9."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, Writer, instruction
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.memory import (
    GLOBAL_WINDOW,
    LOCAL_WINDOW,
    OFFSET_MASK,
    RANK_SHIFT,
    SHARED_WINDOW,
    WINDOW_SIZE,
)
from lanescope.emulate.text.program import (
    AddressOperand,
    Operand,
    OperandError,
    Register,
    Statement,
    Symbol,
    VectorOperand,
    require_address,
    require_symbol,
)
from lanescope.ptx.register_types import TYPES, RegisterType

SPACES = (
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "const",
    "param",
    "param::entry",
    "param::func",
)
_BITS = {size: TYPES[f"b{size}"] for size in (8, 16, 32, 64)}
_WATCHED = ("volatile", "acquire", "relaxed", "mmio")
_HINTS = {
    *("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"),
    *("L2::evict_normal", "L2::evict_first", "L2::evict_last", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"),
}
_ACCESSES = {*_WATCHED, *SPACES, *_HINTS, "weak", "cta", "cluster", "gpu", "sys", "v2", "v4", "v8"}
_LOADS = _ACCESSES | {"ca", "cg", "cs", "lu", "cv", "nc"}
_STORES = _ACCESSES | {"release", "wb", "cg", "cs", "wt"}


def as_bits(row: RegisterType) -> RegisterType:
    """Return the untyped type of the same width: moves preserve every bit, also of NaNs."""
    return row if row.bits in (1, 128) else _BITS[row.bits]


@instruction("mov")
def build_move(compiler: Compiler, statement: Statement) -> Action:
    target, source = statement.take(2)
    row = as_bits(compiler.get_type(statement))
    if isinstance(target, VectorOperand) and isinstance(source, VectorOperand):
        if len(target.items) != len(source.items):
            raise OperandError("vectors of different lengths")
        pairs = [
            (compiler.write(a, row), compiler.read(b, row)) for a, b in zip(target.items, source.items, strict=True)
        ]

        def move_each(group: Group) -> None:
            values = [np.array(read(group)) for _, read in pairs]
            for (write, _), value in zip(pairs, values, strict=True):
                write(group, value)

        return move_each
    if isinstance(source, VectorOperand):
        return _pack(compiler, target, source, row)
    if isinstance(target, VectorOperand):
        return _unpack(compiler, target, source, row)
    read, write = compiler.read(source, row), compiler.write(target, row)
    return lambda group: write(group, read(group))


def _pack(compiler: Compiler, target: Operand, source: VectorOperand, row: RegisterType) -> Action:
    """Build mov that joins the parts of a register, lowest first."""
    read, write = compiler.read_all(source, _get_part(source, row)), compiler.write(target, row)
    return lambda group: write(group, read(group).view(row.storage)[:, 0])


def _get_part(vector: VectorOperand, row: RegisterType) -> RegisterType:
    """Return the type of one part of a register; OperandError if it does not have so many."""
    part = _BITS.get(row.bits // len(vector.items)) if vector.items else None
    if part is None or part.bits * len(vector.items) != row.bits:
        raise OperandError(f"{len(vector.items)} parts of {row.bits} bits")
    return part


def _unpack(compiler: Compiler, target: VectorOperand, source: Operand, row: RegisterType) -> Action:
    """Build mov that splits a register into parts, lowest first."""
    part = _get_part(target, row)
    read, write = compiler.read(source, row), compiler.write_all(target, part)

    def unpack(group: Group) -> None:
        registers = np.ascontiguousarray(np.broadcast_to(read(group), (group.count,)))
        write(group, registers.view(part.storage).reshape(group.count, -1))

    return unpack


def find_space(compiler: Compiler, statement: Statement, address: AddressOperand) -> tuple[str, bool]:
    """Return (state space of an access, "" if generic; whether it is a function's own parameter)."""
    space = statement.find_word(SPACES)
    space = {"shared::cta": "shared", "param::entry": "param", "param::func": "param"}.get(space, space)
    if space == "param":
        name = address.base.name if isinstance(address.base, Symbol) else ""
        is_parameter = name in compiler.code.offsets and not (
            compiler.function.entry and any(parameter.name == name for parameter in compiler.function.parameters)
        )
        return space, is_parameter
    return space, False


def _get_access_type(compiler: Compiler, statement: Statement, allowed: set[str]) -> tuple[RegisterType, int]:
    for word in statement.words[1:]:
        if word not in allowed and word not in TYPES:
            raise UnknownInstructionError(statement, f"{statement.opcode}: .{word} is not emulated")
    if len(statement.operands) != 2 + statement.has("L2::cache_hint"):
        raise UnknownInstructionError(statement)
    row = as_bits_signed(compiler.get_type(statement))
    lanes = statement.find_word(("v2", "v4", "v8"))
    return row, int(lanes[1:]) if lanes else 1


def as_bits_signed(row: RegisterType) -> RegisterType:
    """Return the type in which a value is loaded: signed values sign-extend into wider registers."""
    return row if row.kind == "s" else as_bits(row)


@instruction("ld", "ldu")
def build_load(compiler: Compiler, statement: Statement) -> Action:
    target, address = statement.operand(0), require_address(statement.operand(1))
    row, lanes = _get_access_type(compiler, statement, _LOADS)
    space, is_parameter = find_space(compiler, statement, address)
    write = compiler.write_all(target, row)
    if is_parameter:
        base = require_symbol(address.base)
        first = compiler.code.offsets[base.name] + base.offset + address.offset
        size, dtype = row.bytes * lanes, row.dtype

        def load_parameter(group: Group) -> None:
            raw = np.ascontiguousarray(group.frame.parameters[group.threads, first : first + size])
            write(group, raw.view(dtype))

        return load_parameter
    if space == "param" and not compiler.function.entry:
        return _load_by_offset(compiler, address, row.dtype, lanes, write)
    read = compiler.read_address(address)
    dtype, watched = row.dtype, any(statement.has(word) for word in _WATCHED)
    where = "global" if space == "const" else space

    def load(group: Group) -> None:
        addresses = read(group)
        values = group.memory.load(group, where, addresses, dtype, lanes)
        write(group, values)
        if watched:
            group.run.machine.note_poll(group, (addresses.tobytes(), values.tobytes()))

    return load


def _load_by_offset(
    compiler: Compiler, address: AddressOperand, dtype: np.dtype[Any], lanes: int, write: Writer
) -> Action:
    """Build a load of a function's own parameter whose offset is in a register."""
    read = compiler.read_address(address)
    size = dtype.itemsize * lanes

    def load(group: Group) -> None:
        places = read(group)[:, None] + np.arange(size)
        raw = group.frame.parameters[group.ids[:, None], places]
        write(group, np.ascontiguousarray(raw).view(dtype))

    return load


@instruction("st")
def build_store(compiler: Compiler, statement: Statement) -> Action:
    if statement.has("async") or statement.has("bulk"):
        raise UnknownInstructionError(statement)
    address, source = require_address(statement.operand(0)), statement.operand(1)
    row, _ = _get_access_type(compiler, statement, _STORES)
    space, is_parameter = find_space(compiler, statement, address)
    values_of = compiler.read_all(source, row)
    if is_parameter:
        base = require_symbol(address.base)
        first = compiler.code.offsets[base.name] + base.offset + address.offset

        def store_parameter(group: Group) -> None:
            raw = np.ascontiguousarray(values_of(group)).view(np.uint8)
            group.frame.parameters[group.threads, first : first + raw.shape[1]] = raw

        return store_parameter
    read = compiler.read_address(address)

    def store(group: Group) -> None:
        group.memory.store(group, space, read(group), values_of(group))
        group.run.machine.version += 1

    return store


_WINDOWS = {"global": 0, "const": 0, "param": 0, "shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


@instruction("cvta")
def build_address_conversion(compiler: Compiler, statement: Statement) -> Action:
    """Build cvta: addresses of a space to generic ones, or back."""
    target, source = statement.take(2)
    row = compiler.get_type(statement)
    space = statement.find_word((*_WINDOWS, "shared::cta", "shared::cluster", "param::entry")).partition("::")[0]
    if space not in _WINDOWS or (space == "param" and not compiler.function.entry):
        raise UnknownInstructionError(statement)
    read, write = compiler.read(source, row), compiler.write(target, row)
    back = statement.has("to")

    def convert(group: Group) -> None:
        window = np.uint64(group.run.parameter_base if space == "param" else _WINDOWS[space])
        value = read(group).astype(np.uint64)
        write(group, (value - window if back else value + window).astype(row.storage))

    return convert


@instruction("isspacep")
def build_space_test(compiler: Compiler, statement: Statement) -> Action:
    target, source = statement.take(2)
    space = statement.find_word(("global", "local", "shared", "shared::cta", "shared::cluster"))
    if not space or len(statement.words) != 2:  # constant memory lies in global memory here
        raise UnknownInstructionError(statement)
    read, write = compiler.read(source, TYPES["u64"]), compiler.write(target, TYPES["pred"])
    first = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space.partition("::")[0], GLOBAL_WINDOW)

    def test(group: Group) -> None:
        address = read(group).astype(np.int64)
        inside = (address >= first) & (address < first + WINDOW_SIZE)
        if space in ("shared", "shared::cta"):
            inside &= (address - first) >> RANK_SHIFT == group.block.rank
        write(group, inside)

    return test


@instruction("mapa")
def build_cluster_address(compiler: Compiler, statement: Statement) -> Action:
    """Build mapa: the address of the same location in another CTA of the cluster."""
    target, source, rank = statement.take(3)
    row = compiler.get_type(statement)
    read, read_rank, write = compiler.read(source, row), compiler.read(rank, TYPES["u32"]), compiler.write(target, row)
    window = 0 if statement.has("shared::cluster") else SHARED_WINDOW

    def convert(group: Group) -> None:
        inside = (read(group).astype(np.int64) - window) & OFFSET_MASK
        write(group, (window + inside + (read_rank(group).astype(np.int64) << RANK_SHIFT)).astype(row.storage))

    return convert


@instruction("getctarank")
def build_rank_of_address(compiler: Compiler, statement: Statement) -> Action:
    target, source = statement.take(2)
    row = TYPES["u32"] if statement.has("shared::cluster") else TYPES["u64"]
    if isinstance(source, Register) and source.type.bits == 32:
        row = TYPES["u32"]
    read, write = compiler.read(source, row), compiler.write(target, TYPES["u32"])
    window = 0 if statement.has("shared::cluster") else SHARED_WINDOW
    return lambda group: write(group, ((read(group).astype(np.int64) - window) >> RANK_SHIFT).astype(np.uint32))
