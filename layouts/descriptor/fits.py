"""Which standard tiles a descriptor reads, when nothing is said about how the tile was stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope.descriptor.alternatives import get_tile_bits, list_tile_sizes
from lanescope.descriptor.case import count_bytes
from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.descriptor.repair import compute_expected_reads
from lanescope.errors import LayoutError
from lanescope.shared.storage import Storage, storage


def find_fitting_tiles(descriptor: Descriptor, seen: View) -> list[tuple[dict[str, Any], dict[str, int]]]:
    """Return the canonical tiles whose slice this word reads, as (storage, slice), smallest tile first.

    Tiles on their pattern's boundary, as CUTLASS aligns them; without any, those on 128 bytes, as TMA requires, then
    others.
    """
    fits: list[tuple[dict[str, Any], dict[str, int]]] = []
    mode, address = descriptor.mode, reads(descriptor, seen)
    atom = mode.get_atom_size(seen.bits, seen.major)
    known: set[tuple[int, ...]] = set()
    for order in ("mn", "k"):
        for k in range(0, atom[1] if seen.major == "K" else 1, seen.k):
            for mn_size, k_size in list_tile_sizes(descriptor, seen, atom, order):
                spec = {
                    "kind": "canonical",
                    "element_bits": get_tile_bits(seen),
                    "major": seen.major,
                    "swizzle": mode.name,
                    "mn": mn_size,
                    "k": k_size,
                    "order": order,
                    "base": descriptor.start_address - count_bytes(k, seen),
                }
                stored = _make_storage(spec, seen)
                if (
                    not stored
                    or not stored.tile
                    or mn_size < seen.rows
                    or k + seen.k > k_size
                    or not np.array_equal(compute_expected_reads(stored, seen, 0, k), address)
                ):
                    continue
                same = (
                    mn_size,
                    k_size,
                    k,
                    *(s for s, count in zip(stored.tile.strides, stored.tile.atoms, strict=True) if count > 1),
                )
                if same not in known:
                    known.add(same)
                    fits.append((spec, {"mn": 0, "k": k}))
    aligned = ([fit for fit in fits if fit[0]["base"] % line == 0] for line in (mode.pattern_bytes, 128))
    return sorted(next(filter(None, aligned), fits), key=lambda fit: (fit[0]["mn"] * fit[0]["k"], fit[1]["k"]))[:6]


def _make_storage(spec: dict[str, Any], seen: View) -> Storage | None:
    try:
        return storage(spec, seen.bits, seen.major, seen.form)
    except LayoutError:
        return None
