"""The diagram builder and the gallery."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope import find
from lanescope.app.diagram import forms as pictures
from lanescope.app.diagram.gallery import PICTURES, draw_in_page_colours
from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.diagram.questions import DiagramForm
from lanescope.app.instruction import state, wording
from lanescope.app.instruction.state import bind_descriptor
from lanescope.app.kit import picture as raster
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question import fields_of, labels_of
from lanescope.app.kit.question_form import (
    Control,
    add_wrong_fields,
    answer_without_wrong,
    fill_fields,
    form_of,
    require_values,
)
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
FIELDS = fields_of(DiagramForm)
DEFAULTS = {name: field.option.default for name, field in FIELDS.items()}
USUAL = {name: field.option.default for name, field in FIELDS.items() if name in DIAGRAM}  # not part of an address
FIRST = ("ptx", "idesc", "operand", "form", "theme")  # of the form


@router.get("/diagram")
def builder_page(request: Request) -> Response:
    """Show the options, the picture, and its address, Markdown, HTML, LaTeX and command to copy."""
    query = dict(request.query_params)
    fields = fill_fields(FIELDS, query)
    context: dict[str, Any] = {
        "form": fields["form"],
        "pin": query.get("pin", ""),
        "labels": labels_of(DiagramForm),
        "error": None,
        "found": None,
        "no_raster": raster.explain_missing_renderer(),
    }
    plain: Instruction | None = None
    try:
        require_values(FIELDS, fields)
        plain = find(fields["ptx"])
    except LayoutError as error:
        context["error"] = add_wrong_fields(error, FIELDS, fields)
    if plain:
        drawn, context["error"] = _draw_without_wrong(request, plain, fields, query)
        context |= drawn
    context["fields"] = _build_form(context["found"] or plain, fields, context["error"])
    return render_page(request, "diagram/page.html", context, cacheable=False)


def _build_figure(
    request: Request, instruction: Instruction, fields: Mapping[str, str], query: Mapping[str, str]
) -> dict[str, Any]:
    """Return the picture, its address and the snippets. LayoutError names the wrong field."""
    operand = instruction.operand(fields["operand"]) if fields["operand"] else None
    options = _collect_options({**fields, "target": query.get("target", "")})
    picture = pictures.render_instruction("svg", instruction, operand, options)
    form = parse_choice(fields["form"], "form", FORMS, "bad_option")
    path = link_instruction(instruction, operand, form, options)
    page_query = {name: query[name] for name in (*state.PICTURED, "pin") if query.get(name)}
    return {
        "svg": str(picture),
        "path": path,
        "back": link_instruction(instruction, query=page_query),
        "copies": list_snippets(request, instruction.ptx, operand.name if operand else "", form, path, options),
    }


def _collect_options(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a figure's address: those that are not as usual."""
    options = {name: fields[name] for name, usual in USUAL.items() if fields[name] not in ("", usual)}
    return options | {name: fields[name] for name in ("idesc", "target") if fields[name]}


def _draw_without_wrong(
    request: Request, instruction: Instruction, fields: Mapping[str, str], query: Mapping[str, str]
) -> tuple[dict[str, Any], LayoutError | None]:
    """Return the template's variables of the figure, drawn without the options that are wrong, and their errors."""

    def draw(kept: Mapping[str, str]) -> dict[str, Any]:
        bound = bind_descriptor(instruction, {**query, "idesc": kept.get("idesc", "")})
        return _build_figure(request, bound, {**DEFAULTS, **kept}, query) | {"found": bound}

    options = {name: text for name, text in fields.items() if name != "ptx"}
    drawn, error = answer_without_wrong(draw, options, depends=lambda name, wrong: wrong in ("operand", "idesc"))
    figure = drawn or {"svg": str(pictures.render_instruction("svg", instruction, None, {}))}
    return ({"svg": figure["svg"]} if error else figure), error


def _build_form(
    instruction: Instruction | None, fields: Mapping[str, str], error: LayoutError | None
) -> dict[str, Control]:
    """Return the controls that the instruction and the file format have, and one that is wrong.

    instruction: None for an unknown one; the controls are then those of the default, and those with a value.
    """
    shown = instruction or find(FIELDS["ptx"].option.default)
    choices = {
        "operand": {"": "All, as a product"} | {name: name.upper() for name in shown.operands},
        "label": wording.LABEL_WORDS,
        "colour": wording.list_colours(shown),
    }
    unused = {
        "product",
        *(("scale",) if fields["form"] != "png" else ()),
        *(("embed",) if fields["form"] != "tex" else ()),
        *(("warps",) if not shown.family.scope.several and (instruction or not fields["warps"]) else ()),
        *(("idesc",) if shown.family.issue is None and (instruction or not fields["idesc"]) else ()),
    }
    form = form_of(DiagramForm, fields, choices, error)
    names = [*FIRST, *(name for name in form if name not in FIRST)]
    return {name: form[name] for name in names if name not in unused or form[name].error}


def list_snippets(
    request: Request, ptx: str, operand: str, form: str, path: str, options: dict[str, str]
) -> list[tuple[str, str]]:
    """List (what, text) of everything to copy."""
    address = str(request.base_url).rstrip("/") + path
    alt = f"{operand.upper() + ' of ' if operand else ''}{ptx}"
    stem = catalog.shorten("_".join(filter(None, (ptx.replace(".sync.aligned", "").replace("::", "_"), operand))), 100)
    flags = " ".join(
        f"--{name} {shlex.quote(value)}" if name not in ("legend", "caption", "embed") else f"--{name}"
        for name, value in options.items()
    )
    snippets = [("Address", address)]
    if form in ("svg", "png"):
        snippets += [("Markdown", f"![{alt}]({address})"), ("HTML", f'<img src="{address}" alt="{alt}">')]
    if form == "tex":
        snippets.append(
            ("LaTeX", f"\\input{{{stem}}}  % made with embed=1; \\usepackage{{tikz}} \\usetikzlibrary{{patterns}}")
        )
    if form in ("pdf", "png"):
        snippets.append(("LaTeX", f"\\includegraphics{{{stem}}}"))
    snippets.append(
        ("Command", " ".join(filter(None, ("lanescope diagram", ptx, operand, flags, f"-o {stem}.{form}"))))
    )
    return snippets


@router.get("/gallery")
def gallery_page(request: Request) -> Response:
    """Show one picture for each kind of family, in the colours of the theme."""
    items = [
        {"slug": slug, "title": entry.title, "href": entry.href, "svg": draw_in_page_colours(slug)}
        for slug, entry in PICTURES.items()
    ]
    return render_page(request, "diagram/gallery.html", {"items": items})
