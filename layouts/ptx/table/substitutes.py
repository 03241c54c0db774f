"""Families that can replace another family on targets without it."""

from __future__ import annotations

# Family → replacements, the closest first.
SUBSTITUTES = {
    "tcgen05_mma": ("wgmma", "mma", "mma_scaled"),
    "tcgen05_mma_sp": ("wgmma_sp", "mma_sp"),
    "tcgen05_mma_ws": ("wgmma", "mma"),
    "tcgen05_mma_ws_sp": ("wgmma_sp", "mma_sp"),
    "wgmma": ("tcgen05_mma", "mma", "mma_scaled"),
    "wgmma_sp": ("tcgen05_mma_sp", "mma_sp"),
    "mma_scaled": ("tcgen05_mma",),
    "mma_sp": ("mma",),
}
