"""The guide's frame: its index, its contents, its headings, and figures that say in words what they show."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from lanescope.app.guide import index as guide_index, rendering as guide
from tests.cases import for_each
from tests.client import Client


@pytest.mark.thorough
def test_the_index_has_a_figure_and_a_sentence_for_every_page(client: Client) -> None:
    text = client.get("/guide").text
    for slug in guide_index.ORDER:
        (card,) = re.findall(rf'<li class="card">(?:(?!</li>).)*href="/guide/{re.escape(slug)}".*?</li>', text, re.S)
        assert "<svg" in card and re.search("<(path|rect)", card), slug
        assert re.search(r"<p>[A-Z0-9A-Za-z].{20,}</p>", card, re.S), slug
        assert "<text" not in card and 'role="img"' not in card, slug


@for_each("slug", guide_index.ORDER)
def test_a_page_has_contents_headings_in_order_and_named_figures(client: Client, slug: str) -> None:
    text = client.get(f"/guide/{slug}").text
    assert f'href="/guide/{slug}" aria-current="page"' in text
    levels = [int(level) for level in re.findall(r"<h(\d)", text)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = re.findall(r'<h2 id="([^"]*)"', text)
    assert len(ids) == len(set(ids)) == len(guide.list_sections(slug)) and all(ids)
    for name, _ in guide.list_sections(slug):
        assert f'<a href="#{name}">' in text
    figures = re.findall(r"<figure(?: class=.tall.)?><a.*?</figure>", text, re.S)
    assert figures
    for figure in figures:
        assert re.search(r"<title>[^<]{5,}</title>", figure) and "<figcaption>" in figure


def test_figures_stand_beside_the_text_before_them() -> None:
    made = guide._group_rows(["<p>one</p>", '<figure><svg viewBox="0 0 300 300"></svg></figure>', "<p>two</p>"])
    assert len(made) == 2 and made[0].startswith('<div class="beside"><div>\n<p>one</p>') and made[1] == "<p>two</p>"
    wide = ["<p>one</p>", '<figure><svg viewBox="0 0 900 300"></svg></figure>']
    assert guide._group_rows(wide) == wide


def test_a_figure_whose_texts_are_too_small_beside_text_has_a_row_of_its_own() -> None:
    def make_rows(width: int, height: int, font: int) -> list[str]:
        drawn = f'<svg viewBox="0 0 {width} {height}"><text font-size="{font}">1</text></svg>'
        return guide._group_rows(["<p>one</p>", f"<figure>{drawn}</figure>"])

    assert len(make_rows(700, 400, 9)) == 1  # 6.9 pixels beside text
    assert len(make_rows(858, 750, 9)) == 2  # 5.0 beside text, 6.5 alone
    assert len(make_rows(1088, 1417, 9)) == 2  # too small in either place: it may be higher than others


def test_the_tile_of_the_rules_can_be_read(client: Client) -> None:
    figure = re.search(r"<figure>.*?</figure>", client.get("/guide/check-rules").text, re.S)
    assert figure
    width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure[0])[0])
    scale = min(1070 / width, 544 / height, 1)
    assert scale * min(map(float, re.findall(r'font-size="([\d.]+)"', figure[0]))) >= 8


def test_five_minutes_is_first_and_its_checks_say_what_it_says(client: Client) -> None:
    assert guide_index.ORDER[0] == "five-minutes"
    links = re.findall(r"\((/descriptor/wgmma/0x\w+\?[^)]*)\)", guide_index.read_source("five-minutes"))
    right, wrong = (client.get(link).text for link in links)
    assert "data-verdict=match" in right and 'class="verdict ok"' in right
    assert "0x4000004000010100" in wrong and "data-verdict=mismatch" in wrong
