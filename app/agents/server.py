"""The server of `lanescope mcp`: tools and resources over standard input and output, which carry nothing else.

A call computes in a thread beside the event loop, for a bounded time; a call that the client cancels ends there, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version
from typing import Any, TypeAlias, TypeVar

import anyio
from anyio import to_thread
from anyio.lowlevel import RunVar
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from lanescope.app.agents import resources
from lanescope.app.agents.excerpt import format_json
from lanescope.app.agents.schemas import build_input_schema
from lanescope.app.agents.skill import RULES, SUBJECT
from lanescope.app.agents.tool import refuse_call
from lanescope.app.agents.tools import ROWS, answer_call
from lanescope.app.kit.job import GRACE, Computation
from lanescope.errors import LayoutError

SECONDS = 10.0  # that a call may take
THREADS = 4  # of calls that compute at once
LOG = logging.getLogger("lanescope")
Result = TypeVar("Result")
Context: TypeAlias = ServerRequestContext[Any, Any]
_limiters: RunVar[anyio.CapacityLimiter | None] = RunVar("limiter")


def build_server() -> Server[Any]:
    """Return the server with its tools and resources."""
    return Server(
        "lanescope",
        version=version("lanescope"),
        title="Lanescope",
        instructions=" ".join((SUBJECT, *RULES)),
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_completion=_complete,
    )


def serve_stdio() -> None:
    """Serve until the client closes standard input."""
    if sys.stdin.isatty():
        print("lanescope mcp waits for an agent on standard input; its settings name this command.", file=sys.stderr)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    sys.setswitchinterval(0.001)  # a call that computes gives way to the event loop
    anyio.run(_serve)


async def _serve() -> None:
    server = build_server()
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


@cache
def build_tools() -> list[types.Tool]:
    """Build the description of every tool."""
    hints = types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return [
        types.Tool(
            name=row.name,
            title=row.title,
            description=row.about,
            input_schema=build_input_schema(row),
            annotations=hints,
        )
        for row in ROWS
    ]


async def _list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=await compute(build_tools))


async def _call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    try:
        answer, refused = await compute(partial(answer_call, params.name, arguments))
    except LayoutError as error:  # it took too long
        answer, refused = refuse_call(params.name, arguments, error), True
    except Exception:
        LOG.exception("%s failed", params.name)
        message = f"{params.name} failed on this input."
        failure = LayoutError("internal_error", message, "This is a mistake of Lanescope: please report the input.")
        answer, refused = refuse_call(params.name, arguments, failure), True
    return types.CallToolResult(content=[types.TextContent(text=format_json(answer))], is_error=refused)


async def compute(make: Callable[[], Result], seconds: float = SECONDS) -> Result:
    """Compute in a thread; LayoutError `too_slow` after `seconds`. Cancelling the task ends it."""

    def refuse() -> LayoutError:
        return LayoutError(
            "too_slow", f"This took longer than {seconds:g} s.", "Ask for less: a smaller tile, kernel or text."
        )

    job = Computation(make, refuse)
    done = False
    try:
        with anyio.fail_after(seconds):
            result = await to_thread.run_sync(job.run, abandon_on_cancel=True, limiter=_get_limiter())
            done = True
            return result
    except TimeoutError:
        raise refuse() from None
    finally:
        if not done:
            job.end()
            asyncio.get_running_loop().call_later(GRACE, job.interrupt)


def _get_limiter() -> anyio.CapacityLimiter:
    """Return the limiter of this event loop."""
    limiter = _limiters.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(THREADS)
        _limiters.set(limiter)
    return limiter


# resources ------------------------------------------------------------------------------------------------------------


async def _list_resources(context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    listed = await compute(resources.list_resources)
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=resource.uri,
                name=resource.name,
                title=resource.title,
                description=resource.about,
                mime_type=resources.MARKDOWN,
            )
            for resource in listed
        ]
    )


async def _list_templates(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(
                uri_template=template.uri,
                name=template.name,
                title=template.title,
                description=template.about,
                mime_type=resources.MARKDOWN,
            )
            for template in resources.TEMPLATES
        ]
    )


async def _read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    try:
        text = await compute(partial(resources.read_resource, uri))
    except LayoutError as error:
        raise MCPError(types.INVALID_PARAMS, f"{error.message} {error.hint}".strip()) from None
    contents = types.TextResourceContents(uri=uri, mime_type=resources.MARKDOWN, text=text)
    return types.ReadResourceResult(contents=[contents])


async def _complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    template = getattr(params.ref, "uri", "")
    with contextlib.suppress(LayoutError):
        found = await compute(partial(resources.complete, template, params.argument.name, params.argument.value))
        shown = found[: resources.MOST_COMPLETED]
        completion = types.Completion(values=shown, total=len(found), has_more=len(found) > len(shown))
        return types.CompleteResult(completion=completion)
    return types.CompleteResult(completion=types.Completion(values=[]))
