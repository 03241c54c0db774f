"""Named barriers of the emulator: bar.sync and bar.arrive by number and count."""

from __future__ import annotations

import numpy as np

from lanescope.emulate.machine import Schedule
from tests.cases import for_each
from tests.emulated_kernels import run_text

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;
 .shared .align 4 .b8 cells[1024];
 ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 7; shl.b32 %r3, %r1, 2;
 mov.u32 %r4, cells; add.s32 %r5, %r4, %r3;
"""
TAIL = " mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r8; ret; }"


@for_each("by_warp", [False, True])
def test_warpgroups_meet_at_a_barrier_of_their_own(by_warp: bool) -> None:
    # The second warpgroup arrives once more than the first: it would hang if the number were not read per thread.
    text = HEAD + """
 add.s32 %r6, %r2, 1; st.shared.u32 [%r5], %r1; bar.sync %r6, 128; xor.b32 %r7, %r3, 508; add.s32 %r7, %r7, %r4;
 ld.shared.u32 %r8, [%r7]; setp.eq.u32 %p1, %r2, 0; @%p1 bra over; bar.sync %r6, 128; over:
""" + TAIL  # fmt: skip
    out = np.zeros(256, np.uint32)
    machine = run_text(text, [out], (256, 1, 1), schedule=Schedule(by_warp=by_warp))
    assert machine.status == "finished"
    assert np.array_equal(out, np.arange(256) ^ 127)


def test_a_producer_arrives_and_consumers_wait() -> None:
    text = HEAD + """
 mov.u32 %r8, 7; setp.ge.u32 %p1, %r1, 128; @%p1 bra consume;
 st.shared.u32 [%r5], %r1; bar.arrive 1, 256; mov.u32 %r8, 5; bra over;
 consume: bar.sync 1, 256; ld.shared.u32 %r8, [%r5+-512]; over:
""" + TAIL  # fmt: skip
    out = np.zeros(256, np.uint32)
    assert run_text(text, [out], (256, 1, 1)).status == "finished"
    assert np.array_equal(out, np.concatenate([np.full(128, 5), np.arange(128)]))


def test_a_barrier_that_half_of_the_warps_reach_is_a_deadlock() -> None:
    text = HEAD + " mov.u32 %r8, 0; setp.ge.u32 %p1, %r1, 64; @%p1 bar.sync 2, 96;" + TAIL
    assert run_text(text, [np.zeros(128, np.uint32)], (128, 1, 1)).status == "deadlock"
