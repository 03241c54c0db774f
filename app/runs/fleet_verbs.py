"""Commands of a fleet: gpu scheduler, gpu worker; and the output of a verification."""

from __future__ import annotations

import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanescope.app.kit.settings import check_tls_files
from lanescope.app.kit.terminal import print_json
from lanescope.app.runs.fleet_options import NAMES, FleetContact, add_fleet_options, open_fleet

if TYPE_CHECKING:
    from lanescope.app.hardware.fleet_verification import PieceJournal
    from lanescope.app.runs.facts import FleetWorker

Running = Callable[[str, str, int, int], None]  # (what, "agrees" or what differs, how much of, all of it)


@contextmanager
def show_progress() -> Iterator[Running]:
    """Show a progress bar on a terminal; differences are printed in any case."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("counting what there is to run", total=None)

        def progress(what: str, result: str, part: int, total: int) -> None:
            bar.update(task, advance=part, total=total, description="running")
            if result != "agrees":
                bar.console.print(f"{what}: {result}", markup=False)

        yield progress


def make_stage_printer() -> Callable[[str], None]:
    """Return a function that prints a line to standard error for each stage of a verification, with the seconds so
    far.
    """
    begun = time.monotonic()

    def begins(stage: str) -> None:
        print(f"{time.monotonic() - begun:6.1f} s  {stage}", file=sys.stderr, flush=True)

    return begins


def format_worker(worker: FleetWorker) -> str:
    """Return a worker in a line of text."""
    device = worker.device.name if worker.device else "no device"
    about = f"{worker.name}: {device}, {worker.architecture}, Lanescope {worker.program}"
    jobs = "1 job" if worker.queue == 1 else f"{worker.queue} jobs"
    state = jobs if worker.ready else f"gets no jobs: {worker.reason}"
    return f"{about}, {state}, heard of {worker.last_seen_seconds:g} s ago"


@add_fleet_options(*NAMES)
def scheduler(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[str, typer.Option(help="Port to listen on; 0 for a free one.", metavar="<int>")] = "8786",
    contact: FleetContact = FleetContact(),
) -> None:
    """Run a fleet's scheduler: servers give it runs, workers take them."""
    from lanescope.app.hardware.connection import require_dask
    from lanescope.inputs import parse_integer

    chosen = parse_integer(port, "port", 0, 65535)
    if any(contact.files):
        check_tls_files("tls://", *contact.files)
    require_dask()
    from lanescope.app.hardware.fleet_processes import serve_scheduler

    raise typer.Exit(serve_scheduler(host, chosen, contact.tls))


@add_fleet_options()
def worker(
    contact: FleetContact = FleetContact(),
    device: Annotated[str, typer.Option(help="Numbers of CUDA devices, with commas; all when left out.")] = "",
    name: Annotated[str, typer.Option(help="This host's name in the fleet; its host name when left out.")] = "",
    host: Annotated[str, typer.Option(help="Address to listen on; the one that reaches the scheduler.")] = "",
) -> None:
    """Put this host's GPUs into a fleet: a worker per device, each under a nanny that restarts it when it ends."""
    from lanescope.app.hardware.connection import parse_devices, require_dask, require_scheduler
    from lanescope.app.hardware.runs import PLACES
    from lanescope.errors import LayoutError

    require_scheduler(contact.scheduler)
    contact.check()
    name = name or socket.gethostname()
    if not re.fullmatch(PLACES["worker"][0], f"{name}:0", re.A):
        raise LayoutError(
            "bad_name", f"name is '{name[:80]}'.", "Letters, digits, '.', '_' and '-', at most 64.", "name"
        )
    require_dask()
    devices = parse_devices(device)
    from lanescope.app.hardware.fleet_processes import serve_workers

    raise typer.Exit(serve_workers(contact.scheduler, name, devices, host=host, tls=contact.tls))


def verify_on_fleet(
    contact: FleetContact, chosen: dict[str, str], kept: PieceJournal, progress: Running
) -> list[dict[str, Any]]:
    """Return the evidence of every kind of device of a fleet; pieces finished by an interrupted verification are not
    repeated.
    """
    from lanescope.app.hardware import evidence, fleet_verification, runs
    from lanescope.errors import LayoutError

    if chosen["family"]:
        raise LayoutError("bad_usage", "A fleet verifies all families.", "Leave --family out.", "family")
    evidence.check_part(chosen["part"])
    where = runs.check_placement({name: chosen[name] for name in runs.PLACES}, "cuda")
    try:
        with open_fleet(contact) as found:
            return fleet_verification.verify_fleet(
                found,
                lambda text, weight, total: progress(text, "agrees", weight, total),
                kept,
                part=chosen["part"],
                **where,
            )
    except KeyboardInterrupt:
        print(f"\nInterrupted. {kept.summary} The same command goes on with what is left.", file=sys.stderr)
        raise typer.Exit(130) from None


def write_report(every: list[dict[str, Any]], part: str, write: bool, spread: bool, as_json: bool) -> bool:
    """Write the evidence of each device if requested, and print it. Return whether all of it agrees."""
    from lanescope.app.hardware import evidence
    from lanescope.app.hardware.pieces import find_contradictions

    if write:
        for found in every:
            print(evidence.write_evidence(found, part), file=sys.stderr)
    apart = find_contradictions(every)
    if as_json and spread:
        print_json(
            {"devices": every, "contradictions": [{"what": row.what, "said": dict(row.outcomes)} for row in apart]}
        )
    elif as_json:
        print_json(every[0])
    else:
        for found in every:
            _print_summary(found)
    wrong = [line for found in every for line in evidence.list_failures(found)]
    for row in apart:
        wrong.append(
            f"{row.what}: devices contradict each other: " + "; ".join(f"{k}: {v}" for k, v in row.outcomes.items())
        )
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
    return not wrong


def _print_summary(found: dict[str, Any]) -> None:
    """Print the device, then a row per family with the result of each method."""
    from rich.console import Console
    from rich.table import Table

    from lanescope.app.hardware.evidence import summarize

    about = {key: value for key, value in found["meta"].items() if key not in ("method", "ran_by")}
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    if ran_by := found["meta"].get("ran_by"):
        print("ran by " + ", ".join(f"{worker} ({count} pieces)" for worker, count in ran_by.items()))
    table = Table("what", "ran", "mma agrees", "fragment agrees", "agrees")
    for row in summarize(found):
        counts = [row.methods.get(method, (0, 0)) for method in ("mma", "fragment")]
        shares = [f"{agreed} of {judged}" if judged else "" for agreed, judged in (*counts, (row.agreed, row.ran))]
        table.add_row(row.what, str(row.ran), *shares)
    Console().print(table)
    for part, why in found.get("skipped", {}).items():
        print(f"{part} skipped: {why}")
