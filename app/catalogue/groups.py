"""The catalogue as its page shows it: families, their shapes, and the types of each shape as links. No framework."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lanescope.app.catalogue.facts import FamilyCount, list_chapters
from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.names import list_spelling_words
from lanescope.app.kit.rows import find_group, format_product_types, format_targets
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction


@dataclass(frozen=True, slots=True)
class CatalogueVariant:
    """One instruction: its page, and what distinguishes it from others of its shape with the same types; "" for
    nothing.
    """

    ptx: str
    path: str
    apart: str


@dataclass(frozen=True, slots=True)
class TypeGroup:
    """The instructions of a shape with the same types, the plain one first. text: the types as a product."""

    text: str
    variants: tuple[CatalogueVariant, ...]


@dataclass(frozen=True, slots=True)
class ShapeGroup:
    """The instructions of one shape; the targets and PTX versions that they need, each once."""

    name: str
    types: tuple[TypeGroup, ...]
    targets: tuple[str, ...]
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FamilyGroup:
    """The shapes of one family that are shown. more: how many are not."""

    family: FamilyCount
    count: int
    shapes: tuple[ShapeGroup, ...]
    more: int


def group_instructions(instructions: Iterable[Instruction], max_shapes: int) -> tuple[FamilyGroup, ...]:
    """Group instructions by family and shape, families in the order of the filter. If there are several families, at
    most max_shapes shapes of each are listed.
    """
    by_family: dict[str, dict[str, list[Instruction]]] = {}
    for i in instructions:
        by_family.setdefault(i.family.name, {}).setdefault(find_group(i), []).append(i)
    shape_count = max_shapes if len(by_family) > 1 else len(catalog.instructions())
    return tuple(
        FamilyGroup(
            family,
            sum(map(len, shapes.values())),
            tuple(_group_shape(name, rows) for name, rows in list(shapes.items())[:shape_count]),
            max(0, len(shapes) - shape_count),
        )
        for chapter in list_chapters()
        for family in chapter.families
        if (shapes := by_family.get(family.name))
    )


def _group_shape(name: str, rows: Sequence[Instruction]) -> ShapeGroup:
    supports = [catalog.get_target_support(i) for i in rows]
    versions = sorted({support.ptx_version for support in supports}, key=lambda text: [int(n) for n in text.split(".")])
    targets = sorted({support.targets for support in supports}, key=lambda names: catalog.TARGETS.index(names[0]))
    return ShapeGroup(name, _group_by_types(rows), tuple(map(format_targets, targets)), tuple(versions))


def _group_by_types(rows: Sequence[Instruction]) -> tuple[TypeGroup, ...]:
    by_types: dict[str, list[Instruction]] = {}
    for i in rows:
        by_types.setdefault(format_product_types(i), []).append(i)
    return tuple(TypeGroup(text, _build_variants(members)) for text, members in by_types.items())


def _build_variants(instructions: Sequence[Instruction]) -> tuple[CatalogueVariant, ...]:
    words = [list_spelling_words(i) for i in instructions]
    variants = [
        CatalogueVariant(
            i.ptx,
            link_instruction(i),
            " ".join(word for word in own_words if any(word not in other for other in words)),
        )
        for i, own_words in zip(instructions, words, strict=True)
    ]
    return tuple(sorted(variants, key=lambda variant: variant.apart != ""))


def sort_instructions(instructions: Iterable[Instruction]) -> tuple[Instruction, ...]:
    """Return the same instructions in the order of the page."""
    ptx_texts = (
        v.ptx for g in group_instructions(instructions, 1 << 16) for s in g.shapes for t in s.types for v in t.variants
    )
    return tuple(map(catalog.find, ptx_texts))
