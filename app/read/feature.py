"""The paste box: recognizes a text and shows its page."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.read.answer import ReadBody, answer_read

FEATURE = Feature(
    tools=(Tool(question=ReadBody, answer=answer_read, api="read", body="Read", raw=True, name="read_api"),),
    written=("page",),
    menu=(Entry("Debug", 1, "Paste code", "/read", "descriptor, tensor map, loop: what it says, and whether it fits"),),
    bodies={
        "/api/v1/read": {"text": "SM90_64x128x16_F32BF16BF16_SS"},
    },
)
