"""Follow an operand of an mma along K, from one product to the next that adds to the same accumulators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lanescope.reader.threads.memory.records import MmaUse
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand, reload_operand

Product = tuple[MmaUse, Mapping[str, ArrivedOperand]]


def is_turned(
    runner: KernelRunner, product: MmaUse, earlier: Sequence[Product], operand: ArrivedOperand, other: ArrivedOperand
) -> bool:
    """Return whether an operand continues along K to the next product of the same accumulators only if .trans of its
    ldmatrix is toggled, by steps of a named stride, while the other operand continues as it is.
    """
    if not operand.loads or other.warps is None or operand.instruction.operand(operand.name).container_bits != 16:
        return False
    for use, operands in _list_before(product, earlier):
        before = operands[operand.name]
        alone = _count_step(operands[other.name].warps, other.warps) == 1
        if not alone or _count_step(before.warps, operand.warps) is not None:
            continue
        old = reload_operand(runner, use, before, True)
        new = reload_operand(runner, product, operand, True)
        named = any(name and k for name, k in zip(new[0].names, new[0].k_step, strict=True)) if new else False
        if named and _count_step(old, new) == 1:
            return True
    return False


def is_turned_fragment(
    product: MmaUse, earlier: Sequence[Product], operand: ArrivedOperand, other: ArrivedOperand
) -> bool:
    """Return whether an operand goes on along its rows, not along K, from one product to the next of the same
    accumulators, while the other operand goes on along K.
    """
    for _, operands in _list_before(product, earlier):
        pairs = list(zip(operands[operand.name].warps or (), operand.warps or (), strict=False))
        moved = bool(pairs) and all(_moves_along_rows(before, after) for before, after in pairs)
        if moved and _count_step(operands[other.name].warps, other.warps):
            return True
    return False


def _list_before(product: MmaUse, earlier: Iterable[Product]) -> Iterator[Product]:
    """Yield the products of the same accumulators that are one iteration of one loop earlier."""
    for use, operands in earlier:
        if product.has_result_of(use) and len(use.turns) == len(product.turns):
            away = [b - a for a, b in zip(use.turns, product.turns, strict=True)]
            if sorted(away)[-1:] == [1] and away.count(0) == len(away) - 1:
                yield use, operands


def _moves_along_rows(before: FragmentOrigin, after: FragmentOrigin) -> bool:
    """Return whether a fragment begins a whole number of its rows further, and not along K."""
    if before.names != after.names or before.array != after.array or before.rows != after.rows:
        return False
    row = tuple(int(g[1, 0] - g[0, 0]) for g in after.places)
    moved = tuple(b - a for a, b in zip(before.base, after.base, strict=True))
    pairs = list(zip(row, moved, strict=True))
    along = all(a * y == b * x for a, x in pairs for b, y in pairs)
    return any(row) and any(moved) and along and not after.follows_along_k(moved)


def _count_step(before: Sequence[FragmentOrigin] | None, after: Sequence[FragmentOrigin] | None) -> int | None:
    """Return how many fragments the first warp's operand moves along K; None if it moves otherwise or is unknown."""
    if not before or not after or not (before[0].separable and after[0].separable):
        return None
    count, width = before[0].count_k(after[0]), after[0].places[0].shape[1]
    return None if count is None or count % width else count // width
