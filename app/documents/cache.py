"""A cache of pictures, keyed by the request and by the code that draws. Several builds may share a folder."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lanescope.app.documents.figures import Query, read_figure
from lanescope.app.kit.code_stamp import compute_code_stamp
from lanescope.app.kit.picture import DrawingJob, explain_missing_renderer
from lanescope.errors import LayoutError

THEMES = ("light", "dark")
BOTH = "auto"  # a light picture and a dark one


def list_themes(theme: str) -> tuple[str, ...]:
    """Return the themes that are drawn for the option `theme`: light and dark if it is "" or auto."""
    return THEMES if theme in ("", BOTH) else (theme,)


@dataclass(frozen=True, slots=True)
class PictureCache:
    """A folder of pictures. Files are written atomically, so that builds may run in parallel."""

    folder: Path

    def draw_svg(self, text: str, options: Query, theme: str) -> str:
        """Return a picture as SVG, from the cache if possible. LayoutError if it cannot be drawn."""
        return self._keep(text, options, theme, "svg", lambda: _draw_svg(text, options, theme)).decode()

    def draw_pdf(self, text: str, options: Query, theme: str) -> bytes:
        """Return a picture as PDF. LayoutError `no_pictures` if the renderer is not installed."""

        def draw() -> bytes:
            if reason := explain_missing_renderer():
                raise LayoutError("no_pictures", f"LaTeX needs PDF pictures, which cannot be made here. {reason}")
            return DrawingJob("pdf", self.draw_svg(text, options, theme)).render()

        return self._keep(text, options, theme, "pdf", draw)

    def _keep(self, text: str, options: Query, theme: str, form: str, draw: Callable[[], bytes]) -> bytes:
        request = json.dumps([compute_code_stamp(), text, sorted(options.items()), theme])
        path = self.folder / f"{hashlib.sha256(request.encode()).hexdigest()}.{form}"
        try:
            return path.read_bytes()
        except FileNotFoundError:
            content = draw()
            write_whole(path, content)
            return content


def _draw_svg(text: str, options: Query, theme: str) -> bytes:
    return read_figure(text, options).draw_svg(theme).encode()


def name_file(content: bytes, form: str) -> str:
    """Return a file name that depends only on the content."""
    return f"lanescope-{hashlib.sha256(content).hexdigest()[:16]}.{form}"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically, unless it already has this content."""
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(number, "wb") as file:
        file.write(content)
    Path(name).chmod(0o644)
    Path(name).replace(path)
