"""The exported site opened from files, without any server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from lanescope.app.catalogue import facts as catalogue
from lanescope.app.export import SiteExport
from lanescope.names import search
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.targets import list_widest
from tests.browser.waiting import wait_for_rest
from tests.sample import take_sample

pytestmark = pytest.mark.browser
TEXTS = (
    "mma.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1}, [%r1];",
    "MMA.SYNC.ALIGNED.M16N8K16.ROW.COL.F32.F16.F16.F32",
    "m16n8k16 bf16",
    "bf16 m16n8k16",
    "n8",
    "k1",
    "k16",
    "M64N8",
    "m64n8",
    "2x",
    "scale_vec::2X",
    "f8f6f4",
    "kind::",
    "sp::ordered",
    "ordered_metadata m16n8k32",
    "row.col",
    "wgmma sp",
    "xor popc",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0}, [%1];",
    "ldmatrix m8n8 x4 trans",
    "stmatrix,x2,trans",
    "wmma.load.a.row.m16n16k16.global.f16",
    "wgmma.mma_async .sync.aligned .m64n8k16.f32.bf16.bf16",
    "mma.m16n8k12.row.col.f32.f16.f16.f32",
    "zz",
    ";",
    " ",
    "\u00a0m16n8k16\u2003tf32",
    "ﬀ ß İ k16",
    "'s8'",
    "%",
    'asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0}");',
    "__proto__ constructor",
    "sync aligned",
    "SYNC.k8",
)
ASK = """(asked) => asked.map((given) => {
  const form = document.getElementById("filters");
  form.reset();
  for (const [name, value] of Object.entries(given)) form.elements[name].value = value;
  form.dispatchEvent(new Event("input"));
  const name = (one) => one.title || one.textContent.split(" ")[0];
  return [...document.querySelectorAll("#results .variant")].flatMap((one) => one.hidden ? [] : [name(one)]);
})"""


def search_export(page: Page, asked: list[dict[str, str]]) -> list[list[str]]:
    """The instructions that an exported catalogue shows for each question."""
    told: list[list[str]] = page.evaluate(ASK, asked)
    return told


@pytest.fixture(scope="module")
def chosen() -> tuple[Instruction, ...]:
    """The instructions of the searched catalogue: every family has some."""
    return catalog.instructions()[::5]


@pytest.fixture(scope="module")
def searched(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, chosen: tuple[Instruction, ...]
) -> Iterator[Page]:
    """The catalogue of an exported site, opened from its file."""
    folder = tmp_path_factory.mktemp("searched")
    SiteExport(folder, chosen).write_index()
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"file://{folder}/instructions.html")
    yield page
    context.close()


@pytest.mark.thorough
def test_its_search_finds_what_the_server_finds(searched: Page, chosen: tuple[Instruction, ...]) -> None:
    names = {instruction.ptx for instruction in chosen}
    whole = {key for keys in search.index_instructions().values() for key in keys.exact_keys}
    shapes = sorted(key.removeprefix("shape=") for key in whole if key.startswith("shape="))
    values = {
        "family": catalog.FAMILY_NAMES,
        "type": take_sample(catalog.list_element_types(), 10),
        "target": list_widest(),  # those that the page offers
        "shape": take_sample(shapes, 15),
        "q": (*TEXTS, *take_sample([i.ptx for i in chosen[::20]], 8)),
    }
    questions = [{name: value} for name, known in values.items() for value in known]
    questions += [
        {"shape": "m16"},
        {"shape": " K16 "},
        {"shape": "m16n8"},
        {"shape": "x"},
        {"type": "ue8m0", "q": "2X"},
    ]
    questions += [
        {"family": family, "target": "sm_90a", "q": text} for family in ("mma", "wgmma") for text in ("f16", TEXTS[0])
    ]
    for question, shown in zip(questions, search_export(searched, questions), strict=True):
        served = {row.ptx for row in catalogue.list_instructions(**question).instructions}
        assert sorted(shown) == sorted(served & names), question


@pytest.mark.thorough
def test_it_works_from_a_file(exported_site: Path, browser: Browser) -> None:
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"file://{exported_site}/index.html#family=stmatrix")  # an address of an earlier export
    page.wait_for_url(re.compile("instructions.html#family=stmatrix$"))
    expect(page.locator(".count")).to_contain_text("9 of")
    assert page.locator("#results .family:visible").count() == 1
    page.keyboard.press("Enter")
    page.locator("input[name=q]").press("Enter")
    wait_for_rest(page)
    assert "instructions.html" in page.url, "several are left"
    page.locator("input[name=q]").fill("stmatrix x2 trans b16")
    expect(page.locator(".count")).to_contain_text("1 of")
    page.locator("#results .variant:visible").first.click()
    page.wait_for_selector("html[data-zoom=ready]")
    page.locator("select[name=colour]").select_option("t")
    expect(page).to_have_url(re.compile(r"#colour=t$"))
    box = page.locator("#stage").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.6)
    expect(page.locator("#panel h2")).to_contain_text("Lane")
    page.reload()
    expect(page.locator("select[name=colour]")).to_have_value("t")
    page.goto(f"file://{exported_site}/i/stmatrix.sync.aligned.m8n8.x1.shared.b16.html")
    page.locator("select[data-picker]").last.select_option(index=1)
    expect(page).to_have_url(re.compile(r"/i/stmatrix\.sync\.aligned\.m8n8\.x2\.shared\.b16\.html"))
    page.goto(f"file://{exported_site}/guide/swizzle.html")
    page.get_by_role("link", name="base offset").click()
    expect(page.get_by_role("heading", name="The 64 bits of a matrix descriptor")).to_be_visible()
    context.close()
    assert complaints == []
