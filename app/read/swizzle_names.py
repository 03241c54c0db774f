"""Read the name of a swizzle, `Swizzle<3,4,3>`: which bits it changes, and the hardware's mode that it is."""

from __future__ import annotations

import re
from itertools import product

from lanescope.app.kit.fact import copy_fact
from lanescope.app.read import page_meanings, question_readings
from lanescope.app.read.facts import Reading
from lanescope.cute.text import parse_swizzle
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, shorten_value
from lanescope.ptx.table.descriptors import FORMATS
from lanescope.shared.swizzle import Swizzle

_NAME = re.compile(
    r"\s*(?:[\w:& \t]{1,60}=\s*)?(?:cute(?:::|\.))?"
    r"(?:(?:Swizzle|Sw|S)\s*<|make_swizzle\s*[<(])(?P<numbers>[-\d\s,_]*)[>)]"
    r"\s*(?:\{\s*\}|\(\s*\))?\s*;?\s*"
)
_PAGE = "/guide/swizzle"
_UNIT_BITS = (4, 8, 16, 32, 64, 128)  # of an index: elements, bytes, chunks


def read_swizzle(text: str) -> Reading | None:
    """Read a text that is nothing but the name of a swizzle; None for any other text."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    try:
        swizzle = parse_swizzle("Sw<{}>".format(re.sub(r"[\s_]", "", match["numbers"])))
    except LayoutError as error:
        hint = error.hint if error.code == "bad_cute" else "A swizzle has three numbers: Swizzle<3,4,3>."
        why = f"'{shorten_value(text.strip())}' is not a swizzle of 32-bit indices. {hint}"
        return question_readings.build_unknown(text, "Not a swizzle", [why])
    name = str(swizzle).replace("Sw", "Swizzle")
    meaning = page_meanings.build_page_meaning(name, _PAGE, (_describe_bits(swizzle), _describe_mode(swizzle)))
    return copy_fact(Reading, meaning, also=tuple(page_meanings.search_question(f"swizzle {name}", [meaning])))


def _describe_bits(swizzle: Swizzle) -> str:
    """Return a sentence about the bits of an index that a swizzle changes."""
    terms = swizzle.list_terms()
    if not terms:
        return "It changes nothing: it XORs no bits."
    changed, with_ = ([pair[n] for pair in terms] for n in (0, 1))
    if len(terms) == 1:
        return f"It XORs bit {changed[0]} of an index with bit {with_[0]}."
    return f"It XORs bits {changed[0]} to {changed[-1]} of an index with bits {with_[0]} to {with_[-1]}."


def _describe_mode(swizzle: Swizzle) -> str:
    """Return a sentence about the swizzle mode of matrix descriptors that a swizzle is, in its unit."""
    found = [
        (form.name, mode.name, bits)
        for form in FORMATS
        for mode, bits in product(form.codes, _UNIT_BITS)
        if swizzle.bits and mode.swizzle(bits) == swizzle
    ]
    if found:
        _, mode, bits = found[0]
        unit = f"{bits} bits" if bits < 8 else f"{bits // 8} byte{'s' * (bits > 8)}"
        readers = join_words([reader for reader, _, _ in found])
        return f"If its unit is {unit}, it is the {mode} swizzle that descriptors of {readers} name."
    return "No swizzle mode of matrix descriptors is this." if swizzle.bits else "Matrix descriptors call it none."
