"""The catalogue as its page shows it: one group of families at a time, each family as types × shapes, a cell the forms
that have both. No framework.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lanescope.app.kit.links import link_instruction
from lanescope.app.kit.names import name_form
from lanescope.app.kit.rows import find_group, format_product_types, format_targets
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.overview import get_section

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
    """The cells of one line, None where no form is."""

    text: str
    cells: tuple[MatrixCell | None, ...]


@dataclass(frozen=True, slots=True)
class FamilyMatrix:
    """The forms of a family. axis: what its columns are; targets and versions: those that its forms need."""

    family: str
    called: str
    axis: str
    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    count: int
    targets: str
    section: str


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group of families: the name of its tab, what its instructions do, and the family that its address names."""

    name: str
    about: str
    leading: str
    has: Callable[[Instruction], bool]


@dataclass(frozen=True, slots=True)
class GroupCount:
    """A group's tab: how many forms it has, how many of them are found, and how many ran."""

    row: GroupRow
    total: int
    found: int
    ran: int


def _is_scaled(i: Instruction) -> bool:
    return i.family.name == "mma_scaled" or "block_scale" in i.modifiers


def _is_sparse(i: Instruction) -> bool:
    return "sp" in i.family.name.split("_")


GROUPS = (  # the first that has an instruction takes it; shown in the order of `leading`
    GroupRow("block-scaled", "A and B of 4 to 8 bits with scale factors", "mma_scaled", _is_scaled),
    GroupRow("sparse", "A has two of four elements, and metadata says which", "mma_sp", _is_sparse),
    GroupRow("mma", "one warp; A, B, C and D in registers", "mma", lambda i: i.family.name == "mma"),
    GroupRow(
        "wgmma",
        "one warpgroup; B, and A if you like, in shared memory through a descriptor; M is 64",
        "wgmma",
        lambda i: i.family.name == "wgmma",
    ),
    GroupRow(
        "tcgen05",
        "one thread issues; D in tensor memory, A and B through descriptors",
        "tcgen05_mma",
        lambda i: i.family.name.startswith("tcgen05"),
    ),
    GroupRow(
        "ldmatrix",
        "one warp; 8 × 8 matrices between shared memory and registers",
        "ldmatrix",
        lambda i: i.family.name in ("ldmatrix", "stmatrix", "movmatrix"),
    ),
    GroupRow("wmma", "one warp; fragments whose layout PTX leaves open", "wmma", lambda i: i.family.name == "wmma"),
)
ORDER = ("mma", "wgmma", "tcgen05", "ldmatrix", "sparse", "block-scaled", "wmma")


def find_group_row(instruction: Instruction) -> GroupRow:
    """Find the group that an instruction is shown in."""
    return next(row for row in GROUPS if row.has(instruction))


def split_groups(instructions: Iterable[Instruction]) -> dict[str, list[Instruction]]:
    """Split instructions by the name of their group, groups in the order of the tabs."""
    groups: dict[str, list[Instruction]] = {name: [] for name in ORDER}
    for i in instructions:
        groups[find_group_row(i).name].append(i)
    return groups


def count_groups(every: Iterable[Instruction], found: Iterable[Instruction]) -> list[GroupCount]:
    """Count the forms of each group."""
    rows = {row.name: row for row in GROUPS}
    all_forms, found_forms = split_groups(every), split_groups(found)
    return [
        GroupCount(rows[name], len(forms), len(found_forms[name]), sum(map(catalog.has_run, forms)))
        for name, forms in all_forms.items()
    ]


def build_matrices(instructions: Iterable[Instruction], first: str = "") -> list[FamilyMatrix]:
    """Build the matrices of a group's families, in the catalogue's order but the family `first` before the others."""
    families: dict[str, list[Instruction]] = {}
    for i in instructions:
        families.setdefault(i.family.name, []).append(i)
    return [_build_matrix(families[name]) for name in sorted(families, key=lambda name: name != first)]


def sort_instructions(instructions: Iterable[Instruction]) -> tuple[Instruction, ...]:
    """Return the same instructions in the order of a page that shows all groups."""
    return tuple(
        catalog.find(variant.ptx)
        for forms in split_groups(instructions).values()
        for matrix in build_matrices(forms)
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
    variants = [CatalogueVariant(i.ptx, link_instruction(i), name_form(i).text, catalog.has_run(i)) for i in forms]
    label = re.sub(r"^m\d+n\d+(?=k\d)", "", column).replace("cta_group::", "cta ") or "open"
    return MatrixCell(label, tuple(variants)) if variants else None


def _name_axis(i: Instruction) -> str:
    if i.family.name.startswith("wgmma"):
        return "N of m64nNk"
    column = _name_column(i)
    return "matrices" if column[:1] == "x" and "matrix" in i.family.name else "repeat" if column[:1] == "x" else "types"


def _name_column(i: Instruction) -> str:
    """Return what an instruction's column is: N for wgmma, the repeat or the CTA group of what has one, else the
    shape.
    """
    if i.family.name.startswith("wgmma"):
        return str(i.sizes["n"])
    return next((word for word in i.modifiers if _REPEAT.fullmatch(word)), i.shape)


def _name_row(i: Instruction) -> str:
    """Return what an instruction's row is: the types with those alike as one, or the words beside its column."""
    if i.family.name == "mma_scaled":
        words = [word for word in i.modifiers if word.startswith(("kind::", "scale_vec::"))]
        sparse = ["sp"] if ".sp" in i.ptx else []
        return " ".join((*(word.partition("::")[2] for word in words), i.types["s"], *sparse))
    if i.family.multiplies:
        types = _merge_types(i)
        return f"{types} · k{i.sizes['k']}" if i.family.name.startswith("wgmma") else types
    if i.family.name == "wmma":
        return format_product_types(i)
    column, left_out = _name_column(i), {*catalog.SPACES, "block_scale"}
    words = [word for word in i.modifiers if word != column and word not in left_out and "collector" not in word]
    shape = [] if i.family.issue or column == i.shape else [find_group(i)]
    rest = [] if i.family.issue else [word for word in i.syntax.types if word not in words]
    return " ".join((*shape, *words, *rest))


def _merge_types(i: Instruction) -> str:
    """Return the product of a form's types, those that an instruction takes in any combination as one."""
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
