"""The stepper of a wgmma with A in registers: each thread holds what PTX's figures say, and D is the product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanescope.app.kit.question import read_question
from lanescope.app.steps.wgmma_registers import HeldOperand
from lanescope.app.steps.wgmma_stepper import WgmmaStepper, WgmmaStepperQuestion, build_wgmma_stepper, can_step_wgmma
from lanescope.app.steps.wgmma_view import fill_storage
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from tests.cases import for_each
from tests.oracle import ptx as oracle
from tests.sample import take_sample

F16 = "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16"
SHOWN = [i for i in catalog.instructions() if can_step_wgmma(i)]


def step(ptx: str = F16, a: str = "from=registers", **asked: Any) -> tuple[WgmmaStepper, HeldOperand]:
    found = build_wgmma_stepper(read_question(WgmmaStepperQuestion, {"instruction": ptx, "a": a, **asked}))
    assert isinstance(found.a, HeldOperand)
    return found, found.a


BITS = catalog.find("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc")


@for_each("i", [BITS, *take_sample(SHOWN, 8)], ids=lambda i: i.ptx)
def test_threads_hold_what_the_map_says_and_d_is_the_product(i: Instruction) -> None:
    found, a = step(i.ptx)
    assert found.agrees and found.wrong == {"a": 0, "b": 0}
    operand = i.operands["a"]
    rows, cols = np.divmod(np.asarray(a.holds), a.k_step)
    per = found.per_cell  # a byte of 1-bit elements lies in one register, the first one lowest
    for n in range(per):
        assert np.array_equal(rows, operand.coords["row"][:, n::per])
        assert np.array_equal(per * cols + n, operand.coords["col"][:, n::per])
    if per == 1:
        dense = np.zeros((64, found.b.k))
        np.put_along_axis(dense, np.asarray(a.meets), np.asarray(a.numbers, float), axis=1)
        b = np.asarray(found.b.numbers).T
        for (_, end), total in zip(found.k_groups, found.d.sums[1:], strict=True):
            assert np.array_equal(total - found.d.sums[0], dense[:, :end] @ b[:end])


def test_a_is_the_same_product_as_from_shared_memory() -> None:
    stored = build_wgmma_stepper(read_question(WgmmaStepperQuestion, {"instruction": F16}))
    found, a = step()
    assert np.array_equal(a.numbers, stored.a.numbers) and np.array_equal(found.d.sums, stored.d.sums)


def test_a_lies_in_the_registers_of_ptx_figure() -> None:
    """Figure "WGMMA .m64nNk16 register fragment layout for matrix A", by the oracle that was written from it."""
    _, a = step()
    for thread, held in enumerate(a.holds):
        for value, element in enumerate(held):
            assert divmod(int(element), a.k_step) == oracle.wgmma_a(16)(thread, value)[:2]


def test_sentences_name_what_a_warp_holds_and_which_registers_follow() -> None:
    """By hand, thread 32: groupID 0, rows 16 and 24, columns 0–1 and 8–9; four registers a K step."""
    found, _ = step()
    hold = [one.caption for one in found.steps if one.kind == "hold"]
    assert len(hold) == 4 and "thread 32 has A[16][0…1] in R0, A[24][0…1] in R1, A[16][8…9] in R2" in hold[1]
    advance = [one.caption for one in found.steps if one.kind == "advance"]
    assert "in 4 further registers of each thread, R8–11 here" in advance[1] and "A’s start" not in advance[1]
    assert {one.operand for one in found.steps if one.kind in ("field", "line", "core")} == {"b"}


def test_metadata_say_which_row_of_b_a_stored_element_meets() -> None:
    found, a = step(SPARSE)
    assert found.b.k == 2 * a.k and (np.asarray(a.meets) // 4 == np.arange(a.k) // 2).all()


def test_a_wrong_word_of_b_is_seen_beside_it() -> None:
    found, _ = step(b="descriptor=0x8000004000010000")
    assert found.wrong["a"] == 0 and found.wrong["b"] > 0 and not found.agrees
    with pytest.raises(LayoutError) as refused:
        step(a="from=registers,swizzle=64B")
    assert refused.value.field == "a.swizzle"


def test_the_form_chooses_registers_and_shared_memory_again() -> None:
    assert fill_storage(F16, {"a": "swizzle=64B,k=32", "a_swizzle": "registers"})["a"] == "k=32,from=registers"
    assert fill_storage(F16, {"a": "k=32,from=registers", "a_swizzle": "64B"})["a"] == "k=32,swizzle=64B"
