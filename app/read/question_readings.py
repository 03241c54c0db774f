"""Questions about places as readings: the answer with its page, or why there is none."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from functools import lru_cache

from lanescope.app.catalogue import full_text
from lanescope.app.kit import links
from lanescope.app.kit.fact import copy_fact
from lanescope.app.kit.find import search_details
from lanescope.app.kit.sought_place import check_whole
from lanescope.app.read import (
    element_forms,
    element_texts,
    elements,
    layout_elements,
    meaning_links,
    memory_elements,
    page_meanings,
    question_words,
    tile_elements,
)
from lanescope.app.read.element_texts import parse_question
from lanescope.app.read.facts import Meaning, Reading
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.names.form_names import name_form
from lanescope.reader.grammars import pasted_text

_CODE = re.compile(r"\basm\b|%\d|\"\s*\(")  # "=r"(reg0): a question has no such marks
_REGISTER = re.compile(  # `R2` alone is an operand of SASS
    r"(?<![\w.])(?:reg(?:ister)?\s*(?P<number>\d{1,3})(?![\w.])|R(?P<of>\d{1,3})(?=[,\s]+(?:of|in)\s))"
    r"(?:\s+of\s+(?P<matrix>[a-dA-D])\b)?"
)

_REGISTER_NAME = r"%[a-z]{1,2}\d{1,4}|U?(?:R\d{1,3}|RZ|P[0-7T])(?:\.[a-z]\w*)?"  # of PTX and SASS
_REGISTERS = re.compile(rf"\s*[{{\[(]*\s*(?:{_REGISTER_NAME})(?:\s*[,:\s+]\s*(?:{_REGISTER_NAME}))*\s*[}}\])]*\s*;?\s*")
_MOST_REGISTERS = 4
_LETTER = re.compile(r"\s*[A-Da-d]\s*")
_ARGUMENTS = re.compile(r"<[^<>]*>|;\s*$|\bT\d+::")  # T1::Params of a demangled name
_STORED = re.compile(r"(?<![\w.])(?:\w+\.)?x\[\w*\]")  # of a fragment of wmma
_OF_TILE = re.compile(r"(?:of )?(?:an? )?(?:[\w ]{0,20})?tile(?: of)?(?: \d+ ?[x×] ?\d+(?: ?[x×] ?\d+)?)?[?. ]*", re.I)
_PLACED = re.compile(r"[?&](?:find|lanes|probe|matrix)=|/triton-dot\?")
_PART = re.compile(  # a part that no thread or element goes with, or several at once
    r"\b(?:value|bits?|byte|matrix|element|warp)\s+\d+(?!\w)|"
    r"\b(?:(?:row|column|col|lane|thread|register|value|element|warp|byte)s|bits)\s+[\w[]{0,2}\d+\S*|"
    r"(?<![\w.:%])[a-d]\d{1,3}(?=\s+(?:of|in)\s)|(?<![\w>])[\[(]\s*-?\d+(?:\s*[,;]\s*|\s+)-?\d+\s*[\])]",
    re.I,
)


def build_unknown(text: str, title: str, notices: Sequence[str], also: Sequence[Meaning] = ()) -> Reading:
    """Build the reading of a text without a meaning: the reason, and pages that may help."""
    link = meaning_links.link_text(text)
    return Reading(kind="unknown", title=title, link=link, facts={}, notices=tuple(notices), also=tuple(also))


def refuse_registers(text: str) -> Reading | None:
    """Refuse a text that is nothing but registers, or the letter of an operand; None for any other text."""
    if _LETTER.fullmatch(text):
        notice = f"{text.strip()} is an operand: ask for {text.strip().upper()}[5][1] of mma.m16n8k16 bf16."
        return build_unknown(text, "Of which instruction?", [notice])
    if _REGISTERS.fullmatch(text) is None:
        return None
    names = list(dict.fromkeys(re.findall(_REGISTER_NAME, text)))
    are = "is a register" if len(names) == 1 else "are registers"
    notice = (
        f"{join_words(names[:_MOST_REGISTERS])} {are}: paste the line of the instruction that has"
        f" {'it' if len(names) == 1 else 'them'}, or ask for R2 of lane 20 of mma.m16n8k16 bf16."
    )
    return build_unknown(text, "Of which instruction?", [notice])


@lru_cache(maxsize=8)  # a text is asked several times on its way to a page
def read_place_question(text: str) -> Reading | None:
    """Read a question about an element, a lane or a register, or explain why it has no answer; None for any other
    text.
    """
    try:
        cleaned = question_words.rewrite_question(pasted_text.clean_text(text[: tile_elements.LONGEST + 1]))
    except LayoutError as error:
        return _read_refused_place(text, error)
    if _CODE.search(cleaned):
        return None
    laid = layout_elements.answer_question(cleaned) or tile_elements.answer_question(cleaned)
    if laid is not None:
        return _read_refused_place(text, laid) if isinstance(laid, LayoutError) else copy_fact(Reading, laid, also=())
    in_memory = memory_elements.answer_question(cleaned)
    if isinstance(in_memory, LayoutError):
        return _read_refused_place(text, in_memory)
    if in_memory:
        return copy_fact(Reading, in_memory, also=tuple(page_meanings.search_question(cleaned, [in_memory])))
    if elements.asks_for_scales(cleaned):
        return _read_scales(text)
    answers = elements.answer_question(cleaned)
    if answers is None:
        return _ask_for_instruction(cleaned) or _ask_for_tile(cleaned) or _ask_for_lane(cleaned)
    if answers.refused:
        return _read_refused_place(text, answers.refused, answers.elsewhere)
    return _read_answers(cleaned, answers)


def find_unread_place(text: str, meaning: Meaning) -> str:
    """Return the sentence about a place in a text that its meaning, a page, does not show; "" for any other text."""
    is_placed = _PLACED.search(meaning.link) or ("pin=" in meaning.link and " of " in meaning.title)
    if meaning.kind not in ("topic", "instruction") or is_placed:
        return ""
    cleaned = _ARGUMENTS.sub(" ", pasted_text.clean_text(text[: tile_elements.LONGEST + 1]))
    if stored := _STORED.search(cleaned):
        return f"‘{stored[0]}’ is not shown: ask for x[5] of lane 9."
    question = parse_question(cleaned)
    if question is None or not question.rest:
        return ""
    return f"‘{question.text}’ is not shown: for that, name an instruction with its shape and types, or a tile."


def _read_answers(cleaned: str, answers: elements.ElementAnswers) -> Reading:
    """Read a question by its answers, best first, and the pages that its other words name."""
    first, *rest = answers.meanings
    if answers.more:
        more = f"{answers.more:,} more instructions fit; say the shape and the types."
        first = dataclasses.replace(first, notices=(*first.notices, more))
    if first.facts["operand"] == "address":
        rest += page_meanings.search_question(cleaned, ())
    unused = " ".join(word for word in answers.unused if word.lower() not in full_text.SILENT)
    pages = page_meanings.find_pages(unused) if full_text.is_asked(cleaned) else []
    if pages:
        return copy_fact(Reading, pages[0], also=(*pages[1:], first, *rest))
    return copy_fact(Reading, first, also=tuple(rest))


def _read_scales(text: str) -> Reading:
    """Read a question about scale factors or metadata: the first of a row or column; otherwise suggest a question."""
    if (spelled := _spell_scale(text)) and (reading := read_place_question(spelled)) and reading.kind != "unknown":
        return dataclasses.replace(reading, notices=(*reading.notices, "The page shows the others of its row."))
    notice = (
        "Write SFA[row][block], SFB[column][block] or E[row][group] of the instruction; its page shows all of them."
    )
    pages = page_meanings.find_pages("metadata" if "metadata" in text.lower() else "scale factors")
    return build_unknown(text, "Not answered", [notice], pages)


def _spell_scale(text: str) -> str:
    """Spell a question about the scale factor or the metadata of a row or a column as one about its first: `SFA[5][0]`;
    "" for any other text.
    """
    question = element_texts.parse_question(text)
    line = question.place.line if question else None
    if question is None or line is None or question.place.letter not in ("", "a", "b"):
        return ""
    is_metadata = "meta" in text.lower()
    letter = "E" if is_metadata else "SFA" if line[0] == "row" else "SFB"
    rest = re.sub(r"(?i)\b(?:the )?(?:scales?|factors?|metadata|meta|sf[ab]?)\b", " ", question.rest)
    return f"{letter}[{line[1]}][0] {' '.join(rest.split())}"


def _ask_for_instruction(text: str) -> Reading | None:
    """Read a question that lacks its instruction; None for any other text."""
    question = element_texts.parse_question(text)
    if question is None or not element_forms.needs_instruction(question):
        return None
    try:
        check_whole(question.place, "bad_coordinate", "text")
    except LayoutError as error:
        is_number = re.fullmatch(r"[-\d.]+", question.place.odd)  # c[i][j] is of code
        return _read_refused_place(text, error) if is_number else None
    examples = {"sfa": "mma.m16n8k64 mxf4", "sfb": "mma.m16n8k64 mxf4", "e": "mma.sp.m16n8k32 f16"}
    notice = f"Say of which instruction: {question.text} of {examples.get(question.place.letter, 'mma.m16n8k16 bf16')}."
    pages = page_meanings.find_pages(text) or page_meanings.find_sharing(text)
    return build_unknown(text, "Of which instruction?", [notice], pages)


def _ask_for_tile(text: str) -> Reading | None:
    """Read a question about an element of a tile without its TiledMMA; None for any other text."""
    question = element_texts.parse_question(text)
    if question is None or not _OF_TILE.fullmatch(question.rest):
        return None
    notice = (
        f"The threads that hold {question.text} depend on the TiledMMA: paste its text behind the question, or write"
        " TiledMMA SM80_16x8x16_F32F16F16F32_TN 2x2x1."
    )
    return build_unknown(text, "Of which TiledMMA?", [notice])


def _ask_for_lane(text: str) -> Reading | None:
    """Read a question about a register, a value or a row that gives neither a lane nor an element; None for any other
    text.
    """
    match = (_REGISTER.search(text) or _PART.search(text)) if element_texts.may_be_question(text) else None
    if not match or element_texts.parse_question(text) is not None:
        return None
    found = search_details(f"{text[: match.start()]} {text[match.end() :]}", element_texts.MATRICES)
    forms = () if re.search(r"[\[\]()]", found.rest) else element_forms.find_forms(found.rest).forms
    if not forms:
        return None
    form = forms[0]
    unit = form.family.scope.thread
    groups = match.groupdict()
    number, letter = groups.get("number") or groups.get("of"), groups.get("matrix")
    matrix = f"{letter.upper()} " if letter else ""
    example = f"{matrix}R{number} of {unit} 20" if number else f"row 3 of D, {unit} 13, or value 1 of {unit} 20,"
    why = f"Every {unit} has its own registers" if number else f"‘{match[0]}’ is not read as a place"
    facts = {"ptx": form.ptx, "candidates": [], "operand": None, "all": [form.ptx]}
    link = links.link_instruction(form)
    also = Meaning(kind="instruction", title=name_form(form).text, link=link, facts=facts, notices=())
    title = f"Of which {unit}?" if number else "Say which place"
    return build_unknown(text, title, [f"{why}: ask for {example} of {name_form(form).text}."], [also])


def _read_refused_place(text: str, error: LayoutError, also: Sequence[Meaning] = ()) -> Reading:
    notice = f"{error.message} {error.hint}".strip()
    titles = {
        "operand_not_in_registers": "Not in registers",
        "bad_find": "Say which place",
        "unknown_instruction": "No such instruction",
    }
    title = titles.get(error.code, "No such element")
    return build_unknown(text, title, [notice], also)
