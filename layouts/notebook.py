"""How objects show themselves in a notebook: Jupyter asks for `_repr_svg_` and `_repr_html_`. What draws is known only
to layouts/render/notebook.py, which is loaded when a notebook asks.
"""

from __future__ import annotations


class NotebookObject:
    """An object that a notebook draws, as far as its class has a painter."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        return _paint_object(self, "svg")

    def _repr_html_(self) -> str | None:
        return _paint_object(self, "html")


def _paint_object(value: object, form: str) -> str | None:
    """Return the picture of an object; None if it has none, so that a notebook shows its text."""
    from lanescope.render.notebook import PAINTERS

    painter = PAINTERS.get((type(value).__qualname__, form))
    return painter(value) if painter else None
