"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
import linecache
from pathlib import Path

import pytest

from lanescope.errors import LayoutError
from tests.cases import for_each

ROOT = Path(__file__).parent.parent
PACKAGES = {"layouts": "lanescope", "app": "lanescope.app"}


def list_modules(folder: str) -> list[str]:
    """Return the names of the modules below a folder whose text has an example."""
    files = [path for path in sorted((ROOT / folder).rglob("*.py")) if ">>> " in path.read_text()]
    parts = [path.relative_to(ROOT / folder).with_suffix("").parts for path in files]
    return [".".join((PACKAGES[folder], *names)).removesuffix(".__init__") for names in parts]


@for_each("folder", PACKAGES)
def test_the_examples_of_every_module_are_true(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linecache, "checkcache", lambda *_: None)  # a run makes a debugger, which looks at every file
    asked, failed = 0, []
    for name in list_modules(folder):
        try:
            module = importlib.import_module(name)
        except LayoutError as error:  # of an extra; make test-integrations has them all
            assert error.code == "not_installed"
            continue
        result = doctest.testmod(module)
        asked += result.attempted
        failed += [name] * bool(result.failed)
    assert not failed and asked
