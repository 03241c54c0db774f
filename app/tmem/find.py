"""The find field of tensor memory: the lane and column of an element of D. No framework."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope.app.kit.find import SoughtPlace, parse_places
from lanescope.app.tmem import placement
from lanescope.app.tmem.placement import Placement, PlacementQuestion
from lanescope.errors import LayoutError

EXAMPLE = "D[70][3], row 70 of D"


def find_elements(told: Placement, text: str) -> str:
    """Say in which lane and column an element of D lies, or the first one of a row; or two of them.

    LayoutError `bad_find` names the legal range.
    """
    places = parse_places(text, ("d",), EXAMPLE)
    return "; ".join(_find_element(told, place) for place in places)


def _find_element(told: Placement, place: SoughtPlace) -> str:
    if place.coords:
        row, col = place.coords
    elif place.line and place.line[0] == "row":
        row, col = place.line[1], 0
    elif place.index is not None:
        row, col = place.index, 0  # D 70 is a row: whole rows are in a lane
    else:
        raise LayoutError("bad_find", "Only an element or a row of D is found here.", f"Try {EXAMPLE}.", "find")
    one = next(each for each in told.operands if each.name == "D")
    rows, columns = list(one.layout.coords.values())[:2]
    high, wide, ctas = int(rows.max()) + 1, int(columns.max()) + 1, told.mma.ctas
    if one.layout.axes[:2] != ("row", "col") or (ctas > 1 and high != told.mma.place.rows):
        raise LayoutError("bad_find", "The rows of this D are not counted here.", "Look at a lane and column.", "find")
    if row >= high * ctas or col >= wide:
        most = f"rows 0–{high * ctas - 1}, columns 0–{wide - 1}"
        raise LayoutError("bad_find", f"D is {high * ctas} × {wide}: {most}.", "", "find")
    cta, inside = divmod(row, high)
    per, bits, mask = 32 // one.layout.bits, one.layout.bits, one.mask
    said = []
    for lane, unit in np.argwhere((rows == inside) & (columns == col)).tolist():
        at, first = one.column + unit // per, unit % per * bits
        if mask[lane, at]:
            said.append(f"`lane {lane}`, `column {at}`" + (f", bits `{first + bits - 1}:{first}`" if per > 1 else ""))
    if not said:
        raise LayoutError("bad_find", f"D[{row}][{col}] is not stored.", "", "find")
    return f"`D[{row}][{col}]` is in {f'CTA {cta}, ' if ctas > 1 else ''}{' and in '.join(said)}"


def show_placement(asked: PlacementQuestion, told: Placement) -> dict[str, Any]:
    """Return what the page shows beside the placement, with the answer of the find field."""
    found, refusal = "", ""
    if asked.find.strip():
        try:
            found = find_elements(told, asked.find)
        except LayoutError as error:
            refusal = f"{error.message} {error.hint}".strip()
    more = {"found": found, "refusal": refusal, "sought": asked.find, "example": EXAMPLE}
    return placement.show_placement(asked, told) | more
