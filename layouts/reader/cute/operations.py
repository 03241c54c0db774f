"""Recognise operations of CuTe's Python DSL (cute.nvgpu.warp, .warpgroup), and CUTLASS's GMMA::ss_op_selector and
rs_op_selector.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lanescope.reader.cute import atoms, dsl_operations
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText
from lanescope.reader.meaning import TextMeaning, drop_repeats, make_instruction_meaning

_SELECTOR = re.compile(r"(?<![\w.])(?:\w+::){0,4}[sr]s_op_selector(?:_\w+)?\s*<")
_BARE = re.compile(r"\s*(?:\w+\.){0,6}((?:Ld|St)Matrix\w{4,12}Op)\s*")
_TILED_MMA = re.compile(r"make_tiled_mma\s*\(|TiledMMA\s*<")
_MOST = 8


def recognise_operations(text: str) -> tuple[TextMeaning, ...]:
    """Return the instructions of every operation that a text builds."""
    if bare := _BARE.fullmatch(text):
        return _recognise_bare_class(bare[1])
    if not dsl_operations.OPERATION.search(text):
        return _recognise_selectors(text)
    operations = [operation for operation in dsl_operations.parse_operations(text) if operation.found]
    if not operations:
        return ()
    majors = operations[0].majors if len(operations) == 1 else {}
    notes = tuple(dict.fromkeys(operation.note for operation in operations if operation.note))
    instruction_meaning = make_instruction_meaning(
        (i for operation in operations for i in operation.found), f"'{operations[0].name}'", notes, majors=majors
    )
    return tuple(replace(operation, sure=operation.sure and not notes) for operation in instruction_meaning)


def _recognise_bare_class(name: str) -> tuple[TextMeaning, ...]:
    """Return the instructions that an operation's class may make, for a name without arguments."""
    moves = dsl_operations.list_moves(name)
    notes = dict.fromkeys((dsl_operations.describe_defaults(name), *(move.note for move in moves if move.note)))
    meanings = make_instruction_meaning((i for move in moves for i in move.found), f"'{name}'", tuple(notes))
    return tuple(replace(meaning, sure=False) for meaning in meanings)


def _recognise_selectors(text: str) -> tuple[TextMeaning, ...]:
    """Return the choice of a text's selectors; () if the text makes a TiledMMA of them, which shows the atom itself."""
    if not _SELECTOR.search(text) or _TILED_MMA.search(text):
        return ()
    home = terms.make_term_text(text)
    selectors = [meaning for term in terms.find_terms(home, _SELECTOR) for meaning in _recognise_selector(home, term)]
    return drop_repeats(selectors, _MOST)


def _recognise_selector(home: TermText, term: SyntaxTerm) -> tuple[TextMeaning, ...]:
    selector = atoms.parse_selector(home, term)
    if selector is None or not selector.found:
        return ()
    inside = "A in registers, B through a descriptor" if term.name.startswith("rs") else "A and B through descriptors"
    notices = [f"The atom reads {inside}."]
    n = selector.shape[1] if selector.shape else None
    if (wide := atoms.parse_extended_n(home, term)) and n is not None and wide != n:
        notices.append(f"N is {n}; with CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED (set by FlashAttention-3), {wide}.")
    (meaning,) = make_instruction_meaning(selector.found, f"'{term.name}'", tuple(notices), majors=selector.majors)
    opened = atoms.list_undefined(home, term)
    return (
        TextMeaning(meaning.kind, meaning.title, meaning.facts, meaning.notices, meaning.sure and not opened, opened),
    )
