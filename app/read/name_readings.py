"""Names of instructions: as PTX spells them, in words, shortened, or of no existing form."""

from __future__ import annotations

import dataclasses
from itertools import islice

from lanescope import reader
from lanescope.app.catalogue import topics
from lanescope.app.kit.fact import copy_fact
from lanescope.app.read import named_forms, page_meanings, question_readings, tool_words
from lanescope.app.read.facts import Meaning, Reading
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.names import lookup, search, vocabulary
from lanescope.names.forms import FormMatches, is_opcode
from lanescope.ptx import catalog
from lanescope.workbench.cute.cute_names import find_unknown_names

MOST_UNKNOWN = 3  # names that a reading describes


def list_unknown_names(text: str) -> list[str]:
    """List the sentences on names of a text that look like CuTe's and that CuTe does not have."""
    return list(dict.fromkeys(name.message for name in islice(find_unknown_names(text), MOST_UNKNOWN)))


def is_worded(text: str, matches: FormMatches) -> bool:
    """Return whether a text names instructions in words rather than as PTX spells them."""
    return " " in text.strip() and (matches.exact or lookup.is_name(matches))


def is_opcode_alone(text: str, matches: FormMatches) -> bool:
    """Return whether a text is only an opcode with several forms: `register layout of wgmma`.

    tcgen05 alone is excluded: its page explains more.
    """
    words = [word for word in text.strip().rstrip("?").lower().split() if word not in vocabulary.SILENT]
    is_explained = words == ["tcgen05"] or (len(text.split()) > 1 and tool_words.EXPLAINING.match(text) is not None)
    return len(matches.forms) > 1 and not is_explained and len(words) == 1 and named_forms.is_whole_opcode(words[0])


def is_name_of_topic(matches: FormMatches, recognised: reader.RecognisedText) -> bool:
    """Return whether a text is a complete name that recognisers read as a subject at most: tcgen05.mma.ws.kind::f16."""
    return matches.exact and all(meaning.kind == "topic" for meaning in recognised.found)


def read_name(text: str, matches: FormMatches) -> Reading:
    """Read a name: its forms, and the pages that have its words."""
    return copy_fact(Reading, named_forms.build_meaning(text, matches), also=_list_topics(text, matches))


def _list_topics(text: str, matches: FormMatches) -> tuple[Meaning, ...]:
    """List the pages that have all words of a name."""
    found = [] if matches.exact else topics.find_topics(text)
    return tuple(page_meanings.build_topic(topic) for topic in found)


def read_shorter_name(text: str, matches: FormMatches, recognised: reader.RecognisedText) -> Reading | None:
    """Read an abbreviated name, or one of no existing form; None if the text is not a name."""
    refused = next(iter(recognised.refused), None)
    if refused and (_is_complete(text, refused) or not lookup.keeps_order(text, matches)):
        return None
    if matches.exact or lookup.is_name(matches) or (refused and named_forms.is_opcode(matches)):
        meaning = named_forms.build_meaning(text, matches)
        if refused and lookup.is_spelled_out(text):
            meaning = dataclasses.replace(meaning, notices=(refused.message, *meaning.notices))
        return copy_fact(Reading, meaning, also=_list_topics(text, matches))
    if lookup.is_refused(matches) and not lookup.is_spelled_out(text):
        return _read_refused_name(text, matches)
    if _has_shape_alone(matches):
        return copy_fact(Reading, named_forms.build_meaning(text, matches), also=_list_topics(text, matches))
    if named_forms.is_opcode(matches) and not page_meanings.find_pages(text):
        return read_name(text, matches)
    return None


def refuse_number(text: str, matches: FormMatches, recognised: reader.RecognisedText) -> Reading | None:
    """Refuse a name that recognisers read as a subject at most, with a shape or a numbered modifier, such as x3, that
    no form has; None for any other text.
    """
    if lookup.is_spelled_out(text) or any(meaning.kind != "topic" for meaning in recognised.found):
        return None
    missing = lookup.list_missing(matches)
    if len(missing) == 1 == len(matches.ignored) and not matches.words and len(search.split_shape(missing[0])) == 3:
        forms = tuple(form for form in catalog.instructions() if form.family.multiplies)
        shapes = list(dict.fromkeys(form.shape for form in lookup.sort_by_shape(forms, missing[0])))
        nearest = join_words(shapes[: lookup.MOST_SHAPES])
        reason = f"No instruction has {lookup.quote_words(missing)}. Nearest shapes: {nearest}."
        return question_readings.build_unknown(text, "No such instruction", [reason])
    is_numbered = bool(missing) and all(lookup.list_alike([word], matches.forms) for word in missing)
    if is_numbered and len(missing) == len(matches.ignored) and lookup.is_refused(matches):
        return _read_refused_name(text, matches)
    return None


def _has_shape_alone(matches: FormMatches) -> bool:
    """Return whether a text names forms only by a shape, and no page explains its other words."""
    has_shape = matches.named and matches.forms and lookup.has_shape(matches)
    return bool(has_shape) and not page_meanings.find_pages(" ".join(matches.ignored))


def _read_refused_name(text: str, matches: FormMatches) -> Reading:
    """Read the name of no existing form: the pages that compare its opcodes, and the nearest forms."""
    opcodes = [word for word in matches.words if is_opcode(word)]
    compared = topics.find_topics(" ".join(opcodes)) if len(opcodes) > 1 else []
    pages = [page_meanings.build_topic(topic) for topic in compared]
    pages += page_meanings.search_question(text, pages)
    if pages and named_forms.is_sentence(matches):
        return copy_fact(Reading, pages[0], also=(*pages[1:], *named_forms.build_nearest(matches)))
    also = (*named_forms.build_nearest(matches), *pages)
    return question_readings.build_unknown(text, "No such instruction", [lookup.explain_refusal(matches)], also)


def _is_complete(text: str, refused: LayoutError) -> bool:
    """Return whether a refused line of PTX has every part of a legal one, so that it is wrong rather than shortened."""
    parts = text.strip().count(".")
    return lookup.is_spelled_out(text) and any(parts >= ptx.count(".") > 0 for ptx in refused.nearest)
