"""Read a canonical layout with its symbols, as PTX and CUTLASS print it: which descriptor mode and major it is."""

from __future__ import annotations

import re
from functools import cache

from lanescope.app.kit.links import link_smem
from lanescope.app.read.facts import Meaning
from lanescope.app.read.page_meanings import build_page_meaning
from lanescope.shared.swizzle import BY_WIDTH, Mode
from lanescope.shared.tiling import spell_canonical

_TEXT = re.compile(
    r"\s*(?:[\w:. *]{1,40}:\s)?\s*(?:Sw(?:izzle)?<\s*(?P<bits>\d)\s*,\s*4\s*,\s*3\s*>\s*[o∘]\s*)?"
    r"(?:smem_ptr\s*[o∘]\s*)?"
    r"(?P<layout>\([\w\s(),]+:[\w\s(),]+\))\s*"
)
_LONGEST = 200
_UNITS = (
    "Its unit is a chunk of 16 bytes.",
    "Its unit is an element; T elements are 16 bytes: 8 of 16 bits.",
)
_STRIDES = "LBO and SBO are the descriptor's two distances between core matrices or atoms, in the same unit."


def find_meaning(text: str) -> Meaning | None:
    """Return the meaning of a canonical layout with the symbols LBO and SBO; None for any other text."""
    match = _TEXT.fullmatch(text) if "SBO" in text and len(text) <= _LONGEST else None
    found = _index_forms().get(_normalize(match["layout"])) if match else None
    if match is None or found is None:
        return None
    mode, major, unit = found
    notices = [_UNITS[unit], _STRIDES]
    if match["bits"] and int(match["bits"]) != (swizzle := mode.chunks.bit_length() - 1):
        notices = [
            f"The swizzle and the layout are of different modes: this layout goes with Swizzle<{swizzle},4,3>.",
            *notices,
        ]
    query = {"element_bits": 16, "major": major, "swizzle": mode.name, "mn": 64, "k": 64}
    title = f"Canonical layout of a matrix descriptor: {major}-major, {_name_mode(mode)}"
    return build_page_meaning(title, link_smem(query), tuple(notices))


@cache
def _index_forms() -> dict[str, tuple[Mode, str, int]]:
    """Map each canonical layout, without blanks, to its mode, its major and its unit: 0 for chunks, 1 for elements."""
    return {
        _normalize(form): (mode, major, unit)
        for major in ("K", "MN")
        for mode in BY_WIDTH
        for unit, form in enumerate(spell_canonical(mode, major))
    }


def _normalize(layout: str) -> str:
    """Return a layout without blanks and underscores, its free sizes called alike: CUTLASS has (T,2), PTX (T,2k)."""
    text = re.sub(r"[\s_]", "", layout)
    text = re.sub(r"(?<=,)n(?=\))", "m", text)
    return re.sub(r"\b1T\b", "T", text).replace("(T,2k)", "(T,2)")


def _name_mode(mode: Mode) -> str:
    return "no swizzle" if mode.chunks == 1 else f"swizzle {mode.name}"
