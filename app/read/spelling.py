"""Rewrite short texts as the tools spell them, and correct near misses."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache

from lanescope.app.catalogue import full_text
from lanescope.app.read import target_meanings, word_uses
from lanescope.names import vocabulary
from lanescope.ptx import catalog
from lanescope.reader.instructions import sass

LONGEST = 80  # characters of a text that is respelled
LEAST_LETTERS = 4
LEAST_ALIKE = 0.8
_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z]+(?![A-Za-z0-9_])")  # not a part of a name
_SASS = re.compile(  # with dots; or hmma 16816 bf16: the size, then types
    rf"\s*(?:{'|'.join(sass.OPCODES)})(?:(?:\.\w+)*"
    r"|[.\s]+(?:\d{3,6}|\d+x\d+x\d+)(?:[.\s]+(?:[fsub]\d+|[be]?f16|tf32|e\dm\d|sp))*)\s*",
    re.I,
)
_KIND_LAST = re.compile(
    r"\s*(0x[0-9a-f_']{5,25})\s+(wgmma|tcgen05|idesc|desc|(?:(?:wgmma|tcgen05)\s+)?(?:matrix\s+)?descriptor)\s*",
    re.I,
)
_SHAPE = r"\b(?:m\d+n\d+(?:k\d+)?|\d+x\d+x\d+|[mnk]\s?=\s?\d+)\b"
_OF_LIBRARY = re.compile(r"\s*(?:(?:\w+::)+|(?:torch|cutlass|ml_dtypes|jnp|tl|np)\.)(\w+)\s*")  # cute::half_t
_DOT = re.compile(r"\A\s*\.(?=[a-z]\w*(?:::\w+)+\s*\Z)")  # of a modifier: .kind::f16
_LEGAL = re.compile(  # is m64n264k16 legal? is N = 24 allowed for wgmma s8?
    rf"\s*(?:is|are|does|do|can|may)\s+(?P<name>(?:(?!\b(?:legal|valid)\b)[^?\n]){{0,80}}?{_SHAPE}[^?\n]{{0,80}}?)\s+"
    r"(?:an?\s+)?(?:legal|valid|allowed|supported|exist|possible|ok|be\s+used)(?:\s+(?:shape|instruction|size))?"
    r"(?:\s+(?:for|with|in|by|on)\s+(?P<use>[^?\n]{1,80}?))?\s*\??\s*",
    re.I,
)
_USABLE = re.compile(  # can I use m64n8k16 with f16?
    r"\s*(?:can|may|could)\s+(?:i|we|you|one)\s+use\s+(?P<name>[^?]+?)(?:\s+on\s+(?P<target>[^?]+?))?\s*\??\s*", re.I
)


def normalize_text(text: str) -> str:
    """Return a SASS mnemonic as the disassembler prints it, a word with its kind in front, a question about a number or
    whether a shape is legal without the words around it, a modifier without its dot, a type without its library;
    any other text unchanged.

    >>> normalize_text("hmma 16816 f32"), normalize_text("sttm.X16"), normalize_text("0x08400490 idesc")
    ('HMMA.16816.F32', 'STTM.x16', 'idesc 0x08400490')
    """
    text = word_uses.strip_question(text)
    if _SASS.fullmatch(text):
        return sass.spell_mnemonic(re.sub(r"[.\s]+", ".", text.strip()))
    if match := _LEGAL.fullmatch(text):
        name, use = re.sub(r"\s?=\s?", "", match["name"]), match["use"] or ""
        return f"is {name} supported on {use}" if target_meanings.find_targets(use).names else f"{name} {use}".strip()
    if match := _USABLE.fullmatch(text):
        named = re.search(r"\bm\d+n\d+", match["name"])
        return (
            match["name"]
            if named
            else f"is {match['name']} supported{' on' * bool(match['target'])} {match['target'] or ''}".strip()
        )
    if (named := _OF_LIBRARY.fullmatch(text)) and named[1].lower() in vocabulary.SYNONYMS:
        return named[1]
    match = _KIND_LAST.fullmatch(text)
    return f"{match[2]} {match[1]}" if match else _DOT.sub("", text)


def respell(text: str) -> str:
    """Return a short text with misspelled words replaced by known ones; "" if there are none.

    >>> respell("ldmatirx x4")
    'ldmatrix x4'
    """
    if len(text) > LONGEST or re.search(r"[<>{};=\"\n/\\\\]", text):
        return ""
    respelled = _WORD.sub(lambda match: _respell_word(match[0]), text)
    return "" if respelled == text else respelled


def _respell_word(word: str) -> str:
    known = _list_known()
    if len(word) < LEAST_LETTERS or any(form in known for form in (word.lower(), *full_text.split_words(word))):
        return word
    near = [
        candidate for candidate in known if candidate[0] == word[0].lower() and len(candidate) >= LEAST_LETTERS
    ]  # people mistype the first letter least
    return next(iter(get_close_matches(word.lower(), near, 1, LEAST_ALIKE)), word)


@lru_cache(maxsize=1)
def _list_known() -> dict[str, None]:
    """List the known words: opcodes of PTX and SASS first, then those of titles and headings."""
    opcodes = (word for opcode in (*catalog.OPCODES, *sass.OPCODES) for word in re.findall("[a-z]{4,}", opcode.lower()))
    return dict.fromkeys((*opcodes, *full_text.list_prominent()))
