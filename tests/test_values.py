"""What holds of every value type of the engine: immutable, and without room for a misspelt attribute."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Iterator

import lanescope
from lanescope.ptx.instruction import Family  # its defaults are class attributes

READING = {"lanescope.reader.terms.TermText"}  # a text while it is read


def list_value_types() -> Iterator[type]:
    for found in pkgutil.walk_packages(lanescope.__path__, "lanescope."):
        module = importlib.import_module(found.name)
        yield from (
            kind
            for kind in vars(module).values()
            if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == found.name
        )


def caches(kind: type) -> bool:
    """Whether a class, a base or a subclass has a cached property, which needs the __dict__ that slots replace."""
    own = any(isinstance(member, functools.cached_property) for one in kind.__mro__ for member in vars(one).values())
    return own or any(caches(one) for one in kind.__subclasses__())


def test_a_value_does_not_change() -> None:
    """Private classes and those of the evaluator of code may be state, which does."""
    every = list(list_value_types())
    assert len(every) > 200
    for kind in every:
        if kind.__module__.startswith("lanescope.reader.code.") or kind.__name__.startswith("_"):
            continue
        if f"{kind.__module__}.{kind.__name__}" in READING:
            continue
        assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]
        assert kind is Family or caches(kind) or "__slots__" in vars(kind), kind


def test_arrays_that_are_shared_cannot_be_written() -> None:
    """What is computed once and given to everybody: a caller that changed it would change it for all."""
    instruction = lanescope.find("mma.m16n8k16.row.col.f32.f16.f16.f32")
    tiled = lanescope.tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)")
    copied = lanescope.tiled_copy(
        "cp.async", tile=(64, 64), bits=128, element_bits=16, thr_layout="(16,8):(8,1)", val_layout="(1,8)"
    )
    shared = [
        array
        for op in instruction.operands.values()
        for array in (*op.pattern.evaluate(), *op.pattern.inverse(), op.rows, op.cols)
    ]
    shared += [array for op in (tiled.a, tiled.b, tiled.c) for array in (op.rows, op.cols)]
    shared += [copied.source.rows, copied.source.cols]
    assert not any(array.flags.writeable for array in shared)
