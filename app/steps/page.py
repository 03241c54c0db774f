"""/steps: everything one mma does, as a page, text and JSON, with random matrices or with a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.gpu import own
from app.kernel import facts as programs
from app.kit.api import ApiRoute, Given, takes
from app.kit.errors import status_of
from app.kit.page import page
from app.kit.wire import Body, json_body
from app.kit.work import off_loop
from app.runs.page import hardware
from app.steps import facts as steps
from app.steps.schemas import Steps, StepsBody, WgmmaSteps
from layouts import catalog
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.planning import SIDES
from layouts.reading import keys, number, text

router = APIRouter(route_class=ApiRoute)
OPTIONS = {"row": "0", "col": "0", "product": "0", "seed": "1", "backend": "numpy"}
TEXTS = ("a", "b", "c", "d", "data_a", "data_b")  # what a form or an address says of storage and matrices
FORM = "application/x-www-form-urlencoded"


@router.post("/api/v1/steps", tags=["v1"], responses={200: {"model": Steps | WgmmaSteps}}, openapi_extra=takes("StepsBody", StepsBody))
async def steps_api(request: Request, given: Given) -> Response:
    """Everything one mma does: memory, the addresses lanes give ldmatrix or the descriptors of a wgmma, registers, the terms of one element, D;
    with random matrices or those of `data`."""
    found, asked = await off_loop(_found, given)
    return await off_loop(json_body, await _traced(request, found, given, asked))


def _found(given: Mapping[str, Any]) -> tuple[Instruction, dict[str, Any]]:
    """The instruction of a body, and what it says of storage and matrices."""
    keys(given, ("instruction", *OPTIONS, *SIDES, "data"))
    try:
        found = catalog.find(text(given.get("instruction"), "instruction", 1 << 16))
    except LayoutError as error:
        raise LayoutError("bad_instruction", error.message, error.hint, "instruction", error.nearest) from None
    stored = [side for side in SIDES if side in given]
    if stored and not found.family.by_descriptor:
        hint = "A warp's mma is stepped through from plain rows; matrices are in data."
        raise LayoutError("bad_usage", f"{stored[0]} is for wgmma.", hint, stored[0])
    return found, {name: given[name] for name in (*SIDES, "data") if name in given}


async def _traced(request: Request, found: Instruction, given: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """One run and its steps; asked: storage and matrices of the run. LayoutError names the parameter that is wrong."""
    where = await off_loop(_where, found, given)
    sides = dict.fromkeys(SIDES, "") if found.family.by_descriptor else {}
    job = {"kind": "mma", "instruction": found.ptx, "seed": where["seed"], "backend": given.get("backend", OPTIONS["backend"])}
    run = await hardware(request).run(job | sides | asked)
    return await off_loop(steps.steps, found, run, where["row"], where["col"], where["product"])


def _where(found: Instruction, given: Mapping[str, Any]) -> dict[str, int]:
    steps.check(found)
    return {name: number(given.get(name, OPTIONS[name]), name) for name in ("row", "col", "product", "seed")}


@router.post("/steps/file.json", include_in_schema=False)
async def steps_file(request: Request) -> Response:
    """For the page's form: a .npy file as rows of numbers."""
    raw = await request.body()
    return await off_loop(lambda: json_body({"text": own.to_text(own.from_file(raw, "file"))}))


@router.get("/steps/{rest:path}", include_in_schema=False)
async def steps_page(request: Request, rest: str) -> Response:
    """The page; .txt and .json are the same."""
    return await _page(request, rest, dict(request.query_params))


@router.post("/steps/{rest:path}", include_in_schema=False)
async def steps_posted(request: Request, rest: str) -> Response:
    """The same page for matrices that are too long for an address: what its form would put into the query is the body."""
    kind = request.headers.get("content-type", FORM).partition(";")[0].strip().lower()
    if kind != FORM:
        raise LayoutError("unsupported_media_type", f"The body is '{kind[:60]}'.", f"Send the form: {FORM}.")
    return await _page(request, rest, await off_loop(_form, await request.body()))


def _form(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode("utf-8"), max_num_fields=32))
    except ValueError:
        raise LayoutError("bad_request", "The body is no form.", f"Send the form: {FORM}.") from None


async def _page(request: Request, rest: str, query: dict[str, str]) -> Response:
    stem, dot, form = rest.rpartition(".")
    form = form if dot and form in ("txt", "json") else ""
    context = await off_loop(_context, stem if form else rest, query, hardware(request).reason)
    found, status_code = context["found"], 200
    try:
        context["s"] = await _traced(request, found, context["given"], await off_loop(_asked, found, context["given"]))
    except LayoutError as error:
        if form:
            raise
        context["error"], status_code = await off_loop(_beside, error, found, context["given"]), status_of(error)
    if form:
        return await off_loop(_text, form, context["s"])
    return await off_loop(page, request, "steps/wgmma.html" if found.family.by_descriptor else "steps/page.html", context, status_code)


def _asked(found: Instruction, texts: Mapping[str, str]) -> dict[str, Any]:
    options, data = steps.asked(found, texts)
    return options | ({"data": data} if data else {})


def _beside(error: LayoutError, found: Instruction, texts: Mapping[str, str]) -> LayoutError:
    """The error under the name of the form's input."""
    name = error.field.removeprefix("data.")
    if found.family.by_descriptor and error.field.startswith("data.") and texts.get(f"data_{name}"):
        name = f"data_{name}"
    return LayoutError(error.code, error.message, error.hint, name, error.nearest)


def _context(ptx: str, query: Mapping[str, str], reason: str) -> dict[str, Any]:
    found = catalog.find(ptx)
    given = {name: query.get(name) or default for name, default in OPTIONS.items()}
    texts = {name: query.get(name, "") for name in TEXTS}
    kept = {name: value for name, value in given.items() if value != OPTIONS[name]} | {
        name: value for name, value in texts.items() if value
    }
    multiplies = {"a", "b", "d"} <= set(found.operands) | ({"b"} if found.family.by_descriptor else set()) and "k" in found.sizes
    lies = {side: texts[side] for side in SIDES if texts[side]} if found.family.by_descriptor else {}
    return {
        "program": programs.address(found, lies) if programs.available(found) else "",
        "found": found,
        "given": given | texts,
        "matrices": ("data_a", "data_b", "c") if found.family.by_descriptor else own.OPERANDS,
        "shapes": {name: " × ".join(map(str, own.shape_of(found, name))) for name in own.OPERANDS} if multiplies else {},
        "most_shown": steps.MOST_SHOWN,
        "shown": own.number_text,
        "error": None,
        "s": None,
        "reason": reason,
        "query": urlencode(kept),
        "query_but": urlencode({k: v for k, v in kept.items() if k not in ("row", "col")}),
        "several": found.operands.get("d") and found.operands["d"].extents.get("product", 1) > 1,
    }


def _text(form: str, found: dict[str, Any]) -> Body:
    return json_body(found) if form == "json" else Body(steps.text(found).encode(), "text/plain; charset=utf-8")
