"""Find registers of an mma that nothing sets, and K slices that one operand repeats and the other does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lanescope.reader.threads.memory.records import MatrixLoad, MmaUse, RegisterUse
from lanescope.reader.threads.memory.storage import OPEN, ReadBytes
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand
from lanescope.workbench.fragments.warp_coverage import Rows, split_origin
from lanescope.workbench.results import CheckFinding
from lanescope.workbench.text.known_values import find_common_value, require_known

TITLES = {
    "register_unset": "A register of an mma is not set",
    "k_slice_repeated": "One operand takes a K slice twice, the other does not",
    "k_slice_wrong": "One operand leaves the order of K slices that both have",
    "operand_array": "One operand is filled from the other operand's matrix",
}
LEAST = 3  # products with the same distance between the K of A and that of B


@dataclass(frozen=True, slots=True, eq=False)
class _ProductSlices:
    """A product, its A and B, and the K at which each of them begins."""

    use: MmaUse
    operands: tuple[ArrivedOperand, ArrivedOperand]
    k: tuple[int, int]

    @property
    def distance(self) -> int:
        return self.k[0] - self.k[1]

    def takes_slice_of(self, other: _ProductSlices, n: int) -> bool:
        """Return whether an operand is the same slice of the same rows of one matrix. n: 0 for A, 1 for B."""
        rows = [_find_rows(product.operands[n]) for product in (self, other)]
        return self.k[n] == other.k[n] and rows[0] == rows[1]


def find_unset_registers(runner: KernelRunner) -> Iterator[CheckFinding]:
    """Yield the ldmatrix that fills too few registers of an operand whose others nothing sets."""
    if runner.shared.broken:
        return
    reported: set[object] = set()
    loaded = {(use.span, use.calls) for use in runner.products if all(r.load is not None for r in (*use.a, *use.b))}
    for use in runner.products:
        for name, registers in (("A", use.a), ("B", use.b)):
            found = _find_unset(use, name, registers, (use.span, use.calls) in loaded)
            if found is not None and found.span not in reported:
                reported.add(found.span)
                yield found


def _find_unset(use: MmaUse, name: str, registers: Sequence[RegisterUse], loaded: bool) -> CheckFinding | None:
    """Find registers of an operand that nothing sets. loaded: whether ldmatrix fills them for other products here."""
    loads = {id(register.load): register.load for register in registers if register.load is not None}
    left = [str(n) for n, register in enumerate(registers) if register.unset]
    load = next(iter(loads.values())) if len(loads) == 1 else None
    if loaded and len(left) == len(registers):
        message = f"Nothing sets the registers of {name} before the first {use.opcode} here, as other turns do."
        return CheckFinding("register_unset", message, use.calls[-1] if use.calls else use.span)
    if load is None or len(left) + sum(r.load is load for r in registers) < len(registers) or not left:
        return None
    message = (
        f"Nothing sets register{'s' * (len(left) > 1)} {' and '.join(left)} of {name} of {use.opcode}: this"
        f" ldmatrix fills {len(registers) - len(left)} of {len(registers)}."
    )
    return CheckFinding("register_unset", message, load.calls[-1] if load.calls else load.span)


Pair = tuple[MmaUse, ArrivedOperand, ArrivedOperand]


def _get_operand(pair: Pair, n: int) -> ArrivedOperand:
    """Return A for 0, B for 1."""
    return pair[2] if n else pair[1]


def find_slice_mistakes(runner: KernelRunner, pairs: Sequence[Pair]) -> list[CheckFinding]:
    """Return the first mistake in the order of K slices, or in the matrix that they come from; none if other warps fill
    the tiles meanwhile, whose turns are not followed side by side.
    """
    if runner.shared.is_apart:
        return []
    for find in (_find_wrong_arrays, _find_wrong_steps, _find_products_twice):
        for group in _group_by_sum(pairs):
            found = find(runner, group)
            if found is not None:
                return [found]
    return list(_find_repeated_slices(pairs))


def _group_by_sum(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Group the products of one place that add to the same accumulators, in their order."""
    groups: dict[object, list[Pair]] = {}
    for pair in pairs:
        use = pair[0]
        if use.result is not None:
            groups.setdefault((use.span, use.calls, id(use.result[0]), use.result[1]), []).append(pair)
    return list(groups.values())


def _find_wrong_arrays(runner: KernelRunner, group: Sequence[Pair]) -> CheckFinding | None:
    """Find an operand that in some products comes from the array of the other operand, which has no other."""
    arrays = [[{warp.array for warp in _get_operand(pair, n).warps or ()} for pair in group] for n in (0, 1)]
    for n in (0, 1):
        found = _find_foreign(arrays[n], arrays[1 - n])
        if found is None:
            continue
        at, own, name = found
        use, operand = group[at][0], _get_operand(group[at], n)
        if not _begin_alike(operand, _get_operand(group[at], 1 - n)):
            continue  # [Y|X]·[X|X]ᵀ: other rows of the same matrix
        message = (
            f"{operand.name.upper()} of {use.opcode} comes from {name} here, as {'BA'[n]} does, and from"
            f" {own} in other turns."
        )
        return CheckFinding("operand_array", message, _find_filling(runner, group, at, n))
    return None


def _find_foreign(arrays: Sequence[set[str]], others: Sequence[set[str]]) -> tuple[int, str, str] | None:
    """Return (the first product for which an operand comes from the only array of the other one, its own array, that
    array); None unless it comes from its own array before, and from the other one ever after.
    """
    other, mine = set().union(*others), set().union(*arrays)
    if len(other) != 1 or len(mine) != 2 or not other < mine or "" in mine:
        return None
    foreign = [bool(found & other) for found in arrays]
    if foreign[0] or foreign != sorted(foreign):
        return None
    return foreign.index(True), (mine - other).pop(), other.pop()


def _begin_alike(operand: ArrivedOperand, other: ArrivedOperand) -> bool:
    """Return whether two operands begin with the same element of one matrix."""
    first, second = ((one.warps or (None,))[0] for one in (operand, other))
    if first is None or second is None:
        return False
    return (first.array, first.names, first.base) == (second.array, second.names, second.base)


def _find_wrong_steps(runner: KernelRunner, group: Sequence[Pair]) -> CheckFinding | None:
    """Find the operand that takes a K slice again while the other goes on, as both did before.

    A jump to another array, other rows, or a slice that is new may be meant: K of two matrices, the taps of a
    convolution, interleaved weights. So may be a slice that is taken again of a matrix with a smaller K, or if both
    operands take the same slices in the end: A = [high | low], and B the same for both.
    """
    slices = [_find_slices(a, b) for _, a, b in group]
    known = [at for at in slices if at is not None]
    if len(known) < max(len(slices), LEAST):
        return None
    found = _find_other_step(known)
    if found is None:
        return None
    at, n = found
    use, operand, now = group[at][0], _get_operand(group[at], n), known[at]
    if now[n] not in {k[n] for k in known[:at]} or _may_repeat(group[: at + 1], known):
        return None
    message = (
        f"{operand.name.upper()} of {use.opcode} takes the slice at K = {now[n]} here, and {'BA'[n]} the slice at"
        f" K = {now[1 - n]}, as the order of both before continues."
    )
    return CheckFinding("k_slice_wrong", message, _find_filling(runner, group, at, n))


def _find_other_step(slices: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first product whose slices of A and B are at different distances from those before, and the operand
    that leaves the usual distance, which both have had so far.
    """
    steps = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(slices)]
    usual = Counter(step for pair in steps for step in pair).most_common(1)[0][0]
    at = next((n for n, pair in enumerate(steps) if pair != (usual, usual)), None)
    if at is None or not usual or steps[at].count(usual) != 1:
        return None
    return at + 1, 0 if steps[at][1] == usual else 1


def _may_repeat(pairs: Sequence[Pair], known: Sequence[tuple[int, int]]) -> bool:
    """Return whether products have several rows, one operand has a smaller K, or both take the same slices in the end:
    known.
    """
    several = len({_find_rows(a, b) for _, a, b in pairs}) > 1
    return several or {k[0] for k in known} == {k[1] for k in known} or not _have_equal_k(*pairs[0][1:])


def _have_equal_k(a: ArrivedOperand, b: ArrivedOperand) -> bool:
    """Return whether A and B have the same distance between rows, in elements, if K is contiguous in both."""
    pitches = []
    for warp in ((operand.warps or (None,))[0] for operand in (a, b)):
        step = warp.lines.get("", (0, 0))[1] if warp is not None else 0
        if warp is None or not step:
            return True
        pitches.append({name: rows[1] / step for name, rows in zip(warp.names, warp.rows, strict=True) if any(rows)})
    return pitches[0] == pitches[1]


def _find_rows(*operands: ArrivedOperand) -> object:
    """Return the arrays of operands, and the rows or columns that each warp takes of them."""
    warps = [warp for operand in operands for warp in operand.warps or ()]
    return tuple((warp.array, warp.names, (split_origin(warp) or ((), 0))[0]) for warp in warps)


def _find_products_twice(runner: KernelRunner, group: Sequence[Pair]) -> CheckFinding | None:
    """Find a product of the same slices of A and B as an earlier one of the same sum, both as ldmatrix loads them, or
    as wmma loads what other statements have copied.
    """
    seen: dict[object, Pair] = {}
    for at, (use, a, b) in enumerate(group):
        if at and not _adds_to(use, group[at - 1][0]):
            seen = {}  # another sum
        slices = _find_slices(a, b)
        by_wmma = _is_by_wmma(a) and _is_by_wmma(b)
        if slices is None or not ((a.loads and b.loads) or by_wmma):
            continue
        key = tuple((warp.array, warp.names, warp.base) for one in (a, b) for warp in one.warps or ())
        before = seen.setdefault(key, group[at])
        if before[0] is not use and not (by_wmma and _are_copied_alike(runner, before, group[at])):
            message = (
                f"{use.opcode} multiplies the slices of A and B at K = {slices[0]} a second time for the same sum: both"
                " operands take them again."
            )
            return CheckFinding("k_slice_repeated", message, _find_filling(runner, group, at, 0))
    return None


def _adds_to(use: MmaUse, before: MmaUse) -> bool:
    """Return whether a product adds to D of another one, also by others between them."""
    added = use.adds
    while added is not None and added is not before:
        added = added.adds
    return added is before


def _are_copied_alike(runner: KernelRunner, one: Pair, other: Pair) -> bool:
    """Return whether the same statement has copied A, or B, for two products, as in a loop that measures the time."""
    for n in (0, 1):
        records = [_list_records(_get_operand(pair, n)) for pair in (one, other)]
        loads = [runner.records[min(numbers)] if numbers else None for numbers in records]
        if len({None if load is None else (load.site, load.calls) for load in loads} - {None}) < len(loads):
            return True
    return False


def _is_by_wmma(operand: ArrivedOperand) -> bool:
    """Return whether one read has filled all registers of an operand."""
    data = [one.data for one in operand.registers]
    sites = {one.site for one in data if isinstance(one, ReadBytes)}
    return len(data) > 1 and len(sites) == 1 and all(isinstance(one, ReadBytes) for one in data)


def _find_filling(runner: KernelRunner, group: Sequence[Pair], at: int, n: int) -> tuple[int, int]:
    """Return the store that fills an operand's slice if no earlier slice is filled by it, else the load."""
    operand, other = _get_operand(group[at], n), _get_operand(group[at], 1 - n)
    both = bool(at) and _find_slices(*group[at][1:]) == _find_slices(*group[at - 1][1:])
    if at and (source := _find_source(runner, group[at - 1 : at + 1], n)) is not None:
        return source
    if not operand.loads:
        return next(_list_sites(operand), group[at][0].span)
    load = operand.loads[0]
    if at and (store := _find_new_store(runner, load, group[:at], n)) is not None:
        return store
    alike = bool(other.loads) and other.loads[0].calls[:1] == load.calls[:1]  # one function loads both, for the same K
    return load.calls[0] if len(load.calls) > 1 and (both or not alike) else load.site


def _find_new_store(runner: KernelRunner, load: MatrixLoad, earlier: Sequence[Pair], n: int) -> tuple[int, int] | None:
    """Return the only store that fills what is loaded, if it has filled nothing that earlier products load."""
    stores = {runner.stores[writer] for writer in load.writers if writer}
    before = {runner.stores[w] for pair in earlier for one in _get_operand(pair, n).loads for w in one.writers if w}
    return stores.pop() if len(stores) == 1 and not stores & before else None


def _list_sites(operand: ArrivedOperand) -> Iterator[tuple[int, int]]:
    """Yield the loads of an operand's registers, then what passes them."""
    yield from (data.site for register in operand.registers if isinstance(data := register.data, ReadBytes))
    yield from (register.site for register in operand.registers if register.site != (0, 0))


def _find_source(runner: KernelRunner, two: Sequence[Pair], n: int) -> tuple[int, int] | None:
    """Return the address in global memory of an operand's slice, if both operands were copied since the product before:
    each is then where it is read, and the wrong one is from another place. None if one was not.
    """
    records = [[_list_records(_get_operand(pair, m)) for pair in two] for m in (0, 1)]
    if any(not part for both in records for part in both):
        return None
    described = not any(_get_operand(pair, m).loads for pair in two for m in (0, 1))  # slices of one tile, by passes
    if not _are_newer(records, not described):
        return None
    mine, other = (runner.records[min(records[m][1])] for m in (n, 1 - n))
    same = _find_slices(*two[1][1:])
    wrong_both = same is not None and same[0] == same[1]
    site = mine.calls[0] if wrong_both and mine.calls and mine.calls[:1] == other.calls[:1] else mine.site
    return site if site != (0, 0) else None


def _are_newer(records: Sequence[Sequence[set[int]]], alike: bool) -> bool:
    """Return whether A and B of a product are copied after those of the product before. alike: by as many copies."""
    newer = [min(after) - min(before) for before, after in records]
    return min(newer) > 0 and (newer[0] == newer[1] or not alike)


def _list_records(operand: ArrivedOperand) -> set[int]:
    """Return the numbers of the loads of global memory that an operand's elements come from."""
    data = [register.data for register in operand.registers if register.data is not None]
    return {int(n) for one in data for n in np.unique(one.record) if n > OPEN}


def _find_repeated_slices(
    pairs: Iterable[tuple[MmaUse, ArrivedOperand, ArrivedOperand]],
) -> Iterator[CheckFinding]:
    """Yield an operand's load whose K slice is not that of the other operand, as in the other products of a kernel."""
    products = require_known(_find_product(*pair) for pair in pairs) or []
    usual = _find_usual_distance(products)
    for product in products:
        if usual is None or product.distance == usual:
            continue
        same = [other for other in products if other.use.has_result_of(product.use)]
        twice = [n for n in range(2) if sum(product.takes_slice_of(other, n) for other in same) > 1]
        if len(twice) == 1 and product.operands[twice[0]].loads:
            yield _make_repeated(product, twice[0])
            return


def _find_usual_distance(products: Sequence[_ProductSlices]) -> int | None:
    """Return the distance between the K of A and that of B in most products; None if no product differs from them."""
    distances = Counter(product.distance for product in products)
    usual, count = max(distances.items(), key=lambda of: of[1], default=(0, 0))
    return usual if len(distances) > 1 and count >= LEAST and count * 2 > len(products) else None


def _make_repeated(product: _ProductSlices, n: int) -> CheckFinding:
    operand, load = product.operands[n], product.operands[n].loads[0]
    message = (
        f"{operand.name.upper()} of {product.use.opcode} takes the slice at K = {product.k[n]} twice for the same"
        f" accumulators, and here multiplies it with the slice at K = {product.k[1 - n]}."
    )
    return CheckFinding("k_slice_repeated", message, load.calls[0] if len(load.calls) > 1 else load.site)


def _find_product(use: MmaUse, a: ArrivedOperand, b: ArrivedOperand) -> _ProductSlices | None:
    """Return a product with the K at which A and B begin; None if that is unknown, or differs between warps."""
    k = _find_slices(a, b)
    return None if k is None else _ProductSlices(use, (a, b), k)


def _find_slices(a: ArrivedOperand, b: ArrivedOperand) -> tuple[int, int] | None:
    """Return the K at which the fragments of A and of B begin, the same in all warps; None if unknown."""
    pairs = zip(a.warps or (), b.warps or (), strict=False)
    return find_common_value(_find_k(split_origin(left), split_origin(right)) for left, right in pairs)


def _find_k(rows: tuple[Rows, int] | None, columns: tuple[Rows, int] | None) -> tuple[int, int] | None:
    return None if rows is None or columns is None else (rows[1], columns[1])
