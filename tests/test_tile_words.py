"""Tiles of shared memory in words, in the box."""

from __future__ import annotations

from lanescope.app.read import certain_links
from lanescope.app.read.text_meanings import read_text
from tests.cases import for_each
from tests.client import Client


@for_each(
    ("text", "sizes"),
    [
        ("tma box 64x128 swizzle 128B bf16", "swizzle=128B&mn=128&k=64"),  # 64 · 2 B = 128 B: the contiguous length
        ("64x64 fp16 tile with 128B swizzle", "swizzle=128B&mn=64&k=64"),
        ("TMA box {32, 128} f32 SWIZZLE_128B", "swizzle=128B&mn=128&k=32"),
        ("tensor-map 32 x 64 float16 swizzle 64B", "swizzle=64B&mn=64&k=32"),
        ("box 128x128 fp8 swizzle 128B", "swizzle=128B&mn=128&k=128"),
    ],
)
def test_a_box_in_words_opens_its_tile(client: Client, text: str, sizes: str) -> None:
    link = certain_links.find_certain_link(text)
    assert sizes in link and client.get(link).status_code == 200


@for_each(
    ("text", "tiles"),
    [
        ("A box: 64x128, B box: 64x256, swizzle 128B, bf16", ["mn=128&k=64", "mn=256&k=64"]),
        ("box 64x128 bf16 swizzle 128B and box 32x64 f32 swizzle 128B", ["mn=128&k=64", "mn=64&k=32"]),
        ("tiles 64x128 bf16 swizzle 128B, 32x256 bf16 swizzle 64B", ["mn=128&k=64", "mn=256&k=32"]),
    ],
)
def test_each_box_in_words_opens_its_tile(text: str, tiles: list[str]) -> None:
    told = read_text(text)
    assert [meaning.link.partition("&mn=")[2] for meaning in (told, *told.also)] == [tile[3:] for tile in tiles]


@for_each(
    "text",
    [
        "boxDim (64,128,1,1,1)\nswizzle 3\nboxDim (32,64,1,1,1)\nswizzle 2",
        "tma_a box=(64,128) swizzle=128B, tma_b box=(32,64) swizzle=64B",
        "swizzle 128B box [64, 128], swizzle 64B box [32, 64]",
    ],
)
def test_each_box_of_a_print_is_a_map_with_its_own_swizzle(text: str) -> None:
    told = read_text(text)
    found = [(meaning.facts["box"][:2], meaning.facts["swizzle"]) for meaning in (told, *told.also)]
    assert found == [([64, 128], "128B"), ([32, 64], "64B")]


@for_each(
    ("text", "reason"),
    [
        ("tma box 32x16 swizzle 128B bf16", "both lengths fit the 64 elements of a row"),
        ("32x128 bf16 128B", "neither length fills the 64 elements of a row"),
        ("64x128 f16 no swizzle", "without a swizzle either length may be contiguous"),
        ("tma box 64x128 swizzle 128B", "has no element type"),
        ("64x128 128B", "has no element type"),
        ("64x128 bf16 f32 swizzle 128B", "has several element types"),
        ("tma box 64x512 bf16 swizzle 128B", "at most 256 elements in each dimension, not 512"),
        ("64x128 512B", "No swizzle mode '512B'. Allowed: none, 32B, 64B, 128B."),
        ("64x128 bf16 K swizzle 96B", "No swizzle mode '96B'"),
        ("64x100 f16 K 128B", "k = 100 is not a multiple of the atom's 64"),
    ],
)
def test_a_tile_that_is_open_or_none_is_refused_with_the_reason(text: str, reason: str) -> None:
    told = read_text(text)
    assert told.kind == "unknown" and reason in told.notices[0] and not certain_links.find_certain_link(text)


@for_each(
    "text",
    [
        "128x64 bf16 K 128B",
        "128 x 64 half K-major swizzle_128B",
        "64x128 bf16 128B",  # 64 elements are the width of the swizzle
        "bf16 tile 128×64, K-major, 128B swizzle",
        "Tile of 128×64 16-bit elements: K-major, swizzle 128B",  # as the answer is called
    ],
)
def test_a_tile_has_one_title_however_it_is_written(text: str) -> None:
    assert read_text(text).title == "Tile of 128×64 16-bit elements: K-major, swizzle 128B"


@for_each("text", ["64x128 f32", "wgmma 64x128 bf16", "64x128x16 bf16"])
def test_sizes_without_a_word_of_a_tile_are_those_of_an_instruction(text: str) -> None:
    assert read_text(text).kind == "instruction"
