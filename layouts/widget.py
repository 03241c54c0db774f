"""Live views in notebooks, of the extra `notebook`: `show` makes one, `link` has two of them move together."""

from __future__ import annotations

from lanescope.app.widget.view import LayoutView, Link, link, show

__all__ = ["LayoutView", "Link", "link", "show"]
