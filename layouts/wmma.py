"""What wmma asks of memory: default strides, alignment of pointer and ldm, and the CUDA C++ names of a fragment.

PTX ISA 9.1, 9.7.14.4.2 (storage) and the CUDA C++ Programming Guide's warp matrix functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from layouts.instruction import Instruction, Operand

# Where nvcuda::wmma names a type otherwise than C++ does.
_CPP = {
    "tf32": "precision::tf32",
    "s4": "experimental::precision::s4",
    "u4": "experimental::precision::u4",
    "b1": "experimental::precision::b1",
}
_LDM_ELEMENTS = {"s4": 32, "u4": 32, "b1": 128}


@dataclass(frozen=True, slots=True)
class Rule:
    """One requirement on pointer and ldm: whether it holds, and the arithmetic that says so."""

    name: str
    holds: bool
    text: str
    source: str


def fragment_bytes(op: Operand) -> int:
    """Bytes of one thread's fragment: what PTX aligns every row (column) to."""
    return op.registers * op.register_bits // 8


def default_stride(op: Operand, layout: str) -> int:
    """Elements from one row (column) to the next when stride is left out: the matrix's own leading dimension."""
    return op.col_count if layout == "row" else op.row_count


def cpp_fragment(instruction: Instruction, op: Operand, layout: str) -> str:
    """The nvcuda::wmma type."""
    s = instruction.sizes
    use = {"a": "matrix_a", "b": "matrix_b"}.get(op.name, "accumulator")
    ending = f", {layout}_major" if op.name in "ab" else ""
    return f"nvcuda::wmma::fragment<{use}, {s['m']}, {s['n']}, {s['k']}, {_CPP.get(op.element.name, op.element.cpp)}{ending}>"


def check(op: Operand, pointer: int, ldm: int, layout: str) -> list[Rule]:
    """Whether a base address and an ldm (elements) may be given to load and store."""
    stride_bits = ldm * op.element.bits
    size = fragment_bytes(op)
    least = default_stride(op, layout)
    step = _LDM_ELEMENTS.get(op.element.name, 128 // op.element.bits)
    guide, storage = "CUDA C++ Programming Guide, load_matrix_sync", "PTX ISA 9.1, 9.7.14.4.2"
    way = "row" if layout == "row" else "column"
    return [
        Rule("CUDA C++ pointer", pointer % 32 == 0, f"{pointer:#x} mod 32 = {pointer % 32}; it must be 256-bit aligned", guide),
        Rule("CUDA C++ ldm", ldm % step == 0, f"{ldm} mod {step} = {ldm % step}; ldm must be a multiple of {step} elements ({step * op.element.bits // 8} bytes)", guide),
        Rule("PTX base", pointer % size == 0, f"{pointer:#x} mod {size} = {pointer % size}; each {way} starts at a multiple of the fragment's {size} bytes", storage),
        Rule("PTX stride", stride_bits % (8 * size) == 0, f"{ldm} × {op.element.bits} bits = {stride_bits / 8:g} bytes, mod {size} = {stride_bits / 8 % size:g}", storage),
        Rule("no overlap", ldm >= least, f"{ldm} {'≥' if ldm >= least else '<'} {least}, the length of a {way}", storage),
    ]  # fmt: skip
