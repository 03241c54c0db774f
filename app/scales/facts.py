"""Facts about the scale factors of a tile, for the API and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lanescope.app.kit.enumerations import Word32, Word64
from lanescope.app.kit.fact import Description, copy_fact, fact, make_optional_field
from lanescope.app.kit.question import declare_question, number_field, word_field
from lanescope.app.kit.target import target_field
from lanescope.app.kit.tcgen05 import columns_of_d_field, cta_group_field, rows_of_d_field, sparse_field
from lanescope.blackwell import idesc, scaling
from lanescope.blackwell.scale_atoms import LINE_BYTES, SOURCE
from lanescope.blackwell.scaling import ScaledMmaStep, ScaleOperand
from lanescope.blackwell.tmem import COLUMNS, FACTORS, TmemMma
from lanescope.errors import LayoutError
from lanescope.ptx.architectures import require_kind
from lanescope.ptx.table.kinds import KINDS

KINDS_SCALED = tuple(row.name for row in KINDS if row.scaled)


@declare_question
class ScaleQuestion:
    """A block-scaled tile, and the selected factor."""

    kind: str = word_field(KINDS_SCALED, "Kind", "The kind of the MMA.")
    scale_vec: str = word_field(
        tuple(FACTORS), "Scale vector", "Scale factors per row in one MMA; the kind's first if empty.", ""
    )
    cta_group: str = cta_group_field()
    sparse: bool = sparse_field()
    m: int = rows_of_d_field()
    n: int = columns_of_d_field()
    tile_k: int = number_field(256, "K of the tile", "K of the CTA's tile: a multiple of the instruction's K.")
    column: int = number_field(
        256, "First column", "The column of tensor memory where A's factors begin; B's follow them."
    )
    shared: int = number_field(
        0,
        "First byte of shared memory",
        "The byte of shared memory where A's factors begin, a multiple of 16; B's follow them.",
    )
    side: str = word_field(("a", "b"), "Factor of", "The operand of the selected factor.", called={"a": "A", "b": "B"})
    row: int = number_field(37, "Row of A or column of B", "Row of A, or column of B.")
    factor: int = number_field(5, "Factor", "Number of the factor along K.")
    target: str = target_field()


@fact
class ScaleSide:
    """The factors of one operand."""

    rows: Annotated[int, Description("Rows of A, or columns of B, of one CTA.")]
    padded_rows: int
    factors: Annotated[int, Description("Factors of a row in the tile, padded to whole atoms.")]
    atoms: Annotated[tuple[int, ...], Description("Atoms of 128 rows by 4 factors: along the rows, along K.")]
    column: Annotated[int, Description("The first 32-bit column of tensor memory.")]
    columns: int
    pattern: Annotated[str, Description("(lane)(byte) → (row)(factor) of one MMA.")]
    evidence: str


@fact
class ScaleCopy:
    """One tcgen05.cp of an atom."""

    operand: str
    row: int
    factor: int
    global_offset: Annotated[int, Description("Bytes from the operand's start, in atoms along K first.")]
    shared_offset: Annotated[int, Description("Bytes from where the operand's factors begin in shared memory.")]
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
    """The positions of one factor in each memory."""

    operand: str
    row: int
    factor: int
    row_major: Annotated[int, Description("Byte in row-major factors.")]
    atoms: Annotated[int, Description("Byte in atoms, those along K first.")]
    lanes: Annotated[tuple[int, ...], Description("Every lane of tensor memory that has a copy.")]
    column: int
    byte: int
    step: Annotated[int, Description("The MMA of the tile that reads it.")]
    shared: Annotated[
        int | None,
        Description("Byte of shared memory, counted as the request's `shared`; left out if it is not documented."),
    ] = make_optional_field()


@fact
class ScaleFactors:
    """The scale factors of one tile."""

    kind: str
    scale_vec: str
    block: Annotated[int, Description("Elements of K that share a factor.")]
    k: Annotated[int, Description("K of one MMA.")]
    a: ScaleSide
    b: ScaleSide
    copy: Annotated[str, Description("The PTX text of the copies.")]
    copies: Annotated[list[ScaleCopy], Description("Empty if they are not documented.")]
    steps: list[ScaleStep]
    held: ScaleHeld
    evidence: str


@dataclass(frozen=True, slots=True)
class ScaleTile:
    """The tile of a question, and its selected factor."""

    a: ScaleOperand
    b: ScaleOperand
    side: str
    row: int
    factor: int

    @property
    def mma(self) -> TmemMma:
        return self.a.mma

    @property
    def selected(self) -> ScaleOperand:
        return self.a if self.side == "a" else self.b

    @property
    def copies_open(self) -> bool:
        """Return whether the copies are not documented."""
        return self.a.split


def parse_tile(question: ScaleQuestion) -> ScaleTile:
    """Return the tile of a question. LayoutError names the wrong field."""
    require_kind(question.kind, question.target)
    form = idesc.get_form(question.cta_group, "0")
    mma = TmemMma(
        idesc.get_kind(question.kind), form, question.sparse, question.m, question.n, scale_vec=question.scale_vec
    )
    a, b = scaling.make_scale_operands(mma, question.tile_k, (question.column, None), (question.shared, None))
    last = b.column + b.columns
    if last > COLUMNS:
        message = f"The factors reach column {last - 1}; the last is {COLUMNS - 1}."
        raise LayoutError("outside", message, f"They take {a.columns} and {b.columns} columns.", "column")
    tile = ScaleTile(a, b, question.side, question.row, question.factor)
    _check_start(tile)
    return tile


def _check_start(tile: ScaleTile) -> None:
    """Raise LayoutError about `shared` if the descriptors of the copies cannot begin there."""
    start = tile.a.shared
    if start % LINE_BYTES and not tile.copies_open:
        nearest = (start + LINE_BYTES // 2) // LINE_BYTES * LINE_BYTES
        message = f"shared is {start}, not a multiple of {LINE_BYTES}."
        raise LayoutError("misaligned", message, f"Nearest: {nearest}.", "shared")
    try:
        list_copies(tile)
    except LayoutError as error:
        raise LayoutError(error.code, f"shared is {start}: {error.message}", error.hint, "shared") from None


def scale_factors(question: ScaleQuestion) -> ScaleFactors:
    """Return the scale factors of a block-scaled tile: their atoms, copies, columns of tensor memory, and each MMA's
    ids.
    """
    tile = parse_tile(question)
    mma = tile.mma
    location = tile.selected.locate_factor(tile.row, tile.factor)
    return ScaleFactors(
        kind=mma.kind.name,
        scale_vec=mma.scale_vec,
        block=tile.a.block,
        k=mma.k,
        a=_build_side(tile.a),
        b=_build_side(tile.b),
        copy=scaling.format_copy_ptx(mma),
        copies=list_copies(tile),
        steps=[_build_step(step) for step in list_steps(tile)],
        held=copy_fact(
            ScaleHeld,
            location,
            operand=tile.side,
            row=tile.row,
            factor=tile.factor,
            shared=None if location.shared is None else tile.selected.shared + location.shared,
        ),
        evidence=f"documented; {SOURCE}",
    )


def _build_side(operand: ScaleOperand) -> ScaleSide:
    return copy_fact(
        ScaleSide,
        operand,
        padded_rows=operand.padded,
        pattern=str(operand.layout.pattern),
        evidence=operand.layout.evidence,
    )


def list_copies(tile: ScaleTile) -> list[ScaleCopy]:
    """Return the copies of both operands; [] if they are not documented."""
    return [
        copy_fact(ScaleCopy, copy, operand=name, descriptor=str(copy.descriptor))
        for name, side in (("a", tile.a), ("b", tile.b))
        for copy in ([] if tile.copies_open else side.list_copies())
    ]


def list_steps(tile: ScaleTile) -> list[ScaledMmaStep]:
    """Return the MMAs of the tile."""
    return scaling.list_mma_steps(tile.a, tile.b)


def _build_step(step: ScaledMmaStep) -> ScaleStep:
    return ScaleStep(
        k=step.k,
        column_a=step.columns[0],
        column_b=step.columns[1],
        sfa_id=step.ids[0],
        sfb_id=step.ids[1],
        idesc=str(step.word),
    )
