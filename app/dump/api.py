"""POST /dumps/verify."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.dump import forms
from lanescope.app.dump.forms import DumpVerified
from lanescope.app.dump.schemas import DumpBody
from lanescope.app.kit.api import Given, StrictRoute, describe_body
from lanescope.app.kit.wire import encode_json_body

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


@router.post(
    "/dumps/verify", responses={200: {"model": DumpVerified}}, openapi_extra=describe_body("DumpBody", DumpBody)
)
def verify_dump(given: Given) -> Response:
    """Which bytes of a shared-memory dump an instruction reads, as values; with the expected tile, which elements are
    wrong, where their values lie in the dump, which layout that is, and the repair.
    """
    asked, raw, expected = forms.read_body(given)
    return encode_json_body(forms.build_answer(forms.examine_dump(asked, raw, expected), asked.instruction.ptx))
