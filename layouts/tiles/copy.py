"""TiledCopy: the thread and value that move each element of a tile, at the source and at the destination.

    tiled_copy("universal", bits=128, element_bits=16, thr_layout="(32,4):(4,1)", val_layout="(1,8)", tile=(64, 64))
    tiled_copy("ldmatrix.m8n8.x4.shared.b16", tiled_mma={"atom": …}, operand="a", tile=(64, 32))

The maps follow CuTe's definition (tile2thrfrg of include/cute/atom/copy_atom.hpp, CUTLASS 4.7): the layouts of threads
and values are raked into a tile, or come from a TiledMMA's operand; each atom's values are mapped from its reference
layout to the source's or the destination's. Values are in the order of partition_S and partition_D.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.algebra import Tiler
from lanescope.cute.copy_atom import HINT, PLAIN, CopyAtom, find_widest_access, make_matrix_atom, make_plain_atom
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, parse_choice, shorten_value
from lanescope.names import lookup
from lanescope.notebook import NotebookObject
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.tiles import copy_layouts
from lanescope.tiles.bulk import is_tma
from lanescope.tiles.mma import MOST_VALUES, TiledMMA, parse_tile_sizes
from lanescope.tiles.text_arguments import parse_text_arguments
from lanescope.tiles.thread_map import Ints, ThreadMap
from lanescope.tiles.tiled_mma import tiled_mma as made_mma

if TYPE_CHECKING:
    from lanescope.reader.cute.copy_atoms import CopyAtomMeaning

WIDER = {"a": "M or K", "b": "N or K", "c": "M or N"}
ELEMENTS = (4, 8, 16, 32, 64, 128)  # bits of an element
_NAMES = (
    "UniversalCopy",
    "DefaultCopy",
    "AutoVectorizingCopyWithAssumedAlignment",
    "AutoVectorizingCopy",
    *(f"SM80_CP_ASYNC_CACHE{where}{fill}" for where in ("ALWAYS", "GLOBAL") for fill in ("_ZFILL", "")),
)
_CUTLASS_NAME = re.compile(r"\s*SM\d+_\w+\s*")
_OPERATION = re.compile(rf"\s*(?:\w+::)*(?P<name>Copy_Atom|Copy_Traits|{'|'.join(_NAMES)})\b", re.I)


def make_copy_atom(text: str, bits: int | None, element_bits: int) -> CopyAtom:
    """Return the atom of a word, a PTX text or a CUTLASS name; bits: of one access of universal and cp.async."""
    word = text.strip()
    if word.lower() in PLAIN or word.startswith("cp.async"):
        return make_plain_atom(word.lower() if word.lower() in PLAIN else "cp.async", bits, element_bits)
    copied = _parse_copy_operation(word)
    if copied and copied.atom in PLAIN:
        return _make_plain_atom(word, copied, bits, element_bits)
    return make_matrix_atom(
        catalog.find(copied.atom) if copied and copied.atom else _parse_copy_instruction(text), bits
    )


def get_vector_limit(text: str) -> int | None:
    """Return the maximum bits per access of an AutoVectorizingCopy; None for any other atom.

    >>> get_vector_limit("AutoVectorizingCopyWithAssumedAlignment<64>"), get_vector_limit("UniversalCopy<float>")
    (64, None)
    """
    copied = _parse_copy_operation(text)
    return copied.bits if copied and copied.vectorizes else None


def _parse_copy_operation(text: str) -> CopyAtomMeaning | None:
    """Parse a copy operation of CUTLASS, alone or in a Copy_Atom; None for other texts."""
    if not (match := _OPERATION.match(text)):
        return None
    from lanescope.reader.cute import copy_atoms
    from lanescope.reader.grammars import terms

    known = {name.lower(): name for name in _NAMES}
    name = known.get(match["name"].lower(), match["name"])  # ignoring case
    home = terms.TermText(f"{name}{text[match.end() :]}")
    return copy_atoms.parse_copy_atom(home, home.parse_term(0))


def _make_plain_atom(text: str, copied: CopyAtomMeaning, bits: int | None, element_bits: int) -> CopyAtom:
    """Return the atom universal or cp.async of a CUTLASS name; LayoutError if its width is unknown or illegal."""
    assert copied.atom
    width = bits if bits is not None or get_vector_limit(text) else copied.bits
    if width is None and "<" in text and not get_vector_limit(text):
        raise LayoutError(
            "bad_atom",
            f"The width of the type in '{shorten_value(text, 80)}' is unknown.",
            (
                f"Give bits, {join_words([str(n) for n in PLAIN[copied.atom]], 'or')}, or write the type: uint128_t,"
                f" float."
            ),
            "bits",
        )
    if "CACHEGLOBAL" in text and width not in (None, 128):
        raise LayoutError(
            "bad_atom",
            f"'{shorten_value(text, 80)}' moves {width} bits at once.",
            "CACHEGLOBAL copies 128 bits; CACHEALWAYS 32, 64 or 128.",
            "atom",
        )
    return make_plain_atom(copied.atom, width, element_bits)


def _parse_copy_instruction(text: str) -> Instruction:
    named = lookup.find_named(text) if not _CUTLASS_NAME.fullmatch(text) else None  # the index of names takes 0.2 s
    if catalog.extract_opcode(text) or (named and lookup.is_name(named)):
        return lookup.parse_instruction(text, "atom")
    from lanescope.reader.cutlass_names import cutlass

    try:
        meanings = cutlass.recognise_cutlass_atoms(text)
    except LayoutError as error:
        raise error.move_to_field("atom", "bad_atom") from None
    if is_tma(text):
        raise LayoutError(
            "bad_atom",
            f"'{shorten_value(text, 80)}' is issued by one thread and copies boxes; it has no layouts of threads and"
            " values.",
            "Give a storage and no layouts, or call lanescope.tma_copy.",
            "atom",
        )
    names = [name for meaning in meanings for name in (meaning.facts["ptx"], *meaning.facts["candidates"]) if name]
    if not names:
        raise LayoutError(
            "bad_atom", f"'{shorten_value(text, 80)}' does not name a copy atom.", f"Allowed: {HINT}", "atom"
        )
    return catalog.find(names[0])


@dataclass(frozen=True, eq=False)
class TransferSide(ThreadMap):
    """The source or the destination: rows and cols are int32 [threads, values]; access: values per access."""

    rows: Ints
    cols: Ints
    access: int
    layout: CuteLayout

    def _repr_svg_(self) -> str:
        """Return the picture for a notebook."""
        from lanescope.tiles.pictures import render_tile_svg  # the drawing loads when something is drawn

        size = int(self.rows.max()) + 1, int(self.cols.max()) + 1
        return render_tile_svg(self.rows, self.cols, size, f"{size[0]} × {size[1]}, {self.access} values per access")


@dataclass(frozen=True, eq=False)
class TiledCopy(NotebookObject):
    """A copy atom, its thread-value layout over a tiler, and the tile it copies.

    tv: (thread, value) → element of the tiler, first coordinate fastest (CuTe's TiledLayout_TV); tilers: the rows and
    columns of one TiledCopy, sizes or layouts (CuTe's Tiler_MN); tile: the rows and columns of the tile.
    """

    atom: CopyAtom
    element_bits: int
    tv: CuteLayout
    tilers: tuple[Tiler, Tiler]
    tile: tuple[int, int]

    @property
    def tiler(self) -> tuple[int, int]:
        """The rows and columns of one TiledCopy."""
        return copy_layouts.get_tiler_sizes(self.tilers)

    @property
    def threads(self) -> int:
        return self.tv.modes[0].size

    @property
    def values(self) -> int:
        """The values per thread in one TiledCopy."""
        return self.tv.modes[1].size

    @cached_property
    def source(self) -> TransferSide:
        return self._make_side(self.atom.source)

    @cached_property
    def destination(self) -> TransferSide:
        return self._make_side(self.atom.destination)

    def _make_side(self, bits: CuteLayout) -> TransferSide:
        side, reference = (algebra.upcast(layout, self.element_bits) for layout in (bits, self.atom.reference))
        to_reference = algebra.composition(algebra.right_inverse(reference), side)
        shape = (reference.modes[0].size, reference.modes[1].size)
        atoms = algebra.zipped_divide(self.tv, shape)
        regrouped = algebra.composition(atoms, (to_reference, None))
        (first, second), (rest, more) = regrouped.modes[0].modes, regrouped.modes[1].modes
        zipped = algebra.concatenate(algebra.concatenate(first, rest), algebra.concatenate(second, more))
        of_tile = algebra.coalesce(zipped, (1, (1, 1)))
        tiled = algebra.zipped_divide(algebra.make_layout(self.tile), self.tilers)
        mapped = algebra.composition(tiled, (of_tile, None))
        threads, values = mapped.modes[0].modes
        inner, repeats = values.list_indices(), mapped.modes[1].list_indices()
        elements = threads.list_indices()[:, None] + (repeats[:, None] + inner[None, :]).reshape(-1)[None, :]
        rows, cols = (elements % self.tile[0]).astype(np.int32), (elements // self.tile[0]).astype(np.int32)
        for array in (rows, cols):
            array.flags.writeable = False
        return TransferSide(rows, cols, side.modes[1].size, of_tile)


def tiled_copy(
    atom: object,
    *,
    tile: Sequence[Any] | None = None,
    bits: int | None = None,
    element_bits: int | None = None,
    thr_layout: str | CuteLayout | None = None,
    val_layout: str | CuteLayout | None = None,
    tiled_mma: TiledMMA | None = None,
    operand: str = "a",
    layout_tv: str | CuteLayout | None = None,
    tiler_mn: object = None,
    like: TiledCopy | None = None,
    side: str = "S",
) -> TiledCopy:
    """Return a TiledCopy, by one of CuTe's functions.

    make_tiled_copy(atom, thr_layout, val_layout); make_tiled_copy_A, _B, _C and _C_atom of a TiledMMA's operand;
    make_tiled_copy_S and _D (side) of another TiledCopy, `like`; or layout_tv over tiler_mn, as printed.
    atom: a word, PTX, CUTLASS's name, or the text of a TiledCopy as print(tiled_copy) shows it in C++ or Python, or an
    object of cutlass.cute. thr_layout, val_layout: coordinates → thread and value numbers; tile: rows and columns (n
    and k for B, as in CuTe), by default those of one TiledCopy. LayoutError names the field that does not fit.

    >>> made = tiled_copy("universal", bits=128, thr_layout="(32,4):(4,1)", val_layout="(1,8)", tile=(64, 32))
    >>> made.threads, made.tiler, made.source.values
    (128, (32, 32), 16)
    """
    more = {
        "bits": bits,
        "element_bits": element_bits,
        "tile": tile,
        "thr_layout": thr_layout,
        "val_layout": val_layout,
        "tiled_mma": tiled_mma,
    }
    if (body := parse_text_arguments("tiled_copy", atom, more)) is not None:
        if isinstance(body.get("tiled_mma"), dict):
            body["tiled_mma"] = made_mma(**{"atom_text": body["tiled_mma"].pop("atom", ""), **body["tiled_mma"]})
        return tiled_copy(body.pop("atom", "universal"), **body)
    spelled = _parse_copy_operation(str(atom))
    natural_bits = (spelled.element_bits if spelled else None) or 16
    width = int(parse_choice(str(element_bits or natural_bits), "element_bits", list(map(str, ELEMENTS)), "bad_number"))
    copy_atom = make_copy_atom(str(atom), bits, width)
    if layout_tv is not None:
        tv, tilers = copy_layouts.copy_from_map(layout_tv, tiler_mn)
    elif like is not None:
        like_side = (
            like.source if parse_choice(side.upper(), "side", ("S", "D"), "bad_side") == "S" else like.destination
        )
        tv, tilers = like_side.layout, like.tilers
    elif tiled_mma is not None:
        tv, tilers = copy_layouts.copy_from_operand(tiled_mma, operand, copy_atom.count_values(width))
    else:
        tv, tilers = copy_layouts.copy_from_layouts(thr_layout, val_layout)
    if bits is None and (limit := get_vector_limit(str(atom))):
        copy_atom = make_plain_atom("universal", find_widest_access(limit, width, tv.modes[1].size), width)
    sizes = _read_tile(tile, copy_layouts.get_tiler_steps(tilers))
    _require_fit(copy_atom, width, tv, WIDER[tiled_mma.operand(operand[:1]).name] if tiled_mma else "")
    if sizes[0] * sizes[1] > MOST_VALUES:
        raise LayoutError("too_large", f"A tile of {sizes[0]}×{sizes[1]}.", f"At most {MOST_VALUES} elements.", "tile")
    _require_bounded(copy_atom, tv, copy_layouts.get_tiler_sizes(tilers), sizes)
    return TiledCopy(copy_atom, width, tv, tilers, sizes)


def _read_tile(requested: Sequence[Any] | None, covers: Sequence[int]) -> tuple[int, int]:
    """Return the tile's rows and columns, by default those of one TiledCopy; LayoutError if they are not multiples."""
    tile = covers if requested is None else requested
    rows, columns = parse_tile_sizes(tile, ("rows", "columns"))
    for name, size, step in zip(("rows", "columns"), (rows, columns), covers, strict=True):
        if size % step:
            raise LayoutError(
                "bad_tile",
                f"{size} {name} are not a multiple of the {step} that one TiledCopy covers.",
                f"Multiples of {step}.",
                "tile",
            )
    return rows, columns


def _require_bounded(copy_atom: CopyAtom, tv: CuteLayout, tiler: tuple[int, int], tile: tuple[int, int]) -> None:
    """Raise LayoutError if the threads of a side have too many values, including copies and repeated addresses."""
    each = tv.size * max(copy_atom.source.size, copy_atom.destination.size) // copy_atom.reference.size
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
        else f"A single TiledCopy has {each}: use fewer threads or values.",
        "tile",
    )


def _require_fit(copy_atom: CopyAtom, width: int, tv: CuteLayout, wider: str) -> None:
    """Raise LayoutError if the threads or values are not a multiple of the atom's.

    wider: the dimensions in which a larger permutation of the TiledMMA gives more values, "" without TiledMMA.
    """
    try:
        reference = algebra.upcast(copy_atom.reference, width)
        algebra.upcast(copy_atom.source, width), algebra.upcast(copy_atom.destination, width)
    except LayoutError as error:
        raise error.move_to_field("element_bits", "bad_atom") from None
    for unit, mode, least in zip(("threads", "values"), tv.modes, reference.modes, strict=True):
        if not mode.size % least.size:
            continue
        few = mode.size < least.size
        hint = f"Give {'at least ' if few else ''}a multiple of {least.size} {unit}"
        if unit == "values" and wider:
            times = least.size // gcd(mode.size, least.size)
            fits = gcd(mode.size, least.size)
            hint = f"Give an atom of {fits} values, or a permutation {times} times as large in {wider}"
        elif unit == "values" and not copy_atom.instruction:
            hint += f", or an atom of {mode.size * width} bits"
        raise LayoutError(
            "bad_atom",
            f"{copy_atom.name} works on {least.size} {unit}; the TiledCopy has {mode.size} (CuTe: TiledCopy uses too"
            f" few {'thrs' if unit == 'threads' else 'vals'} for selected CopyAtom).",
            f"{hint}.",
            "atom" if wider else "thr_layout" if unit == "threads" else "val_layout",
        )
