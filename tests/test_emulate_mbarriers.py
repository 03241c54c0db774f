"""mbarriers in the emulator against a phase automaton of ten lines, PTX's rules, and what an H100 answered."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from lanescope.emulate.machine import Schedule
from lanescope.emulate.observing.waits import find_deadlock
from tests.async_kernels import SCHEDULES, list_codes, run, take, wait
from tests.cases import for_each
from tests.emulated_kernels import run_text

NONE = np.zeros(4, np.uint32)


@dataclass
class Automaton:
    """PTX ISA 9.7.13.15.6: a phase ends once pending arrivals and transaction bytes are 0."""

    expected: int
    pending: int = 0
    tx: int = 0
    phase: int = 0

    def __post_init__(self) -> None:
        self.pending = self.expected

    def step(self, arrivals: int = 0, bytes_expected: int = 0, bytes_done: int = 0, drop: int = 0) -> None:
        self.tx += bytes_expected - bytes_done
        self.pending -= arrivals
        self.expected -= drop
        if not self.pending and not self.tx:
            self.phase, self.pending = self.phase + 1, self.expected


def draw_operation(rng: random.Random, model: Automaton) -> str:
    """Do something legal to the automaton; return the instruction that does it."""
    kind = rng.choice(["arrive", "arrive", "arrive", "expect", "complete", "both", "drop"])
    size = 16 * rng.randint(1, 64)
    if kind == "complete" and model.tx > 0:
        size = rng.choice([model.tx, max(16, model.tx // 2)])
        model.step(bytes_done=size)
        return f"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%bar], {size};"
    if not model.pending or kind == "complete":
        return "mov.u32 %a0, 0;" if model.tx <= 0 or model.pending else draw_operation(rng, model)
    count = rng.randint(1, model.pending)
    if kind == "expect":
        model.step(bytes_expected=size)
        return f"mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], {size};"
    if kind == "both":
        model.step(1, size)
        return f"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%bar], {size};"
    if kind == "drop" and model.expected > count + 1:
        model.step(count, drop=count)
        return f"mbarrier.arrive_drop.shared.b64 _, [%bar], {count};"
    model.step(count)
    return f"mbarrier.arrive.shared::cta.b64 _, [%bar], {count};"


@for_each("seed", range(12), sample=6)
def test_phases_follow_the_automaton(seed: int) -> None:
    """Random instructions of one thread; after each, test_wait says for both parities what the automaton says."""
    rng = random.Random(seed)
    model = Automaton(rng.randint(2, 9))
    body, expected = f"@%p mbarrier.init.shared::cta.b64 [%bar], {model.expected};\n", []
    for n in range(40):
        body += draw_operation(rng, model) + "\n"
        for parity in (0, 1):
            body += f"mbarrier.test_wait.parity.shared::cta.b64 %q, [%bar], {parity}; selp.u32 %a1, 1, 0, %q;\n"
            body += f"st.global.u32 [%out+{8 * n + 4 * parity}], %a1;\n"
            expected.append((model.phase & 1) != parity)
    out = np.zeros(80, np.uint32)
    machine = run(body, NONE, out, threads=1)
    assert machine.status == "finished" and not machine.findings
    assert take(machine, out).tolist() == expected


def test_states_name_the_phase_and_the_pending_count_before() -> None:
    body = "mbarrier.init.shared.b64 [%bar], 3;\n"
    for n in range(5):  # pending 3, 2, 1, then the next phase: 3, 2
        body += (
            f"mbarrier.arrive.noComplete.shared.b64 %d{n}, [%bar], 1;\n"
            if n in (0, 1)
            else (f"mbarrier.arrive.shared.b64 %d{n}, [%bar];\n")
        )
    for n in range(5):
        body += f"mbarrier.pending_count.b64 %a{n}, %d{n}; st.global.u32 [%out+{8 * n}], %a{n};\n"
        body += f"mbarrier.test_wait.shared.b64 %q, [%bar], %d{n}; selp.u32 %a9, 1, 0, %q;\n"
        body += f"st.global.u32 [%out+{8 * n + 4}], %a9;\n"
    out = np.zeros((5, 2), np.uint32)
    assert take(run(body, NONE, out, threads=1), out).tolist() == [[3, 1], [2, 1], [1, 1], [3, 0], [2, 0]]


def test_states_are_the_words_of_an_h100() -> None:
    body = (
        "mbarrier.init.shared.b64 [%bar], 2; mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 16;\n"
        "mbarrier.arrive.shared.b64 %d0, [%bar], 2; st.global.u64 [%out], %d0;\n"
        "mbarrier.complete_tx.relaxed.cta.shared.b64 [%bar], 16;\n"
        "mbarrier.arrive.shared.b64 %d0, [%bar]; st.global.u64 [%out+8], %d0;\n"
    )
    out = np.zeros(2, np.uint64)
    assert take(run(body, NONE, out, threads=1), out).tolist() == [0x7FFFF3FF00000002, 0xFFFFF00000000001]


def test_expect_tx_ends_a_phase_whose_bytes_came_first() -> None:
    body = (
        "mbarrier.init.shared.b64 [%bar], 1; mbarrier.complete_tx.relaxed.cta.shared.b64 [%bar], 16;\n"
        "mbarrier.arrive.shared.b64 _, [%bar]; mbarrier.test_wait.parity.shared.b64 %q, [%bar], 0;\n"
        "selp.u32 %a0, 1, 0, %q; st.global.u32 [%out], %a0; mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 16;\n"
        "mbarrier.test_wait.parity.shared.b64 %q, [%bar], 0; selp.u32 %a0, 1, 0, %q; st.global.u32 [%out+4], %a0;\n"
    )
    out = np.zeros(2, np.uint32)
    assert take(run(body, NONE, out, threads=1), out).tolist() == [0, 1]


@for_each(
    ("body", "code"),
    [
        ("mbarrier.init.shared.b64 [%bar], 2; mbarrier.arrive.shared.b64 _, [%bar], 3;", "mbarrier_overflow"),
        (
            "mbarrier.init.shared.b64 [%bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 16;"
            " mbarrier.arrive.shared.b64 _, [%bar];",
            "mbarrier_overflow",
        ),
        ("mbarrier.init.shared.b64 [%bar], 0;", "mbarrier_count"),
        ("mbarrier.init.shared.b64 [%bar], 1048576;", "mbarrier_count"),
        ("mbarrier.init.shared.b64 [%bar], 1; mbarrier.arrive_drop.shared.b64 _, [%bar];", "mbarrier_count"),
        ("mbarrier.arrive.shared.b64 _, [%bar];", "mbarrier_not_initialized"),
        ("mbarrier.init.shared.b64 [%bar+4], 1;", "misaligned"),
        ("mov.u32 %a0, 0; mbarrier.init.shared.b64 [%a0], 1;", "out_of_bounds"),
        (
            "mbarrier.init.shared.b64 [%bar], 1; st.shared.u32 [%bar], %tid; mbarrier.arrive.shared.b64 _, [%bar];",
            "mbarrier_overwritten",
        ),
    ],
)
def test_what_ends_a_launch_is_a_fault(body: str, code: str) -> None:
    machine = run(body, NONE, NONE, threads=1)
    assert machine.status == "fault" and list_codes(machine) == [code]


@for_each("schedule", SCHEDULES, ids=str)
def test_threads_of_one_instruction_end_several_phases(schedule: Schedule) -> None:
    """128 threads arrive on a barrier of 32: each finds the phase that 32 arrivals before it began."""
    body = (
        "@%p mbarrier.init.shared.b64 [%bar], 32; bar.sync 0;\n"
        "mbarrier.arrive.shared.b64 %d0, [%bar]; shr.u64 %d0, %d0, 63; cvt.u32.u64 %a0, %d0;\n"
        "mul.wide.u32 %d1, %tid, 4; add.u64 %d1, %d1, %out; st.global.u32 [%d1], %a0;\n"
    )
    out = np.zeros(128, np.uint32)
    found = take(run(body, NONE, out, threads=128, schedule=schedule), out)
    assert sorted(found.tolist()) == [0] * 64 + [1] * 64


@for_each("schedule", SCHEDULES, ids=str)
def test_threads_wait_for_their_own_barrier(schedule: Schedule) -> None:
    """Even threads wait for barrier 0, odd ones for barrier 1, which the even ones complete; half under a guard."""
    body = (
        "@%p mbarrier.init.shared.b64 [%bar], 1; @%p mbarrier.init.shared.b64 [%bar+8], 16; bar.sync 0;\n"
        "and.b32 %a0, %tid, 1; shl.b32 %a1, %a0, 3; add.u32 %a1, %a1, %bar; setp.eq.u32 %q, %a0, 0;\n"
        "setp.eq.u32 %p, %tid, 31; @%p mbarrier.arrive.shared.b64 _, [%bar];\n"
        "@%q mbarrier.try_wait.parity.shared.b64 %p, [%a1], 0;\n"
        "@%q mbarrier.arrive.shared.b64 _, [%bar+8];\n"
        "L: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [%a1], 0, 1000; @!%p bra L;\n"
        "mul.wide.u32 %d1, %tid, 4; add.u64 %d1, %d1, %out; st.global.u32 [%d1], 1;\n"
    )
    out = np.zeros(32, np.uint32)
    machine = run(body, NONE, out, schedule=schedule)
    assert machine.status == "finished" and not machine.findings and take(machine, out).all()


@for_each("schedule", SCHEDULES, ids=str)
@for_each(("word", "count"), [("", 32), (".noinc", 64)])
def test_copies_arrive_once_they_ended(schedule: Schedule, word: str, count: int) -> None:
    body = (
        f"@%p mbarrier.init.shared.b64 [%bar], {count}; bar.sync 0;\n"
        "shl.b32 %a0, %tid, 2; cvt.u64.u32 %d0, %a0; add.u64 %d0, %d0, %in; add.u32 %a1, %s, %a0;\n"
        f"cp.async.ca.shared.global [%a1], [%d0], 4; cp.async.mbarrier.arrive{word}.shared.b64 [%bar];\n"
        "mbarrier.arrive.shared.b64 _, [%bar];\n" + wait(0) + "xor.b32 %a1, %a1, 64; ld.shared.u32 %a2, [%a1];\n"
        "cvt.u64.u32 %d1, %a0; add.u64 %d1, %d1, %out; st.global.u32 [%d1], %a2;\n"
    )
    data, out = np.arange(100, 132, dtype=np.uint32), np.zeros(32, np.uint32)
    machine = run(body, data, out, schedule=schedule)
    assert machine.status == "finished" and not machine.findings
    assert take(machine, out).tolist() == data[np.arange(32) ^ 16].tolist()


@for_each(("fence", "codes"), [("", ["mbarrier_init_not_visible"]), ("fence.acq_rel.cta;", [])])
def test_an_init_has_to_be_visible_before_others_use_the_barrier(fence: str, codes: list[str]) -> None:
    body = f"@%p mbarrier.init.shared.b64 [%bar], 32;\n{fence}\nmbarrier.arrive.shared.b64 _, [%bar];"
    assert list_codes(run(body, NONE, NONE)) == codes


@for_each(
    "body",
    [
        "mbarrier.arrive.shared.b64 _, [%bar];",  # one of two arrivals is forgotten
        "mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 32; mbarrier.arrive.shared.b64 _, [%bar];"
        " mbarrier.complete_tx.relaxed.cta.shared.b64 [%bar], 16;",  # wrong byte count
    ],
)
def test_what_never_comes_is_a_deadlock(body: str) -> None:
    machine = run("mbarrier.init.shared.b64 [%bar], 2;\n" + body + wait(0), NONE, NONE, threads=1)
    assert machine.status == "deadlock"


def test_threads_that_test_for_ever_are_named_with_their_barrier() -> None:
    body = "@%p mbarrier.init.shared.b64 [%bar+8], 2; bar.sync 0; @%p mbarrier.arrive.shared.b64 _, [%bar+8];\n"
    body += "L: mbarrier.test_wait.parity.shared.b64 %q, [%bar+8], 0; @%q bra K; nanosleep.u32 20; bra L;\nK:\n"
    machine = run(body, NONE, NONE)
    assert machine.status == "deadlock"
    find_deadlock(machine)
    (finding,) = machine.findings
    assert "bars[1]" in finding.message and "1 of 2 arrivals is outstanding" in finding.message
    assert "1 arrival by lane 0 of warp 0" in finding.message


def test_a_swapped_parity_does_not_wait() -> None:
    """The phase before the first counts as complete: a consumer that asks for parity 1 goes on at once."""
    body = "mbarrier.init.shared.b64 [%bar], 1;\n" + wait(0, parity=1) + "st.global.u32 [%out], 7;"
    out = np.zeros(1, np.uint32)
    machine = run(body, NONE, out, threads=1)
    assert machine.status == "finished" and take(machine, out)[0] == 7


@for_each(
    "line",
    [
        "mbarrier.arrive.shared.gpu.b64 _, [%bar];",
        "mbarrier.try_wait.parity.release.cta.shared.b64 %q, [%bar], 0;",
        "fence.proxy.unknown;",
        "cp.async.ca.shared.global.L3::64B [%s], [%in], 4;",
    ],
)
def test_words_that_no_row_knows_are_refused(line: str) -> None:
    machine = run("mbarrier.init.shared.b64 [%bar], 1;\n" + line, NONE, NONE, threads=1)
    assert machine.status == "unknown_instruction"


# named barriers -------------------------------------------------------------------------------------------------------

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
