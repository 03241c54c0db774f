"""The meanings of a text, with the pages that show them: the engine's recognisers, then the guide's topics and the
search.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from lanescope import inputs, reader
from lanescope.app.catalogue import full_text, topics
from lanescope.app.kit.fact import copy_fact
from lanescope.app.read import (
    canonical_forms,
    dot_sizes,
    dropped_parts,
    element_texts,
    elsewhere,
    expressions,
    gemm_shapes,
    meaning_links,
    message_readings,
    name_readings,
    named_forms,
    opcode_readings,
    outside_names,
    page_meanings,
    printed_names,
    question_readings,
    size_questions,
    spelling,
    swizzle_names,
    tensor_forms,
    thread_names,
    tile_words,
    wildcards,
    word_uses,
)
from lanescope.app.read.facts import Meaning, Reading
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.names import lookup
from lanescope.names.forms import FormMatches
from lanescope.reader.grammars import pasted_text
from lanescope.reader.meaning import TextMeaning
from lanescope.reader.words import printed_words

OF_EACH = " /guide/paste has an example of each."
_ACCEPTED_KINDS = (
    "Accepted: names of instructions, atoms and targets; lines of PTX and SASS; descriptors and tensor maps, or code"
    " that makes them; layouts of CuTe, Triton and MLIR; messages of ptxas and the driver; questions about places."
    f"{OF_EACH}"
)
ACCEPTED = (
    ("an instruction's name, or words of it", "wgmma 64x128x16 half"),
    ("a question about an element, a lane or a register", "A[5][9] of mma.m16n8k16 bf16"),
    *((row.what, row.example) for row in reader.RECOGNISERS),
    ("a word to look up, or a question", "bank conflicts"),
)
TRIED = (
    ("A[5][9] of mma.m16n8k16 bf16", "A[5][9] of mma.m16n8k16 bf16"),
    ("wgmma … m64n256k16.f32.bf16.bf16", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
    ("0x4000004000010100", "0x4000004000010100"),
    ("SM90_64x128x16_F32BF16BF16_SS", "SM90_64x128x16_F32BF16BF16_SS"),
    ("HMMA.16816.F32", "HMMA.16816.F32"),
    ("Sw<3,4,3> o (8,64):(64,1)", "Sw<3,4,3> o (8,64):(64,1)"),
    (
        "#ttg.nvidia_mma<{…}>",
        "tensor<32x32xf32, #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0,"
        " warpsPerCTA = [2, 2], instrShape = [16, 8]}>>",
    ),
    ("logical_divide(…)", "logical_divide((4,2,3):(2,1,8), 4:2)"),
)
SHARING = "Pages that share words with this text"
_LEAST_OF_TITLE = 4  # words that name a message if only its title has all of them
_TITLES = {  # code of a refusal → title of the page that shows it
    "unknown_instruction": "No such instruction",
    "unknown_atom": "No such atom",
    "unknown_fragment": "No such fragment",
    "unknown_sass": "No such SASS instruction",
    "bad_major": "No such SASS instruction",
    "bad_cute": "Not a CuTe layout",
    "bad_word": "Not a descriptor",
    "bad_operation": "No such operation",
    "open_formula": "Coordinates not known",
}
_ONLY_NAMED = "Only the instruction is read"
_UNEXPLAINED = {  # title of an unknown text, of which a page that prints it says more → whether code is enough
    **dict.fromkeys(("Not recognized", SHARING, "An expression of C++", "Not a descriptor"), True),
    **dict.fromkeys(
        ("No such instruction", "Which element?", "Of which instruction?", "A matrix instruction of AMD"), False
    ),
}
_BRACKET = re.compile(r"\b[A-Za-z]\w*\s?(?:[\[(][^\[\]()<>;{}]{0,40}[\])])+")
_PLACE = re.compile(r"(?<![.\w])(?:row|col(?:umn)?|lane|thread|register|element|value|byte|bit)s?\b|\b[A-D]\b")
_RATIO = re.compile(r"\s*\d:\d\s+[a-z]{4,}", re.I)
_WORD = re.compile(r"[A-Za-z0-9]{2}")
_ARGUMENTS = re.compile(r"[<({]")
_VALUE = re.compile(r"\b(?:0x[0-9a-f]+|\d{6,})\b", re.I)


def read_text(text: str) -> Reading:
    """Return the meanings of a text; LayoutError if it is too long, or not text."""
    text = inputs.require_text(text, "text", reader.LONGEST)
    reading = dropped_parts.add_idescs(text, _read_printed_name(text, _read_text(text)))
    unread = question_readings.find_unread_place(text, reading)
    dropped = (*dropped_parts.list_dropped(text, reading), *([unread] if unread else ()))
    return copy_fact(Reading, reading, notices=(*reading.notices, *dropped)) if dropped else reading


def _read_printed_name(text: str, reading: Reading) -> Reading:
    """Return the reading of a text that the site prints, if it has no other meaning: the pages that print it."""
    if reading.kind != "unknown" or reading.title not in _UNEXPLAINED:
        return reading
    pages = printed_names.find_printed(text, _UNEXPLAINED[reading.title])
    if pages:
        return copy_fact(Reading, pages[0], also=_drop_shown(pages[0], (*pages[1:], *reading.also)))
    shape = expressions.read_shape(text) if _UNEXPLAINED[reading.title] else None
    return opcode_readings.read_lone_word(text) or shape or reading


def _read_text(text: str) -> Reading:
    for read_first in (
        message_readings.read_message,
        wildcards.read_pattern,
        swizzle_names.read_swizzle,
        question_readings.refuse_registers,
        expressions.read_expression,
        opcode_readings.refuse_opcode,
        gemm_shapes.read_shape,
        dot_sizes.read_dot,
        size_questions.read_sizes,
        word_uses.read_half,
    ):
        if (reading := read_first(text)) is not None:
            return reading
    text = spelling.normalize_text(text)
    if (reading := _read_plain_words(text) or question_readings.read_place_question(text)) is not None:
        return reading
    matches = None if _is_product_of_letters(text) else lookup.find_named(pasted_text.clean_text(text).rstrip(" ?"))
    if matches and (name_readings.is_worded(text, matches) or name_readings.is_opcode_alone(text, matches)):
        return name_readings.read_name(text, matches)
    recognised = reader.recognise_text(text)
    if _RATIO.match(text):
        recognised = dataclasses.replace(recognised, refused=())  # 2:4 of sparsity is not a layout
    if matches and name_readings.is_name_of_topic(matches, recognised):
        return name_readings.read_name(text, matches)
    if matches and (refused := name_readings.refuse_number(text, matches, recognised)):
        return refused
    return _read_recognised(text, matches, recognised)


def _is_product_of_letters(text: str) -> bool:
    """Return whether a text is an expression such as a * b, whose letters name no operands."""
    return not _WORD.search(text) and page_meanings.is_expression(text)


def _read_recognised(text: str, matches: FormMatches | None, recognised: reader.RecognisedText) -> Reading:
    """Read a text by the results and errors of the recognisers, otherwise by the pages that it names, or its words."""
    found = sorted(recognised.found, key=lambda meaning: (meaning.fits, not meaning.sure))
    pages = [page_meanings.build_topic(topic) for topic in find_named_topics(text)]
    is_wrong = is_malformed(recognised)
    is_open = not (found or pages or is_wrong)
    if matches and is_open and (reading := name_readings.read_shorter_name(text, matches, recognised)) is not None:
        return reading
    if found or (pages and not is_wrong):
        return _read_meanings(text, found, pages)
    if not recognised.refused:
        return _read_words(text)
    return _read_named_part(text, recognised.refused[0]) or _explain_unknown(text, recognised.refused, (), pages)


def _read_meanings(text: str, found: Sequence[TextMeaning], pages: Sequence[Meaning]) -> Reading:
    """Read a text that has a meaning or names a page. found: its meanings, the most certain first."""
    meanings = [*(meaning_links.build_meaning(meaning, text) for meaning in found), *pages]
    if found and all(meaning.fits for meaning in found):
        return _read_bare_number(text, meanings)
    if found and all(meaning.kind == "topic" for meaning in found):
        meanings = _join_pages(text, meanings, found)
    first, *rest = message_readings.add_rules(meanings, text)
    unknown = name_readings.list_unknown_names(text) if found else []
    return copy_fact(Reading, first, notices=(*unknown, *first.notices), also=tuple(rest))


def _read_words(text: str) -> Reading:
    """Read a text that is neither code nor the name of a page: another vendor's instruction, an address, or words."""
    if elsewhere.find_maker(text):
        return _read_other_maker(text)
    explained = page_meanings.explain_message(text)
    if not explained and (reading := _read_beside_matrices(text)) is not None:
        return reading
    if page_meanings.is_expression(text):
        notice = "It is not read alone. Say what it computes, row = lane / 4, or paste the statements around it."
        return question_readings.build_unknown(text, "An expression of C++", [notice])
    titled = message_readings.find_titled(text)
    searched = [*explained, *printed_names.find_titled(text), *page_meanings.look_up(text)]
    is_message = message_readings.is_title(text) or (len(titled) == 1 and len(text.split()) >= _LEAST_OF_TITLE)
    pages = [*titled, *searched] if is_message else [*searched, *titled]
    if searched or len(titled) == 1:
        return _read_meanings(text, (), pages)
    near = titled or message_readings.list_nearest(text) or page_meanings.find_sharing(text)
    return _explain_unknown(text, (), (), near)  # several messages may be meant


def _read_beside_matrices(text: str) -> Reading | None:
    """Read a text that names something else of CUDA: other instructions, an address, what Lanescope does not cover."""
    if (reading := opcode_readings.read_opcodes(text)) is not None:
        return reading
    if outside := outside_names.explain_outside(text):
        return _read_outside(text, outside)
    addresses = printed_words.find_addresses(text[: meaning_links.MOST_NAMED])
    return _explain_unknown(text, (), addresses, ()) if addresses else None


def _join_pages(text: str, meanings: list[Meaning], recognised: Sequence[TextMeaning]) -> list[Meaning]:
    """Join the subject of a text with the pages that share its words; those come first if it names one: `epilogue of
    tcgen05`. A text with a word in digits is about that word.
    """
    is_message = any(meaning.facts["topic"] == "ptxas" for meaning in recognised)
    is_words = len(text.split()) > 2 and not re.search(r"[^\w\s.,:?+-]", text) and not _VALUE.search(text)
    named = page_meanings.find_pages(text) if is_words and not is_message else []
    found = [*named, *meanings] if named else [*meanings, *page_meanings.search_question(text, meanings)]
    first: dict[str, Meaning] = {}
    for meaning in found:
        first.setdefault(meaning.link.partition("#")[0], meaning)
    return list(first.values())


def _read_plain_words(text: str) -> Reading | None:
    """Read a text that is a known phrase: a name of another vendor, a common question, a name of a library, a
    tcgen05.mma with shape or types; None for any other text.
    """
    if thread := thread_names.find_thread(text[: meaning_links.MOST_NAMED]):
        return _read_thread(text, thread)
    if elsewhere.is_other_maker(text):
        return _read_other_maker(text)
    if outside_names.is_known_early(text) and (outside := outside_names.explain_outside(text)):
        return _read_outside(text, outside)
    if (tiles := tile_words.read_tiles(text)) is not None:
        return tiles
    if described := canonical_forms.find_meaning(text) or word_uses.find_meaning(text):
        return copy_fact(Reading, described, also=())
    found = page_meanings.find_asked(text)
    if not found and not _ARGUMENTS.search(text) and (found := page_meanings.explain_name(text)):
        found += page_meanings.search_question(text, found)
    if not found and question_readings.read_place_question(text) is None:
        cleaned = pasted_text.clean_text(text[: meaning_links.MOST_NAMED])
        if reason := tensor_forms.explain_none(cleaned):
            return question_readings.build_unknown(text, "No such instruction", [reason])
        found = list(tensor_forms.find_meanings(cleaned))
    return copy_fact(Reading, found[0], also=tuple(found[1:])) if found else None


def _read_thread(text: str, thread: str) -> Reading:
    """Read the name of a GitHub thread: the page about it, or that there is none. Only its number matters."""
    found = [page_meanings.build_topic(topic) for topic in find_named_topics(thread)]
    if found:
        return copy_fact(Reading, found[0], also=tuple(found[1:]))
    notice = f"No page of the guide is about {thread}. Ask for its subject in words, or paste its code."
    return question_readings.build_unknown(text, "No page on this thread", [notice], page_meanings.find_sharing(thread))


def _read_other_maker(text: str) -> Reading:
    """Read a text with an instruction of another vendor."""
    maker = elsewhere.find_maker(text)
    assert maker is not None
    notice = f"{elsewhere.COVERED} {maker.covers}"
    return question_readings.build_unknown(text, maker.title, [notice])


def _read_outside(text: str, notices: Sequence[str]) -> Reading:
    """Read a name of CUDA that Lanescope does not cover, with the messages about it."""
    pages = [*message_readings.find_titled(text), *page_meanings.find_sharing(text)]
    return question_readings.build_unknown(text, "Not covered", notices, pages)


def _read_named_part(text: str, refused: LayoutError) -> Reading | None:
    """Read a question that names an instruction and of which the rest is not understood, `A[5:9] of mma.m16n8k16 bf16`;
    None for any other text.
    """
    cleaned = pasted_text.clean_text(text[: element_texts.LONGEST + 1]).strip()
    if refused.code != "unknown_instruction" or " " not in cleaned or lookup.is_spelled_out(text):
        return None
    matches = lookup.find_named(" ".join(_BRACKET.sub(" ", cleaned).split()))
    if matches is None or not (matches.forms and matches.named):
        return None
    if message_readings.is_title(text):
        titled = message_readings.find_titled(text)
        return copy_fact(Reading, titled[0], also=tuple(titled[1:]))
    named = named_forms.build_meaning(text, matches)
    brackets = _BRACKET.findall(cleaned)
    is_place = _PLACE.search(cleaned) and any(re.search(r"\d", word) for word in matches.ignored)
    if not (brackets or is_place):
        return _read_beside_name(text, matches, named)
    only = f"‘{shorten_value(brackets[0], 40)}’ is not an element" if len(brackets) == 1 else _ONLY_NAMED
    notice = f"{only}: ask for A[5][9], row 3 of D, lane 13, or R2 of lane 20."
    return question_readings.build_unknown(text, "Which element?", [notice], [named])


def _read_beside_name(text: str, matches: FormMatches, named: Meaning) -> Reading:
    """Read a text that names an instruction among other words: the instruction if it has a shape, or pages."""
    pages = page_meanings.find_pages(text)
    shown = [named, *pages] if lookup.has_shape(matches) else [*pages, named]
    if pages or lookup.has_shape(matches) or not matches.ignored:
        return copy_fact(Reading, shown[0], also=tuple(shown[1:]))
    notice = f"Not read: {lookup.quote_words(matches.ignored)}."
    return question_readings.build_unknown(text, _ONLY_NAMED, [notice], [named])


def _explain_unknown(
    text: str, refused: Sequence[LayoutError], addresses: Sequence[int], pages: Sequence[Meaning]
) -> Reading:
    """Return the reading of a text without a meaning, with the first reason, or the accepted inputs."""
    if refused:
        error = refused[0]
        title = _TITLES.get(error.code, "Not understood")
        notices = [error.message if error.nearest else f"{error.message} {error.hint}"]
        if error.code == "unknown_atom":
            notices = name_readings.list_unknown_names(text) or notices
    elif notices := name_readings.list_unknown_names(text):
        title = "CuTe has no such name"
    else:
        title = SHARING if pages else "Not recognized"
        respelled = "" if addresses else spelling.respell(text)
        meant = read_text(respelled) if respelled else None
        if meant and (meant.kind == "instruction" or (meant.kind != "unknown" and full_text.is_asked(respelled))):
            return question_readings.build_unknown(
                text, title, [f"Did you mean ‘{shorten_value(respelled, 60)}’?"], (meant, *_drop_shown(meant, pages))
            )
        notices = [_explain_unrecognised(text, addresses), _ACCEPTED_KINDS]
    return question_readings.build_unknown(text, title, notices, pages)


def _drop_shown(meant: Meaning, pages: Sequence[Meaning]) -> tuple[Meaning, ...]:
    """Return the pages other than that of a meaning."""
    return tuple(page for page in pages if page.link != meant.link)


def _explain_unrecognised(text: str, addresses: Sequence[int]) -> str:
    """Explain why a text is not recognized. addresses: the addresses of memory in it."""
    if addresses:
        return (
            f"{shorten_value(hex(addresses[0]), 20)} is an address of memory. A matrix descriptor holds bits 4"
            f" to 17 of one."
        )
    return f"Lanescope does not recognize '{shorten_value(text, 60)}'." if text.strip() else "The text is empty."


def _read_bare_number(text: str, meanings: list[Meaning]) -> Reading:
    """Return the possible readings of a number without context, in no order of preference."""
    count_text = f"{len(meanings)} readings fit" if len(meanings) > 1 else "One reading fits"
    notice = f"The text does not determine what this number is. {count_text}; a label such as desc_a or idesc decides."
    return question_readings.build_unknown(text, "A number that the text does not name", [notice], meanings)


def find_named_topics(text: str) -> list[topics.TopicEntry]:
    """Find the guide pages that a text names."""
    cleaned = pasted_text.clean_text(text[: meaning_links.MOST_NAMED])
    return topics.find_named_topics(thread_names.respell_threads(cleaned))


def is_malformed(recognised: reader.RecognisedText) -> bool:
    """Return whether a text is of a known kind but wrong: more than an opcode that has a guide page instead of a
    layout.
    """
    return any(error.code != "unknown_instruction" for error in recognised.refused)
