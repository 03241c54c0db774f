"""Metadata and scale factors beside A and B: linked with their elements by pointing and by pins."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.waiting import go_to_query, read_texts
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
