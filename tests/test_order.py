"""Mistakes of order and of TMA copies: a right kernel has none, and each that is planted is told at its own line."""

from __future__ import annotations

import pytest

from lanescope.reader.code.running.run_records import MOST_SKIPPED, SkippedCode, find_last_skipped
from tests.cases import for_each
from tests.checked import check_text, list_codes, list_findings
from tests.transfer_kernels import STORES, TMA, plant


@for_each("text", [TMA, STORES], ids=["tma", "stores"], sample=1)
def test_a_right_kernel_is_clean(text: str) -> None:
    assert not list_findings(text)


STAGED = plant(
    ("bf16 sA[64 * 64]", "bf16 sA[1][64 * 64]"),
    ("sA[place(", "sA[0][place("),
    ("make_smem_desc(sA + k * 16)", "make_smem_desc(&sA[0][0] + k * 16)"),
    ("bf16 sB[128 * 64]", "bf16 sB[1][128 * 64]"),
    ("sB[place(", "sB[0][place("),
    ("make_smem_desc(sB + k * 16)", "make_smem_desc(&sB[0][0] + k * 16)"),
    text=STORES,
)
HOISTED = plant(
    (
        "    for (int k = 0; k < BK / 16; ++k)\n",
        "    uint64_t b = make_smem_desc(sB + slot * BN * BK);\n    for (int k = 0; k < BK / 16; ++k)\n",
    ),
    ("make_smem_desc(sB + slot * BN * BK + k * 16)", "b + 2 * k"),
)
MISTAKES = [  # text, what stands there, what is planted, code, line
    (TMA, "    warpgroup_arrive();\n", "", "wgmma_fence_missing", "for (int k = 0"),
    (TMA, "    warpgroup_commit();\n", "", "wgmma_commit_missing", "warpgroup_wait<0>();"),
    (TMA, "    warpgroup_wait<0>();\n", "", "wgmma_wait_missing", "__syncthreads();"),
    (TMA, "warpgroup_wait<0>();", "warpgroup_wait<1>();", "wgmma_wait_short", "warpgroup_wait<1>();"),
    (TMA, "float d[64] = {};", "float d[64];", "accumulator_unset", "float d[64];"),
    (TMA, "k < BK / 16;", "k < BK / 16 - 1;", "k_slices_unread", "for (int k = 0; k < BK / 16 - 1; ++k)"),
    (STORES, 'asm volatile("fence.proxy.async', '// asm volatile("', "proxy_fence_missing", "__syncthreads();"),
    (STAGED, 'asm volatile("fence.proxy.async', '// asm volatile("', "proxy_fence_missing", "__syncthreads();"),
    (TMA, "* sizeof(bf16));\n      tma", ");\n      tma", "expect_tx_bytes", "expect_bytes(&full[slot]"),
    (TMA, "{box_cols, box_rows}", "{box_cols, 32}", "tma_tile_part", "uint32_t box[2] = {box_cols, 32}"),
    (HOISTED, "b + 2 * k", "b", "k_step_missing", "multiply<1>("),
    (TMA, "B, N, K, BN, BK", "B, N, K, 2 * BN, BK", "box_size", "make_map(&map_b"),
    (TMA, "sA + slot * BM * BK, &ta", "sA + slot * BM * BK, &tb", "tma_map_other", "tma_load(sA + slot"),
]


@for_each(("text", "old", "new", "code", "line"), MISTAKES, sample=6)
def test_a_planted_mistake_stands_at_its_line(text: str, old: str, new: str, code: str, line: str) -> None:
    found = list_findings(plant((old, new), text=text))
    assert {one for one, _ in found} == {code}
    assert all(at.startswith(line) for _, at in found)


def test_a_missing_fence_is_reported_for_the_first_of_its_buffers() -> None:
    """Whatever the order of a set is in this process."""
    (finding,) = check_text(plant(('asm volatile("fence.proxy.async', '// asm volatile("'), text=STORES)).findings
    assert finding.message.startswith("Threads store to sA, ")


@for_each(
    ("waits", "code", "line"),
    [
        ("warpgroup_wait<2>();\n    warpgroup_wait<1>();", "wgmma_wait_short", "warpgroup_wait<1>();"),
        ("", "wgmma_wait_missing", "__syncthreads();"),
    ],
)
def test_the_last_wait_after_a_product_is_too_short(waits: str, code: str, line: str) -> None:
    """One before the products waits for none of them."""
    text = plant(("float d[64] = {};", "float d[64] = {};\n  warpgroup_wait<0>();"))
    ((found, at),) = list_findings(plant(("    warpgroup_wait<0>();\n    ", f"    {waits}\n    "), text=text))
    assert (found, at) == (code, line)


def test_exchanged_descriptors_of_tiles_that_do_not_fit_are_found() -> None:
    a, b = "make_smem_desc(sA + slot * BM * BK + k * 16)", "make_smem_desc(sB + slot * BN * BK + k * 16)"
    assert [code for code, _ in list_findings(plant((f"{a}, {b}", f"{b}, {a}")))] == ["operands_exchanged"]


# what makes a mistake open --------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_call_without_code_may_be_what_is_missing() -> None:
    assert not list_findings(plant(("    warpgroup_arrive();\n", "    prepare_registers();\n")))
    assert not list_findings(plant(("    warpgroup_wait<0>();\n", "    finish_group();\n")))
    assert not list_findings(
        plant(('asm volatile("fence.proxy.async.shared::cta;" ::: "memory");', "publish();"), text=STORES)
    )


@pytest.mark.thorough
def test_a_fence_in_one_branch_may_be_the_one() -> None:
    """Not every path has the fence, but a path that has none is not known to be taken."""
    assert not list_findings(plant(("    warpgroup_arrive();\n", "    if (K > 64) warpgroup_arrive();\n")))


@pytest.mark.thorough
def test_cutlass_names_are_known_without_their_code() -> None:
    named = plant(
        ('__device__ void warpgroup_arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }\n', "")
    )
    assert not list_findings(named)
    assert [code for code, _ in list_findings(named.replace("    warpgroup_arrive();\n", ""))] == [
        "wgmma_fence_missing"
    ]


def test_scale_d_of_0_the_first_time_sets_the_accumulators() -> None:
    unset = plant(("float d[64] = {};", "float d[64];"))
    first = unset.replace("multiply<1>(d", "if (t == 0 && k == 0) multiply<0>(d, 0, 0); else multiply<1>(d")
    assert "accumulator_unset" not in {code for code, _ in list_findings(first)}


def test_a_prologue_has_its_own_bytes() -> None:
    """The same barrier before the loop and in it: neither is compared with the copies of the other."""
    first = plant(
        (
            "  float d[64] = {};",
            "  if (threadIdx.x == 0) {\n    expect_bytes(&full[0], BM * BK * 2);\n"
            "    tma_load(sA, &ta, &full[0], 0, row);\n  }\n  wait(&full[0], 0);\n  float d[64] = {};",
        )
    )
    assert not list_findings(first)


def test_an_access_on_another_path_is_none() -> None:
    text = plant(
        ("for (int k = 0; k < BK / 16; ++k)\n", "if (row < M) for (int k = 0; k < BK / 16; ++k)\n"),
        ("    warpgroup_commit();\n", "    else d[0] *= 2;\n    warpgroup_commit();\n"),
    )
    assert not list_findings(text)


def test_an_excerpt_is_not_judged() -> None:
    """A kernel with none of fence, commit and wait is a part of one."""
    steps = [(f"    warpgroup_{word};\n", "") for word in ("arrive()", "commit()", "wait<0>()")]
    assert not list_findings(plant(*steps))


# shared memory --------------------------------------------------------------------------------------------------------


def test_what_runs_after_the_last_recorded_code_is_not_known() -> None:
    one, other = (("main", (0, 0)), ("f", (1, 1))), (("main", (0, 0)), ("g", (2, 2)))
    skipped = [SkippedCode((5, 6), one, (), order) for order in range(MOST_SKIPPED)]
    assert find_last_skipped(skipped[1:], one) is None
    assert find_last_skipped(skipped, one) == MOST_SKIPPED - 1
    assert find_last_skipped(skipped, other) is None  # each function that main calls has as many


def test_arrays_over_227_kilobytes() -> None:
    """ptxas 13.5 takes up to 232,448 bytes for sm_90a; releases before it took 48 KB, which is left open."""
    declared = "__shared__ alignas(128) float tile[32 * 32];"
    most, over = (declared.replace("32 * 32", f"227 * 256 + {more}") for more in (0, 32))
    assert not list_findings(plant((declared, most), text=BULK_STORE))
    assert list_findings(plant((declared, over), text=BULK_STORE)) == [("shared_memory_over", over)]


BYTES = "constexpr int bytes = STAGES * (BM + BN) * BK * sizeof(bf16) + STAGES * 8;"


def test_a_launch_whose_limit_nothing_raises() -> None:
    raised = "  cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);\n"
    assert [code for code, _ in list_findings(plant((raised, "")))] == ["shared_memory_over"]
    assert not list_findings(plant((raised, "  allow_shared(gemm, bytes);\n")))
    excerpt = plant((raised, ""), ("bytes>>>(map_a,", "bytes>>>(map_of_a,"))
    assert not list_findings(excerpt), "an argument is declared elsewhere, and the limit may be raised there"
    assert not list_findings(plant((raised, ""), ("STAGES = 4;", "STAGES = 1;"), (BYTES, "const int bytes = 24584;")))


@for_each("size", ["cfg::SMEM", "Traits<64>::kSmem", "sizeof(Storage)", "bytes"])
def test_a_launch_whose_size_the_language_gives(size: str) -> None:
    text = f"""
namespace cfg {{ constexpr int STAGES = 4, SMEM = STAGES * 256 * 64 * 2; }}
struct Storage {{ short a[4][128 * 64]; short b[4][128 * 64]; }};
template <int ROWS> struct Traits {{ static constexpr int kSmem = ROWS * 1024; }};
__global__ void __launch_bounds__(128) first(const short* a) {{ extern __shared__ short smem[]; }}
__global__ void second(const short* a) {{ extern __shared__ short smem[]; }}
void run(const short* a) {{
  cudaFuncSetAttribute(second, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  const size_t bytes = sizeof(Storage) + 1024;
  second<<<1, 128, sizeof(Storage)>>>(a);
  first<<<1, 128, {size}>>>(a);
}}
"""
    assert list_findings(text) == [("shared_memory_over", f"first<<<1, 128, {size}>>>(a);")]
    assert not list_findings(text.replace("Attribute(second,", "Attribute(first,").replace("second<<<", "other<<<"))
    assert not list_findings(text.replace("void run(const short* a) {", "void run(const short* a) {\n  allow(first);"))


# libcu++, and structs of parameters as public kernels have them -------------------------------------------------------

LIBRARY = plant(
    (
        "tma_load(sA + slot * BM * BK, &ta, &full[slot], t * BK, row);",
        "cde::cp_async_bulk_tensor_2d_global_to_shared(&sA[slot * BM * BK], &ta, t * BK, row, bars[slot]);",
    ),
    (
        "tma_load(sB + slot * BN * BK, &tb, &full[slot], t * BK, col);",
        "cde::cp_async_bulk_tensor_2d_global_to_shared(&sB[slot * BN * BK], &tb, t * BK, col, bars[slot]);",
    ),
    (
        "expect_bytes(&full[slot], (BM * BK + BN * BK) * sizeof(bf16));",
        "cuda::device::barrier_arrive_tx(bars[slot], 1, (BM * BK + BN * BK) * sizeof(bf16));",
    ),
    ("  float d[64] = {};", "  __shared__ cuda::barrier<cuda::thread_scope_block> bars[STAGES];\n  float d[64] = {};"),
)


@for_each(
    ("old", "new", "code"),
    [
        ("", "", ""),
        ("* sizeof(bf16));\n      cde", ");\n      cde", "expect_tx_bytes"),
        ("&sA[slot * BM * BK], &ta", "&sA[slot * BM * BK], &tb", "tma_map_other"),
        ("k < BK / 16;", "k < BK / 16 - 1;", "k_slices_unread"),
    ],
    sample=2,
)
def test_copies_of_libcu(old: str, new: str, code: str) -> None:
    text = plant((old, new), text=LIBRARY) if old else LIBRARY
    assert {one for one, _ in list_findings(text)} == ({code} if code else set())


BULK_STORE = r"""
__device__ void store(const void* map, void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
      :: "l"(map), "r"((uint32_t)__cvta_generic_to_shared(from)), "r"(x), "r"(y) : "memory");
}
__global__ void write(const __grid_constant__ CUtensorMap map, const float* in) {
  __shared__ alignas(128) float tile[32 * 32];
  tile[threadIdx.x] = in[threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;");
  __syncthreads();
  if (threadIdx.x == 0) {
    store(&map, tile, 0, 0);
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;");
  }
}
void launch(const CUtensorMap& map, const float* in) { write<<<1, 1024>>>(map, in); }
"""
FENCE = '  asm volatile("fence.proxy.async.shared::cta;");\n'


def test_a_bulk_copy_to_global_memory_needs_the_proxy_fence() -> None:
    """PTX ISA 9.1, 9.7.9.27: the copy reads shared memory through the async proxy."""
    assert list_codes(BULK_STORE) == []
    (finding,) = check_text(BULK_STORE.replace(FENCE, "")).findings
    assert finding.code == "proxy_fence_missing"
    assert "bulk copy to global memory" in finding.message


@for_each(
    ("line", "other"),
    [
        ("  tile[threadIdx.x] = in[threadIdx.x];\n", "  fill(tile, in);\n"),  # it may have the fence
        ("  __syncthreads();\n", "  hand_over();\n"),
        (
            "__shared__ alignas(128) float tile[32 * 32];\n",
            "__shared__ float tile[1024], sums[1024];\n  sums[0] = 1;\n",
        ),
    ],
)
def test_bulk_copies_whose_stores_are_open_are_left_alone(line: str, other: str) -> None:
    text = BULK_STORE.replace(FENCE, "").replace(line, other)
    text = text.replace("  tile[threadIdx.x] = in[threadIdx.x];\n", "") if "sums" in other else text
    assert list_codes(text) == []


@for_each(
    ("old", "code", "line"),
    [
        ("  __syncthreads();\n", "bulk_barrier_missing", "if (threadIdx.x == 0) {"),
        (FENCE, "proxy_fence_missing", "__syncthreads();"),
        (
            '    asm volatile("cp.async.bulk.commit_group;");\n',
            "bulk_commit_missing",
            'asm volatile("cp.async.bulk.wait_group 0;");',
        ),
        ('    asm volatile("cp.async.bulk.wait_group 0;");\n', "bulk_wait_missing", "}"),
    ],
)
def test_what_a_bulk_copy_lacks_stands_where_it_belongs(old: str, code: str, line: str) -> None:
    assert list_findings(plant((old, ""), text=BULK_STORE)) == [(code, line)]


def test_a_named_barrier_or_a_wait_of_a_library_is_one() -> None:
    named = plant(("  __syncthreads();\n", '  asm volatile("barrier.sync 1, 1024;" ::: "memory");\n'), text=BULK_STORE)
    assert not list_findings(named)
    library = plant(
        ('    asm volatile("cp.async.bulk.wait_group 0;");\n', "    tma_store_wait<0>();\n"), text=BULK_STORE
    )
    assert not list_findings(library)


@pytest.mark.thorough
def test_two_barriers_each_with_its_own_bytes() -> None:
    """A's copy on one barrier and B's on another: each is compared with its own."""
    two = plant(
        (
            "expect_bytes(&full[slot], (BM * BK + BN * BK) * sizeof(bf16));",
            "expect_bytes(&full[slot], BM * BK * 2);\n      expect_bytes(&full[slot + STAGES], BN * BK * 2);",
        ),
        ("&tb, &full[slot],", "&tb, &full[slot + STAGES],"),
    )
    assert [code for code, _ in list_findings(two)] == ["bytes_not_copied"]  # nothing waits for B
    wait = "    wait(&full[slot], (t / STAGES) & 1);"
    two = two.replace(wait, f"{wait}\n{wait.replace('slot', 'slot + STAGES')}")
    assert not list_findings(two)
    assert [code for code, _ in list_findings(two.replace("BN * BK * 2", "BN * BK"))] == ["expect_tx_bytes"]


@pytest.mark.thorough
def test_a_multicast_copy_brings_bytes_to_others() -> None:
    text = plant(("* sizeof(bf16));\n      tma", "* sizeof(bf16) * 2);\n      tma"))
    assert [code for code, _ in list_findings(text)] == ["expect_tx_bytes"]
    assert not list_findings(text.replace("complete_tx::bytes", "complete_tx::bytes.multicast::cluster"))


def test_a_limit_over_227_kilobytes() -> None:
    text = plant(("STAGES = 4;", "STAGES = 10;"))
    assert list_findings(text) == [("shared_memory_over", BYTES)]
    assert not list_findings(plant(("STAGES = 4;", "STAGES = 9;"))), "9 stages of 24 KB are 216 KB"
