"""The catalogue: its rows, its filters, and the families."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from lanescope.app.kit.enumerations import Family
from lanescope.app.kit.fact import Description, copy_fact, fact
from lanescope.app.kit.rows import CatalogueRow, build_row
from lanescope.errors import LayoutError
from lanescope.names import search
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Family as FamilyRow, Instruction
from lanescope.ptx.overview import get_section
from lanescope.ptx.table.chapters import IsaChapter, get_chapter
from lanescope.ptx.targets import make_unknown_target_error


@dataclass(frozen=True, slots=True)
class CatalogueLimits:
    """Limits of the catalogue.

    table_values: size up to which a map is in an instruction's page as a table; chosen: the only instructions to show,
    or all if it is empty.
    """

    table_values: int = 1024
    chosen: frozenset[str] = frozenset()


@fact
class Summary(CatalogueRow):
    """One row of the catalogue."""

    operands: Annotated[tuple[str, ...], Description("Names for /instructions/{ptx}/operands/{name}.")]


@fact
class Listing:
    """The filtered catalogue."""

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


def count_families() -> list[FamilyCount]:
    """Count the variants of each family, in the contract's order."""
    counts = Counter(instruction.family.name for instruction in catalog.instructions())
    return [
        FamilyCount(
            name=name,
            count=counts[name],
            called=get_section(_find_leading_row(name)),
            sections=tuple(dict.fromkeys(row.opcode.source.section for row in catalog.families() if row.name == name)),
        )
        for name in catalog.FAMILY_NAMES
        if counts[name]
    ]


def _find_leading_row(name: str) -> FamilyRow:
    """Find the row that represents a family: its first product, otherwise its first row."""
    rows = [row for row in catalog.families() if row.name == name]
    return next((row for row in rows if row.multiplies), rows[0])


def list_chapters() -> list[ChapterFamilies]:
    """List the families by the chapter of the PTX ISA that describes them, both in the order of menus."""
    by_chapter: dict[IsaChapter, list[FamilyCount]] = {}
    for family in count_families():
        by_chapter.setdefault(get_chapter(_find_leading_row(family.name).opcode), []).append(family)
    return [
        ChapterFamilies(section=chapter.section, title=chapter.title, families=tuple(families))
        for chapter, families in by_chapter.items()
    ]


FILTERS = search.FILTERS
_ROWS: dict[str, Summary] = {}


def list_instructions(family: str = "", type: str = "", target: str = "", shape: str = "", q: str = "") -> Listing:
    """Filter the catalogue. LayoutError names an unknown filter value and the known ones.

    type matches any operand's type; shape is mMnNkK or a part such as k16; q is the beginnings of words of the PTX
    text, or a pasted PTX line.
    """
    check_filter("family", family, catalog.FAMILY_NAMES)
    check_filter("target", target, catalog.TARGETS)
    check_filter("type", type, catalog.list_element_types())
    matches = search.find_instructions({"family": family, "type": type, "target": target, "shape": shape, "q": q})
    return Listing(count=len(matches), instructions=tuple(_get_summary(i) for i in matches))


def _get_summary(instruction: Instruction) -> Summary:
    if instruction.ptx not in _ROWS:
        _ROWS[instruction.ptx] = copy_fact(Summary, build_row(instruction), operands=tuple(instruction.operand_names))
    return _ROWS[instruction.ptx]


def check_filter(field: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise LayoutError for an unknown value of a filter, with the known ones."""
    if value and value not in allowed:
        if field == "target":
            raise make_unknown_target_error(value, field, "bad_filter")
        raise LayoutError(
            "bad_filter", f"No {field} '{catalog.shorten(value)}'.", f"Allowed: {', '.join(allowed)}.", field
        )
