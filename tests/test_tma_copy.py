"""TMA atoms of a TiledCopy: what lands where is written byte by byte by another hand, box after box."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope import tma_copy
from lanescope.app.tiles import tiled_copy_facts
from lanescope.cute.text import parse_cute_layout
from lanescope.shared.storage import storage
from tests.cases import for_each

LOAD, SHARED = "SM90_TMA_LOAD", "SM90_TMA_LOAD_MULTICAST"
BITS = {"none": 0, "32B": 1, "64B": 2, "128B": 3}


def build_canonical(mn: int, k: int, swizzle: str = "128B", major: str = "K", base: int = 0, bits: int = 16) -> Any:
    given = {"kind": "canonical", "mn": mn, "k": k, "swizzle": swizzle, "major": major, "base": base}
    return storage(given, bits, major)


@for_each(
    ("rows", "cols", "swizzle", "major", "bits", "ctas"),
    [
        (128, 128, "128B", "K", 16, 1),
        (64, 64, "64B", "K", 16, 1),
        (128, 64, "128B", "K", 16, 4),
        (64, 256, "128B", "MN", 16, 2),
        (256, 128, "128B", "K", 8, 2),
        (128, 64, "32B", "MN", 16, 1),
    ],
)
def test_boxes_write_the_tile(rows: int, cols: int, swizzle: str, major: str, bits: int, ctas: int) -> None:
    """Each CTA writes its boxes row by row, the swizzle XORs the 16-byte chunk: every byte is where the storage has
    its element, and each CTA has written its share."""
    where = build_canonical(rows, cols, swizzle, major, 1024, bits)
    made = tma_copy(
        SHARED if ctas > 1 else LOAD, tile=(rows, cols), where=where, element_bits=bits, major=major, multicast=ctas
    )
    assert made.rules == () and made.wrong == 0 and made.bytes == ctas * made.bytes_per_cta
    size, (wide, tall) = bits // 8, made.box
    length, count = (cols, rows) if major == "K" else (rows, cols)
    memory: dict[int, tuple[int, int]] = {}
    whole, start, shares = tall * ctas, 1024, []
    for along in range(0, length, wide):
        for first in range(0, count, whole):
            for cta in range(ctas):
                for line in range(first + cta * tall, first + (cta + 1) * tall):
                    for n in range(along, along + wide):
                        at = start + ((line - first) * wide + n - along) * size
                        at ^= (at >> 7 & (1 << BITS[swizzle]) - 1) << 4
                        memory[at] = (line, n) if major == "K" else (n, line)
                        shares.append((memory[at], cta))
            start += whole * wide * size
    assert {at: place for place, at in np.ndenumerate(made.address)} == memory  # type: ignore[comparison-overlap]
    assert all(made.cta[place] == cta for place, cta in shares) and len(shares) == rows * cols


@for_each(
    ("given", "code"),
    [
        ({"where": storage({"kind": "rows", "pitch_bytes": 144}, 16, "K")}, "tma_destination"),
        (
            {
                "where": storage({"kind": "rows", "pitch_bytes": 128, "inner": "MN"}, 16, "K"),
                "layout": "(64,64):(64,1)",
            },
            "tma_major",
        ),
        ({"where": storage({"kind": "cute", "layout": "Sw<1,2,4> o (64,64):(64,1)"}, 16, "K")}, "tma_swizzle"),
        ({"where": build_canonical(64, 64), "atom": SHARED, "multicast": 3}, "tma_multicast"),
        ({"where": build_canonical(64, 64), "layout": "(64,4097):(4097,1)"}, "tma_stride"),
        ({"where": storage({"kind": "cute", "layout": "(64,64):(64,2)"}, 16, "K")}, "tma_major"),
    ],
)
def test_rules_that_are_broken_have_names(given: dict[str, Any], code: str) -> None:
    if "layout" in given:
        given = {**given, "layout": parse_cute_layout(given["layout"])}
    made = tma_copy(given.get("atom", LOAD), tile=(64, 64), **{k: v for k, v in given.items() if k != "atom"})
    assert code in {rule.code for rule in made.rules}


def test_a_swizzle_of_the_tile_lands_elsewhere() -> None:
    tile = {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "swizzle_by": "tile", "base": 128}
    made = tma_copy(LOAD, tile=(64, 64), where=storage(tile, 16, "K"))
    assert made.wrong == 4096 and made.first == (0, 0)
    told = tiled_copy_facts.build_tma_copy(
        {
            "atom": SHARED,
            "tile": [128, 64],
            "multicast": 2,
            "storage": {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B"},
        }
    )
    assert (told.verdict, told.box, told.boxes) == ("match", [64, 64], 1)
    assert [part.begins for part in told.ctas] == [[0, 0], [0, 64]] and told.ctas[1].bytes == 8192
