"""What tables, constants and defaults say, held by a checksum each: a word, a number or a section changed in one row is
noticed, also where nothing is drawn from it. The rows themselves are read in layouts/table/ and beside their code.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import app
import layouts
from tests.held import held, said

PLAIN = (str, bytes, int, float, re.Pattern, enum.Enum, type, type(None))
FILLED = {"GIVEN", "ANSWERED", "TAKEN", "_ROWS"}  # by the modules that are imported, or while the server answers


def modules() -> list[ModuleType]:
    """Every module of the house; those of tables first, as what is theirs is told under their name."""
    names = [
        one.name for house in (layouts, app) for one in pkgutil.walk_packages(house.__path__, f"{house.__name__}.")
    ]
    return [
        importlib.import_module(name) for name in sorted(names, key=lambda name: not name.startswith("layouts.table."))
    ]


def plain(value: Any) -> bool:
    """Whether a value is made of words, numbers and rows, so that its text is the same in every process."""
    match value:
        case dict():
            return all(plain(key) and plain(one) for key, one in value.items())
        case tuple() | list() | set() | frozenset():
            return all(map(plain, value))
    return isinstance(value, PLAIN) or inspect.isroutine(value) or dataclasses.is_dataclass(value)


def tables() -> Iterator[tuple[str, str, str]]:
    """Module, name and text of every constant; what another module imports is told once."""
    seen: set[tuple[str, str]] = set()
    for module in modules():
        for name, value in vars(module).items():
            if not re.fullmatch(r"_?[A-Z][A-Z_0-9]*", name) or name in FILLED or not plain(value):
                continue
            if (name, text := said(value)) not in seen:
                seen.add((name, text))
                yield module.__name__, name, text


def defaults() -> Iterator[tuple[str, str]]:
    """Module, and what its functions, methods and rows take where nothing is said."""
    for module in modules():
        own = [made for made in vars(module).values() if getattr(made, "__module__", "") == module.__name__]
        told = [line for made in own for line in defaults_of(made)]
        if told:
            yield module.__name__, "\n".join(told)


def defaults_of(made: Any) -> Iterator[str]:
    """Of a function, a line; of a class, a line for each method, constant and row that says anything."""
    function = getattr(made, "__func__", made)
    if isinstance(made, type):
        for name, member in vars(made).items():
            if inspect.isroutine(member) and (name == "__init__" or not name.startswith("__")):
                yield from defaults_of(member)
            elif not name.startswith("_") and not isinstance(made, enum.EnumMeta) and plain(member):
                yield f"{made.__qualname__}.{name} {said(member)}"
        for one in dataclasses.fields(made) if dataclasses.is_dataclass(made) else ():
            if one.metadata.get("says"):
                yield f"{made.__qualname__}.{one.name} {one.metadata['says']}"
    elif inspect.isfunction(inspect.unwrap(function)):
        given = inspect.signature(function).parameters.values()
        taken = {one.name: said(one.default) for one in given if one.default is not one.empty and plain(one.default)}
        if taken:
            yield f"{made.__qualname__} {taken}"


def checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_what_the_tables_say() -> None:
    told = list(tables())
    assert len(told) > 500
    held("rows", "".join(f"{module} {name} {checksum(text)}\n" for module, name, text in told))


def test_what_is_taken_where_nothing_is_said() -> None:
    told = list(defaults())
    assert len(told) > 100
    held("defaults", "".join(f"{module} {checksum(text)}\n" for module, text in told))
