"""Read the fields that a line states: those of a descriptor, or beside a word, which are compared with its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lanescope.blackwell.idesc import IdescWord
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor, encode_descriptor
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.table.descriptors import START, TCGEN05, WGMMA, get_format_of_word
from lanescope.shared.tma import WIDTHS

CONTRADICTION = "The text says"  # begins each sentence about a field
_LONGEST = 200  # characters of one line
_NUMBER = (
    r"(?:[ \t]*(?:[:=]|is|of)[ \t]*|[ \t]+)(?P<value>0[xX][0-9a-fA-F]{1,8}|\d{1,8})"
    r"(?:[ \t]?(?P<kilo>[kK]i?)?[bB](?:ytes?)?\b)?(?![\w.*+/])"
)
_KILO = 1024
_AMOUNTS = {
    "lbo_bytes": ("LBO", re.compile(rf"(?<![A-Za-z])(?:LBO|leading(?:[ _]\w+){{0,3}}?){_NUMBER}", re.I)),
    "sbo_bytes": ("SBO", re.compile(rf"(?<![A-Za-z])(?:SBO|stride(?:[ _]\w+){{0,3}}?){_NUMBER}", re.I)),
    "start_address": ("start address", re.compile(rf"\b(?:start(?:[ _]addr(?:ess)?)?|addr(?:ess)?)_?{_NUMBER}", re.I)),
    "base_offset": ("base offset", re.compile(rf"\bbase[ _]offset_?{_NUMBER}", re.I)),
}
_WIDTH = re.compile(
    r"\b(?P<width>32|64|128)[ -]?B(?:ytes?)?[ -]swizzle|\b(?:SW|SWIZZLE)_?(?P<short>32|64|128)B?\b"
    r"|swizzl(?:e|ed|ing)(?:[ _](?:mode|of|by))?[ \t]*[:= _]?[ \t]*(?P<of>32|64|128)[ -]?B"
    r"|(?P<none>\b(?:no[ -]swizzle|unswizzled|swizzle[ :=_]+none))\b"
    r"|\blayout_type_?[ \t]*[:= \t][ \t]*(?:0x)?(?P<code>[0-7])\b",  # as the field has it
    re.I,
)
_BESIDE = re.compile(  # words of a line that states nothing but the fields of a descriptor
    r"\b(?:a|an|and|the|of|for|with|in|is|bytes?|b|k|mn|major|kmajor|mnmajor|swizzl\w*|mode|wgmma|tcgen05|umma|gmma|smem"
    rf"|blackwell|sm_100a?|sm_90a?|hopper|shared|matrix|descriptor|desc|tile|atom|operand|{'|'.join(DTYPES)}|fp16|fp8|half|bfloat16)\b",
    re.I,
)
_BETWEEN = re.compile(r"\b(?:an?|and|the|of|with|in|is|bytes?|mode)\b", re.I)
_WORD = re.compile(r"[A-Za-z0-9]+")
_OF_TCGEN05 = re.compile(r"(?<![A-Za-z])(?:tcgen05|umma|blackwell|sm_10\d)(?![A-Za-z])", re.I)
_STRIDES = ("lbo_bytes", "sbo_bytes")
_UNIT = 16  # bytes
_LEAST_ROWS = 8  # of a core matrix
_SAYS_UNITS = "LBO and SBO are read as the fields' values, in units of 16 bytes."
_SAYS_START = "The start address is read as bytes."
_SAYS_BYTES = "LBO and SBO are read as bytes."
_SHAPE = re.compile(r"\bm(\d{1,3})n(\d{1,3})(?:k\d+)?\b|\bM[ =:]{1,3}(\d{1,3})\b|\bN[ =:]{1,3}(\d{1,3})\b", re.I)


def encode_stated_fields(text: str) -> list[tuple[int, tuple[str, ...]]]:
    """Encode the descriptors that a line may mean which states LBO or SBO and a swizzle, and nothing else.

    Return each word with what was assumed, the more likely first; [] for any other text. LBO and SBO may be in bytes
    or, like the fields, in units of 16 bytes: eight rows of a tile lie no less than 8 times the swizzle's width apart.
    LayoutError if an amount does not fit.

    >>> [hex(word) for word, _ in encode_stated_fields("LBO 16, SBO 1024, 128B swizzle")]
    ['0x4000004000010000']
    """
    form = TCGEN05 if _OF_TCGEN05.search(text) else WGMMA
    found = _find_alone(text, form)
    if found is None:
        return []
    amounts, swizzle, is_coded = found
    missing = [_AMOUNTS[name][0] for name in ("lbo_bytes", "sbo_bytes", "start_address") if name not in amounts]
    open_ = (f"Not in the text, and 0 here: {', '.join(missing)}.",) if missing else ()
    is_small = amounts.get("sbo_bytes", _LEAST_ROWS * WIDTHS[swizzle]) < _LEAST_ROWS * WIDTHS[swizzle]
    is_unit = any(amounts.get(name, 0) % _UNIT for name in _STRIDES)
    words = []
    if is_small or is_unit:
        in_bytes, says = _read_units(amounts, is_coded)
        words.append((encode_descriptor(form, in_bytes, swizzle).word, (*says, *open_)))
    if not is_unit:
        words.append((encode_descriptor(form, amounts, swizzle).word, (_SAYS_BYTES, *open_)))
    return words


def _read_units(amounts: dict[str, int], is_coded: bool) -> tuple[dict[str, int], tuple[str, ...]]:
    """Convert amounts that count 16 bytes to bytes; return them and the notices to show.

    The start address is converted, too, if the swizzle is stated by its code and the result fits.
    """
    start = amounts.get("start_address")
    is_start_coded = is_coded and start is not None and start * _UNIT <= START.mask
    fields = (*_STRIDES, "start_address") if is_start_coded else _STRIDES
    in_bytes = {name: value * _UNIT if name in fields else value for name, value in amounts.items()}
    if is_start_coded:
        return in_bytes, (_SAYS_UNITS.replace("LBO and SBO", "LBO, SBO and the start"),)
    return in_bytes, (_SAYS_UNITS, _SAYS_START) if start else (_SAYS_UNITS,)


def _find_alone(text: str, form: DescriptorFormat) -> tuple[dict[str, int], str, bool] | None:
    """Return the amounts and the swizzle of a line that states each once, and nothing else; None for any other text.

    The third value is whether the swizzle is stated by its code, as the printed fields of a word have it.
    """
    found = {amount: list(pattern.finditer(text)) for amount, (_, pattern) in _AMOUNTS.items()}
    widths = list(_WIDTH.finditer(text))
    is_once = len(widths) == 1 and max(map(len, found.values())) == 1
    if len(text) > _LONGEST or not is_once or not any(found[name] for name in _STRIDES):
        return None
    if "\n" in text.strip() or _WORD.search(_BESIDE.sub(" ", _remove_fields(text))):
        return None
    amounts = {amount: _parse_amount(matches[0]) for amount, matches in found.items() if matches}
    if code := widths[0]["code"]:
        return amounts, form.get_mode(int(code)).name, True
    return amounts, _get_mode(widths[0], form), False


def is_of_fields(text: str) -> bool:
    """Return whether a line states fields of a descriptor and nothing else.

    >>> is_of_fields("SBO 512, 128B swizzle"), is_of_fields("SBO 512 of wgmma m64n64k16"), is_of_fields("bf16")
    (True, False, False)
    """
    rest = _remove_fields(text)
    return rest != text and "\n" not in text.strip() and not _WORD.search(_BETWEEN.sub(" ", rest))


def _remove_fields(text: str) -> str:
    """Return a text without the fields of a descriptor that it states."""
    for pattern in (*(pattern for _, pattern in _AMOUNTS.values()), _WIDTH):
        text = pattern.sub(" ", text)
    return text


def _parse_amount(match: re.Match[str]) -> int:
    """Return a stated amount; KB and KiB are 1024 bytes."""
    return int(match["value"], 0) * (_KILO if match["kilo"] else 1)


def _get_mode(match: re.Match[str], form: DescriptorFormat) -> str:
    """Return the name of the swizzle that a line states, "" for a code that the format does not have."""
    if match["code"]:
        return next((mode.name for mode, code in form.codes.items() if code == int(match["code"])), "")
    return "none" if match["none"] else f"{match['width'] or match['short'] or match['of']}B"


def compare_matrix_fields(text: str, word: int) -> tuple[str, ...]:
    """Return a sentence for each field of a matrix descriptor that a line states and that its word has otherwise.

    >>> compare_matrix_fields("desc 0x4000004000010000 (SBO 512)", 0x4000004000010000)
    ('The text says SBO 512, but the word has SBO 1,024.',)
    """
    if len(text) > _LONGEST or "\n" in text.strip():
        return ()
    form = get_format_of_word(word)
    return tuple(_compare_amounts(text, Descriptor(word, form).facts, form))


def _compare_amounts(text: str, facts: Mapping[str, Any], form: DescriptorFormat) -> Iterator[str]:
    for amount, (title, pattern) in _AMOUNTS.items():
        has = facts.get(amount)
        for match in pattern.finditer(text) if isinstance(has, int) else ():
            stated, show = _parse_amount(match), _choose_form(match["value"])
            if isinstance(has, int) and stated not in (has, has >> 4):  # in bytes, or as the field has it
                yield f"{CONTRADICTION} {title} {show(stated)}, but the word has {title} {show(has)}."
    for match in _WIDTH.finditer(text):
        mode = _get_mode(match, form)
        if str(facts["swizzle"]).partition("_")[0] != mode.partition("_")[0]:
            yield f"{CONTRADICTION} swizzle {mode or match['code']}, but the word has swizzle {facts['swizzle']}."


def _choose_form(spelled: str) -> Callable[[int], str]:
    """Return the function that writes a number in the base of a spelled one."""
    return hex if spelled[:2].lower() == "0x" else "{:,}".format


def compare_sizes(text: str, word: IdescWord) -> tuple[str, ...]:
    """Return a sentence for an M or N that a line states and that an instruction descriptor has otherwise."""
    if len(text) > _LONGEST or "\n" in text.strip():
        return ()
    stated = [
        (name, size)
        for m, n, big_m, big_n in _SHAPE.findall(text)
        for name, size in (("M", m or big_m), ("N", n or big_n))
        if size
    ]
    sizes = {"M": word.m, "N": word.n}
    return tuple(
        f"{CONTRADICTION} {name} {size}, but the word has {name} {sizes[name]}."
        for name, size in dict.fromkeys(stated)
        if int(size) != sizes[name]
    )
