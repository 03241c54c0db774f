"""The hardware of this server: the worker pool, and the known devices."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.app.hardware.connection import TlsFiles
from lanescope.app.hardware.device_targets import format_architecture
from lanescope.app.hardware.fleet import Fleet
from lanescope.app.hardware.pool import WorkerPool
from lanescope.app.kit.fact import copy_fact
from lanescope.app.kit.run_results import Device
from lanescope.app.kit.settings import Settings
from lanescope.app.runs.facts import (
    DeviceList,
    FleetStatus,
    GpuStatus,
    Recent,
    RunAnswer,
    build_fleet_status,
    parse_answer,
)
from lanescope.errors import LayoutError

NO_CUPY = "CuPy is not installed. pip install 'lanescope[gpu]' on a machine with an NVIDIA GPU."
KNOWN_SECONDS = 60.0


def make_no_devices(reason: str) -> DeviceList:
    """Return a report without devices, with the reason."""
    return DeviceList(available=False, reason=reason, devices=[])


@dataclass(frozen=True)
class DeviceReport:
    """The devices that a worker reported, and when. If there were none, it is stale after a minute."""

    devices: DeviceList
    at: float

    @property
    def stale(self) -> bool:
        return bool(self.devices.reason) and time.monotonic() - self.at > KNOWN_SECONDS


class ServerHardware:
    """The worker pool, the fleet if there is one, and the known devices. One per server, in app.state."""

    def __init__(self, pool: WorkerPool | None = None, why_not: str | None = None, fleet: Fleet | None = None) -> None:
        """Take the pool and the fleet. why_not: why this machine has no workers; None checks whether CuPy is
        installed.
        """
        self.pool = pool or WorkerPool()
        self.why_not = ("" if importlib.util.find_spec("cupy") else NO_CUPY) if why_not is None else why_not
        self.fleet = fleet
        if fleet:
            fleet.ledger = self.pool.ledger
        self._hello: DeviceReport | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> ServerHardware:
        """Return the hardware of this machine, and the fleet of LANESCOPE_SCHEDULER."""
        tls = TlsFiles(settings.tls_ca, settings.tls_cert, settings.tls_key)
        return cls(fleet=Fleet(settings.scheduler, tls) if settings.scheduler else None)

    @property
    def reason(self) -> str:
        """Return why no GPU can run jobs, as far as is known without starting a worker; "" if none is known."""
        reason = self.why_not or (self._hello.devices.reason if self._hello else "")
        return "" if self.fleet else reason

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """Return the number of runs by kind and outcome."""
        return self.pool.ledger.counts

    @property
    def waiting(self) -> int:
        """Return the number of waiting runs, here and for the fleet."""
        return self.pool.waiting + (self.fleet.waiting if self.fleet else 0)

    @property
    def restarts(self) -> int:
        """Return the number of workers killed or lost."""
        return self.pool.restarts + (self.fleet.retries if self.fleet else 0)

    def close(self) -> None:
        """End every worker and the connection to the fleet."""
        self.pool.close()
        if self.fleet:
            self.fleet.close()

    async def list_devices(self) -> DeviceList:
        """Return the devices that a worker of this machine reports, or why there is none."""
        if self.why_not:
            return make_no_devices(self.why_not)
        if self._hello is None or self._hello.stale:
            self._hello = DeviceReport(await self._request_devices(), time.monotonic())
        return self._hello.devices

    async def _request_devices(self) -> DeviceList:
        try:
            answer = await asyncio.wrap_future(self.pool.submit({"kind": "hello"}))
        except LayoutError as error:
            return make_no_devices(error.message)
        return DeviceList(available=True, reason="", devices=[Device(**device) for device in answer["devices"]])

    async def get_fleet_status(self) -> FleetStatus | None:
        """Return the current status of the fleet, None without one."""
        if not self.fleet:
            return None
        try:
            known = await asyncio.wrap_future(self.fleet.members())
            return build_fleet_status(self.fleet.address, known)
        except LayoutError as error:
            return build_fleet_status(self.fleet.address, (), error.message)

    async def execute_run(self, request: dict[str, Any]) -> RunAnswer:
        """Execute a request that `runs.parse_run` returned; LayoutError with the reason if it cannot run here."""
        answer = (
            await asyncio.wrap_future(self.pool.submit(request))
            if request["backend"] == "numpy"
            else (await self._run_on_device(request))
        )
        return await asyncio.to_thread(parse_answer, answer)

    async def _run_on_device(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run on the fleet; without one, or if its scheduler is away, on this machine's device."""
        if self.fleet:
            try:
                return await asyncio.wrap_future(self.fleet.submit(request))
            except LayoutError as error:
                if error.code != "no_scheduler" or "worker" in request or (await self.list_devices()).reason:
                    raise
        devices = await self.list_devices()
        if devices.reason:
            raise LayoutError(
                "no_device",
                devices.reason,
                "backend numpy simulates the run; /gpu shows the evidence of other devices.",
            )
        check_device(devices.devices, request)
        return await asyncio.wrap_future(self.pool.submit(request))


def check_device(devices: Sequence[Device], request: dict[str, Any]) -> None:
    """Raise LayoutError if a request names a device that this machine does not have."""
    if "worker" in request:
        raise LayoutError(
            "no_worker",
            f"There is no worker '{request['worker']}': this server does not use a fleet.",
            "LANESCOPE_SCHEDULER names one.",
            "worker",
        )
    found = devices[min(request["device"], len(devices) - 1)]
    have = format_architecture({"compute_capability": found.compute_capability})
    if request.get("architecture", have) != have:
        raise LayoutError(
            "no_worker",
            f"This server has no {request['architecture']}.",
            f"There is: {found.name} ({have}).",
            "architecture",
        )


def get_hardware(request: Any) -> ServerHardware:
    """Return this server's hardware."""
    found: ServerHardware = request.app.state.hardware
    return found


async def build_status(request: Any) -> GpuStatus:
    """GET /gpu: the devices, or why there is none; the queue and recent runs; the fleet, where there is one."""
    hardware = get_hardware(request)
    fleet = await hardware.get_fleet_status()
    found = await hardware.list_devices() if fleet is None else _build_devices(fleet)
    recent = [Recent(**run) for run in hardware.pool.ledger.recent]
    return copy_fact(GpuStatus, found, queue=hardware.waiting, recent=recent, fleet=fleet)


def _build_devices(fleet: FleetStatus) -> DeviceList:
    """Return the fleet's devices that get runs."""
    ready = [worker.device for worker in fleet.workers if worker.ready and worker.device]
    reason = "" if ready else fleet.reason or "No worker of the fleet is ready."
    return DeviceList(available=bool(ready), reason=reason, devices=ready)
