"""The JSON API of the catalogue: the listing and the topics."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.catalogue import facts, topics
from lanescope.app.catalogue.facts import Listing
from lanescope.app.catalogue.topics import Topics
from lanescope.app.kit.api import StrictRoute, make_text_parameter, make_word_parameter
from lanescope.app.kit.wire import encode_json_body
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx import catalog

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)

MOST_Q = 2000
SHAPE = re.compile(r"^([mM][0-9]{1,4})?([nN][0-9]{1,4})?([kK][0-9]{1,4})?$")


@router.get("/instructions", responses={200: {"model": Listing}})
def instructions(
    family: Annotated[str, make_word_parameter(catalog.FAMILY_NAMES, "One family.")] = "",
    type: Annotated[str, make_word_parameter(catalog.list_element_types(), "The element type of some operand.")] = "",
    target: Annotated[str, make_word_parameter(catalog.TARGETS, "An architecture that ptxas assembles it for.")] = "",
    shape: Annotated[
        str, make_text_parameter("A whole shape, or a part of one.", "m16n8k16", "k16", pattern=SHAPE.pattern)
    ] = "",
    q: Annotated[
        str,
        make_text_parameter(
            "Beginnings of words of the PTX text, or a whole line as pasted.", "m16n8k16 bf16", "wgmma sp", most=MOST_Q
        ),
    ] = "",
) -> Response:
    """List instructions, filtered by family, operand type, target, shape (m16n8k16 or k16) and words of its PTX
    text.
    """
    if shape and not SHAPE.fullmatch(shape):
        raise LayoutError(
            "bad_filter", f"No shape '{shorten_value(shape)}'.", "A shape as m16n8k16, or a part of one: k16.", "shape"
        )
    if len(q) > MOST_Q:
        raise LayoutError("bad_filter", f"q has {len(q)} characters.", f"At most {MOST_Q}.", "q")
    return encode_json_body(facts.list_instructions(family=family, type=type, target=target, shape=shape, q=q))


@router.get("/topics", responses={200: {"model": Topics}})
def topic_search(
    q: Annotated[
        str,
        make_text_parameter(
            "What to look for: words, or code that names a page; every topic when left out.",
            "wait_group",
            "ldm alignment",
            most=MOST_Q,
        ),
    ] = "",
) -> Response:
    """List the pages that explain something, found by a name in the text or by words; the search lists them beside
    instructions.
    """
    if len(q) > MOST_Q:
        raise LayoutError("bad_filter", f"q has {len(q)} characters.", f"At most {MOST_Q}.", "q")
    matches = topics.find_topics(q) if q.strip() else topics.list_topics()
    return encode_json_body(Topics(count=len(matches), topics=tuple(topic.shown for topic in matches)))
