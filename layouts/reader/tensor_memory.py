"""tcgen05 by any of its names: PTX, SASS, atoms of CUTLASS and of CuTe's DSL, words. One answer for all of them."""

from __future__ import annotations

import re

from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx.table.newer import find_newer_form
from lanescope.reader import cutlass, ptx, tiled_mma, umma
from lanescope.reader.meaning import TextMeaning

_NAMES = re.compile(
    r"(?<![\w.])(?:(?P<ptx>tcgen05(?:\.\w+(?:::\w+)?)*)"  # PTX, and cute.nvgpu.tcgen05
    r"|(?P<sass>UTC(?:[HQIO]MMA|MMA|CP|ATOMSWS|BAR)|LDTM|STTM)(?:\.\w+)*"
    r"|(?P<atom>SM1[01]\d_(?:MMA|TMEM|UTCCP)\w*|UMMA|umma)\b(?!\s*<<)|(?P<word>TMEM|tmem|utcmma|tensor memory)\b)"
)
_SAYS = (
    ("tcgen05.mma", "tcgen05.mma multiplies matrices of shared and tensor memory; one thread issues it."),
    ("tcgen05.ld", "tcgen05.ld moves tensor memory to registers; each warp reaches 32 of its 128 lanes."),
    ("tcgen05.st", "tcgen05.st moves registers to tensor memory; each warp reaches 32 of its 128 lanes."),
    ("tcgen05.cp", "tcgen05.cp copies shared memory to tensor memory."),
    ("tcgen05.alloc", "tcgen05.alloc reserves columns of tensor memory for a block."),
    ("LDTM", "LDTM is tcgen05.ld: tensor memory to registers."),
    ("STTM", "STTM is tcgen05.st: registers to tensor memory."),
    ("UTCCP", "UTCCP is tcgen05.cp: shared memory to tensor memory."),
    ("UTC", "UTC…MMA is tcgen05.mma: it multiplies matrices of shared and tensor memory."),
)
# Opcode → kinds, and modifier → what PTX writes, as nvdisasm 13.5 shows them for sm_100a, sm_103a and sm_107a.
SASS_KINDS = {
    "UTCHMMA": ("f16", "tf32"),
    "UTCQMMA": ("f8f6f4", "mxf8f6f4"),
    "UTCIMMA": ("i8",),
    "UTCOMMA": ("mxf4", "mxf4nvf4"),
}
SASS_MODIFIERS = {
    "2CTA": "cta_group::2",
    "WS": ".ws",
    "ASHIFT": ".ashift",
    "4X": "scale_vec::4X of kind::mxf4nvf4",
    "BLOCK16": "scale_vec::4X of kind::mxf4nvf4",
}
IS = (
    "tcgen05 is the matrix instruction of Blackwell and Rubin (sm_100, sm_103, sm_107, sm_110). What is shown of"
    " it has not run on hardware."
)


def describe_sass(name: str) -> str:
    """Describe a tcgen05.mma of SASS, "" for another opcode.

    >>> describe_sass("UTCHMMA.2CTA")
    'UTCHMMA.2CTA is tcgen05.mma with kind::f16 or kind::tf32, cta_group::2.'
    """
    opcode, *modifiers = name.split(".")
    if opcode not in SASS_KINDS:
        return ""
    kinds = join_words([f"kind::{kind}" for kind in SASS_KINDS[opcode]], "or")
    return f"{name} is tcgen05.mma with {', '.join([kinds, *filter(None, map(SASS_MODIFIERS.get, modifiers))])}."


def _is_ptx_text(text: str) -> bool:
    try:
        return bool(ptx.recognise_ptx(text))
    except LayoutError:
        return False


def _is_tensor_atom(text: str) -> bool:
    try:
        return any(i.family.tensor for i in cutlass.find_atom_instructions(text))
    except LayoutError:
        return False


def recognise_tensor_memory(text: str) -> tuple[TextMeaning, ...]:
    """Recognise a text about tcgen05."""
    match = _NAMES.search(text)
    if match is None:
        return ()
    name = match[0]
    if (match["ptx"] and _is_ptx_text(text)) or _is_tensor_atom(text):
        return ()  # an instruction of the catalogue, which has a page
    try:
        if tiled_mma.recognise_lone_atom(text):
            return ()  # which the bench of whole tiles shows
        spelled = umma.parse_umma_text(text)
        wrong: tuple[str, ...] = ()
        if spelled and spelled.atom is None:
            wrong = (f"{spelled.title} leaves {', '.join(spelled.open)} open: with them its tile can be shown.",)
    except LayoutError as error:
        wrong = (error.message,)
    about = describe_sass(name) or next((message for start, message in _SAYS if name.startswith(start)), "")
    newer = find_newer_form(text)
    notices = (*wrong, *((newer.message,) if newer else ()), *((IS, about) if about else (IS,)))
    return (TextMeaning("topic", "tcgen05 and tensor memory (Blackwell)", {"topic": "tcgen05", "name": name}, notices),)
