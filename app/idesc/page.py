"""/idesc and /zero-column-mask: a word taken apart, and the word of a wish. Everything works by links and forms."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from lanescope.app.idesc import facts, forms
from lanescope.app.kit.api import OffLoop
from lanescope.app.kit.page import page
from lanescope.blackwell import idesc, zeromask
from lanescope.blackwell.idesc import Idesc
from lanescope.blackwell.zeromask import ZeroMask
from lanescope.errors import LayoutError
from lanescope.reading import number

router = APIRouter(include_in_schema=False, route_class=OffLoop)
READ = ("word", "kind")


@router.get("/idesc")
def start(request: Request) -> Response:
    """The word that a form asks for, by its spelling or by the product; a default without either."""
    query = dict(request.query_params)
    given = forms.DEFAULT
    try:
        if "word" in query:
            row = idesc.kind(query.get("kind") or given.kind.name)
            return RedirectResponse(forms.address(Idesc(idesc.read(query["word"]), row)), 303)
        if set(query) - {"kind"}:
            return RedirectResponse(forms.address(facts.wished(query)), 303)
        if "kind" in query:
            given = forms.moved(given, idesc.kind(query["kind"]))
    except LayoutError as error:
        return _refused(request, query, error)
    return page(request, "idesc/page.html", forms.context(given))


def _refused(request: Request, query: dict[str, str], error: LayoutError) -> Response:
    """The page with the error beside its field, and what was sent still in the form."""
    try:
        given = forms.moved(forms.DEFAULT, idesc.kind(query.get("kind") or "f16"))
    except LayoutError:
        given = forms.DEFAULT
    return page(request, "idesc/page.html", forms.context(given, query) | {"error": error, "typed": query}, 422)


@router.get("/idesc/{word}")
def word_page(request: Request, word: str) -> Response:
    """A word under its kind."""
    row = idesc.kind(request.query_params.get("kind") or forms.DEFAULT.kind.name)
    return page(request, "idesc/page.html", forms.context(Idesc(idesc.read(word), row)))


@router.get("/zero-column-mask")
def mask_start(request: Request) -> Response:
    """The mask that a form asks for."""
    query = dict(request.query_params)
    m, n = query.pop("m", "128"), query.pop("n", "128")
    try:
        mask = forms.DEFAULT_MASK
        if "word" in query:
            mask = ZeroMask(zeromask.read(query["word"]))
        elif query:
            mask = zeromask.encode(query)
        elif "m" not in request.query_params:
            return page(request, "idesc/mask.html", forms.mask_context(mask, 128, 128))
        facts.mask_facts(mask, number(m, "m"), number(n, "n"))
    except LayoutError as error:
        shown = forms.mask_context(forms.DEFAULT_MASK, 128, 128)
        return page(request, "idesc/mask.html", shown | {"error": error}, 422)
    return RedirectResponse(forms.mask_address(mask, m, n), 303)


@router.get("/zero-column-mask/{word}")
def mask_page(request: Request, word: str) -> Response:
    """A mask and the columns it zeroes."""
    m, n = (number(request.query_params.get(name) or "128", name) for name in ("m", "n"))
    return page(request, "idesc/mask.html", forms.mask_context(ZeroMask(zeromask.read(word)), m, n))
