"""Golden texts: what the product says, held word for word. After a change of wording read the difference, then `make
golden`.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import os
import re
import sys
import types
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope.bits import Field
from lanescope.blackwell.kind import Kind
from lanescope.descriptor.format import Format
from lanescope.errors import LayoutError
from lanescope.ptx.dtypes import DType
from lanescope.ptx.instruction import Family, Instruction
from lanescope.shared.swizzle import Mode

FOLDER = Path(__file__).parent / "golden"


def held(name: str, text: str) -> None:
    """Compare a text with tests/golden/{name}.txt; `make golden` writes it."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        path.write_text(text)
    assert text.splitlines() == path.read_text().splitlines(), (
        f"{path.name} says something else. If the new words are right: make golden"
    )


def held_sum(name: str, key: str, text: str) -> None:
    """Compare a text's checksum with the line of tests/golden/{name}.txt that ends with its key: for answers that are
    many and long, and whose telling facts are tested by name. A key whose line was deleted is not compared any more.
    """
    path, said = FOLDER / f"{name}.txt", hashlib.sha256(text.encode()).hexdigest()[:12]
    known = dict(reversed(line.split(" ", 1)) for line in path.read_text().splitlines()) if path.is_file() else {}
    if os.environ.get("LANESCOPE_GOLDEN") == "write" and known.get(key) != said:
        known[key] = said
        path.write_text("".join(f"{one} {of}\n" for of, one in sorted(known.items())))
    assert known.get(key, said) == said, f"{key}: the answer is another, {text[:400]}. If it is right: make golden"


EMPTY = ("None", "False", "0", "''", "[]", "{}")
PLAIN = frozenset({int, str, float, bool, type(None)})  # most of what there is, asked for before all else


def said(value: Any) -> str:
    """A value as text that is the same in every process: the fields of a row that say anything, so that a new one which
    most rows leave empty changes little; the name of a function.
    """
    if type(value) in PLAIN:
        return repr(value)
    match value:
        case enum.Enum():
            return value.name
        case dict():
            return f"{{{', '.join(f'{said(key)}: {said(one)}' for key, one in value.items())}}}"
        case tuple() | list():
            return f"[{', '.join(map(said, value))}]"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(said, value)))}}}"
        case re.Pattern():
            return str(value.pattern)
        case type():
            return value.__qualname__
    if dataclasses.is_dataclass(value):
        given = ((one.name, getattr(value, one.name)) for one in dataclasses.fields(value) if one.repr)
        fields = (f"{name}={text}" for name, one in given if (text := said(one)) not in EMPTY)
        return f"{type(value).__name__}({', '.join(fields)})"
    return value.__qualname__ if callable(value) else repr(value)


def elided(text: str, seen: set[str]) -> list[str]:
    """The lines of a long text that no earlier one had; what is left out is counted, and where it stands is held by the
    order of the rest.
    """
    out: list[str] = []
    skipped = 0
    for row in text.splitlines():
        if row in seen:
            skipped += 1
            continue
        if skipped:
            out.append(f"  … {skipped}")
        skipped = 0
        seen.add(row)
        out.append(f"  | {row}".rstrip())
    return [*out, *([f"  … {skipped}"] if skipped else [])]


def whole(value: Any, properties: bool = True) -> str:
    """An answer of the engine with all its parts, in a line, and with its properties: an array as its shape and
    checksum, an instruction as its text, a row of a table as its name: tests/test_rows_held.py has what it says.
    """
    if type(value) in PLAIN:
        return repr(value)
    if type(value) in (tuple, list):
        return f"[{', '.join([whole(one, properties) for one in value])}]"
    match value:
        case np.ndarray():
            return f"{value.dtype}{value.shape} {zlib.crc32(np.ascontiguousarray(value).tobytes()):08x}"
        case Instruction():
            return value.ptx
        case DType() | Family() | Field() | Format() | Kind() | Mode():
            return str(value.name)
        case dict():
            return f"{{{', '.join(f'{whole(key)}: {whole(one, properties)}' for key, one in value.items())}}}"
        case tuple() | list():
            return f"[{', '.join(whole(one, properties) for one in value)}]"
        case types.MappingProxyType():
            return whole(dict(value), properties)
    if isinstance(value, type) or (fields := named(type(value))) is None:
        plain = type(value).__repr__ is object.__repr__ and hasattr(value, "__dict__") and not callable(value)
        own = {name: one for name, one in vars(value).items() if name not in computed(type(value))} if plain else {}
        return f"{type(value).__name__}{whole(own, False)}" if plain else said(value)
    parts = [f"{name}={whole(getattr(value, name), False)}" for name in fields]
    if properties:
        parts += [f"{name}={attempted(value, name)}" for name in computed(type(value))]
    return f"{type(value).__name__}({', '.join(parts)})"


@functools.cache
def named(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass; None for another class."""
    return tuple(one.name for one in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


@functools.cache
def computed(kind: type) -> list[str]:
    """The properties of a class."""
    return [
        name
        for name, one in inspect.getmembers_static(kind)
        if isinstance(one, (property, functools.cached_property)) and not name.startswith("_")
    ]


def attempted(value: Any, name: str) -> str:
    try:
        return whole(getattr(value, name), False)
    except LayoutError as error:
        return refusal(error)
    except Exception as error:  # a property that this object has not
        return type(error).__name__


def refusal(error: LayoutError) -> str:
    return f"refused {error.code} {error.field}: {error.message} | {error.hint}"


def attempt(ask: Callable[[], object]) -> str:
    """What a call answers or refuses, as text."""
    try:
        return str(ask())
    except LayoutError as error:
        return refusal(error)


def holding(functions: str) -> Any:
    """A fixture: what these functions answer or refuse when a test calls them is held by a checksum a test, in every
    part, besides what the test asserts of it; in tests/golden/sums, a file a test file. functions: names as the test
    file has them, "told" or "engine.examine", in one string. Tests of hypothesis are left out.
    """

    @pytest.fixture(autouse=True)
    def held_answers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        told: list[str] = []
        if hasattr(request.function, "hypothesis"):
            yield
            return

        def noting(plain: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(plain)
            def noted(*given: Any, **named: Any) -> Any:
                if not sys._getframe(1).f_globals["__name__"].startswith("tests."):
                    return plain(*given, **named)  # what the engine asks itself depends on what it has at hand
                try:
                    answer = plain(*given, **named)
                except LayoutError as error:
                    told.append(refusal(error))
                    raise
                told.append(whole(answer) if not isinstance(answer, Iterator) else "")
                return answer

            return noted

        for function in functions.split():
            *path, last = function.split(".")
            owner: Any = request.module
            for part in path:
                owner = getattr(owner, part)
            monkeypatch.setattr(owner, last, noting(getattr(owner, last)))
        yield
        if told:
            name = request.module.__name__.split(".")[-1].removeprefix("test_")
            key = request.node.name.encode("unicode_escape").decode()
            held_sum(f"sums/{name}", key, "\n".join(told))

    return held_answers
