"""The product that the captions of a wgmma's steps describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from lanescope.app.kit.fact import Description, fact
from lanescope.app.steps.captions import StepperStep, format_range
from lanescope.app.steps.described import DescribedOperand
from lanescope.ptx.instruction import Instruction, Operand


@fact
class WgmmaStep(StepperStep):
    """A step with its warp and K step."""

    kind: Annotated[str, Description("plain, xor, hold, field, line, core, k, advance, read, out or done.")]
    warp: Annotated[int, Description("−1: of no warp alone.")]
    k_step: int
    marks: Annotated[list[int], Description("Of a field: the addresses that it leads to.")]


@fact
class WgmmaMove:
    """What is read in one step: core matrices of a K step, with all their lines or one."""

    k_step: int
    warp: Annotated[int, Description("Which takes it; −1: all four.")]
    cores: list[int]
    line: Annotated[int, Description("−1: all lines.")]


@dataclass(frozen=True)
class DescribedProduct:
    """Input of the captions: the operands with descriptors (A may come from registers), the element read for each ([K
    step, mn, k]), the k of each step of the multiplication, and the columns shown.

    n: all columns; per: elements along K for each k counted here.
    """

    instruction: Instruction
    operands: dict[str, DescribedOperand]
    sources: Mapping[str, Any]
    groups: list[tuple[int, int]]
    columns: slice
    n: int
    per: int = 1

    @property
    def k(self) -> int:
        """Return the cells along K of one K step."""
        return self.instruction.sizes["k"] // self.per

    def format_k(self, first: int, last: int) -> str:
        """Return the k from the first cell to the last as text."""
        return format_range(first * self.per, (last + 1) * self.per - 1)

    def name_cell(self, name: str, mn: int, k: int) -> str:
        """Return a cell's element as in the matrix: A[m][k], B[k][n]."""
        along = str(k) if self.per == 1 else f"{k * self.per}…{(k + 1) * self.per - 1}"
        return f"A[{mn}][{along}]" if name == "a" else f"B[{along}][{mn}]"

    @property
    def k_steps(self) -> int:
        return self.operands["b"].steps

    @property
    def register_operand(self) -> Operand | None:
        """Return A if it comes from registers."""
        return None if "a" in self.operands else self.instruction.operands["a"]

    @property
    def is_window(self) -> bool:
        return bool(self.columns.stop - self.columns.start < self.n)
