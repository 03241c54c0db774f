"""POST /banks."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.banks import facts
from lanescope.app.banks.facts import AccessBody, BankCost
from lanescope.app.kit.api import Given, StrictRoute, describe_body
from lanescope.app.kit.wire import encode_json_body
from lanescope.app.tiles import main_loop_facts
from lanescope.app.tiles.main_loop_facts import LoopBanks
from lanescope.app.tiles.schemas import LoopBody

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


@router.post(
    "/banks",
    responses={200: {"model": BankCost | LoopBanks}},
    openapi_extra=describe_body("BanksBody", AccessBody | LoopBody),
)
def banks_api(given: Given) -> Response:
    """Wavefronts of one access: its name and 32 byte addresses (null for an inactive lane); `swizzle` (none, 32B, 64B,
    128B or B,M,S) is applied to them. With tiled_mma what a whole main loop pays, its body as of POST /tiles/loop.
    """
    if "tiled_mma" in given:
        return encode_json_body(main_loop_facts.build_loop_banks(given))
    return encode_json_body(facts.build_bank_cost(given))
