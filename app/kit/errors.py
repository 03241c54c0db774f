"""Errors of requests: the HTTP status of each code, and the one JSON shape {"error": {"code", "message", "hint",
"field"}}.
"""

from __future__ import annotations

from typing import Annotated, Any

from lanescope.app.kit.fact import Description, copy_fact, fact, make_optional_field
from lanescope.app.kit.media import FORMS
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx import catalog

RETRY_SECONDS = {"busy": 2, "too_slow": 2}
# HTTP status by error code; all others are 422.
STATUS = {
    "unknown_instruction": 404,
    "unknown_operand": 404,
    "operand_not_in_registers": 404,
    "not_found": 404,
    "method_not_allowed": 405,
    "unknown_host": 400,
    "slow_body": 408,
    "body_too_large": 413,
    "address_too_long": 414,
    "unsupported_media_type": 415,
    "too_many_requests": 429,
    "internal_error": 500,
    "worker_ended": 502,
    "worker_garbage": 502,
    "worker_failed": 502,
    "run_failed": 502,
    "picture_failed": 502,
    "no_device": 503,
    "busy": 503,
    "too_slow": 503,
    "unsupported_here": 503,
    "timed_out": 504,
    "no_worker": 503,
    "no_scheduler": 503,
    "other_version": 503,
}
CODES = {404: "not_found", 405: "method_not_allowed", 415: "unsupported_media_type"}
MACHINES = ("/api/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/static/", "/vendor/")
FILES = (*FORMS, "cu", "py", "css", "js")


@fact
class ErrorBody:
    """The wrong value and why it is wrong, what is allowed, and the field ("" for the whole request)."""

    code: Annotated[str, Description(examples=("bad_number",), limits={"pattern": "^[a-z0-9_]+$"})]
    message: Annotated[str, Description(limits={"minLength": 1})]
    hint: str
    field: str
    nearest: Annotated[
        tuple[str, ...] | None, Description("The nearest legal PTX texts, where an instruction is unknown.")
    ] = make_optional_field()


@fact
class Error:
    """The body of every error of every route."""

    error: ErrorBody


def get_status(error: LayoutError) -> int:
    """Return the HTTP status of an error."""
    return STATUS.get(error.code, 422)


def is_for_programs(path: str) -> bool:
    """Return whether an address serves programs: the API, and every file that is not a page."""
    return path.startswith(MACHINES) or path.rpartition(".")[2] in FILES


def build_retry_headers(error: LayoutError) -> dict[str, str]:
    """Return the Retry-After header, if waiting helps."""
    retry = getattr(error, "retry_seconds", RETRY_SECONDS.get(error.code))
    return {"Retry-After": str(retry)} if retry else {}


def build_error_body(error: LayoutError) -> ErrorBody:
    """Return the object under "error"."""
    nearest = tuple(error.nearest) or None
    return copy_fact(ErrorBody, error, nearest=nearest)


def make_missing_error(error: dict[str, Any]) -> LayoutError:
    """Translate FastAPI's "missing parameter" error; all parameters are strings."""
    field = str(error["loc"][-1])
    return LayoutError("bad_request", f"{field} is missing.", "See /docs for what is required.", field)


def make_router_error(status: int, method: str, path: str, allowed: str, detail: str) -> LayoutError:
    """Return the error for an unknown address, or for a method that the address does not allow."""
    instruction = catalog.find_instruction(path) if status == 404 else None
    path, code = shorten_value(path, 120), CODES.get(status, "http_error")
    if status == 405:
        return LayoutError(code, f"{path} takes no {shorten_value(method)}.", f"Allowed: {allowed}. See /docs.")
    if status == 404:
        if instruction:
            return LayoutError(code, f"There is nothing at {path}.", f"The instruction's page is /i/{instruction.ptx}.")
        return LayoutError(code, f"There is nothing at {path}.", "Paste what you look for, or go on from here.")
    return LayoutError(code, f"{path}: {detail}", "See /docs.")
