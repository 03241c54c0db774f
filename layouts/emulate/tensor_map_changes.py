"""tensormap.replace and tensormap.cp_fenceproxy: tensor maps that a kernel changes. PTX ISA 9.1, 9.7.9.28, 9.7.13.16.

The values of .global_address, .global_dim, .global_stride (bytes), .box_dim and .element_stride were tried on an H100.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lanescope.emulate.async_work import Issuer, load_bytes, store_bytes
from lanescope.emulate.block import Group
from lanescope.emulate.bulk import read_scalars
from lanescope.emulate.code import Action, Compiler, UnknownInstruction, instruction
from lanescope.emulate.mbarriers import check_words
from lanescope.emulate.program import Immediate, Statement
from lanescope.emulate.tensor_maps import (
    FILLS,
    INTERLEAVES,
    MAP_BYTES,
    MAP_TYPES,
    SWIZZLES,
    TensorMap,
    decode_tensor_map,
    encode_tensor_map,
)
from lanescope.emulate.types import TYPES

_LISTS = {"box_dim": "box", "global_dim": "dims", "global_stride": "strides", "element_stride": "element_strides"}
_CODES = ("elemtype", "interleave_layout", "swizzle_mode", "fill_mode")
_SPACES = ("global", "shared", "shared::cta")
# .elemtype counts types in another order than CUtensorMapDataType
_ELEMENT_TYPES = (
    "UINT8 UINT16 UINT32 INT32 UINT64 INT64 FLOAT16 FLOAT32 FLOAT32_FTZ FLOAT64 BFLOAT16 TFLOAT32"
).split()


@instruction("tensormap.replace.tile")
def build_replacement(compiler: Compiler, statement: Statement) -> Action:
    """tensormap.replace: one field of a tensor map in global or shared memory."""
    check_words(statement, 3, ("global_address", *_LISTS, *_CODES), _SPACES, ("b1024",), ("b32", "b64"))
    field = statement.find_word(("global_address", *_LISTS, *_CODES))
    wide = field in ("global_address", "global_stride")
    if not field or statement.has("b64") != wide or len(statement.operands) != 2 + (field in _LISTS):
        raise UnknownInstruction(statement)
    if field == "global_stride" and compiler.module.version < (8, 5):
        raise UnknownInstruction(statement, f"{statement.opcode} of PTX before 8.5 is not emulated")
    ordinal = statement.operands[1] if field in _LISTS else Immediate(0)
    if not isinstance(ordinal, Immediate):
        raise UnknownInstruction(statement)
    read_address = compiler.read_address(statement.operands[0])
    values = compiler.read(statement.operands[-1], TYPES["u64" if wide else "u32"])
    space = {"shared::cta": "shared"}.get(word := statement.find_word(_SPACES), word)

    def change(group: Group) -> None:
        addresses, new = read_address(group), read_scalars(values, group)
        for n in range(group.count):
            issuer, address = Issuer(group, np.array([n]), "generic"), int(addresses[n])
            made = decode_tensor_map(load_bytes(issuer, space, address, MAP_BYTES).tobytes())
            made = _replace(statement, made, (field, int(ordinal.value)), int(new[n]))
            store_bytes(issuer, space, address, np.frombuffer(encode_tensor_map(made), np.uint8))
        group.run.machine.version += 1

    return change


def _replace(statement: Statement, made: TensorMap, field: tuple[str, int], value: int) -> TensorMap:
    name, ordinal = field
    if name == "global_address":
        return replace(made, address=value)
    if name in _LISTS:
        numbers = list(getattr(made, _LISTS[name]))
        if ordinal >= len(numbers) or (name != "global_stride" and value < 1):
            raise UnknownInstruction(statement, f"{statement.opcode} of dimension {ordinal} to {value}")
        numbers[ordinal] = value
        return replace(made, **{_LISTS[name]: tuple(numbers)})
    choices: dict[str, tuple[object, ...]] = {
        "elemtype": tuple(next(row for row in MAP_TYPES if row.name == one) for one in _ELEMENT_TYPES),
        "interleave_layout": INTERLEAVES,
        "swizzle_mode": tuple(SWIZZLES)[:4],
        "fill_mode": FILLS,
    }
    if value >= len(choices[name]):
        raise UnknownInstruction(statement, f"{statement.opcode} to {value}")
    keys = {"elemtype": "type", "interleave_layout": "interleave", "swizzle_mode": "swizzle", "fill_mode": "fill"}
    return replace(made, **{keys[name]: choices[name][value]})


@instruction("tensormap.cp_fenceproxy")
def build_fenced_copy(compiler: Compiler, statement: Statement) -> Action:
    """tensormap.cp_fenceproxy: copy a tensor map from shared to global memory."""
    scopes = ("cta", "cluster", "gpu", "sys")
    words = (("global",), ("shared::cta",), ("tensormap::generic",), ("release",), scopes, ("sync",), ("aligned",))
    check_words(statement, 2, *words)
    target, source, size = statement.operands
    if not isinstance(size, Immediate) or size.value != MAP_BYTES:
        raise UnknownInstruction(statement)
    to, origin = compiler.read_address(target), compiler.read_address(source)

    def copy(group: Group) -> None:
        group.take_whole_warps()
        issuer = Issuer(group, np.array([0]), "generic")
        for place, address in dict.fromkeys(zip(to(group).tolist(), origin(group).tolist(), strict=True)):
            store_bytes(issuer, "global", place, load_bytes(issuer, "shared", address, MAP_BYTES))
        group.run.machine.version += 1

    return copy
