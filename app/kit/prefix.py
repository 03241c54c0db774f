"""Serve below a path of another server: every address in a page, a redirect or a script begins with that path.

Routes and templates write addresses from the server's root; they are prefixed here, when a response leaves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from lanescope.app.kit.asgi import ASGIApp, Message, Receive, Scope, Send

_LINK = re.compile(r'(\s(?:href|src|srcset|action|formaction|poster|data-plotly)=")(/(?!/))')


class PrefixMiddleware:
    """ASGI middleware that makes `path` begin with the root path, whether or not the proxy stripped it, and prefixes
    redirects.
    """

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app, self.root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self.root:
            return await self.app(scope, receive, send)
        path: str = scope["path"]
        inside = path == self.root or path.startswith(self.root + "/")

        async def send_mended(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [(name, self._mend_header(name, value)) for name, value in message["headers"]]
            await send(message)

        await self.app(
            {**scope, "root_path": self.root, "path": path if inside else self.root + path}, receive, send_mended
        )

    def _mend_header(self, name: bytes, value: bytes) -> bytes:
        here = (
            name == b"location" and value.startswith(b"/") and not value.startswith((b"//", self.root.encode() + b"/"))
        )
        return self.root.encode() + value if here else value


class SlashRedirects:
    """ASGI application for unknown addresses: redirects if adding or removing a trailing slash gives a known one.

    The redirect names a path and never a host, because the client chooses the Host header.
    """

    def __init__(self, routed: Callable[[Scope], bool], otherwise: ASGIApp) -> None:
        """Take `routed`, which says whether a scope's path has a route, and `otherwise`, which handles every other
        address.
        """
        self.routed, self.otherwise = routed, otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        other = path.rstrip("/") if path.endswith("/") else path + "/"
        if scope["type"] != "http" or strip_root(scope) == "/" or not self.routed({**scope, "path": other}):
            return await self.otherwise(scope, receive, send)
        query: bytes = scope["query_string"]
        to = make_local_path(other).encode() + (b"?" + query if query else b"")
        await send(
            {"type": "http.response.start", "status": 307, "headers": [(b"location", to), (b"content-length", b"0")]}
        )
        await send({"type": "http.response.body", "body": b""})


def make_local_path(path: str) -> str:
    """Return a path for Location. A leading double slash would name a host.

    >>> make_local_path("//elsewhere.example/smem"), make_local_path("/a b?c")
    ('/elsewhere.example/smem', '/a%20b%3Fc')
    """
    return "/" + quote(path.lstrip("/\\"), safe="/:@!$&'()*+,;=~")


def get_root_path(scope: Scope) -> str:
    """Return the root path of the server, "" for none; a mount inside it has its own."""
    root: str = scope.get("app_root_path", scope.get("root_path", ""))
    return root


def strip_root(scope: Scope) -> str:
    """Return a request's path without the root path."""
    path: str = scope["path"]
    return path.removeprefix(get_root_path(scope)) or "/"


def prefix_links(scope: Scope, text: str) -> str:
    """Return a page's text with its addresses below the root path, which scripts read from <html data-root>."""
    root = get_root_path(scope)
    if not root:
        return text
    return _LINK.sub(rf"\1{root}\2", text).replace("<html ", f'<html data-root="{root}" ', 1)
