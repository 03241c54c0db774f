"""Metadata and scale factors beside A and B: which lane and bits belong to which element, against PTX's rules."""

from __future__ import annotations

import itertools

from lanescope.app.instruction import headline, state
from lanescope.app.instruction.supplies import METADATA, build_supplies, list_facts
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.render.figure import make_figure
from tests.cases import for_each
from tests.oracle import movement, sparse

F16 = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"


def _list_distinct(kind: str) -> list[Instruction]:
    """One instruction of each map: with metadata, or with scale factors."""
    found = {}
    for i in catalog.instructions():
        a = i.operands.get("a")
        if kind == "sparse" and a is not None and a.sparsity:
            found[i.threads, i.sizes["k"], a.container_bits] = i
        if kind == "scaled" and i.scales:
            found[i.scales["scale_a"].blocks, i.sizes["k"], bool(a and a.sparsity)] = i
    return list(found.values())


@for_each("instruction", lambda: _list_distinct("sparse"), ids=lambda i: i.ptx)
def test_the_metadata_of_an_element_is_where_ptx_puts_that_of_its_group(instruction: Instruction) -> None:
    """Of every stored element and selector: the cell that is linked with it, its lane, and the bits of its group."""
    a = instruction.operand("a")
    assert a.sparsity is not None
    kept = {32: 1, 16: 2, 8: 2, 4: 4}[a.container_bits]
    for selector in range(a.sparsity.selectors):
        shown = build_supplies(instruction, make_figure(instruction), state.PageState(selector=selector))[METADATA]
        for row, col in itertools.product(range(a.row_count), range(a.col_count)):
            at = int(shown.down[row]), int(shown.across[col])
            assert at == (row, col // kept)
            warp, in_warp = divmod(row, 16)
            lane, bit = sparse.metadata(instruction.sizes["k"], a.container_bits, selector, in_warp, at[1])
            assert int(shown.thread[at]) == 32 * warp + lane
            assert 4 * int(shown.unit[at]) == bit


def test_an_element_of_a_names_the_two_bits_that_choose_its_row_of_b() -> None:
    """Row 3 of a 16×32 A: stored column 3 is the second of columns 4–7, whose nibble is bits 7:4 of lane 12."""
    instruction = catalog.find(F16)
    supplies = build_supplies(instruction, make_figure(instruction), state.PageState())
    facts = {name: int(numbers[3, 3]) for name, numbers in list_facts(supplies, "a").items()}
    assert facts == {"first": 4, "last": 7, "meta_low": 6, "meta_high": 7, "meta_thread": 12}
    answer = headline.build_answer(instruction, make_figure(instruction), state.PageState(pin="a:3,3", selector=1))
    assert "Bits 7:6 of e in lane 14 choose it from B[4–7]." in answer.text
    nibble = headline.build_answer(instruction, make_figure(instruction), state.PageState(pin="e:11,2"))
    assert nibble.lines == ("The metadata of `A[11][8–11]` is in `lane 12`, `e`, bits `27:24`",)
    assert "A[11][4–5] as stored" in nibble.text


@for_each("instruction", lambda: _list_distinct("scaled"), ids=lambda i: i.ptx)
def test_the_factor_of_an_element_is_where_ptx_puts_that_of_its_block(instruction: Instruction) -> None:
    """Elements of A by row and block of K, of B by column and block, for every byte-id and thread-id."""
    figure = make_figure(instruction)
    for letter in "ab":
        scale = instruction.scales[f"scale_{letter}"]
        supplier = getattr(movement, scale.name)
        depth = instruction.sizes["k"] // scale.blocks
        op = instruction.operand(letter)
        kept, group = (op.sparsity.kept, op.sparsity.group) if op.sparsity else (1, 1)
        for byte_id, thread_id in itertools.product(scale.byte_ids, scale.thread_ids):
            chosen = state.PageState(**{f"byte_id_{letter}": byte_id, f"thread_id_{letter}": thread_id})
            facts = list_facts(build_supplies(instruction, figure, chosen), letter)
            for row, col in itertools.product(range(op.row_count), range(op.col_count)):
                line, along = (row, col // kept * group) if letter == "a" else (col, row)
                assert facts["factor"][row, col] == along // depth
                assert facts["factor_byte"][row, col] == byte_id + along // depth
                assert facts["factor_thread"][row, col] == supplier(thread_id, line)
