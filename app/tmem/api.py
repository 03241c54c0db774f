"""GET /tmem/layout and /tmem/access."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from lanescope.app.kit.api import ApiRoute, query, text, typed, word
from lanescope.app.kit.schemas import NumberText
from lanescope.app.kit.wire import json_body
from lanescope.app.tmem import epilogue, facts
from lanescope.app.tmem.epilogue import TmemEpilogue
from lanescope.app.tmem.facts import TmemAccess, TmemLayout
from lanescope.blackwell.tmem import EXAMPLE, OPERANDS

router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)
ASKED = typed({name: (words, says) for name, (words, says, _) in facts.MMA.items()})
USUAL = {name: usual for name, (_, _, usual) in facts.MMA.items()}

OUT = typed({name: (words, says) for name, (words, says, _) in epilogue.ASKED.items()})
OUT_USUAL = {name: usual for name, (_, _, usual) in epilogue.ASKED.items()}


@router.get("/tmem/epilogue", responses={200: {"model": TmemEpilogue}})
def out(given: Annotated[dict[str, str], query(OUT, OUT_USUAL)]) -> Response:
    """What every thread holds of D after its loads, and what storing it to shared or global memory costs."""
    return json_body(epilogue.epilogue_facts(given))


@router.get("/tmem/layout", responses={200: {"model": TmemLayout}})
def layout(
    given: Annotated[
        dict[str, str], query({"operand": Annotated[str, word(OPERANDS, "Which operand.")], **ASKED}, USUAL)
    ],
) -> Response:
    """Which lane and column of tensor memory holds which element of an operand of one tcgen05.mma."""
    return json_body(facts.layout_facts(given))


@router.get("/tmem/access", responses={200: {"model": TmemAccess}})
def access(
    access: Annotated[str, text("A tcgen05.ld, .st, .cp or .shift.", EXAMPLE)] = EXAMPLE,
    split: Annotated[NumberText, Query(description="The constant of 16x32bx2; x, or 2x packed, where it is 0.")] = "0",
) -> Response:
    """Which lanes and columns an access touches, counted from its address, and which register holds which."""
    return json_body(facts.access_facts({"access": access, "split": split}))
