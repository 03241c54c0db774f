"""Mbarriers of a kernel are simulated for all threads: counts of arrivals, parities of waits, and waits that never end.

One thread of warpgroup 0 copies into a ring of 4 stages; warpgroups 1 and 2 multiply, and one thread of each releases
the stage.
"""

from __future__ import annotations

from lanescope.reader.threads.barrier_simulation import SCHEDULES, Agent, AgentStep, Simulation
from lanescope.workbench.barrier_protocol import find_protocol_mistakes
from tests.cases import for_each
from tests.checked import check_text, list_codes
from tests.test_copied_bytes import RIGHT as RING

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
    found = find_protocol_mistakes(text, {})
    return [
        (one.code, text[: one.span[0]].rpartition("\n")[2] + text[one.span[0] :].partition("\n")[0]) for one in found
    ]


def change(old: str, new: str) -> str:
    assert RIGHT.count(old) == 1, old
    return RIGHT.replace(old, new)


def test_a_right_ring_has_no_mistake() -> None:
    assert RIGHT.count(RELEASE) == 1
    report = check_text(RIGHT)
    assert (report.findings, report.steps) == ((), check_text(RING).steps)


@for_each(
    ("old", "new", "code", "place"),
    [
        ("init_barrier(&s.empty[i], 2)", "init_barrier(&s.empty[i], 256)", "mbarrier_count", "256"),
        (RELEASE, "arrive(&s.empty[q]);", "mbarrier_count", "init_barrier"),  # all 256 threads arrive
        (FILL, "wait(&s.empty[q], phase);", "mbarrier_parity", "wait(&s.empty[q], phase)"),
        (READ, "wait(&s.full[q], phase ^ 1);", "mbarrier_parity", "wait(&s.full[q], phase ^ 1)"),
        (f"{FLIP} // read", "if (++q == STAGES) { q = 0; } // read", "mbarrier_parity", "// read"),
        (RELEASE, "", "mbarrier_stuck", FILL),
        (FILL, "", "mbarrier_refilled", "expect_bytes(&s.full[q]"),
        (READ, "", "mbarrier_unawaited", "multiply<1>("),
        (
            "for (int i = 0; i < STAGES; ++i) {",
            "for (int i = 0; i < STAGES - 1; ++i) {",
            "mbarrier_uninitialized",
            "full",
        ),
    ],
)
def test_a_mistake_is_found_at_its_line(old: str, new: str, code: str, place: str) -> None:
    found = find_lines(change(old, new))
    assert [of_one for of_one, _ in found] == [code]
    assert place in found[0][1]


@for_each(
    ("old", "new"),
    [
        ("init_barrier(&s.empty[i], 2)", "init_barrier(&s.empty[i], threads)"),  # a count that is not known
        (READ, "if (t < limit[0]) wait(&s.full[q], 0);"),  # a condition that is not
        (READ, "wait_for(&s.full[q]);"),  # a call without a body
        (READ, "wait(&s.full[q], phase & 1);"),
    ],
)
def test_what_is_not_known_is_no_mistake(old: str, new: str) -> None:
    assert find_lines(change(old, new).replace("float* C, int M", "float* C, int* limit, int M")) == []


def test_a_mistake_of_copies_is_reported_alone() -> None:
    """That no thread waits for the copies is said once."""
    assert list_codes(change(READ, "")) == ["bytes_not_copied"]


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
