"""The guide."""

from __future__ import annotations

from lanescope.app.guide.integrations import ADDRESS
from lanescope.app.kit.feature import Entry, Feature

FEATURE = Feature(
    written=("page",),
    menu=(
        Entry(
            "Learn", 1, "In five minutes", "/guide/five-minutes", "a fragment, a tile and a descriptor, once through"
        ),
        Entry("Learn", 2, "ldmatrix", "/guide/ldmatrix", "eight rows, 32 lanes, .trans"),
        Entry("Learn", 3, "Swizzles", "/guide/swizzle", "which address is XORed with what, and why"),
        Entry("Learn", 4, "One tile of wgmma", "/guide/one-tile", "from atom to LBO, SBO and descriptor"),
        Entry("Learn", 5, "All topics", "/guide", "every page of the guide, with a figure each"),
        Entry("Learn", 7, "Integrations", ADDRESS, "agents, editors, documents, notebooks, tests, CI"),
    ),
)
