"""Find the majors of A and B in the immediates imm-trans-a and imm-trans-b of wgmma statements.

PTX ISA 9.1, wgmma.mma_async: d, a (a descriptor or registers in braces), b, for .sp metadata and selector, scale-d,
imm-scale-a, imm-scale-b, and for f16 and bf16 imm-trans-a (A by descriptor only) and imm-trans-b.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from lanescope.cxx.source_text import walk_outside_brackets
from lanescope.ptx.instruction import Instruction

_STATEMENT = re.compile(
    r"\bwgmma\s*\.\s*mma_async(?P<sp>\s*\.\s*sp)?(?:\s*\.\s*\w+)*?\s*\.\s*(?:f16\s*\.\s*f16|bf16\s*\.\s*bf16)(?![\w.])"
    r"(?P<rest>[^;]{1,6000})",
    re.I,
)
MAJORS = {"0": "K", "1": "MN"}  # transpose immediate → major
_MOST = 64  # statements per text


def find_transposes(instruction: Instruction, operands: Sequence[str], registers: bool) -> dict[str, str]:
    """Map A and B of a wgmma to the text of their transpose immediates, which exist for 16-bit elements only.

    registers: whether A is in registers and so has no immediate. Returns {} if the statement ends before them.
    """
    if instruction.operand("a").element.bits != 16:
        return {}
    return _select_transposes(operands, instruction.operands["a"].sparsity is not None, registers)


def _select_transposes(operands: Sequence[str], sparse: bool, registers: bool) -> dict[str, str]:
    names = ("b",) if registers else ("a", "b")
    first = (6 if sparse else 4) + 2  # after scale-d and the two scales
    transposes = operands[first : first + len(names)]
    return dict(zip(names, transposes, strict=True)) if len(transposes) == len(names) else {}


def _split_operands(text: str) -> list[str]:
    """Split an operand list at commas outside braces."""
    end = next(walk_outside_brackets(text, ")]}", 0, len(text)), len(text))
    commas = [-1, *walk_outside_brackets(text, ",", 0, end), end]
    *operands, last = (text[comma + 1 : past].strip() for comma, past in pairwise(commas))
    return [*operands, re.split(r'[\n":]', last)[0].strip()]


def find_majors(text: str) -> dict[str, str]:
    """Return {"a", "b"} → K or MN if a text's statements have them as numbers and agree.

    A in registers has no entry.
    """
    majors: set[tuple[str | None, str | None]] = set()
    for match, _ in zip(_STATEMENT.finditer(text), range(_MOST), strict=False):
        parts = _split_operands(match["rest"])
        registers = len(parts) > 1 and parts[1].startswith("{")
        if transposes := _select_transposes(parts, match["sp"] is not None, registers):
            read = {name: MAJORS.get(text) for name, text in transposes.items()}
            majors.add((read.get("a"), read["b"]))
    if len(majors) != 1:
        return {}
    a, b = majors.pop()
    return {**({"a": a} if a else {}), **({"b": b} if b else {})}
