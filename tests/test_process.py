"""A server as a process: it ends when told to, with what it was at finished, alone or as several workers."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cases import for_each
from tests.command import run_lanescope
from tests.served import run_server, send_request

pytestmark = pytest.mark.waits
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
BODY = json.dumps({"access": "ldmatrix.x4", "address": [128 * lane for lane in range(32)]}).encode()


def list_children(pid: int) -> set[int]:
    """Processes below a process, at any depth."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
    out: set[int] = set()
    waiting = [pid]
    while waiting:
        waiting += (more := parents.get(waiting.pop(), []))
        out |= set(more)
    return out


def has_ended(pids: set[int]) -> bool:
    """Whether all have ended; Python's own helper process needs a moment after its parent."""
    until = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def send_half(port: int) -> socket.socket:
    """A POST whose second half is still to come, known to be in the server."""
    sent = socket.create_connection(("127.0.0.1", port), timeout=30)
    head = (
        "POST /api/v1/banks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length:"
        f" {len(BODY)}\r\nExpect: 100-continue\r\n\r\n"
    )
    sent.sendall(head.encode())
    assert b"100" in sent.recv(100)  # the route waits for the body
    sent.sendall(BODY[:50])
    return sent


def test_a_server_ends_with_what_it_was_at_finished_and_its_workers_gone() -> None:
    with run_server("--log-format", "json", log=subprocess.PIPE) as (process, port):
        run = {"kind": "mma", "instruction": M16, "backend": "numpy"}
        assert send_request(port, "POST", "/api/v1/gpu/runs", json.dumps(run).encode())[0] == 200
        below = list_children(process.pid)
        assert below  # the simulation's worker
        sent = send_half(port)
        process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:  # it listens no more, and still waits for the request
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                break
        assert process.poll() is None
        sent.sendall(BODY[50:])
        answer = b""
        while part := sent.recv(65536):
            answer += part
        sent.close()
        assert answer.startswith(b"HTTP/1.1 200") and b'"ways":8' in answer.replace(b" ", b"")
        _, log = process.communicate(timeout=30)
        assert process.returncode == 0
        assert has_ended(below)
        assert all("message" in json.loads(line) for line in log.decode().splitlines())


def test_a_signal_before_it_serves_ends_it() -> None:
    """A server that is told to end while it starts used to stay."""
    program = (
        "import os, signal, time, uvicorn\n"
        "uvicorn.run = lambda *_, **__: (signal.raise_signal(signal.SIGTERM), time.sleep(1), os._exit(5))\n"
        "from lanescope.app.cli import main; main()"
    )
    assert subprocess.run([sys.executable, "-c", program, "serve"], timeout=50, check=False).returncode == 0


@for_each(("option", "value"), [("--workers", "0"), ("--trusted-proxies", "nobody"), ("--seconds", "never")])
def test_a_wrong_setting_ends_the_command_before_it_serves(option: str, value: str) -> None:
    refusal = run_lanescope("serve", option, value)
    assert refusal.returncode == 2 and option[2:].replace("-", "_") in refusal.stderr
