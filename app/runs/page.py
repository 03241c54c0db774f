"""Run on GPU: the device of this server, its runs as API and page, and the stored evidence of others."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from app.gpu import runs
from app.gpu.pool import Pool
from app.gpu.verify import PARTS, summary
from app.kernel import facts as programs
from app.kit.api import ApiRoute, Given, takes
from app.kit.errors import status_of
from app.kit.page import page
from app.kit.wire import json_body
from app.kit.work import off_loop
from app.runs import draw as run_views
from app.runs.schemas import GpuStatus, RunAnswer, RunBody
from layouts import banks, catalog
from layouts.errors import LayoutError
from layouts.planning import SIDES

router = APIRouter(route_class=ApiRoute)
NO_CUPY = "CuPy is not installed. pip install 'lanescope[gpu]' on a machine with an NVIDIA GPU."
KNOWN_SECONDS = 60.0


class Hardware:
    """The pool of workers and what is known of the devices. One a server, in app.state."""

    def __init__(self, pool: Pool | None = None, why_not: str | None = None) -> None:
        """why_not: why no worker is ever asked; None looks whether CuPy is there, without importing it into the server."""
        self.pool = pool or Pool()
        self.why_not = why_not if why_not is not None else "" if importlib.util.find_spec("cupy") else NO_CUPY
        self._hello: tuple[float, dict[str, Any]] | None = None

    @property
    def reason(self) -> str:
        """Why no run can go to a GPU as far as is known without asking one; "" where nothing speaks against it."""
        return self.why_not or ("" if self._hello is None else self._hello[1]["reason"])

    async def hello(self) -> dict[str, Any]:
        """{"available", "reason", "devices"}; a worker that has no device is asked once a minute at the most."""
        if self.why_not:
            return {"available": False, "reason": self.why_not, "devices": []}
        if self._hello is None or (self._hello[1]["reason"] and time.monotonic() - self._hello[0] > KNOWN_SECONDS):
            try:
                told = await asyncio.wrap_future(self.pool.submit({"kind": "hello"}))
                answer = {"available": True, "reason": "", "devices": told["devices"]}
            except LayoutError as error:
                answer = {"available": False, "reason": error.message, "devices": []}
            self._hello = (time.monotonic(), answer)
        return self._hello[1]

    async def run(self, given: dict[str, Any]) -> dict[str, Any]:
        """Check a request and have it run; LayoutError says what is wrong or why it cannot run here."""
        request = await off_loop(runs.check, given)
        if request["backend"] == "cuda" and (reason := (await self.hello())["reason"]):
            raise LayoutError("no_device", reason, "backend numpy simulates the run; /gpu shows what hardware said elsewhere.")
        return await asyncio.wrap_future(self.pool.submit(request))


def hardware(request: Request) -> Hardware:
    """This server's hardware."""
    found: Hardware = request.app.state.hardware
    return found


async def status(request: Request) -> dict[str, Any]:
    """GET /gpu: the devices, or why there is none; the queue and recent runs."""
    known = hardware(request)
    return await known.hello() | {"queue": known.pool.waiting, "recent": list(known.pool.recent)}


@router.get("/api/v1/gpu", tags=["v1"], responses={200: {"model": GpuStatus}})
async def gpu_api(request: Request) -> Response:
    """Whether this server has a CUDA device, and if not, why; the queue and recent runs."""
    return await off_loop(json_body, await status(request))


@router.post("/api/v1/gpu/runs", tags=["v1"], responses={200: {"model": RunAnswer}}, openapi_extra=takes("RunBody", RunBody))
async def run_api(request: Request, given: Given) -> Response:
    """Execute on the device (or, with backend numpy, simulate) and compare: kind mma {instruction, a_from, seed, or a, b, d of a whole product}, fragment
    {instruction, operand}, descriptor {descriptor, instruction, operand, major}, banks {access, address}. 503 where there is no device."""
    return await off_loop(json_body, await hardware(request).run(given))


@router.get("/gpu", include_in_schema=False)
async def gpu_page(request: Request) -> Response:
    """The device, the queue, recent runs, and the evidence table: by device and family, how many variants ran and agreed."""
    now = await status(request)
    return await off_loop(lambda: page(request, "runs/page.html", {"status": now, "devices": table(), "kinds": runs.KINDS}))


@router.get("/gpu/run", include_in_schema=False)
async def run_page(request: Request) -> Response:
    """One run as a page; its parameters are the query, so the link repeats it."""
    query = dict(request.query_params)
    context: dict[str, Any] = {
        "given": query,
        "error": None,
        "found": None,
        "reason": hardware(request).reason,
        "accesses": banks.ACCESSES,
        "stored": any(query.get(side) for side in SIDES),
    }
    try:
        given = await off_loop(_run_of, query)
        found = await hardware(request).run(given)
        context |= {"found": found, "views": await off_loop(run_views.views, found)}
        if "options" in found:
            context["program"] = programs.address(catalog.find(given["instruction"]), {side: query.get(side, "") for side in SIDES})
        code = 200
    except LayoutError as error:
        context["error"], code = error, status_of(error)
    return await off_loop(page, request, "runs/run.html", context, code)


def _run_of(query: dict[str, str]) -> dict[str, Any]:
    """The run a form asks for; it carries every kind's fields."""
    given: dict[str, Any] = {name: value for name, value in query.items() if value}
    wanted = {"kind", "backend", "device", *runs.FIELDS.get(given.get("kind", ""), ())}
    given = {name: value for name, value in given.items() if name in wanted}
    if "address" in given:
        given["address"] = banks.parse(given["address"])
    return given


@router.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Prometheus text: requests by route and status, runs by kind and outcome, the queue, worker restarts."""
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    return Response(generate_latest(request.app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)


@lru_cache(maxsize=1)
def table() -> list[dict[str, Any]]:
    """One entry a stored evidence file: its meta, its summary by family, and the cases of the other parts."""
    return [
        {"meta": data["meta"], "rows": summary(data), "parts": {name: data[name] for name in PARTS if name in data}}
        for data in catalog.evidence_files()
    ]
