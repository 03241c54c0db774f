"""cp.async, bulk copies and cluster instructions in the emulator, at once and as late as the waits allow."""

from __future__ import annotations

import numpy as np

from lanescope.emulate.machine import Schedule
from lanescope.emulate.observing.waits import find_deadlock
from tests.async_kernels import SCHEDULES, copy_out, list_codes, run, take, wait
from tests.cases import for_each

OWN = "shl.b32 %a0, %tid, 4; cvt.u64.u32 %d0, %a0; add.u64 %d0, %d0, %in; add.u32 %a1, %s, %a0;\n"


@for_each("late", [False, True])
@for_each("size", [4, 8, 16])
def test_bytes_beyond_src_size_are_zero(size: int, late: bool) -> None:
    """Thread n copies n % (size + 1) bytes; odd threads of another copy ignore the source."""
    body = OWN + (
        f"rem.u32 %a2, %tid, {size + 1}; and.b32 %a3, %tid, 1; setp.ne.u32 %q, %a3, 0;\n"
        f"cp.async.ca.shared.global.L2::128B [%a1], [%d0], {size}, %a2;\n"
        f"add.u32 %a4, %a1, 512; cp.async.ca.shared::cta.global [%a4], [%d0], {size}, %q;\n"
        "cp.async.wait_all; bar.sync 0;\n" + "st.shared.u32 [%a1+2048], 0;\n" + copy_out(256)
    )
    body = zero(1024) + body
    data, out = np.arange(1, 513, dtype=np.uint8).reshape(32, 16), np.zeros((2, 32, 16), np.uint8)
    machine = run(body, data, out, schedule=Schedule(late=late))
    assert machine.status == "finished"
    expected = np.zeros((2, 32, 16), np.uint8)
    for n in range(32):
        expected[0, n, : n % (size + 1)] = data[n, : n % (size + 1)]
        expected[1, n, :size] = 0 if n % 2 else data[n, :size]
    assert np.array_equal(take(machine, out), expected)


def zero(size: int) -> str:
    lines = "".join(f"st.shared.u32 [%a30+{at}], 0;\n" for at in range(0, size, 128))
    return f"shl.b32 %a30, %tid, 2; add.u32 %a30, %a30, %s;\n{lines}bar.sync 0;\n"


def test_a_group_of_copies_ends_with_its_wait_and_not_before() -> None:
    """As late as possible, wait_group 1 leaves the second of two groups outstanding."""
    body = (
        zero(1024)
        + OWN
        + (
            "cp.async.cg.shared.global [%a1], [%d0], 16; cp.async.commit_group;\n"
            "cp.async.cg.shared.global [%a1+512], [%d0], 16; cp.async.commit_group; cp.async.wait_group 1;\n"
            "ld.shared.u32 %a5, [%a1]; ld.shared.u32 %a6, [%a1+512]; cp.async.wait_group 0;\n"
            "ld.shared.u32 %a7, [%a1+512];\n"
            "add.u64 %d1, %out, 0; mul.wide.u32 %d2, %tid, 12; add.u64 %d1, %d1, %d2;\n"
            "st.global.u32 [%d1], %a5; st.global.u32 [%d1+4], %a6; st.global.u32 [%d1+8], %a7;\n"
        )
    )
    data, out = np.arange(1, 129, dtype=np.uint32).reshape(32, 4), np.zeros((32, 3), np.uint32)
    found = take(run(body, data, out, schedule=Schedule(late=True)), out)
    first = data[:, 0]
    assert found.T.tolist() == [first.tolist(), [0] * 32, first.tolist()]


@for_each("schedule", SCHEDULES, ids=str)
def test_bulk_copies_there_and_back(schedule: Schedule) -> None:
    body = (
        "@!%p bra J; mbarrier.init.shared.b64 [%bar], 1; fence.proxy.async;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 512;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 512, [%bar];\n"
        "J: bar.sync 0;\n" + wait(0) + "shl.b32 %a0, %tid, 4; add.u32 %a0, %a0, %s; ld.shared.u32 %a1, [%a0];\n"
        "add.u32 %a1, %a1, 1; st.shared.u32 [%a0], %a1; fence.proxy.async.shared::cta; bar.sync 0; @!%p bra K;\n"
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%out], [%s], 512, %d9;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\nK: bar.sync 0; st.shared.u32 [%a0], 99;\n"
    )
    data, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    machine = run(body, data, out, schedule=schedule)
    assert machine.status == "finished" and not machine.findings
    assert take(machine, out).tolist() == [n + (n % 4 == 0) for n in range(128)]


@for_each(
    ("line", "code"),
    [
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%in], 24, [%bar];", "copy_size"),
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s+8], [%in], 16, [%bar];", "misaligned"),
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%in], 1024, [%bar];", "out_of_bounds"),
        ("cp.async.cg.shared.global [%s+8], [%in], 16;", "misaligned"),
        ("cp.async.ca.shared.global [%s], [%in], 4, 5;", "copy_size"),
    ],
)
def test_sizes_and_places_are_checked(line: str, code: str) -> None:
    body = "mbarrier.init.shared.b64 [%bar], 1;\n" + line
    machine = run(body, np.zeros(64, np.uint32), np.zeros(4, np.uint32), threads=1)
    assert machine.status == "fault" and list_codes(machine) == [code]


def test_sums_of_floats_keep_subnormal_numbers_as_an_h100_does() -> None:
    body = (
        "ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%in]; st.shared.v4.u32 [%s], {%a0, %a1, %a2, %a3};\n"
        "fence.proxy.async; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%out], [%s], 16;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
    )
    data = np.array([1, 0xFF800000, 0x80000001, 0x80000001], np.uint32)
    out = np.array([1, 0x7F800000, 0x00800000, 0x80000000], np.uint32)
    assert take(run(body, data, out, threads=1), out).tolist() == [2, 0x7FFFFFFF, 0x7FFFFF, 0x80000001]


# clusters

RANK = "mov.u32 %a9, %cluster_ctarank; xor.b32 %a8, %a9, 1;\n"
MEET = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"


@for_each("schedule", SCHEDULES, ids=str)
def test_a_cluster_exchanges_its_shared_memory(schedule: Schedule) -> None:
    """Each thread stores to its neighbour CTA; st.async and a remote arrival complete a barrier there."""
    body = RANK + (
        "@%p mbarrier.init.shared.b64 [%bar], 33; fence.mbarrier_init.release.cluster;\n"
        "@%p mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 256;\n" + MEET + "shl.b32 %a0, %tid, 4;\n"
        "add.u32 %a0, %a0, %s; mapa.shared::cluster.u32 %a1, %a0, %a8; mapa.shared::cluster.u32 %a2, %bar, %a8;\n"
        "mad.lo.u32 %a3, %a9, 1000, %tid; add.u32 %a4, %a3, 500; st.shared::cluster.u32 [%a1+8], %a3;\n"
        "st.shared::cluster.u32 [%a1+12], %a4;\n"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%a1], {%a3, %a4}, [%a2];\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%a2];\n" + wait(0) + copy_out(128) + MEET
    )
    out = np.zeros((2, 32, 4), np.uint32)
    machine = run(body, out, out, schedule=schedule, cluster=2)
    assert machine.status == "finished" and not machine.findings
    expected = [[[1000 * r + n, 1000 * r + n + 500] * 2 for n in range(32)] for r in (1, 0)]
    assert take(machine, out).tolist() == expected


@for_each("schedule", SCHEDULES, ids=str)
def test_multicast_brings_a_box_to_the_same_place_of_each_cta(schedule: Schedule) -> None:
    body = RANK + (
        "@%p mbarrier.init.shared.b64 [%bar], 1; fence.mbarrier_init.release.cluster;\n"
        "@%p mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 1024;\n" + MEET + "mov.u16 %h, 3; @!%p bra J;\n"
        "shl.b32 %a0, %a9, 9; add.u32 %a0, %a0, %s; shl.b32 %a1, %a9, 3; mov.u32 %a2, 0;\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%a0], [%map, {%a2, %a1}], [%bar], %h;\nJ:\n" + wait(0) + copy_out(256) + MEET
    )
    data, out = np.arange(256, dtype=np.uint32).reshape(16, 16), np.zeros((2, 16, 16), np.uint32)
    made = {"type": "u32", "dims": (16, 16), "strides": (64,), "box": (16, 8)}
    machine = run(body, data, out, schedule=schedule, cluster=2, make_map=made)
    assert machine.status == "finished" and not machine.findings
    assert np.array_equal(take(machine, out), np.stack([data, data]))


@for_each(
    ("body", "code"),
    [
        ("mapa.shared::cluster.u32 %a1, %s, 2; st.shared::cluster.u32 [%a1], 1;", "out_of_bounds"),
        ("barrier.cluster.arrive; barrier.cluster.arrive;", "cluster_barrier"),
        ("barrier.cluster.wait;", "cluster_barrier"),
        (
            "mapa.shared::cluster.u32 %a1, %bar, %a8; mbarrier.try_wait.parity.shared.b64 %q, [%a1], 0;",
            "remote_mbarrier",
        ),
    ],
)
def test_mistakes_in_clusters_are_faults(body: str, code: str) -> None:
    machine = run(RANK + body, np.zeros(4), np.zeros(4), cluster=2)
    assert machine.status == "fault" and list_codes(machine) == [code]


# CTA 0 exits; CTA 1 waits until it has, then accesses its shared memory
EXITED = RANK + (
    "@%p mbarrier.init.shared.b64 [%bar], 1; fence.mbarrier_init.release.cluster;\n"
    + MEET
    + "setp.eq.u32 %q, %a9, 0;\n"
    "@%q ret; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
    "mapa.shared::cluster.u32 %a1, %s, 0; mapa.shared::cluster.u32 %a2, %bar, 0;\n"
)


@for_each(
    "access",
    [
        "st.shared::cluster.u32 [%a1], 1;",
        "@%p mbarrier.arrive.shared::cluster.b64 _, [%a2];",
        "@%p mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%a2], 0;",
        "ld.shared::cluster.u32 %a3, [%a1];",
        "cvt.u64.u32 %d0, %a1; cvta.shared.u64 %d0, %d0; st.u32 [%d0], 1;",
        "@%p st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%a1], 5, [%a2];",
        "mov.u16 %h, 1; mov.u32 %a4, 0; @!%p bra K; cp.async.bulk.tensor.2d.shared::cluster.global"
        ".mbarrier::complete_tx::bytes.multicast::cluster [%s], [%map, {%a4, %a4}], [%bar], %h; K:",
    ],
)
def test_an_access_to_a_cta_that_has_exited_is_a_warning_and_the_run_goes_on(access: str) -> None:
    body = EXITED + access + "\nmov.u32 %a5, 7; st.global.u32 [%out], %a5;"
    out, made = np.zeros(4, np.uint32), {"type": "u32", "dims": (16, 16), "strides": (64,), "box": (4, 8)}
    machine = run(body, np.zeros(256, np.uint32), out, cluster=2, make_map=made)
    assert machine.status == "finished" and take(machine, out)[0] == 7
    (finding,) = (one for one in machine.findings if one.code == "exited_cta")
    assert finding.severity == "warning" and "CTA 0" in finding.message and "cluster" in finding.message


def test_a_cta_reaches_its_own_memory_after_others_have_exited() -> None:
    body = EXITED + "st.shared.u32 [%s], 1; @%p mbarrier.arrive.shared.b64 _, [%bar];"
    machine = run(body, np.zeros(4), np.zeros(4), cluster=2)
    assert machine.status == "finished" and not machine.findings


def test_a_cta_that_does_not_come_to_the_cluster_barrier_is_a_deadlock() -> None:
    body = RANK + "setp.eq.u32 %q, %a9, 0; @%q bra J; L: ld.volatile.global.u32 %a1, [%in]; setp.eq.u32 %q, %a1, 0;\n"
    machine = run(body + "@%q bra L;\nJ: " + MEET, np.zeros(4), np.zeros(4), cluster=2)
    assert machine.status == "deadlock"
    find_deadlock(machine)
    assert any("Warp 0 of CTA (1,0,0) did not arrive" in one.message for one in machine.findings)
