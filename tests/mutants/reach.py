"""Which tests run which lines: recorded once by coverage.py under pytest, kept in build/, and carried over edits of the
sources.

The recording process is this file with ROOT OUT NOT TESTFILE…, where the file NOT names tests to leave out; `Reach`
reads what it wrote."""

from __future__ import annotations

import difflib
import hashlib
import math
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.mutants.operators import Mutant

SOURCES = ("layouts", "app")
JOBS = 2
TOGETHER = 12  # test files that one process records: the libraries are loaded once for all
# passed: seconds; touched: templates and scripts; file → line → tests; all that were collected
Recorded = tuple[dict[str, float], dict[str, set[str]], dict[str, dict[int, list[str]]], set[str]]
# Tests that hold whole answers, or look at every value type: what tables say, they read.
WHOLE = re.compile(r"_held\.py::|test_(messages|values)\.py::")


class Recorder:
    """A pytest plugin: one coverage context a test; templates and static files are noted by name.

    Caches are emptied between test files.
    """

    def __init__(self, measure: Any, without: set[str]) -> None:
        self.measure, self.without = measure, without
        self.passed: dict[str, float] = {}
        self.touched: dict[str, set[str]] = {}
        self.file = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.collected = {item.nodeid for item in items}
        items[:] = [item for item in items if item.nodeid not in self.without]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if self.file != (file := item.nodeid.split("::")[0]):
            self.file = file
            forget()
        self.now = self.touched.setdefault(item.nodeid, set())
        self.measure.switch_context(item.nodeid)
        before = computed()
        try:
            return (yield)
        finally:
            if item.nodeid in self.passed:
                self.passed[item.nodeid] = computed() - before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and report.when == "setup":
            self.passed[report.nodeid] = 0.0
        elif not report.passed:
            self.passed.pop(report.nodeid, None)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        given = yield
        if fixturedef.argname == "browser" and given is not None:
            original = given.new_context

            def new_context(*args: Any, **options: Any) -> Any:
                context = original(*args, **options)
                context.on("request", lambda request: self.requested(request.url))
                return context

            given.new_context = new_context
        return given

    def requested(self, url: str) -> None:
        path = url.split("?")[0].split("#")[0]
        if "/static/" in path:
            self.now.add("static/" + path.split("/static/")[1])

    def pytest_configure(self) -> None:
        import jinja2

        load = jinja2.Environment._load_template
        recorder = self

        def noted(self: Any, name: str, given: Any) -> Any:
            if hasattr(recorder, "now"):
                recorder.now.add(f"templates/{name}")
            return load(self, name, given)

        jinja2.Environment._load_template = noted  # type: ignore[method-assign]


def computed() -> float:
    """Seconds of processor of this process and of those it waited for: the machine has other work."""
    return sum(os.times()[:4])


def forget() -> None:
    """Empty every cache of a function, so that the lines behind it are run once in each test file."""
    import functools
    import gc

    gc.unfreeze()  # what the tests' set-up has frozen is not told of
    for found in gc.get_objects():
        if (
            isinstance(found, functools._lru_cache_wrapper)
            and str(getattr(found, "__module__", "")).split(".")[0] in SOURCES
        ):
            found.cache_clear()
    gc.freeze()


def record(root: Path, out: Path, without: set[str], files: list[str]) -> None:
    """Run the test files under coverage and pickle what each test touched: this process's whole work."""
    import coverage

    with tempfile.TemporaryDirectory() as scratch:
        measure = coverage.Coverage(
            data_file=f"{scratch}/data",
            source=[str(root / part) for part in SOURCES if (root / part).is_dir()],
            config_file=False,
        )
        recorder = Recorder(measure, without)
        measure.start()
        pytest.main(
            [
                "-q",
                "-o",
                "addopts=",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:xdist",
                "-m",
                "not bench",
                "--benchmark-disable",
                "--rootdir=.",
                *files,
            ],
            [recorder],
        )
        measure.stop()
        measure.save()
        data = measure.get_data()
        lines = {str(Path(file).relative_to(root)): data.contexts_by_lineno(file) for file in data.measured_files()}
    out.write_bytes(pickle.dumps((recorder.passed, recorder.touched, lines, recorder.collected)))


def text_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass
class Reach:
    """tests[nodeid] = seconds of processor; lines[file][line] = the tests that run it; whole[file] = those that
    ask for a template or a script."""

    root: Path
    tests: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    whole: dict[str, set[str]] = field(default_factory=dict)
    imported: dict[str, set[int]] = field(default_factory=dict)
    edited: dict[str, set[int]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def at(root: Path, cache: Path, browser: bool = True, record: bool = True, slow: float = math.inf) -> Reach:
        """The recording in `cache`, brought up to date: changed test files are run again, save tests of more than
        `slow` seconds; changed sources are matched line by line."""
        held = pickle.loads(cache.read_bytes()) if cache.is_file() else Reach(root)
        held.root = root
        held.follow()
        if not record:
            return held
        files = {
            str(path.relative_to(root)): text_hash(path)
            for path in sorted(root.glob("tests/**/test_*.py"))
            if "bench" not in path.parts
        }
        if not browser:
            files = {file: hash_ for file, hash_ in files.items() if "/browser/" not in file or file in held.hashes}
        for file in [file for file in held.hashes if file not in files]:
            held.drop(file, math.inf)
        changed = [file for file, hash_ in files.items() if held.hashes.get(file) != hash_]
        groups = [changed[i : i + TOGETHER] for i in range(0, len(changed), TOGETHER)]
        kept = [held.keep(some, slow) for some in groups]
        cache.parent.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(JOBS) as pool:
            for some, left, found in zip(groups, kept, pool.map(held.recorded, groups, kept), strict=True):
                held.add(left, found)
                held.hashes |= {file: files[file] for file in some}
                cache.write_bytes(pickle.dumps(held))
        return held

    def drop(self, file: str, below: float) -> None:
        """Forget the file's tests, save those that took longer."""
        gone = {test for test, seconds in self.tests.items() if test.split("::")[0] == file and seconds <= below}
        self.forget(gone)
        self.hashes.pop(file, None)

    def forget(self, gone: set[str]) -> None:
        self.tests = {test: seconds for test, seconds in self.tests.items() if test not in gone}
        for reached in [*self.whole.values(), *(tests for lines in self.lines.values() for tests in lines.values())]:
            reached -= gone

    def keep(self, files: list[str], slow: float) -> set[str]:
        """Forget the files' tests, save those that took longer: they keep their record, and are the answer."""
        for file in files:
            self.drop(file, slow)
        return {test for test in self.tests if test.split("::")[0] in files}

    def recorded(self, files: list[str], kept: set[str]) -> Recorded | None:
        """What some test files touch, told by a process of its own; None where it came to no end."""
        print("recording", *files, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            out, without = Path(scratch) / "reach", Path(scratch) / "without"
            without.write_text("\n".join(sorted(kept)))
            subprocess.run(
                [sys.executable, __file__, str(self.root), str(out), str(without), *files],
                cwd=self.root,
                env=os.environ | {"PYTHONPATH": str(self.root)},
                stdout=subprocess.DEVNULL,
                check=False,
            )
            return pickle.loads(out.read_bytes()) if out.is_file() else None

    def add(self, kept: set[str], found: Recorded | None) -> None:
        if found is None:
            return
        passed, touched, lines, collected = found
        self.forget(kept - collected)
        self.tests |= passed
        for test, names in touched.items():
            for name in names:
                self.whole.setdefault(name, set()).add(test)
        for source, contexts in lines.items():
            for line, tests in contexts.items():
                self.lines.setdefault(source, {}).setdefault(line, set()).update(
                    test for test in tests if test in passed
                )
                if "" in tests:
                    self.imported.setdefault(source, set()).add(line)
        self.follow()

    def follow(self) -> None:
        """Carry the recorded lines over to the sources as they are now."""
        for source in [*self.lines]:
            path = self.root / source
            now = path.read_text().splitlines() if path.is_file() else []
            before = self.texts.get(source)
            if before is not None and before != now:
                moved: dict[int, int] = {}
                for a, b, size in difflib.SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks():
                    moved |= {a + i + 1: b + i + 1 for i in range(size)}
                self.lines[source] = {moved[line]: tests for line, tests in self.lines[source].items() if line in moved}
                self.imported[source] = {moved[line] for line in self.imported.get(source, ()) if line in moved}
                self.edited[source] = set(range(1, len(now) + 1)) - {
                    moved[line] for line in moved if line not in self.edited.get(source, ())
                }
            self.texts[source] = now

    def still(self) -> set[str]:
        """Tests that run no line of the sources in their own process: they look at the modules, or at the files."""
        return self.tests.keys() - {test for lines in self.lines.values() for tests in lines.values() for test in tests}

    def of(self, file: str, lines: Iterable[int], local: bool = True) -> set[str]:
        """The tests that run one of the lines.

        For a line that an import runs, or an edited one: those that run anything of the file, those that run nothing,
        and those that hold whole answers: a module of tables alone runs in no test.
        """
        known = self.lines.get(file, {})
        found = {test for line in lines for test in known.get(line, ())} | self.whole.get(file, set())
        if self.at_import(file, lines, local) or (
            not found and any(line in self.edited.get(file, ()) for line in lines)
        ):
            found |= {test for tests in known.values() for test in tests} | self.still()
            found |= {test for test in self.tests if WHOLE.search(test)}
        return found & self.tests.keys()

    def at_import(self, file: str, lines: Iterable[int], local: bool = True) -> bool:
        """Whether one of the lines runs when its module is imported: in no test of its own."""
        return not local or any(line in self.imported.get(file, ()) for line in lines)

    def runs_in_tests_alone(self, mutant: Mutant) -> bool:
        """Whether no import runs the mutant's line, nor one that this record has not seen."""
        lines = range(mutant.first, mutant.last + 1)
        return (
            mutant.file.endswith(".py")
            and not self.at_import(mutant.file, lines, mutant.local)
            and any(line in self.lines.get(mutant.file, {}) for line in lines)
        )


if __name__ == "__main__":
    record(Path(sys.argv[1]), Path(sys.argv[2]), set(Path(sys.argv[3]).read_text().split("\n")), sys.argv[4:])
