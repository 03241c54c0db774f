"""/openapi.json: FastAPI's of the routes, with the bodies' models, the errors every route may answer with, and the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from starlette.responses import Response

from app.kit.api import TAKEN, OffLoop
from app.kit.examples import BODIES
from app.kit.schemas import Error
from app.kit.wire import json_body

Json = dict[str, Any]
router = APIRouter(include_in_schema=False, route_class=OffLoop)
REF = "#/components/schemas/{model}"
ERRORS = {
    400: ("UnknownHost", "The request names a host that this server does not answer for."),
    404: ("NotFound", "No such instruction, operand or address; the nearest legal ones are named."),
    405: ("MethodNotAllowed", "The address exists, the method does not; `Allow` names the methods."),
    408: ("SlowBody", "The body did not arrive in time."),
    413: ("BodyTooLarge", "The body has more bytes than the server reads."),
    414: ("AddressTooLong", "The address has more bytes than the server reads."),
    415: ("UnsupportedMediaType", "The body is not sent as JSON."),
    422: ("Refused", "A value is not legal; `field` names it as it was given."),
    429: ("TooManyRequests", "This client asks too often; `Retry-After` says when to come back."),
    500: ("InternalError", "The server failed; it logged why."),
    503: ("Unavailable", "No device, too many requests at once, or more work than one request may cause."),
}
JSON_ERROR = {"application/json": {"schema": {"$ref": REF.format(model="Error")}}}
PAGE = {"text/html": {"schema": {"type": "string", "description": "A page, where the ending is no form of a picture."}}}
WORKER = {
    502: ("WorkerFailed", "The process that runs on the device, or draws, ended or failed."),
    504: ("WorkerTimedOut", "A run, or a drawing, took longer than it may."),
}


@router.get("/openapi.json")
def openapi_json(request: Request) -> Response:
    return json_body(request.app.openapi())


def document(app: FastAPI) -> Json:
    """The document of an application, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes, tags=TAGS)
        schemas, responses = made["components"]["schemas"], made["components"].setdefault("responses", {})
        for path, method, operation in operations(made):
            body = operation.get("requestBody")
            if body:
                body["content"]["application/json"]["example"] = BODIES[path]
            picture = operation["tags"] == ["pictures"]
            for status, (name, says) in (ERRORS | (WORKER if picture or path.endswith("/runs") else {})).items():
                name = f"{name}Picture" if picture else name
                operation["responses"][str(status)] = {"$ref": f"#/components/responses/{name}"}
                responses[name] = {"description": says, "content": JSON_ERROR | (PAGE if picture else {})}
            if method == "get" and "200" in operation["responses"] and operation["tags"] != ["operation"]:
                operation["responses"]["304"] = {"description": "Not modified: If-None-Match names the ETag."}
            operation["operationId"] = f"{method}_{operation['summary'].lower().replace(' ', '_')}"
        for name, model in {"Error": Error, **TAKEN}.items():
            _put(schemas, name, model)
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        made["components"]["schemas"] = dict(sorted(schemas.items()))
        app.openapi_schema = made
    return app.openapi_schema


TAGS = [
    {"name": "v1", "description": "The API: JSON in, JSON out."},
    {"name": "pictures", "description": "Stable addresses for documents: the same bytes every time, with a strong ETag."},
    {"name": "operation", "description": "The state of the server."},
]


def operations(made: Json) -> Iterator[tuple[str, str, Json]]:
    """(path, method, operation) of a document."""
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _put(schemas: Json, name: str, model: Any) -> None:
    """A model's schema under its name, and the models it is made of beside it."""
    schema = TypeAdapter(model).json_schema(ref_template=REF)
    schemas |= schema.pop("$defs", {})
    schemas[name] = schema
