"""What several files of tests use: the files of a release and an environment that has only its wheel, made once for all
workers; and this tree's command on the path.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bare_install import install_wheel
from tests.build_release import build_release
from tests.release import ROOT


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all workers."""
    of_worker = tmp_path_factory.getbasetemp()
    return of_worker.parent if "PYTEST_XDIST_WORKER" in os.environ else of_worker


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Let one worker at a time make what is in a folder."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def release(shared: Path) -> dict[str, Path]:
    """The files of a release, by their endings."""
    folder = shared / "release"
    with lock_folder(folder):
        if not (folder / "sbom.json").exists():
            build_release(folder)
    return {kind: next(folder.glob(f"*{kind}")) for kind in (".whl", ".tar.gz", ".json")}


@pytest.fixture(scope="session")
def bare(shared: Path, release: dict[str, Path]) -> Path:
    """The folder of a BareEnvironment into which the wheel was installed as a user does, and of the report of it."""
    folder = shared / "bare"
    with lock_folder(folder):
        if not (folder / "report.json").exists():
            folder.mkdir(exist_ok=True)
            report = install_wheel(release[".whl"], folder, "-c", str(ROOT / "constraints.txt"))
            (folder / "report.json").write_text(json.dumps(report))
    return folder


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a shell whose path has this tree's command, and the tools that this Python has."""
    command = tmp_path_factory.mktemp("bin") / "lanescope"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lanescope.app.cli "$@"\n')
    command.chmod(0o755)
    tools = Path(sys.executable).parent
    path = os.pathsep.join((str(command.parent), str(tools), os.environ["PATH"]))
    return os.environ | {"PATH": path, "LANESCOPE_CACHE": str(command.parent / "cache"), "OPENBLAS_NUM_THREADS": "1"}
