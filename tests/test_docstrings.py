"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import lanescope

MODULES = [
    found.name
    for found in pkgutil.walk_packages(lanescope.__path__, "lanescope.")
    if not found.name.startswith(("lanescope.app.hardware.worker", "lanescope.app.hardware.tensor_cuda"))
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert not failed
