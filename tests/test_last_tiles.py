"""D of launches whose numbers leave a part in the last tiles, or have a long K beside leading dimensions."""

from __future__ import annotations

import pytest

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.workbench.products.result_judge import judge_results
from tests.cases import for_each
from tests.checked import check_whole
from tests.transfer_kernels import plant

# tiles of 16 × 16, two warps: A is M × K, B is N × K; a row is taken if it is inside
KERNEL = """#include <cstdint>
__global__ void __launch_bounds__(64) gemm(int M, int N, int K, const uint16_t* A, int lda, const uint16_t* B, int ldb,
                                           float* C, int ldc) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int row = blockIdx.y * 16 + g, col = blockIdx.x * 16 + threadIdx.x / 32 * 8;
  float d[4] = {};
  for (int k = t * 2; k < K; k += 16) {
    uint32_t x[4], y[2];
    for (int i = 0; i < 4; ++i)
      x[i] = row + i % 2 * 8 < M ? *reinterpret_cast<const uint32_t*>(A + (row + i % 2 * 8) * lda + k + i / 2 * 8) : 0;
    for (int i = 0; i < 2; ++i)
      y[i] = col + g < N ? *reinterpret_cast<const uint32_t*>(B + (col + g) * ldb + k + i * 8) : 0;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9},"
        " {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
  for (int i = 0; i < 4; ++i) {
    const int r = row + i / 2 * 8, c = col + t * 2 + i % 2;
    if (r < M && c < N) C[r * ldc + c] = d[i];
  }
}
void run(const uint16_t* A, const uint16_t* B, float* C) {
  gemm<<<dim3(20, 13), 64>>>(200, 312, 1024, A, 1024, B, 1024, C, 312);
}
"""


def test_a_part_of_the_last_tiles_is_stored_where_it_is_inside_d() -> None:
    report = check_whole(KERNEL)
    assert (report.findings, report.open) == ((), ())


def test_the_last_tile_may_begin_within_the_one_before_it() -> None:
    """Both store what they share."""
    moved = ("int row = blockIdx.y * 16 + g,", "int row = min(blockIdx.y * 16, M - 16) + g,")
    assert not check_whole(plant(moved, text=KERNEL)).open


@pytest.mark.thorough
@for_each(
    ("change", "edit"),
    [
        (("c < N) C", "c < K) C"), "N"),
        (("c < N) C", "c <= N) C"), "<"),
        (("r < M &&", "r < N &&"), "M"),
    ],
    sample=2,
)
def test_a_wrong_bound_of_the_last_tiles_is_found_at_its_place(change: tuple[str, str], edit: str) -> None:
    (finding,) = check_whole(plant(change, text=KERNEL)).findings
    assert [one.text for one in finding.edits] == [edit]


@for_each(
    ("change", "why"),
    [
        (("r < M && c < N", "c < N"), "other elements than those below M = 200 and N = 312"),
        (("1024, C, 312", "1024, C, 208"), "elements are not stored at their row and column"),
    ],
)
def test_what_the_numbers_do_not_show_is_open(change: tuple[str, str], why: str) -> None:
    """D may have rows behind the last one, and a pitch of 208 is that of columns of M elements."""
    report = check_whole(plant(change, text=KERNEL))
    assert not report.findings and [why in one.message for one in report.open] == [True]


@for_each("change", [("A, 1024, B, 1024", "A, 312, B, 1024"), ("1024, C, 312", "1024, C, 200")])
def test_a_leading_dimension_follows_the_size_that_it_is_in_the_launch(change: tuple[str, str]) -> None:
    """The pitch of another matrix is found without a run, so that D is judged alone."""
    text = plant(change, text=KERNEL)
    assert len(judge_results(text, {}, evaluate_text(text).launches, {"gemm"}).open) == 1


def test_the_last_tile_of_a_matrix_is_not_loaded_from_beyond_its_end() -> None:
    """Rows from 312 on of B, which D lacks; a note, since B may be longer than the matrix."""
    shared = (
        ("const int g = ", "__shared__ uint16_t rows[16][16];\n  const int g = "),
        (
            "    uint32_t x[4], y[2];",
            """    const int n = blockIdx.x * 16 + threadIdx.x / 4;
    for (int i = 0; i < 4; ++i)
      rows[threadIdx.x / 4][t * 4 + i] = n < N ? B[n * ldb + k - t * 2 + t * 4 + i] : 0;
    __syncthreads();
    uint32_t x[4], y[2];""",
        ),
        (
            "y[i] = col + g < N ? *reinterpret_cast<const uint32_t*>(B + (col + g) * ldb + k + i * 8) : 0;",
            "y[i] = *reinterpret_cast<const uint32_t*>(&rows[threadIdx.x / 32 * 8 + g][t * 2 + i * 8]);\n"
            "    __syncthreads();",
        ),
    )
    right = plant(*shared, text=KERNEL)
    assert not check_whole(right).doubts and not check_whole(right).open
    (doubt,) = check_whole(plant(("n < N ? B[", "n < K ? B["), text=right)).doubts
    assert doubt.code == "load_outside" and "after the last element of B" in doubt.message
