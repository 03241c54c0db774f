"""A served site and a headless Chromium for the page tests."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Frame, Page, expect, sync_playwright

from tests.browser.waiting import PATIENCE
from tests.sample import FULL

# One process draws the pages of all contexts: one for each costs a tenth of the browser's time more.
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --force-color-profile=srgb "
    "--disable-site-isolation-trials --renderer-process-limit=1"
).split()
# For these tests alone, as it would change what tests/bench measures. A page takes the frame of the page before
# (RenderDocument would make one a page), and no script lives long enough for the optimizing compilers: it saves part of
# a page's time. This list of features takes the place of Playwright's own; its other names are what would ask the
# network or hold a picture back.
BRIEF = [
    "--in-process-gpu",
    "--num-raster-threads=1",
    "--js-flags=--no-maglev --no-opt",
    "--disable-features=RenderDocument,PaintHolding,HttpsUpgrades,OptimizationHints,Translate,MediaRouter,"
    "DestroyProfileOnBrowserClose,ThirdPartyStoragePartitioning,LazyFrameLoading,AutoExpandDetailsElement",
]

expect.set_options(timeout=1000 * PATIENCE)


def find_chromium() -> str | None:
    """The headless shell opens a page in half the time of a whole Chromium, which makes a window for each."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@contextlib.contextmanager
def serve_app(app: Any) -> Iterator[str]:
    """The address of an application that a thread of this process serves: what the tests' client asked for is at hand.

    A connection waits in the socket's queue until the server takes it.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", proxy_headers=False, log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="site", daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = server.force_exit = True
        thread.join(PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only the tests of this folder: one that failed is run once more, and reported; one that fails twice failed."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def site(app: Any) -> Iterator[str]:
    with serve_app(app) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium-headless-shell, or run make test as root")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *BRIEF])
        yield opened
        opened.close()


Open = Callable[..., Page]
# As after a load: nothing is pointed at, chosen, searched or focused; the pins and the view are those of the query.
RESTORE = """(query) => {
  document.activeElement?.blur();
  scrollTo(0, 0);
  const find = document.getElementById("find");
  if (find) find.value = "";
  document.getElementById("spoken").textContent = "";
  history.replaceState(null, "", location.pathname + query);
  dispatchEvent(new PopStateEvent("popstate"));
}"""
CLIPBOARD = ["clipboard-read", "clipboard-write"]
EXPECTED = (
    "404",
    "422",
    "willReadFrequently",
)  # refusals that tests ask for; the tests themselves read the canvas back


def record_complaints(page: Page, complaints: list[str]) -> None:
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


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed  # type: ignore[attr-defined]
    return report


LEFT = "/?left"
LEAVE = """(left) => {
  document.documentElement.style.display = "none";
  history.replaceState(null, "", left);
  history.pushState = history.replaceState = () => {};
}"""


def hide_page(page: Page) -> None:
    """Have a page that is left not drawn again, which Chromium does when its screen changes and when the next one
    comes. Its address is nobody's: the next page may have the same, and one that differs in its fragment is not loaded.
    """
    if page.url != "about:blank":
        page.evaluate(LEAVE, LEFT)


# What a test may have changed, in the words of emulate_media, while it empties what a page keeps.
CLEAR = """() => {
  localStorage.clear();
  sessionStorage.clear();
  const is = (query) => matchMedia(query).matches;
  return [is("print"), is("(prefers-color-scheme: dark)"), is("(prefers-reduced-motion: reduce)")];
}"""


class BrowserTab:
    """A page in a context of its own, which one test after another may open: a context costs as much as a page. Where
    a test that passed left one page of the site, nothing of the test stays but what the browser cached: the next page
    takes its place.
    """

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.page = browser.new_context(**options).new_page()
        self.complaints: list[str] = []
        self.kept: tuple[Any, ...] = ()  # the document and the screen that the next test may stay on
        self.media: list[bool] = []  # as the last test left it: printed, dark, without motion
        record_complaints(self.page, self.complaints)

    def cleared(self, site: str) -> bool:
        """Whether another test may open it."""
        page = self.page
        if page.is_closed() or len(page.context.pages) > 1 or not page.url.startswith(site):
            return False
        page.unroute_all()
        self.media = page.evaluate(CLEAR)
        return True

    def open(self, url: str, stay: bool, width: int, height: int, scheme: str, motion: str) -> None:
        """Open a page on a screen; stay: show an instruction's page as Back does, where the test before left it."""
        path, _, query = url.partition("?")
        document = (path, width, height, scheme, motion)
        kept, self.kept = self.kept, document if stay else ()
        if stay and kept == document and not FULL:
            self.take(width, height, scheme, motion)
            self.page.evaluate(RESTORE, f"?{query}" if query else "")
            return
        hide_page(self.page)
        self.take(width, height, scheme, motion)
        self.goto(url)

    def take(self, width: int, height: int, scheme: Any, motion: Any) -> None:
        """Give the test its screen, where the one before left another: a screen that is set is drawn anew. The mouse
        points at nothing.
        """
        self.page.mouse.move(0, 0)
        if self.page.viewport_size != {"width": width, "height": height}:
            self.page.set_viewport_size({"width": width, "height": height})
        if self.media != [False, scheme == "dark", motion == "reduce"]:
            self.page.emulate_media(media="null", color_scheme=scheme, reduced_motion=motion)

    def goto(self, url: str) -> None:
        """Load a page. What the last test's page says when it goes is forgotten with it."""
        page = self.page

        def gone(frame: Frame) -> None:
            if frame == page.main_frame and not frame.url.endswith(LEFT):
                self.complaints.clear()
                page.remove_listener("framenavigated", gone)

        page.on("framenavigated", gone)
        page.goto(url)


@pytest.fixture(scope="session")
def tabs() -> dict[bool, list[BrowserTab]]:
    """Those that wait for the next test, with scripts (True) and without."""
    return {True: [], False: []}


@pytest.fixture
def open_page(
    site: str, browser: Browser, tabs: dict[bool, list[BrowserTab]], request: pytest.FixtureRequest
) -> Iterator[Open]:
    """Open a path; the test fails at its end if the page wrote an error to the console or a request failed. Pictures
    do not move by themselves unless `motion` is "no-preference": each frame of an animation costs as much as a step.
    `stay`: the test needs no new load of an instruction's page, and leaves it as Back can restore it.
    """
    opened: list[tuple[BrowserTab, bool]] = []

    def open_(
        path: str,
        *,
        width: int = 1440,
        height: int = 1000,
        scheme: Any = "light",
        scripts: bool = True,
        wait: bool = True,
        motion: str = "reduce",
        stay: bool = False,
    ) -> Page:
        free = tabs[scripts]
        tab = free.pop() if free else BrowserTab(browser, java_script_enabled=scripts, permissions=CLIPBOARD)
        opened.append((tab, scripts))
        tab.open(site + path, stay, width, height, scheme, motion)
        page = tab.page
        if scripts and wait and page.locator("#stage").count():
            page.wait_for_selector("html[data-zoom=ready]", timeout=1000 * PATIENCE)
        return page

    yield open_
    complaints = [said for tab, _ in opened for said in tab.complaints]
    for tab, scripts in opened:
        if not request.node.stash.get(FAILED, False) and not complaints and tab.cleared(site):
            tabs[scripts].append(tab)
        else:
            tab.page.context.close()
    assert complaints == []
