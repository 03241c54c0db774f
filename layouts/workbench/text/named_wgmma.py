"""Derive the wgmma from the name of a bodiless call: wgmma_m64n128k16(acc, desc_a, desc_b) states the shape; the name
or the tensor map states the type. This is an assumption; `contents.py` makes it only for a text without instructions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from lanescope.ptx.instruction import Instruction
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.cute.atom_meaning import find_products
from lanescope.workbench.results import Assumption
from lanescope.workbench.text.scan import InstructionMention

MOST = 12  # instructions to choose from
_CALLED = re.compile(r"mma", re.I)
_SHAPE = re.compile(r"(?<![0-9])m?(?P<m>64)(?:n|x)(?P<n>\d{1,3})(?:k|x)(?P<k>\d{1,3})(?![0-9])", re.I)
_TYPES = re.compile(r"bf16|tf32|f16|f32|e4m3|e5m2|s32|s8|u8|b1")
_OF_MAP = {"BFLOAT16": "bf16", "FLOAT16": "f16", "TFLOAT32": "tf32", "TFLOAT32_FTZ": "tf32", "FLOAT32": "tf32"}


def find_named_wgmma(code: Evaluation, stored: Iterable[str | None]) -> tuple[InstructionMention, Assumption] | None:
    """Find the instruction of the first call whose name states one, and the assumption; None if no name does.

    stored: element types of the tensor maps, as CUtensorMapDataType has them.
    """
    kinds = [kind for kind in map(_OF_MAP.get, filter(None, stored)) if kind]
    for call in code.bodiless_calls:
        shape = _SHAPE.search(call.term.head) if _CALLED.search(call.term.head) else None
        if shape is not None and call.term.arguments and call.term.span != (0, 0):
            named = _find_instruction(call.term.head, shape, kinds)
            if named is not None:
                return InstructionMention(named[0], call.term.span), named[1]
    return None


def _find_instruction(head: str, shape: re.Match[str], kinds: Collection[str]) -> tuple[Instruction, Assumption] | None:
    """Return (the instruction that a function's name denotes, the assumption). kinds: element types of the tensor
    maps.
    """
    instructions = find_products({}, {dim: int(shape[dim]) for dim in "mnk"}, warpgroup=True)
    types = _parse_type_names(head, shape.span(), instructions)
    fitting = [i for i in instructions if _has_types(i, types)]
    likely = [i for i in fitting if i.types["a"] in kinds] or fitting
    if not likely:
        return None
    chosen = next((i for i in likely if i.types["d"] in ("f32", "s32")), likely[0])
    typed = "; the tensor map holds that type" if not types and chosen.types["a"] in kinds else ""
    why = f"{head} has no code in the text: taken as its name says{typed}"
    choices = tuple(dict.fromkeys([chosen.ptx, *(i.ptx for i in instructions)]))[:MOST]
    return chosen, Assumption("instruction", "Instruction", chosen.ptx, why, choices)


def _parse_type_names(head: str, shape: tuple[int, int], instructions: list[Instruction]) -> dict[str, str]:
    """Parse the types in a name, by operand: of D, A and B, of D and both others, of both, or of D alone."""
    types = _TYPES.findall((head[: shape[0]] + " " + head[shape[1] :]).lower())
    if len(types) >= 3:
        return dict(zip("dab", types, strict=False))
    inputs = {i.types["a"] for i in instructions}
    if len(types) == 2:
        return {"d": types[0], "a": types[1], "b": types[1]} if types[1] in inputs else {"a": types[0], "d": types[1]}
    if len(types) == 1:
        return {"a": types[0], "b": types[0]} if types[0] in inputs else {"d": types[0]}
    return {}


def _has_types(instruction: Instruction, types: dict[str, str]) -> bool:
    return all(instruction.types.get(name) == kind for name, kind in types.items())
