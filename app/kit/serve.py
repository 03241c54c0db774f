"""`lanescope serve`: one option per setting, each also an environment variable."""

from __future__ import annotations

import dataclasses
import inspect
import os
from typing import Annotated, Any

import typer

from lanescope.app.kit.settings import Settings, name_variable
from lanescope.errors import LayoutError

METAVARS = {int: "<int>", float: "<float>"}


def serve(**value: Any) -> None:
    """Serve the pages and the API. Every option is also an environment variable; options take precedence."""
    settings = Settings(**value)
    os.environ.update(settings.to_environment())  # for create_app, here and in worker processes
    _run_server(settings)


def _build_signature() -> inspect.Signature:
    """Return the signature from which Typer builds the options."""
    parameters = []
    for row in dataclasses.fields(Settings):
        flag = isinstance(row.default, bool)
        metavar = METAVARS.get(type(row.default))
        option = typer.Option(help=row.metadata["says"], envvar=name_variable(row.name), metavar=metavar)
        default = row.default if flag else str(row.default)
        kind = Annotated[bool if flag else str, option]  # type: ignore[valid-type]
        parameters.append(inspect.Parameter(row.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    return inspect.Signature(parameters)


serve.__signature__ = _build_signature()  # type: ignore[attr-defined]


def require_port(host: str, port: int) -> None:
    """Raise LayoutError if the server cannot listen on a port of a host."""
    import errno
    import socket

    words = {
        errno.EADDRINUSE: (f"Port {port} of {host} is in use.", "Give another --port; 0 for a free one."),
        errno.EACCES: (f"Port {port} of {host} needs privileges.", "Give a --port from 1024."),
    }
    bound = False
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror:
        found = []
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind(address)
                bound = True
        except OSError as error:
            if error.errno in words:
                raise LayoutError("bad_option", *words[error.errno], "port") from None
    if not bound:
        hint = "Give --host 127.0.0.1, or 0.0.0.0 for all addresses."
        raise LayoutError("bad_option", f"{host} is not an address of this machine.", hint, "host")


def _run_server(settings: Settings) -> None:
    import gc
    import resource
    import signal
    import sys

    from lanescope.app.kit.extras import require_extra

    require_extra("web")

    import uvicorn

    gc.disable()  # until the server has started (kit/work): what is loaded stays loaded, and scanning it takes 0.2 s

    from lanescope.app.kit import logs

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each connection is a file, and shells allow few
    # uvicorn finishes requests in flight, shuts down, and raises the signal again; that is a normal end here, not a
    # failure. Until uvicorn handles the signal, it ends the process at once.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    require_port(settings.host, settings.port)
    uvicorn.run(
        "lanescope.app.main:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        proxy_headers=False,  # create_app trusts the proxies that the settings name
        server_header=False,
        log_config=logs.build_config(settings.log_format),
        access_log=False,  # create_app writes its own, with the request id
        timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
    )
