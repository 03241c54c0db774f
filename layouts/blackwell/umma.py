"""How a tcgen05.mma looks at the descriptors of A and B: its opcode says kind, CTA group and sparsity, its instruction
descriptor M, N, types and majors.

PTX ISA 9.1, 9.7.16.4 and 9.7.16.10. With cta_group::2 a CTA's descriptors address its own shared memory, which holds
half of A's rows and half of B's columns (CUTLASS, cute/atom/mma_traits_sm100.hpp, BLayout). Nothing here has run on
this hardware.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.blackwell import idesc
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.kind import MmaKind
from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx.table.descriptors import TCGEN05, fit_format
from lanescope.ptx.table.kinds import PAIR, WS

DEFAULT, DEFAULT_IDESC = "tcgen05.mma.cta_group::1.kind::f16", "0x08400490"
_TEXT = re.compile(r"tcgen05\s*\.\s*mma((?:\s*\.\s*[\w:]+)*)", re.I)
HINT = f"Write tcgen05.mma with its .cta_group and .kind, e.g. {DEFAULT}."


@dataclass(frozen=True, slots=True)
class MmaOpcode:
    """A tcgen05.mma by its opcode: kind, form (cta_group::1, cta_group::2 or ws) and whether A is sparse."""

    kind: MmaKind
    form: str
    sparse: bool

    @property
    def ptx(self) -> str:
        """The opcode without the qualifiers that descriptors do not see."""
        words = ["tcgen05.mma", *(["ws"] * (self.form == WS)), *(["sp"] * self.sparse)]
        group = PAIR if self.form == PAIR else "cta_group::1"
        return ".".join([*words, group, f"kind::{self.kind.name}"])

    @property
    def ctas(self) -> int:
        """CTAs that hold the operands together."""
        return 2 if self.form == PAIR else 1


def parse_mma_opcode(text: object, field: str = "instruction") -> MmaOpcode:
    """Parse a tcgen05.mma from its PTX text; LayoutError says what is missing."""
    match = _TEXT.search(text) if isinstance(text, str) else None
    words = re.findall(r"[\w:]+", match[1].lower()) if match else []
    kinds = [word for word in words if word.startswith("kind::")]
    if not kinds:
        raise LayoutError(
            "bad_instruction", f"'{shorten_value(text, 80)}' is not a tcgen05.mma with a kind.", HINT, field
        )
    try:
        row = idesc.get_kind(kinds[0])
        group = next((word.rpartition(":")[2] for word in words if word.startswith("cta_group::")), "1")
        return MmaOpcode(row, idesc.get_form(group, int("ws" in words)), "sp" in words)
    except LayoutError as error:
        raise error.move_to_field(field, "bad_instruction") from None


def make_view(by: MmaOpcode, word: IdescWord, operand: str, major: str = "") -> View:
    """Return how operand a or b is read from one CTA's shared memory: its rows (M or N) of this CTA, K as it is stored.

    The word's target decides the descriptor's format. LayoutError if the instruction descriptor is illegal for this
    opcode, or says another major, and where PTX does not say how the elements are packed.
    """
    wrong = idesc.find_problems(word) or idesc.find_form_problems(word, by.form)
    if wrong:
        raise LayoutError("bad_idesc", wrong[0].message, f"Under {by.ptx}. See {wrong[0].source}.", "idesc")
    if word.sparse != by.sparse:
        message = f"The instruction descriptor says {'sparse' if word.sparse else 'dense'}; the opcode does not."
        raise LayoutError("bad_idesc", message, "Bit 2 must be 1 with .sp, and 0 without.", "idesc")
    said = word.format_field(f"transpose_{operand}")
    if major and major != said:
        bit = word.kind.get_field(f"transpose_{operand}").field.low
        message = f"major is {major}, but the instruction descriptor says that {operand.upper()} is {said}-major."
        raise LayoutError("bad_major", message, f"Its bit {bit} is {word.word >> bit & 1}.", "major")
    if word.has_open_packing(operand):
        message = f"How {word.types[operand]} is packed in shared memory with K = {word.k} is not documented."
        raise LayoutError("open_packing", message, "PTX ISA 9.4, 9.7.18.10.4.4 says: without padding.", "idesc")
    k = word.k // 2 if operand == "a" and word.sparse else word.k
    rows = (word.m if operand == "a" else word.n) // by.ctas
    return View(rows, k, word.kind.element_bits, said, fit_format(TCGEN05, word.target))
