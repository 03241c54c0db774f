"""The documents of the API."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature

FEATURE = Feature(
    written=("api", "page"),
    menu=(Entry("Learn", 6, "API", "/docs", "JSON for every page"),),
)
