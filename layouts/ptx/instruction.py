"""Family → Instruction → Operand: frozen rows that check their invariants when they are bound.

A Family is one row of a table. Binding a shape, types and options gives an Instruction, whose Operands carry the bound
patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod

from lanescope.errors import LayoutError
from lanescope.notebook import NotebookObject
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.metadata import ScaleOperandMap, SparseRow
from lanescope.ptx.operand import Operand as Operand, get_plane_axes as get_plane_axes
from lanescope.ptx.pattern import Pattern
from lanescope.ptx.role import (
    SCOPES as SCOPES,
    WARP as WARP,
    WARPGROUP as WARPGROUP,
    ExecutionScope as ExecutionScope,
    InstructionVerb as InstructionVerb,
    OpcodeWords as OpcodeWords,
    OperandFeed as OperandFeed,
    OperandPlace as OperandPlace,
    SourceReference as SourceReference,
    TmemIssue,
    cite_ptx as cite_ptx,
)
from lanescope.ptx.syntax import OpcodeSyntax, parse_sizes

# Block-scale factors, S blocks a row or column: h is the thread-id, y the byte-id's step. PTX ISA 9.1, 9.7.14.3.
SCALES = {"scale_a": "(g:8 h:2 i:2) (y:4/S b:S) -> (i g) (b)", "scale_b": "(g:8 h:4) (y:4/S b:S) -> (g) (b)"}


@dataclass(frozen=True)
class Instruction(NotebookObject):
    """One PTX instruction: a family with its shape, types and options bound."""

    ptx: str
    family: Family
    shape: str
    types: dict[str, str] = field(hash=False)
    sizes: dict[str, int] = field(hash=False)
    listed: str = ""

    @property
    def listed_ptx(self) -> str:
        """The PTX text under which the catalogue lists it: without the state space that `in_space` added."""
        return self.listed or self.ptx

    @cached_property
    def syntax(self) -> OpcodeSyntax:
        return OpcodeSyntax.parse(self.ptx, self.family.opcode.words[1:])

    @property
    def modifiers(self) -> tuple[str, ...]:
        return self.syntax.modifiers

    @property
    def threads(self) -> int:
        return self.family.scope.threads

    @cached_property
    def operands(self) -> dict[str, Operand]:
        return {op.name: op for op in self.family.bind_operands(self)}

    def operand(self, name: str) -> Operand:
        """Return one operand by its PTX letter; LayoutError lists the operands."""
        key = str(name).lower()
        if key in self.operands:
            return self.operands[key]
        if not self.operands and key in self.operand_names:
            raise LayoutError(
                "operand_open",
                f"The shape of operand '{name}' of {self.ptx} is unknown: its text has neither M nor N nor the types.",
                "Give the instruction descriptor (idesc), or m, n and the types. /idesc builds the descriptor.",
                "idesc",
            )
        elsewhere = self.family.elsewhere.get(key)
        if elsewhere:
            raise LayoutError(
                "operand_not_in_registers", f"Operand '{name}' of {self.ptx} has no register map.", elsewhere, "operand"
            )
        raise LayoutError(
            "unknown_operand",
            f"{self.ptx} has no operand '{name}'.",
            f"It has {', '.join(self.operand_names)}.",
            "operand",
        )

    @property
    def operand_names(self) -> tuple[str, ...]:
        """The names of all operands with a map: fragments, scales and addresses."""
        return self.family.operand_names

    @cached_property
    def scales(self) -> dict[str, ScaleOperandMap]:
        """The maps of scale_a and scale_b of a block-scaled instruction; empty for others."""
        blocks = self.family.scale_blocks
        if not blocks:
            return {}
        element = get_dtype(self.types["s"])
        return {
            name: ScaleOperandMap(name, element, Pattern.parse(text, S=blocks), blocks) for name, text in SCALES.items()
        }

    @cached_property
    def address(self) -> Operand | None:
        """The map from lane to the (matrix, row, 0) whose address it supplies; without the lanes that supply none."""
        if not self.family.address:
            return None
        pattern = Pattern.parse(self.family.address, **self.sizes, **self.counts)
        axes = ("matrix", "row", "col")
        return Operand(
            "address",
            get_dtype("u32"),
            32,
            pattern=pattern,
            axes=axes,
            dims=("row", "col"),
            threads=pattern.thread_count,
            source=self.family.source,
        )

    def in_space(self, space: str) -> Instruction:
        """Return the same load or store with a state space in its text; "" means generic addressing."""
        spaces = self.family.spaces
        if not spaces:
            return self
        tokens = [token for token in self.ptx.split(".") if token not in spaces]
        types = 2 if self.family.unpacks else 1
        text = ".".join(filter(None, (*tokens[:-types], space, *tokens[-types:])))  # PTX writes it before the types
        return replace(self, ptx=text, listed=self.listed_ptx)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Further sizes for patterns: x, the number of matrices or repetitions of a load or store."""
        return next(({"x": int(m[1:])} for m in self.modifiers if re.fullmatch(r"x\d+", m)), {})


@dataclass(frozen=True)
class Family:
    """One row of a table.

    name      the family of the contract: mma, wgmma, …
    opcode    the words the PTX text begins with, and what they do
    ptx       the PTX text; {shape}, {d} {a} {b} {c} and the names of `options` are filled in
    verb      multiply, load, store, move, copy or shift
    scope     the threads that execute it together, or the lanes of tensor memory that hold its operands
    memory    where a load reads and a store writes, None for other verbs
    reads     multiplicand → where it may be, for those that need not be in registers
    specified whether PTX specifies the fragments; if not, only the family's own loads and stores may fill them
    types     one string a variant: the types in the order of `slots`
    fragments operand → pattern, its sizes in m, n, k and v (elements a register)
    container bits an element takes in its register if that is more than its size (f8f6f4: 8)
    elsewhere operand → why it has no register map
    note      a remark for users: emulated, unspecified, …
    unpacks   the packed format in memory whose elements a load widens to `container`
    exits     whether its behavior is undefined after a lane has exited
    ordered_by  the instructions that keep it in order, by name
    agrees    other projects with the same maps, and how many maps; "" if none
    shift     lanes that rows move by, 0 if none
    issue     what the text of a product in tensor memory says; the rest is bound from an instruction descriptor
    menu      position in menus, lowest first; rows with the same number keep the tables' order
    address   ldmatrix and stmatrix: (lane) → (matrix, row) whose address it supplies
    spaces    state spaces that the text may have; the table lists it with the one in `ptx`
    sparsity  the structured sparsity of A; scale_blocks: scale factors along K per row of A and column of B
    deprecated  why new code should not use it, "" if it may
    by_descriptor  derived: whether a multiplicand may come from shared memory through a matrix descriptor
    measured  the file of the map measured on hardware that this row's maps are tested against
    """

    name: str
    opcode: OpcodeWords
    ptx: str
    shapes: tuple[str, ...]
    types: tuple[str, ...]
    fragments: dict[str, str]
    source: SourceReference
    verb: InstructionVerb = InstructionVerb.MULTIPLY
    scope: ExecutionScope = WARP
    memory: OperandPlace | None = None
    reads: Mapping[str, tuple[OperandPlace, ...]] = field(default_factory=dict)
    specified: bool = True
    slots: str = "d a b c"
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    container: int = 0
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    note: str = ""
    unpacks: str = ""
    exits: bool = True
    ordered_by: tuple[str, ...] = ()
    agrees: str = ""
    shift: int = 0
    issue: TmemIssue | None = None
    menu: int = 0
    address: str = ""
    spaces: tuple[str, ...] = ()
    sparsity: SparseRow | None = None
    scale_blocks: int = 0
    deprecated: str = ""
    measured: str = ""
    by_descriptor: bool = field(init=False)

    def __hash__(self) -> int:
        return id(self)

    def __post_init__(self) -> None:
        if not self.ptx.startswith(self.opcode.text):
            raise LayoutError("bad_row", f"'{self.ptx}' does not begin with its opcode '{self.opcode.text}'.")
        if (self.memory is not None) != (self.verb in (InstructionVerb.LOAD, InstructionVerb.STORE)):
            raise LayoutError(
                "bad_row",
                f"'{self.ptx}': {self.verb} with memory {self.memory}.",
                "Loads and stores have memory, other verbs have none.",
            )
        reads = self.multiplies and any(OperandPlace.DESCRIPTOR in places for places in self.reads.values())
        object.__setattr__(self, "by_descriptor", reads)

    @property
    def multiplies(self) -> bool:
        return self.verb is InstructionVerb.MULTIPLY

    @property
    def loads(self) -> bool:
        return self.verb is InstructionVerb.LOAD

    @property
    def stores(self) -> bool:
        return self.verb is InstructionVerb.STORE

    @property
    def moves(self) -> bool:
        """Whether it only moves registers."""
        return self.verb is InstructionVerb.MOVE

    @property
    def tensor(self) -> bool:
        """Whether it works on tensor memory."""
        return OperandPlace.TENSOR in (self.memory, self.scope.place)

    @property
    def feed(self) -> OperandFeed:
        """How A and B of a product reach the instruction."""
        if self.by_descriptor:
            return OperandFeed.DESCRIPTOR
        return OperandFeed.MAP if self.specified else OperandFeed.LOADS

    @property
    def in_place(self) -> bool:
        """Whether D overwrites C."""
        return self.multiplies and "c" not in self.fragments

    @property
    def operand_names(self) -> tuple[str, ...]:
        """The names of the operands of every instruction of the row, without parsing a pattern."""
        letters = tuple(self.fragments) or (self.issue.operands if self.issue else ())
        return (*letters, *(SCALES if self.scale_blocks else ()), *(("address",) if self.address else ()))

    @property
    def forms(self) -> tuple[str, ...]:
        """The places that A may come from: "registers", "shared", "tensor"."""
        words = {OperandPlace.REGISTERS: "registers", OperandPlace.DESCRIPTOR: "shared", OperandPlace.TENSOR: "tensor"}
        return tuple(words[place] for place in self.reads.get("a", (OperandPlace.REGISTERS,)) if place in words)

    def generate_instructions(self) -> Iterator[Instruction]:
        """Yield every variant of the row, in the table's order."""
        return (instruction for shape in self.shapes for instruction in self.bind_shape(shape))

    def bind_shape(self, shape: str) -> Iterator[Instruction]:
        """Yield the variants of one shape of the row, in the table's order."""
        sizes = parse_sizes(shape)
        if shape and not sizes:
            raise LayoutError("bad_row", f"'{shape}' in '{self.ptx}' is not a shape.", "Allowed: m16n8k16, 16x64b.")
        for types in self.types:
            bound = dict(zip(self.slots.split(), types.split(), strict=True))
            for choice in product(*self.options.values()):
                text = self.ptx.format(shape=shape, **bound, **dict(zip(self.options, choice, strict=True)))
                yield Instruction(text, self, shape, bound, sizes)

    def bind_operands(self, instruction: Instruction) -> Iterator[Operand]:
        """Yield the operands of one instruction of this family; LayoutError if a pattern does not cover its matrix."""
        sizes, types = instruction.sizes, instruction.types
        for name, text in self.fragments.items():
            element = get_dtype(types.get(name) or types["d"])
            bits = max(element.bits, self.container if name in "ab" else 0)
            axes = self.axes.get(name, ("row", "col"))
            dims = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n"), "d": ("m", "n")}.get(name, get_plane_axes(axes))
            pattern = Pattern.parse(text, v=element.register_bits // bits, **sizes, **instruction.counts)
            sparsity = self.sparsity.bind_sizes(sizes) if self.sparsity and name == "a" else None
            threads, source = self.scope.threads, self.source
            operand = Operand(
                name,
                element,
                bits,
                pattern=pattern,
                axes=axes,
                dims=dims,
                threads=threads,
                source=source,
                sparsity=sparsity,
                holder_scope=self.scope,
            )
            expected = tuple(sizes.get(dim, 0) for dim in dims)
            if all(expected) and (operand.row_count, operand.dense_col_count) != expected:
                raise LayoutError(
                    "bad_row", f"{instruction.ptx}: '{pattern}' covers {operand.extents}, the matrix is {expected}."
                )
            elements = operand.threads * operand.values
            if elements != prod(pattern.extents) * pattern.copies:
                raise LayoutError(
                    "bad_row", f"{instruction.ptx}: {elements} values do not hold {pattern.extents} × {pattern.copies}."
                )
            yield operand


def cross_types(template: str, **choices: str) -> tuple[str, ...]:
    """Return every combination of types: cross_types("s32 {a} {b} s32", a="s8 u8", b="s8 u8") gives four strings."""
    keys = list(choices)
    return tuple(
        template.format(**dict(zip(keys, combination, strict=True)))
        for combination in product(*(choices[key].split() for key in keys))
    )
