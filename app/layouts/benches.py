"""Layouts on the stage of whole tiles: sheets as maps of threads or of banks, with the options of the view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.maps import stage
from lanescope.app.kit.maps.bench import BANK_BYTES, BANKS, CellColouring, HolderMap, MapBench, colour_by_chunk
from lanescope.app.kit.maps.script_data import build_page_data
from lanescope.app.layouts.sheet_pictures import WORDS, find_moves
from lanescope.ptx.threads import WARP
from lanescope.render.sheet import TileSheet, sort_into_categories
from lanescope.render.tensor import TensorSheet
from lanescope.tiles.convert import Conversion
from lanescope.tiles.shades import TileShade

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]
MOVES = ("already in the thread", "from another lane of the warp", "from another warp")
LABELS = {"thread:value": "thread : {}", "value": "{}", "row,col": "row, column", "none": "none"}
MEMORY = {"offset": "offset in elements", "byte": "byte", "bank": "bank", "row,col": "row, column", "none": "none"}
OF_MEMORY = {"offset": "{offset}", "byte": "{byte}", "bank": "b{bank}", "row,col": "{row},{col}", "none": ""}


def build_thread_map(sheet: TileSheet, name: str, title: str, about: str = "", bank: Longs | None = None) -> HolderMap:
    """Return a sheet of threads as a map. bank: byte of each cell in shared memory."""
    assert sheet.cell is not None
    threads, values = sheet.cell.shape
    per = max(1, 32 // sheet.element_bits)
    shades = {
        "warp": TileShade("thread", sheet.lanes, -(-threads // sheet.lanes)),
        "thread": TileShade("thread", 4, sheet.lanes // 4),
        "lane": TileShade("thread", 1, 4),
        "value": TileShade("value", 1, values),
        "vector": TileShade("value", per, -(-values // per)),
    }
    fields = {} if bank is None else {"bank": np.where(bank < 0, -1, bank // BANK_BYTES % BANKS), "byte": bank}
    return HolderMap(
        name,
        title,
        about or f"{sheet.rows} × {sheet.cols}",
        rows=sheet.rows,
        cols=sheet.cols,
        cell=sheet.cell,
        element_bits=sheet.element_bits,
        shades=shades,
        of_cells={} if bank is None else {"bank": colour_by_chunk(bank)},
        group=tuple(range(values)),
        fields=fields,
        folded=bool(sheet.row_names),
    )


def build_thread_bench(
    path: str, says: str, maps: Sequence[HolderMap], letter: str, of: Mapping[str, str], lanes: int = WARP
) -> MapBench:
    """Return maps of threads side by side. letter: V or R of a value; of: further colourings and their names; lanes:
    threads per warp.
    """
    word = "register" if letter == "R" else "value"
    colours = {name: word if name == "value" else WORDS[name] for name in ("warp", "thread", "lane", "value", "vector")}
    texts = {
        "thread:value": f"T{{thread}}{{more}}:{letter}{{value}}",
        "value": f"{letter}{{value}}",
        "row,col": "{row},{col}",
        "none": "",
    }
    labels = {name: template.format(word) for name, template in LABELS.items()}
    if "bank" in of:
        labels["bank"], texts["bank"] = "bank", "b{bank}"
    return MapBench(
        path,
        says,
        tuple(maps),
        colours={**of, **colours},
        labels=labels,
        texts=texts,
        letter=letter,
        owner=f"{{holder}}, {word} {{value}}",
        answer=f"`{{element}}` is in `thread {{thread}}`, {word} `{{value}}`",
        lanes=lanes,
    )


def mask_outside_slice(holder_map: HolderMap, outside: Mask) -> HolderMap:
    """Return the map with colour only inside a slice."""
    holders = holder_map.find_first_holders()
    masked = {}
    for name in (*holder_map.shades, *holder_map.of_cells):
        numbers, names = holder_map.colour_numbers(name, holders)
        masked[name] = CellColouring(np.where(outside, -1, numbers), names)
    return replace(holder_map, of_cells=masked)


def build_before_after(
    sheets: Sequence[TileSheet], titles: Sequence[str], conversion: Conversion
) -> tuple[HolderMap, HolderMap]:
    """Return the same tile under two layouts; the colouring `moves` shows the source of each element of the second."""
    number = np.zeros((sheets[1].rows, sheets[1].cols), dtype=np.int64)
    for way, mask in enumerate(find_moves(conversion, sheets[1]), 1):
        number[mask] = way
    assert sheets[1].thread is not None
    moves = CellColouring(np.where(sheets[1].thread < 0, -1, number), MOVES)
    both = [
        replace(build_thread_map(sheet, name, name.capitalize(), title), of_cells={"moves": moves})
        for sheet, name, title in zip(sheets, ("before", "after"), titles, strict=True)
    ]
    return both[0], both[1]


def build_inverse_map(index: Longs, coords: Sequence[Longs], element_bits: int, holder_map: HolderMap) -> HolderMap:
    """Return the inverse as a map: a row per thread, a column per value, the element in the cell."""
    threads, values = index.shape
    fields = {f"axis{n}": axis for n, axis in enumerate(coords)}
    of_cells = {
        name: CellColouring(
            np.where(holder_map.cell < 0, -1, colouring.numbers.reshape(-1)[holder_map.cell]), colouring.names
        )
        for name, colouring in holder_map.of_cells.items()
    }
    return HolderMap(
        "table",
        "Threads and values",
        f"{threads} × {values}: the element of each thread (down) and value (across)",
        rows=threads,
        cols=values,
        cell=np.arange(index.size, dtype=np.int64).reshape(index.shape),
        element_bits=element_bits,
        shades=holder_map.shades,
        of_cells=of_cells,
        group=tuple(range(values)),
        fields=fields,
        text=",".join(f"{{{name}}}" for name in fields),
        listed=False,
    )


def build_memory_bench(sheet: TileSheet, path: str, says: str) -> MapBench:
    """Return a sheet of shared memory as a map of banks."""
    assert sheet.place is not None
    place = sheet.place.reshape(-1)
    byte = np.where(place < 0, -1, place * sheet.element_bits // 8)
    bank = np.where(place < 0, -1, byte // BANK_BYTES % BANKS)
    order = np.argsort(place, kind="stable")
    columns = [order[bank[order] == number] for number in range(BANKS)]
    most = max(len(column) for column in columns)
    cell = np.full((BANKS, max(1, most)), -1, dtype=np.int64)
    for number, cells in enumerate(columns):
        cell[number, : len(cells)] = cells
    group, legend = sort_into_categories(sheet.place)
    shape = (sheet.rows, sheet.cols)
    per = max(1, 32 // sheet.element_bits)
    made = HolderMap(
        "tile",
        "Tile",
        f"{sheet.rows} × {sheet.cols}",
        *shape,
        cell,
        sheet.element_bits,
        {"line": TileShade("value", per, -(-cell.shape[1] // per))},
        {
            "bank": colour_by_chunk(byte.reshape(shape)),
            "address": CellColouring(group, tuple(entry.text for entry in legend)),
        },
        tuple(n // per for n in range(cell.shape[1])),
        {"offset": sheet.place, "byte": byte.reshape(shape), "bank": bank.reshape(shape)},
        folded=bool(sheet.row_names),
    )
    colours = {"bank": "bank", "address": "offset, elements", "line": "word of the bank"}
    return MapBench(
        path,
        says,
        (made,),
        colours=colours,
        labels=MEMORY,
        texts=OF_MEMORY,
        letter="word ",
        unit="bank",
        owner="{holder}",
        answer="`{element}` is at offset `{offset}` in elements, byte `{byte}`, bank `{bank}`",
        together="The word also holds",
    )


def build_tensor_bench(sheet: TensorSheet, path: str, says: str) -> MapBench:
    """Return a sheet of tensor memory, lanes down and columns across, with each row of the tensor."""
    assert sheet.down is not None and sheet.across is not None
    down = sheet.down.reshape(-1)
    rows = [np.flatnonzero(down == row) for row in range(int(down.max(initial=0)) + 1)]
    cell = np.full((len(rows), max(1, *(len(cells) for cells in rows), 1)), -1, dtype=np.int64)
    for row, cells in enumerate(rows):
        cell[row, : len(cells)] = cells
    colours = {}
    for name, number in sheet.colours.items():
        group, legend = sort_into_categories(number)
        colours[name] = CellColouring(group, tuple(entry.text for entry in legend))
    made = HolderMap(
        "tile",
        "Tensor memory",
        f"{sheet.rows} lanes (down) × {sheet.cols} columns of 32 bits (across)",
        rows=sheet.rows,
        cols=sheet.cols,
        cell=cell,
        element_bits=sheet.element_bits,
        shades={"cell": TileShade("value", 1, cell.shape[1])},
        of_cells=colours,
        group=tuple(range(cell.shape[1])),
        fields={"tensor_row": sheet.down, "tensor_column": sheet.across},
        axes=("tensor_row", "tensor_column"),
        height=int(down.max(initial=0)) + 1,
        width=int(sheet.across.max(initial=0)) + 1,
    )
    words = {"row": "row of the tensor", "column": "column of the tensor", "cell": "cell of a row"}
    first = "" if sheet.element_bits >= 32 else "first "
    return MapBench(
        path,
        says,
        (made,),
        colours=words,
        labels={"element": f"{first}element", "row,col": "lane, column", "none": "none"},
        texts={"element": "{tensor_row},{tensor_column}", "row,col": "{row},{col}", "none": ""},
        letter="cell ",
        unit="row",
        owner="{holder}",
        answer="`[{tensor_row}][{tensor_column}]` is in `lane {row}`, `column {col}`",
    )


def parse_look(bench: MapBench, query: Mapping[str, str], colour: str) -> dict[str, str]:
    """Return the view of a picture, with the page's options. LayoutError for an illegal option."""
    usual = dict.fromkeys(stage.LOOK, "") | {"colour": colour, "label": next(iter(bench.labels))}
    return stage.require_look(bench, query, usual)


def build_stage(
    bench: MapBench,
    query: Mapping[str, str],
    state: Mapping[str, str],
    usual: Mapping[str, str],
    colour: str,
    drawn: Mapping[str, str],
) -> dict[str, Any]:
    """Return the template's variables of a bench.

    state: fields of the address that select the picture; usual: their defaults; colour: the bench's default; drawn:
    fields of the picture's address.
    """
    defaults = dict.fromkeys(stage.LOOK, "") | {"colour": colour, "label": next(iter(bench.labels))}
    look, view = stage.build_view(bench, query, defaults)
    data = build_page_data(bench, {**state, **look}, {**usual, **defaults}, defaults)
    data |= {
        "unpictured": [*(name for name in state if name not in stage.LOOK), *stage.UNPICTURED],
        "drawn": dict(drawn),
    }
    changed = {name: value for name, value in look.items() if name not in stage.UNPICTURED and value != defaults[name]}
    return view | {
        "own": changed,
        "data": encode_json(data).decode().replace("</", "<\\/"),
    }
