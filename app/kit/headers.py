"""The security headers of every answer, by what it is: a page, a picture, data, or a file of the pages.

Pages run no script and take no style but this server's own, and are framed only where the setting says so. Pictures and
data are for everybody: an <img> in a document elsewhere, a notebook's fetch. No answer depends on who asks, so nothing
leaks by that.
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
# The only page that other sites may show in a frame: it has no form, no script and no menu.
EMBED = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *"
FILE = "default-src 'none'; frame-ancestors *"  # opened by itself, or in a frame: an SVG may load and run nothing
OWN = ("/static/", "/vendor/", "/palette.css", "/metrics")


class SecurityHeaders:
    """Made once a server; `select` picks. styles: inline styles that pages may have, each as a policy names it:
    'sha256-…'.
    """

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

    def select(self, scope: Scope, status: int, given: Iterable[tuple[bytes, bytes]]) -> Pairs:
        """The headers of one answer, from its media type, the method and the path."""
        if status == 304:
            return self.always  # what the client has keeps the headers it came with
        kind = next((value for name, value in given if name == b"content-type"), b"")
        if kind.startswith(b"text/html"):
            return self.embed if strip_root(scope).startswith("/embed/") else self.page
        path = strip_root(scope)
        readable = scope["method"] == "GET" and is_for_programs(path) and not path.startswith(OWN)
        return self.shared if readable else self.asset
