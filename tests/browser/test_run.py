"""Runs as somebody in a browser starts them: the GPU's button off with its reason, the simulation named so, steps by
keyboard.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from lanescope.app.runs.hardware import ServerHardware
from tests.browser.conftest import Open
from tests.browser.waiting import wait_until

pytestmark = pytest.mark.browser
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@pytest.mark.skipif(not ServerHardware().why_not, reason="CuPy is installed here")
def test_simulate_from_the_instruction_page(open_page: Open) -> None:
    page = open_page(f"/i/{MMA}")
    page.locator("#tabs").get_by_role("link", name="Run").click()
    gpu = page.get_by_role("button", name="Run on the GPU")
    expect(gpu).to_be_disabled()
    expect(page.get_by_text("No GPU run from this server: CuPy is not installed.")).to_be_visible()
    page.locator("#run").get_by_label("What").select_option("fragment")
    page.get_by_label("measured operand").select_option("b")
    page.get_by_role("button", name="Simulate with NumPy").press("Enter")
    expect(page).to_have_url(re.compile(f"/gpu/run\\?instruction={MMA}&kind=fragment&operand=b"))
    expect(page.get_by_text("simulation in NumPy, no GPU")).to_be_visible()
    expect(page.get_by_role("heading", name="Simulated: 128 values")).to_be_visible()
    expect(page.locator("svg text", has_text="T13:0").first).to_be_visible()


def test_steps_follow_an_element_of_d(open_page: Open) -> None:
    page = open_page("/steps/mma.m8n8k16.row.col.s32.s8.s8.s32?row=3&col=2")
    expect(page.get_by_role("heading", name="D[3,2], term by term")).to_be_visible()
    page.locator("table.cells").last.get_by_role("link").nth(8 * 5 + 1).click()
    expect(page.get_by_role("heading", name="D[5,1], term by term")).to_be_visible()
    expect(page.get_by_text("T21:a0").first).to_be_visible()


@pytest.mark.thorough
def test_steps_take_formulas_and_files(open_page: Open, tmp_path: Path) -> None:
    page = open_page("/steps/mma.m8n8k16.row.col.s32.s8.s8.s32", wait=False)
    page.get_by_text("The same as tables").click()
    page.fill("textarea[name=a]", "i")
    page.press("textarea[name=a]", "Enter")
    expect(page).to_have_url(re.compile(r"[?&]a=i(&|$)"))
    np.save(tmp_path / "B.npy", -(np.arange(128, dtype=np.int16).reshape(8, 16).T + 1))
    page.set_input_files("[data-fills=b]", tmp_path / "B.npy")
    expect(page.locator("textarea[name=b]")).to_have_value(re.compile(r"^-1 -17 -33"))
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator(".facts")).to_contain_text("B = numbers given")
    assert page.inner_text("table.cells tbody tr >> nth=-1").split()[-1] == str(
        int((np.arange(112, 128) * -np.arange(113, 129)).sum())
    )
    assert len(page.url) < 7500
    (tmp_path / "bad.npy").write_bytes(b"no")
    page.set_input_files("[data-fills=a]", tmp_path / "bad.npy")
    wait_until(page, "document.querySelector('textarea[name=a]').validationMessage.includes('not a .npy file')")
    expect(page.locator("textarea[name=a]")).to_have_value("i")
    page.fill("textarea[name=a]", "i")
    wait_until(page, "document.querySelector('textarea[name=a]').validationMessage", "")
    page.fill("textarea[name=a]", " ".join(str(n % 100 + 0.25) for n in range(256)) * 8)
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("[role=alert]")).to_contain_text("A has 12040 characters. At most 500")
    assert "a=" not in page.url  # too long for an address: it was posted
