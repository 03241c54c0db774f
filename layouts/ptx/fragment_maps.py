"""The distinct register maps of the catalogue: which (row, col) each thread's values are, and whose operands they are.

Many instructions share a map: A of every 16-bit m16n8k16, D of each shape. A map stands once, with all its operands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.operand import Operand
from lanescope.ptx.pattern import IntArray

Held = tuple[Instruction, Operand]


@dataclass(frozen=True)
class FragmentMap:
    """One map and the operands that have it, one of each family, shape, letter and type, in the catalogue's order."""

    operands: tuple[Held, ...]

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
        """Return whether an operand of this letter has the map; c and d are the same."""
        letters = "cd" if letter in ("c", "d") else letter
        return bool(letter) and any(operand.name in letters for _, operand in self.operands)

    @cached_property
    def rows(self) -> IntArray:
        """Return the row of each thread's values, [threads, values]."""
        return self.operand.coords[self.operand.plane[0]]

    @cached_property
    def cols(self) -> IntArray:
        """Return the column likewise; of a sparse A the column as it is stored."""
        return self.operand.coords[self.operand.plane[1]]


@lru_cache(maxsize=1)
def list_fragment_maps() -> tuple[FragmentMap, ...]:
    """List the distinct maps of all operands that registers hold, but those of tensor memory and of several matrices.

    The matrices of ldmatrix.x2 and .x4 lie where a program puts them; each is one of .x1.
    """
    found: dict[tuple[str, tuple[str, ...]], list[Held]] = {}
    seen: set[tuple[object, ...]] = set()
    for instruction in catalog.instructions():
        family, types = instruction.family, instruction.types
        if family.tensor:
            continue
        for letter in family.fragments:
            key = id(family), instruction.shape, letter, types.get(letter) or types["d"], *instruction.counts.values()
            if key in seen:
                continue  # before its operands are bound, which takes the time
            seen.add(key)
            operand = instruction.operands[letter]
            if operand.threads in (32, 128) and operand.extents.get("matrix", 1) == 1:
                found.setdefault((str(operand.pattern), operand.axes), []).append((instruction, operand))
    return tuple(FragmentMap(tuple(held)) for held in found.values())
