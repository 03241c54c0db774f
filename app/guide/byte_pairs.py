"""Bytes of an operand in pairs, as a program stores them and as ldmatrix reads them: tables of the guide's page on
8-bit operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.ptx.catalog import find
from lanescope.render.tables import format_table
from lanescope.shared.operand_storage import make_operand_storage

MMA = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"
LOAD = "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16"
PAIRS = {"kind": "cute", "layout": "(8,(2,8)):(2,(1,16))", "unit": "bytes"}  # (n, k), k and k + 1 in one unit
DEPTH, COLUMNS, ROW = 16, 8, 16  # of B, and bytes of a row that ldmatrix reads
ROWS, SHOWN = 3, 6  # rows and bytes of the tables
LANE = 0


def list_bytes() -> list[int]:
    """List the numbers of B's elements in the order of memory; element (k, n) has the number k + 16n."""
    stored = make_operand_storage(PAIRS, find(MMA).operand("b"), "K")
    number_at = {int(stored.address(n, k)): k + DEPTH * n for n in range(COLUMNS) for k in range(DEPTH)}
    return [number_at[at] for at in range(DEPTH * COLUMNS)]


def render_memory() -> str:
    """Render the first bytes in memory order."""
    values = list_bytes()
    marked = [*values[:SHOWN], "…", *values[ROW : ROW + SHOWN], "…"]
    places = [*range(SHOWN), "…", *range(ROW, ROW + SHOWN), "…"]
    return format_table(("byte", *map(str, places)), [("value", *map(str, marked))])


def render_bytes() -> str:
    """Render the bytes of the program: rows of bytes."""
    head = ("row", *(f"byte {n}" for n in range(SHOWN)), "…")
    return format_table(head, [(str(row), *_take_row(row), "…") for row in range(ROWS)])


def render_units() -> str:
    """Render the same bytes for ldmatrix: rows of 16-bit units."""
    rows = []
    for row in range(ROWS):
        values = _take_row(row)
        rows.append((str(row), *(f"{low}, {high}" for low, high in zip(values[::2], values[1::2], strict=True)), "…"))
    return format_table(("row", *(f"unit {n}" for n in range(SHOWN // 2)), "…"), rows)


def describe_lane() -> str:
    """Describe the four numbers that lane 0 receives with .trans."""
    load = find(LOAD).operand("data")
    values = list_bytes()
    units = [(int(load.rows[LANE, n]), int(load.cols[LANE, n])) for n in (0, 1)]
    places = [ROW * row + 2 * unit + half for row, unit in units for half in (0, 1)]
    return ", ".join(str(values[at]) for at in places)


def _take_row(row: int) -> Sequence[str]:
    return [str(value) for value in list_bytes()[ROW * row : ROW * row + SHOWN]]
