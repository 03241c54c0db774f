"""The views of a tcgen05.mma through the descriptors of A and B.

The opcode has kind, CTA group and sparsity, the instruction descriptor M, N, types and majors. PTX ISA 9.1, 9.7.16.4
and 9.7.16.10. With cta_group::2 a CTA's descriptors address its own shared memory, which holds half of A's rows and
half of B's columns (CUTLASS, cute/atom/mma_traits_sm100.hpp, BLayout). Not executed on hardware.
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
SCALE_VECTORS = {**{f"scale_vec::{n}X": f"{n}X" for n in (1, 2, 4)}, "block16": "4X", "block32": ""}
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
        """The PTX opcode without the qualifiers that do not affect descriptors."""
        words = ["tcgen05.mma", *(["ws"] * (self.form == WS)), *(["sp"] * self.sparse)]
        group = PAIR if self.form == PAIR else "cta_group::1"
        return ".".join([*words, group, f"kind::{self.kind.name}"])

    @property
    def ctas(self) -> int:
        """The number of CTAs that hold the operands."""
        return 2 if self.form == PAIR else 1


def parse_mma_opcode(text: object) -> MmaOpcode:
    """Parse a tcgen05.mma from its PTX text; LayoutError says what is missing."""
    match = _TEXT.search(text) if isinstance(text, str) else None
    words = re.findall(r"[\w:]+", match[1].lower()) if match else []
    kinds = [word for word in words if word.startswith("kind::")]
    if not kinds:
        raise LayoutError(
            "bad_instruction", f"'{shorten_value(text, 80)}' is not a tcgen05.mma with a kind.", HINT, "instruction"
        )
    try:
        row = idesc.get_kind(kinds[0])
        group = next((word.rpartition(":")[2] for word in words if word.startswith("cta_group::")), "1")
        return MmaOpcode(row, idesc.get_form(group, int("ws" in words)), "sp" in words)
    except LayoutError as error:
        raise error.move_to_field("instruction", "bad_instruction") from None


def find_scale_vector(opcode: str, kind: MmaKind) -> str:
    """Return the scale vector that an opcode names, such as 4X, or the first one of its kind; "" without one.

    >>> find_scale_vector("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", idesc.get_kind("kind::mxf4"))
    '2X'
    """
    named = next((SCALE_VECTORS[word] for word in opcode.split(".") if word in SCALE_VECTORS), "")
    return named or next(iter(kind.scaled), "")


def make_view(by: MmaOpcode, word: IdescWord, operand: str, major: str = "") -> View:
    """Return the view of operand a or b in one CTA's shared memory: its rows (M or N) of this CTA, and the stored K.

    The word's target determines the descriptor's format. LayoutError if the instruction descriptor is illegal for the
    opcode or has another major, and if the packing of the elements is not documented.
    """
    problems = idesc.find_problems(word) or idesc.find_form_problems(word, by.form)
    if problems:
        raise LayoutError("bad_idesc", problems[0].message, f"Under {by.ptx}. See {problems[0].source}.", "idesc")
    if word.sparse != by.sparse:
        message = f"The instruction descriptor is {'sparse' if word.sparse else 'dense'}; the opcode is not."
        raise LayoutError("bad_idesc", message, "Bit 2 must be 1 with .sp, and 0 without.", "idesc")
    word_major = word.format_field(f"transpose_{operand}")
    if major and major != word_major:
        bit = word.kind.get_field(f"transpose_{operand}").field.low
        message = f"major is {major}, but in the instruction descriptor {operand.upper()} is {word_major}-major."
        raise LayoutError("bad_major", message, f"Its bit {bit} is {word.word >> bit & 1}.", "major")
    if word.has_open_packing(operand):
        message = f"How {word.types[operand]} is packed in shared memory with K = {word.k} is not documented."
        raise LayoutError("open_packing", message, "PTX ISA 9.4, 9.7.18.10.4.4 says: without padding.", "idesc")
    k = word.k // 2 if operand == "a" and word.sparse else word.k
    rows = (word.m if operand == "a" else word.n) // by.ctas
    return View(rows, k, word.kind.element_bits, word_major, fit_format(TCGEN05, word.target))
