"""Names of instructions as people type them: the forms that have all their words, or the words that no form
combines.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from lanescope.app.catalogue import full_text
from lanescope.app.kit import links
from lanescope.app.read.facts import Meaning
from lanescope.inputs import shorten_value
from lanescope.names import forms, lookup, vocabulary
from lanescope.names.form_names import name_form
from lanescope.names.forms import FormMatches
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction

MOST_LISTED = 48  # forms in an answer; the catalogue has all


def is_opcode(matches: FormMatches) -> bool:
    """Return whether a text is only the beginning of an opcode: mma.sync."""
    return bool(matches.forms) and not matches.ignored and all(map(forms.is_opcode, matches.words))


def is_type(word: str) -> bool:
    """Return whether a word names a type of elements: fp8."""
    return any(synonym in DTYPES for synonym in vocabulary.SYNONYMS.get(word, (word,)))


def is_whole_opcode(text: str) -> bool:
    """Return whether a text is an opcode, or its beginning up to a dot."""
    parts = [part for part in text.strip().lower().split(".") if part not in vocabulary.SILENT]
    return any(opcode.split(".")[: len(parts)] == parts for opcode in catalog.OPCODES)


def build_meaning(text: str, matches: FormMatches) -> Meaning:
    """Build the meaning of a name: its one form, or all that fit."""
    if only := lookup.get_only(matches):
        facts = {"ptx": only.ptx, "candidates": [], "operand": None, "all": [only.ptx]}
        return Meaning(
            kind="instruction", title=name_form(only).text, link=links.link_instruction(only), facts=facts, notices=()
        )
    ordered = len(lookup.list_dotted_types(text)) > 2
    words = text.strip() if ordered else " ".join(matches.words)
    title = f"{lookup.count_forms(len(matches.forms))} with '{shorten_value(words)}'"
    notices = []
    if matches.ignored:
        plural = "s" * (len(matches.ignored) > 1)
        notices.append(f"No instruction has the word{plural} {lookup.quote_words(matches.ignored)}: not used.")
    if not matches.spelled_out:
        notices.append("A word is only the beginning of one of the instruction's.")
    return build_list(title, _link_list(text, words, ordered), matches.forms, tuple(notices))


def _link_list(text: str, words: str, ordered: bool = False) -> str:
    if ordered or any(sign in text for sign in "×*="):
        return f"/read?{urlencode({'text': text})}"
    return f"/instructions?q={quote(words)}"


def build_list(title: str, link: str, instructions: Sequence[Instruction], notices: Sequence[str]) -> Meaning:
    """Build the meaning of a name that several instructions fit, the plainest first."""
    facts = {"ptx": None, "candidates": [form.ptx for form in instructions[:MOST_LISTED]], "operand": None, "all": []}
    if len(instructions) > MOST_LISTED:
        notices = (*notices, f"The first {MOST_LISTED} are listed, the plainest first.")
    return Meaning(kind="instruction", title=title, link=link, facts=facts, notices=tuple(notices))


def is_sentence(matches: FormMatches) -> bool:
    """Return whether a text without the name of a form asks for a page: it compares two opcodes, or has a word of a
    page beside the opcode.
    """
    opcodes = [word for word in matches.words if forms.is_opcode(word)]
    named = lookup.list_missing(matches)
    rest = [word for word in matches.ignored if word not in named]
    return len(opcodes) > 1 or any(full_text.find_pages(word) for word in rest)


def build_nearest(matches: FormMatches) -> tuple[Meaning, ...]:
    """Build, for every word without which forms match, a list of these forms."""
    if matches.forms:
        words = " ".join(matches.words)
        title = f"{lookup.count_forms(len(matches.forms))} with '{words}'"
        return (build_list(title, _link_list("", words), lookup.list_nearest(matches), ()),)
    lists = []
    for word, count in matches.without:
        words = " ".join(other for other in matches.words if other != word)
        found = lookup.find_without(matches, word)
        lists.append(build_list(f"{lookup.count_forms(count)} without {word}", _link_list("", words), found, ()))
    return tuple(lists)
