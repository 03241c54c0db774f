"""The main screens as they were last looked at: two pictures of each, kept at half size and compared with a tolerance
that fonts and anti-aliasing stay below. `make golden` takes them anew; open them before you commit them.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.test_every_page import MISMATCH, MMA, WGMMA, WORKBENCH

pytestmark = pytest.mark.browser
KEPT = Path(__file__).parents[1] / "golden" / "screens"
SCREENS = {
    "home": "/",
    "instructions": "/instructions?family=mma&type=f16",
    "mma": f"/i/{MMA}?pin=d:3,2",
    "wgmma": f"/i/{WGMMA}",
    "descriptor": MISMATCH,
    "tile": "/smem",
    "read": f"/read?text={quote(WORKBENCH)}",
    "banks": "/banks?access=ldmatrix.x4&pattern=rows&row_bytes=128",
}
LOOKS = {"desktop": (1440, 900, "light"), "phone": (390, 844, "dark")}
# How far two pictures are apart: both drawn small, so that a letter is a shade and not an outline. → [how many of 100
# points differ by more than a tenth of black to white, the greatest share of them in one of 8 × 6 fields]
APART = """async ([one, other]) => {
  const points = async (source) => {
    const picture = new Image();
    picture.src = `data:image/png;base64,${source}`;
    await picture.decode();
    const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const [w, h] = [Math.round(picture.width / 6), Math.round(picture.height / 6)];
    brush.canvas.width = w, brush.canvas.height = h;
    brush.imageSmoothingQuality = "high";
    brush.drawImage(picture, 0, 0, w, h);
    return { w, h, of: brush.getImageData(0, 0, w, h).data };
  };
  const [a, b] = [await points(one), await points(other)];
  if (a.w !== b.w || a.h !== b.h) return [100, 100];
  const fields = new Float64Array(48), sizes = new Float64Array(48);
  let far = 0;
  for (let y = 0; y < a.h; y++) for (let x = 0; x < a.w; x++) {
    const at = 4 * (y * a.w + x), field = Math.floor(y * 6 / a.h) * 8 + Math.floor(x * 8 / a.w);
    const apart = Math.max(...[0, 1, 2].map((n) => Math.abs(a.of[at + n] - b.of[at + n]))) > 25;
    far += apart, fields[field] += apart, sizes[field] += 1;
  }
  return [100 * far / (a.w * a.h), Math.max(...fields.map((count, n) => 100 * count / sizes[n]))];
}"""
MOST, MOST_IN_A_FIELD = 2.0, 15.0


@pytest.fixture(scope="module")
def screens(browser: Browser) -> Iterator[dict[str, Page]]:
    """A page of every look, half as fine as a screen."""
    made = {}
    for look, (width, height, scheme) in LOOKS.items():
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
            device_scale_factor=0.5,
            reduced_motion="reduce",
        )
        made[look] = context.new_page()
    yield made
    for page in made.values():
        page.context.close()


def shot(page: Page, address: str) -> bytes:
    """The first screen of a page, when it has come to rest."""
    page.goto(address, wait_until="networkidle")
    if page.locator("#stage").count():
        page.wait_for_selector("html[data-zoom=ready]")
    page.mouse.move(2, 2)
    return page.screenshot(animations="disabled", caret="hide")


def apart(page: Page, one: bytes, other: bytes) -> list[float]:
    found: list[float] = page.evaluate(APART, [base64.b64encode(each).decode() for each in (one, other)])
    return found


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_looks_as_it_did(site: str, screens: dict[str, Page], name: str, look: str, tmp_path: Path) -> None:
    seen, kept = shot(screens[look], site + SCREENS[name]), KEPT / f"{name}-{look}.png"
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        kept.parent.mkdir(exist_ok=True)
        if not kept.exists() or max(apart(screens[look], seen, kept.read_bytes())) > 0.1:
            kept.write_bytes(seen)
    far, field = apart(screens[look], seen, kept.read_bytes())
    (tmp_path / kept.name).write_bytes(seen)
    assert far < MOST and field < MOST_IN_A_FIELD, f"{far:.1f} %, {field:.1f} % of a field: see {tmp_path / kept.name}"


@pytest.mark.parametrize(
    "fault",
    [
        "document.querySelector('header').style.display = 'none'",
        "document.documentElement.style.setProperty('--fill-0', 'red')",
        "document.querySelector('main h1').style.fontSize = '60px'",
    ],
)
def test_another_look_is_noticed(site: str, screens: dict[str, Page], fault: str) -> None:
    page: Any = screens["desktop"]
    before = shot(page, site + SCREENS["tile"])
    assert max(apart(page, before, shot(page, site + SCREENS["tile"]))) < 0.1
    page.evaluate(fault)
    far, field = apart(page, before, page.screenshot())
    assert far >= MOST or field >= MOST_IN_A_FIELD, (far, field)
