"""/read: one paste box for everything; /read/files, several source files at once; and /go, the old address. Nothing is
stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.check.facts import decode_source
from lanescope.app.kit.api import OffLoopRoute, read_form_body
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question import fields_of
from lanescope.app.kit.question_form import find_wrong_fields, form_of
from lanescope.app.kit.target import parse_target
from lanescope.app.kit.wire import encode_json_body, read_upload_form
from lanescope.app.kit.work import run_off_loop
from lanescope.app.layouts import triton
from lanescope.app.read import certain_links, draw, files, meaning_links, text_meanings, workbench
from lanescope.app.read.answer import read_and_check
from lanescope.app.read.checked import ExaminedText, examine_text
from lanescope.app.read.edits import RepairedText, repair_text
from lanescope.app.read.facts import Meaning, Reading
from lanescope.app.read.files import FilesForm
from lanescope.app.read.marks import TextMarks, mark_text
from lanescope.app.read.sheet import SheetInput, build_sheet
from lanescope.errors import LayoutError, join_errors
from lanescope.inputs import shorten_value
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog
from lanescope.reader import LONGEST
from lanescope.reader.compiler_output.ttgir import parse_module
from lanescope.render.read_pictures import render_hatches
from lanescope.workbench.results import LONGEST as LONGEST_FILE
from lanescope.workbench.source.missing_includes import list_unread_includes

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
MOST_FILES = 64
MOST_PART = 4 << 20
STATE = ("text", "z", "step", "target", "name", "fix")  # what an address of the workbench holds beside assumptions
LABEL_OF = {
    "tensor_map": "Tensor map",
    "descriptor": "Descriptor",
    "instruction": "Instruction",
    "layout": "CuTe layout",
}


@router.get("/read")
def read_page(request: Request) -> Response:
    """Show the meanings of a text. Redirect a text with a single meaning to its page; one with several parts to verify
    is shown on the workbench.
    """
    return _render_text(request, dict(request.query_params))


@router.get("/read.json")
def read_json(request: Request) -> Response:
    """Return the answer of POST /api/v1/read for the same address."""
    query = dict(request.query_params)
    text, target = _parse_text(query).text, parse_target(query)
    return encode_json_body(read_and_check(text, _parse_choices(query), target, _parse_name(query)))


@router.post("/read")
async def post_text(request: Request) -> Response:
    """Show the page of a text too long for an address, or of one from the workbench's forms; redirect to its address if
    it fits. Nothing is stored.
    """
    return await run_off_loop(_redirect_or_render, request, await read_form_body(request))


@router.get("/check")
def explain_check() -> Response:
    """Redirect to the page about what `lanescope check` reports."""
    return RedirectResponse("/guide/check-rules", 303)


def _redirect_or_render(request: Request, query: dict[str, str]) -> Response:
    repaired = _parse_text(query)
    choices = workbench.drop_default_assumptions(repaired.text, _parse_choices(query))
    link = workbench.link_text(repaired.before, choices | _get_page_state(repaired, query), workbench.LONGEST_SHOWN)
    if repaired.before and workbench.has_text(link):
        return RedirectResponse(link, 303)
    return _render_text(request, query)


def _parse_text(query: dict[str, str]) -> RepairedText:
    """Return the text of a query, with the repairs that were applied. apply, undo: of the page's buttons."""
    text = workbench.expand_text(query["z"]) if query.get("z") else query.get("text", "")
    fix = query.get("apply") or query.get("fix", "")
    return repair_text(text.replace("\r\n", "\n"), fix.rpartition("~")[0] if query.get("undo") else fix)


def _parse_choices(query: dict[str, str]) -> dict[str, str]:
    """Return the values of a query that the workbench accepts. take: `key:value` of a button, which takes precedence;
    "" for the value of the text.
    """
    choices = workbench.parse_assumptions(query)
    key, _, value = query.get("take", "").partition(":")
    if key:
        choices |= workbench.parse_assumptions({key: value})
        if not value:
            choices.pop(key, None)
    return choices


def _get_page_state(repaired: RepairedText, query: dict[str, str]) -> dict[str, str]:
    """Return the parts of the address other than the text and its assumptions."""
    state = {name: query.get(name, "") for name in ("step", "target")}
    state |= {"fix": repaired.fix, "name": _parse_name(query)}
    return {key: value for key, value in state.items() if value}


def _parse_name(query: Mapping[str, str]) -> str:
    """Return the name of the text's file, "" for a text without one."""
    return shorten_value(query.get("name", "").strip(), 200)


def _render_text(request: Request, query: dict[str, str]) -> Response:
    error: LayoutError | None = None
    repaired, target, examined = RepairedText("", ""), "", None
    assumptions = _parse_choices(query)
    try:
        repaired = _parse_text(query)
        _check_length(repaired.text)
        target = parse_target(query)
        examined = examine_text(repaired.text, assumptions, target, _parse_name(query))
    except LayoutError as refused:
        error = refused
        if error.field == "target" or error.field in assumptions:
            assumptions = {key: value for key, value in assumptions.items() if key != error.field}
            examined = examine_text(repaired.text, assumptions, target, _parse_name(query))
    if examined is None or not _is_bench(examined):
        return _render_meanings(request, repaired.text if repaired.text.strip() else "", error)
    return _render_bench(request, query, repaired, SheetInput.from_examined(examined, repaired, assumptions), error)


def _is_bench(examined: ExaminedText) -> bool:
    """Return whether the workbench shows a text: parts that belong together, a report, or a kernel without meaning."""
    if workbench.has_verdict(examined.bench) or examined.has_results:
        return True
    return examined.has_nothing_to_verify and text_meanings.read_text(examined.text).kind == "unknown"


def _render_bench(
    request: Request, query: dict[str, str], repaired: RepairedText, page: SheetInput, error: LayoutError | None
) -> Response:
    bench, text, assumptions = page.bench, repaired.text, dict(page.assumptions)
    answer = workbench.build_answer(bench, text, assumptions)
    descriptors = [operand.descriptor for operand in bench.operands]
    paired = sorted(zip(answer.operands, descriptors, strict=True), key=lambda pair: pair[0].verdict != "mismatch")
    sheet = build_sheet(page, query.get("step", ""))
    shown = bench.pieces[sheet.shown.operand.descriptor] if sheet.shown else None
    marks = TextMarks(shown.origins if shown else {}, sheet.suspects, repaired.applied, sheet.findings)
    state = _get_page_state(repaired, query)
    link = workbench.link_text(repaired.before, assumptions | {k: v for k, v in state.items() if k != "step"})
    context = {
        "text": text,
        "repaired": repaired,
        "bench": answer,
        "sheet": sheet,
        "lines": mark_text(text, bench, marks),
        "given": dict(query) | assumptions,
        "state": state,
        "chosen": {key: value for key, value in assumptions.items() if key.startswith("stored.")},
        "error": error,
        "wrong": error.field if error else "",
        "link": link if workbench.has_text(link) else "",
        "posted": request.method == "POST",
        "json": link.replace("/read?", "/read.json?", 1) if workbench.has_text(link) else "",
        "shown": paired,
        "labels": LABEL_OF,
        "unread": tuple(dict.fromkeys(list_unread_includes(text))),
        "files_form": form_of(FilesForm, {}),
        "hatches": render_hatches(),
        "takes": STATE,
    }
    finished = page.view is None or page.view.finished
    return render_page(request, "read/bench.html", context, 422 if error else 200, cacheable=finished)


def _check_length(text: str) -> None:
    """Raise LayoutError for a text that is too long for the box; the page still shows it."""
    if len(text) > LONGEST:
        message = f"The text has {len(text):,} characters; this box reads up to {LONGEST:,}."
        hint = f"Choose it as a source file below: a file may have {LONGEST_FILE:,}."
        raise LayoutError("bad_text", message, hint, "text")


@router.post("/read/files")
async def post_files(request: Request) -> Response:
    """Show the findings in each file of the form; a single file that fits opens in the workbench."""
    form = await read_upload_form(request, MOST_FILES, most_fields=8, most_bytes=MOST_PART)
    sources = [(file.name, file.content) for file in form.files if file.field == "files"]
    return await run_off_loop(_render_files, request, sources, form.fields.get("target", ""))


@router.get("/read/files")
def files_page(request: Request) -> Response:
    """Show the empty form."""
    context = {"files": [], "found": 0, "verified": 0, "target": "", "files_form": form_of(FilesForm, {})}
    return render_page(request, "read/files.html", context)


def _render_files(request: Request, sent: list[tuple[str, bytes]], target: str) -> Response:
    sources = [decode_source(shorten_value(name, 200), raw) for name, raw in sorted(sent)]
    error = find_wrong_fields(fields_of(FilesForm), {"target": target})
    if len(sources) == 1 and not error and 0 < len(sources[0].text) <= LONGEST:
        return _redirect_or_render(request, {"text": sources[0].text, "name": sources[0].name, "target": target})
    if not sources:
        error = join_errors((error, LayoutError("bad_request", "No file was chosen.", "Choose source files.", "files")))
    checked = [] if error else files.check_files(sources, parse_target({"target": target}))
    context = {
        "error": error,
        "files": checked,
        "found": len({(shown.finding.place, shown.finding.code) for file in checked for shown in file.view.findings}),
        "verified": sum(file.view.report.verified for file in checked),
        "target": target,
        "files_form": form_of(FilesForm, {"target": target}, error=error),
    }
    return render_page(request, "read/files.html", context, cacheable=False)


@router.get("/go")
def go_page(request: Request) -> Response:
    """Redirect the addresses of pickers and older pages to /read."""
    answer = _render_meanings(request, request.query_params.get("ptx", ""))
    word, target = request.query_params.get("idesc", ""), answer.headers.get("location", "")
    if (
        word and target.startswith("/i/") and "?" not in target
    ):  # a picker's descriptor; the page explains an illegal one
        return RedirectResponse(f"{target}?{urlencode({'idesc': word})}", 303)
    return answer


def _name_forms(meanings: Sequence[Meaning], nearest: Sequence[str]) -> dict[str, str]:
    """Return the short names of the instructions that a page shows."""
    listed = [ptx for meaning in meanings for ptx in _list_instructions(meaning.facts)]
    return {ptx: name_form(catalog.find(ptx)).text for ptx in (*listed, *nearest)}


def _draw_meanings(meanings: Sequence[Meaning]) -> dict[str, Any]:
    """Return the pictures of the meanings of a text, and the offsets of its layouts, by title."""
    return {
        "grids": {
            meaning.title: draw.build_offset_table(meaning.facts["cute"])
            for meaning in meanings
            if meaning.kind == "layout"
        },
        "tiles": {meaning.title: draw.draw_meaning(meaning.kind, meaning.facts) for meaning in meanings},
    }


def _render_meanings(request: Request, text: str, error: LayoutError | None = None) -> Response:
    text = text.replace("\r\n", "\n")
    reading: Reading | None = None
    nearest: tuple[str, ...] = ()
    try:
        if not error and (address := certain_links.find_certain_link(text)):
            return RedirectResponse(address, 303)
        if text.strip() and not error:
            reading = text_meanings.read_text(text)
            nearest = certain_links.find_nearest(text)
    except LayoutError as refused:
        error = refused
    every = [reading, *reading.also] if reading else []
    meanings = every if reading and reading.kind != "unknown" else []
    context = {
        "text": text,
        "found": reading,
        "error": error,
        "meanings": meanings,
        "names": _name_forms(every, nearest),
        **_draw_meanings(meanings),
        "grouped": group_forms,
        "near": [catalog.find(ptx) for ptx in nearest],
        "module": triton.link_form({"text": text})
        if any(meaning.kind == "triton" for meaning in meanings) and parse_module(text)
        else "",
        "accepted": text_meanings.ACCEPTED,
        "in_majors": meaning_links.format_major_query,
        "stages": meaning_links.link_stages,
        "tile_of": meaning_links.link_tile,
        "unread": tuple(dict.fromkeys(list_unread_includes(text))),
        "files_form": form_of(FilesForm, {}),
        "takes": STATE,
    }
    return render_page(request, "read/page.html", context, 422 if error else 200)


def group_forms(texts: list[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Group instructions by opcode and shape: (name, (types and distinguishing modifiers, PTX) each)."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for ptx in texts:
        form = name_form(catalog.find(ptx))
        groups.setdefault(form.name, []).append((" ".join(filter(None, (form.types, form.apart))), ptx))
    return list(groups.items())


def _list_instructions(facts: dict[str, Any]) -> list[str]:
    """List the instructions of a meaning."""
    return list(dict.fromkeys(facts.get("candidates") or facts.get("all") or ()))
