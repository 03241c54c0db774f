"""The page of a whole program, its .cu and .py, and the same as JSON."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from app.instruction import facts as payload
from app.kernel import facts as programs
from app.kernel.schemas import Program
from app.kit.api import ApiRoute, OffLoop, Ptx, text
from app.kit.errors import status_of
from app.kit.page import page
from app.kit.wire import Body, json_body
from layouts import catalog
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.plan import Plan, Tiled
from layouts.planning import SIDES, plan

router = APIRouter(include_in_schema=False, route_class=OffLoop)
api = APIRouter(prefix="/api/v1", tags=["v1"], route_class=ApiRoute)
MOST = 2000
RARE = ("swizzle_by", "mn", "first", "base", "descriptor")  # options that the form keeps folded


def _options(what: str, *examples: str) -> Any:
    return text(f"{what}: name=value,name=value.", *examples, most=MOST)


@api.get("/instructions/{ptx}/kernel", responses={200: {"model": Program}})
def kernel(
    ptx: Ptx,
    a: Annotated[str, _options("How A is stored", "swizzle=128B,major=K", "from=registers")] = "",
    b: Annotated[str, _options("How B is stored", "swizzle=32B,major=MN,order=mn")] = "",
    d: Annotated[str, _options("What becomes of D", "scale=0")] = "",
) -> Response:
    """A whole program around one instruction: a .cu file with its check on the CPU, and the same as a CuPy script. `options` lists what A,
    B and D take, as it was chosen or by default."""
    return json_body(programs.facts(plan(catalog.find(ptx), a, b, d)))


@router.get("/kernel/{rest:path}")
def kernel_page(request: Request, rest: str) -> Response:
    """The program of an instruction: the page, or with .cu, .py, .json that form."""
    stem, dot, form = rest.rpartition(".")
    if not (dot and form in (*programs.FORMS, "json")):
        stem, form = rest, ""
    found = catalog.find(stem)
    query = dict(request.query_params)
    given = programs.chosen(query)
    if form:
        made = plan(found, *given.values())
        if form == "json":
            return json_body(programs.facts(made))
        return Body(programs.FORMS[form](made).encode(), f"text/{'x-python' if form == 'py' else 'plain'}; charset=utf-8")
    try:
        made, error = plan(found, *given.values()), None
    except LayoutError as refused:
        made, error = _fallback(found, given), refused
    if error is None and any("." in name for name in query):  # a form was sent: its plain address says the same in less
        return RedirectResponse(programs.address(found, programs.spelled(made)), 303)
    return page(request, "kernel/page.html", context(made, given, error), status_of(error) if error else 200)


def _fallback(found: Instruction, given: dict[str, str]) -> Plan:
    """A legal plan to show the form of beside an error; LayoutError where the instruction has none at all."""
    for a in ("from=registers" if "from=registers" in given["a"] else "", ""):
        try:
            return plan(found, a)
        except LayoutError:
            if not a:
                raise
    raise AssertionError


def context(made: Plan, given: dict[str, str], error: LayoutError | None) -> dict[str, Any]:
    """What the page shows."""
    found = made.instruction
    options = {side: text for side, text in (given if error else programs.spelled(made)).items() if text}
    run = {"kind": "mma", "instruction": found.ptx, **options, "backend": "numpy"}
    return {
        "found": found,
        "evidence": payload.evidence(found),
        "error": error,
        "facts": None if error else programs.facts(made),
        "fields": {side: _fields(made, side, given[side] if error else "") for side in SIDES},
        "forms": {form: programs.address(found, options, form) for form in (*programs.FORMS, "json")},
        "run": "/gpu/run?" + urlencode(run),
        "steps": f"/steps/{quote(found.ptx, safe=':.')}" + (f"?{urlencode(options)}" if options and found.family.by_descriptor else ""),
        "tiles": [_tile(side, made) for side in (made.a, made.b) if isinstance(side, Tiled)],
        "labels": {f"{side}.{name}": what for side in SIDES for name, what in programs.WHAT.items()}
        | {"d.scale": "scale-d", "d.layout": "C and D stored"},
    }


def _fields(made: Plan, side: str, typed: str) -> list[dict[str, Any]]:
    """The form of one side: name, words to choose from, value chosen (as typed, where the options were refused) and default."""
    kept = dict(part.partition("=")[::2] for part in typed.split(",") if "=" in part)
    return [
        {
            "name": name,
            "words": words,
            "value": kept.get(name) or made.chosen[side].get(name, ""),
            "default": made.options[side][name],
            "rare": name in RARE,
        }
        for name, words in made.words[side].items()
    ]


def _tile(side: Tiled, made: Plan) -> dict[str, str]:
    """Links to a tile and to its descriptor's verification."""
    tile, name = side.tile, side.letter
    shape = {"element_bits": tile.element_bits, "major": tile.major, "swizzle": tile.mode.name, "mn": tile.mn, "k": tile.k, "rows": side.mn, "order": tile.order, "base": tile.base}  # fmt: skip
    storage = {
        "s_swizzle": tile.mode.name,
        "s_swizzle_by": tile.swizzle_by,
        "s_mn": tile.mn,
        "s_k": tile.k,
        "s_order": tile.order,
        "s_base": tile.base,
    }
    check = {"instruction": made.instruction.ptx, "operand": name, "major": tile.major, **storage, "slice_mn": side.first}
    word = programs.words(side, 1)[0]
    return {"letter": name, "smem": "/smem?" + urlencode(shape), "word": word, "verify": f"/descriptor/wgmma/{word}?" + urlencode(check)}
