"""The instruction descriptor of tcgen05.mma: 32 bits with types, M, N, majors and scale factors.

The meaning of a word depends on the kind, which is part of the opcode. Documented (PTX ISA 9.1, 9.7.16.4.2) and equal
to 304 of 304 words of CUTLASS; not executed on hardware. ptxas does not check it: an immediate of 0xffffffff assembles.
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
