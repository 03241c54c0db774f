"""Check a PTX statement against the syntax of its instruction: `.sync` and `.aligned`, operands, vector lengths.

Only errors that ptxas reports for every target are reported (tests/test_statement.py compares, family by family). An
operand that the text leaves open, such as a placeholder of a format string, is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lanescope.inputs import format_count, join_words
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.ptx.slots import OperandSlot, list_slots

_ELEMENT = re.compile(r"(?:%{0,2}[A-Za-z_$][\w$]*|%\d+|%\[\w+\]|\$\d+)(?:\.[xyzwrgba])?|-?\d[\w.]*")
_FORMAT = re.compile(r"%[sdiuxXc]")  # a placeholder of Python or printf, which may stand for several registers
_NUMBERED = re.compile(r"%\d+|%\[\w+\]|\$\d+")  # an operand of an asm statement: one register
_NAMED = re.compile(r"(%?[A-Za-z_$][\w$]*?)(\d+)")
LONG, SHORTENED = 16, 4  # vectors of 16 registers or more are often abridged to at most 4: these are accepted
_LENGTH, _KIND, _COUNT = 2, 3, 1  # distance of an operand list from a form: operands missing, wrong kind, wrong length
_DISABLED = {"cta_group::1": 4, "cta_group::2": 8}  # registers of disable-output-lane, PTX ISA 9.1, 9.7.16.10.9
_SCALED_D = ("f16", "tf32", "i8")  # kinds for which ptxas takes scale-input-d


def find_statement_faults(
    instruction: Instruction,
    opcode: str,
    operands: tuple[str, ...],
    ended: bool = True,
    declared: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """Return the errors that ptxas reports for a statement of this instruction; empty if it may be correct.

    opcode: as written; ended: whether the list of operands is complete; declared: the number of registers that each
    base name has in the text (`.reg .b32 a<2>` declares a0 and a1), 0 for a single register.

    >>> from lanescope.ptx.catalog import find
    >>> mma = "mma.sync.m16n8k8.row.col.f32.tf32.tf32.f32"
    >>> find_statement_faults(find(mma), mma, ("{%0, %1, %2, %3}", "{%4, %5}", "{%6, %7}", "{%8, %9, %10, %11}"))
    ('`.aligned` is missing', 'operand 2 (A, 4 × tf32 per thread) has 2 registers, not 4 (.b32)')
    """
    faults = [f"`.{word}` is missing" for word in _find_missing_qualifiers(instruction, opcode, bool(operands))]
    if operands:
        declarations = declared or {}
        if (
            instruction.family.sparsity
            and len(instruction.family.forms) == 1
            and len(operands) > 1
            and not operands[1].startswith("{")
        ):
            operands = (operands[0], "", *operands[2:])  # ptxas takes one register for A of some sparse products
        best = min(
            (_compare_operands(form, operands, ended, declarations) for form in _list_operand_forms(instruction)),
            key=lambda comparison: comparison[0],
        )
        faults += best[1]
        faults += _find_undeclared(operands, declarations)
    return tuple(faults)


def format_faults(faults: Iterable[str]) -> str:
    """Return the faults of a statement as one sentence.

    >>> format_faults(("`.aligned` is missing", "operand 1 is not a vector"))
    'ptxas refuses this line: `.aligned` is missing; operand 1 is not a vector.'
    """
    return f"ptxas refuses this line: {'; '.join(faults)}."


def _find_missing_qualifiers(instruction: Instruction, opcode: str, statement: bool) -> Iterator[str]:
    """Yield the qualifiers that the text lacks; none for a short name, without operands, .sync and .aligned."""
    words = set(re.sub(r"\s", "", opcode).lower().split("."))
    required = [word for word in ("sync", "aligned") if word in instruction.listed_ptx.split(".")]
    if "aligned" in required and not _requires_aligned(instruction):
        required.remove("aligned")
    if statement or "sync" in words or "aligned" in words:
        yield from (word for word in required if word not in words)
        if instruction.shape and instruction.shape not in words:
            yield instruction.shape
        if instruction.syntax.types and words.isdisjoint(instruction.syntax.types):
            yield ".".join(instruction.syntax.types)


def _requires_aligned(instruction: Instruction) -> bool:
    """Return whether ptxas 13.5 requires `.aligned`. It does not for wgmma, although PTX's syntax has it."""
    return instruction.family.tensor or not instruction.family.scope.several


def _list_operand_forms(instruction: Instruction) -> Iterator[list[OperandSlot]]:
    """Yield every operand list that PTX allows for an instruction."""
    family = instruction.family
    for form in family.forms:
        slots = list_slots(instruction, form)
        if family.memory is OperandPlace.MATRIX:
            yield slots[:-1]  # the stride may be left out
        if family.issue:
            yield from _list_tmem_forms(instruction, slots)
        yield slots


def _list_tmem_forms(instruction: Instruction, slots: list[OperandSlot]) -> Iterator[list[OperandSlot]]:
    """Yield the slots of tcgen05.mma with each combination of optional operands. PTX ISA 9.1, 9.7.16.10.9."""
    issue = instruction.family.issue
    assert issue
    *before, enable = slots
    if issue.stationary:
        yield [*slots, OperandSlot("zero_column_mask", "register", 1, "b64", False, "zero-column mask")]
        return
    lanes = next((n for word, n in _DISABLED.items() if word in instruction.ptx.split(".")), 0)
    disabled = (
        [] if issue.factors else [OperandSlot("disable_output_lane", "vector", lanes, "b32", False, "lanes of D")]
    )
    scale = (
        [OperandSlot("scale_input_d", "immediate", 0, "", written=False, what="scale of D", value="0")]
        if issue.kind in _SCALED_D
        else []
    )
    for masks in ([], disabled):
        for scales in ([], scale):
            yield [*before, *masks, enable, *scales]


def _compare_operands(
    form: list[OperandSlot], operands: tuple[str, ...], ended: bool, declared: Mapping[str, int]
) -> tuple[int, list[str]]:
    """Return the distance of an operand list from a form of the instruction, and its faults."""
    faults: list[str] = []
    distance = 0
    if len(operands) > len(form) or (ended and len(operands) < len(form)):
        names = join_words([slot.name for slot in form])
        faults.append(f"it has {format_count(len(operands), 'operand')}, not {len(form)} ({names})")
        distance += _LENGTH * abs(len(operands) - len(form))
    for n, (slot, text) in enumerate(zip(form, operands, strict=False), 1):
        weight, fault = _compare_operand(slot, text, declared)
        if fault:
            distance += weight
            faults.append(f"operand {n} ({slot.what}) {fault}")
    if distance >= _LENGTH and len(operands) != len(form):
        faults = faults[:1]  # after a missing operand, each one was compared with the wrong slot
    return distance, faults


def _compare_operand(slot: OperandSlot, text: str, declared: Mapping[str, int]) -> tuple[int, str]:
    """Return the distance of an operand from its slot, and its fault; (0, "") if it may be correct."""
    if slot.kind == "vector":
        return _compare_vector(slot, text, declared)
    count = _count_registers(text)
    if count and count > 1 and not slot.value.startswith("{"):
        return _KIND, f"is a vector of {count} registers, but must be {_describe_slot(slot)}"
    if slot.kind == "immediate" and _is_declared(text, declared):
        return _KIND, "is a register, but must be an immediate"
    if slot.kind == "address" and _NUMBERED.fullmatch(text):
        return _KIND, "is not an address: write it in brackets"
    if slot.kind != "address" and text.startswith("["):
        return _KIND, f"is an address, but must be {_describe_slot(slot)}"
    return 0, ""


def _compare_vector(slot: OperandSlot, text: str, declared: Mapping[str, int]) -> tuple[int, str]:
    """Return the distance of an operand from a slot that takes a vector, and its fault."""
    count = _count_registers(text)
    if count is None:
        single = _NUMBERED.fullmatch(text) or text.startswith("[") or _is_declared(text, declared)
        return (_KIND, "is not a vector: write its registers in braces") if single else (0, "")
    abridged = count <= SHORTENED < LONG <= slot.registers
    if count == slot.registers or abridged or (count == 1 and _is_placeholder(text, declared)):
        return 0, ""
    return _COUNT, f"has {format_count(count, 'register')}, not {slot.registers} (.{slot.type})"


def _describe_slot(slot: OperandSlot) -> str:
    return {"predicate": "a predicate", "immediate": "an immediate", "address": "an address in brackets"}.get(
        slot.kind, f"one .{slot.type} register"
    )


def _count_registers(text: str) -> int | None:
    """Return how many registers a vector names; None if the text is not a vector or does not list its registers."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    elements = [element.strip() for element in text[1:-1].split(",")]
    listed = all(_ELEMENT.fullmatch(element) and not _FORMAT.fullmatch(element) for element in elements)
    if not listed or all(element.isdigit() for element in elements):
        return None
    return len(elements)


def _is_placeholder(text: str, declared: Mapping[str, int]) -> bool:
    """Return whether a single name in braces may stand for several registers, like {regs} in a format string."""
    name = text[1:-1].strip()
    return not re.match(r"[%$]", name) and not _is_declared(name, declared)


def _is_declared(name: str, declared: Mapping[str, int]) -> bool:
    """Return whether a `.reg` line of the text declares a name as one register."""
    series = _NAMED.fullmatch(name)
    return declared.get(name) == 0 or bool(series and int(series[2]) < declared.get(series[1], 0))


def _find_undeclared(operands: tuple[str, ...], declared: Mapping[str, int]) -> Iterator[str]:
    """Yield a fault for registers beyond the count that the `.reg` line of their base name declares."""
    for base, count in declared.items():
        if not count:
            continue
        used = dict.fromkeys(
            register[0]
            for text in operands
            for element in re.findall(r"%?[\w$]+", text)
            if (register := _NAMED.fullmatch(element))
            and register[1] == base
            and int(register[2]) >= count
            and not _is_declared(register[0], declared)
        )
        if used:
            last = f" to {base}{count - 1}" if count > 1 else ""
            yield f"`{base}<{count}>` declares {base}0{last}, not {join_words(list(used))}"
