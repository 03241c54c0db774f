"""One session of the SDK's client with the real `lanescope mcp`, for tests that are not asynchronous."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters

Json = dict[str, Any]
COMMAND = [sys.executable, "-m", "lanescope.app.cli", "mcp"]
SERVER = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})


class Answered(NamedTuple):
    """The answer of a call, whether it is a tool error, and its bytes in the protocol."""

    answer: Json
    refused: bool
    bytes: int


class Session:
    """A client whose requests wait for their answer."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal, self.client = portal, client

    def ask(self, method: str, *given: Any) -> Any:
        """Call a method of the client."""
        return self.portal.call(getattr(self.client, method), *given)

    def call(self, tool: str, given: Json) -> Answered:
        """Call a tool; its answer is one text of JSON."""
        result = self.ask("call_tool", tool, given)
        (content,) = result.content
        text = json.dumps(content.text, ensure_ascii=False)
        return Answered(json.loads(content.text), result.is_error, len(text.encode()))


@contextmanager
def open_session(server: StdioServerParameters = SERVER) -> Iterator[Session]:
    """Start a server and connect."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        yield Session(portal, client)
