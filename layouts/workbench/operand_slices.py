"""Find registers of an mma that nothing sets, and K slices that one operand repeats and the other does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lanescope.reader.threads.records import MmaUse
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.thread_descriptors import FragmentFinding
from lanescope.workbench.thread_fragments import ArrivedOperand
from lanescope.workbench.warp_coverage import split_origin

TITLES = {
    "register_unset": "A register of an mma is not set",
    "k_slice_repeated": "One operand takes a K slice twice, the other does not",
}
LEAST = 3  # products with the same distance between the K of A and that of B


def find_unset_registers(runner: KernelRunner) -> Iterator[FragmentFinding]:
    """Yield the ldmatrix that fills too few registers of an operand whose others nothing sets."""
    if runner.shared.broken:
        return
    reported: set[object] = set()
    for use in runner.products:
        for name, registers in (("A", use.a), ("B", use.b)):
            loads = {id(register.load): register.load for register in registers if register.load is not None}
            left = [str(n) for n, register in enumerate(registers) if register.unset]
            load = next(iter(loads.values())) if len(loads) == 1 else None
            if load is None or len(left) + sum(r.load is load for r in registers) < len(registers) or not left:
                continue
            at = load.calls[-1] if load.calls else load.span
            if at not in reported:
                reported.add(at)
                message = (
                    f"Nothing sets register{'s' * (len(left) > 1)} {' and '.join(left)} of {name} of {use.opcode}: this"
                    f" ldmatrix fills {len(registers) - len(left)} of {len(registers)}."
                )
                yield FragmentFinding("register_unset", message, at)


def find_repeated_slices(
    pairs: Iterable[tuple[MmaUse, ArrivedOperand, ArrivedOperand]],
) -> Iterator[FragmentFinding]:
    """Yield an operand's load whose K slice is not that of the other operand, as in the other products of a kernel."""
    known = [(use, a, b, _find_slices(a, b)) for use, a, b in pairs]
    distances = Counter(at[0] - at[1] for _, _, _, at in known if at is not None)
    if len(distances) < 2 or any(at is None for *_, at in known):
        return
    usual, count = distances.most_common(1)[0]
    if count < LEAST or count * 2 <= sum(distances.values()):
        return
    for use, a, b, at in known:
        if at is None or at[0] - at[1] == usual:
            continue
        same = [other for one, _, _, other in known if other is not None and one.has_result_of(use)]
        for operand, n in ((a, 0), (b, 1)):
            twice = _is_repeated(same, n, at)
            if twice and operand.loads and not _is_repeated(same, 1 - n, at):
                message = (
                    f"{operand.name.upper()} of {use.opcode} takes the slice at K = {at[n]} twice for the same"
                    f" accumulators, and here multiplies it with the slice at K = {at[1 - n]}."
                )
                load = operand.loads[0]
                yield FragmentFinding("k_slice_repeated", message, load.calls[0] if len(load.calls) > 1 else load.site)
                return


def _is_repeated(slices: Sequence[tuple[int, int]], n: int, at: tuple[int, int]) -> bool:
    return sum(other[n] == at[n] for other in slices) > 1


def _find_slices(a: ArrivedOperand, b: ArrivedOperand) -> tuple[int, int] | None:
    """Return the K at which the fragments of A and of B begin, the same in all warps; None if unknown."""
    found = set()
    for left, right in zip(a.warps or (), b.warps or (), strict=False):
        rows, columns = split_origin(left), split_origin(right)
        found.add((rows[1], columns[1]) if rows is not None and columns is not None else None)
    return found.pop() if len(found) == 1 else None
