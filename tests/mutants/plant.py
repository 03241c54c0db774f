"""Try faults one at a time, each in a copy of the tree: in a fork of this process, or of one that has all imported."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import pickle
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.chosen import OUTCOMES, PLUGINS, limited, run_tests
from tests.mutants.operators import Mutant
from tests.mutants.warm import Warm

Job = tuple[Mutant, list[str], float]
LIBRARIES = (
    "numpy hypothesis fastapi fastapi.testclient pydantic jinja2 typer.testing plotly.graph_objects orjson brotli"
    " markdown_it prometheus_client uvicorn"
)
SLACK = 30.0  # seconds of processor time a run may take beyond five times what the tests took unharmed
WALL = 8  # a run may wait so many times as long as it may compute: the machine has other work


@dataclass(frozen=True)
class Verdict:
    """killed, timeout, survived or unreached; `by` is the first test that failed."""

    mutant: Mutant
    outcome: str
    by: str
    tests: int
    seconds: float


def copied(root: Path, to: Path) -> Path:
    """A private tree: what git tracks, and what it does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root, capture_output=True, check=True
    ).stdout
    shutil.rmtree(to, ignore_errors=True)
    for name in listed.decode().split("\0"):
        if name and (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    return to


@contextlib.contextmanager
def planted(tree: Path, mutant: Mutant, number: int) -> Iterator[None]:
    """The fault in the tree's file; each with its own time of change, so that no compiled file of another is taken for
    it.
    """
    path = tree / mutant.file
    whole, stat = path.read_bytes(), path.stat()
    try:
        path.write_bytes(mutant.apply(whole))
        os.utime(path, (stat.st_atime, stat.st_mtime + 10 + number))
        yield
    finally:
        path.write_bytes(whole)
        os.utime(path, (stat.st_atime, stat.st_mtime))


def load_libraries() -> None:

    for name in LIBRARIES.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for plugin in importlib.metadata.entry_points(group="pytest11"):
        if plugin.name in PLUGINS:
            plugin.load()


def browses(order: list[str]) -> bool:
    return any("/browser/" in test for test in order)


class Running:
    """A fault that is being tried, in a fork of this process: it imports the project with the fault in it."""

    def __init__(self, job: Job, tree: Path, harm: contextlib.ExitStack, limit: float) -> None:
        self.job, self.tree, self.harm, self.wall = job, tree, harm, limit * WALL
        self.start = time.monotonic()
        self.begin(limit)

    def begin(self, limit: float) -> None:
        self.out = Path(tempfile.mkdtemp()) / "failed"
        self.pid = os.fork()
        if self.pid == 0:
            limited(limit, browses(self.job[1]))
            run_tests(self.tree, self.job[1], self.out)

    def done(self) -> bool:
        ended, self.status = os.waitpid(self.pid, os.WNOHANG)
        self.late = not ended and time.monotonic() - self.start > self.wall
        return bool(ended) or self.late

    def answer(self) -> tuple[str | None, str]:
        """The outcome, and the first test that failed."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # servers and browsers that a test left behind
        if self.late:
            os.waitpid(self.pid, 0)
        outcome = (
            "timeout"
            if self.late or os.WIFSIGNALED(self.status)
            else OUTCOMES.get(os.waitstatus_to_exitcode(self.status))
        )
        if outcome is None:
            raise RuntimeError(f"pytest could not run: {self.out.with_name('log').read_text()}")
        by = self.out.read_text().partition("\n")[0] if self.out.is_file() else ""
        shutil.rmtree(self.out.parent, ignore_errors=True)
        return outcome, by


class RunningWarm(Running):
    """The same in a process that has imported the project: the outcome is None where that could not take the fault."""

    def __init__(self, job: Job, tree: Path, harm: contextlib.ExitStack, limit: float, warm: Warm) -> None:
        self.warm = warm
        super().__init__(job, tree, harm, limit)

    def begin(self, limit: float) -> None:
        mutant, order, _ = self.job
        self.warm.pipe.send((mutant.file, mutant.line, order, limit, self.wall))

    def done(self) -> bool:
        return self.warm.pipe.poll()

    def answer(self) -> tuple[str | None, str]:
        outcome, by = self.warm.pipe.recv()
        return outcome, by


class Nursery:
    """Mutants in parallel, each in the copy of the tree that is free.

    `fits` says which of them a process that has imported the project may take; the others get one of their own.
    """

    def __init__(self, root: Path, trees: Path, jobs: int, files: list[str], fits: Callable[[Mutant], bool]) -> None:
        load_libraries()
        self.free = [copied(root, trees / f"tree-{job}") for job in range(jobs)]
        self.warm = {tree: Warm(tree, files) for tree in self.free} if files else {}
        self.fits, self.cold = fits, set[Mutant]()
        self.number = 0

    def close(self) -> None:
        for one in reversed(self.warm.values()):
            one.close()

    def fail_unharmed(self, tests: list[str]) -> set[str]:
        """Which of the tests fail when nothing is wrong: those that need the rest of their module, for one."""
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "failed"
            pid = os.fork()
            if pid == 0:
                run_tests(self.free[0], tests, out, first=False)
            os.waitpid(pid, 0)
            if not out.is_file():
                raise RuntimeError(f"pytest could not run: {out.with_name('log').read_text()}")
            return set(out.read_text().split("\n")) - {""}

    def run(self, work: Iterable[Job], told: Callable[[Verdict], None]) -> None:
        """Each mutant with its tests and their seconds unharmed; `told` hears of every verdict as it falls."""
        waiting = iter(work)
        running: list[Running] = []
        refused: list[Job] = []
        while True:
            while self.free and (job := refused.pop() if refused else next(waiting, None)) is not None:
                if job[1]:
                    running.append(self.begun(job))
                else:
                    told(Verdict(job[0], "unreached", "", 0, 0.0))
            if not running:
                return
            time.sleep(0.02)
            for one in [one for one in running if one.done()]:
                running.remove(one)
                outcome, by = one.answer()
                one.harm.close()
                self.free.append(one.tree)
                if outcome is None:
                    self.cold.add(one.job[0])
                    refused.append(one.job)
                else:
                    told(Verdict(one.job[0], outcome, by, len(one.job[1]), time.monotonic() - one.start))

    def begun(self, job: Job) -> Running:
        mutant, order, seconds = job
        tree, self.number = self.free.pop(), self.number + 1
        harm = contextlib.ExitStack()
        harm.enter_context(planted(tree, mutant, self.number))
        limit = SLACK + 5 * seconds
        if tree in self.warm and mutant not in self.cold and self.fits(mutant) and not browses(order):
            return RunningWarm(job, tree, harm, limit, self.warm[tree])
        return Running(job, tree, harm, limit)


def saved(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(value))
