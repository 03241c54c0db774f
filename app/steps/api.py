"""POST /steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.hardware import runs
from lanescope.app.kit.api import ApiRoute, Given, takes
from lanescope.app.kit.ran import MmaRan
from lanescope.app.kit.wire import json_body
from lanescope.app.kit.work import off_loop
from lanescope.app.runs.hardware import hardware
from lanescope.app.steps import facts as steps
from lanescope.app.steps.asked import OPTIONS, found_of, where
from lanescope.app.steps.facts import Steps
from lanescope.app.steps.schemas import StepsBody
from lanescope.app.steps.wgmma import WgmmaSteps
from lanescope.product.planning import SIDES
from lanescope.ptx.instruction import Instruction

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


@router.post("/steps", responses={200: {"model": Steps | WgmmaSteps}}, openapi_extra=takes("StepsBody", StepsBody))
async def steps_api(request: Request, given: Given) -> Response:
    """Everything one mma does: memory, the addresses lanes give ldmatrix or the descriptors of a wgmma, registers, the
    terms of one element, D; with random matrices or those of `data`."""
    found, asked = await off_loop(found_of, given)
    return await off_loop(json_body, await traced(request, found, given, asked))


async def traced(
    request: Request, found: Instruction, given: Mapping[str, Any], asked: Mapping[str, Any]
) -> Steps | WgmmaSteps:
    """One run and its steps; asked: storage and matrices of the run. LayoutError names the parameter that is wrong."""
    at = await off_loop(where, found, given)
    sides = dict.fromkeys(SIDES, "") if found.family.by_descriptor else {}
    job = {
        "kind": "mma",
        "instruction": found.ptx,
        "seed": at["seed"],
        "backend": given.get("backend", OPTIONS["backend"]),
    }
    run = await hardware(request).run(await off_loop(runs.check, {**job, **sides, **asked}))
    assert isinstance(run, MmaRan)
    return await off_loop(steps.steps, found, run, at["row"], at["col"], at["product"])
