"""The catalogue as its page shows it: families, their shapes, and the types of each shape as links. No framework."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lanescope.app.catalogue.facts import FamilyCount, chapters
from lanescope.app.kit.links import path_of
from lanescope.app.kit.rows import group_of, product, since
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.syntax import SILENT


@dataclass(frozen=True, slots=True)
class Variant:
    """One instruction: its page, and what tells it from others of its shape with the same types; "" for nothing."""

    ptx: str
    path: str
    apart: str


@dataclass(frozen=True, slots=True)
class Types:
    """The instructions of a shape with the same types, `text`: those as a product. The plain one first."""

    text: str
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """The instructions of one shape; the targets and PTX versions that they need, each once."""

    name: str
    types: tuple[Types, ...]
    targets: tuple[str, ...]
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The shapes of one family that are shown; `more`: how many are not."""

    family: FamilyCount
    count: int
    shapes: tuple[Shape, ...]
    more: int


def groups(found: Iterable[Instruction], most: int) -> tuple[Group, ...]:
    """Instructions by family and shape, families in the order of the filter; at most so many shapes of each where
    there are several families.
    """
    held: dict[str, dict[str, list[Instruction]]] = {}
    for i in found:
        held.setdefault(i.family.name, {}).setdefault(group_of(i), []).append(i)
    shown = most if len(held) > 1 else len(catalog.instructions())
    return tuple(
        Group(
            family,
            sum(map(len, shapes.values())),
            tuple(_shape(name, rows) for name, rows in list(shapes.items())[:shown]),
            max(0, len(shapes) - shown),
        )
        for chapter in chapters()
        for family in chapter.families
        if (shapes := held.get(family.name))
    )


def _shape(name: str, rows: Sequence[Instruction]) -> Shape:
    known = [catalog.assembled(i) for i in rows]
    versions = sorted({one.ptx_version for one in known}, key=lambda text: [int(n) for n in text.split(".")])
    targets = sorted({one.targets for one in known}, key=lambda names: catalog.TARGETS.index(names[0]))
    return Shape(name, _types(rows), tuple(map(since, targets)), tuple(versions))


def _types(rows: Sequence[Instruction]) -> tuple[Types, ...]:
    alike: dict[str, list[Instruction]] = {}
    for i in rows:
        alike.setdefault(product(i), []).append(i)
    return tuple(Types(text, _variants(held)) for text, held in alike.items())


def _variants(alike: Sequence[Instruction]) -> tuple[Variant, ...]:
    words = [_words(i) for i in alike]
    out = [
        Variant(i.ptx, path_of(i), " ".join(word for word in own if any(word not in other for other in words)))
        for i, own in zip(alike, words, strict=True)
    ]
    return tuple(sorted(out, key=lambda variant: variant.apart != ""))


def _words(i: Instruction) -> list[str]:
    """What a text says beside its shape: opcode, the layouts together, modifiers and types."""
    syntax = i.syntax
    words = [*re.split(r"\.|::", syntax.opcode), ".".join(syntax.layouts), *syntax.modifiers, *syntax.types]
    return [word for word in words if word and word not in SILENT and word not in catalog.SPACES]


def in_order(found: Iterable[Instruction]) -> tuple[Instruction, ...]:
    """The same instructions as the page lists them."""
    shown = (v.ptx for g in groups(found, 1 << 16) for s in g.shapes for t in s.types for v in t.variants)
    return tuple(map(catalog.find, shown))
