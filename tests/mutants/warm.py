"""A process that has imported the project and collected its tests; each fault is put into a fork of it.

Only a fault in lines that no import runs may be put there: what was made on import is as it was without the fault.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tests.mutants.chosen import OPTIONS, OUTCOMES, Chosen, enter, limited

Place = tuple[str, str, int]
COLD = 71  # the exit status of a fork that could not take the fault


def nested(code: CodeType) -> list[CodeType]:
    return [const for const in code.co_consts if isinstance(const, CodeType)]


def place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def around(old: CodeType, new: CodeType, line: int) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions around a line, outermost first, as they were and as they are with the fault."""
    for one, other in zip(nested(old), nested(new), strict=False):
        if one.co_name != other.co_name:
            return  # the fault took a function away: what stands around it was told before
        lines = [at for _, _, at in one.co_lines() if at is not None]
        inside = [at for code in nested(one) for _, _, at in code.co_lines() if at is not None]
        if one.co_firstlineno <= line <= max(lines + inside, default=0):
            yield one, other
            yield from around(one, other, line)


class Served(Chosen):
    """A pytest plugin: after collection, answer tasks until the other end of the pipe is closed.

    A task: file and line of a fault that stands in the tree, tests in their order, seconds of processor and of the
    clock. The answer: the outcome, or None where a running process cannot take the fault; the first test that failed.
    """

    def __init__(self, tree: Path, pipe: Connection) -> None:
        super().__init__([])
        self.tree, self.pipe = tree, pipe
        self.functions: dict[Place, list[FunctionType]] = defaultdict(list)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """All are kept: every task chooses its own."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        gc.unfreeze()  # what is frozen is not told of
        for one in gc.get_objects():
            if type(one) is FunctionType and one.__code__.co_filename.startswith(f"{self.tree}/"):
                self.functions[place(one.__code__)].append(one)
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        self.sources = {path: read(path) for path in files if path and path.startswith(f"{self.tree}/")}
        self.failed.clear()
        sys.dont_write_bytecode = True
        gc.freeze()
        self.pipe.send(len(self.items))
        with contextlib.suppress(EOFError):
            while True:
                self.pipe.send(self.answer(*self.pipe.recv()))
        os._exit(0)

    def answer(self, file: str, line: int, order: list[str], limit: float, wall: float) -> tuple[str | None, str]:
        scratch = Path(tempfile.mkdtemp())
        pid = os.fork()
        if pid == 0:
            self.child(file, line, order, limit, scratch)
        end = time.monotonic() + wall
        while not (done := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < end:
            time.sleep(0.01)
        late = not done[0]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # servers that a test left behind
        status = os.waitpid(pid, 0)[1] if late else done[1]
        told = scratch / "failed"
        by = told.read_text() if told.is_file() else ""
        shutil.rmtree(scratch, ignore_errors=True)
        if late or os.WIFSIGNALED(status):
            return "timeout", by
        code = os.waitstatus_to_exitcode(status)
        return (None, "") if code == COLD else (OUTCOMES[code], by)

    def child(self, file: str, line: int, order: list[str], limit: float, scratch: Path) -> None:
        """In a fork: the fault, then the tests until the first that fails. Never returns."""
        status = 1
        try:
            os.setsid()
            limited(limit, browser=False)
            if not self.harmed(file, line):
                os._exit(COLD)
            items = [self.items[test] for test in order if test in self.items]
            for item, after in zip(items, [*items[1:], None], strict=True):
                item.config._tmp_path_factory._basetemp = scratch  # type: ignore[attr-defined]
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if self.failed:
                    (scratch / "failed").write_text(self.failed[0])
                    os._exit(1)
            status = 0
        finally:
            os._exit(status)

    def harmed(self, file: str, line: int) -> bool:
        """Whether the fault is in the functions of this process now: one whose module is not yet imported is."""
        path = str(self.tree / file)
        if path not in self.sources:
            return True
        old, new = (compile(text, path, "exec", dont_inherit=True) for text in (self.sources[path], read(path)))
        changed = False
        for one, other in around(old, new, line):
            for function in self.functions.get(place(one), ()):
                try:
                    function.__code__ = other
                except ValueError:  # it closes over other names
                    return False
                changed = True
        return changed


def read(path: str) -> str:
    return Path(path).read_text()


class Warm:
    """The process, as seen from outside: one task at a time."""

    def __init__(self, tree: Path, files: list[str]) -> None:
        self.pipe, theirs = Pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self.pipe.close()
            try:
                enter(tree, tree.with_suffix(".log"))
                sys.dont_write_bytecode = False  # no fault is planted yet: every later process starts from these files
                pytest.main([*OPTIONS, *files], [Served(tree, theirs)])
            finally:
                os._exit(70)
        theirs.close()
        self.pipe.recv()

    def close(self) -> None:
        self.pipe.close()
        os.waitpid(self.pid, 0)
