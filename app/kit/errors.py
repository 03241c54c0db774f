"""Every way a request can fail, as one answer: {"error": {"code", "message", "hint", "field"}} for programs, a page for people."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.diagram.forms import FORMS
from app.kit.page import HTML, rendered
from app.kit.prefix import address
from app.kit.wire import Body
from layouts.errors import LayoutError
from layouts.reading import shown

LOG = logging.getLogger("lanescope")
RETRY_SECONDS = {"busy": 2, "too_slow": 2}
# The status of a refusal by its code; 422 for every other.
STATUS = {
    "unknown_instruction": 404, "unknown_operand": 404, "operand_not_in_registers": 404, "not_found": 404, "method_not_allowed": 405,
    "unknown_host": 400, "slow_body": 408, "body_too_large": 413, "address_too_long": 414, "unsupported_media_type": 415, "too_many_requests": 429, "internal_error": 500,
    "worker_ended": 502, "worker_garbage": 502, "worker_failed": 502, "run_failed": 502, "picture_failed": 502,
    "no_device": 503, "busy": 503, "too_slow": 503, "unsupported_here": 503, "timed_out": 504,
}  # fmt: skip
CODES = {404: "not_found", 405: "method_not_allowed", 415: "unsupported_media_type"}
MACHINES = ("/api/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/static/", "/vendor/")
FILES = (*FORMS, "cu", "py", "css", "js")
# What a parameter of FastAPI's own is told: its kind of error → what is allowed.
ALLOWED = {"int": "A whole number.", "float": "A number.", "bool": "true or false.", "string": "Text."}


def status_of(error: LayoutError) -> int:
    """The HTTP status of a refusal."""
    return STATUS.get(error.code, 422)


def for_machines(path: str) -> bool:
    """Whether an address answers programs: the API, and everything that is a file rather than a page."""
    return path.startswith(MACHINES) or path.rpartition(".")[2] in FILES


def answer(request: Request, status: int, error: LayoutError, headers: dict[str, str] | None = None) -> Response:
    """One error, as JSON for programs and as a page for people; both keep what was typed."""
    retry = getattr(error, "retry_seconds", RETRY_SECONDS.get(error.code))
    headers = {**(headers or {}), **({"Retry-After": str(retry)} if retry else {})}
    if for_machines(address(request.scope)):
        body: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint, "field": error.field}
        if error.nearest:
            body["nearest"] = list(error.nearest)
        return JSONResponse({"error": body}, status, headers)
    context = {"error": error, "status": status, "typed": request.path_params.get("rest") or request.query_params.get("ptx", "")}
    return Body(rendered(request, "kit/error.html", context), HTML, status=status, keep=False, headers=headers)


def install(app: FastAPI) -> None:
    """The handlers of an application; Unexpected is its innermost middleware."""
    app.add_middleware(Unexpected)

    @app.exception_handler(LayoutError)
    async def refused(request: Request, error: LayoutError) -> Response:
        return answer(request, status_of(error), error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return answer(request, 422, in_our_words(error.errors()[0]))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if "GET" in headers.get("Allow", ""):
            headers["Allow"] += ", HEAD"
        return answer(request, error.status_code, http_words(request, error, headers.get("Allow", "")), headers)


def in_our_words(error: dict[str, Any]) -> LayoutError:
    """What FastAPI refuses of a parameter, as the readers would say it."""
    field = ".".join(str(part) for part in error["loc"][1:])
    if error["type"] == "missing":
        return LayoutError("bad_request", f"{field or 'The body'} is missing.", "See /docs for what is required.", field)
    allowed = ALLOWED.get(error["type"].partition("_")[0], f"{error['msg']}.")
    return LayoutError("bad_request", f"{field or 'The body'} is '{shown(error.get('input'))}'.", allowed, field)


def http_words(request: Request, error: HTTPException, allowed: str) -> LayoutError:
    """What the router refuses."""
    path = shown(address(request.scope), 120)
    code = CODES.get(error.status_code, "http_error")
    if error.status_code == 405:
        return LayoutError(code, f"{path} takes no {shown(request.method)}.", f"Allowed: {allowed}. See /docs.")
    if error.status_code == 404:
        return LayoutError(code, f"There is nothing at {path}.", "The catalogue is at /, the API at /docs.")
    return LayoutError(code, f"{path}: {error.detail}", "See /docs.")


class Unexpected:
    """ASGI middleware: an exception that nothing expected is logged with its traceback and answered with 500 in the one shape."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begun = False

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noticed)
        except ClientDisconnect:  # nobody is left to answer
            LOG.info("%s %s: the client left", scope["method"], shown(scope["path"], 120))
        except Exception as error:
            LOG.exception("%s %s failed", scope["method"], shown(scope["path"], 120))
            if begun:
                raise
            told = LayoutError(
                "internal_error",
                f"The server failed: {type(error).__name__}.",
                "It is logged there. Please report the address and the body.",
            )
            await answer(Request(scope), 500, told)(scope, receive, send)
