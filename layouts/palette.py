"""Colour rows. Fills of one row stay apart in normal and colour-blind vision, and their ink is readable on all of them.

tests/test_palette.py measures the distances (CIEDE2000 under Machado 2009 vision) and contrasts (WCAG).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

FEW, MANY = 4, 8  # a wheel has four colours where they do for all categories, else eight


def wheel(count: int) -> tuple[str, ...]:
    """The CSS variables of `count` categories; more than there are repeat, so a legend must say the modulus."""
    return tuple(f"--four-{n}" for n in range(FEW)) if count <= FEW else tuple(f"--fill-{n}" for n in range(MANY))


@dataclass(frozen=True, slots=True)
class Palette:
    """A theme's fills, the ink on them, the page behind them, and the distance the fills keep."""

    name: str
    fills: tuple[str, ...]
    four: tuple[str, ...]
    ink: str
    paper: str
    line: str
    muted: str
    least_distance: float

    def fill(self, category: int, count: int) -> str:
        """The fill of one of `count` categories; more than eight repeat, so a legend must say the modulus."""
        row = self.four if len(wheel(count)) == FEW else self.fills
        return row[category % len(row)]


LIGHT = Palette(
    "light",
    ("#75aff3", "#f0d7c7", "#a0adbf", "#eef5a6", "#b9d9fe", "#d6a169", "#e9f5f9", "#adaba4"),
    ("#75aff3", "#e9f5f9", "#d6a169", "#adaba4"),
    "#000000",
    "#ffffff",
    "#5c6370",
    "#545b66",
    12.0,
)
DARK = Palette(
    "dark",
    ("#5b7ac1", "#6a2603", "#585d76", "#a67136", "#293373", "#6d5d4c", "#3d3836", "#7e7b7d"),
    ("#5b7ac1", "#6a2603", "#a67136", "#293373"),
    "#ffffff",
    "#14161a",
    "#8b93a1",
    "#aab2bf",
    14.0,
)
# Black and white: hatches instead of fills, told apart by direction and distance; the ink stands on a white halo.
BW = Palette(
    "bw",
    tuple(f"url(#hatch-{n})" for n in range(8)),
    tuple(f"url(#hatch-{n})" for n in (0, 1, 3, 4)),
    "#000000",
    "#ffffff",
    "#000000",
    "#000000",
    0.0,
)
# Each hatch: tile size, and the strokes in it; the first is empty.
HATCHES = (
    (6, ""),
    (6, "M0 6L6 0"),
    (6, "M0 0L6 6"),
    (6, "M0 3H6"),
    (6, "M3 0V6"),
    (6, "M0 3H6M3 0V6"),
    (6, "M0 6L6 0M0 0L6 6"),
    (3, "M0 1.5H3M1.5 0V3"),
)
PALETTES = {palette.name: palette for palette in (LIGHT, DARK, BW)}


def css(fields: Iterable[str] = ()) -> str:
    """Both themes as CSS variables: --fill-0 … --fill-7, --four-0 … --four-3, --cell-ink, --cell-line; then the colours
    of a word's fields.

    The n-th field has fill n, as in a picture: its bits in the editor (.bit.name) and the edge of its input (.fields
    .name).
    """
    pairs = [(f"--fill-{n}", LIGHT.fills[n], DARK.fills[n]) for n in range(len(LIGHT.fills))]
    pairs += [(f"--four-{n}", LIGHT.four[n], DARK.four[n]) for n in range(len(LIGHT.four))]
    pairs += [("--cell-ink", LIGHT.ink, DARK.ink), ("--cell-line", LIGHT.line, DARK.line)]
    rules = [
        f".bit.{name} {{ background: var(--fill-{n}); }} .fields .{name} {{ border-color: var(--fill-{n}); }}\n"
        for n, name in enumerate(fields)
    ]
    return (
        ":root {\n"
        + "".join(f"  {name}: light-dark({light}, {dark});\n" for name, light, dark in pairs)
        + "}\n"
        + "".join(rules)
    )
