"""A worker with a fake device, spoken to by tests: the request's "do" says how to behave. Usage: fake_worker.py
[start mode]
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def list_variants() -> tuple[str, ...]:
    """Those of sm_90a, in the order in which pieces count them; tests/test_fleet.py writes them."""
    with open(os.environ["LANESCOPE_FAKE_VARIANTS"], encoding="utf-8") as file:  # noqa: PTH123 (a start without pathlib)
        return tuple(json.load(file))


def verify_piece(piece: dict[str, Any], device: dict[str, str]) -> dict[str, Any]:
    """A piece of a verification in which everything agrees, but for one chain of a card that is called faulty."""
    time.sleep(0.01)
    ran = piece["count"] or 1
    good = ran - (device["name"] == "faulty" and piece["part"] == "chains" and not piece["first"])
    rows: dict[str, Any] = {"all": {"ran": ran, "agreed": good}}
    if not piece["part"]:
        rows = {key: {"mma": "agrees"} for key in list_variants()[piece["first"] : piece["first"] + piece["count"]]}
    return {"kind": "verify", "device": device, "found": rows, "seconds": 0.05}


def main() -> None:
    start = sys.argv[1] if len(sys.argv) > 1 else "ready"
    if start == "silent":
        time.sleep(60)
    if start == "dies":
        sys.exit(3)
    device = {
        "name": sys.argv[2] if len(sys.argv) > 2 else "fake",
        "compute_capability": "9.0",
        "driver": "1",
        "cuda": "13.0",
        "nvrtc": "13.0",
    }
    ready = {"ready": True, "devices": [device]}
    agrees = {
        "kind": "mma",
        "backend": "cuda",
        "simulation": False,
        "device": device,
        "predicted": [[0.0]],
        "measured": [[0.0]],
        "mismatches": [],
        "copies_that_differ": 0,
        "compared": 1,
        "agrees": True,
        "source": str(os.getpid()),
        "duration_ms": 50.0,
    }
    print(json.dumps(ready if start == "ready" else {"ready": False, "reason": "no driver"}), flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        number, do = message["id"], message["request"].get("seed", 0)
        if message["request"]["kind"] == "verify":
            print(json.dumps({"id": number, "result": verify_piece(message["request"], device)}), flush=True)
            continue
        match do:
            case 1:
                time.sleep(60)
            case 2:
                os.abort()
            case 3:
                sys.exit(7)
            case 4:
                print("this is not JSON", flush=True)
            case 5:
                print(json.dumps({"id": number + 1, "result": {}}), flush=True)
            case 6:
                error = {"code": "run_failed", "message": "illegal address", "hint": "", "field": ""}
                print(json.dumps({"id": number, "error": error, "fatal": True}), flush=True)
                os._exit(1)
            case 7:
                print("[1, 2]", flush=True)
            case 8:
                sys.stdout.write("x" * 100)
                sys.stdout.flush()
                time.sleep(60)
            case 9:
                print(json.dumps({"id": number, "result": {"agrees": True, "kind": "mma"}}), flush=True)
            case _:
                time.sleep(1.5 if do == 10 else 0.05)
                print(json.dumps({"id": number, "result": agrees | {"request": message["request"]}}), flush=True)


if __name__ == "__main__":
    main()
