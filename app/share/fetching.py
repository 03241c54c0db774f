"""Fetch pages of this server: the shared parts of a page are read from the page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import unquote

from lanescope.app.kit.asgi import Scope
from lanescope.app.kit.local_fetch import LocalAnswer, make_receive
from lanescope.app.kit.prefix import get_root_path
from lanescope.app.kit.share import CARD, EMBED, PICTURE
from lanescope.app.kit.work import CacheMiddleware, get_request_context
from lanescope.errors import LayoutError

OWN = (f"{EMBED}/", f"{PICTURE}/", f"{CARD}/", "/api/", "/static/", "/vendor/", "/metrics")
# Keys that the request to a page takes from the current request; the last is where FastAPI closes a form's files.
KEPT = (
    "type",
    "asgi",
    "http_version",
    "scheme",
    "client",
    "server",
    "app",
    "root_path",
    "app_root_path",
    "fastapi_middleware_astack",
)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page's text, and its address from the server's root."""

    address: str
    text: str


def make_address(path: str, query: str) -> str:
    """Return a page's address from the server's root."""
    return "/" + path.lstrip("/") + (f"?{query}" if query else "")


async def fetch_page(current: Scope, address: str) -> FetchedPage:
    """Fetch a page of this server. current: the ASGI scope of the current request.

    LayoutError if the page does not exist or rejects its query.
    """
    path, _, _ = address.partition("?")
    if path.startswith(OWN):
        raise LayoutError("not_found", f"{path} is not a page.", "Name a page, as in /banks.", "address")
    return await fetch_text(current, address, "text/html")


async def fetch_text(current: Scope, address: str, media: str, hops: int = 1) -> FetchedPage:
    """Fetch an address of this server, through its cache and following redirects.

    LayoutError if it is not text of this type. A link that a page below a prefix has begins with the prefix.
    """
    root = get_root_path(current)
    address = address.removeprefix(root) if address.startswith(f"{root}/") else address
    path, _, query = address.partition("?")
    context = get_request_context()
    context.charge_client()
    headers = [(name, value) for name, value in current["headers"] if name == b"host"]
    scope = {name: current[name] for name in KEPT if name in current} | {
        "method": "GET",
        "path": root + unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": headers,
        "charged": True,
        "state": {},
    }
    status, kind, body = await asyncio.create_task(_call_router(scope))
    if status in (303, 307) and hops:
        return await fetch_text(current, kind.removeprefix(root), media, hops - 1)
    if status != 200 or not kind.startswith(media):
        raise LayoutError(
            "no_page" if status == 422 else "not_found",
            f"{path} answers {status}, and no page." if status != 200 else f"{path} is not a page.",
            f"Its page has the reason: {address}",
            "address",
        )
    return FetchedPage(address, body.decode())


async def _call_router(scope: Scope) -> tuple[int, str, bytes]:
    """Return status, media type (the location of a redirect) and body."""
    app, answer = scope["app"], LocalAnswer()
    cached = CacheMiddleware(app.router, app.state.work, lambda: app.state.hardware.reason)
    await cached(scope, make_receive(b""), answer.send)
    headers = dict(answer.headers)
    kind = headers.get(b"location", headers.get(b"content-type", b"")).decode("latin-1")
    return answer.status, kind, bytes(answer.body)
