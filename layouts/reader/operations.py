"""Operations of CuTe's Python DSL (cute.nvgpu.warp, .warpgroup) and CUTLASS's GMMA::ss_op_selector and rs_op_selector:
the instructions they are.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lanescope.reader import atoms, terms
from lanescope.reader.meaning import TextMeaning, drop_repeats, make_instruction_meaning
from lanescope.reader.terms import SyntaxTerm, TermText

_SELECTOR = re.compile(r"(?<![\w.])(?:\w+::){0,4}[sr]s_op_selector(?:_\w+)?\s*<")
_BARE = re.compile(r"\s*(?:\w+\.){0,6}((?:Ld|St)Matrix\w{4,12}Op)\s*")
_MADE = re.compile(r"make_tiled_mma\s*\(|TiledMMA\s*<")
_MOST = 8


def recognise_operations(text: str) -> tuple[TextMeaning, ...]:
    """Recognise the instructions of every operation that a text builds."""
    if bare := _BARE.fullmatch(text):
        return _recognise_bare_class(bare[1])
    if not atoms.OPERATION.search(text):
        return _recognise_selectors(text)
    found = [one for one in atoms.parse_operations(text) if one.found]
    if not found:
        return ()
    majors = found[0].majors if len(found) == 1 else {}
    notes = tuple(dict.fromkeys(one.note for one in found if one.note))
    made = make_instruction_meaning((i for one in found for i in one.found), f"'{found[0].name}'", notes, majors=majors)
    return tuple(replace(one, sure=one.sure and not notes) for one in made)


def _recognise_bare_class(name: str) -> tuple[TextMeaning, ...]:
    """Recognise what the class of an operation may make: its name alone leaves the arguments open."""
    found = atoms.list_moves(name)
    notes = dict.fromkeys((atoms.describe_defaults(name), *(one.note for one in found if one.note)))
    made = make_instruction_meaning((i for one in found for i in one.found), f"'{name}'", tuple(notes))
    return tuple(replace(one, sure=False) for one in made)


def _recognise_selectors(text: str) -> tuple[TextMeaning, ...]:
    """Recognise what a text's selectors choose, unless it makes a TiledMMA of them, which names the atom itself."""
    if not _SELECTOR.search(text) or _MADE.search(text):
        return ()
    home = terms.make_term_text(text)
    out = [one for term in terms.find_terms(home, _SELECTOR) for one in _recognise_selector(home, term)]
    return drop_repeats(out, _MOST)


def _recognise_selector(home: TermText, term: SyntaxTerm) -> tuple[TextMeaning, ...]:
    one = atoms.parse_selector(home, term)
    if one is None or not one.found:
        return ()
    inside = "A in registers, B through a descriptor" if term.name.startswith("rs") else "A and B through descriptors"
    notices = [f"The atom reads {inside}."]
    if (wide := atoms.parse_extended_n(home, term)) and one.shape and wide != one.shape[1]:
        notices.append(
            f"N is {one.shape[1]}; with CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED, as FlashAttention-3 is built, {wide}."
        )
    (made,) = make_instruction_meaning(one.found, f"'{term.name}'", tuple(notices), majors=one.majors)
    opened = atoms.list_undefined(home, term)
    return (TextMeaning(made.kind, made.title, made.facts, made.notices, made.sure and not opened, opened),)
