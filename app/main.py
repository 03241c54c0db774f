"""create_app(): routes, static files, middleware."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Match
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from lanescope.app.apidocs import api as openapi
from lanescope.app.apidocs import page as apidocs_page
from lanescope.app.banks import api as banks_api
from lanescope.app.banks import page as banks_page
from lanescope.app.capture import api as capture_api
from lanescope.app.capture import page as capture_page
from lanescope.app.catalogue import api as catalogue_api
from lanescope.app.catalogue import page as catalogue_page
from lanescope.app.catalogue import search
from lanescope.app.catalogue.facts import ChapterFamilies, Limits, chapters
from lanescope.app.chain import api as chain_api
from lanescope.app.chain import page as chain_page
from lanescope.app.compare import api as compare_api
from lanescope.app.compare import page as compare_page
from lanescope.app.diagram import api as diagram_api
from lanescope.app.diagram import page as diagram_page
from lanescope.app.dump import api as dump_api
from lanescope.app.dump import page as dump_page
from lanescope.app.guide import page as guide_page
from lanescope.app.home import page as home_page
from lanescope.app.idesc import api as idesc_api
from lanescope.app.idesc import page as idesc_page
from lanescope.app.instruction import api as instruction_api
from lanescope.app.instruction import page as instruction_page
from lanescope.app.kernel import api as kernel_api
from lanescope.app.kernel import page as kernel_page
from lanescope.app.kit.api import ApiRoute
from lanescope.app.kit.asgi import ASGIApp, Message, Receive, Scope, Send
from lanescope.app.kit.assets import IMMUTABLE, STATIC, STYLE, digest_of, style
from lanescope.app.kit.fact import plain
from lanescope.app.kit.limits import Guard
from lanescope.app.kit.menus import MENUS, menu_of
from lanescope.app.kit.metrics import Counted, Metrics
from lanescope.app.kit.page import closing, css, install, templates
from lanescope.app.kit.plotly import plotly, plotly_url, style_hashes
from lanescope.app.kit.prefix import Prefix, Slashes
from lanescope.app.kit.probes import Health, Ready
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.wire import Body
from lanescope.app.kit.work import Kept, Work, settle
from lanescope.app.layouts import api as layouts_api
from lanescope.app.layouts import page as layouts_page
from lanescope.app.memory import api as memory_api
from lanescope.app.memory import page as memory_page
from lanescope.app.metadata import api as metadata_api
from lanescope.app.metadata import page as metadata_page
from lanescope.app.read import api as read_api
from lanescope.app.read import page as read_page
from lanescope.app.reuse import api as reuse_api
from lanescope.app.reuse import page as reuse_page
from lanescope.app.runs import api as runs_api
from lanescope.app.runs import page as runs_page
from lanescope.app.runs.hardware import Hardware
from lanescope.app.scales import api as scales_api
from lanescope.app.scales import page as scales_page
from lanescope.app.steps import api as steps_api
from lanescope.app.steps import page as steps_page
from lanescope.app.tiles import api as tiles_api
from lanescope.app.tiles import page as tiles_page
from lanescope.app.tmem import api as tmem_api
from lanescope.app.tmem import page as tmem_page
from lanescope.ptx import catalog

APIS = (  # in the order of /docs
    catalogue_api,
    instruction_api,
    read_api,
    kernel_api,
    memory_api,
    dump_api,
    capture_api,
    diagram_api,
    runs_api,
    steps_api,
    reuse_api,
    compare_api,
    metadata_api,
    chain_api,
    banks_api,
    tiles_api,
    layouts_api,
    idesc_api,
    tmem_api,
    scales_api,
)
PAGES = (
    idesc_page,
    tmem_page,
    scales_page,
    memory_page,
    dump_page,
    capture_page,
    kernel_page,
    guide_page,
    runs_page,
    steps_page,
    reuse_page,
    compare_page,
    metadata_page,
    chain_page,
    banks_page,
    diagram_page,
    tiles_page,
    layouts_page,
    openapi,
    apidocs_page,
    home_page,
    read_page,
    catalogue_page,
    instruction_page,
)


class Head:
    """A HEAD request is a GET whose body is not sent: monitors and link checkers ask so."""

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
def style_sheet(cache: str) -> Body:
    """The joined style sheets, compressed."""
    return Body(style().encode(), "text/css", cache=cache).prepare("br").prepare("gzip")


class Assets(StaticFiles):
    """Files of the pages. An address with the file's digest is that file for ever. Modules import one another by names
    that never change: for these, and for a digest of another version, a browser asks each time.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        asked = scope["query_string"].decode("latin-1")
        cache = IMMUTABLE if asked and asked == digest_of(path) else "no-cache"
        if path == STYLE:
            return style_sheet(cache)
        answer = await super().get_response(path, scope)
        answer.headers["cache-control"] = cache if answer.status_code in (200, 304) else "no-cache"
        return answer


templates.env.globals["plotly_url"] = plotly_url


@lru_cache(maxsize=1)
def nav_chapters() -> list[ChapterFamilies]:
    return chapters()


templates.env.globals["nav_chapters"] = nav_chapters
templates.env.globals |= {"menus": MENUS, "menu_of": menu_of}


def create_app(
    hardware: Hardware | None = None,
    limits: Limits | None = None,
    settings: Settings | None = None,
) -> FastAPI:
    """The whole server, by the settings of the environment; tests give it hardware and settings of their own, the
    static export limits.
    """
    settings = settings or Settings.of()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(search.index)
        settle()
        yield
        await run_in_threadpool(app.state.work.close)
        await run_in_threadpool(app.state.hardware.close)

    app = FastAPI(
        title="Lanescope",
        version=importlib.metadata.version("lanescope"),
        description="Which lane and register owns which element of an NVIDIA tensor-core fragment.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own pages load their scripts from elsewhere; ours is app/apidocs
        redoc_url=None,
        openapi_url=None,  # ours is made in a thread and kept
        redirect_slashes=False,  # Starlette's redirect repeats the Host header; ours is kit/prefix.Slashes
    )
    app.router.route_class = ApiRoute
    for feature in (*APIS, *PAGES):
        app.router.routes.extend(feature.router.routes)  # include_router would build every route a second time
    app.mount("/static", Assets(directory=STATIC), name="static")

    @app.get("/healthz", tags=["operation"], responses={200: {"model": Health}})
    async def healthz() -> Response:
        """The process answers."""
        return JSONResponse(plain(Health(status="ok")))

    @app.get("/readyz", tags=["operation"], responses={200: {"model": Ready}})
    async def readyz() -> Response:
        """The catalogue is loaded and the assembled targets are at hand; 503 while every thread is at a long
        computation.
        """
        app.state.work.check_free()
        told = Ready(
            status="ready", instructions=len(catalog.instructions()), assembler=catalog.assembler()["assembler"]
        )
        return JSONResponse(plain(told))

    @app.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Prometheus text: requests by route and status, runs by kind and outcome, the queue, worker restarts."""
        return Response(generate_latest(app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/favicon.ico", include_in_schema=False)
    def favicon() -> Response:
        return Body((STATIC / "kit" / "icon.svg").read_bytes(), "image/svg+xml")

    @app.get("/palette.css", include_in_schema=False)
    def palette_css() -> Response:
        return Body(css().encode(), "text/css")

    @app.get("/vendor/plotly-{digest}.js", include_in_schema=False)
    def plotly_js(digest: str) -> Response:
        known, body = plotly()
        if digest != known:
            raise HTTPException(404, f"No plotly.js '{digest}'.")
        return body

    def routed(scope: Scope) -> bool:
        return any(route.matches(scope)[0] is not Match.NONE for route in app.router.routes)

    app.router.default = Slashes(routed, app.router.default)
    app.state.hardware = hardware or Hardware.of(settings)
    app.state.limits = limits or Limits()
    app.state.settings = settings
    app.state.work = Work(settings)
    app.state.metrics = Metrics(lambda: app.state.hardware)
    app.openapi = lambda: openapi.document(app)  # type: ignore[method-assign]
    install(app)
    app.add_middleware(Kept, work=app.state.work, facts=lambda: app.state.hardware.reason)
    app.add_middleware(Guard, settings=settings, refused=closing, styles=style_hashes())
    app.add_middleware(Counted, metrics=app.state.metrics)
    app.add_middleware(Head)
    app.add_middleware(Prefix, root=settings.root_path)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.trusted_proxies)
    return app
