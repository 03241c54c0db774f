"""Requests that mean harm, one at a time against a real server: how long each takes, how long /healthz waits meanwhile,
and the memory kept.

Loopback only, a request each. Part of `make load`; tests/test_limits.py holds what it can of this without a clock.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanescope.app.kit.examples import BODIES
from tests.hostile import generate_requests
from tests.served import run_server, send_request


@dataclass
class HostileResult:
    name: str
    status: int
    seconds: float
    megabytes: float  # of the answer
    health_ms: float  # the longest wait of /healthz meanwhile
    rss_mb: float  # of the server afterwards


def measure_rss_mb(pid: int) -> float:
    """Resident megabytes of a process and its children."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            facts = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            if int(facts["Pid"]) == pid or int(facts["PPid"]) == pid:
                total += int(facts.get("VmRSS", "0 kB").split()[0])
    return total / 1024


def measure_request(port: int, pid: int, name: str, method: str, path: str, body: Any) -> HostileResult:
    waits: list[float] = []
    done = threading.Event()

    def watch() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not done.is_set():
            begun = time.perf_counter()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            waits.append(time.perf_counter() - begun)
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    time.sleep(0.01)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    begun = time.perf_counter()
    try:
        status, answer = send_request(
            port, method, path, raw, {"Content-Type": "application/json", "Accept-Encoding": "br"}
        )
    except OSError:
        status, answer = 0, b""
    taken = time.perf_counter() - begun
    done.set()
    watcher.join()
    return HostileResult(name, status, taken, len(answer) / 1e6, max(waits) * 1000, measure_rss_mb(pid))


TRIES = 4


def main() -> list[HostileResult]:
    """Every request once; one that /healthz waited for longer than 100 ms again, on a server that keeps nothing, and
    the least wait counts: on a machine with other work a wait proves nothing until it comes again."""
    worst: list[HostileResult] = []
    with run_server() as (server, port), run_server("--cache-bytes", "0") as (other, again):
        print(f"{'request':60} status  seconds  answer MB  healthz ms  RSS MB")
        for name, method, path, body in generate_requests(
            json.loads(send_request(port, "GET", "/openapi.json")[1]), BODIES
        ):
            seen = measure_request(port, server.pid, name, method, path, body)
            for _ in range(TRIES - 1):
                if seen.health_ms > 100:
                    seen.health_ms = min(
                        seen.health_ms, measure_request(again, other.pid, name, method, path, body).health_ms
                    )
            worst.append(seen)
            print(
                f"{seen.name:60} {seen.status:6} {seen.seconds:8.2f} {seen.megabytes:10.2f} {seen.health_ms:11.0f}"
                f" {seen.rss_mb:7.0f}",
                flush=True,
            )
    print(
        f"{len(worst)} requests; slowest {max(s.seconds for s in worst):.2f} s, longest /healthz "
        f"{max(s.health_ms for s in worst):.0f} ms, "
        f"memory {max(s.rss_mb for s in worst):.0f} MB; {os.cpu_count()} cores"
    )
    return worst


if __name__ == "__main__":
    main()
