"""The page that a text opens at once: that of its only certain meaning; and the legal instructions near a wrong one."""

from __future__ import annotations

from lanescope import reader
from lanescope.app.kit import links
from lanescope.app.read import (
    dot_sizes,
    elements,
    elsewhere,
    expressions,
    gemm_shapes,
    meaning_links,
    memory_elements,
    name_readings,
    page_meanings,
    question_readings,
    spelling,
    tensor_forms,
    text_meanings,
    tile_elements,
    tile_words,
    wildcards,
)
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction
from lanescope.reader.grammars import pasted_text


def find_certain_link(text: str) -> str:
    """Find the address of the only page that a text can mean, "" if it can mean several or none."""
    if elsewhere.is_other_maker(text):
        return ""
    if address := expressions.link_algebra(text):
        return address
    if sized := gemm_shapes.read_shape(text) or dot_sizes.read_dot(text):
        return sized.link if sized.kind != "unknown" else ""
    if wildcards.is_pattern(text):
        return ""
    text = spelling.normalize_text(text)
    cleaned = pasted_text.clean_text(text[: tile_elements.LONGEST + 1])
    answer = _find_question_link(text, cleaned)
    return _find_name_link(text, cleaned) if answer is None else answer


def _find_question_link(text: str, cleaned: str) -> str | None:
    """Find the page that answers a question, "" if several do; None if the text is not a question."""
    pages = page_meanings.find_asked(text)
    if len(pages) == 1 and len(pages[0].notices) == 1:  # a page without a sentence that only the answer has
        return pages[0].link if pages[0].kind == "topic" else ""
    if (tiles := tile_words.read_tiles(cleaned)) is not None:
        return tiles.link if tiles.kind == "topic" and not tiles.also else ""
    if in_memory := memory_elements.answer_question(cleaned):
        return "" if isinstance(in_memory, LayoutError) else in_memory.link
    if elements.asks_for_scales(cleaned):
        return ""
    if tile_elements.parse_tile_question(cleaned) or elements.answer_question(cleaned):
        return _find_certain_answer(cleaned)
    if in_tensor_memory := tensor_forms.find_meanings(cleaned):
        return in_tensor_memory[0].link if len(in_tensor_memory) == 1 else ""
    return None


def _find_name_link(text: str, cleaned: str) -> str:
    """Find the page of the one instruction or subject that a text names, "" if it names several or none."""
    matches = lookup.find_named(cleaned)
    only = lookup.get_only(matches) if matches else None
    if matches and name_readings.is_worded(text, matches):
        return links.link_instruction(only) if only else ""
    recognised = reader.recognise_text(text)
    if matches and only and name_readings.is_name_of_topic(matches, recognised):
        return links.link_instruction(only)
    return _find_meaning_link(text, recognised, only)


def _find_meaning_link(text: str, recognised: reader.RecognisedText, only: Instruction | None) -> str:
    """Find the page of the only certain meaning of a text, otherwise of the only instruction or subject in it."""
    if name_readings.list_unknown_names(text):
        return ""
    certain = [meaning for meaning in recognised.found if meaning.sure]
    if len(recognised.found) == len(certain) == 1:
        link = meaning_links.link_meaning(certain[0], text)
        return "" if link == meaning_links.link_text(text) else link
    named_topics = (
        [] if recognised.found or text_meanings.is_malformed(recognised) else text_meanings.find_named_topics(text)
    )
    if only and not (recognised.found or named_topics) and not lookup.is_spelled_out(text):
        return links.link_instruction(only)
    return named_topics[0].page if len(named_topics) == 1 else ""


def _find_certain_answer(text: str) -> str:
    """Find the page with the answer to a question, "" if the matching forms have different answers."""
    if tile := tile_elements.answer_question(text):
        return "" if isinstance(tile, LayoutError) else tile.link
    answers = elements.answer_question(text)
    return answers.meanings[0].link if answers and answers.certain else ""


def find_nearest(text: str) -> tuple[str, ...]:
    """Find the legal instructions most similar to a wrong one in a text; () if the answer lists them by words."""
    if question_readings.read_place_question(text):
        return ()  # the instruction exists; the place does not
    matches = lookup.find_named(pasted_text.clean_text(text))
    if matches and lookup.is_refused(matches) and not lookup.is_spelled_out(text):
        return ()
    return next((error.nearest for error in reader.recognise_text(text).refused if error.nearest), ())
