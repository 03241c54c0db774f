"""/emulate: a kernel's PTX and its launch, run for one cluster. Posted data are not stored."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.emulate import forms
from lanescope.app.emulate.blocks import parse_block
from lanescope.app.emulate.examples import BY_NAME, EXAMPLES, build_example, read_program
from lanescope.app.emulate.forms import EmulateForm
from lanescope.app.emulate.view import build_view
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question import fields_of, options_of, read_question
from lanescope.app.kit.question_form import add_wrong_fields, form_of
from lanescope.app.kit.wire import read_upload_form
from lanescope.app.kit.work import run_off_loop
from lanescope.emulate.launching.files import parse_npy
from lanescope.emulate.launching.launch import parse_toml
from lanescope.emulate.launching.launch_template import write_launch_template
from lanescope.emulate.text.parser import parse_module
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, quote_value

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
MOST_PART = 16 << 20
MOST_FIELDS = 16
_KERNEL = re.compile(r"""^[ \t]*kernel[ \t]*=[ \t]*(["'])(.*?)\1""", re.M)  # of a launch, even if it is not valid TOML


@router.get("/emulate")
def emulate_page(request: Request) -> Response:
    """Show the form, and the example that the address names."""
    name = request.query_params.get("example", "")
    if name not in BY_NAME:
        return _render_answer(request, {}, {}, name)
    ptx, launch = build_example(name)
    schedule = request.query_params.get("copies", "late")
    return _render_answer(request, {"ptx": ptx, "launch": launch, "copies": schedule}, {}, name)


@router.post("/emulate")
async def post_emulate(request: Request) -> Response:
    """Show the page for the values of the form."""
    form = await read_upload_form(request, MOST_FIELDS, MOST_FIELDS, MOST_PART)
    arrays = {file.name: file.content for file in form.files if file.field == "arrays"}
    for file in form.files:
        if file.field == "file" and file.content:
            form.fields["ptx"] = file.content.decode("utf-8", "replace")
        elif file.field == "file":
            form.fields["empty"] = file.name  # what is typed stays
    return await run_off_loop(_render_answer, request, form.fields, arrays, "")


def _render_answer(request: Request, fields: dict[str, str], files: dict[str, bytes], example: str) -> Response:
    context: dict[str, Any] = {
        "examples": EXAMPLES,
        "example": BY_NAME.get(example),
        "takes": ("example",),
        "source": read_program("pipeline.cu") if example in BY_NAME and BY_NAME[example].program == "pipeline" else "",
        "error": None,
        "answer": None,
    }
    typed = {name: fields.get(name, option.default) for name, option in options_of(EmulateForm).items()}
    try:
        if example:
            parse_choice(example, "example", BY_NAME)
        if empty := fields.get("empty"):
            raise LayoutError(
                "not_ptx", f"{quote_value(empty)} is empty.", "Paste the PTX, or choose another file.", "ptx"
            )
        if request.method == "POST" and not typed["ptx"].strip():
            raise LayoutError("not_ptx", "There is no PTX.", "Paste it, or choose a file.", "ptx")
        if fields.get("fill") or (typed["ptx"].strip() and not typed["launch"].strip()):
            named = _KERNEL.search(typed["launch"])
            typed["launch"] = write_launch_template(parse_module(typed["ptx"]), named[2] if named else "")
            context["filled"] = True
        elif typed["ptx"].strip():
            context |= _run(typed, files)
    except LayoutError as error:
        context["error"] = add_wrong_fields(error, fields_of(EmulateForm), typed)
    context["form"] = form_of(EmulateForm, typed, error=context["error"])
    code = 422 if context["error"] else 200
    return render_page(request, "emulate/page.html", context, code, cacheable=request.method == "GET")


def _run(typed: dict[str, str], files: dict[str, bytes]) -> dict[str, Any]:
    """Run a cluster and return the template's variables. LayoutError names the field of the form."""
    block = parse_block(typed["block"].strip() or "0", "block")
    copies = read_question(EmulateForm, {"copies": typed["copies"]}).copies
    module, arrays = parse_module(typed["ptx"]), {}
    field = "launch"
    try:
        launch = parse_toml(typed["launch"])
        field = "arrays"
        for name, raw in files.items():
            buffer = next((key for key, spec in launch.buffers.items() if spec.file == name), name.removesuffix(".npy"))
            arrays[buffer] = parse_npy(raw, f"buffer.{buffer}")
        field = "launch"
        kernel = forms.prepare_bounded(module, launch, arrays)
    except LayoutError as error:
        raise error if error.field == "ptx" else error.move_to_field(field) from None
    try:
        return build_view(typed["ptx"], kernel, block, copies != "now")
    except LayoutError as error:
        raise error.move_to_field("block" if error.field == "blocks" else error.field) from None
