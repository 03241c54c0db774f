"""Find the majors of A and B in the immediates imm-trans-a and imm-trans-b of wgmma statements.

PTX ISA 9.1, wgmma.mma_async: d, a (a descriptor or registers in braces), b, for .sp metadata and selector, scale-d,
imm-scale-a, imm-scale-b, and for f16 and bf16 imm-trans-a (A by descriptor only) and imm-trans-b.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from lanescope.ptx.instruction import Instruction
from lanescope.ptx.short_names import find_instruction
from lanescope.reader.instructions.statements import list_operands

_WGMMA = re.compile(r"\bwgmma(?:\s*\.\s*[\w:]+)+", re.I)
MAJORS = {"0": "K", "1": "MN"}  # transpose immediate → major
_MOST = 64  # statements per text


def find_transposes(instruction: Instruction, operands: Sequence[str], registers: bool) -> dict[str, str]:
    """Map A and B of a wgmma to the text of their transpose immediates, which exist for 16-bit elements only.

    registers: whether A is in registers and so has no immediate. Returns {} if the statement ends before them.
    """
    if instruction.operand("a").element.bits != 16:
        return {}
    names = ("b",) if registers else ("a", "b")
    first = _find_scales(instruction) + 2
    transposes = operands[first : first + len(names)]
    return dict(zip(names, transposes, strict=True)) if len(transposes) == len(names) else {}


def _find_scales(instruction: Instruction) -> int:
    """Return the number of the operand after scale-d: imm-scale-a, which floating-point types have."""
    return 6 if instruction.operands["a"].sparsity is not None else 4


def list_scales(instruction: Instruction, operands: Sequence[str]) -> Sequence[str]:
    """Return the texts of imm-scale-a and imm-scale-b of a wgmma, as far as it has them."""
    first = _find_scales(instruction)
    return operands[first : first + 2]


def find_majors(text: str) -> dict[str, str]:
    """Return {"a", "b"} → K or MN if a text's statements have them as numbers and agree.

    A in registers has no entry.
    """
    majors: set[tuple[str | None, str | None]] = set()
    for match in islice(_WGMMA.finditer(text), _MOST):
        instruction = find_instruction(match[0])
        operands = list_operands(f"{text[match.end() :]};") if instruction is not None else ()
        registers = len(operands) > 1 and operands[1].startswith("{")
        if instruction is not None and (transposes := find_transposes(instruction, operands, registers)):
            read = {name: MAJORS.get(number.split()[0]) for name, number in transposes.items() if number.strip()}
            majors.add((read.get("a"), read.get("b")))
    if len(majors) != 1:
        return {}
    a, b = majors.pop()
    return {**({"a": a} if a else {}), **({"b": b} if b else {})}
