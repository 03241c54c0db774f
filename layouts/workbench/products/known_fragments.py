"""List the elements of D of a block that is run with known sizes, and the products that each of them is the sum of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lanescope.ptx.threads import GROUP_WARPS
from lanescope.reader.threads.kernels import KernelRun
from lanescope.reader.threads.memory.records import DescriptorUse, MatrixLoad, MmaUse
from lanescope.reader.threads.memory.results import MOST_STORES, find_instruction
from lanescope.reader.threads.memory.storage import OPEN, DataBytes
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand, find_mma, locate_descriptor, locate_operand
from lanescope.workbench.fragments.thread_gaps import find_skipped_loop
from lanescope.workbench.products.changed_elements import find_changed, find_other_stores
from lanescope.workbench.products.factor_places import Points, list_factors
from lanescope.workbench.products.known_sums import KnownFragment, KnownProduct, OpenPart, ReadLines, WrongPart
from lanescope.workbench.products.product_origins import Block
from lanescope.workbench.products.scale_origins import NOT_FOLLOWED
from lanescope.workbench.products.stored_elements import StoredWarp, list_stored_warps
from lanescope.workbench.results import Span

_WIDE = 256  # rows or columns of a tile
# of a product: the origin of its elements by warp, and (the place of its address, its ldmatrix)
_Stored = Mapping[tuple[int, int], list[StoredWarp]]  # by record and warp
_Operand = tuple[Mapping[int, FragmentOrigin], tuple[Span, Span | None]]


@dataclass(frozen=True, slots=True, eq=False)
class _Sum:
    """The last product of a sum: its record, its opcode, the bits of an element, and the warps that hold D together."""

    record: int
    opcode: str
    bits: int
    warps: range
    elements: int  # of D
    products: tuple[KnownProduct, ...] | OpenPart


class FragmentLister:
    """Lists the fragments of D of one block. depth: the blocks of the grid along z."""

    def __init__(self, run: KernelRunner, block: Block, depth: int) -> None:
        self.run, self.block, self.depth = run, block, depth
        self.located: dict[object, _Operand] = {}
        self.read: dict[tuple[int, ...], ReadLines] = {}  # by the origins of an operand's elements

    def list_all(self) -> list[KnownFragment] | OpenPart:
        """Return the fragments, or what is not known of one, such as an element of D that is stored nowhere."""
        stored = list_stored_warps(self.run)
        factors = self._group_factors()
        found = []
        sums = [*self._list_sums(), *self._list_described()]
        for one in sums:
            elements = _list_elements([(one.record, warp) for warp in one.warps], stored)
            if isinstance(one.products, OpenPart):
                return one.products
            if (left := self._find_unstored(one, elements, sums, stored)) is not None:
                return left
            combined = tuple(points for warp in one.warps for points in factors.pop((one.record, warp), ()))
            if not elements:
                continue  # other warps compute and store the same
            row, column, place = (np.concatenate(part) for part in zip(*(of[:3] for of in elements), strict=True))
            adds = all(part[3] for part in elements)
            placed, products, site = (row, column, place), one.products, elements[0][4]
            arrays = frozenset(part[5] for part in elements)
            a, b = (self.read.setdefault(tuple(id(each.sides[n]) for each in products), {}) for n in (0, 1))
            found.append(
                KnownFragment(self.block, self.depth, products, one.bits, *placed, adds, combined, (a, b), site, arrays)
            )
        for record, _ in factors:
            return OpenPart("elements of this product are combined with others", self.run.results[-record - 1].span)
        return found

    def _find_unstored(
        self,
        one: _Sum,
        elements: Sequence[StoredWarp],
        sums: Sequence[_Sum],
        stored: _Stored,
    ) -> OpenPart | None:
        """Return that elements of D of a product are stored nowhere, also not by warps that compute the same."""
        count = self._count_left(one, elements)
        twins = _list_twins(one, sums) if count else []
        count = count and self._count_left(one, _list_elements(twins, stored))
        reason = f"where {count} of the elements of this product are stored is not known"
        at = self.run.results[-one.record - 1].span if count else None
        return OpenPart(reason, at, wrong=WrongPart((2,))) if count else None

    def list_sums(self) -> list[KnownFragment] | None:
        """Return the sums of a run that has not stored them, None if the products of one are not known."""
        nowhere, found = np.empty(0, np.int64), list[KnownFragment]()
        for one in self._list_sums():
            if isinstance(one.products, OpenPart):
                return None
            placed, reads = (nowhere, nowhere, nowhere), (ReadLines(), ReadLines())
            fragment = KnownFragment(
                self.block, self.depth, one.products, one.bits, *placed, False, (), reads, (0, 0), frozenset()
            )
            found.append(fragment)
        return found

    def _count_left(self, one: _Sum, elements: Sequence[StoredWarp]) -> int:
        """Return how many elements of D of a product are stored nowhere."""
        places = [1024 * row + column for row, column, *_ in elements]
        return one.elements - (len(np.unique(np.concatenate(places))) if places else 0)

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
            chain = self._list_chain(use)
            for warp in np.flatnonzero(use.active.reshape(-1, 32).all(axis=1)).tolist():
                products = self._locate_chain(chain, warp)
                yield _Sum(-number - 1, use.opcode, bits, range(warp, warp + 1), _count_elements(use.opcode), products)

    def _list_chain(self, last: MmaUse) -> list[tuple[MmaUse, _Operand, _Operand]]:
        """List the products that add to one D, the last one first, each with its operands."""
        chain = []
        at: MmaUse | None = last
        while at is not None:
            chain.append((at, self._locate(at, "a"), self._locate(at, "b")))
            at = None if at.start else at.adds
        return chain

    def _locate_chain(
        self, chain: Sequence[tuple[MmaUse, _Operand, _Operand]], warp: int
    ) -> tuple[KnownProduct, ...] | OpenPart:
        """Return the products of a warp that add to one D, or what is not known of one."""
        found = []
        for at, (of_a, at_a), (of_b, at_b) in chain:
            a, b = of_a.get(warp), of_b.get(warp)
            if a is None or b is None:
                return _explain_operand(self.run, at, "b" if a is not None else "a")
            sites, loads = (at_a[0], at_b[0]), (at_a[1], at_b[1])
            found.append(KnownProduct(a, b, at.span, at.calls, at.turns, sites, loads))
            if at.start:
                return OpenPart(f"this product adds to {at.start}", at.span)
        return tuple(found)

    def _locate(self, use: MmaUse, name: str) -> _Operand:
        """Return an operand in each warp that multiplies, and (the place of its address, its ldmatrix)."""
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
                bits, warps = of_sum[0].seen.bits, range(GROUP_WARPS * group, GROUP_WARPS * (group + 1))
                start = self.run.starts.get(total)
                begun = OpenPart(start, of_sum[0].span) if start else None
                rows = {use.name: use.seen.rows for use in of_sum}
                in_memory = self.run.results[-last[total] - 1].in_memory
                size = rows.get("a", 0) * rows.get("b", 0) if in_memory else _count_elements(of_sum[0].opcode)
                products = begun or _pair_reads(self.run, of_sum)
                yield _Sum(last[total], of_sum[0].opcode, bits, warps, size, products)


def _list_elements(sums: Sequence[tuple[int, int]], stored: _Stored) -> list[StoredWarp]:
    """Return the stored elements of sums, each (record, warp)."""
    return [part for of in sums for part in stored.get(of, ())]


def _list_twins(one: _Sum, sums: Sequence[_Sum]) -> list[tuple[int, int]]:
    """Return (record, warp) of the sums of one product that are of the same elements of A and B in all warps."""
    alike = (of for of in sums if of.record == one.record and of.opcode == one.opcode and _is_same_sum(one, of))
    return [(of.record, warp) for of in alike for warp in of.warps]


def _is_same_sum(one: _Sum, other: _Sum) -> bool:
    """Return whether two sums are of the same elements of A and B."""
    if isinstance(one.products, OpenPart) or isinstance(other.products, OpenPart):
        return False
    if len(one.products) != len(other.products):
        return False
    pairs = zip(one.products, other.products, strict=True)
    sides = [(left, right) for a, b in pairs for left, right in zip(a.sides, b.sides, strict=True)]
    named = all((left.array, left.names) == (right.array, right.names) for left, right in sides)
    return named and all(map(np.array_equal, [left.places for left, _ in sides], [right.places for _, right in sides]))


def _count_elements(opcode: str) -> int:
    """Return the elements of D of an instruction; 0 if it is not known."""
    instruction = find_instruction(opcode)
    return np.size(instruction.operand("d").coords["row"]) if instruction is not None else 0


def _pair_reads(run: KernelRunner, uses: Sequence[DescriptorUse]) -> tuple[KnownProduct, ...] | OpenPart:
    """Return the products of the reads of one sum, or what is not known of one."""
    sides: dict[str, list[DescriptorUse]] = {"a": [], "b": []}
    for use in uses:
        sides[use.name].append(use)
    if len(sides["a"]) != len(sides["b"]):
        return OpenPart("some descriptors of this sum are not known", uses[0].span)
    found = []
    for left, right in zip(sides["a"], sides["b"], strict=True):
        a, b = locate_descriptor(run, left), locate_descriptor(run, right)
        if a is None or b is None:
            reason = f"what this descriptor of {'B' if a is not None else 'A'} reads is not known"
            return OpenPart(reason, (left if a is None else right).site)
        if (left.span, left.calls, left.turns) != (right.span, right.calls, right.turns):
            return OpenPart("some descriptors of this sum are not known", left.span)
        found.append(KnownProduct(a, b, left.span, left.calls, left.turns, (left.site, right.site)))
    return tuple(reversed(found))


def _explain_operand(run: KernelRunner, use: MmaUse, name: str) -> OpenPart:
    """Explain why an operand of an mma is not known."""
    registers, letter = use.a if name == "a" else use.b, name.upper()
    for one in registers:
        site = one.site if one.site != (0, 0) else use.span
        if one.data is None:
            what = "sets" if one.unset else "is known of"
            return OpenPart(f"nothing {what} this register of {letter}", site)
        if one.load is not None and _is_open(one.load.rows, use):
            written = [run.stores[n] for n in one.load.writers if n]
            if len(written) == 1:
                return OpenPart(f"what this stores of {letter} is not known", written[0])
            return OpenPart(f"what this ldmatrix of {letter} reads is not known", one.load.site)
        if _is_open(one.data, use):
            return OpenPart(f"which elements this register of {letter} has is not known", site)
    return OpenPart(f"{letter} of this product is computed, or has elements of several arrays", use.span)


def _is_open(data: DataBytes, use: MmaUse) -> bool:
    return bool((data.record[use.active] == OPEN).any())


def _find_site(use: MmaUse, operand: ArrivedOperand | None) -> tuple[Span, Span | None]:
    """Return (the place of the address, the ldmatrix) of an operand of an mma; (the product, None) without ldmatrix."""
    loads: Sequence[MatrixLoad] = operand.loads if operand is not None else ()
    return (loads[0].site, loads[0].span) if loads else (use.span, None)


def find_lost(run: KernelRun) -> OpenPart | None:
    """Return what is not known of a run."""
    runner = run.runner
    if run.why:
        return OpenPart(run.why)
    if not run.complete:
        return OpenPart("its code cannot be followed to the end, here it is lost", runner.reached)
    if runner.shared.broken:
        return OpenPart(f"what is in shared memory is not known, since {runner.shared.broken}")
    unplaced = runner.open_outputs | {store.site for store in runner.outputs if store.offset.const is None}
    if unplaced:
        return OpenPart("where it is stored is not known", min(unplaced))
    scaled = next((use.span for use in runner.products if "block_scale" in use.opcode), None)
    return OpenPart(NOT_FOLLOWED, scaled) if scaled else _find_excess(runner)


def explain_nothing(runners: Sequence[KernelRunner], k: int) -> OpenPart:
    """Return why the sums of a kernel are not known: it has none with this K, D is in tensor memory, or its products
    are of another kind.
    """
    if not any(run.products or run.descriptors for run in runners):
        at = find_skipped_loop(runners[0].text, runners[0]) if runners else None
        loop = f": `{' '.join(runners[0].text[slice(*at)].split())}` has no iterations" if at is not None else ""
        return OpenPart(f"a run with K = {k} executes no product{loop}", at)
    in_memory = (use for run in runners for use in run.descriptors if use.seen.form.by_idesc)
    found = (OpenPart("what tcgen05.ld loads of it is not followed", use.span) for use in in_memory)
    return next(found, OpenPart(""))


def _find_excess(runner: KernelRunner) -> OpenPart | None:
    """Return the limit of products or stores that a run exceeds."""
    if runner.is_full:
        return OpenPart(f"it has more than {runner.most_products:,} products in a block", runner.products[-1].span)
    full = len(runner.outputs) >= MOST_STORES
    return OpenPart(f"it has more than {MOST_STORES:,} stores in a block", runner.outputs[-1].site) if full else None


def find_change(runs: Sequence[KernelRunner], count: int) -> OpenPart | None:
    """Return where elements of D that are stored are changed so that it is not A·B. count: of all its elements."""
    stored = ((run, [one.data.select_threads(np.flatnonzero(one.active)) for one in run.outputs]) for run in runs)
    changed = (find_changed(run, data) for run, data in stored)
    found = next(filter(None, changed), None) or find_other_stores(runs, count)
    return OpenPart(*found, whole=True) if found is not None else None


def has_wide_tile(fragments: Mapping[int, Sequence[KnownFragment]], lines: Sequence[int]) -> bool:
    """Return whether the tile of the first block has more than 256 rows or columns. lines: the lengths that a row or a
    column of D may have.
    """
    first = [one.place for of in fragments.values() for one in of if one.block == (0, 0, 0)]
    ends = [max((int(np.maximum(*np.divmod(place, line)).max()) for place in first), default=0) for line in lines]
    return min(ends) >= _WIDE
