"""A PTX opcode read word by word: what each qualifier means, and what `.sync` and `.aligned` demand of the threads.

Everything is derived from an instruction's own text and family. PTX ISA 9.1, 9.7.14 and 9.7.15.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from layouts.instruction import LAYOUTS, WARPGROUP, Instruction

# Opcode → what it does, and the section of the PTX ISA 9.1 that says so.
OPCODES = {
    "mma": ("multiply and accumulate, D = A·B + C, by one warp", "9.7.14.5.14"),
    "mma.sp": ("multiply and accumulate by one warp, A stored without the zeros its metadata names", "9.7.14.6.3"),
    "mma.sp::ordered_metadata": ("as mma.sp; the indices of the metadata must ascend", "9.7.14.6.3"),
    "wgmma.mma_async": ("multiply and accumulate, D = A·B + D or A·B, by four warps; returns before D is written", "9.7.15.5.2"),
    "wgmma.mma_async.sp": ("as wgmma.mma_async, A stored without the zeros its metadata names", "9.7.15.6.3"),
    "wmma.load.a": ("load A's fragment from memory", "9.7.14.4.3"),
    "wmma.load.b": ("load B's fragment from memory", "9.7.14.4.3"),
    "wmma.load.c": ("load an accumulator's fragment from memory", "9.7.14.4.3"),
    "wmma.store.d": ("store an accumulator's fragment to memory", "9.7.14.4.4"),
    "wmma.mma": ("multiply and accumulate fragments that wmma.load made, by one warp", "9.7.14.4.5"),
    "ldmatrix": ("load matrices from shared memory into fragments, a row an address", "9.7.14.5.15"),
    "stmatrix": ("store fragments to shared memory as matrices, a row an address", "9.7.14.5.16"),
    "movmatrix": ("transpose an 8×8 matrix that lies in registers", "9.7.14.5.17"),
}

# Modifier → meaning; a name stands for itself, or for its part before a number ("x4").
MODIFIERS = {
    "satfinite": "D saturates at the ends of its 32-bit range; without it, D wraps around",
    "xor": "the product of two bits is their XOR",
    "and": "the product of two bits is their AND",
    "popc": "the set bits of each row-by-column product are counted, and the count is added to C",
    "rn": "round to nearest even, the default",
    "rz": "round toward zero",
    "rm": "round toward minus infinity",
    "rp": "round toward plus infinity",
    "trans": "each matrix is transposed on its way",
    "shared": "the address is in shared memory, as `.shared::cta`",
    "shared::cta": "the address is in this CTA's shared memory",
    "global": "the address is in global memory",
    "block_scale": "A and B are multiplied by scale factors, one for each block along K",
    "kind::f8f6f4": "8-, 6- and 4-bit floats, each in an 8-bit container",
    "kind::mxf8f6f4": "8-, 6- and 4-bit floats in 8-bit containers, with ue8m0 scale factors",
    "kind::mxf4": "packed 4-bit floats with ue8m0 scale factors",
    "kind::mxf4nvf4": "packed 4-bit floats with ue8m0 or ue4m3 scale factors",
    "scale_vec::1X": "1 scale factor a row of A and a column of B",
    "scale_vec::2X": "2 scale factors a row of A and a column of B",
    "scale_vec::4X": "4 scale factors a row of A and a column of B",
    "b8x16": "in registers: elements in 8-bit containers",
    "b6x16_p32": "in memory: 16 packed 6-bit elements and 32 bits of padding",
    "b4x16_p64": "in memory: 16 packed 4-bit elements and 64 bits of padding",
}
_WAITS = "`.sync`: a thread waits until all threads of its warp execute this same instruction."
_MEMORY = ("wmma.load.a", "wmma.load.b", "wmma.load.c", "wmma.store.d")


@dataclass(frozen=True, slots=True)
class Part:
    """One word of an opcode: its text with the leading dot, what kind of word it is, and what it means."""

    text: str
    kind: str  # "opcode", "convergence", "shape", "layout", "type" or "modifier"
    meaning: str


def scope(instruction: Instruction) -> str:
    """Who executes it: "warp" or "warpgroup"."""
    return "warpgroup" if instruction.threads == WARPGROUP else "warp"


def parts(instruction: Instruction) -> tuple[Part, ...]:
    """The words of the PTX text in their order. Joined, their texts are the PTX text."""
    opcode = instruction.syntax.opcode
    out = [Part(opcode, "opcode", OPCODES[opcode][0])]
    layouts = iter(_layout_meanings(instruction))
    types = iter(_typed_operands(instruction))
    for token in instruction.ptx.removeprefix(opcode + ".").split("."):
        out.append(_part(instruction, token, layouts, types))
    return tuple(out)


def _part(instruction: Instruction, token: str, layouts: Iterator[str], types: Iterator[str]) -> Part:
    text = f".{token}"
    if token == "sync":
        return Part(text, "convergence", f"a thread waits until all threads of its warp execute this same {instruction.syntax.opcode}")
    if token == "aligned":
        return Part(
            text, "convergence", f"all {instruction.threads} threads of the {scope(instruction)} must execute this same instruction"
        )
    if token == instruction.shape:
        return Part(text, "shape", _shape_meaning(instruction))
    if token in LAYOUTS:
        return Part(text, "layout", next(layouts))
    if token in MODIFIERS:
        return Part(text, "modifier", MODIFIERS[token])
    count = re.fullmatch(r"x(\d)", token)
    if count:
        return Part(text, "modifier", f"{count[1]} {'matrix' if count[1] == '1' else 'matrices'}")
    return Part(text, "type", next(types))


def _shape_meaning(instruction: Instruction) -> str:
    m, n, k = (instruction.sizes.get(dim) for dim in "mnk")
    if k:
        return f"A is {m}×{k}, B is {k}×{n}, {'D is' if scope(instruction) == 'warpgroup' else 'C and D are'} {m}×{n}"
    return f"each matrix has {m} rows and {n} columns"


def _layout_meanings(instruction: Instruction) -> list[str]:
    names = instruction.syntax.layouts
    words = {"row": "row-major", "col": "column-major"}
    if instruction.syntax.opcode in _MEMORY:
        return [f"the matrix is {words[name]} in memory" for name in names]
    return [f"{letter} is {words[name]}" for letter, name in zip("AB", names, strict=False)]


def _typed_operands(instruction: Instruction) -> list[str]:
    """What the types of the text stand for, in their order: the family's text names an operand for each."""
    family = instruction.family
    out = []
    for name in re.findall(r"\{(\w+)\}", family.ptx):
        if name in family.slots.split():
            out.append(_type_meaning(instruction, name))
    return out or [_type_meaning(instruction, "data")]  # a row that spells its type instead of naming an operand


def _type_meaning(instruction: Instruction, name: str) -> str:
    element = instruction.types[name]
    if name == "data" or instruction.family.name == "movmatrix":
        return f"elements of {element[1:]} bits, whatever their type"
    if name == "s":
        return "type of the scale factors"
    op = instruction.operands.get(name)
    where = "" if op is None else f": {op.element.register_bits // op.container_bits} a .{op.element.register_type} register"
    return f"type of {name.upper()}'s elements{where}"


def convergence(instruction: Instruction) -> str:
    """What the text's `.sync` and `.aligned` ask of the threads, "" where it has neither."""
    words = instruction.ptx.split(".")
    out = []
    if "sync" in words:
        out.append(_WAITS)
    if "aligned" in words:
        same = " with the same address and stride" if instruction.syntax.opcode in _MEMORY else ""
        exited = "" if scope(instruction) == "warpgroup" or instruction.family.name == "movmatrix" else ", or after one has exited"
        out.append(
            f"`.aligned`: all {instruction.threads} threads of the {scope(instruction)} must execute it{same}; "
            f"in code that only some of them reach{exited}, the behavior is undefined."
        )
    return " ".join(out)
