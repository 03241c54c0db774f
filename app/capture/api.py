"""POST /captures/verify."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.capture import forms
from lanescope.app.capture.forms import CaptureVerified
from lanescope.app.capture.schemas import CaptureBody
from lanescope.app.kit.api import Given, StrictRoute, describe_body
from lanescope.app.kit.wire import encode_json_body

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


@router.post(
    "/captures/verify",
    responses={200: {"model": CaptureVerified}},
    openapi_extra=describe_body("CaptureBody", CaptureBody),
)
def verify_capture(given: Given) -> Response:
    """Which elements of A and B every instruction that lanescope.cuh recorded has read, whether they are the slice it
    should multiply; if not, where that slice lies in the recorded memory, the cause and the repair.
    """
    return encode_json_body(forms.build_answer(forms.verify_body(given)))
