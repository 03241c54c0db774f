"""create_app(): routes, static files, and the one place where an error becomes an answer."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import api, chain_pages, diagram_pages, gpu_pages, guide_pages, memory_api, memory_pages, pages, tools
from app.metrics import Counted, Metrics
from app.resources import STATIC, css, templates
from app.wire import Body
from app.work import Kept, OffLoop, Work
from layouts import catalog
from layouts.errors import LayoutError

RETRY_SECONDS = "2"
NOT_FOUND = {"unknown_instruction", "unknown_operand", "operand_not_in_registers", "not_found"}
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)


class Harden:
    """Security headers on every answer; plain ASGI, because a middleware function costs more than most answers do."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Content-Security-Policy"] = POLICY
            await send(message)

        await self.app(scope, receive, send_hardened)


def plotly_url() -> str:
    return f"/vendor/plotly-{plotly()[0]}.js"


templates.env.globals["plotly_url"] = plotly_url


@lru_cache(maxsize=1)
def nav_families() -> list[str]:
    return [family["name"] for family in pages.family_counts()]


templates.env.globals["nav_families"] = nav_families


def create_app(hardware: gpu_pages.Hardware | None = None, limits: pages.Limits | None = None, work: Work | None = None) -> FastAPI:
    """The whole server; tests give it hardware and threads of their own, the static export limits."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(catalog.instructions)
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
    )
    app.router.route_class = OffLoop
    app.include_router(api.router)
    app.include_router(memory_api.router)
    app.include_router(memory_pages.router)
    app.include_router(guide_pages.router)
    app.include_router(gpu_pages.router)
    app.include_router(tools.router)
    app.include_router(chain_pages.router)
    app.include_router(diagram_pages.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @app.get("/healthz", tags=["operation"])
    async def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"])
    def readyz() -> dict[str, str | int]:
        """The catalogue is loaded and the assembled targets are at hand."""
        return {"status": "ready", "instructions": len(catalog.instructions()), "assembler": catalog.assembler()["assembler"]}

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
    app.state.work = work or Work()
    app.state.metrics = Metrics(lambda: app.state.hardware.pool)
    app.add_middleware(Kept, work=app.state.work, facts=lambda: app.state.hardware.reason)
    app.add_middleware(Counted, metrics=app.state.metrics)
    app.add_middleware(Harden)

    @app.exception_handler(LayoutError)
    async def refused(request: Request, error: LayoutError) -> Response:
        return answer(request, 404 if error.code in NOT_FOUND else gpu_pages.STATUS.get(error.code, 422), error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        return answer(request, 422, LayoutError("bad_request", f"{field or 'The request'}: {first['msg']}.", "See /docs.", field))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
        hint = "The catalogue is at /, the API at /docs."
        return answer(request, error.status_code, LayoutError(code, f"{request.url.path}: {error.detail}", hint))

    return app


def answer(request: Request, status: int, error: LayoutError) -> Response:
    """One error, as JSON for the API and as a page for people; both keep what was typed."""
    body = {"error": {"code": error.code, "message": error.message, "hint": error.hint, "field": error.field}}
    headers = {"Retry-After": RETRY_SECONDS} if error.code in ("busy", "too_slow") else None
    path = request.url.path
    if path.startswith(("/api/", "/healthz", "/readyz")) or path.endswith(".json"):
        if error.nearest:
            body["error"]["nearest"] = list(error.nearest)  # type: ignore[assignment]
        return JSONResponse(body, status, headers)
    context = {"error": error, "typed": request.path_params.get("rest") or request.query_params.get("ptx", "")}
    return templates.TemplateResponse(request, "error.html", context, status, headers)


@lru_cache(maxsize=1)
def plotly() -> tuple[str, Body]:
    """(digest, plotly.js) from the installed plotly package."""
    raw = Path(str(files("plotly") / "package_data" / "plotly.min.js")).read_bytes()
    return hashlib.sha256(raw).hexdigest()[:12], Body(raw, "text/javascript", "public, max-age=31536000, immutable")
