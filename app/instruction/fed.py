"""The product that a plain ldmatrix feeds, or whose D a stmatrix stores, without moving registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.shared import chain
from lanescope.shared.tiling import DEFAULT_ORDER

_DIMS = {"a": "mk", "b": "kn", "d": "mn"}


@dataclass(frozen=True, slots=True)
class FedOperand:
    """An operand that a load fills, or a store writes, with one instruction; and its contiguous dimension."""

    mma: Instruction
    operand: str
    major: str


@lru_cache(maxsize=64)
def find_fed_operand(move: Instruction) -> FedOperand | None:
    """Find the first operand of the catalogue for which a chain over rows of shared memory is correct; None if none.

    Elements of the width of the move come first.
    """
    data = move.operands["data"]
    for major in DEFAULT_ORDER:
        for mma, op in _list_operands("d" if move.family.stores else "ab", data):
            try:
                if chain.make_chain(move, op, major).match:
                    return FedOperand(mma, op.name, major)
            except LayoutError:  # this move widens its elements, or the operand has another layout
                continue
    return None


def _list_operands(letters: str, data: Operand) -> Iterator[tuple[Instruction, Operand]]:
    """Yield one operand of each map of the dense products with the same registers and element width; those of f16 and
    the largest shapes first.
    """
    rows = [i for i in catalog.instructions() if i.family.multiplies and i.family.specified]
    plain = [i for i in rows if not i.family.sparsity and not i.family.scale_blocks and not i.family.tensor]

    def rank(i: Instruction) -> tuple[bool, bool, int, bool]:
        return i.family.by_descriptor, i.types.get("a") != "f16", -i.sizes["k"], i.types.get("d") != "f32"

    bits, seen = data.container_bits, set()
    for mma in sorted(plain, key=rank):
        for letter in letters:
            elements = prod(mma.sizes[dim] for dim in _DIMS[letter])
            if elements * bits != data.registers * 32 * mma.threads:
                continue  # decided by sizes: to bind the operands of every product takes seconds
            op = mma.operands.get(letter)
            known = op is not None and (letter, op.pattern) in seen
            if op is not None and not known and op.container_bits == bits and op.registers == data.registers:
                seen.add((letter, op.pattern))
                yield mma, op
