"""The wgmma of a call `Atom::fma(…)`: CUTLASS's atoms are known by their names, which an alias or a template parameter
may represent (cute/arch/mma_sm90_gmma.hpp: the template arguments that begin an atom of 16-bit elements are the majors
of A and B).
"""

from __future__ import annotations

from lanescope.reader.code.cute.cute_mmas import parse_major
from lanescope.reader.code.findings import BodilessCall
from lanescope.reader.code.values import ResolvedType
from lanescope.reader.cutlass_names.cutlass import find_wgmma
from lanescope.workbench.text.scan import InstructionMention

_OWNER = "::"


def find_atom_mention(call: BodilessCall) -> InstructionMention | None:
    """Return the instruction of a call of an atom's fma, with the majors that its type states; None for other calls."""
    owner = dict(call.term.named).get(_OWNER)
    if call.term.head != "fma" or not isinstance(owner, ResolvedType):
        return None
    instruction = find_wgmma(owner.name)
    if instruction is None:
        return None
    majors: dict[str, str] = {}
    if instruction.operand("a").element.bits == 16:
        stated = map(parse_major, owner.arguments[:2])
        majors = {name: major for name, major in zip("ab", stated, strict=False) if major}
    return InstructionMention(instruction, call.term.span, (), majors, "_RS" in owner.name)
