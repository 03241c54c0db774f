"""Live views in notebooks (extra `notebook`): `show` makes a view, `link` makes views move together."""

from __future__ import annotations

from lanescope.app.widget.view import LayoutView, Link, link, show

__all__ = ["LayoutView", "Link", "link", "show"]
