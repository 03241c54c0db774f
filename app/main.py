"""create_app(): routes, static files, middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib import import_module
from typing import Annotated, Literal

import anyio
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Match
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from lanescope.app.apidocs import api as openapi
from lanescope.app.catalogue.facts import CatalogueLimits, ChapterFamilies, list_chapters
from lanescope.app.features import FEATURES, load_feature
from lanescope.app.kit.api import StrictRoute, build_api_router
from lanescope.app.kit.asgi import ASGIApp, Message, Receive, Scope, Send
from lanescope.app.kit.assets import IMMUTABLE, STATIC, STYLE, compute_digest, render_style_sheet, render_versioned
from lanescope.app.kit.fact import Description, fact, fact_to_json
from lanescope.app.kit.limits import RequestGuard
from lanescope.app.kit.menus import find_menu, list_entries
from lanescope.app.kit.metrics import CountingMiddleware, ServerMetrics
from lanescope.app.kit.page import (
    build_page_router,
    install_handlers,
    render_closing_error,
    render_palette_css,
    templates,
)
from lanescope.app.kit.plotly import list_style_hashes, load_plotly, plotly_url
from lanescope.app.kit.prefix import PrefixMiddleware, SlashRedirects
from lanescope.app.kit.release import describe_release
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.wire import CachedBody
from lanescope.app.kit.work import CacheMiddleware, WorkThreads, freeze_memory
from lanescope.app.runs.hardware import ServerHardware
from lanescope.names import search
from lanescope.ptx import catalog


@fact
class Health:
    """The process responds."""

    status: Literal["ok"]


@fact
class Ready:
    """The catalogue and the assembled targets are loaded, and a thread is free or soon will be."""

    status: Literal["ready"]
    instructions: int
    assembler: Annotated[str, Description("The ptxas that wrote the targets.")]


@lru_cache(maxsize=1)
def _list_routes(folders: tuple[str, ...]) -> list[BaseRoute]:
    """Return the routes of the features in some folders: first the API in the order of /docs, then the pages."""
    features, routes = [(folder, load_feature(folder)) for folder in folders], list[BaseRoute]()
    for folder, feature in features:
        routes += build_api_router(feature.tools).routes
        if "api" in feature.written:
            routes += import_module(f"lanescope.app.{folder}.api").router.routes
    for folder, feature in features:
        routes += build_page_router(feature.tools).routes  # before routes that take any text in the same place
        if "page" in feature.written:
            routes += import_module(f"lanescope.app.{folder}.page").router.routes
    return routes


class HeadRequests:
    """ASGI middleware that answers HEAD as GET without a body: monitors and link checkers send HEAD."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            return await self.app(scope, receive, send)

        async def send_head(message: Message) -> None:
            await send(
                message if message["type"] == "http.response.start" else {"type": "http.response.body", "body": b""}
            )

        await self.app({**scope, "method": "GET"}, receive, send_head)


@lru_cache(maxsize=2)
def get_style_sheet(cache: str) -> CachedBody:
    """Return the joined style sheets as a compressed body."""
    return CachedBody(render_style_sheet().encode(), "text/css", cache=cache).prepare("br").prepare("gzip")


@lru_cache(maxsize=512)
def get_script(path: str, changed: int, cache: str) -> CachedBody:
    """Return a module as a compressed body. changed: when the file was written."""
    text = render_versioned(path).encode() if cache == IMMUTABLE else (STATIC / path).read_bytes()
    return CachedBody(text, "text/javascript", cache=cache).prepare("br").prepare("gzip")


class AssetFiles(StaticFiles):
    """Static files.

    An address with the file's digest never changes its content; its module's imports have digests, too. For an address
    with a wrong digest or none, browsers revalidate each time.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        digest = scope["query_string"].decode("latin-1")
        cache = IMMUTABLE if digest and digest == compute_digest(path) else "no-cache"
        if path == STYLE:
            return get_style_sheet(cache)
        answer = await super().get_response(path, scope)
        if answer.status_code == 200 and path.endswith(".js"):
            changed = (await anyio.Path(STATIC / path).stat()).st_mtime_ns
            return await run_in_threadpool(get_script, path, changed, cache)
        answer.headers["cache-control"] = cache if answer.status_code in (200, 304) else "no-cache"
        return answer


templates.env.globals["plotly_url"] = plotly_url


@lru_cache(maxsize=1)
def nav_chapters() -> list[ChapterFamilies]:
    return list_chapters()


templates.env.globals["nav_chapters"] = nav_chapters
templates.env.globals |= {
    "menus": list_entries,
    "find_menu": find_menu,
    "release": describe_release(),
}


def create_app(
    hardware: ServerHardware | None = None,
    limits: CatalogueLimits | None = None,
    settings: Settings | None = None,
) -> FastAPI:
    """Create the server from the settings of the environment. Tests pass their own hardware and settings, the static
    export its limits.
    """
    settings = settings or Settings.from_environment()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(search.index_instructions)
        freeze_memory()
        yield
        await run_in_threadpool(app.state.work.close)
        await run_in_threadpool(app.state.hardware.close)

    app = FastAPI(
        title="Lanescope",
        version=describe_release().version,
        description="Which lane and register owns which element of an NVIDIA tensor-core fragment.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own pages load their scripts from elsewhere; ours is app/apidocs
        redoc_url=None,
        openapi_url=None,  # ours is built in a thread and cached
        redirect_slashes=False,  # Starlette's redirect repeats the Host header; ours is kit/prefix.Slashes
    )
    app.router.route_class = StrictRoute
    app.router.routes.extend(_list_routes(tuple(FEATURES)))  # include_router would build every route a second time
    app.mount("/static", AssetFiles(directory=STATIC), name="static")

    @app.get("/healthz", tags=["operation"], responses={200: {"model": Health}})
    async def healthz() -> Response:
        """Report that the process responds."""
        return JSONResponse(fact_to_json(Health(status="ok")))

    @app.get("/readyz", tags=["operation"], responses={200: {"model": Ready}})
    async def readyz() -> Response:
        """The catalogue and the assembled targets are loaded; 503 while every thread is busy with a long
        computation.
        """
        app.state.work.check_free()
        state = Ready(
            status="ready", instructions=len(catalog.instructions()), assembler=catalog.get_assembler()["assembler"]
        )
        return JSONResponse(fact_to_json(state))

    @app.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Return Prometheus text: requests by route and status, runs by kind and outcome, the queue, worker
        restarts.
        """
        return Response(generate_latest(app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/favicon.ico", include_in_schema=False)
    def favicon() -> Response:
        return CachedBody((STATIC / "kit" / "icon.svg").read_bytes(), "image/svg+xml")

    @app.get("/palette.css", include_in_schema=False)
    def palette_css() -> Response:
        return CachedBody(render_palette_css().encode(), "text/css")

    @app.get("/vendor/plotly-{digest}.js", include_in_schema=False)
    def plotly_js(digest: str) -> Response:
        known_digest, body = load_plotly()
        if digest != known_digest:
            raise HTTPException(404, f"No plotly.js '{digest}'.")
        return body

    def is_routed(scope: Scope) -> bool:
        return any(route.matches(scope)[0] is not Match.NONE for route in app.router.routes)

    app.router.default = SlashRedirects(is_routed, app.router.default)
    app.state.hardware = hardware or ServerHardware.from_settings(settings)
    app.state.limits = limits or CatalogueLimits()
    app.state.settings = settings
    app.state.work = WorkThreads(settings)
    app.state.metrics = ServerMetrics(lambda: app.state.hardware)
    app.openapi = lambda: openapi.get_document(app)  # type: ignore[method-assign]
    install_handlers(app)
    app.add_middleware(CacheMiddleware, work=app.state.work, facts=lambda: app.state.hardware.reason)
    app.add_middleware(RequestGuard, settings=settings, render_refusal=render_closing_error, styles=list_style_hashes())
    app.add_middleware(CountingMiddleware, metrics=app.state.metrics)
    app.add_middleware(HeadRequests)
    app.add_middleware(PrefixMiddleware, root=settings.root_path)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.trusted_proxies)
    return app
