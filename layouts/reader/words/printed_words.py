"""Recognise descriptor words in the output of a program, a debugger or a compiler.

Supported are `desc: 0x…`, `$1 = …`, x/gx and x/2wx, lo and hi halves, constants of LLVM and MLIR, and CuTe's
print(GmmaDescriptor).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from lanescope.bits import format_word
from lanescope.cxx.source_text import blank, find_closing
from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx.table.descriptors import BASE_OFFSET, LBO, SBO, START, SWIZZLE, get_format_of_word
from lanescope.reader.meaning import TextMeaning
from lanescope.reader.words import printed_columns
from lanescope.reader.words.printed_columns import LabelledWord, Span
from lanescope.reader.words.word_spellings import (
    WORD,
    find_words,
    has_descriptor_marks,
    is_address_number,
    is_examined,
    is_likely_descriptor,
    parse_number,
)

_MOST = 16  # words per text that become meanings
MOST_WORDS = 128
_ENCODED = re.compile(r"/\*\s?0x[0-9a-fA-F]{16}\s?\*/")  # of an instruction of SASS
READ = re.compile(r"\bwgmma\b|\btcgen05\.(?:mma|cp)\b|[A-Z]GMMA\b|UTC\w*MMA|\bg?desc\[|\bSM(?:90|1\d\d)_\w*\d+x\d+")
_PAIR = re.compile(r"U?R\d{1,3}:U?R\d{1,3}")  # registers
_DEFINED = re.compile(r"\b(?:union|struct|class)\b[^;{}()=]{0,200}\{")
_WIDTH = re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*:\s*(?P<bits>\d+)\s*(?=[,;])")  # width of a bit-field
_NEAR = 80  # characters before a word that may describe it
FITS = "The text does not call this number a descriptor. As a descriptor it would be this."
ADDRESS = "This number is an address of host or device memory. As a descriptor its SBO would be 64 KB or more."
_ORED = re.compile(
    r"\b(?:or(?:\s+disjoint)?\s+i64|llvm\.or|arith\.ori|or\.b64\s+%\w{1,20},)\s+(?P<start>%[\w.]{1,60})\s*,"
    r"\s*(?P<word>-?\d{10,20}|0x[0-9a-fA-F]{9,16})\b"
)
_FIELD = re.compile(
    r"(start_addr\w*|leading\w*|stride\w*|base_offset\w*|layout_type\w*)\s{0,8}"
    r"(?::|=(?![^,}\n]*;))\s{0,8}(0x[0-9a-fA-F]+|\d+)"
)
_ASSIGNED_FIELD = re.compile(r"(?:start_addr|leading_|stride_|base_offset|layout_type)\w*\s{0,8}=[^=]")
UNION = re.compile(  # a debugger's output for a GmmaDescriptor
    r"(?:\{|^)\s{0,40}(?:desc_\s{0,8}=\s{0,8}[\dx]"
    r"|start_address_\s{0,8}=\s{0,8}\w{1,8}\s{0,8},)[^;]{0,400}layout_type_",
    re.M,
)
_FIELDS = {"start": START, "leadi": LBO, "strid": SBO, "base_": BASE_OFFSET, "layou": SWIZZLE}


def make_descriptor_meaning(
    word: int, notices: tuple[str, ...], sure: bool, name: str = "", fits: bool = False
) -> TextMeaning:
    """Return the meaning of a word; fits: the text does not call it a descriptor."""
    form = get_format_of_word(word)
    notices = (*notices, form.notice) if form.notice else notices
    facts = {"word": format_word(word), "format": form.name, **({"name": name} if name else {})}
    title = f"{form.name} matrix descriptor {format_word(word)}" + (f" ({name})" if name else "")
    return TextMeaning("descriptor", title, facts, notices, sure and not fits, fits=fits)


def recognise_printed_words(text: str) -> tuple[TextMeaning, ...]:
    """Return the meanings of the words printed in a text."""
    text = _ENCODED.sub(lambda match: " " * len(match[0]), text)
    first: dict[int, LabelledWord] = {}
    for descriptor_word in find_descriptor_words(text):
        if len(first) < _MOST:
            first.setdefault(descriptor_word.word, descriptor_word)
    reads = READ.search(text) is not None
    unnamed = {
        word
        for word, descriptor_word in first.items()
        if not reads and not _is_called_descriptor(descriptor_word, text)
    }  # as descriptors
    names = {word: descriptor_word.label[:40] for word, descriptor_word in first.items()}
    notices = _add_fields(text, names)
    if not names and (completed := _recognise_folded_words(text)):
        return completed
    alone = len(names) == 1 and not any(_is_point(descriptor_word, text) for descriptor_word in first.values())
    return tuple(
        make_descriptor_meaning(
            word,
            notices if word not in unnamed else (*notices, ADDRESS if is_address_number(word) else FITS),
            alone and not notices,
            name,
            word in unnamed,
        )
        for word, name in names.items()
    )


def _is_point(word: LabelledWord, text: str) -> bool:
    """Return whether a word may also be a pair of coordinates: {x = …, y = …} without a label."""
    return text[word.span[0]] == "{" and not word.named and get_format_of_word(word.word).usual


def _add_fields(text: str, names: dict[int, str]) -> tuple[str, ...]:
    """Add the word of printed fields if no word is printed, or a notice if they differ from the printed word."""
    plain = blank_bit_field_types(text)
    block = {match[1][:5]: parse_number(match[2]) for match in _FIELD.finditer(plain)}
    if (
        len(block) < 3
        or "strid" not in block
        or len(block) < len({match[0][:5] for match in _ASSIGNED_FIELD.finditer(plain)})
    ):
        return ()
    built = sum(value << _FIELDS[name].low for name, value in block.items()) & WORD
    only = next(iter(names)) if len(names) == 1 else None
    usual = only is not None and get_format_of_word(only).usual
    if "version_" in text and not usual:
        return ()  # fields of another format
    if not names:
        names[built] = ""
    if usual and built != only:
        return (f"The fields below it give {format_word(built)} instead.",)
    return ()


def blank_bit_field_types(text: str) -> str:
    """Blank the types with bit-fields in a text: a number after a name is a width there, not a value."""
    for start, end in _find_bit_field_types(text):
        text = text[:start] + blank(text[start:end]) + text[end:]
    return text


def _find_bit_field_types(text: str) -> Iterator[Span]:
    """Yield the definitions of types with bit-fields."""
    past = 0
    for match in _DEFINED.finditer(text):
        if match.start() < past:
            continue
        past = min(find_closing(text, match.end() - 1) + 1, len(text))  # inner types lack them, too
        if _WIDTH.search(text, match.end(), past):
            yield match.start(), past


def recognise_bit_field_types(text: str) -> tuple[TextMeaning, ...]:
    """Return the meaning of a union or struct with a matrix descriptor's bit-fields, which has no value."""
    for span in _find_bit_field_types(text):
        inside = text[slice(*span)]
        widths = {match["name"].strip("_"): int(match["bits"]) for match in _WIDTH.finditer(inside)}
        fields = [name for name in widths if re.match(r"start|leading|stride|[ls]bo|base_off|layout_t|swizzle", name)]
        if len(fields) < 3 or not any(name.startswith(("stride", "sbo")) for name in fields):
            continue
        mode = next((widths[name] for name in fields if name.startswith(("layout_t", "swizzle"))), 0)
        form = "tcgen05" if mode == 3 or {"version", "lbo_mode"} & set(widths) else "wgmma"
        notice = (
            f"A type has no value: the numbers are the widths of its {len(fields)} fields. Paste the code that assigns"
            " them, or the word."
        )
        return (TextMeaning("topic", f"The bit-fields of a {form} matrix descriptor", {"topic": "fields"}, (notice,)),)
    return ()


def _is_called_descriptor(word: LabelledWord, text: str) -> bool:
    """Return whether a label calls a word a descriptor and the word is not an address.

    After an operand's name, or without a label, the word must also have marks that other numbers seldom have.
    """
    if printed_columns.is_descriptor_label(word.label):
        return not is_address_number(word.word)
    if word.label and not printed_columns.is_matrix_descriptor_label(word.label) and not _PAIR.fullmatch(word.label):
        return False
    separated = not word.label and text[: word.span[0]].endswith((" ", "\t"))
    other = re.search(r"(?<![\w.%$])[A-Za-z_]{3,}$", _get_words_before(word, text)) if separated else None
    return has_descriptor_marks(word.word) and (other is None or printed_columns.is_matrix_descriptor_label(other[0]))


def _recognise_folded_words(text: str) -> tuple[TextMeaning, ...]:
    """Return the descriptor that LLVM or MLIR builds: the fields as a constant, and a start address inserted by OR."""
    words = []
    for match in _ORED.finditer(text):
        start, word = match["start"], parse_number(match["word"]) & WORD
        if START.get(word) or not is_likely_descriptor(word) or not get_format_of_word(word).usual:
            continue
        fields_of_word = Descriptor(word).facts
        facts: dict[str, Any] = {
            "fields": {name: fields_of_word[name] for name in ("lbo_bytes", "sbo_bytes", "base_offset", "swizzle")},
            "start": start,
            "format": "wgmma",
            "word": None,
            "warnings": [],
        }
        notice = f"{format_word(word)} with a start address inserted from {start}."
        words.append(
            TextMeaning(
                "builder",
                f"IR that builds a descriptor: start address from '{start}'",
                facts,
                (notice,),
                False,
                ("start",),
            )
        )
    return tuple(words[:_MOST])


def recognise_debugger_words(text: str) -> tuple[TextMeaning, ...]:
    """Return the words in a debugger's x/gx and x/2wx output (address and contents per line)."""
    return recognise_printed_words(text) if is_examined(text) else ()


@lru_cache(maxsize=2)  # the workbench of one text is built again for each choice that is tried
def find_descriptor_words(text: str) -> tuple[LabelledWord, ...]:
    """Return the descriptor words printed in a text, in order; if two matches overlap, the longer one."""
    text = _ENCODED.sub(lambda match: " " * len(match[0]), text)
    candidates = sorted(find_words(text), key=lambda candidate: (candidate.span[0] - candidate.span[1], candidate.span))
    words: list[LabelledWord] = []
    used: list[Span] = []
    for candidate in candidates:
        if len(words) >= MOST_WORDS:
            break
        if _is_called_otherwise(candidate, text):
            continue
        if not any(a < candidate.span[1] and candidate.span[0] < b for a, b in used):
            words.append(candidate)
            used.append(candidate.span)
    return tuple(sorted(words, key=lambda candidate: candidate.span))


def _is_called_otherwise(word: LabelledWord, text: str) -> bool:
    """Return whether the words before a number call it an address or another kind of descriptor."""
    before = _get_words_before(word, text)
    label = before if word.label and before.endswith(word.label) else word.label
    return printed_columns.is_other_label(re.split(r"[,;|=]", label)[-1]) or _is_called_address(word, text)


def _is_called_address(word: LabelledWord, text: str) -> bool:
    """Return whether the words before a number call it an address, and its value may be one."""
    before = _get_words_before(word, text)
    is_address = printed_columns.is_address_label(word.label or before, before)
    return is_address and word.word >> 47 in (0, (1 << 17) - 1)


def _get_words_before(word: LabelledWord, text: str) -> str:
    line = text.rfind("\n", 0, word.span[0]) + 1
    return text[max(line, word.span[0] - _NEAR) : word.span[0]].rstrip(" \t=:({[\"'")


def find_addresses(text: str) -> tuple[int, ...]:
    """Return the numbers that are memory addresses by their value or by the words before them.

    >>> [hex(word) for word in find_addresses("smem desc ptr 0x7f0000001000, desc_a 0x4000004000010100")]
    ['0x7f0000001000']
    """
    addresses = (labelled_word for labelled_word in printed_columns.find_labelled_words(text) if labelled_word.word > 0)
    return tuple(
        labelled_word.word
        for labelled_word in addresses
        if is_address_number(labelled_word.word) or _is_called_address(labelled_word, text)
    )[:_MOST]
