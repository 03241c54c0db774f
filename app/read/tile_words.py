"""Read tiles of shared memory in words, `128x64 bf16 K 128B` or `tma box 64x128 swizzle 128B bf16`, or say which word
is missing or wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from lanescope.app.kit.fact import copy_fact
from lanescope.app.kit.links import link_smem
from lanescope.app.read import question_readings
from lanescope.app.read.facts import Meaning, Reading
from lanescope.app.read.memory_elements import MODES, SIZES, list_words
from lanescope.app.read.page_meanings import build_page_meaning
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.names import vocabulary
from lanescope.ptx.dtypes import DTYPES, get_dtype
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tile_text import HINT, MAJORS, parse_tile_text
from lanescope.shared.tiling import Tile
from lanescope.shared.tma import MOST_BOX, WIDTHS

_LONGEST = 200  # characters
_LINE = re.compile(r"\s*\d{1,6}\s?[x×]\s?\d{1,6}(?:\s+[\w=-]{1,20}){2,6}\s*", re.I)
_BITS = re.compile(r"(?<![\w.])(\d{1,3})-bit\b", re.I)
_WIDTH = re.compile(r"\d{2,4}b")
_JOINED = re.compile(r"_|(?<=tensor)-(?=map)", re.I)  # SWIZZLE_128B, tensor-map
_BOX = frozenset(("tma", "box", "map", "tensormap", "boxes"))
_NONE = frozenset(("none", "no", "unswizzled"))
_SAYING = frozenset(("tile", "tiles", "swizzle", "swizzled", "unswizzled"))
_BESIDE = frozenset("tensor shared shared-memory smem memory elements rows".split())
_OF_SEVERAL = frozenset(("a", "b", "c", "d", "and", "two", "three", "both"))


def read_tiles(text: str) -> Reading | None:
    """Read a text that is nothing but tiles in words; None for any other text."""
    try:
        tiles = list_tiles(text) if len(text) <= _LONGEST else ()
    except LayoutError as error:
        return question_readings.build_unknown(text, "Not a tile", [f"{error.message} {error.hint}".strip()])
    return copy_fact(Reading, tiles[0], also=tiles[1:]) if tiles else None


def list_tiles(text: str) -> tuple[Meaning, ...]:
    """List the tiles of a text, each with its own swizzle and type, or with the only ones of the text; () for another
    text. LayoutError if its only tile is open, or none.
    """
    if _LINE.fullmatch(text) and (spec := _parse_line(text)):
        return (_build_tile(spec, () if "swizzle" in spec else ("Assumed: no swizzle.",)),)
    words = _parse_words(text)
    if words is None:
        return ()
    if len(words.sizes) == 1:
        return (_find_tile(words, words.sizes[0], words.modes, words.bit_counts),)
    try:
        return tuple(
            map(_find_tile, repeat(words), words.sizes, words.spread(words.modes), words.spread(words.bit_counts))
        )
    except LayoutError:
        return ()


@dataclass(frozen=True, slots=True)
class _TileWords:
    """What a text of tiles says: their sizes, swizzle modes, bits of an element and majors; is_box: whether it calls
    them boxes.
    """

    text: str
    sizes: tuple[tuple[int, int], ...]
    modes: tuple[str, ...]
    bit_counts: tuple[int, ...]
    majors: frozenset[str]
    is_box: bool

    def spread(self, found: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return what each tile has: its own value, or all that the text has."""
        return [(value,) for value in found] if len(found) == len(self.sizes) else [found] * len(self.sizes)


def _parse_words(text: str) -> _TileWords | None:
    """Parse tiles in words; return None for any other text. LayoutError if no tile has a swizzle of that width."""
    sizes = tuple((int(first), int(second)) for first, second in SIZES.findall(text))
    words = list_words(_JOINED.sub(" ", _BITS.sub(" ", SIZES.sub(" ", text))))
    if not sizes or not _are_of_tiles(words, len(sizes) > 1):
        return None
    for word in words:
        if _WIDTH.fullmatch(word) and word not in MODES:
            get_mode(word[:-1] + "B")
    modes = tuple(MODES[word] for word in words if word in MODES) or ("none",) * (not _NONE.isdisjoint(words))
    bit_counts = (*map(int, _BITS.findall(text)), *filter(None, map(_get_bits, words)))
    majors = frozenset(MAJORS[word] for word in words if word in MAJORS)
    return _TileWords(text, sizes, modes, bit_counts, majors, not _BOX.isdisjoint(words)) if modes else None


def _are_of_tiles(words: list[str], several: bool) -> bool:
    """Return whether words are all of tiles, and one of them says so: box, tile, or a swizzle."""
    named = {word for word in words if _WIDTH.fullmatch(word)} | {*MODES, *_BOX, *_SAYING}
    known = named | {*MAJORS, *DTYPES, *vocabulary.SYNONYMS} | _BESIDE | _NONE | (_OF_SEVERAL if several else set())
    return known.issuperset(words) and not named.isdisjoint(words)


def _get_bits(word: str) -> int:
    """Return the bits of an element type, 0 for another word."""
    names = [name for name in vocabulary.SYNONYMS.get(word, (word,)) if name in DTYPES]
    return get_dtype(names[0]).bits if names else 0


def _parse_line(text: str) -> dict[str, Any]:
    """Return the fields of a tile as commands take it, {} for another text."""
    try:
        return parse_tile_text(text)
    except LayoutError:
        return {}


def _find_tile(
    words: _TileWords, size: tuple[int, int], modes: tuple[str, ...], bit_counts: tuple[int, ...]
) -> Meaning:
    """Return the tile of one size; LayoutError if its type, its swizzle or the order of its lengths is open."""
    for found, what in ((bit_counts, "element type"), (modes, "swizzle")):
        if len(set(found)) != 1:
            how = f"several {what}s" if found else f"no {what}"
            raise LayoutError("bad_tile", f"'{shorten_value(words.text.strip())}' has {how}.", HINT, "text")
    mode, bits = modes[0], bit_counts[0]
    if words.majors:
        mn, k = size
        return _build_tile({"mn": mn, "k": k, "element_bits": bits, "major": min(words.majors), "swizzle": mode}, ())
    k = _find_contiguous(size, mode, bits)
    mn = size[1] if size[0] == k else size[0]
    if words.is_box and mn > MOST_BOX:
        raise LayoutError("bad_tile", f"A box has at most {MOST_BOX} elements in each dimension, not {mn}.", "", "text")
    order = f"The {k} fit the width of the swizzle, so they are contiguous. " if k != mn else ""
    spec = {"mn": mn, "k": k, "element_bits": bits, "major": "K", "swizzle": mode}
    return _build_tile(spec, (f"{order}Assumed: K-major. The page takes any other.",))


def _find_contiguous(size: tuple[int, int], mode: str, bits: int) -> int:
    """Return the length that is as wide as the swizzle; LayoutError unless the other one is longer, or the same."""
    width = 0 if mode == "none" else WIDTHS[mode] * 8 // bits
    if {length for length in size if 0 < length <= width} != {width} or not width:
        fits = "both lengths fit" if max(size) <= width else "neither length fills"
        why = f"{fits} the {width} elements of a row" if width else "without a swizzle either length may be contiguous"
        raise LayoutError("bad_tile", f"The major is open: {why}.", HINT, "text")
    return width


def _build_tile(spec: dict[str, Any], notices: tuple[str, ...]) -> Meaning:
    """Build the meaning of a tile; LayoutError if no descriptor reads such a one."""
    spec = {name: value for name, value in spec.items() if name != "kind"}
    mode = get_mode(spec.pop("swizzle", "none"))
    Tile(mode=mode, **spec)
    query = {"element_bits": spec["element_bits"], "major": spec["major"], "swizzle": mode.name, **spec}
    query |= {"base": hex(spec["base"])} if "base" in spec else {}
    elements = f"{spec['mn']}×{spec['k']} {spec['element_bits']}-bit elements"
    swizzle = "no swizzle" if mode.chunks == 1 else f"swizzle {mode.name}"
    title = f"Tile of {elements}: {spec['major']}-major, {swizzle}"
    return build_page_meaning(title, link_smem(query), notices)
