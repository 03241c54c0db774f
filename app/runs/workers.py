"""The verbs of a fleet: gpu scheduler, gpu worker; and what a verification says."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.kit.terminal import print_json

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


Running = Callable[[str, str, int, int], None]  # (what, "agrees" or what differs, how much of, all of it)


@contextmanager
def running() -> Iterator[Running]:
    """A progress bar on a terminal; what differs is told anywhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    told = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=told, disable=not told.is_terminal) as bar:
        task = bar.add_task("running", total=None)

        def progress(what: str, result: str, part: int, total: int) -> None:
            bar.update(task, advance=part, total=total)
            if result != "agrees":
                bar.console.print(f"{what}: {result}", markup=False)

        yield progress


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


def verified(
    address: str, files: tuple[str, str, str], chosen: dict[str, str], journal: str, progress: Running
) -> list[dict[str, Any]]:
    """The evidence of every kind of device of a fleet; what an interrupted verification left is not done again."""
    from app.gpu import runs, spread
    from app.gpu import verify as gpu
    from layouts.errors import LayoutError

    if chosen["family"]:
        raise LayoutError("bad_usage", "A fleet verifies all families.", "Leave --family out.", "family")
    gpu.check_part(chosen["part"])
    where = runs.place({name: chosen[name] for name in runs.PLACES}, "cuda")
    path = Path(journal) if journal else spread.home()
    with fleet(address, *files) as found:
        return spread.verify(
            found, lambda text, weight, total: progress(text, "agrees", weight, total), part=chosen["part"],
            journal=path, **where,
        )  # fmt: skip


def report(every: list[dict[str, Any]], part: str, write: bool, spread: bool, as_json: bool) -> None:
    """Print the evidence of each device, write it where that is wished; status 1 where hardware differs."""
    from app.gpu import verify as gpu
    from app.gpu.pieces import contradictions

    if write:
        for found in every:
            print(gpu.write(found, part), file=sys.stderr)
    apart = contradictions(every)
    if as_json and spread:
        print_json({"devices": every, "contradictions": [{"what": row.what, "said": dict(row.said)} for row in apart]})
    elif as_json:
        print_json(every[0])
    else:
        for found in every:
            _print_summary(found)
    wrong = [line for found in every for line in gpu.failures(found)]
    for row in apart:
        wrong.append(
            f"{row.what}: devices contradict each other: " + "; ".join(f"{k}: {v}" for k, v in row.said.items())
        )
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        raise typer.Exit(1)


def _print_summary(found: dict[str, Any]) -> None:
    """The device, then a row a family with what each method saw."""
    from rich.console import Console
    from rich.table import Table

    from app.gpu.verify import summary

    print(", ".join(f"{key} {value}" for key, value in found["meta"].items() if key != "method"))
    table = Table("what", "ran", "mma agrees", "fragment agrees", "agrees")
    for row in summary(found):
        counts = [row.methods.get(method, (0, 0)) for method in ("mma", "fragment")]
        told = [f"{agreed} of {judged}" if judged else "" for agreed, judged in (*counts, (row.agreed, row.ran))]
        table.add_row(row.what, str(row.ran), *told)
    Console().print(table)
    for part, why in found.get("skipped", {}).items():
        print(f"{part} skipped: {why}")
