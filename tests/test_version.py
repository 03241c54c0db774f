"""`lanescope --version` and `python -m lanescope`: what the release says of itself, in one place."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys

from lanescope.app.kit.release import describe_release, format_release
from tests.command import run_lanescope
from tests.release import ROOT


def test_the_version_names_the_document_the_assembler_and_every_evidence_file() -> None:
    lines = run_lanescope("--version").stdout.splitlines()
    assert lines[0] == f"lanescope {importlib.metadata.version('lanescope')}"
    table = json.loads((ROOT / "layouts/ptx/table/targets.json").read_text())["meta"]
    files = [json.loads(path.read_text())["meta"] for path in (ROOT / "layouts/evidence").glob("*.json")]
    assert files
    assert set(lines[1:]) == {
        "  PTX ISA 9.1",
        f"  {table['assembler']}, run on every instruction on {table['date']}",
        *(f"  {meta['device']}, ran on {meta['date']}" for meta in files),
    }


def test_the_module_is_the_command_and_its_version_needs_no_numpy() -> None:
    program = (
        "import runpy, sys; sys.argv = ['lanescope', '--version']\n"
        "try: runpy.run_module('lanescope', run_name='__main__')\n"
        "finally: print('numpy' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == [*format_release(describe_release()), "False"], ran.stderr
