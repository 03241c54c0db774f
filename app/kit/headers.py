"""Security headers by kind of answer: page, picture, data, or static file.

Pages may run only scripts and styles of this server, and may be framed only if a setting allows it. Pictures and data
may be loaded from other sites: <img> in a document, fetch in a notebook. No answer depends on the client, so this
discloses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from lanescope.app.kit.asgi import Scope
from lanescope.app.kit.errors import is_for_programs
from lanescope.app.kit.prefix import strip_root

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
