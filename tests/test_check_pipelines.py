"""Mistakes in a loop over stages and along K are found where they were made."""

from __future__ import annotations

import pytest

from tests.cases import for_each
from tests.checked import check_text, list_findings
from tests.test_check import plant_mistake

PIPED = """void maps(void* A, void* B, uint64_t M, uint64_t N, uint64_t K) {
  uint64_t dims_a[2] = {K, M}, dims_b[2] = {K, N}, strides[2] = {sizeof(bf16), K * sizeof(bf16)};
  uint32_t box_a[2] = {64, 64}, box_b[2] = {64, 128}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(&map_a, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, A, dims_a, strides + 1, box_a, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cuTensorMapEncodeTiled(&map_b, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, B, dims_b, &strides[1], box_b, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
__device__ uint64_t pack(const void* p, uint32_t lead, uint32_t stride, uint64_t mode) {
  uint32_t a = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  uint64_t d = (a & 0x3FFFF) >> 4;
  d |= uint64_t((lead & 0x3FFFF) >> 4) << 16;
  d |= uint64_t((stride & 0x3FFFF) >> 4) << 32;
  return d | mode << 62;
}
template <int TransB> __device__ void multiply(float* d, uint64_t da, uint64_t db) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0}, %1, %2, 1, 1, 1, 0, %3;"
      : "+f"(d[0]) : "l"(da), "l"(db), "n"(TransB));
}
__global__ void gemm(float* d, int K) {
  extern __shared__ __align__(1024) uint8_t smem[];
  bf16* sA = reinterpret_cast<bf16*>(smem);
  bf16* sB = sA + 4 * 64 * 64;
  for (int tile = 0; tile < K / 64; ++tile) {
    int slot = tile % 4;
    for (int k = 0; k < 4; ++k) {
      uint64_t da = pack(sA + slot * 64 * 64 + k * 16, 16, 1024, 1);
      uint64_t db = pack(sB + slot * 128 * 64 + k * 16, 16, 1024, 1);
      if (k == 0) multiply<0>(d, da, db); else multiply<0>(d, da, db);
    }
  }
}
"""


def test_the_right_pipeline_is_verified() -> None:
    report = check_text(PIPED)
    assert (report.findings, report.open, report.steps) == ((), (), 24)


@for_each(
    ("old", "new", "code", "line"),
    [
        (
            "+ k * 16, 16, 1024, 1);\n      uint64_t db",
            "+ k * 16, 1024, 16, 1);\n      uint64_t db",
            "lbo_sbo_swapped",
            "uint64_t da = pack",
        ),
        ("128 * 64 + k * 16, 16, 1024, 1", "128 * 64 + k * 16, 16, 1024, 3", "tma_swizzle_enum", "uint64_t db = pack"),
        ("slot * 128 * 64 + k * 16", "slot * 128 * 64", "k_step_missing", "uint64_t db = pack"),
        ("if (k == 0) multiply<0>", "if (k == 0) multiply<1>", "wrong_transpose", "multiply<1>"),
    ],
    sample=2,
)
def test_a_mistake_in_a_pipeline_is_found_where_it_was_made(old: str, new: str, code: str, line: str) -> None:
    """Where the variable was given its descriptor, where a helper gives the field, at the one wrong instruction."""
    text = plant_mistake(old, new, PIPED)
    places = list_findings(text)
    assert any(own == code and line in at for own, at in places), places


@pytest.mark.thorough
def test_a_wrong_transpose_does_not_unname_the_operands_map() -> None:
    """The map of A is named map_a whichever way the multiplication reads A, also where the text has no map of B."""
    nameless = PIPED.replace("dims_a[2] = {K, M}", "dims_a[2] = {d0, d1}")
    first, rest = nameless.index("  cuTensorMapEncodeTiled(&map_b"), nameless.index("}\n__device__")
    made = check_text(plant_mistake("1, 1, 1, 0, %3", "1, 1, 1, 1, %3", nameless[:first] + nameless[rest:]))
    assert [one.code for one in made.findings] == ["wrong_transpose"], made.open


def test_the_other_operands_descriptor_is_told_by_the_code_that_builds_it() -> None:
    """The variables da and db say nothing; what they are built from does."""
    made = check_text(
        plant_mistake("else multiply<0>(d, da, db)", "else multiply<0>(d, db, da)", PIPED).replace(
            "if (k == 0) multiply<0>(d, da, db); else ", ""
        )
    )
    assert not made.findings and all("Exchange the two descriptors" in one.message for one in made.open) and made.open


def test_stages_that_begin_where_an_earlier_one_did_are_that_one_again() -> None:
    assert check_text(PIPED.replace("tile % 4", "tile % 1")).findings == ()
    panels = PIPED.replace("tile < K / 64", "tile < 2").replace("slot * 128 * 64", "slot * 64 * 64")
    assert all(one.code != "stages_overlap" for one in check_text(panels).findings)


SIBLINGS = """CUtensorMap mapA, mapB;
uint64_t dim[2] = {4096, 4096}, stride[1] = {8192};
uint32_t box[2] = {64, 128}, es[2] = {1, 1};
cuTensorMapEncodeTiled(&mapA, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, gA, dim, stride, box, es,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
cuTensorMapEncodeTiled(&mapB, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, gB, dim, stride, box, es,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
__device__ uint64_t make_desc(bf16* p) {
  uint64_t d = 0; uint32_t a = (uint32_t)__cvta_generic_to_shared(p);
  d |= (a & 0x3FFFF) >> 4; d |= (uint64_t)1 << 16; d |= (uint64_t)(1024 >> 4) << 32; d |= 1ull << 62; return d;
}
__device__ void wgmma128(float* d, bf16* a, bf16* b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0}, %1, %2, 1, 1, 1, 0, 0;"
      : "+f"(d[0]) : "l"(make_desc(a)), "l"(make_desc(b)));
}
__global__ void kernel(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB) {
  __shared__ alignas(1024) bf16 sA[3 * 128 * 64], sB[3 * 128 * 64];
  bf16 *pa = sA, *pb = sB;
  wgmma128(d, &pa[0], &pb[0]);
  for (int k_it = 1; k_it < 4; ++k_it) wgmma128(d, &pa[k_it * 16], &pb[k_it * 16]);
  pa += 128 * 64; pb += 128 * 64;
  for (int bk = 64; bk < 192; bk += 64) {
    for (int k_it = 0; k_it < 4; ++k_it) wgmma128(d, &pa[k_it * 16], &pb[k_it * 16]);
    pa += 128 * 64; pb += 128 * 64;
  }
}
"""


def test_a_first_step_outside_its_loop_and_a_loop_around_another_are_one_walk_along_k() -> None:
    """The K steps of fast.cu's later kernels: by what nests in what, not by which loop comes first."""
    told = check_text(SIBLINGS)
    assert told.findings == () and told.steps == 24
    wrong = check_text(
        SIBLINGS.replace(
            "k_it = 0; k_it < 4; ++k_it) wgmma128(d, &pa[k_it * 16]",
            "k_it = 0; k_it < 4; ++k_it) wgmma128(d, &pa[k_it * 24]",
        )
    )
    assert wrong.findings
