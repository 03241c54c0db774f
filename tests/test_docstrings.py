"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import lanescope
from lanescope.errors import LayoutError

MODULES = [
    found.name
    for found in pkgutil.walk_packages(lanescope.__path__, "lanescope.")
    if not found.name.startswith(("lanescope.app.hardware.worker", "lanescope.app.hardware.tensor_cuda"))
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except LayoutError as error:  # of an extra; make test-integrations has them all
        assert error.code == "not_installed"
        pytest.skip(str(error))
    failed, _ = doctest.testmod(module)
    assert not failed
