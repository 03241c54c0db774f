"""Further inputs of lanes as matrices: the metadata of a sparse A, the scale factors of A and B.

A cell of the metadata is the nibble of one group of columns of A in one row, PTX ISA 9.1, 9.7.14.6.1; a cell of SFA
(SFB) the factor of one row of A (column of B) and block of K, 9.7.14.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.instruction.state import PageState
from lanescope.ptx.instruction import WARP, Instruction
from lanescope.ptx.pattern import IntArray
from lanescope.render.figure import FigurePanel, PanelFigure
from lanescope.render.view import CellCategory, OperandGrid

Integers = NDArray[np.integer[Any]]
METADATA = "e"
FACTORS = {"sfa": "scale_a", "sfb": "scale_b"}  # the matrix → the operand's name in the engine
NIBBLE, BYTE, WORD = 4, 8, 32
TIP = "{name}{value}, bits {bits}"


@dataclass(frozen=True, eq=False)
class SupplyMatrix:
    """A matrix of metadata or scale factors.

    of: the panel of its elements. thread: int [rows, cols], the thread that supplies a cell; unit: the nibble or byte
    of that thread's 32-bit register. down, across: for every row and column of the panel `of` the row and column here.
    numbers: of each cell, for the sentences, each int [rows, cols]. element, head, answer, label: templates; note:
    description of the labels.
    """

    name: str
    title: str
    caption: str
    about: str
    of: str
    thread: IntArray
    unit: IntArray
    unit_bits: int
    down: Integers
    across: Integers
    element: str
    head: str
    answer: str
    label: str
    note: str
    grid: OperandGrid
    numbers: Mapping[str, Integers] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.thread.shape[0])

    @property
    def cols(self) -> int:
        return int(self.thread.shape[1])

    @property
    def units(self) -> int:
        return WORD // self.unit_bits

    @property
    def categories(self) -> dict[str, CellCategory]:
        """Return the colourings of the cells: those of the linked operand by thread."""
        return {name: category for name, category in self.grid.categories.items() if category.of == "thread"}

    def list_warp_edges(self) -> list[int]:
        """List the first rows of the warps."""
        warp = self.thread[:, 0] // WARP.threads
        return [int(row) + 1 for row in np.flatnonzero(np.diff(warp))] if self.grid.operand.scope.several else []

    def format_bits(self, unit: int) -> str:
        """Return the bits of the register as 7:4."""
        return f"{unit * self.unit_bits + self.unit_bits - 1}:{unit * self.unit_bits}"

    def get_facts(self, row: int, col: int) -> dict[str, Any]:
        """Return the values of a cell for the templates."""
        unit = int(self.unit[row, col])
        thread = int(self.thread[row, col])
        return {
            "title": self.title,
            "name": self.name,
            "row": row,
            "col": col,
            "thread": thread,
            "holder": self.grid.format_holder(thread),
            "value": unit,
            "register": 0,
            "bits": self.format_bits(unit),
            **{name: int(numbers[row, col]) for name, numbers in self.numbers.items()},
        }

    def list_held(self, thread: int) -> list[tuple[int, int, int]]:
        """List unit, row and column of the cells that a thread supplies, in the order of its bits."""
        return sorted((int(self.unit[r, c]), int(r), int(c)) for r, c in np.argwhere(self.thread == thread))

    def make_panel(self, colour: str, label: str, threads: frozenset[int] | None) -> FigurePanel:
        """Make the panel for readers without scripts."""
        names = self.categories
        category = names[colour if colour in names else next(iter(names))]
        shown = np.isin(self.thread, sorted(threads)) if threads is not None else np.ones(self.thread.shape, bool)
        texts = [
            ["" if label == "none" else self.label.format(**self.get_facts(r, c)) for c in range(self.cols)]
            for r in range(self.rows)
        ]
        return FigurePanel(
            self.name,
            self.caption,
            rows=self.rows,
            cols=self.cols,
            x=0,
            y=0,
            cell_width=1,
            cell_height=1,
            category=np.where(shown, category.numbers[self.thread], -1),
            texts=texts,
            of=category.count,
        )


def build_supplies(instruction: Instruction, figure: PanelFigure, page_state: PageState) -> dict[str, SupplyMatrix]:
    """Build the matrices that an instruction has, under the chosen selector, byte-ids and thread-ids."""
    grids = {panel.name: panel.grid for panel in figure.panels if panel.grid}
    supplies = []
    a = grids.get("a")
    if a is not None and a.operand.sparsity:
        supplies.append(_build_metadata(a, page_state.selector))
    for name, scale in FACTORS.items():
        grid = grids.get(name[-1])
        if scale in instruction.scales and grid is not None:
            supplies.append(_build_factors(instruction, name, grid, page_state))
    return {supply.name: supply for supply in supplies}


def _build_metadata(grid: OperandGrid, selector: int) -> SupplyMatrix:
    op, sparsity = grid.operand, grid.operand.sparsity
    assert sparsity is not None
    kept, group = sparsity.kept, sparsity.group
    supplier, bit = sparsity.find_suppliers(selector)
    shape = (op.row_count, op.col_count // kept)
    thread, unit = np.full(shape, -1, np.int32), np.zeros(shape, np.int32)
    at = op.rows, op.coords["col"] // kept
    thread[at], unit[at] = supplier, bit // NIBBLE
    first = np.broadcast_to(np.arange(shape[1]) * group, shape)
    stored = np.broadcast_to(np.arange(shape[1]) * kept, shape)
    low = unit * NIBBLE
    numbers: dict[str, Integers] = {
        "low": low,
        "high": low + NIBBLE - 1,
        "first": first,
        "last": first + group - 1,
        "stored": stored,
        "past": stored + kept - 1,
    }
    cells = "{stored}" if kept == 1 else "{stored}–{past}"
    return SupplyMatrix(
        name=METADATA,
        title="e",
        caption="Metadata e",
        about=f"m × groups of {group} columns, {shape[0]} × {shape[1]}",
        of="a",
        thread=thread,
        unit=unit,
        unit_bits=NIBBLE,
        down=np.arange(shape[0]),
        across=np.arange(op.col_count) // kept,
        element="A[{row}][{first}–{last}]",
        head=f"A[{{row}}][{{first}}–{{last}}]: e[{{bits}}], stored column {cells}",
        answer="The metadata of `A[{row}][{first}–{last}]` is in `{holder}`, `e`, bits `{bits}`",
        label="T{thread} {low}–{high}",
        note=f"T12 8–11: bits 8 to 11 of e in {op.scope.thread} 12 say which {kept} of {group} columns are kept.",
        grid=grid,
        numbers=numbers,
    )


def _build_factors(instruction: Instruction, name: str, grid: OperandGrid, page_state: PageState) -> SupplyMatrix:
    letter, scale = name[-1], instruction.scales[FACTORS[name]]
    thread, byte = scale.find_owners(*page_state.get_scale_ids(letter))
    depth = instruction.sizes["k"] // scale.blocks
    op = grid.operand
    if letter == "a":  # rows of A; of a sparse A the dense columns
        kept, group = op.kept_of_group or (1, 1)
        down, across = np.arange(grid.rows), np.arange(grid.cols) // kept * group // depth
    else:
        thread, byte = thread.T, byte.T
        down, across = np.arange(grid.rows) // depth, np.arange(grid.cols)
    title, register = name.upper(), f"scale-{letter}-data"
    sizes = "factors, m × blocks" if letter == "a" else "factors, blocks × n"
    return SupplyMatrix(
        name=name,
        title=title,
        caption=title,
        about=f"{sizes} of {depth} of K, {thread.shape[0]} × {thread.shape[1]} · {scale.element.name}",
        of=letter,
        thread=thread,
        unit=byte,
        unit_bits=BYTE,
        down=down,
        across=across,
        element=f"{title}[{{row}}][{{col}}]",
        head=f"{title}[{{row}}][{{col}}] = {register}[{{bits}}]",
        answer=f"`{title}[{{row}}][{{col}}]` is in `{{holder}}`, `{register}`, bits `{{bits}}`",
        label="T{thread} b{value}",
        note=f"T12 b1: byte 1 of {register} in lane 12, the factor of {depth} elements along K.",
        grid=grid,
    )


def list_facts(supplies: Mapping[str, SupplyMatrix], panel: str) -> dict[str, Integers]:
    """List the numbers of metadata and factor for the sentences about an element of A or B, each int [rows, cols]."""
    facts: dict[str, Integers] = {}
    for supply in supplies.values():
        if supply.of != panel:
            continue
        at = np.ix_(supply.down, supply.across)
        if supply.name == METADATA:
            facts |= _list_index_bits(supply)
            facts |= {"first": supply.numbers["first"][at], "last": supply.numbers["last"][at]}
            facts["meta_thread"] = supply.thread[at]
        else:
            facts |= {"factor_byte": supply.unit[at], "factor_thread": supply.thread[at]}
            facts["factor"] = np.broadcast_to(
                supply.across[None] if panel == "a" else supply.down[:, None], facts["factor_byte"].shape
            )
    return facts


def _list_index_bits(supply: SupplyMatrix) -> dict[str, Integers]:
    """List the first and last bit of each stored element's own index in e."""
    sparsity = supply.grid.operand.sparsity
    assert sparsity is not None
    col = np.arange(supply.grid.cols)
    index = col % sparsity.kept // sparsity.per_index * sparsity.index_bits
    low = supply.unit[np.ix_(supply.down, supply.across)] * NIBBLE + index
    return {"meta_low": low, "meta_high": low + sparsity.index_bits - 1}


def format_sentences(instruction: Instruction, supplies: Mapping[str, SupplyMatrix]) -> dict[str, str]:
    """Format the sentences about the metadata and factors of an element, and about their effect, by panel."""
    unit, texts = instruction.family.scope.thread, {}
    if METADATA in supplies:
        texts["a"] = (
            f"Bits {{meta_high}}:{{meta_low}} of e in {unit} {{meta_thread}} choose it from B[{{first}}–{{last}}]."
        )
        sparsity = supplies[METADATA].grid.operand.sparsity
        assert sparsity is not None
        where = "A[{row}][{stored}]" if sparsity.kept == 1 else "A[{row}][{stored}–{past}]"
        texts[METADATA] = (
            f"It selects which {sparsity.kept} of the {sparsity.group} columns {{first}}–{{last}} of dense A are kept:"
            f" {where} as stored."
        )
    for name, place in (("sfa", "SFA[{row}][{factor}]"), ("sfb", "SFB[{factor}][{col}]")):
        if name not in supplies:
            continue
        letter = name[-1]
        factor = f"byte {{factor_byte}} of scale-{letter}-data in {unit} {{factor_thread}}"
        texts[letter] = " ".join(filter(None, (texts.get(letter), f"Its scale factor is {place}, {factor}.")))
        row = "row {row} of A" if letter == "a" else "column {col} of B"
        block = "{col}" if letter == "a" else "{row}"
        depth = instruction.sizes["k"] // instruction.scales[FACTORS[name]].blocks
        texts[name] = f"It scales {row} in block {block} of {depth} along K."
    if "sfa" in supplies:
        texts["d"] = "The factors of its blocks are SFA[{row}] and SFB[…][{col}]."
    return texts
