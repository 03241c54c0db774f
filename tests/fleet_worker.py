"""Workers of a fleet whose devices are only said to be there: `python -m tests.fleet_worker SCHEDULER NAME
CAPABILITY,… [PROGRAM]`. Jobs go to tests/fake_worker.py, and a run's seed says how that behaves.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lanescope.app.hardware.connection import TlsFiles
from lanescope.app.hardware.device_targets import get_compile_target
from lanescope.app.hardware.fleet_processes import serve_workers

FAKE = [sys.executable, str(Path(__file__).with_name("fake_worker.py"))]


def describe_device(capability: str) -> dict[str, str]:
    """What a stand-in says of itself."""
    told = {"name": f"stand-in {capability}", "compute_capability": capability, "driver": "1", "cuda": "13.0"}
    return told | {"nvrtc": "13.0", "target": get_compile_target(told)}


def main() -> int:
    scheduler, name, capabilities, *rest = sys.argv[1:]
    devices = [(n, describe_device(capability)) for n, capability in enumerate(capabilities.split(","))]
    program = rest[0] if rest else ""
    kind = "faulty" if name == "faulty" else "stand-in"
    return serve_workers(
        scheduler, name, devices, host="127.0.0.1", tls=TlsFiles(), program=program, argv=[*FAKE, "ready", kind]
    )


if __name__ == "__main__":
    raise SystemExit(main())
