"""POST /tiles/mma, /tiles/mma/chain, /tiles/copy, /layouts/tv and /layouts/triton."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from app.kit.api import ApiRoute, Given, takes
from app.kit.wire import json_body
from app.tiles import facts
from app.tiles.facts import ChainedFacts, TiledCopyFacts, TiledMmaFacts, TritonFacts, TvFacts
from app.tiles.schemas import TiledChainBody, TiledCopyBody, TiledMmaBody, TritonBody, TvBody

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)


@router.post("/tiles/mma", responses={200: {"model": TiledMmaFacts}}, openapi_extra=takes("TiledMmaBody", TiledMmaBody))
def tiled_mma_api(given: Given) -> Response:
    """A, B and C of a whole tile: which thread and value hold which element. atom as PTX or CUTLASS's name,
    AtomLayoutMNK and PermutationMNK as CuTe writes them, tile [M, N, K]. B is (k, n)."""
    return json_body(facts.mma_facts(facts.mma_of(given)))


@router.post(
    "/tiles/mma/chain", responses={200: {"model": ChainedFacts}}, openapi_extra=takes("TiledChainBody", TiledChainBody)
)
def tiled_chain_api(given: Given) -> Response:
    """Is C of the first TiledMMA A of the second in registers, as FlashAttention's P? N of the first tile is K of the
    second."""
    return json_body(facts.chain_facts(given))


@router.post(
    "/tiles/copy", responses={200: {"model": TiledCopyFacts}}, openapi_extra=takes("TiledCopyBody", TiledCopyBody)
)
def tiled_copy_api(given: Given) -> Response:
    """Source and destination of a TiledCopy, from layouts of threads and values or from a TiledMMA's operand; with a
    storage the addresses, vector width and bank conflicts of shared memory, with a global layout its sectors."""
    return json_body(facts.copy_facts(given))


@router.post("/layouts/tv", responses={200: {"model": TvFacts}}, openapi_extra=takes("TvBody", TvBody))
def tv_api(given: Given) -> Response:
    """Any thread-value layout over a tile of rows × columns, the row running fastest."""
    return json_body(facts.tv_facts(facts.tv_of(given)))


@router.post("/layouts/triton", responses={200: {"model": TritonFacts}}, openapi_extra=takes("TritonBody", TritonBody))
def triton_api(given: Given) -> Response:
    """A layout of Triton (an MLIR attribute, or a module with one) or of Gluon's Python over a tensor: its linear
    layout, and the coordinates of every thread and register or the offset of every element."""
    return json_body(facts.triton_facts(facts.triton_of(given)))
