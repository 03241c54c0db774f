"""tcgen05.mma with its instruction descriptor, for the workbench: sizes, types and majors of A and B.

Each execution of an asm statement may have another descriptor. Source: PTX ISA 9.1, 9.7.16.4 and 9.7.16.10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lanescope.blackwell import idesc
from lanescope.blackwell.umma import parse_mma_opcode
from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.ptx.dtypes import DType, get_dtype
from lanescope.ptx.table.descriptors import TCGEN05, fit_format


@dataclass(frozen=True, slots=True)
class MmaFamily:
    """The attributes of a Family that the workbench reads."""

    by_descriptor: bool = True
    multiplies: bool = True


@dataclass(frozen=True, slots=True)
class MmaOperand:
    """An operand of tcgen05.mma: its element type."""

    element: DType


@dataclass(frozen=True, slots=True)
class Tcgen05Mma:
    """One tcgen05.mma with its instruction descriptor. pair: whether two CTAs hold halves of A and B; bits: of an
    element of A or B in memory, where 16 elements of 4 or 6 bits take 16 bytes in kinds f8f6f4 and mxf8f6f4.
    """

    ptx: str
    m: int
    n: int
    k: int
    types: tuple[tuple[str, str], ...]
    majors: tuple[tuple[str, str], ...]
    pair: bool
    bits: int
    target: str = ""
    d: str = ""  # the type of D
    family: MmaFamily = MmaFamily()

    def operand(self, name: str) -> MmaOperand:
        """Return A or B."""
        return MmaOperand(replace(get_dtype(dict(self.types)[name]), bits=self.bits))

    def make_view(self, name: str, major: str) -> View:
        """Return the view of A or B through its descriptor; for a pair of CTAs, of the half in the issuing CTA."""
        rows = (self.m if name == "a" else self.n) // (2 if self.pair else 1)
        if not TCGEN05.allows_elements(self.bits, major):
            why = f"Elements of {self.bits} bits are read K-major only."
            raise LayoutError("bad_major", why, "Allowed: K.", "major")
        return View(rows, self.k, self.bits, major, fit_format(TCGEN05, self.target))


def find_described_mma(words: str, word: int, target: str = "") -> Tcgen05Mma | None:
    """Return the tcgen05.mma with these qualifiers and this instruction descriptor; target: "" for any.

    None for one that is not verified: sparse or illegal.
    """
    try:
        opcode = parse_mma_opcode(f"tcgen05.mma{words}")
    except LayoutError:
        return None
    row = opcode.kind
    descriptor = idesc.IdescWord(word & idesc.MOST, row, target)
    types = {name: descriptor.types[name] for name in "ab"}
    if descriptor.sparse or not descriptor.m or not descriptor.n or idesc.find_problems(descriptor):
        return None
    pair = opcode.ctas == 2
    ptx = f"tcgen05.mma{words} {descriptor.m}×{descriptor.n}×{descriptor.k} {types['a']}"
    majors = tuple((name, "MN" if descriptor.get_code(f"transpose_{name}") else "K") for name in "ab")
    sizes, d = (descriptor.m, descriptor.n, descriptor.k), descriptor.types["d"]
    return Tcgen05Mma(ptx, *sizes, tuple(types.items()), majors, pair, row.element_bits, target, d)
