"""Find the values of operands that a formula for one or some values describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.fragment_maps import FragmentMap, list_fragment_maps
from lanescope.reader.formula.lane_places import Values


@dataclass(frozen=True, slots=True)
class MatchingValues:
    """A map, and those of its values that a text describes in every thread."""

    map: FragmentMap
    values: tuple[int, ...]


def list_holding(rows: Values, cols: Values, covered: Sequence[int], letter: str) -> tuple[MatchingValues, ...]:
    """Return the maps that contain a text's values: those of the named operand first, then those with the most
    operands.

    covered: the values that the text covers, each compared with the same value of a map; (0,) for a text without a
    value index, which is compared with every value.
    """
    found = []
    for fragment_map in list_fragment_maps():
        if fragment_map.values == 1 or fragment_map.values <= max(covered):
            continue
        same = _is_same(rows, fragment_map.rows, fragment_map) & _is_same(
            cols, fragment_map.cols, fragment_map
        )  # [values of the text, of the map]
        if len(covered) == 1 and same.shape[0] == 1:
            values = tuple(int(n) for n in np.flatnonzero(same[0]))
        else:
            values = tuple(covered) if all(same[min(n, same.shape[0] - 1), n] for n in covered) else ()
        if values:
            found.append(MatchingValues(fragment_map, values))
    return tuple(sorted(found, key=lambda part: (not part.map.has_operand(letter), -len(part.map.operands))))


def _is_same(mine: Values, coordinates: NDArray[Any], fragment_map: FragmentMap) -> NDArray[np.bool_]:
    """Return [value of the text, value of the map]: whether both have the same coordinate in every thread."""
    part = mine[:, : fragment_map.threads, :]
    return np.asarray((part[..., :, None] == coordinates[None, :, None, :]).all(axis=(0, 1)))
