"""Three walks through the house, traced: in which order its files are entered. `python -m tests.walks` prints them as
JSON, from a fresh process.
"""

from __future__ import annotations

import json
import sys
import threading
from types import FrameType
from typing import Any

from lanescope.app.hardware import runs
from lanescope.app.hardware.reference import Reference
from lanescope.app.main import create_app
from tests import asgi
from tests.asgi import ask
from tests.house import ROOT

MMA = "mma.m16n8k16.row.col.f32.f16.f16.f32"
VERIFY = {
    "descriptor": "0x4000004004000101",
    "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
    "storage": {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": 4096},
    "slice": {"mn": 0, "k": 16},
}
RUN = {"kind": "mma", "instruction": MMA, "backend": "numpy"}


class Entered:
    """The files of the house in the order in which they were first entered, in this thread and those it starts."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith((f"{ROOT}/app/", f"{ROOT}/layouts/")):
            self.files.setdefault(name.removeprefix(f"{ROOT}/"))

    def __enter__(self) -> Entered:
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def asked(method: str, address: str, body: Any = b"") -> list[str]:
    """The files that one request of a new server enters."""
    app = create_app()
    asgi.run(ask(app, "GET", "/healthz"))  # the middleware is built by the first request
    with Entered() as entered:
        answer = asgi.run(ask(app, method, address, body))
    app.state.work.close()
    app.state.hardware.pool.close()
    assert answer.status == 200, answer.body
    return list(entered.files)


def executed() -> list[str]:
    """The files that the worker of a run enters, with the NumPy reference as its device."""
    with Entered() as entered:
        assert runs.run(Reference(), runs.check(RUN))["agrees"]
    return list(entered.files)


if __name__ == "__main__":
    told = {
        "grid": asked("GET", f"/i/{MMA}"),
        "diagnosis": asked("POST", "/api/v1/descriptors/verify", VERIFY),
        "run": asked("POST", "/api/v1/gpu/runs", RUN),
        "worker": executed(),
    }
    print(json.dumps(told))
