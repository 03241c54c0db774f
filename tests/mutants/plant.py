"""Run the tests that can notice one fault: a fork of a process that has the libraries loaded, in a copy of the tree."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.operators import Mutant

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


class Chosen:
    """A pytest plugin: keep the chosen tests, in their order, and remember the first that fails."""

    reason = ""

    def __init__(self, order: list[str]) -> None:
        self.order = {test: place for place, test in enumerate(order)}
        self.failed: list[str] = []

    def pytest_sessionstart(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile(
            "mutants", settings(), phases=[Phase.explicit, Phase.generate]
        )  # no search for the smallest example
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid} (collection)")


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
    import importlib.metadata

    for name in LIBRARIES.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for plugin in importlib.metadata.entry_points(group="pytest11"):
        plugin.load()


def run_tests(tree: Path, order: list[str], out: Path, first: bool = True, chosen: Chosen | None = None) -> None:
    """In a fork: pytest over the chosen tests, until the first that fails or all of them; names go to `out`, and the
    reason where there is one. Never returns.
    """
    status = 70
    try:
        os.setsid()
        os.chdir(tree)
        os.environ["PYTHONPATH"] = str(tree)
        sys.dont_write_bytecode = True  # a fault of the same length, planted in the same second, would not be compiled
        sys.path[:] = [
            str(tree),
            *(p for p in sys.path if p not in ("", str(tree)) and not (Path(p or ".") / "layouts").is_dir()),
        ]
        for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "layouts", "app")]:
            del sys.modules[name]
        with out.with_name("log").open("w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        chosen = chosen or Chosen(order)
        files = list(dict.fromkeys(test.split("::")[0] for test in order))
        options = (
            "-x " * first + "-q --tb=no --rootdir=. -o addopts= -p no:cacheprovider -p no:xdist --benchmark-disable"
        ).split()
        options += ["-m", "not bench", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        try:
            status = int(pytest.main([*options, *files], [chosen]))
        except BaseException:  # what a stopped run leaves behind may fail when it is collected; its test has failed
            if not chosen.failed:
                raise
            status = 1
        out.write_text("\n".join([*chosen.failed, *([chosen.reason] if chosen.reason else [])]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


class Nursery:
    """Mutants in parallel, each in the copy of the tree that is free."""

    def __init__(self, root: Path, trees: Path, jobs: int) -> None:
        load_libraries()
        self.free = [copied(root, trees / f"tree-{job}") for job in range(jobs)]
        self.number = 0

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

    def run(self, work: Iterable[tuple[Mutant, list[str], float]], told: Callable[[Verdict], None]) -> None:
        """Each mutant with its tests and their seconds unharmed; `told` hears of every verdict as it falls."""
        waiting = iter(work)
        running: dict[int, tuple[Any, ...]] = {}
        while True:
            while self.free and (job := next(waiting, None)) is not None:
                mutant, order, seconds = job
                if not order:
                    told(Verdict(mutant, "unreached", "", 0, 0.0))
                    continue
                tree, self.number = self.free.pop(), self.number + 1
                harm = contextlib.ExitStack()
                harm.enter_context(planted(tree, mutant, self.number))
                out = Path(tempfile.mkdtemp()) / "failed"
                limit = SLACK + 5 * seconds
                pid = os.fork()
                if pid == 0:
                    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
                    if not any("/browser/" in test for test in order):  # Chromium reserves more than it uses
                        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
                    run_tests(tree, order, out)
                running[pid] = (mutant, tree, harm, out, len(order), time.monotonic(), limit * WALL)
            if not running:
                return
            time.sleep(0.02)
            for pid, (mutant, tree, harm, out, count, start, wall) in list(running.items()):
                done, status = os.waitpid(pid, os.WNOHANG)
                late = not done and time.monotonic() - start > wall
                if late:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                if not done and not late:
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)  # servers and browsers that a test left behind
                harm.close()
                outcome = (
                    "timeout" if late or os.WIFSIGNALED(status) else OUTCOMES.get(os.waitstatus_to_exitcode(status))
                )
                if outcome is None:
                    raise RuntimeError(f"pytest could not run: {out.with_name('log').read_text()}")
                by = out.read_text().partition("\n")[0] if out.is_file() else ""
                shutil.rmtree(out.parent, ignore_errors=True)
                del running[pid]
                self.free.append(tree)
                told(Verdict(mutant, outcome, by, count, time.monotonic() - start))


OUTCOMES = {
    0: "survived",
    5: "survived",
    1: "killed",
    2: "killed",
    4: "killed",
}  # pytest: passed; nothing chosen is left; failed; no module or conftest loads


def saved(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(value))
