"""Figures that need processes: the command line, the server's start, and pages in headless Chromium. Part of `make
bench`.
"""

from __future__ import annotations

import http.client
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS, chromium_path

WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
COMMAND = [sys.executable, "-c", "from app.cli import main; main()"]


def seconds(command: list[str], runs: int = 7) -> float:
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
    print(f"lanescope --help             {seconds([*COMMAND, '--help']) * 1000:7.0f} ms   (promised: under 300)")
    print(
        f"lanescope show … --at        {seconds([*COMMAND, 'show', WIDE, 'd', '--at', '3,2']) * 1000:7.0f} ms  "
        " (promised: under 300)"
    )
    print(f"python -c pass               {seconds([sys.executable, '-c', 'pass']) * 1000:7.0f} ms   (for comparison)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    began = time.perf_counter()
    server = subprocess.Popen(
        [*COMMAND, "serve", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)
        print(f"server ready                 {(time.perf_counter() - began) * 1000:7.0f} ms   (promised: under 1500)")
        requests(port)
        pages(f"http://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait(10)
    hanging()


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


def frames(page: Page, kind: str, count: int = 180) -> tuple[float, float]:
    """Median and 95th percentile of the milliseconds between frames while a wheel zooms or a pointer passes."""
    taken = sorted(page.evaluate(FRAMES, [kind, count]))
    return statistics.median(taken), taken[int(len(taken) * 0.95)]


def hanging() -> None:
    """p99 of another route before and while a GPU job hangs: a real server in front of a fake device."""
    import threading

    import uvicorn

    from app.gpu.pool import Pool
    from app.main import create_app
    from app.runs.hardware import Hardware

    pool = Pool(lambda device: [sys.executable, "tests/fake_worker.py"], job_seconds=20.0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(Hardware(pool, why_not="")), port=port, log_level="error"))
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
    while not pool.lane(0).asked:
        time.sleep(0.02)
    during = p99()
    pool.close()
    server.should_exit = True
    thread.join()
    print(f"p99 of a route               {before:7.2f} ms before, {during:.2f} ms while a GPU job hangs")


def requests(port: int) -> None:
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
        print(
            f"GET {name:24} {statistics.median(taken) * 1000:7.2f} ms   (promised: under {promised}); {size} bytes on"
            " the wire"
        )


def pages(site: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        painted = []
        for _ in range(6):
            page.goto(f"{site}/i/{WIDE}")
            page.wait_for_selector("html[data-zoom=ready]")
            painted.append(float(page.get_attribute("html", "data-painted") or 0))
        print(f"m64n256 painted, first visit {painted[0]:7.0f} ms   (promised: under 1500)")
        print(f"m64n256 painted, warm        {statistics.median(painted[1:]):7.0f} ms   (promised: under 500)")
        box = page.locator("#stage canvas.base").bounding_box()
        assert box
        lights = []
        for step in range(40):
            page.mouse.move(box["x"] + 200 + 15 * step, box["y"] + box["height"] * 0.6 + step)
            lights.append(float(page.get_attribute("#stage", "data-light-ms") or 0))
        print(
            f"hover lights its cells       {statistics.median(lights):7.2f} ms   (promised: under 16; worst"
            f" {max(lights):.2f})"
        )
        print(
            f"DOM nodes                    {page.evaluate('document.querySelectorAll(`*`).length'):7d}      (promised:"
            " under 3000)"
        )
        for view in ("", "?view=all"):
            page.goto(f"{site}/i/{WIDE}{view}")
            page.wait_for_selector("html[data-zoom=ready]")
            for kind in ("wheel", "hover"):
                median, worst = frames(page, kind)
                where = "all of it" if view else "warp 0"
                print(f"frames, {kind + ', ' + where:20} {median:7.1f} ms   (promised: 17; p95 34, seen {worst:.1f})")
        page.goto(f"{site}/smem?mn=256&k=128")
        drawn = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        print(f"tile 256×128 drawn           {drawn:7.0f} ms   (promised: under 500)")
        browser.close()


if __name__ == "__main__":
    main()
