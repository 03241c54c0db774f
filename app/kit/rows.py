"""Rows of the catalogue: the facts that lists of instructions and an instruction's own page share."""

from __future__ import annotations

from typing import Annotated

from lanescope.app.kit.enumerations import ElementType, Family, Target
from lanescope.app.kit.fact import Description, fact
from lanescope.names.form_names import find_issued_kind
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.umma import VECTOR_WORDS as VECTORS


@fact
class Shape:
    """Dimensions; null for one that the instruction does not have."""

    m: int | None
    n: int | None
    k: int | None


@fact
class Types:
    """Element type of each matrix; null for one that the instruction does not have."""

    a: ElementType | None
    b: ElementType | None
    c: ElementType | None
    d: ElementType | None


@fact
class CatalogueRow:
    """The facts that every answer about an instruction begins with."""

    ptx: Annotated[str, Description("The PTX text in its usual spelling.")]
    family: Family
    shape: Shape
    types: Types
    layouts: Annotated[tuple[str, ...], Description("row and col, as the text carries them.")]
    modifiers: Annotated[tuple[str, ...], Description("The other parts of the text.")]
    targets: Annotated[tuple[Target, ...], Description("The architectures for which ptxas makes code of it.")]
    ptx_version: Annotated[str, Description("The least PTX version that reads it.")]


def build_row(instruction: Instruction) -> CatalogueRow:
    """Return the facts that every answer about an instruction begins with."""
    support = catalog.get_target_support(instruction)
    types, sizes = instruction.types, instruction.sizes
    return CatalogueRow(
        ptx=instruction.ptx,
        family=instruction.family.name,
        shape=Shape(m=sizes.get("m"), n=sizes.get("n"), k=sizes.get("k")),
        types=Types(a=types.get("a"), b=types.get("b"), c=types.get("c"), d=types.get("d")),
        layouts=tuple(instruction.syntax.layouts),
        modifiers=tuple(instruction.modifiers),
        targets=tuple(support.targets),
        ptx_version=support.ptx_version,
    )


def describe_shape_and_types(instruction: Instruction) -> tuple[str, str]:
    """Return shape and types of a catalogue row as people write them; instructions that only move data have no product.

    >>> describe_shape_and_types(catalog.find("ldmatrix.m8n8.x4.shared.b16"))
    ('8×8 .x4', 'b16')
    """
    sizes, types = instruction.sizes, instruction.types
    shape = "×".join(str(sizes[dim]) for dim in "mnk" if dim in sizes) or instruction.shape
    shape += "".join(f" .x{count}" for count in instruction.counts.values())
    if {"a", "b", "d"} <= set(types):
        return shape, f"{types['a']} × {types['b']} → {types['d']}"
    if {"a", "d"} <= set(types):
        return shape, f"{types['a']} → {types['d']}"
    if packed := instruction.family.unpacks:
        words = instruction.ptx.split(".")
        return shape, f"{packed} → {words[words.index(packed) - 1]}"
    if instruction.family.issue:
        return shape, find_issued_kind(instruction)
    name, kind = next(iter(types.items()))
    return shape, kind if name == "data" else f"{name.upper()} {kind}"


def find_group(instruction: Instruction) -> str:
    """Return the group of an instruction in a catalogue list: its shape, or the kind if the text has no shape."""
    return instruction.shape or (find_issued_kind(instruction) if instruction.family.issue else "")


def format_product_types(instruction: Instruction) -> str:
    """Return the types as an assignment; for instructions that move matrices, the operand and its type.

    >>> (format_product_types(catalog.find("mma.m16n8k16.row.col.f32.f16.f16.f32")),
    ... format_product_types(catalog.find("ldmatrix.m8n8.x4.b16")))
    ('f32 += f16 × f16', 'b16')
    >>> format_product_types(catalog.find("mma.m8n8k4.row.col.f32.f16.f16.f16"))
    'f32 = f16 × f16 + f16'
    >>> format_product_types(catalog.find("wmma.load.a.row.m16n16k16.f16"))
    'load.a f16'
    """
    types = instruction.types
    if instruction.family.multiplies:
        d, c, factors = types["d"], types.get("c", types["d"]), f"{types['a']} × {types.get('b', types['a'])}"
        return f"{d} += {factors}" if c == d else f"{d} = {factors} + {c}"
    if instruction.family.issue:
        group, vector = instruction.modifiers[0], instruction.modifiers[2:4]
        return " ".join((group, *(word for word in vector if word in VECTORS)))
    words = instruction.family.opcode.text.partition(".")[2]
    operand_types = (
        describe_shape_and_types(instruction)[1] if instruction.family.unpacks else ".".join(instruction.syntax.types)
    )
    return " ".join(filter(None, (words, operand_types)))
