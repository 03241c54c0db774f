"""Figures that need processes: the command line, the server's start, answers a second, and pages in headless Chromium.
Part of `make bench`; writes the section "Pages and commands" of docs/benchmarks.md.
"""

from __future__ import annotations

import asyncio
import datetime
import http.client
import os
import socket
import statistics
import subprocess
import sys
import time

from playwright.sync_api import Page, sync_playwright

from tests.bench import load
from tests.browser.conftest import FLAGS, find_chromium
from tests.served import COMMAND, run_server

WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
HEADING = "## Pages and commands"
# Warm pages at 50 connections and one worker: name, address, requests a second that were promised.
RATES = (
    ("home", "/", 1000),
    ("catalogue", "/instructions", None),
    ("an instruction", f"/i/{WIDE}", 2500),
    ("a descriptor", "/descriptor/wgmma/0x4000004000010100", 500),
    ("a tile", "/smem", None),
    ("bank conflicts", "/banks", None),
    ("a pasted word", "/read?text=0x4000004000010100", None),
)
rows: list[tuple[str, str, str]] = []


def record_figure(name: str, figure: str, promised: str = "") -> None:
    """Prints a figure and keeps it for the page."""
    rows.append((name, figure, promised))
    print(f"{name:44} {figure:>24}   {promised and f'(promised: {promised})'}")


def render_section() -> None:
    """The section of docs/benchmarks.md, from what was seen."""
    average, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    head = (
        f"Written by `make bench` on {datetime.date.today().isoformat()}, on a machine with {cores} cores, where other"
        f" programs left a load average of {average:.1f} at the end (above 2 they make the figures worse). Frames are"
        " those of headless Chromium, which draws without a graphics card."
    )
    lines = [HEADING, "", head, "", "| figure | seen | promised |", "|---|---:|---:|"]
    load.write_section([*lines, *(f"| {' | '.join(row)} |" for row in rows)], HEADING)


def measure_command(command: list[str], runs: int = 7) -> float:
    """Median of several runs, the first left out: it may compile the sources to bytecode, which this lets it keep."""
    taken = []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, capture_output=True, check=True, env=environment)
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True, env=environment)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main() -> None:
    record_figure("`lanescope --help`", f"{measure_command([*COMMAND, '--help']) * 1000:.0f} ms", "under 300 ms")
    shown = measure_command([*COMMAND, "show", WIDE, "d", "--at", "3,2"])
    record_figure("`lanescope show … --at`", f"{shown * 1000:.0f} ms", "under 300 ms")
    record_figure(
        "`python -c pass`, for comparison", f"{measure_command([sys.executable, '-c', 'pass']) * 1000:.0f} ms"
    )
    began = time.perf_counter()
    with run_server() as (_, port):
        record_figure("server ready", f"{(time.perf_counter() - began) * 1000:.0f} ms", "under 1500 ms")
        measure_requests(port)
        measure_rates(port)
        measure_painting(f"http://127.0.0.1:{port}")
    measure_hanging_job()
    render_section()


FRAMES = """([kind, count]) => new Promise((done) => {
  const slot = document.querySelector(".mat[data-panel=d] .slot"), box = slot.getBoundingClientRect(), taken = [];
  let last = performance.now(), n = 0;
  const at = (part) => ({ bubbles: true, cancelable: true, clientX: box.x + box.width * part, clientY: box.y + 60 });
  const step = () => {
    const now = performance.now();
    taken.push(now - last);
    last = now;
    if (n++ === count) return done(taken.slice(2));
    if (kind === "wheel") slot.dispatchEvent(new WheelEvent("wheel", { ...at(.4), deltaY: n % 40 < 20 ? -60 : 60 }));
    else slot.dispatchEvent(new PointerEvent("pointermove", at((n % 90) / 90)));
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def measure_frames(page: Page, kind: str, count: int = 180) -> tuple[float, float]:
    """Median and 95th percentile of the milliseconds between frames while a wheel zooms or a pointer passes."""
    taken = sorted(page.evaluate(FRAMES, [kind, count]))
    return statistics.median(taken), taken[int(len(taken) * 0.95)]


def measure_hanging_job() -> None:
    """p99 of another route before and while a GPU job hangs: a real server in front of a fake device."""
    import threading

    import uvicorn

    from lanescope.app.hardware.pool import WorkerPool
    from lanescope.app.main import create_app
    from lanescope.app.runs.hardware import ServerHardware

    pool = WorkerPool(lambda device: [sys.executable, "tests/fake_worker.py"], job_seconds=20.0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(ServerHardware(pool, why_not="")), port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def p99() -> float:
        taken = []
        for _ in range(1000):
            began = time.perf_counter()
            connection.request("GET", f"/api/v1/instructions/{WIDE}")
            connection.getresponse().read()
            taken.append(time.perf_counter() - began)
        return sorted(taken)[989] * 1000

    p99()
    before = p99()
    pool.submit({"kind": "mma", "backend": "cuda", "device": 0, "instruction": WIDE, "seed": 1})
    while not pool.get_queue(0).asked:
        time.sleep(0.02)
    during = p99()
    pool.close()
    server.should_exit = True
    thread.join()
    record_figure("p99 of a route, before and while a GPU job hangs", f"{before:.2f} ms, {during:.2f} ms")


def measure_requests(port: int) -> None:
    """p50 of warm API calls over one kept connection, as a client on this machine sees them."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for name, path, promised in (
        ("m64n256 operand d", f"/api/v1/instructions/{WIDE}/operands/d", 2),
        ("whole catalogue", "/api/v1/instructions", 30),
        ("one instruction", f"/api/v1/instructions/{WIDE}", 2),
    ):
        taken, size = [], 0
        for _ in range(300):
            began = time.perf_counter()
            connection.request("GET", path, headers={"Accept-Encoding": "br"})
            size = len(connection.getresponse().read())
            taken.append(time.perf_counter() - began)
        figure = f"{statistics.median(taken) * 1000:.2f} ms, {size:,} bytes"
        record_figure(f"API, warm: {name}", figure, f"under {promised} ms")


def measure_rates(port: int) -> None:
    """Answers a second of warm pages at 50 connections, the best of three floods of about a second."""
    for name, path, promised in RATES:
        asyncio.run(load.run_flood(port, [path], 50))
        best = max(asyncio.run(load.run_flood(port, [path], count)).rate for count in (300, 1000, 2000))
        record_figure(f"page, 50 connections: {name}", f"{best:,.0f} requests/s", f"{promised:,}" if promised else "")


def measure_transfer(page: Page, site: str) -> None:
    """Bytes that a first visit fetches, and the first paint of a later one."""
    for name, path in (("home", "/"), ("an instruction", f"/i/{WIDE}"), ("a descriptor", RATES[3][1])):
        context = page.context.browser.new_context(viewport=page.viewport_size)  # type: ignore[union-attr]
        fresh = context.new_page()
        wired = fresh.context.new_cdp_session(fresh)
        wired.send("Network.enable")
        sizes: list[float] = []
        wired.on("Network.loadingFinished", lambda told, sizes=sizes: sizes.append(told["encodedDataLength"]))
        paints = []
        for _ in range(6):
            fresh.goto(site + path, wait_until="networkidle")
            if not paints:
                record_figure(f"bytes of a first visit: {name}", f"{sum(sizes) / 1000:,.0f} kB", "under 150 kB")
            paints.append(fresh.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        record_figure(f"first paint, warm: {name}", f"{statistics.median(paints[1:]):.0f} ms")
        context.close()


def measure_tiled_mma(page: Page, site: str) -> None:
    """The bench of a 256×128×64 TiledMMA, of mma.sync and of wgmma."""
    for atom, layout in (("SM80_16x8x16_F32F16F16F32_TN", "(4,2,1)"), ("SM90_64x128x16_F32F16F16_SS", "(2,1,1)")):
        painted = []
        for _ in range(4):
            page.goto(f"{site}/tiles/mma?atom={atom}&atom_layout={layout}&tile=256x128x64")
            page.wait_for_selector("html[data-zoom=ready]")
            painted.append(float(page.get_attribute("html", "data-painted") or 0))
        name = f"TiledMMA 256×128×64, {atom.partition('_')[0]}"
        record_figure(f"{name}: painted, warm", f"{statistics.median(painted[1:]):.0f} ms", "under 500 ms")
        box = page.locator(".mat[data-panel=c] .slot").bounding_box()
        assert box
        lights = []
        for step in range(40):
            page.mouse.move(box["x"] + box["width"] * (step + 1) / 42, box["y"] + 4 * step)
            lights.append(float(page.get_attribute("#stage", "data-light-ms") or 0))
        figure = f"{statistics.median(lights):.2f} ms, worst {max(lights):.2f} ms"
        record_figure(f"{name}: a hover lights its thread", figure, "under 16 ms")


def measure_painting(site: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        measure_transfer(page, site)
        painted = []
        for _ in range(6):
            page.goto(f"{site}/i/{WIDE}")
            page.wait_for_selector("html[data-zoom=ready]")
            painted.append(float(page.get_attribute("html", "data-painted") or 0))
        record_figure("m64n256 painted, first visit", f"{painted[0]:.0f} ms", "under 1500 ms")
        record_figure("m64n256 painted, warm", f"{statistics.median(painted[1:]):.0f} ms", "under 500 ms")
        box = page.locator("#stage canvas.base").bounding_box()
        assert box
        lights = []
        for step in range(40):
            page.mouse.move(box["x"] + 200 + 15 * step, box["y"] + box["height"] * 0.6 + step)
            lights.append(float(page.get_attribute("#stage", "data-light-ms") or 0))
        figure = f"{statistics.median(lights):.2f} ms, worst {max(lights):.2f} ms"
        record_figure("m64n256: a hover lights its cells", figure, "under 16 ms")
        measure_tiled_mma(page, site)
        page.goto(f"{site}/i/{WIDE}")
        nodes = page.evaluate("document.querySelectorAll(`*`).length")
        record_figure("m64n256: DOM nodes", f"{nodes:,}", "under 3,000")
        for view in ("", "?view=all"):
            page.goto(f"{site}/i/{WIDE}{view}")
            page.wait_for_selector("html[data-zoom=ready]")
            for kind in ("wheel", "hover"):
                median, worst = measure_frames(page, kind)
                where = "all of it" if view else "warp 0"
                figure = f"{median:.1f} ms, p95 {worst:.1f} ms"
                record_figure(f"m64n256, frames while {kind}, {where}", figure, "17 ms, p95 34 ms")
        page.goto(f"{site}/smem?mn=256&k=128")
        drawn = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        record_figure("tile of 256×128 drawn", f"{drawn:.0f} ms", "under 500 ms")
        browser.close()


if __name__ == "__main__":
    main()
