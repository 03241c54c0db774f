"""Pictures at /cute.{form}, /layouts/tv.{form} and /layouts/triton.{form}."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.kit.api import Form, StrictRoute, describe_parameters, describe_pictures, make_query_dependency
from lanescope.app.kit.wire import make_picture_body
from lanescope.app.layouts import pictures
from lanescope.app.layouts.facts import CuteFacts, TvFacts
from lanescope.app.layouts.triton_facts import TritonFacts

router = APIRouter(route_class=StrictRoute)


def _make_parameters(name: str) -> dict[str, Any]:
    return describe_parameters({**pictures.KINDS[name].fields, **pictures.STYLE})


@router.get(
    "/layouts/triton.{form}", tags=["pictures"], response_class=Response, responses=describe_pictures(TritonFacts)
)
def triton_picture(
    form: Form, query: Annotated[dict[str, str], make_query_dependency(_make_parameters("triton"))]
) -> Response:
    """Draw a layout of Triton or Gluon: threads and registers, or offsets in shared memory."""
    return make_picture_body(pictures.render_layout("triton", form, query), form)


@router.get("/layouts/tv.{form}", tags=["pictures"], response_class=Response, responses=describe_pictures(TvFacts))
def tv_picture(form: Form, query: Annotated[dict[str, str], make_query_dependency(_make_parameters("tv"))]) -> Response:
    """Draw a thread-value layout of CuTe over its tile."""
    return make_picture_body(pictures.render_layout("tv", form, query), form)


@router.get("/cute.{form}", tags=["pictures"], response_class=Response, responses=describe_pictures(CuteFacts))
def cute_picture(
    form: Form, query: Annotated[dict[str, str], make_query_dependency(_make_parameters("cute"))]
) -> Response:
    """Draw the last step of an expression of CuTe's algebra: the indices of its operand and of its result."""
    return make_picture_body(pictures.render_layout("cute", form, query), form)
