"""A descriptor in a running text with the tile that it should read: `0x4000004000010040 <64x64 bf16 K 128B>`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.descriptor.matrix import K_BYTES, View
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.ptx.table.descriptors import get_format, get_format_of_word
from lanescope.shared.storage import storage
from lanescope.shared.tile_text import parse_tile_text
from lanescope.testing import assert_descriptor_reads
from lanescope.testing.descriptors import assert_view_reads

HINT = "Write the word, then the tile: 0x4000004000010040 <64x64 bf16 K 128B base=0x400 k=16>."
MOST_ROWS = 256
_ROLE = re.compile(r"\s*(?P<word>.+?)\s*(?<!<)<(?!<)(?P<tile>.+)>\s*", re.S)  # the word may be a C++ expression
_PLACE = re.compile(r"(?<!\S)(mn|k|rows|major|format)=(\S+)")
_FOR = re.compile(r"\s+for\s+(?P<instruction>\S+)(?:\s+(?P<operand>[ab]))?(?:\s+idesc=(?P<idesc>\S+))?\s*$")


@dataclass(frozen=True, slots=True)
class CheckedWord:
    """A word in its spelling, and the description of what it reads."""

    text: str
    reads: str


def check_word(text: str) -> CheckedWord:
    """Check that a word reads the tile behind it; AssertionError with cause and repair if it does not.

    text: `WORD <TILE k=… mn=… rows=… for INSTRUCTION OPERAND idesc=…>`. Without an instruction all rows of the tile
    are read, 256 at the most, and 32 bytes of K; the word determines its format. LayoutError for a wrong text.
    """
    parts = _ROLE.fullmatch(text)
    if not parts:
        raise LayoutError("bad_word", f"'{text.strip()[:80]}' does not name a tile.", HINT)
    word, described = parts["word"], parts["tile"]
    by = _FOR.search(described)
    described = described[: by.start()] if by else described
    places = _parse_places(described, alone=not by)
    tile = " ".join(_PLACE.sub("", described).split())
    mn, k = (parse_integer(places.get(name, "0"), name) for name in ("mn", "k"))
    if by:
        assert_descriptor_reads(
            word,
            tile,
            by["instruction"],
            by["operand"] or "a",
            mn=mn,
            k=k,
            major=places.get("major", ""),
            idesc=by["idesc"],
        )
    else:
        _check_all_rows(word, tile, places, (mn, k))
    return CheckedWord(word, f"reads {tile}" + f" at mn {mn}, k {k}" * bool(mn or k))


def _parse_places(described: str, alone: bool) -> dict[str, str]:
    """Parse the name=value pairs beside a tile. alone: whether no instruction is named."""
    pairs = _PLACE.findall(described)
    places = dict(pairs)
    if len(places) < len(pairs):
        raise LayoutError("bad_word", f"'{described.strip()[:80]}' gives a number twice.", HINT)
    if decided := [name for name in ("rows", "format") if name in places and not alone]:
        raise LayoutError("bad_word", f"The instruction decides {decided[0]}.", f"Leave out {decided[0]}=.")
    return places


def _check_all_rows(word: str, tile: str, places: dict[str, str], at: tuple[int, int]) -> None:
    """Check a word without an instruction against the rows of the tile."""
    form = get_format(places["format"]) if "format" in places else get_format_of_word(parse_word(word).word)
    spec = parse_tile_text(tile)
    bits, major = spec.get("element_bits"), str(places.get("major") or spec.get("major") or "K")
    if not isinstance(bits, int):
        raise LayoutError(
            "bad_tile", "The instruction that reads the CuTe layout is missing.", "Add for INSTRUCTION OPERAND.", "tile"
        )
    stored = storage(spec, bits, major, form)
    rows = parse_integer(places.get("rows", min((stored.mn or 0) - at[0], MOST_ROWS) // 8 * 8), "rows", 8)
    assert_view_reads(word, View(rows, K_BYTES * 8 // bits, bits, major, form), stored, *at)
