"""Copy atoms of CuTe, from the rows of the tables: the bits whose address each thread gives, and those it receives.

    matrix_atom(find("ldmatrix.sync.aligned.m8n8.x4.shared.b16")).destination    (32,(32,4)):(32,(1,1024)) in bits

A lane of ldmatrix gives the address of a row of 128 bits and receives fragments; stmatrix the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.ptx.pattern import Pattern

PLAIN = {"universal": (8, 16, 32, 64, 128), "cp.async": (32, 64, 128)}  # bits of one access
HINT = "universal, cp.async, or ldmatrix and stmatrix as PTX or CUTLASS spells them."


@dataclass(frozen=True, slots=True)
class CopyAtom:
    """One copy atom: (thread, value) → bit of source and destination (CuTe's SrcLayout and DstLayout).

    bits: of one access; instruction: of ldmatrix and stmatrix.
    """

    name: str
    bits: int
    source: CuteLayout
    destination: CuteLayout
    instruction: Instruction | None = None

    @property
    def reference(self) -> CuteLayout:
        """The layout on the side of the registers (CuTe's RefLayout): a load's destination, else the source."""
        return self.destination if self.loads else self.source

    @property
    def loads(self) -> bool:
        return self.instruction is not None and self.instruction.family.loads

    def count_values(self, element_bits: int) -> int:
        """Return the number of elements of a thread's source in one access (CuTe's NumValSrc)."""
        return max(1, self.source.modes[1].size // element_bits)


def make_plain_atom(name: str, bits: int | None, element_bits: int) -> CopyAtom:
    """Return the atom universal or cp.async; bits: of one access."""
    width = element_bits if bits is None and name == "universal" else bits or 128
    if width not in PLAIN[name] or width % element_bits:
        raise LayoutError(
            "bad_atom",
            f"{name} of {width} bits does not move complete elements of {element_bits} bits."
            if width % element_bits
            else f"{name} cannot move {width} bits at once.",
            f"Allowed: {', '.join(str(n) for n in PLAIN[name] if n % element_bits == 0) or 'wider elements'}.",
            "bits",
        )
    access = CuteLayout((1, width), (0, 1))
    return CopyAtom(name, width, access, access)


def find_widest_access(limit: int, element_bits: int, values: int) -> int:
    """Return the bits of the widest access of at most `limit` that a thread's values fill.

    >>> find_widest_access(128, 16, 8), find_widest_access(128, 16, 12)
    (128, 64)
    """
    widths = (n for n in PLAIN["universal"] if n <= limit and not n % element_bits and not values * element_bits % n)
    return max(widths, default=element_bits)


def make_matrix_atom(instruction: Instruction, bits: int | None) -> CopyAtom:
    """Return the atom of ldmatrix or stmatrix; LayoutError for another instruction, or one that unpacks."""
    family, address = instruction.family, instruction.address
    if family.memory is not OperandPlace.ROWS or address is None:
        raise LayoutError("bad_atom", f"'{instruction.ptx}' is not a copy atom.", f"Allowed: {HINT}", "atom")
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
    threads, values = parse_cute_layout(order.to_cute()).modes
    in_bits = [CuteLayout(mode.shape, _scale_stride(mode.stride, element)) for mode in (threads, values)]
    fragments = algebra.concatenate(
        algebra.coalesce(in_bits[0]), algebra.coalesce(algebra.concatenate(CuteLayout(element, 1), in_bits[1]))
    )
    lanes, row_bits = address.threads, cols * element
    in_rows = algebra.concatenate(
        algebra.coalesce(CuteLayout((lanes, instruction.threads // lanes), (row_bits, 0))), CuteLayout(row_bits, 1)
    )
    assert rows * address.pattern.extents[0] == lanes  # a lane a row
    sides = (in_rows, fragments) if family.loads else (fragments, in_rows)
    return CopyAtom(instruction.ptx, row_bits, *sides, instruction)


def _scale_stride(stride: Any, by: int) -> Any:
    return stride * by if isinstance(stride, int) else tuple(_scale_stride(item, by) for item in stride)


def fit_tiler(tv: CuteLayout, sizes: tuple[int, ...]) -> tuple[CuteLayout, tuple[CuteLayout, ...]]:
    """Return (thread-value layout, tiler) over the elements that a map into a tensor of these sizes reaches.

    As in make_tiled_copy_C_atom and make_cotiled_copy, cute/atom/copy_atom.hpp.
    """
    units = ([int(at == mode) for at in range(len(sizes))] for mode in range(len(sizes)))
    tiler = tuple(algebra.filter_layout(algebra.composition(CuteLayout(sizes, tuple(unit)), tv)) for unit in units)
    reached = algebra.composition(algebra.make_layout(sizes), tiler)
    return algebra.composition(algebra.left_inverse(reached), tv), tiler


def cotile(atom_tv: CuteLayout, data: CuteLayout) -> tuple[CuteLayout, tuple[CuteLayout, ...]]:
    """Return (thread-value layout, tiler) of make_cotiled_copy.

    atom_tv: (thread, value) → address; data: coordinate → address. LayoutError if a value lies outside the data.
    """
    unit = CuteLayout(1, 0)
    in_data = algebra.composition(algebra.concatenate(algebra.left_inverse(data), unit), atom_tv)
    values = algebra.composition(algebra.concatenate(data, unit), in_data.modes[1])
    if not np.array_equal(values.list_indices(), atom_tv.modes[1].list_indices()):
        raise LayoutError(
            "bad_layout",
            f"The values of {atom_tv} are not in the data layout {data}.",
            "make_cotiled_copy requires values whose addresses are in the data layout.",
            "layout_tv",
        )
    return fit_tiler(in_data, tuple(mode.size for mode in data.modes))


def find_printed_atoms(source: CuteLayout, destination: CuteLayout, element_bits: int) -> tuple[str, ...]:
    """Return the PTX of every ldmatrix or stmatrix with these printed layouts (thread, value) → element.

    ("universal",) if each thread moves its own values.
    """
    if source.rank != 2 or destination.rank != 2 or max(source.size, destination.size) > 1 << 12:
        return ()
    if source.modes[0].size == destination.modes[0].size == 1:
        return ("universal",)
    return tuple(
        atom.name
        for atom in _list_matrix_atoms()
        if atom.bits % element_bits == 0
        and all(
            _is_same_layout(algebra.upcast(layout, element_bits), shown)
            for layout, shown in ((atom.source, source), (atom.destination, destination))
        )
    )


@lru_cache(maxsize=1)
def _list_matrix_atoms() -> tuple[CopyAtom, ...]:
    return tuple(
        make_matrix_atom(i, None)
        for i in catalog.instructions()
        if i.family.memory is OperandPlace.ROWS and i.address is not None and not i.family.unpacks
    )


def _is_same_layout(a: CuteLayout, b: CuteLayout) -> bool:
    sizes = [[mode.size for mode in it.modes] for it in (a, b)]
    return sizes[0] == sizes[1] and np.array_equal(a.list_indices(), b.list_indices())
