"""Connections of a fleet: a scheduler that says nothing, and certificates."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import shutil
import socket
import sys
from pathlib import Path

import pytest

from lanescope.app.hardware.connection import TlsFiles
from lanescope.app.hardware.fleet import Fleet
from tests.asgi import run_coroutine
from tests.cases import for_each
from tests.certificates import sign_certificate
from tests.fleet_worker import describe_device
from tests.test_fleet import FAKE, build_request, get_refusal, list_ready, wait_for_fleet

pytestmark = [
    pytest.mark.waits,
    pytest.mark.usefixtures("dask"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@for_each("given_up", [False, True])
def test_a_scheduler_that_accepts_and_says_nothing_leaves_nothing_behind(given_up: bool) -> None:
    """Whether the time is over or the fleet is closed before: no client that closes itself when it is collected."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        fleet = Fleet(f"tcp://127.0.0.1:{silent.getsockname()[1]}", connect_seconds=30 if given_up else 0.3)
        job = fleet.submit(build_request())
        if given_up:
            silent.accept()[0].close()  # it is connecting
        else:
            assert get_refusal(fleet, build_request()).code == "no_scheduler"
        fleet.close()
    assert job.done() and not fleet._thread
    del fleet
    gc.collect()


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificates")
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # Tornado leaves a handshake given up open
def test_tls_lets_in_who_has_a_certificate_and_nobody_else(tmp_path: Path) -> None:
    """The scheduler and the nanny run in this process; their worker is one of its own."""
    from lanescope.app.hardware import fleet_processes

    ca, _ = sign_certificate(tmp_path, "ca", "ca")
    tls = TlsFiles(ca, *sign_certificate(tmp_path, "own", "ca"))
    other, _ = sign_certificate(tmp_path, "other", "other")
    strangers = TlsFiles(other, *sign_certificate(tmp_path, "stranger", "other"))

    def ask(address: str) -> None:
        with contextlib.closing(Fleet(address, tls, connect_seconds=15)) as fleet:
            wait_for_fleet(fleet, lambda found: list_ready(found) == 1)
            assert fleet.submit(build_request()).result(60)["ran_by"]["worker"] == "a:0"
        plain = Fleet(address.replace("tls", "tcp"), connect_seconds=1)
        for stranger in (plain, Fleet(address, strangers, connect_seconds=1)):
            with contextlib.closing(stranger):
                assert get_refusal(stranger, build_request()).code == "no_scheduler"

    async def run_fleet() -> None:
        device, here = describe_device("9.0"), "127.0.0.1"
        post = fleet_processes._build_announcement("a", 0, device, "")
        scheduler = await fleet_processes.FleetScheduler(
            host=here, protocol="tls", security=tls.make_security(), dashboard=False, dashboard_address=f"{here}:0"
        )
        nanny = asyncio.ensure_future(
            fleet_processes._run_nanny(scheduler.address, post, here, tls, [sys.executable, FAKE], str(tmp_path))
        )
        try:
            await asyncio.to_thread(ask, scheduler.address)
        finally:
            nanny.cancel()
            await asyncio.wait({nanny})
            await scheduler.close()

    run_coroutine(run_fleet())
    gc.collect()
