"""Represent the contents of a warp's registers as a map from place bits to bits of the element's coordinates.

A place is (position inside the register, lane, register). A coordinate vector is an int: its low bits are those of the
first axis (m of A and D, n of B), the others those of the second. Zero means that the place bit changes no coordinate,
so lanes hold copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, permutations, product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.inputs import quote_value
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Operand
from lanescope.ptx.pattern import Pattern

Longs = NDArray[np.int64]
Vectors = tuple[int, ...]
LANE_BITS = 5
WIDTHS = (4, 8, 16, 32)
MOST_ELEMENTS = 1 << 14
MOST_NUMBERINGS = 5040  # most coordinate bits
AXES = {"a": ("m", "k"), "b": ("n", "k"), "c": ("m", "n"), "d": ("m", "n")}
PER = {"element": (0, 1), "row": (0,), "column": (1,)}


@dataclass(frozen=True, slots=True)
class Space:
    """The coordinates of the elements: the names of the two axes, and the number of bits of each."""

    axes: tuple[str, str]
    bits: tuple[int, int]

    @property
    def size(self) -> int:
        return 1 << sum(self.bits)

    def name_vector(self, vector: int) -> str:
        """Return a vector as text: `k0`, `k0⊕n3` if a place bit changes several coordinates, `·` for none."""
        first = self.bits[0]
        names = [
            f"{self.axes[0]}{n}" if n < first else f"{self.axes[1]}{n - first}"
            for n in range(sum(self.bits))
            if vector >> n & 1
        ]
        return "⊕".join(names) or "·"

    def split(self, element: Longs) -> tuple[Longs, Longs]:
        """Return the two coordinates of element numbers."""
        return element & ((1 << self.bits[0]) - 1), element >> self.bits[0]

    def list_units(self, axis: int) -> list[int]:
        """Return the unit vectors of an axis's bits."""
        first = self.bits[0] if axis else 0
        return [1 << (first + n) for n in range(self.bits[axis])]


@dataclass(frozen=True, slots=True)
class Fragment:
    """The contents of a warp's registers.

    width: bits per element; vectors: of the place bits inside a register (lowest first), of the five lane bits, and of
    the register bits (lowest first).
    """

    space: Space
    width: int
    vectors: Vectors

    @property
    def inner(self) -> int:
        return count_inner_bits(self.width)

    @property
    def registers(self) -> int:
        return 1 << (len(self.vectors) - self.inner - LANE_BITS)

    def list_elements(self) -> Longs:
        """Return the element at every place: [lane, register, place in the register]."""
        numbers = np.zeros(1, np.int64)
        for vector in self.vectors:
            numbers = np.concatenate([numbers, numbers ^ vector])
        return numbers.reshape(self.registers, 32, 1 << self.inner).transpose(1, 0, 2)


def count_inner_bits(width: int) -> int:
    """Return the number of bits that index a register's elements: 3 for 4-bit elements, 0 for 32-bit elements."""
    return 5 - width.bit_length() + 1


def name_places(width: int, count: int) -> tuple[str, ...]:
    """Return the names of the places of a fragment with `count` place bits.

    >>> name_places(8, 8)
    ('byte 0', 'byte 1', 'lane 0', 'lane 1', 'lane 2', 'lane 3', 'lane 4', 'register 0')
    """
    inner = {4: ("nibble", "byte 0", "byte 1"), 8: ("byte 0", "byte 1"), 16: ("half",), 32: ()}[width]
    lanes = tuple(f"lane {n}" for n in range(LANE_BITS))
    return (*inner, *lanes, *(f"register {n}" for n in range(count - len(inner) - LANE_BITS)))


def make_fragment(operand: Operand, tiles: tuple[int, int] = (1, 1), per: str = "element", width: int = 0) -> Fragment:
    """Return the contents of the registers of `tiles` operands side by side along both axes.

    per: "row" or "column" for values shared by a row or column of the operand's matrix (scale factors); each lane then
    holds every value that it needs once. width: bits per element, if not the operand's. For an operand of several
    warps, this is the first warp's part. LayoutError for an operand that is not a linear (XOR) map of bits, or too
    large.
    """
    width = width or operand.container_bits
    arrays = _list_coordinates(operand, tiles, width)
    kept = tuple(1 - axis for axis in PER[per]) if operand.name == "b" else PER[per]
    sizes = [int(array.max()) + 1 for array in arrays]
    bits = [(sizes[axis] * tiles[axis]).bit_length() - 1 for axis in (0, 1)]
    _require_linear(operand, arrays[0] << bits[1] | arrays[1], per == "element")
    space = Space(AXES.get(operand.name, ("row", "column")), (bits[0] * (0 in kept), bits[1] * (1 in kept)))
    if space.size > MOST_ELEMENTS:
        raise LayoutError("too_large", f"{space.size:,} elements.", f"At most {MOST_ELEMENTS:,}.", "first")
    shifts = (0, space.bits[0])
    numbers = np.bitwise_or.reduce([arrays[axis] << shifts[axis] for axis in kept])
    side_by_side = [_list_powers(sizes[axis] << shifts[axis], tiles[axis]) for axis in sorted(kept)]
    lanes = [int(numbers[1 << n, 0]) for n in range(LANE_BITS)]
    bits_of_values = [int(numbers[0, step]) for step in _list_powers(1, operand.values)]
    values = [vector for vector in chain(bits_of_values, *side_by_side) if vector]  # a lane holds shared values once
    inner = count_inner_bits(width)
    if len(values) < inner:
        raise _refuse(f"A lane holds {1 << len(values)} elements of {width} bits, less than a register.", operand)
    return Fragment(space, width, (*values[:inner], *lanes, *values[inner:]))


def _list_coordinates(operand: Operand, tiles: tuple[int, int], width: int) -> list[Longs]:
    """Return the coordinates of each element of the first warp, each [lane, value]: m or n, then k."""
    if len(operand.axes) != 2:
        count = len(operand.axes)
        raise _refuse(f"Operand {operand.name} has {count} coordinates ({', '.join(operand.axes)}), not two.", operand)
    if operand.register_bits != 32 or width not in WIDTHS:
        raise _refuse(f"Operand {operand.name} has {operand.element.name} in {width} bits.", operand)
    arrays = [np.asarray(operand.coords[axis], np.int64)[:32] for axis in operand.axes]
    for size in (*(int(array.max()) + 1 for array in arrays), *tiles, operand.values):
        if size & (size - 1):
            raise _refuse(f"{size} is not a power of two.", operand)
    return arrays[::-1] if operand.name == "b" else arrays  # B is (k, n)


def _list_powers(first: int, count: int) -> list[int]:
    """Return the weight of each bit of a number below `count`, in units of `first`."""
    return [first << n for n in range(count.bit_length() - 1)]


def _require_linear(operand: Operand, numbers: Longs, once: bool) -> None:
    """Raise LayoutError unless the element is a linear (XOR) map of the bits of lane and value.

    once: also raise for copies in a lane.
    """
    folded = np.zeros(1, np.int64)
    units = [(0, step) for step in _list_powers(1, operand.values)] + [(step, 0) for step in _list_powers(1, 32)]
    for unit in units:
        folded = np.concatenate([folded, folded ^ numbers[unit]])
    copies = once and len(np.unique(numbers[0])) < operand.values
    if copies or not np.array_equal(folded.reshape(numbers.shape), numbers):
        raise _refuse("A lane holds copies, or the map is not linear in the bits (it has carries).", operand)


def make_pattern_operand(text: str, width: int) -> Operand:
    """Return the operand of a pattern, e.g. `(t:32) (e:8) -> (t) (e)`, with elements of `width` bits."""
    pattern = Pattern.parse(text)
    if len(pattern.coords) != 2 or pattern.thread_count != 32:
        raise LayoutError(
            "bad_pattern",
            f"{quote_value(text)} has {pattern.thread_count} threads and {len(pattern.coords)} axes.",
            "A pattern needs 32 lanes and two axes: (t:32) (e:8) -> (t) (e).",
            "instruction",
        )
    names = {4: "u4", 8: "b8", 16: "f16", 32: "b32"}
    model = catalog.find("mma.m16n8k16.row.col.f32.f16.f16.f32").operand("a")
    element = get_dtype(names[width])
    return replace(
        model, name="pattern", element=element, container_bits=width, pattern=pattern, axes=("row", "col"), threads=32
    )


def list_renumberings(goal: Fragment, axes: Sequence[str]) -> list[Fragment]:
    """Return the goal with all permutations of the coordinate bits of some axes, the identity first."""
    space = goal.space
    count = prod(factorial(bits) for axis, bits in zip(space.axes, space.bits, strict=True) if axis in axes)
    if count > MOST_NUMBERINGS:
        raise LayoutError(
            "too_large",
            f"The bits of {' and '.join(axes)} have {count:,} orders.",
            f"At most {MOST_NUMBERINGS:,} are searched: permute one axis, or use fewer operands side by side.",
            "renumber",
        )
    units = [space.list_units(axis) for axis in (0, 1) if space.axes[axis] in axes]
    found: dict[Vectors, Fragment] = {}
    for orders in product(*(permutations(axis) for axis in units)):
        renamed = dict(zip(chain(*units), chain(*orders), strict=True))
        vectors = tuple(
            sum(renamed.get(1 << n, 1 << n) for n in range(vector.bit_length()) if vector >> n & 1)
            for vector in goal.vectors
        )
        found.setdefault(vectors, Fragment(space, goal.width, vectors))
    return list(found.values())


def _refuse(why: str, operand: Operand) -> LayoutError:
    return LayoutError(
        "bad_operand",
        f"{why} Its pattern is {operand.pattern}.",
        "Use an operand of 4-, 8-, 16- or 32-bit elements with power-of-two sizes and without copies in a lane.",
        "operand",
    )
