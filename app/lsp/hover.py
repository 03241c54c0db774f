"""The hover at a position: from the recognisers of the paste box, and from the document's last check."""

from __future__ import annotations

import re
import time
from functools import lru_cache
from pathlib import PurePosixPath

from lsprotocol import types

from lanescope.app.kit.share import escape_markdown
from lanescope.app.lsp.analysis import Analysis
from lanescope.app.lsp.cards import CardStyle, write_card, write_word
from lanescope.app.lsp.documents import OpenDocument, PlacedText
from lanescope.app.lsp.phrases import Phrase, list_phrases
from lanescope.cxx.literals import parse_literal
from lanescope.deadline import OverdueError, end_when
from lanescope.ptx import catalog
from lanescope.reader import RecognisedText, recognise_text
from lanescope.reader.code.recogniser import make_builder_meaning, make_map_meaning
from lanescope.reader.meaning import TextMeaning

SECONDS = 0.08  # of processor time; a text that takes longer has no hover
MOST_CANDIDATES = 48
_LANGUAGES = {".py": "python", ".pyi": "python", ".ptx": "ptx"}
_NAMED = frozenset("instruction layout tiled_mma tiled_copy triton tensor_map".split())
_AROUND = re.compile(r"layout|tile_to|tiled|composition|tensor_?map|tma|descriptor|ttg\.|_divide|_product", re.I)
_OTHERS = ("tcgen05.", "cp.")  # opcodes that are known beside those of the catalogue
_DOUBT = "The source does not determine what this number is. Possible meanings:\n\n"
_DIGIT = re.compile(r"\d")
_ALIAS = re.compile(r"#\w+")


def describe_place(
    document: OpenDocument, position: types.Position, analysis: Analysis | None, picture: str, site: str
) -> types.Hover | None:
    """Return the hover at a position; None if nothing is known. analysis: of the current version."""
    placed = document.placed
    language = _LANGUAGES.get(PurePosixPath(document.name).suffix.lower(), "cxx")
    offset, end = placed.find_offset(position), time.thread_time() + SECONDS
    style = CardStyle(picture, site.rstrip("/"))
    looked = False
    try:
        with end_when(lambda: time.thread_time() > end):
            for phrase in list_phrases(placed.text, offset, language):
                if phrase.kind == "around" and not looked and analysis is not None:
                    looked = True
                    if (described := _describe_object(analysis, placed, position, style)) is not None:
                        return described
                if card := _make_phrase_card(phrase, placed.text, style):
                    return _make_hover(card, types.Range(*map(placed.locate_offset, phrase.span)))
    except OverdueError:
        pass
    return None if looked or analysis is None else _describe_object(analysis, placed, position, style)


def warm_up() -> None:
    """Load the tables and grammars of hovers: read a text of each kind."""
    for text in (
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16",
        "SM90_64x128x16_F32BF16BF16_SS",
        "Layout<Shape<_8,_64>, Stride<_64,_1>>",
        "uint32_t idesc = 0x08400490;",
        "gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])",
    ):
        for meaning in _recognise(text).found:
            write_card(meaning, text, CardStyle("text", ""))


@lru_cache(maxsize=512)
def _recognise(text: str) -> RecognisedText:
    return recognise_text(text)


def _make_hover(text: str, place: types.Range) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), place)


def _describe_object(
    analysis: Analysis, placed: PlacedText, position: types.Position, style: CardStyle
) -> types.Hover | None:
    """Describe the smallest descriptor or tensor map around a position, as the whole source builds it."""
    found: list[tuple[types.Range, TextMeaning]] = []
    for place, builder in analysis.builders:
        found.append((placed.locate_span(place), make_builder_meaning(builder)))
    for place, tensor_map in analysis.maps:
        found.append((placed.locate_span(place), make_map_meaning(tensor_map)))
    enclosing = [item for item in found if item[0].start <= position <= item[0].end]
    if not enclosing:
        return None
    inner = min(
        (item[0] for item in enclosing), key=lambda item: (item.end.line - item.start.line, -item.start.character)
    )
    text = placed.text[placed.find_offset(inner.start) : placed.find_offset(inner.end)]
    cards = dict.fromkeys(
        write_card(meaning, text, style, placed.plain) for where, meaning in enclosing if where == inner
    )
    return _make_hover("\n\n---\n\n".join(cards), inner)


def _make_phrase_card(phrase: Phrase, source: str, style: CardStyle) -> str:
    """Return the card of a phrase, "" if its meaning is unknown."""
    if phrase.kind == "number":
        return _make_number_cards(phrase, style)
    if phrase.kind == "ptx":
        return _make_ptx_card(phrase, style)
    if phrase.kind == "around" and not _AROUND.search(phrase.text.split("(")[0].split("<{")[0]):
        return ""
    text = phrase.text
    if _ALIAS.fullmatch(text):
        defined = re.search(rf"^[ \t]*{re.escape(text)}[ \t]*=[ \t]*(\S[^\n]*)", source, re.M)
        text = defined[1] if defined else text
    for meaning in _recognise(text).found:
        wanted = meaning.kind in _NAMED and not (phrase.kind == "around" and meaning.kind == "instruction")
        if wanted and _is_specific(meaning, text):
            return write_card(meaning, text, style)
        if meaning.kind == "topic" and meaning.facts.get("topic") == "tma":
            return write_card(meaning, text, style)
    return ""


def _is_specific(meaning: TextMeaning, text: str) -> bool:
    """Return whether a meaning is specific: no word that hundreds of instructions share, no tile without sizes."""
    if meaning.kind in ("tiled_mma", "tiled_copy"):
        return meaning.facts.get("threads") is not None
    if meaning.kind != "instruction" or meaning.facts["ptx"]:
        return meaning.kind != "tensor_map" or not meaning.undetermined
    return bool(_DIGIT.search(text)) and 0 < len(meaning.facts["candidates"]) <= MOST_CANDIDATES


def _make_ptx_card(phrase: Phrase, style: CardStyle) -> str:
    """Return the card of a PTX statement; for an illegal form of a known instruction, the error."""
    if not phrase.label.startswith(_OTHERS) and not any(
        f"{phrase.label}.".startswith(f"{opcode}.") for opcode in catalog.OPCODES
    ):
        return ""  # wgmma.fence, add: no matrix instruction, right or wrong
    recognised = _recognise(phrase.text)
    for meaning in recognised.found:
        if meaning.kind in ("instruction", "topic") and meaning.facts.get("topic") != "idesc":
            return write_card(meaning, phrase.text, style)
    for error in recognised.refused:
        if error.code == "unknown_instruction" and f"'{phrase.label}'" in error.message:
            return escape_markdown(f"{error.message} {error.hint}")
    return ""


def _make_number_cards(phrase: Phrase, style: CardStyle) -> str:
    """Return the cards of a number: a 64-bit matrix descriptor, or a 32-bit instruction descriptor if its name in the
    source says so. An ambiguous word has every reading.
    """
    literal = parse_literal(phrase.text.removeprefix("-").replace("_", ""))  # Python and PTX have no other ones
    if literal is None or (phrase.text.startswith("-") and literal[0] > 1 << 63):
        return ""
    word = (-literal[0] if phrase.text.startswith("-") else literal[0]) & ((1 << 64) - 1)
    wide = word >> 32 and ("x" in phrase.text.lower() or word >> 60)
    spelled = f"{word:#018x}" if word >> 32 else f"{word:#010x}"
    cards, doubt = _list_labelled(phrase, word, spelled, style), ""
    if not cards:
        cards, doubt = _list_unlabelled(word, spelled, bool(wide), style)
    if not cards:
        return ""
    note = "An expression goes on beside this number: these are its own bits.\n\n" if phrase.part else ""
    return note + doubt + "\n\n---\n\n".join(cards)


def _list_labelled(phrase: Phrase, word: int, spelled: str, style: CardStyle) -> list[str]:
    """List the cards of a number by its name in the source; [] if the name does not determine it."""
    if not phrase.label:
        return []
    found = _recognise(f"{phrase.label.rpartition('.')[2]} = {spelled};").found
    return [write_card(meaning, spelled, style) for meaning in found if _is_reading(meaning, word) and meaning.sure]


def _list_unlabelled(word: int, spelled: str, wide: bool, style: CardStyle) -> tuple[list[str], str]:
    """List the possible cards of a number without a name, and the sentence before them; none for a small number, unless
    an instruction descriptor fits.
    """
    readings = [meaning for meaning in _recognise(spelled).found if _is_reading(meaning, word)]
    if wide and readings and readings[0].sure:
        return [write_card(readings[0], spelled, style)], ""
    if wide:
        return [write_word(word, style)], _DOUBT
    fits = any(meaning.kind == "topic" for meaning in readings)
    return [write_card(meaning, spelled, style) for meaning in readings] if fits else [], _DOUBT


def _is_reading(meaning: TextMeaning, word: int) -> bool:
    """Return whether a meaning is a descriptor with the value of a word."""
    if meaning.kind == "descriptor" or (meaning.kind == "topic" and meaning.facts.get("topic") == "idesc"):
        number = str(meaning.facts.get("word", ""))
        return number.startswith("0x") and int(number, 16) == word
    return False
