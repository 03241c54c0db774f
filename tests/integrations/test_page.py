"""/docs/integrations: each line that it shows to copy is run by the tool that it is for, or read by its parser."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp.client.stdio import StdioServerParameters
from packaging.requirements import Requirement

from lanescope.app.agents.tools import TOOLS
from lanescope.app.guide.page_markdown import render_page_markdown
from lanescope.app.guide.rendering import render_integrations
from lanescope.app.lsp.settings import EditorSettings, parse_settings
from tests.bare_install import OWNER, BareEnvironment
from tests.guilty_kernels import RIGHT, plant
from tests.integrations.lsp_editor import Editor
from tests.integrations.mcp_session import open_session
from tests.release import ROOT
from tests.served import run_server

HTML = render_integrations()
PORT = 8000  # of the addresses that the page shows
_SECTION = re.compile(r'<h2 id="[\w-]+">(.*?)</h2>(.*?)(?=<h2|\Z)', re.S)
_CODE = re.compile(r'<pre data-copy><code class="language-\w+">(.*?)</code></pre>', re.S)
_INSTALL = re.compile(r"^pip install .*\n", re.M)
# Section → its blocks of code, without the lines that install: these are INSTALLS.
CODE = {unescape(title): [unescape(code) for code in _CODE.findall(body)] for title, body in _SECTION.findall(HTML)}
INSTALLS = [line.strip() for blocks in CODE.values() for code in blocks for line in _INSTALL.findall(code)]
BLOCKS = {
    title: [rest for code in blocks if (rest := _INSTALL.sub("", code)).strip()] for title, blocks in CODE.items()
}
TAKEN: set[str] = set()


def runs(section: str) -> pytest.MarkDecorator:
    """Have a test run the blocks of a section."""
    TAKEN.add(section)
    return pytest.mark.parametrize("blocks", [pytest.param(BLOCKS[section], id=section)])


Run = Callable[..., str]


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Run:
    """Run lines of a shell in an empty folder, and return what they print; each must end with status 0."""

    def run_lines(lines: str, **variables: str) -> str:
        command = ["bash", "-euo", "pipefail", "-c", lines]
        given = environment | variables
        done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (lines, done.stdout, done.stderr)
        return done.stdout

    return run_lines


def find_command(words: Sequence[str], environment: dict[str, str]) -> list[str]:
    """A command with the path of its program, as a client that has the variables of this shell finds it."""
    program = shutil.which(words[0], path=environment["PATH"])
    assert program, words
    return [program, *words[1:]]


# installing -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packaged(release: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which uvx, pipx and pip take lanescope from this wheel, and write into a folder of their own."""
    if not (find_spec("uv") and find_spec("pipx")):
        pytest.skip("uv and pipx are not installed")
    folder = tmp_path_factory.mktemp("packaged")
    (folder / "wheel.txt").write_text(f"lanescope @ {release['.whl'].as_uri()}\n")
    own = {name: str(folder / name.lower()) for name in ("UV_CACHE_DIR", "UV_TOOL_DIR", "PIPX_HOME", "PIPX_BIN_DIR")}
    wheel = {name: str(folder / "wheel.txt") for name in ("UV_CONSTRAINT", "PIP_CONSTRAINT")}
    python = {"UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never", "PIPX_DEFAULT_PYTHON": sys.executable}
    return own | wheel | python


def test_every_line_of_pip_installs_what_the_wheel_has(bare: Path, release: dict[str, Path]) -> None:
    """The first is what the bare environment was made by; the extras of the others are those of the wheel."""
    requirements = [Requirement(*shlex.split(line)[2:]) for line in INSTALLS]
    assert {each.name for each in requirements} == {"lanescope"} and str(requirements[0]) == "lanescope"
    extras = sorted(set().union(*(each.extras for each in requirements)))
    assert {"web", "mcp", "lsp", "sphinx", "mkdocs", "notebook"} <= set(extras)
    options = ("--dry-run", "--no-deps", "--force-reinstall", "--report", "-", "-q")
    report = BareEnvironment(bare).run("pip", "install", *options, f"{release['.whl']}[{','.join(extras)}]")
    (install,) = json.loads(report)["install"]
    assert set(extras) <= set(install["metadata"]["provides_extra"])


@runs("Install")
def test_the_command_runs_where_it_is_installed(
    blocks: list[str], bare: Path, packaged: dict[str, str], run: Run
) -> None:
    installed, elsewhere, served = blocks
    (line,) = installed.splitlines()
    program, *words = shlex.split(line)
    assert BareEnvironment(bare).run(program, *words).splitlines()[-1] == OWNER
    for line in elsewhere.splitlines():
        printed = run(line, **packaged)
        if " show " in line:
            assert printed.splitlines()[-1] == OWNER, line
    assert (Path(packaged["PIPX_BIN_DIR"]) / "lanescope").exists()
    assert served.strip() == "lanescope serve"


# agents ---------------------------------------------------------------------------------------------------------------


@runs("Coding agents")
def test_agents_get_the_tools(blocks: list[str], environment: dict[str, str]) -> None:
    """Every client starts the same command, or the same through uvx."""
    added, project, code, without, _ = blocks
    adding, _, command = added.strip().partition(" -- ")
    assert adding == "claude mcp add lanescope" and read_server(json.loads(project)["mcpServers"]) == command.split()
    assert json.loads(code)["servers"]["lanescope"]["type"] == "stdio"
    assert read_server(json.loads(code)["servers"]) == command.split()
    assert read_server(json.loads(without)["mcpServers"])[-2:] == command.split()
    program, *arguments = find_command(command.split(), environment)
    with open_session(StdioServerParameters(command=program, args=arguments, env=environment)) as session:
        assert {tool.name for tool in session.ask("list_tools").tools} == set(TOOLS)


@runs("Coding agents")
def test_uvx_brings_what_the_server_needs(
    blocks: list[str], environment: dict[str, str], packaged: dict[str, str], run: Run
) -> None:
    """Started with an input that has ended, it ends without a refusal; without the extra it would have status 2."""
    words = read_server(json.loads(blocks[3])["mcpServers"])
    run(f"{shlex.join(words)} < /dev/null", **packaged)


@runs("Coding agents")
def test_the_skill_is_written_where_agents_look(blocks: list[str], run: Run, tmp_path: Path) -> None:
    run(blocks[4])
    (written,) = tmp_path.rglob("SKILL.md")
    assert written.relative_to(tmp_path).parts[:2] == (".claude", "skills")
    assert yaml.safe_load(written.read_text().split("---\n")[1])["name"] == written.parent.name == "lanescope"


def read_server(servers: dict[str, Any]) -> list[str]:
    """The command of the only server."""
    ((name, server),) = servers.items()
    assert name == "lanescope" and set(server) - {"type"} == {"command", "args"}
    return [server["command"], *server["args"]]


# editors --------------------------------------------------------------------------------------------------------------


def read_neovim(code: str) -> tuple[list[str], Any]:
    """Run the Lua with a `vim` that keeps what it is told."""
    lua = pytest.importorskip("lupa").LuaRuntime()
    lua.execute("vim = { lsp = { enabled = {}, config = function(n, c) kept = { n, c } end } }")
    lua.execute("vim.lsp.enable = function(name) table.insert(vim.lsp.enabled, name) end")
    lua.execute(code)
    kept = lua.eval("kept")
    assert kept[1] == lua.eval("vim.lsp.enabled[1]") == "lanescope"
    return list(kept[2].cmd.values()), {name: dict(own.items()) for name, own in kept[2].settings.items()}


def read_emacs(code: str) -> tuple[list[str], Any]:
    """Find the client in the Lisp, and its settings, a property list."""
    sexpdata = pytest.importorskip("sexpdata")
    client = sexpdata.loads(code)[2][1]
    given = {str(name): value for name, value in zip(client[1::2], client[2::2], strict=True)}
    connection, options = given[":new-connection"], given[":initialization-options"].x
    command = next(word for word in connection if isinstance(word, sexpdata.Quoted)).x
    return command, {str(name)[1:]: value for name, value in zip(options[::2], options[1::2], strict=True)}


def read_helix(code: str) -> tuple[list[str], Any]:
    given = tomllib.loads(code)
    server = given["language-server"]["lanescope"]
    assert "lanescope" in given["language"][0]["language-servers"]
    return [server["command"], *server["args"]], server["config"]


def read_code(code: str) -> tuple[list[str], Any]:
    given = {name.removeprefix("glspc.server."): value for name, value in json.loads(code).items()}
    return [given["command"], *given["commandArguments"]], given["initializationOptions"]


@runs("Editors")
def test_editors_start_the_server(blocks: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    """All of them with one command and the same settings; it answers as an editor expects."""
    readers = (read_code, read_neovim, read_helix, read_emacs)
    started = [read(code) for read, code in zip(readers, blocks, strict=True)]
    command, settings = started[0]
    assert all(words == command for words, _ in started)
    assert {parse_settings(given) for _, given in started} == {EditorSettings(server=f"http://127.0.0.1:{PORT}")}
    editor = Editor(tmp_path, settings, command=find_command(command, environment))
    uri = editor.open("wrong.cu", plant(("(1024 >>", "(512 >>")))
    assert [problem.code for problem in editor.wait_for_problems(uri)] == ["sbo_other_width"]
    assert editor.close() == 0


# documents, notebooks, tests ------------------------------------------------------------------------------------------


@runs("Sphinx")
def test_sphinx_builds_the_page(blocks: list[str], run: Run, tmp_path: Path) -> None:
    conf, page = blocks
    (tmp_path / "conf.py").write_text(conf)
    (tmp_path / "index.rst").write_text(f"Kernels\n=======\n\n{page}")
    run(f"{shlex.quote(sys.executable)} -m sphinx -q -W -b html . out")
    assert len(re.findall('<img class="lanescope', (tmp_path / "out" / "index.html").read_text())) == 3


@runs("MkDocs")
def test_mkdocs_builds_the_page(blocks: list[str], run: Run, tmp_path: Path) -> None:
    settings, page = blocks
    (tmp_path / "mkdocs.yml").write_text(f"site_name: kernels\n{settings}")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Kernels\n\n{page}")
    run(f"{shlex.quote(sys.executable)} -m mkdocs build -q --strict")
    assert len(re.findall('<img class="lanescope', (tmp_path / "site" / "index.html").read_text())) == 3


@runs("Notebooks")
def test_a_cell_shows_a_view_with_two_way_traits(blocks: list[str]) -> None:
    pytest.importorskip("anywidget")
    (cell,) = blocks
    scope: dict[str, Any] = {}
    exec(cell, scope)
    shown = eval(cell.splitlines()[-1], scope)
    shown.element = (11, 2)
    assert (shown.lane, shown.value) == (13, 2)
    assert "application/vnd.jupyter.widget-view+json" in shown._repr_mimebundle_()[0]


@runs("Tests of kernels")
def test_pytest_runs_the_test_of_a_kernel(blocks: list[str], run: Run, tmp_path: Path) -> None:
    (code,) = blocks
    (tmp_path / "test_kernel.py").write_text(code)
    command = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
    assert "1 passed" in run(command, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


@runs("C++ at compile time")
def test_cmake_builds_with_the_header(blocks: list[str], run: Run, tmp_path: Path) -> None:
    """The code of the page is the library's source; with another SBO it is not compiled."""
    header, code, cmake = blocks
    if not shutil.which("cmake") or not shutil.which("c++"):
        pytest.skip("no CMake or no compiler here")
    known = "set(CMAKE_CXX_COMPILER_WORKS 1)\nset(CMAKE_CXX_ABI_COMPILED 1)\n"  # saves two trial builds
    library = "cmake_minimum_required(VERSION 3.18)\n" + known + "project(kernels CXX)\nadd_library(kernels a.cpp)\n"
    (tmp_path / "CMakeLists.txt").write_text(library + cmake)
    (tmp_path / "a.cpp").write_text(code)
    run("cmake -S . -B build && cmake --build build")
    (tmp_path / "a.cpp").write_text(code.replace("1024", "512"))
    assert "lanescope: SBO is not the tile's" in run("! cmake --build build 2>&1")
    run(header)
    assert (tmp_path / "lanescope_verify.hpp").read_bytes() == (tmp_path / "build/lanescope_verify.hpp").read_bytes()


# sources in CI --------------------------------------------------------------------------------------------------------


@runs("Sources in CI")
def test_sources_are_checked_by_command_hook_and_action(blocks: list[str], run: Run, tmp_path: Path) -> None:
    commands, hooks, steps = blocks
    for folder in ("csrc", "include", "third_party/include"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "csrc" / "right.cu").write_text(RIGHT)
    run(commands)
    (tmp_path / ".pre-commit-config.yaml").write_text(hooks)
    run(f"{shlex.quote(sys.executable)} -m pre_commit validate-config .pre-commit-config.yaml")
    ((hook,),) = (repository["hooks"] for repository in yaml.safe_load(hooks)["repos"])
    entries = {row["id"]: row["entry"] for row in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    run(shlex.join([*shlex.split(entries[hook["id"]]), *hook["args"], "csrc/right.cu"]))

    ours, upload = yaml.safe_load(steps)
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert set(ours["with"]) <= set(action["inputs"])
    given = {name: row["default"] for name, row in action["inputs"].items()} | ours["with"]
    assert upload["with"] == {"sarif_file": given["sarif"]}
    run(action["runs"]["steps"][-1]["run"], **{name.upper(): value for name, value in given.items()})
    assert json.loads((tmp_path / given["sarif"]).read_text())["runs"][0]["results"] == []


# HTTP -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def port(environment: dict[str, str]) -> Iterator[int]:
    """The port of a running server."""
    command = find_command(["lanescope"], environment)
    with run_server(command=command, env=environment) as (_, number):
        yield number


@runs("HTTP")
def test_every_address_answers(blocks: list[str], port: int, run: Run, tmp_path: Path) -> None:
    """A refusal ends curl with a status of its own."""
    (lines,) = blocks
    if not shutil.which("curl"):
        pytest.skip("no curl here")
    (tmp_path / ".curlrc").write_text("fail\n")
    shown = [run(line.replace(f":{PORT}/", f":{port}/"), CURL_HOME=str(tmp_path)) for line in lines.splitlines()]
    instructions, word, _, _, listed, page = shown
    assert json.loads(instructions)["count"] > 0 and json.loads(word)["fields"]
    assert listed.startswith("# Lanescope") and "/docs/integrations.md" in listed
    assert page == render_page_markdown("swizzle")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert json.loads((tmp_path / "openapi.json").read_text())["openapi"]


# LayoutBench ----------------------------------------------------------------------------------------------------------


@runs("LayoutBench")
def test_make_asks_the_command(blocks: list[str], run: Run) -> None:
    """What make would run is the runner, which tests/integrations/test_layoutbench.py runs whole."""
    (lines,) = blocks
    quiet = f"-n --no-print-directory -C {shlex.quote(str(ROOT))}"
    asked = [run(line.replace("make ", f"make {quiet} ")).splitlines()[-1] for line in lines.splitlines()]
    assert [shlex.split(line)[1:] for line in asked] == [
        ["-m", "tests.layoutbench.run"],
        ["-m", "tests.layoutbench.run", "my-agent", "--flag"],
    ]


# the page itself ------------------------------------------------------------------------------------------------------


def test_no_line_is_left_out() -> None:
    """Each block of code has its button, stands in a section, and is the Markdown's; each section has its test."""
    codes = [code for blocks in CODE.values() for code in blocks]
    assert HTML.count("<pre") == len(codes) and set(CODE) == TAKEN
    markdown = render_page_markdown("integrations")
    assert "@code" not in markdown and all(code in markdown for code in codes)
