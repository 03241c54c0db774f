"""GET /instructions/{ptx}/metadata."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from lanescope import reading
from lanescope.app.kit.api import ApiRoute, Ptx, query, text, typed
from lanescope.app.kit.schemas import NumberText
from lanescope.app.kit.wire import json_body
from lanescope.app.metadata import order
from lanescope.app.metadata.facts import Metadata, metadata_facts
from lanescope.app.metadata.order import MetadataOrder
from lanescope.ptx import catalog

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


ORDER = typed({name: (words, says) for name, (words, says, _) in order.ASKED.items()})
USUAL = {name: usual for name, (_, _, usual) in order.ASKED.items()}


@router.get("/metadata-order", responses={200: {"model": MetadataOrder}})
def order_api(given: Annotated[dict[str, str], query(ORDER, USUAL)]) -> Response:
    """Sparsity metadata in global memory as CUTLASS's compressors write them for mma.sp, wgmma.sp and tcgen05."""
    return json_body(order.order_facts(given))


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
