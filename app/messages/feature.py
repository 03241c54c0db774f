"""Messages of ptxas, the driver and CuTe: the meaning of each, and the change that avoids it."""

from __future__ import annotations

from typing import Any

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.messages.facts import (
    EXAMPLE,
    NUMBER_NOTICE,
    PAGE,
    MessageAnswer,
    MessageQuestion,
    answer_message,
    link_message,
)
from lanescope.messages import GROUPS


def build_index_context(question: MessageQuestion, answer: MessageAnswer) -> dict[str, Any]:
    """Return further template variables of the index."""
    return {
        "groups": GROUPS,
        "link_message": link_message,
        "typed": question.text.strip(),
        "number_notice": NUMBER_NOTICE,
    }


MESSAGES = Tool(
    question=MessageQuestion,
    answer=answer_message,
    api="messages",
    page=PAGE,
    template="messages/index.html",
    context=build_index_context,
    examples=(
        ("ptxas: an accumulator read too early", {"text": EXAMPLE}),
        (
            "CuTe: the atom does not divide the tile",
            {
                "text": "cute/layout.hpp(1792): error: static assertion failed with"
                ' "tile_to_shape: block shape does not divide the target shape."'
            },
        ),
        ("TMA: descriptor 1", {"text": "Error: Failed to initialize the TMA descriptor 1"}),
    ),
)
FEATURE = Feature(
    tools=(MESSAGES,),
    written=("page", "verbs"),
    menu=(
        Entry("Learn", 6, "Messages", PAGE, "ptxas, cuTensorMapEncode and CuTe: why a message comes, what to change"),
    ),
    examples={"/api/v1/messages": "/api/v1/messages?text=Unknown+modifier+%27.m64n12k16%27"},
)
