"""A served site and a headless Chromium for the page tests."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.waiting import PATIENCE

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --force-color-profile=srgb"
).split()

expect.set_options(timeout=1000 * PATIENCE)


def chromium_path() -> str | None:
    """The headless shell opens a page in half the time of a whole Chromium, which makes a window for each."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@contextlib.contextmanager
def served(*options: str) -> Iterator[str]:
    """The address of a server of its own process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", "from app.cli import main; main()", "serve", "--port", str(port), *options]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(address + "/readyz", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError("the server did not start")
        yield address
    finally:
        server.terminate()
        server.wait(30)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only the tests of this folder: one that failed is run once more, and reported; one that fails twice failed."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium-headless-shell, or run make test as root")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


Open = Callable[..., Page]
EXPECTED = (
    "404",
    "422",
    "willReadFrequently",
)  # refusals that tests ask for; the tests themselves read the canvas back


def complaining(page: Page, complaints: list[str]) -> None:
    """Note what a page writes to the console as an error or a warning."""
    page.on(
        "console",
        lambda m: (
            complaints.append(m.text)
            if m.type in ("error", "warning") and not any(e in m.text for e in EXPECTED)
            else None
        ),
    )
    page.on("pageerror", lambda e: complaints.append(str(e)))


@pytest.fixture
def open_page(site: str, browser: Browser) -> Iterator[Open]:
    """Open a path; the test fails at its end if the page wrote an error to the console or a request failed."""
    complaints: list[str] = []
    contexts = []

    def open_(
        path: str, width: int = 1440, height: int = 1000, scheme: str = "light", scripts: bool = True, wait: bool = True
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
            java_script_enabled=scripts,
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        page = context.new_page()
        complaining(page, complaints)
        page.goto(site + path)
        if scripts and wait and page.locator("#stage").count():
            page.wait_for_selector("html[data-zoom=ready]", timeout=1000 * PATIENCE)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
