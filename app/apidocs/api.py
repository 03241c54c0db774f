"""/openapi.json: FastAPI's document, with the models of bodies, the errors that every route may return, and the
pictures.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.openapi.models import OpenAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from starlette.responses import Response

from lanescope.app.apidocs.facts import ERRORS, JSON_ERROR, PAGE, REF, TAGS, WORKER, walk_operations
from lanescope.app.kit.api import ANSWERED, PROMISED, TAKEN, OffLoopRoute
from lanescope.app.kit.errors import Error
from lanescope.app.kit.examples import BODIES
from lanescope.app.kit.fact import Json
from lanescope.app.kit.wire import encode_json_body

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


def add_model(schemas: Json, name: str, model: Any) -> None:
    """Add a model's schema under its name, and those of the models that it uses."""
    schema = TypeAdapter(model).json_schema(ref_template=REF)
    schemas |= schema.pop("$defs", {})
    schemas[name] = schema


def add_answer_models(document: Json) -> None:
    """Replace the models of the routes' answers by their schemas; all are built together, so that every model has one
    name.
    """
    answers = [
        (f"Response_{status}_{operation['operationId']}", answer)
        for _, _, operation in walk_operations(document)
        for status, answer in operation["responses"].items()
        if PROMISED in answer
    ]
    inputs = [(name, "serialization", TypeAdapter(ANSWERED[answer.pop(PROMISED)])) for name, answer in answers]
    schemas, definitions = TypeAdapter.json_schemas(inputs, ref_template=REF)  # type: ignore[arg-type]
    document["components"].setdefault("schemas", {}).update(definitions.get("$defs", {}))
    for name, answer in answers:
        schema = schemas[name, "serialization"]
        if "$ref" not in schema:
            schema["title"] = name.title().replace("_", " ")
        answer.setdefault("content", {}).setdefault("application/json", {})["schema"] = schema


@router.get("/openapi.json")
def openapi_json(request: Request) -> Response:
    return encode_json_body(request.app.openapi())


def get_document(app: FastAPI) -> Json:
    """Return the OpenAPI document of an application, built once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=TAGS
        )
        add_answer_models(document)
        document = jsonable_encoder(
            OpenAPI(**document), by_alias=True, exclude_none=True
        )  # for FastAPI's order of keys
        schemas, responses = document["components"]["schemas"], document["components"].setdefault("responses", {})
        bodies: Json = {}
        for path, method, operation in walk_operations(document):
            body = operation.get("requestBody")
            if body:
                content = body["content"]["application/json"]
                content["example"] = BODIES[path]
                body_name = content["schema"]["$ref"].rpartition("/")[2]
                bodies[body_name] = TAKEN[body_name]
            picture = operation["tags"] == ["pictures"]
            for status, (name, description) in (ERRORS | (WORKER if picture or path.endswith("/runs") else {})).items():
                name = f"{name}Picture" if picture else name
                operation["responses"][str(status)] = {"$ref": f"#/components/responses/{name}"}
                responses[name] = {"description": description, "content": JSON_ERROR | (PAGE if picture else {})}
            if method == "get" and "200" in operation["responses"] and operation["tags"] != ["operation"]:
                operation["responses"]["304"] = {"description": "Not modified: If-None-Match names the ETag."}
            operation["operationId"] = f"{method}_{operation['summary'].lower().replace(' ', '_')}"
        for name, model in {"Error": Error, **bodies}.items():
            add_model(schemas, name, model)
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        document["components"]["schemas"] = dict(sorted(schemas.items()))
        app.openapi_schema = document
    return app.openapi_schema
