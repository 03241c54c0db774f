"""Sparsity metadata: stored A under given words. No framework."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from layouts import reading
from layouts.errors import LayoutError
from layouts.instruction import Instruction, Operand
from layouts.view import Grid


def metadata_facts(instruction: Instruction, words_text: str, selector: int) -> dict[str, Any]:
    """The dense column of every stored value under the given words; LayoutError names a word or nibble that is not
    legal.
    """
    op = instruction.operand("a")
    if op.sparsity is None:
        raise LayoutError(
            "not_sparse", f"A of {instruction.ptx} is dense.", "Choose an mma.sp or wgmma.sp instruction.", "ptx"
        )
    words = read_words(words_text, op.threads)
    thread, bit = op.sparsity.suppliers(selector)
    dense = op.sparsity.dense_columns(op.coords["col"], words, selector)
    return {
        "ptx": instruction.ptx,
        "selector": selector,
        "selectors": op.sparsity.selectors,
        "words": [f"0x{word:08X}" for word in words],
        "used": sorted({int(t) for t in thread.ravel()}),
        "row": op.rows,
        "stored_col": op.coords["col"],
        "col": dense,
        "meta_thread": thread,
        "meta_bit": bit,
    }


def read_words(text: str, threads: int) -> list[int]:
    """Hex words: one for every thread, or one for all of them; spaces, commas and `_` between digits accepted."""
    tokens = re.split(r"[\s,]+", text.strip()) if text.strip() else ["0x44444444"]
    words = []
    for number, token in enumerate(tokens):
        read = reading.digits(token if token[:2].lower() == "0x" else f"0x{token}")
        if read is None or read[0] >> 32:
            raise LayoutError(
                "bad_metadata",
                f"Word {number}, '{reading.shown(token)}', is no 32-bit hex word.",
                "Write eight hex digits, e.g. 0x44444444.",
                "words",
            )
        words.append(read[0])
    if len(words) not in (1, threads):
        raise LayoutError(
            "bad_metadata", f"{len(words)} words were given.", f"Write {threads}, one a lane, or one for all.", "words"
        )
    return words * threads if len(words) == 1 else words


def dense_cells(op: Operand, facts: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Dense A by row: every cell with its group's metadata place, kept ones with who stores them."""
    assert op.sparsity is not None
    rows: list[list[dict[str, Any]]] = [[{} for _ in range(op.dense_col_count)] for _ in range(op.row_count)]
    group = op.sparsity.group
    flat = zip(
        *(np.asarray(facts[key]).ravel().tolist() for key in ("row", "col", "stored_col", "meta_thread", "meta_bit")),
        strict=True,
    )
    for number, (row, col, stored, lane, bit) in enumerate(flat):
        thread, value = divmod(number, op.values)
        start = stored // op.sparsity.kept * group
        nibble = bit & ~3
        for at in range(start, start + group):
            rows[row][at].setdefault("lane", lane)
            rows[row][at].setdefault("bit", nibble)
        rows[row][col] |= {"kept": f"T{thread} a{value}", "stored": stored, "lane": lane, "bit": nibble}
    for row, cells in enumerate(rows):
        for start in range(0, op.dense_col_count, group):
            kept = " and ".join(str(start + n) for n, cell in enumerate(cells[start : start + group]) if "kept" in cell)
            where = f"lane {cells[start]['lane']}, bits {cells[start]['bit']} to {cells[start]['bit'] + 3}"
            cells[start]["spoken"] = f"row {row}, columns {start} to {start + group - 1}: kept {kept}; {where}"
    return rows


def stored_cells(op: Operand, facts: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Stored A by row: who holds each element and the dense column it stands for."""
    grid = Grid(op)
    thread, value = grid.thread[:, :, 0], grid.value[:, :, 0]
    columns = np.asarray(facts["col"])[thread, value]
    return [
        [{"owner": f"T{t} a{v}", "col": c} for t, v, c in zip(ts, vs, cs, strict=True)]
        for ts, vs, cs in zip(thread.tolist(), value.tolist(), columns.tolist(), strict=True)
    ]
