"""Tensors of CuTe: a pointer of every thread and a layout, and what coordinates select of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import list_leaves, size
from lanescope.reader.threads.cute.open_strides import multiply_by_array
from lanescope.reader.threads.language.numbers import (
    LONG,
    Number,
    ThreadNumber,
    add_numbers,
    as_array,
    convert_number,
    make_number,
    multiply_numbers,
)
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.storage import LocalMemory, Pointer, spread_coefficient
from lanescope.shared.swizzle import Swizzle

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MOST_ELEMENTS = 1 << 14  # of a thread's part of a tensor that is walked
ZERO = make_number(0, LONG)


class Underscore:
    """The coordinate `_`, which keeps a mode."""

    def __repr__(self) -> str:
        return "_"


UNDERSCORE = Underscore()


@dataclass(frozen=True, slots=True, eq=False)
class CuteTensor:
    """A tensor.

    base: pointer to its elements, None for coordinates (make_identity_tensor); layout: without swizzle; offset: in
    elements, added before the swizzle as in a ComposedLayout; None if it is not known; operand: a or b for a part that
    an asynchronous TiledMMA has made of it, else "".
    """

    base: Pointer | None
    layout: CuteLayout
    swizzle: Swizzle | None = None
    offset: Number = ZERO
    operand: str = ""

    @property
    def element(self) -> SizedType | None:
        return self.base.type if self.base is not None else None

    @property
    def space(self) -> str:
        return self.base.space if self.base is not None else ""

    def move(self, layout: CuteLayout, by: Number) -> CuteTensor:
        """Return the tensor of another layout whose first element is `by` elements on."""
        return replace(self, layout=layout, offset=add_numbers(self.offset, by))


def make_fragment(layout: CuteLayout, element: SizedType) -> CuteTensor:
    """Return a new tensor in registers."""
    return CuteTensor(Pointer("local", LocalMemory(), ZERO, element), layout)


def locate(run: KernelRunner, layout: CuteLayout, at: Any) -> Number:
    """Return the index of a coordinate of every thread: a number, or a tuple for the modes; None if unknown."""
    if isinstance(at, tuple):
        if len(at) != layout.rank:
            return None
        total: Number = ZERO
        for mode, part in zip(layout.modes, at, strict=True):
            total = add_numbers(total, locate(run, mode, part))
        return total
    number = make_number(at, LONG) if isinstance(at, int) else at
    if not isinstance(number, ThreadNumber):
        return None
    digits = [(count, step) for count, step in layout.digits if count > 1] or layout.digits[-1:]
    if len(digits) == 1:
        return multiply_numbers(run.strides.decode(digits[0][1]), convert_number(number, LONG))
    if number.const is None:
        return None
    rest, total = np.asarray(as_array(number.const)), ZERO
    for n, (count, step) in enumerate(digits):
        digit = rest if n + 1 == len(digits) else rest % count
        total = add_numbers(total, multiply_by_array(run.strides.decode(step), digit))
        rest = rest // count
    return _make_plain(total)


def _make_plain(number: Number) -> Number:
    """Return a number whose arrays of no dimension are integers."""
    if number is None:
        return None
    terms = {name: int(value) if np.ndim(value) == 0 else value for name, value in number.terms.items()}
    return ThreadNumber(terms, number.kind)


def slice_tensor(run: KernelRunner, tensor: CuteTensor, coordinate: Sequence[Any]) -> CuteTensor | None:
    """Return the modes at the underscores of a coordinate; one of rank 0 if it has none."""
    layout = tensor.layout
    if len(coordinate) != layout.rank:
        return tensor.move(CuteLayout((), ()), locate(run, layout, coordinate[0])) if len(coordinate) == 1 else None
    kept, total = _slice_modes(run, layout, tuple(coordinate))
    return tensor.move(algebra.concatenate(*kept) if kept else CuteLayout((), ()), total)


def _slice_modes(run: KernelRunner, layout: CuteLayout, coordinate: tuple[Any, ...]) -> tuple[list[CuteLayout], Number]:
    kept: list[CuteLayout] = []
    total: Number = ZERO
    for mode, at in zip(layout.modes, coordinate, strict=True):
        if at is UNDERSCORE:
            kept.append(mode)
        elif isinstance(at, tuple) and UNDERSCORE in list_leaves(at) and len(at) == mode.rank:
            inner, moved = _slice_modes(run, mode, at)
            kept += inner
            total = add_numbers(total, moved)
        else:
            total = add_numbers(total, locate(run, mode, at))
    return kept, total


def get_element(run: KernelRunner, tensor: CuteTensor, index: int = 0, count: int = 1) -> Pointer | None:
    """Return the pointer of every thread to `count` elements at an index of the layout (before the swizzle)."""
    base = tensor.base
    if base is None:
        return None
    kind: SizedType = base.type
    if count > 1:
        kind = SizedType(kind.name, kind.size * count, vector=kind.size)
    at = add_numbers(tensor.offset, run.strides.decode(index))
    if tensor.swizzle is not None:
        at = _swizzle(run, tensor.swizzle, at)
    moved = None if at is None else multiply_numbers(at, make_number(base.type.size, LONG))
    return Pointer(base.space, base.array, add_numbers(base.offset, moved), kind)


def _swizzle(run: KernelRunner, swizzle: Swizzle, at: Number) -> Number:
    if at is None or at.const is None:
        return None
    if isinstance(at.const, int):
        return make_number(swizzle(at.const), LONG)
    return make_number(swizzle(spread_coefficient(at.const, run.threads)), LONG)


def list_indices(layout: CuteLayout) -> list[int] | None:
    """Return the index of each coordinate in colexicographic order, as exact integers; None if there are too many."""
    if size(layout.shape) > MOST_ELEMENTS:
        return None
    out = [0]
    for count, step in layout.digits if layout.shape != () else ():
        out = [first + n * step for n in range(count) for first in out]
    return out


def join_runs(indices: Sequence[int], wide: int) -> Iterator[Sequence[int]]:
    """Cut indices into groups of `wide`."""
    for first in range(0, len(indices), wide):
        yield indices[first : first + wide]
