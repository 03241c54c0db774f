"""Pins and the find field of a tile in shared memory: byte address and bank of an element."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanescope.app.kit.answer import PinnedPlace
from lanescope.app.kit.maps.bench import BANK_BYTES, BANKS, PIN
from lanescope.app.kit.sheets import PinSheet, SheetPage, SheetWords, make_element_finder
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.shared.tiling import Tile

EXAMPLE = "[5][9], byte 0x2c2"
TITLE = "The tile, mn × k,"
LINE = "`[{mn}][{k}]` (mn, k) is at byte `0x{byte_hex}`, {offset} bytes into the tile, bank `{bank}`"  # scripts, too
WORDS = SheetWords(
    nothing="Where is an element?",
    invitation=f"Click a cell, or type one: {EXAMPLE}. Shift and a click pin a second one.",
    together="Both are in the same bank.",
    apart="They are in different banks.",
)
_BYTE = re.compile(r"(?:byte\s*)?0x[0-9a-f]{1,9}|byte\s*\d{1,9}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class TileSheet(PinSheet):
    """The elements of a tile."""

    tile: Tile | None = None

    def describe(self, row: int, col: int) -> PinnedPlace:
        """Return the byte address and bank of element [mn][k]."""
        assert self.tile is not None
        byte = int(self.tile.address(row, col))
        bank = byte // BANK_BYTES % BANKS
        offset = f"{byte - self.tile.base:,}"
        return PinnedPlace(LINE.format(mn=row, k=col, byte_hex=f"{byte:x}", offset=offset, bank=bank), "", bank)


def make_sheet_page(tile: Tile) -> SheetPage:
    """Return the page's one sheet: the elements of the tile."""
    sheet = TileSheet("tile", TITLE, tile.mn, tile.k, (), (), tile=tile)
    return SheetPage((sheet,), WORDS, EXAMPLE, lambda text: find_pins(sheet, text))


def build_script_data(tile: Tile, page: SheetPage) -> dict[str, Any]:
    """Return the templates with which the page's script describes an element."""
    answer = {"mn": tile.mn, "k": tile.k, "base": tile.base, "bits": tile.element_bits, "line": LINE}
    return {"words": {name: getattr(page.words, name) for name in SheetWords.__slots__}, "answer": answer}


def find_pins(sheet: TileSheet, text: str) -> list[str]:
    """Return the pins of elements, or of the element that contains a byte. LayoutError `bad_find` names the legal
    range.
    """
    tile = sheet.tile
    assert tile is not None
    if tile.element_bits < 8:
        raise LayoutError("bad_find", "Elements of less than a byte are not found here.", "", "find")
    if _BYTE.fullmatch(text.strip()):
        return [PIN.format(panel="tile", row=mn, col=k) for mn, k in [_find_byte(tile, text)]]
    return list(make_element_finder((sheet,), EXAMPLE, a="tile", b="tile")(text))


def _find_byte(tile: Tile, text: str) -> tuple[int, int]:
    """Return the element that contains a byte of shared memory."""
    wanted = parse_integer(re.sub(r"(?i)^byte\s*", "", text.strip()), "find")
    offsets = tile.compute_offsets() + tile.base
    hit = np.argwhere((offsets <= wanted) & (wanted < offsets + tile.element_bits // 8))
    if not hit.size:
        last = int(offsets.max()) + tile.element_bits // 8 - 1
        hint = f"The tile has bytes {tile.base:#x} to {last:#x}."
        raise LayoutError("bad_find", f"No element is at byte {wanted:#x}.", hint, "find")
    mn, k = hit[0].tolist()
    return mn, k
