"""Grids and pictures: owners by cell, labels, spoken names, deterministic SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from lanescope import find
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.render.palette import DARK, LIGHT
from lanescope.render.svg import svg
from lanescope.render.view import LABELS, Grid, figure_of, operand_figure, product_figure
from tests.held import holding

held_answers = holding("operand_figure figure_of")

M16 = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
QUAD = find("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")
WIDE = find("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")


@pytest.mark.parametrize("i", [M16, QUAD, WIDE], ids=lambda i: i.shape)
def test_a_cell_knows_its_owner(i: object) -> None:
    for op in i.operands.values():  # type: ignore[attr-defined]
        for product in range(op.extents.get("product", 1)):
            grid = Grid(op, product)
            rows, cols = np.indices((grid.rows, grid.cols))
            for copy in range(op.pattern.copies):
                t, v = grid.thread[:, :, copy], grid.value[:, :, copy]
                assert np.array_equal(op.rows[t, v], rows) and np.array_equal(op.cols[t, v], cols)
                if "product" in op.coords:
                    assert (op.coords["product"][t, v] == product).all()


def test_labels_and_spoken_name() -> None:
    grid = Grid(M16.operand("a"))
    assert [grid.labels(kind)[11][3] for kind in LABELS] == ["T13:3", "T13 R1", "11,3", "179", ""]
    assert grid.spoken(11, 3) == "A row 11 column 3: lane 13, value a3, register 1 bits 16 to 31"


def test_category_follows_the_digits() -> None:
    grid = Grid(M16.operand("a"))
    assert grid.category("g")[11, 3] == 3 and grid.category("t")[11, 3] == 1
    assert grid.category("i")[11, 3] == 1 and grid.category("j")[11, 3] == 0 and grid.category("e")[11, 3] == 1
    assert grid.category("register")[11, 3] == 1
    with pytest.raises(LayoutError, match="is not a name of"):
        grid.category("z")
    with pytest.raises(LayoutError, match="No label"):
        grid.labels("z")


def test_figure_lines_a_up_with_d_and_b_with_d() -> None:
    for i in (M16, QUAD, WIDE):
        panel = {p.name: p for p in product_figure(i).panels}
        assert panel["a"].y == panel["d"].y and panel["a"].height == panel["d"].height
        assert panel["b"].x == panel["d"].x and panel["b"].width == panel["d"].width
        assert panel["b"].y + panel["b"].height < panel["d"].y and panel["a"].x + panel["a"].width < panel["d"].x
        figure = product_figure(i)
        assert all(p.x + p.width <= figure.width and p.y + p.height <= figure.height for p in figure.panels)


def test_svg_is_well_formed_deterministic_and_titled() -> None:
    for i in (M16, QUAD, WIDE):
        one, other = (svg(product_figure(i), title=i.ptx) for _ in range(2))
        assert one == other
        root = ET.fromstring(one)
        assert root.findtext("{*}title") == i.ptx


def test_svg_draws_every_cell_once_in_its_colour() -> None:
    text = svg(operand_figure(M16.operand("d")), title="d", colour="t")
    area = dict.fromkeys(LIGHT.four, 0.0)
    for path, fill in re.findall(r'<path d="([^"]*)" fill="(#\w{6})"', text):
        area[fill] += sum(float(w) for w in re.findall(r"h([\d.]+)v", path))
    widths = list(area.values())
    assert len(set(widths)) == 1 and sum(widths) == pytest.approx(16 * 8 * 46)
    assert sorted(re.findall(r">(T\d+:\d)<", text)) == sorted(f"T{t}:{v}" for t in range(32) for v in range(4))


def test_svg_fades_other_lanes_and_follows_the_theme() -> None:
    text = svg(operand_figure(M16.operand("d")), title="d", threads=frozenset({5}), palette=DARK)
    assert set(re.findall(r">(T\d+):\d<", text)) == {"T5"} and DARK.paper in text
    assert "var(--fill-0)" in svg(operand_figure(M16.operand("d")), title="d", palette=None)


def test_large_figures_stay_small() -> None:
    text = svg(product_figure(WIDE), title=WIDE.ptx)
    assert text.count("<text") < 150 and len(text) < 40_000


def test_every_instruction_can_be_drawn() -> None:
    drawn = {
        (i.shape, tuple(op.pattern for op in i.operands.values())): i
        for i in catalog.instructions()
        if not i.family.issue  # its page binds a descriptor first: tests/test_tcgen05.py
    }
    for i in drawn.values():
        figure = figure_of(i)
        assert svg(figure, title=i.ptx).endswith("</svg>\n")
        assert all(p.x + p.width <= figure.width and p.y + p.height <= figure.height for p in figure.panels)
