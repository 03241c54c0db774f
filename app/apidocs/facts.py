"""Common parts of the OpenAPI document: errors, tags, and the walk over its operations."""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.app.kit.fact import Json

REF = "#/components/schemas/{model}"
ERRORS = {
    400: ("UnknownHost", "The request names a host that this server does not serve."),
    404: ("NotFound", "No such instruction, operand or address; the error lists the nearest legal ones."),
    405: ("MethodNotAllowed", "The address does not allow this method; `Allow` lists the methods."),
    408: ("SlowBody", "The body did not arrive in time."),
    413: ("BodyTooLarge", "The body has more bytes than the server reads."),
    414: ("AddressTooLong", "The address has more bytes than the server reads."),
    415: ("UnsupportedMediaType", "The body is not sent as JSON."),
    422: ("Refused", "A value is illegal; `field` names it."),
    429: ("TooManyRequests", "Too many requests of this client; `Retry-After` has the seconds to wait."),
    500: ("InternalError", "The server failed; its log has the cause."),
    503: ("Unavailable", "No device, too many requests at once, or more work than one request may cause."),
}
JSON_ERROR = {"application/json": {"schema": {"$ref": REF.format(model="Error")}}}
PAGE = {
    "text/html": {"schema": {"type": "string", "description": "A page, where the ending is not a form of a picture."}}
}
WORKER = {
    502: ("WorkerFailed", "The process that runs on the device, or draws, ended or failed."),
    504: ("WorkerTimedOut", "A run, or a drawing, took longer than it may."),
}
TAGS = [
    {"name": "v1", "description": "The API: JSON in, JSON out."},
    {
        "name": "pictures",
        "description": "Stable addresses for documents: the same bytes every time, with a strong ETag.",
    },
    {"name": "operation", "description": "The state of the server."},
]


def walk_operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield (path, method, operation) of a document."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation
