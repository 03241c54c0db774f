"""The diagram builder and the gallery."""

from __future__ import annotations

import shlex
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from lanescope import find
from lanescope.app.diagram import forms as pictures
from lanescope.app.diagram.gallery import PICTURES, draw_in_page_colours
from lanescope.app.diagram.options import DIAGRAM
from lanescope.app.instruction import state, wording
from lanescope.app.instruction.state import bind_descriptor
from lanescope.app.kit import picture as raster
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.page import render_page
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.render.diagram import WORDS
from lanescope.render.palette import PALETTES

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
USUAL = state.PageState()  # how a figure is drawn by default
DEFAULT = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@router.get("/diagram")
def builder_page(request: Request) -> Response:
    """Show the options, the picture, and its address, Markdown, HTML, LaTeX and command to copy."""
    query = request.query_params
    text, letter, form = query.get("ptx") or DEFAULT, query.get("operand", ""), query.get("form") or "svg"
    pin = query.get("pin", "")
    options_given = {name: query.get(name, "") for name in DIAGRAM}
    context: dict[str, Any] = {
        "ptx": text,
        "operand": letter,
        "form": form,
        "given": options_given,
        "pin": pin,
        "error": None,
        "forms": FORMS,
        "themes": PALETTES,
        "labels": wording.LABEL_WORDS,
        "usual": USUAL,
    }
    context |= {"langs": WORDS, "no_raster": raster.explain_missing_renderer(), "found": None}
    context |= {"takes_idesc": False, "idesc": query.get("idesc", "")}
    code = 200
    try:
        plain = find(text)
        context["takes_idesc"] = plain.family.issue is not None
        instruction = bind_descriptor(plain, query)
        context |= {"found": instruction, "colours": wording.list_colours(instruction)}
        operand = instruction.operand(letter) if letter else None
        usual = pictures.DEFAULTS | {"colour": USUAL.colour, "label": USUAL.label}
        options = {name: value for name, value in options_given.items() if value and usual.get(name) != value}
        options |= {name: query[name] for name in ("idesc", "target") if query.get(name)}
        picture, _ = pictures.render_instruction("svg", instruction, operand, options)
        if form not in FORMS:
            raise LayoutError("bad_option", f"No form '{form[:20]}'.", f"Allowed: {', '.join(FORMS)}.", "form")
        path = link_instruction(instruction, operand, form, options)
        page_query = {name: query[name] for name in state.PICTURED if query.get(name)} | ({"pin": pin} if pin else {})
        context |= {
            "svg": picture.decode(),
            "path": path,
            "back": link_instruction(instruction, query=page_query),
            "copies": list_snippets(request, instruction.ptx, operand.name if operand else "", form, path, options),
        }
    except LayoutError as error:
        context["error"], code = error, 422
        if context["found"]:  # after a wrong option the page still shows a figure: the product by default
            context["svg"] = pictures.render_instruction("svg", context["found"], None, {})[0].decode()
    return render_page(request, "diagram/page.html", context, code, keep=False)


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
