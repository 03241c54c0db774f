"""The guide: every page renders, every link opens, every figure is drawn, and what it says in numbers is what the
engine computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from lanescope import find
from lanescope.app.guide import index as guide_index, rendering as guide, values as guide_values
from lanescope.descriptor.matrix import View, reads
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared import chain
from lanescope.shared.operand_storage import make_operand_storage
from lanescope.shared.swizzle import MODES, Mode, get_mode
from lanescope.shared.tiling import Tile
from tests.cases import for_each
from tests.client import Client
from tests.sample import is_chosen


@for_each("slug", guide.list_slugs(), sample=20)
def test_pages_render_and_their_links_open(client: Client, opens: Callable[[str], bool], slug: str) -> None:
    page = client.get(f"/guide/{slug}")
    assert page.status_code == 200 and "@figure" not in page.text and "FIGURE-" not in page.text
    main = page.text[page.text.index('<main id="main">') :]
    if slug in guide_index.ORDER:
        assert main.count("<svg") >= 1 or "<table" in main
    links = set(re.findall(r'href="(/[^"]*)"', main))
    assert links
    for link in links:
        if link.startswith("/guide/"):  # each page of the guide is rendered by this test
            assert re.split("[?#]", link.removeprefix("/guide/"))[0] in guide.list_slugs(), link
        else:
            assert not is_chosen(link, 16) or opens(re.sub(r"\.(png|pdf)(?=[?#]|$)", ".svg", link)), link


def test_a_figure_that_draws_nothing_is_refused() -> None:
    with pytest.raises(LayoutError, match="draws nothing"):
        guide.render_figure("/nothing", "x")


def test_the_ldmatrix_table_is_what_chain_computes() -> None:
    text = guide_index.read_source("ldmatrix")
    rows = re.findall(
        r"^\| ([AB]) 16×(?:16|8) f16 \| (\w+).*? \| (x\d(?:\.trans)?) \| row (.*?), byte (.*?) \|$", text, re.M
    )
    assert len(rows) == 4
    for letter, contiguous, load, line, byte in rows:
        op = find("mma.m16n8k16.row.col.f32.f16.f16.f32").operand(letter.lower())
        best = chain.list_best_chains(op, "K" if contiguous == "K" else "MN")[0]
        assert f".{load}." in best.load.instruction.ptx.replace("m8n8.", ".") or best.load.instruction.ptx.endswith(
            f"{load}.shared.b16"
        )
        assert chain.make_lane_formula(best) == {"line": line.replace("·", "*"), "byte": byte.replace("·", "*")}


def test_byte_pairs_go_through_trans_as_their_page_says() -> None:
    """Its formula is its CuTe layout, its examples need .trans, and its permutes make pairs of two rows."""
    text = guide_index.read_source("bytes-and-trans")
    formula = re.search(r"byte address of B\[k, n\]: `(.*?)`", text)
    assert formula
    op = find("mma.m8n8k16.row.col.s32.s8.s8.s32").operand("b")
    where = make_operand_storage({"kind": "cute", "layout": "(8,(2,8)):(2,(1,16))", "unit": "bytes"}, op, "K")
    assert all(
        eval(formula[1].replace("/", "//"), {"k": k, "n": n}) == where.address(n, k)
        for k in range(16)
        for n in range(8)
    )
    best = chain.list_best_chains(op, where)[0]
    assert best.lane_addresses[0, 0, :8].tolist() == [16 * lane for lane in range(8)]
    assert best.starts[0, 0, 0, :, :2].tolist() == [[0, 2 * lane] for lane in range(8)]
    examples = [
        dict(parse_qsl(urlsplit(link).query))
        for link in re.findall(r"\((/chain\?mma=.*?)\), (?:elements|bytes) \|", text)
    ]
    assert len(examples) == 5
    for given in examples:
        op = find(given["mma"]).operand("a")
        stored = make_operand_storage({"kind": "cute", "layout": given["s_layout"], "unit": given["s_unit"]}, op, "K")
        assert all(
            ".trans." in found.load.instruction.ptx for found in chain.list_best_chains(op, stored)
        ) and chain.list_best_chains(op, stored)
    rows = [f"r{n}" for n in range(4)] + [f"s{n}" for n in range(4)]  # four bytes of row k, four of row k + 1
    made = [
        [rows[int(digit)] for digit in reversed(selector)]
        for selector in re.findall(r"__byte_perm\(row0, row1, 0x(\d{4})\)", text)
    ]
    assert made == [["r0", "s0", "r1", "s1"], ["r2", "s2", "r3", "s3"]]


def render_cells(name: str) -> list[list[str]]:
    """The cells of a computed table, without its head."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in guide_values.TABLES[name]().splitlines()[2:]
    ]


def test_every_value_and_table_is_put_in_and_an_unknown_one_refused() -> None:
    for slug in guide_index.ORDER:
        text = re.sub(r' data-cells="[^"]*"', "", guide.render_guide_page(slug))  # JSON of the pictures
        assert not re.search(r"\{\{|\}\}|@table", text), slug
    for text in ("{{nothing x}}", "@table nothing"):
        with pytest.raises(LayoutError, match="No value 'nothing'"):
            guide_values.expand_values(text)


def test_the_swizzle_table_is_the_modes() -> None:
    for (name, width, bits, text, repeats, code, tma), chunks in zip(render_cells("modes"), (1, 2, 4, 8), strict=True):
        row = get_mode(name)
        assert (row.chunks, width, code, tma) == (chunks, f"{row.width_bytes} B", str(WGMMA.codes[row]), str(row.tma))
        match = re.fullmatch(r"Swizzle<(\d),4,3>", text)
        assert match
        swizzle = row.swizzle()
        moved = [bit for bit in range(4, 12) if swizzle(1 << bit) != 1 << bit]
        numbers = [int(n) for n in re.findall(r"\d+", bits)]
        assert moved == (list(range(numbers[len(numbers) // 2], numbers[-1] + 1)) if numbers else [])
        period = int(repeats[:-2]) if row.bits else 16
        assert [all(swizzle(x + n) == swizzle(x) + n for x in range(0, 2048, 16)) for n in (period, period // 2)] == [
            True,
            not row.bits,
        ]


@for_each("name", [m.name for m in MODES])
def test_base_offset_is_for_data_swizzled_by_offset_alone(name: str) -> None:
    """What the swizzle page says of its two cases, for tiles at every 128-byte row of the pattern."""
    m = get_mode(name)
    for base in range(0x1000, 0x1000 + 1024, 128):
        view = View(64, 16, 16, "K")
        tile = Tile(16, "K", m, 64, 64, base=base)
        assert np.array_equal(
            reads(tile.descriptor(), view), tile.address(np.arange(64)[:, None], np.arange(16)[None, :])
        )
        by_offset = base + m.swizzle()(tile.compute_offset_before(np.arange(64)[:, None], np.arange(16)[None, :]))
        assert np.array_equal(reads(tile.descriptor(), view), by_offset) == (
            base % m.pattern_bytes == 0 or m.chunks == 1
        )
        assert np.array_equal(reads(tile.descriptor().replace(base_offset=base >> 7 & 7), view), by_offset)


@for_each("m", MODES, ids=lambda m: m.name)
@for_each("major", ["K", "MN"])
def test_the_table_of_k_steps_is_where_the_steps_are(m: Mode, major: str) -> None:
    (text,) = (
        row[2] for row in render_cells("k-steps") if m.name in row[0].split(", ") and (row[1] == "K") == (major == "K")
    )
    tile = Tile(16, major, m, 64, 256)
    word, per_atom = tile.descriptor(), 0
    starts = [int(tile.address(0, k)) for k in range(0, 256, 16)]
    moved = [b - a for a, b in pairwise(starts)]
    if match := re.fullmatch(r"start \+ 2 · (LBO|SBO)", text):
        assert set(moved) == {2 * (word.lbo_bytes if match[1] == "LBO" else word.sbo_bytes)}
    elif match := re.fullmatch(r"start \+ 32 bytes inside the atom; after (\d) steps to the next atom along K", text):
        per_atom = int(match[1])
        assert [n for n, d in enumerate(moved) if d != 32] == list(range(per_atom - 1, len(moved), per_atom))
        assert {d for d in moved if d != 32} == {tile.strides[1] - 32 * (per_atom - 1)}
    else:
        assert text == "to the next atom along K: start + the stride between them" and set(moved) == {tile.strides[1]}
    said = "only in the K-major modes 64B and 128B" in guide_index.read_source("descriptor")
    assert said and (per_atom > 0) == (major == "K" and m.name in ("64B", "128B"))


@for_each("m", MODES, ids=lambda m: m.name)
@for_each("major", ["K", "MN"])
def test_the_table_of_strides_is_where_the_strides_lead(m: Mode, major: str) -> None:
    (row,) = (
        row for row in render_cells("strides") if m.name in row[0].split(", ") and (row[1] == "K") == (major == "K")
    )
    tile = Tile(16, major, m, 1024, 64)
    word = tile.descriptor()
    one_atom = 8 * m.chunks if major == "MN" else 8
    far = {
        "from one 16-byte chunk of K to the next": (0, 8),
        "from 8 rows of M or N to the next 8": (8, 0),
        "from 8 of K to the next 8": (0, 8),
        "from 8 of M or N to the next 8": (8, 0),
        "from one atom of M or N to the next": (one_atom, 0),
    }
    for name, cell, stride in (("lbo", row[2], word.lbo_bytes), ("sbo", row[3], word.sbo_bytes)):
        leads, _, unless = cell.partition("; not read when M or N is ")
        few = {"": 0, "8": 8, "one atom wide": one_atom}[unless]
        for rows in (8, 16, 64, 128, 256):
            view = View(rows, 16, 16, major)
            changed = not np.array_equal(reads(word, view), reads(word.replace(**{f"{name}_encoded": 0x3F}), view))
            assert changed == (leads != "not read" and rows > few), (cell, rows)
        if leads != "not read":
            assert stride == int(tile.address(*far[leads]))


def test_wmma_holds_its_copies_in_one_lane() -> None:
    op = find("wmma.load.a.sync.aligned.row.m16n16k16.f16").operand("a")
    for row in range(16):
        for col in range(16):
            held = op.owner(row, col)
            assert len(held) == 2 and len({lane for lane, _ in held}) == 1
            registers = sorted(op.register_of(value)[0] for _, value in held)
            assert registers[1] == registers[0] + 4
    text = guide.render_guide_page("wmma-mma-wgmma")
    assert "one lane holds each element, and\nholds it twice: the upper four registers repeat the lower four" in text


def test_lanes_page_answers_are_right() -> None:
    op = find("mma.m16n8k16.row.col.f32.f16.f16.f32").operand("a")
    assert op.owner(11, 2) == [(13, 2)]
    assert sorted({int(r) for r in op.rows[13]}) == [3, 11] and sorted({int(c) for c in op.cols[13]}) == [2, 3, 10, 11]
    assert op.register_of(5)[0] == op.register_of(4)[0] == 2
    text = guide.render_guide_page("lanes-and-fragments")
    assert "Lane 13 in a2, register 1, low half: g = 3" in text and "Rows 3 and 11, columns 2, 3, 10 and 11." in text


def test_m8n8k4_formula() -> None:
    op = find("mma.m8n8k4.row.col.f32.f16.f16.f32").operand("d")
    for lane in range(32):
        for i in range(8):
            h = lane // 16
            assert int(op.rows[lane, i]) == (lane & 1) + (i & 2) + 4 * h and int(op.cols[lane, i]) == (i & 4) + (
                lane & 2
            ) + (i & 1)
