"""The box reads the names that the site prints."""

from __future__ import annotations

import random
import re

import pytest

from lanescope.app.features import load_features
from lanescope.app.guide import index as guide_index
from lanescope.app.guide.rendering import list_sections
from lanescope.app.read import printed_names
from lanescope.app.read.text_meanings import read_text
from lanescope.app.tiles.presets import PRESETS, MmaPreset
from tests.cases import for_each
from tests.client import Client

EXAMPLES = [
    (title, tool.link(query))
    for feature in load_features().values()
    for tool in feature.tools
    if tool.page
    for title, query in tool.examples
]
UNEXPLAINED = ("Not recognized", "Pages that share words with this text", "Which element?")


def test_every_example_of_a_tool_is_read() -> None:
    assert not [title for title, _ in EXAMPLES if read_text(title).kind == "unknown"]


@for_each(("title", "link"), [example for example in EXAMPLES if re.search(r"\w[,:].*M = |M = \d+:", example[0])])
def test_an_example_opens_its_own_page(client: Client, title: str, link: str) -> None:
    told = read_text(title)
    assert client.get(link).status_code == 200 and link in [meaning.link for meaning in (told, *told.also)]


@for_each("preset", PRESETS[:6])
def test_a_preset_opens_its_tiled_mma(preset: MmaPreset) -> None:
    assert preset.atom in read_text(preset.kernel).link


def test_every_heading_of_the_guide_is_read() -> None:
    slugs = random.Random(3).sample([entry.slug for entry in guide_index.ENTRIES], 12)
    headings = [text for slug in slugs for _, text in list_sections(slug)]
    assert headings and not [text for text in headings if read_text(text).kind == "unknown"]


@for_each(
    ("name", "page", "says"),
    [
        ("perPhase", "/guide/ptx-cute-triton", "XORs the vectors of a row with its phase"),
        ("`boxDim`", "/guide/barriers-and-pipelines", "Count the whole box"),
        ("tf32x3", "/triton-dot", "How fp32 is multiplied."),
        ("skip span", "/zero-column-mask", "consecutive zeroed columns"),
        ("wgmma in order", "/guide", "A group of the guide"),
    ],
)
def test_a_name_in_a_page_opens_it_with_its_sentence(name: str, page: str, says: str) -> None:
    told = read_text(name)
    assert told.link.partition("#")[0].partition("?")[0] == page and any(says in notice for notice in told.notices)


@pytest.mark.thorough
def test_no_code_of_the_guide_is_refused_without_a_reason() -> None:
    names = [name for tier in printed_names.index_names() for name in tier]
    assert not [name for name in names if read_text(name).title in UNEXPLAINED]


@for_each("text", ["nothing", "Contents", "hello world", "frobnicate"])
def test_a_word_that_is_no_name_stays_unknown(text: str) -> None:
    assert read_text(text).kind == "unknown"


def test_the_address_of_check_leads_to_what_it_reports(client: Client) -> None:
    page = client.get("/check")
    assert page.status_code == 200 and "What lanescope check reports" in page.text
