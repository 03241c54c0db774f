"""What /scale-factors shows for an address. No framework."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from lanescope.app.kit.fact import Json
from lanescope.app.scales import draw, facts
from lanescope.app.scales.facts import ASKED
from lanescope.render import scaling as code

# Tiles to begin with: (what it is, the address that shows it).
EXAMPLES: tuple[tuple[str, dict[str, str]], ...] = (
    ("mxf8f6f4, 128 × 256 × 256", {}),
    ("mxf4nvf4 with 16 elements a factor", {"kind": "mxf4nvf4", "scale_vec": "4X", "n": "128"}),
    ("mxf4, N = 192", {"kind": "mxf4", "n": "192", "side": "b", "row": "150"}),
    ("A pair of CTAs, M = 256", {"cta_group": "2", "m": "256", "n": "256", "side": "b", "row": "200"}),
    ("A pair with M = 128", {"cta_group": "2", "n": "128", "side": "b", "row": "70"}),
)


def address(given: Json) -> str:
    """The page of a tile."""
    return "/scale-factors" + (f"?{urlencode(given)}" if given else "")


def context(query: Json) -> dict[str, Any]:
    """Everything the page shows; LayoutError names the wrong field."""
    asked = {name: str(query[name]) for name in query if name in ASKED}
    tile = facts.tile_of(asked)
    told = facts.scale_facts(asked)
    held = tile.looked.where(tile.row, tile.factor)
    issued = "" if tile.open else code.issue(tile.a, [*tile.a.copies(), *tile.b.copies()], facts.steps(tile))
    return {
        "told": told,
        "given": {name: asked.get(name) or usual for name, (_, _, usual) in ASKED.items()}
        | {"scale_vec": tile.mma.scale_vec},
        "choices": {name: words for name, (words, _, _) in ASKED.items() if words}
        | {"scale_vec": tuple(tile.mma.kind.scaled)},
        "svg": draw.picture(tile.looked, tile.row, tile.factor, held),
        "title": f"kind::{told.kind}, scale_vec::{told.scale_vec}: 1 factor = {told.block} elements of K",
        "open": facts.OPEN if tile.open else "",
        "examples": [{"title": title, "href": address(one)} for title, one in EXAMPLES],
        "order": code.order(),
        "issue": issued,
        "register": code.register(tile.a.per_step),
        "error": None,
    }


def figure(query: Json) -> str:
    """The picture of an address, as the guide shows it."""
    return str(context(query)["svg"])
