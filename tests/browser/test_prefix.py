"""Under a proxy's path every link, form, script and picture works, and nothing that pages do breaks their own security
policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from lanescope.app.kit.settings import Settings
from lanescope.app.main import create_app
from tests.browser.conftest import serve_app
from tests.browser.waiting import wait_until
from tests.sample import take_rows

pytestmark = pytest.mark.browser
ROOT = "/tools/lanescope"
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@pytest.fixture(scope="module")
def prefixed() -> Iterator[str]:
    app = create_app(settings=Settings(root_path=ROOT, seconds=60))
    with serve_app(app) as address:
        yield address + ROOT
    app.state.work.close()
    app.state.hardware.close()


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page; the test fails where it complained, or asked for an address outside the prefix or in vain."""
    wrong: list[str] = []
    made = context.new_page()
    made.on(
        "console",
        lambda m: (
            wrong.append(m.text) if m.type in ("error", "warning") and "willReadFrequently" not in m.text else None
        ),
    )
    made.on("pageerror", lambda e: wrong.append(str(e)))
    made.on(
        "response",
        lambda r: (
            wrong.append(f"{r.status} {r.url}")
            if r.status >= 400 or not re.match(r"http://[^/]+" + ROOT + "/|data:|blob:", r.url)
            else None
        ),
    )
    yield made
    made.close()
    assert wrong == []


@pytest.mark.thorough
def test_catalogue_and_instruction(page: Page, prefixed: str) -> None:
    page.goto(prefixed + "/")
    page.fill("#text", M16)
    page.press("#text", "Enter")
    page.wait_for_url(f"{prefixed}/i/{M16}")
    page.goto(prefixed + "/instructions")
    page.fill("#filters input[name=q]", "bf16 m16n8k16")
    page.wait_for_url(f"{prefixed}/instructions?q=bf16*")
    wait_until(
        page, "document.querySelector('#results a[href*=\"/i/\"]').href.includes('bf16')"
    )  # no longer the whole list
    page.locator("#results a[href*='/i/']").first.click()
    page.wait_for_selector("html[data-zoom=ready]")
    assert page.url.startswith(f"{prefixed}/i/mma")
    page.locator(".menu summary", has_text="Learn").click()
    page.locator(".menu a", has_text="All topics").click()
    page.wait_for_url(f"{prefixed}/guide")


@pytest.mark.parametrize("path", take_rows([f"/steps/{M16}", "/banks"], 1))
def test_a_page_loads_what_its_scripts_name(page: Page, prefixed: str, path: str) -> None:
    """What is missing or refused says its own address. tests/test_prefix.py follows what the markup names."""
    page.goto(prefixed + path)
    page.wait_for_load_state("networkidle")
