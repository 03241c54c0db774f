"""How rows and columns of a matrix spread over lanes and registers."""

from __future__ import annotations

from lanescope import find
from lanescope.app.instruction.spread import build_chart, build_spreads
from tests.cases import for_each
from tests.oracle import ptx

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
