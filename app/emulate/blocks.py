"""Blocks of a grid in a command, a page or a request."""

from __future__ import annotations

from lanescope.emulate.launching.kernel import Place
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer, quote_value

MOST = (1 << 31) - 1


def parse_block(value: object, field: str) -> Place:
    """Parse the position of a block: text X,Y,Z (missing ones are 0), or a list of three integers."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not (1 <= len(parts) <= 3 if isinstance(value, str) else len(parts) == 3):
        example = "Write X,Y,Z, as in 0,0,0." if isinstance(value, str) else "Give [x, y, z]."
        raise LayoutError("bad_request", f"{field} is {quote_value(value)}.", example, field)
    x, y, z = (parse_integer(part, field, 0, MOST) for part in [*parts, 0, 0][:3])
    return x, y, z


def parse_blocks(items: list[str] | None) -> list[Place] | None:
    """Parse the blocks of a command line: X,Y,Z each, in several items or separated by semicolons or blanks; None if
    there are none.
    """
    if not items:
        return None
    return [
        parse_block(split_triple, "blocks")
        for item in items
        for part in item.replace(";", " ").split() or [item]
        for split_triple in _split_triples(part)
    ]


def _split_triples(text: str) -> list[str]:
    """Split a list of numbers into blocks; anything else is left to parse_block."""
    numbers = text.split(",")
    if len(numbers) <= 3 or len(numbers) % 3:
        return [text]
    return [",".join(numbers[n : n + 3]) for n in range(0, len(numbers), 3)]
