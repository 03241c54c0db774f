"""GET /reuse."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from lanescope.app.kit.api import ApiRoute, text
from lanescope.app.kit.asked import instruction
from lanescope.app.kit.schemas import PTX, NumberText
from lanescope.app.kit.wire import json_body
from lanescope.app.reuse.facts import Reuse, reuse_facts

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


@router.get("/reuse", responses={200: {"model": Reuse}})
def reuse_api(
    first: Annotated[str, text("The instruction whose D is reused.", PTX, alias="from")],
    second: Annotated[str, text("The instruction whose A it becomes.", PTX, alias="to")],
    step: Annotated[
        NumberText, Query(description="The K step of A that tile, thread and value show.", examples=["0"])
    ] = "0",
) -> Response:
    """Reuse of D of `from` as A of `to`: [thread][value] of A in one K `step` → the D tile, thread and value that hold
    the element.
    """
    return json_body(reuse_facts(instruction(first, "from"), instruction(second, "to"), step))
