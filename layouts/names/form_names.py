"""Short names of instructions: opcode and shape, types as an assignment, and distinguishing words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.syntax import SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class FormName:
    """A unique name: opcode and shape, types, and words that distinguish forms with the same shape and types."""

    name: str
    types: str
    apart: str

    @property
    def text(self) -> str:
        return " ".join(filter(None, (self.name, self.types, self.apart)))


def name_form(instruction: Instruction) -> FormName:
    """Return the name of an instruction, unique in the catalogue.

    >>> name_form(catalog.find("mma.m8n8k16.row.col.satfinite.s32.s8.s8.s32")).text
    'mma.m8n8k16 s32 += s8 × s8 satfinite'
    >>> name_form(catalog.find("mma.m16n8k16.row.col.f32.f16.f16.f32")).text
    'mma.m16n8k16 f32 += f16 × f16'
    """
    return FormName(
        name=format_short_name(instruction),
        types=format_assignment(instruction),
        apart=_index_apart().get(instruction.listed_ptx, ""),
    )


def format_short_name(instruction: Instruction) -> str:
    """Return opcode and shape as a short name (not PTX).

    >>> (format_short_name(catalog.find("wgmma.mma_async.m64n8k16.f32.f16.f16")),
    ... format_short_name(catalog.find("ldmatrix.m8n8.x4.trans.b16")))
    ('wgmma.m64n8k16', 'ldmatrix.m8n8.x4.trans')
    """
    syntax = instruction.syntax
    if instruction.family.issue:
        return f"{syntax.opcode}.{find_issued_kind(instruction)}"
    opcode = syntax.opcode.replace("wgmma.mma_async", "wgmma").replace("::ordered_metadata", "")
    modifiers = () if instruction.family.multiplies else (m for m in syntax.modifiers if m[:1] == "x" or m == "trans")
    return ".".join(filter(None, (opcode, syntax.shape, *modifiers)))


def find_issued_kind(instruction: Instruction) -> str:
    """Return the kind of a tensor-memory product without its instruction descriptor; None for other instructions."""
    assert instruction.family.issue is not None
    return f"kind::{instruction.family.issue.kind}"


def format_assignment(instruction: Instruction, types: Mapping[str, str] | None = None) -> str:
    """Return the types as an assignment (f32 += f16 × f16), or the element types of a move; "" if unknown.

    types: by operand, if not those of the instruction.

    >>> format_assignment(catalog.find("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16"))
    'f32 = f16 × f16 + f16'
    """
    types = instruction.types if types is None else types
    if instruction.family.issue and not types:
        return ""
    if not instruction.family.multiplies and not instruction.family.issue:
        return ", ".join(dict.fromkeys(types.values())) or ".".join(instruction.syntax.types)
    d, a, b = (types[name] for name in "dab")
    c = types.get("c", d)
    scale = f", scale {types['s']}" if "s" in types else ""
    return (f"{d} += {a} × {b}" if c == d else f"{d} = {a} × {b} + {c}") + scale


@lru_cache(maxsize=1)
def _index_apart() -> dict[str, str]:
    """Map every form to its words that other forms with the same short name and types lack."""
    alike: dict[tuple[str, str], list[Instruction]] = {}
    for i in catalog.instructions():
        alike.setdefault((format_short_name(i), format_assignment(i)), []).append(i)
    apart: dict[str, str] = {}
    for forms in alike.values():
        words = [list_spelling_words(i) for i in forms]
        common = set(words[0]).intersection(*words[1:])
        for form, form_words in zip(forms, words, strict=True):
            apart[form.ptx] = " ".join(dict.fromkeys(word for word in form_words if word not in common))
    return apart


def list_spelling_words(i: Instruction) -> list[str]:
    """Return the words of a PTX text except its shape: opcode, layouts as one word, modifiers and types."""
    syntax = i.syntax
    words = [*re.split(r"\.|::", syntax.opcode), ".".join(syntax.layouts), *syntax.modifiers, *syntax.types]
    return [word for word in words if word and word not in SILENT and word not in catalog.SPACES]
