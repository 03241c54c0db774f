"""GET /cute, POST /layouts/triton/convert and /layouts/triton/feeds."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from app.kit.api import ApiRoute, Given, takes, text
from app.kit.wire import json_body
from app.layouts.facts import ConversionFacts, CuteFacts, FeedsFacts, convert_facts, cute_facts, feeds_facts
from app.layouts.schemas import ConvertBody
from app.tiles.schemas import TritonBody

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


@router.get("/cute", responses={200: {"model": CuteFacts}})
def cute_api(
    expression: Annotated[
        str,
        text("CuTe's operations, nested or as statements behind `;`.", "logical_divide((4,2,3):(2,1,8), 4:2)"),
    ],
) -> Response:
    """CuTe's layout algebra: composition, complement, divides, products, inverses, coalesce, slices, each step with its
    result. What is not admissible is refused with CuTe's condition and what would do."""
    return json_body(cute_facts(expression))


@router.post(
    "/layouts/triton/convert", responses={200: {"model": ConversionFacts}},
    openapi_extra=takes("ConvertBody", ConvertBody),
)  # fmt: skip
def convert_api(given: Given) -> Response:
    """What a conversion between two of Triton's layouts moves: what stays in its thread, what in its warp, what goes
    through shared memory, and what that trip costs in banks."""
    return json_body(convert_facts(given))


@router.post(
    "/layouts/triton/feeds", responses={200: {"model": FeedsFacts}}, openapi_extra=takes("TritonBody", TritonBody)
)
def feeds_api(given: Given) -> Response:
    """The operands of dense mma and wgmma that a layout of threads already is, with the registers of each."""
    return json_body(feeds_facts(given))
