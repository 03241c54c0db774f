"""The fleet's two kinds of process beside the server: the scheduler, and a worker a device under its nanny.

Dask's own classes without the handlers that run other people's code: their ports serve only the fleet. The one
module that imports Dask when it is imported; nothing imports it before a worker or a scheduler is to run.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Coroutine
from typing import Any

import dask
from distributed import Nanny, Scheduler, Worker

from lanescope.app.hardware import jobs, pickle_guard, pool as local
from lanescope.app.hardware.connection import TlsFiles, explain_failure
from lanescope.app.hardware.device_targets import format_architecture
from lanescope.errors import LayoutError

Json = dict[str, Any]


TOLD = (
    "Failed to start",
    "Worker failed to connect",
    "Unable to connect to scheduler",
)  # `_run_nanny` prints the reason once


class LineFormatter(logging.Formatter):
    """Format a message of Dask as one line, without the stack of an error; its cause is reported elsewhere."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage().strip().split("\n")[0]
        cause = record.exc_info[1] if record.exc_info else None
        return f"{self.formatTime(record)} {record.name}: {message}{f' ({explain_failure(cause)})' if cause else ''}"


pickle_guard.install_guard()
for _name in [name for name in logging.root.manager.loggerDict if name.startswith(("distributed", "tornado"))]:
    _logger = logging.getLogger(_name)
    _logger.setLevel(logging.WARNING)
    for _handler in _logger.handlers:
        _handler.setFormatter(LineFormatter())
        _handler.addFilter(lambda record: bool(text := record.getMessage().strip()) and not text.startswith(TOLD))
SERVER = "identity echo ping terminate versions get_logs".split()
SCHEDULER = {
    *SERVER,
    "register-client",
    "register-worker",
    "register_nanny",
    "unregister",
    "gather",
    "processing",
    "who_has",
    "ncores",
    "heartbeat_worker",
    "logs",
    "set_resources",
    "nbytes",
    "has_what",
    "get_task_status",
}
WORKER = {*SERVER, "gather", "get_data", "free_keys", "keys"}
NANNY = {*SERVER, "instantiate", "kill", "restart", "close_gracefully"}
CONFIG = {
    "distributed.scheduler.allowed-failures": 1,
    "distributed.scheduler.worker-ttl": "30s",
    "distributed.worker.daemon": True,
    "distributed.comm.timeouts.connect": "10s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.admin.system-monitor.gil.enabled": False,
}
AGAIN_SECONDS = 2.0


def _keep_handlers(server: Any, names: set[str]) -> None:
    for name in set(server.handlers) - names:
        del server.handlers[name]


class FleetScheduler(Scheduler):
    """A scheduler that accepts jobs and workers, but runs no functions from clients."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        _keep_handlers(self, SCHEDULER)


class FleetWorkerServer(Worker):
    """A worker with one device: its station executes, in a separate process, one job at a time."""

    def __init__(self, *args: Any, post: Json, argv: list[str] | None = None, **kwargs: Any) -> None:
        super().__init__(
            *args, startup_information={"lanescope": lambda _: _get_announcement(post)}, extensions={}, **kwargs
        )
        _keep_handlers(self, WORKER)
        kind = jobs.JOBS["run"]
        command = (lambda number: [*local.build_worker_command(number), "--alone"]) if argv is None else lambda _: argv
        self.lane = local.WorkerQueue(post["number"], command, kind.seconds, local.QUEUE, local.START_SECONDS)
        jobs.set_station(jobs.Station(self.lane, post["program"]))

    async def plugin_add(self, *args: Any, **kwargs: Any) -> Any:
        """Ignore a scheduler's plug-ins."""
        return {"status": "OK"}

    async def close(self, *args: Any, **kwargs: Any) -> Any:
        worker = self.lane.worker
        if worker:
            worker.process.kill()
        return await super().close(*args, **kwargs)


async def _get_announcement(post: Json) -> Json:
    return post


class FleetNanny(Nanny):
    """A nanny that restarts its worker when it ends, and accepts no plug-in and no function."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _keep_handlers(self, NANNY)


def serve_scheduler(host: str, port: int, tls: TlsFiles) -> int:
    """Run a scheduler until a signal ends it; LayoutError if it cannot listen."""

    async def main(until: asyncio.Event) -> None:
        protocol = "tls" if tls.ca else "tcp"
        try:
            scheduler = await FleetScheduler(
                host=host,
                port=port,
                protocol=protocol,
                security=tls.make_security(),
                dashboard=False,
                dashboard_address="127.0.0.1:0",
            )
        except Exception as error:
            raise LayoutError(
                "bad_port",
                f"No scheduler can listen on {protocol}://{host}:{port}: {explain_failure(error)}.",
                "Choose another --port, or an address of this host.",
                "port",
            ) from None
        try:
            print(f"scheduler at {scheduler.address}", file=sys.stderr, flush=True)
            if not tls.ca and not _is_loopback(host):
                print("without TLS: whoever reaches this port can give jobs and join as a worker", file=sys.stderr)
            await until.wait()
        finally:
            await scheduler.close()

    return _run_until_signal(main)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(socket.gethostbyname(host)).is_loopback
    except (OSError, ValueError):
        return False


def serve_workers(
    scheduler: str,
    name: str,
    devices: list[tuple[int, Json]],
    *,
    host: str,
    tls: TlsFiles,
    program: str = "",
    argv: list[str] | None = None,
) -> int:
    """Run a worker under a nanny for each device (its number, its facts), until a signal ends it.

    program, argv: tests replace this Lanescope and its worker process.
    """
    name = name or socket.gethostname()

    async def main(until: asyncio.Event) -> None:
        with tempfile.TemporaryDirectory(prefix="lanescope-") as folder:
            nannies = [
                asyncio.ensure_future(
                    _run_nanny(scheduler, _build_announcement(name, number, info, program), host, tls, argv, folder)
                )
                for number, info in devices
            ]
            await until.wait()
            for nanny in nannies:
                nanny.cancel()
            await asyncio.gather(*nannies, return_exceptions=True)

    return _run_until_signal(main)


def _build_announcement(name: str, number: int, info: Json, program: str) -> Json:
    return {
        "name": f"{name}:{number}",
        "host": socket.gethostname(),
        "number": number,
        "device": info,
        "program": program or jobs.compute_program_version(),
    }


async def _run_nanny(scheduler: str, post: Json, host: str, tls: TlsFiles, argv: list[str] | None, folder: str) -> None:
    """Run the nanny of one device; it tries again for as long as the scheduler is away."""
    resources, reason = {"gpu": 1, format_architecture(post["device"]): 1}, ""
    while True:
        nanny = FleetNanny(
            scheduler,
            nthreads=1,
            name=post["name"],
            resources=resources,
            memory_limit=0,
            local_directory=folder,
            host=host or None,
            security=tls.make_security(),
            worker_class=FleetWorkerServer,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
            death_timeout=None,
            post=post,
            argv=argv,
        )
        try:
            await nanny
            print(f"{post['name']} is a worker of {scheduler}", file=sys.stderr, flush=True)
            reason = ""
            await nanny.finished()  # type: ignore[no-untyped-call]
        except Exception as error:
            if reason != (reason := explain_failure(error)):
                retry_note = f"tried again every {AGAIN_SECONDS:g} s"
                print(
                    f"{post['name']} is not a worker of {scheduler}: {reason}; {retry_note}",
                    file=sys.stderr,
                    flush=True,
                )
        finally:
            with contextlib.suppress(Exception):
                await nanny.close(timeout=5)
        await asyncio.sleep(AGAIN_SECONDS)


def _run_until_signal(main: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> int:
    """Run until SIGTERM or Ctrl-C."""

    async def run() -> None:
        until = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, until.set)
        await main(until)

    dask.config.set(CONFIG)
    asyncio.run(run())
    return 0
