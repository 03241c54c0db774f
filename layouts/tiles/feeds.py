"""Find the operands of mma and wgmma that a layout of threads matches, so that no element changes its lane.

A fragment matches if its lanes (and warps, for a warpgroup) have the layout's bases, and each of its values is a
register of the layout. The order of registers may differ: they are renamed, not moved.
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

    shape: its sizes (m16k16 of A); lanes, warps: bases; values: coordinates of thread 0's values, in order.
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
    """An operand that a layout matches.

    registers: of the layout, in the order of the fragment's values; times: the number of fragments per warp (per
    warpgroup for wgmma); ptx: the instructions.
    """

    fragment: FragmentMap
    registers: tuple[int, ...]
    times: int
    ptx: tuple[str, ...]

    @property
    def in_order(self) -> bool:
        """Whether the fragment's values are registers 0, 1, 2 … of the layout."""
        return self.registers == tuple(range(len(self.registers)))


@lru_cache(maxsize=1)
def collect_fragment_maps() -> Mapping[FragmentMap, tuple[str, ...]]:
    """Map each distinct map of A, B and D in registers of dense products to its instructions."""
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
    """Return the map of an operand; None if it is not one matrix in registers of 32-lane warps."""
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
    """Return the operands that the last two axes of a layout match, larger fragments first.

    element_bits: only operands of this width.
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
    """Map coordinates of the last two axes, with all others 0, to the first register that holds them."""
    at: dict[Basis, int] = {}
    registers = layout.bases["register"]
    for number in range(1 << len(registers)):
        coord = [0] * layout.rank
        for bit, basis in enumerate(registers):
            if number >> bit & 1:
                coord = [a ^ b for a, b in zip(coord, basis, strict=True)]
        if not any(coord[:-2]):
            at.setdefault(tuple(coord[-2:]), number)
    return at


def _count_fragments(fragment: FragmentMap, at: Mapping[Basis, int]) -> int:
    """Return the number of complete fragments in the registers, at multiples of the fragment's size."""
    rows = sorted({row // fragment.size[0] * fragment.size[0] for row, _ in at})
    cols = sorted({col // fragment.size[1] * fragment.size[1] for _, col in at})
    return sum(all((row + r, col + c) in at for r, c in fragment.values) for row, col in product(rows, cols))
