"""Names of instructions as people type them: the forms that have all their words, or the words that no form
combines.
"""

from __future__ import annotations

import dataclasses
import re
from urllib.parse import quote, urlencode

from lanescope.app.catalogue import forms, full_text, search, vocabulary
from lanescope.app.catalogue.forms import FormMatches
from lanescope.app.kit import links
from lanescope.app.kit.names import name_form
from lanescope.app.read.element_forms import find_spelled
from lanescope.app.read.facts import Meaning
from lanescope.inputs import join_words, shorten_value
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.refusals import measure_shape_distance

MOST_SHAPES = 4  # that a refusal names
MOST_LISTED = 48  # forms in an answer; the catalogue has all
_CODE = re.compile(r"[{}\[\]<>;%\"'\\@$#&|?!\n]|0x|->|\w\(|\b[A-Za-z_]{2,}\s*=")
_PART = re.compile(r"\d")  # a word with a digit is a part of a form, not of a sentence


def find_named(text: str) -> FormMatches | None:
    """Find the forms that a text of words names; None for code, and for a text that spells a line of PTX."""
    text = re.sub(r"\s->\s", " ", text)
    if (
        len(text) > forms.LONGEST
        or _CODE.search(text.strip())
        or not text.strip()
        or ("." in text and find_spelled(text))
    ):
        return None
    return _keep_ordered(text, forms.find_forms(text))


def _keep_ordered(text: str, matches: FormMatches) -> FormMatches:
    """Keep the forms with the types in the order of a dotted text, where that has three or more and some form has."""
    given = _list_dotted_types(text)
    kept = tuple(form for form in matches.forms if _is_within(given, form.syntax.types))
    if len(given) < 3 or not kept:
        return matches
    return dataclasses.replace(matches, forms=kept)


def _list_dotted_types(text: str) -> list[str]:
    """List the types of a dotted text in order; [] for a text with blanks."""
    return [] if " " in text.strip() else [word for word in re.split(r"[.\s]+", text.lower()) if word in DTYPES]


def is_name(matches: FormMatches) -> bool:
    """Return whether nothing but an instruction can be meant: every word is one of a form, several or a shape."""
    return bool(matches.forms) and not matches.ignored and (len(matches.words) > 1 or has_shape(matches))


def is_opcode(matches: FormMatches) -> bool:
    """Return whether a text is an opcode's beginning alone: mma.sync."""
    return bool(matches.forms) and not matches.ignored and all(map(forms.is_opcode, matches.words))


def has_shape(matches: FormMatches) -> bool:
    """Return whether a shape, or a part of one, is among the words."""
    spellings = (one for word in matches.words for one in vocabulary.SYNONYMS.get(word, (word,)))
    return any(map(search.split_shape, spellings))


def is_type(word: str) -> bool:
    """Return whether a word names a type of elements: fp8."""
    return any(one in DTYPES for one in vocabulary.SYNONYMS.get(word, (word,)))


def is_whole_opcode(text: str) -> bool:
    """Return whether a text is an opcode, or the part of one before a dot."""
    parts = [part for part in text.strip().lower().split(".") if part not in vocabulary.SILENT]
    return any(opcode.split(".")[: len(parts)] == parts for opcode in catalog.OPCODES)


def is_spelled_out(text: str) -> bool:
    """Return whether a text is a line of PTX, legal or not, rather than a name."""
    return "aligned" in text.lower()


def keeps_order(text: str, matches: FormMatches) -> bool:
    """Return whether some form has the types in the order of a dotted text, where that has three or more."""
    given = _list_dotted_types(text)
    return len(given) < 3 or any(_is_within(given, form.syntax.types) for form in matches.forms)


def _is_within(given: list[str], types: tuple[str, ...]) -> bool:
    rest = iter(types)
    return all(name in rest for name in given)


def get_only(matches: FormMatches) -> Instruction | None:
    """Return the one form that a text names with every word in full; None if several fit, or a word was not used."""
    certain = matches.exact or (len(matches.forms) == 1 and matches.whole and not matches.ignored)
    return matches.forms[0] if certain else None


def build_meaning(text: str, matches: FormMatches) -> Meaning:
    """Build the meaning of a name: its one form, or all that fit."""
    if only := get_only(matches):
        facts = {"ptx": only.ptx, "candidates": [], "operand": None, "all": [only.ptx]}
        return Meaning(
            kind="instruction", title=name_form(only).text, link=links.link_instruction(only), facts=facts, notices=()
        )
    ordered = len(_list_dotted_types(text)) > 2
    words = text.strip() if ordered else " ".join(matches.words)
    count = len(matches.forms)
    title = f"{count:,} instruction{'s' * (count != 1)} with '{shorten_value(words)}'"
    notices = []
    if matches.ignored:
        notices.append(
            f"No instruction has the word{'s' * (len(matches.ignored) > 1)} {_quote(matches.ignored)}: not used."
        )
    if not matches.whole:
        notices.append("A word is only the beginning of one of the instruction's.")
    return _build_list(title, _link_list(text, words, ordered), matches.forms, tuple(notices))


def _link_list(text: str, words: str, ordered: bool = False) -> str:
    if ordered or any(sign in text for sign in "×*="):
        return f"/read?{urlencode({'text': text})}"
    return f"/instructions?q={quote(words)}"


def _build_list(title: str, link: str, instructions: tuple[Instruction, ...], notices: tuple[str, ...]) -> Meaning:
    facts = {"ptx": None, "candidates": [form.ptx for form in instructions[:MOST_LISTED]], "operand": None, "all": []}
    if len(instructions) > MOST_LISTED:
        notices = (*notices, f"The first {MOST_LISTED} are listed, the plainest first.")
    return Meaning(kind="instruction", title=title, link=link, facts=facts, notices=notices)


def is_refused(matches: FormMatches) -> bool:
    """Return whether a text names an instruction that does not exist: two of its words or more stand in no form, or one
    that looks like a part of a name stands in none.
    """
    missing = [word for word in matches.ignored if _PART.search(word)]
    return matches.named and bool((missing and matches.forms) or matches.without)


def is_sentence(matches: FormMatches) -> bool:
    """Return whether a text that names no form asks for a page rather than a form: it compares two opcodes, or has a
    word of a page beside the instruction's.
    """
    opcodes = [word for word in matches.words if forms.is_opcode(word)]
    said = [word for word in matches.ignored if not _PART.search(word)]
    return len(opcodes) > 1 or any(full_text.find_pages(word) for word in said)


def explain_refusal(matches: FormMatches) -> str:
    """Explain which words exclude all forms, and how many forms remain without each."""
    missing = [word for word in matches.ignored if _PART.search(word)]
    if missing and matches.forms:
        count, shapes = len(matches.forms), _list_shapes(missing, matches.forms)
        return (
            f"No instruction has {_quote(missing)}.{shapes} Without {'it' if len(missing) == 1 else 'them'}:"
            f" {_count(count)} with {_quote(matches.words)}."
        )
    left = " ".join(f"Without {word}: {_count(count)}." for word, count in matches.without)
    unused = f" Not used: {_quote(matches.ignored)}." if matches.ignored else ""
    return f"No instruction has all of {join_words(list(matches.words))}. {left}{unused}"


def _list_shapes(missing: list[str], instructions: tuple[Instruction, ...]) -> str:
    """List the nearest shapes of the plain form's opcode, a sentence; "" if no shape is missing."""
    shape = next(filter(search.split_shape, missing), "")
    alike = tuple(form for form in instructions if form.syntax.opcode == instructions[0].syntax.opcode)
    shapes = list(dict.fromkeys(form.shape for form in _sort_by_shape(alike, shape)))[:MOST_SHAPES] if shape else []
    return f" Nearest shapes: {join_words(shapes)}." if shapes else ""


def list_nearest(matches: FormMatches) -> tuple[Instruction, ...]:
    """List the forms that have all words but those that none has, those of the nearest shape first."""
    words = (*matches.ignored, *matches.words)
    return _sort_by_shape(matches.forms, next(filter(search.split_shape, words), ""))


def _sort_by_shape(instructions: tuple[Instruction, ...], shape: str) -> tuple[Instruction, ...]:
    asked = "".join(search.split_shape(shape))
    return (
        tuple(sorted(instructions, key=lambda form: measure_shape_distance(asked, form.shape)))
        if asked
        else instructions
    )


def build_nearest(text: str, matches: FormMatches) -> tuple[Meaning, ...]:
    """Return, for every word that excludes all forms, the forms that have all the others."""
    if matches.forms:
        words = " ".join(matches.words)
        return (
            _build_list(
                f"{_count(len(matches.forms))} with '{words}'", _link_list("", words), list_nearest(matches), ()
            ),
        )
    lists = []
    for word, count in matches.without:
        words = " ".join(other for other in matches.words if other != word)
        found = _sort_by_shape(forms.find_forms(words).forms, word)
        lists.append(_build_list(f"{_count(count)} without {word}", _link_list("", words), found, ()))
    return tuple(lists)


def _count(count: int) -> str:
    return f"{count:,} instruction{'s' * (count != 1)}"


def _quote(words: tuple[str, ...] | list[str]) -> str:
    return join_words([f"'{shorten_value(word)}'" for word in words])
