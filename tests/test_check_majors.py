"""Which dimension of a tile is K is a fact of its tensor map and its copies, whatever the instruction reads.

B of the kernel is stored (k, n), a box 64 of N wide and 64 of K high. Its K step is then 16 lines of 128 bytes; 32
bytes would be the step of a K-major tile, which a box of 64 × 64 could hold as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lanescope.workbench.check_report import CheckReport
from tests.cases import for_each
from tests.checked import check_text
from tests.transfer_kernels import plant

KERNELS = Path(__file__).parent / "kernels"
RIGHT = (
    (KERNELS / "mn_major_b.cu")
    .read_text()
    .replace('#include "accumulators.h"', (KERNELS / "accumulators.h").read_text())
    .replace("TILE_K = 32", "TILE_K = 64")
    .replace("SWIZZLE_64B", "SWIZZLE_128B")
    .replace("uint64_t(512 >> 4) << 32 | uint64_t(2) << 62", "uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62")
)
TMA = """
__device__ void tma_2d(uint32_t to, const CUtensorMap* map, uint32_t x, uint32_t y) {
  __shared__ uint64_t full;
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               :: "r"(to), "l"((uint64_t)map), "r"((uint32_t)__cvta_generic_to_shared(&full)), "r"(x), "r"(y));
}
"""
RIGHT = RIGHT.replace("__global__", TMA + "__global__", 1)
STEP = ("b + k * 16 * PANEL * sizeof(T)", "b + k * 32")
TRANSPOSE = ("wgmma<1>(", "wgmma<0>(")
ARGUMENTS = "uint64_t m, uint64_t n, uint64_t k) {"
NAMED = (ARGUMENTS, ARGUMENTS)
BY_SIZE = ("dims_a[2] = {k, m}, dims_b[2] = {n, k}", "dims_a[2] = {512, 256}, dims_b[2] = {384, 512}")
LOOP = "  for (int step = 0; step < steps; ++step) {\n"
FILL = RIGHT.partition(LOOP)[2].partition("    __syncthreads")[0]
FIRST_FILL = (LOOP, f"  for (int first = 0; first < 2; ++first) {{\n{FILL.replace('step *', 'first *')}  }}\n{LOOP}")
BY_COORDINATE = ("dims_a[2] = {k, m}, dims_b[2] = {n, k}", "dims_a[2] = {512, 512}, dims_b[2] = {512, 512}")


def check(*edits: tuple[str, str]) -> CheckReport:
    return check_text(plant(*edits, text=RIGHT))


@pytest.mark.thorough
@for_each("known_by", [BY_SIZE, BY_COORDINATE], sample=1)
def test_a_wrong_k_step_is_not_a_wrong_transpose(known_by: tuple[str, str]) -> None:
    right, report = check(known_by), check(known_by, STEP)
    assert (right.findings, right.steps) == ((), 8)
    assert [one.code for one in report.findings] == ["k_advance_past_atom"]
    assert all(edit.text != "0" for one in report.findings for edit in one.edits)


@for_each("known_by", [NAMED, BY_SIZE], sample=1)
def test_a_read_in_the_other_major_of_its_map_is_wrong(known_by: tuple[str, str]) -> None:
    report = check(known_by, STEP, TRANSPOSE)
    assert [one.code for one in report.findings] == ["wrong_transpose"]


def test_a_read_in_the_other_major_of_its_copies_is_open() -> None:
    report = check(BY_COORDINATE, STEP, TRANSPOSE)
    assert (report.findings, report.steps) == ((), 4)
    assert any("the copies advance along K by the second coordinate" in one.message for one in report.open)


@pytest.mark.thorough
def test_coordinates_of_a_first_fill_and_of_the_main_loop_tell_k() -> None:
    right, wrong = check(BY_COORDINATE, FIRST_FILL), check(BY_COORDINATE, FIRST_FILL, STEP)
    assert (right.findings, right.steps) == ((), 8)
    assert [one.code for one in wrong.findings] == ["k_advance_past_atom"]
