"""A pattern that a page prints is read back: its operand, and the layout that it is."""

from __future__ import annotations

import numpy as np
import pytest

from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx.pattern import Pattern
from lanescope.reader.patterns import recognise_patterns
from tests.cases import for_each

PRINTED = [
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "a"),
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "b"),
    ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "a"),
    ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "d"),
]


@for_each(("name", "letter"), PRINTED)
def test_a_printed_pattern_names_its_operand(name: str, letter: str) -> None:
    instruction = lookup.find(name)
    meanings = recognise_patterns(str(instruction.operand(letter).pattern))
    named = {
        meaning.facts["operand"]: [meaning.facts["ptx"], *meaning.facts["candidates"]]
        for meaning in meanings
        if meaning.kind == "instruction"
    }
    assert instruction.ptx in named[letter]


@for_each("text", ["(m:8 k:2 g:8 x:4) (i:2 q:4) -> (m i g) (x k q)", "(l:4) (n:8) -> (l) (n)", "(i:8) (j:4) -> (j i)"])
def test_its_layout_has_the_elements_of_its_digits(text: str) -> None:
    layout = parse_layout(recognise_patterns(text)[-1].facts["cute"])
    pattern = Pattern.parse(text)
    for element in np.ndindex(*pattern.extents):
        index = int(np.ravel_multi_index(element, pattern.extents, order="F"))
        for thread, value in pattern.owners(*element):
            assert layout(thread + pattern.thread_count * value) == index


def test_a_pattern_that_cannot_be_read_says_why() -> None:
    with pytest.raises(LayoutError, match="'z' occurs on the right but not on the left"):
        recognise_patterns("(g:8 t:4) (i:2) -> (i g) (t z)")
