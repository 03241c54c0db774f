"""The tcgen05.mma in a text's executed asm statements, with the instruction that the descriptor encodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lanescope.blackwell.described_mma import Tcgen05Mma, find_described_mma
from lanescope.reader.code.findings import AsmRun
from lanescope.reader.instructions.statements import list_operands
from lanescope.workbench.text.asm_operands import find_operand_number, join_strings

_QUALIFIERS = r"((?:\.[\w%]+(?:::[\w%]+)*)*)"
_OPCODES = {verb: re.compile(rf"\btcgen05\.{verb}{_QUALIFIERS}") for verb in ("mma", "alloc")}
_PLACE = re.compile(r"%(\d+|\[\w+\])")


@dataclass(frozen=True, slots=True)
class TensorInstruction:
    """A tcgen05 instruction as spelled in an asm statement."""

    qualifiers: str
    operands: tuple[str, ...]


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
        found = find_tensor_instruction(run, "mma")
        if found is None or ".sp" in found.qualifiers or len(found.operands) < 4:
            continue
        words, operands = fill_opcode(found.qualifiers, run), found.operands
        if words is None:
            continue
        word = find_operand_number(run, operands[3])
        instruction = find_described_mma(words, word, target) if word is not None else None
        if instruction is not None:
            in_memory = operands[1].startswith("[")
            named = (("b", operands[2]),) if in_memory else (("a", operands[1]), ("b", operands[2]))
            yield MmaRun(run, instruction, named, in_memory)


def find_tensor_instruction(run: AsmRun, verb: str) -> TensorInstruction | None:
    """Find the first tcgen05.mma or tcgen05.alloc of an asm statement; None if it has none."""
    if "tcgen05" not in run.text:
        return None
    code = join_strings(run.text)
    match = _OPCODES[verb].search(code)
    if match is None:
        return None
    return TensorInstruction(match[1], list_operands(code[match.end() :]))


def fill_opcode(words: str, run: AsmRun) -> str | None:
    """Return an opcode's qualifiers with the numbers of its operands: cta_group::%5; None if one is open."""
    for place in _PLACE.findall(words):
        number = find_operand_number(run, f"%{place}")
        if number is None:
            return None
        words = words.replace(f"%{place}", str(number))
    return words
