"""Colour distances for the palette tests: CIEDE2000 (Sharma 2005), colour-blind vision (Machado 2009), WCAG
contrast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

VISION = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def parse_linear_rgb(hexes: list[str]) -> Array:
    srgb = np.array([[int(h[i : i + 2], 16) / 255 for i in (1, 3, 5)] for h in hexes])
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def compute_contrast(one: str, other: str) -> float:
    a, b = (float(rgb @ [0.2126, 0.7152, 0.0722]) for rgb in parse_linear_rgb([one, other]))
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


def convert_to_lab(rgb: Array) -> Array:
    xyz = (
        np.clip(rgb, 0, 1)
        @ np.array(
            [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
        ).T
    )
    t = xyz / [0.95047, 1.0, 1.08883]
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], -1)


def compute_ciede2000(x: Array, y: Array) -> Array:
    (l1, a1, b1), (l2, a2, b2) = np.moveaxis(x, -1, 0), np.moveaxis(y, -1, 0)
    cm = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(cm**7 / (cm**7 + 25.0**7)))
    p1, p2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = np.hypot(p1, b1), np.hypot(p2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, p1)) % 360, np.degrees(np.arctan2(b2, p2)) % 360
    dh = np.where(c1 * c2 == 0, 0, (h2 - h1 + 180) % 360 - 180)
    big_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(dh / 2))
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = np.where(c1 * c2 == 0, h1 + h2, (h1 + dh / 2) % 360)
    t = (
        1
        - 0.17 * np.cos(np.radians(hm - 30))
        + 0.24 * np.cos(np.radians(2 * hm))
        + 0.32 * np.cos(np.radians(3 * hm + 6))
        - 0.20 * np.cos(np.radians(4 * hm - 63))
    )
    sl = 1 + 0.015 * (lm - 50) ** 2 / np.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    rt = -2 * np.sqrt(cm**7 / (cm**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((hm - 275) / 25) ** 2))))
    dl, dc, dhh = (l2 - l1) / sl, (c2 - c1) / sc, big_h / sh
    return np.sqrt(dl**2 + dc**2 + dhh**2 + rt * dc * dhh)


def find_least_distance(hexes: list[str], vision: str) -> float:
    """The smallest CIEDE2000 between two of the colours as that vision sees them."""
    seen = convert_to_lab(parse_linear_rgb(hexes) @ VISION[vision].T)
    i, j = np.triu_indices(len(hexes), 1)
    return float(compute_ciede2000(seen[i], seen[j]).min())
