"""Figures as a person uses them: the builder, the strides of a tile, the links to pictures; the header."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open

pytestmark = pytest.mark.browser


def test_the_builder_follows_every_choice_and_keeps_a_wrong_one(open_page: Open) -> None:
    page = open_page("/diagram")
    page.locator("select[name=operand]").select_option("a")
    expect(page).to_have_url(re.compile("operand=a"))
    page.locator("select[name=theme]").select_option("bw")
    expect(page).to_have_url(re.compile("theme=bw"))
    page.get_by_label("legend").check()
    expect(page.locator(".paper svg text", has_text="colour = lane / 4")).to_be_visible()
    page.locator("select[name=form]").select_option("md")
    expect(page.locator("pre", has_text="lanescope diagram")).to_contain_text("--theme bw --legend -o")
    with page.expect_download() as download:
        page.get_by_role("link", name="download").click()
    assert "| **0** |" in download.value.path().read_text()
    page.locator("input[name=rows]").fill("9-99")
    page.locator("input[name=rows]").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Rows is 9-99, not inside A")
    expect(page.locator("input[name=rows]")).to_have_value("9-99")


def test_a_stride_and_its_arrow_light_each_other(open_page: Open) -> None:
    page = open_page("/smem", wait=False)
    arrows = page.locator("g[data-stride=sbo]")
    expect(arrows).to_have_count(2)  # in the tile and in memory
    page.locator(".card[data-stride=sbo]").focus()
    expect(page.locator("g[data-stride=sbo].lit")).to_have_count(2)
    page.locator(".card[data-stride=lbo]").focus()
    expect(page.locator("g[data-stride=sbo].lit")).to_have_count(0)
    arrows.last.scroll_into_view_if_needed()
    x, y = arrows.last.locator("path").first.evaluate(
        """(path) => { const at = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
        return [at.x, at.y]; }"""
    )
    page.mouse.move(x, y)
    expect(page.locator(".card[data-stride=sbo]")).to_have_class(re.compile(r"\blit\b"))


def test_help_stands_in_the_headers_first_row(open_page: Open) -> None:
    page = open_page("/help", width=1000)
    for width in (1000, 1440):
        page.set_viewport_size({"width": width, "height": 1000})
        brand = page.locator(".bar .brand").bounding_box()
        icons = [icon.bounding_box() for icon in page.locator(".bar .icon").all()]
        assert brand and len(icons) == 2
        middle = brand["y"] + brand["height"] / 2
        assert all(icon and abs(icon["y"] + icon["height"] / 2 - middle) < 3 for icon in icons)


def test_picture_links_follow_the_page(open_page: Open) -> None:
    page = open_page("/i/mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    page.locator("select[name=colour]").select_option("t")
    page.locator("summary.btn", has_text="Figure").click()
    expect(page.get_by_role("link", name="TikZ", exact=True)).to_have_attribute("href", re.compile(r"\.tex\?colour=t$"))
