"""Check MMA_Traits specialisations: does each thread-value layout cover its operand, and is it that of the named atom?

CUTLASS 4.7, cute/atom/mma_traits.hpp: ALayout is over M × K, BLayout over N × K, CLayout over M × N, column-major.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

import numpy as np

from lanescope.cute import layout as cute
from lanescope.cute.text import parse_layout
from lanescope.cxx.source_text import find_closing
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction
from lanescope.reader.cute import labelled_layouts
from lanescope.reader.cute.printed_operands import MOST_ELEMENTS, list_places
from lanescope.reader.cutlass_names import cutlass
from lanescope.reader.meaning import TextMeaning
from lanescope.tiles.mma import SIDES

_TRAITS = re.compile(r"\bMMA_Traits\s*<\s*(?P<atom>[^\n;{}]{1,200}?)\s*>\s*(?::[^{;]{0,200})?\{")
_SHAPE = re.compile(r"\bShape_MNK\s*=\s*(?:\w+::)?Shape\s*<\s*_?(\d+)\s*,\s*_?(\d+)\s*,\s*_?(\d+)\s*>")
_LABEL = re.compile(r"([ABC])Layout(?:_TV)?")
_ALIASED = re.compile(r"\busing\s+([ABC]Layout(?:_TV)?)\s*=\s*(?:\w+::){0,6}(\w+)\s*;")
_MOST = 16  # specialisations per text


def recognise_traits(text: str) -> tuple[TextMeaning, ...]:
    """Return the instructions of a text's atoms, with notices where its MMA_Traits differ from them."""
    meanings = cutlass.recognise_cutlass_atoms(text)
    if "MMA_Traits" not in text:
        return meanings
    problems = tuple(notice for notices in find_differences(text).values() for notice in notices)
    return tuple(
        replace(meaning, notices=(*meaning.notices, *problems), sure=meaning.sure and not problems)
        for meaning in meanings
    )


def find_differences(text: str) -> dict[str, tuple[str, ...]]:
    """Map each wrong layout, as printed, to its errors: missing elements, and the layout of the named atom."""
    differences: dict[str, tuple[str, ...]] = {}
    named = {code_layout.label: code_layout for code_layout in labelled_layouts.find_code_layouts(text)}
    for atom, body in _find_specialisations(text):
        aliased = [replace(named[name], label=label) for label, name in _ALIASED.findall(body) if name in named]
        for code_layout in (*labelled_layouts.find_code_layouts(body), *aliased):
            if (label := _LABEL.fullmatch(code_layout.label)) and (
                problems := tuple(_check_layout(code_layout.layout, label[1], atom, body))
            ):
                differences[f"{code_layout.label} {code_layout.layout}"] = problems
    return differences


def find_layouts(text: str) -> Iterator[labelled_layouts.LabelledLayout]:
    """Yield the layouts that code spells, named after their alias ALayout, BLayout or CLayout."""
    aliases = _ALIASED.findall(text)
    for code_layout in labelled_layouts.find_code_layouts(text):
        labels = dict.fromkeys(label for label, name in aliases if name == code_layout.label)
        yield from (replace(code_layout, label=label) for label in labels or (code_layout.label,))


def describe_missing(layout: cute.CuteLayout, tile: tuple[int, int] | None) -> str:
    """Describe the elements of its tile that a thread-value layout leaves out.

    Returns "" if it holds each element once, or is too large to count.

    >>> describe_missing(parse_layout("((4,8),(2,2,2)):((32,1),(16,8,32))"), (16, 16))
    'covers 160 of the 256 elements of its 16×16 tile; 96 (thread, value) pairs repeat an element.'
    """
    if layout.swizzle is not None or not 0 < layout.size <= MOST_ELEMENTS:
        return ""
    places = layout.list_indices()
    covered = len(np.unique(places))
    total = prod(tile) if tile else layout.size
    of = f"the {total:,} elements of its {tile[0]}×{tile[1]} tile" if tile else f"{total:,} elements"
    if tile and (places.max() >= total or places.min() < 0):
        return f"reaches element {places.max():,}, outside {of}."
    if covered == total or (tile is None and 0 in cute.list_leaves(layout.stride)):
        return ""
    return f"covers {covered:,} of {of}; {len(places) - covered:,} (thread, value) pairs repeat an element."


def _find_specialisations(text: str) -> Iterator[tuple[str, str]]:
    """Yield (atom name, body) of each MMA_Traits."""
    for count, match in enumerate(_TRAITS.finditer(text)):
        if count >= _MOST:
            return
        yield match["atom"], text[match.end() : find_closing(text, match.end() - 1)]


def _check_layout(layout: cute.CuteLayout, letter: str, atom: str, body: str) -> Iterator[str]:
    known, name = _find_instruction(atom), letter.lower()
    if missing := describe_missing(layout, _compute_tile(body, known, name)):
        yield f"{letter}Layout {missing}"
    operand = known.operands.get(name) or known.operands.get("d") if known else None
    if known is None or operand is None or (known.family.by_descriptor and name != "c"):
        return
    atom_layout = parse_layout(operand.transposed_cute if name == "b" else operand.cute)
    theirs, mine = list_places(atom_layout), list_places(layout)
    if theirs is None or mine is None or theirs.shape[1] != mine.shape[1]:
        return
    if not np.array_equal(theirs, mine):
        yield f"{letter}Layout is not that of {atom.split('<')[0]}, which is {atom_layout}."


def _compute_tile(body: str, known: Instruction | None, name: str) -> tuple[int, int] | None:
    """Return the sizes of an operand's tile, from Shape_MNK or else from the instruction; None without either."""
    if shape := _SHAPE.search(body):
        sizes = [int(size) for size in shape.groups()]
    else:
        sizes = [known.sizes.get(dim, 0) for dim in "mnk"] if known else []
    rows, cols = SIDES[name]
    return (sizes[rows], sizes[cols]) if sizes and all(sizes) else None


def _find_instruction(atom: str) -> Instruction | None:
    try:
        instructions = list(dict.fromkeys(cutlass.find_atom_instructions(atom)))
    except LayoutError:
        return None
    return instructions[0] if len(instructions) == 1 else None
