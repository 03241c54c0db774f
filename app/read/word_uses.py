"""Read a 64-bit word that is followed by the name of the instruction that uses it: 0x4000004000010100 wgmma bf16."""

from __future__ import annotations

import dataclasses
import re

from lanescope import reader
from lanescope.app.kit.links import link_descriptor
from lanescope.app.read import meaning_links
from lanescope.app.read.facts import Meaning
from lanescope.inputs import shorten_value
from lanescope.names.forms import find_forms

_TEXT = re.compile(r"\s*(0x[0-9a-f_']{9,20}[ul]{0,3})[\s,;]+([\w.:×+= -]{3,120})", re.I)


def find_meaning(text: str) -> Meaning | None:
    """Return the meaning of a descriptor word with words behind it; None for any other text.

    Words that name an instruction of one shape select the one whose reads the page shows; others are not used.
    """
    match = _TEXT.fullmatch(text)
    found = (
        [meaning for meaning in reader.recognise_text(match[1]).found if meaning.kind == "descriptor"] if match else []
    )
    if match is None or not found or re.search(r"\b0x|=", match[2]):
        return None
    meaning = meaning_links.build_meaning(found[0], match[1])
    matches = find_forms(match[2])
    fitting = [form for form in matches.forms if form.family.by_descriptor] if matches.named else []
    instruction = fitting[0] if len({form.shape for form in fitting}) == 1 and not matches.ignored else None
    unused = "" if instruction else match[2].strip()
    notices = (*meaning.notices, *((f"Not used: {shorten_value(unused, 60)}.",) if unused else ()))
    if instruction is None:
        return dataclasses.replace(meaning, notices=notices)
    link = link_descriptor(meaning.facts["word"], {"instruction": instruction.ptx}, meaning.facts["format"])
    return dataclasses.replace(meaning, link=link, notices=notices)
