"""GET /instructions/{ptx} and the map of an operand."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.instruction import facts as about
from app.instruction.facts import AddressMap, Detail, OperandMap, ScaleMap
from app.kit.api import ApiRoute, Ptx, part
from app.kit.schemas import NumberText
from app.kit.wire import json_body
from layouts import catalog
from layouts.reading import number

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)
LETTERS = sorted({name for i in catalog.instructions() for name in i.operand_names})


@router.get("/instructions/{ptx}", responses={200: {"model": Detail}})
def instruction(ptx: Ptx) -> Response:
    """One instruction by its PTX text, with or without `.sync.aligned`; an unknown one is answered with the nearest
    legal.
    """
    return json_body(about.detail(catalog.find(ptx)))


@router.get("/instructions/{ptx}/operands/{name}", responses={200: {"model": OperandMap | ScaleMap | AddressMap}})
def operand(
    ptx: Ptx,
    name: Annotated[str, part("The operand; /instructions/{ptx} lists those of an instruction.", known=LETTERS)],
    selector: Annotated[NumberText, Query(description="Which lanes supply a sparse A's metadata.")] = "0",
    byte_id: Annotated[NumberText, Query(description="Which byte of the register holds the scale factors.")] = "0",
    thread_id: Annotated[NumberText, Query(description="Which threads of each group of four supply them.")] = "0",
) -> Response:
    """One operand's map: which element every thread and value holds (a, b, c, d, data), which lane and byte supplies a
    scale factor (scale_a, scale_b), or which row's address a lane supplies (address). A sparse A takes the sparsity
    selector.
    """
    chosen = {
        key: number(given or 0, key)
        for key, given in (("selector", selector), ("byte_id", byte_id), ("thread_id", thread_id))
    }
    return json_body(about.any_operand(catalog.find(ptx), name, **chosen))
