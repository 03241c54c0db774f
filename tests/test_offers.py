"""What a refusal of find() offers in place of a wrong instruction."""

from __future__ import annotations

from functools import cache

import pytest

from lanescope.errors import LayoutError
from lanescope.ptx.catalog import find
from tests.cases import for_each

WRONG = (
    "mma",
    "wmma",
    "wgmma",
    "wmma.load",
    "wgmma.sp",
    "wgmma.satfinite",
    "wgmma.both.foo",
    "mma.mma_async",
    "mma.sp",
    "ldmatrix",
    "mna.m16n8k16.row.col.f32.f16.f16.f32",
    "add.f32",
    "",
    "hello",
    "mma.m16n8k12.row.col.f32.f16.f16.f32",
    "mma.m16n16k16.row.col.f32.f16.f16.f32",
    "mma.m16n8k16.col.col.f32.f16.f16.f32",
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k16.row.col.f32.f16.bf16.f32",
    "mma.m16n8k16.row.col.f16.bf16.bf16.f16",
    "mma.m16n8k8.row.col.f32.f32.f32.f32",
    "mma.m16n8k32.row.col.f32.e4m3.e3m2.f32",
    "mma.m16n8k32.row.col.s32.s8.s8.f32",
    "mma.m16n8k32.row.col.satfinite.f32.f16.f16.f32",
    "mma.m8n8k128.row.col.s32.b1.b1.s32",
    "mma.m8n8k4.row.col.f64.f64.f64",
    "mma.sync.m16n8k16.row.col.f32.f16.f16.f32.f32",
    "mma.sp.m16n8k16.row.col.f32.e4m3.e4m3.f32",
    "mma.sp.m16n8k32.row.col.f32.bf16.f16.f32",
    "mma.sp.m8n8k16.row.col.s32.s8.s8.s32",
    "mma.m16n8k64.row.col.kind::mxf4.f32.e2m1.e2m1.f32.ue8m0",
    "mma.m16n8k32.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
    "mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::8X.f32.e2m1.e2m1.f32.ue4m3",
    "mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.s8.f32",
    "wgmma.mma_async.m64n12k16.f32.f16.f16",
    "wgmma.mma_async.m64n264k16.f32.f16.f16",
    "wgmma.mma_async.m128n64k16.f32.f16.f16",
    "wgmma.mma_async.m64n64k32.f32.f16.f16",
    "wgmma.mma_async.m64n64k16.f32.f16.bf16",
    "wgmma.mma_async.m64n64k16.f16.bf16.bf16",
    "wgmma.mma_async.m64n24k32.s32.s8.s8.satfinite.relu",
    "wgmma.m64n64k16.f32.f16.f16",
    "wgmma.mma_async.m64n40k32.s32.s8.u8",
    "wgmma.mma_async.sp.m64n64k16.f32.f16.f16",
    "wgmma.mma_async.m64n8k256.s32.b1.b1.xor.popc",
    "wmma.mma.row.col.m16n16k32.f32.f32",
    "wmma.mma.m16n16k16.f32.f32",
    "wmma.mma.row.col.m16n16k16.f32.f64",
    "wmma.load.a.m16n16k16.f16",
    "wmma.load.b.row.m8n8k4.f16",
    "wmma.load.e.row.m16n16k16.f16",
    "wmma.store.c.row.m16n16k16.f32",
    "wmma.store.d.row.m16n16k16.s8",
    "wmma.mma.row.col.m8n8k32.s32.s4.u4.s32",
    "ldmatrix.m8n8.x3.shared.b16",
    "ldmatrix.m16n16.x4.trans.shared.b8",
    "ldmatrix.m8n8.x4.global.b16",
    "ldmatrix.m8n8.x4.shared.b8",
    "ldmatrix.m8n16.x2.trans.shared.b8x16.b6x16_p32",
    "stmatrix.m8n8.x4.shared.b32",
    "stmatrix.m16n8.x4.shared.b8",
    "movmatrix.m8n8.b16",
    "movmatrix.m16n8.trans.b16",
    "tcgen05.mma.cta_group::3.kind::f16",
    "mma." + "m16n8k16." * 40,
)


@cache
def get_refusal(text: str) -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        find(text)
    return caught.value


def test_an_opcode_that_ends_early_is_offered_its_own_endings() -> None:
    """The opcodes that begin so, or have its first word; an instruction of each; and what else a text must say."""
    error = get_refusal("wmma.load")
    assert "(allowed: wmma.load.a, wmma.load.b, wmma.load.c); layouts, shape and types are missing." in error.message
    opcodes = [find(ptx).family.opcode.text for ptx in error.nearest]
    assert opcodes == ["wmma.load.a", "wmma.load.b", "wmma.load.c"]


@for_each("text", ["wgmma", "wgmma.sp"])
def test_a_short_opcode_is_understood(text: str) -> None:
    """As people say it; only what is missing is named, and what is offered is of that opcode."""
    error = get_refusal(text)
    assert error.message == f"No instruction '{text}': shape and types are missing."
    assert {find(ptx).family.opcode.short for ptx in error.nearest} == {text}


@pytest.mark.thorough
def test_what_is_offered_is_legal() -> None:
    for text in WRONG:
        near = get_refusal(text).nearest
        assert all(find(ptx).ptx == ptx for ptx in near), text
        assert all(ptx in get_refusal(text).hint for ptx in near) or not near or "Allowed" in get_refusal(text).hint
