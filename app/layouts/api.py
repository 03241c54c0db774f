"""GET /cute."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from app.kit.api import ApiRoute, text
from app.kit.wire import json_body
from app.layouts.facts import CuteFacts, cute_facts

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
