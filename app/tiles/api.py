"""Pictures at /tiles/mma.{form}, /tiles/copy.{form} and /tiles/loop.{form}."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter
from starlette.responses import Response

from lanescope.app.kit.api import Form, StrictRoute, describe_parameters, describe_pictures, make_query_dependency
from lanescope.app.kit.question import options_of
from lanescope.app.kit.wire import make_picture_body
from lanescope.app.tiles import (
    figure,
    forms,
    main_loop_figure,
    main_loop_page,
    tiled_copy_figure,
    tiled_copy_page,
    umma_figure,
)
from lanescope.app.tiles.facts import TiledMmaFacts
from lanescope.app.tiles.main_loop_facts import LoopFacts
from lanescope.app.tiles.questions import UMMA, TiledUmmaBody
from lanescope.app.tiles.tiled_copy_facts import TiledCopyFacts

router = APIRouter(route_class=StrictRoute)


def _make_parameters(path: str, fields: Iterable[str], options: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of a picture: the fields of its page, and its drawing options."""
    parameters = {name: f"{name} of {path}, as the page's address has it." for name in fields}
    return describe_parameters({**parameters, **options})


ASKED = describe_parameters(
    {name: f"{name} of POST /api/v1/tiles/mma, as text." for name in forms.MMA}
    | {name: options_of(TiledUmmaBody)[name].help for name in UMMA}
    | umma_figure.OPTIONS
    | figure.OPTIONS
)
COPY = _make_parameters("/tiles/copy", tiled_copy_page.FIELDS, tiled_copy_figure.OPTIONS)
LOOP = _make_parameters("/tiles/loop", main_loop_page.FIELDS, main_loop_figure.OPTIONS)


@router.get("/tiles/mma.{form}", tags=["pictures"], response_class=Response, responses=describe_pictures(TiledMmaFacts))
def tiled_mma_picture(form: Form, query: Annotated[dict[str, str], make_query_dependency(ASKED)]) -> Response:
    """A, B and C of a TiledMMA's tile as in a product, or one of them; csv lists every value of every thread."""
    return make_picture_body(figure.render_tiled_mma(form, query), form)


@router.get(
    "/tiles/copy.{form}", tags=["pictures"], response_class=Response, responses=describe_pictures(TiledCopyFacts)
)
def tiled_copy_picture(form: Form, query: Annotated[dict[str, str], make_query_dependency(COPY)]) -> Response:
    """Draw source and destination of a TiledCopy, or one of them; csv lists every value of every thread, with its byte
    and bank if shared memory is described.
    """
    return make_picture_body(tiled_copy_figure.render_tiled_copy(form, query), form)


@router.get("/tiles/loop.{form}", tags=["pictures"], response_class=Response, responses=describe_pictures(LoopFacts))
def loop_picture(form: Form, query: Annotated[dict[str, str], make_query_dependency(LOOP)]) -> Response:
    """Draw a main loop: a line per stage, and the wavefronts of each warp's loads in each K iteration."""
    return make_picture_body(main_loop_figure.render_loop(form, query), form)
