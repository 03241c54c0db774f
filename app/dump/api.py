"""POST /dumps/verify."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.dump import forms
from lanescope.app.dump.forms import DumpVerified
from lanescope.app.dump.schemas import DumpBody
from lanescope.app.kit.api import ApiRoute, Given, takes
from lanescope.app.kit.wire import json_body

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


@router.post("/dumps/verify", responses={200: {"model": DumpVerified}}, openapi_extra=takes("DumpBody", DumpBody))
def verify_dump(given: Given) -> Response:
    """Which bytes of a shared-memory dump an instruction reads, as values; with the expected tile, which elements are
    wrong, where their values lie in the dump, which layout that is, and the repair.
    """
    return json_body(forms.facts(*forms.of_body(given)))
