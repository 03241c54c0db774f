"""What the engine's single modules answer, held: tests/called_modules.py asks, tests/golden/modules has the answers, a
long one by its checksum.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import zlib
from collections.abc import Iterator
from functools import cached_property

import pytest

import layouts
from tests.called_modules import MODULES, overlapping
from tests.held import attempt, held, whole

LONGEST = 160  # characters of an answer that stands there in full


@pytest.mark.parametrize("module", MODULES)
def test_what_a_module_answers(module: str) -> None:
    lines = []
    for words, call in MODULES[module]():
        answer = attempt(lambda call=call: whole(call()))  # type: ignore[misc]
        long = f"… {len(answer)} characters, crc {zlib.crc32(answer.encode()):08x}"
        said = answer if len(answer) <= LONGEST else answer[: LONGEST // 2] + long
        lines.append(f"{words} → {said}".encode("unicode_escape").decode())
    held(f"modules/{module}", "\n".join(lines) + "\n")


def test_fields_of_one_bit_are_refused() -> None:
    assert overlapping() == "fields overlap"


def rows_of_the_engine() -> Iterator[type]:
    """Every class of the engine made of fields."""
    for module in pkgutil.walk_packages(layouts.__path__, "layouts."):
        found = vars(importlib.import_module(module.name)).values() if not module.name.endswith("__main__") else ()
        for one in found:
            if isinstance(one, type) and dataclasses.is_dataclass(one) and one.__module__ == module.name:
                yield one


WORKING = {"Array", "Cell", "Frame", "Object", "Record"}  # what the evaluator of code fills while it reads
GATHERED = {"Found", "Parts", "Text"}  # what a reader gathers
LOOSE = {"Family", "Side", "Described"}  # a family, and a multiplicand that others derive from


def keeps(row: type) -> bool:
    """Whether it keeps what it computed."""
    return any(isinstance(part, cached_property) for kind in row.__mro__ for part in vars(kind).values())


def test_what_the_engine_answers_cannot_be_changed() -> None:
    """A row is frozen, and has no room for other names than its own unless it keeps what it computed."""
    rows = [*rows_of_the_engine()]
    changed = {one.__name__ for one in rows if not one.__dataclass_params__.frozen}  # type: ignore[attr-defined]
    assert changed == WORKING | GATHERED
    loose = {one.__name__ for one in rows if "__slots__" not in vars(one) and not keeps(one)}
    assert loose == LOOSE
