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
from lanescope.app.capture.examples import BY_NAME, EXAMPLES, file
from lanescope.app.kit import links
from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.page import page
from lanescope.app.kit.work import off_loop
from lanescope.app.memory.storage import USED
from lanescope.capture.report import accumulators, begins, state, wrong_element
from lanescope.capture.verdict import Operand, Verdict
from lanescope.descriptor import causes
from lanescope.errors import LayoutError
from lanescope.reading import shown
from lanescope.render.capture_header import header
from lanescope.render.capture_snippets import FILLS, KERNEL, TESTS
from lanescope.render.reads import hatch_defs

router = APIRouter(include_in_schema=False, route_class=OffLoop)
FORM = "multipart/form-data"
FILES = ("capture", "second", "a", "b")
MOST_PART = 16 << 20
MOST_ROWS = 128  # of the K loop's table


@router.get("/capture/lanescope.cuh")
def header_file() -> Response:
    """The header, as `lanescope capture header` prints it."""
    return PlainTextResponse(header())


@router.get("/capture")
def capture_page(request: Request) -> Response:
    """The form, and one of the examples where the address names it."""
    name = request.query_params.get("example", "")
    return _answer(request, {"capture": file(name)} if name in BY_NAME else {}, False, name if name in BY_NAME else "")


@router.post("/capture")
async def capture_posted(request: Request) -> Response:
    """The same with the files of the form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise LayoutError("unsupported_media_type", f"The body is '{shown(kind, 60)}'.", f"Send the form: {FORM}.")
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
    return await off_loop(_answer, request, sent, nk, "")


def _answer(request: Request, sent: dict[str, bytes], nk: bool, example: str) -> Response:
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
            context |= _verified(sent, nk)
    except LayoutError as error:
        context["error"], code = error, 422
    return page(request, "capture/page.html", context, code, keep=request.method == "GET")


def _verified(sent: dict[str, bytes], nk: bool) -> dict[str, Any]:
    made = forms.verified(sent, nk)
    first = made.first_wrong
    rows = made.steps if len(made.steps) <= MOST_ROWS else made.wrong[:MOST_ROWS] or made.steps[:MOST_ROWS]
    return {
        "told": forms.facts(made),
        "rows": rows,
        "several": len({(s.record.block, s.record.thread) for s in rows}) > 1,
        "first": first,
        "wrong_operands": [one for one in first.operands if not one.ok] if first else [],
        "state": state,
        "wrong_element": wrong_element,
        "begins": begins,
        "title_of": causes.title,
        "accumulated": list(accumulators(made)),
        "drawn": draw.drawn(made.picture) if made.picture else None,
        "pictured": made.picture.side.operand if made.picture else "",
        "hatches": hatch_defs(),
        "stored": _stored,
    }


def _stored(step: Verdict, one: Operand) -> str:
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
    return links.descriptor(f"0x{one.word:016x}", asked | own)
