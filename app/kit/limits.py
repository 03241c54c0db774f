"""What stands before every route: the request's id, the names this server answers to, the sizes of address and body,
the headers of every answer, the access log."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import Callable

from lanescope.app.kit.asgi import ASGIApp, Message, Receive, Scope, Send
from lanescope.app.kit.headers import SecurityHeaders
from lanescope.app.kit.logs import ACCESS, REQUEST_ID
from lanescope.app.kit.prefix import strip_root
from lanescope.app.kit.settings import Settings
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

BODIES = ("POST", "PUT", "PATCH", "DELETE")
PROBES = ("/healthz", "/readyz")  # asked for by address, inside a container: no client's name is known there
UPLOADS = ("/dump", "/api/v1/dumps/verify")  # addresses whose bodies hold files
CAPTURES = ("/capture", "/api/v1/captures/verify")  # whose files are captures
LONGEST_DRAIN, MOST_DRAINED = 2.0, 64 << 20
_ID = re.compile(rb"[\w.:+/=-]{1,64}\Z")


class RequestGuard:
    """ASGI middleware. Refuses what is too large, too slow or meant for another server, before a route sees it."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        refused: Callable[[Scope, LayoutError], ASGIApp],
        styles: tuple[str, ...] = (),
    ) -> None:
        """refused: what answers a request that is refused, which closes the connection."""
        self.app, self.settings, self.refused = app, settings, refused
        self.headers = SecurityHeaders(settings.frame_ancestors, styles)
        self.hosts = [] if "*" in settings.trusted_hosts.split(",") else settings.trusted_hosts.lower().split(",")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begun = time.perf_counter()
        given = dict(scope["headers"])
        asked = given.get(b"x-request-id", b"")
        identity = asked if _ID.match(asked) else secrets.token_hex(8).encode()
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
            refused = self.find_refusal(scope, given)
            if refused:
                if refused.code == "body_too_large" and b"expect" not in given:
                    await self.drain_body(receive)
                await self.refused(scope, refused)(scope, receive, send_guarded)
            else:
                await self.app(
                    scope,
                    self.limit_receive(receive, self.get_body_limit(scope)) if scope["method"] in BODIES else receive,
                    send_guarded,
                )
        finally:
            if self.settings.access_log:
                self.log_access(scope, status, time.perf_counter() - begun)

    def find_refusal(self, scope: Scope, given: dict[bytes, bytes]) -> LayoutError | None:
        """Why a request is not even looked at, None where it is."""
        host = given.get(b"host", b"").decode("latin-1")
        name = host.rpartition(":")[0] if re.search(r":\d+\Z", host) else host
        if (
            self.hosts
            and strip_root(scope) not in PROBES
            and not any(
                name.lower() == known or (known.startswith("*.") and name.lower().endswith(known[1:]))
                for known in self.hosts
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
        length = given.get(b"content-length", b"0")
        if scope["method"] in BODIES and (
            not length.isdigit() or len(length) > 18 or int(length) > self.get_body_limit(scope)
        ):
            return self.make_too_large(length.decode("latin-1"), self.get_body_limit(scope))
        return None

    def get_body_limit(self, scope: Scope) -> int:
        """The most bytes of a body for an address."""
        own, where = self.settings.body_bytes, strip_root(scope)
        if where in CAPTURES:
            return max(own, self.settings.capture_bytes)
        return max(own, self.settings.upload_bytes) if where in UPLOADS else own

    def make_too_large(self, size: object, most: int) -> LayoutError:
        return LayoutError("body_too_large", f"The body has {shorten_value(str(size))} bytes.", f"At most {most}.")

    async def drain_body(self, receive: Receive) -> None:
        """Read a body that is refused, within reason: a client that still sends when the connection closes never sees
        the answer.
        """
        seen = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(self.settings.seconds, LONGEST_DRAIN)):
                while seen < MOST_DRAINED:
                    message = await receive()
                    seen += len(message.get("body", b""))
                    if not message.get("more_body"):
                        return

    def limit_receive(self, receive: Receive, most: int) -> Receive:
        """receive() that counts the body's bytes and does not wait for them longer than a request may take."""
        until = asyncio.get_running_loop().time() + self.settings.seconds
        seen, more = 0, True

        async def counted() -> Message:
            nonlocal seen, more
            if not more:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise LayoutError(
                    "slow_body", f"The body did not arrive within {self.settings.seconds:g} s.", "Send it at once."
                ) from None
            seen += len(message.get("body", b""))
            more = message.get("more_body", False)
            if seen > most:
                raise self.make_too_large(f"at least {seen}", most)
            return message

        return counted

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
