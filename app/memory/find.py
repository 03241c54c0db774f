"""The find field of a tile in shared memory: the byte address and the bank of an element. No framework."""

from __future__ import annotations

from lanescope.app.kit.find import check_element, parse_places
from lanescope.errors import LayoutError
from lanescope.shared.tiling import Tile

EXAMPLE = "[5][9]"
NAMES = ("a", "b", "tile")
BANK_BYTES, BANKS = 4, 32


def find_element(tile: Tile, text: str) -> str:
    """Say at which byte and in which bank element [mn][k] lies; LayoutError `bad_find` names the legal range."""
    place, *more = parse_places(text, NAMES, EXAMPLE, bare=True)
    if more or place.coords is None:
        raise LayoutError("bad_find", "Only an element [mn][k] is found here.", f"Try {EXAMPLE}.", "find")
    if tile.element_bits < 8:
        raise LayoutError("bad_find", "Elements of less than a byte are not found here.", "", "find")
    mn, k = check_element(place, tile.mn, tile.k, "The tile, mn × k,")
    address = int(tile.address(mn, k))
    offset = address - tile.base
    return (
        f"`[{mn}][{k}]` (mn, k) is at byte `0x{address:x}`, {offset:,} bytes into the tile, bank"
        f" `{address // BANK_BYTES % BANKS}`"
    )
