"""What this server has to run on: the pool of workers and what is known of the devices. No framework."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.app.hardware.contact import Tls
from lanescope.app.hardware.device import architecture
from lanescope.app.hardware.fleet import Fleet
from lanescope.app.hardware.pool import Pool
from lanescope.app.kit.ran import Device
from lanescope.app.kit.settings import Settings
from lanescope.app.runs.facts import Devices, FleetStatus, GpuStatus, Recent, RunAnswer, answer, fleet_of
from lanescope.errors import LayoutError

NO_CUPY = "CuPy is not installed. pip install 'lanescope[gpu]' on a machine with an NVIDIA GPU."
KNOWN_SECONDS = 60.0


def without_cupy() -> str:
    """Why no worker could run CUDA here, "" where CuPy is installed; looked up, not imported."""
    return "" if importlib.util.find_spec("cupy") else NO_CUPY


def none_because(reason: str) -> Devices:
    """No device, and why."""
    return Devices(available=False, reason=reason, devices=[])


@dataclass(frozen=True)
class Told:
    """The devices that a worker named, and when. If there was none, ask again after a minute."""

    devices: Devices
    at: float

    @property
    def stale(self) -> bool:
        return bool(self.devices.reason) and time.monotonic() - self.at > KNOWN_SECONDS


class Hardware:
    """The pool of workers, the fleet if there is one, and what is known of the devices. One a server, in app.state."""

    def __init__(self, pool: Pool | None = None, why_not: str | None = None, fleet: Fleet | None = None) -> None:
        """why_not: why no worker of this machine is ever asked; None looks whether CuPy is there."""
        self.pool = pool or Pool()
        self.why_not = without_cupy() if why_not is None else why_not
        self.fleet = fleet
        if fleet:
            fleet.ledger = self.pool.ledger
        self._hello: Told | None = None

    @classmethod
    def of(cls, settings: Settings) -> Hardware:
        """This machine's, and the fleet of LANESCOPE_SCHEDULER."""
        tls = Tls(settings.tls_ca, settings.tls_cert, settings.tls_key)
        return cls(fleet=Fleet(settings.scheduler, tls) if settings.scheduler else None)

    @property
    def reason(self) -> str:
        """Why no run can go to a GPU as far as is known without asking one; "" where nothing speaks against it."""
        own = self.why_not or (self._hello.devices.reason if self._hello else "")
        return "" if self.fleet else own

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """Runs by kind and outcome."""
        return self.pool.ledger.counts

    @property
    def waiting(self) -> int:
        """Runs that wait, here and for the fleet."""
        return self.pool.waiting + (self.fleet.waiting if self.fleet else 0)

    @property
    def restarts(self) -> int:
        """Workers killed or lost."""
        return self.pool.restarts + (self.fleet.retries if self.fleet else 0)

    def close(self) -> None:
        """End every worker and the connection to the fleet."""
        self.pool.close()
        if self.fleet:
            self.fleet.close()

    async def hello(self) -> Devices:
        """Return the devices that a worker of this machine names, or why there is none."""
        if self.why_not:
            return none_because(self.why_not)
        if self._hello is None or self._hello.stale:
            self._hello = Told(await self._ask(), time.monotonic())
        return self._hello.devices

    async def _ask(self) -> Devices:
        try:
            told = await asyncio.wrap_future(self.pool.submit({"kind": "hello"}))
        except LayoutError as error:
            return none_because(error.message)
        return Devices(available=True, reason="", devices=[Device(**device) for device in told["devices"]])

    async def known(self) -> FleetStatus | None:
        """Return the fleet as it is now, None without one."""
        if not self.fleet:
            return None
        try:
            known = await asyncio.wrap_future(self.fleet.members())
            return fleet_of(self.fleet.address, known)
        except LayoutError as error:
            return fleet_of(self.fleet.address, (), error.message)

    async def run(self, request: dict[str, Any]) -> RunAnswer:
        """Have a request run that `runs.check` gave back; LayoutError says why it cannot run here."""
        told = (
            await asyncio.wrap_future(self.pool.submit(request))
            if request["backend"] == "numpy"
            else (await self._on_a_device(request))
        )
        return await asyncio.to_thread(answer, told)

    async def _on_a_device(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run on the fleet; without one, or if its scheduler is away, on this machine's device."""
        if self.fleet:
            try:
                return await asyncio.wrap_future(self.fleet.submit(request))
            except LayoutError as error:
                if error.code != "no_scheduler" or "worker" in request or (await self.hello()).reason:
                    raise
        own = await self.hello()
        if own.reason:
            raise LayoutError(
                "no_device", own.reason, "backend numpy simulates the run; /gpu shows what hardware said elsewhere."
            )
        here(own.devices, request)
        return await asyncio.wrap_future(self.pool.submit(request))


def here(devices: Sequence[Device], request: dict[str, Any]) -> None:
    """Refuse a request for another device than this machine has."""
    if "worker" in request:
        raise LayoutError(
            "no_worker",
            f"There is no worker '{request['worker']}': this server has no fleet.",
            "LANESCOPE_SCHEDULER names one.",
            "worker",
        )
    found = devices[min(request["device"], len(devices) - 1)]
    have = architecture({"compute_capability": found.compute_capability})
    if request.get("architecture", have) != have:
        raise LayoutError(
            "no_worker",
            f"This server has no {request['architecture']}.",
            f"There is: {found.name} ({have}).",
            "architecture",
        )


def hardware(request: Any) -> Hardware:
    """This server's hardware."""
    found: Hardware = request.app.state.hardware
    return found


async def status(request: Any) -> GpuStatus:
    """GET /gpu: the devices, or why there is none; the queue and recent runs; the fleet, where there is one."""
    own = hardware(request)
    fleet = await own.known()
    found = await own.hello() if fleet is None else _of(fleet)
    recent = [Recent(**run) for run in own.pool.ledger.recent]
    return GpuStatus(
        available=found.available,
        reason=found.reason,
        devices=found.devices,
        queue=own.waiting,
        recent=recent,
        fleet=fleet,
    )


def _of(fleet: FleetStatus) -> Devices:
    """The fleet's devices that are asked."""
    ready = [worker.device for worker in fleet.workers if worker.ready and worker.device]
    reason = "" if ready else fleet.reason or "No worker of the fleet is ready."
    return Devices(available=bool(ready), reason=reason, devices=ready)
