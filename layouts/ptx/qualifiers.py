"""Explain a PTX opcode word by word: what each qualifier means, and what `.sync` and `.aligned` require of threads.

Everything is derived from an instruction's text and family. PTX ISA 9.1, 9.7.14 and 9.7.15.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.ptx.syntax import LAYOUTS
from lanescope.ptx.table.modifiers import MODIFIERS

_WAITS = "`.sync`: a thread waits until all threads of its warp execute this same instruction."


@dataclass(frozen=True, slots=True)
class OpcodePart:
    """One word of an opcode: its text with the leading dot, its kind, and its meaning."""

    text: str
    kind: str  # "opcode", "convergence", "shape", "layout", "type" or "modifier"
    meaning: str


def list_opcode_parts(instruction: Instruction) -> tuple[OpcodePart, ...]:
    """Return the words of the PTX text in order; their texts concatenate to the PTX text."""
    opcode = instruction.family.opcode.text
    parts = [OpcodePart(opcode, "opcode", instruction.family.opcode.does)]
    layouts = iter(_describe_layouts(instruction))
    types = iter(_list_typed_operands(instruction))
    for token in instruction.ptx.removeprefix(opcode + ".").split("."):
        parts.append(_explain_token(instruction, token, layouts, types))
    return tuple(parts)


def _explain_token(instruction: Instruction, token: str, layouts: Iterator[str], types: Iterator[str]) -> OpcodePart:
    text = f".{token}"
    if token == "sync":
        return OpcodePart(
            text,
            "convergence",
            f"a thread waits until all threads of its warp execute this same {instruction.syntax.opcode}",
        )
    if token == "aligned":
        return OpcodePart(
            text,
            "convergence",
            f"all {instruction.threads} threads of the {instruction.family.scope.name} must execute this same"
            " instruction",
        )
    if token == instruction.shape:
        return OpcodePart(text, "shape", _describe_shape(instruction))
    if token in LAYOUTS:
        return OpcodePart(text, "layout", next(layouts))
    if token in MODIFIERS:
        return OpcodePart(text, "modifier", MODIFIERS[token])
    if token in (f"{name}{count}" for name, count in instruction.counts.items()):
        return OpcodePart(text, "modifier", _describe_count(instruction, int(token[1:])))
    meaning = next(types, None)
    if meaning is None:
        hint = "Add its row to layouts/ptx/table/modifiers.py."
        raise LayoutError("unknown_modifier", f"The modifier {text} of {instruction.ptx} has no description.", hint)
    return OpcodePart(text, "type", meaning)


def _describe_shape(instruction: Instruction) -> str:
    m, n, k = (instruction.sizes.get(dim) for dim in "mnk")
    if k:
        return f"A is {m}×{k}, B is {k}×{n}, {'D is' if instruction.family.in_place else 'C and D are'} {m}×{n}"
    if m:
        return f"each matrix has {m} rows and {n} columns"
    lanes, bits, halves = (instruction.sizes.get(name, 1) for name in ("lanes", "bits", "halves"))
    twice = " in the first half of the columns, and as many in the second" if halves > 1 else ""
    return f"{lanes} lane{'s' * (lanes > 1)} of tensor memory, {bits} bits of each{twice}"


def _describe_count(instruction: Instruction, count: int) -> str:
    if instruction.family.memory is OperandPlace.TENSOR:
        return f"{count} time{'s' * (count > 1)}, in neighbouring columns"
    return f"{count} {'matrix' if count == 1 else 'matrices'}"


def _describe_layouts(instruction: Instruction) -> list[str]:
    names = instruction.syntax.layouts
    words = {"row": "row-major", "col": "column-major"}
    if instruction.family.memory is OperandPlace.MATRIX:
        return [f"the matrix is {words[name]} in memory" for name in names]
    return [f"{letter} is {words[name]}" for letter, name in zip("AB", names, strict=False)]


def _list_typed_operands(instruction: Instruction) -> list[str]:
    """Return a description of each type in the text, in order: the family's text names the operand of each."""
    family = instruction.family
    lines: list[str] = []
    if not instruction.syntax.types:
        return lines
    for name in re.findall(r"\{(\w+)\}", family.ptx):
        if name in family.slots.split():
            lines.append(_describe_type(instruction, name))
    return lines or [_describe_type(instruction, "data")]  # the row spells its type instead of naming an operand


def _describe_type(instruction: Instruction, name: str) -> str:
    element = instruction.types[name]
    if instruction.family.tensor and instruction.family.memory:
        element = instruction.syntax.types[0]
        return "registers of 32 bits" if element[0] == "b" else f"the values are compared as {element}"
    if name == "data" or instruction.family.moves:
        return f"elements of {element[1:]} bits, whatever their type"
    if name == "s":
        return "type of the scale factors"
    op = instruction.operands.get(name)
    label = f"type of {name.upper()}'s elements"
    if op is None:
        return label
    return f"{label}: {op.element.register_bits // op.container_bits} a .{op.element.register_type} register"


def describe_convergence(instruction: Instruction) -> str:
    """Return what `.sync` and `.aligned` of the text require of the threads, "" if it has neither."""
    words = instruction.ptx.split(".")
    sentences = []
    if "sync" in words:
        sentences.append(_WAITS)
    if "aligned" in words:
        same = " with the same address and stride" if instruction.family.memory is OperandPlace.MATRIX else ""
        exited = ", or after one has exited" if instruction.family.exits else ""
        sentences.append(
            f"`.aligned`: all {instruction.threads} threads of the {instruction.family.scope.name} must execute"
            f" it{same}; in code that only some of them reach{exited}, the behavior is undefined."
        )
    return " ".join(sentences)
