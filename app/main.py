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
from lanescope.app.catalogue import search
from lanescope.app.catalogue.facts import ChapterFamilies, Limits, chapters
from lanescope.app.features import load_features
from lanescope.app.kit.api import ApiRoute
from lanescope.app.kit.asgi import ASGIApp, Message, Receive, Scope, Send
from lanescope.app.kit.assets import IMMUTABLE, STATIC, STYLE, digest_of, style
from lanescope.app.kit.fact import plain
from lanescope.app.kit.limits import Guard
from lanescope.app.kit.menus import entries, menu_of
from lanescope.app.kit.metrics import Counted, Metrics
from lanescope.app.kit.page import closing, css, install, templates
from lanescope.app.kit.plotly import plotly, plotly_url, style_hashes
from lanescope.app.kit.prefix import Prefix, Slashes
from lanescope.app.kit.probes import Health, Ready
from lanescope.app.kit.router import routes_of
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.wire import Body
from lanescope.app.kit.work import Kept, Work, settle
from lanescope.app.runs.hardware import Hardware
from lanescope.ptx import catalog


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
templates.env.globals |= {"menus": entries, "menu_of": menu_of}


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
    app.router.routes.extend(routes_of(load_features()))  # include_router would build every route a second time
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
