"""POST /layouts/tv, /layouts/triton, /layouts/triton/convert and /layouts/triton/feeds, GET /cute; pictures at
/cute.{form}, /layouts/tv.{form} and /layouts/triton.{form}.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from lanescope.app.kit.api import ApiRoute, Given, drawn, part, query, takes, text
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.picture import servable
from lanescope.app.kit.wire import json_body, picture
from lanescope.app.layouts import facts, pictures
from lanescope.app.layouts.facts import ConversionFacts, CuteFacts, FeedsFacts, TritonFacts, TvFacts
from lanescope.app.layouts.schemas import ConvertBody, TritonBody, TvBody

API = "/api/v1"
router = APIRouter(route_class=ApiRoute)


@router.post(
    API + "/layouts/tv", responses={200: {"model": TvFacts}}, tags=["v1"], openapi_extra=takes("TvBody", TvBody)
)
def tv_api(given: Given) -> Response:
    """Any thread-value layout over a tile of rows × columns, the row running fastest."""
    return json_body(facts.tv_facts(facts.tv_of(given)))


@router.post(
    API + "/layouts/triton",
    responses={200: {"model": TritonFacts}},
    tags=["v1"],
    openapi_extra=takes("TritonBody", TritonBody),
)
def triton_api(given: Given) -> Response:
    """A layout of Triton (an MLIR attribute, or a module with one) or of Gluon's Python over a tensor: its linear
    layout, and the coordinates of every thread and register or the offset of every element."""
    return json_body(facts.triton_facts(facts.triton_of(given)))


@router.get(API + "/cute", tags=["v1"], responses={200: {"model": CuteFacts}})
def cute_api(
    expression: Annotated[
        str,
        text("CuTe's operations, nested or as statements behind `;`.", "logical_divide((4,2,3):(2,1,8), 4:2)"),
    ],
) -> Response:
    """CuTe's layout algebra: composition, complement, divides, products, inverses, coalesce, slices, each step with its
    result. What is not admissible is refused with CuTe's condition and what would do."""
    return json_body(facts.cute_facts(expression))


@router.post(
    API + "/layouts/triton/convert",
    tags=["v1"],
    responses={200: {"model": ConversionFacts}},
    openapi_extra=takes("ConvertBody", ConvertBody),
)
def convert_api(given: Given) -> Response:
    """What a conversion between two of Triton's layouts moves: what stays in its thread, what in its warp, what goes
    through shared memory, and what that trip costs in banks."""
    return json_body(facts.convert_facts(given))


@router.post(
    API + "/layouts/triton/feeds",
    tags=["v1"],
    responses={200: {"model": FeedsFacts}},
    openapi_extra=takes("TritonBody", TritonBody),
)
def feeds_api(given: Given) -> Response:
    """The operands of dense mma and wgmma that a layout of threads already is, with the registers of each."""
    return json_body(facts.feeds_facts(given))


# pictures -------------------------------------------------------------------------------------------------------------


def _asked(name: str) -> dict[str, Any]:
    rows = {**pictures.KINDS[name].fields, **pictures.STYLE}
    return {field: Annotated[str, Query(description=says)] for field, says in rows.items()}


Form = Annotated[str, part("The form.", known=FORMS)]


@router.get("/layouts/triton.{form}", tags=["pictures"], response_class=Response, responses=drawn(TritonFacts))
def triton_picture(form: Form, given: Annotated[dict[str, str], query(_asked("triton"))]) -> Response:
    """A layout of Triton or Gluon drawn: threads and registers, or offsets in shared memory."""
    return picture(*pictures.made("triton", form, given, servable))


@router.get("/layouts/tv.{form}", tags=["pictures"], response_class=Response, responses=drawn(TvFacts))
def tv_picture(form: Form, given: Annotated[dict[str, str], query(_asked("tv"))]) -> Response:
    """A thread-value layout of CuTe drawn over its tile."""
    return picture(*pictures.made("tv", form, given, servable))


@router.get("/cute.{form}", tags=["pictures"], response_class=Response, responses=drawn(CuteFacts))
def cute_picture(form: Form, given: Annotated[dict[str, str], query(_asked("cute"))]) -> Response:
    """The last step of an expression of CuTe's algebra drawn: the indices of its operand and of its result."""
    return picture(*pictures.made("cute", form, given, servable))
