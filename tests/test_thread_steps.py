"""Steps along K of fragments, and their rows in each slice: what may be wrong is not verified."""

from __future__ import annotations

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.cases import for_each
from tests.checked import check_whole
from tests.thread_tile_kernels import HELPERS, PADDED, STAGED
from tests.transfer_kernels import plant

# rows of A and columns of B that mma takes from global memory
STEPS = r"""#include <mma.h>
using namespace nvcuda;
__global__ void __launch_bounds__(32) gemm(const half* A, const half* B, float* C, int N, int K) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.f);
  for (int k = 0; k < K; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::load_matrix_sync(a, A + blockIdx.y * 16 * K + k, K);
    wmma::load_matrix_sync(b, B + k * N + blockIdx.x * 16, N);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(C + blockIdx.y * 16 * N + blockIdx.x * 16, c, N, wmma::mem_row_major);
}
"""


@for_each(
    ("old", "new", "verified"),
    [
        ("k += 16", "k += 16", 2),
        ("blockIdx.x * 16, N);", "blockIdx.x * 16, K);", 1),  # B moves by N rows, whose pitch is K
        ("k += 16", "k += 8", 0),  # slices overlap
    ],
)
def test_fragments_whose_step_along_k_is_not_certain_are_not_verified(old: str, new: str, verified: int) -> None:
    report = check_thread_tiles(STEPS.replace(old, new), {})
    assert (report.findings, report.verified) == ([], verified)


def test_rows_are_the_same_in_each_slice_of_k() -> None:
    """Rows 4 to 7 of A have their two slices of K exchanged, and each slice is multiplied by a call of its own."""
    wrong = plant(("As[r * PITCH + c]", "As[r * PITCH + (c ^ (r & 4) * 4)]"), text=PADDED)
    loop, end = "for (int kk = 0; kk < BK; kk += 16) {", "    }\n    __syncthreads();\n  }"
    calls = (
        (loop, "auto step = [&](int kk) {"),
        (end, "    };\n    step(0);\n    step(16);\n    __syncthreads();\n  }"),
    )
    assert {finding.code for finding in check_thread_tiles(wrong, {}).findings} == {"fragment_mismatch"}
    assert check_thread_tiles(plant(*calls, text=PADDED), {}).verified == 4
    assert check_thread_tiles(plant(*calls, text=wrong), {}).verified == 2  # those of B


# the last slices are multiplied by a loop that begins where another one has ended
LATER = plant(("int t = 0; t < K / BK;", "int t = K / BK - 2; t < K / BK;"), text=STAGED)


@for_each(
    ("change", "verified", "codes"),
    [(("lane / 8 % 2", "lane / 8 % 2"), 2, []), (("lane / 8 % 2", "lane / 16"), 1, ["k_repeated"])],
)
def test_a_stage_that_depends_on_k_is_known_for_a_number(
    change: tuple[str, str], verified: int, codes: list[str]
) -> None:
    report = check_thread_tiles(plant(change, text=LATER), {})
    assert (report.verified, [one.code for one in report.findings]) == (verified, codes)


@for_each(
    "limit", ["if (left < 0) left = 0;", "if (left < 0 || left > K) { left = 0; }", "if (K < left) { left = K; }"]
)
def test_a_limit_that_is_not_known_does_not_hold_in_the_inner_tiles(limit: str) -> None:
    """Marlin's stripes: a block whose share is limited to 0 computes nothing."""
    stripes = f"int left = (K - (int)blockIdx.z * 64) / 16; {limit} if (left == 0) return;\n  for (int k = 0; left; "
    report = check_thread_tiles(STEPS.replace("for (int k = 0; k < K; ", stripes + "--left, "), {})
    assert (report.findings, report.verified) == ([], 2)


# a warp fills one of two tiles while another one multiplies the other
ROLES = r"""__global__ void __launch_bounds__(64) gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ __align__(16) half sa[2][16 * 24], sb[2][16 * 24];
  const int lane = threadIdx.x % 32, m0 = blockIdx.x * 16, n0 = blockIdx.y * 16, slices = K / 16;
  if (threadIdx.x / 32 == 1) {
    for (int k = 0; k <= slices; ++k) {
      const int at = lane / 2 * 24 + lane % 2 * 8;
      if (k < slices) {
        *(uint4*)&sa[k & 1][at] = *(const uint4*)&A[(m0 + lane / 2) * K + k * 16 + lane % 2 * 8];
        *(uint4*)&sb[k & 1][at] = *(const uint4*)&B[(n0 + lane / 2) * K + k * 16 + lane % 2 * 8];
        asm volatile("cp.async.wait_group 0;");
      }
      __syncthreads();
    }
  } else {
    float d[2][4] = {};
    for (int k = 0; k <= slices; ++k) {
      if (k > 0) {
        uint32_t a[4], b[4];
        ldm_x4(a, smem_addr(&sa[(k - 1) & 1][lane % 16 * 24 + lane / 16 * 8]));
        ldm_x4(b, smem_addr(&sb[(k - 1) & 1][(lane % 8 + lane / 16 * 8) * 24 + lane / 8 % 2 * 8]));
        for (int j = 0; j < 2; ++j) mma16816(d[j], a, reinterpret_cast<uint32_t(&)[2]>(b[2 * j]));
      }
      __syncthreads();
    }
    for (int j = 0; j < 2; ++j)
      for (int e = 0; e < 4; ++e)
        C[(m0 + lane / 4 + e / 2 * 8) * N + n0 + j * 8 + lane % 4 * 2 + e % 2] = d[j][e];
  }
}
"""


def test_a_tile_that_other_warps_fill_again_meanwhile_is_no_repeated_slice() -> None:
    """Both loops are run one after the other, so that D is not verified."""
    launch = "gemm<<<dim3(M / 16, N / 16), 64>>>(A, B, C, M, N, K);"
    run = f"void run(const half* A, const half* B, float* C, int M, int N, int K) {{ {launch} }}\n"
    report = check_whole(HELPERS + ROLES + run)
    assert report.findings == ()
    assert ["warps of another branch fill it again" in one.message for one in report.open] == [True]
