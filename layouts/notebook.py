"""Rich display in notebooks: Jupyter calls `_repr_svg_` and `_repr_html_`.

The painters are in layouts/render/notebook.py, loaded on the first call.
"""

from __future__ import annotations


class NotebookObject:
    """An object with rich display in notebooks, if its class has a painter."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        return _paint_object(self, "svg")

    def _repr_html_(self) -> str | None:
        return _paint_object(self, "html")


def _paint_object(value: object, form: str) -> str | None:
    """Return the picture of an object; None if its class has none, so that a notebook shows its text."""
    from lanescope.render.notebook import PAINTERS

    painter = PAINTERS.get((type(value).__qualname__, form))
    return painter(value) if painter else None
