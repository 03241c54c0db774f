"""/idesc and /zero-column-mask: the fields of a word, and the word of a product. Everything works by links and
forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.idesc import facts, forms
from lanescope.app.idesc.draw import draw_idesc, draw_mask, draw_product
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.page import render_page
from lanescope.app.kit.question_form import add_wrong_fields
from lanescope.app.kit.target import parse_target
from lanescope.blackwell import idesc, zeromask
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.zeromask import ZeroMask
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer

router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)


@router.get("/idesc")
def idesc_page(request: Request) -> Response:
    """Show the word of a form: by its spelling, by the product, or the default."""
    query = {name: text for name, text in request.query_params.items() if name in forms.NAMES}
    word = forms.DEFAULT
    try:
        if "word" in query:
            return RedirectResponse(forms.link_idesc(_parse_word(query)), 303)
        if set(query) - {"kind", "target"}:
            return RedirectResponse(forms.link_idesc(facts.parse_wish(query)), 303)
        word = replace(word, target=parse_target(query))
        if "kind" in query:
            word = forms.convert_kind(word, idesc.get_kind(query["kind"]))
        return render_page(request, "idesc/page.html", _show_word(word))
    except LayoutError as error:
        return _render_refused(request, query, error)


def _render_refused(request: Request, query: Mapping[str, str], error: LayoutError) -> Response:
    """Return the page with each error beside its field, and the form as it was sent."""
    error = add_wrong_fields(error, forms.FIELDS, query) or error
    try:
        shown = forms.convert_kind(forms.DEFAULT, idesc.get_kind(query.get("kind") or "f16"))
    except LayoutError:
        shown = forms.DEFAULT
    return render_page(request, "idesc/page.html", _show_word(shown, query, error))


@router.get("/idesc/{word}")
def word_page(request: Request, word: str) -> Response:
    """Show a word under its kind."""
    query = {**request.query_params, "word": word}
    try:
        return render_page(request, "idesc/page.html", _show_word(_parse_word(query)))
    except LayoutError as error:
        return _render_refused(request, query, error)


def _parse_word(query: Mapping[str, str]) -> IdescWord:
    """Return the word of an address under its kind. LayoutError names the wrong field."""
    row = idesc.get_kind(query.get("kind") or forms.DEFAULT.kind.name)
    return IdescWord(idesc.parse_idesc_word(query["word"]), row, parse_target(query))


def _show_word(
    word: IdescWord, sent: Mapping[str, str] | None = None, error: LayoutError | None = None
) -> dict[str, Any]:
    return forms.build_context(word, sent, error) | {"svg": draw_idesc(word), "product": draw_product(word)}


def _show_mask(
    mask: ZeroMask, m: int, n: int, sent: Mapping[str, str] | None = None, error: LayoutError | None = None
) -> dict[str, Any]:
    return forms.build_mask_context(mask, m, n, sent, error) | {"svg": draw_mask(mask, m, n)}


@router.get("/zero-column-mask")
def mask_form_page(request: Request) -> Response:
    """Show the mask of a form."""
    query = {name: text for name, text in request.query_params.items() if name in forms.MASK_FIELDS}
    m, n = query.pop("m", "128"), query.pop("n", "128")
    try:
        mask = forms.DEFAULT_MASK
        if "word" in query and len(query) > 1:
            says = f"A word excludes {', '.join(name for name in query if name != 'word')}."
            raise LayoutError("bad_option", says, "Give the word, or its fields.", "word")
        if "word" in query:
            mask = ZeroMask(zeromask.parse_mask_word(query["word"]))
        elif query:
            mask = zeromask.encode_mask(query)
        elif "m" not in request.query_params:
            return render_page(request, "idesc/mask.html", _show_mask(mask, 128, 128))
        facts.build_mask(mask, parse_integer(m, "m"), parse_integer(n, "n"))
    except LayoutError as error:
        return _render_refused_mask(request, request.query_params, error)
    return RedirectResponse(forms.link_mask(mask, m, n), 303)


@router.get("/zero-column-mask/{word}")
def mask_page(request: Request, word: str) -> Response:
    """Show a mask and the columns it zeroes."""
    query = {**request.query_params, "word": word}
    try:
        m, n = (parse_integer(query.get(name) or "128", name) for name in ("m", "n"))
        return render_page(request, "idesc/mask.html", _show_mask(ZeroMask(zeromask.parse_mask_word(word)), m, n))
    except LayoutError as error:
        return _render_refused_mask(request, query, error)


def _render_refused_mask(request: Request, query: Mapping[str, str], error: LayoutError) -> Response:
    """Return the page with each error beside its field, and the form as it was sent."""
    error = add_wrong_fields(error, forms.MASK_FIELDS, query) or error
    return render_page(request, "idesc/mask.html", _show_mask(forms.DEFAULT_MASK, 128, 128, query, error))
