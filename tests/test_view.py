"""Grids and pictures: owners by cell, labels, spoken names, deterministic SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from lanescope import find
from lanescope.ptx import catalog
from lanescope.render import cuda
from lanescope.render.figure import make_figure, make_operand_figure, make_product_figure
from lanescope.render.palette import LIGHT
from lanescope.render.svg import render_svg
from lanescope.render.view import OperandGrid
from tests.cases import for_each
from tests.sample import take_sample
from tests.spoken import speak_cell

M16 = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
QUAD = find("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")
WIDE = find("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")


@for_each("i", [M16, QUAD, WIDE], ids=lambda i: i.shape)
def test_a_cell_knows_its_owner(i: object) -> None:
    for op in i.operands.values():  # type: ignore[attr-defined]
        for product in range(op.extents.get("product", 1)):
            grid = OperandGrid(op, product)
            rows, cols = np.indices((grid.rows, grid.cols))
            for copy in range(op.pattern.copies):
                t, v = grid.thread[:, :, copy], grid.value[:, :, copy]
                assert np.array_equal(op.rows[t, v], rows) and np.array_equal(op.cols[t, v], cols)
                if "product" in op.coords:
                    assert (op.coords["product"][t, v] == product).all()


def test_svg_is_well_formed_deterministic_and_titled() -> None:
    for i in (M16, QUAD, WIDE):
        one, other = (render_svg(make_product_figure(i), title=i.ptx) for _ in range(2))
        assert one == other
        root = ET.fromstring(one)
        assert root.findtext("{*}title") == i.ptx


def test_svg_draws_every_cell_once_in_its_colour() -> None:
    text = render_svg(make_operand_figure(M16.operand("d")), title="d", colour="t")
    area = dict.fromkeys(LIGHT.four, 0.0)
    for path, fill in re.findall(r'<path d="([^"]*)" fill="(#\w{6})"', text):
        area[fill] += sum(float(w) for w in re.findall(r"h([\d.]+)v", path))
    widths = list(area.values())
    assert len(set(widths)) == 1 and sum(widths) == pytest.approx(16 * 8 * 46)
    assert sorted(re.findall(r">(T\d+:\d)<", text)) == sorted(f"T{t}:{v}" for t in range(32) for v in range(4))


def test_every_instruction_can_be_drawn() -> None:
    drawn = {
        (i.shape, tuple(op.pattern for op in i.operands.values())): i
        for i in catalog.instructions()
        if not i.family.issue  # its page binds a descriptor first: tests/test_tcgen05.py
    }
    for i in take_sample(list(drawn.values()), 40):
        figure = make_figure(i)
        assert render_svg(figure, title=i.ptx).endswith("</svg>\n")
        assert all(p.x + p.width <= figure.width and p.y + p.height <= figure.height for p in figure.panels)


# owners, worked out from the pattern alone --------------------------------------------------------------------------

# copies in one lane and in several, packed elements of every width, 64-bit registers, a warpgroup
OPERANDS = (
    ("wmma.load.a.row.m16n16k16.f16", "a"),
    ("wmma.load.b.row.m8n32k16.s8", "b"),
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "a"),
    ("mma.m16n8k32.row.col.s32.s8.s8.s32", "b"),
    ("mma.m8n8k32.row.col.s32.s4.s4.s32", "a"),
    ("mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "a"),
    ("mma.m8n8k4.row.col.f64.f64.f64.f64", "d"),
    ("wgmma.mma_async.m64n16k16.f32.f16.f16", "d"),
    ("wgmma.mma_async.m64n16k32.f32.e4m3.e4m3", "a"),
    ("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", "a"),
    ("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", "b"),
)


def format_holder(threads: int, thread: int) -> str:
    return f"warp {thread // 32}, lane {thread % 32}" if threads == 128 else f"lane {thread}"


@for_each(("ptx", "name"), OPERANDS)
def test_every_owner_of_a_cell_is_named_with_its_register(ptx: str, name: str) -> None:
    op = find(ptx).operand(name)
    grid = OperandGrid(op)
    labels = {kind: grid.format_labels(kind) for kind in ("lane:value", "register", "row,col", "index")}
    for row in range(0, grid.rows, 3):
        for col in range(0, grid.cols, 3):
            owners = op.owner(row, col)
            assert labels["row,col"][row][col] == f"{row},{col}" and labels["index"][row][col] == str(
                row * grid.cols + col
            )
            said, registers, spoken = (
                labels["lane:value"][row][col],
                labels["register"][row][col],
                speak_cell(grid, row, col),
            )
            assert said.startswith(f"T{owners[0][0]}:") and spoken.count("lane") == len(owners)
            for thread, value in owners:
                register, bit = (
                    value * op.container_bits // op.register_bits,
                    value * op.container_bits % op.register_bits,
                )
                bit += 2 if (op.element.name, op.container_bits) == ("e2m1", 8) else 0  # PTX ISA 9.1, 9.7.14.5.14
                last = bit + op.element.bits - 1
                assert (
                    f"register {register}" in spoken
                    and format_holder(op.threads, thread) in spoken
                    and f"{op.name}{value}" in spoken
                )
                assert (f"bits {bit} to {last}" if op.element.bits > 1 else f"bit {bit}") in spoken
                if thread == owners[0][0]:
                    assert str(value) in said and str(register) in registers


def test_a_value_padded_in_its_byte_is_read_out_where_it_lies() -> None:
    """e2m1 takes the middle four bits of its byte, e3m2 and e2m3 the low six: PTX ISA 9.1, 9.7.14.5.14."""
    i = find("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32")
    a, b = OperandGrid(i.operand("a")), OperandGrid(i.operand("b"))
    assert [a.format_spoken_bits(value) for value in range(5)] == [f"bits {n} to {n + 3}" for n in (2, 10, 18, 26, 2)]
    assert [b.format_spoken_bits(value) for value in range(4)] == [f"bits {n} to {n + 5}" for n in (0, 8, 16, 24)]
    assert "padded as in the register: its value in bits 2 to 5." in cuda.render_load(a.operand)
    assert "padded as in the register: its value in bits 0 to 5." in cuda.render_load(b.operand)


def test_copies_are_named_every_one() -> None:
    op = find("wmma.load.a.row.m16n16k16.f16").operand("a")
    owners = op.owner(3, 2)
    assert (
        len(owners) == 2
        and speak_cell(OperandGrid(op), 3, 2).count(" and ") + speak_cell(OperandGrid(op), 3, 2).count(";") >= 1
    )
    assert all(f"a{value}" in speak_cell(OperandGrid(op), 3, 2) for _, value in owners)
