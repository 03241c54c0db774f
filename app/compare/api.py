"""GET /compare."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.compare.facts import Comparison, compare
from lanescope.app.kit.api import ApiRoute, text
from lanescope.app.kit.asked import operand
from lanescope.app.kit.wire import json_body

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


@router.get("/compare", responses={200: {"model": Comparison}})
def compare_api(
    left: Annotated[str, text("{ptx}/{operand}", "ldmatrix.m8n8.x1.b16/data")],
    right: Annotated[str, text("{ptx}/{operand} of the same size", "ldmatrix.m8n8.x1.trans.b16/data")],
) -> Response:
    """Two operands, each `{ptx}/{operand}`: moved[row][col] is 0 same place, 1 other value of the same lane, 2 another
    lane, 3 the same place and, on one side, others beside it.
    """
    return json_body(compare(operand(left, "left")[1], operand(right, "right")[1]))
