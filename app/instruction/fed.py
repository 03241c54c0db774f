"""The product that a plain ldmatrix feeds, or whose D a stmatrix stores: one that takes its registers as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.shared import chain
from lanescope.shared.tiling import DEFAULT_ORDER


@dataclass(frozen=True, slots=True)
class FedOperand:
    """An operand that a load fills with one instruction, or a store takes, and which dimension is contiguous."""

    mma: Instruction
    operand: str
    major: str


@lru_cache(maxsize=64)
def find_fed_operand(move: Instruction) -> FedOperand | None:
    """Find the first operand of the catalogue that a chain over rows of shared memory proves right; None if none is.

    Elements as wide as those that are moved come first.
    """
    data = move.operands["data"]
    for major in DEFAULT_ORDER:
        for mma, op in _list_operands("d" if move.family.stores else "ab", data.container_bits):
            try:
                if op.registers == data.registers and chain.make_chain(move, op, major).match:
                    return FedOperand(mma, op.name, major)
            except LayoutError:  # this move widens what it reads, or the operand lies otherwise
                continue
    return None


def _list_operands(letters: str, bits: int) -> Iterator[tuple[Instruction, Operand]]:
    """Yield one operand of each map of the dense products of registers, those of f16 and the largest shapes first."""
    rows = [i for i in catalog.instructions() if i.family.multiplies and i.family.specified]
    plain = [i for i in rows if not i.family.sparsity and not i.family.scale_blocks and not i.family.tensor]

    def rank(i: Instruction) -> tuple[bool, bool, int, bool]:
        return i.family.by_descriptor, i.types.get("a") != "f16", -i.sizes["k"], i.types.get("d") != "f32"

    seen = set()
    for mma in sorted(plain, key=rank):
        for letter in letters:
            op = mma.operands.get(letter)
            if op is not None and op.container_bits == bits and (letter, op.pattern) not in seen:
                seen.add((letter, op.pattern))
                yield mma, op
