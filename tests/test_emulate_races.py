"""Schedules of the emulator: right kernels end alike, planted mistakes differ, and the pair of lines is named."""

from __future__ import annotations

import numpy as np

from lanescope.emulate.observing.races import ScheduleComparison, compare_schedules
from tests.async_kernels import copy_out, make_factory, wait
from tests.cases import for_each

DATA = np.arange(64, dtype=np.uint32)
MEET = "bar.sync 0;\n"
OWN = (
    "shl.b32 %a0, %tid, 2; add.u32 %a1, %s, %a0; cvt.u64.u32 %d0, %a0;\n"
    "add.u64 %d1, %d0, %out; add.u64 %d0, %d0, %in; xor.b32 %a2, %a1, 128;\n"
)


def compare(body: str, count: int = 5) -> ScheduleComparison:
    return compare_schedules(make_factory(body, DATA, np.zeros(64, np.uint32), 64), count)


STORES = OWN + "st.shared.u32 [%a1], %tid;\n{}ld.shared.u32 %a3, [%a2]; st.global.u32 [%d1], %a3;\n"
COPIES = OWN + (
    "cp.async.ca.shared.global [%a1], [%d0], 4; cp.async.commit_group;\n{}bar.sync 0;\n"
    "ld.shared.u32 %a3, [%a2]; st.global.u32 [%d1], %a3;\n"
)
LOADS = OWN + (
    "@!%p bra J; mbarrier.init.shared.b64 [%bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 256;\n"
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%in], 256, [%bar];\n"
    "J: bar.sync 0;\n{}" + copy_out(64, 64)
)
BULK_STORES = OWN + (
    "st.shared.u32 [%a1], %tid;\n{0}bar.sync 0;\n@!%p bra J;\n"
    "cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 256; cp.async.bulk.commit_group;\n{1}"
    "J: bar.sync 0;\nst.shared.u32 [%a1], 5;\n"
)
CHANGE = "and.b32 %a4, %tid, 31; shl.b32 %a4, %a4, 2; add.u32 %a4, %a4, %s; st.shared.u32 [%a4], %tid;\n"
FENCE, READ = "fence.proxy.async.shared::cta;\n", "cp.async.bulk.wait_group.read 0;\n"


@for_each(
    "body",
    [
        STORES.format(MEET),
        COPIES.format("cp.async.wait_group 0;\n"),
        LOADS.format(wait(0)),
        BULK_STORES.format(FENCE, READ),
        OWN + "red.shared.add.u32 [%s+1024], 1;\n" + STORES.format(MEET).removeprefix(OWN),
    ],
)
def test_right_kernels_end_alike(body: str) -> None:
    found = compare(body)
    assert found.equal and not found.findings
    assert not [one for one in found.machine.findings if one.code == "missing_proxy_fence"]
    assert set(found.statuses) == {"finished"}


@for_each(
    ("body", "lines", "missing"),
    [
        (STORES.format(""), ("ld.shared.u32", "st.shared.u32"), "__syncthreads()"),
        (COPIES.format(""), ("ld.shared.u32", "cp.async.ca"), "cp.async.wait_group"),
        (LOADS.format(""), ("ld.shared.u32", "cp.async.bulk"), "mbarrier.try_wait"),
        (BULK_STORES.format(FENCE, ""), ("cp.async.bulk", "st.shared.u32"), "cp.async.bulk.wait_group"),
        # the copy is waited for, but two warps store to what it brought
        (LOADS.format(wait(0) + CHANGE), ("ld.shared.u32", "st.shared.u32"), "__syncthreads()"),
        (OWN + "st.global.u32 [%out], %tid;", ("st.global.u32", "st.global.u32"), "__syncthreads()"),
    ],
)
def test_a_missing_wait_is_named_with_both_accesses(body: str, lines: tuple[str, str], missing: str) -> None:
    found = compare(body)
    assert not found.equal
    (race,) = [one for one in found.findings if one.code == "race"][:1]
    assert missing in race.message and all(f"{line} in line" in race.message for line in lines)


def test_the_write_that_is_not_ordered_is_named_of_the_two_that_a_read_may_see() -> None:
    """A thread of the reader's own warp stores before a barrier, another warp behind it: that one may come too late."""
    body = OWN + (
        "xor.b32 %a4, %a1, 4; st.shared.u32 [%a1], 1; bar.sync 0; setp.ge.u32 %q, %tid, 32;\n"
        "@%q st.shared.u32 [%a2], 2; @!%q ld.shared.u32 %a3, [%a4]; @!%q st.global.u32 [%d1], %a3;\n"
    )
    (race,) = (one for one in compare(body).findings if one.code == "race")
    assert "Missing: __syncthreads()" in race.message


def test_a_missing_proxy_fence_is_reported_though_the_bytes_are_right() -> None:
    found = compare(BULK_STORES.format("", READ))
    assert found.equal
    (finding,) = found.machine.findings
    assert finding.code == "missing_proxy_fence" and "st.shared" not in finding.message and finding.line


def test_an_order_that_deadlocks_is_a_difference() -> None:
    """Warp 1 waits for a flag in shared memory that warp 0 sets only if it sees that warp 1 has not passed."""
    body = OWN + (
        "setp.ge.u32 %q, %tid, 32; @%q bra J; ld.volatile.shared.u32 %a3, [%s]; setp.ne.u32 %q, %a3, 0; @%q bra K;\n"
        "st.volatile.shared.u32 [%s+4], 1; bra K;\n"
        "J: st.volatile.shared.u32 [%s], 1;\n"
        "L: ld.volatile.shared.u32 %a3, [%s+4]; setp.eq.u32 %q, %a3, 0; @%q bra L;\n"
        "K:\n"
    )
    found = compare(body, 8)
    assert set(found.statuses) == {"finished", "deadlock"} and not found.equal
    assert found.findings[0].code == "schedules_differ"
