"""GET /scale-factors."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.kit.api import ApiRoute, query, typed
from lanescope.app.kit.wire import json_body
from lanescope.app.scales import facts
from lanescope.app.scales.facts import ASKED, ScaleFactors

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)
TYPED = typed({name: (words, says) for name, (words, says, _) in ASKED.items()})
USUAL = {name: usual for name, (_, _, usual) in ASKED.items()}


@router.get("/scale-factors", responses={200: {"model": ScaleFactors}})
def scale_factors(given: Annotated[dict[str, str], query(TYPED, USUAL)]) -> Response:
    """The scale factors of a block-scaled tile: their atoms, copies, columns of tensor memory, and each MMA's ids."""
    return json_body(facts.scale_facts(given))
