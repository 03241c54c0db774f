"""The tcgen05.mma in a text's executed asm statements, with the instruction that the descriptor encodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lanescope.blackwell.described_mma import Tcgen05Mma, find_described_mma
from lanescope.reader.code.findings import AsmRun
from lanescope.workbench.asm_operands import find_operand_number
from lanescope.workbench.scan import MOST_OPERANDS, split_operands

_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_BLANK = re.compile(r"\\[ntr]|\\\n|\s+")
_MMA = re.compile(r"\btcgen05\.mma((?:\.[\w%]+(?:::[\w%]+)*)*)")
_PLACE = re.compile(r"%(\d+|\[\w+\])")


@dataclass(frozen=True, slots=True)
class MmaRun:
    """One execution of a tcgen05.mma: the instruction and the descriptor operands of A and B.

    a_in_memory: whether A comes from tensor memory.
    """

    run: AsmRun
    instruction: Tcgen05Mma
    descriptors: tuple[tuple[str, str], ...]
    a_in_memory: bool


def find_mma_runs(asm_runs: Iterable[AsmRun], target: str = "") -> Iterator[MmaRun]:
    """Find the runs of tcgen05.mma whose instruction descriptor is known, as a target has them."""
    for run in asm_runs:
        if "tcgen05.mma" not in run.text:
            continue
        code = read_asm_code(run)
        match = _MMA.search(code)
        if match is None or ".sp" in match[1]:
            continue
        operands = split_operands(code[match.end() : match.end() + MOST_OPERANDS])
        words = fill_opcode(match[1], run)
        if len(operands) < 4 or words is None:
            continue
        word = find_operand_number(run, operands[3])
        instruction = find_described_mma(words, word, target) if word is not None else None
        if instruction is not None:
            in_memory = operands[1].startswith("[")
            named = (("b", operands[2]),) if in_memory else (("a", operands[1]), ("b", operands[2]))
            yield MmaRun(run, instruction, named, in_memory)


def read_asm_code(run: AsmRun) -> str:
    """Return the PTX that an asm statement's strings spell, on one line."""
    return _BLANK.sub(" ", "".join(_STRING.findall(run.text)))


def fill_opcode(words: str, run: AsmRun) -> str | None:
    """Return an opcode's qualifiers with the numbers of its operands: cta_group::%5; None if one is open."""
    for place in _PLACE.findall(words):
        number = find_operand_number(run, f"%{place}")
        if number is None:
            return None
        words = words.replace(f"%{place}", str(number))
    return words
