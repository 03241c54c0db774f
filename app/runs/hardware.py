"""What this server has to run on: the pool of workers and what is known of the devices. No framework."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from typing import Any

from app.gpu.pool import Pool
from layouts.errors import LayoutError

NO_CUPY = "CuPy is not installed. pip install 'lanescope[gpu]' on a machine with an NVIDIA GPU."
KNOWN_SECONDS = 60.0


class Hardware:
    """The pool of workers and what is known of the devices. One a server, in app.state."""

    def __init__(self, pool: Pool | None = None, why_not: str | None = None) -> None:
        """why_not: why no worker is ever asked; None looks whether CuPy is there, without importing it into
        the server.
        """
        self.pool = pool or Pool()
        self.why_not = why_not if why_not is not None else "" if importlib.util.find_spec("cupy") else NO_CUPY
        self._hello: tuple[float, dict[str, Any]] | None = None

    @property
    def reason(self) -> str:
        """Why no run can go to a GPU as far as is known without asking one; "" where nothing speaks against it."""
        return self.why_not or ("" if self._hello is None else self._hello[1]["reason"])

    async def hello(self) -> dict[str, Any]:
        """{"available", "reason", "devices"}; a worker that has no device is asked once a minute at the most."""
        if self.why_not:
            return {"available": False, "reason": self.why_not, "devices": []}
        if self._hello is None or (self._hello[1]["reason"] and time.monotonic() - self._hello[0] > KNOWN_SECONDS):
            try:
                told = await asyncio.wrap_future(self.pool.submit({"kind": "hello"}))
                answer = {"available": True, "reason": "", "devices": told["devices"]}
            except LayoutError as error:
                answer = {"available": False, "reason": error.message, "devices": []}
            self._hello = (time.monotonic(), answer)
        return self._hello[1]

    async def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Have a request run that `runs.check` gave back; LayoutError says why it cannot run here."""
        if request["backend"] == "cuda" and (reason := (await self.hello())["reason"]):
            raise LayoutError(
                "no_device", reason, "backend numpy simulates the run; /gpu shows what hardware said elsewhere."
            )
        return await asyncio.wrap_future(self.pool.submit(request))


def hardware(request: Any) -> Hardware:
    """This server's hardware."""
    found: Hardware = request.app.state.hardware
    return found


async def status(request: Any) -> dict[str, Any]:
    """GET /gpu: the devices, or why there is none; the queue and recent runs."""
    known = hardware(request)
    return await known.hello() | {"queue": known.pool.waiting, "recent": list(known.pool.recent)}
