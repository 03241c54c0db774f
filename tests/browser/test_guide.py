"""Figures of the guide can be read: their texts, measured where a browser draws them in a window of 1440 pixels."""

from __future__ import annotations

import pytest

from lanescope.app.guide import index as guide_index
from tests.browser.conftest import Open
from tests.cases import for_each

pytestmark = pytest.mark.browser
LEAST = 6.0  # pixels
LARGE = "SM90_64x64x16_F32F16F16_RS"  # the row numbers of 128 rows of D, of two warpgroups, are smaller
MEASURE = """() => [...document.querySelectorAll(".guide figure > a")].map((link) => [link.getAttribute("href"),
  Math.min(...[...link.querySelectorAll("svg text")].map(
    (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().d))])"""


@for_each("slug", guide_index.ORDER, sample=3)
def test_texts_of_figures_can_be_read(open_page: Open, slug: str) -> None:
    figures = open_page(f"/guide/{slug}").evaluate(MEASURE)
    assert figures
    small = {address: size for address, size in figures if size is not None and size < LEAST}
    assert not [address for address in small if LARGE not in address], small
