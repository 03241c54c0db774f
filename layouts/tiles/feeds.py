"""Which operands of mma and wgmma a layout of threads already is: no element has to change its lane.

A fragment is the layout's own where its lanes, and its warps for a warpgroup's, move as the layout's do, and every
value it has is a register of the layout. The order of registers may differ: they are renamed, not moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.triton.linear import Basis, LinearLayout

DIMS = {"a": "mk", "b": "nk", "d": "mn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentMap:
    """One distinct map of an operand.

    shape: its own sizes (m16k16 of A); lanes, warps: bases; values: coordinates of thread 0's values, in order.
    """

    family: str
    shape: str
    operand: str
    bits: int
    lanes: tuple[Basis, ...]
    warps: tuple[Basis, ...]
    values: tuple[Basis, ...]
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class MatchingOperand:
    """An operand that a layout already is.

    registers: of the layout, in the order of the fragment's values; times: how many fragments of it one warp (of wgmma,
    one warpgroup) holds; ptx: the instructions.
    """

    fragment: FragmentMap
    registers: tuple[int, ...]
    times: int
    ptx: tuple[str, ...]

    @property
    def in_order(self) -> bool:
        """Whether the values are registers 0, 1, 2 …"""
        return self.registers == tuple(range(len(self.registers)))


@lru_cache(maxsize=1)
def collect_fragment_maps() -> Mapping[FragmentMap, tuple[str, ...]]:
    """Return every distinct map of a dense multiplication's A, B and D that registers hold → its instructions."""
    maps: dict[FragmentMap, list[str]] = {}
    for instruction in catalog.instructions():
        family = instruction.family
        if not (family.multiplies and family.specified) or family.sparsity or family.scale_blocks:
            continue
        for letter in "abd":
            fragment = _make_fragment(instruction, letter)
            if fragment is not None:
                maps.setdefault(fragment, []).append(instruction.ptx)
    return {fragment: tuple(texts) for fragment, texts in maps.items()}


def _make_fragment(instruction: Instruction, letter: str) -> FragmentMap | None:
    """Return the map of an operand; None if its lanes are not 32, or registers do not hold it as a matrix."""
    op = instruction.operands.get(letter)
    bases = op.pattern.linear_layout() if op and not op.sparsity else None
    if op is None or bases is None or len(bases["lane"]) != 5 or len(op.pattern.extents) != 2:
        return None
    lanes, warps = (tuple(tuple(b) for b in bases[name]) for name in ("lane", "warp"))
    rows, cols = op.pattern.extents
    return FragmentMap(
        family=instruction.family.name,
        shape="".join(f"{dim}{instruction.sizes[dim]}" for dim in DIMS[letter]),
        operand=letter,
        bits=op.element.bits,
        lanes=lanes,
        warps=warps,
        values=tuple(zip(op.rows[0].tolist(), op.cols[0].tolist(), strict=True)),
        size=(rows, cols),
    )


def find_fed_operands(layout: LinearLayout, element_bits: int | None = None) -> list[MatchingOperand]:
    """Return the operands that a layout of two or more axes already is, over its last two; larger fragments come first.

    element_bits: only those of this width.
    """
    if layout.rank < 2 or any(any(b[:-2]) for b in layout.bases["lane"]):
        return []
    lanes = tuple(b[-2:] for b in layout.bases["lane"])
    warps = tuple(b[-2:] for b in layout.bases.get("warp", ()) if not any(b[:-2]))
    at = _find_registers(layout)
    operands = []
    for fragment, ptx in collect_fragment_maps().items():
        if (
            fragment.lanes != lanes
            or fragment.warps != warps[: len(fragment.warps)]
            or (element_bits not in (None, fragment.bits))
        ):
            continue
        if all(value in at for value in fragment.values):
            operands.append(
                MatchingOperand(
                    fragment, tuple(at[value] for value in fragment.values), _count_fragments(fragment, at), ptx
                )
            )
    return sorted(
        operands, key=lambda it: (it.fragment.family, -len(it.registers), it.fragment.operand, it.fragment.bits)
    )


def _find_registers(layout: LinearLayout) -> dict[Basis, int]:
    """Return the first register at each coordinate of the last two axes, where all other coordinates are 0."""
    at: dict[Basis, int] = {}
    registers = layout.bases["register"]
    for number in range(1 << len(registers)):
        where = [0] * layout.rank
        for bit, basis in enumerate(registers):
            if number >> bit & 1:
                where = [a ^ b for a, b in zip(where, basis, strict=True)]
        if not any(where[:-2]):
            at.setdefault(tuple(where[-2:]), number)
    return at


def _count_fragments(fragment: FragmentMap, at: Mapping[Basis, int]) -> int:
    """Return how many whole fragments the registers hold: origins, in steps of the fragment's size, with all its
    values.
    """
    rows = sorted({row // fragment.size[0] * fragment.size[0] for row, _ in at})
    cols = sorted({col // fragment.size[1] * fragment.size[1] for _, col in at})
    return sum(all((row + r, col + c) in at for r, c in fragment.values) for row, col in product(rows, cols))
