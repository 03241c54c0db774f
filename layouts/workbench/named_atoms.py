"""The wgmma of a call `Atom::fma(…)`: CUTLASS's atoms are known by their names, which an alias or a template parameter
may stand for (cute/arch/mma_sm90_gmma.hpp: the template arguments that begin an atom of 16-bit elements are the majors
of A and B).
"""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader import cutlass
from lanescope.reader.code.findings import BodilessCall
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.values import ResolvedType
from lanescope.workbench.scan import InstructionMention

_ATOM = re.compile(r"(?:SM90_|MMA_)\d+x\d+x\d+_\w+")
_MAJORS: dict[int | None, str] = {0: "K", 1: "MN"}  # cute::SM90::GMMA::Major
_OWNER = "::"


def find_atom_mention(call: BodilessCall) -> InstructionMention | None:
    """Return the instruction of a call of an atom's fma, with the majors that its type states; None of others."""
    owner = dict(call.term.named).get(_OWNER)
    if call.term.head != "fma" or not isinstance(owner, ResolvedType):
        return None
    instruction = _find_atom(owner.name)
    if instruction is None:
        return None
    majors: dict[str, str] = {}
    if instruction.operand("a").element.bits == 16:
        stated = (get_integer(argument) for argument in owner.arguments[:2])
        codes = (_MAJORS.get(value.known) if value is not None else None for value in stated)
        majors = {name: major for name, major in zip("ab", codes, strict=False) if major}
    return InstructionMention(instruction, call.term.span, (), majors, "_RS" in owner.name)


@lru_cache(maxsize=256)
def _find_atom(name: str) -> Instruction | None:
    """Find the wgmma that an atom's name means; None for another name."""
    if not _ATOM.fullmatch(name):
        return None
    try:
        named = cutlass.recognise_cutlass_atoms(name)
    except LayoutError:
        return None
    if len(named) != 1 or not named[0].facts["ptx"]:
        return None
    instruction = catalog.find(named[0].facts["ptx"])
    return instruction if instruction.family.by_descriptor else None
