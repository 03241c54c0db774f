"""SVG to PNG and PDF: resvg and svg2pdf, with DejaVu Sans Mono from the matplotlib package, so that pictures look alike everywhere.

Chosen from the comparison in docs/benchmarks.md's sources: both drew these grids exactly, need no system library and are MIT. They load no
system font: without a named font resvg drops text silently.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

from layouts.errors import LayoutError

FAMILY = "DejaVu Sans Mono"
LARGEST_PIXELS = 12000
HINT = "pip install 'lanescope[pictures]'"


@lru_cache(maxsize=1)
def fonts() -> tuple[str, ...]:
    """The files of the shipped font, found without importing the package that ships it."""
    found = importlib.util.find_spec("matplotlib")
    folder = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" if found and found.origin else Path()
    files = [folder / name for name in ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")]
    if not found or not all(file.is_file() for file in files):
        raise LayoutError("no_pictures", "The font for PNG and PDF is not installed.", HINT, "form")
    return tuple(map(str, files))


def available() -> str:
    """Why PNG and PDF cannot be made here, "" where they can."""
    missing = [name for name in ("resvg_py", "svg2pdf_py", "matplotlib") if importlib.util.find_spec(name) is None]
    return f"Not installed: {', '.join(missing)}. {HINT}" if missing else ""


def _check(drawing: str) -> None:
    reason = available()
    if reason:
        raise LayoutError("no_pictures", f"PNG and PDF cannot be made here: {reason}.", HINT, "form")
    strange = sorted({letter for letter in drawing if ord(letter) > 0x2FFF})
    if strange:
        raise LayoutError(
            "no_glyphs", f"{FAMILY} has no glyph for '{''.join(strange[:8])}'.", "Chinese text: SVG, TeX, text or Markdown.", "lang"
        )


def png(drawing: str, scale: float = 2.0) -> bytes:
    """The picture as PNG, `scale` pixels a unit."""
    _check(drawing)
    import resvg_py

    width = float(drawing.split('width="', 1)[1].split('"', 1)[0])
    height = float(drawing.split('height="', 1)[1].split('"', 1)[0])
    if max(width, height) * scale > LARGEST_PIXELS:
        raise LayoutError(
            "too_large",
            f"{width * scale:.0f}×{height * scale:.0f} pixels.",
            f"At most {LARGEST_PIXELS} each way: a smaller cell or scale.",
            "scale",
        )
    made = resvg_py.svg_to_bytes(
        svg_string=drawing, skip_system_fonts=True, font_files=list(fonts()), font_family=FAMILY, monospace_family=FAMILY, zoom=scale
    )
    return bytes(made)


def pdf(drawing: str) -> bytes:
    """The picture as PDF, its text selectable."""
    _check(drawing)
    import svg2pdf_py

    database = svg2pdf_py.FontDatabase()
    for file in fonts():
        database.load_font_file(file)
    return bytes(svg2pdf_py.svg_to_pdf(drawing, database))
