"""What a fork of a process that has the libraries loaded does: enter a copy of the tree, run the chosen tests, name the
first that fails.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import tomllib
import traceback
from pathlib import Path

import pytest

SETTINGS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
PLUGINS = tuple(name for name in re.findall(r"-p (\w+)", SETTINGS["addopts"]) if name != "xdist")  # one process a fault
OPTIONS = (
    *"-q --tb=no --rootdir=. -o addopts= -p no:cacheprovider --disable-plugin-autoload".split(),
    *(word for plugin in PLUGINS for word in ("-p", plugin)),
    *"--benchmark-disable -m".split(),
    "not bench",
    *"-W ignore::pytest.PytestAssertRewriteWarning".split(),
)
OUTCOMES = {
    0: "survived",
    5: "survived",
    1: "killed",
    2: "killed",
    4: "killed",
}  # pytest: passed; nothing chosen is left; failed; no module or conftest loads


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


def limited(seconds: float, browser: bool) -> None:
    """This process computes no longer, and takes no memory without end: Chromium reserves more than it uses."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    if not browser:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def enter(tree: Path, log: Path) -> None:
    """In a fork: the project is the tree's from now on; what is printed goes to the log."""
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
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def run_tests(tree: Path, order: list[str], out: Path, first: bool = True, chosen: Chosen | None = None) -> None:
    """In a fork: pytest over the chosen tests, until the first that fails or all of them; names go to `out`, and the
    reason where there is one. Never returns.
    """
    status = 70
    try:
        enter(tree, out.with_name("log"))
        chosen = chosen or Chosen(order)
        files = list(dict.fromkeys(test.split("::")[0] for test in order))
        try:
            status = int(pytest.main([*(["-x"] * first), *OPTIONS, *files], [chosen]))
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
