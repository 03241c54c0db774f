"""The requirements of a wmma.load or wmma.store on memory, as facts for the API and as a form on its page."""

from __future__ import annotations

from typing import Annotated

from lanescope.app.kit.fact import Description, copy_fact, fact, make_optional_field
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.ptx import wmma
from lanescope.ptx.instruction import Instruction, OperandPlace

MOST_POINTER, MOST_LDM = 2**64 - 1, 2**32 - 1


@fact
class Requirement:
    """The requirements of one document on a matrix in memory."""

    document: str
    pointer_bytes: int
    ldm_elements: int
    source: str


@fact
class WmmaRule:
    """One rule for a pointer or an ldm, with the arithmetic that checks it."""

    name: str
    holds: bool
    text: str
    source: str


@fact
class PointerCheck:
    """A pointer and an ldm, checked by every document's rules."""

    pointer: Annotated[str, Description("The address in hex.")]
    ldm: int
    legal: Annotated[bool, Description("Whether every rule holds.")]
    rules: tuple[WmmaRule, ...]


@fact
class WmmaMemory:
    """The requirements of a wmma.load or wmma.store on memory; pointer_bytes and ldm_elements meet every document."""

    cpp: Annotated[str, Description("The fragment's type in mma.h.")]
    num_elements: int
    num_storage_elements: int
    storage_type: str
    since: str
    fragment_bytes: int
    default_stride: int
    pointer_bytes: int
    ldm_elements: int
    requirements: tuple[Requirement, ...]
    check: Annotated[PointerCheck | None, Description("Of the pointer and the ldm of the request.")] = (
        make_optional_field()
    )


def is_memory_access(instruction: Instruction) -> bool:
    return instruction.family.memory is OperandPlace.MATRIX


def build_memory(instruction: Instruction) -> WmmaMemory | None:
    """Build the fragment's C++ type and sizes, the default stride, and the requirements of each document; None if no
    memory is read or written.
    """
    if not is_memory_access(instruction):
        return None
    (op,) = instruction.operands.values()
    (layout,) = instruction.syntax.layouts
    fragment = wmma.WmmaFragment(instruction, op, layout if op.name in "ab" else "")
    combined = wmma.combine_requirements(op)
    return copy_fact(
        WmmaMemory,
        fragment,
        storage_type=fragment.storage_cpp,
        fragment_bytes=wmma.count_fragment_bytes(op),
        default_stride=wmma.get_default_stride(op, layout),
        pointer_bytes=combined.pointer_bytes,
        ldm_elements=combined.ldm_elements,
        requirements=tuple(copy_fact(Requirement, requirement) for requirement in wmma.get_requirements(op)),
    )


def check_pointer(instruction: Instruction, pointer: str, ldm: str) -> PointerCheck | None:
    """Check a pointer and an ldm against every rule; a missing one is 0 or the default. None if both are missing.

    Raise LayoutError if a text is not a number, or if the instruction takes neither.
    """
    texts = {name: value for name, value in (("pointer", pointer), ("ldm", ldm)) if value.strip()}
    if not texts:
        return None
    if not is_memory_access(instruction):
        name = next(iter(texts))
        raise LayoutError("bad_usage", f"{instruction.ptx} takes no {name}.", "wmma.load and wmma.store do.", name)
    (op,) = instruction.operands.values()
    (layout,) = instruction.syntax.layouts
    address = parse_integer(texts.get("pointer", 0), "pointer", 0, MOST_POINTER)
    stride = parse_integer(texts.get("ldm", wmma.get_default_stride(op, layout)), "ldm", 1, MOST_LDM)
    rules = tuple(copy_fact(WmmaRule, pointer_rule) for pointer_rule in wmma.check_pointer(op, address, stride, layout))
    return PointerCheck(pointer=hex(address), ldm=stride, legal=all(rule.holds for rule in rules), rules=rules)
