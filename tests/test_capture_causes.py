"""A capture's causes: one a mistake, and the steps that follow from it under it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lanescope import capture
from lanescope.app.capture.forms import build_answer
from lanescope.app.hardware.capture_examples import EXAMPLES, MISTAKES
from lanescope.capture.causes import find_causes
from lanescope.capture.file_format import Capture
from lanescope.capture.report import Verified, render_report
from lanescope.descriptor.matrix import Descriptor
from tests.cases import for_each
from tests.h200_captures import verify_capture
from tests.made_captures import (
    BASE_A,
    BASE_B,
    build_loop,
    build_memory,
    build_record,
    build_storage,
    build_tile,
    build_word,
)
from tests.sample import take_sample

STEPS: dict[str, Callable[[int], int]] = {  # the K whose word a step is given, of a tile of 128
    "counted in elements": lambda s: 8 * s,
    "twice as far": lambda s: 32 * s,
    "not moved": lambda s: 0,
    "one behind": lambda s: max(16 * (s - 1), 0),
}


@for_each("name", STEPS)
@for_each("operand", ["a", "b"])
def test_one_wrong_step_along_k_is_one_cause(name: str, operand: str) -> None:
    """Each later step has a name of its own when it is looked at alone: it follows from the first."""
    made = build_loop(4, k=128, **{operand: STEPS[name]})
    (cause,) = find_causes(made.steps)
    wrong = [step for step in made.steps for one in step.operands if one.name == operand and not one.ok]
    assert cause.operands == (operand,) and (cause.count, cause.total) == (len(wrong), 4)
    assert cause.first is wrong[0] and cause.code == next(o for o in wrong[0].operands if not o.ok).diagnoses[0].code
    assert set(cause.folded) == {o.diagnoses[0].code for s in wrong for o in s.operands if not o.ok} - {cause.code}
    given, right = cause.repairs[operand]
    base = BASE_A if operand == "a" else BASE_B
    assert (
        given == build_word(base, STEPS[name](wrong[0].index)).word
        and right == build_word(base, 16 * wrong[0].index).word
    )


def test_a_mistake_of_both_operands_is_one_line() -> None:
    made = build_loop(4, a=lambda s: 0, b=lambda s: 0)
    (cause,) = find_causes(made.steps)
    assert cause.operands == ("a", "b") and set(cause.repairs) == {"a", "b"}
    lines = render_report(made, every=False).splitlines()
    assert lines[1].startswith("  A and B: 3 of 4 steps, first step 1 at k.cu:10. The K step is missing")
    assert "Repair: desc_a" in lines[1] and len(lines) == 2


def test_two_mistakes_are_two_causes() -> None:
    """A keeps its start, B has the tensor map's code of its swizzle."""
    window = build_memory(
        (build_storage((64, 64), BASE_A), build_tile("bf16", "a", (0, 0), (64, 64))),
        (build_storage((64, 64), BASE_B), build_tile("bf16", "b", (0, 0), (64, 64))),
    )

    def swizzled(one: Descriptor) -> Descriptor:
        return one.replace(swizzle=3)

    records = [
        build_record(
            build_word(BASE_A, 0), swizzled(build_word(BASE_B, 16 * s)), window, slice={"m": 0, "n": 0, "k": 16 * s}
        )
        for s in range(4)
    ]
    made: Verified = capture.verify(capture.write(Capture(tuple(records))))
    assert {(one.operands, one.code, one.count) for one in find_causes(made.steps)} == {
        (("a",), "k_step_missing", 3),
        (("b",), "tma_swizzle_enum", 4),
    }


def test_a_second_mistake_of_one_operand_is_not_folded() -> None:
    """The stride is wrong from the first step on; from the second on the start does not move, too."""
    window = build_memory(
        (build_storage((64, 64), BASE_A), build_tile("bf16", "a", (0, 0), (64, 64))),
        (build_storage((64, 64), BASE_B), build_tile("bf16", "b", (0, 0), (64, 64))),
    )
    wrong = build_word(BASE_A).replace(sbo_encoded=8)
    records = [build_record(wrong, build_word(BASE_B, 16 * s), window) for s in range(4)]
    made = capture.verify(capture.write(Capture(tuple(records))))
    assert len(find_causes(made.steps)) == 2 and [one.count for one in find_causes(made.steps)] == [4, 3]
    assert find_causes(made.steps)[1].code == "k_step_missing"


def test_lines_of_their_own_are_causes_of_their_own() -> None:
    """Four calls: the second repeats the first word, the fourth reads past the tile; each is wrong in its own way."""
    made = build_loop(4, k=128, b=lambda s: (0, 0, 32, 96)[s])
    records = [replace(step.record, line=20 + n) for n, step in enumerate(made.steps)]
    apart = capture.verify(capture.write(Capture(tuple(records))))
    assert [(one.first.record.line, one.count) for one in find_causes(apart.steps)] == [(21, 1), (23, 1)]


@for_each("step", [8, 32, 48])
def test_one_increment_that_is_wrong_in_every_call_is_one_cause(step: int) -> None:
    """desc += the wrong amount, written out: every call has a line of its own."""
    made = build_loop(3, k=128, a=lambda s: step * s)
    records = [replace(one.record, line=20 + n) for n, one in enumerate(made.steps)]
    apart = capture.verify(capture.write(Capture(tuple(records))))
    assert [(one.first.record.line, one.count, one.operands) for one in find_causes(apart.steps)] == [(21, 2, ("a",))]


@for_each(
    ("example", "mistake"),
    take_sample([(example, mistake) for example in EXAMPLES for mistake in range(1, MISTAKES + 1)], 5),
)
def test_a_planted_mistake_leads_with_its_cause(example: object, mistake: int) -> None:
    """What an H200 recorded with one planted mistake: a line a cause, then D."""
    made = verify_capture(example.name, mistake)  # type: ignore[attr-defined]
    named = example.mistakes[mistake - 1][1]  # type: ignore[attr-defined]
    assert {one.code for one in find_causes(made.steps)} == {named}
    lines = render_report(made, every=False).splitlines()
    assert len(lines) <= 4 and named in lines[1] and find_causes(made.steps)[0].first.record.where in lines[1]
    assert made.text.splitlines()[: 1 + len(find_causes(made.steps))] == lines[: 1 + len(find_causes(made.steps))]
    told = build_answer(made)
    assert [(one.code, one.steps, one.operands) for one in told.causes] == [
        (one.code, one.count, list(one.operands)) for one in find_causes(made.steps)
    ]
    assert sum(len(one.repairs) for one in told.causes) == sum(len(one.repairs) for one in find_causes(made.steps))


def test_a_right_capture_has_no_causes() -> None:
    made = build_loop(4)
    assert (
        find_causes(made.steps) == ()
        and render_report(made, every=False) == made.text
        and "✓ step" in render_report(made, every=False)
    )
