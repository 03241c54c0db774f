"""D of the blocks of a cluster: of products by pairs of CTAs, and of tiles that multicasts bring to several blocks."""

from __future__ import annotations

import pytest

from lanescope.workbench import build_workbench
from lanescope.workbench.products.result_origins import OriginReport
from lanescope.workbench.source.tally import drop_proved, settle_reads
from tests.cases import for_each
from tests.checked import check_whole, locate_findings, run_blocks
from tests.tensor_kernels import BY_TMA
from tests.transfer_kernels import plant

MEET = '  asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;");\n'
RANK = '  uint32_t rank;\n  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));\n'
COMMITS = (
    'shared::cluster.b64 [%0];" :: "r"(shared(bar)));',
    'shared::cluster.b64 [%0], %1;" :: "r"(shared(bar)), "h"(3));',
)
# both blocks of a column of the grid have one tile of B, of which each copies half of the columns
CLUSTER = plant(
    ("void __launch_bounds__", "void __cluster_dims__(1, 2) __launch_bounds__"),
    ("  __syncthreads();\n  const uint32_t d", f"{MEET}  const uint32_t d"),
    ("  __syncthreads();\n  if (warp == 0)", f"{MEET}  if (warp == 0)"),
    ("  extern __shared__", f"{RANK}  extern __shared__"),
    ("make_map(&tb, B, N, K, BN)", "make_map(&tb, B, N, K, BN / 2)"),
    COMMITS,
    ("arrive::one.shared::cluster", "arrive::one.shared::cluster.multicast::cluster"),
    text=BY_TMA,
)
LEADER = "shared(&full) & 0xFEFFFFFF"
OWN_HALF = "col + rank * (BN / 2)"
PAIR = plant(
    ("8u << 24", "16u << 24"),
    ("init(&full, 1)", "init(&full, 2)"),
    (
        "shared::cta.global.mbarrier::complete_tx::bytes",
        "shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2",
    ),
    ('"l"(map), "r"(shared(bar))', '"l"(map), "r"(shared(bar) & 0xFEFFFFFF)'),
    (
        'expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared(&full))',
        f'expect_tx.shared::cluster.b64 _, [%0], %1;" :: "r"({LEADER})',
    ),
    ("(128 + BN) * BK * 2));", "(128 + BN / 2) * BK * 2));"),
    ("t * BK, col)", f"t * BK, {OWN_HALF})"),
    ("    wait(&full, t & 1);", "    if (rank == 0) wait(&full, t & 1);"),
    ("    if (threadIdx.x == 0) {\n      for", "    if (rank == 0 && threadIdx.x == 0) {\n      for"),
    text=CLUSTER,
).replace("cta_group::1", "cta_group::2")
MULTICAST = plant(
    (
        "__device__ uint64_t describe",
        r"""__device__ void spread(void* to, const CUtensorMap* map, uint64_t* bar, int k, int row, uint16_t mask) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
               " [%0], [%1, {%3, %4}], [%2], %5;"
               :: "r"(shared(to)), "l"(map), "r"(shared(bar)), "r"(k), "r"(row), "h"(mask));
}
__device__ uint64_t describe""",
    ),
    (
        "load(sB, &tb, &full, t * BK, col);",
        f"spread(sB + rank * (BN / 2) * BK, &tb, &full, t * BK, {OWN_HALF}, 3);",
    ),
    ("init(&done, 1)", "init(&done, 2)"),  # no block may copy before both have multiplied
    text=CLUSTER,
)


def test_d_of_a_pair_is_verified() -> None:
    report = check_whole(PAIR)
    assert (report.findings, report.open) == ((), ())


@pytest.mark.thorough
def test_d_of_tiles_that_blocks_share_is_verified() -> None:
    assert run_blocks(MULTICAST) == OriginReport()


@pytest.mark.thorough
def test_reads_of_boxes_that_are_assumed_to_form_a_tile_are_verified_by_d() -> None:
    report = check_whole(MULTICAST)
    assert (report.unverified, [one.gap for one in report.checked]) == ((), ["", ""])
    other = "__global__ void other(uint64_t a, uint64_t b) { multiply(0, a, b, 1); }\n"  # of which nothing is known
    assert check_whole(MULTICAST + other).unverified


def test_reads_that_d_verifies_are_not_counted_again() -> None:
    """Also of operands without a verdict."""
    bench = build_workbench(
        'asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0}, %1, %2, 1, 1, 1, 0, 0;"'
        ' : "+f"(d) : "l"(make(a)), "l"((uint64_t)(b & 0x3FFFF) >> 4));'
    )
    readers = {(one.instruction, one.name) for one in bench.operands}
    assert settle_reads(3, (), True) == (3, ()) and drop_proved((), bench, readers) == ()


@for_each("half", ["col + (rank ^ 1) * (BN / 2)", "col"], sample=1)
def test_a_half_of_b_that_is_not_its_own_is_found_at_its_copy(half: str) -> None:
    """The halves are exchanged, or one is copied twice."""
    for kernel, line in ((PAIR, "load(sB"), (MULTICAST, "spread(sB")):
        text = kernel.replace(f"t * BK, {OWN_HALF}", f"t * BK, {half}")
        assert text != kernel
        ((found, at),) = locate_findings(text, run_blocks(text).mistakes)
        assert found == "row_coordinate_wrong" and at.startswith(line), at


def test_a_commit_of_a_pair_signals_both_ctas() -> None:
    text = plant(("arrive::one.shared::cluster.multicast::cluster", "arrive::one.shared::cluster"), text=PAIR)
    assert locate_findings(text, check_whole(text).findings) == [("tcgen05_commit_mask", "commit(&done);")]


def test_copies_of_a_pair_signal_the_cta_that_waits() -> None:
    """Each CTA's copies arrive on its own mbarrier here, and only the first CTA waits."""
    own = plant(('"r"(shared(bar) & 0xFEFFFFFF)', '"r"(shared(bar))'), (LEADER, "shared(&full)"), text=PAIR)
    assert locate_findings(own, check_whole(own).findings) == [("mbarrier_other", COPY_A)]


def test_lanes_of_the_second_cta_may_go_on_from_those_of_the_first() -> None:
    assert run_blocks(plant(("warp * 32 << 16", "rank * 128 + warp * 32 << 16"), text=PAIR)) == OriginReport()


COPY_A = "load(sA, &ta, &full, t * BK, row);"
MISTAKES = [  # what stands there, what is planted, code, line
    (OWN_HALF, "col + rank * (BN / 4)", "row_coordinate_wrong", "load(sB"),
    (OWN_HALF, "col + rank * BN", "row_coordinate_wrong", "load(sB"),
    (COPY_A, COPY_A.replace("row", "row - rank * 128"), "row_coordinate_wrong", "load(sA"),
    ("N + col + c", "N + blockIdx.y / 2 * BN + c", "result_misplaced", "for (int i = 0"),
    ("C[(row + thr", "C[(row - rank * 128 + thr", "result_misplaced", "for (int i = 0"),
    ("t < K / BK;", "t < K / BK - 1;", "k_slices_left", "for (int t"),
]


@for_each(("old", "new", "code", "line"), MISTAKES, sample=2)
def test_a_mistake_in_a_pair_is_found_at_its_line(old: str, new: str, code: str, line: str) -> None:
    text = plant((old, new), text=PAIR)
    ((found, at),) = locate_findings(text, run_blocks(text).mistakes)
    assert found == code and at.startswith(line), at


def test_a_pair_with_fewer_rows_is_open() -> None:
    """Of 128 rows each CTA has 64, in an order of lanes that is not followed."""
    (other,) = run_blocks(plant(("16u << 24", "8u << 24"), text=PAIR)).open
    assert "pairs of CTAs with M = 128" in other.message
