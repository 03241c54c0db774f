"""Tables for documents, as plain text, Markdown or CSV: rows under heads, numbered grids, and operands as such."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from lanescope.ptx.instruction import Operand
from lanescope.render.figure import FigurePanel


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, without a line end.

    >>> format_table(("bits", "field"), [("13:0", "start | 16")])
    '| bits | field |\\n|---|---|\\n| 13:0 | start \\\\| 16 |'
    """
    first, *others = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in (head, *rows))
    return "\n".join([first, "|" + "---|" * len(head), *others])


def format_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text in columns, without blanks at the ends of lines."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(size) for cell, size in zip(row, wide, strict=True)).rstrip() for row in rows)
    return "\n".join(lines) + "\n"


def format_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV; a cell with a comma is quoted."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def format_titled(form: str, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under heads as txt, md or csv, the first two with a title."""
    if form == "csv":
        return format_csv([head, *rows])
    if form == "md":
        return f"### {title}\n\n{format_table(head, rows)}\n"
    return f"{title}\n{format_columns([head, *rows])}"


def format_plain_grid(
    rows: Iterable[int], heads: Iterable[object], body: Sequence[Sequence[str]], corner: str = ""
) -> str:
    """Return numbered rows of cells under heads, columns aligned."""
    names = [str(head) for head in heads]
    width = max(3, *map(len, names), *(len(text) for row in body for text in row))
    first = max(4, len(corner))
    lines = [f"{corner:>{first}} " + " ".join(name.rjust(width) for name in names)]
    lines += [f"{n:{first}} " + " ".join(text.rjust(width) for text in row) for n, row in zip(rows, body, strict=True)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def format_markdown_grid(
    rows: Iterable[int], heads: Iterable[object], body: Sequence[Sequence[str]], corner: str = ""
) -> str:
    """Return numbered rows of cells under heads, as a Markdown table."""
    names = [str(head) for head in heads]
    lines = [
        f"|{f' {corner} ' if corner else ' '}|" + "".join(f" {name} |" for name in names),
        "|---:|" + "---|" * len(names),
    ]
    lines += [f"| **{n}** |" + "".join(f" {text} |" for text in row) for n, row in zip(rows, body, strict=True)]
    return "\n".join(lines) + "\n"


def _get_window(panel: FigurePanel) -> tuple[range, range]:
    return range(panel.row0, panel.row0 + panel.rows), range(panel.col0, panel.col0 + panel.cols)


def _list_texts(panel: FigurePanel, label: str, threads: frozenset[int] | None) -> list[list[str]]:
    assert panel.grid
    rows, cols = _get_window(panel)
    texts = panel.grid.format_labels(label)
    owners = panel.grid.thread
    return [
        [texts[r][c] if threads is None or threads & set(owners[r, c].tolist()) else "" for c in cols] for r in rows
    ]


def render_plain(panel: FigurePanel, label: str, threads: frozenset[int] | None = None) -> str:
    """Return the matrix with row and column numbers, columns aligned."""
    return format_plain_grid(*_get_window(panel), _list_texts(panel, label, threads))


def render_markdown(panel: FigurePanel, label: str, threads: frozenset[int] | None = None) -> str:
    """Return the matrix as a Markdown table."""
    return format_markdown_grid(*_get_window(panel), _list_texts(panel, label, threads))


def render_csv(operand: Operand, panel: FigurePanel | None, threads: frozenset[int] | None = None) -> str:
    """Return CSV with a row per value of each thread: thread, value, register, bit, element.

    A panel's window narrows it.
    """
    lines = [",".join(("thread", "value", "register", "bit", *operand.axes))]
    coords = [array.tolist() for array in operand.coords.values()]
    down, across = (operand.axes.index(axis) for axis in operand.plane)
    rows, cols = _get_window(panel) if panel else (range(operand.row_count), range(operand.col_count))
    for thread in range(operand.threads):
        if threads is not None and thread not in threads:
            continue
        for value in range(operand.values):
            place = [array[thread][value] for array in coords]
            if place[down] in rows and place[across] in cols:
                lines.append(",".join(map(str, (thread, value, *operand.register_of(value), *place))))
    return "\n".join(lines) + "\n"
