"""Recognise tcgen05 by any of its names: PTX, SASS, atoms of CUTLASS and CuTe's DSL, common words."""

from __future__ import annotations

import re

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx.table.newer import find_newer_form
from lanescope.ptx.table.other_opcodes import find_use
from lanescope.reader.cute import tiled_mma, umma
from lanescope.reader.cutlass_names import cutlass
from lanescope.reader.instructions import ptx
from lanescope.reader.instructions.tensor_sass import IS, is_tensor_sass
from lanescope.reader.meaning import TextMeaning

_NAMES = re.compile(
    r"(?<![\w.])(?:(?P<ptx>tcgen05(?:\.\w+(?:::\w+)?)*)"  # PTX, and cute.nvgpu.tcgen05
    r"|(?P<sass>UTC(?:MMA|ATOMSWS|BAR))(?:\.\w+)*"
    r"|(?P<atom>SM1[01]\d_(?:MMA|TMEM|UTCCP)\w*|UMMA|umma)\b(?!\s*<<)|(?P<word>TMEM|tmem|utcmma|tensor memory)\b)"
)
_STATEMENTS = re.compile(r"[;\n{}=]")
_SPECIFIC = re.compile(r"\.(?:\d+x\d+\w*|cta_group::\w+)(?=\.|\Z)")
_SAYS = (
    ("UTCMMA", "UTC…MMA is tcgen05.mma: it multiplies matrices in shared and tensor memory."),
    ("UTCATOMSWS", "UTCATOMSWS is tcgen05.alloc or tcgen05.dealloc: it allocates or frees columns of tensor memory."),
    ("UTCBAR", "UTCBAR is tcgen05.commit: an mbarrier tracks the completion of the preceding tcgen05 operations."),
)


def _describe(name: str) -> str:
    """Return what an instruction of PTX or SASS does; "" for a word that names none."""
    use = find_use(name)
    return f"{use.opcode} {use.does}" if use else next((does for start, does in _SAYS if name.startswith(start)), "")


def _is_ptx_text(text: str, name: str) -> bool:
    """Return whether a text has an instruction of PTX. LayoutError if its opcode names a shape or CTAs and is wrong."""
    try:
        return bool(ptx.recognise_ptx(text))
    except LayoutError:
        if _SPECIFIC.search(name) and find_newer_form(text) is None:
            raise
        return False


def _is_tensor_atom(text: str) -> bool:
    try:
        return any(i.family.tensor for i in cutlass.find_atom_instructions(text))
    except LayoutError:
        return False


def recognise_tensor_memory(text: str) -> tuple[TextMeaning, ...]:
    """Return the meaning of a text about tcgen05. LayoutError if it is an atom with sizes or types that none has."""
    match = _NAMES.search(text)
    if match is None or is_tensor_sass(text):
        return ()
    name = match[0]
    if (match["ptx"] and _is_ptx_text(text, name)) or _is_tensor_atom(text):
        return ()  # the instruction has a page
    try:
        if tiled_mma.recognise_lone_atom(text):
            return ()  # shown by the workbench of complete tiles
        spelled = umma.parse_umma_text(text)
        wrong: tuple[str, ...] = ()
        if spelled and spelled.atom is None:
            wrong = (
                f"{spelled.title} leaves {', '.join(spelled.open)} open. Its tile can be shown if they are given.",
            )
    except LayoutError as error:
        if not _STATEMENTS.search(text.strip().rstrip(";")):
            message = f"No tcgen05.mma is {shorten_value(text.strip(), 60)}: {error.message}"
            raise LayoutError("unknown_atom", message, error.hint, "atom") from None
        wrong = (error.message,)
    about = _describe(name)
    newer = find_newer_form(text)
    notices = (*wrong, *((newer.message,) if newer else ()), *((IS, about) if about else (IS,)))
    return (TextMeaning("topic", "tcgen05 and tensor memory (Blackwell)", {"topic": "tcgen05", "name": name}, notices),)
