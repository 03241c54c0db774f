"""An installed wheel carries static/ and templates/ and works from any directory."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROBE = """
import sys
sys.path.insert(0, sys.argv[1])
import lanescope.app.main
assert lanescope.app.main.__file__.startswith(sys.argv[1]), lanescope.app.main.__file__
from starlette.testclient import TestClient
import layouts
assert layouts.__file__.startswith(sys.argv[1])
client = TestClient(lanescope.app.main.create_app())
mma = "mma.m16n8k16.row.col.f32.f16.f16.f32"
for path in ("/", f"/i/{mma}", "/static/instruction/page.js", "/palette.css", "/readyz", "/guide", "/guide/ldmatrix",
             "/gallery"):
    assert client.get(path).status_code == 200, path
client.__enter__()
told = client.post("/api/v1/gpu/runs", json={"kind": "mma", "instruction": mma, "backend": "numpy"})
assert told.json()["agrees"], told.text
client.__exit__(None, None, None)
print("served")
"""


def test_wheel(tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True)
    wheel = next(tmp_path.glob("lanescope-*.whl"))
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        opened.extractall(tmp_path / "installed")
    for path in (ROOT / "docs" / "guide").glob("*.md"):
        assert f"app/guide/pages/{path.name}" in names
    for folder in ("static", "templates"):
        for path in (ROOT / folder).rglob("*.*"):
            assert f"app/{path.relative_to(ROOT)}" in names
    assert {"layouts/py.typed", "app/py.typed"} <= names
    assert "layouts/ptx/table/targets.json" in names and not any(name.startswith("tests/") for name in names)
    probe = [sys.executable, "-c", PROBE, str(tmp_path / "installed")]
    done = subprocess.run(probe, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "served", done.stderr
