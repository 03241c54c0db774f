"""/gpu and /gpu/run: this server's device, a run, and the stored evidence of other devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.hardware import runs
from lanescope.app.hardware.evidence import PARTS
from lanescope.app.kernel import facts as programs
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.errors import get_status
from lanescope.app.kit.fact import fact_to_json
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question import Field
from lanescope.app.kit.question_form import add_wrong_fields, require_values
from lanescope.app.kit.run_results import MmaRan
from lanescope.app.kit.work import run_off_loop
from lanescope.app.runs import draw as run_views
from lanescope.app.runs.facts import count_family_runs, list_contradictions, load_evidence
from lanescope.app.runs.forms import FIELDS, LABELS, TEXTS, build_form
from lanescope.app.runs.hardware import build_status, get_hardware
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.product.planning import SIDES
from lanescope.shared import banks

TITLES = {
    "mma": "Run a product",
    "fragment": "Measure a fragment",
    "descriptor": "Measure a descriptor",
    "banks": "Time an access",
}
router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
MOST_LISTED = 40  # mismatches listed on the page; the JSON has all of them


@router.get("/gpu")
async def gpu_page(request: Request) -> Response:
    """The device, the queue, recent runs, and the evidence table: by device and family, how many variants ran and
    agreed.
    """
    now = await build_status(request)
    return await run_off_loop(
        lambda: render_page(
            request,
            "runs/page.html",
            {
                "status": now,
                "devices": load_evidence(),
                "form": build_form({}, now.fleet),
                "parts": PARTS,
                "apart": list_contradictions(),
                "families": count_family_runs(),
            },
        )
    )


@router.get("/gpu/run")
async def run_page(request: Request) -> Response:
    """One run as a page; its parameters are the query, so the link repeats it."""
    query = dict.fromkeys(TEXTS, "") | dict(request.query_params)  # a run has no default
    context: dict[str, Any] = {
        "given": query,
        "error": None,
        "title": TITLES.get(query.get("kind", ""), "Choose what to run"),
        "found": None,
        "reason": get_hardware(request).reason,
        "fleet": await get_hardware(request).get_fleet_status(),
        "labels": LABELS,
    }
    code = 200
    try:
        if request.query_params:
            context |= await _run(request, query)
    except LayoutError as error:
        context["error"], code = add_wrong_fields(error, _list_own_fields(query), query), get_status(error)
    context["form"] = await run_off_loop(build_form, query, context["fleet"], context["error"])
    return await run_off_loop(render_page, request, "runs/run.html", context, code)


async def _run(request: Request, query: dict[str, str]) -> dict[str, Any]:
    """Return what the page shows of the run of a query."""
    given = await run_off_loop(_parse_run, query)
    found = await get_hardware(request).execute_run(await run_off_loop(runs.parse_run, given))
    differing = [fact_to_json(row) for row in found.mismatches[:MOST_LISTED]]
    shown: dict[str, Any] = {
        "found": found,
        "differing": differing,
        "views": await run_off_loop(run_views.draw_answer, found),
    }
    if isinstance(found, MmaRan) and found.options:
        sides = {side: query.get(side, "") for side in SIDES}
        shown["program"] = programs.link_program(lookup.find(given["instruction"]), sides)
    return shown


def _list_own_fields(query: Mapping[str, str]) -> dict[str, Field]:
    """Return the fields of the form that a query's kind of run has."""
    return {name: FIELDS[name] for name in runs.FIELDS.get(query.get("kind", ""), ()) if name in FIELDS}


def _parse_run(query: dict[str, str]) -> dict[str, Any]:
    """Return the run that a form requests; the form has the fields of every kind."""
    fields = runs.FIELDS.get(query.get("kind", ""), ())
    require_values(_list_own_fields(query), query)
    given: dict[str, Any] = {name: value for name, value in query.items() if value}
    wanted = {"kind", "backend", "device", *runs.PLACES, *fields}
    given = {name: value for name, value in given.items() if name in wanted}
    if "address" in given:
        given["address"] = banks.parse_addresses(given["address"])
    return given
