"""Tiles that threads fill and wgmma reads through descriptors."""

from __future__ import annotations

import pytest

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.cases import for_each
from tests.checked import check_text, check_whole
from tests.sample import take_sample
from tests.transfer_kernels import plant

KERNEL = r"""#include <cuda_fp16.h>
__device__ uint64_t enc(uint64_t x) { return (x & 0x3FFFF) >> 4; }
__device__ uint64_t make_desc(const half* p) {
  uint64_t d = enc((uint32_t)__cvta_generic_to_shared(p));
  d |= enc(16) << 16;
  d |= enc(1024) << 32;
  d |= 1ull << 62;
  return d;
}
__global__ void __launch_bounds__(128) gemm(const half* A, const half* B, float* C, int K) {
  __shared__ __align__(1024) half sA[64 * 64];
  __shared__ __align__(1024) half sB[64 * 64];
  float d[32] = {};
  for (int k0 = 0; k0 < K; k0 += 64) {
    for (int i = threadIdx.x; i < 64 * 8; i += 128) {
      int r = i / 8, c = i % 8;
      *(uint4*)&sA[r * 64 + (c ^ (r % 8)) * 8] = *(const uint4*)&A[(blockIdx.x * 64 + r) * K + k0 + c * 8];
      *(uint4*)&sB[r * 64 + (c ^ (r % 8)) * 8] = *(const uint4*)&B[(blockIdx.y * 64 + r) * K + k0 + c * 8];
    }
    __syncthreads();
    for (int k = 0; k < 4; ++k)
      asm volatile("{\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {REGISTERS}, %32, %33, 1, 1, 1, 0, 0;\n}"
        : OUTPUTS
        : "l"(make_desc(sA + k * 16)), "l"(make_desc(sB + k * 16)));
    __syncthreads();
  }
}
"""
RIGHT = KERNEL.replace("REGISTERS", ", ".join(f"%{n}" for n in range(32))).replace(
    "OUTPUTS", ", ".join(f'"+f"(d[{n}])' for n in range(32))
)


def test_both_operands_of_a_right_kernel_are_verified() -> None:
    made = check_thread_tiles(RIGHT, {})
    assert (made.verified, made.findings) == (2, [])


B_BY_TMA = plant(
    ("const half* B, float", "const __grid_constant__ CUtensorMap map, float"),
    (
        "      *(uint4*)&sB[r * 64 + (c ^ (r % 8)) * 8] ="
        " *(const uint4*)&B[(blockIdx.y * 64 + r) * K + k0 + c * 8];\n    }",
        """    }
    uint32_t bar = (uint32_t)__cvta_generic_to_shared(&full), to = (uint32_t)__cvta_generic_to_shared(sB);
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                   " [%0], [%1, {%3, %4}], [%2];" :: "r"(to), "l"(&map), "r"(bar), "r"(k0), "r"(64 * (int)blockIdx.y));
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(8192));
    }
    while (!try_wait(bar, k0 / 64 & 1)) {}""",
    ),
    ("  float d[32]", "  __shared__ uint64_t full;\n  float d[32]"),
    text=RIGHT,
)


@for_each(
    ("old", "new", "verified", "codes"),
    [
        ("half sB", "half sB", 1, []),
        ("sA[r * 64 + (c ^ (r % 8)) * 8]", "sA[r * 64 + c * 8]", 0, ["fragment_mismatch"]),
        ("shared(sB)", "shared(sA)", 0, []),  # the box is in the bytes that threads fill
        ("shared(sB)", "shared(sA + 2048)", 0, []),
        ('"r"(8192)', '"r"(K)', 1, []),  # A is before the box
    ],
)
def test_a_tile_that_threads_fill_may_be_beside_one_of_a_copy(
    old: str, new: str, verified: int, codes: list[str]
) -> None:
    made = check_thread_tiles(plant((old, new), text=B_BY_TMA), {})
    assert (made.verified, [one.code for one in made.findings]) == (verified, codes)


def test_descriptors_reach_all_of_the_memory_that_a_block_may_have() -> None:
    arrays = RIGHT[RIGHT.index("  __shared__ __align__") : RIGHT.index("  float d")]
    behind = "  extern __shared__ __align__(1024) half s[];\n  half *sA = s, *sB = s + 70 * 1024;\n"
    made = check_thread_tiles(RIGHT.replace(arrays, behind), {})
    assert (made.verified, made.findings) == (2, [])


@for_each("static_first", [True, False], sample=1)
def test_arrays_and_dynamic_shared_memory_do_not_overlap_whichever_is_declared_first(static_first: bool) -> None:
    arrays = RIGHT[RIGHT.index("  __shared__ __align__") : RIGHT.index("  float d")]
    both = ["  extern __shared__ __align__(1024) half sA[];\n", "  __shared__ __align__(1024) half b[160 * 64];\n"]
    text = plant((arrays, "".join(both[:: -1 if static_first else 1]) + "  half* sB = b + 96 * 64;\n"), text=RIGHT)
    launch = "void run(half* A, half* B, float* C) { gemm<<<dim3(6, 6), 128, 64 * 64 * 2>>>(A, B, C, 384); }\n"
    found = check_whole(text + launch)
    assert (found.steps, found.findings) == (2, ())
    assert not [point.message for point in found.open if "not verified" in point.message]
    short = check_whole(text + launch.replace("* 2>>>", ">>>"))
    assert [one.code for one in short.findings] == ["shared_memory_short"]


def test_a_loop_that_asks_whether_to_end_in_some_turns_is_left() -> None:
    loop = "for (int k0 = 0; k0 < K; k0 += 64) {"
    endless = "int k0 = 0;\n  for (;; k0 += 64) {\n    if (k0 % 128 == 0 && k0 >= K) break;"
    assert check_text(plant((loop, endless), text=RIGHT)).steps == check_text(RIGHT).steps


def test_a_loop_that_macros_are_wrapped_in_is_run_once() -> None:
    stored = """  }
  int row = blockIdx.x * 64 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  for (int n = 0; n < 32; ++n)
    C[(row + n % 4 / 2 * 8) * N + blockIdx.y * 64 + n / 4 * 8 + threadIdx.x % 4 * 2 + n % 2] = d[n];
}
"""
    text = RIGHT.replace("int K)", "int K, int N)").replace("  }\n}\n", stored)
    once = text.replace("    for (int k = 0; k < 4", "    do for (int k = 0; k < 4").replace(
        "k * 16)));", "k * 16))); while (0);"
    )
    assert once.count("while (0)") == 1
    for one in (text, once):
        assert not [point.message for point in check_whole(one).open if "A·B" in point.message]


# rows of A that overlap, as those of a 1-D convolution: LBO is the step from one row to the next, 16 bytes
ROW = "*(uint4*)&sA[r * 64 + (c ^ (r % 8)) * 8] = *(const uint4*)&A[(blockIdx.x * 64 + r) * K + k0 + c * 8];"
OVERLAPPING = "*(uint4*)&sA[(r + c) * 8] = *(const uint4*)&A[blockIdx.x * 512 + k0 + (r + c) * 8];"
OF_A = RIGHT[RIGHT.index("__device__ uint64_t make_desc") : RIGHT.index("__global__")].replace(
    "make_desc", "describe_a"
)
OF_OVERLAPPING = OF_A.replace("1024", "128").replace("  d |= 1ull << 62;\n", "")


def test_strides_that_verified_reads_have_are_not_doubted() -> None:
    text = RIGHT.replace("__global__", OF_OVERLAPPING + "__global__").replace("make_desc(sA", "describe_a(sA")
    right = check_text(text.replace(ROW, OVERLAPPING))
    assert (right.steps, right.findings, right.doubts) == (2, (), ())
    assert [one.code for one in check_text(text.replace(ROW, "")).doubts] == ["core_matrices_overlap"]


@for_each("pitch", ["K", "1024"])
def test_rows_that_begin_at_different_k_of_half_a_tile_are_not_verified(pitch: str) -> None:
    """Under the XOR of r % 4, rows 4 to 7 have the other half of K where the 128B swizzle reads the first half."""
    half = RIGHT.replace("r % 8", "r % 4").replace("k < 4", "k < 2").replace("* K + k0", f"* {pitch} + k0")
    made = check_thread_tiles(half, {})
    assert (made.verified, made.findings) == (0, [])


@for_each(
    ("old", "new", "code", "place"),
    take_sample(
        [
            ("sA[r * 64 + (c ^ (r % 8)) * 8]", "sA[r * 64 + c * 8]", "fragment_mismatch", "&sA[r * 64 + c * 8]"),
            ("sB[r * 64 + (c ^", "sB[r * 72 + (c ^", "fragment_mismatch", "&sB[r * 72"),  # a padded pitch
            ("enc(1024) << 32", "enc(512) << 32", "rows_repeated", "make_desc(sA"),  # SBO
            ("1ull << 62", "2ull << 62", "fragment_mismatch", "make_desc(sA"),  # the 64B swizzle
        ],
        3,
    ),
    sample=2,
)
def test_a_planted_mistake_is_found_at_the_store_or_at_the_descriptor_that_a_field_mends(
    old: str, new: str, code: str, place: str
) -> None:
    assert old in RIGHT
    wrong = RIGHT.replace(old, new)
    found = [(one.code, wrong[slice(*one.span)]) for one in check_thread_tiles(wrong, {}).findings]
    assert any(one == code and place in at for one, at in found), found


@for_each(
    ("old", "new", "code", "place"),
    [
        ("make_desc(sB + k * 16)", "make_desc(sB + k * 8)", "k_step_differs", "make_desc(sB + k * 8)"),
        ("k < 4; ++k", "k < 3; ++k", "k_slice_skipped", "k < 3"),
        ("(blockIdx.y * 64 + r) * K + k0 + c", "(blockIdx.y * 64 + r) * K + c", "k_slice_wrong", "&B[("),
    ],
)
def test_slices_of_a_and_b_are_compared(old: str, new: str, code: str, place: str) -> None:
    wrong = RIGHT.replace(old, new)
    found = [(one.code, wrong[slice(*one.span)]) for one in check_thread_tiles(wrong, {}).findings]
    assert any(one == code and place in at for one, at in found), found


@for_each(
    "changes",
    [
        [
            ("(blockIdx.y * 64 + r) * K + k0", "(blockIdx.y * 64 + r) * ldb"),
            ("int K)", "int K, int ldb)"),
        ],  # [high | low]
        [("(blockIdx.y * 64 + r) * K + k0", "(blockIdx.y * 64 + r) * K"), ("%33, 1", "%33, 0")],
        [("sA + k", "sA + 0 * k"), ("%33, 1", "%33, 0")],  # sums of one slice each
        [("k < 4", "k < min(4, (K - k0) / 16)")],
        [
            ("k < 4", "k < 3"),
            ("  }\n}", "    for (int i = threadIdx.x; i < 4096; i += 128) C[0] += sA[i] * sB[i];\n  }\n}"),
        ],
        [("k < 4", "k < 3"), ("float d[32] = {};", "float d[32] = {C[0]};"), ("  }\n}", "  }\n  C[0] = d[0];\n}")],
    ],
    ids=["smaller_k", "other_sums", "one_slice", "size", "threads", "added"],
)
def test_slices_that_may_be_left_out_or_taken_again_are_no_mistakes(changes: list[tuple[str, str]]) -> None:
    assert check_thread_tiles(plant(*changes, text=RIGHT), {}).findings == []


# a tcgen05 kernel whose descriptor is a union with bit fields, its swizzle chosen by a switch
TENSOR = r"""#include <cuda_fp16.h>
union Descriptor {
  uint64_t word;
  struct { uint16_t start : 14, : 2; uint16_t lbo : 14, : 2; uint16_t sbo : 14, version : 2; uint16_t : 13, mode : 3; };
};
struct Sizes { int m, n, k; };
__device__ uint64_t describe(const half* tile, int rows, int swizzle) {
  Descriptor d;
  d.word = 0;
  d.start = (uint32_t)__cvta_generic_to_shared(tile) >> 4;
  d.lbo = 1;
  d.sbo = rows * 8;
  d.version = 1;
  switch (swizzle) {
    case 64: d.mode = 4; break;
    case 128: d.mode = 2; break;
    default: d.mode = 0;
  }
  return d.word;
}
__global__ void __launch_bounds__(128) gemm(const half* A, const half* B, Sizes size, uint32_t d) {
  __shared__ __align__(1024) half a[128 * 64], b[128 * 64];
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  for (int i = threadIdx.x; i < 128 * 8; i += 128) {
    int r = i / 8, c = i % 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
      :: "r"((uint32_t)__cvta_generic_to_shared(&a[r * 64 + (c ^ r % 8) * 8])),  // the target (shared)
         "l"(A + (rank * 128 + r) * size.k + c * 8));
    *(uint4*)&b[r * 64 + (c ^ r % 8) * 8] = *(const uint4*)&B[(blockIdx.x * 128 + r) * size.k + c * 8];
  }
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  if (threadIdx.x == 0)
    for (int k = 0; k < 4; ++k)
      asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}"
        :: "r"(d), "l"(describe(a + k * 16, 8, 128)), "l"(describe(b + k * 16, 8, 128)), "r"(0x8200010), "r"(k));
}
"""


def test_a_descriptor_of_bit_fields_is_followed() -> None:
    right = check_thread_tiles(TENSOR, {})
    assert (right.verified, right.findings) == (2, [])


def test_sums_in_allocated_tensor_memory_are_told_apart() -> None:
    """A product of another sum, of a tile that is not known, leaves the K steps of this one known."""
    slot = "(uint32_t)__cvta_generic_to_shared(&slot)"
    allocate = f"""  __shared__ uint32_t slot;
  if (threadIdx.x < 32)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 256;" :: "r"({slot}));
  __syncthreads();
  const uint32_t d = slot;
"""
    text = plant((", uint32_t d) {\n", f") {{\n{allocate}"), text=TENSOR)
    product = text[text.index("  if (threadIdx.x == 0)\n") : text.rindex("}")]
    other = product.replace("describe(a + k * 16, 8, 128)", "open").replace('"r"(d)', '"r"(d + 128)')
    text = text.replace(product, other + product).replace("Sizes size", "Sizes size, uint64_t open")
    assert check_thread_tiles(text, {}).findings == []
    (wrong,) = check_thread_tiles(text.replace("describe(a + k * 16", "describe(a + k * 8"), {}).findings
    assert wrong.code == "k_step_differs"


# a tile that is computed from the row and the column of each element
COMPUTED = "\n".join(
    (
        TENSOR.partition("  for (int i")[0] + "  for (int i = threadIdx.x; i < 128 * 64; i += 128) {",
        "    const int r = i / 64, c = i % 64, value = (r + 3 * c) % 7;",
        "    const int at = r * 64 + (c / 8 ^ r % 8) * 8 + c % 8;",
        "    a[at] = __float2half(static_cast<float>(value));",
        "    b[at] = __float2half(0.5f * (c * 2 + r));",
        "  }\n  __syncthreads();" + TENSOR.partition("  __syncthreads();")[2],
    )
)

ONE_THREAD = "if (threadIdx.x == 0) for (int i = 0; i < 128 * 64; ++i) {"


def test_elements_that_are_computed_from_row_and_column_are_those_of_a_matrix() -> None:
    right = check_thread_tiles(COMPUTED, {})
    assert (right.verified, right.findings) == (2, [])
    wrong = check_thread_tiles(COMPUTED.replace("describe(b + k * 16, 8, 128)", "describe(b + k * 16, 8, 64)"), {})
    assert {one.code for one in wrong.findings} == {"fragment_mismatch"}


@pytest.mark.thorough
@for_each(
    ("old", "new"),
    [
        ("static_cast<float>(value)", "1.0f"),  # elements that are all the same
        ("i / 64, c = i % 64, value = (r + 3 * c) % 7", "i / 8, c = i % 8, value = r + c"),  # a tile has no 8 columns
        ("(r + 3 * c) % 7", "(blockIdx.x * c) % 7"),  # one index, and one that is not known
    ],
)
def test_other_computed_elements_are_open(old: str, new: str) -> None:
    assert old in COMPUTED
    made = check_thread_tiles(COMPUTED.replace(old, new), {})
    assert made.findings == [] and made.verified < 2


@pytest.mark.thorough
def test_a_tile_that_one_thread_fills_is_followed() -> None:
    """Its 8,192 iterations are independent: each thread of the block runs one of 128 at a time."""
    alone = COMPUTED.replace("for (int i = threadIdx.x; i < 128 * 64; i += 128) {", ONE_THREAD)
    assert ONE_THREAD in alone
    right = check_thread_tiles(alone, {})
    assert (right.verified, right.findings) == (2, [])
    wrong = check_thread_tiles(alone.replace("r * 64 + (c / 8 ^ r % 8) * 8", "r * 64 + c / 8 * 8"), {})
    assert {one.code for one in wrong.findings} == {"fragment_mismatch"}


@pytest.mark.thorough
@for_each(
    ("old", "new"),
    [
        ("b[at] =", "last = at; b[at] ="),  # a variable that later iterations may read
        ("b[at] =", "b[at] = a[at + 1]; b[at] ="),  # what another iteration stores
        ("b[at] =", "half* p = b; p[at ^ 1] = value; b[at] ="),  # what another iteration may store
        ("value = (r + 3 * c) % 7;", "value = (r + 3 * c) % 7; if (r == 127) break;"),
    ],
    sample=1,
)
def test_iterations_that_may_depend_on_each_other_are_run_in_order(old: str, new: str) -> None:
    alone = COMPUTED.replace("for (int i = threadIdx.x; i < 128 * 64; i += 128) {", "int last = 0;\n" + ONE_THREAD)
    assert old in alone
    assert check_thread_tiles(alone.replace(old, new), {}).verified == 0  # too long to be followed


def test_stores_before_a_product_in_tensor_memory_need_a_fence() -> None:
    def list_codes(text: str) -> list[str]:
        return [one.code for one in check_text(text).findings]

    fence = '  asm volatile("fence.proxy.async.shared::cta;");\n  __syncthreads();'
    assert list_codes(COMPUTED.replace("  __syncthreads();", fence)) == []
    assert list_codes(COMPUTED) == ["proxy_fence_missing"]
