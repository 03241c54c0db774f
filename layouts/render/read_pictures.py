"""Pictures of what a descriptor reads: the operand by chunks of 16 bytes, and shared memory with the state of every
chunk. Status is drawn by mark and hatch, never by a category's fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from lanescope.descriptor.matrix import Addresses, View
from lanescope.render import palette
from lanescope.render.view import LEFT, TOP, FigurePanel, PanelFigure

# The state of a chunk of memory: code → (CSS class, what the legend says). The codes are those of `find_chunk_states`.
UNUSED, READ, STORED, OTHER, RIGHT, PLAIN = range(6)
STATES = {
    RIGHT: ("right", "read where it is stored"),
    READ: ("read", palette.STATUSES[palette.READ].words),
    STORED: ("stored", palette.STATUSES[palette.STORED].words),
    OTHER: ("other", palette.STATUSES[palette.BOTH].words),
    PLAIN: ("plain", "read by this word"),
    UNUSED: ("unused", "not part of this step"),
}
MOST_LINES = 300
_CELL, _TALL, _LEFT = 62, 24, 52
_FONT = "'DejaVu Sans Mono', Menlo, Consolas, ui-monospace, monospace"
Chunks = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OperandChunks:
    """An operand by chunks of the contiguous dimension.

    Arrays [line][chunk]: the first element's (row, k), the byte address each chunk is read from, the one it is stored
    at. right: whether every element is read from where it is stored.
    """

    seen: View
    operand: str
    read: Chunks
    stored: Chunks | None
    right: NDArray[np.bool_]

    @property
    def lines(self) -> int:
        return int(self.read.shape[0])

    @property
    def across(self) -> int:
        return int(self.read.shape[1])

    def format_cell(self, line: int, chunk: int) -> str:
        """Return the label of a cell: A[row, k…]."""
        at = chunk * self.seen.per
        row, k = (str(line), f"{at}…") if self.seen.major == "K" else (f"{at}…", str(line))
        return f"{self.operand}[{row},{k}]"


def make_chunks(read: Addresses, expected: Addresses | None, seen: View, operand: str) -> OperandChunks:
    """Return the chunks of an operand from its element maps [row][k]."""

    def turn(made: Addresses) -> Addresses:
        return made if seen.major == "K" else made.T

    got = turn(read)
    lines, across = got.shape[0], got.shape[1] // seen.per
    want = None if expected is None else turn(expected)
    same = np.ones(got.shape, np.bool_) if want is None else np.asarray(got == want)
    right = np.asarray(same.reshape(lines, across, seen.per).all(axis=2))
    return OperandChunks(seen, operand, got[:, :: seen.per], None if want is None else want[:, :: seen.per], right)


def find_chunk_states(made: OperandChunks) -> tuple[int, Chunks]:
    """Return (first chunk, state codes [line][8]), starting at the first 128-byte row that is read or stored."""
    read = np.unique(made.read >> 4)
    stored = read if made.stored is None else np.unique(made.stored >> 4)
    low = min(int(read[0]), int(stored[0])) // 8 * 8
    high = max(int(read[-1]), int(stored[-1])) // 8 * 8 + 8
    lines = min((high - low) // 8, MOST_LINES)
    out = np.zeros(lines * 8, np.int64)

    def put(chunks: Chunks, value: int) -> None:
        inside = chunks[chunks - low < len(out)] - low
        out[inside] += value

    if made.stored is None:
        put(read, PLAIN)
    else:
        put(read, READ)
        put(stored, STORED)
        right = np.unique(made.read[made.right] >> 4)
        inside = right[right - low < len(out)] - low
        out[inside] = np.where(out[inside] == OTHER, RIGHT, out[inside])
    return low, out.reshape(lines, 8)


def render_operand(made: OperandChunks, title: str) -> str:
    """Return the operand's SVG: ✗ or ✓ in every cell, and the chunk it is read from."""
    wide = max(int(520 / made.across), 74)
    width, height = _LEFT + wide * made.across + 1, 22 + _TALL * made.lines + 1
    judged = made.stored is not None
    out = [_render_open_tag("picture-operand", width, height, title)]
    axis = "row" if made.seen.major == "K" else "k"
    along = "k" if made.seen.major == "K" else ("m" if made.operand == "A" else "n")
    for chunk in range(made.across):
        out.append(_render_tick(_LEFT + (chunk + 0.5) * wide, 14, f"{along} {chunk * made.seen.per}…", "middle"))
    for line in range(made.lines):
        y = 22 + line * _TALL
        out.append(_render_tick(_LEFT - 6, y + 16, f"{axis} {line}" if line == 0 else str(line), "end"))
        for chunk in range(made.across):
            state = "plain" if not judged else "right" if made.right[line, chunk] else "wrong"
            mark = {"plain": "", "right": "✓ ", "wrong": "✗ "}[state]
            name = f"{made.format_cell(line, chunk)} " if wide > 150 else ""
            text = f"{mark}{name}← {int(made.read[line, chunk]):x}"
            out.append(_render_cell(state, _LEFT + chunk * wide, y, wide, text))
    return "".join([*out, "</svg>"])


def render_memory(made: OperandChunks, title: str) -> str:
    """Return the SVG of shared memory, 128 bytes per row, with the state of every chunk.

    Correct and plain chunks name their element.
    """
    low, state = find_chunk_states(made)
    lines = len(state)
    width, height = _LEFT + 8 * _CELL + 1, 22 + lines * _TALL + 1
    names = _map_memory_chunks(made)
    out = [_render_open_tag("picture-memory", width, height, title)]
    out += [_render_tick(_LEFT + (n + 0.5) * _CELL, 14, f"+{n * 16:02x}", "middle") for n in range(8)]
    for line in range(lines):
        y = 22 + line * _TALL
        out.append(_render_tick(_LEFT - 6, y + 16, f"{(low + line * 8) * 16:x}", "end"))
        for col in range(8):
            code = int(state[line, col])
            text = names.get(low + line * 8 + col, "") if code in (RIGHT, PLAIN) else "·" if code == UNUSED else ""
            out.append(
                _render_cell(STATES[code][0], _LEFT + col * _CELL, y, _CELL, f"✓ {text}" if code == RIGHT else text)
            )
    return "".join([*out, "</svg>"])


# What a standalone picture draws for the state of a chunk of memory; -1: a plain cell.
_STATUS = {
    RIGHT: palette.RIGHT,
    READ: palette.READ,
    STORED: palette.STORED,
    OTHER: palette.BOTH,
    PLAIN: -1,
    UNUSED: palette.IDLE,
}
_CHAR = 6.7  # width of a character of a standalone picture
_HIGH = 18.0  # a cell of a standalone picture; the rest of its size follows from its texts


def make_figure(made: OperandChunks, first: int = 0, last: int | None = None) -> PanelFigure:
    """Return both pictures as the panels of a document's figure.

    They show the operand's lines `first` to `last`, and the memory they are read from and stored at.
    """
    lines = slice(first, made.lines if last is None else min(last + 1, made.lines))
    operand = _draw_operand(made, lines)
    memory = _draw_memory(made, lines, operand.x + max(operand.width, _CHAR * len(operand.title)))
    tall = TOP + max(operand.height, memory.height) + 8
    wide = memory.x + max(memory.width, _CHAR * len(memory.title)) + 8
    return PanelFigure(wide, tall, (operand, memory))


def _name_axes(made: OperandChunks) -> tuple[str, str]:
    """Return the names (m, n or k) of the axes down and across a picture of the operand."""
    row = "m" if made.operand == "A" else "n"
    return (row, "k") if made.seen.major == "K" else ("k", row)


def _draw_operand(made: OperandChunks, lines: slice) -> FigurePanel:
    """Return the operand's panel: the address each chunk is read from, and whether it is the correct one."""
    read, right = made.read[lines], made.right[lines]
    judged = made.stored is not None
    marks = np.where(right, "✓ ", "✗ ") if judged else np.full(read.shape, "")
    texts = [
        [f"{mark}← {address:x}" for mark, address in zip(*row, strict=True)]
        for row in zip(marks.tolist(), read.tolist(), strict=True)
    ]
    status = np.where(right, palette.RIGHT, palette.WRONG) if judged else np.full(read.shape, -1)
    down, along = _name_axes(made)
    names = [f"{down} {n}" for n in range(lines.start, lines.stop)]
    return FigurePanel(
        "operand",
        f"{made.operand}, {down} × {along}",
        rows=read.shape[0],
        cols=read.shape[1],
        x=LEFT + 7.0 * max(map(len, names)),
        y=TOP,
        cell_width=max(len(text) for row in texts for text in row) * _CHAR + 8,
        cell_height=_HIGH,
        grid=None,
        texts=texts,
        status=status.astype(np.int32),
        row_names=tuple(names),
        col_names=tuple(f"{along} {c * made.seen.per}…" for c in range(read.shape[1])),
    )


def _draw_memory(made: OperandChunks, lines: slice, after: float) -> FigurePanel:
    """Return the panel of the memory rows that the operand's lines touch.

    after: the right edge of the panel to its left.
    """
    low, state = find_chunk_states(made)
    read = made.read[lines]
    touched = np.concatenate([read.ravel(), (read if made.stored is None else made.stored[lines]).ravel()])
    down = slice((int(touched.min()) // 16 - low) // 8, (int(touched.max()) // 16 - low) // 8 + 1)
    cut = down.stop > len(state)
    low, state = low + down.start * 8, state[down]
    names = _map_memory_chunks(made)
    marks = {RIGHT: "✓ ", PLAIN: ""}
    held = [
        [marks[code] + names.get(low + n * 8 + c, "") if code in marks else "" for c, code in enumerate(row)]
        for n, row in enumerate(state.tolist())
    ]
    addresses = tuple(f"{(low + n * 8) * 16:x}" for n in range(len(state)))
    longest = max((len(text) for row in held for text in row), default=0)
    return FigurePanel(
        "memory",
        "Shared memory" + ", the first rows" * cut,
        rows=len(state),
        cols=8,
        x=after + LEFT + 7.0 * len(addresses[-1]),
        y=TOP,
        cell_width=max(52.0, longest * _CHAR + 8),
        cell_height=_HIGH,
        grid=None,
        texts=held,
        status=np.vectorize(_STATUS.__getitem__)(state).astype(np.int32),
        row_names=addresses,
        col_names=tuple(f"+{c * 16:02x}" for c in range(8)),
    )


def _map_memory_chunks(made: OperandChunks) -> dict[int, str]:
    """Return memory chunk → first element, for chunks that hold part of the operand."""
    held = made.read if made.stored is None else made.stored
    names: dict[int, str] = {}
    for line in range(made.lines):
        for chunk in range(made.across):
            at = chunk * made.seen.per
            row, k = (line, at) if made.seen.major == "K" else (at, line)
            names[int(held[line, chunk]) >> 4] = f"{row},{k}"
    return names


def render_hatches() -> str:
    """Return the two hatch patterns of memory states and their combination, in the page's status colours."""
    one = '<path d="M0 6L6 0M-1 1L1 -1M5 7L7 5" stroke="var(--bad)" stroke-width="1.5"/>'
    two = '<path d="M0 0L6 6M-1 5L1 7M5 -1L7 1" stroke="var(--accent)" stroke-width="1.2"/>'
    patterns = "".join(
        f'<pattern id="status-{name}" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6"'
        f' fill="var(--raised)"/>{lines}</pattern>'
        for name, lines in (("read", one), ("stored", two), ("other", one + two))
    )
    return f'<svg class="hidden" width="0" height="0" aria-hidden="true"><defs>{patterns}</defs></svg>'


def list_legend(made: OperandChunks) -> list[tuple[str, str]]:
    """Return (class, text) of the states that occur in the picture of memory."""
    present = set(find_chunk_states(made)[1].ravel().tolist())
    return [said for code, said in STATES.items() if code in present]


def _render_open_tag(name: str, width: int, height: int, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="reads" id="{name}" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img" font-family="{_FONT}" data-left="{_LEFT}" data-top="22"'
        f' data-tall="{_TALL}"><title>{escape(title)}</title>'
    )


def _render_tick(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="tick" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _render_cell(state: str, x: float, y: float, wide: float, text: str) -> str:
    said = f'<text x="{x + wide / 2:g}" y="{y + 16:g}">{escape(text)}</text>' if text else ""
    return f'<g class="c" data-state="{state}"><rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{_TALL}"/>{said}</g>'
