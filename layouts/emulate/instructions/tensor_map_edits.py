"""tensormap.replace and tensormap.cp_fenceproxy: tensor maps edited by a kernel. PTX ISA 9.1, 9.7.9.28 and 9.7.13.16.

Addresses, dims, strides (in bytes), boxes and element strides have the encodings that an H100 accepts.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.state.tensor_maps import FORM, MAP_BYTES, MARK, decode_tensor_map
from lanescope.emulate.text.program import Immediate, Operand, Statement, require_address
from lanescope.ptx.register_types import TYPES

# positions among the numbers of FORM, after the mark
_ADDRESS, _TYPE, _RANK, _INTERLEAVE, _SWIZZLE, _FILL, _DIMS, _STRIDES, _BOX, _STEPS = 0, 1, 2, 3, 4, 5, 6, 11, 15, 20
_EMPTY = (0, 0, 1, 0, 0, 0, *[0] * 5, *[1] * 4, *[1] * 5, *[1] * 5, *[0] * 7)
# PTX's numbers of element types → CUtensorMapDataType's: f32.ftz and f64 are exchanged, bf16 is 10
_TYPES = (0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12, 13, 14, 15)
_SWIZZLE_128B = 3


@dataclass(frozen=True, slots=True)
class _MapField:
    """A field of tensormap.replace.

    place: position of its first number; count: of the numbers that an ordinal selects from, 0 for a single one; offset:
    added to the value before it is stored.
    """

    place: int
    count: int = 0
    offset: int = 0


_FIELDS = {
    "global_address": _MapField(_ADDRESS),
    "rank": _MapField(_RANK, offset=1),
    "box_dim": _MapField(_BOX, 5),
    "global_dim": _MapField(_DIMS, 5, offset=-1),
    "global_stride": _MapField(_STRIDES, 4),
    "element_stride": _MapField(_STEPS, 5),
    "elemtype": _MapField(_TYPE),
    "interleave_layout": _MapField(_INTERLEAVE),
    "swizzle_mode": _MapField(_SWIZZLE),
    "swizzle_atomicity": _MapField(_SWIZZLE),
    "fill_mode": _MapField(_FILL),
}
_SPACES = {"global": "global", "shared::cta": "shared"}


@instruction("tensormap.replace.tile")
def build_replacement(compiler: Compiler, statement: Statement) -> Action:
    """Build tensormap.replace: set one field of the map in memory; 128 zero bytes are a map with no field set."""
    name = statement.words[3] if len(statement.words) > 3 else ""
    field = _FIELDS.get(name)
    if field is None or any(word not in (*_SPACES, "b1024", "b32", "b64") for word in statement.words[4:]):
        raise UnknownInstructionError(statement)
    first, *ordinals, value = statement.take(2, more=True)
    address = require_address(first)
    ordinal = _read_ordinal(statement, field, ordinals)
    if name == "swizzle_mode" and not (isinstance(value, Immediate) and int(value.value) <= _SWIZZLE_128B):
        raise UnknownInstructionError(statement, f"{statement.opcode} with this mode")
    place = compiler.read_address(address)
    number = compiler.read(value, TYPES["u64" if statement.words[-1] == "b64" else "u32"])
    space = _SPACES.get(statement.find_word(_SPACES), "")

    def replace(group: Group) -> None:
        addresses, values = place(group), np.broadcast_to(number(group), (group.count,))
        for n in range(group.count):
            thread = group.select(np.array([n]))
            raw = thread.memory.load(thread, space, addresses[n : n + 1], np.dtype(np.uint8), MAP_BYTES)
            edited = _edit(raw.tobytes(), name, field, ordinal, int(values[n]))
            thread.memory.store(thread, space, addresses[n : n + 1], np.frombuffer(edited, np.uint8)[None])
        group.run.machine.version += 1

    return replace


def _read_ordinal(statement: Statement, field: _MapField, ordinals: list[Operand]) -> int:
    """Return the dimension whose field is replaced; 0 for a field that exists once."""
    if len(ordinals) != bool(field.count) or not all(isinstance(ordinal, Immediate) for ordinal in ordinals):
        raise UnknownInstructionError(statement, f"{statement.opcode} with these operands")
    ordinal = int(ordinals[0].value) if ordinals and isinstance(ordinals[0], Immediate) else 0
    if field.count and not 0 <= ordinal < field.count:
        raise UnknownInstructionError(statement, f"{statement.opcode} has no field {ordinal}")
    return ordinal


def _edit(raw: bytes, name: str, field: _MapField, ordinal: int, value: int) -> bytes:
    if any(raw):
        if decode_tensor_map(raw).pixel_box:  # raises FaultError if it is not a map
            raise FaultError("bad_tensor_map", "tensormap.replace.tile edits maps in tiled mode; this one is im2col.")
        numbers = list(FORM.unpack(raw[: FORM.size])[1:])
    else:
        numbers = list(_EMPTY)
    number = value + field.offset
    if name == "elemtype":
        number = _TYPES[value] if value < len(_TYPES) else -1
    elif name == "swizzle_atomicity":
        number = _SWIZZLE_128B + value if value else numbers[_SWIZZLE]
        if value and numbers[_SWIZZLE] < _SWIZZLE_128B:
            raise FaultError("bad_tensor_map", "tensormap.replace sets a swizzle atomicity before the 128B swizzle.")
    numbers[field.place + ordinal] = number
    try:
        body = FORM.pack(MARK, *numbers)
    except struct.error:
        raise FaultError("bad_tensor_map", f"tensormap.replace sets {name} to {value}.") from None
    return (body + struct.pack("<I", zlib.crc32(body))).ljust(MAP_BYTES, b"\0")


@instruction("tensormap.cp_fenceproxy.global.shared::cta")
def build_copy(compiler: Compiler, statement: Statement) -> Action:
    """Build tensormap.cp_fenceproxy: a warp copies a map from shared to global memory."""
    target, source, size = statement.take(3)
    if not isinstance(size, Immediate) or int(size.value) != MAP_BYTES:
        raise UnknownInstructionError(statement, f"{statement.opcode} of another size than {MAP_BYTES}")
    to, origin = compiler.read_address(target), compiler.read_address(source)

    def copy(group: Group) -> None:
        warps = group.take_complete_warps()
        ids, to_all, from_all = group.ids, to(group), origin(group)
        for warp in warps:
            first = np.array([int(np.flatnonzero(ids // 32 == warp)[0])])
            thread = group.select(first)
            raw = thread.memory.load(thread, "shared", from_all[first], np.dtype(np.uint8), MAP_BYTES)
            thread.memory.store(thread, "global", to_all[first], raw)
        group.run.machine.version += 1

    return copy
