"""The order of stores by threads and of wgmma that reads them through descriptors."""

from __future__ import annotations

from lanescope.workbench.fragments.thread_order import check_thread_order
from tests.cases import for_each
from tests.test_thread_descriptors import B_BY_TMA, RIGHT as DESCRIBED
from tests.transfer_kernels import plant

# wgmma reads what other warps store: all of B, and the 16 rows of A of each warp
SYNC = "__syncthreads();\n    for (int k = 0"
OWN_ROWS = (
    ("i = threadIdx.x; i < 64 * 8; i += 128", "i = threadIdx.x % 32; i < 16 * 8; i += 32"),
    ("int r = i / 8", "int r = threadIdx.x / 32 * 16 + i / 8"),
)


def list_described(*changes: tuple[str, str]) -> list[str]:
    """List the mistakes of the kernel with wgmma and these changes."""
    return [one.code for one in check_thread_order(plant(*changes, text=DESCRIBED), {}, (), described=True).mistakes]


def test_a_descriptor_reads_what_all_warps_have_stored_before_a_barrier() -> None:
    assert list_described() == list_described(*OWN_ROWS) == []
    assert list_described((SYNC, SYNC.partition("\n")[2])) == ["barrier_missing"]
    fence = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
    assert list_described((SYNC, fence + SYNC.partition("\n")[2])) == ["barrier_missing"]
    assert list_described(*OWN_ROWS, (SYNC, "__syncwarp();" + SYNC.partition("\n")[2])) == ["barrier_missing"]  # B


END = '      asm volatile("wgmma.{}.sync.aligned{};" ::: "memory");\n'
PRODUCT_END = '"l"(make_desc(sB + k * 16)));\n'
TURN_END = "__syncthreads();\n  }\n}"


@for_each(
    ("left", "barrier", "found"),
    [(0, True, []), (0, False, ["refill_early"]), (1, True, ["refill_early"]), (None, True, [])],
)
def test_a_tile_is_stored_to_again_after_a_wait_for_the_products_that_read_it(
    left: int | None, barrier: bool, found: list[str]
) -> None:
    # of an excerpt without groups nothing is known; two warpgroups read the same B, and one waits for itself
    ends = "" if left is None else END.format("commit_group", "") + END.format("wait_group", f" {left}")
    changes = (PRODUCT_END, PRODUCT_END + ends), *([(TURN_END, "}\n}")] if not barrier else [])
    assert list_described(*changes) == (found if left else [])
    pair = ("__launch_bounds__(128)", "__launch_bounds__(256)"), ("i += 128", "i += 256")
    assert list_described(*changes, *pair) == found


def test_a_warp_may_store_its_own_rows_of_a_without_a_barrier() -> None:
    loaded = "*(uint4*)&sB[r * 64 + (c ^ (r % 8)) * 8] = *(const uint4*)&B[(blockIdx.y * 64 + r) * K + k0 + c * 8];"
    first = f"for (int i = threadIdx.x; i < 64 * 8; i += 128) {{ int r = i / 8, c = i % 8; {loaded} }} __syncthreads();"
    own = plant((loaded, ""), *OWN_ROWS, (SYNC, "__syncwarp();" + SYNC.partition("\n")[2]), text=DESCRIBED)
    own = own.replace("for (int i", f"{first} for (int i", 1)
    assert not check_thread_order(own, {}, (), described=True).mistakes


WAIT = (
    "while (!try_wait(bar, k0 / 64 & 1)) {}",
    r"""asm volatile("{\n.reg .pred p;\nA:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra A;\n}"
      :: "r"(bar), "r"(k0 / 64 & 1) : "memory");""",
)
EXPECT = '      asm volatile("mbarrier.arrive.expect_tx'
BARRIER = ("    __syncthreads();\n    for (int k = 0", "    for (int k = 0")
ONE_WARP = (("i = threadIdx.x; i < 64 * 8; i += 128", "i = threadIdx.x; threadIdx.x < 32 && i < 64 * 8; i += 32"),)


@for_each(
    ("changes", "found"),
    [
        ((), []),
        ((BARRIER,), ["barrier_missing"]),
        ((BARRIER, *ONE_WARP), []),  # the warp that arrives has stored all of A
        ((BARRIER, (EXPECT, '      asm volatile("mbarrier.arrive.b64 _, [%0];" :: "r"(bar));\n' + EXPECT)), []),
        ((BARRIER, ("threadIdx.x == 0", "threadIdx.x % 32 == 0")), []),
    ],
)
def test_a_wait_for_the_bytes_of_copies_shows_no_stores_of_other_warps(
    changes: tuple[tuple[str, str], ...], found: list[str]
) -> None:
    """Only the warps that arrive at an mbarrier make what they have stored visible to those that wait for it."""
    text = plant(WAIT, *changes, text=B_BY_TMA)
    assert [one.code for one in check_thread_order(text, {}, (), described=True).mistakes] == found
