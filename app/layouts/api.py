"""POST /layouts/tv, /layouts/triton, /layouts/triton/convert and /layouts/triton/feeds; pictures at
/cute.{form}, /layouts/tv.{form} and /layouts/triton.{form}.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from lanescope.app.kit.api import (
    Given,
    StrictRoute,
    describe_body,
    describe_pictures,
    make_path_parameter,
    make_query_dependency,
)
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.picture import check_drawing
from lanescope.app.kit.wire import encode_json_body, make_picture_body
from lanescope.app.layouts import facts, pictures
from lanescope.app.layouts.facts import ConversionFacts, CuteFacts, FeedsFacts, TritonFacts, TvFacts
from lanescope.app.layouts.schemas import ConvertBody, TritonBody, TvBody

API = "/api/v1"
router = APIRouter(route_class=StrictRoute)


@router.post(
    API + "/layouts/tv", responses={200: {"model": TvFacts}}, tags=["v1"], openapi_extra=describe_body("TvBody", TvBody)
)
def tv_api(given: Given) -> Response:
    """Any thread-value layout over a tile of rows × columns, the row running fastest."""
    return encode_json_body(facts.build_tv(facts.parse_tv(given)))


@router.post(
    API + "/layouts/triton",
    responses={200: {"model": TritonFacts}},
    tags=["v1"],
    openapi_extra=describe_body("TritonBody", TritonBody),
)
def triton_api(given: Given) -> Response:
    """A layout of Triton (an MLIR attribute, or a module with one) or of Gluon's Python over a tensor: its linear
    layout, and the coordinates of every thread and register or the offset of every element."""
    return encode_json_body(facts.build_triton(facts.parse_triton(given)))


@router.post(
    API + "/layouts/triton/convert",
    tags=["v1"],
    responses={200: {"model": ConversionFacts}},
    openapi_extra=describe_body("ConvertBody", ConvertBody),
)
def convert_api(given: Given) -> Response:
    """What a conversion between two of Triton's layouts moves: what stays in its thread, what in its warp, what goes
    through shared memory, and what that trip costs in banks."""
    return encode_json_body(facts.convert_request(given))


@router.post(
    API + "/layouts/triton/feeds",
    tags=["v1"],
    responses={200: {"model": FeedsFacts}},
    openapi_extra=describe_body("TritonBody", TritonBody),
)
def feeds_api(given: Given) -> Response:
    """The operands of dense mma and wgmma that a layout of threads already is, with the registers of each."""
    return encode_json_body(facts.build_feeds(given))


# pictures -------------------------------------------------------------------------------------------------------------


def _make_parameters(name: str) -> dict[str, Any]:
    rows = {**pictures.KINDS[name].fields, **pictures.STYLE}
    return {field: Annotated[str, Query(description=says)] for field, says in rows.items()}


Form = Annotated[str, make_path_parameter("The form.", known=FORMS)]


@router.get(
    "/layouts/triton.{form}", tags=["pictures"], response_class=Response, responses=describe_pictures(TritonFacts)
)
def triton_picture(
    form: Form, given: Annotated[dict[str, str], make_query_dependency(_make_parameters("triton"))]
) -> Response:
    """A layout of Triton or Gluon drawn: threads and registers, or offsets in shared memory."""
    return make_picture_body(*pictures.render_layout("triton", form, given, check_drawing))


@router.get("/layouts/tv.{form}", tags=["pictures"], response_class=Response, responses=describe_pictures(TvFacts))
def tv_picture(form: Form, given: Annotated[dict[str, str], make_query_dependency(_make_parameters("tv"))]) -> Response:
    """A thread-value layout of CuTe drawn over its tile."""
    return make_picture_body(*pictures.render_layout("tv", form, given, check_drawing))


@router.get("/cute.{form}", tags=["pictures"], response_class=Response, responses=describe_pictures(CuteFacts))
def cute_picture(
    form: Form, given: Annotated[dict[str, str], make_query_dependency(_make_parameters("cute"))]
) -> Response:
    """The last step of an expression of CuTe's algebra drawn: the indices of its operand and of its result."""
    return make_picture_body(*pictures.render_layout("cute", form, given, check_drawing))
