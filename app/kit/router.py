"""The routes of features: what their tools declare, and the routers that they write by hand."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from lanescope.app.kit.api import OffLoopRoute, StrictRoute, defaults_of, make_query_dependency, parameters_of
from lanescope.app.kit.feature import Feature, Tool
from lanescope.app.kit.page import render_page
from lanescope.app.kit.wire import encode_json_body
from lanescope.errors import LayoutError

AnyTool = Tool[Any, Any]


def routes_of(features: Mapping[str, Feature]) -> Iterator[BaseRoute]:
    """Yield the routes of all features by their folders: first the API in the order of /docs, then the pages."""
    for folder, feature in features.items():
        yield from _api_of(feature.tools).routes
        if "api" in feature.written:
            yield from import_module(f"lanescope.app.{folder}.api").router.routes
    for folder, feature in features.items():
        yield from _pages_of(feature.tools).routes  # before one that takes any text in their place
        if "page" in feature.written:
            yield from import_module(f"lanescope.app.{folder}.page").router.routes


def _api_of(tools: tuple[AnyTool, ...]) -> APIRouter:
    made = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)
    for tool in tools:
        if tool.api:
            _add_api(made, tool)
    return made


def _add_api(router: APIRouter, tool: AnyTool) -> None:
    in_path = re.findall(r"{(\w+)", tool.api)
    parameters, defaults = parameters_of(tool.question, in_path), defaults_of(tool.question, in_path)

    def answer(given: dict[str, str]) -> Response:
        return encode_json_body(tool.ask(given)[1])

    answer.__annotations__["given"] = Annotated[dict[str, str], make_query_dependency(parameters, defaults)]
    router.add_api_route(
        f"/{tool.api}",
        answer,
        name=tool.operation,
        description=inspect.getdoc(tool.answer),
        responses={200: {"model": tool.model}},
    )


def _pages_of(tools: tuple[AnyTool, ...]) -> APIRouter:
    made = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
    for tool in tools:
        if tool.page:
            made.add_api_route(tool.page, _page_of(tool), name=tool.page)
    return made


def _page_of(tool: AnyTool) -> Any:
    """Return the page of a tool; where a field is wrong, the form as it was sent over what an empty one shows."""

    def show(request: Request) -> Response:
        sent = dict(request.query_params)
        try:
            return render_page(request, tool.template, tool.page_context(sent))
        except LayoutError as error:
            return render_page(request, tool.template, tool.refused_context(sent, error), 422)

    return show
