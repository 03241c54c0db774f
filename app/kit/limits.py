"""Checks around every route: request id, allowed hosts, sizes of address and body, response headers, access log."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import Callable, Iterable

from lanescope.app.kit.asgi import ASGIApp, Message, Receive, Scope, Send
from lanescope.app.kit.errors import is_for_programs
from lanescope.app.kit.logs import ACCESS, REQUEST_ID
from lanescope.app.kit.prefix import strip_root
from lanescope.app.kit.settings import Settings
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

BODIES = ("POST", "PUT", "PATCH", "DELETE")
PROBES = ("/healthz", "/readyz")  # how a container is probed: by IP address, without a host name
# Addresses whose bodies contain files, or a text that the page keeps even if it is too long.
UPLOADS = ("/dump", "/api/v1/dumps/verify", "/read", "/read/files")
# Addresses that take captures, or arrays of a kernel's buffers.
CAPTURES = ("/capture", "/api/v1/captures/verify", "/emulate", "/api/v1/emulate")
LONGEST_DRAIN, MOST_DRAINED = 2.0, 64 << 20
_ID = re.compile(rb"[\w.:+/=-]{1,64}\Z")


class RequestGuard:
    """ASGI middleware that refuses requests that are too large, too slow or for another server, before routing."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        render_refusal: Callable[[Scope, LayoutError], ASGIApp],
        styles: tuple[str, ...] = (),
    ) -> None:
        """Take the application, the settings, and `render_refusal`, which makes the response to a refused request and
        closes the connection.
        """
        self.app, self.settings, self.render_refusal = app, settings, render_refusal
        self.headers = SecurityHeaders(settings.frame_ancestors, styles)
        self.hosts = [] if "*" in settings.trusted_hosts.split(",") else settings.trusted_hosts.lower().split(",")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = time.perf_counter()
        headers = dict(scope["headers"])
        sent_id = headers.get(b"x-request-id", b"")
        identity = sent_id if _ID.match(sent_id) else secrets.token_hex(8).encode()
        REQUEST_ID.set(identity.decode())
        status = 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", identity),
                    *self.headers.select(scope, status, message["headers"]),
                ]
            await send(message)

        try:
            refusal = self.find_refusal(scope, headers)
            if refusal:
                if refusal.code == "body_too_large" and b"expect" not in headers:
                    await self.drain_body(receive)
                await self.render_refusal(scope, refusal)(scope, receive, send_guarded)
            else:
                await self.app(
                    scope,
                    self.limit_receive(receive, self.get_body_limit(scope)) if scope["method"] in BODIES else receive,
                    send_guarded,
                )
        finally:
            if self.settings.access_log:
                self.log_access(scope, status, time.perf_counter() - started)

    def find_refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> LayoutError | None:
        """Return why a request is refused before routing, None if it is not."""
        host = headers.get(b"host", b"").decode("latin-1")
        name = host.rpartition(":")[0] if re.search(r":\d+\Z", host) else host
        if (
            self.hosts
            and strip_root(scope) not in PROBES
            and not any(
                name.lower() == host_name or (host_name.startswith("*.") and name.lower().endswith(host_name[1:]))
                for host_name in self.hosts
            )
        ):
            return LayoutError(
                "unknown_host",
                f"This server does not answer to '{shorten_value(host)}'.",
                "LANESCOPE_TRUSTED_HOSTS names the hosts.",
            )
        size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if size > self.settings.url_bytes:
            return LayoutError(
                "address_too_long",
                f"The address has {size} bytes.",
                f"At most {self.settings.url_bytes}. A POST route takes more.",
            )
        length = headers.get(b"content-length", b"0")
        if scope["method"] in BODIES and (
            not length.isdigit() or len(length) > 18 or int(length) > self.get_body_limit(scope)
        ):
            return self.make_too_large(length.decode("latin-1"), self.get_body_limit(scope))
        return None

    def get_body_limit(self, scope: Scope) -> int:
        """Return the maximum size of a body for an address, in bytes."""
        body_bytes, path = self.settings.body_bytes, strip_root(scope)
        if path in CAPTURES:
            return max(body_bytes, self.settings.capture_bytes)
        return max(body_bytes, self.settings.upload_bytes) if path in UPLOADS else body_bytes

    def make_too_large(self, size: object, most: int) -> LayoutError:
        return LayoutError("body_too_large", f"The body has {shorten_value(str(size))} bytes.", f"At most {most}.")

    async def drain_body(self, receive: Receive) -> None:
        """Read a refused body up to a limit: a client that is still sending when the connection closes never sees the
        response.
        """
        byte_count = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(self.settings.seconds, LONGEST_DRAIN)):
                while byte_count < MOST_DRAINED:
                    message = await receive()
                    byte_count += len(message.get("body", b""))
                    if not message.get("more_body"):
                        return

    def limit_receive(self, receive: Receive, most: int) -> Receive:
        """Wrap receive() to count the body's bytes and to limit how long it may take."""
        until = asyncio.get_running_loop().time() + self.settings.seconds
        byte_count, more = 0, True

        async def receive_counted() -> Message:
            nonlocal byte_count, more
            if not more:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise LayoutError(
                    "slow_body", f"The body did not arrive within {self.settings.seconds:g} s.", "Send it at once."
                ) from None
            byte_count += len(message.get("body", b""))
            more = message.get("more_body", False)
            if byte_count > most:
                raise self.make_too_large(f"at least {byte_count}", most)
            return message

        return receive_counted

    def log_access(self, scope: Scope, status: int, seconds: float) -> None:
        path = (scope.get("raw_path") or b"").decode("latin-1")
        client = (scope.get("client") or ("-",))[0]
        facts = {
            "client": client,
            "method": scope["method"],
            "path": path,
            "status": status,
            "ms": round(seconds * 1000, 2),
        }
        ACCESS.info("%s %s %s %d %.1f ms", client, scope["method"], path, status, seconds * 1000, extra=facts)


# security headers -----------------------------------------------------------------------------------------------------
# Pages may run only scripts and styles of this server, and may be framed only if a setting allows it. Pictures and data
# may be loaded from other sites: <img> in a document, fetch in a notebook. No answer depends on the client, so this
# discloses nothing.


Pairs = list[tuple[bytes, bytes]]
PAGE = (
    "default-src 'self'; style-src {styles}; img-src 'self' data: blob:; object-src 'none'; base-uri 'none';"
    " form-action 'self'; frame-ancestors {frame}"
)
# The only page that other sites may frame: it has no form, script or menu.
EMBED = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *"
FILE = "default-src 'none'; frame-ancestors *"  # opened directly or framed: an SVG may load and run nothing
OWN = ("/static/", "/vendor/", "/palette.css", "/metrics")


class SecurityHeaders:
    """The security headers of a server. styles: allowed inline styles, as a policy names them: 'sha256-…'."""

    def __init__(self, frame_ancestors: str, styles: Iterable[str] = ()) -> None:
        self.always: Pairs = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin")]
        page = (
            b"content-security-policy",
            PAGE.format(frame=frame_ancestors, styles=" ".join(("'self'", *styles))).encode(),
        )
        file = (b"content-security-policy", FILE.encode())
        anybody = [(b"cross-origin-resource-policy", b"cross-origin")]
        ours = [(b"cross-origin-resource-policy", b"same-origin")]
        self.page: Pairs = [*self.always, page, *ours, (b"cross-origin-opener-policy", b"same-origin")]
        embed = (b"content-security-policy", EMBED.encode())
        self.embed: Pairs = [*self.always, embed, *anybody]
        self.asset: Pairs = [*self.always, file, *ours]
        self.shared: Pairs = [*self.always, file, *anybody, (b"access-control-allow-origin", b"*")]

    def select(self, scope: Scope, status: int, sent: Iterable[tuple[bytes, bytes]]) -> Pairs:
        """Return the headers of an answer by media type, method and path."""
        if status == 304:
            return self.always  # the client keeps the headers that came with its copy
        kind = next((value for name, value in sent if name == b"content-type"), b"")
        if kind.startswith(b"text/html"):
            return self.embed if strip_root(scope).startswith("/embed/") else self.page
        path = strip_root(scope)
        readable = scope["method"] == "GET" and is_for_programs(path) and not path.startswith(OWN)
        return self.shared if readable else self.asset
