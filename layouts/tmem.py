"""Tensor memory: 128 lanes × 512 columns of 32 bits a CTA. What one MMA keeps where, what an access touches, and what
is wrong with a placement.

PTX ISA 9.1, 9.7.16.1. The names of the faults are those of the access checks that ptxas compiles in with
-g-tmem-access-check. Documented, and equal to CUTLASS's maps as each layout says; nothing here has run on hardware.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import LayoutError
from layouts.idesc import CALLED, Idesc
from layouts.instruction import Operand
from layouts.kind import Kind
from layouts.pattern import IntArray, Pattern
from layouts.reading import listed, shown
from layouts.table.kinds import ALONE, PAIR, WS
from layouts.table.tmem import (
    COPIES,
    COPY_MAPS,
    INFERRED,
    METADATA,
    METADATA_SPLIT,
    MOVE_MAPS,
    MOVES,
    PLACES,
    SCALE_MAPS,
    SCALE_PAIR_MAPS,
    SCALES,
    SCALES_PAIR_B,
    SHIFTED,
    SHIFTED_BY,
    WIDENED,
    Move,
    Place,
)

LANES, COLUMNS, QUARTER = 128, 512, 32
LEAST_ALLOCATION = 32
OPERANDS = ("d", "a", "metadata", "scale_a", "scale_b")
WIDE_KINDS = ("f16", "tf32")  # whose metadata has half as many indices a row
FACTORS = {"1X": 1, "2X": 2, "4X": 4}
SOURCE = "PTX ISA 9.1, 9.7.16.1"

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Mma:
    """One tcgen05.mma as tensor memory sees it. k: of one instruction; bits: of an element of A in its container."""

    kind: Kind
    form: str
    sparse: bool
    m: int
    n: int
    k: int = 0
    bits: int = 0
    scale_vec: str = ""

    def __post_init__(self) -> None:
        sizes = self.kind.sizes.get((self.form, self.sparse))
        if sizes is None:
            says = f"kind::{self.kind.name} has no {CALLED[self.form]} with a {'sparse' if self.sparse else 'dense'} A."
            raise LayoutError("no_form", says, "Block scaling is issued without .ws.", "ws")
        for name, size, legal, words in (
            ("m", self.m, sizes.m, listed([str(m) for m in sizes.m], "or")),
            ("n", self.n, sizes.n, sizes.n_words),
        ):
            if size not in legal:
                says = f"{name} is {size}. {CALLED[self.form]} with kind::{self.kind.name} takes {words}."
                raise LayoutError(f"bad_{name}", says, "PTX ISA 9.1, Table 39.", name)
        whole = self.kind.k * (2 if self.sparse else 1)
        if self.k not in (0, whole) and not (self.k == 96 and self.kind.has("k") and not self.sparse):
            raise LayoutError("bad_k", f"k is {self.k}.", f"kind::{self.kind.name} takes {whole} here.", "k")
        usual = {8: 32, 16: 16, 32: 8, 64: 4}[self.kind.k]
        if self.bits not in (0, usual):
            raise LayoutError("bad_bits", f"bits is {self.bits}.", f"A of kind::{self.kind.name} has {usual}.", "bits")
        vector = self.scale_vec or next(iter(self.kind.scaled), "")
        if vector not in (*self.kind.scaled, ""):
            allowed = listed(list(self.kind.scaled), "or") or "nothing: it is not block-scaled"
            raise LayoutError(
                "bad_scale_vec",
                f"scale_vec is {shown(vector)}.",
                f"kind::{self.kind.name} takes {allowed}.",
                "scale_vec",
            )
        object.__setattr__(self, "k", self.k or whole)
        object.__setattr__(self, "bits", usual)
        object.__setattr__(self, "scale_vec", vector)

    @property
    def place(self) -> Place:
        """The data-path layout."""
        return next(p for p in PLACES if (p.m, p.form) == (self.m, self.form) and self.sparse in p.sparse)

    @property
    def ctas(self) -> int:
        return 2 if self.form == PAIR else 1

    @property
    def operands(self) -> tuple[str, ...]:
        """What of it may lie in tensor memory."""
        return (
            "d",
            "a",
            *(("metadata",) if self.sparse else ()),
            *(("scale_a", "scale_b") if self.kind.scaled else ()),
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """One operand in tensor memory. bits: of a unit; maps: of CUTLASS that equal the pattern, 0: inferred."""

    operand: str
    letter: str
    pattern: Pattern
    axes: tuple[str, ...]
    bits: int
    maps: int
    source: str

    @property
    def columns(self) -> int:
        """32-bit columns that it takes."""
        return -(-self.pattern.value_count * self.bits // 32)

    @property
    def evidence(self) -> str:
        """What stands behind it, in a line."""
        agrees = f"agrees with CUTLASS ({self.maps} maps)" if self.maps else f"{INFERRED}: no map of CUTLASS shows it"
        return f"documented; {agrees}; not executed on hardware"

    @property
    def coords(self) -> dict[str, IntArray]:
        """Axis → int array [lane][unit]."""
        return dict(zip(self.axes, self.pattern.evaluate(), strict=True))

    def owners(self, row: int, col: int, half: int = 0) -> list[tuple[int, int]]:
        """Every (lane, unit) that holds an element."""
        return self.pattern.owners(row, col, *((half,) if len(self.axes) == 3 else ()))


def layout(mma: Mma, operand: str) -> Layout:
    """Where an operand of an MMA lies; LayoutError for one that is not in tensor memory, and for what is open."""
    if operand not in OPERANDS:
        raise LayoutError("bad_operand", f"No operand '{operand}'.", f"Allowed: {', '.join(OPERANDS)}.", "operand")
    if operand not in mma.operands:
        why = "A is dense" if operand == "metadata" else f"kind::{mma.kind.name} is not block-scaled"
        raise LayoutError("bad_operand", f"There is no {operand}: {why}.", f"It has {listed(mma.operands)}.", "operand")
    place = mma.place
    if operand == "d":
        pattern = Pattern.parse(place.d, N=mma.n)
        return _made(mma, "d", pattern, ("row", "col"), 32, place.maps[0])
    if operand == "a":
        stored = mma.k // 2 if mma.sparse else mma.k
        pattern = Pattern.parse(place.a, K=stored, v=32 // mma.bits)
        return _made(mma, "a", pattern, ("row", "k"), mma.bits, place.maps[1])
    return _metadata(mma) if operand == "metadata" else _scales(mma, operand)


def _made(mma: Mma, operand: str, pattern: Pattern, axes: tuple[str, ...], bits: int, maps: int) -> Layout:
    whole = (*axes, "half") if len(pattern.coords) == 3 else axes
    return Layout(operand, mma.place.letter, pattern, whole, bits, maps, mma.place.source)


def _metadata(mma: Mma) -> Layout:
    wide = mma.kind.name in WIDE_KINDS
    axes = ("row", "group")
    if len(mma.place.aligned) > 1:  # layouts C and F: 64 rows in 16 lanes of each quarter
        if not wide:
            says = f"Where the metadata of kind::{mma.kind.name} lies in layout {mma.place.letter} is open."
            raise LayoutError("open_layout", says, "M = 128, or .ws, has a known layout.", "m")
        return _made(mma, "metadata", Pattern.parse(METADATA_SPLIT), axes, 4, 0)
    rows = mma.place.rows
    text, maps = METADATA[rows, wide]
    return _made(mma, "metadata", Pattern.parse(text, M=rows), axes, 4, maps)


def _scales(mma: Mma, operand: str) -> Layout:
    if mma.k == 96:
        says = "Where the factors of K = 96 lie, 3 or 6 a row, is open."
        raise LayoutError("open_layout", says, "k: 64 has a known layout.", "k")
    factors = FACTORS[mma.scale_vec]
    split = mma.form == PAIR and mma.m == 128
    name = "row" if operand == "scale_a" else "col"
    rows = mma.place.rows if operand == "scale_a" else mma.n
    paired = split and operand == "scale_b"
    text, maps = (SCALES_PAIR_B, SCALE_PAIR_MAPS) if paired else (SCALES, SCALE_MAPS)
    whole = 64 if operand == "scale_b" else QUARTER  # the access checks of ptxas count 2 columns for every 64 of N
    pattern = Pattern.parse(text, R=-(-rows // whole) * whole, S=factors)
    return _made(mma, operand, pattern, (name, "scale"), 8, maps)


# accesses -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Access:
    """A tcgen05.ld, .st, .cp or .shift. lanes, columns: what it touches, counted from its address; registers: of a
    thread, 0 for cp and shift. axes: of its map.
    """

    ptx: str
    verb: str
    pattern: Pattern
    axes: tuple[str, ...]
    columns: int
    registers: int
    packed: bool = False
    split: int = 0

    @property
    def widened(self) -> int:
        """Bytes that 16 packed elements take in shared memory, where a copy widens them to 16 bytes; else 0."""
        return next((size for form, size in WIDENED.items() if self.ptx.endswith(form)), 0)

    @property
    def by_warp(self) -> bool:
        """Whether one warp executes it, which reaches its own quarter alone."""
        return self.verb in ("ld", "st")

    @property
    def evidence(self) -> str:
        if self.verb == "shift":
            return "documented; measured by others; not executed here"
        maps = MOVE_MAPS if self.by_warp else COPY_MAPS
        if self.widened:
            says = f"16 elements lie in {self.widened} bytes and {16 - self.widened} of padding"
            return f"documented: {says}; which bits of its byte an element takes is open; not executed on hardware"
        return f"documented; agrees with CUTLASS ({maps} maps of all shapes); not executed on hardware"


_ACCESS = re.compile(r"tcgen05\s*\.\s*(ld|st|cp|shift)((?:\s*\.\s*[\w:]+)*)", re.I)
EXAMPLE = "tcgen05.ld.sync.aligned.32x32b.x32.b32"


def is_access(text: str) -> bool:
    """Whether a PTX text is a tcgen05.ld, .st, .cp or .shift."""
    return bool(_ACCESS.match(text.strip()))


def access(text: str, split: int = 0, field: str = "access") -> Access:
    """An access by its PTX text. split: the constant of 16x32bx2 between its halves; x, or 2x packed, where it is 0."""
    found = _ACCESS.search(text)
    if not found:
        raise LayoutError(
            "bad_access", f"'{shown(text, 80)}' is no access to tensor memory.", f"Write e.g. {EXAMPLE}.", field
        )
    verb, words = found[1].lower(), re.findall(r"[\w:]+", found[2].lower())
    if verb == "shift":
        return Access("tcgen05.shift.cta_group::1.down", verb, Pattern.parse(SHIFTED), ("lane", "column"), 8, 0)
    if verb == "cp":
        name = next((n for n in COPIES if set(n.split(".")) <= set(words)), None)
        if name is None:
            raise LayoutError(
                "bad_access", f"'{shown(text, 80)}' has no shape of cp.", f"Allowed: {', '.join(COPIES)}.", field
            )
        pattern = Pattern.parse(COPIES[name])
        group = next((word for word in words if word.startswith("cta_group::")), "cta_group::1")
        wide = next((f".{form}" for form in WIDENED if set(form.split(".")) <= set(words)), "")
        return Access(f"tcgen05.cp.{group}.{name}{wide}", verb, pattern, ("row", "word"), pattern.value_count, 0)
    return _move(text, verb, words, split, field)


def _move(text: str, verb: str, words: list[str], split: int, field: str) -> Access:
    row = next((move for move in MOVES if move.shape in words), None)
    if row is None:
        shapes = ", ".join(move.shape for move in MOVES)
        raise LayoutError("bad_access", f"'{shown(text, 80)}' has no shape of {verb}.", f"Allowed: {shapes}.", field)
    count = next((int(word[1:]) for word in words if re.fullmatch(r"x\d{1,4}", word)), 1)
    if count > row.most or count & (count - 1) or not count:
        raise LayoutError(
            "bad_access", f"{row.shape} has no .x{count}.", f"Powers of two from .x1 to .x{row.most}.", field
        )
    packed = any(word in ("pack::16b", "unpack::16b") for word in words)
    pattern = Pattern.parse(row.packed if packed else row.pattern, x=count)
    registers = pattern.value_count // (2 if packed else 1)
    pack = {"ld": ".pack::16b", "st": ".unpack::16b"}[verb] if packed else ""
    ptx = f"tcgen05.{verb}.sync.aligned.{row.shape}.x{count}{pack}.b32"
    return Access(
        ptx, verb, pattern, ("lane", "column"), row.columns * count * (2 if packed else 1), registers, packed, split
    )


def shifted() -> IntArray:
    """By lane: the lane whose row it holds after a tcgen05.shift; the last lane of a quarter keeps its own."""
    quarter, inside = np.divmod(np.arange(LANES), QUARTER)
    out: IntArray = (quarter * QUARTER + np.minimum(inside + SHIFTED_BY, QUARTER - 1)).astype(np.int32)
    return out


def columns_of(operand: Operand) -> int:
    """32-bit columns that an operand spans: those it lies in, or those its registers are loaded from or stored to."""
    return operand.extents.get("column", operand.registers)


def move_of(found: Access) -> Move:
    """The row of a load or store."""
    return next(move for move in MOVES if f".{move.shape}." in found.ptx)


def split_columns(found: Access, columns: Any) -> Any:
    """Columns of an access; the second half of 16x32bx2 moved to where its constant puts it."""
    if not found.split or ".16x32bx2." not in found.ptx:
        return columns
    half = found.columns // 2
    return np.where(columns >= half, columns - half + found.split, columns)


def touched(found: Access, lane: int, column: int) -> Mask:
    """What an access at an address touches: bool [lanes][columns]; beyond the memory it is cut off."""
    out = np.zeros((LANES, COLUMNS), bool)
    lanes: Any
    columns: Any
    if found.by_warp:
        lanes, columns = found.pattern.evaluate()[:2]
        columns = split_columns(found, columns)
    elif found.verb == "cp" and found.pattern.thread_count == 4:
        lanes, columns = np.meshgrid(np.arange(4) * QUARTER, np.arange(found.columns), indexing="ij")
    else:
        lanes, columns = np.meshgrid(np.arange(LANES), np.arange(found.columns), indexing="ij")
    rows, cols = (lanes + lane).ravel(), (columns + column).ravel()
    inside = (rows < LANES) & (cols < COLUMNS)
    out[rows[inside], cols[inside]] = True
    return out


# a placement ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Placed:
    """An operand at an address. name: how the picture calls it."""

    name: str
    layout: Layout
    lane: int
    column: int

    @property
    def mask(self) -> Mask:
        """The lanes and columns it takes: bool [lanes][columns]; of interleaved halves the one its lane says."""
        out = np.zeros((LANES, COLUMNS), bool)
        wide = slice(self.column, self.column + self.layout.columns)
        rows = np.ones(LANES, bool)
        if "half" in self.layout.axes:
            rows = self.layout.coords["half"][:, 0] == (self.lane % QUARTER >= 16)
        out[rows, wide] = True
        return out


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a placement: ptxas's name of the check, about whom, and why."""

    code: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """Columns that were allocated, from `first` on."""

    columns: int = COLUMNS
    first: int = 0


def allocation_faults(given: Allocation) -> list[Fault]:
    """What tcgen05.alloc refuses: a power of two from 32 to 512, inside the memory."""
    columns = given.columns
    out = []
    if columns & (columns - 1) or not LEAST_ALLOCATION <= columns <= COLUMNS:
        says = f"tcgen05.alloc takes a power of two from {LEAST_ALLOCATION} to {COLUMNS} columns, not {columns}."
        out.append(Fault("allocation_granularity_invalid", "alloc", says))
    if given.first + columns > COLUMNS:
        says = f"Columns {given.first} to {given.first + columns - 1} do not lie in the {COLUMNS} there are."
        out.append(Fault("out_of_physical_bounds", "alloc", says))
    return out


def faults(given: Allocation, placed: list[Placed], mma_of: dict[str, Mma]) -> list[Fault]:
    """What is wrong with operands in an allocation: bounds, alignment of lanes, overlaps, in that order."""
    out = allocation_faults(given)
    for one in placed:
        last = one.column + one.layout.columns - 1
        out += _bounds(one.name, one.column, last, given)
        aligned = mma_of[one.name].place.aligned
        if one.lane % QUARTER not in aligned or (one.lane >= QUARTER):
            lanes = listed([str(lane) for lane in aligned], "or")
            says = f"{one.name} begins at lane {one.lane}; layout {one.layout.letter} begins at lane {lanes}."
            out.append(Fault("invalid_datapath_alignment", one.name, says))
    out += _aligned_alike(placed, mma_of)
    for n, one in enumerate(placed):
        for other in placed[n + 1 :]:
            both = one.mask & other.mask
            if both.any():
                columns = np.flatnonzero(both.any(axis=0))
                says = f"{one.name} and {other.name} share columns {columns[0]} to {columns[-1]}."
                out.append(Fault("operands_overlap", other.name, says))
    return out


def idesc_faults(given: Idesc, mma: Mma) -> list[Fault]:
    """What an MMA's instruction descriptor says otherwise than its PTX text and placement: sparsity, M and N."""
    out = []
    if given.sparse != mma.sparse:
        said = "sparse" if given.sparse else "dense"
        says = f"Bit 2 of {given} says {said}; the MMA has{'' if mma.sparse else ' no'} .sp."
        out.append(Fault("sparse_mismatch_between_idesc_mod", "idesc", says))
    for name, told, meant in (("M", given.m, mma.m), ("N", given.n, mma.n)):
        if told != meant:
            out.append(
                Fault("idesc_size", "idesc", f"{given} says {name} {told}; the operands are placed for {meant}.")
            )
    return out


def _aligned_alike(placed: list[Placed], mma_of: dict[str, Mma]) -> list[Fault]:
    """In layouts C and F the operands of one MMA begin at the same lane (PTX ISA 9.1, 9.7.16.10.8.5)."""
    out = []
    for n, one in enumerate(placed):
        split = [
            other for other in placed[:n] if mma_of[other.name] is mma_of[one.name] and "half" in other.layout.axes
        ]
        if "half" in one.layout.axes and split and split[0].lane != one.lane:
            says = f"{one.name} begins at lane {one.lane}, {split[0].name} of the same MMA at lane {split[0].lane}."
            out.append(Fault("invalid_datapath_alignment", one.name, says))
    return out


def _bounds(name: str, first: int, last: int, given: Allocation) -> list[Fault]:
    if last >= COLUMNS:
        says = f"{name} reaches column {last}; the last is {COLUMNS - 1}."
        return [Fault("out_of_physical_bounds", name, says)]
    if first < given.first or last >= given.first + given.columns:
        says = (
            f"{name} takes columns {first} to {last}; {given.first} to {given.first + given.columns - 1} are allocated."
        )
        return [Fault("unallocated_columns_access", name, says)]
    return []


def access_faults(found: Access, lane: int, column: int, warp: int, given: Allocation) -> list[Fault]:
    """What is wrong with an access at an address: bounds, the quarter that the warp owns, the lane's alignment."""
    out = _bounds(found.ptx, column, column + found.columns - 1, given)
    quarter = lane // QUARTER
    if lane >= LANES:
        return [*out, Fault("out_of_physical_bounds", found.ptx, f"Lane {lane} is past the last, {LANES - 1}.")]
    if found.by_warp and warp % 4 != quarter:
        says = (
            f"Warp {warp} reaches lanes {warp % 4 * QUARTER} to {warp % 4 * QUARTER + QUARTER - 1}; the address has"
            f" lane {lane}, which warp {quarter} of the warpgroup owns."
        )
        out.append(Fault("current_warp_owner_invalid", found.ptx, says))
    allowed = (0, 16) if found.by_warp and move_of(found).lanes == 16 else (0,)
    inside = lane % QUARTER
    if found.by_warp or found.verb == "shift":
        if inside not in allowed:
            says = (
                f"Lane {lane} is {inside} past a quarter's first; {listed([str(n) for n in allowed], 'or')} is legal."
            )
            out.append(Fault("invalid_datapath_alignment", found.ptx, says))
    elif "4x256b" not in found.ptx and lane:
        says = f"{found.ptx} copies from lane 0 on; the address has lane {lane}."
        out.append(Fault("invalid_datapath_alignment", found.ptx, says))
    return out


def form_called(form: str) -> str:
    """How a form is written: `.cta_group::2`, `.ws`."""
    return CALLED[form]


FORM_WORDS = {ALONE: "one CTA", PAIR: "a pair of CTAs", WS: "one CTA, weights stationary"}
