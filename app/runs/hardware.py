"""What this server has to run on: the pool of workers and what is known of the devices. No framework."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from dataclasses import dataclass
from typing import Any

from app.gpu.pool import Pool
from app.kit.ran import Device
from app.runs.facts import Devices, GpuStatus, Recent, RunAnswer, answer
from layouts.errors import LayoutError

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
    """What a worker said of its devices, and when; that there is none is asked again after a minute."""

    devices: Devices
    at: float

    @property
    def stale(self) -> bool:
        return bool(self.devices.reason) and time.monotonic() - self.at > KNOWN_SECONDS


class Hardware:
    """The pool of workers and what is known of the devices. One a server, in app.state."""

    def __init__(self, pool: Pool | None = None, why_not: str | None = None) -> None:
        """why_not: why no worker is ever asked; None looks whether CuPy is there."""
        self.pool = pool or Pool()
        self.why_not = without_cupy() if why_not is None else why_not
        self._hello: Told | None = None

    @property
    def reason(self) -> str:
        """Why no run can go to a GPU as far as is known without asking one; "" where nothing speaks against it."""
        return self.why_not or (self._hello.devices.reason if self._hello else "")

    async def hello(self) -> Devices:
        """The devices that a worker names, or why there is none."""
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

    async def run(self, request: dict[str, Any]) -> RunAnswer:
        """Have a request run that `runs.check` gave back; LayoutError says why it cannot run here."""
        if request["backend"] == "cuda" and (reason := (await self.hello()).reason):
            raise LayoutError(
                "no_device", reason, "backend numpy simulates the run; /gpu shows what hardware said elsewhere."
            )
        return await asyncio.to_thread(answer, await asyncio.wrap_future(self.pool.submit(request)))


def hardware(request: Any) -> Hardware:
    """This server's hardware."""
    found: Hardware = request.app.state.hardware
    return found


async def status(request: Any) -> GpuStatus:
    """GET /gpu: the devices, or why there is none; the queue and recent runs."""
    known = hardware(request)
    found = await known.hello()
    recent = [Recent(**run) for run in known.pool.recent]
    return GpuStatus(
        available=found.available, reason=found.reason, devices=found.devices, queue=known.pool.waiting, recent=recent
    )
