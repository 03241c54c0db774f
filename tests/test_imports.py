"""What loads what: the command and the server start without what they do not need yet."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import for_each
from tests.release import ROOT, list_tracked

LOADED = """
import gc, importlib, sys
gc.disable()
for name in sys.argv[1].split():
    importlib.import_module(name)
    loaded = set(sys.argv[2].split()) & set(sys.modules)
    if loaded:
        sys.exit(f"{name} loads {', '.join(sorted(loaded))}")
"""
STARTS = """
import lanescope.app.cli
from lanescope.app.main import create_app
from fastapi.routing import APIRoute
from lanescope.ptx import catalog

lanescope.app.cli.build_cli()
served = create_app()
routes = [route for route in served.routes if isinstance(route, APIRoute)]
bound = sum("operands" in vars(instruction) for instruction in catalog.instructions())
built = sum(bool(route.response_fields) for route in routes)
dask = len({"dask", "distributed"} & set(sys.modules))
print(len(routes) > 100, built, bound, catalog._index_by_syntax.cache_info().misses, dask)
"""

SERVER = "fastapi starlette pydantic uvicorn cupy"
HEAVY = "numpy orjson jinja2 rich"
MODULES = [path for path in list_tracked("app", "layouts") if path.endswith(".py")]


def find_imports(path: str, *packages: str) -> set[str]:
    """Which of these packages a file imports anywhere. Only a file with such a line is parsed."""
    text = (ROOT / path).read_text()
    found: set[str] = set()
    if not re.search(rf"\b(from|import)\s.*(?<![\w.])({'|'.join(packages)})\b", text):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found & set(packages)


def run_python(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.thorough
def test_only_pages_routes_and_schemas_import_the_web_framework() -> None:
    """Every file: import-linter's contract can name a module only by how it is called."""
    having = {path for path in MODULES if find_imports(path, *SERVER.split())}
    by_name = {path for path in MODULES if re.fullmatch(r"app/\w+/(page|api|schemas)\.py", path)}
    others = {"app/kit/serve.py", "app/kit/wire.py", "app/main.py", "app/hardware/device.py"}
    assert having - by_name == others


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
COMMANDS = f"""
import gc, sys
gc.disable()
from lanescope.app import cli
cli._build_command_for(["--help"])
print("help:", *set("{HEAVY} lanescope.ptx {SERVER}".split()) & set(sys.modules), file=sys.stderr)
for words in ("a --at 11,2", "a --lane 13 --value 2", "a", ""):
    sys.argv = ["lanescope", "show", "{MMA}", *words.split()]
    try:
        cli.main()
    except SystemExit as ended:
        assert not ended.code
unwanted = set("numpy tree_sitter rich pydantic lanescope.app.kit.question".split())
print("show:", *unwanted & set(sys.modules), file=sys.stderr)
"""


def test_help_loads_no_feature_and_show_no_numpy() -> None:
    """NumPy takes as long to import as everything else that an answer of `show` needs."""
    ran = run_python(COMMANDS)
    assert (ran.returncode, ran.stderr) == (0, "help:\nshow:\n")


def test_all_public_names_of_the_package_can_be_imported() -> None:
    import lanescope

    for name in lanescope.__all__:
        assert getattr(lanescope, name).__module__.startswith("lanescope."), name
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        lanescope.magic  # noqa: B018


@for_each("path", list_tracked("tests/oracle"))
def test_oracles_import_nothing_they_judge(path: str) -> None:
    assert not find_imports(path, "lanescope", "layouts", "app")


@pytest.mark.thorough
def test_every_import_names_the_package() -> None:
    """From the repository's root `import layouts` works, too, and would load the engine a second time."""
    paths = [path for path in list_tracked("app", "layouts", "tests", "examples") if path.endswith(".py")]
    wrong = [path for path in paths if find_imports(path, "layouts", "app")]
    assert wrong == []


@pytest.mark.thorough
def test_cupy_is_imported_in_one_module() -> None:
    having = [path for path in MODULES if find_imports(path, "cupy")]
    assert having == ["app/hardware/device.py"]


def get_module_name(path: str) -> str:
    """The module of a file in the repository."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join(["lanescope", *(parts[1:] if parts[0] == "layouts" else parts)])


def find_loaded(names: list[str], unwanted: str) -> str:
    """Which module, imported in turn in a process of its own, loads something unwanted; "" if none does."""
    return run_python(LOADED, " ".join(names), unwanted).stderr.strip()


def list_feature_modules(*kinds: str) -> list[str]:
    return [
        get_module_name(path)
        for path in MODULES
        if path.startswith("app/") and Path(path).stem.rpartition("_")[2] in kinds
    ]


@pytest.mark.thorough
def test_facts_load_no_server_and_a_server_starts_without_what_its_first_requests_need() -> None:
    """One process: facts, pictures, forms and verbs; then a server, without schemas of answers, operands of the
    catalogue, the index of its texts, and Dask.
    """
    chosen = list_feature_modules("facts", "draw", "forms", "verbs")
    assert len(chosen) > 50
    ran = run_python(LOADED + STARTS, " ".join(chosen), SERVER)
    assert (ran.stdout, ran.stderr) == ("True 0 0 0 0\n", "")
    assert find_loaded(["lanescope.app.kit.wire"], SERVER) == "lanescope.app.kit.wire loads starlette"


@pytest.mark.thorough
def test_a_name_is_read_without_the_checker() -> None:
    """A quarter of the time of `lanescope show m16n8k16`."""
    reading = ["lanescope.app.read.text_meanings", "lanescope.app.read.certain_links"]
    assert not find_loaded(reading, "lanescope.workbench.check")
    assert find_loaded(["lanescope.app.check.checking"], "lanescope.workbench.check")
