"""The lane panel and the table of every lane: each value's text names the element the map says, with all its
coordinates.
"""

from __future__ import annotations

import re

from lanescope import find
from lanescope.app.compare.facts import compare_fragments
from lanescope.app.instruction import lanes
from lanescope.app.instruction.spread import build_chart, build_spreads
from lanescope.ptx import catalog
from lanescope.render.figure import make_figure
from lanescope.render.view import OperandGrid
from tests.cases import for_each
from tests.oracle import ptx
from tests.sample import take_sample

SHOWN = tuple(
    {(i.family.name, i.shape, i.syntax.opcode): i for i in catalog.instructions() if i.threads == 32}.values()
)


@for_each("found", take_sample(SHOWN, 26), ids=lambda i: i.ptx)
def test_every_value_in_the_panel_is_where_its_map_says(found: object) -> None:
    assert isinstance(found, catalog.Instruction)
    figure = make_figure(found)
    seen = 0
    for panel, grid in lanes.build_panel_grids(found, figure).items():
        op = grid.operand
        for thread in range(op.threads):
            told = lanes.build_lane_registers(grid, panel, thread)
            for register, values in (told.registers if told else {}).items():
                for each in values:
                    if op.name == "address":
                        assert (grid.product, int(each.text.removeprefix("row "))) == tuple(
                            int(op.coords[a][thread, 0]) for a in ("matrix", "row")
                        )
                        continue
                    ((title, row, col),) = re.findall(r"^(\w+)\[(\d+)\]\[(\d+)\]$", each.text)
                    value = re.fullmatch(r"[a-z]+(\d+), bits \[\d+:\d+\]", each.tip)[1]  # type: ignore[index]
                    place = [int(row), int(col)]
                    third = [axis for axis in op.axes if axis not in op.plane]
                    if third:
                        place.insert(
                            op.axes.index(third[0]), int(title[6:]) if title.startswith("matrix") else grid.product
                        )
                    assert [int(op.coords[axis][thread, int(value)]) for axis in op.axes] == place
                    assert op.register_of(int(value))[0] == register
                    seen += 1
    assert seen


# rows and columns over lanes ------------------------------------------------------------------------------------------

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def test_a_row_of_a_is_in_four_lanes_as_ptx_draws_it() -> None:
    """By the oracle's map of m16n8k16's A: (lane, value) → (row, column), two values a register."""
    held = {(lane, value): ptx.m16n8k16_half_a(lane, value) for lane in range(32) for value in range(8)}
    spreads = {(one.operand, one.line): one for one in build_spreads(find(M16))}
    for axis, line in enumerate(("row", "column")):
        lanes = {lane for (lane, _), at in held.items() if at[axis] == 5}
        values = [value for (lane, value), at in held.items() if at[axis] == 5 and lane == min(lanes)]
        one = spreads["A", line]
        assert (one.count, one.lanes, one.per_lane) == (16, str(len(lanes)), str(len(values)))
        assert one.registers == str(len({value // 2 for value in values}))
    assert (spreads["A", "row"].lanes, spreads["A", "column"].lanes) == ("4", "8")


def test_a_sum_along_a_row_of_wgmma_s_d_combines_four_threads() -> None:
    """PTX's figure of D: thread t of a quad has columns 2t and 2t + 1 of every 8."""
    (row, column) = [
        one for one in build_spreads(find("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")) if one.operand == "D"
    ]
    assert (row.count, row.lanes, row.per_lane, row.registers) == (64, "4", "64", "64")
    assert (column.count, column.lanes, column.per_lane) == (256, "32", "2")


@for_each("ptx_text", ["ldmatrix.sync.aligned.m8n8.x4.shared.b16", "tcgen05.mma.cta_group::1.kind::f16"])
def test_what_no_lane_holds_element_by_element_has_no_spread(ptx_text: str) -> None:
    assert build_spreads(find(ptx_text)) == [] and build_chart(find(ptx_text)) == ""


# two operands side by side --------------------------------------------------------------------------------------------

MMA, WMMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "wmma.load.a.sync.aligned.row.m16n16k16.f16"


def find_operand(ptx: str, name: str):  # type: ignore[no-untyped-def]
    return find(ptx).operand(name)


def test_an_element_that_one_side_holds_twice_is_no_same_layout() -> None:
    """wmma's A of m16n16k16 holds every element twice, mma's A once: PTX ISA 9.7.15.4, measured on an H100."""
    told = compare_fragments(find_operand(MMA, "a"), find_operand(WMMA, "a"))
    assert (told.copies.left, told.copies.right) == (1, 2) and not told.same
    assert told.other_count + told.other_lane + told.other_value == told.total
    turned = compare_fragments(find_operand(WMMA, "a"), find_operand(MMA, "a"))
    assert (turned.copies.left, turned.other_count) == (2, told.other_count)
    assert (turned.moved == told.moved).all()


@for_each(("ptx", "name"), [(MMA, "a"), (MMA, "d"), (WMMA, "a"), ("ldmatrix.m8n8.x4.shared.b16", "data")])
def test_an_operand_is_the_same_as_itself(ptx: str, name: str) -> None:
    told = compare_fragments(find_operand(ptx, name), find_operand(ptx, name))
    assert told.same and not told.moved.any()


def test_the_verdict_is_that_of_sets_of_places() -> None:
    """Element by element, from the grids alone: pairs of both sides, lanes of both sides."""
    left = find_operand(MMA, "a")
    for one, two in ((left, find_operand(WMMA, "a")), (find_operand(WMMA, "a"), left), (left, left)):
        told = compare_fragments(one, two)
        a, b = OperandGrid(one), OperandGrid(two)
        for row in range(a.rows):
            for col in range(a.cols):
                held = [set(zip(g.thread[row, col].tolist(), g.value[row, col].tolist(), strict=True)) for g in (a, b)]
                lanes = [{lane for lane, _ in pairs} for pairs in held]
                wanted = (
                    0
                    if held[0] == held[1]
                    else 3
                    if held[0] < held[1] or held[1] < held[0]
                    else 2
                    if lanes[0] != lanes[1]
                    else 1
                )
                assert told.moved[row, col] == wanted, (row, col)
