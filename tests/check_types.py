"""Check the types of all code with mypy, under the names that the package has: `python -m tests.check_types`.

mypy names a module by its folder, and knows no import hooks. pyproject.toml says which folder holds which package.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from mypy.build import build
from mypy.errors import CompileError
from mypy.main import process_options
from mypy.modulefinder import BuildSource

ROOT = Path(__file__).parents[1]


def list_sources() -> Iterator[BuildSource]:
    """Every module of the package, with its name."""
    mapping = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    for package, folder in mapping.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            yield BuildSource(str(path.relative_to(ROOT)), ".".join((package, *parts)))


def main() -> int:
    """Print what mypy finds; 1 if it finds anything."""
    _, options = process_options(["--fast-module-lookup", "-c", ""])
    modules = list(list_sources())
    try:
        errors = build(modules, options).errors
    except CompileError as error:
        errors = error.messages
    print("\n".join(errors) or f"Success: no issues found in {len(modules)} source files")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
