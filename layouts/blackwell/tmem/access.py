"""Accesses of tensor memory (tcgen05.ld, .st, .cp, .shift) from PTX texts: maps, and the cells they touch.

PTX ISA 9.1, 9.7.16.2.3, 9.7.16.8 and 9.7.16.9; rows: layouts/ptx/table/tmem.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx.pattern import IntArray, Pattern
from lanescope.ptx.table.tmem import (
    COLUMNS,
    COPIES,
    COPY_MAPS,
    LANES,
    MOVE_MAPS,
    MOVES,
    QUARTER,
    SHIFTED,
    SHIFTED_BY,
    WIDENED,
    TmemMove,
)

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TensorAccess:
    """A tcgen05.ld, .st, .cp or .shift.

    pattern: its map to `axes`; columns: the number it spans from its address on; registers: per thread, 0 for cp and
    shift; packed: with .pack::16b or .unpack::16b; split: the columns from the first half to the second, 0 if adjacent;
    move: the row of a load or store; widened: the bytes of 16 packed elements that a copy widens to 16 bytes, else 0.
    """

    ptx: str
    verb: str
    pattern: Pattern
    axes: tuple[str, ...]
    columns: int
    registers: int
    packed: bool = False
    split: int = 0
    move: TmemMove | None = None
    widened: int = 0

    @property
    def by_warp(self) -> bool:
        """Whether a warp executes it, which can only access its own quarter."""
        return self.move is not None

    @property
    def shape(self) -> str:
        """PTX's shape of a load or store; "" for a copy or shift."""
        return self.move.shape if self.move else ""

    @property
    def halves(self) -> bool:
        """Whether its second half begins at an immediate offset."""
        return self.move is not None and self.move.halves

    @property
    def tall(self) -> int:
        """The lanes of a quarter that a load or store accesses; for a copy or shift, all lanes it accesses."""
        return self.move.lanes if self.move else self.pattern.thread_count

    @property
    def of_quarters(self) -> bool:
        """Whether a copy writes one lane of every quarter, counted from the address."""
        return not self.by_warp and self.tall == LANES // QUARTER

    @property
    def evidence(self) -> str:
        if self.verb == "shift":
            return "documented; measured by others; not executed here"
        maps = MOVE_MAPS if self.by_warp else COPY_MAPS
        if self.widened:
            where = f"16 elements occupy {self.widened} bytes and {16 - self.widened} of padding"
            bits = "the bits of an element in its byte are not documented in text"
            return f"documented: {where}; {bits}; not executed on hardware"
        return f"documented; agrees with CUTLASS ({maps} maps of all shapes); not executed on hardware"


_ACCESS = re.compile(r"tcgen05\s*\.\s*(ld|st|cp|shift)((?:\s*\.\s*[\w:]+)*)", re.I)
EXAMPLE = "tcgen05.ld.sync.aligned.32x32b.x32.b32"


def is_access(text: str) -> bool:
    """Return whether a PTX text is a tcgen05.ld, .st, .cp or .shift."""
    return bool(_ACCESS.match(text.strip()))


def parse_access(text: str, split: int = 0) -> TensorAccess:
    """Parse an access from its PTX text; LayoutError `bad_access` if it has no legal shape.

    split: the immediate offset of 16x32bx2's second half; 0 if the halves are adjacent.
    """
    match = _ACCESS.search(text)
    if not match:
        raise LayoutError(
            "bad_access",
            f"'{shorten_value(text, 80)}' is not an access to tensor memory.",
            f"Write e.g. {EXAMPLE}.",
            "access",
        )
    verb, words = match[1].lower(), re.findall(r"[\w:]+", match[2].lower())
    if verb == "shift":
        return TensorAccess("tcgen05.shift.cta_group::1.down", verb, Pattern.parse(SHIFTED), ("lane", "column"), 8, 0)
    if verb == "cp":
        name = next((n for n in COPIES if set(n.split(".")) <= set(words)), None)
        if name is None:
            raise LayoutError(
                "bad_access",
                f"'{shorten_value(text, 80)}' has no shape of cp.",
                f"Allowed: {', '.join(COPIES)}.",
                "access",
            )
        pattern = Pattern.parse(COPIES[name])
        group = next((word for word in words if word.startswith("cta_group::")), "cta_group::1")
        wide = next((form for form in WIDENED if set(form.split(".")) <= set(words)), "")
        ptx = ".".join(filter(None, ("tcgen05.cp", group, name, wide)))
        columns, bytes_ = pattern.value_count, WIDENED.get(wide, 0)
        return TensorAccess(ptx, verb, pattern, ("row", "word"), columns, 0, widened=bytes_)
    return _parse_move(text, verb, words, split)


def _parse_move(text: str, verb: str, words: list[str], split: int) -> TensorAccess:
    row = next((move for move in MOVES if move.shape in words), None)
    if row is None:
        shapes = ", ".join(move.shape for move in MOVES)
        raise LayoutError(
            "bad_access", f"'{shorten_value(text, 80)}' has no shape of {verb}.", f"Allowed: {shapes}.", "access"
        )
    times = next((word for word in words if re.fullmatch(r"x\d+", word)), "x1")
    count = int(times[1:6])  # five digits exceed the limit of every shape
    if count > row.most or count & (count - 1) or not count:
        raise LayoutError(
            "bad_access",
            f"{row.shape} has no .{shorten_value(times)}.",
            f"Powers of two from .x1 to .x{row.most}.",
            "access",
        )
    packed = any(word in ("pack::16b", "unpack::16b") for word in words)
    pattern = Pattern.parse(row.packed if packed else row.pattern, x=count)
    registers = pattern.value_count // (2 if packed else 1)
    pack = {"ld": ".pack::16b", "st": ".unpack::16b"}[verb] if packed else ""
    ptx = f"tcgen05.{verb}.sync.aligned.{row.shape}.x{count}{pack}.b32"
    columns = row.columns * count * (2 if packed else 1)
    return TensorAccess(
        ptx,
        verb,
        pattern,
        axes=("lane", "column"),
        columns=columns,
        registers=registers,
        packed=packed,
        split=split,
        move=row,
    )


def map_shifted_lanes() -> IntArray:
    """Return, for each lane, the lane whose row it holds after a tcgen05.shift; a quarter's last lane is unchanged."""
    quarter, inside = np.divmod(np.arange(LANES), QUARTER)
    lanes: IntArray = (quarter * QUARTER + np.minimum(inside + SHIFTED_BY, QUARTER - 1)).astype(np.int32)
    return lanes


def place_columns(access: TensorAccess, columns: Any) -> Any:
    """Return the columns of an access, with the second half at its offset if it has one."""
    if not access.split or not access.halves:
        return columns
    half = access.columns // 2
    return np.where(columns >= half, columns - half + access.split, columns)


def mask_touched(access: TensorAccess, lane: int, column: int) -> Mask:
    """Return the cells that an access at an address touches, without those outside: bool [lanes][columns]."""
    mask = np.zeros((LANES, COLUMNS), bool)
    lanes: Any
    columns: Any
    if access.by_warp:
        lanes, columns = access.pattern.evaluate()[:2]
        columns = place_columns(access, columns)
    elif access.of_quarters:
        lanes, columns = np.meshgrid(np.arange(access.tall) * QUARTER, np.arange(access.columns), indexing="ij")
    else:
        lanes, columns = np.meshgrid(np.arange(LANES), np.arange(access.columns), indexing="ij")
    rows, cols = (lanes + lane).ravel(), (columns + column).ravel()
    inside = (rows < LANES) & (cols < COLUMNS)
    mask[rows[inside], cols[inside]] = True
    return mask
