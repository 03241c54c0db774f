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

_WORD = r"(?P<word>0x[0-9a-f_']{9,20}[ul]{0,3})"
_USE = r"(?P<use>[\w.:×+= -]{3,120}?)"
_TEXTS = (
    re.compile(rf"\s*(?:(?P<label>\w{{1,30}})\s*[:=]\s*)?{_WORD}[\s,;]+{_USE}\s*", re.I),
    re.compile(rf"\s*{_USE}[\s,;:]+{_WORD}\s*", re.I),
)
_OPERAND = re.compile(r"\boperand\s+([abAB])\b|(?<![\w.])([AB])(?![\w.])")
_LABEL = re.compile(r"desc(?:riptor)?_?[ab]", re.I)
_MAJOR = re.compile(r"\b(k|mn)[ -]?major\b", re.I)


def find_meaning(text: str) -> Meaning | None:
    """Return the meaning of a descriptor word with words before or behind it; None for any other text.

    Words that name an instruction of one shape, with an operand and its major, select what the page shows; others are
    not used.
    """
    match = next(filter(None, (pattern.fullmatch(text) for pattern in _TEXTS)), None)
    if match is None or re.search(r"\b0x|=", match["use"]):
        return None
    found = [meaning for meaning in reader.recognise_text(match["word"]).found if meaning.kind == "descriptor"]
    if not found:
        return None
    label = match.groupdict().get("label") or ""
    use, query = _split_use(f"{match['use']} operand {label[-1]}" if _LABEL.fullmatch(label) else match["use"])
    meaning = meaning_links.build_meaning(found[0], match["word"])
    matches = find_forms(use)
    fitting = [form for form in matches.forms if form.family.by_descriptor] if matches.named else []
    if len({form.shape for form in fitting}) != 1 or matches.ignored:
        if label or not text.lstrip().lower().startswith("0x"):
            return None
        unused = f"Not used: {shorten_value(match['use'].strip(), 60)}."
        return dataclasses.replace(meaning, notices=(*meaning.notices, unused))
    query = {"instruction": fitting[0].ptx, **query}
    return dataclasses.replace(meaning, link=link_descriptor(meaning.facts["word"], query, meaning.facts["format"]))


def _split_use(use: str) -> tuple[str, dict[str, str]]:
    """Return the words that may name an instruction, and the operand and major that the others select."""
    operands, majors = list(_OPERAND.finditer(use)), list(_MAJOR.finditer(use))
    query = {}
    if len(operands) == 1:
        query["operand"] = next(filter(None, operands[0].groups())).lower()
        use = _OPERAND.sub(" ", use)
    if len(majors) == 1:
        query["major"] = majors[0][1].upper()
        use = _MAJOR.sub(" ", use)
    return use, query
