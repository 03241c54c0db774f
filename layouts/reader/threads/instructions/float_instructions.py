"""Instructions of PTX on floating-point registers, as far as their results depend on elements of D."""

from __future__ import annotations

import re

from lanescope.reader.threads.instructions.asm_code import AsmCode, InstructionRows
from lanescope.reader.threads.language.bit_words import compute_elements
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.memory.results import shuffle_value
from lanescope.reader.threads.memory.storage import DataBytes, join_data

_FLOAT = r"(?:b?f|tf|e\d+m)\d+"
_CONVERSION = re.compile(rf"cvt\.(?:\w+\.)*?{_FLOAT}(x2)?\.{_FLOAT}(?:x2)?$")
_ARITHMETIC = re.compile(
    rf"(?:ex2|lg2|rcp|r?sqrt|tanh|sin|cos|neg|abs|add|sub|mul|div|fma|mad|max|min)\.(?:\w+\.)*?{_FLOAT}(?:x2)?$"
)
_SHUFFLES = {"idx": "", "bfly": "xor"}


def _compute_elements(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Execute arithmetic on floating-point registers, as far as the result depends on elements of D."""
    code.put_value(
        operands[0],
        compute_elements(
            code.run, *map(code.get_value, operands[1:]), size=2 if opcode.endswith("x2") else 4, name=opcode
        ),
    )


def _convert_elements(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Execute a conversion of one register, or of two to a packed one, whose second one is the lower half.

    Source: PTX ISA 9.1, 9.7.9.21 (cvt).
    """
    values = [code.get_value(operand) for operand in reversed(operands[1:])]
    name, packed = re.findall(r"\.([a-z]+\d+(?:m\d+)?)(x2)?", opcode)[-2]
    bits = 8 if "m" in name else 32 if name == "tf32" else int(name.lstrip("bf"))
    if len(values) != (2 if packed else 1) or not all(isinstance(value, DataBytes) for value in values):
        code.put_value(operands[0], values[0] if len(values) == 1 and not isinstance(values[0], DataBytes) else None)
        return
    code.put_value(operands[0], join_data([value.resize_element(bits // 8) for value in values]))


def _shuffle(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Execute shfl.sync of whole warps. Source: PTX ISA 9.1, 9.7.9.6 (shfl.sync)."""
    value, away, clamp = (code.get_value(operand) for operand in operands[1:4])
    whole = isinstance(clamp, ThreadNumber) and clamp.known == (0 if ".up." in opcode else 31)
    known = isinstance(away, ThreadNumber) and away.const is not None and whole
    mode = opcode.split(".")[2]
    result = shuffle_value(code.run, _SHUFFLES.get(mode, mode), value, away.const) if known else None
    code.put_value(operands[0].partition("|")[0], result)


ELEMENTWISE: InstructionRows = (
    (_CONVERSION, 2, _convert_elements),
    (_ARITHMETIC, 2, _compute_elements),
    (re.compile(r"shfl\.sync\.(?:idx|up|down|bfly)\.b32"), 4, _shuffle),
)
