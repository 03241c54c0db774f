"""Find which values of which operands a formula describes that covers one or some values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.fragment_maps import FragmentMap, list_fragment_maps
from lanescope.reader.lane_code import Values


@dataclass(frozen=True, slots=True)
class HeldValues:
    """A map, and its values whose coordinates a text gives in every thread."""

    map: FragmentMap
    values: tuple[int, ...]


def list_holding(rows: Values, cols: Values, said: Sequence[int], letter: str) -> tuple[HeldValues, ...]:
    """List the maps of several values in which the values of a text are: those of the named operand first, then those
    that most operands have.

    values: the values that the text is for, each compared with that value of a map; (0,) for a text without a number of
    the value, whose one value may be any.
    """
    found = []
    for fragment_map in list_fragment_maps():
        if fragment_map.values == 1 or fragment_map.values <= max(said):
            continue
        same = _is_same(rows, fragment_map.rows, fragment_map) & _is_same(
            cols, fragment_map.cols, fragment_map
        )  # [values of the text, of the map]
        if len(said) == 1 and same.shape[0] == 1:
            values = tuple(int(n) for n in np.flatnonzero(same[0]))
        else:
            values = tuple(said) if all(same[min(n, same.shape[0] - 1), n] for n in said) else ()
        if values:
            found.append(HeldValues(fragment_map, values))
    return tuple(sorted(found, key=lambda held: (not held.map.has_operand(letter), -len(held.map.operands))))


def _is_same(mine: Values, coordinates: NDArray[Any], fragment_map: FragmentMap) -> NDArray[np.bool_]:
    """Return whether a coordinate of each value of a text is that of each value of a map, in every thread."""
    part = mine[:, : fragment_map.threads, :]
    return np.asarray((part[..., :, None] == coordinates[None, :, None, :]).all(axis=(0, 1)))
