"""What a wmma.load or wmma.store asks of memory, as facts for the API and as a form on its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from layouts import wmma
from layouts.errors import LayoutError
from layouts.instruction import Instruction, Place
from layouts.reading import asked, number

Json = dict[str, Any]


def touches_memory(found: Instruction) -> bool:
    return found.family.memory is Place.MATRIX


def memory(found: Instruction) -> Json | None:
    """The fragment's C++ type and sizes, the default stride, and what each document asks; None where no memory is read or written."""
    if not touches_memory(found):
        return None
    (op,) = found.operands.values()
    (layout,) = found.syntax.layouts
    fragment = wmma.Fragment(found, op, layout if op.name in "ab" else "")
    whole = wmma.both(op)
    return {
        "cpp": fragment.cpp,
        "num_elements": fragment.num_elements,
        "num_storage_elements": fragment.num_storage_elements,
        "storage_type": fragment.storage_cpp,
        "since": fragment.since,
        "fragment_bytes": wmma.fragment_bytes(op),
        "default_stride": wmma.default_stride(op, layout),
        "pointer_bytes": whole.pointer_bytes,
        "ldm_elements": whole.ldm_elements,
        "requirements": [asdict(asked) for asked in wmma.requirements(op)],
    }


def checked(found: Instruction, query: Mapping[str, str]) -> Json | None:
    """The same with the rules for the pointer and ldm of an address's query."""
    facts = memory(found)
    if facts is None:
        return None
    (op,) = found.operands.values()
    (layout,) = found.syntax.layouts
    pointer, ldm, problem = 0, facts["default_stride"], ""
    try:
        pointer = number(asked(query, "pointer", 0), "pointer", 0, 2**64 - 1)
        ldm = number(asked(query, "ldm", ldm), "ldm", 1, 2**32 - 1)
    except LayoutError as error:
        pointer, ldm, problem = 0, facts["default_stride"], f"{error.message} {error.hint} Checked with the default instead"
    return facts | {
        "registers": op.registers,
        "register_type": op.element.register_type,
        "rules": wmma.check(op, pointer, ldm, layout),
        "pointer": query.get("pointer", "0x0"),
        "ldm": query.get("ldm", str(facts["default_stride"])),
        "problem": problem,
    }
