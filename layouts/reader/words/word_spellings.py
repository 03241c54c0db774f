"""Find descriptor words in the output of programs, debuggers and compilers, with a parser for each form
(`_SPELLINGS`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from lanescope.ptx.table.descriptors import SBO, get_format_of_word, is_clean_word
from lanescope.reader.words import printed_columns
from lanescope.reader.words.printed_columns import LabelledWord, Span

WORD = (1 << 64) - 1
_LONG = r"(?:0[xX][0-9a-fA-F]{1,16}|(?:0[bB])?[01]{40,64}|-\d{10,19}|\d{10,20})(?:[uU]?[lL]{0,2})\b"
_HALF = r"(?:0[xX][0-9a-fA-F]{1,8}|[0-9a-fA-F]{8}|\d{1,10})[uU]?\b"
_SIGNED = re.compile(r"\s*(?P<word>-\d{10,19}|\d{17,20})(?:[uU]?[lL]{0,2})\s*;?\s*")
_SHOWN = re.compile(rf"^[ \t]*\$\d{{1,6}}[ \t]*=[ \t]*(?P<word>{_LONG})[ \t]*$", re.M)
_ARRAY = re.compile(  # a printed array
    rf"^[ \t]*\$\d{{1,6}}[ \t]*=[ \t]*\{{(?P<items>{_LONG}(?:, ?{_LONG}){{0,63}})\}}[ \t]*$", re.M
)
_LISTED = re.compile(  # NumPy's and PyTorch's
    rf"\b(?:array|tensor)\(\s?\[(?P<items>[\[\s]{{0,8}}{_LONG}(?:[\],\[\s]{{1,16}}{_LONG}){{0,63}})[\]\s]{{0,8}}[,)\]]"
)
_HALVES = re.compile(
    rf"(?<![A-Za-z])(?P<first>lo|low|hi|high|\.x|\.y)\b\s{{0,8}}[:= (]\s{{0,8}}(?P<one>{_HALF})\)?[\s,;|]{{1,4}}"
    rf"(?:\w*(?:desc|Desc)\w*\s*[._]?)?(?P<second>lo|low|hi|high|\.x|\.y)\b\s{{0,8}}[:= (]\s{{0,8}}(?P<two>{_HALF})",
    re.I,
)
_VECTOR = re.compile(rf"\{{\s?\.?x = (?P<one>{_HALF}), \.?y = (?P<two>{_HALF})\s?\}}")  # a debugger's uint2
_BRACED = re.compile(  # desc = {0x00010100, 0x40000040}: the halves of a word, the low one first
    r"(?<![\w.])(?P<label>[\w.\[\]]{0,30}[Dd]esc[\w.\[\]]{0,30})\s?[:=]\s?[{\[(]\s?(?P<one>0[xX][0-9a-fA-F]{1,8})u?,"
    r"\s?(?P<two>0[xX][0-9a-fA-F]{1,8})u?\s?[}\])]"
)
_PAIRED = re.compile(  # beside an instruction, {low, high} as PTX writes it, or high:low
    r"\{\s?(?P<low>0[xX][0-9a-fA-F]{1,8})u?,\s?(?P<high>0[xX][0-9a-fA-F]{1,8})u?\s?\}"
    r"|(?<![\w:])(?P<left>0[xX][0-9a-fA-F]{1,8}):(?P<right>0[xX][0-9a-fA-F]{1,8})(?![\w:])"
)
_INSTRUCTION = re.compile(r"\b(?:wgmma|tcgen05)\b|\b[HIQB]GMMA\b|\bUTC[A-Z]*MMA\b")
_MOVED = re.compile(
    r"\bmov\.[bus](?P<bits>32|64)\s+(?P<to>%?\w{1,20}), ?(?P<word>0[xX][0-9a-fA-F]{1,16}|-?\d{1,20})U?;"
)
_JOINED = re.compile(r"\bmov\.b64\s+(?P<to>%?\w{1,20}), ?\{(?P<low>%?\w{1,20}), ?(?P<high>%?\w{1,20})\}")
_READS = re.compile(  # operands of PTX instructions with descriptors
    r"\b(?:wgmma\.mma_async|tcgen05\.(?:mma|cp))\b(?P<operands>[^;]{0,4000})"
)
_REGISTERS = re.compile(r"%?\w{1,20}")
_ATOM = re.compile(r"\bSM\d{2,3}_\w{0,40}\d{1,3}x\d")
_EXAMINED = re.compile(
    r"^[ \t]*0x[0-9a-fA-F]{4,16}(?:[ \t]*<[^>\n]{0,200}>)?:[ \t]+"
    r"(?P<contents>0x[0-9a-fA-F]{1,16}(?:[ \t]+0x[0-9a-fA-F]{1,16}){0,7})[ \t]*$",
    re.M,
)
_CONSTANT = re.compile(
    r"(?:constant\s{0,8}\(?|=)\s{0,8}(?P<word>-?\d{10,20}|0x[0-9a-fA-F]{9,16}(?=\s*:\s*i64))(?=\s*:\s*i64|\s*,|\s*\))"
    r"|\bi64\s+(?P<llvm>-?\d{10,20})\b"
)
_MANY_DIGITS = re.compile(r"\d{10}|0x[0-9a-fA-F]{9}")
_QUADS = re.compile(
    r"(0x[0-9a-fA-F]{9,16})|(0x[0-9a-fA-F]{1,8})[ \t]+(0x[0-9a-fA-F]{1,8})"
)  # contents in a line of x/gx, x/2wx
_IS_LOW = {**dict.fromkeys(("lo", "low", "x"), True), **dict.fromkeys(("hi", "high", "y"), False)}


def is_address_number(word: int) -> bool:
    """Return whether a number is an address of host or device memory, 47 bits from 0x5… or 0x7….

    As a descriptor its SBO would be 64 KB or more.
    """
    return word >> 47 == 0 and word >> 44 in (0x5, 0x7)


def has_descriptor_marks(word: int) -> bool:
    """Return whether a number has a swizzle mode or Blackwell's version field, which other numbers seldom have."""
    return word >> 62 > 0 or not get_format_of_word(word).usual


def is_likely_descriptor(word: int) -> bool:
    """Return whether an unlabelled number is probably a descriptor: no reserved bits, and a stride."""
    return is_clean_word(word) and SBO.get(word) > 0


def parse_number(spelled: str) -> int:
    """Parse a printed number: 0x…, decimal, with leading zeros, or 40 or more binary digits."""
    if len(spelled) >= 40:
        return int(spelled.lower().removeprefix("0b"), 2)
    return int(spelled, 16 if spelled[:2].lower() == "0x" else 10)


def _join_value(spelled: str) -> int | None:
    value = parse_number(re.sub(r"[uUlL]+$", "", spelled))
    return value & WORD if -(1 << 63) <= value <= WORD else None


def find_words(text: str) -> Iterator[LabelledWord]:
    """Return the words in a text, form by form; two forms may match at the same place."""
    if signed := _SIGNED.fullmatch(text):
        word = int(re.sub(r"[uUlL]", "", signed["word"]))
        if word <= WORD and is_likely_descriptor(word & WORD):
            yield LabelledWord("", word & WORD, signed.span("word"), False)
        return
    for find_spelled, marks in _SPELLINGS.items():
        if not marks or any(mark in text for mark in marks):
            yield from find_spelled(text)


def _find_shown(text: str) -> Iterator[LabelledWord]:
    """Find `$1 = …` of a debugger, labelled by the printed expression."""
    expressions = printed_columns.find_debugger_questions(text) if "$" in text else {}
    for match in _SHOWN.finditer(text):
        word = _join_value(match["word"])
        if word is not None and is_likely_descriptor(word):
            yield LabelledWord(expressions.get(match.start("word"), ""), word, match.span("word"), False)


def _find_listed(text: str) -> Iterator[LabelledWord]:
    """Find the items of arrays printed by a debugger, NumPy or PyTorch."""
    for match in (*_ARRAY.finditer(text), *_LISTED.finditer(text)):
        start = match.start("items")
        for item in re.finditer(_LONG, match["items"]):
            word = _join_value(item[0])
            if word is not None and is_likely_descriptor(word):
                yield LabelledWord("", word, (start + item.start(), start + item.end()), False)


def _find_halves(text: str) -> Iterator[LabelledWord]:
    """Find the halves of a word, labelled lo and hi or .x and .y, in either order."""
    for match in _HALVES.finditer(text):
        first_low, second_low = (_IS_LOW[match[name].lower().strip(".")] for name in ("first", "second"))
        if first_low == second_low:
            continue
        first, second = _parse_halves(match["one"], match["two"])
        word = (first | second << 32 if first_low else second | first << 32) & WORD
        label = _get_label_before(text, match.start())
        if label or not is_address_number(word):
            yield LabelledWord(label, word, match.span(), False)


def _parse_halves(*halves: str) -> tuple[int, ...]:
    """Return both halves; without 0x they are hexadecimal if one of them has the form of %08x."""
    prefixed = any(half[:2].lower() == "0x" for half in halves)
    if not prefixed and any(half[0] == "0" and len(half) == 8 for half in halves):
        return tuple(int(half, 16) for half in halves)
    return tuple(parse_number(half.rstrip("uU")) for half in halves)


def _find_vectors(text: str) -> Iterator[LabelledWord]:
    """Find {x = …, y = …}, a debugger's uint2; without a label the word must have a swizzle, to exclude coordinates."""
    for match in _VECTOR.finditer(text):
        word = (parse_number(match["one"].rstrip("uU")) | parse_number(match["two"].rstrip("uU")) << 32) & WORD
        label = _get_label_before(text, match.start()) or _get_label_before(
            text, text.rfind("\n", 0, match.start()) + 1
        )
        if is_likely_descriptor(word) and (label or has_descriptor_marks(word)):
            yield LabelledWord(label, word, match.span(), bool(label))


def _find_braced(text: str) -> Iterator[LabelledWord]:
    """Find desc = {0x…, 0x…}, the low half first."""
    for match in _BRACED.finditer(text):
        word = parse_number(match["one"]) | parse_number(match["two"]) << 32
        if is_likely_descriptor(word):
            yield LabelledWord(match["label"], word, match.span(), True)


def _find_paired(text: str) -> Iterator[LabelledWord]:
    """Find the halves of a word beside an instruction that reads descriptors; it must have a swizzle or a version."""
    for match in _PAIRED.finditer(text) if _INSTRUCTION.search(text) else ():
        low, high = (match["low"], match["high"]) if match["low"] else (match["right"], match["left"])
        word = parse_number(low) | parse_number(high) << 32
        if is_likely_descriptor(word) and has_descriptor_marks(word):
            yield LabelledWord("", word, match.span(), False)


def _find_moved(text: str) -> Iterator[LabelledWord]:
    """Find constants that PTX moves into a 64-bit register or into its two halves."""
    read = {name for match in _READS.finditer(text) for name in _REGISTERS.findall(match["operands"])}
    if not read and _ATOM.search(text):
        return  # the text names an atom, and no PTX instruction reads these registers
    for register, word, span in (*_list_moved_words(text), *_list_joined_words(text)):
        if (
            is_likely_descriptor(word)
            and not is_address_number(word)
            and (has_descriptor_marks(word) or register in read)
        ):
            yield LabelledWord("", word, span, False)


def _list_moved_words(text: str) -> Iterator[tuple[str, int, Span]]:
    """Return (register, constant, place) of each 64-bit mov."""
    for match in _MOVED.finditer(text):
        if match["bits"] == "64":
            yield match["to"], parse_number(match["word"]) & WORD, match.span("word")


def _list_joined_words(text: str) -> Iterator[tuple[str, int, Span]]:
    """Return (register, constant, place) of each mov.b64 of two registers with 32-bit constants."""
    moves = (match for match in _MOVED.finditer(text) if match["bits"] == "32")
    constants = {match["to"]: parse_number(match["word"]) & 0xFFFFFFFF for match in moves}
    for match in _JOINED.finditer(text) if constants else ():
        if match["low"] in constants and match["high"] in constants:
            yield match["to"], constants[match["low"]] | constants[match["high"]] << 32, match.span()


def _find_examined(text: str) -> Iterator[LabelledWord]:
    """Find words in memory that a debugger examines: x/gx, x/2wx, x/8xb and x/4xh."""
    for match in _EXAMINED.finditer(text):
        parts, start = match["contents"].split(), match.start("contents")
        if {len(part) for part in parts} in ({4}, {6}):
            word = _join_little_endian(parts)
            if word is not None and is_likely_descriptor(word):
                yield LabelledWord("", word, match.span("contents"), False)
            continue
        for at in _QUADS.finditer(match["contents"]):
            word = int(at[1], 16) if at[1] else int(at[2], 16) | int(at[3], 16) << 32
            if is_likely_descriptor(word):
                yield LabelledWord("", word, (start + at.start(), start + at.end()), False)


def _find_constants(text: str) -> Iterator[LabelledWord]:
    """Find 64-bit constants in LLVM and MLIR."""
    for match in _CONSTANT.finditer(text) if _MANY_DIGITS.search(text) else ():
        name = "word" if match["word"] else "llvm"
        word = parse_number(match[name]) & WORD
        if is_likely_descriptor(word):
            yield LabelledWord("", word, match.span(name), False)


def _find_labelled(text: str) -> Iterator[LabelledWord]:
    """Find words after a label or below the name of a column."""
    for labelled_word in printed_columns.find_labelled_words(text):
        word = labelled_word.word & WORD
        if printed_columns.is_operand(text, labelled_word.span[1]):
            continue  # desc_a = 0x4000004000010000 + 2 * k
        if -(1 << 63) <= labelled_word.word <= WORD and (
            word >> 32 if labelled_word.named else is_likely_descriptor(word) and not is_address_number(word)
        ):
            yield replace(labelled_word, word=word)


def _find_registers(text: str) -> Iterator[LabelledWord]:
    """Find register pairs; constants in SASS only if they resemble a descriptor."""
    for register_word in printed_columns.find_register_words(text):
        moved = "MOV" in text[slice(*register_word.span)]
        if is_likely_descriptor(register_word.word) and (
            not moved
            or has_descriptor_marks(register_word.word)
            or f"gdesc[{register_word.label.split(':')[0]}]" in text
        ):
            yield register_word


# Of two matches with the same place and length, the first one is taken. Each form: what a text with it has one of.
_SPELLINGS: dict[Callable[[str], Iterator[LabelledWord]], tuple[str, ...]] = {
    _find_shown: ("$",),
    _find_listed: ("$", "array(", "tensor("),
    _find_halves: (),
    _find_vectors: ("x = ",),
    _find_braced: ("esc",),
    _find_paired: ("wgmma", "tcgen05", "MMA"),
    _find_moved: ("mov.",),
    _find_examined: ("0x",),
    _find_constants: (),
    _find_labelled: (),
    _find_registers: ("$", *(f"R{digit}" for digit in range(10))),
}


def is_examined(text: str) -> bool:
    """Return whether a text has a line of a debugger's x/gx or x/2wx."""
    return _EXAMINED.search(text) is not None


def _join_little_endian(parts: list[str]) -> int | None:
    """Return the 64-bit word of bytes or half words, the lowest first; None for other counts."""
    width = 4 * (len(parts[0]) - 2)
    if width * len(parts) != 64:
        return None
    return sum(int(part, 16) << width * n for n, part in enumerate(parts))


def _get_label_before(text: str, at: int) -> str:
    """Return the label before the halves of a word, as in desc_a.lo or desc_a: lo."""
    match = re.search(r"([A-Za-z_]\w{0,40}(?:\[\d{1,4}\])?)[\s._:=({]{0,8}$", text[max(0, at - 60) : at])
    return match[1] if match and re.search("desc|word", match[1], re.I) else ""
