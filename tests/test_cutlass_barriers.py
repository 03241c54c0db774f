"""CUTLASS's barriers and pipelines are mbarriers: its kernels are simulated like those that spell their PTX.

One kernel has a ring of barriers of its own that a block fills and empties, one a PipelineTmaAsync between a warpgroup
that copies and two that multiply, one a barrier for copies and one for tcgen05.mma.
"""

from __future__ import annotations

import pytest

from lanescope.reader.threads.kernels import BARRIERS, run_kernels
from lanescope.reader.threads.language.numbers import LONG, make_number
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.shared_fills import StageReads
from lanescope.reader.threads.memory.storage import Pointer
from lanescope.workbench.barriers.barrier_protocol import find_protocol_mistakes
from tests.cases import for_each
from tests.checked import check_whole, locate_findings
from tests.cutlass_kernels import PIPELINE, RING, STORED, TENSOR


def find_lines(text: str) -> list[tuple[str, str]]:
    """Return (code, the line at which it is reported) of every mistake, and of mbarriers that are not followed."""
    return [one for one in locate_findings(text, find_protocol_mistakes(text, {})) if one[0] != "cute_sums_open"]


EXPECT = "Full::arrive_and_expect_tx(&s.full[fill.index()], bytes);"
APART = RING.replace(  # the bytes are expected twice, and without an arrival
    EXPECT, EXPECT.replace("bytes", "bytes / 2") + EXPECT.replace("arrive_and_expect_tx", "expect_transaction")
).replace("], bytes);", "], bytes / 2);")

FIVE = RING.replace("gemm(mma, ", "gemm(mma, sum, ")  # D and C are the same registers
SHAPE = "make_shape(Int<256>{}, Int<64>{}, Int<4>{})"
COPIED = RING.replace(", make_shape(Int<128>{}, Int<64>{}));", ");").replace(  # the layout gives the tile
    "  Tensor mA = make_t",
    f"  auto sAB = tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{{}}, {SHAPE});\n  Tensor mA = make_t",
)
ONE = (  # one warpgroup, whose first thread fills the only stage again after its own wait, with the turn as parity
    RING.replace("Layout<Shape<_2>>{}", "Layout<Shape<_1>>{}")
    .replace("dim3(256)", "dim3(128)")
    .replace("Int<4>{}", "Int<1>{}")
    .replace("next < k + stages - 1", "next <= k")
    .replace("      s.empty[fill.index()].wait(fill.phase());\n", "")
    .replace("    s.empty[read.index()].arrive();\n", "")
    .replace("read.phase()", "k")
)


@for_each("text", (RING, PIPELINE, TENSOR, STORED, APART, FIVE, ONE, COPIED), sample=1)
def test_a_right_kernel_has_no_mistake(text: str) -> None:
    assert check_whole(text).findings == ()


WAIT = "Full::wait(&s.full[read.index()], read.phase());"
MISTAKES = [
    (RING, "s.empty[i].init(256)", "s.empty[i].init(2)", "mbarrier_count", "init(2)"),
    (RING, WAIT, WAIT.replace("read.phase()", "0"), "mbarrier_parity", "full[read.index()], 0"),
    (RING, "s.empty[read.index()].arrive();", "", "mbarrier_stuck", "++read;"),
    (RING, "  __syncthreads();\n", "", "mbarrier_unsynchronized", "fence_barrier_init"),
    (PIPELINE, "make_producer_start_state<Pipeline>()", "PipelineState<4>()", "mbarrier_parity", "producer_acquire"),
    (PIPELINE, "pipeline.consumer_release(read);", "", "mbarrier_stuck", "++read;"),
    (TENSOR, "tma_bit ^= 1;", "", "mbarrier_parity", "}"),
    (TENSOR, "umma_arrive(&s.mma)", "umma_arrive(&s.tma)", "mbarrier_other", "umma_arrive"),
    (TENSOR, "initialize_barrier(s.tma, 1)", "initialize_barrier(s.tma, 2)", "mbarrier_count", "s.tma, 2"),
    (
        PIPELINE,
        "params.transaction_bytes = bytes",
        "params.transaction_bytes = bytes / 2",
        "expect_tx_bytes",
        "params.transaction_bytes",
    ),
    (TENSOR, "tma_b.with(s.tma)", "tma_b.with(s.mma)", "expect_tx_bytes", "tma_b.with(s.mma)"),
    (STORED, "  __syncthreads();  // stored", "", "barrier_missing", "gemm(mma"),
    (RING, "    warpgroup_arrive();\n", "", "wgmma_fence_missing", "gemm(mma"),
    (RING, "    warpgroup_commit_batch();\n", "", "wgmma_commit_missing", "warpgroup_wait"),
    (PIPELINE, "warpgroup_wait<0>", "warpgroup_wait<1>", "wgmma_wait_short", "warpgroup_wait<1>"),
    (RING, "    warpgroup_wait<0>();\n", "", "wgmma_wait_missing", "arrive()"),
    (RING, "  clear(sum);\n", "", "accumulator_unset", "partition_fragment_C"),
    (RING, "int k = 0; k < tiles;", "int k = 0; k < tiles - 1;", "k_slices_left", "k < tiles - 1"),
    (RING, "tBgB(_, next)", "tBgB(_, next / 2)", "k_slice_repeated", "next / 2"),
    (RING, "    gemm(", "    mma.accumulate_ = GMMA::ScaleOut::Zero;\n    gemm(", "accumulator_reset", "accumulate_ ="),
    (
        RING,
        "tCrA(_, _, _, read.index()), tCrB(_, _, _, read.index())",
        "tCrB(_, _, _, read.index()), tCrA(_, _, _, read.index())",
        "cute_gemm_misfit",
        "gemm(mma",
    ),
    (
        FIVE,
        "tCrA(_, _, _, read.index()), tCrB(_, _, _, read.index())",
        "tCrB(_, _, _, read.index()), tCrA(_, _, _, read.index())",
        "cute_gemm_misfit",
        "gemm(mma",
    ),
    (
        RING,
        "sB(_, _, 0), make_shape(Int<128>{}, Int<64>{})",
        "sB(_, _, 0), make_shape(Int<64>{}, Int<64>{})",
        "cute_copy_misfit",
        "mB, sB",
    ),
    (COPIED, "mB, sB(_, _, 0)", "mB, sAB(_, _, 0)", "cute_copy_misfit", "sAB(_, _, 0)"),
    (
        RING,
        "make_shape(n, k), make_stride(k, Int<1>{})",
        "make_shape(n, k), make_stride(Int<1>{}, n)",
        "cute_copy_misfit",
        "mB, sB",
    ),
    (RING, "tBgB(_, next)", "tBgB(_, 0)", "k_slice_repeated", "tBgB(_, 0)"),
    (TENSOR, "set_barrier_transaction_bytes(s.tma, bytes);", "", "mbarrier_stuck", "copy(tma_a.with(s.tma)"),
]


@for_each("text, old, new, code, place", MISTAKES, sample=4)
def test_a_mistake_is_found_at_its_line(text: str, old: str, new: str, code: str, place: str) -> None:
    assert text.count(old) == 1, old
    found = find_lines(text.replace(old, new))
    assert [one for one, _ in found] == [code]
    assert place in found[0][1]


@pytest.mark.thorough
@for_each(
    "old, new",
    [
        ("tma_a.with(*full)", "tma_a.with(*full, mask)"),  # bytes of other blocks, too
        ("Shape<_1, _1, _1>{})", "Shape<_2, _1, _1>{})"),  # arrivals of other blocks
        ("num_consumers = 256", "num_consumers = 96"),  # another thread of them arrives
    ],
    sample=2,
)
def test_what_reaches_other_blocks_is_not_followed(old: str, new: str) -> None:
    wrong = PIPELINE.replace("pipeline.consumer_release(read);", "")
    assert wrong.count(old) == 1
    assert find_lines(wrong)
    assert [code for code, _ in find_lines(wrong.replace(old, new))] == ["mbarriers_open"]


def test_names_that_the_text_declares_are_its_own() -> None:
    own = "__device__ void initialize_barrier(uint64_t& bar, int n) { not_followed(bar, n); }\n"
    wrong = TENSOR.replace("initialize_barrier(s.tma, 1)", "initialize_barrier(s.tma, 2)")
    assert find_lines(wrong)
    assert [code for code, _ in find_lines(own + wrong)] == ["mbarriers_open"]


@pytest.mark.thorough
@for_each("bytes_", [1, 8], sample=1)
def test_a_byte_count_is_wrong_if_it_is_that_of_no_element_size(bytes_: int) -> None:
    """The type of the elements is a template argument that the text does not give."""
    given = PIPELINE.replace("transaction_bytes = bytes;", f"transaction_bytes = 2 * 128 * 64 * {bytes_};")
    assert find_lines(given) == []
    assert find_lines(given.replace("2 * 128 * 64", "3 * 128 * 64")) != []


# kernels as tutorials write them ----------------------------------------------------------------------------------

ARRIVE = "    s.empty[read.index()].arrive();\n"
KERNEL_HEAD = RING[RING.index("template <class Problem") : RING.index("  auto [M, N, K]")]
IN_CLASS = RING.replace("__global__ void ring(", "struct Ring {\n  static __device__ void run(").replace(
    "\n}\n\ntemplate <class T> void multiply",
    "\n}\n};\n"
    + KERNEL_HEAD
    + "  Ring<Problem, Tile, LayoutA, LayoutB, TmaA, TmaB, Mma, T>::run(shape, tile, tma_a, tma_b, mma, C);\n}\n"
    + "template <class T> void multiply",
)
SELECTED = RING.replace(
    "GMMA::Layout_K_INTER_Atom<T>{}",
    "cutlass::gemm::collective::detail::ss_smem_selector<GMMA::Major::K, T, Int<128>, Int<64>>()",
)
LAUNCHED = RING.replace("Mma mma, T* C", "Mma mma, LayoutA a, LayoutB b, T* C")
LAUNCHED = (
    LAUNCHED[: LAUNCHED.index("  cutlass::ClusterLaunchParams")]
    + "  ring<<<dim3(m / 128, n / 128), 256>>>(shape, tile, tma_a, tma_b, mma, sA, sB, C);\n}\n"
)
NESTED = RING.replace("  uint64_t full[", "  struct Full { uint64_t full[").replace(
    "(LayoutA{})];\n  cutlass", "(LayoutA{})]; };\n  Full ring;\n  cutlass"
)
NESTED = NESTED.replace("s.full[", "s.ring.full[")
COPIED = RING.replace("    ++read;", "    auto before = read;\n    ++before;\n    read = before;")
STORAGE = "Storage<T, LayoutA, LayoutB>"
HIDDEN = RING.replace("  auto& s =", f"  using Storage = {STORAGE};\n  auto& s =").replace(
    f"<{STORAGE}*>", "<Storage*>"
)
PARAMS = "  cutlass::ClusterLaunchParams params{dim3(m / 128, n / 128), dim3(256), dim3(1), 1 << 17};\n"
DEFERRED = RING.replace(PARAMS, "").replace(
    "  cutlass::launch_kernel",
    "  dim3 block(warps * 32);\n" + PARAMS.replace("dim3(256)", "block") + "  cutlass::launch_kernel",
)
DEFERRED = DEFERRED.replace("<class T> void multiply", "<class T, int warps> void multiply")
DEFERRED += "void run(int n, half_t* A) { constexpr int kWarps = 8; multiply<half_t, kWarps>(n, n, n, A, A, A); }\n"


@for_each("kernel", [IN_CLASS, SELECTED, LAUNCHED, NESTED, COPIED, HIDDEN, DEFERRED], sample=1)
def test_a_ring_is_simulated_however_it_is_written(kernel: str) -> None:
    assert kernel != RING
    assert [code for code, _ in find_lines(kernel.replace(ARRIVE, ""))] == ["mbarrier_stuck"]


def test_a_stage_of_one_operand_that_no_product_reads_is_a_mistake() -> None:
    [(code, line)] = find_lines(RING.replace("tCrB(_, _, _, read.index())", "tCrB(_, _, _, 0)"))
    assert code == "stage_unread" and "gemm(" in line


@pytest.mark.thorough
@for_each(
    "old, new",
    [
        ("num_consumers = 256", "num_consumers = 128"),
        ("num_consumers = 256", "num_consumers = 256;\n  params.num_producers = 2"),
    ],
    sample=1,
)
def test_a_pipeline_counts_the_threads_that_arrive(old: str, new: str) -> None:
    [(code, line)] = find_lines(PIPELINE.replace(old, new))
    assert code == "mbarrier_count" and "Pipeline pipeline(" in line


def test_a_kernel_that_is_not_simulated_is_named_where_that_begins() -> None:
    [(code, line)] = find_lines(RING.replace(ARRIVE, ARRIVE + "    not_known(s.full);\n"))
    assert (code, line) == ("mbarriers_open", "not_known(s.full);")


STORE = """
  auto r2s = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, T>{}, mma);
  auto mine = r2s.get_slice(threadIdx.x);
  Tensor sC = make_tensor(make_smem_ptr(s.C), make_layout(make_shape(Int<128>{}, Int<128>{})));
  auto tma_c = make_tma_copy(SM90_TMA_STORE{}, C, sC).get_slice(0);
  for (int turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 0) tma_store_wait<0>();
    __syncthreads();
    copy(r2s, mine.retile_S(sum), mine.partition_D(sC));
    tma_store_fence();
    __syncthreads();  // stored
    if (threadIdx.x == 0) {
      copy(tma_c, tma_c.partition_S(sC), tma_c.partition_D(gA));
      tma_store_arrive();
    }
  }
  if (threadIdx.x == 0) tma_store_wait<0>();
}

template <class T> void multiply"""
STORING = RING.replace("empty[4];", "empty[4];\n  T C[128 * 128];").replace(
    "}\n\ntemplate <class T> void multiply", STORE, 1
)
TURN = "    if (threadIdx.x == 0) tma_store_wait<0>();\n    __syncthreads();\n"


@for_each(
    "old, new, code, line",
    [
        ("    tma_store_fence();\n", "", "proxy_fence_missing", "__syncthreads();  // stored"),
        ("    __syncthreads();  // stored\n", "", "bulk_barrier_missing", "tma_store_fence();"),
        ("      tma_store_arrive();\n", "", "bulk_commit_missing", "}"),
        (TURN, "", "bulk_wait_missing", "copy(r2s, mine.retile_S(sum), mine.partition_D(sC));"),
        ("if (threadIdx.x == 0) tma_store_wait<0>();", "", "bulk_wait_missing", ""),
    ],
    sample="code",
)
def test_a_tma_store_reads_what_threads_have_stored(old: str, new: str, code: str, line: str) -> None:
    assert old in STORING
    [found] = find_lines(STORING.replace(old, new))
    assert found[0] == code and (not line or found[1] == line)


def test_a_store_that_waits_has_no_mistake() -> None:
    assert find_lines(STORING) == []


@pytest.mark.thorough
def test_a_part_of_a_tile_may_be_stored_while_another_is_read() -> None:
    """Which part is not followed: copies of parts are not compared with the TMA store before."""
    parts = STORING.replace(TURN, "").replace("mine.partition_D(sC)", "mine.partition_D(sC)(_, turn, _)")
    assert parts != STORING and find_lines(parts) == []


def test_a_stage_may_be_read_by_a_pointer_of_its_own() -> None:
    def point(address: int) -> Pointer:
        return Pointer("shared", None, make_number(address, LONG), SizedType("half", 2))

    stages = StageReads()
    for stage in (0, 1) * 2:
        stages.note_copy((point(1024), 512 * stage), 1024)
    stages.note_read((point(1024), 0), 1024, (3, 4))
    assert stages.find_unread() == ((3, 4), 2, 1)
    stages.note_read((point(2048), 256), 16, (3, 4))
    assert stages.find_unread() is None


@pytest.mark.thorough
def test_a_warp_may_multiply_the_rows_that_it_has_stored() -> None:
    """copy(make_tiled_copy_A(…), …), gemm: each warp of wgmma may read its own rows of A, without a barrier."""
    wait = "    Full::wait(&s.full[read.index()], read.phase());\n"
    part = "make_tiled_copy_A(atom, mma).get_slice(0).partition_D(sA(_, _, 0))"
    store = f"    copy(make_tiled_copy_A(atom, mma), p, {part});\n"
    assert find_lines(RING.replace(wait, wait + store)) == []


PROMOTED = RING.replace("  int next = 0;", "  Tensor total = make_fragment_like(sum);\n  int next = 0;").replace(
    "    s.empty[read", "    PROMOTE\n    s.empty[read"
)
FIRST = "    warpgroup_arrive();\n    mma.accumulate_ = GMMA::ScaleOut::Zero;\n"


@pytest.mark.thorough
@for_each(
    "promotion, codes",
    [
        ("", ["accumulator_reset"]),
        ("for (int i = 0; i < size(sum); ++i) total(i) += sum(i);", []),
        ("for (int i = 0; i < size(sum); ++i) total[i] += sum[i];", []),
        ("if (C != nullptr) for (int i = 0; i < size(sum); ++i) total(i) += sum(i);", []),
    ],
    sample=2,
)
def test_a_sum_that_is_added_to_another_one_may_begin_again(promotion: str, codes: list[str]) -> None:
    text = PROMOTED.replace("PROMOTE", promotion).replace("    warpgroup_arrive();\n", FIRST)
    assert [code for code, _ in find_lines(text)] == codes


@pytest.mark.thorough
def test_b_that_is_half_as_long_as_a_may_be_multiplied_twice() -> None:
    """A is [high | low], two parts of a number each."""
    twice = RING.replace("tBgB(_, next)", "tBgB(_, next % (tiles / 2))")
    assert twice != RING and find_lines(twice) == []
    halves = twice.replace("make_shape(N, K)", "make_shape(N, K / 2)")
    halves = halves.replace("make_shape(n, k), make_stride(k,", "make_shape(n, k / 2), make_stride(k / 2,")
    assert halves.count("/ 2") == 4 and find_lines(halves) == []


def test_a_kernel_that_requires_the_grid_of_its_launch_is_followed() -> None:
    """The launch is through a pointer; elect_sync of cuda::ptx chooses one thread of each of the two warps."""
    text = """__global__ void __launch_bounds__(64) once(int n) {
  __shared__ uint64_t bar;
  if (gridDim.x != 1) return;
  if (cuda::ptx::elect_sync(0xffffffff))
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(__cvta_generic_to_shared(&bar)), "r"(1));
  __syncthreads();
}
void measure(const Entry& entry) { entry.kernel<<<1, 64>>>(3); }
"""
    ((run,),) = run_kernels(text, {}, (), BARRIERS, (768, 8))
    trace = run.runner.barriers
    assert trace is not None
    assert [(event.kind, int(event.mask.sum())) for event in trace.events] == [("init", 2), ("block", 64)]
    ((plain,),) = run_kernels(text, {})
    assert plain.runner.shared.broken == ""


def test_mbarriers_are_found_by_pointers_in_shared_memory() -> None:
    text = """__global__ void __launch_bounds__(64) kept() {
  __shared__ uint64_t bars[2];
  __shared__ uint64_t* pointers[2];
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) {
      pointers[i] = &bars[i];
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(__cvta_generic_to_shared(pointers[i])), "r"(64));
    }
  __syncthreads();
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(__cvta_generic_to_shared(pointers[1])));
}
"""
    ((run,),) = run_kernels(text, {}, (), BARRIERS, (768, 8))
    trace = run.runner.barriers
    assert run.complete and trace is not None
    first, second, _, arrival = (int(event.places[0]) for event in trace.events)
    assert (second, arrival) == (first + 8, first + 8)
