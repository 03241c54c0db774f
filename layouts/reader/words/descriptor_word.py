"""Recognise a 64-bit matrix descriptor in any spelling of lanescope.descriptor.spelling, or code that builds one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from lanescope.bits import format_word
from lanescope.cxx.expression import LONGEST
from lanescope.cxx.source_text import write_floor_divisions
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.mistakes import NO_VERSION
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import WGMMA, get_format_of_word
from lanescope.reader.code import recogniser
from lanescope.reader.code.descriptors.code_words import BuiltWord, build_words
from lanescope.reader.code.symbolic_integers import find_runs
from lanescope.reader.meaning import TextMeaning
from lanescope.reader.words import instruction_word, printed_words, stated_fields
from lanescope.reader.words.word_spellings import has_descriptor_marks, is_address_number

_NUMBER = re.compile(
    r"\s*(?:[~!-][\s(]*)?(?:0[xX][0-9a-fA-F]|0[bB][01]|0[dD][0-9]|[0-9a-fA-F]{1,8}\s*:\s*(?:0[xX])?[0-9a-fA-F]{1,8}\s*;?\s*$)"
)
_BARE = re.compile(r"\s*[0-9a-fA-F][0-9a-fA-F_'` ]*;?\s*")
_PAIR = re.compile(r"\s*(?:make_uint2\s*\(|[({\[])\s*(?:\w+\s*=\s*)?(?:0[xX])?[0-9a-fA-F]+[uU]?\s*,")
_CODE = re.compile(
    r"<<|\buint64_t\s+\w+\s*=|\breturn\b|\bbitfield\b|\b(?:leading|stride)_byte_offset_|\bstart_address_"
)
_HINT = re.compile(  # only in code that may build a descriptor
    r"desc|gmma|smem|lbo|sbo|swizzle|leading|stride_|layout_type|start_addr|matrix|shared|0x3F{4}\b|bitfield"
    r"|<<=?\s*\(?\s*(?:0x)?(?:16|32|46|49|52|61|62|10|20|2e|31|34|3d|3e)\b|>>\s*\(?\s*(?:0x)?4\b",
    re.I,
)
_MOST_MEANT = 1200  # characters of code that is short enough for an error about why it is not a descriptor
_MEANT = re.compile(
    r"\bdesc|_desc\b|gmma|\blbo\b|\bsbo\b|bitfield|_byte_offset|start_addr|0x3F{4}\b"
    r"|<<=?\s*\(?\s*(?:16|32|46|49|52|61|62)\b",
    re.I,
)
_NAMED = re.compile(r"desc|gmma|lbo|sbo|bitfield|_offset_|start_addr", re.I)
# members of a descriptor's union (CUTLASS, cute/arch/mma_sm90_desc.hpp)
_MATRIX_UNION = re.compile(r"(?:Gmma|Smem|Umma)Descriptor")
_MEMBERS = {
    "start": "start_address_?",
    "lbo_bytes": "leading_byte_offset_?",
    "sbo_bytes": "stride_byte_offset_?",
    "base_offset": "base_offset_?",
    "swizzle": r"(?:layout_type|swizzle)\w*",
}
_SAYS = {"lbo_bytes": "LBO {} B", "sbo_bytes": "SBO {} B", "base_offset": "base offset {}", "swizzle": "swizzle {}"}
_MEMBER_OF = re.compile(
    r"(?<![\w.>])(\w{1,80})(?:\[\w*\])?(?:\.|->)(?:\w{1,80}\.)?"
    r"(?:start_address|leading_byte_offset|stride_byte_offset|layout_type)_?\s*="
)
_SEVERAL = re.compile(r"\s*0[xX][0-9a-fA-F]{9,16}(?:[,;\s]\s*0[xX][0-9a-fA-F]{9,16}){1,15}[,;]?\s*")
_SHORT = re.compile(r"\s*[0-9a-fA-F]{1,7}\s*:\s*[0-9a-fA-F]{1,7}\s*")  # hi:lo that may also be a layout
_PLAIN = re.compile(r"(?:0[xX])?[0-9a-fA-F'_]+(?:[uU]?[lL]{0,2})")
_ALL_DIGITS = 16  # digits of a word with leading zeros
_DIGITS = 9  # hex digits without 0x from which a number is a 64-bit word
RESERVED = find_runs(WGMMA.reserved_mask)
UNLIKELY = 3  # groups of reserved bits; one or two are set if an address is not shifted or not masked
_OF_TCGEN05 = re.compile(r"(?<![A-Za-z])(?:tcgen05|umma)(?![A-Za-z])", re.I)
_OTHER = re.compile(r"(?<![\w.])(?:(?:wg|w)?mma|tcgen05)\.|[A-Z]+MMA\b")


def recognise_word(text: str) -> tuple[TextMeaning, ...]:
    """Return the word that a text spells or builds. LayoutError if it resembles a word but is not valid."""
    text = write_floor_divisions(text) if "desc" in text.lower() else text
    meanings = (
        _recognise_spelled_or_built(text)
        if not printed_words.recognise_bit_field_types(text)
        else _recognise_descriptor_type(text)
    )
    if not meanings:
        stated = stated_fields.encode_stated_fields(text)
        meanings = tuple(printed_words.make_descriptor_meaning(word, notices, False) for word, notices in stated)
    elif len(meanings) == 1 and meanings[0].kind == "descriptor":
        first = meanings[0]
        other = stated_fields.compare_matrix_fields(text, int(first.facts["word"], 0))
        meanings = (replace(first, notices=(*other, *first.notices), sure=first.sure and not other),)
    is_short = len(text) <= _MOST_MEANT and _OF_TCGEN05.search(text)
    return tuple(map(_note_missing_version, meanings)) if is_short else meanings


def _note_missing_version(meaning: TextMeaning) -> TextMeaning:
    """Return the meaning of a word that its text calls one of tcgen05, with a notice if it has the version of wgmma."""
    if meaning.kind != "descriptor" or meaning.facts["format"] != "wgmma":
        return meaning
    return replace(meaning, notices=(NO_VERSION, *meaning.notices), sure=False)


def _recognise_descriptor_type(text: str) -> tuple[TextMeaning, ...]:
    """Return the values of a descriptor type that a text makes, or else a description of the type."""
    try:
        meanings = (
            _recognise_spelled_or_built(text)
            if re.search(r"\w", re.sub(r"\}\s*\w*\s*;", "", printed_words.blank_bit_field_types(text)))
            else ()
        )
    except LayoutError:
        meanings = ()
    return meanings or (() if recogniser.is_code(text) else printed_words.recognise_bit_field_types(text))


def _recognise_spelled_or_built(text: str) -> tuple[TextMeaning, ...]:
    if printed_words.UNION.search(text):
        return printed_words.recognise_printed_words(text)
    if recogniser.is_code(text):
        return ()
    if len(text) > LONGEST or _OTHER.search(text):
        return printed_words.recognise_printed_words(text)
    if _SEVERAL.fullmatch(text):
        words = dict.fromkeys(int(word, 16) for word in re.findall(r"\w+", text))
        return tuple(
            printed_words.make_descriptor_meaning(word, (), False, fits=not has_descriptor_marks(word))
            for word in words
        )
    if _is_number(text):
        return printed_words.recognise_debugger_words(text) or _recognise_spelled(text)
    return _read_code(text) if _CODE.search(text) else printed_words.recognise_printed_words(text)


def _is_number(text: str) -> bool:
    """Return whether a text begins with a number, or with its two halves."""
    digits = re.sub(r"[^0-9a-fA-F]", "", text) if _BARE.fullmatch(text) else ""
    bare = len(digits) >= _DIGITS and any(letter.isdecimal() for letter in digits)
    return bare or bool(_NUMBER.match(text) or (_PAIR.match(text) and ":" not in text))


def _read_code(text: str) -> tuple[TextMeaning, ...]:
    """Return the words that code builds. LayoutError for short code about a descriptor that builds none."""
    if not _HINT.search(text):
        return ()
    builds = re.search(r"\breturn\b|[;=]|[A-Za-z_]\w*\s*\(\s*&?\s*[A-Za-z_]", text.strip().rstrip(";"))
    try:
        return _recognise_built(text) if builds else _recognise_expression(text)
    except LayoutError:
        if printed := printed_words.recognise_printed_words(text):  # `kernel<<<1, 128>>>: desc_a 0x…`
            return printed
        if len(text) > _MOST_MEANT or not _MEANT.search(text):
            return ()  # code and prose about other things
        raise


def _recognise_expression(text: str) -> tuple[TextMeaning, ...]:
    """Return the word of an expression alone, also of one with a free start address: the value of a variable."""
    try:
        return _recognise_spelled(text)
    except LayoutError as error:
        try:
            built = build_words(f"uint64_t desc = ({text.strip().rstrip(';')});", "text")
            return tuple(meaning for _, word in built for meaning in _make_built_meaning(text, word, ""))
        except LayoutError:
            raise error from None


def _recognise_spelled(text: str) -> tuple[TextMeaning, ...]:
    if instruction_word.NAMED.search(text) and instruction_word.recognise_instruction_word(text):
        return ()
    read = parse_word(text, "text")
    plain = text.strip().rstrip(";")
    number = _PLAIN.fullmatch(plain) is not None
    if _is_other_value(plain, read.word) or (number and _has_32_bits(text, read.word)):
        return ()
    small = read.word >> 32 == 0
    short = _SHORT.fullmatch(text) is not None
    notices = tuple(note.text for note in read.warnings) or _list_doubts(read.word)
    fits = number and (small or (len(plain.removeprefix("0x")) < _ALL_DIGITS and not has_descriptor_marks(read.word)))
    result = [printed_words.make_descriptor_meaning(read.word, notices, not (small or short or notices), fits=fits)]
    intended = {note.word for note in read.warnings} - {read.word}
    result += [
        printed_words.make_descriptor_meaning(word, ("Computed in 64-bit arithmetic.",), False)
        for word in sorted(intended)
    ]
    return tuple(result)


def _is_strange(word: int) -> bool:
    """Return whether reserved bits of a wgmma descriptor are set in a word."""
    return bool(word & WGMMA.reserved_mask) and get_format_of_word(word).usual


def _is_other_value(plain: str, word: int) -> bool:
    """Return whether a number is rather an address, a hash or a count."""
    bare = plain.isalnum() and (word >> 32 == 0 or plain[:2].lower() not in ("0x", "0b"))
    return is_address_number(word) or (bare and _is_strange(word))


def _has_32_bits(text: str, word: int) -> bool:
    """Return whether a number is a 32-bit instruction descriptor of tcgen05.mma, or a 32-bit decimal."""
    if word >> 32 == 0 and instruction_word.recognise_instruction_word(text):
        return True
    plain = text.strip().rstrip(";")
    return plain.isdecimal() and len(plain) < _ALL_DIGITS and int(plain) < 1 << 32


def _list_doubts(word: int) -> tuple[str, ...]:
    """Return the reasons why a word may not be a complete descriptor."""
    count = sum(bool(word >> low & (1 << width) - 1) for low, width in RESERVED)
    if _is_strange(word) and count >= UNLIKELY:
        return (
            f"{count} of its {len(RESERVED)} groups of reserved bits are not 0. A program that builds a descriptor"
            " leaves them 0, so this is probably another 64-bit value.",
        )
    if word >> 32 == 0:
        return (
            "Bits 32 to 63 are 0: no SBO and no swizzle. A complete descriptor has 64 bits; was the high word lost?",
        )
    return ()


def _recognise_built(text: str) -> tuple[TextMeaning, ...]:
    if "=" in text and "{" not in text and "return" not in text and text.count(";") <= 1 and "bitfield" not in text:
        return _recognise_spelled(text)  # one declaration
    several = build_words(text, "text")
    return tuple(meaning for name, built in several for meaning in _make_built_meaning(text, built, name))


def _list_unassigned_fields(text: str, name: str) -> tuple[str, ...]:
    """Return the fields that a text does not assign although it assigns others of the same object.

    Returns () if the text declares the object or sets its complete word. name: the object's, "" if the text has one.

    >>> _list_unassigned_fields("d.bitfield.start_address_ = a >> 4; d.bitfield.layout_type_ = 1;", "")
    ('lbo_bytes', 'sbo_bytes', 'base_offset')
    >>> _list_unassigned_fields("Desc d; d.bitfield.layout_type_ = 1;", "")
    ()
    """
    objects = {name} if name else set(_MEMBER_OF.findall(text))
    if len(objects) != 1:
        return ()
    target = re.escape(objects.pop())
    begun = rf"(?<![\w.>]){target}\s*(?:=[^=]|[{{(;])|(?<![\w.>]){target}(?:\.|->)(?:desc|raw|u64|value)\w*\s*=[^=]"
    if not _MEMBER_OF.search(text) or re.search(begun, text):
        return ()
    member = rf"(?<![\w.>]){target}(?:\[\w*\])?(?:\.|->)(?:\w{{1,80}}\.)?"
    return tuple(amount for amount, spelt in _MEMBERS.items() if not re.search(rf"{member}{spelt}\s*[|+]?=[^=]", text))


def _is_of_instruction(text: str, built: BuiltWord) -> bool:
    """Return whether a word is an instruction descriptor: of CUTLASS's union, or 32 bits of code that names one."""
    if "InstrDescriptor" in text and not _MATRIX_UNION.search(text):
        return True
    narrow = not built.start and built.word >> 32 == 0
    return narrow and (not _NAMED.search(text) or instruction_word.NAMED.search(text) is not None)


def _make_built_meaning(text: str, built: BuiltWord, name: str) -> tuple[TextMeaning, ...]:
    """Return the meaning of a word that code builds; name: its variable, if the code builds several."""
    if _is_of_instruction(text, built):
        return ()
    form = get_format_of_word(built.word)
    descriptor = Descriptor(built.word, form)
    values = descriptor.facts
    amounts = [f.amount for f in WGMMA.fields if f.name != "start_address"]
    unassigned = _list_unassigned_fields(text, name)
    fields = {amount: None if amount in unassigned else values[amount] for amount in amounts}
    facts = {
        "fields": fields,
        "start": None if "start" in unassigned else built.start or descriptor.start_address,
        "format": form.name,
        "word": None if built.start or unassigned else format_word(built.word),
        "warnings": list(built.notices),
    }
    summary = _summarize_built(built, fields if unassigned else None, name)
    open_ = unassigned or (("start",) if built.start else ())
    return (
        TextMeaning(
            "builder", f"Code that builds a descriptor: {summary}", facts, built.notices, not built.notices, open_
        ),
    )


def _summarize_built(built: BuiltWord, fields: dict[str, Any] | None, name: str) -> str:
    """Return a summary of a word: an open start address and the fields (None: missing), else the word."""
    suffix = f" ({name})" if name else ""
    if built.start:
        return f"start address from '{built.start}'{suffix}"
    if fields is None:
        return format_word(built.word) + suffix
    known = [_SAYS[amount].format(value) for amount, value in fields.items() if value is not None]
    start = Descriptor(built.word, get_format_of_word(built.word)).start_address
    return (", ".join(known) or f"start address {start:#x}") + suffix
