"""Name the parts of a short text that its reading does not use: numbers, and instructions that do not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lanescope.app.kit.fact import copy_fact
from lanescope.app.read.facts import Reading
from lanescope.app.read.meaning_links import build_meaning
from lanescope.app.read.word_uses import list_idescs
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.names import lookup
from lanescope.ptx import catalog
from lanescope.ptx.short_names import parse_instruction
from lanescope.reader.words.word_spellings import is_address_number

_LONGEST = 400  # characters of a text of one line
_CODE = re.compile(  # computes with its numbers, or prints them beside others
    r"<<|>>|~|![\s(]*0x|[&|^]=|\w\(|[\"#]|\w\s*[|^&*%]\s*\w|\w\s+[+-]\s+\w"
)
_ENCODED = re.compile(r"/\*[^*]*\*/")  # the encoding behind a line of SASS
_NUMBER = re.compile(r"(?<![\w.$%])0[xX][0-9a-fA-F](?:[_']?[0-9a-fA-F]){6,15}(?![\w.])")
_ISSUED = re.compile(r"\btcgen05\.mma\b|\bUTC\w*MMA\b")
_REFUSING = ("is not a legal", "accepts the word")
_MOST = 4
_READ = ("instruction", "descriptor", "topic")  # in others a number is a pointer that a print has beside a layout


def list_dropped(text: str, reading: Reading) -> tuple[str, ...]:
    """Return a sentence for the numbers of a text that its meanings do not contain, and for each wrong opcode."""
    if reading.kind not in _READ or len(text) > _LONGEST or "\n" in text.strip() or _CODE.search(text):
        return ()
    used = _join_meanings(reading)
    text = _ENCODED.sub(" ", text)
    numbers = _list_unused(text, used)
    sentences = [f"Not read: {join_words(list(dict.fromkeys(numbers))[:_MOST])}."] if numbers else []
    return (*sentences, *_explain_opcodes(text, used))


def add_idescs(text: str, reading: Reading) -> Reading:
    """Add the instruction descriptors of a short text with a tcgen05.mma: the numbers that its kind accepts as one."""
    if reading.kind != "instruction" or len(text) > _LONGEST or not _ISSUED.search(text):
        return reading
    words = [
        number for number in _list_unused(_ENCODED.sub(" ", text), _join_meanings(reading)) if int(number, 0) < 1 << 32
    ]
    found = [build_meaning(meaning, text) for word in words for meaning in list_idescs(text, word)]
    legal = [meaning for meaning in found if not any(word in " ".join(meaning.notices) for word in _REFUSING)]
    return copy_fact(Reading, reading, also=(*legal, *reading.also))


def _list_unused(text: str, used: str) -> list[str]:
    """List the numbers of a text that are not in what its meanings say."""
    return [match[0] for match in _NUMBER.finditer(text) if not _is_used(match[0], used)]


def _join_meanings(reading: Reading) -> str:
    """Return all that a reading says, in lower case."""
    meanings = (reading, *reading.also)
    return "\n".join(
        f"{meaning.title}\n{meaning.link.partition('?text=')[0]}\n{meaning.facts}\n{meaning.notices}"
        for meaning in meanings
    ).lower()


def _is_used(number: str, used: str) -> bool:
    """Return whether a number, or the word of which it is a half, is in what a reading says."""
    digits = re.sub(r"[_']", "", number.lower())[2:]
    value = int(digits, 16)
    return digits.lstrip("0") in used or str(value) in used or is_address_number(value)


def _explain_opcodes(text: str, used: str) -> Iterator[str]:
    """Yield why a complete opcode of a text is not an instruction, unless the reading says so."""
    for match in catalog.OPCODE.finditer(text):
        opcode = re.sub(r"\s", "", match[0])
        if not (lookup.is_spelled_out(opcode) and _has_table(opcode)) or opcode.lower() in used:
            continue
        try:
            parse_instruction(opcode)
        except LayoutError as error:
            yield error.message


def _has_table(opcode: str) -> bool:
    """Return whether an opcode is of a family with tables: wgmma.fence and tcgen05.alloc are not, and exist."""
    return any(opcode.lower().startswith(f"{name}.") for name in catalog.OPCODES)
