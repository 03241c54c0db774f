"""Right kernels that multiply the slices of a tile in loops of other shapes; a wrong slice in them is still found."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lanescope.reader.code.symbolic_integers import LinearExpression, make_symbol
from lanescope.workbench.descriptors.slice_order import find_places
from tests.cases import for_each
from tests.checked import Checks, check_text, check_whole
from tests.transfer_kernels import TMA, plant

LOOP = """    for (int k = 0; k < BK / 16; ++k)
      multiply<1>(d, make_smem_desc(sA + slot * BM * BK + k * 16), make_smem_desc(sB + slot * BN * BK + k * 16));
"""
PRODUCT = "multiply<1>(d, make_smem_desc(sA + slot * BM * BK + {0}), make_smem_desc(sB + slot * BN * BK + {0}));\n"
HALF = """__device__ void multiply_half(float d[64], const bf16* a, const bf16* b) {
  for (int k = 0; k < BK / 32; ++k) multiply<1>(d, make_smem_desc(a + k * 16), make_smem_desc(b + k * 16));
}
__global__"""
WORDS = """    uint64_t a = make_smem_desc(sA + slot * BM * BK), b = make_smem_desc(sB + slot * BN * BK);
    for (int half = 0; half < 2; ++half)
      for (int k = 0; k < BK / 32; ++k, a += 2, b += 2) multiply<1>(d, a, b);
"""


def write_loops(*loops: tuple[str, str]) -> tuple[str, str]:
    """Replace the loop over K by others: (head, offset of the slice in elements)."""
    return LOOP, "".join(f"    {head}\n      {PRODUCT.format(offset)}" for head, offset in loops)


def list_codes(*pairs: tuple[str, str], checks: Checks = check_text) -> list[str]:
    return [finding.code for finding in checks(plant(*pairs, text=TMA)).findings]


FIRST, SECOND = "for (int k = 0; k < BK / 32; ++k)", "for (int k = BK / 32; k < BK / 16; ++k)"
CALLS = "    multiply_half(d, sA + slot * BM * BK, sB + slot * BN * BK);\n"
CALLS += "    multiply_half(d, sA + slot * BM * BK + {0}, sB + slot * BN * BK + {0});\n"
STYLES = {
    "nested loops": [write_loops((f"for (int half = 0; half < 2; ++half)\n    {FIRST}", "half * 32 + k * 16"))],
    "odd backwards, then even": [
        write_loops(("for (int k = 3; k >= 0; k -= 2)", "k * 16"), ("for (int k = 0; k < 4; k += 2)", "k * 16"))
    ],
    "a helper called twice": [("__global__", HALF), (LOOP, CALLS.format("BK / 2"))],
    "words that advance": [(LOOP, WORDS)],
}


@pytest.mark.thorough
@for_each("style", STYLES, sample=2)
def test_slices_may_be_multiplied_in_any_order(style: str) -> None:
    report = check_text(plant(*STYLES[style], text=TMA))
    assert [finding.code for finding in report.findings] == []
    assert report.steps == check_text(TMA).steps


# two tiles of 64 rows in each step along K
TALL = "a + k * 16), b);\n      multiply<1>(e, make_smem_desc(a + 64 * BK + k * 16), b);"
TWO_ROWS = (
    ("BM = 64", "BM = 128"),
    ("float d[64] = {};", "float d[64] = {}, e[64] = {};"),
    (
        LOOP,
        """    for (int k = 0; k < BK / 16; ++k) {
      const bf16* a = sA + slot * BM * BK;
      const uint64_t b = make_smem_desc(sB + slot * BN * BK + k * 16);
      multiply<1>(d, make_smem_desc("""
        + TALL
        + "\n    }\n",
    ),
)


def test_a_step_along_k_may_multiply_several_tiles_of_m() -> None:
    report = check_text(plant(*TWO_ROWS, text=TMA))
    assert not any(part.gap for part in report.checked)
    assert report.steps == 3 * check_text(TMA).steps // 2  # two of A for each of B
    (code,) = list_codes(*TWO_ROWS[:2], (TWO_ROWS[2][0], TWO_ROWS[2][1].replace("64 * BK", "64 * BK / 2")))
    assert code


@pytest.mark.thorough
def test_a_slice_that_the_second_part_misses_is_found() -> None:
    """The parts begin at K = 0 and 32: one that begins at 48 leaves a slice out, and ends beyond the tile."""
    assert list_codes(("__global__", HALF), (LOOP, CALLS.format("48")))
    assert list_codes(write_loops((FIRST, "k * 16"), (SECOND, "k * 32")))


def test_slices_of_other_k_in_a_and_b_are_found() -> None:
    backwards = PRODUCT.format("k * 16").replace("sB + slot * BN * BK + k * 16", "sB + slot * BN * BK + (3 - k) * 16")
    assert list_codes((LOOP, f"    for (int k = 0; k < BK / 16; ++k)\n      {backwards}"))


# K that warpgroups share ----------------------------------------------------------------------------------------------

OWN_K = """    for (int k = threadIdx.x / 128; k < BK / 16; k += 2)
      multiply<1>(d, make_smem_desc(sA + slot * BM * BK + k * 16), make_smem_desc(sB + slot * BN * BK + k * 16));
"""


TWO_GROUPS = (  # which add their sums
    ("__launch_bounds__(128)", "__launch_bounds__(256)"),
    ("dim3(N / BN, M / BM), 128,", "dim3(N / BN, M / BM), 256,"),
    ("warp = threadIdx.x / 32;", "warp = threadIdx.x / 32 % 4;"),
    ("C[r * N + c] = d[j * 4];", "atomicAdd(&C[r * N + c], d[j * 4]);"),
    ("C[(r + 8) * N + c] = d[j * 4 + 2];", "atomicAdd(&C[(r + 8) * N + c], d[j * 4 + 2]);"),
)


@pytest.mark.thorough
def test_warpgroups_may_take_every_second_slice() -> None:
    assert list_codes((LOOP, OWN_K), *TWO_GROUPS, checks=check_whole) == []


def test_one_warpgroup_that_takes_every_second_slice_leaves_the_others() -> None:
    assert list_codes((LOOP, OWN_K), checks=check_whole) == ["k_slices_left"]


# waits between copies -------------------------------------------------------------------------------------------------

B_IN_A = ("sA + STAGES * BM * BK;", "sA + 32 * BK;")
COPY_B = "      tma_load(sB + slot"
SPIN = "__device__ void spin(const int* flag) { while (*(volatile const int*)flag == 0) {} }\n__global__"
WAITS = {
    "a label": "again: if (*(volatile int*)&full[7] == 0) goto again;",
    "a helper": "spin((const int*)&full[7]);",
    "PTX": 'int v; asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(v) : "r"(shared_address(&full[7])));',
}


@for_each("wait", WAITS, sample=1)
def test_a_copy_that_spins_before_it_may_fill_the_bytes_of_the_one_before(wait: str) -> None:
    spinning = (COPY_B, f"      {WAITS[wait]}\n{COPY_B}")
    assert "copies_overlap" not in list_codes(B_IN_A, ("__global__", SPIN), spinning)


def test_a_call_that_does_not_wait_leaves_the_overlap() -> None:
    assert "copies_overlap" in list_codes(
        B_IN_A, ("__global__", SPIN), (COPY_B, f"      shared_address(sA);\n{COPY_B}")
    )


# what a turn takes ----------------------------------------------------------------------------------------------------

NARROW = (
    ("BN = 128, BK = 64", "BN = 128, BK = 16"),
    ("d |= encode(1024) << 32", "d |= encode(256) << 32"),
    ("d |= 1ull << 62", "d |= 3ull << 62"),
    ("CU_TENSOR_MAP_SWIZZLE_128B", "CU_TENSOR_MAP_SWIZZLE_32B"),
)


def test_a_turn_may_multiply_one_slice() -> None:
    assert list_codes(*NARROW, (LOOP, "    " + PRODUCT.format("0"))) == []


RING = """  int slot = 0;
  for (int tile = blockIdx.x; tile < M; tile += gridDim.x)
  for (int t = 0; t < K / BK; t += 2) {
    if (threadIdx.x == 0)
      for (int n = 0; n < 2; ++n) {
        expect_bytes(&full[slot + n], (BM * BK + BN * BK) * sizeof(bf16));
        tma_load(sA + (slot + n) * BM * BK, &ta, &full[slot + n], (t + n) * BK, row);
        tma_load(sB + (slot + n) * BN * BK, &tb, &full[slot + n], (t + n) * BK, col);
      }
    slot += 2;
    if (slot == STAGES) slot = 0;
  }
}
"""


def test_a_ring_may_advance_by_two_stages() -> None:
    """The counter takes the values 0 and 2: the copies end with the last stage."""
    buffers = "  __shared__ alignas(1024) bf16 sA[STAGES * BM * BK];\n  __shared__ uint64_t full[STAGES];\n"
    buffers += "  __shared__ alignas(1024) bf16 sB[STAGES * BN * BK];\n"
    start = TMA.index("  extern __shared__")
    text = TMA[:start] + buffers + TMA[TMA.index("  int row =") : TMA.index("  float d[64]")] + RING
    text += TMA[TMA.index("void make_map") :]
    assert [finding.code for finding in check_text(text).findings if finding.code == "copy_past_array"] == []


# steps that do not meet the slices ------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_short_k_step_is_blamed_on_the_loop() -> None:
    """Steps of 8 elements are half a slice: eight of them would take two boxes, but the box is right."""
    loop = (LOOP, f"    for (int kk = 0; kk < BK; kk += 8)\n      {PRODUCT.format('kk')}")
    text = plant(loop, text=TMA)
    (finding,) = check_text(text).findings
    assert (finding.code, text[slice(*finding.span)]) == ("other_slice", "kk += 8")
    assert "moves 16 bytes" in finding.message


def test_turns_that_were_not_evaluated_leave_the_later_steps_in_place() -> None:
    """As in a function that is too long: of the first tile only the first and the last turn, of the next three."""

    def use(turn: int, tile: int) -> Any:
        address = make_symbol("smem") + LinearExpression(16384 * tile + 32 * turn)
        arguments = {"a": SimpleNamespace(address=address)}
        return SimpleNamespace(loops=(("k", turn),), arguments=arguments, site=((0, 1),), again=False, computed=True)

    uses = [use(*turn) for turn in ((0, 0), (3, 0), (0, 1), (1, 1), (2, 1))]
    assert [place.k for place in find_places(uses, (), "")] == [0, 3, 0, 1, 2]
