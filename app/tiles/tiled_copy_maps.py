"""The maps of a copy on the stage.

A TiledCopy has its two sides, with the bank of every element. A TMA copy has the tile by boxes and CTAs, and shared
memory in rows of 128 bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.maps.bench import BANK_BYTES, BANKS, CellColouring, HolderMap, MapBench, colour_by_chunk
from lanescope.tiles.bulk import TmaCopy
from lanescope.tiles.copy import TiledCopy, TransferSide
from lanescope.tiles.memory import SharedCopySide
from lanescope.tiles.shades import TileShade

Longs = NDArray[np.int64]
PATH = "/tiles/copy"
COPY_LOOK = {
    "colour": "warp",
    "label": "thread:value",
    "warps": "",
    "lanes": "",
    "pin": "",
    "pin2": "",
    "sel": "",
    "view": "",
}
COPY_COLOURS = {
    "warp": "warp",
    "group": "lane group (lane / 4)",
    "lane": "thread in group (lane % 4)",
    "value": "value",
    "access": "access of a thread",
    "bank": "shared-memory bank",
}
COPY_LABELS = {
    "thread:value": "thread : value",
    "register": "thread, access",
    "row,col": "row, column",
    "bank": "bank : byte",
    "none": "none",
}
COPY_TEXTS = {
    "thread:value": "T{thread}{more}:{values}",
    "register": "T{thread}{more} #{registers}",
    "row,col": "{row},{col}",
    "bank": "b{bank}:{byte}",
    "none": "",
}


# TiledCopy ------------------------------------------------------------------------------------------------------------


def build_copy_bench(tiled_copy: TiledCopy, shared: SharedCopySide | None) -> MapBench:
    """Return source and destination, with banks if one side is shared memory."""
    byte = compute_bytes(tiled_copy, shared) if shared else None
    maps = tuple(_build_side_map(tiled_copy, name, byte) for name in ("source", "destination"))
    colours, labels, texts = (
        {name: text for name, text in row.items() if name != "bank" or shared}
        for row in (COPY_COLOURS, COPY_LABELS, COPY_TEXTS)
    )
    return MapBench(
        PATH,
        "the TiledCopy",
        maps,
        colours=colours,
        labels=labels,
        texts=texts,
        letter="#",
        owner="{holder}, value {value}, access {register}",
        answer="`{element}` is moved by `thread {thread}`, access `#{register}`"
        + ", at byte `{byte}`, bank `{bank}`" * bool(shared),
        together="The same access moves",
    )


def compute_bytes(tiled_copy: TiledCopy, shared: SharedCopySide) -> Longs:
    """Return the byte address of each element in shared memory: int64 [rows, cols], -1 where nothing is copied."""
    side: TransferSide = getattr(tiled_copy, shared.side)
    out = np.full(tiled_copy.tile, -1, dtype=np.int64)
    out[side.rows, side.cols] = shared.address
    return out


def _build_side_map(tiled_copy: TiledCopy, name: str, byte: Longs | None) -> HolderMap:
    side: TransferSide = getattr(tiled_copy, name)
    rows, cols = tiled_copy.tile
    accesses = side.values // side.access
    about = (
        f"{rows} × {cols} · {accesses} access{'es' * (accesses != 1)} of {side.access} value{'s' * (side.access != 1)}"
        " per thread"
    )
    edges = [list(range(step, size, step)) for step, size in zip(tiled_copy.tiler, tiled_copy.tile, strict=True)]
    fields = {} if byte is None else {"byte": byte, "bank": np.where(byte < 0, -1, byte // BANK_BYTES % BANKS)}
    return HolderMap(
        name,
        name.capitalize(),
        about,
        rows=rows,
        cols=cols,
        cell=side.rows.astype(np.int64) * cols + side.cols,
        element_bits=tiled_copy.element_bits,
        shades={
            "warp": TileShade("thread", 32, -(-tiled_copy.threads // 32)),
            "group": TileShade("thread", 4, 8),
            "lane": TileShade("thread", 1, 4),
            "value": TileShade("value", 1, side.values),
            "access": TileShade("value", side.access, accesses),
        },
        of_cells={} if byte is None else {"bank": colour_by_chunk(byte)},
        group=tuple(v // side.access for v in range(side.values)),
        fields=fields,
        edges=(edges[0], edges[1]),
    )


# TMA ------------------------------------------------------------------------------------------------------------------

LINE, CHUNK = 128, 16  # bytes of a drawn row of shared memory, and of a chunk, which a swizzle moves as a unit
MOST_CELLS = 1 << 16  # rows of the picture of shared memory
TMA_COLOURS = {
    "chunk": "chunk of 16 bytes in the tile, mod 8",
    "box": "box (instruction)",
    "cta": "CTA that brings it",
    "phase": "row of 128 bytes mod 8",
    "bank": "shared-memory bank",
}
TMA_LABELS = {
    "element": "row, column",
    "byte": "byte in shared memory",
    "chunk": "box : chunk of 16 bytes",
    "bank": "bank",
    "none": "none",
}
TMA_TEXTS = {"element": "{r},{c}", "byte": "{byte}", "chunk": "{box}:{chunk}", "bank": "b{bank}", "none": ""}


def build_tma_bench(tma_copy: TmaCopy) -> MapBench:
    """Return the tile, shared memory as TMA fills it (or reads it, for a store), and the storage where it differs.

    The 16 bytes of a chunk light up together.
    """
    maps = [_build_tile_map(tma_copy)]
    base = int(min(tma_copy.address.min(), tma_copy.expected.min())) // LINE * LINE
    written = "TMA writes" if tma_copy.loads else "TMA reads"
    places = [("shared", "Shared memory", written, tma_copy.address)]
    if tma_copy.wrong:
        places.append(("storage", "Storage", "described", tma_copy.expected))
    for name, title, says, address in places:
        holder_map = _build_shared_map(tma_copy, name, title, says, address, base)
        if holder_map is not None:
            maps.append(holder_map)
    colours = {name: text for name, text in TMA_COLOURS.items() if name != "cta" or tma_copy.multicast > 1}
    return MapBench(
        PATH,
        "the tile of a TMA copy",
        tuple(maps),
        colours=colours,
        labels=TMA_LABELS,
        texts=TMA_TEXTS,
        letter="word ",
        unit="chunk",
        owner="{holder} of 16 bytes",
        answer="`Tile({r},{c})` is at byte `{byte}` of shared memory, bank `{bank}`, in box `{box}`",
        together="The same bank also holds",
        dims={holder_map.name: (f"{holder_map.name}r", f"{holder_map.name}c") for holder_map in maps[1:]},
    )


def make_tma_look(tma_copy: TmaCopy) -> dict[str, str]:
    """Return the default view: the colouring that distinguishes most."""
    return {**COPY_LOOK, "colour": "cta" if tma_copy.multicast > 1 else "chunk", "label": "element"}


def _build_address_colours(address: Longs) -> dict[str, CellColouring]:
    """Return the colourings by byte address."""
    return {"phase": CellColouring(address // LINE % 8, tuple(map(str, range(8)))), "bank": colour_by_chunk(address)}


def _build_tile_colours(tma_copy: TmaCopy) -> dict[str, CellColouring]:
    """Return the colourings by place in the tile and by CTA."""
    row, col = np.indices(tma_copy.tile, dtype=np.int64)
    chunk = (col if tma_copy.inner == "K" else row) * tma_copy.element_bits // (8 * CHUNK) % 8
    counted = {"chunk": (chunk, 8), "box": (tma_copy.number, tma_copy.boxes), "cta": (tma_copy.cta, tma_copy.multicast)}
    return {name: CellColouring(number, tuple(map(str, range(count)))) for name, (number, count) in counted.items()}


def _build_tile_map(tma_copy: TmaCopy) -> HolderMap:
    rows, cols = tma_copy.tile
    chunk = _number_chunks(tma_copy)
    colours = _build_tile_colours(tma_copy) | _build_address_colours(tma_copy.address)
    row, col = np.indices(tma_copy.tile, dtype=np.int64)
    fields = _build_fields(tma_copy, row, col, chunk)
    wide, tall = tma_copy.box if tma_copy.inner == "K" else tma_copy.box[::-1]
    about = (
        f"{rows} × {cols} · {tma_copy.boxes} box{'es' * (tma_copy.boxes != 1)} of {' × '.join(map(str, tma_copy.box))}"
    )
    return HolderMap(
        "tile",
        "Tile",
        about,
        rows=rows,
        cols=cols,
        cell=_group_by_chunk(chunk, np.arange(rows * cols).reshape(tma_copy.tile)),
        element_bits=tma_copy.element_bits,
        shades={},
        of_cells=colours,
        group=_list_bank_lines(tma_copy),
        fields=fields,
        edges=(list(range(tall, rows, tall)), list(range(wide, cols, wide))),
    )


def _list_bank_lines(tma_copy: TmaCopy) -> tuple[int, ...]:
    per = max(1, 8 * CHUNK // tma_copy.element_bits)
    return tuple(value * tma_copy.element_bits // (8 * BANK_BYTES) for value in range(per))


def _number_chunks(tma_copy: TmaCopy) -> Longs:
    """Return the number of each element's 16-byte chunk along the contiguous dimension of the tile."""
    row, col = np.indices(tma_copy.tile, dtype=np.int64)
    line, along = (row, col) if tma_copy.inner == "K" else (col, row)
    per = max(1, 8 * CHUNK // tma_copy.element_bits)
    each = -(-tma_copy.tile[1 if tma_copy.inner == "K" else 0] // per)
    return np.asarray(line * each + along // per)


def _group_by_chunk(chunk: Longs, number: Longs) -> Longs:
    """Return the cells of each chunk: [chunk][value]."""
    flat, cells = chunk.reshape(-1), number.reshape(-1)
    order = np.argsort(flat, kind="stable")
    counts = np.bincount(flat)
    out = np.full((counts.size, int(counts.max())), -1, dtype=np.int64)
    at = np.arange(flat.size) - np.repeat(np.cumsum(counts) - counts, counts)
    out[flat[order], at] = cells[order]
    return out


def _build_fields(tma_copy: TmaCopy, row: Longs, col: Longs, chunk: Longs) -> dict[str, Longs]:
    byte = tma_copy.address
    return {
        "r": row,
        "c": col,
        "byte": byte,
        "bank": byte // BANK_BYTES % BANKS,
        "box": tma_copy.number,
        "chunk": chunk,
    }


def _build_shared_map(
    tma_copy: TmaCopy, name: str, title: str, says: str, address: Longs, base: int
) -> HolderMap | None:
    """Return rows of 128 bytes with the element stored at each place; None if there are too many to draw."""
    per = 8 * LINE // tma_copy.element_bits
    place = (address - base) * 8 // tma_copy.element_bits
    lines = int(place.max()) // per + 1
    if lines * per > MOST_CELLS or place.min() < 0:
        return None

    def spread_values(value: Longs) -> Longs:
        out = np.full(lines * per, -1, dtype=np.int64)
        out[place.reshape(-1)] = value.reshape(-1)
        return out.reshape(lines, per)

    chunk = _number_chunks(tma_copy)
    row, col = np.indices(tma_copy.tile, dtype=np.int64)
    colours = _build_address_colours(address) | _build_tile_colours(tma_copy)
    spread = {
        key: CellColouring(spread_values(colouring.numbers), colouring.names) for key, colouring in colours.items()
    }
    fields = {key: spread_values(value) for key, value in _build_fields(tma_copy, row, col, chunk).items()}
    fields["byte"] = spread_values(address)
    at = f" from byte {base}" if base else ""
    return HolderMap(
        name,
        title,
        f"{lines} rows of {LINE} bytes{at}, as {says}",
        rows=lines,
        cols=per,
        cell=_group_by_chunk(chunk, place),
        element_bits=tma_copy.element_bits,
        shades={},
        of_cells=spread,
        group=_list_bank_lines(tma_copy),
        fields=fields,
        edges=(list(range(8, lines, 8)), []),
        axes=("r", "c"),
        height=tma_copy.tile[0],
        width=tma_copy.tile[1],
    )
