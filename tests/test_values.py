"""What holds of every value type of the engine: immutable, and without room for a misspelt attribute."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Iterator

import layouts

STATE = {"Frame", "Found", "Parts", "Cell", "Record", "Object", "Array"}  # of the code that is being evaluated
READING = {"layouts.reader.terms.Text"}  # a text while it is read: how many of its steps are taken
OPEN = {"Family", "Side", "Described"}  # rows with defaults of their own; bases of rows that hold cached properties


def types() -> Iterator[type]:
    for found in pkgutil.walk_packages(layouts.__path__, "layouts."):
        module = importlib.import_module(found.name)
        yield from (
            kind
            for kind in vars(module).values()
            if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == found.name
        )


def test_a_value_does_not_change() -> None:
    every = list(types())
    assert len(every) > 200
    for kind in every:
        if kind.__module__.startswith("layouts.reader.code.") and kind.__name__ in STATE:
            continue
        if f"{kind.__module__}.{kind.__name__}" in READING:
            continue
        assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]
        if kind.__name__ not in OPEN and not any(
            isinstance(member, functools.cached_property) for member in vars(kind).values()
        ):
            assert "__slots__" in vars(kind), kind
