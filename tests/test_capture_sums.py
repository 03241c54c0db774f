"""Captures whose accumulators begin at a recorded C, hold steps that were not seen, or were recorded in between; those
of registers alone; and those that come through a pipe.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.capture import fills
from lanescope.capture.file_format import Record
from lanescope.capture.report import Verified
from lanescope.capture.tile_sums import SLACK, _mask_close
from lanescope.ptx.codec import encode_values
from tests import h200_captures
from tests.cases import for_each
from tests.made_captures import (
    BASE_A,
    BASE_B,
    MMA,
    build_memory,
    build_record,
    build_steps,
    build_storage,
    build_word,
    verify_records,
)
from tests.test_capture_kernels import build_accumulators

RNG = np.random.default_rng(11)
A, B, C, C2 = (RNG.integers(-8, 9, (64, 64)).astype(float) for _ in range(4))
AB = A @ B.T
HALVES = [A[:, n : n + 32] @ B[:, n : n + 32].T for n in (0, 32)]
GIVEN: dict[str, Any] = {"a": A, "b": B, "nk": True}
WINDOW = build_memory(
    *(
        (build_storage((64, 64), base), encode_values(m, "bf16").astype(np.uint64))
        for base, m in ((BASE_A, A), (BASE_B, B))
    )
)
STEPS = build_steps(WINDOW)
ONLY_B = [replace(one, label="B", line=20, words={**one.words, "a": 0}) for one in STEPS]


def make_d(values: np.ndarray) -> list[Record]:
    return build_accumulators(values)


def make_c(values: np.ndarray) -> list[Record]:
    return build_accumulators(values, "C")


def list_verdicts(made: Verified) -> list[str]:
    """Of the accumulators, a word a D: the warps of each agree."""
    words = [one.verdict for one in made.accumulators]
    assert len(words) % 4 == 0 and all(len(set(words[n : n + 4])) == 1 for n in range(0, len(words), 4)), words
    return words[::4]


@for_each(
    ("records", "says"),
    [
        ([*make_c(C), *STEPS, *make_d(AB)], ["mismatch"]),
        ([*make_c(C), *STEPS, *make_d(AB + C)], ["match"]),
        ([*make_c(C), *STEPS, *make_d(AB + C), *make_c(C2), *STEPS, *make_d(AB + C)], ["match", "mismatch"]),
        ([*make_c(C), *STEPS, *make_d(AB + C), *make_c(C2), *STEPS, *make_d(AB)], ["match", "mismatch"]),
        ([*make_c(C), *STEPS, *make_d(AB + C), *make_c(C2), *STEPS, *make_d(AB + C2)], ["match", "match"]),
        ([*STEPS, *make_d(AB), *make_c(C), *STEPS, *make_d(AB)], ["match", "mismatch"]),
        ([*STEPS, *make_d(AB), *make_c(C), *STEPS, *make_d(AB + C)], ["match", "match"]),
        # recorded in between, once; promoted after a C; C again before each part
        ([*make_c(C), *STEPS[:2], *make_d(HALVES[0] + C), *STEPS[2:], *make_d(AB + C)], ["match", "match"]),
        ([*make_c(C), *STEPS[:2], *make_d(HALVES[0] + C), *STEPS[2:], *make_d(HALVES[1])], ["match", "match"]),
        ([*make_c(C), *STEPS[:2], *make_c(HALVES[0] + C), *STEPS[2:], *make_d(AB + C)], ["match"]),
        (
            [*make_c(0 * C), *STEPS[:2], *make_d(HALVES[0]), *make_c(0 * C), *STEPS[2:], *make_d(HALVES[1])],
            ["match", "match"],
        ),
        ([*make_c(C), *STEPS, *make_d(AB + C), *STEPS, *make_d(AB)], ["match", "match"]),
        (
            [*make_c(C), *STEPS[:2], *make_c(HALVES[0] + C), *STEPS[2:], *make_d(AB + C), *STEPS, *make_d(AB)],
            ["match", "match"],
        ),
    ],
    sample=5,
)
def test_a_recorded_c_is_in_d(records: list[Record], says: list[str]) -> None:
    made = verify_records(records, **GIVEN)
    assert list_verdicts(made) == says and made.verdict == ("mismatch" if "mismatch" in says else "match")


@pytest.mark.thorough
def test_tiles_of_one_warpgroup_begin_at_their_own() -> None:
    """Two tiles of D at once: C's may be recorded before both, and only one of them may begin at zero."""
    a = np.concatenate([A, B])
    parts = [
        (build_storage((64, 64), base), encode_values(m, "bf16").astype(np.uint64))
        for base, m in ((BASE_A, A), (BASE_A + 8192, B), (BASE_B, B))
    ]
    window = build_memory(*parts)
    both = [
        build_record(
            build_word(BASE_A + 8192 * m, 16 * s),
            build_word(BASE_B, 16 * s),
            window,
            line=10 + m,
            slice={"m": 64 * m, "n": 0, "k": 16 * s},
        )
        for s in range(4)
        for m in (0, 1)
    ]
    given = {**GIVEN, "a": a}
    low, high = A @ B.T, B @ B.T
    for records, says in (
        ([*make_c(C), *make_c(C2), *both, *make_d(low + C), *make_d(high + C2)], ["match", "match"]),
        ([*make_c(C), *make_c(C2), *both, *make_d(high + C2), *make_d(low + C)], ["match", "match"]),
        ([*make_c(C), *both, *make_d(high), *make_d(low + C)], ["match", "match"]),
        ([*make_c(C), *both, *make_d(low + C), *make_d(high)], ["match", "match"]),
        ([*make_c(C), *both, *make_d(low + C), *make_d(high + C)], ["match", "match"]),  # one bias
        ([*make_c(C), *make_c(C2), *both, *make_d(low), *make_d(high + C2)], ["mismatch", "match"]),
        ([*make_c(C), *both[::2], *make_d(low), *both[1::2], *make_d(high + C)], ["match", "match"]),
        ([*make_c(C), *both[::2], *make_d(low), *both[1::2]], ["match"]),  # nobody recorded the D that has it
        (
            [*make_c(C), *both[::2], *make_d(low), *both[1::2], *make_d(high)],
            ["mismatch", "mismatch"],
        ),  # either should have it
        ([*make_c(C), *both, *make_d(high), *make_d(low)], ["match", "mismatch"]),
    ):
        assert list_verdicts(verify_records(records, **given)) == says


def test_what_other_warps_record_after_the_next_step_is_of_the_last_one() -> None:
    """The first warp may be a step ahead of the others when it records it."""
    first, *others = make_d(HALVES[0])
    begun, *late = make_c(C)
    made = verify_records([*STEPS[:2], first, STEPS[2], *others, STEPS[3], *make_d(HALVES[1])], **GIVEN)
    assert list_verdicts(made) == ["match", "match"]
    made = verify_records([begun, STEPS[0], *late, *STEPS[1:], *make_d(AB + C)], **GIVEN)
    assert list_verdicts(made) == ["match"]
    made = verify_records([begun, STEPS[0], *late, *STEPS[1:], *make_d(AB)], **GIVEN)
    assert list_verdicts(made) == ["mismatch"]


@for_each("rest", [ONLY_B, [*ONLY_B, *STEPS]])
def test_d_of_steps_whose_a_nobody_recorded_is_not_judged(rest: list[Record]) -> None:
    """O = P · V of attention: P is in registers; D of S = Q · K, of the same shape, is judged all the same."""
    made = verify_records([*STEPS, *make_d(AB), *rest, *make_d(C)], **GIVEN)
    assert list_verdicts(made) == ["match", "unknown"] and made.verdict == "match" and "not verified" in made.text
    made = verify_records([*STEPS, *ONLY_B, *make_d(AB), *make_d(C)], **GIVEN)
    assert list_verdicts(made) == ["match", "unknown"]
    made = verify_records([*STEPS, *make_d(C), *rest, *make_d(C)], **GIVEN)
    assert list_verdicts(made) == ["mismatch", "unknown"]


def test_a_c_of_steps_that_are_not_seen_is_not_missed() -> None:
    made = verify_records([*make_c(C), *STEPS, *make_d(AB), *ONLY_B, *make_d(C2)], **GIVEN)
    assert list_verdicts(made) == ["match", "unknown"]


def test_d_after_a_step_that_cannot_be_read_is_not_judged() -> None:
    foreign = replace(STEPS[1], text="wgmma.mma_async.sync.aligned.m64n65k16.f32.bf16.bf16")
    made = verify_records([STEPS[0], foreign, *STEPS[2:], *make_d(AB)], **GIVEN)
    assert made.unread and made.verdict == "unknown" and list_verdicts(made) == ["unknown"]
    made = verify_records([*STEPS, *make_d(C), foreign], **GIVEN)  # which comes after D
    assert list_verdicts(made) == ["mismatch"]
    outside = replace(STEPS[1], window=WINDOW[: 64 << 10])
    assert list_verdicts(verify_records([STEPS[0], outside, *STEPS[2:], *make_d(AB)], **GIVEN)) == ["unknown"]
    other = [replace(foreign, thread=128), *STEPS, *make_d(C)]  # of another warpgroup
    assert list_verdicts(verify_records(other, **GIVEN)) == ["mismatch"]


def test_steps_of_several_types_and_shapes_have_sums_of_their_own() -> None:
    f16 = [replace(one, text=one.text.replace("bf16", "f16"), line=12) for one in STEPS]
    assert verify_records([*STEPS, *make_d(AB), *f16, *make_d(C)], **GIVEN).accumulators[-1].verdict == "unknown"
    wide = np.concatenate([B, A])
    window = build_memory(
        (build_storage((64, 64), BASE_A), encode_values(A, "bf16").astype(np.uint64)),
        (build_storage((128, 64), BASE_B), encode_values(wide, "bf16").astype(np.uint64)),
    )
    mixed = [
        build_record(
            build_word(BASE_A, 16 * s),
            build_word(BASE_B, 16 * s, n),
            window,
            n,
            line=n,
            slice={"m": 0, "n": 0, "k": 16 * s},
        )
        for n in (128, 64)
        for s in range(4)
    ]
    mixed = [
        replace(one, words={**one.words, "b": build_word(BASE_B, 16 * (i % 4), 128).word})
        for i, one in enumerate(mixed)
    ]
    made = verify_records([*mixed, *make_d(AB)], a=A, b=wide, nk=True)
    assert list_verdicts(made) == ["match"] and not made.wrong


def test_d_that_holds_only_what_came_after_d_is_said() -> None:
    """Of steps that never accumulate, D is as that of sums that are promoted; the answer says which sum it is."""
    says = "D at k.cu:30 is the sum of the steps since it was last recorded."
    parts = [A[:, n : n + 16] @ B[:, n : n + 16].T for n in range(0, 64, 16)]
    made = verify_records(
        [one for step, part in zip(STEPS, parts, strict=True) for one in (step, *make_d(part))], **GIVEN
    )
    assert made.verdict == "match" and says in made.text
    running = np.cumsum(parts, axis=0)
    made = verify_records(
        [one for step, part in zip(STEPS, running, strict=True) for one in (step, *make_d(part))], **GIVEN
    )
    assert made.verdict == "match" and says not in made.text
    assert says not in verify_records([*STEPS, *make_d(AB), *STEPS, *make_d(AB)], **GIVEN).text


# registers alone ------------------------------------------------------------------------------------------------------


def pack_registers(codes: np.ndarray, name: str, text: str) -> np.ndarray:
    """[32][count] of one operand: codes as (m, k) of A, (n, k) of B."""
    own = find(text).operand(name)
    held = (codes.T if name == "b" else codes)[own.rows, own.cols].astype(np.uint32)
    per = held.shape[1] // own.registers
    return sum(held[:, n::per] << (32 // per * n) for n in range(per)).astype(np.uint32)


def build_mma_loop(text: str, element: str, shift: int = 0, **fill: Any) -> list[Record]:
    """A loop whose registers alone were recorded; shift: how far B's K is ahead."""
    out, (rows, cols, depth) = [], (find(text).sizes[name] for name in "mnk")
    for k in range(0, 4 * depth, depth):
        held = {}
        for name, count, first in (("a", rows, k), ("b", cols, k + shift)):
            mn, along = np.arange(count)[:, None], first + np.arange(depth)[None, :]
            held[name] = pack_registers(fills.compute_codes(mn, along, element, name, **fill), name, text)
        out.append(
            Record(
                "mma",
                "k.cu",
                20,
                text=text,
                registers=held,
            )
        )
    return out


@for_each("earlier", [False, True])
def test_the_fill_is_known_from_registers_alone(earlier: bool) -> None:
    assert verify_records(build_mma_loop(MMA, "f16", earlier=earlier)).ok
    assert verify_records(build_mma_loop(MMA, "f16", shift=16, earlier=earlier)).verdict == "mismatch"


def test_both_operands_are_of_one_fill() -> None:
    """Memory that holds earlier codes of A and hardly anything of B."""
    old = fills.compute_codes(np.arange(64)[:, None], np.arange(64)[None, :], "bf16", "a", earlier=True)
    old_b = fills.compute_codes(np.arange(64)[:, None], np.arange(64)[None, :], "bf16", "b", earlier=True)
    window = build_memory((build_storage((64, 64), BASE_A), old), (build_storage((64, 64), BASE_B), old_b))
    files = [(build_record(build_word(BASE_A), build_word(BASE_B), window),)]
    from lanescope.capture.operand_sources import identify_operands

    none = np.zeros_like(window)
    none[: BASE_B - 1024] = window[: BASE_B - 1024]
    for held in (window, none):
        made = identify_operands(
            ("bf16", "bf16"), [tuple(replace(one, window=held) for one in files[0])], a=None, b=None, nk=False, notes=[]
        )
        assert made["a"].blocks == made["b"].blocks == 1 and made["a"].code_periods == made["b"].code_periods == (
            240,
            128,
        )


# a pipe ---------------------------------------------------------------------------------------------------------------


@for_each("tail", [b"", bytes(1 << 20)])
def test_a_capture_comes_through_a_pipe(tail: bytes) -> None:
    from lanescope.app.cli import build_cli
    from tests.command import CliRunner

    raw = h200_captures.list_fills("ldmatrix_padded", 0)[0]
    ends = os.pipe()

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(ends[1], "wb", buffering=0) as file:
            file.write(raw + tail)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = CliRunner().invoke(build_cli(), ["capture", "verify", f"/dev/fd/{ends[0]}"])
    finally:
        os.close(ends[0])
        writer.join()
    assert made.exit_code == 0 and made.output.startswith("match")


def test_a_sum_may_be_off_by_its_rounding_and_no_more() -> None:
    """Of f16: 2⁻⁷ of the sum of magnitudes, and a subnormal step, 2⁻²⁴, for each of two products and D; or infinite
    beyond 65,504.
    """
    step = 2.0**-24
    values = np.array([3 * step, 4 * step, 1 + 2.0**-7, 1 + 2.0**-6, np.inf, np.inf])
    expected, size = np.array([0, 0, 1, 1, 6e4, 7e4]), np.array([0, 0, 1, 1, 6e4, 7e4])
    close = _mask_close(values, expected, size, "f16", SLACK["f16"], 2)
    assert close.tolist() == [True, False, True, False, False, True]
