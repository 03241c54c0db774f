"""GET /instructions/{ptx}/metadata."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.kit.api import ApiRoute, Ptx, text
from app.kit.schemas import NumberText
from app.kit.wire import json_body
from app.metadata.facts import Metadata, metadata_facts
from layouts import catalog, reading

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


@router.get("/instructions/{ptx}/metadata", responses={200: {"model": Metadata}})
def metadata_api(
    ptx: Ptx,
    words: Annotated[
        str, text("Hex words: one a thread, or one for all; 0x44444444 where it is empty.", "0x44444444")
    ] = "",
    selector: Annotated[NumberText, Query(description="Which lanes supply the metadata.")] = "0",
) -> Response:
    """A stored A under given metadata words: [thread][value] → dense column, and which lane's e and bit names it."""
    return json_body(metadata_facts(catalog.find(ptx), words, reading.number(selector or 0, "selector")))
