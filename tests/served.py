"""`lanescope serve` as a process of its own, and requests to it."""

from __future__ import annotations

import contextlib
import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COMMAND = (sys.executable, "-c", "from lanescope.app.cli import main; main()")


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def run_server(
    *options: str, command: Sequence[str] = COMMAND, log: int = subprocess.DEVNULL, **more: Any
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """(process, port) of a server that answers. log: where its standard error goes; more: arguments of Popen."""
    port = find_free_port()
    words = [*command, "serve", "--port", str(port), *options]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=log, **more)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError):
                if send_request(port, "GET", "/readyz")[0] == 200:
                    break
            time.sleep(0.02)
        yield process, port
    finally:
        process.terminate()
        process.communicate(timeout=30)


def send_request(
    port: int, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Status and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers or {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
