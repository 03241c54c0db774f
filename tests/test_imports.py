"""The house keeps its rules (tests/house.py), and the rules bite: every planted violation is seen."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests import house, house_map, house_rules
from tests.house import ROOT
from tests.house_rules import violations

WORKER = {"app/hardware/products.py", "app/hardware/device.py"}  # what a run enters in its worker
EVERY = sorted(
    path
    for top in ("layouts", "app")
    for path in (ROOT / top).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
)
FILES = [path for path in EVERY if path.suffix == ".py"]


@cache
def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def source_of(path: str) -> str:
    return (ROOT / path).read_text()


def room_of(path: str) -> str:
    return path.rpartition("/")[0]


@pytest.mark.parametrize("room", sorted({room_of(name_of(path)) for path in EVERY}))
def test_every_file_keeps_the_rules(room: str) -> None:
    paths = [path for path in map(name_of, EVERY) if room_of(path) == room]
    assert [said for path in paths for said in violations(path, source_of(path) if path.endswith(".py") else "")] == []


def module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


@pytest.mark.parametrize("top", ["layouts", "app"])
def test_no_modules_import_one_another_in_a_circle(top: str) -> None:
    graph = {
        module(path): (
            {it.name for it in house_rules.imports(source_of(path)) if it.top == top and not it.inside} - {module(path)}
        )
        for path in map(name_of, FILES)
        if path.startswith(top)
    }
    assert house_rules.circles(graph) == []
    assert house_rules.circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b → c → b"]


# What was planted once and passed, and more of its kind: (path, what is put in front of the file, what is said of it).
PLANTED = {
    "starlette in facts": ("app/memory/facts.py", "from starlette.responses import Response",
    "imports starlette.responses; only page.py"),
    "FastAPI in what draws": ("app/memory/draw.py", "from fastapi import Request", "imports fastapi; only page.py"),
    "facts that ask a page": ("app/instruction/lanes.py", "from lanescope.app.instruction import page",
    "no facts may import page of its own feature"),
    "the catalogue by its short name": ("layouts/shared/banks.py", "from lanescope import find",
    "lanescope.ptx.catalog, which does not stand below it"),
    "a file read in the engine": ("layouts/shared/swizzle.py", "TEXT = open('x').read()", "calls open"),
    "a parser in the engine": ("layouts/shared/tiling.py", "import tree_sitter", "imports tree_sitter; the engine is NumPy"),
    "another package beside the parser": ("layouts/reader/code/cxx.py", "import pandas", "imports pandas; the engine"),
    "a path in the engine": ("layouts/shared/tiling.py", "from pathlib import Path", "imports pathlib; the engine is NumPy"),
    "an array from a file": ("layouts/ptx/codec.py", "import numpy as np\nTABLE = np.load('codes.npy')", "calls .load"),
    "another data file": ("layouts/ptx/catalog.py", "ROWS = (files('layouts') / 'rows.json').read_text()",
    "names the file 'rows.json'"),
    "a new room of the engine": ("layouts/helpers.py", "", "'helpers' is no room of the engine"),
    "a new kind of file": ("app/memory/utils.py", "", "'utils' is no kind of file of 'memory'"),
    "a new feature": ("app/tools/facts.py", "", "'tools' is no feature"),
    "a new package": ("app/chain/draw.py", "import pandas", "imports pandas; no draw may"),
    "another feature's page": ("app/steps/page.py", "from lanescope.app.memory import page",
    "no page may import page of another feature"),
    "another feature's verbs": ("app/runs/verbs.py", "from lanescope.app.memory.verbs import tile",
    "no verbs may import verbs of another feature"),
    "another feature's facts in facts": ("app/kernel/facts.py", "from lanescope.app.memory import facts",
    "no facts may import facts of another"),
    "a page inside a function": ("app/kernel/facts.py", "def f():\n    from lanescope.app.kernel import page",
    "no facts may import page of its own"),
    "pydantic in facts": ("app/kernel/facts.py", "from pydantic import BaseModel", "imports pydantic; no facts may"),
    "the server through the kit": ("app/kernel/facts.py", "from lanescope.app.kit.wire import Body", "which loads the server"),
    "a feature in the kit": ("app/kit/errors.py", "from lanescope.app.diagram.forms import check", "kit knows no feature"),
    "starlette in middleware": ("app/kit/limits.py", "from starlette.types import Scope",
    "imports starlette.types; only page.py"),
    "the server in the GPU's room": ("app/hardware/runs.py", "from lanescope.app.kit import encode",
    "app/hardware stands on the engine alone"),
    "CuPy elsewhere": ("app/hardware/runs.py", "import cupy", "imports cupy; no gpu may"),
    "CuPy at once": ("app/hardware/device.py", "import cupy", "imports cupy before it runs"),
    "a device for facts": ("app/memory/facts.py", "from lanescope.app.hardware.device import Cuda", "which no row allows"),
    "a module nobody has": ("app/memory/facts.py", "from layouts.magic import wand", "which is nothing known"),
    "a name nobody hands out": ("app/memory/facts.py", "from lanescope import wand",
    "imports layouts.wand, which is nothing known"),
    "an import by name": ("app/runs/verbs.py", "import importlib\nimportlib.import_module('fastapi')",
    "calls import_module"),
    "code in a package's own file": ("app/chain/__init__.py", "LIMIT = 3", "says what it is for and nothing else"),
    "an import from beside": ("app/memory/facts.py", "from . import page", "names are written out"),
    "a file read under another name": ("layouts/shared/swizzle.py", "read = open\nTEXT = read('x')", "calls open"),
    "an array by its bare name": ("layouts/ptx/codec.py", "from numpy import load\nTABLE = load('codes.npy')",
    "imports load of numpy"),
    "an array by a short name": ("layouts/ptx/codec.py", "import numpy as n\nTABLE = n.load('codes.npy')", "calls .load"),
    "a mapped file deep in NumPy": ("layouts/ptx/codec.py",
    "import numpy as np\nTABLE = np.lib.format.open_memmap('codes.npy')", "calls .open_memmap"),
    "an array written": ("layouts/ptx/codec.py", "def f(codes):\n    codes.tofile('codes')", "calls .tofile"),
    "a stream of a file": ("layouts/dump/npy.py", "import io\nTEXT = io.FileIO('x')", "calls .FileIO"),
    "a parser that opens a file": ("layouts/render/tikz.py",
    "from xml.etree import ElementTree\nTREE = ElementTree.parse('x.svg')", "calls .parse"),
    "another module of xml": ("layouts/render/svg.py", "import xml.sax", "imports xml.sax; the engine is NumPy"),
    "the door that writes": ("layouts/ptx/catalog.py", "def f(path):\n    path.write_text('{}')", "calls .write_text"),
    "a module by name in the engine": ("layouts/ptx/catalog.py", "import importlib.resources as r\nr.import_module('os')",
    "calls import_module"),
    "another module of importlib": ("layouts/ptx/catalog.py", "import importlib.util",
    "imports importlib.util; the engine"),
    "built-ins by their own name": ("layouts/bits.py", "READ = __builtins__['open']", "calls __builtins__"),
    "state in the engine's own file": ("layouts/__init__.py", "SEEN = []",
    "hands out modules and does nothing else"),
    "the server's package in the engine": ("layouts/shared/tma.py", "from lanescope.app.kit import links", "imports lanescope.app.kit"),
    "a data file of the engine": ("layouts/ptx/table/rows.csv", "", "no kind of file of this house"),
    "a compiled module": ("layouts/fast.so", "", "no kind of file of this house"),
    "a network in facts": ("app/home/facts.py", "import urllib.request",
    "imports urllib.request; what a feature knows"),
    "a program in facts": ("app/home/facts.py", "import subprocess", "imports subprocess; what a feature knows"),
    "a folder in what draws": ("app/chain/draw.py", "from pathlib import Path",
    "imports pathlib; what a feature knows"),
    "a clock on a page": ("app/home/page.py", "import time", "imports time; what a feature knows"),
    "an import by name under another": ("app/runs/verbs.py", "from importlib import import_module as load",
    "calls import_module"),
    "a module by its text": ("app/runs/verbs.py", "import pkgutil", "imports pkgutil, which loads modules"),
    "code in a text": ("app/hardware/runs.py", "exec('import fastapi')", "calls exec"),
    "a module that is loaded anyway": ("app/kit/rate.py", "import sys\nWEB = sys.modules['fastapi']",
    "looks into sys.modules"),
    "CUDA written by a feature": ("app/steps/facts.py", "LINE = 'asm volatile(\"wgmma.fence;\");'",
    "writes CUDA C++, which layouts/render does"),
    "FastAPI in a page of app/hardware": ("app/hardware/page.py", "from fastapi import Request", "imports fastapi; no gpu may"),
    "a feature inside a feature": ("app/memory/tile/page.py", "", "a feature has no folders"),
    "a second server": ("app/kit/main.py", "from fastapi import FastAPI", "'main' is no room of kit/"),
}  # fmt: skip


@pytest.mark.parametrize("plant", PLANTED)
def test_the_rules_see_what_is_planted(plant: str) -> None:
    path, lines, said = PLANTED[plant]
    before = violations(path, source_of(path)) if (ROOT / path).exists() else []
    assert before == []
    new = [line for line in violations(path, f"{lines}\n") if line not in before]
    assert len(new) == 1 and said in new[0] and new[0].startswith(path), new


SHARED = [path for top, end in (("templates", "html"), ("static", "js")) for path in (ROOT / top).rglob(f"*.{end}")]


def test_templates_and_scripts_take_what_a_row_allows() -> None:
    assert [said for path in SHARED for said in house_rules.borrowed(name_of(path), path.read_text())] == []
    for path, line in (
        ("templates/home/page.html", "{% from 'memory/storage.html' import storage %}"),
        ("templates/chain/page.html", '{% include "tiles/parts.html" %}'),
        ("static/memory/tile.js", 'import { focus } from "../instruction/focus.js";'),
        ("static/instruction/stage.js", 'const late = import("../tiles/mma.js");'),
    ):
        assert len(house_rules.borrowed(path, line)) == 1, line
    used = {
        (top, feature): {
            other
            for path in SHARED
            if name_of(path).startswith(f"{top}/{feature}/")
            for other in re.findall(r"['\"](?:\.\./)?(\w+)/\w+\.(?:html|js)['\"]", path.read_text())
        }
        for top, rows in (("templates", house.TEMPLATES_OF), ("static", house.SCRIPTS_OF))
        for feature in rows
    }
    for top, rows in (("templates", house.TEMPLATES_OF), ("static", house.SCRIPTS_OF)):
        assert all(others <= used[top, feature] for feature, others in rows.items())


def test_no_row_of_the_rules_is_left_over() -> None:
    """What no file needs any more would let a new file do it."""
    named = [f"app/{feature}/{name}.py" for feature, names in house.NAMED.items() for name in names]
    rooms = [f"app/kit/{name}.py" for name in house.KIT_PLAIN | house.KIT_SERVER] + [
        f"app/{name}.py" for name in house.TOP
    ]
    assert [path for path in (*named, *rooms, *house.READERS, *house.LAZY) if not (ROOT / path).exists()] == []
    assert [room for room in house.FLOOR if not list((ROOT / "layouts").glob(f"{room}*"))] == []
    assert [feature for feature in house.NAMED if not (ROOT / "app" / feature / "__init__.py").exists()] == []
    asked = {
        path: {
            it.name.rpartition(".")[2]
            for it in house_rules.imports(source_of(path))
            if it.name.startswith("lanescope.app.hardware.")
        }
        for path in house.GPU_OF
    }
    assert asked == house.GPU_OF
    used: dict[str, set[str]] = {}
    for path in map(name_of, FILES):
        found = {name for it in house_rules.imports(source_of(path)) for name in (it.top, it.name)}
        for row in ("layouts",) if path.startswith("layouts/") else (path, house_rules.kind_of(path)[1]):
            used.setdefault(row, set()).update(found)
    assert {name for name in house.ENGINE_STDLIB if name not in used["layouts"]} == set()
    quiet = set().union(*(used[kind] for kind in house.KINDS if kind != "verbs"))
    assert house.PURE - quiet == set()
    assert {path: more - used[path] for path, more in house.MORE.items() if more - used[path]} == {}
    assert {kind: row.third - used[kind] for kind, row in house.KINDS.items() if row.third - used[kind]} == {}
    packages = {f"app/kit/{name}.py": row for name, row in (house.KIT_PLAIN | house.KIT_SERVER).items()}
    packages |= {f"app/{name}.py": row for name, (row, _) in house.TOP.items()}
    assert {
        path: set(row.split()) - used[path] for path, row in packages.items() if set(row.split()) - used[path]
    } == {}


def test_one_module_has_cupy_when_it_runs() -> None:
    names = {it.name.partition(".")[0] for it in house_rules.imports(source_of("app/hardware/device.py")) if it.inside}
    assert "cupy" in names


SILENT = """
import importlib, sys
for name in sys.argv[1].split():
    importlib.import_module(name)
    loaded = set(sys.argv[2].split()) & set(sys.modules)
    if loaded:
        sys.exit(f"{name} loads {', '.join(sorted(loaded))}")
"""


HEAVY = "numpy orjson jinja2 rich"  # `lanescope --help` waits for none of them


def loads(names: list[str], unwanted: str) -> str:
    """Which module, imported in turn in a process of its own, loads what is unwanted; "" for none."""
    ran = subprocess.run(
        [sys.executable, "-c", SILENT, " ".join(names), unwanted], capture_output=True, text=True, cwd=ROOT
    )
    return ran.stderr.strip()


def of_kinds(*kinds: str) -> list[str]:
    return [
        module(path)
        for path in map(name_of, FILES)
        if path.startswith("app/") and house_rules.kind_of(path)[1] in kinds
    ]


def test_what_is_known_and_drawn_loads_no_server() -> None:
    """Facts, drawings, forms, verbs, the plain rooms of the kit and the command line."""
    chosen = of_kinds("facts", "draw", "forms", "verbs", "plain", "cli", "gpu")
    assert len(chosen) > 50
    assert loads(chosen, " ".join(house.SERVER | {"cupy"})) == ""
    assert (
        loads(["lanescope.app.kit.settings", "lanescope.app.kit.wire"], "fastapi starlette")
        == "lanescope.app.kit.wire loads starlette"
    )


def test_the_help_of_the_command_loads_no_engine() -> None:
    verbs = [*of_kinds("cli", "verbs"), "lanescope.app.kit.settings", "lanescope.app.kit.serve"]
    assert len(verbs) > 6
    assert loads(verbs, f"{HEAVY} layouts {' '.join(house.SERVER)}") == ""
    assert (
        loads(["lanescope.app.kit.settings", "lanescope.app.memory.facts"], "layouts")
        == "lanescope.app.memory.facts loads layouts"
    )


STARTS = """
import sys
import lanescope.app.cli
from lanescope.app.main import create_app
from fastapi.routing import APIRoute
from lanescope import catalog

lanescope.app.cli.attach()
served = create_app()
routes = [route for route in served.routes if isinstance(route, APIRoute)]
bound = sum("operands" in vars(instruction) for instruction in catalog.instructions())
built = sum(bool(route.response_fields) for route in routes)
dask = len({"dask", "distributed"} & set(sys.modules))
print(len(routes) > 100, built, bound, catalog._index.cache_info().misses, dask)
"""


def test_a_server_starts_without_what_its_first_requests_need() -> None:
    """No schema of an answer, no operand of the catalogue, no index of its texts: each took a tenth of the start. And
    no Dask, which a server without a scheduler never needs, with every verb of the command line attached.
    """
    ran = subprocess.run([sys.executable, "-c", STARTS], capture_output=True, text=True, cwd=ROOT)
    assert (ran.stdout, ran.stderr) == ("True 0 0 0 0\n", "")


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "oracle").glob("*.py")), ids=lambda p: p.name)
def test_oracles_import_nothing_they_judge(path: Path) -> None:
    assert not {it.name for it in house_rules.imports(path.read_text()) if it.top in ("layouts", "app")}


def test_every_module_says_what_it_knows() -> None:
    silent = [path for path in map(name_of, FILES) if not house_rules.documented(source_of(path))]
    assert silent == []


def test_the_map_is_that_of_this_house() -> None:
    assert house_map.PICTURE.read_text() == house_map.drawn(), "make golden draws it again"
    assert house_map.DESIGN.read_text() == house_map.page(), "make golden writes it again"


def test_the_walks_of_the_design_go_forward() -> None:
    """docs/design.md names files in the order in which a request enters them for the first time."""
    text = house_map.DESIGN.read_text().split("## Walks")[1].split("\n## ")[0]
    told = [
        re.findall(r"`((?:app|layouts)/[\w/]+\.py)`", re.sub(r"\([^)]*\)", "", part)) for part in text.split("### ")[1:]
    ]
    traced = json.loads(
        subprocess.run(
            [sys.executable, "-m", "tests.walks"], capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    )
    grid, diagnosis, run = told
    steps = {
        "grid": grid,
        "diagnosis": diagnosis,
        "run": [f for f in run if f not in WORKER],
        "worker": [f for f in run if f in WORKER],
    }
    assert all(len(files) > 1 for files in steps.values())
    for walk, files in steps.items():
        at = [traced[walk].index(file) for file in files]
        assert at == sorted(at), (walk, [file for _, file in sorted(zip(at, files, strict=True))])
