"""What the API and the page say about the scale factors of a tile. No framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lanescope.app.kit.fact import Says, fact, sometimes
from lanescope.app.kit.names import Word32, Word64
from lanescope.app.kit.question import number_field, question, word_field
from lanescope.app.kit.tcgen05 import columns_of_d, cta_group, rows_of_d, sparse
from lanescope.blackwell import idesc, scaling
from lanescope.blackwell.scales import SOURCE
from lanescope.blackwell.scaling import Side, Step
from lanescope.blackwell.tmem import COLUMNS, FACTORS, Mma
from lanescope.errors import LayoutError
from lanescope.ptx.table.kinds import KINDS

KINDS_SCALED = tuple(row.name for row in KINDS if row.scaled)


@question
class ScaleQuestion:
    """A block-scaled tile, and the factor of it that is followed."""

    kind: str = word_field(KINDS_SCALED, "Kind", "The kind of the MMA.")
    scale_vec: str = word_field(
        tuple(FACTORS), "Scale vector", "Scale factors a row has in one MMA; the kind's first where it is empty.", ""
    )
    cta_group: str = cta_group()
    sparse: bool = sparse()
    m: int = rows_of_d()
    n: int = columns_of_d()
    tile_k: int = number_field(256, "K of the tile", "K of the CTA's tile: a multiple of the instruction's K.")
    column: int = number_field(
        256, "First column", "The column of tensor memory where A's factors begin; B's follow them."
    )
    shared: int = number_field(
        0, "First byte of shared memory", "The byte of shared memory where A's factors begin; B's follow them."
    )
    side: str = word_field(("a", "b"), "Look at factor of", "Whose factor is looked at.", called={"a": "A", "b": "B"})
    row: int = number_field(37, "Row of A or column of B", "Row of A, or column of B.")
    factor: int = number_field(5, "Factor", "Number of the factor along K.")


OPEN = "How the factors of a pair with M = 128 lie in shared memory for their copies is open."


@fact
class ScaleSide:
    """The factors of one operand."""

    rows: Annotated[int, Says("Rows of A, or columns of B, of one CTA.")]
    padded_rows: int
    factors: Annotated[int, Says("Factors of a row in the tile, padded to whole atoms.")]
    atoms: Annotated[tuple[int, ...], Says("Atoms of 128 rows by 4 factors: along the rows, along K.")]
    column: Annotated[int, Says("The first 32-bit column of tensor memory.")]
    columns: int
    pattern: Annotated[str, Says("(lane)(byte) → (row)(factor) of one MMA.")]
    evidence: str


@fact
class ScaleCopy:
    """One tcgen05.cp of an atom."""

    operand: str
    row: int
    factor: int
    global_offset: Annotated[int, Says("Bytes from the operand's start, in atoms along K first.")]
    shared_offset: Annotated[int, Says("Bytes from where the operand's factors begin in shared memory.")]
    descriptor: Word64
    column: int


@fact
class ScaleStep:
    """One MMA of the tile."""

    k: int
    column_a: int
    column_b: int
    sfa_id: int
    sfb_id: int
    idesc: Word32


@fact
class ScaleHeld:
    """Where one factor is."""

    operand: str
    row: int
    factor: int
    row_major: Annotated[int, Says("Byte in row-major factors.")]
    atoms: Annotated[int, Says("Byte in atoms, those along K first.")]
    lanes: Annotated[tuple[int, ...], Says("Every lane of tensor memory that has a copy.")]
    column: int
    byte: int
    step: Annotated[int, Says("The MMA of the tile that reads it.")]
    shared: Annotated[int | None, Says("Byte in the tile's shared memory; left out where it is open.")] = sometimes()


@fact
class ScaleFactors:
    """The way of the scale factors of one tile."""

    kind: str
    scale_vec: str
    block: Annotated[int, Says("Elements of K that share a factor.")]
    k: Annotated[int, Says("K of one MMA.")]
    a: ScaleSide
    b: ScaleSide
    copy: Annotated[str, Says("The PTX text of the copies.")]
    copies: Annotated[list[ScaleCopy], Says("Empty where they are open.")]
    steps: list[ScaleStep]
    held: ScaleHeld
    evidence: str


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile that was asked for, and the factor that is looked at."""

    a: Side
    b: Side
    side: str
    row: int
    factor: int

    @property
    def mma(self) -> Mma:
        return self.a.mma

    @property
    def looked(self) -> Side:
        return self.a if self.side == "a" else self.b

    @property
    def open(self) -> bool:
        """Whether the copies are open."""
        return self.a.split


def tile_of(asked: ScaleQuestion) -> Tile:
    """Return the tile that is asked for; LayoutError names the wrong field."""
    form = idesc.form_of(asked.cta_group, "0")
    mma = Mma(idesc.kind(asked.kind), form, asked.sparse, asked.m, asked.n, scale_vec=asked.scale_vec)
    a, b = scaling.sides(mma, asked.tile_k, (asked.column, None), (asked.shared, None))
    last = b.column + b.columns
    if last > COLUMNS:
        says = f"The factors reach column {last - 1}; the last is {COLUMNS - 1}."
        raise LayoutError("outside", says, f"They take {a.columns} and {b.columns} columns.", "column")
    return Tile(a, b, asked.side, asked.row, asked.factor)


def scale_factors(asked: ScaleQuestion) -> ScaleFactors:
    """The scale factors of a block-scaled tile: their atoms, copies, columns of tensor memory, and each MMA's ids."""
    tile = tile_of(asked)
    mma = tile.mma
    where = tile.looked.where(tile.row, tile.factor)
    return ScaleFactors(
        kind=mma.kind.name,
        scale_vec=mma.scale_vec,
        block=tile.a.block,
        k=mma.k,
        a=_side(tile.a),
        b=_side(tile.b),
        copy=scaling.copy_text(mma),
        copies=copies(tile),
        steps=[_step(one) for one in steps(tile)],
        held=ScaleHeld(
            operand=tile.side,
            row=tile.row,
            factor=tile.factor,
            row_major=where.row_major,
            atoms=where.atoms,
            shared=where.shared,
            lanes=where.lanes,
            column=where.column,
            byte=where.byte,
            step=where.step,
        ),
        evidence=f"documented; {SOURCE}",
    )


def _side(one: Side) -> ScaleSide:
    return ScaleSide(
        rows=one.rows,
        padded_rows=one.padded,
        factors=one.factors,
        atoms=one.atoms,
        column=one.column,
        columns=one.columns,
        pattern=str(one.layout.pattern),
        evidence=one.layout.evidence,
    )


def copies(tile: Tile) -> list[ScaleCopy]:
    """The copies of both operands; none where they are open."""
    return [
        ScaleCopy(
            operand=name,
            row=one.row,
            factor=one.factor,
            global_offset=one.global_offset,
            shared_offset=one.shared_offset,
            descriptor=str(one.descriptor),
            column=one.column,
        )
        for name, side in (("a", tile.a), ("b", tile.b))
        for one in ([] if tile.open else side.copies())
    ]


def steps(tile: Tile) -> list[Step]:
    """The MMAs of the tile."""
    return scaling.steps(tile.a, tile.b)


def _step(one: Step) -> ScaleStep:
    return ScaleStep(
        k=one.k,
        column_a=one.columns[0],
        column_b=one.columns[1],
        sfa_id=one.ids[0],
        sfb_id=one.ids[1],
        idesc=str(one.word),
    )
