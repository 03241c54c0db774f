"""Sums over K: accumulators that nothing sets, or that every turn starts again, and the place of what is missing."""

from __future__ import annotations

import pytest

from tests.cases import for_each
from tests.checked import list_findings
from tests.transfer_kernels import TMA, plant

_LOOP = TMA[TMA.index("  for (int t = 0; t < K / BK; ++t) {") : TMA.index("  int lane = threadIdx.x % 32")]
_HEAD = "__global__ void __launch_bounds__(128) gemm"
# the loop over K in a function of its own, whose products get scale-d at run time
HELPER = plant(
    (_LOOP, "  sum_up(d, sA, sB, full, &ta, &tb, row, col, K);\n"),
    (
        _HEAD,
        "__device__ void sum_up(float (&sum)[64], bf16* sA, bf16* sB, uint64_t* full, const CUtensorMap* ta,\n"
        "    const CUtensorMap* tb, int row, int col, int K) {\n"
        + _LOOP.replace("&ta", "ta").replace("&tb", "tb").replace("multiply<1>(d, ", "multiply(sum, ")
        + "}\n"
        + _HEAD,
    ),
    ("template <int ScaleD> __device__ void multiply(float d[64],", "__device__ void multiply(float d[64],"),
    ("uint64_t desc_a, uint64_t desc_b) {\n", "uint64_t desc_a, uint64_t desc_b, int scale_d) {\n"),
    ('asm volatile("wgmma.mma', 'asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma'),
    ('%66, 1, 1, 0, 0;"', 'p, 1, 1, 0, 0;}"'),
    ('"n"(ScaleD)', '"r"(scale_d)'),
    ("BN * BK + k * 16));", "BN * BK + k * 16), (t | k) != 0);"),
    ("float d[64] = {};", "float d[64];"),
)


def test_right_sums_are_clean() -> None:
    assert not list_findings(HELPER)


MISTAKES = [
    ("    warpgroup_arrive();\n", "", "wgmma_fence_missing", "for (int k = 0"),
    ("(t | k) != 0", "1", "accumulator_unset", "multiply(sum"),
    ("(t | k) != 0", "k != 0", "accumulator_reset", "multiply(sum"),
]


@for_each(("old", "new", "code", "line"), MISTAKES)
def test_a_mistake_in_a_helper_stands_at_its_line_there(old: str, new: str, code: str, line: str) -> None:
    ((found, at),) = list_findings(plant((old, new), text=HELPER))
    assert found == code
    assert at.startswith(line)


@for_each(
    ("old", "new"),
    [
        ("(t | k) != 0", "t > 0 || k > 0"),
        # the first turn only
        (
            "    warpgroup_arrive();\n",
            "    if (t == 0) for (int i = 0; i < 64; ++i) sum[i] = 0;\n    warpgroup_arrive();\n",
        ),
        # set in the helper before its loop
        ("  for (int t = 0;", "  for (int i = 0; i < 64; ++i) sum[i] = 0;\n  for (int t = 0;"),
    ],
    sample=2,
)
def test_sums_that_start_once(old: str, new: str) -> None:
    assert not list_findings(plant((old, new), text=HELPER))
    if "sum[i]" in new:  # then scale-d may be 1 from the first product on
        always = plant((old, new), ("(t | k) != 0", "1"), text=HELPER)
        assert not list_findings(always)


@pytest.mark.thorough
@for_each(
    ("alias", "read"),
    [
        ("", "for (int i = 0; i < 64; ++i) total[i] += sum[i];"),
        ("float* part = sum;", "for (int i = 0; i < 64; ++i) total[i] += part[i];"),
    ],
)
def test_a_sum_that_is_promoted_in_every_turn_may_start_again(alias: str, read: str) -> None:
    """Two levels of accumulators, as for 8-bit products: each turn adds its sum to registers of its own."""
    text = plant(
        ("(t | k) != 0", "k != 0"),
        (
            "    warpgroup_wait<0>();\n",
            f"    warpgroup_wait<0>();\n    {read}\n",
        ),
        ("  for (int t = 0;", f"{alias}\n  for (int t = 0;"),
        ("void sum_up(float (&sum)[64],", "void sum_up(float (&sum)[64], float (&total)[64],"),
        ("  float d[64];\n  sum_up(d,", "  float d[64], total[64] = {};\n  sum_up(d, total,"),
        ("= d[j * 4];", "= total[j * 4];"),
        ("= d[j * 4 + 2];", "= total[j * 4 + 2];"),
        text=HELPER,
    )
    assert not list_findings(text)


def test_tiles_of_their_own_start_again() -> None:
    """A loop over tiles, each of which is stored before the next starts."""
    start = HELPER.index("  float d[64];")
    stored = HELPER[start : HELPER.index("\n}\n", start)]
    many = HELPER.replace(
        stored, "  for (int tile = 0; tile < 2; ++tile) {\n" + stored.replace("row +", "tile * BM +") + "\n  }"
    )
    assert not list_findings(many)
