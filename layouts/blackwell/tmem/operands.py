"""The operands of an MMA in tensor memory: D, A, metadata and scale factors, as patterns of lanes and units.

PTX ISA 9.1, 9.7.16.10. Documented, and equal to CUTLASS's maps as each layout says; not executed on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.blackwell.idesc import CALLED
from lanescope.blackwell.kind import MmaKind
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, shorten_value
from lanescope.ptx.instruction import Operand
from lanescope.ptx.pattern import IntArray, Pattern
from lanescope.ptx.table.kinds import PAIR
from lanescope.ptx.table.tmem import (
    INFERRED,
    METADATA,
    METADATA_SPLIT,
    PLACES,
    QUARTER,
    SCALE_MAPS,
    SCALE_PAIR_MAPS,
    SCALES,
    SCALES_PAIR_B,
    DataPathLayout,
)

OPERANDS = ("d", "a", "metadata", "scale_a", "scale_b")
FACTORS = {"1X": 1, "2X": 2, "4X": 4}


@dataclass(frozen=True, slots=True)
class TmemMma:
    """The sizes of a tcgen05.mma that determine its operands in tensor memory.

    k: of one instruction, 0 for the usual one; bits: of an element of A in its container, 0 for the kind's.
    """

    kind: MmaKind
    form: str
    sparse: bool
    m: int
    n: int
    k: int = 0
    bits: int = 0
    scale_vec: str = ""

    def __post_init__(self) -> None:
        self._check_sizes()
        usual_k = self.kind.k * (2 if self.sparse else 1)
        longer = self.k == 96 and self.kind.has_field("k") and not self.sparse
        if self.k not in (0, usual_k) and not longer:
            raise LayoutError("bad_k", f"k is {self.k}.", f"kind::{self.kind.name} has {usual_k} here.", "k")
        usual = self.kind.element_bits
        if self.bits not in (0, usual):
            raise LayoutError("bad_bits", f"bits is {self.bits}.", f"A of kind::{self.kind.name} has {usual}.", "bits")
        object.__setattr__(self, "scale_vec", self._read_vector())
        object.__setattr__(self, "k", self.k or usual_k)
        object.__setattr__(self, "bits", usual)

    def _check_sizes(self) -> None:
        """Raise LayoutError for a form that the kind does not have, and for an M or N that the form does not allow."""
        sizes = self.kind.sizes.get((self.form, self.sparse))
        if sizes is None:
            message = (
                f"kind::{self.kind.name} has no {CALLED[self.form]} with a {'sparse' if self.sparse else 'dense'} A."
            )
            raise LayoutError("no_form", message, "Block scaling is issued without .ws.", "ws")
        for name, size, legal, words in (
            ("m", self.m, sizes.m, join_words([str(m) for m in sizes.m], "or")),
            ("n", self.n, sizes.n, sizes.n_words),
        ):
            if size not in legal:
                message = f"{name} is {size}. {CALLED[self.form]} with kind::{self.kind.name} requires {words}."
                raise LayoutError(f"bad_{name}", message, "PTX ISA 9.1, Table 39.", name)

    def _read_vector(self) -> str:
        """Return the vector size of the scale factors, by default the kind's first; LayoutError if it is illegal."""
        legal = list(self.kind.scaled)
        vector = self.scale_vec or (legal[0] if legal else "")
        if vector and vector not in legal:
            allowed = join_words(legal, "or") or "none, because it is not block-scaled"
            message = f"scale_vec is {shorten_value(vector)}."
            raise LayoutError("bad_scale_vec", message, f"kind::{self.kind.name} allows {allowed}.", "scale_vec")
        return vector

    @property
    def place(self) -> DataPathLayout:
        """The data-path layout."""
        return next(p for p in PLACES if (p.m, p.form) == (self.m, self.form) and self.sparse in p.sparse)

    @property
    def ctas(self) -> int:
        return 2 if self.form == PAIR else 1

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands that may be in tensor memory."""
        return (
            "d",
            "a",
            *(("metadata",) if self.sparse else ()),
            *(("scale_a", "scale_b") if self.kind.scaled else ()),
        )

    @property
    def required(self) -> tuple[str, ...]:
        """The operands that are always in tensor memory; A may be in shared memory instead."""
        return tuple(operand for operand in self.operands if operand != "a")


@dataclass(frozen=True, slots=True, kw_only=True)
class TmemOperandLayout:
    """One operand in tensor memory.

    bits: per unit; maps: the number of CUTLASS's maps that equal the pattern, 0: inferred.
    """

    operand: str
    letter: str
    pattern: Pattern
    axes: tuple[str, ...]
    bits: int
    maps: int
    source: str

    @property
    def columns(self) -> int:
        """The number of 32-bit columns that it takes."""
        return -(-self.pattern.value_count * self.bits // 32)

    @property
    def evidence(self) -> str:
        """The evidence for this map, in one line."""
        agrees = f"agrees with CUTLASS ({self.maps} maps)" if self.maps else f"{INFERRED}: no map of CUTLASS shows it"
        return f"documented; {agrees}; not executed on hardware"

    @property
    def coords(self) -> dict[str, IntArray]:
        """Axis → int array [lane][unit]."""
        return dict(zip(self.axes, self.pattern.evaluate(), strict=True))

    def find_owners(self, row: int, col: int, half: int = 0) -> list[tuple[int, int]]:
        """Return every (lane, unit) that holds an element."""
        return self.pattern.owners(row, col, *((half,) if len(self.axes) == 3 else ()))


def make_tmem_layout(mma: TmemMma, operand: str) -> TmemOperandLayout:
    """Return the layout of an operand of an MMA; LayoutError if it is not in tensor memory or not documented."""
    if operand not in OPERANDS:
        raise LayoutError("bad_operand", f"No operand '{operand}'.", f"Allowed: {', '.join(OPERANDS)}.", "operand")
    if operand not in mma.operands:
        why = "A is dense" if operand == "metadata" else f"kind::{mma.kind.name} is not block-scaled"
        raise LayoutError(
            "bad_operand", f"There is no {operand}: {why}.", f"It has {join_words(mma.operands)}.", "operand"
        )
    place = mma.place
    if operand == "d":
        pattern = Pattern.parse(place.d, N=mma.n)
        return _build_layout(mma, "d", pattern, ("row", "col"), 32, place.maps[0])
    if operand == "a":
        stored = mma.k // 2 if mma.sparse else mma.k
        pattern = Pattern.parse(place.a, K=stored, v=32 // mma.bits)
        return _build_layout(mma, "a", pattern, ("row", "k"), mma.bits, place.maps[1])
    return _make_metadata_layout(mma) if operand == "metadata" else _make_scale_layout(mma, operand)


def _build_layout(
    mma: TmemMma, operand: str, pattern: Pattern, axes: tuple[str, ...], bits: int, maps: int
) -> TmemOperandLayout:
    all_axes = (*axes, "half") if len(pattern.coords) == 3 else axes
    return TmemOperandLayout(
        operand=operand,
        letter=mma.place.letter,
        pattern=pattern,
        axes=all_axes,
        bits=bits,
        maps=maps,
        source=mma.place.source,
    )


def _make_metadata_layout(mma: TmemMma) -> TmemOperandLayout:
    wide = mma.bits >= 16  # half as many indices a row
    axes = ("row", "group")
    if len(mma.place.aligned) > 1:  # layouts C and F: 64 rows in 16 lanes of each quarter
        if not wide:
            message = f"Layout {mma.place.letter} of the metadata of kind::{mma.kind.name} is not documented."
            raise LayoutError("open_layout", message, "M = 128, or .ws, has a documented layout.", "m")
        return _build_layout(mma, "metadata", Pattern.parse(METADATA_SPLIT), axes, 4, 0)
    rows = mma.place.rows
    text, maps = METADATA[rows, wide]
    return _build_layout(mma, "metadata", Pattern.parse(text, M=rows), axes, 4, maps)


def _make_scale_layout(mma: TmemMma, operand: str) -> TmemOperandLayout:
    if mma.k == 96:
        message = "The layout of the scale factors of K = 96, 3 or 6 per row, is not documented."
        raise LayoutError("open_layout", message, "k: 64 has a documented layout.", "k")
    factors = FACTORS[mma.scale_vec]
    split = mma.form == PAIR and mma.m == 128
    name = "row" if operand == "scale_a" else "col"
    rows = mma.place.rows if operand == "scale_a" else mma.n
    paired = split and operand == "scale_b"
    text, maps = (SCALES_PAIR_B, SCALE_PAIR_MAPS) if paired else (SCALES, SCALE_MAPS)
    unit = 64 if operand == "scale_b" else QUARTER  # the access checks of ptxas count 2 columns for every 64 of N
    pattern = Pattern.parse(text, R=-(-rows // unit) * unit, S=factors)
    return _build_layout(mma, operand, pattern, (name, "scale"), 8, maps)


def count_columns(operand: Operand) -> int:
    """Return the number of 32-bit columns of an operand, or of those its registers are loaded from or stored to."""
    return operand.extents.get("column", operand.registers)


def format_form(form: str) -> str:
    """Format a form: `.cta_group::2`, `.ws`."""
    return CALLED[form]
