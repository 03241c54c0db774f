"""The path of scale factors of a block-scaled tcgen05.mma: global memory → atoms of shared memory → tensor memory.

Atoms: layouts/blackwell/scale_atoms.py. Tensor memory: PTX ISA 9.1, 9.7.16.10.7. Order of a tile's atoms in shared
memory: CUTLASS, cutlass/detail/sm100_blockscaled_layout.hpp, deduce_smem_layoutSFA and …SFB. Not run on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.bits import round_up
from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.scale_atoms import ATOM_BYTES, ATOM_FACTORS, ATOM_ROWS, LINE_BYTES, compute_factor_offset
from lanescope.blackwell.tmem import FACTORS, TmemMma, TmemOperandLayout
from lanescope.descriptor.matrix import Descriptor, encode_descriptor
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.kinds import PAIR

COPY = "tcgen05.cp.{group}.32x128b.warpx4"
ATOM_COLUMNS = 4  # of tensor memory, one for each 32 rows of an atom
OPEN_COPIES = "The layout in shared memory of the factors of a pair with M = 128 is not documented."
MOST_K = 4096  # of a tile


@dataclass(frozen=True, slots=True)
class AtomCopy:
    """One copy of an atom: 128 rows from `row`, 4 factors from `factor`.

    Offsets in bytes, in global memory and in the tile's shared memory; the descriptor of its source, and its first
    column in tensor memory.
    """

    row: int
    factor: int
    global_offset: int
    shared_offset: int
    descriptor: Descriptor
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorLocation:
    """The places of one factor.

    row_major, atoms, shared: byte offsets in each order; lanes, column, byte: its copies in tensor memory; step: the
    MMA that reads it.
    """

    row_major: int
    atoms: int
    shared: int | None
    lanes: tuple[int, ...]
    column: int
    byte: int
    step: int


@dataclass(frozen=True, slots=True)
class ScaleOperand:
    """The scale factors of one operand of a CTA's tile.

    rows: of A, or columns of B; k: of the tile; column: their first column in tensor memory; shared: their address in
    shared memory.
    """

    mma: TmemMma
    operand: str
    rows: int
    k: int
    column: int
    shared: int

    @property
    def layout(self) -> TmemOperandLayout:
        """The layout of one step's factors in tensor memory."""
        return tmem.make_tmem_layout(self.mma, self.operand)

    @property
    def per_step(self) -> int:
        """The factors per row and step: S of scale_vec::SX."""
        return FACTORS[self.mma.scale_vec]

    @property
    def block(self) -> int:
        """Elements of K that share a factor."""
        return self.mma.k // self.per_step

    @property
    def factors(self) -> int:
        """Factors per row of the tile, padded to whole atoms."""
        return round_up(self.k // self.block, ATOM_FACTORS)

    @property
    def padded(self) -> int:
        """Rows, padded to whole atoms."""
        return round_up(self.rows, ATOM_ROWS)

    @property
    def atoms(self) -> tuple[int, int]:
        """Atoms along the rows and along K."""
        return self.padded // ATOM_ROWS, self.factors // ATOM_FACTORS

    @property
    def split(self) -> bool:
        """Whether it is a pair with M = 128: 64 rows of A per CTA, and B's factors in two halves of the lanes."""
        return self.mma.form == PAIR and self.mma.m == 128

    @property
    def group_columns(self) -> int:
        """The columns from one group of four factors to the next along K."""
        return self.layout.columns if self.split else ATOM_COLUMNS * self.atoms[0]

    @property
    def columns(self) -> int:
        """Columns that the tile's factors take."""
        return self.group_columns * self.atoms[1]

    def shared_offset(self, row: int, factor: int) -> int:
        """Return the byte offset of a factor in the tile's shared memory: atoms along the rows first, then along K."""
        atom = factor // ATOM_FACTORS * self.atoms[0] + row // ATOM_ROWS
        inside = compute_factor_offset(row % ATOM_ROWS, factor % ATOM_FACTORS, ATOM_FACTORS)
        return int(ATOM_BYTES * atom + inside)

    def list_copies(self) -> list[AtomCopy]:
        """Return the copies of the tile to tensor memory, in column order; LayoutError if they are not documented."""
        if self.split:
            raise LayoutError("open_layout", OPEN_COPIES, "M = 256, or one CTA, has a documented layout.", "m")
        copies = []
        for k in range(self.atoms[1]):
            for r in range(self.atoms[0]):
                row, factor = r * ATOM_ROWS, k * ATOM_FACTORS
                at = self.shared_offset(row, factor)
                amounts = {"start_address": self.shared + at, "sbo_bytes": 8 * LINE_BYTES}
                column = self.column + k * self.group_columns + ATOM_COLUMNS * r
                byte = compute_factor_offset(row, factor, self.factors)
                copies.append(AtomCopy(row, factor, byte, at, encode_descriptor(TCGEN05, amounts), column))
        return copies

    def locate_factor(self, row: int, factor: int) -> FactorLocation:
        """Return the places of a factor; LayoutError for one outside the tile."""
        for name, value, count in (("row", row, self.rows), ("factor", factor, self.k // self.block)):
            if not 0 <= value < count:
                message = f"{name} is {value}, but the tile has {count}."
                raise LayoutError("outside", message, f"Allowed: 0 to {count - 1}.", name)
        byte = factor % ATOM_FACTORS
        units = [
            (lane, unit)
            for lane, unit in self.layout.find_owners(row, factor % self.per_step)
            if unit % ATOM_FACTORS == byte
        ]
        column = self.column + factor // ATOM_FACTORS * self.group_columns + units[0][1] // ATOM_FACTORS
        return FactorLocation(
            row_major=row * (self.k // self.block) + factor,
            atoms=int(compute_factor_offset(row, factor, self.factors)),
            shared=None if self.split else self.shared_offset(row, factor),
            lanes=tuple(sorted({lane for lane, _ in units})),
            column=column,
            byte=byte,
            step=factor // self.per_step,
        )


@dataclass(frozen=True, slots=True)
class ScaledMmaStep:
    """One MMA of the tile: its first k, the columns and ids of both operands' factors, its instruction descriptor."""

    k: int
    columns: tuple[int, int]
    ids: tuple[int, int]
    word: IdescWord


def make_scale_operands(
    mma: TmemMma, k: int, columns: tuple[int, int | None], shared: tuple[int, int | None]
) -> tuple[ScaleOperand, ScaleOperand]:
    """Return the scale operands of A and B; a column or address of B that is None follows A's.

    LayoutError for kinds without factors, for K = 96, and for a tile that is not a whole number of steps.
    """
    if not mma.kind.scaled:
        message = f"kind::{mma.kind.name} is not block-scaled."
        raise LayoutError("bad_kind", message, "Only mxf8f6f4, mxf4 and mxf4nvf4 have scale factors.", "kind")
    if k < mma.k or k % mma.k or k > MOST_K:
        message = f"The tile's K is {k}; it must be a multiple of the MMA's K, {mma.k}."
        raise LayoutError("bad_tile", message, f"Allowed: multiples of {mma.k} up to {MOST_K}.", "tile_k")
    a = ScaleOperand(mma, "scale_a", mma.place.rows, k, columns[0], shared[0])
    b = ScaleOperand(
        mma,
        "scale_b",
        mma.n,
        k,
        columns[0] + a.columns if columns[1] is None else columns[1],
        shared[0] + a.padded * a.factors if shared[1] is None else shared[1],
    )
    return a, b


def list_mma_steps(a: ScaleOperand, b: ScaleOperand) -> list[ScaledMmaStep]:
    """Return all MMAs of the tile."""
    steps = []
    for n in range(a.k // a.mma.k):
        first = n * a.per_step
        number, group = first % ATOM_FACTORS, first // ATOM_FACTORS
        columns = (a.column + group * a.group_columns, b.column + group * b.group_columns)
        fields = {
            **idesc.get_factor_types(a.mma.kind, a.mma.scale_vec),
            "m": a.mma.m,
            "n": a.mma.n,
            "sparse": int(a.mma.sparse),
        }
        word = idesc.encode(a.mma.kind, {**fields, "sfa_id": number, "sfb_id": number}, a.mma.form)
        steps.append(ScaledMmaStep(n * a.mma.k, columns, (number, number), word))
    return steps


def format_copy_ptx(mma: TmemMma) -> str:
    """Return the PTX text of the copies."""
    return COPY.format(group=PAIR if mma.form == PAIR else "cta_group::1")
