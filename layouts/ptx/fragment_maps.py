"""The distinct register maps of the catalogue, each with all operands that have it.

Many instructions share a map: A of every 16-bit m16n8k16, D of each shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.operand import Operand
from lanescope.ptx.pattern import IntArray

InstructionOperand = tuple[Instruction, Operand]


@dataclass(frozen=True)
class FragmentMap:
    """One map and the operands that have it: one for each family, shape, letter and type, in the catalogue's order."""

    operands: tuple[InstructionOperand, ...]

    @property
    def operand(self) -> Operand:
        return self.operands[0][1]

    @property
    def threads(self) -> int:
        return self.operand.threads

    @property
    def values(self) -> int:
        return self.operand.values

    def has_operand(self, letter: str) -> bool:
        """Return whether an operand of this letter has the map; c and d are not distinguished."""
        letters = "cd" if letter in ("c", "d") else letter
        return bool(letter) and any(operand.name in letters for _, operand in self.operands)

    @cached_property
    def rows(self) -> IntArray:
        """Return the row of each thread's values, [threads, values]."""
        return self.operand.coords[self.operand.plane[0]]

    @cached_property
    def cols(self) -> IntArray:
        """Return the column of each thread's values, [threads, values]; for a sparse A the stored column."""
        return self.operand.coords[self.operand.plane[1]]


@lru_cache(maxsize=1)
def list_fragment_maps() -> tuple[FragmentMap, ...]:
    """Return the distinct maps of operands in registers, except those of tensor memory and of several matrices.

    ldmatrix.x2 and .x4 move several independent matrices, each with the map of .x1.
    """
    operands_of: dict[tuple[str, tuple[str, ...]], list[InstructionOperand]] = {}
    bound: set[tuple[object, ...]] = set()
    for instruction in catalog.instructions():
        family, types = instruction.family, instruction.types
        if family.tensor:
            continue
        for letter in family.fragments:
            key = id(family), instruction.shape, letter, types.get(letter) or types["d"], *instruction.counts.values()
            if key in bound:
                continue  # binding operands is slow
            bound.add(key)
            operand = instruction.operands[letter]
            if operand.threads in (32, 128) and operand.extents.get("matrix", 1) == 1:
                operands_of.setdefault((str(operand.pattern), operand.axes), []).append((instruction, operand))
    return tuple(FragmentMap(tuple(operands)) for operands in operands_of.values())
