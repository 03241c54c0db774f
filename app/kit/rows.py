"""A row of the catalogue: what every list of instructions, and an instruction's own page, says of it first. No framework."""

from __future__ import annotations

from typing import Any

from layouts import catalog
from layouts.instruction import Instruction

Json = dict[str, Any]


def summary(instruction: Instruction) -> Json:
    """One row of the catalogue."""
    known = catalog.assembled(instruction)
    types = instruction.types
    sizes = instruction.sizes
    return {
        "ptx": instruction.ptx,
        "family": instruction.family.name,
        "shape": {dim: sizes.get(dim) for dim in "mnk"},
        "types": {name: types.get(name) for name in "abcd"},
        "layouts": list(instruction.syntax.layouts),
        "modifiers": list(instruction.modifiers),
        "targets": list(known.targets),
        "ptx_version": known.ptx_version,
        "operands": list(instruction.operand_names),
    }


def in_words(instruction: Instruction) -> tuple[str, str]:
    """Shape and types of a catalogue row as people write them; what moves matrices has no product to name.

    >>> in_words(catalog.find("ldmatrix.m8n8.x4.shared.b16"))
    ('8×8 .x4', 'b16')
    """
    sizes, types = instruction.sizes, instruction.types
    shape = "×".join(str(sizes[dim]) for dim in "mnk" if dim in sizes) or instruction.shape
    shape += "".join(f" .x{count}" for count in instruction.counts.values())
    if {"a", "b", "d"} <= set(types):
        return shape, f"{types['a']} × {types['b']} → {types['d']}"
    if {"a", "d"} <= set(types):
        return shape, f"{types['a']} → {types['d']}"
    if packed := instruction.family.unpacks:
        return shape, f"{packed} → {instruction.modifiers[instruction.modifiers.index(packed) - 1]}"
    ((name, kind),) = types.items()
    return shape, kind if name == "data" else f"{name.upper()} {kind}"
