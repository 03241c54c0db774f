"""Logic, shifts, bit fields and bytes. PTX ISA 9.1, 9.7.1.14 to 9.7.1.22, 9.7.8 and 9.7.9.7 (prmt)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.arithmetic import apply, apply_types, check_words
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Immediate, PairOperand, Statement
from lanescope.emulate.text.types import TYPES

Array = NDArray[Any]
_U32 = TYPES["u32"]
_LOGIC = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}
_BYTE = np.uint32(0xFF)


def shift_left(value: Array, count: Array) -> Array:
    """Return values shifted left; an amount of at least the width gives 0."""
    bits = value.dtype.itemsize * 8
    safe = np.minimum(count, bits - 1).astype(value.dtype)
    return np.asarray(np.where(np.asarray(count) >= bits, value.dtype.type(0), value << safe))


def shift_right(value: Array, count: Array) -> Array:
    """Return values shifted right; an amount of at least the width gives the sign, or 0."""
    bits = value.dtype.itemsize * 8
    shifted: Array = np.asarray(value >> np.minimum(count, bits - 1).astype(value.dtype))
    if value.dtype.kind == "i":
        return shifted
    return np.asarray(np.where(np.asarray(count) >= bits, value.dtype.type(0), shifted))


def _make_mask(count: Array, dtype: np.dtype[Any]) -> Array:
    """Return masks of that many low bits."""
    return np.asarray(shift_left(np.ones((), dtype), count) - dtype.type(1))


@instruction(*_LOGIC)
def build_logic(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ())
    if row.kind not in ("b", "pred"):
        raise UnknownInstructionError(statement)
    return apply(compiler, statement, row, _LOGIC[statement.words[0]])


@instruction("cnot")
def build_logical_not(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ())
    return apply(compiler, statement, row, lambda a: (a == 0).astype(row.dtype))


@instruction("shl", "shr")
def build_shift(compiler: Compiler, statement: Statement) -> Action:
    """Build shl and shr: shift by an unsigned 32-bit amount, clamped to the width."""
    (row,) = check_words(statement, ())
    if row.kind not in "usb" or row.bits not in (16, 32, 64):
        raise UnknownInstructionError(statement)
    shift = shift_left if statement.words[0] == "shl" else shift_right
    return apply_types(compiler, statement, row, [row, _U32], lambda a, b: shift(np.asarray(a), b))


@instruction("shf")
def build_funnel_shift(compiler: Compiler, statement: Statement) -> Action:
    """Build shf: shift 64 bits, the second operand above the first, and return one half."""
    check_words(statement, ("l", "r", "clamp", "wrap"))
    left, clamps = statement.words[1] == "l", statement.has("clamp")
    word = np.uint64(32)

    def shift(a: Array, b: Array, c: Array) -> Array:
        count = (np.minimum(c, np.uint32(32)) if clamps else c & np.uint32(31)).astype(np.uint64)
        both = (b.astype(np.uint64) << word) | a
        return ((both << count) >> word if left else both >> count).astype(np.uint32)

    return apply(compiler, statement, TYPES["b32"], shift)


@instruction("lop3")
def build_table_logic(compiler: Compiler, statement: Statement) -> Action:
    """Build lop3: combine three words by a table of 8 bits.

    With .or or .and, also a predicate: whether any bit is set.
    """
    (row,) = check_words(statement, ("or", "and"))
    combine = {"or": np.logical_or, "and": np.logical_and}.get(statement.find_word(("or", "and")))
    target, *sources = statement.take(1, more=True)
    if row.name != "b32" or (combine is not None) != (len(sources) == 5) or len(sources) not in (4, 5):
        raise UnknownInstructionError(statement)
    if not isinstance(sources[3], Immediate) or (combine is not None) != isinstance(target, PairOperand):
        raise UnknownInstructionError(statement)
    table = int(sources[3].value)
    readers = [compiler.read(source, row) for source in sources[:3]]
    first = target.first if isinstance(target, PairOperand) else target
    write = compiler.write(first, row)
    if combine is None or not isinstance(target, PairOperand):
        return lambda group: write(group, look_up(table, *(read(group) for read in readers)))
    condition, write_flag = compiler.read(sources[4], TYPES["pred"]), compiler.write(target.second, TYPES["pred"])

    def act(group: Group) -> None:
        value = look_up(table, *(read(group) for read in readers))
        combined = combine(value != 0, condition(group))
        write(group, value)
        write_flag(group, combined)

    return act


def look_up(table: int, a: Array, b: Array, c: Array) -> Array:
    """Return the bits of a table of eight: bit 4a + 2b + c of it."""
    simple = _SIMPLE.get(table)
    if simple is not None:
        return np.asarray(simple(a, b, c))
    result = np.zeros(np.broadcast(a, b, c).shape, np.uint32)
    for index in range(8):
        if table >> index & 1:
            result |= (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
    return result


_SIMPLE: dict[int, Any] = {
    0x96: lambda a, b, c: a ^ b ^ c,
    0xE8: lambda a, b, c: (a & b) | (a & c) | (b & c),
    0xCA: lambda a, b, c: (a & b) | (~a & c),
    0x80: lambda a, b, c: a & b & c,
    0xFE: lambda a, b, c: a | b | c,
}


def _cut_places(position: Array, length: Array, bits: int) -> tuple[Array, Array]:
    """Return a field's position and length: their low byte for 32 bits; for 64, sm_90 uses all bits (measured)."""
    if bits == 32:
        return position & _BYTE, length & _BYTE
    return np.minimum(position, _BYTE), np.minimum(length, _BYTE)


@instruction("bfe")
def build_field_extract(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ())
    if row.kind not in "us" or row.bits < 32:
        raise UnknownInstructionError(statement)
    dtype = row.storage

    def extract(a: Array, position: Array, length: Array) -> Array:
        position, length = _cut_places(position, length, row.bits)
        field = shift_right(a, position).view(dtype)
        mask = _make_mask(length, dtype)
        result = field & mask
        if row.kind == "s":
            last = np.minimum(position + length - np.uint32(1), np.uint32(row.bits - 1))
            sign = (shift_right(a.view(dtype), last) & dtype.type(1)).astype(bool) & (length > 0)
            result = np.where(sign, result | ~mask, result)
        return result.view(row.dtype)

    return apply_types(compiler, statement, row, [row, _U32, _U32], extract)


@instruction("bfi")
def build_field_insert(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ())
    if row.kind != "b" or row.bits < 32:
        raise UnknownInstructionError(statement)

    def insert(a: Array, b: Array, position: Array, length: Array) -> Array:
        position, length = _cut_places(position, length, row.bits)
        mask = shift_left(_make_mask(length, row.dtype), position)
        return (b & ~mask) | (shift_left(a, position) & mask)

    return apply_types(compiler, statement, row, [row, row, _U32, _U32], insert)


def _spread(value: Array) -> Array:
    """Return values with every bit below their highest set bit also set."""
    bits = value.dtype.itemsize * 8
    step = 1
    while step < bits:
        value = value | value >> value.dtype.type(step)
        step *= 2
    return value


def _count_ones(value: Array) -> Array:
    return np.bitwise_count(value).astype(np.uint32)


@instruction("popc", "clz", "bfind", "brev")
def build_bit_count(compiler: Compiler, statement: Statement) -> Action:
    name = statement.words[0]
    (row,) = check_words(statement, ("shiftamt",) if name == "bfind" else ())
    if (row.kind != "b") != (name == "bfind") or row.bits not in (32, 64):
        raise UnknownInstructionError(statement)
    if name == "brev":
        return apply(compiler, statement, row, _reverse_bits)
    unsigned, bits = row.storage, np.uint32(row.bits)
    amount = statement.has("shiftamt")

    def find(a: Array) -> Array:
        position = _count_ones(_spread(np.where(a < 0, ~a, a).astype(row.dtype).view(unsigned))) - np.uint32(1)
        return np.where(position < bits, bits - np.uint32(1) - position, position) if amount else position

    compute = {"popc": _count_ones, "clz": lambda a: bits - _count_ones(_spread(a)), "bfind": find}[name]
    return apply_types(compiler, statement, _U32, [row], compute)


def _reverse_bits(value: Array) -> Array:
    dtype = value.dtype
    octets = np.ascontiguousarray(np.atleast_1d(value)).view(np.uint8).reshape(-1, dtype.itemsize)[:, ::-1]
    reversed_bits = np.packbits(np.unpackbits(octets, axis=1).reshape(-1, dtype.itemsize, 8)[:, :, ::-1], axis=-1)
    return np.ascontiguousarray(reversed_bits.reshape(-1, dtype.itemsize)).view(dtype)[:, 0]


@instruction("fns")
def build_find_set_bit(compiler: Compiler, statement: Statement) -> Action:
    """Build fns: find the n-th set bit from a base, upward for positive n and downward for negative n."""
    check_words(statement, ())

    def find(mask: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        order = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [position for position in order if mask >> position & 1]
        return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF

    def act(mask: Array, base: Array, offset: Array) -> Array:
        if (np.asarray(base) > 31).any():
            raise UnknownInstructionError(statement, "fns with a base above 31, which PTX leaves undefined")
        rows = np.broadcast_arrays(np.atleast_1d(mask), base, offset)
        return np.array([find(int(m), int(b), int(o)) for m, b, o in zip(*rows, strict=True)], np.uint32)

    return apply_types(compiler, statement, _U32, [_U32, _U32, TYPES["s32"]], act)


@instruction("bmsk")
def build_bit_mask(compiler: Compiler, statement: Statement) -> Action:
    """Build bmsk: `width` ones from a position on."""
    check_words(statement, ("clamp", "wrap"))
    clamps = statement.has("clamp")

    def make(a: Array, b: Array) -> Array:
        limit = np.uint32(32)
        position, width = (
            (np.minimum(a, limit), np.minimum(b, limit)) if clamps else (a & np.uint32(31), b & np.uint32(31))
        )
        return shift_left(_make_mask(width, _U32.dtype), position)

    return apply(compiler, statement, _U32, make)


@instruction("szext")
def build_extension(compiler: Compiler, statement: Statement) -> Action:
    """Build szext: extend a number of some low bits by its sign or by zeros."""
    (row,) = check_words(statement, ("clamp", "wrap"))
    if row.name not in ("u32", "s32"):
        raise UnknownInstructionError(statement)
    clamps = statement.has("clamp")

    def extend(a: Array, b: Array) -> Array:
        width = np.minimum(b, np.uint32(32)) if clamps else b & np.uint32(31)
        mask = _make_mask(width, _U32.dtype)
        kept = a.view(np.uint32) & mask
        if row.kind == "s":
            sign = shift_right(kept, np.maximum(width, np.uint32(1)) - np.uint32(1)) & np.uint32(1)
            kept = np.where(sign.astype(bool), kept | ~mask, kept)
        return kept.view(row.dtype)

    return apply_types(compiler, statement, row, [row, _U32], extend)


_BYTE_MODES = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


@instruction("prmt")
def build_byte_permutation(compiler: Compiler, statement: Statement) -> Action:
    """Build prmt: choose four of the eight bytes of two words; bit 3 of a selector replicates the sign."""
    (row,) = check_words(statement, _BYTE_MODES)
    if row.name != "b32":
        raise UnknownInstructionError(statement)
    mode = _BYTE_MODES.get(statement.find_word(_BYTE_MODES))
    table = np.array(mode, np.uint32) if mode else None

    def permute(a: Array, b: Array, c: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        result = np.zeros((), np.uint32)
        for place in range(4):
            choice = c >> np.uint32(4 * place) & np.uint32(15) if table is None else table[c & np.uint32(3), place]
            octet = (both >> ((choice & np.uint32(7)).astype(np.uint64) << np.uint64(3))).astype(np.uint32) & _BYTE
            if table is None:
                signs = (octet >> np.uint32(7)) * _BYTE
                octet = np.where(choice & np.uint32(8), signs, octet)
            result = result | octet << np.uint32(8 * place)
        return result

    selector = statement.operand(-1)
    if table is None and isinstance(selector, Immediate) and not int(selector.value) & 0x8888:
        places = np.array([int(selector.value) >> 4 * place & 7 for place in range(4)])

        def choose(a: Array, b: Array, c: Array) -> Array:
            both = np.empty((*np.broadcast_shapes(np.shape(a), np.shape(b)), 2), np.uint32)
            both[..., 0], both[..., 1] = a, b
            return np.ascontiguousarray(both.view(np.uint8)[..., places]).view(np.uint32)[..., 0]

        return apply(compiler, statement, row, choose)
    return apply(compiler, statement, row, permute)
