"""The JSON API, /api/v1."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import payload, schemas
from app.wire import json_body
from app.work import OffLoop
from layouts import catalog
from layouts.errors import LayoutError

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=OffLoop)
ERRORS: dict[int | str, dict[str, object]] = {404: {"model": schemas.Error}, 422: {"model": schemas.Error}}


@router.get("/instructions", responses={200: {"model": schemas.Listing}, **ERRORS})
def instructions(request: Request, family: str = "", type: str = "", target: str = "", shape: str = "", q: str = "") -> Response:
    """Every instruction, narrowed by family, operand type, target, shape (m16n8k16 or k16) and words of its PTX text."""
    unknown = set(request.query_params) - set(payload.FILTERS)
    if unknown:
        name = sorted(unknown)[0]
        raise LayoutError("bad_filter", f"No filter '{catalog.shorten(name)}'.", f"Allowed: {', '.join(payload.FILTERS)}.", name)
    narrowed = {"family": family, "type": type, "target": target, "shape": shape, "q": q}
    if len(q) > 2000:
        raise LayoutError("bad_filter", f"q has {len(q)} characters.", "At most 2000.", "q")
    return json_body(payload.listing(**narrowed))


@router.get("/instructions/{ptx}", responses={200: {"model": schemas.Detail}, **ERRORS})
def instruction(ptx: str) -> Response:
    """One instruction by its PTX text, with or without `.sync.aligned`; an unknown one is answered with the nearest legal."""
    return json_body(payload.detail(catalog.find(ptx)))


@router.get(
    "/instructions/{ptx}/operands/{name}", responses={200: {"model": schemas.OperandMap | schemas.ScaleMap | schemas.AddressMap}, **ERRORS}
)
def operand(ptx: str, name: str, selector: int = 0, byte_id: int = 0, thread_id: int = 0) -> Response:
    """One operand's map: which element every thread and value holds (a, b, c, d, data), which lane and byte supplies a scale
    factor (scale_a, scale_b), or which row's address a lane supplies (address). A sparse A takes the sparsity selector."""
    return json_body(payload.any_operand(catalog.find(ptx), name, selector, byte_id, thread_id))
