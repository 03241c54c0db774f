"""An operand as text for documents: the matrix as plain text or Markdown, every element as CSV."""

from __future__ import annotations

from lanescope.ptx.instruction import Operand
from lanescope.render.figure import FigurePanel


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
    rows, cols = _get_window(panel)
    body = _list_texts(panel, label, threads)
    width = max(3, max(len(text) for row in body for text in row), len(str(cols[-1])))
    head = " " * 5 + " ".join(str(c).rjust(width) for c in cols)
    return (
        "\n".join(
            [
                head.rstrip(),
                *(f"{r:4} " + " ".join(t.rjust(width) for t in row) for r, row in zip(rows, body, strict=True)),
            ]
        )
        + "\n"
    )


def render_markdown(panel: FigurePanel, label: str, threads: frozenset[int] | None = None) -> str:
    """Return the matrix as a Markdown table."""
    rows, cols = _get_window(panel)
    body = _list_texts(panel, label, threads)
    lines = ["| |" + "".join(f" {c} |" for c in cols), "|---:|" + "---|" * len(cols)]
    lines += [f"| **{r}** |" + "".join(f" {text} |" for text in row) for r, row in zip(rows, body, strict=True)]
    return "\n".join(lines) + "\n"


def render_csv(operand: Operand, panel: FigurePanel | None = None, threads: frozenset[int] | None = None) -> str:
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
