"""/emulate: a kernel's PTX and its launch, run for one cluster. Posted data are not stored."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.emulate import facts, forms
from lanescope.app.emulate.blocks import parse_block
from lanescope.app.emulate.examples import BY_NAME, EXAMPLES, build_example, read_program
from lanescope.app.emulate.view import build_view
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.kit.wire import read_upload_form
from lanescope.app.kit.work import run_off_loop
from lanescope.emulate.files import parse_npy
from lanescope.emulate.launch import parse_toml
from lanescope.emulate.launch_template import write_launch_template
from lanescope.emulate.parser import parse_module
from lanescope.errors import LayoutError

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
MOST_PART = 16 << 20
MOST_FIELDS = 16
_KERNEL = re.compile(r"""^[ \t]*kernel[ \t]*=[ \t]*(["'])(.*?)\1""", re.M)  # of a launch, even if it is not valid TOML


@router.get("/emulate")
def emulate_page(request: Request) -> Response:
    """Show the form, and the example that the address names."""
    name = request.query_params.get("example", "")
    if name not in BY_NAME:
        return _render_answer(request, {}, {}, "")
    ptx, launch = build_example(name)
    schedule = request.query_params.get("copies", "late")
    return _render_answer(request, {"ptx": ptx, "launch": launch, "copies": schedule}, {}, name)


@router.post("/emulate")
async def post_emulate(request: Request) -> Response:
    """Show the page for the values of the form."""
    form = await read_upload_form(request, MOST_FIELDS, MOST_FIELDS, MOST_PART)
    arrays = {file.name: file.content for file in form.files if file.field == "arrays"}
    for file in form.files:
        if file.field == "file":
            form.fields["ptx"] = file.content.decode("utf-8", "replace")
    return await run_off_loop(_render_answer, request, form.fields, arrays, "")


def _render_answer(request: Request, fields: dict[str, str], files: dict[str, bytes], example: str) -> Response:
    context: dict[str, Any] = {
        "examples": EXAMPLES,
        "example": BY_NAME.get(example),
        "source": read_program("pipeline.cu") if example and BY_NAME[example].program == "pipeline" else "",
        "ptx": fields.get("ptx", ""),
        "launch": fields.get("launch", ""),
        "block": fields.get("block", ""),
        "copies": fields.get("copies", "late"),
        "statuses": facts.STATUSES,
        "error": None,
        "answer": None,
    }
    code = 200
    try:
        if request.method == "POST" and not context["ptx"].strip():
            raise LayoutError("not_ptx", "There is no PTX.", "Paste it, or choose a file.", "ptx")
        if fields.get("fill") or (context["ptx"].strip() and not context["launch"].strip()):
            named = _KERNEL.search(context["launch"])
            context["launch"] = write_launch_template(parse_module(context["ptx"]), named[2] if named else "")
            context["filled"] = True
        elif context["ptx"].strip():
            context |= _run(context, files)
    except LayoutError as error:
        context["error"], code = error, 422
        found = re.match(r"Line (\d+):", error.message)
        context["bad_line"] = int(found[1]) if found and error.field == "ptx" else 0
    return render_page(request, "emulate/page.html", context, code, keep=request.method == "GET")


def _run(context: dict[str, Any], files: dict[str, bytes]) -> dict[str, Any]:
    launch = parse_toml(context["launch"])
    arrays = {}
    for name, raw in files.items():
        buffer = next((key for key, spec in launch.buffers.items() if spec.file == name), name.removesuffix(".npy"))
        arrays[buffer] = parse_npy(raw, f"buffer.{buffer}")
    kernel = forms.prepare_bounded(parse_module(context["ptx"]), launch, arrays)
    block = parse_block(context["block"].strip() or "0", "block")
    return build_view(context["ptx"], kernel, block, context["copies"] != "now")
