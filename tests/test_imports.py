"""Arrows run downwards only: what each room of layouts/ may import, and who may import CuPy or FastAPI."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = (
    {"errors", "reading", "bits", "swizzle", "cute", "dtypes", "codec", "pattern"},
    {"role", "syntax"},
    {"precedence"},
    {"metadata", "banks", "expression", "formula"},
    {"spelling"},
    {"instruction"},
    {"table"},
    {"catalog"},
    {"descriptor", "reuse", "wmma", "qualifiers", "overview", "view", "palette"},
    {"tiling", "differences", "statements"},
    {"pieces", "storage"},
    {"repair"},
    {"case", "worlds"},
    {"starts"},
    {"mistakes", "packing", "fits", "unreadable"},
    {"diagnosis"},
    {"verify", "chain", "slices", "tma"},
    {"tile_map", "feeding"},
    {"plan"},
    {"options"},
    {"placing"},
    {"planning"},
    {"render"},
)
WITHIN_BASE = {
    "errors": set(),
    "reading": {"errors"},
    "bits": {"errors", "reading"},
    "swizzle": {"errors"},
    "dtypes": {"errors"},
    "codec": {"errors", "dtypes"},
    "cute": {"errors", "reading", "swizzle"},
    "pattern": {"errors", "reading", "cute"},
}
PURE = {"numpy", "layouts"}
STDLIB_WITH_IO = {"subprocess", "socket", "urllib", "http", "threading", "multiprocessing", "asyncio", "os", "sys", "ctypes"}


def imported(path: Path) -> set[str]:
    out: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            out |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            out.add(node.module)
            out |= {f"{node.module}.{alias.name}" for alias in node.names if node.module in ("layouts", "app")}
    return out


def floor_of(room: str) -> int:
    return next(level for level, rooms in enumerate(FLOORS) if room in rooms)


LAYOUTS = sorted((ROOT / "layouts").rglob("*.py"))
APP = sorted((ROOT / "app").rglob("*.py"))


@pytest.mark.parametrize("path", LAYOUTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_layouts_imports_run_downwards_and_stay_pure(path: Path) -> None:
    import sys

    room = path.relative_to(ROOT / "layouts").parts[0].removesuffix(".py")
    for name in imported(path):
        top, *rest = name.split(".")
        assert top in PURE or top in sys.stdlib_module_names, f"{path}: {name}"
        assert top not in STDLIB_WITH_IO, f"{path}: {name}"
        if top == "layouts" and rest and room != "__init__":
            known = {r for rooms in FLOORS for r in rooms}
            if rest[0] not in known:
                continue
            if room in WITHIN_BASE:
                assert rest[0] in WITHIN_BASE[room], f"{path}: {name}"
            else:
                assert floor_of(rest[0]) < floor_of(room) or rest[0] == room or floor_of(room) == floor_of("view") == floor_of(rest[0]), (
                    f"{path}: {name}"
                )


@pytest.mark.parametrize("path", APP, ids=lambda p: str(p.relative_to(ROOT)))
def test_one_module_imports_cupy_and_only_when_it_runs(path: Path) -> None:
    names = {name.split(".")[0] for name in imported(path)}
    if path.relative_to(ROOT / "app") == Path("gpu/device.py"):
        top_level = {
            n for s in ast.parse(path.read_text()).body if isinstance(s, ast.Import | ast.ImportFrom) for n in ast.dump(s).split("'")
        }
        assert "cupy" in names and "cupy" not in top_level
    else:
        assert not {name for name in names if name.startswith("cupy")}


@pytest.mark.parametrize("path", sorted((ROOT / "app" / "gpu").glob("*.py")), ids=lambda p: p.name)
def test_the_gpu_room_stands_on_the_engine_alone(path: Path) -> None:
    assert not {name for name in imported(path) if name.split(".")[0] == "app" and name != "app" and not name.startswith("app.gpu")}


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "oracle").glob("*.py")), ids=lambda p: p.name)
def test_oracles_import_nothing_they_judge(path: Path) -> None:
    assert not {name for name in imported(path) if name.split(".")[0] in ("layouts", "app")}


def test_the_rule_bites(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from layouts.render import svg\nimport cupy\n")
    assert {"layouts.render", "cupy"} <= imported(wrong)
    assert floor_of("render") > floor_of("pattern")
