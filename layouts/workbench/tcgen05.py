"""tcgen05.mma as a reader of descriptors: its sizes, types and majors stand in its instruction descriptor, so that each
run of an asm statement may be another instruction.

`uses.py` asks for the uses of a text's asm statements; `bench_builder.py`, `operands.py` and `verification.py` take how
such an instruction reads its operands from `make_view`. Source: PTX ISA 9.1, 9.7.16.4 and 9.7.16.10.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.descriptor.matrix import View, view
from lanescope.errors import LayoutError
from lanescope.ptx.dtypes import DType, get_dtype
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.descriptors import TCGEN05

TCGEN05_KEY = "tcgen05"  # among the choices: whether tcgen05.mma is verified; the page has no sheet for it


@dataclass(frozen=True, slots=True)
class MmaFamily:
    """What the workbench asks of an instruction's family."""

    by_descriptor: bool = True
    multiplies: bool = True


@dataclass(frozen=True, slots=True)
class MmaOperand:
    """An operand of tcgen05.mma: its element type."""

    element: DType


@dataclass(frozen=True, slots=True)
class Tcgen05Mma:
    """One tcgen05.mma with its instruction descriptor. pair: whether two CTAs hold halves of A and B."""

    ptx: str
    m: int
    n: int
    k: int
    types: tuple[tuple[str, str], ...]
    majors: tuple[tuple[str, str], ...]
    pair: bool
    family: MmaFamily = MmaFamily()

    def operand(self, name: str) -> MmaOperand:
        """Return A or B."""
        return MmaOperand(get_dtype(dict(self.types)[name]))

    def make_view(self, name: str, major: str) -> View:
        """Return how it reads A or B through a descriptor; of a pair of CTAs, the half of the one that issues it."""
        rows = (self.m if name == "a" else self.n) // (2 if self.pair else 1)
        bits = self.operand(name).element.bits
        if not TCGEN05.allows_elements(bits, major):
            raise LayoutError("bad_major", f"Elements of {bits} bits are read K-major only.", "Allowed: K.", "major")
        return View(rows, self.k, bits, major, TCGEN05)


def make_view(instruction: Instruction | Tcgen05Mma, name: str, major: str) -> View:
    """Return how an instruction reads A or B through a descriptor."""
    if isinstance(instruction, Tcgen05Mma):
        return instruction.make_view(name, major)
    return view(instruction, name, major)
