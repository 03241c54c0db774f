"""/read/files: several source files at once, each checked with those of them that it includes. Nothing is kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from lanescope.app.check.facts import CheckReport, SourceSpan, SourceText, check_sources, decode_source
from lanescope.app.check.includes import join_includes
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.kit.work import run_off_loop
from lanescope.app.read import workbench
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.reader import LONGEST

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
FORM = "multipart/form-data"
MOST_FILES = 64
MOST_PART = 4 << 20
SECONDS = 4.0  # for all files of a request, which a server ends after 5 by itself


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file with what came of it. fits: whether the workbench takes its text; texts: of all files, by their names."""

    source: SourceText
    report: CheckReport
    texts: Mapping[str, str]

    @property
    def included(self) -> list[str]:
        """The names of the files that were read with it."""
        return [name for name in dict.fromkeys(piece.name for piece in self.source.pieces) if name != self.source.name]

    @property
    def fits(self) -> bool:
        return bool(self.source.text) and len(self.source.text) <= LONGEST

    def quote_place(self, place: SourceSpan) -> str:
        """Return what stands at a place of one line."""
        lines = self.texts[place.file].split("\n")
        return lines[place.line - 1][place.column - 1 : place.end_column - 1] if place.line == place.end_line else "…"

    @property
    def state(self) -> str:
        """bad, ok, care or open: green only where everything was verified."""
        if self.report.findings:
            return "bad"
        is_open = self.report.open or self.report.doubts or self.report.unverified
        return "care" if is_open else "ok" if self.report.verified else "open"


@router.post("/read/files")
async def post_files(request: Request) -> Response:
    """Show what is wrong in each file of the form; a single one that fits opens in the workbench."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        said = f"The body is '{shorten_value(kind, 60)}'."
        raise LayoutError("unsupported_media_type", said, f"Send the form: {FORM}.")
    sent: list[tuple[str, bytes]] = []
    try:
        async with request.form(max_files=MOST_FILES, max_fields=8, max_part_size=MOST_PART) as form:
            for name, value in form.multi_items():
                if isinstance(value, UploadFile) and name == "files" and value.filename:
                    sent.append((value.filename, await value.read()))
    except HTTPException as error:
        hint = f"Send at most {MOST_FILES} files as {FORM}."
        raise LayoutError("bad_request", f"The body is not a form: {error.detail}", hint) from None
    return await run_off_loop(_answer_files, request, sent)


def _answer_files(request: Request, sent: list[tuple[str, bytes]]) -> Response:
    sources = [decode_source(shorten_value(name, 200), raw) for name, raw in sorted(sent)]
    if len(sources) == 1 and (link := _link_single(sources[0])):
        return RedirectResponse(link, 303)
    end = time.monotonic() + SECONDS
    texts = {source.name: source.text for source in sources}
    checked = [
        CheckedFile(source, check_sources([source], max(round(end - time.monotonic(), 1), 0.1)), texts)
        for source in (join_includes(source, sources) for source in sources)
    ]
    checked.sort(key=lambda file: ("bad", "care", "open", "ok").index(file.state))
    found = len({(one.place, one.code) for file in checked for one in file.report.findings})
    context = {"files": checked, "found": found, "verified": sum(file.report.verified for file in checked)}
    return render_page(request, "read/files.html", context, 200 if sources else 422, keep=False)


def _link_single(source: SourceText) -> str:
    """Return the workbench of a file whose text an address holds; "" for any other."""
    link = workbench.link_text(source.text, {}) if source.text and len(source.text) <= LONGEST else ""
    return link if "?" in link else ""


@router.get("/read/files")
def files_page(request: Request) -> Response:
    """Show the form alone."""
    return render_page(request, "read/files.html", {"files": [], "found": 0, "verified": 0})
