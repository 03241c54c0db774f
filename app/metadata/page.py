"""/metadata: the metadata words of every lane, dense A beside stored A."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope import inputs
from lanescope.app.instruction import wording
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question import fields_of, labels_of
from lanescope.app.kit.question_form import Control, answer_without_wrong, find_refused, form_of
from lanescope.app.metadata.facts import (
    Metadata,
    MetadataQuestion,
    build_dense_cells,
    build_metadata,
    build_stored_cells,
)
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx.instruction import Operand

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/metadata")
def bare_page() -> Response:
    """Redirect to the page that needs no instruction."""
    return RedirectResponse("/metadata/order", 303)


@router.get("/metadata/{ptx}")
def metadata_page(request: Request, ptx: str) -> Response:
    """Show the metadata editor: type words, or click the positions to keep; dense A beside stored A."""
    instruction = lookup.find(ptx)
    typed = request.query_params.get("words", "")
    selector = request.query_params.get("selector") or "0"
    context: dict[str, Any] = {
        "found": instruction,
        "title": wording.format_title(instruction),
        "labels": labels_of(MetadataQuestion),
        "error": None,
    }
    op = instruction.operand("a")

    def build(kept: Mapping[str, str]) -> Metadata:
        number = inputs.parse_integer(kept.get("selector", "0"), "selector")
        return build_metadata(instruction, kept.get("words", ""), number)

    sent, fields = {"words": typed, "selector": selector}, fields_of(MetadataQuestion)
    facts, context["error"] = answer_without_wrong(build, sent, partial(find_refused, fields))
    if facts is None:
        raise context["error"]
    context |= {
        "facts": facts,
        "cells": build_dense_cells(op, facts),
        "stored": build_stored_cells(op, facts),
        "op": op,
        "form": _build_form(op, typed if context["error"] else " ".join(facts.words), selector, context["error"]),
        "cycle": _format_cycle(op.sparsity.nibbles) if op.sparsity else "",
    }
    part = request.query_params.get("part") == "editor"
    return render_page(request, "metadata/editor.html" if part else "metadata/page.html", context)


def _build_form(op: Operand, words: str, selector: str, error: LayoutError | None) -> dict[str, Control]:
    """Return the controls of the editor; the instruction is part of the address."""
    selectors = [str(n) for n in range(op.sparsity.selectors if op.sparsity else 0)]
    form = form_of(MetadataQuestion, {"words": words, "selector": selector}, {"selector": selectors}, error)
    return {name: form[name] for name in ("selector", "words")}


def _format_cycle(nibbles: tuple[int, ...]) -> str:
    """Return the hex digits of the legal nibbles, ending with the first again: each leads to the next choice."""
    return "".join(f"{nibble:X}" for nibble in (*nibbles, nibbles[0]))
