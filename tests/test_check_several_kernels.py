"""Kernels of one file that name their parameters and arrays alike: each is checked with its own maps and copies."""

from __future__ import annotations

import re

import pytest

from tests.checked import check_text
from tests.transfer_kernels import EPILOGUE, HELPERS, KERNEL, plant

DEEP = KERNEL + EPILOGUE
FLAT = (  # the same tiles in rows of 64 bytes
    DEEP.replace("gemm(", "gemm_flat(").replace("BK", "FLAT").replace("make_smem_desc", "make_flat_desc")
)
FLAT_HELPERS = """constexpr int FLAT = 32;
__device__ uint64_t make_flat_desc(const bf16* p) {
  return encode(shared_address(p)) | encode(512) << 32 | 2ull << 62;
}
"""
HOST = """CUtensorMap make_map(bf16* ptr, uint64_t rows, uint64_t cols, uint32_t box_rows, uint32_t box_cols,
    CUtensorMapSwizzle swizzle) {
  CUtensorMap map{};
  uint64_t dims[2] = {cols, rows}, strides[1] = {cols * sizeof(bf16)};
  uint32_t box[2] = {box_cols, box_rows}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, ptr, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}
CUtensorMap* upload(const CUtensorMap& map) {
  CUtensorMap* device;
  cudaMalloc(&device, sizeof(CUtensorMap));
  cudaMemcpy(device, &map, sizeof(CUtensorMap), cudaMemcpyHostToDevice);
  return device;
}
template <typename Launch> void repeat(Launch launch, int times) {
  for (int i = 0; i < 3; ++i) launch();
  for (int i = 0; i < times; ++i) launch();
}
int main(int argc, char** argv) {
  bf16 *A, *B, *C;
  int M = 4096, N = 4096, K = 4096, bytes = STAGES * (BM + BN) * BK * sizeof(bf16) + STAGES * 8;
  cudaMalloc(&A, M * K * 2); cudaMalloc(&B, N * K * 2); cudaMalloc(&C, M * N * 2);
  auto flat_a = make_map(A, M, K, BM, FLAT, CU_TENSOR_MAP_SWIZZLE_64B);
  auto flat_b = make_map(B, N, K, BN, FLAT, CU_TENSOR_MAP_SWIZZLE_64B);
  auto deep_a = make_map(A, M, K, BM, BK, CU_TENSOR_MAP_SWIZZLE_128B);
  auto deep_b = make_map(B, N, K, BN, BK, CU_TENSOR_MAP_SWIZZLE_128B);
  dim3 grid(N / BN, M / BM);
  cudaFuncSetAttribute(gemm_flat, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  repeat([&] { gemm_flat<<<grid, 128, bytes>>>(flat_a, flat_b, C, M, N, K); }, argc);
  repeat([&] { gemm<<<grid, 128, bytes>>>(deep_a, deep_b, C, M, N, K); }, argc);
}
"""
FLAT_READS = 64  # of A and B: 16 turns with two K steps
TWO = HELPERS + FLAT_HELPERS + FLAT + DEEP + HOST


def test_each_kernel_reads_the_tiles_that_its_own_maps_fill() -> None:
    report = check_text(TWO)
    assert not report.findings and not report.unverified
    assert report.steps == 3 * FLAT_READS


def test_a_map_of_the_other_kernel_is_a_mistake_of_the_kernel_that_is_given_it() -> None:
    exchanged = TWO.replace("(deep_a, deep_b,", "(flat_a, deep_b,")
    codes = {finding.code for finding in check_text(exchanged).findings}
    assert codes and codes.isdisjoint({"fragment_mismatch"})


@pytest.mark.thorough
def test_a_kernel_that_nothing_launches_has_no_verdict_if_several_maps_may_fill_its_tiles() -> None:
    alone = re.sub(r"  repeat\(\[&\] \{ gemm<<<.*\n", "", TWO)
    report = check_text(alone)
    assert not report.findings and report.steps == FLAT_READS and report.unverified


# launches and instances of one kernel ---------------------------------------------------------------------------------

COPY_OF_A = "tma_load(sA + slot * BM * BK, &ta, &full[slot], t * BK, row);"
HALVES = (
    "for (int h = 0; h < 2; ++h)"
    " tma_load(sA + slot * BM * BK + h * BM / 2 * BK, &ta, &full[slot], t * BK, row + h * BM / 2);"
)
MAP_OF_A = "make_map(&map_a, A, M, K, HALVES ? BM / 2 : BM, BK);"
RUN = "void run(bf16* A, bf16* B, bf16* C, int M, int N, int K) {"
# one instance copies A's tile in one box, the other in two; one function launches both
INSTANCES = (
    plant(
        ("__global__ void", "template <bool HALVES> __global__ void"),
        (COPY_OF_A, f"if constexpr (HALVES) {{ {HALVES} }} else {COPY_OF_A}"),
        (RUN, f"template <bool HALVES> {RUN.replace('run', 'launch')}"),
        ("make_map(&map_a, A, M, K, BM, BK);", MAP_OF_A),
        ("cudaFuncSetAttribute(gemm,", "cudaFuncSetAttribute(gemm<HALVES>,"),
        ("gemm<<<", "gemm<HALVES><<<"),
    )
    + f"{RUN}\n  launch<false>(A, B, C, M, N, K);\n  launch<true>(A, B, C, M, N, K);\n}}\n"
)
READS = 24  # two operands of four K steps, in three turns


@pytest.mark.thorough
def test_each_instance_is_verified_with_its_own_boxes() -> None:
    report = check_text(INSTANCES)
    assert (report.findings, report.unverified, report.steps) == ((), (), 2 * READS)


def test_a_box_that_is_too_small_for_one_instance_is_told() -> None:
    text = plant(("HALVES ? BM / 2 : BM,", "HALVES ? BM / 4 : BM,"), text=INSTANCES)
    report = check_text(text)
    assert [finding.code for finding in report.findings] == ["tma_tile_part"]
    at = report.findings[0].span[0]
    assert "HALVES ? BM / 4" in text[text.rindex("\n", 0, at) : text.index("\n", at)]
    assert report.steps == READS + READS // 2  # all of the other instance, and B of this one


def test_launches_of_equal_tiles_are_verified_once() -> None:
    again = "gemm<<<dim3(N / BN, M / BM), 128, bytes>>>(map_a, map_b, C, M, N, K);"
    assert check_text(plant((again, f"{again}\n  {again}"))).steps == READS


@pytest.mark.thorough
def test_a_loop_of_copies_that_was_not_run_to_its_end_may_fill_the_tile() -> None:
    """Of 64 boxes, one for each row, some turns are run."""
    rows = "for (int r = 0; r < BM; ++r) tma_load(sA + slot * BM * BK + r * BK, &ta, &full[slot], t * BK, row + r);"
    text = plant((COPY_OF_A, rows), ("make_map(&map_a, A, M, K, BM, BK);", "make_map(&map_a, A, M, K, 1, BK);"))
    assert not check_text(text).findings


# one box has the two panels of a turn, each with 64 elements of K
PANELS = plant(
    ("BK = 64, STAGES = 4;", "BK = 128, STAGES = 2;"),
    ("tensor.2d.shared", "tensor.3d.shared"),
    ("[%1, {%3, %4}]", "[%1, {%5, %4, %3}]"),
    ('"r"(x), "r"(y) :', '"r"(x), "r"(y), "r"(0) :'),
    ("dims[2] = {cols, rows}, strides[1] = {cols *", "dims[3] = {64, rows, cols / 64}, strides[2] = {cols *"),
    ("sizeof(bf16)};", "sizeof(bf16), 128};"),
    ("box[2] = {box_cols, box_rows}, ones[2] = {1, 1}", "box[3] = {64, box_rows, box_cols / 64}, ones[3] = {1, 1, 1}"),
    ("BFLOAT16, 2, ptr", "BFLOAT16, 3, ptr"),
    ("for (int k = 0; k < BK / 16; ++k)", "for (int p = 0; p < 2; ++p)\n    for (int k = 0; k < 4; ++k)"),
    ("sA + slot * BM * BK + k * 16)", "sA + slot * BM * BK + p * BM * 64 + k * 16)"),
    ("sB + slot * BN * BK + k * 16)", "sB + slot * BN * BK + p * BN * 64 + k * 16)"),
).replace("t * BK,", "t * BK / 64,")


@pytest.mark.thorough
def test_a_loop_over_panels_multiplies_the_slices_of_one_turn() -> None:
    report = check_text(PANELS)
    assert (report.findings, report.unverified, report.steps) == ((), (), 2 * READS)
    short = check_text(plant(("k < 4; ++k", "k < 3; ++k"), text=PANELS))
    assert [finding.code for finding in short.findings] == ["k_slices_unread"]
