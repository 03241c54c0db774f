"""A command without its extra says which one to install."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import metadata

import pytest

from lanescope.app.kit.extras import EXTRAS, list_missing, refuse_module, require_extra
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.release import ROOT

OF_CONTRIBUTORS = {"test", "integrations", "dev"}
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def run_without(modules: tuple[str, ...], *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command where some modules cannot be imported."""
    program = f"import sys; sys.modules |= dict.fromkeys({modules!r}); from lanescope.app.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)


def name_distribution(requirement: str) -> str:
    """Return the normal form of the distribution that a requirement names."""
    name = requirement.partition(";")[0]
    for mark in "[<>=!~ ":
        name = name.partition(mark)[0]
    return name.lower().replace("_", "-")


def test_every_extra_of_the_package_has_its_modules() -> None:
    assert set(EXTRAS) == set(DECLARED) - OF_CONTRIBUTORS


@cache
def list_owners() -> Mapping[str, list[str]]:
    """Return the distributions of every installed module: it reads the records of all of them."""
    return metadata.packages_distributions()


@for_each("extra", [extra for extra in EXTRAS if not list_missing(extra)])
def test_each_requirement_of_an_installed_extra_has_a_module(extra: str) -> None:
    owners = list_owners()
    brought = {name.lower().replace("_", "-") for module in EXTRAS[extra] for name in owners[module]}
    assert brought == {name_distribution(requirement) for requirement in DECLARED[extra]}


def test_a_missing_module_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(LayoutError) as refused:
        require_extra("web")
    assert refused.value.code == "not_installed"
    assert refused.value.message == "This needs plotly, uvicorn, which are not installed."
    assert refused.value.hint == "Install the extra 'web': pip install 'lanescope[web]'."


def test_an_installed_extra_is_not_imported() -> None:
    program = "import sys; from lanescope.app.kit.extras import require_extra; require_extra('web')"
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}; print('uvicorn' in sys.modules)"], capture_output=True, text=True
    )
    assert ran.stdout == "False\n", ran.stderr


def test_a_module_of_no_extra_asks_for_a_new_installation() -> None:
    assert "lanescope[gpu]" in refuse_module("cupy.cuda").hint
    assert "reinstall" in refuse_module("tree_sitter").hint


@for_each("words", ["serve", "export site", "share /banks?row_bytes=128"])
def test_commands_of_the_server_name_the_extra_web(words: str) -> None:
    ran = run_without(("uvicorn", "fastapi"), *words.split())
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == [
        "lanescope: This needs fastapi, uvicorn, which are not installed.",
        "  Install the extra 'web': pip install 'lanescope[web]'.",
    ]
