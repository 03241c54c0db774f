"""PTX modules: a descriptor that leaves the order of K slices, and an address that is not shifted by 4."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_text

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry gemm(.param .u64 gemm_param_0)
{
  .reg .b32 %r<40>;
  .reg .b64 %rd<40>;
  .reg .f32 %f<8>;
  mov.u32 %r1, smem;
  add.s32 %r2, %r1, 8192;
  and.b32 %r3, %r1, 262128;
  and.b32 %r4, %r2, 262128;
  shr.u32 %r5, %r3, 4;
  shr.u32 %r6, %r4, 4;
  cvt.u64.u32 %rd1, %r5;
  cvt.u64.u32 %rd2, %r6;
  or.b64 %rd10, %rd1, 4611686293305294848;
  or.b64 %rd20, %rd2, 4611686293305294848;
"""
MMA = "  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1$, %rd2$, 1, 1, 1, 0, 0;\n"
STEPS = "".join(f"  add.s64 %rd1{n}, %rd10, {2 * n};\n  add.s64 %rd2{n}, %rd20, {2 * n};\n" for n in (1, 2, 3))
MODULE = HEAD + STEPS + "".join(MMA.replace("$", str(n)) for n in range(4)) + "}\n"


def list_findings(text: str) -> list[tuple[str, str]]:
    lines = text.split("\n")
    return [(one.code, lines[text.count("\n", 0, one.span[0])].strip()) for one in check_text(text).findings]


@for_each(
    ("old", "new", "code", "line"),
    [
        ("%rd20, 4", "%rd20, 8", "k_slice_wrong", "add.s64 %rd22, %rd20, 8;"),
        ("%rd10, 2", "%rd10, 4", "k_slice_wrong", "add.s64 %rd11, %rd10, 4;"),
        ("%rd20, 6", "%rd10, 6", "k_slice_wrong", "add.s64 %rd23, %rd10, 6;"),  # A's descriptor
        ("shr.u32 %r5, %r3, 4", "shr.u32 %r5, %r3, 3", "not_shifted", "shr.u32 %r5, %r3, 3;"),
    ],
)
def test_a_planted_mistake_is_found_at_its_line(old: str, new: str, code: str, line: str) -> None:
    assert list_findings(MODULE.replace(old, new)) == [(code, line)]


@for_each(
    "changes",
    [
        {},
        {"%rd20, 4;": "%rd20, 512;", "%rd20, 6;": "%rd20, 514;"},  # in rows of two slices
        {"%rd20, 4;": "%rd20, 8;", "4611686293305294848": str(2 << 62 | 32 << 32 | 1 << 16)},  # the 64B swizzle
        {"%rd20, 4;": "%rd20, 8;", "1, 1, 1, 0, 0": "1, 1, 1, 0, 1"},  # B is MN-major
        {"%rd20, 4;": "%rd20, 8;", "{%f0, %f1, %f2, %f3}, %rd12": "{%f4, %f5, %f6, %f7}, %rd12"},  # other sums
    ],
)
def test_other_orders_are_no_finding(changes: dict[str, str]) -> None:
    text = MODULE
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    assert list_findings(text) == []
