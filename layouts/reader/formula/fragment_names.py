"""Names in a pasted formula or loop: of its row and column, of the value's index, and of the operand."""

from __future__ import annotations

import re

from lanescope.errors import LayoutError
from lanescope.reader.formula.fragment_formula import INDEX
from lanescope.reader.formula.lane_code import LaneCode
from lanescope.reader.formula.lane_places import make_open_error

_OF_OPERAND = re.compile(r"([abcd])_?(?:row|col)\w*|(?:row|col(?:umn)?)_?([ABCD]|(?<=_)[abcd])")


def find_coordinates(code: LaneCode) -> tuple[str, str]:
    """Return the names of a text's row and column variables."""
    return find_coordinate(code, "row"), find_coordinate(code, "col")


def find_coordinate(code: LaneCode, word: str) -> str:
    names = [name for name in code.names if word in name.lower()]
    if len(names) == 1:
        return names[0]
    unread = [name for name in code.unread if word in name.lower()]
    if unread and "divides by 0" in code.unread[unread[0]]:
        message = f"'{unread[0]}' divides by 0, so it has no value."
        raise LayoutError("open_formula", message, "Divide by the lanes of a row, as in lane / 4.", "text")
    why = f"{len(names)} names are a {word}"
    if unread:
        why = f"'{unread[0]}' cannot be evaluated: {code.unread[unread[0]]}"
    raise make_open_error(why if names or unread else f"no {word} is computed")


def find_named(names: tuple[str, str]) -> str:
    """Return the operand's letter in names such as c_row or colB; "" if none."""
    found = {(match[1] or match[2]).lower() for match in map(_OF_OPERAND.fullmatch, names) if match}
    return found.pop() if len(found) == 1 else ""


def find_index(source: str) -> tuple[str, ...]:
    """Return the name of the value's index as a tuple; () if the text has none or assigns it."""
    used = tuple(
        name for name in INDEX if re.search(rf"\b{name}\b", source) and not re.search(rf"\b{name}\s*=(?!=)", source)
    )
    if len(used) > 1:
        raise make_open_error(f"{' and '.join(used)} may both be the value’s index")
    return used
