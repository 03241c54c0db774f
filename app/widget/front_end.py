"""The script and the style sheet of the widget for anywidget: files of static/, read when a view is created."""

from __future__ import annotations

from functools import lru_cache

from lanescope.app.kit.assets import STATIC, render_module
from lanescope.render.palette import render_css

SCRIPT, STYLES = "widget/view.js", ("kit/colours.css", "widget/view.css")


@lru_cache(maxsize=1)
def render_script() -> str:
    """Render the script with all its imports as one ES module."""
    return render_module(SCRIPT, ("render",))


@lru_cache(maxsize=1)
def render_styles() -> str:
    """Render the page's colours, scoped to a view, and the view's own rules."""
    colours = [render_css(), *((STATIC / name).read_text() for name in STYLES)]
    return "".join(colours).replace(":root", ".lanescope-view")
