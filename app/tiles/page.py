"""/tiles/mma and other pages of whole tiles. Every page's state is its address."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.look import split_refused
from lanescope.app.kit.maps.find import find_pins
from lanescope.app.kit.maps.stage import PINS
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question import fields_of, labels_of
from lanescope.app.kit.question_form import find_wrong_fields, form_of
from lanescope.app.tiles import (
    answer,
    bench,
    chains,
    forms,
    main_loop_page,
    presets,
    questions,
    state,
    tiled_copy_page,
    umma_page,
)
from lanescope.app.tiles.questions import TiledUmmaBody
from lanescope.errors import LayoutError, join_errors
from lanescope.tiles.bulk import is_tma
from lanescope.tiles.tiled_umma import is_umma
from lanescope.tiles.umma import TiledUmma

MMA_CONTROLS = ("atom", "atom_layout", "permutation", "tile", "target")
router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/tiles/mma")
def mma_page(request: Request) -> Response:
    """Show a TiledMMA: A, B and C of a whole tile by thread, warp and value."""
    query = request.query_params
    fields = forms.parse_fields(query, forms.MMA) | {"target": query.get("target", "").strip()}
    umma = is_umma(fields["atom"])
    if umma:
        fields = {**forms.UMMA, **forms.add_umma_fields(query)}

    found: list[str] = []

    def build() -> dict[str, Any]:
        tiled_mma = questions.parse_mma(forms.build_mma_body(forms.add_umma_fields(query)))
        if isinstance(tiled_mma, TiledUmma):
            return umma_page.build_context(tiled_mma, fields, query)
        chosen, refused = state.parse_state(tiled_mma, bench.make_base_state(fields), query)
        base = bench.make_base_state(forms.get_defaults(query, forms.MMA))
        look = bench.build_controls(tiled_mma, chosen, refused, query)
        refusal, notices = split_refused(refused, look)
        if sought := query.get("find", "").strip():
            try:
                pins = find_pins(state.make_bench(tiled_mma), sought)
                found.append(f"{state.PATH}?{chosen.format_query(base, **pins, sel='')}")
            except LayoutError as error:
                refusal = f"{error.message} {error.hint}".strip()
        context: dict[str, Any] = {"look": look, "notices": notices, "sought": sought, "refusal": refusal}
        context |= {"example": answer.EXAMPLE, "view_wrong": bool(refused)}
        return context | bench.build_context(tiled_mma, chosen, base)

    template = "tiles/umma.html" if umma else "tiles/mma.html"
    names = umma_page.list_controls(fields) if umma else MMA_CONTROLS
    page = _render_form(request, template, TiledUmmaBody, fields, build, names, presets=presets.list_presets(fields))
    return RedirectResponse(found[0], 303) if found else page


@router.get("/tiles/mma/chain")
def chain_page(request: Request) -> Response:
    """Show C of one TiledMMA as A of the next: the values that stay in their thread, and those that move."""
    fields = chains.parse_form(request.query_params)
    build = partial(chains.build_context, fields, request.query_params)
    return _render_form(
        request,
        "tiles/chain.html",
        chains.ChainForm,
        fields,
        build,
        chains.FIELDS,
        presets=presets.link_examples(chains.PRESETS, fields, chains.link_chain),
    )


@router.get("/tiles/copy")
def copy_page(request: Request) -> Response:
    """Show a TiledCopy: source and destination, vector width, bank conflicts and sectors."""
    query = request.query_params
    fields = tiled_copy_page.parse_form(query)
    found: list[str] = []

    def build() -> dict[str, Any]:
        context = tiled_copy_page.build_context(fields, query)
        if context["sought"].strip() and not context["refusal"]:
            kept = {name: text for name, text in query.items() if name not in ("find", *PINS)}
            found.append(f"{tiled_copy_page.PATH}?{urlencode(kept | context['pins'], safe='(),:')}")
        return context

    page = _render_form(
        request,
        "tiles/copy.html",
        tiled_copy_page.CopyForm,
        fields,
        build,
        tiled_copy_page.list_controls(fields),
        shared=None,
        presets=presets.link_examples(tiled_copy_page.PRESETS, fields, tiled_copy_page.link_copy),
        is_tma=is_tma(fields["atom"]),
    )
    return RedirectResponse(found[0], 303) if found else page


@router.get("/tiles/loop")
def loop_page(request: Request) -> Response:
    """Show a main loop: global memory, shared memory, registers; whether every element arrives, and the cost."""
    fields = main_loop_page.parse_form(request.query_params)
    build = partial(main_loop_page.build_context, fields, request.query_params)
    return _render_form(
        request,
        "tiles/loop.html",
        main_loop_page.LoopForm,
        fields,
        build,
        main_loop_page.FIELDS,
        presets=presets.link_examples(main_loop_page.PRESETS, fields, main_loop_page.link_loop),
    )


def _render_form(
    request: Request,
    template: str,
    question: type,
    fields: dict[str, str],
    build: Callable[[], dict[str, Any]],
    names: Iterable[str],
    **more: Any,
) -> Response:
    """Render a page with its answer, or with each error beside its field. names: the controls that the form shows
    besides a wrong one.
    """
    context: dict[str, Any] = {"given": fields, "error": None, "found": None, **more}
    try:
        context |= build()
    except LayoutError as error:
        typed = {name: text for name, text in fields.items() if text.strip()}
        context["error"] = join_errors((error, find_wrong_fields(fields_of(question), typed)))
    windows = context.get("windows", {})
    form = form_of(question, fields | context.get("corner", {}), windows, context["error"])
    shown = (*names, *windows, *(name for name, control in form.items() if control.error and name not in names))
    context |= {"form": {name: form[name] for name in shown}, "form_labels": labels_of(question)}
    return render_page(request, template, context)
