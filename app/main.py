"""create_app(): routes, static files, middleware."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.apidocs import api as openapi
from app.apidocs import page as docs_pages
from app.catalogue import search
from app.chain import page as chain_pages
from app.compare import page as tools
from app.compare.schemas import Health, Ready
from app.diagram import api as picture_pages
from app.diagram import page as diagram_pages
from app.guide import page as guide_pages
from app.instruction import api
from app.instruction import page as pages
from app.kernel import page as kernel_pages
from app.kit.api import ApiRoute
from app.kit.asgi import ASGIApp, Message, Receive, Scope, Send
from app.kit.assets import STATIC, STYLE, style
from app.kit.limits import Guard
from app.kit.metrics import Counted, Metrics
from app.kit.page import closing, css, install, templates
from app.kit.plotly import plotly, plotly_url, style_hashes
from app.kit.prefix import Prefix
from app.kit.settings import Settings
from app.kit.wire import Body
from app.kit.work import Kept, Work, settle
from app.memory import api as memory_api
from app.memory import page as memory_pages
from app.runs import page as gpu_pages
from app.steps import page as steps_pages
from layouts import catalog


class Head:
    """A HEAD request is a GET whose body is not sent: monitors and link checkers ask so."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            return await self.app(scope, receive, send)

        async def send_head(message: Message) -> None:
            await send(message if message["type"] == "http.response.start" else {"type": "http.response.body", "body": b""})

        await self.app({**scope, "method": "GET"}, receive, send_head)


@lru_cache(maxsize=1)
def style_sheet() -> Body:
    """The joined style sheets, compressed."""
    return Body(style().encode(), "text/css").prepare("br").prepare("gzip")


class Assets(StaticFiles):
    """Files of the pages. Modules import one another by names that never change: a browser asks each time whether they have."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if path == STYLE:
            return style_sheet()
        answer = await super().get_response(path, scope)
        answer.headers["cache-control"] = "no-cache"
        return answer


templates.env.globals["plotly_url"] = plotly_url


@lru_cache(maxsize=1)
def nav_families() -> list[str]:
    return [family["name"] for family in pages.family_counts()]


templates.env.globals["nav_families"] = nav_families


def create_app(
    hardware: gpu_pages.Hardware | None = None,
    limits: pages.Limits | None = None,
    work: Work | None = None,
    settings: Settings | None = None,
) -> FastAPI:
    """The whole server, by the settings of the environment; tests give it hardware and settings of their own, the static export limits."""
    settings = settings or Settings.of()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(search.index)
        settle()
        yield
        await run_in_threadpool(app.state.work.close)
        await run_in_threadpool(app.state.hardware.pool.close)

    app = FastAPI(
        title="Lanescope",
        version=importlib.metadata.version("lanescope"),
        description="Which lane and register owns which element of an NVIDIA tensor-core fragment.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own pages load their scripts from elsewhere; ours is in pages.py
        redoc_url=None,
        openapi_url=None,  # ours is made in a thread and kept
    )
    app.router.route_class = ApiRoute
    app.include_router(api.router)
    app.include_router(kernel_pages.api)
    app.include_router(memory_api.router)
    app.include_router(picture_pages.router)
    app.include_router(memory_pages.router)
    app.include_router(kernel_pages.router)
    app.include_router(guide_pages.router)
    app.include_router(gpu_pages.router)
    app.include_router(steps_pages.router)
    app.include_router(tools.router)
    app.include_router(chain_pages.router)
    app.include_router(diagram_pages.router)
    app.include_router(openapi.router)
    app.include_router(docs_pages.router)
    app.include_router(pages.router)
    app.mount("/static", Assets(directory=STATIC), name="static")

    @app.get("/healthz", tags=["operation"], responses={200: {"model": Health}})
    async def healthz() -> Response:
        """The process answers."""
        return JSONResponse({"status": "ok"})

    @app.get("/readyz", tags=["operation"], responses={200: {"model": Ready}})
    async def readyz() -> Response:
        """The catalogue is loaded and the assembled targets are at hand."""
        return JSONResponse({"status": "ready", "instructions": len(catalog.instructions()), "assembler": catalog.assembler()["assembler"]})

    @app.get("/palette.css", include_in_schema=False)
    def palette_css() -> Response:
        return Body(css().encode(), "text/css")

    @app.get("/vendor/plotly-{digest}.js", include_in_schema=False)
    def plotly_js(digest: str) -> Response:
        known, body = plotly()
        if digest != known:
            raise HTTPException(404, f"No plotly.js '{digest}'.")
        return body

    app.state.hardware = hardware or gpu_pages.Hardware()
    app.state.limits = limits or pages.Limits()
    app.state.settings = settings
    app.state.work = Work(settings)
    app.state.metrics = Metrics(lambda: app.state.hardware.pool)
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
