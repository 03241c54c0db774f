"""A tl.dot, the product that Triton chooses an instruction for, and the choice."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.ptx.targets import strip_suffix
from lanescope.triton.dot_shapes import Pair
from lanescope.triton.dot_types import ACCUMULATORS, OperandType


@dataclass(frozen=True, slots=True)
class TritonDot:
    """One tl.dot, or tl.dot_scaled if `scales` is not empty: sizes of the tile, types by Triton's names.

    scales: the operands with scales, "", "ab", "a" or "b"; factor: elements of K that share a scale; imprecise:
    max_num_imprecise_acc, None for Triton's default; computed: A is computed in registers from loaded values.
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    target: str
    acc: str = "fp32"
    num_warps: int = 4
    num_ctas: int = 1
    precision: str = "tf32"
    scales: str = ""
    factor: int = 32
    imprecise: int | None = None
    computed: bool = False

    @property
    def capability(self) -> int:
        return int(strip_suffix(self.target).removeprefix("sm_"))


@dataclass(frozen=True, slots=True)
class Product:
    """A product when Triton chooses its instruction: types after rewriting, split: blocks along M and N."""

    dot: TritonDot
    m: int
    n: int
    a: OperandType
    b: OperandType
    split: Pair
    loaded_bits: int  # of the narrowest operand as it was loaded
    computed: bool
    count: int = 1

    @property
    def part(self) -> Pair:
        return max(1, self.m // self.split[0]), max(1, self.n // self.split[1])

    @property
    def acc(self) -> str:
        return ACCUMULATORS[self.dot.acc]


@dataclass(frozen=True, slots=True)
class Attempt:
    """An instruction that Triton considers, and the conditions that the product fails; none for the chosen one."""

    instruction: str
    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DotOperand:
    """Where an operand is when the instruction reads it, its type there, and its layout as Triton prints it.

    layout: "" if it depends on the layout in global memory.
    """

    place: str
    type: OperandType
    layout: str = ""


@dataclass(frozen=True, slots=True)
class DotChoice:
    """The instruction and layouts that Triton chooses for a product.

    layout: of D, as Triton prints it; before: that of partial sums of several products, if it differs; transposed:
    whether D' = B'·A' is computed.
    """

    product: Product
    instruction: str
    ptx: str
    layout: str
    a: DotOperand
    b: DotOperand
    attempts: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()
    transposed: bool = False
    before: str = ""

    @property
    def shape(self) -> Pair:
        """Rows and columns of the product as it is computed."""
        return self.product.m, self.product.n

    @property
    def columns(self) -> int:
        """The 32-bit columns of tensor memory that D takes in each block; 0 if D is in registers."""
        rows, cols = self.product.part
        return max(1, rows // 128) * cols if self.instruction == "tcgen05" else 0

    @property
    def reason(self) -> str:
        """The conditions that decided: those that the product fails for better instructions, or those that it meets."""
        failed = [
            f"not {attempt.instruction}: {'; '.join(attempt.failed)}" for attempt in self.attempts if attempt.failed
        ]
        if failed:
            return ". ".join(failed)
        dot, chosen = self.product.dot, self.attempts[-1].instruction
        if chosen == "mma.sync":
            return f"{dot.target} has neither wgmma nor tcgen05.mma: Triton uses mma.sync"
        sizes = f"M = {dot.m}, N = {dot.n}, K = {dot.k}, num_warps = {dot.num_warps}"
        return f"{dot.target}, {sizes}: the conditions of {chosen} hold"
