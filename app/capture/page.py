"""The page /capture: a kernel's capture, verified. The form's files are posted; nothing of them is kept. And
/capture/lanescope.cuh, the header.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from lanescope.app.capture import draw, forms
from lanescope.app.capture.examples import BY_NAME, EXAMPLES, build_capture
from lanescope.app.kit import links
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.kit.work import run_off_loop
from lanescope.app.memory.storage import USED
from lanescope.capture.report import format_origin, format_state, format_wrong_element, render_accumulators
from lanescope.capture.verdict import OperandVerdict, StepVerdict
from lanescope.descriptor import causes
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.render.capture_header import render_header
from lanescope.render.capture_snippets import FILLS, KERNEL, TESTS
from lanescope.render.read_pictures import render_hatches

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
FORM = "multipart/form-data"
FILES = ("capture", "second", "a", "b")
MOST_PART = 16 << 20
MOST_ROWS = 128  # of the K loop's table


@router.get("/capture/lanescope.cuh")
def get_header() -> Response:
    """The header, as `lanescope capture header` prints it."""
    return PlainTextResponse(render_header())


@router.get("/capture")
def capture_page(request: Request) -> Response:
    """The form, and one of the examples where the address names it."""
    name = request.query_params.get("example", "")
    return _render_answer(
        request, {"capture": build_capture(name)} if name in BY_NAME else {}, False, name if name in BY_NAME else ""
    )


@router.post("/capture")
async def post_capture(request: Request) -> Response:
    """The same with the files of the form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise LayoutError(
            "unsupported_media_type", f"The body is '{shorten_value(kind, 60)}'.", f"Send the form: {FORM}."
        )
    sent, nk = {}, False
    try:
        async with request.form(max_files=8, max_fields=8, max_part_size=MOST_PART) as form:
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    if name in FILES and value.filename:
                        sent[name] = await value.read()
                elif name == "nk":
                    nk = bool(value)
    except HTTPException as error:
        raise LayoutError("bad_request", f"The body is not a form: {error.detail}", f"Send the form: {FORM}.") from None
    return await run_off_loop(_render_answer, request, sent, nk, "")


def _render_answer(request: Request, sent: dict[str, bytes], nk: bool, example: str) -> Response:
    context: dict[str, Any] = {
        "examples": EXAMPLES,
        "example": example,
        "kernel": KERNEL,
        "fills": FILLS,
        "tests": TESTS,
        "error": None,
        "told": None,
        "nk": nk,
    }
    code = 200
    try:
        if request.method == "POST" and "capture" not in sent:
            raise LayoutError(
                "bad_capture", "There is no file.", "Choose the capture that the kernel wrote.", "capture"
            )
        if sent:
            context |= _build_context(sent, nk)
    except LayoutError as error:
        context["error"], code = error, 422
    return render_page(request, "capture/page.html", context, code, keep=request.method == "GET")


def _build_context(sent: dict[str, bytes], nk: bool) -> dict[str, Any]:
    made = forms.verify_files(sent, nk)
    first = made.first_wrong
    rows = made.steps if len(made.steps) <= MOST_ROWS else made.wrong[:MOST_ROWS] or made.steps[:MOST_ROWS]
    return {
        "told": forms.build_answer(made),
        "rows": rows,
        "several": len({(s.record.block, s.record.thread) for s in rows}) > 1,
        "first": first,
        "wrong_operands": [one for one in first.operands if not one.ok] if first else [],
        "state": format_state,
        "wrong_element": format_wrong_element,
        "begins": format_origin,
        "title_of": causes.get_cause_title,
        "accumulated": list(render_accumulators(made)),
        "drawn": draw.draw_operand(made.picture) if made.picture else None,
        "pictured": made.picture.side.operand if made.picture else "",
        "hatches": render_hatches(),
        "stored": _link_storage,
    }


def _link_storage(step: StepVerdict, one: OperandVerdict) -> str:
    """The descriptor page with the tile stored as it was found; "" where there is no word, or no layout."""
    if one.word is None or one.stored is None:
        return ""
    asked = {
        "instruction": step.ptx,
        "operand": one.name,
        "major": one.major,
        "slice_mn": str(one.part.mn - one.stored_at[0]),
        "slice_k": str(one.part.k - one.stored_at[1]),
    }
    kind = str(one.stored["kind"])
    own = {f"s_{name}": str(one.stored[name]) for name in ("kind", *USED[kind]) if name in one.stored}
    return links.link_descriptor(f"0x{one.word:016x}", asked | own)
