"""Two operands side by side: where every element is held, and how often."""

from __future__ import annotations

from lanescope import find
from lanescope.app.compare.facts import compare_fragments
from lanescope.render.view import OperandGrid
from tests.cases import for_each

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
