"""POST /steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from lanescope.app.hardware import runs
from lanescope.app.kit.api import JsonBody, StrictRoute, describe_body
from lanescope.app.kit.run_results import Backend, MmaRan
from lanescope.app.kit.schemas import ClosedModel, Number, PtxText
from lanescope.app.kit.wire import encode_json_body
from lanescope.app.kit.work import run_off_loop
from lanescope.app.runs.hardware import get_hardware
from lanescope.app.runs.schemas import MmaData, SideOptions
from lanescope.app.steps import facts as steps
from lanescope.app.steps.facts import Steps
from lanescope.app.steps.requests import OPTIONS, find_instruction, parse_element
from lanescope.app.steps.wgmma import WgmmaSteps
from lanescope.product.planning import SIDES
from lanescope.ptx.instruction import Instruction

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


class StepsBody(ClosedModel):
    """An mma and the element of D to explain; your own matrices instead of random ones."""

    instruction: PtxText
    data: MmaData = MmaData()
    a: SideOptions = Field(default="", description="wgmma: how A is stored.")
    b: SideOptions = Field(default="", description="wgmma: how B is stored.")
    d: SideOptions = Field(default="", description="wgmma: what becomes of C and D.")
    row: Number = 0
    col: Number = 0
    product: Number = Field(default=0, description="Which of the four products of m8n8k4.")
    seed: Number = 1
    backend: Backend = Backend("numpy")


@router.post(
    "/steps", responses={200: {"model": Steps | WgmmaSteps}}, openapi_extra=describe_body("StepsBody", StepsBody)
)
async def steps_api(request: Request, body: JsonBody) -> Response:
    """Return the steps of one mma or wgmma: memory, the addresses that lanes supply to ldmatrix or the descriptors of a
    wgmma, registers, the terms of one element, D; with random matrices or those of `data`.
    """
    instruction, run_options = await run_off_loop(find_instruction, body)
    return await run_off_loop(encode_json_body, await trace_run(request, instruction, body, run_options))


async def trace_run(
    request: Request, instruction: Instruction, body: Mapping[str, Any], run_options: Mapping[str, Any]
) -> Steps | WgmmaSteps:
    """Return the steps of one run. run_options: storage and matrices. LayoutError names the wrong field."""
    at = await run_off_loop(parse_element, instruction, body)
    sides = dict.fromkeys(SIDES, "") if instruction.family.by_descriptor else {}
    job = {
        "kind": "mma",
        "instruction": instruction.ptx,
        "seed": at["seed"],
        "backend": body.get("backend", OPTIONS["backend"]),
    }
    run = await get_hardware(request).execute_run(await run_off_loop(runs.parse_run, {**job, **sides, **run_options}))
    assert isinstance(run, MmaRan)
    return await run_off_loop(steps.trace_steps, instruction, run, at["row"], at["col"], at["product"])
