"""Family → Instruction → Operand: frozen rows that prove their invariants when they are bound.

A Family is one row of a table, as one PTX fragment page is; binding a shape, types and options gives an Instruction, whose
Operands carry the bound patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from layouts.dtypes import DTYPES, DType, dtype
from layouts.errors import LayoutError
from layouts.metadata import Scale, SparseRow, Sparsity
from layouts.pattern import IntArray, Pattern, Words

WARP, WARPGROUP = 32, 128

# Block-scale factors, S blocks a row or column: h is the thread-id, y the byte-id's step. PTX ISA 9.1, 9.7.14.3.
SCALES = {"scale_a": "(g:8 h:2 i:2) (y:4/S b:S) -> (i g) (b)", "scale_b": "(g:8 h:4) (y:4/S b:S) -> (g) (b)"}

_GROUP_WORDS = (("g", "groupID", "%laneid >> 2"), ("t", "threadID_in_group", "%laneid % 4"))
WORDS = {
    WARP: Words("%laneid", "i", _GROUP_WORDS),
    WARPGROUP: Words("thread", "i", (("w", "warp_in_group", "%warpid % 4"), *_GROUP_WORDS)),
}
_EXPECTED = {"g": 8, "t": 4, "w": 4}

SHAPE = re.compile(r"m(\d+)n(\d+)(?:k(\d+))?\Z")
LAYOUTS = ("row", "col")
_OPCODE_WORDS = {"mma_async", "sp", "sp::ordered_metadata", "load", "store", "mma", "a", "b", "c", "d"}
SILENT = {"sync", "aligned"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact stands: the document, its section or line, and what it says."""

    document: str
    section: str

    def __str__(self) -> str:
        return f"{self.document}, {self.section}"


def PTX(section: str) -> Source:
    """A section of the PTX ISA 9.1."""
    return Source("PTX ISA 9.1", section)


@dataclass(frozen=True, slots=True)
class Syntax:
    """A PTX opcode taken apart: the order of layouts and types counts, that of the other qualifiers does not."""

    opcode: str
    shape: str
    layouts: tuple[str, ...]
    types: tuple[str, ...]
    modifiers: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Syntax:
        """Read a PTX opcode, with or without `.sync.aligned`. Never fails: what is no known word is a modifier."""
        tokens = [t for t in re.sub(r"\s+", "", text).split(".") if t and t not in SILENT]
        head = 1
        while head < len(tokens) and tokens[head] in _OPCODE_WORDS:
            head += 1
        shape, layouts, types, modifiers = "", [], [], []
        for token in tokens[head:]:
            if SHAPE.match(token):
                shape = token
            elif token in LAYOUTS:
                layouts.append(token)
            elif token in DTYPES:
                types.append(token)
            else:
                modifiers.append(token)
        return cls(".".join(tokens[:head]), shape, tuple(layouts), tuple(types), tuple(modifiers))

    @property
    def key(self) -> tuple[object, ...]:
        return (self.opcode, self.shape, self.layouts, self.types, frozenset(self.modifiers))


@dataclass(frozen=True, slots=True)
class Operand:
    """One fragment of one instruction: which thread and value hold which element.

    rows, cols: int arrays [threads, values]. A is (m, k), B is (k, n), C and D are (m, n).
    """

    name: str
    element: DType
    container_bits: int
    pattern: Pattern
    axes: tuple[str, ...]
    dims: tuple[str, ...]
    threads: int
    source: Source
    sparsity: Sparsity | None = None

    def __post_init__(self) -> None:
        if self.pattern.thread_count != self.threads:
            raise LayoutError(
                "bad_pattern", f"Operand {self.name}: '{self.pattern}' has {self.pattern.thread_count} threads, not {self.threads}."
            )
        if self.values * self.container_bits % self.element.register_bits:
            raise LayoutError("bad_pattern", f"Operand {self.name}: {self.values} values do not fill whole registers.")

    @property
    def values(self) -> int:
        return self.pattern.value_count

    @property
    def extents(self) -> dict[str, int]:
        """The size of each axis, e.g. {"row": 16, "col": 8}."""
        return dict(zip(self.axes, self.pattern.extents, strict=True))

    @property
    def row_count(self) -> int:
        return self.extents["row"]

    @property
    def col_count(self) -> int:
        return self.extents["col"]

    @property
    def coords(self) -> dict[str, IntArray]:
        """Axis → int array [threads, values]."""
        return dict(zip(self.axes, self.pattern.evaluate(), strict=True))

    @property
    def rows(self) -> IntArray:
        return self.coords["row"]

    @property
    def cols(self) -> IntArray:
        """For a sparse A the dense column while every index keeps the first positions (metadata 0x44444444)."""
        stored = self.coords["col"]
        return self.sparsity.first_columns(stored) if self.sparsity else stored

    @property
    def dense_col_count(self) -> int:
        """The columns of the matrix: for a sparse A those before compression."""
        return self.col_count * self.sparsity.group // self.sparsity.kept if self.sparsity else self.col_count

    @property
    def register_bits(self) -> int:
        return self.element.register_bits

    @property
    def registers(self) -> int:
        """32-bit (f64: 64-bit) registers a thread gives to this operand."""
        return self.values * self.container_bits // self.register_bits

    @property
    def padding_below(self) -> int:
        """Bits of padding below an element in its container."""
        return self.element.padding_below(self.container_bits)

    def register_of(self, value: int) -> tuple[int, int]:
        """(register, first bit in it) of a value index."""
        return divmod(value * self.container_bits, self.register_bits)

    def owner(self, row: int, col: int, *product: int) -> list[tuple[int, int]]:
        """Every (thread, value) that holds element (row, col)."""
        return self.pattern.owners(row, col, *product)

    @property
    def cute(self) -> str:
        return self.pattern.to_cute()

    @property
    def words(self) -> Words:
        """PTX's words for the thread digits, where this pattern's digits are the ones PTX names."""
        words = WORDS.get(self.threads, WORDS[WARP])
        own = {d.name: d.size for d in self.pattern.threads}
        named = all(own.get(name) == size for name, size in _EXPECTED.items() if name in own)
        return words if "g" in own and named else Words(words.thread, words.value)

    def formula(self) -> dict[str, dict[str, str]]:
        """{"forward": …, "inverse": …}: expressions in PTX's words, i the value index; valid C once % words are bound."""
        return {
            "forward": self.pattern.forward_formula(self.axes, self.words),
            "inverse": self.pattern.inverse_formula(self.axes, self.words),
        }


@dataclass(frozen=True)
class Instruction:
    """One PTX instruction with everything bound."""

    ptx: str
    family: Family
    shape: str
    types: dict[str, str] = field(hash=False)
    sizes: dict[str, int] = field(hash=False)
    listed: str = ""

    @property
    def listed_ptx(self) -> str:
        """The text under which the catalogue lists it: the same but for the state space."""
        return self.listed or self.ptx

    @cached_property
    def syntax(self) -> Syntax:
        return Syntax.parse(self.ptx)

    @property
    def modifiers(self) -> tuple[str, ...]:
        return self.syntax.modifiers

    @property
    def threads(self) -> int:
        return self.family.scope

    @cached_property
    def operands(self) -> dict[str, Operand]:
        return {op.name: op for op in self.family.bind_operands(self)}

    def operand(self, name: str) -> Operand:
        """One operand by its PTX letter; LayoutError names those there are."""
        wanted = name.lower()
        if wanted in self.operands:
            return self.operands[wanted]
        elsewhere = self.family.elsewhere.get(wanted)
        if elsewhere:
            raise LayoutError("operand_not_in_registers", f"Operand '{name}' of {self.ptx} has no register map.", elsewhere, "operand")
        raise LayoutError("unknown_operand", f"{self.ptx} has no operand '{name}'.", f"It has {', '.join(self.operand_names)}.", "operand")

    @property
    def operand_names(self) -> tuple[str, ...]:
        """Fragments, scales and addresses: everything that has a map."""
        return (*self.operands, *self.scales, *(("address",) if self.address else ()))

    @cached_property
    def scales(self) -> dict[str, Scale]:
        """scale_a and scale_b of a block-scaled instruction, else empty."""
        blocks = self.family.scale_blocks
        if not blocks:
            return {}
        element = dtype(self.types["s"])
        return {name: Scale(name, element, Pattern.parse(text, S=blocks), blocks) for name, text in SCALES.items()}

    @cached_property
    def address(self) -> Operand | None:
        """The row whose address each lane supplies, as (matrix, row, col 0); fewer than 32 threads where some supply none."""
        if not self.family.address:
            return None
        pattern = Pattern.parse(self.family.address, **self.sizes, **self.counts)
        axes = ("matrix", "row", "col")
        return Operand("address", dtype("u32"), 32, pattern, axes, ("row", "col"), pattern.thread_count, self.family.source)

    @cached_property
    def counts(self) -> dict[str, int]:
        """What a pattern may name besides the shape: x, the number of matrices of an ldmatrix or stmatrix."""
        return next(({"x": int(m[1:])} for m in self.modifiers if re.fullmatch(r"x\d", m)), {})


@dataclass(frozen=True)
class Family:
    """One row of a table.

    name      the family of the contract: mma, wgmma, …
    ptx       the PTX text; {shape}, {d} {a} {b} {c} and the names of `options` are filled in
    types     one string a variant: the types in the order of `slots`
    fragments operand → pattern, its sizes in m, n, k and v (elements a register)
    container bits an element takes in its register where that is more than its own (f8f6f4: 8)
    elsewhere operand → why it has no register map
    note      what a reader should be told: emulated, unspecified, …
    address   ldmatrix and stmatrix: (lane) → (matrix, row) whose address it supplies
    spaces    state spaces the text may carry; the table lists it with the one in `ptx`
    sparsity  of a stored A; scale_blocks: factors a row of A and a column of B has along K
    deprecated  why new code should not use it, "" where it may
    measured  where a map measured on hardware stands that this row's maps are tested against
    """

    name: str
    ptx: str
    shapes: tuple[str, ...]
    types: tuple[str, ...]
    fragments: dict[str, str]
    source: Source
    scope: int = WARP
    slots: str = "d a b c"
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    container: int = 0
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    note: str = ""
    address: str = ""
    spaces: tuple[str, ...] = ()
    sparsity: SparseRow | None = None
    scale_blocks: int = 0
    deprecated: str = ""
    measured: str = ""

    def __hash__(self) -> int:
        return id(self)

    def instructions(self) -> Iterator[Instruction]:
        """Every variant of the row, in the table's order."""
        for shape in self.shapes:
            match = SHAPE.match(shape)
            if match is None:
                raise LayoutError("bad_row", f"'{shape}' in '{self.ptx}' is no shape.", "Allowed: m16n8k16.")
            sizes = {key: int(size) for key, size in zip("mnk", match.groups(), strict=True) if size}
            for types in self.types:
                bound = dict(zip(self.slots.split(), types.split(), strict=True))
                for choice in product(*self.options.values()):
                    text = self.ptx.format(shape=shape, **bound, **dict(zip(self.options, choice, strict=True)))
                    yield Instruction(text, self, shape, bound, sizes)

    def bind_operands(self, instruction: Instruction) -> Iterator[Operand]:
        """The operands of one of this family's instructions; the pattern must cover exactly its matrix."""
        sizes, types = instruction.sizes, instruction.types
        for name, text in self.fragments.items():
            element = dtype(types.get(name) or types["d"])
            bits = max(element.bits, self.container if name in "ab" else 0)
            dims = {"a": ("m", "k"), "b": ("k", "n"), "data": ("row", "col")}.get(name, ("m", "n"))
            pattern = Pattern.parse(text, v=element.register_bits // bits, **sizes, **instruction.counts)
            axes = self.axes.get(name, ("row", "col"))
            sparsity = self.sparsity.bind(sizes) if self.sparsity and name == "a" else None
            operand = Operand(name, element, bits, pattern, axes, dims, self.scope, self.source, sparsity)
            expected = tuple(sizes.get(dim, 0) for dim in dims)
            if all(expected) and self.name != "movmatrix" and (operand.row_count, operand.dense_col_count) != expected:
                raise LayoutError("bad_row", f"{instruction.ptx}: '{pattern}' covers {operand.extents}, the matrix is {expected}.")
            held = operand.threads * operand.values
            if held != prod(pattern.extents) * pattern.copies:
                raise LayoutError("bad_row", f"{instruction.ptx}: {held} values do not hold {pattern.extents} × {pattern.copies}.")
            yield operand


def cross(template: str, **choices: str) -> tuple[str, ...]:
    """Types by comprehension: cross("s32 {a} {b} s32", a="s8 u8", b="s8 u8") gives the four strings."""
    keys: list[Any] = list(choices)
    return tuple(
        template.format(**dict(zip(keys, combination, strict=True))) for combination in product(*(choices[key].split() for key in keys))
    )
