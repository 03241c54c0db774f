"""/dump: a dump of shared memory and a descriptor that reads it. Uploaded files are not kept."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope.app.dump import base64_files, draw, forms
from lanescope.app.dump.examples import BY_NAME, EXAMPLES, build_files
from lanescope.app.dump.forms import FILES, DumpBody, DumpQuestion
from lanescope.app.kit import links
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question import fields_of, labels_of, nest_fields, read_question
from lanescope.app.kit.question_form import Control, add_wrong_fields, fill_fields, form_of, require_values
from lanescope.app.kit.uploads import UploadForm
from lanescope.app.kit.wire import read_upload_form
from lanescope.app.kit.work import run_off_loop
from lanescope.app.memory.storage import USED
from lanescope.descriptor import causes
from lanescope.dump import AS, summary
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice
from lanescope.render.read_pictures import render_hatches

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
ASKED = fields_of(DumpQuestion)
FIELDS = {name: field.option.default for name, field in ASKED.items()}
KEPT = {name: f"kept_{name}" for name in FILES}  # files of the previous form, in base64


@router.get("/dump")
def dump_page(request: Request) -> Response:
    """Show the form, and the example that the address names."""
    query = request.query_params
    example = BY_NAME.get(query.get("example", ""))
    fields = fill_fields(ASKED, query, FIELDS | (dict(example.query) if example else {}))
    sent = dict(zip(FILES, build_files(example.name), strict=True)) if example else {}
    return _render_answer(request, fields, sent, {}, query.get("example", ""))


@router.post("/dump")
async def post_dump(request: Request) -> Response:
    """Show the page for the files of the form."""
    form = await read_upload_form(request, most_files=4, most_fields=16, most_bytes=1 << 20)
    return await run_off_loop(_render_form, request, form)


def _render_form(request: Request, form: UploadForm) -> Response:
    files = {file.field: file.content for file in form.files if file.field in FILES}
    kept = {name: form.fields[kept] for name, kept in KEPT.items() if form.fields.get(kept) and name not in files}
    return _render_answer(request, fill_fields(ASKED, form.fields), files, kept)


def _render_answer(
    request: Request, fields: dict[str, str], sent: dict[str, bytes], kept: Mapping[str, str], example: str = ""
) -> Response:
    """Return the page. sent: the files; kept: those of the previous form, in base64."""
    context: dict[str, Any] = {
        "given": fields,
        "examples": EXAMPLES,
        "example": example if example in BY_NAME else "",
        "takes": ("example",),
        "labels": labels_of(DumpQuestion) | FILES,
        "error": None,
        "answer": None,
        "kept": {},
    }
    try:
        if example:
            parse_choice(example, "example", BY_NAME)
        sent |= {name: base64_files.decode_base64(text, name) for name, text in kept.items()}
        require_values(ASKED, fields)
        if request.method == "POST" and "dump" not in sent:
            raise LayoutError("bad_dump", "No file was chosen.", "Choose the dump: raw bytes, or a .npy array.", "dump")
        if "dump" in sent:
            context |= _build_context(fields, sent, example)
    except LayoutError as error:
        context["error"] = error
    context["error"] = add_wrong_fields(context["error"], ASKED, fields)
    context["form"] = _build_form(fields, context["error"])
    if sent and not example:
        context["kept"] = {KEPT[name]: base64.b64encode(raw).decode() for name, raw in sent.items()}
    return render_page(request, "dump/page.html", context, cacheable=request.method == "GET")


def _build_form(fields: Mapping[str, str], error: LayoutError | None) -> dict[str, Control]:
    """Return the controls: the files of a body, and the fields of the question."""
    files = form_of(DumpBody, {}, error=error)
    return {name: files[name] for name in FILES} | form_of(DumpQuestion, fields, {"expected_as": AS}, error)


def _build_context(fields: Mapping[str, str], sent: Mapping[str, bytes], example: str) -> dict[str, Any]:
    question = read_question(DumpQuestion, nest_fields(ASKED, {name: fields[name] for name in ASKED}))
    examined = forms.examine_dump(question, sent["dump"], sent.get("expected"))
    answer = forms.build_answer(examined, question.instruction.ptx)
    fixes = {found.fix.descriptor for layout in answer.layouts for found in layout.diagnoses[:1] if found.fix}
    return {
        "answer": answer,
        "verdict_said": summary(examined),
        "picture": draw.draw_operand(examined),
        "memory": draw.draw_memory(examined),
        "hatches": render_hatches(),
        "title_of": causes.get_cause_title,
        "fixes": sorted(fixes),
        "repaired": "?" + urlencode({"example": example, "descriptor": next(iter(fixes))}) if len(fixes) == 1 else "",
        "stored": [_link_storage(fields, answer.descriptor, layout.storage) for layout in answer.layouts],
        "descriptor_page": links.link_descriptor(answer.descriptor, _select_view(fields)),
        "instruction_page": links.link_instruction(question.instruction),
        "command": _format_command(fields, "expected" in sent),
    }


def _select_view(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: fields[name] for name in ("instruction", "operand", "major", "slice_mn", "slice_k")}


def _link_storage(fields: Mapping[str, str], word: str, spec: Mapping[str, object]) -> str:
    """Link to the descriptor page with the layout that was found."""
    storage = {f"s_{name}": str(spec[name]) for name in ("kind", *USED[str(spec["kind"])]) if name in spec}
    return links.link_descriptor(word, _select_view(fields) | storage)


def _format_command(fields: Mapping[str, str], expected: bool) -> str:
    """Return the shell command for the same verification."""
    options = [
        f"--{name.replace('_', '-')} {fields[name]}"
        for name, usual in FIELDS.items()
        if name in ("descriptor", "instruction") or fields[name] != usual
    ]
    return " ".join(["lanescope dump verify smem.bin", *options, *(["--expected tile.npy"] if expected else [])])
