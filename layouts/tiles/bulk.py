"""TMA copies of a tile: the boxes, their places in shared memory, and the part of each CTA of a cluster.

    made = tma_copy("SM90_TMA_LOAD_MULTICAST", tile=(128, 64), where=storage(…), multicast=2)
    made.box, made.boxes, made.bytes_per_cta

A box extends as far as the storage is contiguous like the tile, along the contiguous dimension, then over lines; in a
multicast each CTA loads a part of it (construct_tma_gbasis and make_tma_copy_desc of
include/cute/atom/copy_traits_sm90_tma.hpp, CUTLASS 4.7). lanescope.shared.tma has the storage of a box.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_integer, shorten_value
from lanescope.shared import tma
from lanescope.shared.storage import Storage
from lanescope.tiles.mma import MOST_VALUES, parse_tile_sizes

Longs = NDArray[np.int64]
ATOMS = {  # CUTLASS's name → (whether it loads, whether it is a multicast)
    "SM90_TMA_LOAD": (True, False),
    "SM90_TMA_LOAD_MULTICAST": (True, True),
    "SM90_TMA_STORE": (False, False),
    "SM90_TMA_REDUCE_ADD": (False, False),
}
ELEMENTS = (8, 16, 32, 64)
MOST_CTAS = 16  # of a cluster: the non-portable limit of sm_90
_TMA = re.compile(r"(?:cute::)?(SM\d+_TMA_\w+)(?:\s*\{\s*\})?")


@dataclass(frozen=True, slots=True)
class TmaRule:
    """A rule of TMA or CuTe that the copy breaks."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TmaCopy:
    """A TMA copy of a tile.

    box: of one instruction of one CTA, innermost first; boxes: instructions per CTA; inner: the contiguous dimension,
    "K" (columns) or "MN" (rows); number, cta: [row][col], the instruction and the CTA that copy an element; address:
    where it is written; expected: where the storage has it.
    """

    atom: str
    loads: bool
    multicast: int
    element_bits: int
    tile: tuple[int, int]
    inner: str
    box: tuple[int, int]
    boxes: int
    swizzle: str
    number: Longs
    cta: Longs
    address: Longs
    expected: Longs
    rules: tuple[TmaRule, ...]

    @property
    def bytes(self) -> int:
        """The bytes of the tile, which the mbarrier of each CTA expects."""
        return self.tile[0] * self.tile[1] * self.element_bits // 8

    @property
    def bytes_per_cta(self) -> int:
        """The bytes that each CTA loads from global memory."""
        return self.bytes // self.multicast

    @property
    def wrong(self) -> int:
        return int(np.count_nonzero(self.address != self.expected))

    @property
    def first(self) -> tuple[int, int] | None:
        """The first element, by rows, that is written to a wrong address; None if there is none."""
        wrong = np.argwhere(self.address != self.expected)
        return (int(wrong[0][0]), int(wrong[0][1])) if wrong.size else None


def is_tma(text: str) -> bool:
    """Return whether a text is the name of a TMA atom."""
    return bool(_TMA.fullmatch(text.strip()))


def _parse_tma_name(text: str) -> str:
    match = _TMA.fullmatch(text.strip())
    name = match[1] if match else text
    if name in ATOMS:
        return name
    if "IM2COL" in name:
        why = "gathers the window of a convolution: its box follows from the filter, the padding and the strides."
    elif match:
        why = "has no boxes here."
    else:
        why = "is not a TMA atom."
    raise LayoutError("bad_atom", f"'{shorten_value(name, 80)}' {why}", f"Allowed: {', '.join(ATOMS)}.", "atom")


def tma_copy(
    atom: str,
    *,
    tile: Sequence[Any],
    where: Storage,
    element_bits: int = 16,
    major: str = "K",
    multicast: int = 1,
    layout: CuteLayout | None = None,
) -> TmaCopy:
    """Return the TMA copy of a tile (rows, columns) to or from a storage of (row, column).

    layout: of global memory, for its rules. LayoutError names the invalid field; rules of the driver and of CuTe that
    the copy breaks are in `rules`.

    >>> from lanescope.shared.storage import storage
    >>> made = tma_copy("SM90_TMA_LOAD", tile=(128, 128), where=storage(
    ...     {"kind": "canonical", "mn": 128, "k": 128, "swizzle": "128B"}, 16, "K"))
    >>> made.box, made.boxes, made.rules
    ((64, 128), 2, ())
    """
    name = _parse_tma_name(atom)
    loads, shares = ATOMS[name]
    bits = int(parse_choice(str(element_bits), "element_bits", list(map(str, ELEMENTS)), "bad_number"))
    ctas = parse_integer(multicast, "multicast", 1, MOST_CTAS)
    if ctas > 1 and not shares:
        raise LayoutError(
            "bad_atom",
            f"{name} with multicast {ctas}: a single CTA issues it.",
            "SM90_TMA_LOAD_MULTICAST.",
            "multicast",
        )
    rows, cols = parse_tile_sizes(tile, ("rows", "columns"))
    if rows * cols > MOST_VALUES:
        raise LayoutError("too_large", f"A tile of {rows}×{cols}.", f"At most {MOST_VALUES} elements.", "tile")
    for field, have, want in (("mn", where.mn, rows), ("k", where.k, cols)):
        if have is not None and have < want:
            raise LayoutError(
                "bad_storage",
                f"The storage has {field} = {have}; the tile needs {want}.",
                "Give a larger one.",
                f"storage.{field}",
            )
    assert where.placed is not None  # every storage has one
    place, inner = where.placed, where.get_major(major)
    row, col = np.indices((rows, cols), dtype=np.int64)
    before = np.asarray(place.before(row, col, 0), dtype=np.int64)
    lines = before if inner == "K" else before.T  # [line][along the contiguous dimension], in bits
    wide, tall, rules = _find_run(lines, bits, where)
    box, more = _split_multicast([wide, tall], ctas)
    rules += more
    address, start = _compute_landing(lines, wide, tall, bits, where)
    numbers, owner = _map_pieces(lines.shape, (wide, tall), box)
    box_count = numbers.max() + 1
    rules += _find_driver_refusals(bits, box, where.mode.name, layout, inner)
    if odd := [at for at in np.unique(start).tolist() if at % tma.BOX_ALIGNMENT]:
        apart = int(lines[1, 0] - lines[0, 0]) // 8 if tall == 1 < len(lines) else 0
        pitch = tma.get_pitch_bytes(wide * bits // 8, where.mode.name)
        remark = f" Lines are {apart} bytes apart; in one box they would be {pitch}"
        rules.append(
            TmaRule(
                "tma_destination",
                f"A box begins at byte {odd[0]}; it must be a multiple of {tma.BOX_ALIGNMENT}."
                + f"{remark} apart, so each line is a separate box." * bool(apart),
            )
        )
    turn = (lambda a: a) if inner == "K" else np.transpose
    return TmaCopy(
        atom=name,
        loads=loads,
        multicast=ctas,
        element_bits=bits,
        tile=(rows, cols),
        inner=inner,
        box=(box[0], box[1]),
        boxes=int(box_count),
        swizzle=where.mode.name,
        number=turn(numbers),
        cta=turn(owner),
        address=turn(address),
        expected=np.asarray(where.address(row, col)),
        rules=tuple(rules),
    )


def _find_run(lines: Longs, bits: int, where: Storage) -> tuple[int, int, list[TmaRule]]:
    """Return (elements per line, lines, broken rules) of the region that one box can cover from the first element."""
    count, length = lines.shape
    rules: list[TmaRule] = []
    mode = where.mode
    assert where.placed is not None
    if where.placed.xor.bits and not mode.bits:
        rules.append(
            TmaRule("tma_swizzle", f"TMA has no {where.placed.xor} on bits: none, 32B, 64B or 128B of 16-byte chunks.")
        )
    most = min(length, tma.MOST_BOX, 8 * mode.width_bytes // bits if mode.bits else length)
    along = lines[0, :most] - lines[0, 0] == bits * np.arange(most)
    wide = _find_divisor(length, int(np.argmin(along)) if not along.all() else most)
    if wide == 1 and length > 1:
        rules.append(
            TmaRule(
                "tma_major",
                "The storage is not contiguous along the dimension that global memory is"
                " contiguous in (CuTe: could not find a common tile-gmem vectorization).",
            )
        )
    pitch = 8 * tma.get_pitch_bytes(wide * bits // 8, mode.name)
    down = lines[: tma.MOST_BOX, 0] - lines[0, 0] == pitch * np.arange(min(count, tma.MOST_BOX))
    return wide, _find_divisor(count, int(np.argmin(down)) if not down.all() else down.size), rules


def _find_divisor(dividend: int, most: int) -> int:
    """Return the largest divisor up to a limit."""
    return next(n for n in range(max(most, 1), 0, -1) if dividend % n == 0)


def _split_multicast(box: list[int], ctas: int) -> tuple[list[int], list[TmaRule]]:
    """Return the part of a box that each CTA of a multicast loads, split along the outermost dimension first."""
    part, left = list(box), ctas
    for at in (1, 0):
        if left > 1:
            if part[at] % left and left % part[at]:
                return part, [
                    TmaRule(
                        "tma_multicast",
                        f"{left} CTAs do not divide boxDim[{at}] = {part[at]}, and it does not divide them.",
                    )
                ]
            part[at], left = -(-part[at] // left), -(-left // part[at])
    return part, [TmaRule("tma_multicast", f"The box {box} cannot be divided into {ctas} parts.")] if left > 1 else []


def _compute_landing(lines: Longs, wide: int, tall: int, bits: int, where: Storage) -> tuple[Longs, Longs]:
    """Return (the address that TMA writes each element to, the address of its box): [line][along]."""
    assert where.placed is not None
    line, along = np.indices(lines.shape, dtype=np.int64)
    first = lines[line // tall * tall, along // wide * wide] // 8 + where.placed.base
    pitch = tma.get_pitch_bytes(wide * bits // 8, where.mode.name)
    plain = first + line % tall * pitch + along % wide * bits // 8
    return np.asarray(where.mode.swizzle()(plain)), first


def _map_pieces(shape: tuple[int, ...], box: tuple[int, int], part: Sequence[int]) -> tuple[Longs, Longs]:
    """Return (instruction, CTA) that copies each element: [line][along]; boxes are numbered along the lines first."""
    line, along = np.indices(shape, dtype=np.int64)
    down = -(-shape[0] // box[1])
    number_ = along // box[0] * down + line // box[1]
    parts = max(1, box[1] // part[1])
    return number_, line % box[1] // part[1] + parts * (along % box[0] // part[0])


def _find_driver_refusals(
    bits: int, box: Sequence[int], swizzle: str, layout: CuteLayout | None, inner: str
) -> list[TmaRule]:
    """Return the rules of cuTensorMapEncodeTiled that the tensor map breaks."""
    dims: list[int] = []
    strides: list[int] = []
    refusals: list[TmaRule] = []
    if layout is not None:
        if layout.rank != 2 or isinstance(layout.shape, int):
            raise LayoutError(
                "bad_layout", f"'{layout}' does not have two modes.", "Try (4096,4096):(4096,1).", "global"
            )
        modes = layout.modes[::-1] if inner == "K" else layout.modes
        if any(not isinstance(mode.shape, int) for mode in modes):
            raise LayoutError("bad_layout", f"'{layout}' has nested modes.", "Try (4096,4096):(4096,1).", "global")
        dims, steps = [mode.size for mode in modes], [int(mode.stride) for mode in modes]
        if steps[0] != 1:
            refusals.append(
                TmaRule(
                    "tma_major",
                    f"Global memory has a stride of {steps[0]} along the dimension that the storage is contiguous in"
                    " (CuTe: majorness of smem doesn't match majorness of gmem).",
                )
            )
        strides = [step * bits // 8 for step in steps[1:]]
    return refusals + [
        TmaRule(*refusal) for refusal in tma.find_broken_rules(bits, dims, strides, box=box, steps=(), swizzle=swizzle)
    ]
