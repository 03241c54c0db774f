"""Texts of the cells of a tcgen05 tile's pictures, for pointing, pins and the find field."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lanescope.app.kit.maps.bench import Longs
from lanescope.app.kit.sheets import PinSheet, SheetGrid, SheetLayer, SheetPage, SheetWords, make_element_finder
from lanescope.app.tiles import umma_figure
from lanescope.app.tmem import draw as memory
from lanescope.blackwell import tmem
from lanescope.tiles.umma import TiledUmma

EXAMPLE = "D[70][3], A[5][9]"
PRODUCT, TENSOR = ".umma-product", ".tmem-map"
WORDS = SheetWords(
    nothing="Where is an element?",
    invitation=f"Click a cell, or type one: {EXAMPLE}. Shift and a click pin a second one.",
    together="The same MMA has both.",
    apart="Different MMAs have them.",
)


def list_figure_sheets(tiled_umma: TiledUmma) -> list[PinSheet]:
    """Return the sheets of the picture for documents, with tensor memory below the product."""
    below = umma_figure.draw_product(tiled_umma)[2] + umma_figure.BETWEEN
    return [
        replace(sheet, grids=tuple(replace(grid, y=grid.y + below * (grid.selector == TENSOR)) for grid in sheet.grids))
        for sheet in make_sheet_page(tiled_umma).sheets
    ]


def make_sheet_page(tiled_umma: TiledUmma) -> SheetPage:
    """Return sheets of A, B and D, and of tensor memory if it is drawn."""
    sheets = tuple(_make_matrix_sheet(tiled_umma, name) for name in ("a", "b", "c"))
    find = make_element_finder(sheets, EXAMPLE, c="d")
    if tiled_umma.columns <= tmem.COLUMNS:
        sheets += (_make_tensor_sheet(tiled_umma),)
    return SheetPage(sheets, WORDS, EXAMPLE, find)


def _make_matrix_sheet(tiled_umma: TiledUmma, name: str) -> PinSheet:
    """Return the elements of A, B or D: the CTA that holds them, and the MMA that reads or accumulates them."""
    m, n, k = tiled_umma.tile
    rows, cols = {"a": (m, k), "b": (k, n), "c": (m, n)}[name]
    numbers = _number_mmas(tiled_umma, name, rows, cols) | {"cta": _number_ctas(tiled_umma, name, rows, cols)}
    element = f"`{name.upper() if name != 'c' else 'D'}[{{row}}][{{col}}]`"
    cta = " of CTA {cta}" if tiled_umma.ctas > 1 else ""
    steps = {"a": "m {i}, k {l}, for every n", "b": "n {j}, k {l}, for every m", "c": "m {i}, n {j}, in every k"}[name]
    verb = "adds to it" if name == "c" else "reads it"
    if name == "c":
        numbers |= _locate_d(tiled_umma, rows, cols)
        line = f"{element} is in tensor memory{cta}: `lane {{lane}}`, `column {{column}}`"
    else:
        where = "tensor memory" if name == "a" and tiled_umma.umma.tensor_a else "shared memory"
        line = f"{element} is in the {where}{cta}"
    x, y, wide, high = umma_figure.place_matrices(tiled_umma)[name]
    grid = SheetGrid(PRODUCT, x, y, wide / cols, high / rows)
    layers = (SheetLayer(line, numbers), SheetLayer(f"The MMA of {steps} {verb}", numbers))
    sheet = "d" if name == "c" else name
    return PinSheet(sheet, sheet.upper(), rows, cols, layers, (grid,), group=f"mma_{name}")


def _number_mmas(tiled_umma: TiledUmma, name: str, rows: int, cols: int) -> dict[str, Longs]:
    """Return, per dimension, the MMA repeat that reads an element, and one number for each pair of repeats."""
    sizes = dict(zip("ijl", tiled_umma.umma.shape, strict=True))
    down, across = {"a": ("i", "l"), "b": ("l", "j"), "c": ("i", "j")}[name]
    row, col = np.indices((rows, cols), dtype=np.int64)
    first, second = row // sizes[down], col // sizes[across]
    return {down: first, across: second, f"mma_{name}": first * (int(second.max()) + 1) + second}


def _number_ctas(tiled_umma: TiledUmma, name: str, rows: int, cols: int) -> Longs:
    out = np.full((rows, cols), -1, dtype=np.int64)
    for cta, (r0, r1, c0, c1) in umma_figure.find_cta_shares(tiled_umma, name):
        out[r0:r1, c0:c1] = cta
    return out


def _locate_d(tiled_umma: TiledUmma, rows: int, cols: int) -> dict[str, Longs]:
    """Return lane and column of every element of D, in the CTA that holds it."""
    own_m, own_n, _ = tiled_umma.umma.shape
    rows_per_cta = own_m // tiled_umma.ctas  # rows of one MMA in one CTA
    lane, column = (np.full((rows, cols), -1, dtype=np.int64) for _ in range(2))
    for at, placed in enumerate(tiled_umma.places["d"]):
        j, i = divmod(at, tiled_umma.repeats[0])
        row, col = list(placed.layout.coords.values())[:2]
        wide = row.shape[1] * placed.layout.bits // 32
        there = np.argwhere(placed.mask[:, placed.column : placed.column + wide])
        lanes, units = there[:, 0], there[:, 1]
        for cta in range(tiled_umma.ctas):
            rows_of, cols_of = i * own_m + cta * rows_per_cta + row[lanes, units], j * own_n + col[lanes, units]
            lane[rows_of, cols_of], column[rows_of, cols_of] = lanes, placed.column + units
    return {"lane": lane, "column": column}


def _make_tensor_sheet(tiled_umma: TiledUmma) -> PinSheet:
    """Return the lanes and columns of CTA 0, with the operand that each cell holds."""
    m, n, _ = tiled_umma.tile
    numbers = _locate_d(tiled_umma, m, n)
    mine = _number_ctas(tiled_umma, "c", m, n) == 0
    row, col = np.indices((m, n), dtype=np.int64)
    arrays = {name: np.full((tmem.LANES, tmem.COLUMNS), -1, dtype=np.int64) for name in ("r", "c", "mma_c")}
    at = numbers["lane"][mine], numbers["column"][mine]
    mmas = _number_mmas(tiled_umma, "c", m, n)["mma_c"]
    for name, values in (("r", row), ("c", col), ("mma_c", mmas)):
        arrays[name][at] = values[mine]
    wide = int(numbers["column"].max()) + 1
    where = " of CTA 0" if tiled_umma.ctas > 1 else ""
    layers = [
        SheetLayer(
            f"`D[{{r}}][{{c}}]` is in `lane {{row}}`, `column {{col}}`{where}",
            {name: array[:, :wide] for name, array in arrays.items()},
        )
    ]
    for name, every in tiled_umma.places.items():
        for region in umma_figure.join_places(name, every) if name != "d" else []:
            mask = region.mask.astype(np.int64) - 1
            layers.append(SheetLayer(f"`lane {{row}}`, `column {{col}}` holds {region.name}", {"there": mask}))
    (grid,) = memory.list_grids(1)
    empty = "Nothing is placed in `lane {row}`, `column {col}`"
    grids = (SheetGrid(TENSOR, *grid),)
    return PinSheet("tmem", "Tensor memory", tmem.LANES, tmem.COLUMNS, tuple(layers), grids, empty, "mma_c")
