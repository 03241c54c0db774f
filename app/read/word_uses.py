"""Read a word that is followed by the name of the instruction that uses it: 0x4000004000010100 wgmma bf16."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from lanescope import reader
from lanescope.app.kit.fact import copy_fact
from lanescope.app.kit.links import link_descriptor
from lanescope.app.read import meaning_links, question_readings
from lanescope.app.read.facts import Meaning, Reading
from lanescope.descriptor.mistakes import NO_VERSION
from lanescope.inputs import shorten_value
from lanescope.names.form_names import name_form
from lanescope.names.forms import FormMatches, find_forms
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.reader.meaning import TextMeaning
from lanescope.reader.words import instruction_word, stated_fields

_HALF = r"0x[0-9a-f]{1,8}"
_WORD = rf"(?P<word>0x[0-9a-f_']{{9,20}}[ul]{{0,3}}|{_HALF}:{_HALF}|\{{\s?{_HALF},\s?{_HALF}\s?\}})"
_ASKED = re.compile(
    r"\s*(?:(?:what|which bytes|how)\s+(?:does|do|is|are|would)\s+|is\s+"
    r"|(?:please\s+)?(?:decode|explain|show|read|parse)\s+)"
    rf"(?:the\s+)?(?:(?:matrix\s+)?desc(?:riptor)?\s+)?(?={_WORD}|{_HALF}\b)",
    re.I,
)
_SAID = re.compile(
    r"\s+(?:as(?:\s+an?)?|(?:mean|read|describe|encode|say|right|correct|ok|valid|legal)s?)(?=\s|$)", re.I
)
_NUMBERS = re.compile(_WORD.replace("?P<word>", "?:"), re.I)
_ARTICLE = re.compile(r"\s+an?\s+(?=(?:wgmma|tcgen05|umma|matrix|i?desc|descriptor)\b)", re.I)
_USE = r"(?P<use>[\w.:×+=, -]{1,120}?)"
_HALF_USE = re.compile(rf"\s*(?P<half>0x[0-9a-f]{{5,8}})\s+{_USE}\s*", re.I)
_KIND_OF_MMA = re.compile(r"(?:tcgen05\.mma[\w.:]*?)?\.?kind::\w+|\b(?:with|of|for)\b")
_TEXTS = (
    re.compile(rf"\s*(?:(?P<label>\w{{1,30}})\s*[:=]\s*)?{_WORD}[\s,;]+{_USE}\s*", re.I),
    re.compile(rf"\s*{_USE}[\s,;:]+{_WORD}\s*", re.I),
)
_OPERAND = re.compile(r"\boperand\s+([abAB])\b|(?<![\w.])([AB])(?![\w.])")
_LABEL = re.compile(r"desc(?:riptor)?_?[ab]", re.I)
_BETWEEN = re.compile(r"\b(?:for|of|in|with)\b|,", re.I)
_TYPES_OF_MN = {"f16", "bf16"}  # of wgmma: PTX ISA 9.1, 9.7.15.5.1.2
_KIND = re.compile(
    r"\s*(?:(?:wgmma|tcgen05|umma|matrix|i?desc|descriptor)\s*)+", re.I
)  # says no more than what the word is
_MAJOR = re.compile(r"\b(k|mn)[ -]?major\b", re.I)


def strip_question(text: str) -> str:
    """Return a question about a number as the number and the words behind it; any other text unchanged.

    >>> strip_question("what does 0x4000004000010100 mean for A of wgmma?")
    '0x4000004000010100 for A of wgmma'
    """
    question = _ASKED.match(text)
    if question is None or len(_NUMBERS.findall(text)) > 1:
        return text
    return _ARTICLE.sub(" ", _SAID.sub("", text[question.end() :].rstrip("? "), count=1))


def read_half(text: str) -> Reading | None:
    """Read a 32-bit number as the instruction descriptor of the kind beside it; refuse it as a descriptor of the wgmma
    beside it. None for any other text.
    """
    match = _HALF_USE.fullmatch(strip_question(text))
    if match is None:
        return None
    if "kind::" in match["use"]:
        return _read_idesc(text, match["half"], match["use"])
    use, _ = _split_use(match["use"])
    matches = find_forms(use)
    reads = bool(matches.forms) and all(form.family.by_descriptor for form in matches.forms)
    if not reads or not matches.named or matches.ignored:
        return None
    name = matches.forms[0].family.opcode.text
    notice = f"{match['half']} has 32 bits, and a descriptor of {name} has 64: write it whole, or as high:low."
    return question_readings.build_unknown(text, "Not a descriptor", [notice])


def _read_idesc(text: str, word: str, use: str) -> Reading | None:
    """Read a word as the instruction descriptor of a kind; a notice has the words that are not used."""
    found = list_idescs(use, word)
    unused = " ".join(_KIND_OF_MMA.sub(" ", use).split())
    notices = (f"Not used: {unused}.",) if unused else ()
    meanings = [meaning_links.build_meaning(one, text) for one in found]
    return copy_fact(Reading, meanings[0], notices=(*notices, *meanings[0].notices), also=()) if meanings else None


def list_idescs(text: str, word: str) -> tuple[TextMeaning, ...]:
    """List the meanings of a word as an instruction descriptor of the kind that a text names."""
    kinds = " ".join(re.findall(r"kind::\w+", text))
    return instruction_word.recognise_instruction_word(f"{kinds} idesc {word}")


def find_meaning(text: str) -> Meaning | None:
    """Return the meaning of a descriptor word with words before or behind it; None for any other text.

    Words that name an instruction of one shape, with an operand and its major, select what the page shows; others are
    not used.
    """
    match = next(filter(None, (pattern.fullmatch(text) for pattern in _TEXTS)), None)
    found = _list_descriptors(match)
    if match is None or not found:
        return None
    if stated_fields.is_of_fields(match["use"]):
        if match.groupdict().get("label"):
            return None  # a labelled word is compared by its recognizer
        meaning = meaning_links.build_meaning(found[0], match["word"])
        differences = stated_fields.compare_matrix_fields(match["use"], int(meaning.facts["word"], 0))
        return dataclasses.replace(meaning, notices=(*differences, *meaning.notices))
    label = match.groupdict().get("label") or ""
    use, query = _split_use(f"{match['use']} operand {label[-1]}" if _LABEL.fullmatch(label) else match["use"])
    meaning = meaning_links.build_meaning(found[0], match["word"])
    matches = find_forms(use)
    if (read := _read_use(use, query, matches, meaning)) is not None:
        return read
    if not matches.forms and (label or not text.lstrip().lower().startswith("0x")):
        return None
    unused = f"Not used: {shorten_value(match['use'].strip(), 60)}."
    return dataclasses.replace(meaning, notices=(*meaning.notices, unused))


def _read_use(use: str, query: dict[str, str], matches: FormMatches, meaning: Meaning) -> Meaning | None:
    """Return a word's meaning with the instruction that its use names, or why that one does not read it; None if the
    use names none or several.
    """
    compiled = _find_compiled(use)
    forms = compiled or (matches.forms if matches.named else ())
    fitting = [form for form in forms if _fits(form, meaning, query)]
    if len({form.shape for form in fitting}) == 1 and (compiled or not matches.ignored):
        return _link_use(meaning, fitting, query)
    reasons = [_explain_other_format(form, meaning) for form in matches.forms] if not fitting else []
    if not reasons or not all(reasons):
        return None  # a type alone is of instructions that read the word, too
    return dataclasses.replace(meaning, notices=(reasons[0], *meaning.notices))


def _list_descriptors(match: re.Match[str] | None) -> list[TextMeaning]:
    """Return the meanings of a word as a descriptor, [] if the words beside it have another one."""
    if match is None or _KIND.fullmatch(match["use"]):
        return []
    if re.search(r"\b0x|=|^\s*[+*-]", match["use"]) and not stated_fields.is_of_fields(match["use"]):
        return []
    return [meaning for meaning in reader.recognise_text(match["word"]).found if meaning.kind == "descriptor"]


def _link_use(meaning: Meaning, fitting: Sequence[Instruction], query: dict[str, str]) -> Meaning:
    """Link to what the first of these instructions reads; a notice names it if the others have other types."""
    if len({tuple(form.ptx.split(".")[-2:]) for form in fitting}) > 1:
        meaning = dataclasses.replace(meaning, notices=(*meaning.notices, f"Assumed: {name_form(fitting[0]).text}."))
    query = {"instruction": fitting[0].ptx, **query}
    return dataclasses.replace(meaning, link=link_descriptor(meaning.facts["word"], query, meaning.facts["format"]))


def _fits(form: Instruction, meaning: Meaning, query: dict[str, str]) -> bool:
    """Return whether an instruction reads descriptors of a word's format, and has tiles of this major."""
    is_16_bit = bool(form.family.issue) or set(form.ptx.split(".")[-2:]) <= _TYPES_OF_MN
    return (
        bool(form.family.by_descriptor or form.family.issue)
        and meaning.facts["format"] == _get_format(form)
        and (query.get("major") != "MN" or is_16_bit)
    )


def _find_compiled(use: str) -> tuple[Instruction, ...]:
    """Return the instructions of PTX that compile to a line of SASS."""
    found = [meaning.facts for meaning in reader.recognise_text(use).found if meaning.facts.get("sass")]
    return tuple(map(catalog.find, found[0]["candidates"])) if len(found) == 1 else ()


def _get_format(form: Instruction) -> str:
    """Return the format of the descriptors that an instruction reads."""
    return TCGEN05.name if form.family.issue else WGMMA.name


def _explain_other_format(form: Instruction, meaning: Meaning) -> str:
    """Return why an instruction does not read a word: descriptors of another format, or none; "" if it may."""
    if not form.family.by_descriptor and not form.family.issue:
        return f"{form.family.opcode.text} reads no matrix descriptor." if form.family.multiplies else ""
    if meaning.facts["format"] == _get_format(form):
        return ""
    return NO_VERSION if form.family.issue else f"{form.family.opcode.text} reads descriptors of {WGMMA.name}."


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
    return _BETWEEN.sub(" ", use), query
