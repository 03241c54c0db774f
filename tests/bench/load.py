"""One server process under load, on this machine's loopback alone, bounded in count and time: `make load`.

Writes the section "Under load" of docs/benchmarks.md. The client is a few lines of asyncio instead of a tool: it needs
no installation, says exactly when it began and ended each request, and costs the server's machine little more than the
bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import http.client
import os
import platform
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvloop

from tests.bench import hostile
from tests.bench.hostile import measure_rss_mb
from tests.served import run_server

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
HEADING = "## Under load"
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
OPERAND = f"/api/v1/instructions/{M16}/operands/a"
CONNECTIONS, WARM, SECONDS = 50, 30_000, 60.0


def _build_request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: br\r\n\r\n".encode()


@dataclass
class Flood:
    """Requests over kept connections, each sent when the one before it is answered."""

    paths: list[bytes]
    left: int
    taken: list[float] = field(default_factory=list)
    wrong: int = 0

    def next(self) -> bytes | None:
        if self.left <= 0:
            return None
        self.left -= 1
        return self.paths[self.left % len(self.paths)]


class Client(asyncio.Protocol):
    """One connection. An answer's end is known from its content-length."""

    def __init__(self, flood: Flood) -> None:
        self.flood, self.done = flood, asyncio.get_running_loop().create_future()
        self.held, self.whole = b"", 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        raw = self.flood.next()
        if raw is None:
            self.transport.close()
            return
        self.begun = time.perf_counter()
        self.transport.write(raw)

    def data_received(self, data: bytes) -> None:
        self.held += data
        if not self.whole:
            head, end, _ = self.held.partition(b"\r\n\r\n")
            if not end:
                return
            length = head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]
            self.whole = len(head) + 4 + int(length)
            self.flood.wrong += not head.startswith(b"HTTP/1.1 200")
        if len(self.held) >= self.whole:
            self.flood.taken.append(time.perf_counter() - self.begun)
            self.held, self.whole = b"", 0
            self.send()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


@dataclass
class FloodResult:
    """What a flood saw: requests a second, and the waits of 50 and 99 of 100 requests in ms."""

    rate: float
    p50: float
    p99: float
    wrong: int


async def run_flood(port: int, paths: list[str], count: int, connections: int = CONNECTIONS) -> FloodResult:
    shared = Flood([_build_request(path) for path in paths], count)
    loop = asyncio.get_running_loop()
    begun = time.perf_counter()
    made = [await loop.create_connection(lambda: Client(shared), "127.0.0.1", port) for _ in range(connections)]
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*(client.done for _, client in made)), SECONDS)
    seconds = time.perf_counter() - begun
    taken = sorted(shared.taken)
    at = lambda part: taken[int(part * (len(taken) - 1))] * 1000  # noqa: E731
    return FloodResult(len(taken) / seconds, at(0.5), at(0.99), shared.wrong + count - len(taken))


@contextlib.asynccontextmanager
async def open_crowd(port: int, idle: int, slow: int):  # type: ignore[no-untyped-def]
    """Connections that send nothing, and clients that send a body a byte at a time and read as slowly."""
    writers = []
    for _ in range(idle + slow):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
    head = b"POST /api/v1/banks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"

    async def trickle(writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            writer.write(head)
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.1)

    tasks = [asyncio.create_task(trickle(writer)) for writer in writers[idle:]]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for writer in writers:
            writer.close()


def list_addresses(port: int) -> list[str]:
    """Addresses of every instruction's answers: cold ones to fill the cache with."""
    import json

    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/api/v1/instructions")
    found = json.loads(connection.getresponse().read())["instructions"]
    connection.close()
    return [
        f"/api/v1/instructions/{row['ptx']}{part}" for row in found for part in ("", f"/operands/{row['operands'][0]}")
    ]


async def measure_load() -> list[str]:
    rows = ["| figure | seen | wanted |", "|---|---:|---:|"]

    def row(what: str, seen: str, wanted: str = "") -> None:
        rows.append(f"| {what} | {seen} | {wanted} |")
        print(f"{what:90} {seen:34} {wanted}", flush=True)

    with run_server() as (server, port):
        await run_flood(port, [OPERAND], 2000)
        told = max([await run_flood(port, [OPERAND], WARM) for _ in range(3)], key=lambda seen: seen.rate)
        row(
            f"warm operand JSON, {CONNECTIONS} connections, best of 3",
            f"{told.rate:.0f} requests/s, p99 {told.p99:.0f} ms",
            "3,000 requests/s, p99 < 30 ms",
        )
        home = await run_flood(port, ["/"], 10_000)
        row(
            f"home page, {CONNECTIONS} connections",
            f"{home.rate:.0f} requests/s, p99 {home.p99:.0f} ms",
            "1,000 requests/s",
        )
        page = await run_flood(port, [f"/i/{M16}"], 10_000)
        row(f"warm instruction page, {CONNECTIONS} connections", f"{page.rate:.0f} requests/s, p99 {page.p99:.0f} ms")
        async with open_crowd(port, idle=1000, slow=50):
            crowded = await run_flood(port, [OPERAND], 10_000)
            row(
                "the same with 1,000 idle and 50 slow clients",
                f"{crowded.rate:.0f} requests/s, p99 {crowded.p99:.0f} ms, {crowded.wrong} failed",
                "0 failed",
            )
        cold = list_addresses(port)
        filling = await run_flood(port, cold, len(cold), 20)
        row(
            f"every instruction and an operand of each, {len(cold):,} cold addresses, 20 connections",
            f"{filling.rate:.0f} requests/s, p99 {filling.p99:.0f} ms, {filling.wrong} failed",
            "0 failed",
        )
        before, wrong = measure_rss_mb(server.pid), 0
        for _ in range(4):
            wrong += (await run_flood(port, [OPERAND, *cold[::50]], 25_000)).wrong
        row(
            "memory before and after 100,000 requests",
            f"{before:.0f} MB, {measure_rss_mb(server.pid):.0f} MB, {wrong} failed",
            "flat",
        )
    return rows


def main() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rows = runner.run(measure_load())
    told = hostile.main()
    rows.append(
        f"| {len(told):,} hostile requests, one at a time (tests/hostile.py): the slowest; the longest /healthz"
        f" waited meanwhile, least of up to 4 tries; memory with its workers | {max(s.seconds for s in told):.1f} s;"
        f" {max(s.health_ms for s in told):.0f} ms, over 100 ms {sum(s.health_ms > 100 for s in told)} times;"
        f" {max(s.rss_mb for s in told):.0f} MB | 5 s; 100 ms; 300 MB |"
    )
    load = os.getloadavg()[0]
    head = (
        f"Written by `make load` on {datetime.date.today().isoformat()}: one server process and the client on one"
        f" machine with {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}; load average at the"
        f" end {load:.1f}. Other programs ran on the machine where it is above 2: the figures are worse for it."
    )
    write_section([HEADING, "", head, "", *rows])


async def compare_processes() -> list[str]:
    """The same floods against one process and against two, in turns, so that other load meets both."""
    seen: dict[int, list[FloodResult]] = {1: [], 2: []}
    for _ in range(3):
        for count, rates in seen.items():
            with run_server("--workers", str(count)) as (_, port):
                await run_flood(port, [OPERAND, f"/i/{M16}"], 2000)
                rates.append(await run_flood(port, [OPERAND, f"/i/{M16}"], 10_000))
    rows = ["| processes | requests/s, best of 3 | p99 | failed |", "|---:|---:|---:|---:|"]
    for count, rates in seen.items():
        best = max(rates, key=lambda told: told.rate)
        rows.append(f"| {count} | {best.rate:.0f} | {best.p99:.0f} ms | {sum(told.wrong for told in rates)} |")
        print(rows[-1], flush=True)
    return rows


def measure_sizing() -> None:
    """`python -m tests.bench.load workers`: the section that docs/sizing.md rests on."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rows = runner.run(compare_processes())
    head = (
        f"Written by `python -m tests.bench.load workers` on {datetime.date.today().isoformat()}: half warm operand"
        f" JSON, half warm instruction pages, {CONNECTIONS} connections; servers and client share"
        f" {len(os.sched_getaffinity(0))} cores, so the client takes what the second process could; load average at the"
        f" end {os.getloadavg()[0]:.1f}."
    )
    write_section(["## One process and two", "", head, "", *rows], "## One process and two")


def write_section(section: list[str], heading: str = HEADING) -> None:
    """Replace a section in docs/benchmarks.md, or add it."""
    text = PAGE.read_text()
    before, found, rest = text.partition(heading + "\n")
    after = rest[rest.index("\n## ") + 1 :] if found and "\n## " in rest else ""
    PAGE.write_text(before.rstrip() + "\n\n" + "\n".join(section) + "\n" + (f"\n{after}" if after else ""))


def read_section() -> str:
    """This section and those behind it as they stand, for a program that rewrites the rest of the page."""
    _, found, rest = PAGE.read_text().partition(HEADING + "\n")
    return HEADING + "\n" + rest.rstrip() if found else ""


if __name__ == "__main__":
    measure_sizing() if sys.argv[1:] == ["workers"] else main()
