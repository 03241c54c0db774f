"""TiledCopy: which thread moves which element of a tile, and in which order, at the source and at the destination.

    tiled_copy("universal", bits=128, element_bits=16, thr_layout="(32,4):(4,1)", val_layout="(1,8)", tile=(64, 64))
    tiled_copy("ldmatrix.m8n8.x4.shared.b16", tiled_mma={"atom": …}, operand="a", tile=(64, 32))

The maps follow CuTe's definition (tile2thrfrg of include/cute/atom/copy_atom.hpp, CUTLASS 4.7): the layouts of threads
and values are raked into a tile, or come from a TiledMMA's operand; each atom's values are taken from its reference
layout to the source's or the destination's. Values stand in the order of partition_S and partition_D. The atoms' bit
layouts come from the table's rows: a lane of ldmatrix gives the address of a row of 128 bits and receives fragments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from layouts import algebra, catalog
from layouts.cute import CuteLayout
from layouts.cutetext import read_layout
from layouts.errors import LayoutError
from layouts.instruction import Instruction, Place
from layouts.pattern import Pattern
from layouts.reading import choice, number, shown
from layouts.showing import Shown
from layouts.tiles.bulk import is_tma
from layouts.tiles.held import ByThread, Ints
from layouts.tiles.mma import MOST_SIZE, MOST_THREADS, MOST_VALUES, TiledMMA

PLAIN = {"universal": (8, 16, 32, 64, 128), "cp.async": (32, 64, 128)}  # bits of one access
HINT = "universal, cp.async, or ldmatrix and stmatrix as PTX or CUTLASS spells them."
ELEMENTS = (4, 8, 16, 32, 64, 128)  # bits of an element
_UNIVERSAL = re.compile(
    r"(?:UniversalCopy|DefaultCopy|AutoVectorizingCopy\w*)(?:\s*<\s*(?:cute::)?uint(\d+)_t\s*>)?", re.I
)
_ASYNC = re.compile(r"(?:SM80_CP_ASYNC_CACHE(?:ALWAYS|GLOBAL)(?:_ZFILL)?)(?:\s*<\s*(?:cute::)?uint(\d+)_t\s*>)?")


@dataclass(frozen=True, slots=True)
class CopyAtom:
    """One copy atom: the bits of (thread, value) at source, destination and in the reference order (CuTe's SrcLayout,
    DstLayout, RefLayout).

    bits: of one access; instruction: of ldmatrix and stmatrix.
    """

    name: str
    bits: int
    source: CuteLayout
    destination: CuteLayout
    instruction: Instruction | None = None

    @property
    def reference(self) -> CuteLayout:
        """The side that registers are on: a load's destination, else the source."""
        return self.destination if self.loads else self.source

    @property
    def loads(self) -> bool:
        return self.instruction is not None and self.instruction.family.loads


def copy_atom(text: str, bits: int | None, element_bits: int) -> CopyAtom:
    """The atom that a word, a PTX text or a CUTLASS name is; bits: of one access of universal and cp.async."""
    known = {name: name for name in PLAIN}
    for name, spelling in (("universal", _UNIVERSAL), ("cp.async", _ASYNC)):
        if found := spelling.fullmatch(text.strip()):
            known[text.strip()] = name
            bits = bits or (int(found[1]) if found[1] else None)
    name = known.get(text.strip().lower(), known.get(text.strip(), ""))
    if name or text.strip().startswith("cp.async"):
        return _plain(name or "cp.async", bits, element_bits)
    return _matrices(_instruction(text), bits)


def _plain(name: str, bits: int | None, element_bits: int) -> CopyAtom:
    width = element_bits if bits is None and name == "universal" else bits or 128
    if width not in PLAIN[name] or width % element_bits:
        raise LayoutError(
            "bad_atom",
            f"{name} of {width} bits moves no whole elements of {element_bits}."
            if width % element_bits
            else f"{name} moves no {width} bits at once.",
            f"Allowed: {', '.join(str(n) for n in PLAIN[name] if n % element_bits == 0) or 'wider elements'}.",
            "bits",
        )
    one = CuteLayout((1, width), (0, 1))
    return CopyAtom(name, width, one, one)


def _instruction(text: str) -> Instruction:
    if catalog.opcode_of(text):
        return catalog.named(text, "atom")
    from layouts.reader import cutlass  # the reader's parsers load when a name is read

    try:
        found = cutlass.read(text)
    except LayoutError as error:
        raise error.at("atom", "bad_atom") from None
    if is_tma(text):
        raise LayoutError(
            "bad_atom", f"'{shown(text, 80)}' is issued by one thread: it has boxes, no layouts of threads and values.",
            "Give a storage and no layouts, or call layouts.tma_copy.", "atom",
        )  # fmt: skip
    names = [name for one in found for name in (one.facts["ptx"], *one.facts["candidates"]) if name]
    if not names:
        raise LayoutError("bad_atom", f"'{shown(text, 80)}' names no copy atom.", f"Allowed: {HINT}", "atom")
    return catalog.find(names[0])


def _matrices(instruction: Instruction, bits: int | None) -> CopyAtom:
    """ldmatrix or stmatrix: fragments in registers, rows of matrices in shared memory."""
    family, address = instruction.family, instruction.address
    if family.memory is not Place.ROWS or address is None:
        raise LayoutError("bad_atom", f"'{instruction.ptx}' is no copy atom.", f"Allowed: {HINT}", "atom")
    data = instruction.operands["data"]
    if family.unpacks:
        raise LayoutError(
            "bad_atom",
            f"'{instruction.ptx}' widens its elements: source and destination differ in bits.",
            "Give a form that moves elements as they are: .b16 or .b8.",
            "atom",
        )
    element, (_, rows, cols) = data.element.bits, data.pattern.extents
    if bits not in (None, cols * element):
        raise LayoutError(
            "bad_atom", f"{instruction.ptx} reads rows of {cols * element} bits.", "Leave bits out.", "bits"
        )
    order = Pattern(data.pattern.threads, data.pattern.values, data.pattern.coords[::-1])  # bits run along a row first
    threads, values = read_layout(order.to_cute()).modes
    in_bits = [CuteLayout(mode.shape, _scaled(mode.stride, element)) for mode in (threads, values)]
    fragments = algebra.joined(
        algebra.coalesce(in_bits[0]), algebra.coalesce(algebra.joined(CuteLayout(element, 1), in_bits[1]))
    )
    lanes, row_bits = address.threads, cols * element
    in_rows = algebra.joined(
        algebra.coalesce(CuteLayout((lanes, instruction.threads // lanes), (row_bits, 0))), CuteLayout(row_bits, 1)
    )
    assert rows * address.pattern.extents[0] == lanes  # a lane a row
    sides = (in_rows, fragments) if family.loads else (fragments, in_rows)
    return CopyAtom(instruction.ptx, row_bits, *sides, instruction)


def _scaled(stride: Any, by: int) -> Any:
    return stride * by if isinstance(stride, int) else tuple(_scaled(item, by) for item in stride)


@dataclass(frozen=True, eq=False)
class Side(ByThread):
    """The source or the destination: rows and cols are int32 [threads, values]; access: values of one access."""

    rows: Ints
    cols: Ints
    access: int
    layout: CuteLayout

    def _repr_svg_(self) -> str:
        """How a notebook shows it."""
        from layouts.tiles.draw import tile_svg  # the drawing loads when something is drawn

        size = int(self.rows.max()) + 1, int(self.cols.max()) + 1
        return tile_svg(self.rows, self.cols, size, f"{size[0]} × {size[1]}, {self.access} values an access")


@dataclass(frozen=True, eq=False)
class TiledCopy(Shown):
    """A copy atom, its thread-value layout over a tiler, and the tile it copies.

    tv: (thread, value) → element of the tiler, first coordinate fastest (CuTe's TiledLayout_TV); tiler: rows and
    columns of one TiledCopy; tile: those of the whole tile.
    """

    atom: CopyAtom
    element_bits: int
    tv: CuteLayout
    tiler: tuple[int, int]
    tile: tuple[int, int]

    @property
    def threads(self) -> int:
        return self.tv.modes[0].size

    @property
    def values(self) -> int:
        """Values that a thread moves in one tiler."""
        return self.tv.modes[1].size

    @cached_property
    def source(self) -> Side:
        return self._side(self.atom.source)

    @cached_property
    def destination(self) -> Side:
        return self._side(self.atom.destination)

    def _side(self, bits: CuteLayout) -> Side:
        side, reference = (algebra.upcast(one, self.element_bits) for one in (bits, self.atom.reference))
        to_reference = algebra.composition(algebra.right_inverse(reference), side)
        shape = (reference.modes[0].size, reference.modes[1].size)
        atoms = algebra.zipped_divide(self.tv, shape)
        held = algebra.composition(atoms, (to_reference, None))
        (first, second), (rest, more) = held.modes[0].modes, held.modes[1].modes
        zipped = algebra.joined(algebra.joined(first, rest), algebra.joined(second, more))
        of_tile = algebra.coalesce(zipped, (1, (1, 1)))
        tiled = algebra.zipped_divide(algebra.layout(self.tile), self.tiler)
        made = algebra.composition(tiled, (of_tile, None))
        threads, values = made.modes[0].modes
        inner, repeats = values.indices(), made.modes[1].indices()
        elements = threads.indices()[:, None] + (repeats[:, None] + inner[None, :]).reshape(-1)[None, :]
        rows, cols = (elements % self.tile[0]).astype(np.int32), (elements // self.tile[0]).astype(np.int32)
        for array in (rows, cols):
            array.flags.writeable = False
        return Side(rows, cols, side.modes[1].size, of_tile)


def tiled_copy(
    atom: str,
    *,
    tile: Sequence[Any],
    bits: int | None = None,
    element_bits: int = 16,
    thr_layout: str | CuteLayout | None = None,
    val_layout: str | CuteLayout | None = None,
    tiled_mma: TiledMMA | None = None,
    operand: str = "a",
) -> TiledCopy:
    """make_tiled_copy(atom, thr_layout, val_layout), or make_tiled_copy_A, _B and _C of a TiledMMA's operand.

    thr_layout, val_layout: coordinates → thread and value numbers; tile: rows and columns (of B n and k, as CuTe has
    it). LayoutError names the field that does not fit.

    >>> made = tiled_copy("universal", bits=128, thr_layout="(32,4):(4,1)", val_layout="(1,8)", tile=(64, 32))
    >>> made.threads, made.tiler, made.source.values
    (128, (32, 32), 16)
    """
    width = int(choice(str(element_bits), "element_bits", list(map(str, ELEMENTS)), "bad_number"))
    found = copy_atom(atom, bits, width)
    if tiled_mma is not None:
        tv, tiler = _of_operand(tiled_mma, operand)
    else:
        tv, tiler = _raked(_coordinates(thr_layout, "thr_layout"), _coordinates(val_layout or "(1,1)", "val_layout"))
    if len(tile) != 2:
        raise LayoutError("bad_tile", f"tile has {len(tile)} numbers.", "Two: rows and columns.", "tile")
    sizes = [number(size, f"tile[{at}]", 1, MOST_SIZE, "bad_tile") for at, size in enumerate(tile)]
    for name, size, step in zip(("rows", "columns"), sizes, tiler, strict=True):
        if size % step:
            raise LayoutError(
                "bad_tile",
                f"{size} {name} are not a multiple of the {step} that one TiledCopy covers.",
                f"Multiples of {step}.",
                "tile",
            )
    _fits(found, width, tv)
    if sizes[0] * sizes[1] > MOST_VALUES:
        raise LayoutError("too_large", f"A tile of {sizes[0]}×{sizes[1]}.", f"At most {MOST_VALUES} elements.", "tile")
    _bounded(found, tv, tiler, (sizes[0], sizes[1]))
    return TiledCopy(found, width, tv, tiler, (sizes[0], sizes[1]))


def _bounded(found: CopyAtom, tv: CuteLayout, tiler: tuple[int, int], tile: tuple[int, int]) -> None:
    """LayoutError where the threads of a side have more values than maps are made for: threads that hold copies of
    each element count, and the lanes of ldmatrix that repeat addresses."""
    each = tv.size * max(found.source.size, found.destination.size) // found.reference.size
    tiles = prod(size // step for size, step in zip(tile, tiler, strict=True))
    if each * tiles <= MOST_VALUES:
        return
    most = MOST_VALUES // each
    raise LayoutError(
        "bad_tile",
        f"A tile of {tile[0]}×{tile[1]} gives all threads {each * tiles} values, copies among them; at most"
        f" {MOST_VALUES} are mapped.",
        f"At most {most} times the {tiler[0]}×{tiler[1]} that one TiledCopy covers: {tiler[0]}×{most * tiler[1]}."
        if most
        else f"One TiledCopy alone has {each}: give fewer threads or values.",
        "tile",
    )


def _fits(found: CopyAtom, width: int, tv: CuteLayout) -> None:
    """LayoutError where the atom needs more threads or values, or other ones than there are."""
    try:
        reference = algebra.upcast(found.reference, width)
        algebra.upcast(found.source, width), algebra.upcast(found.destination, width)
    except LayoutError as error:
        raise error.at("element_bits", "bad_atom") from None
    for what, mode, least in zip(("threads", "values"), tv.modes, reference.modes, strict=True):
        if mode.size % least.size:
            few = mode.size < least.size
            raise LayoutError(
                "bad_atom",
                f"{found.name} works on {least.size} {what}; the TiledCopy has {mode.size} (CuTe: TiledCopy uses too"
                f" few {'thrs' if what == 'threads' else 'vals'} for selected CopyAtom).",
                f"Give {'at least ' if few else ''}a multiple of {least.size} {what}"
                + (f", or an atom of {mode.size * width} bits." if what == "values" and not found.instruction else "."),
                "thr_layout" if what == "threads" else "val_layout",
            )


def _coordinates(given: str | CuteLayout | None, field: str) -> CuteLayout:
    """A layout of two modes, coordinates → numbers."""
    if given is None:
        raise LayoutError(
            "bad_layout", f"{field} is missing.", "Give thr_layout and val_layout, or tiled_mma and operand.", field
        )
    read = given if isinstance(given, CuteLayout) else read_layout(given, field)
    if read.rank > 2 or read.swizzle or read.offset:
        raise LayoutError("bad_layout", f"'{shown(str(read), 80)}' has not two modes.", "e.g. (32,4):(4,1).", field)
    return algebra.joined(*read.modes, *[algebra.ONE] * (2 - read.rank))


def _raked(threads: CuteLayout, values: CuteLayout) -> tuple[CuteLayout, tuple[int, int]]:
    """(thread-value layout, tiler) of raked layouts of threads and values."""
    if threads.size > MOST_THREADS:
        raise LayoutError(
            "bad_layout", f"thr_layout has {threads.size} threads.", f"At most {MOST_THREADS}.", "thr_layout"
        )
    for field, one in (("thr_layout", threads), ("val_layout", values)):
        if one.size < 1:
            raise LayoutError("bad_layout", f"{field} {one} has no element.", "Sizes from 1.", field)
        if max(one.size, one.cosize) > MOST_VALUES or sorted(one.indices().tolist()) != list(range(one.size)):
            raise LayoutError(
                "bad_layout",
                f"{field} {one} does not number its {one.size} coordinates 0 to {one.size - 1}, each once.",
                "Give a compact layout, e.g. (32,4):(4,1).",
                field,
            )
    try:
        raked = algebra.raked_product(threads, values)
        tv = algebra.with_shape(algebra.right_inverse(raked), (threads.size, values.size))
    except LayoutError as error:
        raise error.at("val_layout", "bad_layout") from None
    return tv, (raked.modes[0].size, raked.modes[1].size)


def _of_operand(made: TiledMMA, operand: str) -> tuple[CuteLayout, tuple[int, int]]:
    """(thread-value layout, tiler) of A, B or C of one TiledMMA; of B over (n, k)."""
    found = made.operand(operand)
    if found.shared:
        raise LayoutError(
            "bad_operand",
            f"Operand {found.name} of {made.atom.instruction.ptx} is read from shared memory by a descriptor.",
            "No TiledCopy loads it into registers: fill the tile by TMA or cp.async.",
            "operand",
        )
    if found.layout is None or made.idle:
        raise LayoutError(
            "bad_operand",
            f"The threads of {made.thread_layout} have gaps: no thread-value layout numbers them.",
            "Give an atom layout that uses every thread, as (2,2,1) of quad pairs.",
            "tiled_mma",
        )
    m, n, k = made.shape
    return found.layout, {"a": (m, k), "b": (n, k), "c": (m, n)}[found.name]
