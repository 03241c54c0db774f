"""The guide's steppers: each shows the same steps as the stepper's own page; without scripts a picture leads there."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape

from lanescope.app.guide import index, rendering
from tests.cases import for_each
from tests.client import Client


@cache
def list_slugs() -> list[str]:
    """The guide's pages that have a stepper."""
    return [slug for slug in index.ORDER if rendering.find_stepper(slug)]


def read_data(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="stepper-data">(.*?)</script>', page, re.S)
    assert found
    data = json.loads(found[1].replace("<\\/", "</"))
    assert isinstance(data, dict)
    return data


def test_the_pages_on_what_moves_have_a_stepper() -> None:
    assert {"ldmatrix", "swizzle", "one-tile", "k-major-needs-no-transpose", "lanes-and-fragments"} <= set(list_slugs())
    assert all(index.read_source(slug).count("@stepper") <= 1 for slug in index.ORDER)


@for_each("slug", list_slugs)
def test_a_page_shows_the_data_and_the_step_of_its_address(client: Client, slug: str) -> None:
    address = rendering.find_stepper(slug)
    own, page = client.get(address).text, client.get(f"/guide/{slug}").text
    assert read_data(page) == read_data(own)
    step = re.compile(r'id="step-caption"[^>]*>(.*?)</p>', re.S)
    sentence, ours = step.search(page), step.search(own)
    assert sentence and ours and sentence[1] == ours[1]
    later = client.get(f"/guide/{slug}?step=9").text
    assert 'aria-valuenow="9"' in later and read_data(later) == read_data(page)


@for_each("slug", list_slugs)
def test_without_scripts_a_picture_leads_to_the_stepper(client: Client, slug: str) -> None:
    page = client.get(f"/guide/{slug}").text
    found = re.search(r'<noscript><a href="([^"]*)"><svg.*?</svg>.*?</a></noscript>', page, re.S)
    assert found and unescape(found[1]) == rendering.find_stepper(slug)
    assert "step-options" not in page and "@stepper" not in page and "<!--stepper-->" not in page
