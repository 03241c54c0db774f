"""The wheel: one package, which works in any folder, with or without the server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.metadata import PathDistribution, distribution
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import release
from tests.release import ROOT
from tests.served import run_server, send_request

MMA = "mma.m16n8k16.row.col.f32.f16.f16.f32"
PATHS = ("/readyz", "/", f"/i/{MMA}", "/static/instruction/page.js", "/palette.css", "/guide/ldmatrix", "/gallery")

pytestmark = pytest.mark.waits


def run_in_folder(command: list[str], path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder with another on Python's path."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def block_imports(*modules: str) -> str:
    """Lines of Python after which these modules cannot be imported."""
    return f"import sys; sys.modules |= dict.fromkeys({modules!r})\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release.build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel unpacked, and what Python compiled of the same files here: to compile them takes longer
    than all that these tests run.
    """
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder)
    for path in (folder / "lanescope").rglob("*.py"):
        name = path.relative_to(folder / "lanescope")
        source = ROOT / name if name.parts[0] == "app" else ROOT / "layouts" / name
        compiled = Path(cache_from_source(str(source)))
        if compiled.is_file() and source.read_bytes() == path.read_bytes():
            shutil.copystat(source, path)
            Path(cache_from_source(str(path))).parent.mkdir(exist_ok=True)
            shutil.copy(compiled, cache_from_source(str(path)))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Somebody's project, which has modules called app and layouts."""
    (tmp_path / "layouts").mkdir()
    (tmp_path / "layouts" / "__init__.py").write_text("raise SystemExit('the layouts of the project')\n")
    (tmp_path / "app.py").write_text("raise SystemExit('the app of the project')\n")
    return tmp_path


@pytest.mark.thorough
def test_a_wheel_holds_one_package_and_all_its_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"lanescope"}
    here = {"static": "static", "templates": "templates", "examples": "examples", "docs/guide": "docs/guide"}
    for folder, inside in here.items():
        for path in release.list_tracked(folder):
            assert path.replace(folder, f"lanescope/app/{inside}", 1) in names
    for path in (ROOT / "docs").glob("*.md"):  # /docs/integrations has code of several
        assert f"lanescope/app/docs/{path.name}" in names
    for path in release.list_tracked("layouts"):
        assert path.replace("layouts", "lanescope", 1) in names
    for path in release.list_tracked("app"):
        assert f"lanescope/{path}" in names


@pytest.mark.thorough
def test_it_is_imported_beside_other_modules_called_app_and_layouts(installed: Path, project: Path) -> None:
    program = f"from lanescope import find, tiled_mma, capture; print(find({MMA!r}).operand('a').owner(11, 2))"
    ran = run_in_folder([sys.executable, "-c", program], installed, project)
    assert (ran.returncode, ran.stdout) == (0, "[(13, 2)]\n"), ran.stderr


@pytest.mark.thorough
def test_the_engine_works_without_the_parser_of_code(installed: Path, project: Path) -> None:
    program = f"""
from lanescope import find, reader, tiled_mma
find({MMA!r}).operand("a").rows
tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)")
assert reader.recognise_text("{MMA}").found[0].kind == "instruction"
print(reader.recognise_text("uint64_t desc = 0; desc |= 1ull << 62; return desc;").refused[0].code)
"""
    ran = run_in_folder(
        [sys.executable, "-c", block_imports("tree_sitter", "tree_sitter_cuda", "tree_sitter_python") + program],
        installed,
        project,
    )
    assert (ran.returncode, ran.stdout) == (0, "no_parser\n"), ran.stderr


def link_requirements(requirements: Sequence[str], site: Path) -> None:
    """Link the distributions that are required without an extra, and what they require, into a folder of packages."""
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        found = distribution(requirement.name)
        assert requirement.specifier.contains(found.version)
        tops = {path.parts[0] for path in found.files or () if path.parts[0] != ".."}
        if new := [top for top in tops if not (site / top).exists()]:
            for top in new:
                (site / top).symlink_to(str(found.locate_file(top)))
            link_requirements(found.requires or (), site)


@pytest.mark.thorough
def test_the_command_runs_with_what_the_wheel_requires_and_without_the_server(
    installed: Path, tmp_path_factory: pytest.TempPathFactory, project: Path
) -> None:
    """In an environment of nothing else, as pip would make it (tests/integrations/test_install.py has pip make one).
    `serve` says which extra it needs.
    """
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (metadata,) = installed.glob("*.dist-info")
    link_requirements(PathDistribution(metadata).requires or (), site)
    (site / "installed.pth").write_text(f"{installed}\n")
    (entry,) = PathDistribution(metadata).entry_points.select(group="console_scripts", name="lanescope")
    program = f"import sys; from {entry.module} import {entry.attr}; sys.exit({entry.attr}())"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [folder / "bin" / "python", "-c", *words]
        return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)

    missing = (
        "import sys; sys.path.remove(''); import importlib.util as u; print(u.find_spec('app'), u.find_spec('layouts'))"
    )
    assert run(missing).stdout == "None None\n"
    shown = run(program, "show", MMA, "a")
    assert shown.returncode == 0 and "A[15,15]" in shown.stdout, shown.stderr
    assert run(program, "diagram", MMA, "a", "-o", "a.svg").returncode == 0
    served = run(program, "serve")
    assert served.returncode == 2 and "lanescope[web]" in served.stderr


@pytest.mark.thorough
def test_the_layers_hold(installed: Path) -> None:
    """The contracts of pyproject.toml, asked of the package as it is installed."""
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", lint, "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    ran = run_in_folder(command, installed, installed)
    assert ran.returncode == 0 and " kept, 0 broken" in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.thorough
def test_the_server_of_the_wheel_serves(installed: Path, project: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    with run_server(cwd=project, env=environment) as (_, port):
        answers = {path: send_request(port, "GET", path) for path in PATHS}
    assert {status for status, _ in answers.values()} == {200}, answers
