"""Elements of D in global memory, fragments of wmma, and the shared memory of a launch: right kernels and mistakes."""

from __future__ import annotations

import re

import pytest

from lanescope.workbench.products.result_stores import find_result_mistakes
from tests.cases import for_each
from tests.checked import check_text, list_findings
from tests.transfer_kernels import EPILOGUE, TMA, plant

# C[M][N] = A[M][K] * B[K][N] by 4 warps of 32 × 32, stages in dynamic shared memory
MMA = r"""#include <cuda_fp16.h>
constexpr int BM = 64, BN = 64, BK = 32, PA = BK + 8, PB = BN + 8, STAGE = BM * PA + BK * PB;
__device__ void copy16(half* dst, const half* src) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(dst)), "l"(src));
}
__device__ void load4(uint32_t (&r)[4], const half* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((uint32_t)__cvta_generic_to_shared(p)));
}
__device__ void load4_trans(uint32_t (&r)[4], const half* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((uint32_t)__cvta_generic_to_shared(p)));
}
__device__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
      " {%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__global__ void __launch_bounds__(128) gemm(const half* A, const half* B, half* C, int M, int N, int K, float alpha) {
  extern __shared__ __align__(128) half smem[];
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32;
  float acc[2][4][4] = {};
  for (int t = 0; t < K / BK; ++t) {
    half* a = smem + (t & 1) * STAGE;
    half* b = a + BM * PA;
    for (int i = threadIdx.x; i < BM * BK / 8; i += 128)
      copy16(a + i / 4 * PA + i % 4 * 8, A + (size_t)(row0 + i / 4) * K + t * BK + i % 4 * 8);
    for (int i = threadIdx.x; i < BK * BN / 8; i += 128)
      copy16(b + i / 8 * PB + i % 8 * 8, B + (size_t)(t * BK + i / 8) * N + col0 + i % 8 * 8);
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    for (int k = 0; k < BK; k += 16) {
      uint32_t fa[2][4], fb[2][4];
      for (int i = 0; i < 2; ++i) load4(fa[i], a + (wm + i * 16 + lane % 16) * PA + k + lane / 16 * 8);
      for (int j = 0; j < 2; ++j) load4_trans(fb[j], b + (k + lane % 16) * PB + wn + j * 16 + lane / 16 * 8);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) mma(acc[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) {
      const int r = row0 + wm + i * 16 + lane / 4;
      const int c = col0 + wn + j * 8 + lane % 4 * 2;
      *(half2*)&C[(size_t)r * N + c] = __floats2half2_rn(alpha * acc[i][j][0], alpha * acc[i][j][1]);
      *(half2*)&C[(size_t)(r + 8) * N + c] = __floats2half2_rn(alpha * acc[i][j][2], alpha * acc[i][j][3]);
    }
}
void run(const half* A, const half* B, half* C, int M, int N, int K) {
  constexpr int bytes = 2 * STAGE * sizeof(half);
  gemm<<<dim3(N / BN, M / BM), 128, bytes>>>(A, B, C, M, N, K, 1.0f);
}
"""

WMMA = r"""#include <mma.h>
using namespace nvcuda;
constexpr int TM = 64, TN = 64, TK = 32, LDA = TK + 8, LDB = TN + 8;
__global__ void __launch_bounds__(128) gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ half sa[TM * LDA], sb[TK * LDB];
  const int warp = threadIdx.x / 32, m0 = blockIdx.y * TM, n0 = blockIdx.x * TN;
  const int wr = warp / 2 * 32, wc = warp % 2 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];
  for (int i = 0; i < 4; ++i) wmma::fill_fragment(acc[i / 2][i % 2], 0.0f);
  for (int t = 0; t < K / TK; ++t) {
    for (int i = threadIdx.x; i < TM * TK / 8; i += 128)
      *(uint4*)&sa[i / 4 * LDA + i % 4 * 8] = *(const uint4*)&A[(size_t)(m0 + i / 4) * K + t * TK + i % 4 * 8];
    for (int i = threadIdx.x; i < TK * TN / 8; i += 128)
      *(uint4*)&sb[i / 8 * LDB + i % 8 * 8] = *(const uint4*)&B[(size_t)(t * TK + i / 8) * N + n0 + i % 8 * 8];
    __syncthreads();
    for (int k = 0; k < TK; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(fa[i], &sa[(wr + i * 16) * LDA + k], LDA);
        wmma::load_matrix_sync(fb[i], &sb[k * LDB + wc + i * 16], LDB);
      }
      for (int i = 0; i < 4; ++i) wmma::mma_sync(acc[i / 2][i % 2], fa[i / 2], fb[i % 2], acc[i / 2][i % 2]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    wmma::store_matrix_sync(&C[(size_t)(m0 + wr + i / 2 * 16) * N + n0 + wc + i % 2 * 16], acc[i / 2][i % 2], N,
        wmma::mem_row_major);
}
void run(const half* A, const half* B, float* C, int M, int N, int K) {
  gemm<<<dim3(N / TN, M / TM), 128>>>(A, B, C, M, N, K);
}
"""


@for_each("text", [MMA, WMMA], ids=["mma", "wmma"])
def test_right_kernels_are_verified(text: str) -> None:
    report = check_text(text)
    assert not report.findings
    assert [kernel.gap for kernel in report.kernels] == [""]


@for_each(
    "block",
    [
        "uint3 grid = {N / TN, M / TM, 1}; uint3 block = {128, 1, 1};",
        "dim3 block, grid; block.x = 128; grid.x = N / TN; grid.y = M / TM;",
    ],
    sample=1,
)
def test_a_block_is_sized_by_uint3_and_by_members(block: str) -> None:
    text = plant(
        ("__launch_bounds__(128) ", ""), ("gemm<<<dim3(N / TN, M / TM), 128", f"{block} gemm<<<grid, block"), text=WMMA
    )
    report = check_text(text)
    assert [kernel.gap for kernel in report.kernels] == [""]
    assert not report.findings


MISTAKES = [
    # what lanes and registers hold
    ("lane % 4 * 2;", "lane % 4 * 4;", "result_misplaced", "const int c"),
    ("(size_t)(r + 8) * N", "(size_t)r * N", "result_misplaced", "*(half2*)&C[(size_t)r * N + c] ="),
    # where the warp's rows and columns are
    # registers of ldmatrix, sums, and shared memory
    ("fb[j / 2][j % 2 * 2],", "fb[j / 2][j % 2],", "registers_exchanged", "for (int j = 0; j < 4; ++j) mma"),
    (
        "    __syncthreads();\n",
        "    __syncthreads();\n    memset(acc, 0, sizeof(acc));\n",
        "accumulator_reset",
        "mem",
    ),
    ("bytes = 2 * STAGE", "bytes = STAGE", "shared_memory_short", "constexpr int bytes"),
]


def test_a_stage_that_never_comes_round_exceeds_the_bytes_of_the_launch() -> None:
    """Every turn stores to a stage of its own: right if K is 64 at most, which the program may know."""
    text = plant(("(t & 1) * STAGE", "t * STAGE"), text=MMA)
    report = check_text(text)
    ((message, at),) = ((one.message, one.span) for one in report.open)
    assert "bytes of dynamic shared memory" in message and "may pass smaller ones" in message
    assert not report.findings and text[slice(*at)] == "2 * STAGE * sizeof(half)"


@for_each(("old", "new", "code", "line"), MISTAKES, sample=2)
def test_a_mistake_of_mma_stands_at_its_line(old: str, new: str, code: str, line: str) -> None:
    ((found, at),) = list_findings(plant((old, new), text=MMA))
    assert found == code
    assert at.startswith(line)


FIRST, SECOND = (
    f"      *(half2*)&C[{row} * N + c] = __floats2half2_rn(alpha * acc[i][j][{n}], alpha * acc[i][j][{n + 1}]);\n"
    for row, n in (("(size_t)r", 0), ("(size_t)(r + 8)", 2))
)
EDGED = plant(
    (SECOND, ""),
    (
        FIRST,
        """      for (int h = 0; h < 2; ++h) {
        half* to = C + (size_t)(r + h * 8) * N + c;
        if (c + 1 < N) *(half2*)to = __floats2half2_rn(acc[i][j][h * 2], acc[i][j][h * 2 + 1]);
        else if (c < N) to[0] = __float2half(acc[i][j][h * 2]);
      }
""",
    ),
    text=MMA,
)


def test_a_wrong_row_is_found_beside_a_store_at_an_edge() -> None:
    assert not check_text(EDGED).findings
    ((code, _),) = list_findings(plant(("r + h * 8", "r + h * 4"), text=EDGED))
    assert code == "result_misplaced"


PLACE = "(wm + i / 4 * 16 + lane / 4 + e / 2 * 8) * BN + wn + i % 4 * 8 + lane % 4 * 2 + e % 2"
STAGED = (
    MMA[: MMA.index("  for (int i = 0; i < 2; ++i)\n    for (int j = 0; j < 4; ++j) {\n      const int r")]
    + f"""  __syncthreads();
  float* c = reinterpret_cast<float*>(smem);
  for (int i = 0; i < 8; ++i)
    for (int e = 0; e < 4; ++e) c[{PLACE}] = alpha * acc[i / 4][i % 4][e];
  __syncthreads();
  for (int i = threadIdx.x; i < BM * BN; i += 128)
    C[(size_t)(row0 + i / BN) * N + col0 + i % BN] = __float2half(c[i]);
}}
"""
    + MMA[MMA.index("void run(") :]
)


@for_each(
    "wrong",
    ["e / 2 * 8) -> e / 2 * 4)", "+ e % 2 -> + e / 2", "lane % 4 * 2 -> lane % 2 * 2", ""],
    sample=1,
)
def test_elements_of_d_that_are_staged_over_others_are_found(wrong: str) -> None:
    old, _, new = wrong.partition(" -> ")
    report = check_text(plant((PLACE, PLACE.replace(old, new)), text=STAGED) if wrong else STAGED)
    assert [found.code for found in report.findings] == ["stores_overlap"] * bool(wrong)
    assert all(one.gap == "" for one in report.kernels)


TWO_GROUPS = plant(
    ("__launch_bounds__(128) gemm", "__launch_bounds__(256) gemm"),
    ("warp = threadIdx.x / 32;", "warp = threadIdx.x % 128 / 32, group = threadIdx.x / 128;"),
    ("int r = row + warp", "int r = row + group * 64 + warp"),
    ("128, bytes>>>", "256, bytes>>>"),
)


def test_warpgroups_store_rows_of_their_own_or_all_the_same() -> None:
    """Both may have computed the same rows: then the values are equal."""
    assert not find_result_mistakes(TWO_GROUPS, {}, ())
    assert not find_result_mistakes(TWO_GROUPS.replace("group * 64 + ", ""), {}, ())


def test_results_are_followed_in_a_loop_over_tiles() -> None:
    """A function says whether there is another tile; what it computes from the grid differs between no threads."""
    tiles = """struct Tiles {
  int tile, end;
  __device__ Tiles(int count) : tile(blockIdx.x * count), end(blockIdx.x * count + count) {}
  __device__ bool next(int& m) {
    if (tile == end) return false;
    m = tile++ / gridDim.x;
    return true;
  }
};
"""
    text = TMA.replace("__global__ void", tiles + "__global__ void")
    text = text.replace(
        "  float d[64] = {};", "  Tiles tiles(M / BM);\n  while (tiles.next(row)) {\n  float d[64] = {};"
    )
    text = text.replace("d[j * 4 + 2];\n  }\n", "d[j * 4 + 2];\n  }\n  }\n")
    assert not find_result_mistakes(text, {}, ())
    [found] = find_result_mistakes(text.replace("lane % 4 * 2;", "lane % 4 * 4;"), {}, ())
    assert found.code == "result_misplaced"


def test_registers_of_f64_have_eight_bytes() -> None:
    text = """__global__ void gemm(const double* A, const double* B, double* C) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  double d[2] = {0, 0};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d[0]), "+d"(d[1]) : "d"(A[g * 4 + t]), "d"(B[g * 4 + t]));
  C[g * 8 + 2 * t] = d[0];
  C[g * 8 + 2 * t + 1] = d[1];
}
void run(const double* A, const double* B, double* C) { gemm<<<1, 32>>>(A, B, C); }
"""
    assert not find_result_mistakes(text, {}, ())
    [found] = find_result_mistakes(text.replace("2 * t] = d[0]", "t] = d[0]"), {}, ())
    assert found.code == "result_misplaced"


@for_each(
    ("old", "new", "code", "line"),
    [
        ("wc + i * 16], LDB);", "wc + i * 16], LDA);", "fragment_mismatch", "wmma::load_matrix_sync(fb"),
        (
            "matrix_b, 16, 16, 16, half, wmma::row_major",
            "matrix_b, 16, 16, 16, half, wmma::col_major",
            "wmma_layout",
            "wmma::fragment<wmma::matrix_b",
        ),
        ("wr = warp / 2 * 32", "wr = warp / 2 * 16", "warps_overlap", "const int wr"),
        (
            "  for (int i = 0; i < 4; ++i) wmma::fill_fragment(acc[i / 2][i % 2], 0.0f);\n",
            "",
            "accumulator_unset",
            "wmma::fragment<wmma::accumulator",
        ),
    ],
    sample=2,
)
def test_a_mistake_of_wmma_stands_at_its_line(old: str, new: str, code: str, line: str) -> None:
    ((found, at),) = list_findings(plant((old, new), text=WMMA))
    assert found == code
    assert at.startswith(line)


def test_results_in_another_order_are_right() -> None:
    """C as panels of 16 columns or rows; a ring of 16 rows; the registers of each thread one after the other."""
    panels = plant(
        ("&C[(size_t)r * N + c]", "&C[(size_t)(c / 16 * M + r) * 16 + c % 16]"),
        ("&C[(size_t)(r + 8) * N + c]", "&C[(size_t)(c / 16 * M + r + 8) * 16 + c % 16]"),
        text=MMA,
    )
    dump = plant(
        ("&C[(size_t)r * N + c]", "&C[((i * 4 + j) * 128 + threadIdx.x) * 4]"),
        ("&C[(size_t)(r + 8) * N + c]", "&C[((i * 4 + j) * 128 + threadIdx.x) * 4 + 2]"),
        text=MMA,
    )
    blocks = plant(
        ("&C[(size_t)r * N + c]", "&C[(r / 8 * 512 + c / 8) * 64 + r % 8 * 8 + c % 8]"),
        ("&C[(size_t)(r + 8) * N + c]", "&C[((r + 8) / 8 * 512 + c / 8) * 64 + r % 8 * 8 + c % 8]"),
        text=MMA,
    )
    assert not any(find_result_mistakes(text, {}, ()) for text in (panels, dump, blocks))
    for row in ("C[(r / 16 * N + c) * 16 + r % 16]", "C[r % 16 * N + c]"):
        epilogue = EPILOGUE.replace("C[r * N + c]", row).replace("C[(r + 8) * N + c]", row.replace("r ", "(r + 8) "))
        assert not find_result_mistakes(plant((EPILOGUE, epilogue)), {}, ())


def test_even_and_odd_columns_may_be_stored_apart() -> None:
    """Columns 0, 2, 4, … of a block become its left half, as real parts do; two in one place are wrong."""
    halves = plant(("c = col0 + wn + j * 8 + lane % 4 * 2;", "c = col0 + (wn + j * 8) / 2 + lane % 4;"), text=MMA)
    for row, n in (("r", 0), ("(r + 8)", 2)):
        pair = f"alpha * acc[i][j][{n}], alpha * acc[i][j][{n + 1}]"
        old = f"*(half2*)&C[(size_t){row} * N + c] = __floats2half2_rn({pair});"
        new = [f"C[(size_t){row} * N + c + {32 * odd}] = alpha * acc[i][j][{n + odd}];" for odd in (0, 1)]
        halves = plant((old, " ".join(new)), text=halves)
    assert not find_result_mistakes(halves, {}, ())
    [found] = find_result_mistakes(halves.replace("+ c + 32]", "+ c + 1]"), {}, ())
    assert found.code == "result_misplaced"


@pytest.mark.thorough
def test_rows_may_be_permuted_in_a_and_d_alike() -> None:
    """A thread then holds two rows that follow each other."""
    stored = plant(("lane / 4;", "lane / 4 * 2;"), ("(r + 8) * N", "(r + 1) * N"), text=MMA)
    assert [code for code, _ in list_findings(stored)] == ["result_misplaced"]
    both = plant(("i * 16 + lane % 16) * PA", "i * 16 + lane % 8 * 2 + lane / 8 % 2) * PA"), text=stored)
    assert list_findings(both) == []


def test_elements_of_wgmma_are_stored_where_they_belong() -> None:
    assert not list_findings(TMA)
    planted = plant((EPILOGUE, EPILOGUE.replace("lane / 4, c", "lane / 8, c")))
    assert [code for code, _ in list_findings(planted)] == ["result_misplaced"]


@pytest.mark.thorough
def test_a_launch_whose_bytes_depend_on_what_it_passes_is_left_open() -> None:
    text = plant(("bytes = 2 * STAGE", "bytes = K * STAGE"), text=MMA)
    assert not list_findings(text.replace("constexpr int bytes", "const int bytes"))


def test_rows_of_d_are_not_judged_while_those_of_a_are_unknown() -> None:
    """Registers 1 and 2 of A are exchanged: where D is stored is right, and no finding says otherwise."""
    text = r"""#include <cstdint>
__global__ void product(const float* A, const float* B, float* C) {
  __shared__ float sA[16][8], sB[8][8];
  int t = threadIdx.x, g = t / 4, q = t % 4;
  for (int i = t; i < 128; i += 32) sA[i / 8][i % 8] = A[i];
  for (int i = t; i < 64; i += 32) sB[i / 8][i % 8] = B[i];
  __syncthreads();
  uint32_t a[4] = {__float_as_uint(sA[g][q]), __float_as_uint(sA[g][q + 4]), __float_as_uint(sA[g + 8][q]),
                   __float_as_uint(sA[g + 8][q + 4])};
  uint32_t b[2] = {__float_as_uint(sB[q][g]), __float_as_uint(sB[q + 4][g])};
  float d[4] = {};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
      "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  C[g * 8 + q * 2] = d[0];
  C[g * 8 + q * 2 + 1] = d[1];
  C[(g + 8) * 8 + q * 2] = d[2];
  C[(g + 8) * 8 + q * 2 + 1] = d[3];
}
void run(float* A, float* B, float* C) { product<<<1, 32>>>(A, B, C); }
"""
    assert not any(code == "result_misplaced" for code, _ in list_findings(text))


@pytest.mark.thorough
@for_each(
    ("edits", "place"),
    [
        ([("* N + col0 + i % 8", "* N + row0 + i % 8")], "row0"),
        ([("(size_t)(row0 + i / 4)", "(size_t)(col0 + i / 4)")], "col0"),
        ([("(size_t)(row0 + i / 4)", "(size_t)(blockIdx.z * BM + i / 4)")], ""),  # no index in common
        (
            [
                ("* N + col0 + i % 8", "* N + row0 + i % 8"),
                ("const int wm", "if (blockIdx.x == 1) B += N;  // another matrix\n  const int wm"),
            ],
            "",
        ),
    ],
    sample="place",
)
def test_an_index_of_the_block_that_only_d_takes(edits: list[tuple[str, str]], place: str) -> None:
    text = plant(*edits, text=MMA)
    found = [text[slice(*one.span)] for one in check_text(text).findings if one.code == "block_index_same"]
    assert found == ([place] if place else [])


def test_stores_as_far_as_an_argument_goes_need_what_the_launch_gives() -> None:
    """A row of N elements in shared memory: the host launches 64 only; a run without launch has other sizes."""
    text = """
    __global__ void scale(const half* A, half* D, int N) {
      extern __shared__ half row[];
      for (int i = threadIdx.x; i < N; i += 32) row[i] = A[i];
      __syncwarp();
      unsigned a[4] = {}; float d[4] = {};
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%5},"
                   " {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));
      D[threadIdx.x] = row[threadIdx.x];
    }
    void run(const half* A, half* D, int n) { if (n == 64) scale<<<1, 32, 128>>>(A, D, n); }
    """
    assert not check_text(text).findings
    fixed = text.replace("i < N", "i < 128")
    assert [finding.code for finding in check_text(fixed).findings] == ["shared_memory_short"]


def test_stores_with_a_cache_operator_are_followed() -> None:
    """As stores through the pointer: a wrong row of one of them is found."""
    text = re.sub(r"\*(\(half2\*\)&C\[[^;]*?\]) = ([^;]*);", r"__stcs(\1, \2);", MMA)
    assert text.count("__stcs") == 2 and not check_text(text).findings
    wrong = check_text(plant(("(size_t)(r + 8) * N", "(size_t)r * N"), text=text)).findings
    assert [finding.code for finding in wrong] == ["result_misplaced"]


def test_small_tiles_of_d_in_sequence_have_no_finding() -> None:
    """A block stores 16 tiles of 16 × 16 elements, those of a row of tiles one after the other."""
    stored = "&C[(((m0 + wr) / 16 + i / 2) * (N / 16) + (n0 + wc) / 16 + i % 2) * 256], acc[i / 2][i % 2], 16,"
    text = plant(
        ("&C[(size_t)(m0 + wr + i / 2 * 16) * N + n0 + wc + i % 2 * 16], acc[i / 2][i % 2], N,", stored), text=WMMA
    )
    assert not check_text(text).findings


@for_each(("pitch", "codes"), [("N * 2 / 4", []), ("N * 2 / 8", ["result_misplaced"])], sample=1)
def test_words_of_two_elements_are_half_a_row_of_them_apart(pitch: str, codes: list[str]) -> None:
    words = "uint32_t* words = (uint32_t*)(C + (size_t)(row0 + wm + i * 16) * N + col0 + wn + j * 8) + lane % 4;\n"
    text = plant(
        ("const int r = row0 + wm + i * 16 + lane / 4;\n", words),
        ("      const int c = col0 + wn + j * 8 + lane % 4 * 2;\n", ""),
        ("*(half2*)&C[(size_t)r * N + c]", f"*(half2*)&words[lane / 4 * ({pitch})]"),
        ("*(half2*)&C[(size_t)(r + 8) * N + c]", f"*(half2*)&words[(lane / 4 + 8) * ({pitch})]"),
        text=MMA,
    )
    assert [one.code for one in find_result_mistakes(text, {}, ())] == codes
