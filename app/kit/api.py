"""Routes of the API: they run in worker threads, accept only declared query parameters, and take bodies of strict JSON.

A route documents its body with `describe_body`. The model only documents: the project's own readers check the values.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from inspect import Parameter, Signature
from math import isfinite
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from lanescope.app.kit.enumerations import PTX, NumberText
from lanescope.app.kit.fact import Json
from lanescope.app.kit.feature import Tool
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.question import Option, options_of, to_python_name
from lanescope.app.kit.wire import PictureSketch, encode_json_body
from lanescope.app.kit.work import get_request_context, keep_body, run_off_loop
from lanescope.errors import LayoutError
from lanescope.inputs import LONGEST_KEY, LONGEST_TEXT, find_nearest_word, shorten_value

PROMISED = "x-model"  # placeholder of an answer's schema until app/apidocs resolves it; the value is a key of ANSWERED
ANSWERED: dict[str, Any] = {}  # repr → model of an answer
MOST_DEPTH = 16
MOST_FIELDS = 64  # of a posted form
MOST_DIGITS = 40  # of a JSON number; a longer one is passed on as text, so that the error can name the field


class OffLoopRoute(APIRoute):
    """A route whose plain function runs in the server's threads.

    The models of its answers are resolved when /openapi.json is made: FastAPI would build every schema as the server
    starts, and again at the first request.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        responses = options.pop("responses", None) or {}
        answers = {status: _describe_answer(answer) for status, answer in responses.items()}
        run = endpoint if inspect.iscoroutinefunction(endpoint) else _run_in_threads(endpoint)
        super().__init__(path, run, responses=answers, **options)


def _describe_answer(answer: Mapping[str, Any]) -> Json:
    """Return an answer's entry in the OpenAPI document, with the name of its model in place of the model."""
    entry = dict(answer)
    model = entry.pop("model", None)
    if model is not None:
        entry[PROMISED] = repr(model)
        ANSWERED[repr(model)] = model
    return entry


def _run_in_threads(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(endpoint)
    async def run(**arguments: Any) -> Any:
        now = get_request_context()

        def make() -> Any:
            # another request may have made it meanwhile, or in another coding
            cached = now.work.cache.get(now.key) if now.key is not None else None
            return keep_body(cached or endpoint(**arguments), now)

        now.charge_client()
        async with now.work.limit_time():
            made = await now.work.run(make)
            if isinstance(made, PictureSketch):
                drawn = await now.work.draw_sketch(made)
                made = await now.work.run(lambda: keep_body(drawn, now))
            return made

    return run


class StrictRoute(OffLoopRoute):
    """A documented route that rejects undeclared and repeated query parameters."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if not self.include_in_schema:
            return handle
        known = tuple(_list_parameters(self.dependant))

        async def strict(request: Request) -> Response:
            if request.scope["query_string"]:
                require_known(known, request)
            return await handle(request)

        return strict


def _list_parameters(dependant: Any) -> Iterator[str]:
    """Yield the query parameters of a route and of its dependencies."""
    yield from (param.alias for param in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _list_parameters(inner)


def require_known(known: tuple[str, ...], request: Request) -> None:
    """Raise LayoutError for a query parameter that is unknown (naming the nearest known one) or repeated."""
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        field = shorten_value(name, LONGEST_KEY)
        if name not in known:
            near = find_nearest_word(name, known)
            allowed = f"Allowed: {', '.join(known)}." if known else "This address takes none."
            raise LayoutError(
                "bad_filter",
                f"There is no parameter '{field}'.",
                f"Did you mean '{near}'? {allowed}" if near else allowed,
                field,
            )
        if times > 1:
            raise LayoutError("bad_filter", f"{field} occurs {times} times.", "Pass it once.", field)


# parameters -----------------------------------------------------------------------------------------------------------


def make_word_parameter(known: Iterable[str], says: str) -> Any:
    """Declare a query parameter whose value is a word of a table, or empty."""
    return Query(description=says, json_schema_extra={"enum": ["", *map(str, known)]})


def make_text_parameter(
    says: str, *examples: str, most: int = LONGEST_TEXT, pattern: str = "", alias: str | None = None
) -> Any:
    """Declare a query parameter of free text."""
    extra = {"pattern": pattern} if pattern else {"maxLength": most}
    return Query(description=says, examples=list(examples), json_schema_extra=extra, alias=alias)


def list_query_parameters(question: type, in_path: Iterable[str] = ()) -> dict[str, Any]:
    """Return the query parameters of a question for `make_query_dependency`. in_path: the options that are part of the
    path.
    """
    return {name: _annotate_option(name, option, name in in_path) for name, option in options_of(question).items()}


def list_defaults(question: type, required: Iterable[str] = ()) -> dict[str, Any]:
    """Return the defaults of a question's optional fields for `make_query_dependency`."""
    return {
        name: Parameter.empty if option.required or name in required else option.default
        for name, option in options_of(question).items()
    }


def _annotate_option(name: str, option: Option, in_path: bool) -> Any:
    """Return the annotated type of an option as the document shows it."""
    if in_path:
        return Annotated[str, make_path_parameter(option.help, *option.examples)]
    if option.words:
        return Annotated[str, make_word_parameter(option.words, option.help)]
    if option.numeric:
        return Annotated[NumberText, Query(description=option.help, examples=list(option.examples) or None)]
    return Annotated[str, make_text_parameter(option.help, *option.examples, alias=name)]


def make_path_parameter(says: str, *examples: str, known: Iterable[str] = ()) -> Any:
    """Declare a path parameter: free text, or one of the `known` words."""
    extra = {"enum": list(known)} if known else {"maxLength": LONGEST_TEXT}
    return Path(description=says, examples=list(examples), json_schema_extra=extra)


def describe_parameters(says: Mapping[str, str]) -> dict[str, Any]:
    """Return text parameters for `make_query_dependency`, each with its description."""
    return {name: Annotated[str, Query(description=text, alias=name)] for name, text in says.items()}


def make_query_dependency(parameters: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> Any:
    """Return a FastAPI dependency that collects the query (and path parameters) into a dict.

    parameters: an annotated type by name; one without a default is required. Python keywords need an alias.
    """

    def collect_query(request: Request, **_: str) -> dict[str, str]:
        in_path = {name: text for name, text in request.path_params.items() if name in parameters}
        return dict(request.query_params) | in_path

    named = [
        Parameter(
            to_python_name(name),
            Parameter.KEYWORD_ONLY,
            default=(defaults or {}).get(name, ""),
            annotation=kind,
        )
        for name, kind in parameters.items()
    ]
    first = Parameter("request", Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)
    collect_query.__signature__ = Signature([first, *named])  # type: ignore[attr-defined]
    return Depends(collect_query)


Ptx = Annotated[
    str,
    make_path_parameter(
        "An instruction as PTX spells it, with or without `.sync.aligned`, or its name: `mma.m16n8k16 bf16`.", PTX
    ),
]
Form = Annotated[str, make_path_parameter("The form.", known=FORMS)]


# bodies ---------------------------------------------------------------------------------------------------------------


async def read_json_body(request: Request) -> Json:
    """Return the body as one JSON object. LayoutError if it has another media type, is not JSON, or repeats a key."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0]
    subtype = kind.strip().lower()
    if subtype != "application/json" and not (subtype.startswith("application/") and subtype.endswith("+json")):
        raise LayoutError(
            "unsupported_media_type",
            f"The body is '{shorten_value(kind, 60)}'.",
            "Send JSON with content-type: application/json.",
        )
    return await run_off_loop(parse_json, await request.body())


def parse_json(raw: bytes) -> Json:
    """Parse strict JSON: UTF-8, one object, no repeated keys, no NaN or Infinity, nothing that cannot be sent back.

    >>> parse_json(b'{"mn": 64}')
    {'mn': 64}
    """
    if not raw.strip():
        raise LayoutError("bad_json", "The body is empty.", "Send a JSON object; /docs has one for each route.")
    try:
        found = json.loads(raw.decode("utf-8"), object_pairs_hook=_reject_duplicates, parse_int=_parse_integer)
    except UnicodeError:
        raise LayoutError(
            "bad_json", "The body is not UTF-8 text.", "Send JSON in UTF-8, without lone surrogates."
        ) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise LayoutError(
            "bad_json", f"The body is not JSON: {error.msg} at {where}.", "Send one JSON object."
        ) from None
    except RecursionError:
        raise LayoutError("bad_json", "The body is nested too deep.", "Send a JSON object as /docs shows it.") from None
    if is_deeper(found, MOST_DEPTH):
        raise LayoutError("bad_json", "The body is nested too deep.", "Send a JSON object as /docs shows it.")
    for path, value in walk_values(found):
        field = shorten_value(".".join(path), 4 * LONGEST_KEY)
        if isinstance(value, float) and not isfinite(value):
            raise LayoutError(
                "bad_json",
                f"{field or 'The body'} is {json.dumps(value)}, which is not JSON.",
                "Give an integer.",
                field,
            )
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise LayoutError(
                "bad_json",
                f"{field or 'The body'} is {value[:40]!a}, which is not UTF-8 text.",
                "Send no lone surrogates.",
                field,
            )
    if not isinstance(found, dict):
        raise LayoutError("bad_request", f"The body is {shorten_value(found)}.", "Send a JSON object: {…}.")
    return found


def is_deeper(value: Any, most: int) -> bool:
    """Return whether lists and objects are nested deeper than `most` levels."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(is_deeper(item, most - 1) for item in inside)


def walk_values(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield (path, value) for every scalar in an object, and for every key under its own path."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(key, str):
                yield (*path, ascii(key)[1:-1]), key
            yield from walk_values(item, (*path, str(key)))
    else:
        yield path, value


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> Json:
    out = dict(pairs)
    if len(out) < len(pairs):
        name = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise LayoutError(
            "bad_json",
            f"'{shorten_value(name, LONGEST_KEY)}' occurs twice.",
            "Give every key once.",
            shorten_value(name, LONGEST_KEY),
        )
    return out


def _parse_integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits


JsonBody = Annotated[Json, Depends(read_json_body)]
FORM = "application/x-www-form-urlencoded"


async def read_form_body(request: Request) -> dict[str, str]:
    """Return the fields of a posted form, as an address would have them. LayoutError if the body is not a form."""
    kind = request.headers.get("content-type", FORM).partition(";")[0].strip().lower()
    if kind != FORM:
        raise LayoutError("unsupported_media_type", f"The body is '{kind[:60]}'.", f"Send the form: {FORM}.")
    return await run_off_loop(_parse_form, await request.body())


def _parse_form(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise LayoutError("bad_request", "The body is not a form.", f"Send the form: {FORM}.") from None


TAKEN: dict[str, Any] = {}  # name → model of every request body


def describe_body(name: str, model: Any) -> Json:
    """Return the `openapi_extra` of a route whose body is documented by a model; app/apidocs/api.py registers its
    schema.
    """
    TAKEN[name] = model
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def describe_pictures(model: Any, forms: Mapping[str, str] = FORMS) -> dict[int | str, dict[str, Any]]:
    """Return the documented answers of a picture route: a file in each format, or the model as JSON."""
    kinds = {media.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}} for media in forms.values()}
    return {
        200: {
            "model": model,
            "description": "The picture in the form of the ending.",
            "content": kinds | {"application/json": {}},
        }
    }


def build_api_router(tools: Iterable[Tool[Any, Any]]) -> APIRouter:
    """Return the routes of the API that tools declare."""
    router = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)
    for tool in tools:
        if tool.api:
            _add_route(router, tool)
    return router


def _add_route(router: APIRouter, tool: Tool[Any, Any]) -> None:
    router.add_api_route(
        f"/{tool.api}",
        _answer_body(tool) if tool.body else _answer_query(tool),
        methods=["POST" if tool.body else "GET"],
        name=tool.operation,
        description=inspect.getdoc(tool.answer),
        responses={200: {"model": tool.model}},
        openapi_extra=describe_body(tool.body, tool.body_type) if tool.body else None,
    )


def _answer_body(tool: Tool[Any, Any]) -> Callable[..., Response]:
    def answer(body: JsonBody) -> Response:
        return encode_json_body(tool.answer_body(body))

    return answer


def _answer_query(tool: Tool[Any, Any]) -> Callable[..., Response]:
    in_path = re.findall(r"{(\w+)", tool.api)
    parameters, defaults = list_query_parameters(tool.question, in_path), list_defaults(tool.question, in_path)

    def answer(query: dict[str, str]) -> Response:
        return encode_json_body(tool.ask(query)[1])

    answer.__annotations__["query"] = Annotated[dict[str, str], make_query_dependency(parameters, defaults)]
    return answer
