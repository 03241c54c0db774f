"""/capture: a kernel's capture, verified; and /capture/lanescope.cuh, the header. Uploaded files are not kept."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from lanescope.app.capture import draw, forms
from lanescope.app.capture.examples import BY_NAME, EXAMPLES, build_capture
from lanescope.app.capture.forms import CaptureForm
from lanescope.app.kit import links
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question import labels_of
from lanescope.app.kit.question_form import form_of
from lanescope.app.kit.wire import read_upload_form
from lanescope.app.kit.work import run_off_loop
from lanescope.app.memory.storage import USED
from lanescope.capture.report import format_origin, format_state, format_wrong_element, render_accumulators
from lanescope.capture.verdict import OperandVerdict, StepVerdict
from lanescope.descriptor import causes
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice
from lanescope.render.capture_header import render_header
from lanescope.render.capture_snippets import FILLS, KERNEL, TESTS
from lanescope.render.read_pictures import render_hatches

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
FILES = ("capture", "second", "a", "b")
MOST_PART = 16 << 20
MOST_ROWS = 128  # of the table of the K loop


@router.get("/capture/lanescope.cuh")
def get_header() -> Response:
    """Return the header, as `lanescope capture header` prints it."""
    return PlainTextResponse(render_header())


@router.get("/capture")
def capture_page(request: Request) -> Response:
    """Show the form, and the example that the address names."""
    name = request.query_params.get("example", "")
    return _render_answer(request, {"capture": build_capture(name)} if name in BY_NAME else {}, False, name)


@router.post("/capture")
async def post_capture(request: Request) -> Response:
    """Show the same page for the files of the form."""
    form = await read_upload_form(request, most_files=8, most_fields=8, most_bytes=MOST_PART)
    files = {file.field: file.content for file in form.files if file.field in FILES}
    return await run_off_loop(_render_answer, request, files, bool(form.fields.get("nk")), "")


def _render_answer(request: Request, files: dict[str, bytes], nk: bool, example: str) -> Response:
    context: dict[str, Any] = {
        "examples": EXAMPLES,
        "example": example if example in BY_NAME else "",
        "takes": ("example",),
        "kernel": KERNEL,
        "fills": FILLS,
        "tests": TESTS,
        "error": None,
        "answer": None,
        "labels": labels_of(CaptureForm),
    }
    try:
        if example:
            parse_choice(example, "example", BY_NAME)
        if request.method == "POST" and "capture" not in files:
            raise LayoutError(
                "bad_capture", "No file was chosen.", "Choose the capture that the kernel wrote.", "capture"
            )
        if files:
            context |= _build_context(files, nk)
    except LayoutError as error:
        context["error"] = error
    context["form"] = form_of(CaptureForm, {"nk": "1" * nk}, error=context["error"])
    return render_page(request, "capture/page.html", context, cacheable=request.method == "GET")


def _build_context(files: dict[str, bytes], nk: bool) -> dict[str, Any]:
    verified = forms.verify_files(files, nk)
    first = verified.first_wrong
    rows = (
        verified.steps if len(verified.steps) <= MOST_ROWS else verified.wrong[:MOST_ROWS] or verified.steps[:MOST_ROWS]
    )
    return {
        "answer": forms.build_answer(verified),
        "rows": rows,
        "several": len({(s.record.block, s.record.thread) for s in rows}) > 1,
        "first": first,
        "wrong_operands": [operand for operand in first.operands if not operand.ok] if first else [],
        "state": format_state,
        "wrong_element": format_wrong_element,
        "begins": format_origin,
        "title_of": causes.get_cause_title,
        "accumulated": list(render_accumulators(verified)),
        "drawn": draw.draw_operand(verified.picture) if verified.picture else None,
        "pictured": verified.picture.side.operand if verified.picture else "",
        "hatches": render_hatches(),
        "stored": _link_storage,
    }


def _link_storage(step: StepVerdict, operand: OperandVerdict) -> str:
    """Link the descriptor page with the tile stored as it was found; "" without a word or a layout."""
    if operand.word is None or operand.stored is None:
        return ""
    query = {
        "instruction": step.ptx,
        "operand": operand.name,
        "major": operand.major,
        "slice_mn": str(operand.part.mn - operand.stored_at[0]),
        "slice_k": str(operand.part.k - operand.stored_at[1]),
    }
    kind = str(operand.stored["kind"])
    storage = {f"s_{name}": str(operand.stored[name]) for name in ("kind", *USED[kind]) if name in operand.stored}
    return links.link_descriptor(f"0x{operand.word:016x}", query | storage)
