"""Mbarriers of a kernel are simulated for all threads: counts of arrivals, parities of waits, and waits that never end.

One thread of warpgroup 0 copies into a ring of 4 stages; warpgroups 1 and 2 multiply, and one thread of each releases
the stage.
"""

from __future__ import annotations

import numpy as np
import pytest

from lanescope.reader.threads import kernels
from lanescope.reader.threads.barriers.barrier_agents import Agent, AgentStep
from lanescope.reader.threads.barriers.barrier_simulation import SCHEDULES, Simulation
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent, BarrierTrace, TraceLostError
from lanescope.workbench.barriers.barrier_protocol import find_protocol_mistakes
from tests.cases import for_each
from tests.checked import check_text, check_whole, list_codes, locate_findings
from tests.tensor_kernels import BY_TMA, GEMM, TILES
from tests.test_copied_bytes import RIGHT as RING
from tests.transfer_kernels import plant

INIT = """  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) { init_barrier(&s.full[i], 1); init_barrier(&s.empty[i], 2); }
  }
  __syncthreads();
  int group = threadIdx.x >> 7;
"""
ARRIVE = """__device__ void arrive(uint64_t* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(bar)) : "memory");
}
struct Storage {"""
FLIP = "if (++q == STAGES) { q = 0; phase ^= 1; }"
RELEASE = "if (threadIdx.x % 128 == 0) arrive(&s.empty[q]);"
RIGHT = (
    RING.replace("  int group = threadIdx.x >> 7;\n", INIT)
    .replace("struct Storage {", ARRIVE)
    .replace(f"warpgroup_wait<0>();\n      {FLIP}", f"warpgroup_wait<0>();\n      {RELEASE}\n      {FLIP} // read")
    .replace("      if (++q", "      if (++q")
)
FILL, READ = "wait(&s.empty[q], phase ^ 1);", "wait(&s.full[q], phase);"


def find_lines(text: str) -> list[tuple[str, str]]:
    """Return (code, the line at which it is reported) of every mistake."""
    return locate_findings(text, find_protocol_mistakes(text, {}))


def change(old: str, new: str) -> str:
    assert RIGHT.count(old) == 1, old
    return RIGHT.replace(old, new)


def test_a_right_ring_has_no_mistake() -> None:
    assert RIGHT.count(RELEASE) == 1
    report = check_whole(RIGHT)
    assert (report.findings, report.steps) == ((), check_text(RING).steps)


MISTAKES = [
    (READ, "", "mbarrier_unawaited", "multiply<1>("),
    (FILL, ";", "mbarrier_refilled", "expect_bytes(&s.full[q]"),
    (
        "for (int i = 0; i < STAGES; ++i) {",
        "for (int i = 0; i < STAGES - 1; ++i) {",
        "mbarrier_uninitialized",
        "full",
    ),
    ("init_barrier(&s.empty[i], 2)", "init_barrier(&s.empty[i], 256)", "mbarrier_count", "256"),
    (FILL, "wait(&s.empty[q], phase);", "mbarrier_parity", "wait(&s.empty[q], phase)"),
    (FILL, "wait(&s.empty[q], t & 1 ^ 1);", "mbarrier_parity", "t & 1 ^ 1"),  # the other loop has a t of its own
    (f"{FLIP} // read", "if (++q == STAGES) { q = 0; } // read", "mbarrier_parity", "q = 0; } // read"),
    (RELEASE, "", "mbarrier_stuck", FLIP),  # where it was
    ("int t = 0; t < K / BK;", "int t = 0; t < K / BK - 5;", "mbarrier_stuck", "t < K / BK - 5"),
    (RELEASE, RELEASE.replace("empty", "full"), "mbarrier_other", "arrive(&s.full[q])"),
    ("  __syncthreads();\n", "", "mbarrier_unsynchronized", "int group"),  # where it was
]


def test_waits_of_one_helper_are_told_apart_through_another() -> None:
    helper = "__device__ void wait_for(uint64_t* b, int parity) { wait(b, parity); }\n__device__ void arrive("
    waits = (FILL, "wait_for(&s.empty[q], phase);"), (READ, "wait_for(&s.full[q], phase);")
    text = plant(("__device__ void arrive(", helper), *waits, text=RIGHT)
    assert find_lines(text) == [("mbarrier_parity", waits[0][1])]


@for_each(("old", "new", "code", "place"), MISTAKES, sample=3)
def test_a_mistake_is_found_at_its_line(old: str, new: str, code: str, place: str) -> None:
    found = find_lines(change(old, new))
    assert [of_one for of_one, _ in found] == [code]
    assert place in found[0][1]


@for_each(("lanes", "count"), [("% 128 < 3", 6), ("% 32 != 0", 248)], sample=1)
def test_a_count_that_divides_the_arrivals_oddly_is_too_small(lanes: str, count: int) -> None:
    """The parity of the phase is right after 3 or 124 phases, but the first one ends before all threads have read."""
    ((code, line),) = find_lines(change(RELEASE, RELEASE.replace("% 128 == 0", lanes)))
    assert (code, "empty[i], 2)" in line) == ("mbarrier_count", True)
    assert (
        find_lines(change(RELEASE, RELEASE.replace("% 128 == 0", lanes)).replace("empty[i], 2)", f"empty[i], {count})"))
        == []
    )


@pytest.mark.thorough
@for_each(
    ("parameter", "begin", "bound"),
    [
        ("Sizes sizes", "", "t < sizes.tiles"),
        ("int first, int tiles", "", "t + 1 < tiles - first + tiles"),
    ],
    sample=1,
)
def test_an_argument_that_counts_the_turns_is_a_number_of_tiles(parameter: str, begin: str, bound: str) -> None:
    """As many turns as a matrix has rows would be too many to simulate."""
    text = change("float* C, int M, int N, int K) {\n  extern", f"float* C, int N, {parameter}) {{ {begin}\n  extern")
    text = text.replace("t < K / BK", bound).replace(
        "struct Storage {", "struct Sizes { int tiles; };\nstruct Storage {"
    )
    assert find_lines(text) == []
    assert [code for code, _ in find_lines(text.replace("empty[i], 2)", "empty[i], 3)"))] == ["mbarrier_count"]


@pytest.mark.thorough
def test_a_later_initialization_does_not_open_the_mbarriers_before_it() -> None:
    own = "  __syncthreads();\n  __shared__ uint64_t own[16];\n"
    for begin in ("threadIdx.x == 32", "threadIdx.x % 32 == 0"):
        begun = f"{own}  if ({begin}) init_barrier(&own[threadIdx.x / 32], 1);\n"
        assert find_lines(change("  __syncthreads();\n", begun)) == []


@pytest.mark.thorough
def test_a_kernel_that_takes_too_many_steps_is_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MOST_BARRIER_STEPS", 2000)
    text = change("float* C, int M, int N, int K) {\n  extern", "float* C, int turns) {\n  extern").replace(
        "t < K / BK", "t < turns * 1"
    )
    assert [doubt.code for doubt in check_whole(text).doubts] == ["mbarriers_unfinished"]


@pytest.mark.thorough
def test_a_count_is_found_through_the_sum_of_a_helper() -> None:
    """Both counts are computed by the same expression; the one that is wrong has a place of its own."""
    text = change('"r"(count)', '"r"(threads + transactions)').replace("int count)", "int threads, int transactions)")
    right = text.replace("full[i], 1)", "full[i], 0, 1)").replace("empty[i], 2)", "empty[i], 0, 2)")
    assert find_lines(right) == []
    [(code, line)] = find_lines(
        right.replace("empty[i], 0, 2)", "empty[i], 0, 3)").replace("init_barrier(&s.e", "\ninit_barrier(&s.e")
    )
    assert code == "mbarrier_count" and line.startswith("init_barrier(&s.empty[i], 0, 3)")


@for_each(
    ("old", "new"),
    [
        ("init_barrier(&s.empty[i], 2)", "init_barrier(&s.empty[i], threads)"),  # a count that is not known
        (READ, "if (t < limit[0]) wait(&s.full[q], 0);"),  # a condition that is not
        (READ, "wait_for(&s.full[q]);"),  # a call without a body
    ],
)
def test_what_is_not_known_is_no_mistake(old: str, new: str) -> None:
    found = find_lines(change(old, new).replace("float* C, int M", "float* C, int* limit, int M"))
    assert {code for code, _ in found} <= {"mbarriers_open"}


def test_a_run_that_is_lost_names_the_statement_that_it_is_lost_in() -> None:
    """The wait with a parity that nothing defines, not the last statement of the helper that it calls before."""
    ((code, line),) = find_lines(change(READ, "wait(&s.full[q], undefined);"))
    assert code == "mbarriers_open" and "mbarrier.try_wait" in line


def test_only_kernels_that_use_mbarriers_are_said_not_to_be_simulated() -> None:
    """Of two kernels that nothing launches, the number of threads is open."""
    waits = "__global__ void ready(uint64_t* bar) { wait(bar, 0); }\n"
    fills = "__global__ void fill(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 0.f; }\n"
    ((code, line),) = find_lines(RIGHT + waits + fills)
    assert code == "mbarriers_open" and line.startswith("__global__ void ready")


ONE_FOR_TWO = (  # products take turns at one mbarrier, which is waited for at two places
    GEMM.split("  if (warp == 4 && lane == 0) {")[0]
    + """  int phase = 0;
  for (int t = 0; t < 3; ++t) {
    if (threadIdx.x == 0) { multiply(d, a, b, t > 0); commit(&done); }
    wait(&done, phase); phase ^= 1;
    __syncthreads();
    if (threadIdx.x == 0) { multiply(d, a + 2, b + 2, 1); commit(&done); }
    wait(&done, phase); phase ^= 1;  // the second
    __syncthreads();
  }
"""
    + GEMM[GEMM.rindex("  __syncthreads();") :]
)


def test_parities_alternate_also_from_one_place_to_another() -> None:
    """If nothing explains why a wait never ends, that is said."""
    kept = plant((" phase ^= 1;  // the second", ""), text=ONE_FOR_TWO)
    counted = kept.replace("init(&done, 1)", "init(&done, 2)")
    found = [[code for code, _ in find_lines(text)] for text in (ONE_FOR_TWO, kept, counted)]
    assert found == [[], ["mbarrier_parity"], ["mbarriers_open"]]


def test_a_helper_of_both_loops_flips_the_parity() -> None:
    helper = "__device__ void advance(int& q, int& phase) { FLIP }\n__device__ void arrive("
    text = RIGHT.replace(FLIP, "advance(q, phase);").replace("__device__ void arrive(", helper)
    right, wrong = (text.replace("FLIP", flip) for flip in (FLIP, FLIP.replace(" phase ^= 1;", "")))
    assert find_lines(right) == []
    ((code, line),) = find_lines(wrong)
    assert code == "mbarrier_parity" and "void advance(" in line


def test_a_poll_is_used_before_that_of_another_phase() -> None:
    """ready = poll(full[q]), other = poll(full[r]): which of them a loop repeats is not followed."""
    lanes = np.arange(32)
    first, second = (
        BarrierEvent("wait", lanes >= 0, 0 * lanes + place, 0 * lanes, (0, 1), (0, 1)) for place in (64, 72)
    )
    trace = BarrierTrace()
    trace.peek(first)
    trace.peek(first)
    with pytest.raises(TraceLostError):
        trace.peek(second)


@pytest.mark.thorough
def test_a_mistake_of_copies_is_reported_alone() -> None:
    """That no thread waits for the copies is said once."""
    assert list_codes(change(READ, ""), check_whole) == ["bytes_not_copied"]


@for_each(
    ("parity", "arrivals", "passes"),
    [(0, 0, False), (1, 0, True), (0, 1, True), (1, 1, False), (0, 2, False), (1, 2, True)],
)
def test_a_wait_passes_unless_the_current_phase_has_its_parity(parity: int, arrivals: int, passes: bool) -> None:
    """The phase before phase 0 counts as completed. The last agent runs first, and arrives before the wait."""
    init = AgentStep(0, "init", 8, 1)
    arriving = Agent(1, 1, (init, *(AgentStep(1 + n, "arrive", 8, 1) for n in range(arrivals))))
    waiting = Agent(0, 1, (AgentStep(9, "wait", 8, parity),))
    outcome = Simulation([waiting, arriving]).run(SCHEDULES[1])
    assert (outcome.barriers[8].completed, not outcome.blocked) == (arrivals, passes)


@pytest.mark.thorough
def test_a_parity_that_ptx_does_not_have_counts_by_its_lowest_bit() -> None:
    ((code, line),) = find_lines(change(READ, READ.replace("phase", "2")))
    assert code == "mbarrier_parity" and "wait(&s.full[q], 2)" in line
    counted = change(READ, READ.replace("phase", "t / STAGES + 4"))
    assert [doubt.code for doubt in check_whole(counted).doubts] == ["mbarrier_parity_range"]
    assert [code for code, _ in find_lines(counted.replace("empty[i], 2)", "empty[i], 3)"))] == ["mbarrier_count"]


@for_each("kind", ["arrive", "copy", "wait", "await", "expect"])
def test_a_thread_that_uses_an_mbarrier_without_initialization_waits_forever(kind: str) -> None:
    step = AgentStep(0, kind, 8, 0)
    for schedule in SCHEDULES:
        assert Simulation([Agent(0, 1, (step,))]).run(schedule).blocked == [(0, step)]


OTHER = "&other[slot]"
TWO_MBARRIERS = plant(  # one for A, one for B, with one variable for the parity of both
    ("(sB + STAGES * BN * BK);", "(sB + STAGES * BN * BK), *other = full + STAGES;"),
    ("init_barrier(&full[i], 1);", "{ init_barrier(&full[i], 1); init_barrier(&other[i], 1); }"),
    (
        "expect_bytes(&full[slot], (BM * BK + BN * BK) * sizeof(bf16));",
        f"expect_bytes(&full[slot], BM * BK * sizeof(bf16)); expect_bytes({OTHER}, BN * BK * sizeof(bf16));",
    ),
    ("&tb, &full[slot]", f"&tb, {OTHER}"),
    (
        "wait(&full[slot], (t / STAGES) & 1);",
        f"int phase = t / STAGES & 1;\n    wait(&full[slot], phase); wait({OTHER}, phase);",
    ),
)


@for_each(("phase", "found"), [("t / STAGES & 1", []), ("0", ["mbarrier_parity"])])
def test_a_parity_of_two_mbarriers_must_alternate(phase: str, found: list[str]) -> None:
    text = plant(("int phase = t / STAGES & 1;", f"int phase = {phase};"), text=TWO_MBARRIERS)
    assert [code for code, _ in find_lines(text)] == found


LIBRARY = """#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
__global__ void __launch_bounds__(256) multiply(const __grid_constant__ CUtensorMap a, float* c, int k) {
  __shared__ alignas(1024) __nv_bfloat16 tile[3][64 * 64];
  __shared__ Barrier full[3], empty[3];
  if (threadIdx.x == 0) {
    for (int n = 0; n < 3; ++n) {
      init(&full[n], 129);
      init(&empty[n], 128 + 1);
    }
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    for (int t = 0; threadIdx.x == 0 && t < k / 64; ++t) {
      empty[t % 3].wait(empty[t % 3].arrive());
      cde::cp_async_bulk_tensor_2d_global_to_shared(&tile[t % 3], &a, t * 64, 0, full[t % 3]);
      auto filled = cuda::device::barrier_arrive_tx(full[t % 3], 1, 8192);
    }
  } else {
    for (int n = 0; n < 3; ++n) {
      Barrier::arrival_token begun = empty[n].arrive();
    }
    for (int t = 0; t < k / 64; ++t) {
      Barrier::arrival_token token = full[t % 3].arrive();
      full[t % 3].wait(std::move(token));
      asm volatile("wgmma.fence.sync.aligned;");
      asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, 0, 0, 1, 1, 1, 0, 0;"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]));
      (void)empty[t % 3].arrive();
    }
  }
}
"""


MISTAKES_OF_LIBRARY = [
    ("k / 64", "k / 64", "", ""),
    ("__syncthreads();\n", "\n", "mbarrier_unsynchronized", "if (threadIdx.x < 128)"),
    ("init(&full[n], 129)", "init(&full[n], 128)", "mbarrier_count", "&full[n], 128"),
    ("(void)empty[t % 3]", "(void)full[t % 3]", "mbarrier_other", "(void)full"),
    ("(void)empty[t % 3].arrive();", "", "mbarrier_stuck", "}"),
]


@for_each(("old", "new", "code", "place"), MISTAKES_OF_LIBRARY)
def test_barriers_of_libcu_are_mbarriers(old: str, new: str, code: str, place: str) -> None:
    """A wait for a token ends with the phase of its arrival."""
    found = find_lines(LIBRARY.replace(old, new))
    assert [of_one for of_one, _ in found] == ([code] if code else [])
    assert all(place in line for _, line in found)


AHEAD = plant(  # both stages are filled before the loop
    ("full, done;", "full[2], done;"),
    ("init(&full, 1)", "init(&full[0], 1); init(&full[1], 1)"),
    (
        "  for (int t = 0; t < K / BK; ++t) {\n    if (threadIdx.x == 0) {\n",
        "  if (threadIdx.x == 0)\n    for (int t = 0; t < 2; ++t) {\n",
    ),
    ("shared(&full)),", "shared(&full[t])),"),
    ("load(sA, &ta, &full,", "load(sA + t * 5120 * 2, &ta, &full[t],"),
    ("load(sB, &tb, &full,", "load(sB + t * 5120 * 2, &tb, &full[t],"),
    ("    wait(&full, t & 1);\n", "  for (int t = 0; t < TURNS; ++t) {\n    wait(&full[t], 0);\n"),
    (
        "describe(sA + k * 16), describe(sB + k * 16)",
        "describe(sA + t * 10240 + k * 16), describe(sB + t * 10240 + k * 16)",
    ),
    ("(128 + BN) * BK * 2;\n", "(128 + BN) * BK * 4;\n"),
    text=BY_TMA,
)


@for_each(("turns", "stage", "codes"), [("2", "t", []), ("1", "t", []), ("2", "0", ["mbarrier_unawaited"])], sample=3)
def test_copies_may_run_ahead_of_a_loop_that_ends_early(turns: str, stage: str, codes: list[str]) -> None:
    """With one turn nothing reads the second stage, and nothing has to wait for it."""
    text = plant(("wait(&full[t], 0)", f"wait(&full[{stage}], {'t' if stage == '0' else '0'})"), text=AHEAD)
    found = find_lines(f"constexpr int TURNS = {turns};\n{text}")
    assert [code for code, _ in found] == codes


LARGE_TILES = TILES.replace("M / 16", "(M / 128) * (M / 256)")  # few of them, as in persistent kernels


@for_each("count", ["2", "1"], sample=1)
def test_an_accumulator_is_taken_several_times_in_turns(count: str) -> None:
    """What the second turn of each accumulator waits for is seen with few blocks."""
    assert find_lines(LARGE_TILES) == []
    found = find_lines(plant(("init(&empty[i], 4)", f"init(&empty[i], {count})"), text=LARGE_TILES))
    assert [code for code, _ in found] == ["mbarrier_count"]


def test_a_wait_that_reads_too_early_is_no_repair_of_another() -> None:
    """With the products waiting for the epilogue, all waits end, but each tile is stored before it is computed."""
    found = find_lines(
        plant(("wait(&full[n % 2], n / 2 & 1);", "wait(&full[n % 2], n / 2 & 1 ^ 1);"), text=LARGE_TILES)
    )
    assert [(code, line.strip()) for code, line in found] == [("mbarrier_parity", "wait(&full[n % 2], n / 2 & 1 ^ 1);")]


@for_each(
    ("old", "new", "code", "place"),
    [
        ("init(&done, 1)", "init(&done, 2)", "mbarrier_count", "2"),
        ("wait(&done, t & 1)", "wait(&done, 0)", "mbarrier_parity", "wait(&done, 0)"),
        ("wait(&full, t & 1)", "wait(&full, 1)", "mbarrier_parity", "wait(&full, 1)"),
    ],
)
def test_a_mistake_is_found_where_threads_that_only_wait_may_lag(old: str, new: str, code: str, place: str) -> None:
    """All threads wait for copies and for products: one that lags by a phase, which nothing prevents, never ends."""
    text = plant((old, new), text=BY_TMA)
    found = find_protocol_mistakes(text, {}, [])
    assert [(one.code, text[slice(*one.span)]) for one in found] == [(code, place)]


ONE_PHASE = """__global__ void copy_tile(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(128) float tile[32 * 32];
  __shared__ uint64_t full;
  uint32_t bar = (uint32_t)__cvta_generic_to_shared(&full), to = (uint32_t)__cvta_generic_to_shared(tile);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], COUNT;" :: "r"(bar));
  __syncthreads();
  if (threadIdx.x != 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(bar));
  else {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 4096;" :: "r"(bar));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {0, 0}], [%2];"
                 :: "r"(to), "l"(&map), "r"(bar));
  }
  asm volatile("{\\n.reg .pred p;\\nAGAIN:\\nmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\\n@!p bra AGAIN;\\n}"
               :: "r"(bar));
  out[threadIdx.x] = tile[threadIdx.x];
}
void run(CUtensorMap map, float* out) { copy_tile<<<1, 32>>>(map, out); }
"""


@for_each("count", ["1", "33"])
def test_a_phase_counts_the_thread_that_expects_bytes(count: str) -> None:
    """31 threads arrive and one arrives with expect_tx. Waits would pass with a count of 31, too, and leave an arrival
    in the next phase.
    """
    (found,) = find_protocol_mistakes(ONE_PHASE.replace("COUNT", count), {})
    assert found.code == "mbarrier_count" and "gets 32 in each from the threads of copy_tile" in found.message
    assert not list(find_protocol_mistakes(ONE_PHASE.replace("COUNT", "32"), {}))


def test_warps_that_load_a_sum_have_to_release_it() -> None:
    """One warp multiplies for the next tile, four others store the sums of the one before."""
    release = "      if (lane == 0) arrive(&empty[n % 2]);\n"
    assert find_lines(TILES) == []
    assert find_lines(plant((release, ""), text=TILES)) == [("mbarrier_stuck", "}")]
