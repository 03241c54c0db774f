"""The catalogue: every instruction, with filters and words."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature

FEATURE = Feature(
    written=("api", "page"),
    menu=(Entry("Instructions", 1, "All instructions", "/instructions", "search, families, types × shapes"),),
    examples={
        "/api/v1/instructions": "/api/v1/instructions?family=mma&type=e4m3&target=sm_89",
        "/api/v1/topics": "/api/v1/topics?q=wgmma.fence",
    },
)
