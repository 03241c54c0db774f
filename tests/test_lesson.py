"""The lesson of the guide: one tile from atom to descriptor. Its numbers are taken from the pages and compared with the
addresses of the engine's tile, element by element; no number stands in a source twice.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import product
from urllib.parse import parse_qsl, urlsplit

import pytest

from lanescope import find
from lanescope.app.guide import lesson, values
from lanescope.app.guide.rendering import render_guide_page
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import MODES, get_mode
from lanescope.shared.tiling import Tile
from tests.cases import for_each

PAGES = ("one-tile", "k-major-needs-no-transpose")
START, ROWS, DEPTH = 0x1000, 64, 16  # what the lesson says of its tile
STORED = {"k": ("K", "none"), "mn": ("MN", "64B")}
LAYOUT = re.compile(r"(?:Sw<(\d),(\d),(\d)> o )?(\((?:[\d,() ]|A)*\)):(\([\d,() ]*\))")


def make_tile(major: str, mode: str, order: str = "mn") -> Tile:
    return Tile(16, major, get_mode(mode), ROWS, DEPTH, order=order, base=START)


def strip_tags(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


def flatten(text: str) -> tuple[list[int], list[int]]:
    """The numbers of both modes of `((4,2),(8,2))`."""
    modes: tuple[list[int], list[int]] = ([], [])
    depth = at = 0
    for token in re.findall(r"\d+|[(),]", text):
        depth += (token == "(") - (token == ")")
        if token == "," and depth == 1:
            at += 1
        elif token.isdigit():
            modes[at].append(int(token))
    return modes


def place(coordinate: int, sizes: list[int], strides: list[int]) -> int:
    """What a coordinate adds to the index: its first digit runs fastest."""
    index = 0
    for size, stride in zip(sizes, strides, strict=True):
        index, coordinate = index + coordinate % size * stride, coordinate // size
    return index


def evaluate(text: str, mn: int, k: int) -> int:
    """The index of (mn, k) in a layout as CuTe prints it, without CuTe."""
    match = LAYOUT.fullmatch(text)
    assert match, text
    (mn_sizes, k_sizes), (mn_strides, k_strides) = flatten(match[4]), flatten(match[5])
    index = place(mn, mn_sizes, mn_strides) + place(k, k_sizes, k_strides)
    if match[1]:
        bits, base, shift = (int(match[n]) for n in (1, 2, 3))
        index ^= (index >> shift + base & (1 << bits) - 1) << base
    return index


def find_layouts(html: str) -> list[str]:
    """Every layout that a page prints, without the names of its strides."""
    codes = [strip_tags(code) for code in re.findall(r"<code>(.*?)</code>", html, re.S)]
    plain = [re.sub(r"(?:LBO|SBO) (?=\d)", "", code) for code in codes]
    return [code for code in plain if LAYOUT.fullmatch(code)]


def agrees(text: str, tile: Tile) -> bool:
    """Whether a layout, in chunks or in elements, gives the place of every element of a tile."""
    lines = {"K": (1, 8), "MN": (8, 1)}[tile.major]  # elements of a chunk along mn and k
    sizes = flatten(LAYOUT.fullmatch(text)[4])  # type: ignore[index]
    rows, depth = (_multiply(size) for size in sizes)
    if (rows, depth) == (tile.mn, tile.k):
        return all(
            tile.base + 2 * evaluate(text, mn, k) == int(tile.address(mn, k))
            for mn, k in product(range(tile.mn), range(tile.k))
        )
    if (rows, depth) == (tile.mn // lines[0], tile.k // lines[1]):
        return all(
            tile.base + 16 * evaluate(text, mn, k) == int(tile.address(mn * lines[0], k * lines[1]))
            for mn, k in product(range(rows), range(depth))
        )
    return False


def _multiply(numbers: list[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total


TILES = [
    make_tile(major, mode, order)
    for major, mode, order in product(("K", "MN"), ("none", "32B", "64B", "128B"), ("mn", "k"))
    if not (major == "K" and mode in ("64B", "128B"))
]
ATOMS = [
    Tile(16, major, get_mode(mode), *size, base=START)
    for (major, mode), size in ((("K", "none"), (8, 8)), (("MN", "64B"), (32, 8)))
]


@for_each("slug", PAGES)
def test_every_layout_of_the_lesson_is_its_tile_or_its_atom(slug: str) -> None:
    found = find_layouts(render_guide_page(slug))
    assert len(found) >= 4
    for text in found:
        assert any(agrees(text, tile) for tile in (*TILES, *ATOMS)), text
    wrong = found[-1].replace("64", "72")
    assert wrong != found[-1] and not any(agrees(wrong, tile) for tile in TILES)


@for_each("slug", PAGES)
def test_every_word_of_the_lesson_reads_its_tile(slug: str) -> None:
    """LBO, SBO and start of each word are the distances of elements in the tile that its link names."""
    links = re.findall(r'href="(/descriptor/wgmma/0x[0-9a-f]{16}[^"]*)"', render_guide_page(slug))
    assert len(links) >= 4
    for link in links:
        parts = urlsplit(unescape(link))
        word, query = Descriptor(int(parts.path.rpartition("/")[2], 16)), dict(parse_qsl(parts.query))
        stored = [(query["major"], query["s_swizzle"])] if query else list(STORED.values())
        assert any(matches(word, make_tile(*one)) for one in stored), link


def matches(word: Descriptor, tile: Tile) -> bool:
    """Whether a word has a tile's start and mode, and the strides that the tile has between its atoms."""
    down = int(tile.address(tile.atom[0], 0)) - START if tile.mn > tile.atom[0] else None
    along = int(tile.address(0, tile.atom[1])) - START if tile.k > tile.atom[1] else None
    swapped = tile.major == "MN" and tile.mode.chunks > 1
    lbo, sbo = (down, along) if swapped else (along, down)
    return (
        (word.start_address, word.mode) == (START, tile.mode)
        and lbo in (None, word.lbo_bytes)
        and sbo in (None, word.sbo_bytes)
    )


def test_the_lesson_says_the_strides_of_its_tile() -> None:
    text = strip_tags(render_guide_page("one-tile"))
    k, mn = (make_tile(*one) for one in STORED.values())
    assert f"SBO leads to the next 8 rows of M, {int(k.address(8, 0)) - START} bytes" in text
    assert f"LBO leads to the next chunk of K, {int(k.address(0, 8)) - START:,} bytes" in text
    assert f"LBO leads to the next atom along M, {int(mn.address(32, 0)) - START} bytes" in text
    assert f"SBO leads to the next 8 of K, {int(mn.address(0, 8)) - START:,} bytes" in text
    assert (
        f"{ROWS} rows of M and {DEPTH} columns of K, f16, {ROWS * DEPTH * 2:,} bytes from shared address 0x1000" in text
    )
    same = [str(make_tile(major, "none").descriptor()) for major in ("K", "MN")]
    assert same[0] == same[1] and "The words of the two storages without a swizzle are equal" in text


@for_each("letter", ["a", "b"])
def test_only_lines_along_k_go_without_a_transpose(letter: str) -> None:
    """What a lane receives is what mma takes, without .trans if K-major, with it if MN-major."""
    takes = lesson.describe_lane(letter)
    for name, (major, _) in STORED.items():
        plain, transposed = (lesson.describe_received(letter, name, given) for given in (False, True))
        assert (plain == takes, transposed == takes) == (major == "K", major == "MN")
        assert (".trans" in lesson.find_load(name, letter).load.instruction.ptx) == (major == "MN")
    page = strip_tags(render_guide_page("k-major-needs-no-transpose"))
    assert page.count(takes) >= 3


@pytest.mark.thorough
def test_ptx_writes_the_canonical_layouts_in_elements() -> None:
    """Each row with T, m, k, LBO and SBO put in gives the address of every element, for 16, 8 and 32 bits."""
    rows = re.findall(r"^\| (K|MN)-major \| (\w+) \| `(.*?)` \|$", values.TABLES["ptx-layouts"](), re.M)
    assert len(rows) == 2 * len(MODES)
    for (major, mode, text), bits in product(rows, (16, 8, 32)):
        if major != "K" and bits != 16:
            continue
        mn, k = (128, 2 * 128 // bits) if major == "K" else (128, 32)
        try:
            tile = Tile(bits, "K" if major == "K" else "MN", get_mode(mode), mn, k)
        except LayoutError:  # an atom deeper than one step of K
            tile = Tile(bits, "K", get_mode(mode), mn, get_mode(mode).width_bytes * 8 // bits)
        check_ptx_layout(text, tile)


def check_ptx_layout(text: str, tile: Tile) -> None:
    lbo, sbo = (n * 8 // tile.element_bits for n in tile.get_lbo_sbo_bytes())
    per = 128 // tile.element_bits
    atoms = {"m": tile.mn // tile.atom[0], "k": tile.k // 8}
    numbers = text.replace("SBO", str(sbo)).replace("LBO", str(lbo)).replace("2k", str(2))
    numbers = re.sub(r"(\d*)T", lambda match: str(int(match[1] or 1) * per), numbers)
    numbers = re.sub(r"[mk]", lambda match: str(atoms[match[0]]), numbers)
    depth = 2 * per if tile.major == "K" else tile.k
    size = tile.element_bits // 8
    assert all(
        tile.mode.swizzle()(size * evaluate(numbers, mn, k)) == int(tile.address(mn, k)) - tile.base
        for mn, k in product(range(tile.mn), range(depth))
    ), (text, numbers)


def test_the_swizzle_is_a_table_of_rows_and_columns() -> None:
    """Row r of 2^S columns, column c, goes to column c ^ (r mod 2^B), whatever B, M and S are."""
    for bits, base, shift in ((1, 0, 3), (2, 0, 3), (3, 0, 3), (2, 3, 3), (3, 4, 3)):
        for row, column, inside in product(range(2 << bits), range(1 << shift), (0, (1 << base) - 1)):
            index = (row << shift + base) + (column << base) + inside
            text = f"Sw<{bits},{base},{shift}> o ({1 << 12},1):(1,1)"
            moved = (row << shift + base) + ((column ^ row % (1 << bits)) << base) + inside
            assert evaluate(text, index, 0) == moved


@for_each(
    ("small", "large", "types"),
    [("m8n8k32", "m16n8k32", "s4"), ("m8n8k16", "m16n8k16", "s8"), ("m16n8k32", "m16n8k64", "s4")],
)
def test_larger_shapes_are_the_smaller_one_twice(small: str, large: str, types: str) -> None:
    """Twice the rows: A and C repeat 8 rows further down. Twice the depth: A and B repeat so many columns further."""
    first, second = (find(f"mma.{shape}.row.col.s32.{types}.{types}.s32") for shape in (small, large))
    deeper = first.sizes["k"] != second.sizes["k"]
    assert deeper or (second.sizes["m"], first.sizes["m"]) == (16, 8)
    for letter in "abc":
        one, two = first.operand(letter), second.operand(letter)
        count = one.values
        down, right = ((0, first.sizes["k"]) if letter == "a" else (first.sizes["k"], 0)) if deeper else (8, 0)
        assert (two.rows[:, :count] == one.rows).all() and (two.cols[:, :count] == one.cols).all()
        if two.values > count:
            assert (two.rows[:, count:] == one.rows + down).all() and (two.cols[:, count:] == one.cols + right).all()
    assert {letter for letter in "abc" if second.operand(letter).values > first.operand(letter).values} == set(
        "ab" if deeper else "ac"
    )
