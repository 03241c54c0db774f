"""The menu bar: its menus, and the one to which the current page belongs.

The families under "Instructions" come from the catalogue; all other entries are declared by features.
"""

from __future__ import annotations

from functools import cache

from lanescope.app.features import load_features
from lanescope.app.kit.feature import Entry

TITLES = ("Instructions", "Shared memory", "Tiles", "Debug", "Figures", "Learn")


@cache
def list_entries() -> dict[str, tuple[Entry, ...]]:
    """Return the links of each menu by its title."""
    found = sorted(
        (entry for feature in load_features().values() for entry in feature.menu), key=lambda entry: entry.place
    )
    return {title: tuple(entry for entry in found if entry.menu == title) for title in TITLES}


def find_entry(page: str) -> Entry:
    """Return the menu entry of a page."""
    return next(entry for links in list_entries().values() for entry in links if entry.href == page)


@cache
def _map_places() -> dict[str, str]:
    """Return the menu of each first part of a path."""
    found: dict[str, str] = {}
    for feature in load_features().values():
        found |= feature.within
    links = [entry for each in list_entries().values() for entry in each]
    for entry in sorted(links, key=lambda entry: entry.href.count("/")):  # /guide before /guide/share
        found.setdefault(entry.href.split("/")[1], entry.menu)
    return found


def find_menu(path: str) -> str:
    """Return the title of the menu that a page belongs to; "" for pages without a menu."""
    return _map_places().get(path.strip("/").split("/")[0], "")
