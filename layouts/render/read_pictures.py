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
from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure
from lanescope.render.labels import FONT

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


def make_chunks(read: Addresses, expected: Addresses | None, view: View, operand: str) -> OperandChunks:
    """Return the chunks of an operand from its element maps [row][k]."""

    def turn(addresses: Addresses) -> Addresses:
        return addresses if view.major == "K" else addresses.T

    read_addresses = turn(read)
    lines, across = read_addresses.shape[0], read_addresses.shape[1] // view.per
    want = None if expected is None else turn(expected)
    same = np.ones(read_addresses.shape, np.bool_) if want is None else np.asarray(read_addresses == want)
    right = np.asarray(same.reshape(lines, across, view.per).all(axis=2))
    return OperandChunks(
        view, operand, read_addresses[:, :: view.per], None if want is None else want[:, :: view.per], right
    )


def find_chunk_states(operand_chunks: OperandChunks) -> tuple[int, Chunks]:
    """Return (first chunk, state codes [line][8]), starting at the first 128-byte row that is read or stored."""
    read = np.unique(operand_chunks.read >> 4)
    stored = read if operand_chunks.stored is None else np.unique(operand_chunks.stored >> 4)
    low = min(int(read[0]), int(stored[0])) // 8 * 8
    high = max(int(read[-1]), int(stored[-1])) // 8 * 8 + 8
    lines = min((high - low) // 8, MOST_LINES)
    out = np.zeros(lines * 8, np.int64)

    def put(chunks: Chunks, value: int) -> None:
        inside = chunks[chunks - low < len(out)] - low
        out[inside] += value

    if operand_chunks.stored is None:
        put(read, PLAIN)
    else:
        put(read, READ)
        put(stored, STORED)
        right = np.unique(operand_chunks.read[operand_chunks.right] >> 4)
        inside = right[right - low < len(out)] - low
        out[inside] = np.where(out[inside] == OTHER, RIGHT, out[inside])
    return low, out.reshape(lines, 8)


def render_operand(chunks: OperandChunks, title: str) -> str:
    """Return the operand's SVG: ✗ or ✓ in every cell, and the chunk it is read from."""
    wide = max(int(520 / chunks.across), 74)
    width, height = _LEFT + wide * chunks.across + 1, 22 + _TALL * chunks.lines + 1
    judged = chunks.stored is not None
    out = [_render_open_tag("picture-operand", width, height, title)]
    axis = "row" if chunks.seen.major == "K" else "k"
    along = "k" if chunks.seen.major == "K" else ("m" if chunks.operand == "A" else "n")
    for chunk in range(chunks.across):
        out.append(_render_tick(_LEFT + (chunk + 0.5) * wide, 14, f"{along} {chunk * chunks.seen.per}…", "middle"))
    for line in range(chunks.lines):
        y = 22 + line * _TALL
        out.append(_render_tick(_LEFT - 6, y + 16, f"{axis} {line}" if line == 0 else str(line), "end"))
        for chunk in range(chunks.across):
            state = "plain" if not judged else "right" if chunks.right[line, chunk] else "wrong"
            mark = {"plain": "", "right": "✓ ", "wrong": "✗ "}[state]
            name = f"{chunks.format_cell(line, chunk)} " if wide > 150 else ""
            text = f"{mark}{name}← {int(chunks.read[line, chunk]):x}"
            out.append(_render_cell(state, _LEFT + chunk * wide, y, wide, text))
    return "".join([*out, "</svg>"])


def render_memory(chunks: OperandChunks, title: str) -> str:
    """Return the SVG of shared memory, 128 bytes per row, with the state of every chunk.

    Correct and plain chunks name their element.
    """
    low, state = find_chunk_states(chunks)
    lines = len(state)
    width, height = _LEFT + 8 * _CELL + 1, 22 + lines * _TALL + 1
    names = _map_memory_chunks(chunks)
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


def make_figure(chunks: OperandChunks, first: int = 0, last: int | None = None) -> PanelFigure:
    """Return both pictures as the panels of a document's figure.

    They show the operand's lines `first` to `last`, and the memory they are read from and stored at.
    """
    lines = slice(first, chunks.lines if last is None else min(last + 1, chunks.lines))
    operand = _draw_operand(chunks, lines)
    memory = _draw_memory(chunks, lines, operand.x + max(operand.width, _CHAR * len(operand.title)))
    tall = TOP + max(operand.height, memory.height) + 8
    wide = memory.x + max(memory.width, _CHAR * len(memory.title)) + 8
    return PanelFigure(wide, tall, (operand, memory))


def _name_axes(chunks: OperandChunks) -> tuple[str, str]:
    """Return the names (m, n or k) of the axes down and across a picture of the operand."""
    row = "m" if chunks.operand == "A" else "n"
    return (row, "k") if chunks.seen.major == "K" else ("k", row)


def _draw_operand(chunks: OperandChunks, lines: slice) -> FigurePanel:
    """Return the operand's panel: the address each chunk is read from, and whether it is the correct one."""
    read, right = chunks.read[lines], chunks.right[lines]
    judged = chunks.stored is not None
    marks = np.where(right, "✓ ", "✗ ") if judged else np.full(read.shape, "")
    texts = [
        [f"{mark}← {address:x}" for mark, address in zip(*row, strict=True)]
        for row in zip(marks.tolist(), read.tolist(), strict=True)
    ]
    status = np.where(right, palette.RIGHT, palette.WRONG) if judged else np.full(read.shape, -1)
    down, along = _name_axes(chunks)
    names = [f"{down} {n}" for n in range(lines.start, lines.stop)]
    return FigurePanel(
        "operand",
        f"{chunks.operand}, {down} × {along}",
        rows=read.shape[0],
        cols=read.shape[1],
        x=LEFT + 7.0 * max(map(len, names)),
        cell_width=max(len(text) for row in texts for text in row) * _CHAR + 8,
        cell_height=_HIGH,
        texts=texts,
        status=status.astype(np.int32),
        row_names=tuple(names),
        col_names=tuple(f"{along} {c * chunks.seen.per}…" for c in range(read.shape[1])),
    )


def _draw_memory(chunks: OperandChunks, lines: slice, after: float) -> FigurePanel:
    """Return the panel of the memory rows that the operand's lines touch.

    after: the right edge of the panel to its left.
    """
    low, state = find_chunk_states(chunks)
    read = chunks.read[lines]
    touched = np.concatenate([read.ravel(), (read if chunks.stored is None else chunks.stored[lines]).ravel()])
    down = slice((int(touched.min()) // 16 - low) // 8, (int(touched.max()) // 16 - low) // 8 + 1)
    cut = down.stop > len(state)
    low, state = low + down.start * 8, state[down]
    names = _map_memory_chunks(chunks)
    marks = {RIGHT: "✓ ", PLAIN: ""}
    stored = [
        [marks[code] + names.get(low + n * 8 + c, "") if code in marks else "" for c, code in enumerate(row)]
        for n, row in enumerate(state.tolist())
    ]
    addresses = tuple(f"{(low + n * 8) * 16:x}" for n in range(len(state)))
    longest = max((len(text) for row in stored for text in row), default=0)
    return FigurePanel(
        "memory",
        "Shared memory" + ", the first rows" * cut,
        rows=len(state),
        cols=8,
        x=after + LEFT + 7.0 * len(addresses[-1]),
        cell_width=max(52.0, longest * _CHAR + 8),
        cell_height=_HIGH,
        texts=stored,
        status=np.vectorize(_STATUS.__getitem__)(state).astype(np.int32),
        row_names=addresses,
        col_names=tuple(f"+{c * 16:02x}" for c in range(8)),
    )


def _map_memory_chunks(chunks: OperandChunks) -> dict[int, str]:
    """Return memory chunk → first element, for chunks that hold part of the operand."""
    addresses = chunks.read if chunks.stored is None else chunks.stored
    names: dict[int, str] = {}
    for line in range(chunks.lines):
        for chunk in range(chunks.across):
            at = chunk * chunks.seen.per
            row, k = (line, at) if chunks.seen.major == "K" else (at, line)
            names[int(addresses[line, chunk]) >> 4] = f"{row},{k}"
    return names


def render_hatches() -> str:
    """Return the two hatch patterns of memory states and their combination, in the page's status colours."""
    falling = '<path d="M0 6L6 0M-1 1L1 -1M5 7L7 5" stroke="var(--bad)" stroke-width="1.5"/>'
    rising = '<path d="M0 0L6 6M-1 5L1 7M5 -1L7 1" stroke="var(--accent)" stroke-width="1.2"/>'
    patterns = "".join(
        f'<pattern id="status-{name}" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6"'
        f' fill="var(--raised)"/>{lines}</pattern>'
        for name, lines in (("read", falling), ("stored", rising), ("other", falling + rising))
    )
    return f'<svg class="hidden" width="0" height="0" aria-hidden="true"><defs>{patterns}</defs></svg>'


@dataclass(frozen=True, slots=True)
class MemoryPicture:
    """Shared memory of an operand: its picture and legend. low: the first byte drawn; cut: not all lines are."""

    svg: str
    low: int
    legend: list[tuple[str, str]]
    cut: bool


def draw_memory(chunks: OperandChunks) -> MemoryPicture:
    """Draw the shared memory that an operand is read from, with the legend of its chunks."""
    low, state = find_chunk_states(chunks)
    svg = render_memory(chunks, "shared memory, 128 bytes per row")
    return MemoryPicture(svg, low * 16, list_legend(chunks), len(state) >= MOST_LINES)


def list_legend(chunks: OperandChunks) -> list[tuple[str, str]]:
    """Return (class, text) of the states that occur in the picture of memory."""
    present = set(find_chunk_states(chunks)[1].ravel().tolist())
    return [words for code, words in STATES.items() if code in present]


def _render_open_tag(name: str, width: int, height: int, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="reads" id="{name}" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img" font-family="{FONT}" data-left="{_LEFT}" data-top="22"'
        f' data-tall="{_TALL}"><title>{escape(title)}</title>'
    )


def _render_tick(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="tick" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _render_cell(state: str, x: float, y: float, wide: float, text: str) -> str:
    label = f'<text x="{x + wide / 2:g}" y="{y + 16:g}">{escape(text)}</text>' if text else ""
    return f'<g class="c" data-state="{state}"><rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{_TALL}"/>{label}</g>'
