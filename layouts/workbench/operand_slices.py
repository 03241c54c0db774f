"""Find registers of an mma that nothing sets, and K slices that one operand repeats and the other does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lanescope.reader.threads.records import MmaUse
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.known_values import find_common_value, require_known
from lanescope.workbench.thread_descriptors import FragmentFinding
from lanescope.workbench.thread_fragments import ArrivedOperand
from lanescope.workbench.warp_coverage import Rows, split_origin

TITLES = {
    "register_unset": "A register of an mma is not set",
    "k_slice_repeated": "One operand takes a K slice twice, the other does not",
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
    products = require_known(_find_slices(use, a, b) for use, a, b in pairs) or []
    usual = _find_usual_distance(products)
    for product in products:
        if usual is None or product.distance == usual:
            continue
        same = [other for other in products if other.use.has_result_of(product.use)]
        twice = [n for n in range(2) if sum(other.k[n] == product.k[n] for other in same) > 1]
        if len(twice) == 1 and product.operands[twice[0]].loads:
            yield _make_repeated(product, twice[0])
            return


def _find_usual_distance(products: Sequence[_ProductSlices]) -> int | None:
    """Return the distance between the K of A and that of B in most products; None if no product differs from them."""
    distances = Counter(product.distance for product in products)
    usual, count = max(distances.items(), key=lambda of: of[1], default=(0, 0))
    return usual if len(distances) > 1 and count >= LEAST and count * 2 > len(products) else None


def _make_repeated(product: _ProductSlices, n: int) -> FragmentFinding:
    operand, load = product.operands[n], product.operands[n].loads[0]
    message = (
        f"{operand.name.upper()} of {product.use.opcode} takes the slice at K = {product.k[n]} twice for the same"
        f" accumulators, and here multiplies it with the slice at K = {product.k[1 - n]}."
    )
    return FragmentFinding("k_slice_repeated", message, load.calls[0] if len(load.calls) > 1 else load.site)


def _find_slices(use: MmaUse, a: ArrivedOperand, b: ArrivedOperand) -> _ProductSlices | None:
    """Return a product with the K at which A and B begin; None if that is unknown, or differs between warps."""
    pairs = zip(a.warps or (), b.warps or (), strict=False)
    k = find_common_value(_find_k(split_origin(left), split_origin(right)) for left, right in pairs)
    return None if k is None else _ProductSlices(use, (a, b), k)


def _find_k(rows: tuple[Rows, int] | None, columns: tuple[Rows, int] | None) -> tuple[int, int] | None:
    return None if rows is None or columns is None else (rows[1], columns[1])
