"""POST /chain."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.chain import facts as chains
from lanescope.app.chain.facts import ChainVerdict, LoadChainBody
from lanescope.app.kit.api import Given, StrictRoute, describe_body
from lanescope.app.kit.wire import encode_json_body
from lanescope.app.tiles import main_loop_facts
from lanescope.app.tiles.main_loop_facts import LoopFacts
from lanescope.app.tiles.schemas import LoopBody

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)


@router.post(
    "/chain",
    responses={200: {"model": ChainVerdict | LoopFacts}},
    openapi_extra=describe_body("ChainBody", LoadChainBody | LoopBody),
)
def chain_api(given: Given) -> Response:
    """Does this load feed this operand from this storage? storage as in /descriptors/verify, load and mma as PTX,
    operand a or b (d for a stmatrix). Lane addresses to give, and the loads that would do instead. With tiled_mma a
    whole main loop, as POST /tiles/loop: TiledCopy, storage and TiledMMA, for every warp and K iteration."""
    if "tiled_mma" in given:
        return encode_json_body(main_loop_facts.build_loop(given))
    return encode_json_body(chains.build_chain(chains.parse_chain(given)))
