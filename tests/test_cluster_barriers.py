"""Mbarriers of a cluster: its blocks are run by rank and simulated together.

Two blocks share A: each copies half of it into both. One thread of each of two warpgroups releases a stage in both.
"""

from __future__ import annotations

import numpy as np
import pytest

from lanescope.reader.threads.barriers.barrier_agents import Agent, AgentStep
from lanescope.reader.threads.barriers.barrier_bytes import BarrierBytes, BoxCopy, join_bytes
from lanescope.reader.threads.barriers.barrier_simulation import SCHEDULES, Outcome, PhaseBarrier, Simulation
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.barriers.clusters import EVERYONE, RANK_BIT, ClusterPlace, list_targets, map_address
from lanescope.workbench.barriers.cluster_mistakes import find_refill
from tests.cases import for_each
from tests.checked import check_whole
from tests.test_barrier_protocol import RELEASE, RIGHT as RING, find_lines
from tests.transfer_kernels import plant

REMOTE = """__device__ void arrive_at(uint64_t* bar, uint32_t block) {
  asm volatile("{.reg .b32 other; mapa.shared::cluster.u32 other, %0, %1;"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [other];}" :: "r"(shared_address(bar)), "r"(block));
}
__device__ void copy_to(bf16* dst, const CUtensorMap* map, uint64_t* bar, int x, int y, uint16_t mask) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%4, %5}], [%2], %3;" :: "r"(shared_address(dst)), "l"(map), "r"(shared_address(bar)), "h"(mask),
      "r"(x), "r"(y) : "memory");
}
__device__ void meet() {
  asm volatile("barrier.cluster.arrive.release.aligned;");
  asm volatile("barrier.cluster.wait.acquire.aligned;");
}
struct Storage {"""
COPY = "copy_to(s.A[q] + rank * 64 * BK, &ta, &s.full[q], t * BK, row + rank * 64, 3);"
ARRIVE = "if (threadIdx.x % 128 < 2) arrive_at(&s.empty[q], threadIdx.x % 128);"


def _write_right() -> str:
    text = RING.replace("struct Storage {", REMOTE, 1)
    text = text.replace("void __launch_bounds__", "void __cluster_dims__(2) __launch_bounds__")
    text = text.replace("tma_load(s.A[q], &ta, &s.full[q], t * BK, row);", COPY).replace(RELEASE, ARRIVE)
    text = text.replace("&s.empty[i], 2)", "&s.empty[i], 4)").replace(
        "  __syncthreads();\n", "  meet();  // begin\n", 1
    )
    text = text.replace("make_map(&map_a, A, M, K, BM)", "make_map(&map_a, A, M, K, BM / 2)")
    rank = '  uint32_t rank;\n  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));\n'
    text = text.replace("  int group =", f"{rank}  int group =")
    text = text.replace("    return;\n  }\n  int me", "    meet();\n    return;\n  }\n  int me")
    last = "C[(row + threadIdx.x) * N + col + j] = d[j];\n"
    return text.replace(last, f"{last}  meet();\n")


RIGHT = _write_right()


def test_a_right_cluster_has_no_mistake() -> None:
    for text in (COPY, ARRIVE, "__cluster_dims__(2)", "// begin"):
        assert RIGHT.count(text) == 1
    assert RIGHT.count("meet();") == 3
    assert check_whole(RIGHT).findings == ()


WAIT = "wait(&s.empty[q], phase ^ 1);"
MISTAKES = [
    ("&s.empty[i], 4)", "&s.empty[i], 2)", "mbarrier_count", "empty[i], 2"),  # of the own block only
    (ARRIVE, ARRIVE.replace("q], threadIdx.x % 128", "q], 0"), "mbarrier_other", "arrive_at("),
    ("q], threadIdx.x % 128", "q], rank", "mbarrier_refilled", "arrive_at("),  # of the own block, twice
    ("  meet();  // begin\n", "  __syncthreads();  // begin\n", "mbarrier_unsynchronized", "// begin"),
    ("row + rank * 64, 3)", "row + rank * 64, 7)", "multicast_mask", "rank * 64, 7)"),  # the cluster has blocks 0 and 1
]


@for_each(("old", "new", "code", "place"), MISTAKES, sample=1)
def test_a_mistake_between_blocks_is_found_at_its_line(old: str, new: str, code: str, place: str) -> None:
    assert RIGHT.count(old) == 1
    found = find_lines(RIGHT.replace(old, new))
    assert [of_one for of_one, _ in found] == [code]
    assert place in found[0][1]


@pytest.mark.thorough
def test_a_block_must_not_end_before_others_arrive_in_it() -> None:
    """It does not end while its thread that copies waits for all others at the barrier of the cluster."""
    one = RIGHT.replace("= d[j];\n  meet();\n", "= d[j];\n")
    assert find_lines(one) == []
    [(code, line)] = find_lines(one.replace("    meet();\n    return;", "    return;"))
    assert code == "cluster_exit" and "arrive_at(" in line


def test_a_cluster_whose_shape_is_open_is_a_note() -> None:
    text = RIGHT.replace("__cluster_dims__(2) ", "").replace("empty[i], 4)", "empty[i], 2)")
    assert [code for code, _ in find_lines(text)] == ["mbarriers_unfinished"]


# addresses and bytes -------------------------------------------------------------------------------------------------


def test_ranks_of_a_cluster_count_x_first() -> None:
    places = [ClusterPlace((3, 2, 1), rank) for rank in range(6)]
    assert [place.index for place in places] == [(x, y, 0) for y in range(2) for x in range(3)]
    assert places[4].find_register("cluster_ctaid", 0) == 1 and places[4].find_register("cluster_nctarank", 0) == 6


def test_the_address_in_another_block_differs_by_its_rank() -> None:
    own = np.array([(1 << RANK_BIT) + 64])
    assert map_address(own, np.array([3])).tolist() == [(3 << RANK_BIT) + 64]


def test_a_multicast_of_a_pair_signals_the_block_of_each_pair_that_its_mbarrier_names() -> None:
    """Both blocks of a pair send bytes to the mbarrier of its first block, or of its second."""
    one, place = np.ones(1, np.bool_), np.array([64])
    plain, pair = ("cp.async.bulk.tensor.2d.shared::cluster.multicast::cluster", "cp.async.bulk.cta_group::2")
    calls = (plain, place), (pair, place), (pair, map_address(place, np.array([1])))
    targets = [[int(to[0]) >> RANK_BIT for _, _, to in list_targets(of, one, one * 15, at)] for of, at in calls]
    assert targets == [[0, 1, 2, 3], [0, 0, 2, 2], [1, 1, 3, 3]]


def _sum_bytes(masks: tuple[int, int], expected: int) -> BarrierBytes:
    """Return the bytes of two blocks that send 8 each, to different places."""
    blocks = []
    for rank, mask in enumerate(masks):
        block = BarrierBytes()
        one = np.ones(1, np.bool_)
        block.note_expected(one, np.array([rank << RANK_BIT]), np.array([expected]), (1, 2))
        box = BoxCopy(frozenset(("a",)), 8 * rank, rank, mask=(3, 4), blocks=mask.bit_count())
        for to in (to for to in range(2) if mask >> to & 1):
            block.note_boxes(one, np.array([to << RANK_BIT]), box, (5, 6))
        blocks.append(block)
    return join_bytes(blocks, lambda names: frozenset((8,)))


@for_each(
    ("masks", "expected", "difference", "mask"),
    [
        ((3, 3), 16, None, None),
        ((3, 3), 8, ((1, 2), 8, 16), None),  # what is expected is wrong
        ((1, 2), 16, ((1, 2), 16, 8), (3, 4)),  # a multicast to one block
        ((1, 1), 8, ((1, 2), 8, 16), (3, 4)),  # the second block gets nothing
    ],
)
def test_bytes_that_differ_between_blocks_are_due_to_the_mask(
    masks: tuple[int, int], expected: int, difference: object, mask: object
) -> None:
    sums = _sum_bytes(masks, expected)
    assert sums.find_difference() == difference
    assert difference is None or sums.find_wrong_mask() == mask


@for_each(
    ("expected", "sizes", "differs"), [(8, (8, 16), False), (16, (16, 8), False), (12, (8, 16), True), (12, (), False)]
)
def test_bytes_differ_only_if_they_do_for_every_size_that_a_box_may_have(
    expected: int, sizes: tuple[int, ...], differs: bool
) -> None:
    """A kernel that is launched with several maps has boxes of several sizes."""
    block, one, place = BarrierBytes(), np.ones(1, np.bool_), np.array([64])
    block.note_expected(one, place, np.array([expected]), (1, 2))
    block.note_boxes(one, place, BoxCopy(frozenset(("a",)), 0, 0), (5, 6))
    for _ in range(2):  # the sums may be made again
        assert (join_bytes([block], lambda names: frozenset(sizes)).find_difference() is not None) == differs


# schedules -----------------------------------------------------------------------------------------------------------


def test_the_barrier_of_a_cluster_waits_for_the_threads_of_all_blocks() -> None:
    def make(block: int, *kinds: str) -> Agent:
        steps = (AgentStep(n, kind, EVERYONE, -1) for n, kind in enumerate(kinds))
        return Agent(block, 32, tuple(steps), block)

    for second, ends in ((("pass", "join"), True), (("join",), False)):
        outcomes = [Simulation([make(0, "pass", "join"), make(1, *second)]).run(one) for one in SCHEDULES]
        assert [not outcome.blocked for outcome in outcomes] == [ends] * 3


@for_each(
    ("completed", "event", "found"),
    [
        (0, 1, (2, 3)),  # the arrival on the mbarrier of the first wait
        (0, 3, (4, 5)),  # … of the second
        (1, 1, None),  # the reader does not wait for a phase that has completed: others read it
    ],
)
def test_a_refilled_stage_is_blamed_on_the_arrival_before_the_copy(
    completed: int, event: int, found: tuple[int, int] | None
) -> None:
    """A thread waits for each of two stages before it copies to them; another one, of another block, releases both."""
    kinds = (("wait", 8), ("copy", 24), ("wait", 16), ("copy", 32), ("arrive", 8), ("arrive", 16))
    steps = [AgentStep(n, kind, place, 0) for n, (kind, place) in enumerate(kinds)]
    calls = [(9, 9), (9, 9), (9, 9), (9, 9), (2, 3), (4, 5)]
    lanes = np.arange(32)
    events = [
        BarrierEvent(step.kind, lanes == 0, 0 * lanes + step.place, 0 * lanes, call, call)
        for step, call in zip(steps, calls, strict=True)
    ]
    outcome = Outcome(refilled=(0, steps[event], 1), barriers={steps[event].place: PhaseBarrier(1, 1, completed)})
    mistake = find_refill([outcome], [Agent(0, 1, tuple(steps[:4])), Agent(1, 1, tuple(steps[4:]), 1)], events, "k")
    assert (mistake and mistake.span) == found


def test_a_phase_ends_only_with_the_bytes_of_all_blocks() -> None:
    """Block 0 expects two copies, of which block 1 brings one."""
    own = (AgentStep(0, "init", 8, 1), AgentStep(1, "expect", 8, 1), AgentStep(2, "arrive", 8, 1))
    reader = Agent(0, 1, (*own, AgentStep(3, "copy", 8, 1), AgentStep(4, "wait", 8, 0)))
    other = Agent(1, 1, (AgentStep(5, "copy", 8, 1),), 1)
    outcome = Simulation([reader, other]).run(SCHEDULES[0])
    assert not outcome.blocked and outcome.barriers[8].completed == 1
    assert outcome.moves == [(0, 3), (1, 5)]


@pytest.mark.thorough
def test_the_boxes_of_a_multicast_overlap_from_block_to_block() -> None:
    assert not check_whole(RIGHT).findings
    wrong = plant(("s.A[q] + rank * 64 * BK", "s.A[q] + rank * 64"), text=RIGHT)
    (finding,) = check_whole(wrong).findings
    line = wrong[wrong.rfind("\n", 0, finding.span[0]) : wrong.find("\n", finding.span[0])]
    assert finding.code == "copies_overlap" and "copy_to(s.A[q] + rank * 64," in line
