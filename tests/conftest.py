"""Shared set-up: no deadlines, as the machine may be busy: hypothesis has none, a server's requests have a minute; the
same examples in every run.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.sample import THOROUGH, choose_count

if TYPE_CHECKING:
    from tests.client import Client

os.environ.setdefault("LANESCOPE_SECONDS", "60")
# Before NumPy is imported: several workers share the cores, and threads of small products wait for each other at work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

MOST_PROCESSORS = 8  # that the tests use

settings.register_profile("lanescope", deadline=None, max_examples=choose_count(40, 20), derandomize=True)
settings.load_profile("lanescope")
# Hypothesis would also draw constants of our modules, which it parses for that: 3 seconds in each worker, and other
# examples where another test loaded other modules.
providers._get_local_constants = providers.Constants


@pytest.fixture(scope="session")
def app() -> Iterator[Any]:
    """One application for all tests of a worker that change nothing of it: what one asked for is at hand for the
    next.
    """
    from tests.client import share_client

    made: Any = share_client().app
    yield made
    made.state.work.close()
    made.state.hardware.pool.close()


@pytest.fixture(scope="session")
def client(app: Any) -> Iterator[Client]:
    """A client of the application."""
    from tests.client import Client

    with Client(app) as made:
        yield made


@pytest.fixture(scope="session")
def exported_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an exported site, written once a run; nobody changes it."""
    from tests.exported import export_once

    folder = tmp_path_factory.getbasetemp()
    return export_once((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "site")


@pytest.fixture(scope="session")
def opens(client: Client) -> Callable[[str], bool]:
    """Whether the client's server answers a link of a page with 200; each is asked once a worker, as pages have most of
    their links in common.
    """

    @cache
    def answered(link: str) -> bool:
        return bool(client.get(link).status_code == 200)

    return lambda link: answered(unescape(link))


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than processors, as tests of processes and of the browser wait; each takes up to a gigabyte."""
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSORS) + 1


def pytest_collection(session: pytest.Session) -> None:
    """The collector looks through what is loaded again and again, and finds nothing: modules, tests and the catalogue
    stay. It sleeps while tests are collected, never sees what was there by then, and looks through the rest less often
    than Python would. It is a tenth of the processor time of all tests.
    """
    gc.disable()
    if session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        import_share(session.config.rootpath)


def import_share(root: Path) -> None:
    """Import a share of the test files in each worker. Before Python has kept their bytecode, pytest rewrites the
    asserts of all of them, which takes 8 seconds, and otherwise does so in every worker.
    """
    number, count = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    files = [*sorted((root / "tests").glob("test_*.py")), *sorted((root / "tests" / "browser").glob("test_*.py"))]
    for path in files[int(number[2:]) :: int(count)]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # reported when the file is collected
            importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that wait come first: they are one worker's, while the others compute, and what a worker without work takes
    over at the end is short. Those marked thorough are left out where nobody asks for a thorough run.
    """
    if not THOROUGH:
        left = [item for item in items if item.get_closest_marker("thorough")]
        items[:] = [item for item in items if item.get_closest_marker("thorough") is None]
        if left:
            left[0].config.hook.pytest_deselected(items=left)
    items.sort(key=lambda item: item.get_closest_marker("waits") is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 20, 50)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Why a test of tests/browser failed that passed when it was run once more."""
    for report in terminalreporter.stats.get("rerun", ()):
        lines = report.longreprtext.split("\n")
        errors = [line for line in lines if line.startswith("E  ")]
        terminalreporter.line("\n".join([f"RERUN {report.nodeid}", *(errors or lines)[-6:]]))


@pytest.fixture
def dask() -> Iterator[None]:
    """For a test that speaks Dask: it leaves sockets and coroutines of peers that went away to the collector, which
    shall find them now and not in another test.
    """
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
