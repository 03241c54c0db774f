"""Prepacked weights as page, route, command and answer of the box."""

from __future__ import annotations

import re

import pytest

from lanescope.app.kit.question import read_question
from lanescope.app.weights.draw import draw_weights
from lanescope.app.weights.facts import WeightQuestion, locate_weight
from lanescope.app.weights.find import parse_place
from lanescope.errors import LayoutError
from lanescope.weights.formats import FORMATS
from lanescope.weights.layout import WeightLayout, packed_weights
from tests.cases import for_each
from tests.client import Client


def make_layout(name: str) -> WeightLayout:
    return packed_weights(name, 64 if name == "machete" else 16, 128)


EVERY = [(name, bits) for name, row in FORMATS.items() for bits in row.left]


@for_each(
    ("format_", "text", "expected"),
    [
        ("marlin", "W[5, 18]", (5, 18)),
        ("marlin", "w[5][18]", (5, 18)),
        ("marlin", "k=5, n=18", (5, 18)),
        ("marlin", "5 18", (5, 18)),
        ("marlin", "word 41, nibble 4", (5, 18)),
        ("marlin", "lane 10, word 1, nibble 4", (5, 18)),
        ("marlin", "tile 1 lane 10 word 1 nibble 4", (5, 82)),
        ("gptq", "word 2", (0, 2)),
        ("machete", "warp 2, lane 22, word 1, nibble 0", (20, 37)),
        ("machete", "thread 86 word 1", (20, 37)),
    ],
)
def test_a_find_field_takes_elements_and_words(format_: str, text: str, expected: tuple[int, int]) -> None:
    assert parse_place(text, make_layout(format_)) == expected


@for_each(
    ("format_", "text", "said"),
    [
        ("marlin", "W[16, 0]", "k is 16. W is 16 × 128."),
        ("marlin", "lane 32 word 0", "lane is 32. A warp has 32 lanes."),
        ("marlin", "thread 32 word 0", "thread is 32. A tile has 32 threads."),
        ("marlin", "lane 3 word 4", "word is 4. A thread of a tile has 4 words. From 0 to 3."),
        ("marlin", "word 256", "word is 256. W has 256 words."),
        ("marlin", "tile 0 word 128", "word is 128. A tile has 128 words."),
        ("marlin", "tile 2 word 0", "tile is 2. W has 2 tiles. From 0 to 1. A larger W needs K and N."),
        ("marlin", "word 3 nibble 8", "nibble is 8. A word has 8 nibbles."),
        ("marlin", "word 3 byte 2", "byte is 2. A value has 4 bits. Give nibble 0 to 7."),
        ("machete", "lane 10 word 0", "lane is 10. 8 warps hold a tile. Write warp 0, lane 10, or thread 10."),
        ("machete", "warp 8 lane 10 word 0", "warp is 8. A tile has 8 warps."),
        ("machete", "warp 1 thread 10 word 0", "warp is 1, without a lane."),
        ("machete", "anything", "Write W[5, 18], or warp 2, lane 10, word 1, nibble 4."),
        ("awq", "lane 3 word 0", "does not say which thread"),
        ("marlin", "somewhere", "Write W[5, 18], or lane 10, word 1, nibble 4."),
    ],
)
def test_a_find_field_says_why_it_finds_nothing(format_: str, text: str, said: str) -> None:
    with pytest.raises(LayoutError) as refused:
        parse_place(text, make_layout(format_))
    assert (refused.value.code, refused.value.field) == ("bad_find", "find") and said in str(refused.value)


def test_the_route_answers_what_the_engine_says() -> None:
    told = locate_weight(read_question(WeightQuestion, {"format": "machete", "find": "W[100, 200]"}))
    layout = packed_weights("machete", 128, 256)
    place = layout.locate(100, 200)
    assert (told.k, told.n, told.place.word, told.place.thread) == (128, 256, place.word, place.thread)
    assert told.place.slot and place.fragment and told.place.slot.register == place.fragment.register
    assert (told.word[told.place.field].k, told.word[told.place.field].n) == (100, 200)
    assert locate_weight(read_question(WeightQuestion, {"format": "awq"})).place.slot is None
    index = locate_weight(read_question(WeightQuestion, {"format": "sparse-marlin"})).place.index
    assert index and index.selector == 0 and index.register == 1


def test_an_element_outside_of_given_sizes_is_refused_and_one_without_sizes_is_inside() -> None:
    with pytest.raises(LayoutError, match="k is 5"):
        locate_weight(read_question(WeightQuestion, {"format": "awq", "k": 1, "n": 8, "find": "W[5, 18]"}))
    told = locate_weight(read_question(WeightQuestion, {"format": "awq", "find": "W[100, 77]"}))
    assert (told.k, told.n, told.place.k, told.place.n) == (101, 80, 100, 77)
    smallest = locate_weight(read_question(WeightQuestion, {"format": "gptq"}))
    assert (smallest.k, smallest.n, smallest.place.k, smallest.place.n) == (16, 16, 5, 15)


@for_each(("name", "bits"), EVERY)
def test_the_picture_has_the_element_in_both_panels(name: str, bits: int) -> None:
    """Its cells name what the engine says of them."""
    k, n = packed_weights(name, bits=bits).tile.extents
    layout = packed_weights(name, 2 * k, 3 * n, bits)
    place = layout.locate(layout.k - 1, layout.n - 2)
    svg = draw_weights(layout, place)
    assert svg.count('class="ringed"') == 2
    assert svg.count("data-cells=") == 2


def test_a_choice_that_is_refused_stays_in_its_field(client: Client) -> None:
    page = client.get("/weights?format=gguf").text
    assert re.search(r'<select name="format" aria-invalid="true"[^>]*><option selected>gguf</option>', page)
