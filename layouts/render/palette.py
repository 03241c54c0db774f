"""Colours of two kinds that never mix: categories and status.

Categories: fills in one row are distinguishable in normal and colour-blind vision, from the page and from the white of
a correct cell, and text is readable on all of them. Neighbours in a row differ most; the set of four is of mid-tones,
for large areas of one colour. Status: the result of a check, the same in both themes.

tests/test_palette.py measures the distances (CIEDE2000 under Machado 2009 vision) and contrasts (WCAG).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

FEW, MANY = 4, 8  # four colours where that is enough for all categories, else eight


def list_fill_variables(count: int) -> tuple[str, ...]:
    """Return the CSS variables of `count` categories.

    Beyond the number of fills they repeat, so a legend must state the modulus.
    """
    return tuple(f"--four-{n}" for n in range(FEW)) if count <= FEW else tuple(f"--fill-{n}" for n in range(MANY))


@dataclass(frozen=True, slots=True)
class Palette:
    """A theme's fills, the text colour on them, the page background, and the minimum distance between fills."""

    name: str
    fills: tuple[str, ...]
    four: tuple[str, ...]
    ink: str
    paper: str
    line: str
    muted: str
    least_distance: float
    ok: str
    bad: str
    accent: str
    wrong: str  # the fill of a wrong cell

    def get_fill(self, category: int, count: int) -> str:
        """Return the fill of one of `count` categories.

        Beyond eight they repeat, so a legend must state the modulus.
        """
        row = self.four if len(list_fill_variables(count)) == FEW else self.fills
        return row[category % len(row)]


LIGHT = Palette(
    "light",
    ("#8ec5ff", "#a6958c", "#d7e7fc", "#7395d8", "#c0bbbf", "#d59c6c", "#9294a6", "#f2e0af"),
    four=("#7b93d8", "#c08c56", "#9bd6fa", "#989596"),
    ink="#000000",
    paper="#ffffff",
    line="#5c6370",
    muted="#545b66",
    least_distance=12.0,
    ok="#17784a",
    bad="#a92020",
    accent="#1f56c3",
    wrong="#f7c4be",
)
DARK = Palette(
    "dark",
    ("#017eb4", "#4b4c45", "#807654", "#0e235b", "#6c7778", "#6a4b0d", "#2d566a", "#391800"),
    four=("#047eb6", "#9a6e36", "#003b6d", "#636263"),
    ink="#ffffff",
    paper="#14161a",
    line="#8b93a1",
    muted="#aab2bf",
    least_distance=14.0,
    ok="#66d19e",
    bad="#ff8f86",
    accent="#8fb4ff",
    wrong="#6e2320",
)
# Black and white: hatches instead of fills, told apart by direction and distance; the ink stands on a white halo.
BW = Palette(
    "bw",
    tuple(f"url(#hatch-{n})" for n in range(8)),
    four=tuple(f"url(#hatch-{n})" for n in (1, 2, 3, 4)),
    ink="#000000",
    paper="#ffffff",
    line="#000000",
    muted="#000000",
    least_distance=0.0,
    ok="#000000",
    bad="#000000",
    accent="#000000",
    wrong="#ffffff",
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


@dataclass(frozen=True, slots=True)
class CellStatus:
    """A result of a check, and how it is drawn.

    words: text in a legend. filled: whether the cell has the fill of a wrong one. strokes: the hatch, as (palette
    colour, direction); none for a plain cell. mark: (sign, colour).
    """

    name: str
    words: str
    strokes: tuple[tuple[str, str], ...] = ()
    mark: tuple[str, str] = ("", "")
    filled: bool = False


STATUSES = (
    CellStatus("right", "right", mark=("✓", "ok")),
    CellStatus("wrong", "wrong", mark=("✗", "bad"), filled=True),
    CellStatus("idle", "neither read nor stored"),
    CellStatus("read", "read, but not stored here", (("bad", "/"),)),
    CellStatus("stored", "stored, but not read", (("accent", "\\"),)),
    CellStatus("both", "read, but another element is stored here", (("bad", "/"), ("accent", "\\"))),
    CellStatus("moved", "held elsewhere", (("accent", "\\"),)),
    CellStatus("reordered", "in another order", (("muted", "/"),)),
)
RIGHT, WRONG, IDLE, READ, STORED, BOTH, MOVED, REORDERED = range(len(STATUSES))


def list_theme_colours() -> list[tuple[str, str, str]]:
    """Return the CSS variables whose colour depends on the theme, with their light and dark values."""
    colours = [(f"--fill-{n}", LIGHT.fills[n], DARK.fills[n]) for n in range(len(LIGHT.fills))]
    colours += [(f"--four-{n}", LIGHT.four[n], DARK.four[n]) for n in range(len(LIGHT.four))]
    colours += [(f"--{name}", getattr(LIGHT, name), getattr(DARK, name)) for name in ("ok", "bad", "accent", "wrong")]
    return [*colours, ("--cell-ink", LIGHT.ink, DARK.ink), ("--cell-line", LIGHT.line, DARK.line)]


def render_css(fields: Iterable[str] = ()) -> str:
    """Return both themes as CSS variables: --fill-0 … --fill-7, --four-0 … --four-3, --cell-ink, --cell-line; then a
    word's fields.

    The n-th field has fill n, as in a picture: its bits in the editor (.bit.name) and the edge of its input (.fields
    .name).
    """
    rules = [
        f".bit.{name} {{ background: var(--fill-{n}); }} .fields .{name} {{ border-color: var(--fill-{n}); }}\n"
        for n, name in enumerate(fields)
    ]
    return (
        ":root {\n"
        + "".join(f"  {name}: light-dark({light}, {dark});\n" for name, light, dark in list_theme_colours())
        + "}\n"
        + "".join(rules)
    )
