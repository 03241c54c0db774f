"""The find field of a tile in shared memory: the byte address and the bank of an element. No framework."""

from __future__ import annotations

from lanescope.app.kit.find import check_element, parse_places
from lanescope.errors import LayoutError
from lanescope.shared.tiling import Tile

EXAMPLE = "[5][9]"
NAMES = ("a", "b", "tile")
BANK_BYTES, BANKS = 4, 32


def find_elements(tile: Tile, text: str) -> str:
    """Say at which byte and in which bank element [mn][k] lies, or two such; LayoutError `bad_find` names the legal
    range.
    """
    places = parse_places(text, NAMES, EXAMPLE, bare=True)
    if any(place.coords is None for place in places):
        raise LayoutError("bad_find", "Only an element [mn][k] is found here.", f"Try {EXAMPLE}.", "find")
    if tile.element_bits < 8:
        raise LayoutError("bad_find", "Elements of less than a byte are not found here.", "", "find")
    found = [check_element(place, tile.mn, tile.k, "The tile, mn × k,") for place in places]
    addresses = [int(tile.address(mn, k)) for mn, k in found]
    banks = {address // BANK_BYTES % BANKS for address in addresses}
    told = [
        f"`[{mn}][{k}]` (mn, k) is at byte `0x{address:x}`, {address - tile.base:,} bytes into the tile, bank"
        f" `{address // BANK_BYTES % BANKS}`"
        for (mn, k), address in zip(found, addresses, strict=True)
    ]
    if len(told) > 1:
        told.append(
            f"{addresses[-1] - addresses[0]:+,} bytes, {'the same bank' if len(banks) == 1 else 'another bank'}"
        )
    return "; ".join(told)
