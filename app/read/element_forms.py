"""The instruction forms that a question about an element, a lane or a register names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lanescope import reader
from lanescope.app.read import tensor_forms
from lanescope.app.read.element_texts import ASKING, ElementQuestion
from lanescope.names import forms, lookup, search, vocabulary
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction

_A_SHARED = re.compile(r"_SS(?:_|$)")  # of a CUTLASS atom: A and B through descriptors
_NUMBER = re.compile(r"[\[(][\d\s,;-]+[\])]|(?<![\w.:])\d+(?![\w.])")  # of no word
_TYPE = r"\s+(?:(?:in|into|to|as|is|type)\s+)?(?:[a-z]{1,6}\d\w*|half|float)\b"
_LAYOUTS = re.compile(r"(?<!\w)(row|col)[.\s]+(row|col)(?!\w|\s*[=\d])", re.I)
_ACCUMULATED = re.compile(  # f16 accumulation, accumulate in f16, but not f16 acc[3][5]
    rf"\baccumulat(?:ion|ors?|e[sd]?|ing)(?={_TYPE})(?:\s+\w+)??\s+(?P<into>\w*(?:\d\w*|half|float))"
    r"|(?<![\w.])(?P<type>\w+)[\s-]+(?:acc|(?P<place>accumulator)|accumulat(?:ions?|ors|e[sd]?|ing))\b"
    rf"(?!\s*[\[(\d]|{_TYPE})",
    re.I,
)
_SHORTEST = 6  # characters of a name that a recogniser takes: SM80_16x8x16_F32F16F16F32_TN, HMMA.16816.F32


@dataclass(frozen=True, slots=True)
class NamedForms:
    """The forms that a text names, or why none; the unknown words; and whether the text puts A in shared memory."""

    forms: tuple[Instruction, ...] = ()
    unused: tuple[str, ...] = ()
    a_shared: bool = False
    refused: str = ""


def needs_instruction(question: ElementQuestion) -> bool:
    """Return whether only the instruction is missing from a question."""
    return not _list_words(" ".join(re.findall(r"[\w']+", question.rest)))


def select_types(text: str, named: NamedForms) -> NamedForms:
    """Return the forms with the layouts of a text, row col, with its types in PTX's order, f16.f16.f16.f16, and with
    its type of the accumulator.
    """
    found = named.forms
    if (match := _LAYOUTS.search(text)) and any(form.syntax.layouts for form in found):
        layouts = (match[1].lower(), match[2].lower())
        found = tuple(form for form in found if form.syntax.layouts == layouts)
        if not found:
            return NamedForms(refused=f"No such instruction has the layouts {'.'.join(layouts)}.")
    for word in text.split():
        in_order = tuple(form for form in found if lookup.has_types_in_order(word, form))
        found = in_order or found
    return _select_accumulated(text, replace(named, forms=found))


def _select_accumulated(text: str, named: NamedForms) -> NamedForms:
    """Return the forms with a text's type of the accumulator; its word is unused if no form has it."""
    found, unused = named.forms, list(named.unused)
    match = _ACCUMULATED.search(text)
    word = (match["into"] or match["type"]) if match else ""
    types = forms.list_types(word.lower())
    if match and types and any("d" in form.types for form in found):
        having = tuple(form for form in found if form.types.get("d") in types)
        unused += [word] * (not having and not match["place"])
        found = (*having, *(form for form in found if form not in having)) if match["place"] else having or found
    return replace(named, forms=found, unused=tuple(unused))


def find_forms(rest: str) -> NamedForms:
    """Find the forms that the rest of a question names."""
    rest = re.sub(r"\brow(?: of)? address", "address", rest, flags=re.I)  # row is a word of PTX, too
    named = re.sub(r"^(?:\s*(?:of|in|for|at|on|the|an?)\b|\s*[:,?])+", "", rest, flags=re.I).strip().rstrip("?.:, ")
    if spelled := lookup.find_spelled(named):
        return NamedForms((spelled,))
    matches = forms.find_forms(" ".join(word for word in named.split() if word.lower().strip(",?'") not in ASKING))
    if matches.forms and matches.named and not any(re.search(r"\d|::", word) for word in matches.ignored):
        return NamedForms(matches.forms, matches.ignored)
    refused = lookup.explain_refusal(matches) if matches.lacking else ""
    return _find_bindings(named) or _find_long_name(named) or replace(_find_core(named, matches), refused=refused)


def _find_long_name(named: str) -> NamedForms | None:
    """Find the forms of a name in a text that a recogniser takes: of an atom, or of SASS."""
    words = _list_words(named)
    for name in words:
        if len(name) < _SHORTEST or not re.search(r"\d", name):
            continue
        for meaning in reader.recognise_text(name).found[:1]:
            if meaning.kind == "instruction":
                texts = [meaning.facts["ptx"]] if meaning.facts["ptx"] else meaning.facts["candidates"]
                unused = tuple(word for word in words if word != name)
                found = tuple(catalog.find(ptx) for ptx in texts)
                return NamedForms(found, unused, _A_SHARED.search(name) is not None)
    return None


def _find_bindings(named: str) -> NamedForms | None:
    """Find the forms of tcgen05.mma with the shape and types of a text; its other numbers are unused."""
    bindings = tensor_forms.find_bindings(_NUMBER.sub(" ", named))
    return NamedForms(bindings, tuple(_NUMBER.findall(named))) if bindings else None


def _find_core(named: str, matches: forms.FormMatches) -> NamedForms:
    """Find the forms that a text names beside words with numbers, or words of other forms."""
    if matches.forms and matches.named:
        return NamedForms(matches.forms, matches.ignored)
    core = [word for word in named.split() if _is_of_name(word)]
    matches = forms.find_forms(" ".join(core))
    unused = tuple(word for word in _list_words(named) if word not in core)
    return NamedForms(matches.forms, unused) if matches.named else NamedForms()


def _is_of_name(word: str) -> bool:
    """Return whether a word has a part that only names of instructions have: an opcode, a shape or a type."""
    parts = re.split(r"[.,?]", word.lower())
    return any(forms.is_opcode(part) or search.split_shape(part) or forms.list_types(part) for part in parts)


def _list_words(text: str) -> list[str]:
    """List the words of a text other than those of a question or sentence."""
    words = [word.strip(",;:?.()'") for word in text.split()]
    silent = ASKING | vocabulary.SILENT | vocabulary.ARTICLES
    return [word for word in words if word and word.lower() not in silent]
