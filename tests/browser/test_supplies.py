"""Metadata and scale factors beside A and B: linked with their elements by pointing and by pins."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_instruction import find_centre, hover_cell
from tests.browser.waiting import go_to_query, read_texts, wait_until
from tests.sample import take_sample

pytestmark = pytest.mark.browser
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
PINNED = (
    f"{SPARSE}?selector=1&pin=a:5,9",
    f"{SPARSE}?pin=e:3,2",
    f"{SCALED}?pin=sfa:9,1",
    f"{SCALED}?byte_id_b=2&pin=b:20,1",
)
# The cells of a matrix whose edge the canvas above the stage paints opaque: those with a ring.
RINGED = """(name) => { const s = lanescope.stage, p = s.panels.find((x) => x.name === name), ratio = devicePixelRatio;
  const { data, width } = s.over.getContext('2d').getImageData(0, 0, s.over.width, s.over.height), out = [];
  for (let r = 0; r < p.rows; r++) for (let k = 0; k < p.cols; k++) {
    const [x, y] = [Math.floor(p.columnAt(k + .5) * ratio), Math.floor((p.rowAt(r) + 1) * ratio)];
    if (data[4 * (y * width + x) + 3] > 250) out.push([r, k]);
  }
  return out; }"""


def list_ringed(page: Page, name: str) -> list[list[int]]:
    cells: list[list[int]] = page.evaluate(RINGED, name)
    return cells


def test_pointing_at_an_element_rings_its_metadata_and_the_other_way_round(open_page: Any) -> None:
    """Stored columns 2 and 3 of row 3 are kept of columns 4–7: group 1, which lane 12 supplies, not lane 13."""
    page = open_page(f"/i/{SPARSE}")
    hover_cell(page, "a", 3, 2)
    wait_until(page, lambda: [3, 1] in list_ringed(page, "e"))
    assert [3, 0] not in list_ringed(page, "e")
    hover_cell(page, "e", 3, 1)
    wait_until(page, lambda: [3, 3] in list_ringed(page, "a") and [3, 2] in list_ringed(page, "a"))
    page.mouse.click(*find_centre(page, "e", 3, 1))
    expect(page).to_have_url(re.compile(r"pin=e:3,1$"))
    expect(page.locator("#answer h2")).to_have_text("The metadata of A[3][4–7] is in lane 12, e, bits 7:4")
    expect(page.locator("#panel h2")).to_contain_text("Lane 12")


@pytest.mark.parametrize("path", take_sample(PINNED, 2))
def test_the_script_says_of_metadata_and_factors_what_the_server_says(open_page: Any, path: str) -> None:
    query = path.partition("?")[2]
    page, parts = open_page(f"/i/{path}"), ("#answer .says", "#panel .told pre", "#panel .held")
    want = read_texts(page, *parts, served=True)
    assert all(want)
    rest = re.sub(r"&?pin=[^&]*", "", query)
    go_to_query(page, rest)
    expect(page.locator("#answer h2")).to_have_text("Which element?")
    go_to_query(page, query)
    expect(page.locator("#answer h2")).not_to_have_text("Which element?")
    assert [texts[0] for texts in read_texts(page, *parts)] == [texts[0] for texts in want]
