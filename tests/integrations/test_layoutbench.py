"""LayoutBench: the committed questions are the generated ones, their truth bites, and our own tools answer them."""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import pytest

from tests.integrations.mcp_session import open_session
from tests.layoutbench import run, truth
from tests.layoutbench.agent import CALLS, answer_question
from tests.layoutbench.generate import FILE, format_questions, generate_questions, read_questions

QUESTIONS = read_questions()
SAMPLE = QUESTIONS[::6]


def test_the_committed_questions_are_the_generated_ones() -> None:
    assert FILE.read_text() == format_questions(generate_questions())
    assert len(QUESTIONS) == len({one["id"] for one in QUESTIONS}) == 300
    assert FILE.stat().st_size < 200_000


def test_every_kind_has_a_truth_and_a_tool() -> None:
    kinds = {one["asks"]["kind"] for one in QUESTIONS}
    assert kinds == set(CALLS) == set(truth.TRUTHS) | set(truth.JUDGES)


def test_our_tools_answer_a_sample_in_one_session() -> None:
    """Fifty questions of all topics, by the real client and server; the median stays far below 50 ms."""
    seconds = []
    with open_session() as session:
        for question in SAMPLE:
            began = time.perf_counter()
            answer = session.portal.call(answer_question, session.client, question)
            seconds.append(time.perf_counter() - began)
            assert truth.is_right(question, answer), (question["id"], answer)
    print(f"median {1000 * statistics.median(seconds):.1f} ms")


def test_the_truth_of_wgmma_agrees_with_cutlass() -> None:
    """PTX's figure of D, element by element, is CUTLASS's accumulator layout as pycute evaluates it."""
    for n in (8, 96, 256):
        index = truth.find_wgmma_d(n)
        fragment, threads, values = truth.find_fragment(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16", "d")
        for thread in range(0, threads, 7):
            assert [int(at) for at in index[thread]] == [
                row + 64 * col for row, col in (fragment(thread, value) for value in range(values))
            ]


@pytest.mark.parametrize("kind", sorted(truth.TRUTHS | truth.JUDGES))
def test_a_wrong_answer_is_wrong(kind: str) -> None:
    question = next(one for one in QUESTIONS if one["asks"]["kind"] == kind)
    assert not truth.is_right(question, {})
    assert not truth.is_right(question, None)
    if "answer" in question:
        assert truth.is_right(question, question["answer"])
        name, value = next(iter(question["answer"].items()))
        wrong = value + 1 if isinstance(value, int) else "0x0" if isinstance(value, str) else value[1:]
        assert not truth.is_right(question, question["answer"] | {name: wrong})


def test_a_repair_counts_only_if_its_word_reads_the_tile() -> None:
    """A bit of the start, of the strides or of the mode makes a right word wrong, unless this read does not use it."""
    judged = [one for one in QUESTIONS if one["asks"]["kind"] == "repair"]
    matches = [one["asks"] for one in judged if truth.reads_tile(int(one["asks"]["descriptor"], 16), one["asks"])]
    assert len(matches) == 10
    asks: dict[str, Any]
    for asks in matches[:3]:
        word = int(asks["descriptor"], 16)
        right = {"verdict": "match", "descriptor": asks["descriptor"]}
        assert truth.judge_repair(asks, right)
        assert not truth.judge_repair(asks, right | {"verdict": "mismatch"})
        for bit in (0, 62):
            assert not truth.judge_repair(asks, right | {"descriptor": f"0x{word ^ 1 << bit:016x}"})


def test_any_command_can_be_asked() -> None:
    """A command that answers a question a process, one that answers by lines, and one that answers nonsense."""
    question = next(one for one in QUESTIONS if one["asks"]["kind"] == "descriptor")
    answer = json.dumps(json.dumps(question["answer"]))
    say = f"import sys, json; asked = json.loads(sys.stdin.readline()); print({answer})"
    for opened, command, right in (
        (run.run_each, [sys.executable, "-c", say], True),
        (run.open_session, [sys.executable, "-c", say], True),
        (run.run_each, [sys.executable, "-c", "print('I do not know')"], False),
    ):
        with opened(command) as ask:
            (result,) = run.ask_questions(ask, [question])
        assert result.right is right
        assert "1 of   1" in list(run.list_scores([result]))[-1] or not right


def test_no_answer_reaches_the_command() -> None:
    asked: list[str] = []

    def ask(line: str) -> str:
        asked.append(line)
        return "{}"

    list(run.ask_questions(ask, SAMPLE[:5]))
    assert all("answer" not in json.loads(line) for line in asked)
