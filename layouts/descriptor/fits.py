"""Find the canonical tiles that a descriptor may read, for an unknown storage."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope.descriptor.alternatives import get_tile_bits, list_tile_sizes
from lanescope.descriptor.case import count_bytes
from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.descriptor.repair import compute_expected_reads
from lanescope.errors import LayoutError
from lanescope.shared.storage import Storage, storage


def find_fitting_tiles(descriptor: Descriptor, view: View) -> list[tuple[dict[str, Any], dict[str, int]]]:
    """Return up to six canonical tiles with a slice that the descriptor reads, as (storage, slice), the smallest first.

    Tiles aligned to their swizzle pattern (as in CUTLASS) are preferred, then tiles aligned to 128 bytes (as TMA
    requires), then all others.
    """
    fits: list[tuple[dict[str, Any], dict[str, int]]] = []
    mode, address = descriptor.mode, reads(descriptor, view)
    atom = mode.get_atom_size(view.bits, view.major)
    listed: set[tuple[int, ...]] = set()
    for order in ("mn", "k"):
        for k in range(0, atom[1] if view.major == "K" else 1, view.k):
            for mn_size, k_size in list_tile_sizes(descriptor, view, atom, order):
                spec = {
                    "kind": "canonical",
                    "element_bits": get_tile_bits(view),
                    "major": view.major,
                    "swizzle": mode.name,
                    "mn": mn_size,
                    "k": k_size,
                    "order": order,
                    "base": descriptor.start_address - count_bytes(k, view),
                }
                stored = _make_storage(spec, view)
                if (
                    not stored
                    or not stored.tile
                    or mn_size < view.rows
                    or k + view.k > k_size
                    or not np.array_equal(compute_expected_reads(stored, view, 0, k), address)
                ):
                    continue
                same = (
                    mn_size,
                    k_size,
                    k,
                    *(s for s, count in zip(stored.tile.strides, stored.tile.atoms, strict=True) if count > 1),
                )
                if same not in listed:
                    listed.add(same)
                    fits.append((spec, {"mn": 0, "k": k}))
    aligned = ([fit for fit in fits if fit[0]["base"] % line == 0] for line in (mode.pattern_bytes, 128))
    return sorted(next(filter(None, aligned), fits), key=lambda fit: (fit[0]["mn"] * fit[0]["k"], fit[1]["k"]))[:6]


def _make_storage(spec: dict[str, Any], view: View) -> Storage | None:
    try:
        return storage(spec, view.bits, view.major, view.form)
    except LayoutError:
        return None
