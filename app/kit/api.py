"""Routes: where they compute, and what one of the API takes: its query parameters and no others, and a body of strict
JSON. The readers judge the values.

A route documents its body with `describe_body`; the model never runs on a request (kit/schemas).
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

PROMISED = "x-model"  # of an answer, until app/apidocs puts the model's schema in its place: the key in ANSWERED
ANSWERED: dict[str, Any] = {}  # repr → model of what routes answer with
MOST_DEPTH = 16
MOST_FIELDS = 64  # of a posted form
MOST_DIGITS = 40  # of a JSON number; a longer one reaches its reader as text, which names the field


class OffLoopRoute(APIRoute):
    """A route whose plain function runs in the server's threads, and whose answers' models wait for the document:
    FastAPI would build the schema of each as the server starts, and once more at its first request.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        told = {status: _describe_answer(answer) for status, answer in (options.pop("responses", None) or {}).items()}
        run = endpoint if inspect.iscoroutinefunction(endpoint) else _run_in_threads(endpoint)
        super().__init__(path, run, responses=told, **options)


def _describe_answer(answer: Mapping[str, Any]) -> Json:
    """What the document says of an answer, with the name of its model in the place of the model."""
    held = dict(answer)
    model = held.pop("model", None)
    if model is not None:
        held[PROMISED] = repr(model)
        ANSWERED[repr(model)] = model
    return held


def _run_in_threads(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(endpoint)
    async def run(**given: Any) -> Any:
        now = get_request_context()

        def make() -> Any:
            found = now.work.cache.get(now.key) if now.key is not None else None  # made meanwhile, or in another coding
            return keep_body(found or endpoint(**given), now)

        now.charge_client()
        async with now.work.limit_time():
            made = await now.work.run(make)
            if isinstance(made, PictureSketch):
                drawn = await now.work.draw_sketch(made)
                made = await now.work.run(lambda: keep_body(drawn, now))
            return made

    return run


class StrictRoute(OffLoopRoute):
    """A documented route refuses query parameters that it does not document, and any that is given twice."""

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
    """The query parameters of a route and of what it depends on."""
    yield from (param.alias for param in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _list_parameters(inner)


def require_known(known: tuple[str, ...], request: Request) -> None:
    """LayoutError for a query parameter that is not known, with the nearest that is, or one that is given twice."""
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
            raise LayoutError("bad_filter", f"{field} is given {times} times.", "Give it once.", field)


# parameters -----------------------------------------------------------------------------------------------------------


def make_word_parameter(known: Iterable[str], says: str) -> Any:
    """A query parameter that is one of a table's words, or empty."""
    return Query(description=says, json_schema_extra={"enum": ["", *map(str, known)]})


def make_text_parameter(
    says: str, *examples: str, most: int = LONGEST_TEXT, pattern: str = "", alias: str | None = None
) -> Any:
    """A query parameter of free text."""
    extra = {"pattern": pattern} if pattern else {"maxLength": most}
    return Query(description=says, examples=list(examples), json_schema_extra=extra, alias=alias)


def parameters_of(asked: type, in_path: Iterable[str] = ()) -> dict[str, Any]:
    """Query parameters for `make_query_dependency`, from the options of a question; in_path: those that are parts of
    the path."""
    return {name: _annotated(name, option, name in in_path) for name, option in options_of(asked).items()}


def defaults_of(asked: type, required: Iterable[str] = ()) -> dict[str, Any]:
    """Defaults for `make_query_dependency`, from the options of a question; none of what is required."""
    return {
        name: Parameter.empty if option.required or name in required else option.default
        for name, option in options_of(asked).items()
    }


def _annotated(name: str, option: Option, in_path: bool) -> Any:
    """Return the annotated type of an option as the document shows it."""
    if in_path:
        return Annotated[str, make_path_parameter(option.help, *option.examples)]
    if option.words:
        return Annotated[str, make_word_parameter(option.words, option.help)]
    if option.numeric:
        return Annotated[NumberText, Query(description=option.help, examples=list(option.examples) or None)]
    return Annotated[str, make_text_parameter(option.help, *option.examples, alias=name)]


def make_path_parameter(says: str, *examples: str, known: Iterable[str] = ()) -> Any:
    """A part of the path: text, or one of the known words."""
    extra = {"enum": list(known)} if known else {"maxLength": LONGEST_TEXT}
    return Path(description=says, examples=list(examples), json_schema_extra=extra)


def describe_parameters(says: Mapping[str, str]) -> dict[str, Any]:
    """Return the query parameters of text for `make_query_dependency`, each with what the document says of it."""
    return {name: Annotated[str, Query(description=text, alias=name)] for name, text in says.items()}


def make_query_dependency(parameters: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> Any:
    """A dependency: the query, with the parts of the path that are parameters, as a dict of what was given, and its
    parameters by name, each an annotated type. Without a default they are required. Python's keywords need their alias.
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
    """The body as one JSON object. LayoutError where it is of another type, no JSON, or says one key twice."""
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
    """Strict JSON: UTF-8, one object, every key once, no NaN or Infinity, nothing that cannot be sent back.

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
    """Whether lists and objects are nested deeper than `most`."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(is_deeper(item, most - 1) for item in inside)


def walk_values(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(path, value) of everything in an object that is not a list or object itself; keys, too, under their own path."""
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
            f"'{shorten_value(name, LONGEST_KEY)}' is given twice.",
            "Give every key once.",
            shorten_value(name, LONGEST_KEY),
        )
    return out


def _parse_integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits


Given = Annotated[Json, Depends(read_json_body)]
FORM = "application/x-www-form-urlencoded"


async def read_form_body(request: Request) -> dict[str, str]:
    """A posted form's fields, as the query of an address says them. LayoutError where the body is of another type or no
    form.
    """
    kind = request.headers.get("content-type", FORM).partition(";")[0].strip().lower()
    if kind != FORM:
        raise LayoutError("unsupported_media_type", f"The body is '{kind[:60]}'.", f"Send the form: {FORM}.")
    return await run_off_loop(_parse_form, await request.body())


def _parse_form(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode("utf-8"), max_num_fields=MOST_FIELDS))
    except ValueError:
        raise LayoutError("bad_request", "The body is not a form.", f"Send the form: {FORM}.") from None


TAKEN: dict[str, Any] = {}  # name → model of every body a route takes


def describe_body(name: str, model: Any) -> Json:
    """`openapi_extra` of a route whose body is documented by a model; app/apidocs/api.py puts its schema under the
    name.
    """
    TAKEN[name] = model
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def describe_pictures(model: Any) -> dict[int | str, dict[str, Any]]:
    """What a route of pictures answers, for the document: a file of each form, or the model as JSON."""
    kinds = {media.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}} for media in FORMS.values()}
    return {
        200: {
            "model": model,
            "description": "The picture in the form of the ending.",
            "content": kinds | {"application/json": {}},
        }
    }


def build_api_router(tools: Iterable[Tool[Any, Any]]) -> APIRouter:
    """Return the routes of the API that tools declare."""
    made = APIRouter(prefix="/api/v1", tags=["v1"], route_class=StrictRoute)
    for tool in tools:
        if tool.api:
            _add_route(made, tool)
    return made


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
    def answer(given: Given) -> Response:
        return encode_json_body(tool.answer_body(given))

    return answer


def _answer_query(tool: Tool[Any, Any]) -> Callable[..., Response]:
    in_path = re.findall(r"{(\w+)", tool.api)
    parameters, defaults = parameters_of(tool.question, in_path), defaults_of(tool.question, in_path)

    def answer(given: dict[str, str]) -> Response:
        return encode_json_body(tool.ask(given)[1])

    answer.__annotations__["given"] = Annotated[dict[str, str], make_query_dependency(parameters, defaults)]
    return answer
