"""The instruction descriptor of tcgen05.mma: 32 bits that say types, M, N, majors and scale factors. A word is read
with its kind, as the kind is part of the opcode and not of the word; a wish becomes a word.

Documented (PTX ISA 9.1, 9.7.16.4.2) and equal to 304 of 304 words of CUTLASS; nothing here has run on this hardware.
ptxas checks none of it: an immediate of 0xffffffff assembles.
"""

from lanescope.blackwell.idesc.encoding import encode
from lanescope.blackwell.idesc.rules import (
    IDS,
    describe_narrow,
    find_form_problems,
    find_legal_forms,
    find_problems,
    find_problems_by_form,
    find_warnings,
)
from lanescope.blackwell.idesc.word import (
    CALLED,
    MOST,
    NAMES,
    IdescWord,
    fit_kind,
    format_word,
    get_factor_types,
    get_form,
    get_kind,
    parse_idesc_word,
)

__all__ = [
    "CALLED",
    "IDS",
    "MOST",
    "NAMES",
    "IdescWord",
    "describe_narrow",
    "encode",
    "find_form_problems",
    "find_legal_forms",
    "find_problems",
    "find_problems_by_form",
    "find_warnings",
    "fit_kind",
    "format_word",
    "get_factor_types",
    "get_form",
    "get_kind",
    "parse_idesc_word",
]
