"""The verbs of a fleet: gpu scheduler, gpu worker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from app.gpu.fleet import Fleet
    from app.runs.facts import FleetWorker

Scheduler = Annotated[
    str, typer.Option("--scheduler", envvar="LANESCOPE_SCHEDULER", help="The fleet's scheduler: tcp://host:8786.")
]
TlsCa = Annotated[str, typer.Option("--tls-ca", envvar="LANESCOPE_TLS_CA", help="tls://: the authority's certificate.")]
TlsCert = Annotated[
    str, typer.Option("--tls-cert", envvar="LANESCOPE_TLS_CERT", help="tls://: this side's certificate.")
]
TlsKey = Annotated[str, typer.Option("--tls-key", envvar="LANESCOPE_TLS_KEY", help="tls://: its key.")]


@contextmanager
def fleet(address: str, *files: str) -> Iterator[Fleet]:
    """A fleet, for as long as a verb asks it."""
    from app.gpu.fleet import Fleet, Tls
    from app.kit.settings import scheduler as address_of
    from app.kit.settings import tls_files

    tls_files(address_of(address), *files)
    found = Fleet(address, Tls(*files))
    try:
        yield found
    finally:
        found.close()


def line(worker: FleetWorker) -> str:
    """A worker in a line of text."""
    device = worker.device.name if worker.device else "no device"
    about = f"{worker.name}: {device}, {worker.architecture}, Lanescope {worker.program}"
    state = f"{worker.queue} jobs" if worker.ready else f"not asked: {worker.reason}"
    return f"{about}, {state}, heard of {worker.last_seen_seconds:g} s ago"


def scheduler(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[str, typer.Option(help="Port to listen on; 0 for a free one.")] = "8786",
    tls_ca: TlsCa = "",
    tls_cert: TlsCert = "",
    tls_key: TlsKey = "",
) -> None:
    """Run a fleet's scheduler: servers give it runs, workers take them."""
    from app.gpu.fleet import Tls, need_dask
    from app.kit.settings import tls_files
    from layouts.reading import number

    chosen = number(port, "port", 0, 65535)
    if tls_ca or tls_cert or tls_key:
        tls_files(f"tls://{host}:{chosen}", tls_ca, tls_cert, tls_key)
    need_dask()
    from app.gpu.posts import serve_scheduler

    raise typer.Exit(serve_scheduler(host, chosen, Tls(tls_ca, tls_cert, tls_key)))


def worker(
    scheduler: Scheduler = "",
    device: Annotated[str, typer.Option(help="Numbers of CUDA devices, with commas; all when left out.")] = "",
    name: Annotated[str, typer.Option(help="This host's name in the fleet.")] = "",
    host: Annotated[str, typer.Option(help="Address to listen on; the one that reaches the scheduler.")] = "",
    tls_ca: TlsCa = "",
    tls_cert: TlsCert = "",
    tls_key: TlsKey = "",
) -> None:
    """Put this host's GPUs into a fleet: a worker a device, each under a nanny that starts it anew when it ends."""
    from app.gpu.fleet import Tls, chosen_devices, need_dask, need_scheduler
    from app.gpu.runs import PLACES
    from app.kit.settings import scheduler as address_of
    from app.kit.settings import tls_files
    from layouts.errors import LayoutError

    address = need_scheduler(address_of(scheduler))
    tls_files(address, tls_ca, tls_cert, tls_key)
    if name and not re.fullmatch(PLACES["worker"][0], f"{name}:0", re.A):
        raise LayoutError(
            "bad_name", f"name is '{name[:80]}'.", "Letters, digits, '.', '_' and '-', at most 64.", "name"
        )
    need_dask()
    devices = chosen_devices(device)
    from app.gpu.posts import serve_workers

    raise typer.Exit(serve_workers(address, name, devices, host, Tls(tls_ca, tls_cert, tls_key)))
