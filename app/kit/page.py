"""Pages: the template environment, responses of rendered templates, and errors as a page for people or JSON for
programs.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.templating import Jinja2Templates
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from lanescope.app.kit import errors
from lanescope.app.kit.api import OffLoopRoute
from lanescope.app.kit.asgi import ASGIApp, Message, Receive, Scope, Send
from lanescope.app.kit.assets import script, static_url
from lanescope.app.kit.fact import fact_to_json
from lanescope.app.kit.feature import Tool
from lanescope.app.kit.folders import find_folder
from lanescope.app.kit.labels import LABELS
from lanescope.app.kit.prefix import prefix_links, strip_root
from lanescope.app.kit.query_names import describe_ignored_names
from lanescope.app.kit.question_form import join_wrong_labels, list_unplaced_errors, name_field
from lanescope.app.kit.share import CARD_SIZE, build_share, make_card_address, quote_address, read_card
from lanescope.app.kit.wire import CachedBody
from lanescope.bits import BitField
from lanescope.errors import LayoutError
from lanescope.inputs import get_last_name, shorten_value
from lanescope.ptx.table.descriptors import FORMATS, ROWS, list_variants
from lanescope.ptx.targets import TARGETS
from lanescope.reader import LONGEST
from lanescope.render import palette

LOG = logging.getLogger("lanescope")
HTML = "text/html; charset=utf-8"
CARD, SHARE, IGNORED = "  <!--card-->\n", "<!--share-->", "    <!--ignored-->\n"  # placeholders in templates
SHARED = {"link": "Link", "markdown": "Markdown for an issue", "latex": "LaTeX", "embed": "Embed"}
FORMS = {"link": "Link", "png": "PNG", "svg": "SVG", "markdown": "Markdown", "latex": "LaTeX", "embed": "Embed"}
templates = Jinja2Templates(directory=find_folder("templates"))


def render_palette_css() -> str:
    """Return /palette.css: colours of cells and of descriptor fields in both themes, and the columns of each field."""
    rules = []
    variants = [(row, f".{on}") for form in FORMATS for on, row in list_variants(form).items()]
    for row, on in [*((form, "") for form in FORMATS), *variants]:
        within = "" if row is FORMATS[0] else f".{row.name}{on} "
        ordered = sorted(row.fields, key=lambda field: -field.high)
        leads = [_count_lead_columns(field, before) for before, field in zip([None, *ordered], ordered, strict=False)]
        firsts = [64 - field.high - lead for field, lead in zip(ordered, leads, strict=True)]
        for field, lead, first, last in zip(ordered, leads, firsts, [*firsts[1:], 65], strict=True):
            width = field.high - field.low + 1
            wide = f"--first: {first}; --last: {last}; --own: {width}; --wide: {last - first};"
            aside = f" --lead: {lead};" if lead else ""
            rules.append(f"{within}.fields .{field.name} {{ {wide}{aside} }}\n")
    return palette.render_css(dict.fromkeys(field.name for row in ROWS for field in row.fields)) + "".join(rules)


NARROW, ROOM = 1, 3  # bits of a field too narrow for its input, and reserved bits above it that the input may cover


def _count_lead_columns(field: BitField, before: BitField | None) -> int:
    """Return how many columns of reserved bits above a narrow field its input covers."""
    return ROOM if before and field.width <= NARROW and before.low - field.high > ROOM + 3 else 0


templates.env.globals |= {"static_url": static_url, "script": script}
templates.env.trim_blocks = True
templates.env.lstrip_blocks = True


def render_template(request: Request, name: str, context: dict[str, Any], shared: bool = False) -> bytes:
    """Return a rendered template with its links prefixed. shared: with the card and the texts of "Share"."""
    text = templates.get_template(name).render({"request": request, **context})
    if IGNORED in text:
        text = text.replace(IGNORED, _render_ignored(request, text, context.get("takes", ())), 1)
    if CARD in text:
        text = fill_shared(request, text) if shared else text.replace(CARD, "").replace(SHARE, "")
    return prefix_links(request.scope, text).encode()


def _render_ignored(request: Request, page: str, takes: Iterable[str]) -> str:
    """Return the notices of the names in the query that a page does not use."""
    sent = request.query_params.multi_items() if request.method == "GET" else []
    sentences = describe_ignored_names(page, sent, takes)
    return "".join(f'    <p class="notice" role="status">{escape(one)}</p>\n' for one in sentences)


def fill_shared(request: Request, text: str) -> str:
    """Return a page with its card for social media and its "Share" menu; both repeat what the page says."""
    address = quote_address(strip_root(request.scope) + (f"?{request.url.query}" if request.url.query else ""))
    base = str(request.base_url).rstrip("/")
    card = read_card(text)
    image = base + quote_address(make_card_address(address))
    variables = {"card": card, "image": image, "size": CARD_SIZE, "link": base + address}
    head = templates.get_template("share/card.html").render(variables)
    menu = ""
    if SHARE in text:
        shown: dict[str, Any] = {"share": build_share(card, address, base), "address": address, "base": base}
        shown |= {"titles": SHARED, "forms": FORMS}
        menu = templates.get_template("share/menu.html").render(shown)
    return text.replace(CARD, head + "\n", 1).replace(SHARE, menu, 1)


def render_page(
    request: Request, name: str, context: dict[str, Any], status: int = 200, cacheable: bool = True
) -> CachedBody:
    """Return a rendered page; status 422 if a field is wrong (`error`), or a value of the view (`view_wrong`), such as
    a colour or a pin, or if the find field finds nothing.

    cacheable: False if the page depends on more than the URL. context: `takes` names the query's parameters that the
    route reads and the page has no control for.
    """
    not_found = context.get("sought", "").strip() and context.get("refusal")
    if context.get("error") or context.get("view_wrong") or not_found:
        status = max(status, 422)
    shared = status == 200 and request.method == "GET"
    return CachedBody(render_template(request, name, context, shared), HTML, status=status, cacheable=cacheable)


def mark_names(pattern: str) -> Markup:
    """Return a pattern with each name in a span of its own, so that pointing at it can highlight its digits."""
    return Markup(
        re.sub(
            r"(?<!&)\b([a-z]\w*)(:\d+)?",
            r'<span class="name" tabindex="0" data-name="\1">\1\2</span>',
            str(escape(pattern)),
        )
    )


templates.env.filters["mark_names"] = mark_names


def ticks(text: str) -> Markup:
    """Return plain text as markup; `words` between backticks become code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


templates.env.filters["ticks"] = ticks


_WORD_END = re.compile(r"(?<=[.:_])(?=\w)|(?<=[a-z])(?=[A-Z])")
_ADDRESS = re.compile(r"(?<![^\s(])(?<!POST )/(?![/\\])(?:[\w./:%?=,+~-]|&amp;)*\w(?![^\s.,;:)])")


def link_addresses(text: str) -> Markup:
    """Return plain text as markup with links to addresses of this server, except for POST routes and placeholders.

    >>> link_addresses("See /docs. POST /chain takes a body.")
    Markup('See <a href="/docs">/docs</a>. POST /chain takes a body.')
    """
    return Markup(_ADDRESS.sub(r'<a href="\g<0>">\g<0></a>', str(escape(text))))


templates.env.filters["link_addresses"] = link_addresses


def add_breaks(text: str) -> Markup:
    """Return text that a narrow page breaks between the words of a name instead of anywhere.

    >>> add_breaks("mma.m16n8k8.f32"), add_breaks("cudaFuncAttribute")
    (Markup('mma.<wbr>m16n8k8.<wbr>f32'), Markup('cuda<wbr>Func<wbr>Attribute'))
    """
    return Markup(_WORD_END.sub("<wbr>", str(escape(text))))


templates.env.filters["add_breaks"] = add_breaks


def format_error(error: LayoutError, labels: Mapping[str, str]) -> Markup:
    """Render an error as markup: the field's label, the wrong value, and what is allowed."""
    name = get_last_name(error.field)
    side, dot, option = error.field.partition(".")
    label = labels.get(error.field) or (f"{labels[side]}, {option}" if dot and side in labels else name)
    named = name_field(error, label) or (f"{label}: {error.message}" if label else error.message)
    return escape(f"{named} ") + link_addresses(error.hint)


templates.env.globals |= {"LABELS": LABELS, "LONGEST_PASTE": LONGEST, "TARGETS": TARGETS}
templates.env.globals |= {"join_wrong_labels": join_wrong_labels, "list_unplaced_errors": list_unplaced_errors}
templates.env.filters["format_error"] = format_error


# errors ---------------------------------------------------------------------------------------------------------------


def render_error(request: Request, status: int, error: LayoutError, headers: dict[str, str] | None = None) -> Response:
    """Return an error as JSON for programs, or as a page that keeps what the user typed."""
    headers = {**(headers or {}), **errors.build_retry_headers(error)}
    if errors.is_for_programs(strip_root(request.scope)):
        return JSONResponse({"error": fact_to_json(errors.build_error_body(error))}, status, headers)
    context = {
        "error": error,
        "status": status,
        "typed": _find_typed_text(request),
    }
    return CachedBody(
        render_template(request, "kit/error.html", context), HTML, status=status, cacheable=False, headers=headers
    )


def _find_typed_text(request: Request) -> str:
    """Return the text of a request that the paste box can take, "" if there is none."""
    texts = (request.path_params.get("rest"), *(request.query_params.get(name) for name in ("text", "ptx", "q")))
    return next((text for text in texts if text), "")


def render_closing_error(scope: Scope, error: LayoutError) -> Response:
    """Return the response to a request whose body is not read to its end."""
    return render_error(Request(scope), errors.get_status(error), error, {"Connection": "close"})


def install_handlers(app: FastAPI) -> None:
    """Install the error handlers of an application; UnexpectedErrors becomes its innermost middleware."""
    app.add_middleware(UnexpectedErrors)

    @app.exception_handler(LayoutError)
    async def refuse(request: Request, error: LayoutError) -> Response:
        return render_error(request, errors.get_status(error), error)

    @app.exception_handler(RequestValidationError)
    async def missing(request: Request, error: RequestValidationError) -> Response:
        return render_error(request, 422, errors.make_missing_error(error.errors()[0]))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if "GET" in headers.get("Allow", ""):
            headers["Allow"] += ", HEAD"
        refused = await run_in_threadpool(  # it tries to read the address as PTX text
            errors.make_router_error,
            error.status_code,
            request.method,
            strip_root(request.scope),
            headers.get("Allow", ""),
            error.detail,
        )
        return render_error(request, error.status_code, refused, headers)


class UnexpectedErrors:
    """ASGI middleware that logs an unexpected exception with its traceback and responds with status 500."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begun = False

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noticed)
        except ClientDisconnect:  # the client is gone
            LOG.info("%s %s: the client left", scope["method"], shorten_value(scope["path"], 120))
        except Exception as error:
            LOG.exception("%s %s failed", scope["method"], shorten_value(scope["path"], 120))
            if begun:
                raise
            failure = LayoutError(
                "internal_error",
                f"The server failed: {type(error).__name__}.",
                "It is logged there. Please report the address and the body.",
            )
            await render_error(Request(scope), 500, failure)(scope, receive, send)


def build_page_router(tools: Iterable[Tool[Any, Any]]) -> APIRouter:
    """Return the pages that tools declare."""
    router = APIRouter(include_in_schema=False, route_class=OffLoopRoute)
    for tool in tools:
        if tool.page:
            router.add_api_route(tool.page, _build_page(tool), name=tool.page)
    return router


def _build_page(tool: Tool[Any, Any]) -> Any:
    """Return the endpoint of a tool's page. If a field is wrong, it shows the form as sent, with the default answer."""

    def show(request: Request) -> Response:
        sent = dict(request.query_params)
        try:
            return render_page(request, tool.template, tool.page_context(sent))
        except LayoutError as error:
            return render_page(request, tool.template, tool.refused_context(sent, error))

    return show
