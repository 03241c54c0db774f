"""What check says of words that are put together, kept in arrays, or hold two elements in a byte."""

from __future__ import annotations

from lanescope.reader.code.evaluation import evaluate_text
from tests.cases import for_each
from tests.checked import check_text, get_codes

DESCRIPTOR = """
__device__ uint64_t make_desc(void* p, uint32_t sbo) {
  uint64_t d = 0;
  uint32_t addr = static_cast<uint32_t>(__cvta_generic_to_shared(p)) >> 4;
  d |= (uint64_t)(addr & 0x3FFF);
  d |= (uint64_t)((sbo >> 4) & 0x3FFF) << 32;
  d |= (uint64_t)1 << 46;
  d |= (uint64_t)2 << 61;
  return d;
}
__device__ void load(void* dst, const void* map, void* bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    " [%0], [%1, {%3, %4}], [%2];"
    :: "r"((uint32_t)__cvta_generic_to_shared(dst)), "l"(map), "r"((uint32_t)__cvta_generic_to_shared(bar)),
       "r"(x), "r"(y) : "memory");
}
"""
MAPS = """
void make_map(CUtensorMap* m, void* p, uint64_t rows, uint64_t cols, uint32_t box_rows, uint32_t box_cols) {
  uint64_t dims[2] = {cols, rows}; uint64_t strides[1] = {cols * BITS / 8};
  uint32_t box[2] = {box_cols, box_rows}; uint32_t steps[2] = {1, 1};
  cuTensorMapEncodeTiled(m, CU_TENSOR_MAP_DATA_TYPE_KIND, 2, p, dims, strides, box, steps,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
void launch(void* a, void* b, int M, int N, int K) {
  CUtensorMap ma, mb;
  make_map(&ma, a, M, K, BM, BK);
  make_map(&mb, b, N, K, BN, BK);
  gemm<<<dim3(M / BM, N / BN), 128>>>(ma, mb, K);
}
"""
LOW_HALVES = (
    """
constexpr int BM = 128, BN = 64, BK = 64, STAGES = 2;
"""
    + DESCRIPTOR
    + """
struct Scheduler {
  uint32_t count, step; int current;
  __device__ Scheduler(uint32_t m, uint32_t n) : count(m / BM), step(n), current(-1) {}
  __device__ bool next(uint32_t& block) {
    uint32_t t = static_cast<uint32_t>(++current) * step + blockIdx.x;
    if (t >= count) return false;
    block = t;
    return true;
  }
};
__global__ void gemm(const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, int K) {
  __shared__ __align__(1024) uint8_t a[STAGES][BM * BK * 2];
  __shared__ __align__(1024) uint8_t b[STAGES][BN * BK * 2];
  __shared__ uint64_t full[STAGES];
  uint32_t idesc = (1u << 4) | (1u << 7) | (1u << 10) | ((BN / 8) << 17) | ((BM / 16) << 24);
  uint32_t alo[STAGES], blo[STAGES], ahi, bhi;
  for (uint32_t s = 0; s < STAGES; ++s) {
    uint64_t ad = make_desc(a[s], 1024);
    uint64_t bd = make_desc(b[s], 1024);
    alo[s] = static_cast<uint32_t>(ad);
    blo[s] = static_cast<uint32_t>(bd);
    if (s == 0) { ahi = static_cast<uint32_t>(ad >> 32); bhi = static_cast<uint32_t>(bd >> 32); }
  }
  uint32_t stage = 0, block;
  if (threadIdx.x == 0) {
    for (int kb = 0; kb < K / BK; ++kb) {
      load(a[stage], &ma, &full[stage], kb * BK, blockIdx.x * BM);
      load(b[stage], &mb, &full[stage], kb * BK, blockIdx.y * BN);
      stage = (stage + 1) % STAGES;
    }
  } else if (threadIdx.x == 32) {
    Scheduler scheduler(K, gridDim.x);
    while (scheduler.next(block)) {
      for (int kb = 0; kb < K / BK; ++kb) {
        for (uint32_t k = 0; k < BK / 16; ++k) {
          uint64_t ad = ((uint64_t)ahi << 32) | (alo[stage] + k * 2);
          uint64_t bd = ((uint64_t)bhi << 32) | (blo[stage] + k * 2);
          asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0;"
            "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}"
            :: "r"(0), "l"(ad), "l"(bd), "r"(idesc), "r"(kb > 0 || k > 0 ? 1u : 0u));
        }
        stage = (stage + 1) % STAGES;
      }
    }
  }
}
"""
    + MAPS.replace("BITS", "16").replace("KIND", "BFLOAT16")
)
PACKED = (
    """
constexpr int BM = 128, BN = 64, BK = 256;
"""
    + DESCRIPTOR
    + """
__global__ void gemm(const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, int K) {
  __shared__ __align__(1024) uint8_t a[BM * BK / 2];
  __shared__ __align__(1024) uint8_t b[BN * BK / 2];
  __shared__ uint64_t full;
  uint32_t idesc = (1u << 7) | (1u << 10) | ((BN >> 3) << 17) | ((BM >> 7) << 27);
  if (threadIdx.x == 0) {
    load(a, &ma, &full, 0, blockIdx.x * BM);
    load(b, &mb, &full, 0, blockIdx.y * BN);
    for (int k = 0; k < BK / 64; ++k) {
      uint64_t ad = make_desc(a + k * 32, 1024);
      uint64_t bd = make_desc(b + k * 32, 1024);
      asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0;"
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%0], %1, %2, %3, [%5], [%6], p;}"
        :: "r"(0), "l"(ad), "l"(bd), "r"(idesc), "r"(k > 0 ? 1u : 0u), "r"(256), "r"(272));
    }
  }
}
"""
    + MAPS.replace("BITS", "4").replace("KIND", "16U4_ALIGN8B")
)
MANY_LINES = """
__device__ void keep(uint32_t& x) { asm volatile("mov.b32 %0, %0;" : "+r"(x)); }
template <int N> __global__ void gemm(const half* a, uint64_t da, uint64_t db, float* c) {
  float d[4][4] = {};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, 1, 1, 1, 0, 0;"
    : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]),
      "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]), "+f"(d[3][0]), "+f"(d[3][1]),
      "+f"(d[3][2]), "+f"(d[3][3])
    : "l"(da), "l"(db));
  asm volatile("wgmma.commit_group.sync.aligned;");
  uint32_t x = 0;
KEEP
  WAIT
  c[threadIdx.x] = d[0][0];
}
void launch(const half* a, uint64_t da, uint64_t db, float* c) { gemm<1><<<1, 128>>>(a, da, db, c); }
"""
HALVES = """
def initialize_descriptor(desc, start_address, leading, stride, base_offset, swizzle_mode):
    address = start_address.toint() >> 4
    desc.desc[0] = cutlass.Int32(address) | cutlass.Int32(cutlass.Int32(leading) << 16)
    desc.desc[1] = (
        cutlass.Int32(stride)
        | cutlass.Int32(1 << 14)
        | cutlass.Int32(cutlass.Int32(base_offset & 0x7) << 17)
        | cutlass.Int32(cutlass.Int32(swizzle_mode & 0x7) << 29)
    )
"""
CASTS = """
__device__ int widen(int a) { int b; asm("cvt.s32.s8 %0, %1;" : "=r"(b) : "r"(a)); return b << 3; }
__global__ void cast(int* a) { a[threadIdx.x] = widen(a[threadIdx.x]); }
void launch(int* a) { std::cout << a << std::endl; helper(a); }
"""


def test_an_array_item_at_an_open_index_is_no_address_in_bytes() -> None:
    """alo[stage] holds start >> 4: it is unknown behind the loop, not a start that lacks the shift."""
    report = check_text(LOW_HALVES)
    assert get_codes(report) == []
    assert report.steps > 0


def test_a_wrong_step_of_low_halves_is_found() -> None:
    one = LOW_HALVES.replace("while (scheduler.next(block))", "if (scheduler.next(block))")
    assert one != LOW_HALVES and not get_codes(check_text(one))
    assert get_codes(check_text(one.replace("(alo[stage] + k * 2)", "(alo[stage] + k * 4)")))


WAIT = """asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra L; }"
      :: "r"((uint32_t)__cvta_generic_to_shared(&full)));
"""
INIT = WAIT.replace("try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra L;", "init.shared::cta.b64 [%0], 1;")


@for_each(
    ("init", "wait", "codes"),
    [
        ("", "", []),  # an excerpt
        (INIT, WAIT, []),
        (INIT, "", ["bytes_not_copied"]),
        (INIT, WAIT.replace("&full", "&other"), ["bytes_not_copied"]),
    ],
)
def test_a_kernel_that_initializes_a_barrier_waits_for_it(init: str, wait: str, codes: list[str]) -> None:
    text = PACKED.replace("uint64_t full;", f"uint64_t full, other;\n  {init}")
    assert get_codes(check_text(text.replace("    for (int k", f"    {wait}    for (int k"))) == codes


@for_each("data", ["16U4_ALIGN8B", "UINT8"])
def test_packed_elements_of_4_bits_are_verified(data: str) -> None:
    """Four products of K = 64 read the 128 bytes of a row: 32 bytes each, two elements in a byte."""
    text = PACKED.replace("16U4_ALIGN8B", data)
    if data == "UINT8":
        text = text.replace("BM, BK);", "BM, BK / 2);").replace("BN, BK);", "BN, BK / 2);")
    report = check_text(text)
    assert (get_codes(report), report.steps) == ([], 8)


@for_each("wrong", [("a + k * 32", "a + k * 64"), ("b + k * 32, 1024", "b + k * 32, 512")])
def test_mistakes_in_packed_elements_are_found(wrong: tuple[str, str]) -> None:
    assert get_codes(check_text(PACKED.replace(*wrong)))


def test_the_map_of_4_bit_elements_has_the_padding_that_their_kind_reads() -> None:
    """kind::f8f6f4 takes 16 of e2m1 from 16 bytes, kind::mxf4nvf4 from 8. PTX ISA 9.1, 9.7.16.10.4."""
    assert "element_type" in get_codes(check_text(PACKED.replace("16U4_ALIGN8B", "16U4_ALIGN16B")))
    text = PACKED.replace("mxf4nvf4.block_scale.block16 [%0], %1, %2, %3, [%5], [%6]", "f8f6f4 [%0], %1, %2, %3")
    text = text.replace("(1u << 7) | (1u << 10)", "(1u << 4) | (5u << 7) | (5u << 10)")
    assert set(get_codes(check_text(text.replace("(BM >> 7) << 27", "(BM >> 4) << 24")))) == {"element_type"}


def test_nothing_is_missing_past_the_lines_that_are_kept() -> None:
    """Of the asm statements that are run only some hundreds are kept: the wait may be one of the others."""
    many = MANY_LINES.replace("KEEP", "  keep(x);\n" * 420)
    waits = many.replace("WAIT", 'asm volatile("wgmma.wait_group.sync.aligned 0;");')
    assert get_codes(check_text(waits)) == []
    none = MANY_LINES.replace("KEEP", "  keep(x);").replace("WAIT", "")
    assert get_codes(check_text(none)) == ["wgmma_wait_missing"]


def test_the_two_words_of_an_array_are_one_descriptor() -> None:
    """Bits 14 and 15 of the upper word are the version, not reserved bits of a lower one."""
    report = check_text(HALVES)
    assert (get_codes(report), report.descriptors) == ([], 1)


def test_a_text_that_does_nothing_of_what_is_checked_is_not_run() -> None:
    evaluation = evaluate_text(CASTS)
    assert evaluation is not None
    assert (evaluation.bodiless_calls, evaluation.asm_runs) == ((), ())
    product = CASTS.replace("cvt.s32.s8 %0, %1;", "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %1, %1, 1;")
    run = evaluate_text(product)
    assert run is not None
    assert len(run.asm_runs) == 1
