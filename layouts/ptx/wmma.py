"""wmma in CUDA C++: fragment types, what x[i] holds, and what PTX and CUDA C++ require of pointer and ldm.

PTX ISA 9.1, 9.7.14.4 (fragments, storage, target notes); the CUDA C++ Programming Guide's warp matrix functions; mma.h
of CUDA 13.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import lcm

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand, OperandFeed, OperandPlace

# Types that nvcuda::wmma names differently from C++.
_CPP = {
    "tf32": "precision::tf32",
    "s4": "experimental::precision::s4",
    "u4": "experimental::precision::u4",
    "b1": "experimental::precision::b1",
}
# The type of x[i], if it is not the element type.
_PACKED = {"s4": "int", "u4": "unsigned int", "b1": "unsigned int", "tf32": "float"}
# The first architecture with a multiplicand type, if it is not sm_80. PTX ISA 9.1, 9.7.14.4.5.
_SINCE = {"f16": "sm_70", "s8": "sm_72", "u8": "sm_72", "s4": "sm_75", "u4": "sm_75", "b1": "sm_75"}
GUIDE, STORAGE = "CUDA C++ Programming Guide, load_matrix_sync", "PTX ISA 9.1, 9.7.14.4.2"
CPP_POINTER_BYTES, CPP_LDM_BYTES = 32, 16


@dataclass(frozen=True, slots=True)
class PointerRule:
    """One requirement on pointer and ldm: whether it holds, and the arithmetic that shows it."""

    name: str
    holds: bool
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class MatrixRequirement:
    """The requirements of one document: the pointer's alignment in bytes, and the step of ldm in elements."""

    document: str
    pointer_bytes: int
    ldm_elements: int
    source: str


@dataclass(frozen=True, slots=True)
class WmmaFragment:
    """One nvcuda::wmma::fragment: the wmma.load that fills it, its operand, and its layout ("" for an accumulator)."""

    instruction: Instruction
    operand: Operand
    layout: str

    @property
    def use(self) -> str:
        return get_fragment_use(self.operand)

    @property
    def cpp(self) -> str:
        return format_cpp_fragment(self.instruction, self.operand, self.layout)

    @property
    def element_cpp(self) -> str:
        """The type T of the fragment."""
        return _CPP.get(self.operand.element.name, self.operand.element.cpp)

    @property
    def storage_cpp(self) -> str:
        """The type of x[i]."""
        return _PACKED.get(self.operand.element.name, self.operand.element.cpp)

    @property
    def num_elements(self) -> int:
        return self.operand.values

    @property
    def per_storage(self) -> int:
        """The number of elements in one x[i]."""
        return count_per_storage(self.operand)

    @property
    def num_storage_elements(self) -> int:
        return self.num_elements // self.per_storage

    @property
    def since(self) -> str:
        """The first architecture that has it."""
        kinds = (
            list_multiplicands(self.instruction.shape, self.operand.element.name)
            if self.use == "accumulator"
            else (self.operand.element.name,)
        )
        return min(_SINCE.get(kind, "sm_80") for kind in kinds)


@lru_cache(maxsize=64)
def list_multiplicands(shape: str, accumulator: str) -> tuple[str, ...]:
    """Return the types that A and B of a shape may have if C or D has the type `accumulator`."""
    multiplications = (
        i
        for i in catalog.instructions()
        if i.family.feed is OperandFeed.LOADS and i.family.multiplies and i.shape == shape
    )
    return tuple(
        dict.fromkeys(
            i.operands["a"].element.name for i in multiplications if accumulator in (i.types["c"], i.types["d"])
        )
    )


@lru_cache(maxsize=1)
def list_fragments() -> tuple[WmmaFragment, ...]:
    """Return every fragment type, in the catalogue's order; an accumulator has no layout and is listed once."""
    fragments: dict[str, WmmaFragment] = {}
    for i in catalog.instructions():
        if i.family.memory is OperandPlace.MATRIX and i.family.loads:
            (op,) = i.operands.values()
            fragment = WmmaFragment(i, op, i.syntax.layouts[0] if op.name in "ab" else "")
            fragments.setdefault(fragment.cpp, fragment)
    return tuple(fragments.values())


def get_fragment_use(op: Operand) -> str:
    """Return the first template argument of a fragment type: matrix_a, matrix_b or accumulator."""
    return {"a": "matrix_a", "b": "matrix_b"}.get(op.name, "accumulator")


def count_per_storage(op: Operand) -> int:
    """Return the number of elements in one x[i]: 8 for 4-bit, 32 for single-bit elements, else 1."""
    return 32 // op.element.bits if op.element.bits < 8 else 1


def count_fragment_bytes(op: Operand) -> int:
    """Return the size of one thread's fragment in bytes, to which PTX requires every row (column) to be aligned."""
    return op.registers * op.register_bits // 8


def get_default_stride(op: Operand, layout: str) -> int:
    """Return the stride in elements that PTX assumes if none is given: the leading dimension of the matrix."""
    return op.col_count if layout == "row" else op.row_count


def format_cpp_fragment(instruction: Instruction, op: Operand, layout: str) -> str:
    """Return the nvcuda::wmma type."""
    s = instruction.sizes
    ending = f", {layout}_major" if op.name in "ab" else ""
    return (
        f"nvcuda::wmma::fragment<{get_fragment_use(op)}, {s['m']}, {s['n']}, {s['k']},"
        f" {_CPP.get(op.element.name, op.element.cpp)}{ending}>"
    )


def list_elements(op: Operand, lane: int) -> list[list[tuple[int, int]]]:
    """Return the (row, col) of the elements in every x[i] of a lane, low bits first."""
    per = count_per_storage(op)
    places = list(zip(op.rows[lane].tolist(), op.cols[lane].tolist(), strict=True))
    return [places[at : at + per] for at in range(0, len(places), per)]


def get_requirements(op: Operand) -> tuple[MatrixRequirement, MatrixRequirement]:
    """Return the requirements of CUDA C++ (fixed byte counts) and of PTX (the fragment's size) on a matrix."""
    size, bits = count_fragment_bytes(op), op.element.bits
    return (
        MatrixRequirement("CUDA C++", CPP_POINTER_BYTES, CPP_LDM_BYTES * 8 // bits, GUIDE),
        MatrixRequirement("PTX", size, max(1, size * 8 // bits), STORAGE),
    )


def combine_requirements(op: Operand) -> MatrixRequirement:
    """Return the requirement that satisfies both documents: load_matrix_sync is a wmma.load, so PTX's applies too."""
    cpp, ptx = get_requirements(op)
    return MatrixRequirement(
        "both",
        lcm(cpp.pointer_bytes, ptx.pointer_bytes),
        lcm(cpp.ldm_elements, ptx.ldm_elements),
        f"{GUIDE}; {STORAGE}",
    )


def check_pointer(op: Operand, pointer: int, ldm: int, layout: str) -> list[PointerRule]:
    """Return the rules for a base address and an ldm (in elements) of loads and stores, and whether each holds."""
    least = get_default_stride(op, layout)
    line = "row" if layout == "row" else "column"
    rules = []
    for requirement in get_requirements(op):
        for what, value, step, unit in (
            ("pointer", pointer, requirement.pointer_bytes, "bytes"),
            ("ldm", ldm, requirement.ldm_elements, "elements"),
        ):
            number = f"{value:#x}" if what == "pointer" else str(value)
            remainder = value % step
            rules.append(
                PointerRule(
                    f"{requirement.document} {what}",
                    not remainder,
                    f"{number} mod {step} = {remainder}; it must be a multiple of {step} {unit}",
                    requirement.source,
                )
            )
    sign = "≥" if ldm >= least else "<"
    return [*rules, PointerRule("no overlap", ldm >= least, f"{ldm} {sign} {least}, the length of a {line}", STORAGE)]
