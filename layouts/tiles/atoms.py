"""MMA atoms of CuTe from the rows of the tables: an instruction as thread-value layouts over its operands.

    atom("SM80_16x8x16_F32F16F16F32_TN").layouts["a"]    ((4,8),(2,2,2)):((32,1),(16,8,128))

A is (m, k), B is (n, k) as in CuTe, C is (m, n); the first coordinate is fastest. A wgmma operand in shared memory is
read by a descriptor: every thread has the complete operand, with a stride of 0
(include/cute/atom/mma_traits_sm90_gmma.hpp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.names import lookup
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.pattern import Pattern
from lanescope.ptx.table import atoms as names

HINT = "A PTX text or a CUTLASS name: mma.m16n8k16.row.col.f32.f16.f16.f32, SM80_16x8x16_F32F16F16F32_TN."
DIMS = {"a": "mk", "b": "nk", "c": "mn"}  # rows and columns of CuTe's tensors, as sizes of the instruction


@dataclass(frozen=True, slots=True)
class MmaAtom:
    """One MMA atom.

    threads: the thread layout (CuTe's ThrID); layouts: operand → thread-value layout; shared: the operands in shared
    memory; registers: operand → registers per thread.
    """

    instruction: Instruction
    threads: CuteLayout
    layouts: Mapping[str, CuteLayout]
    shared: frozenset[str]
    registers: Mapping[str, int]
    bits: Mapping[str, int]

    @property
    def shape(self) -> tuple[int, int, int]:
        m, n, k = (self.instruction.sizes[dim] for dim in "mnk")
        return m, n, k

    @property
    def cutlass(self) -> str:
        """CUTLASS's name of the instruction, "" if it has none."""
        return names.get_atom_name(self.instruction)

    def get_extents(self, operand: str) -> tuple[int, int]:
        """Return the rows and columns of an operand as in CuTe: B is (n, k)."""
        rows, cols = (self.instruction.sizes[dim] for dim in DIMS[operand])
        return rows, cols


def make_mma_atom(text: str) -> MmaAtom:
    """Return the atom of a PTX text or a CUTLASS name; LayoutError says why there is none."""
    return _atom_from_instruction(*_parse_atom_name(text))


@lru_cache(maxsize=256)
def _parse_atom_name(text: str) -> tuple[Instruction, bool]:
    """Return (instruction, whether A comes from registers): for wgmma, whether the name has _RS."""
    if catalog.extract_opcode(text):
        return lookup.parse_instruction(text, "atom"), False
    from lanescope.reader.cutlass_names import cutlass  # the reader's parsers load when a name is read

    try:
        meanings = cutlass.recognise_cutlass_atoms(text)
    except LayoutError as error:
        raise error.move_to_field("atom", "bad_atom") from None
    if not meanings:
        raise LayoutError("bad_atom", f"'{shorten_value(text, 80)}' does not name an MMA atom.", HINT, "atom")
    facts = meanings[0].facts
    listed = [facts["ptx"]] if facts["ptx"] else facts["candidates"]
    several = [i for i in map(catalog.find, listed) if i.family.multiplies]
    if not several:
        raise LayoutError("bad_atom", f"'{shorten_value(text, 80)}' is a copy atom.", HINT, "atom")
    maps = {tuple(str(op.pattern) for op in i.operands.values()) for i in several}
    if len(maps) > 1:
        raise LayoutError(
            "bad_atom",
            f"'{shorten_value(text, 80)}' may be several instructions.",
            f"Give one of {', '.join(i.ptx for i in several[:4])}.",
            "atom",
        )
    return several[0], "_RS" in text


@lru_cache(maxsize=256)
def _atom_from_instruction(instruction: Instruction, from_registers: bool) -> MmaAtom:
    _check_dense(instruction)
    family = instruction.family
    operands = {name: instruction.operands.get(name) for name in "ab"}
    operands["c"] = instruction.operands.get("c") or instruction.operands["d"]
    by_descriptor = family.by_descriptor and not (from_registers and operands["a"])
    shared = {n for n, op in operands.items() if op is None} | ({"a"} if by_descriptor else set())
    layouts, registers, bits, threads = {}, {}, {}, algebra.make_layout(instruction.threads)
    for name, operand in operands.items():
        rows, cols = (instruction.sizes[dim] for dim in DIMS[name])
        if operand is None or name in shared:
            layouts[name] = CuteLayout((instruction.threads, (rows, cols)), (0, (1, rows)))
            registers[name] = 0
            bits[name] = operand.element.bits if operand else instruction.operands["a"].element.bits
        else:
            layouts[name], threads = _make_tv_layout(operand, name == "b")
            registers[name] = operand.registers * (operand.register_bits // 32)
            bits[name] = operand.element.bits
    return MmaAtom(instruction, threads, layouts, frozenset(shared), registers, bits)


def _check_dense(instruction: Instruction) -> None:
    """Raise LayoutError for an instruction that is not a dense product with specified fragments."""
    if not instruction.family.multiplies:
        raise LayoutError("bad_atom", f"'{instruction.ptx}' does not multiply matrices.", HINT, "atom")
    if not instruction.family.specified:
        raise LayoutError(
            "bad_atom",
            f"'{instruction.ptx}' leaves its fragments to the architecture: it cannot be the atom of a TiledMMA.",
            "Use mma.sync, whose fragments PTX specifies.",
            "atom",
        )
    if any(op.sparsity for op in instruction.operands.values()):
        raise LayoutError(
            "bad_atom",
            f"'{instruction.ptx}' is sparse: A is stored without the zeros that its metadata names, so its tile has no"
            " thread-value layout of elements.",
            "Give the dense instruction of half the K.",
            "atom",
        )


def _make_tv_layout(operand: Operand, turned: bool) -> tuple[CuteLayout, CuteLayout]:
    """Return (thread-value layout, thread layout) of an operand.

    If the instruction computes several products, those of the first product, with its threads numbered consecutively.
    """
    pattern = operand.pattern
    at = dict(zip(operand.axes, pattern.coords, strict=True))
    others = {name for axis, group in at.items() if axis not in ("row", "col") for name in group}
    kept = tuple(d for d in pattern.threads if d.name not in others)
    coords = (at["col"], at["row"]) if turned else (at["row"], at["col"])
    ids = [(t.size, t.weight) for t in reversed(pattern.thread_terms()) if t.name not in others]
    threads = algebra.coalesce(CuteLayout(tuple(n for n, _ in ids), tuple(w for _, w in ids)))
    return parse_cute_layout(Pattern(kept, pattern.values, coords).to_cute()), threads
