"""Ask any command LayoutBench's questions, and print its score and its median time.

    python -m tests.layoutbench.run COMMAND …             a process for each question
    python -m tests.layoutbench.run --session COMMAND …   one process, a question and an answer a line

A question is a JSON object on standard input: id, topic, question (in words, with the form of the answer) and asks (the
same as data). The answer is a JSON object on standard output.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.layoutbench import truth
from tests.layoutbench.generate import read_questions

Json = dict[str, Any]
OURS = [sys.executable, "-m", "tests.layoutbench.agent"]
SECONDS = 600  # for one question


class Result(NamedTuple):
    """What came of one question."""

    question: Json
    answer: Any
    right: bool
    seconds: float


@contextmanager
def open_session(command: list[str]) -> Iterator[Callable[[str], str]]:
    """Start a command that answers line by line."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        sent, received = process.stdin, process.stdout

        def ask(line: str) -> str:
            sent.write(line + "\n")
            sent.flush()
            return received.readline()

        yield ask
        sent.close()


@contextmanager
def run_each(command: list[str]) -> Iterator[Callable[[str], str]]:
    """Run a command for each question."""

    def ask(line: str) -> str:
        done = subprocess.run(command, input=line, stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
        return done.stdout

    yield ask


def ask_questions(ask: Callable[[str], str], questions: list[Json]) -> Iterator[Result]:
    """Ask questions one after the other, without their answers."""
    for question in questions:
        line = json.dumps({name: question[name] for name in ("id", "topic", "question", "asks")})
        began = time.perf_counter()
        said = ask(line)
        seconds = time.perf_counter() - began
        try:
            answer = json.loads(said)
        except json.JSONDecodeError:
            answer = said[:200]
        yield Result(question, answer, truth.is_right(question, answer), seconds)


def list_scores(results: list[Result]) -> Iterator[str]:
    """Yield the score of each topic, then of all, and the median time."""
    topics = dict.fromkeys(one.question["topic"] for one in results)
    for topic in (*topics, ""):
        asked = [one for one in results if topic in ("", one.question["topic"])]
        right = sum(one.right for one in asked)
        median = statistics.median(one.seconds for one in asked)
        share = f"{right:3} of {len(asked):3}, {100 * right / len(asked):5.1f} %"
        yield f"{topic or 'all':14} {share}, median {1000 * median:.1f} ms"


def main() -> int:
    """Print the score; exit status 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(description="Ask a command LayoutBench's questions.")
    parser.add_argument("--session", action="store_true", help="one process, a question and an answer a line")
    parser.add_argument("--topic", default="", help="only the questions of a topic")
    parser.add_argument("--every", type=int, default=1, help="only every n-th question")
    parser.add_argument("--wrong", action="store_true", help="print the wrong answers")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="our own tools if left out")
    given = parser.parse_args()
    questions = [one for one in read_questions() if given.topic in ("", one["topic"])][:: given.every]
    session = open_session if given.session or not given.command else run_each
    with session(given.command or OURS) as ask:
        results = list(ask_questions(ask, questions))
    for one in results if given.wrong else ():
        if not one.right:
            print(f"{one.question['id']}: {one.question['question']}\n  answered {json.dumps(one.answer)[:400]}")
    print("\n".join(list_scores(results)))
    return int(not all(one.right for one in results))


if __name__ == "__main__":
    sys.exit(main())
