"""/kernel: a whole program around an instruction, its .cu and .py."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kernel import facts as programs
from lanescope.app.kernel.forms import build_context, plan_without_wrong
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.errors import get_status
from lanescope.app.kit.page import render_page
from lanescope.app.kit.wire import CachedBody, encode_json_body
from lanescope.names import lookup
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


OFTEN = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
    "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
    "stmatrix.sync.aligned.m8n8.x4.shared.b16",
)


@router.get("/kernel")
@router.get("/kernel/")
def choose_program(request: Request) -> Response:
    """List popular programs; each instruction's page links to its own."""
    chosen = [(programs.link_program(i, {}), name_form(i)) for i in map(catalog.find, OFTEN)]
    return render_page(request, "kernel/choose.html", {"programs": chosen})


@router.get("/kernel/{rest:path}")
def kernel_page(request: Request, rest: str) -> Response:
    """Show the program of an instruction, as page or as .cu, .py or .json."""
    stem, dot, form = rest.rpartition(".")
    if not (dot and form in (*programs.FORMS, "json")):
        stem, form = rest, ""
    instruction = lookup.find(stem)
    query = dict(request.query_params)
    if form:
        plan = programs.plan_program(instruction, programs.parse_options(query))
        if form == "json":
            return encode_json_body(programs.build_program(plan))
        return CachedBody(
            programs.write_program(plan, form).encode(),
            f"text/{'x-python' if form == 'py' else 'plain'}; charset=utf-8",
        )
    plan, error, typed = plan_without_wrong(instruction, query)
    if error is None and any("." in name for name in query):  # redirect a form to the shorter address
        return RedirectResponse(programs.link_program(instruction, programs.format_options(plan)), 303)
    return render_page(
        request, "kernel/page.html", build_context(plan, typed, error), get_status(error) if error else 200
    )
