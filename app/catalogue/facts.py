"""The catalogue: its rows, what narrows them, and the families. No framework."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from app.catalogue import search
from app.kit.fact import Says, extended, fact
from app.kit.links import path_of
from app.kit.names import Family, known_types
from app.kit.rows import Row, row
from layouts import catalog
from layouts.errors import LayoutError
from layouts.instruction import Family as FamilyRow
from layouts.instruction import Instruction
from layouts.overview import section
from layouts.render.svg import svg
from layouts.table.chapters import Chapter, chapter_of
from layouts.view import figure_of

FAVOURITES = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many rows the catalogue shows at once, and up to how many values a map stands in its page as a table."""

    rows: int = 200
    table_values: int = 1024


@fact
class Summary(Row):
    """One row of the catalogue."""

    operands: Annotated[tuple[str, ...], Says("Names for /instructions/{ptx}/operands/{name}.")]


@fact
class Listing:
    """The catalogue, narrowed by the filters."""

    count: int
    instructions: tuple[Summary, ...]


@fact
class FamilyCount:
    """A family as PTX writes it, how many variants it has, and the sections of the PTX ISA with its opcodes' syntax."""

    name: Family
    count: int
    called: str
    sections: tuple[str, ...]


@fact
class ChapterFamilies:
    """A chapter of the PTX ISA with its families."""

    section: str
    title: str
    families: tuple[FamilyCount, ...]


@fact
class Thumbnail:
    """An instruction that people look for, with its figure."""

    ptx: str
    path: str
    svg: str
    types: tuple[str, ...]
    shape: str
    family: Family


def family_counts() -> list[FamilyCount]:
    """Families in the contract's order with their number of variants."""
    counts = Counter(instruction.family.name for instruction in catalog.instructions())
    return [
        FamilyCount(
            name=name,
            count=counts[name],
            called=section(_first(name)),
            sections=tuple(dict.fromkeys(row.opcode.source.section for row in catalog.families() if row.name == name)),
        )
        for name in catalog.FAMILY_NAMES
        if counts[name]
    ]


def _first(name: str) -> FamilyRow:
    """The row that a family is called by: its first product, else its first row."""
    rows = [row for row in catalog.families() if row.name == name]
    return next((row for row in rows if row.multiplies), rows[0])


def chapters() -> list[ChapterFamilies]:
    """The families by the chapter of the PTX ISA that describes them, both in the order of menus."""
    held: dict[Chapter, list[FamilyCount]] = {}
    for family in family_counts():
        held.setdefault(chapter_of(_first(family.name).opcode), []).append(family)
    return [
        ChapterFamilies(section=chapter.section, title=chapter.title, families=tuple(families))
        for chapter, families in held.items()
    ]


def known_shapes() -> list[str]:
    """Every shape, small ones first."""
    return sorted(
        {i.shape for i in catalog.instructions()}, key=lambda shape: [int(n) for n in re.findall(r"\d+", shape)]
    )


def thumbnails() -> list[Thumbnail]:
    """The instructions people look for most, each with its figure."""
    out = []
    for name in FAVOURITES:
        found = catalog.find(name)
        picture = svg(figure_of(found), title=name, colour="g", label="none", palette=None)
        out.append(
            Thumbnail(
                ptx=name,
                path=path_of(found),
                svg=picture,
                types=found.syntax.types,
                shape=found.shape,
                family=found.family.name,
            )
        )
    return out


FILTERS = search.FILTERS
_ROWS: dict[str, Summary] = {}


def listing(family: str = "", type: str = "", target: str = "", shape: str = "", q: str = "") -> Listing:
    """The catalogue, narrowed. LayoutError names an unknown filter value and the known ones.

    type matches any operand's type; shape is mMnNkK or a part such as k16; q is the beginnings of words of the PTX
    text, or a pasted PTX line.
    """
    _check("family", family, catalog.FAMILY_NAMES)
    _check("target", target, catalog.TARGETS)
    _check("type", type, known_types())
    found = search.find({"family": family, "type": type, "target": target, "shape": shape, "q": q})
    return Listing(count=len(found), instructions=tuple(_summary_of(i) for i in found))


def _summary_of(instruction: Instruction) -> Summary:
    if instruction.ptx not in _ROWS:
        _ROWS[instruction.ptx] = extended(row(instruction), Summary, operands=tuple(instruction.operand_names))
    return _ROWS[instruction.ptx]


def _check(field: str, given: str, allowed: tuple[str, ...]) -> None:
    if given and given not in allowed:
        raise LayoutError(
            "bad_filter", f"No {field} '{catalog.shorten(given)}'.", f"Allowed: {', '.join(allowed)}.", field
        )
