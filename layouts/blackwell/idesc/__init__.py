"""The instruction descriptor of tcgen05.mma: 32 bits with types, M, N, majors and scale factors.

The meaning of a word depends on the kind, which is part of the opcode. Documented (PTX ISA 9.1, 9.7.16.4.2) and equal
to 304 of 304 words of CUTLASS; not executed on hardware. ptxas does not check it: an immediate of 0xffffffff assembles.
"""

from lanescope.blackwell.idesc.encoding import encode as encode
from lanescope.blackwell.idesc.rules import (
    IDS as IDS,
    describe_narrow as describe_narrow,
    find_form_problems as find_form_problems,
    find_legal_forms as find_legal_forms,
    find_problems as find_problems,
    find_problems_by_form as find_problems_by_form,
    find_warnings as find_warnings,
)
from lanescope.blackwell.idesc.word import (
    CALLED as CALLED,
    MOST as MOST,
    NAMES as NAMES,
    IdescWord as IdescWord,
    fit_kind as fit_kind,
    format_word as format_word,
    get_factor_types as get_factor_types,
    get_form as get_form,
    get_kind as get_kind,
    parse_idesc_word as parse_idesc_word,
)
