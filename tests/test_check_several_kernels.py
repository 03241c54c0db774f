"""Kernels of one file that name their parameters and arrays alike: each is checked with its own maps and copies."""

from __future__ import annotations

import re

from tests.checked import check_text
from tests.transfer_kernels import EPILOGUE, HELPERS, KERNEL

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


def test_a_kernel_that_nothing_launches_has_no_verdict_if_several_maps_may_fill_its_tiles() -> None:
    alone = re.sub(r"  repeat\(\[&\] \{ gemm<<<.*\n", "", TWO)
    report = check_text(alone)
    assert not report.findings and report.steps == FLAT_READS and report.unverified
