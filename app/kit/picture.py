"""PNG and PDF from SVG by resvg and svg2pdf, with the font DejaVu Sans Mono of the matplotlib package.

Both were chosen in the comparison of docs/benchmarks.md: they draw these grids exactly, need no system library and are
MIT licensed. They load no system font: without a named font resvg drops text silently.
"""

from __future__ import annotations

import base64
import importlib.util
import math
import sys
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from lanescope.app.hardware.pool import WorkerQueue
from lanescope.app.kit import picture_worker
from lanescope.app.kit.extras import format_install_command, list_missing
from lanescope.app.kit.picture_worker import FAMILY
from lanescope.errors import LayoutError

LARGEST_PIXELS = 12000  # per dimension
MOST_PIXELS = 24_000_000  # in total: 170 MB while it is drawn
SERVED_PIXELS = 8_000_000  # in total, for a server: 60 MB
SERVED_LABELS = {
    "png": 8192,
    "pdf": 4096,
}  # a server draws these in a few seconds; a PDF with 16,384 took 13 s and 120 MB
LAST_GLYPH = "\u2fff"  # from here on the shipped font has no glyphs: Chinese, Japanese, Korean
HINT = format_install_command("pictures")


@lru_cache(maxsize=1)
def find_fonts() -> tuple[str, ...]:
    """Return the files of the shipped font without importing its package."""
    spec = importlib.util.find_spec("matplotlib")
    folder = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" if spec and spec.origin else Path()
    files = [folder / name for name in ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")]
    if not spec or not all(file.is_file() for file in files):
        raise LayoutError("no_pictures", "The font for PNG and PDF is not installed.", HINT, "form")
    return tuple(map(str, files))


def explain_missing_renderer() -> str:
    """Return why PNG and PDF are not available, "" if they are."""
    missing = list_missing("pictures")
    return f"Not installed: {', '.join(missing)}. {HINT}" if missing else ""


@dataclass(frozen=True, slots=True)
class DrawingJob:
    """An SVG to draw as PNG (`scale` pixels per unit) or PDF. LayoutError, before drawing, if it cannot be drawn."""

    form: str
    svg: str
    scale: float = 1.0
    fonts: tuple[str, ...] = field(default_factory=find_fonts)

    def __post_init__(self) -> None:
        if reason := explain_missing_renderer():
            raise LayoutError("no_pictures", f"PNG and PDF cannot be made here: {reason}.", HINT, "form")
        if missing_glyphs := sorted(letter for letter in set(self.svg) if letter > LAST_GLYPH):
            raise LayoutError(
                "no_glyphs",
                f"{FAMILY} has no glyph for '{''.join(missing_glyphs[:8])}'.",
                "Chinese text: SVG, TeX, text or Markdown.",
                "lang",
            )
        width, height = (side * self.scale for side in measure_picture(self.svg))
        if self.form == "png" and (max(width, height) > LARGEST_PIXELS or width * height > MOST_PIXELS):
            raise LayoutError(
                "too_large",
                f"{width:.0f}×{height:.0f} pixels.",
                f"At most {LARGEST_PIXELS} in each direction and {MOST_PIXELS // 1_000_000} million in all: a smaller"
                " cell or scale, or a window.",
                "scale",
            )

    def render(self) -> bytes:
        """Render the picture in this process."""
        return (
            picture_worker.render_png(self.svg, self.scale, self.fonts)
            if self.form == "png"
            else picture_worker.render_pdf(self.svg, self.fonts)
        )


def measure_picture(svg: str) -> tuple[float, float]:
    """Return width and height of a picture in user units."""
    width, height = (float(svg.split(f'{side}="', 1)[1].split('"', 1)[0]) for side in ("width", "height"))
    return width, height


def limit_scale(svg: str, scale: float) -> float:
    """Return the scale, reduced if the picture would exceed what a server draws; in hundredths, so that an address can
    have it.
    """
    width, height = measure_picture(svg)
    return max(
        0.25,
        min(
            scale,
            math.floor(100 * math.sqrt(SERVED_PIXELS / (width * height))) / 100,
            math.floor(100 * LARGEST_PIXELS / max(width, height)) / 100,
        ),
    )


def check_drawing(drawing: DrawingJob) -> DrawingJob:
    """Return the drawing. LayoutError if it exceeds what a server draws for one request."""
    width, height = (side * drawing.scale for side in measure_picture(drawing.svg))
    if drawing.form == "png" and width * height > SERVED_PIXELS:
        raise LayoutError(
            "too_large",
            f"{width:.0f}×{height:.0f} pixels.",
            f"A server draws at most {SERVED_PIXELS // 1_000_000} million: a smaller cell or scale, or a window."
            " `lanescope diagram` draws more.",
            "scale",
        )
    labels = drawing.svg.count("<text") + drawing.svg.count("<tspan")
    if labels > SERVED_LABELS[drawing.form]:
        raise LayoutError(
            "too_large",
            f"{labels} labels in a {drawing.form.upper()}.",
            f"A server draws at most {SERVED_LABELS[drawing.form]}: a window (rows, cols), label=none, or SVG."
            " `lanescope diagram` draws all.",
            "label",
        )
    return drawing


class DrawingProcess:
    """A process that draws one picture at a time for a server. It starts with the first picture and is killed if one
    takes too long.
    """

    def __init__(self, seconds: float = 5.0, waiting: int = 32) -> None:
        self.seconds, self.waiting = seconds, waiting
        self._lane: WorkerQueue | None = None

    def submit(self, drawing: DrawingJob) -> Future[dict[str, Any]]:
        """Submit a drawing; `decode_answer` reads the future's result. LayoutError `busy` if too many wait."""
        if self._lane is None:
            argv = [sys.executable, "-m", "lanescope.app.kit.picture_worker"]
            self._lane = WorkerQueue("pictures", lambda _: argv, self.seconds, self.waiting, start_seconds=20.0)
        return self._lane.submit(
            {"form": drawing.form, "svg": drawing.svg, "scale": drawing.scale, "fonts": drawing.fonts}
        )

    @staticmethod
    def decode_answer(answer: dict[str, Any]) -> bytes:
        return base64.b64decode(answer["base64"])

    def close(self) -> None:
        """End the process now."""
        if self._lane:
            self._lane.close()
            self._lane = None
