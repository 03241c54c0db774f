"""POST /read."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from app.kit.api import ApiRoute, Given, takes
from app.kit.wire import json_body
from app.read.facts import Reading
from app.read.reading import read
from app.read.schemas import ReadBody
from layouts import reading
from layouts.reader import LONGEST

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


@router.post("/read", responses={200: {"model": Reading}}, openapi_extra=takes("Read", ReadBody))
def read_api(given: Given) -> Response:
    """What any text is: PTX, a descriptor or code that builds one, a CuTe layout, a CUTLASS atom, a wmma fragment,
    SASS, or a word; the page that shows it, and what else it may mean.
    """
    reading.keys(given, ("text",))
    return json_body(read(reading.text(given.get("text"), "text", LONGEST)))
