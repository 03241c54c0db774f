"""What a release is made of, and the wheel made of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = (
    "pyproject.toml",
    "setup.py",
    "README.md",
    "LICENSE",
    "app",
    "layouts",
    "static",
    "templates",
    "examples",
    "docs",
)


def list_tracked(*paths: str) -> list[str]:
    """Return the files below some paths that git knows or does not ignore, relative to the repository."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *paths]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted(path for path in listed if (ROOT / path).is_file())


def build_wheel(folder: Path) -> Path:
    """Build a wheel in a folder, from a copy of the sources there: setuptools writes beside what it builds from."""
    for path in list_tracked(*SOURCES):
        copy = folder / "source" / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, copy)
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(folder.resolve())!r})"  # what pip calls
    subprocess.run([sys.executable, "-c", build], cwd=folder / "source", check=True, capture_output=True)
    return next(folder.glob("lanescope-*.whl"))
