"""GET /gpu and POST /gpu/runs."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.hardware import runs
from lanescope.app.kit.api import JsonBody, StrictRoute, describe_body
from lanescope.app.kit.wire import encode_json_body
from lanescope.app.kit.work import run_off_loop
from lanescope.app.runs.facts import GpuStatus, RunAnswer
from lanescope.app.runs.hardware import build_status, get_hardware
from lanescope.app.runs.schemas import RunBody

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


@router.get("/gpu", responses={200: {"model": GpuStatus}})
async def gpu_api(request: Request) -> Response:
    """Return whether this server has a CUDA device, and if not, why; the queue and recent runs."""
    return await run_off_loop(encode_json_body, await build_status(request))


@router.post("/gpu/runs", responses={200: {"model": RunAnswer}}, openapi_extra=describe_body("RunBody", RunBody))
async def run_api(request: Request, body: JsonBody) -> Response:
    """Execute on the device (or, with backend numpy, simulate) and compare: kind mma {instruction, a_from, seed, or a,
    b, d of a whole product}, fragment {instruction, operand}, descriptor {descriptor, instruction, operand, major},
    banks {access, address}. 503 where there is no device.
    """
    return await run_off_loop(
        encode_json_body, await get_hardware(request).execute_run(await run_off_loop(runs.parse_run, body))
    )
