"""A site whose pages arrive in pieces, as over a slow line: a browser paints what it has between two of them."""

from __future__ import annotations

import contextlib
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

PIECES = 4
PAUSE = 0.3  # seconds: some frames, also where the machine is busy


def split_page(page: bytes) -> list[bytes]:
    """A page before its heading, behind its first form, which often stands below what follows it, and the rest in equal
    parts.
    """
    main = page.find(b"<main")
    heading, form = page.find(b"<h1", main), page.find(b"</form>", main) + len(b"</form>")
    start = max(form, heading)
    ends = [start + (len(page) - start) * n // PIECES for n in range(PIECES + 1)]
    return [page[a:b] for a, b in pairwise(sorted({0, max(heading, 0), *ends}))]


@contextlib.contextmanager
def serve_slowly(site: str) -> Iterator[str]:
    """The address of a server that hands on what another one answers; pages in pieces."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                answer = urllib.request.urlopen(site + self.path, timeout=60)
            except urllib.error.HTTPError as refused:
                answer = refused
            with answer:
                body, kind = answer.read(), answer.headers["content-type"]
                self.send_response(answer.status)
            for name in ("content-type", "content-security-policy"):
                if answer.headers[name]:
                    self.send_header(name, answer.headers[name])
            self.end_headers()
            for number, piece in enumerate(split_page(body) if kind.startswith("text/html") else [body]):
                time.sleep(PAUSE if number else 0)
                self.wfile.write(piece)
                self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Tests say themselves what went wrong."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
