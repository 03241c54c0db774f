"""Live views in JupyterLab: pointer, keyboard, Python and links select the same, and nothing leaves this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import jupyterlab
import nbformat
import pytest
from playwright.sync_api import Page, expect, sync_playwright

from lanescope import find
from lanescope.render.palette import DARK, LIGHT
from tests.browser.conftest import FLAGS, find_chromium
from tests.browser.test_screenshot import IMAGES
from tests.browser.waiting import PATIENCE, wait_until
from tests.served import find_free_port

pytestmark = pytest.mark.browser
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
CELLS = (
    f"""\
from lanescope import find
from lanescope.widget import link, show
m16 = find("{M16}")
a = show(m16.operand("a"))
a""",
    """\
d, following = show(m16.operand("d")), show(m16.operand("a"))
joined = link(d, following, at=(0, 8))
d""",
    "following",
    """\
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile
tile = Tile(16, "K", get_mode("128B"), 64, 64, base=0x1000)
word = show(tile.descriptor().replace(sbo_encoded=65), tile, "wgmma.mma_async.m64n64k16.f32.f16.f16")
word""",
)
SHARED = (
    Path(jupyterlab.__file__).parents[4] / "share" / "jupyter"
)  # where the environment that has JupyterLab keeps it
OPTIONS = (
    "--no-browser",
    "--allow-root",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--IdentityProvider.token=",
    f"--LabApp.app_dir={SHARED / 'lab'}",
    "--LabApp.expose_app_in_browser=True",
    "--LabApp.news_url=",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
READY = "() => Boolean(window.jupyterapp?.shell.currentWidget?.sessionContext)"
RUN_ALL = """async () => {
  await window.jupyterapp.restored;
  const { sessionContext } = window.jupyterapp.shell.currentWidget;
  await sessionContext.ready;
  await window.jupyterapp.commands.execute("notebook:run-all-cells"); }"""
EXECUTE = """async (code) => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const future = kernel.requestExecute({ code, store_history: false });
  let text = "";
  future.onIOPub = ({ content }) => { text += content.text ?? content.ename ?? ""; };
  await future.done;
  return text.trim(); }"""
CENTRE = """([view, matrix, row, col]) => {
  const sensor = document.querySelectorAll(".lanescope-view")[view].querySelectorAll(".sensor")[matrix];
  const { x, y, width, height } = sensor.getBBox(), [rows, cols] = sensor.ariaLabel.match(/\\d+/g).map(Number);
  const at = new DOMPoint(x + (col + .5) * width / cols, y + (row + .5) * height / rows);
  const on = at.matrixTransform(sensor.getScreenCTM());
  return [on.x, on.y]; }"""


class Lab:
    """A notebook that is open in JupyterLab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def run(self, code: str) -> str:
        """Run a cell's code in the notebook's kernel; return what it prints."""
        return str(self.page.evaluate(EXECUTE, code))

    def point(self, view: int, row: int, col: int, matrix: int = 0) -> None:
        """Move the pointer over a cell."""
        self.page.mouse.move(*self.page.evaluate(CENTRE, [view, matrix, row, col]))

    def leave(self) -> None:
        """Move the pointer off every view."""
        self.page.mouse.move(1, 1)

    def count_frames(self, view: int) -> int:
        """Count the cells that are framed as those of the lane."""
        path = self.page.locator(".lanescope-view").nth(view).locator("path.held:not(.halo)")
        return (path.get_attribute("d") or "").count("M") if path.count() else 0

    def expect_selected(self, view: int, lane: str, value: str, element: str) -> None:
        """Wait until a view shows a selection."""
        root = self.page.locator(".lanescope-view").nth(view)
        for part, wanted in (("lane", lane), ("value", value), ("element", element)):
            expect(root).to_have_attribute(f"data-{part}", wanted)


def wait_for_answer(started: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Wait until a server that is starting answers."""
    end = time.monotonic() + 4 * PATIENCE
    while True:
        try:
            urllib.request.urlopen(address, timeout=PATIENCE).close()
            return
        except OSError:
            assert started.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab of this module, with a folder of its own."""
    folder = tmp_path_factory.mktemp("lab")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "views.ipynb")
    settings = folder / ".settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    own = {f"JUPYTER_{name}_DIR": str(folder / f".{name.lower()}") for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"JUPYTER_PATH": str(SHARED), "IPYTHONDIR": str(folder / ".ipython"), "HOME": str(folder)}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings")}
    port = find_free_port()
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        *OPTIONS,
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={folder}",
    ]
    with (folder / "log").open("w") as log:
        started = subprocess.Popen(command, env={**os.environ, **own}, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for_answer(started, f"{address}/api/status", folder / "log")
        yield address
    finally:
        started.terminate()
        started.wait(60)


@pytest.fixture(scope="module")
def requested() -> list[str]:
    """The addresses that the page asked for."""
    return []


@pytest.fixture(scope="module")
def lab(server: str, requested: list[str]) -> Iterator[Lab]:
    """The notebook, its cells run."""
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium-headless-shell")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = opened.new_page(viewport={"width": 1300, "height": 3000}, color_scheme="light")
        page.set_default_timeout(2000 * PATIENCE)
        page.on("request", lambda request: requested.append(request.url))
        page.goto(f"{server}/doc/tree/views.ipynb")
        page.wait_for_function(READY)
        page.evaluate(RUN_ALL)
        expect(page.locator(".lanescope-view")).to_have_count(len(CELLS), timeout=2000 * PATIENCE)
        yield Lab(page)
        opened.close()


def expect_in_kernel(lab: Lab, code: str, wanted: str) -> None:
    """Wait until an expression of Python has a value: what the page selects reaches the kernel a moment later."""
    wait_until(lab.page, lambda: lab.run(f"print({code})"), wanted)


@pytest.fixture
def clear(lab: Lab) -> None:
    """Begin with nothing selected: what the pointer left may still be on its way to Python."""
    lab.leave()

    def list_selected() -> list[str]:
        lab.run("for view in (a, d, following, word):\n    view.element = None")
        kernel = lab.run("print(*(part for view in (a, d, following, word) for part in (view.lane, view.value)))")
        return [kernel, *lab.page.locator(".lanescope-view").evaluate_all("all => all.map((one) => one.dataset.lane)")]

    nothing = " ".join(["None"] * 2 * len(CELLS))
    wait_until(lab.page, list_selected, [nothing, *[""] * len(CELLS)])


@pytest.mark.usefixtures("clear")
def test_a_cell_that_is_pointed_at_is_in_the_traits(lab: Lab) -> None:
    ((lane, value),) = find(M16).operand("a").owner(11, 2)
    lab.point(0, 11, 2)
    lab.expect_selected(0, str(lane), str(value), "11,2")
    expect(lab.page.locator(".lanescope-view .said").first).to_have_text(f"A[11][2] is in lane {lane}, value a{value}")
    assert lab.count_frames(0) == find(M16).operand("a").values
    expect_in_kernel(lab, "a.matrix, a.lane, a.value, a.element", f"a {lane} {value} (11, 2)")
    lab.leave()
    lab.expect_selected(0, "", "", "")
    expect_in_kernel(lab, "a.lane, a.value, a.element", "None None None")


@pytest.mark.usefixtures("clear")
def test_what_python_sets_is_shown(lab: Lab) -> None:
    lab.run("a.lane = 13")
    lab.expect_selected(0, "13", "", "")
    assert lab.count_frames(0) == 8
    lab.run("a.value = 2")
    lab.expect_selected(0, "13", "2", "11,2")
    ring = lab.page.locator(".lanescope-view").first.locator("rect.ringed:not(.halo)").bounding_box()
    assert ring is not None
    middle = [ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2]
    assert middle == pytest.approx(lab.page.evaluate(CENTRE, [0, 0, 11, 2]), abs=1)
    assert lab.run("a.lane = 32") == "TraitError"
    lab.expect_selected(0, "13", "2", "11,2")
    lab.point(0, 0, 0)  # what Python set comes back when the pointer leaves
    lab.expect_selected(0, "0", "0", "0,0")
    lab.leave()
    lab.expect_selected(0, "13", "2", "11,2")


@pytest.mark.usefixtures("clear")
def test_a_click_pins_arrows_move_and_escape_clears(lab: Lab) -> None:
    active = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    lab.page.mouse.click(*lab.page.evaluate(CENTRE, [0, 0, 5, 6]))
    lab.leave()
    lab.expect_selected(0, "23", "0", "5,6")
    cell = lab.page.evaluate(active)
    for key, element in (("ArrowDown", "6,6"), ("ArrowRight", "6,7"), ("ArrowUp", "5,7"), ("ArrowLeft", "5,6")):
        lab.page.keyboard.press(key)
        expect(lab.page.locator(".lanescope-view").first).to_have_attribute("data-element", element)
    assert lab.page.evaluate(active) == cell  # the notebook does not take the arrows
    expect_in_kernel(lab, "a.element", "(5, 6)")
    lab.page.keyboard.press("Escape")
    lab.expect_selected(0, "", "", "")
    expect_in_kernel(lab, "a.element", "None")


@pytest.mark.usefixtures("clear")
def test_linked_views_move_together(lab: Lab) -> None:
    """D of one instruction is the right half of the next one's A, in the same lanes."""
    lab.point(1, 3, 2)
    lab.expect_selected(1, "13", "0", "3,2")
    lab.expect_selected(2, "13", "4", "3,10")
    lab.leave()
    lab.expect_selected(2, "", "", "")
    lab.point(2, 9, 15)
    lab.expect_selected(1, "7", "3", "9,7")
    lab.point(2, 9, 7)  # no element of D
    lab.expect_selected(1, "", "", "")


@pytest.mark.usefixtures("clear")
def test_a_wrong_byte_is_said_in_hexadecimal(lab: Lab) -> None:
    """[9][0] is in chunk 1 of the line at 0x1480. With an SBO of 1040 bytes the word reads 0x1490 before the XOR, which
    makes it 0x1480: [9][8].
    """
    lab.run("word.element = 9, 0")
    said = lab.page.locator(".lanescope-view .said").nth(3)
    expect(said).to_have_text("[9][0] is read from byte 0x1480, but is at 0x1490. 0x1480 is the byte of [9][8]")
    lab.expect_selected(3, "", str(0x1480), "9,0")


@pytest.mark.usefixtures("clear")
def test_the_picture_of_the_documents(lab: Lab, tmp_path: Path) -> None:
    """Written with LANESCOPE_GOLDEN=write: both linked views with their cells."""
    lab.run("d.element = 3, 2")
    lab.expect_selected(2, "13", "4", "3,10")
    name = "notebook.png"
    target = IMAGES / name if os.environ.get("LANESCOPE_GOLDEN") == "write" else tmp_path / name
    boxes = [lab.page.locator(".jp-Cell").nth(cell).bounding_box() for cell in (1, 2)]
    assert boxes[0] and boxes[1]
    height = boxes[1]["y"] + boxes[1]["height"] - boxes[0]["y"]
    lab.page.screenshot(path=target, clip={**boxes[0], "width": 880, "height": height})
    assert (IMAGES / name).exists() and target.stat().st_size > 30_000


def test_the_view_follows_the_dark_theme(lab: Lab) -> None:
    fill = lab.page.locator(".lanescope-view path[fill='var(--fill-0)']").first
    for theme, palette in (("JupyterLab Dark", DARK), ("JupyterLab Light", LIGHT)):
        lab.page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
        red, green, blue = (int(palette.fills[0][at : at + 2], 16) for at in (1, 3, 5))
        expect(fill).to_have_css("fill", f"rgb({red}, {green}, {blue})")


def test_no_request_left_this_machine(lab: Lab, server: str, requested: list[str]) -> None:
    assert lab.page.locator(".lanescope-view").count() == len(CELLS)
    away = [
        url for url in requested if not url.startswith((f"{server}/", server.replace("http", "ws"), "data:", "blob:"))
    ]
    assert len(requested) > 10 and away == []
