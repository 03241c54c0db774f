"""The two sides of a TiledCopy as maps of the stage: colours, labels, and the bank of every element. No framework."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.maps.bench import BANK_BYTES, BANKS, Bench, Held, banked
from lanescope.tiles.copy import Side, TiledCopy
from lanescope.tiles.memory import SharedSide
from lanescope.tiles.shades import Shade

Longs = NDArray[np.int64]
PATH = "/tiles/copy"
LOOK = {"colour": "warp", "label": "thread:value", "warps": "", "lanes": "", "pin": "", "sel": "", "view": ""}
COLOURS = {"warp": "warp", "group": "lane group (lane / 4)", "lane": "thread in group (lane % 4)", "value": "value",
           "access": "access of a thread", "bank": "shared-memory bank"}  # fmt: skip
LABELS = {"thread:value": "thread : value", "register": "thread, access", "row,col": "row, column",
          "bank": "bank : byte", "none": "none"}  # fmt: skip
TEXTS = {"thread:value": "T{thread}{more}:{values}", "register": "T{thread}{more} #{registers}",
         "row,col": "{row},{col}", "bank": "b{bank}:{byte}", "none": ""}  # fmt: skip


def bench(made: TiledCopy, held: SharedSide | None) -> Bench:
    """Source and destination; with a shared side the banks, too."""
    byte = bytes_of(made, held) if held else None
    maps = tuple(_held(made, name, byte) for name in ("source", "destination"))
    colours, labels, texts = (
        {name: said for name, said in row.items() if name != "bank" or held} for row in (COLOURS, LABELS, TEXTS)
    )
    return Bench(PATH, "the TiledCopy", maps, colours, labels, texts, "#",
                 owner="{holder}, value {value}, access {register}")  # fmt: skip


def bytes_of(made: TiledCopy, held: SharedSide) -> Longs:
    """Where each element lies in shared memory: int64 [rows, cols], -1 where nothing is copied."""
    side: Side = getattr(made, held.side)
    out = np.full(made.tile, -1, dtype=np.int64)
    out[side.rows, side.cols] = held.address
    return out


def _held(made: TiledCopy, name: str, byte: Longs | None) -> Held:
    side: Side = getattr(made, name)
    rows, cols = made.tile
    accesses = side.values // side.access
    about = (
        f"{rows} × {cols} · {accesses} access{'es' * (accesses != 1)} of {side.access} value{'s' * (side.access != 1)}"
        " a thread"
    )
    edges = [list(range(step, size, step)) for step, size in zip(made.tiler, made.tile, strict=True)]
    told = {} if byte is None else {"byte": byte, "bank": np.where(byte < 0, -1, byte // BANK_BYTES % BANKS)}
    return Held(
        name, name.capitalize(), about, rows, cols, side.rows.astype(np.int64) * cols + side.cols, made.element_bits,
        {
            "warp": Shade("thread", 32, -(-made.threads // 32)), "group": Shade("thread", 4, 8),
            "lane": Shade("thread", 1, 4), "value": Shade("value", 1, side.values),
            "access": Shade("value", side.access, accesses),
        },
        {} if byte is None else {"bank": banked(byte)}, tuple(v // side.access for v in range(side.values)), told,
        edges=(edges[0], edges[1]),
    )  # fmt: skip
