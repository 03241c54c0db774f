"""What the engine's modules answer, each asked by itself over all that its rows and bounds allow: quick, so that a
fault of one line is met before any page or route is asked. A function `of_NAME` of a file of this folder makes the
calls of NAME; tests/test_modules_held.py holds their answers in tests/golden/modules/NAME.txt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.held import computed, said, whole

Call = tuple[str, Callable[[], Any]]


def parts(value: Any) -> list[str]:
    """The properties of a row, which `whole` tells by its name."""
    return [f"{name} {said(getattr(value, name))}" for name in computed(type(value))]


def zlib_of(text: str) -> str:
    return whole(np.frombuffer(text.encode(), np.uint8))


def modules() -> dict[str, Callable[[], Iterator[Call]]]:
    """The makers of calls by their names, of all files here."""
    found: dict[str, Callable[[], Iterator[Call]]] = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        module = import_module(f"{__name__}.{path.stem}")
        for name, made in vars(module).items():
            if name.startswith("of_") and made.__module__ == module.__name__:
                if name[3:] in found:
                    raise ValueError(f"two files of tests/calls have a function {name}")
                found[name[3:]] = made
    return found
