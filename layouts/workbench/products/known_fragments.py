"""List the elements of D of a block that is run with known sizes, and the products that each of them is the sum of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lanescope.ptx import catalog
from lanescope.reader.threads.memory.records import DescriptorUse, MatrixLoad, MmaUse
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.thread_fragments import (
    ArrivedOperand,
    FragmentOrigin,
    find_mma,
    locate_descriptor,
    locate_operand,
)
from lanescope.workbench.products.factor_places import Points, list_factors
from lanescope.workbench.products.known_sums import KnownFragment, KnownProduct, ReadLines
from lanescope.workbench.products.product_origins import WARPGROUP, Block
from lanescope.workbench.products.stored_elements import list_stored_warps
from lanescope.workbench.results import Span


@dataclass(frozen=True, slots=True, eq=False)
class _Sum:
    """The last product of a sum: its record, its opcode, the bits of an element, and the warps that hold D together."""

    record: int
    opcode: str
    bits: int
    warps: range
    products: tuple[KnownProduct, ...] | None  # None if one is not known


class FragmentLister:
    """Lists the fragments of D of one block. depth: the blocks of the grid along z."""

    def __init__(self, run: KernelRunner, block: Block, depth: int) -> None:
        self.run, self.block, self.depth = run, block, depth
        self.located: dict[object, tuple[Mapping[int, FragmentOrigin], Span]] = {}
        self.read: dict[tuple[int, ...], ReadLines] = {}  # by the origins of an operand's elements

    def list_all(self) -> list[KnownFragment] | None:
        """Return the fragments; None if something of one is not known, or an element of D is not stored."""
        stored = list_stored_warps(self.run)
        factors = self._group_factors()
        found = []
        for one in (*self._list_sums(), *self._list_described()):
            elements = [part for warp in one.warps for part in stored.get((one.record, warp), ())]
            if not elements or one.products is None:
                return None
            row, column, place = (np.concatenate(part) for part in zip(*(of[:3] for of in elements), strict=True))
            if len(np.unique(row * 1024 + column)) != np.size(catalog.find(one.opcode).operand("d").coords["row"]):
                return None
            adds = all(part[3] for part in elements)
            combined = tuple(points for warp in one.warps for points in factors.pop((one.record, warp), ()))
            placed, products = (row, column, place), one.products
            a, b = (self.read.setdefault(tuple(id(each.sides[n]) for each in products), {}) for n in (0, 1))
            found.append(KnownFragment(self.block, self.depth, products, one.bits, *placed, adds, combined, (a, b)))
        return found if not factors else None

    def _group_factors(self) -> dict[tuple[int, int], list[Points]]:
        """Return what elements of D are combined with, by record and warp."""
        factors: dict[tuple[int, int], list[Points]] = {}
        for record, warp, points in list_factors(self.run):
            factors.setdefault((record, warp), []).append(points)
        return factors

    def _list_sums(self) -> Iterator[_Sum]:
        """Yield the sums of each warp by mma."""
        added = {id(use.adds) for use in self.run.products if use.adds is not None}
        for number, result in enumerate(self.run.results):
            use = result.use
            instruction = find_mma(use.opcode) if use is not None and id(use) not in added else None
            if use is None or id(use) in added:
                continue
            bits = instruction.operand("a").container_bits if instruction is not None else 0
            for warp in np.flatnonzero(use.active.reshape(-1, 32).all(axis=1)).tolist():
                yield _Sum(-number - 1, use.opcode, bits, range(warp, warp + 1), self._locate_chain(use, warp))

    def _locate_chain(self, use: MmaUse, warp: int) -> tuple[KnownProduct, ...] | None:
        """Return the products that add to one D; None if one is not known."""
        found = []
        at: MmaUse | None = use
        while at is not None:
            (of_a, a_site), (of_b, b_site) = (self._locate(at, name) for name in "ab")
            a, b = of_a.get(warp), of_b.get(warp)
            if a is None or b is None:
                return None
            found.append(KnownProduct(a, b, at.span, at.calls, at.turns, (a_site, b_site)))
            at = at.adds
        return tuple(found)

    def _locate(self, use: MmaUse, name: str) -> tuple[Mapping[int, FragmentOrigin], Span]:
        """Return an operand in each warp that multiplies, and where it is loaded."""
        registers = use.a if name == "a" else use.b
        key = name, use.opcode, tuple((id(one.load or one.data), one.number) for one in registers)
        if key not in self.located:
            instruction = find_mma(use.opcode)
            operand = locate_operand(self.run, use, instruction, name) if instruction is not None else None
            active = np.flatnonzero(use.active.reshape(-1, 32).all(axis=1)).tolist()
            warps = operand.warps if operand is not None else None
            self.located[key] = dict(zip(active, warps or (), strict=False)), _find_site(use, operand)
        return self.located[key]

    def _list_described(self) -> Iterator[_Sum]:
        """Yield the sums of each warpgroup by wgmma of tiles in shared memory."""
        last = {total: record for record, total in self.run.sums.items() if isinstance(record, int)}
        uses: dict[tuple[int, int], list[DescriptorUse]] = defaultdict(list)
        for use in self.run.descriptors:
            uses[use.sum, use.group].append(use)
        for (total, group), of_sum in uses.items():
            if total in last:
                bits, warps = of_sum[0].seen.bits, range(WARPGROUP * group, WARPGROUP * (group + 1))
                yield _Sum(last[total], of_sum[0].opcode, bits, warps, _pair_reads(self.run, of_sum))


def _pair_reads(run: KernelRunner, uses: Iterable[DescriptorUse]) -> tuple[KnownProduct, ...] | None:
    """Return the products of the reads of one sum; None if an operand of one is not known."""
    sides: dict[str, list[DescriptorUse]] = {"a": [], "b": []}
    for use in uses:
        sides[use.name].append(use)
    if len(sides["a"]) != len(sides["b"]):
        return None
    found = []
    for left, right in zip(sides["a"], sides["b"], strict=True):
        a, b = locate_descriptor(run, left), locate_descriptor(run, right)
        if a is None or b is None or (left.span, left.calls, left.turns) != (right.span, right.calls, right.turns):
            return None
        found.append(KnownProduct(a, b, left.span, left.calls, left.turns, (left.site, right.site)))
    return tuple(reversed(found))


def _find_site(use: MmaUse, operand: ArrivedOperand | None) -> Span:
    """Return where an operand of an mma is loaded by ldmatrix; else the product."""
    loads: Sequence[MatrixLoad] = operand.loads if operand is not None else ()
    return loads[0].site if loads else use.span
