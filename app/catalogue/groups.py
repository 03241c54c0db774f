"""The catalogue as tables: one group of families at a time, each family as types × shapes; a cell has the forms with
both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.rows import find_group, format_product_types
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog, hardware_runs
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.overview import get_section
from lanescope.ptx.targets import format_targets

_REPEAT = re.compile(r"x\d+|cta_group::\d")
_CLASSES = {"e4m3": "e4m3|e5m2", "e5m2": "e4m3|e5m2", "s8": "s8|u8", "u8": "s8|u8", "s4": "s4|u4", "u4": "s4|u4"}
_SMALL = frozenset({"e2m1", "e2m3", "e3m2"})  # fp4 and fp6


@dataclass(frozen=True, slots=True)
class CatalogueVariant:
    """One form: its page, its name, and whether every device ran it."""

    ptx: str
    path: str
    name: str
    ran: bool


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The forms of a row and a column. state: `ran`, `part` or `open`, for all, some or none that ran."""

    label: str
    variants: tuple[CatalogueVariant, ...]

    @property
    def ran(self) -> int:
        return sum(variant.ran for variant in self.variants)

    @property
    def state(self) -> str:
        return "ran" if self.ran == len(self.variants) else "part" if self.ran else "open"


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """The cells of one row; None for a combination that PTX lacks."""

    text: str
    cells: tuple[MatrixCell | None, ...]


@dataclass(frozen=True, slots=True)
class FamilyMatrix:
    """The forms of a family. axis: name of its columns; targets and versions: those that its forms need."""

    family: str
    called: str
    axis: str
    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    count: int
    targets: str
    section: str


@dataclass(frozen=True, slots=True)
class FormGroup:
    """Forms that are shown together, in the catalogue's order: the name of their tab, and their purpose. leading:
    the family that the tab's address names.
    """

    name: str
    about: str
    leading: str
    forms: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class GroupCount:
    """A group's tab: how many of its forms match, how many of all ran, and how many of the matching ones ran."""

    group: FormGroup
    found: int
    ran: int
    found_ran: int

    @property
    def total(self) -> int:
        return len(self.group.forms)


class GroupKind(IntEnum):
    """The grouping of forms, in the order of the tabs."""

    PRODUCT = 1
    MOVE = 2
    SPARSE = 3
    SCALED = 4
    OPEN = 5  # PTX leaves the layout open


_NAMES = {GroupKind.SPARSE: "sparse", GroupKind.SCALED: "block-scaled"}
_ABOUT = {
    GroupKind.SPARSE: "A holds some elements of every group of a row, and metadata select them",
    GroupKind.SCALED: "A and B of 4 to 8 bits, with a scale factor for each block of K",
}


def find_group_kind(i: Instruction) -> GroupKind:
    """Find the group of a form."""
    family, issue = i.family, i.family.issue
    if i.scales or (issue and issue.factors):
        return GroupKind.SCALED
    if (issue and issue.sparse) or any(operand.kept_of_group for operand in i.operands.values()):
        return GroupKind.SPARSE
    if not family.specified:
        return GroupKind.OPEN
    return GroupKind.PRODUCT if family.multiplies or family.tensor else GroupKind.MOVE


def group_forms(instructions: Iterable[Instruction]) -> list[FormGroup]:
    """Group forms: sparse and block-scaled products, data movement, and the others by the beginning of the opcode."""
    found: dict[tuple[GroupKind, str], list[Instruction]] = {}
    for i in instructions:
        kind = find_group_kind(i)
        head = "" if kind is GroupKind.MOVE else i.family.opcode.words[0]
        found.setdefault((kind, _NAMES.get(kind, head)), []).append(i)
    return [
        _make_group(kind, name, forms) for (kind, name), forms in sorted(found.items(), key=lambda item: item[0][0])
    ]


def _make_group(kind: GroupKind, name: str, forms: Sequence[Instruction]) -> FormGroup:
    first = next((i for i in forms if i.family.multiplies or i.family.issue), forms[0])
    about = _ABOUT.get(kind, first.family.opcode.does)
    return FormGroup(name or first.family.opcode.words[0], about, first.family.name, tuple(forms))


def count_groups(every: Iterable[Instruction], found: Iterable[Instruction]) -> list[GroupCount]:
    """Count the forms of each group."""
    wanted = {i.ptx for i in found}
    counts = []
    for group in group_forms(every):
        mine = [i for i in group.forms if i.ptx in wanted]
        ran, found_ran = (sum(map(hardware_runs.has_run, forms)) for forms in (group.forms, mine))
        counts.append(GroupCount(group, len(mine), ran, found_ran))
    return counts


def build_matrices(instructions: Iterable[Instruction], first: str = "") -> list[FamilyMatrix]:
    """Build the matrices of a group's families, in the catalogue's order but the family `first` before the others."""
    families: dict[str, list[Instruction]] = {}
    for i in instructions:
        families.setdefault(i.family.name, []).append(i)
    return [_build_matrix(families[name]) for name in sorted(families, key=lambda name: name != first)]


def sort_instructions(instructions: Iterable[Instruction]) -> tuple[Instruction, ...]:
    """Sort instructions in the order of a page that shows all groups."""
    return tuple(
        catalog.find(variant.ptx)
        for group in group_forms(instructions)
        for matrix in build_matrices(group.forms)
        for row in matrix.rows
        for cell in row.cells
        if cell is not None
        for variant in cell.variants
    )


def _build_matrix(forms: Sequence[Instruction]) -> FamilyMatrix:
    cells: dict[str, dict[str, list[Instruction]]] = {}
    for i in forms:
        cells.setdefault(_name_row(i), {}).setdefault(_name_column(i), []).append(i)
    columns = sorted({column for row in cells.values() for column in row}, key=_sort_column)
    supports = sorted(
        {catalog.get_target_support(i).targets for i in forms}, key=lambda names: catalog.TARGETS.index(names[0])
    )
    return FamilyMatrix(
        family=forms[0].family.name,
        called=get_section(forms[0].family),
        axis=_name_axis(forms[0]),
        columns=tuple(columns),
        rows=tuple(
            MatrixRow(text, tuple(_build_cell(column, row.get(column, ())) for column in columns))
            for text, row in cells.items()
        ),
        count=len(forms),
        targets=" · ".join(map(format_targets, supports)),
        section=forms[0].family.opcode.source.section,
    )


def _build_cell(column: str, forms: Sequence[Instruction]) -> MatrixCell | None:
    variants = [
        CatalogueVariant(i.ptx, link_instruction(i), name_form(i).text, hardware_runs.has_run(i)) for i in forms
    ]
    label = re.sub(r"^m\d+n\d+(?=k\d)", "", column).replace("cta_group::", "cta ") or "open"
    return MatrixCell(label, tuple(variants)) if variants else None


def _has_columns_of_n(i: Instruction) -> bool:
    """Return whether only N distinguishes the shapes of a form's family: M is 64, and K follows from the types."""
    return i.family.multiplies and i.family.by_descriptor


def _name_axis(i: Instruction) -> str:
    if _has_columns_of_n(i):
        return "N of m64nNk"
    if not _name_column(i).startswith("x"):
        return "types"
    return "repeat" if i.family.tensor else "matrices"


def _name_column(i: Instruction) -> str:
    """Return the name of an instruction's column: N, the repeat or the CTA group if it has one, otherwise the shape."""
    if _has_columns_of_n(i):
        return str(i.sizes["n"])
    return next((word for word in i.modifiers if _REPEAT.fullmatch(word)), i.shape)


def _name_scaled_row(i: Instruction) -> str:
    """Return the name of a block-scaled instruction's row: its kind, its scale factors, and whether A is sparse."""
    words = [word for word in i.modifiers if word.startswith(("kind::", "scale_vec::"))]
    sparse = ["sp"] if any(operand.kept_of_group for operand in i.operands.values()) else []
    return " ".join((*(word.partition("::")[2] for word in words), i.types["s"], *sparse))


def _name_row(i: Instruction) -> str:
    """Return the name of an instruction's row: the types with interchangeable ones merged, or its remaining words."""
    if i.scales:
        return _name_scaled_row(i)
    if i.family.multiplies:
        types = _merge_types(i)
        return f"{types} · k{i.sizes['k']}" if _has_columns_of_n(i) else types
    if not i.family.specified:
        return format_product_types(i)
    column, left_out = _name_column(i), {*catalog.SPACES, "block_scale"}
    words = [word for word in i.modifiers if word != column and word not in left_out and "collector" not in word]
    shape = [] if i.family.issue or column == i.shape else [find_group(i)]
    rest = [] if i.family.issue else [word for word in i.syntax.types if word not in words]
    return " ".join((*shape, *words, *rest))


def _merge_types(i: Instruction) -> str:
    """Return the product of a form's types, with types that are allowed in any combination merged."""
    types = i.types
    d, a, b = (types[name] for name in "dab")
    c = types.get("c", d)
    factors = f"{_CLASSES.get(a, a)} × {_CLASSES.get(b, b)}"
    if "kind::f8f6f4" in i.modifiers and {a, b} & _SMALL:
        factors = "f8f6f4, with fp4 or fp6"
    elif a == b and a not in _CLASSES:
        factors = f"{a} × {b}"
    return f"{d} += {factors}" if c == d else f"{d} = {factors} + {c}"


def _sort_column(column: str) -> tuple[int, ...]:
    sizes = [int(number) for number in re.findall(r"\d+", column)]
    return (-sizes[0], *sizes[1:]) if column[:1] == "m" else tuple(sizes)
