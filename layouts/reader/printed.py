"""Descriptor words inside what a program, a debugger or a compiler prints: `desc: 0x…`, `$1 = …`, x/gx and x/2wx,
lo and hi halves, constants of LLVM and MLIR, and CuTe's print(GmmaDescriptor).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from layouts.bits import hex_word
from layouts.descriptor import TCGEN05_BITS, VERSION_BIT, WGMMA
from layouts.reader.found import Found

_MOST = 16  # words of one text
_WORD = (1 << 64) - 1
_LONG = r"(?:0[xX][0-9a-fA-F]{1,16}|-\d{10,19}|\d{10,20})(?:[uU]?[lL]{0,2})\b"
_HALF = r"(?:0[xX][0-9a-fA-F]{1,8}|[0-9a-fA-F]{8}|\d{1,10})[uU]?\b"
_LABEL = r"\w{0,32}(?:desc|Desc|DESC)\w{0,32}(?:\[[^\]\n]{0,12}\])?(?:\s+\w{1,12}){0,2}"
_LABELLED = re.compile(rf"(?<![\w.])(?P<name>{_LABEL})\s*(?:[:=]|is|->)\s*(?P<word>{_LONG}|[0-9a-fA-F]{{16}}\b)")
_SHOWN = re.compile(rf"^[ \t]*\$\d{{1,6}}[ \t]*=[ \t]*(?P<word>{_LONG})[ \t]*$", re.M)
_EXAMINED = re.compile(
    r"^[ \t]*0x[0-9a-fA-F]{4,16}(?:[ \t]*<[^>\n]{0,200}>)?:[ \t]+(?:(?P<word>0x[0-9a-fA-F]{9,16})|"
    r"(?P<lo>0x[0-9a-fA-F]{1,8})[ \t]+"
    r"(?P<hi>0x[0-9a-fA-F]{1,8}))[ \t]*$",
    re.M,
)
_HALVES = re.compile(
    rf"(?<![A-Za-z])(?P<first>lo|low|hi|high|\.x|\.y)\b\s{{0,8}}[:= (]\s{{0,8}}(?P<one>{_HALF})\)?[\s,;|]{{1,4}}"
    rf"(?:\w*(?:desc|Desc)\w*\s*[._]?)?(?P<second>lo|low|hi|high|\.x|\.y)\b\s{{0,8}}[:= (]\s{{0,8}}(?P<two>{_HALF})",
    re.I,
)
_CONSTANT = re.compile(
    r"(?:constant\s{0,8}\(?|=)\s{0,8}(?P<word>-?\d{10,20})(?=\s*:\s*i64|\s*,|\s*\))|\bi64\s+(?P<llvm>-?\d{10,20})\b"
)
_SIGNED = re.compile(r"\s*(?P<word>-\d{10,19}|\d{17,20})(?:[uU]?[lL]{0,2})\s*;?\s*")
_FIELD = re.compile(
    r"(start_addr\w*|leading_off\w*|stride_off\w*|base_offset\w*|layout_type\w*)\s*:\s*(0x[0-9a-fA-F]+|\d+)"
)
_PLACES = {"start": 0, "leadi": 16, "strid": 32, "base_": 49, "layou": 62}
TCGEN05 = (
    "Bits 46 to 48 hold version 1: this is a tcgen05 descriptor of Blackwell, whose swizzle stands at bit 61 and whose"
    " maps are not shown yet."
)


def format_of(word: int) -> str:
    """wgmma; tcgen05 by the version in bits 46 to 48, where no bit is set that it reserves."""
    blackwell = word >> VERSION_BIT & 0b111 == 1 and not word & WGMMA.reserved_mask & ~TCGEN05_BITS
    return "tcgen05" if blackwell else "wgmma"


def address(word: int) -> bool:
    """Whether a number is an address of host or device memory, 47 bits from 0x5… or 0x7…: as a descriptor it would have
    a stride of 64 KB or more.
    """
    return word >> 47 == 0 and word >> 44 in (0x5, 0x7)


def descriptor(word: int, notices: tuple[str, ...], sure: bool, name: str = "") -> Found:
    """The meaning of a word."""
    kind = format_of(word)
    if kind == "tcgen05":
        notices = (*notices, TCGEN05)
    facts = {"word": hex_word(word), "format": kind, **({"name": name} if name else {})}
    title = f"{kind} matrix descriptor {hex_word(word)}" + (f" ({name})" if name else "")
    return Found("descriptor", title, facts, notices, sure)


def read(text: str) -> tuple[Found, ...]:
    """The words that a text prints; none where it prints none."""
    words: dict[int, str] = {}
    for name, word in _words(text):
        if word not in words and len(words) < _MOST:
            words[word] = name
    block = {match[1][:5]: _number(match[2]) for match in _FIELD.finditer(text)}
    notices: tuple[str, ...] = ()
    if len(block) >= 3:
        built = sum(value << _PLACES[name] for name, value in block.items()) & _WORD
        if not words:
            words[built] = ""
        elif len(words) == 1 and format_of(next(iter(words))) == "wgmma" and built != next(iter(words)):
            notices = (f"The fields below it make {hex_word(built)}, another word.",)
    alone = len(words) == 1
    return tuple(descriptor(word, notices, alone and not notices, name) for word, name in words.items())


def examined(text: str) -> tuple[Found, ...]:
    """The words of a debugger's x/gx and x/2wx, each line an address and what it holds."""
    return read(text) if _EXAMINED.search(text) else ()


def _words(text: str) -> Iterator[tuple[str, int]]:
    signed = _SIGNED.fullmatch(text)
    if signed:
        word = int(re.sub(r"[uUlL]", "", signed["word"]))
        if word <= _WORD and likely(word & _WORD):
            yield "", word & _WORD
        return
    for match in _LABELLED.finditer(text):
        named = _value(match["word"], bare=True)
        if named is not None and named >> 32:
            yield " ".join(match["name"].split())[:40], named
    for match in _HALVES.finditer(text):
        first, second = match["first"].lower().strip("."), match["second"].lower().strip(".")
        low = {"lo": 0, "low": 0, "x": 0, "hi": 1, "high": 1, "y": 1}
        if low[first] != low[second]:
            bare = not any(match[n][:2].lower() == "0x" for n in ("one", "two")) and any(
                match[n][0] == "0" and len(match[n]) == 8 for n in ("one", "two")
            )  # %08x
            one, two = (int(match[n], 16) if bare else _number(match[n].rstrip("uU")) for n in ("one", "two"))
            yield "", (one | two << 32 if low[first] == 0 else two | one << 32) & _WORD
    for match in _SHOWN.finditer(text):
        shown = _value(match["word"])
        if shown is not None and likely(shown):
            yield "", shown
    for match in _EXAMINED.finditer(text):
        word = int(match["word"], 16) if match["word"] else int(match["lo"], 16) | int(match["hi"], 16) << 32
        if likely(word):
            yield "", word
    for match in _CONSTANT.finditer(text):
        word = int(match["word"] or match["llvm"]) & _WORD
        if likely(word):
            yield "", word


def _number(spelled: str) -> int:
    """A number as printf writes it: 0x… or decimal, with zeros before it."""
    return int(spelled, 16 if spelled[:2].lower() == "0x" else 10)


def _value(spelled: str, bare: bool = False) -> int | None:
    spelled = re.sub(r"[uUlL]+$", "", spelled)
    if bare and re.fullmatch(r"[0-9a-fA-F]{16}", spelled):
        return int(spelled, 16)
    value = _number(spelled)
    return value & _WORD if -(1 << 63) <= value <= _WORD else None


def likely(word: int) -> bool:
    """Whether a number without a name is a descriptor: no reserved bit but Blackwell's version, and a stride."""
    reserved = WGMMA.reserved_mask & ~(TCGEN05_BITS if format_of(word) == "tcgen05" else 0)
    return not word & reserved and word >> 32 & 0x3FFF > 0
