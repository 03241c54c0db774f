"""Compare the moves of a loop, or of single statements, with the maps of operands in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.sizes import ELEMENT_BITS, ELEMENT_NAMES, VECTORS, find_element_bits, find_size
from lanescope.ptx.fragment_maps import FragmentMap, list_fragment_maps
from lanescope.reader.formula.fragment_addresses import is_constant
from lanescope.reader.formula.lane_code import LaneCode
from lanescope.reader.formula.lane_places import FragmentMove, Values, make_open_error

_ELEMENT_BITS = (16, 8, 32)  # of elements in an access as an integer, the most frequent first


@dataclass(frozen=True, slots=True)
class FormulaMatch:
    """A matching map.

    swapped: with rows and columns exchanged (for a loop: memory is column-major); times: number of consecutive
    fragments that are moved.
    """

    map: FragmentMap
    swapped: bool = False
    times: int = 1


def match_moves(code: LaneCode) -> tuple[list[FormulaMatch], str]:
    """Return the maps that the moves of a text have, and a sentence about the elements of each access if the text does
    not say how many there are.
    """
    choices = _list_packings(code)
    for count, bits in choices:
        groups = list(_group_moves([part for move in code.moves for part in _split_move(move, count)]))
        maps = list_fragment_maps()
        if len(choices) > 1:
            maps = tuple(each for each in maps if any(op.container_bits == bits for _, op in each.operands))
        if matches := list(_find_matches(groups, maps)):
            packing = f"Assumed: elements of {bits} bits, {count} in each access." if len(choices) > 1 else ""
            return matches, packing
    return [], ""


def _find_matches(groups: Sequence[Sequence[FragmentMove]], maps: Sequence[FragmentMap]) -> Iterator[FormulaMatch]:
    """Yield a match for each map that groups of moves form."""
    for fragment_map in maps:
        for swapped in (False, True):
            if times := _match_groups(groups, fragment_map, swapped):
                yield FormulaMatch(fragment_map, swapped, times)
                break


def _list_packings(code: LaneCode) -> list[tuple[int, int]]:
    """Return (the elements of each access, the bits of one) that a text may mean, (1, 0) without a cast.

    LayoutError for accesses of several types, or of an unknown one.
    """
    pointees = {move.pointee for move in code.moves}
    if pointees <= {""}:
        return [(1, 0)]
    if len(pointees) > 1:
        raise make_open_error("it moves values through pointers of several types")
    pointee = pointees.pop()
    if pointee in ELEMENT_NAMES:
        return [(1, 0)]
    size = find_size(pointee)
    if size is None:
        raise make_open_error(f"the size of '{pointee}' is not known")
    width = size.bytes * 8
    if bits := find_element_bits(code.arrays.get(code.memory, "")) or _find_component_bits(pointee):
        return [(max(width // bits, 1), bits)]
    return [(width // bits, bits) for bits in _ELEMENT_BITS if width % bits == 0]


def _find_component_bits(pointee: str) -> int:
    """Return the bits of a component of a vector of floating-point numbers, 0 for other types."""
    if pointee in VECTORS and not pointee.startswith(("float", "double")):
        return 0
    scalar = pointee.rstrip("234")
    bits = ELEMENT_BITS.get(scalar) if scalar != pointee else None
    return bits or 0


def _split_move(move: FragmentMove, count: int) -> Iterator[FragmentMove]:
    """Yield the moves of an access's elements: of one register, or of consecutive ones if the register is cast."""
    *outer, last = move.value
    for n in range(count):
        value = (*outer, last + n if move.both else last * count + n)
        yield replace(move, value=value, place=(*move.place[:-1], move.place[-1] + n))


def _group_moves(moves: Sequence[FragmentMove]) -> Iterator[list[FragmentMove]]:
    """Yield the values of each one-dimensional register array, in order; LayoutError if some are missing."""
    ordered = sorted(moves, key=lambda move: move.value)
    if len({move.value for move in ordered}) < len(ordered):
        raise make_open_error("a value is moved twice")
    for _, group in groupby(ordered, key=lambda move: move.value[:-1]):
        values = list(group)
        if [move.value[-1] for move in values] != list(range(len(values))):
            raise make_open_error("some values of the array are not moved")
        yield values


def _match_groups(groups: Sequence[Sequence[FragmentMove]], fragment_map: FragmentMap, swapped: bool) -> int:
    """Return the number of fragments of a map that the groups form, 0 if none."""
    first, second = (fragment_map.cols, fragment_map.rows) if swapped else (fragment_map.rows, fragment_map.cols)
    steps: list[Any] = []
    times = 0
    for group in groups:
        if len(group) % fragment_map.values:
            return 0
        for start in range(0, len(group), fragment_map.values):
            part = group[start : start + fragment_map.values]
            axes = [
                _stack_values([move.place[axis] for move in part], fragment_map) for axis in range(len(part[0].place))
            ]
            if len(axes) == 2:
                if not (is_constant(axes[0] - first) and is_constant(axes[1] - second)):
                    return 0
            elif len(axes) != 1 or (step := _find_step(axes[0], first, second)) is None:
                return 0
            else:
                steps.append(step)
            times += 1
    return times if all((step == steps[0]).all() for step in steps) else 0


def _stack_values(places: Sequence[Values], fragment_map: FragmentMap) -> NDArray[np.int64]:
    trials = max(place.shape[0] for place in places)
    parts = [place[:, : fragment_map.threads] if place.shape[1] > 1 else place for place in places]
    return np.concatenate([np.broadcast_to(part, (trials, fragment_map.threads, 1)) for part in parts], axis=2)


def _find_step(index: NDArray[np.int64], first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the row pitch in elements, for each trial, if an index is row · pitch + col + constant; else None."""
    if not first.any():
        return None  # a single row: any pitch fits
    rest = index - second
    at = tuple(np.argwhere(first == first.max())[0])
    zero = tuple(np.argwhere(first == 0)[0])
    rise = rest[:, at[0], at[1]] - rest[:, zero[0], zero[1]]
    step, left = np.divmod(rise, first.max())
    if left.any() or (step <= second.max()).any():
        return None
    return step if is_constant(rest - step[:, None, None] * first) else None
