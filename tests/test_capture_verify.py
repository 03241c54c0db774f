"""Captures verified: those of an H200, right and with planted mistakes, and made ones for what kernels do otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lanescope import capture, find
from lanescope.app.hardware import capture_examples, capture_verdicts
from lanescope.app.hardware.capture_examples import BY_NAME, EXAMPLES, MISTAKES
from lanescope.capture import fills
from lanescope.capture.file_format import Record
from lanescope.capture.report import Verified
from lanescope.capture.verify import NO_FILL
from lanescope.descriptor.matrix import encode_wgmma as word
from lanescope.errors import LayoutError
from lanescope.ptx.codec import decode_bits, encode_values
from lanescope.ptx.dtypes import get_dtype
from tests import h200_captures
from tests.cases import for_each
from tests.made_captures import (
    BASE_A,
    BASE_B,
    build_loop,
    build_matrices,
    build_memory,
    build_record,
    build_steps,
    build_storage,
    build_tile,
    build_word,
    verify_records,
)
from tests.sample import take_sample

RUNS = [(one.name, mistake) for one in EXAMPLES for mistake in range(MISTAKES + 1)]


@pytest.mark.thorough
def test_what_was_planted_is_what_is_named_and_what_the_table_of_the_docs_says() -> None:
    """All in one test, as each capture is verified once."""
    for example, mistake in RUNS:
        assert_planted_is_named(h200_captures.verify_capture(example, mistake), example, mistake)
    for example, mistake in take_sample(RUNS, 4):
        assert_planted_is_named(h200_captures.verify_capture(example, mistake, real=True), example, mistake)
    text = h200_captures.DOCS.read_text()
    assert h200_captures.fill_page(text) == text, "python -m tests.h200_captures"
    assert "\n30 of 30 are named" in text


def assert_planted_is_named(told: Verified, example: str, mistake: int) -> None:
    code = BY_NAME[example].mistakes[mistake - 1][1] if mistake else ""
    assert capture_verdicts.list_causes(told) == ([code] if mistake else [])
    assert told.ok == (mistake == 0) and told.verdict == ("mismatch" if mistake else "match") and not told.unread
    assert {one.verdict for one in told.accumulators} == {told.verdict}
    assert all(one.as_read for one in told.accumulators)  # D on the device is the product of what is said to be read
    assert told.text.startswith(told.verdict) and (code in told.text)


@for_each(("example", "mistake"), take_sample([run for run in RUNS if run[1] and "ldm" not in run[0]], 10))
def test_a_repair_reads_the_slice_where_it_lies(example: str, mistake: int) -> None:
    told = h200_captures.verify_capture(example, mistake)
    assert told.picture is not None
    side, first = told.picture.side, told.first_wrong
    assert first is not None and not told.picture.right.all()
    wrong = next(one for one in first.operands if not one.ok)
    assert wrong.first is not None and side.operand == wrong.name
    if side.memory is None:
        return
    assert told.picture.places is not None and side.seen is not None
    assert wrong.first.stored_at == told.picture.places[wrong.first.row, wrong.first.k]
    fix = wrong.diagnoses[0].fix
    if wrong.diagnoses[0].code != "wrong_transpose":
        from lanescope.descriptor.matrix import reads

        assert fix is not None and np.array_equal(reads(fix, side.seen), told.picture.places)


def test_a_right_loop_is_right() -> None:
    made = build_loop(4)
    assert made.ok and [one.part.k for step in made.steps for one in step.operands] == [0, 0, 16, 16, 32, 32, 48, 48]
    assert all(one.part.by == "inferred" for step in made.steps for one in step.operands)
    assert [one.stored["swizzle"] for one in made.steps[0].operands] == ["128B", "128B"]


@for_each("which", ["a", "b", "ab"])
def test_a_k_step_that_is_missing_is_found_without_being_stated(which: str) -> None:
    made = build_loop(4, **{name: lambda step: 0 for name in which})
    assert not made.ok and capture_verdicts.list_causes(made) == ["k_step_missing"]
    assert [step.index for step in made.wrong] == [1, 2, 3]
    assert all(one.name in which for step in made.wrong for one in step.operands if not one.ok)


def test_more_rows_than_the_fill_has_codes() -> None:
    assert build_loop(4, n=256).ok and build_loop(8, n=256, k=128).ok
    made = build_loop(4, n=256, b=lambda step: 0)
    assert capture_verdicts.list_causes(made) == ["k_step_missing"]


@pytest.mark.thorough
def test_a_pipeline_of_stages_that_wrap_past_the_fill() -> None:
    """Two stages of 64 of K; the third tile is in the first stage again."""
    records = []
    for turn in range(5):
        held = [turn - 1 + (turn - 1) % 2 * 0, turn] if turn else [0]
        parts = []
        for k in held:
            stage = k % 2
            parts.append(
                (build_storage((64, 64), BASE_A + 8192 * stage), build_tile("bf16", "a", (64, 64 * k), (64, 64)))
            )
            parts.append(
                (build_storage((64, 64), BASE_B + 8192 * stage), build_tile("bf16", "b", (128, 64 * k), (64, 64)))
            )
        window = build_memory(*parts)
        for step in range(4):
            start = 8192 * (turn % 2) + 32 * step
            records.append(
                build_record(
                    word(BASE_A + start, 16, 1024, 0, "128B"), word(BASE_B + start, 16, 1024, 0, "128B"), window
                )
            )
    made = verify_records(records)
    assert made.ok and {one.part.mn for step in made.steps for one in step.operands} == {64, 128}
    stale = list(records)
    stale[9] = replace(records[9], words={**records[9].words, "b": records[9].words["b"] + (8192 >> 4)})
    made = verify_records(stale)
    assert [step.index for step in made.wrong] == [9] and [one.ok for one in made.wrong[0].operands] == [True, False]


def build_ring(stages: int, turns: int) -> list[Record]:
    """A pipeline: tile t of K lies in stage t % stages; the fill's codes repeat after two tiles."""
    records = []
    for turn in range(turns):
        parts = []
        for stage in range(min(stages, turn + 1)):
            k = 64 * (turn - (turn - stage) % stages)
            parts.append((build_storage((64, 64), BASE_A + 8192 * stage), build_tile("bf16", "a", (64, k), (64, 64))))
            parts.append((build_storage((64, 64), BASE_B + 8192 * stage), build_tile("bf16", "b", (128, k), (64, 64))))
        window = build_memory(*parts)
        for step in range(4):
            at_a, at_b = (base + 8192 * (turn % stages) + 32 * step for base in (BASE_A, BASE_B))
            words = [word(start, 16, 1024, 0, "128B") for start in (at_a, at_b)]
            records.append(build_record(words[0], words[1], window))
    return records


@pytest.mark.thorough
@for_each(("stages", "turns"), [(1, 5), (5, 6)], sample=1)
def test_stages_of_a_ring_hold_codes_twice(stages: int, turns: int) -> None:
    records = build_ring(stages, turns)
    assert verify_records(records).ok
    wrong = records[17]
    records[17] = replace(wrong, words={**wrong.words, "b": wrong.words["b"] & ~(3 << 62) | 2 << 62})
    made = verify_records(records)
    assert [step.index for step in made.wrong] == [17] and capture_verdicts.list_causes(made) == ["swizzle_mode"]


class FakeArray:
    """An array as CuPy has it, and as PyTorch does."""

    __cuda_array_interface__: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, held: np.ndarray) -> None:
        self.held = held

    def get(self) -> np.ndarray:
        return self.held


class FakeTensor:
    def __init__(self, held: np.ndarray, dtype: str = "torch.uint8") -> None:
        self.held, self.dtype = held, dtype

    def float(self) -> FakeTensor:
        return FakeTensor(decode_bits(self.held.astype(np.uint64), "bf16").astype(np.float32), "torch.float32")

    def cpu(self) -> FakeTensor:
        return self

    def numpy(self) -> np.ndarray:
        if "bfloat16" in self.dtype:
            raise TypeError("Got unsupported ScalarType BFloat16")  # as PyTorch says it
        return self.held


@for_each("kind", [FakeArray, FakeTensor, lambda held: held])
def test_a_test_asks_once(kind: Any) -> None:
    right, wrong = (
        np.frombuffer(h200_captures.list_fills("ldmatrix_padded", mistake)[0], np.uint8) for mistake in (0, 1)
    )
    assert str(capture.check(kind(right))).startswith("match: ")
    with pytest.raises(AssertionError, match="matrices_exchanged"):
        capture.check(kind(wrong))
    held = {name: kind(h200_captures.read_matrix("ldmatrix_padded", name)) for name in "ab"}
    raw = np.frombuffer(h200_captures.read_files()["ldmatrix_padded-0-real.lscap"], np.uint8)
    assert capture.check(kind(raw), **held, nk=True).source == "matrices"


def test_tensors_of_types_that_numpy_has_not() -> None:
    """PyTorch's bfloat16 has no NumPy array: its numbers are taken."""
    held = [np.random.default_rng(4).integers(0x3F00, 0x4000, (64, 64)).astype(np.uint16) for _ in "ab"]
    records = build_steps(build_matrices(held))
    a, b = (FakeTensor(one, "torch.bfloat16") for one in held)
    assert verify_records(records, a=a, b=b, nk=True).ok


def test_a_slice_that_is_not_there_is_said() -> None:
    window = build_memory((build_storage((64, 64), BASE_A), build_tile("bf16", "a", (0, 0), (64, 64))))
    made = verify_records(
        [build_record(build_word(BASE_A), build_word(BASE_B), window, slice={"m": 0, "n": 0, "k": 0})]
    )
    assert capture_verdicts.list_causes(made) == ["slice_not_in_memory"] and not made.ok
    made = verify_records(
        [build_record(build_word(BASE_A), build_word(BASE_B), window)]
    )  # nothing says which slice of B it should be
    assert made.verdict == "unknown" or capture_verdicts.list_causes(made) == ["slice_not_in_memory"]


def test_a_slice_with_shuffled_rows_is_in_no_known_layout() -> None:
    rows = np.random.default_rng(5).permutation(64)
    window = build_memory(
        (build_storage((64, 64), BASE_A), build_tile("bf16", "a", (0, 0), (64, 64))),
        (build_storage((64, 64), BASE_B), build_tile("bf16", "b", (0, 0), (64, 64))[rows]),
    )
    made = verify_records(
        [build_record(build_word(BASE_A), build_word(BASE_B), window, slice={"m": 0, "n": 0, "k": 0})]
    )
    assert capture_verdicts.list_causes(made) == ["layout_not_found"] and not made.ok


def test_what_is_stated_goes_before_what_is_inferred() -> None:
    window = build_memory(
        (build_storage((128, 64), BASE_A), build_tile("bf16", "a", (0, 0), (128, 64))),
        (build_storage((64, 64), BASE_B), build_tile("bf16", "b", (0, 0), (64, 64))),
    )
    right = build_record(build_word(BASE_A + 8192), build_word(BASE_B), window, slice={"m": 64, "n": 0, "k": 0})
    assert verify_records([right]).ok
    wrong = verify_records([replace(right, words={**right.words, "a": build_word(BASE_A).word})])
    assert capture_verdicts.list_causes(wrong) == ["other_slice"] and wrong.first_wrong.operands[0].part.by == "stated"


def test_tf32_ignores_what_the_instruction_ignores() -> None:
    text = "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32"
    parts = [
        (build_storage((64, 32), base), build_tile("tf32", name, (0, 0), (64, 32)) | 0x155)
        for base, name in ((BASE_A, "a"), (BASE_B, "b"))
    ]
    window = build_memory(*parts, bits=32)
    records = build_steps(window, text=text, immediates={})
    made = verify_records(records)
    assert made.ok and [step.k for step in made.steps] == [0, 8, 16, 24]


def test_real_data_that_repeats_is_counted_and_never_guessed() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(-2, 3, (64, 64)).astype(float), rng.integers(-2, 3, (64, 64)).astype(float)
    held = [encode_values(a, "bf16").astype(np.uint64), encode_values(b.T, "bf16").astype(np.uint64)]
    records = build_steps(build_matrices(held))
    assert verify_records(records, a=a, b=b).ok
    assert verify_records(records, a=a, b=b.T.copy(), nk=True).ok
    flat = verify_records(records, a=np.ones((64, 64)), b=b)
    assert not flat.ok
    same = build_memory(
        (build_storage((64, 64), BASE_A), encode_values(np.ones((64, 64)), "bf16").astype(np.uint64)),
        (build_storage((64, 64), BASE_B), held[1]),
    )
    made = verify_records([replace(one, window=same) for one in records], a=np.ones((64, 64)), b=b)
    assert made.verdict in ("match", "unknown")
    counted = [one.several for step in made.steps for one in step.operands if one.name == "a"]
    assert all(count == 1024 for count in counted)


def test_what_cannot_be_judged_is_said() -> None:
    window = np.zeros(64, np.uint8)
    blank = build_record(build_word(BASE_A), build_word(BASE_B), window, text="wgmma.nonsense")
    made = verify_records([blank])
    assert made.verdict == "unknown" and made.unread and not made.steps and "!" in made.text
    assert verify_records([]).verdict == "unknown"
    bits = build_record(
        build_word(BASE_A),
        build_word(BASE_B),
        window,
        text="wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1.and.popc",
    )
    assert verify_records([bits]).unread


@for_each(
    ("more", "code", "field"),
    [
        ({"a": np.ones(3)}, "bad_matrix", "a"),
        ({"b": np.array([["x"]])}, "bad_matrix", "b"),
        ({"a": np.ones((64, 64)), "b": np.ones((32, 48))}, "bad_matrix", "b"),
        ({"a": np.full((64, 64), 1j)}, "bad_matrix", "a"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(more: dict[str, Any], code: str, field: str) -> None:
    window = build_memory((build_storage((64, 64), BASE_A), build_tile("bf16", "a", (0, 0), (64, 64))))
    with pytest.raises(LayoutError) as error:
        verify_records([build_record(build_word(BASE_A), build_word(BASE_B), window)], **more)
    assert (error.value.code, error.value.field) == (code, field) and error.value.hint


def test_two_passes_must_be_of_one_kernel() -> None:
    one, other = h200_captures.list_fills("wgmma_fp8_a_registers", 0)
    for given, says in (
        ([one, one], "pass 1"),
        ([one, h200_captures.list_fills("ldmatrix_padded", 0)[0]], "no record"),
        ([one, other, one], "3 captures"),
    ):
        with pytest.raises(LayoutError) as error:
            capture.verify(given)
        assert error.value.code == "bad_capture" and says in error.value.message
    assert capture.verify(other, second=one).ok  # in either order
    single = capture.verify(one)
    assert single.ok and any("second capture" in note for note in single.notes)
    assert find("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3").types["a"] == get_dtype("e4m3").name


@for_each("example", EXAMPLES, ids=lambda one: one.name)
def test_matrices_that_are_no_fills_are_not_judged_as_fills(example: capture_examples.ExampleProgram) -> None:
    """A kernel that is right, on random numbers that nobody gave: no verdict, and what to give."""
    raw = h200_captures.read_files()[f"{example.name}-0-real.lscap"]
    made = capture.verify([raw] * fills.count_passes(example.element))
    assert made.verdict == "unknown" and not made.steps and made.unread
    assert {one.reason for one in made.unread} == {NO_FILL} and "Pass A and B as matrices" in made.text
