"""The picture beside a pasted text: the operand of one step in 16-byte chunks, and the shared memory that it reads.

Everything that a pointer can reveal is part of the picture: cells have their addresses, and the guide of each
descriptor field is hidden until its token, bits or name is pointed at (static/read/bench.css).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape

import numpy as np

from lanescope.descriptor.matrix import Descriptor, View, find_unread_fields
from lanescope.render.read_pictures import OperandChunks

LEFT, TOP, GAP, WIDE = 44.0, 40.0, 118.0, 53.0
MOST_LINES = 320  # of 128 bytes that are drawn
Rect = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class PairPicture:
    """The picture, its legend (class, text), and the text of each field's guide."""

    svg: str
    legend: tuple[tuple[str, str], ...]
    guides: tuple[tuple[str, str], ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class _Places:
    """Positions of the operand's cells and of memory's chunks. rows: the 128-byte lines of memory that are drawn, in
    order.
    """

    chunks: OperandChunks
    rows: dict[int, int]

    @property
    def tall(self) -> float:
        most = max(self.chunks.lines, len(self.rows))
        return 8.2 if most <= 80 else 6.0 if most <= 140 else 4.4

    @property
    def wide(self) -> float:
        return min(max(200.0 / self.chunks.across, 10.0), 62.0)

    @property
    def memory_left(self) -> float:
        return LEFT + self.wide * self.chunks.across + GAP

    def locate_cell(self, line: int, chunk: int) -> Rect:
        return LEFT + chunk * self.wide, TOP + line * self.tall, self.wide, self.tall

    def locate_chunk(self, chunk: int) -> Rect | None:
        """Locate 16 bytes of memory, by their number; None if they are not drawn."""
        row = self.rows.get(chunk >> 3)
        return None if row is None else (self.memory_left + (chunk & 7) * WIDE, TOP + row * self.tall, WIDE, self.tall)


def draw_pair(chunks: OperandChunks, word: Descriptor, name: Callable[[int, int], str]) -> PairPicture:
    """Draw a step. name: (row, k) of a chunk's first element → the name of the chunk."""
    touched = np.unique(chunks.read >> 7)
    if chunks.stored is not None:
        touched = np.union1d(touched, chunks.stored >> 7)
    low, high = int(touched[0]), int(touched[-1])
    lines = range(low, high + 1) if high - low < MOST_LINES // 2 else [int(line) for line in touched]
    shown = list(lines)[:MOST_LINES]
    places = _Places(chunks, {line: n for n, line in enumerate(shown)})
    body = [*_draw_axes(places, shown), *_draw_memory(places, shown, name), *_draw_operand(places, name)]
    guides = _draw_guides(places, word)
    width = places.memory_left + 8 * WIDE + 4
    height = TOP + max(chunks.lines, len(shown)) * places.tall + 4
    svg = (
        f'<svg viewBox="0 0 {width:g} {height:g}" class="pair" role="img"><title>Operand {chunks.operand} of this step,'
        f" and the bytes of shared memory that it reads</title>{''.join(body)}"
        f'{"".join(svg for _, svg, _ in guides)}<g class="over"></g></svg>'
    )
    return PairPicture(
        svg,
        tuple(_list_legend(chunks)),
        tuple((field, words) for field, _, words in guides),
        len(shown) < len(list(lines)),
    )


def _draw_axes(places: _Places, shown: list[int]) -> Iterable[str]:
    chunks, tall = places.chunks, places.tall
    row = "m" if chunks.operand == "A" else "n"
    down, along = (row, "k") if chunks.seen.major == "K" else ("k", row)
    yield _write(LEFT, 12, f"Operand {chunks.operand}, {down} × {along}", "h")
    yield _write(LEFT, 26, f"1 cell = {chunks.seen.per} element{'s' if chunks.seen.per > 1 else ''}", "s")
    yield _write(places.memory_left, 12, f"Shared memory from {shown[0] << 7:#x}", "h")
    yield _write(places.memory_left, 26, "1 row = 128 B, 1 cell = 16 B", "s")
    for n in range(8):
        yield _write(places.memory_left + (n + 0.5) * WIDE, 37, f"+{n * 16:02x}", "m")
    step = max(1, -(-4 * chunks.across * 10 // 250)) if chunks.across > 4 else 1
    for n in range(0, chunks.across, step):
        yield _write(LEFT + (n + 0.5) * places.wide, 37, f"{along} {n * chunks.seen.per}" if n else f"{along} 0", "m")
    every = 4 if tall > 5 else 8
    for line in range(0, chunks.lines, every):
        yield _write(LEFT - 5, TOP + (line + 0.9) * tall, str(line), "e")
    for n, line in enumerate(shown):
        gap = n > 0 and shown[n - 1] + 1 != line
        if n % every == 0 or gap:
            yield _write(places.memory_left - 5, TOP + (n + 0.9) * tall, f"{line << 7:#x}", "e")
        if gap:
            yield f'<path class="gap" d="M{places.memory_left:g} {TOP + n * tall:.1f}h{8 * WIDE:g}"/>'


def _draw_operand(places: _Places, name: Callable[[int, int], str]) -> Iterable[str]:
    chunks = places.chunks
    ticks: dict[str, list[str]] = {"tick": [], "cross": []}
    for line in range(chunks.lines):
        for n in range(chunks.across):
            read, at = int(chunks.read[line, n]), n * chunks.seen.per
            row, k = (line, at) if chunks.seen.major == "K" else (at, line)
            stored = None if chunks.stored is None else int(chunks.stored[line, n])
            state = "plain" if stored is None else "right" if chunks.right[line, n] else "wrong"
            where = f' data-stored="{stored:#x}"' if stored is not None else ""
            x, y, w, h = places.locate_cell(line, n)
            yield (
                f'<rect class="c c-{state}" x="{x:g}" y="{y:.1f}" width="{w:g}" height="{h:g}" data-name="'
                f'{escape(name(row, k))}" data-read="{read:#x}"{where}/>'
            )
            _add_tick(ticks, state, x + w / 2, y + h / 2)
    yield from _draw_ticks(ticks)


def _name_wrong_state(is_read: bool, is_needed: bool) -> str:
    """Return the state of a chunk of memory that is not read exactly once for its row."""
    if not is_read:
        return "stored"
    return "other" if is_needed else "read"


def _draw_memory(places: _Places, shown: list[int], name: Callable[[int, int], str]) -> Iterable[str]:
    chunks = places.chunks
    times: dict[int, int] = {}
    for address in (chunks.read >> 4).ravel().tolist():
        times[address] = times.get(address, 0) + 1
    right = set((chunks.read[chunks.right] >> 4).ravel().tolist()) if chunks.stored is not None else set()
    needed = {} if chunks.stored is None else _name_chunks(chunks, name)
    ticks: dict[str, list[str]] = {"tick": [], "cross": []}
    left, tall = places.memory_left, places.tall
    high, wide = len(shown) * tall, 8 * WIDE
    yield f'<rect class="ground" x="{left:g}" y="{TOP:g}" width="{wide:g}" height="{high:.1f}"/>'
    yield f'<path class="rule" d="{"".join(f"M{left:g} {TOP + n * tall:.1f}h{wide:g}" for n in range(len(shown) + 1))}'
    yield f'{"".join(f"M{left + n * WIDE:g} {TOP:g}v{high:.1f}" for n in range(9))}"/>'
    for chunk in sorted({*times, *needed}):
        at = places.locate_chunk(chunk)
        if at is None:
            continue
        count = times.get(chunk, 0)
        if chunks.stored is None:
            state = "twice" if count > 1 else "plain"
        else:
            state = "right" if chunk in right and count == 1 else _name_wrong_state(bool(count), chunk in needed)
        x, y, w, h = at
        holds = f' data-holds="{escape(needed[chunk])}"' if chunk in needed else ""
        yield (
            f'<rect class="c c-{state}" x="{x:g}" y="{y:.1f}" width="{w:g}" height="{h:g}" data-at="{chunk << 4:#x}"'
            f"{holds}/>"
        )
        _add_tick(ticks, state, x + w / 2, y + h / 2)
    yield from _draw_ticks(ticks)
    eight = [n for n in range(1, len(shown)) if not shown[n] % 8]
    yield f'<path class="eight" d="{"".join(f"M{left:g} {TOP + n * tall:.1f}h{wide:g}" for n in eight)}"/>'


def _name_chunks(chunks: OperandChunks, name: Callable[[int, int], str]) -> dict[int, str]:
    """Map every chunk of memory that stores a part of the step's operand to its first elements."""
    out: dict[int, str] = {}
    assert chunks.stored is not None
    for line in range(chunks.lines):
        for n in range(chunks.across):
            at = n * chunks.seen.per
            out.setdefault(
                int(chunks.stored[line, n]) >> 4, name(line, at) if chunks.seen.major == "K" else name(at, line)
            )
    return out


def _add_tick(ticks: dict[str, list[str]], state: str, x: float, y: float) -> None:
    if state == "right":
        ticks["tick"].append(f"M{x - 3:g} {y:.1f}l2 2.2l4-4.4")
    elif state == "wrong":
        ticks["cross"].append(f"M{x - 2.2:g} {y - 2.2:.1f}l4.4 4.4m0-4.4l-4.4 4.4")


def _draw_ticks(ticks: dict[str, list[str]]) -> Iterable[str]:
    return (f'<path class="sign-{kind}" d="{"".join(parts)}"/>' for kind, parts in ticks.items() if parts)


def _list_legend(chunks: OperandChunks) -> Iterable[tuple[str, str]]:
    if chunks.stored is None:
        yield from (("plain", "read once"), ("twice", "read twice"))
        return
    if chunks.right.any():
        yield "right", "read where it is stored"
    if not chunks.right.all():
        yield "wrong", "read from elsewhere"
        yield "read", "read, but this step’s operand is not there"
        yield "stored", "stored, never read"
        yield "other", "read for another row"


# what each field of the descriptor does -------------------------------------------------------------------------------


def _draw_guides(places: _Places, word: Descriptor) -> list[tuple[str, str, str]]:
    """Return (field, its guide as SVG, the text of the guide)."""
    chunks, seen, mode = places.chunks, places.chunks.seen, word.mode
    start, unread = word.start_address, find_unread_fields(word.mode, seen)
    swizzled = mode.chunks > 1
    first = chunks.read[:8].ravel().tolist() if swizzled else []
    guides = {
        "start_address": (
            [_draw_outline(places, int(chunks.read[0, 0]))],
            f"Start address {start:#x}: the first byte of this step. The field holds it divided by 16.",
        ),
        "swizzle": (
            [_draw_outline(places, at) for at in first],
            f"Swizzle {word.mode_code} is {mode.name}: {_say_xor(mode.chunks)} Outlined are the first 8 rows."
            if swizzled
            else "Swizzle 0: addresses are used as they are.",
        ),
        "base_offset": ([], f"Base offset {word.base_offset}: 0 where the tile begins at a multiple of its pattern."),
    }
    for field, stride, (count, what) in zip(
        ("lbo", "sbo"), (word.lbo_bytes, word.sbo_bytes), _describe_strides(word, seen, chunks.operand), strict=True
    ):
        why = unread.get(field, "")
        marks = [] if why else _draw_strides(places, start, stride, count)
        guides[field] = (marks, f"{field.upper()} {stride} B: {why or what}.")
    return [
        (field, f'<g class="guide" data-field="{field}">{"".join(filter(None, marks))}</g>', words)
        for field, (marks, words) in guides.items()
    ]


def _describe_strides(word: Descriptor, seen: View, operand: str) -> tuple[tuple[int, str], tuple[int, str]]:
    """Return (number of strides, description of the distance) of LBO and of SBO (layouts/descriptor/repair.py)."""
    wide, rows = word.mode.chunks, f"rows of {operand}" if operand == "A" else f"columns of {operand}"
    atom = f"; the atom of the {word.mode.name} swizzle takes {word.mode.pattern_bytes} B" if wide > 1 else ""
    if seen.major == "K":
        along = f"the distance from {wide * seen.per} values of k to the next"
        return (seen.k // (wide * seen.per) or 1, along), (
            seen.rows // 8,
            f"the distance from 8 {rows} to the next 8{atom}",
        )
    if wide == 1:
        across = f"the distance from {seen.per} {rows} to the next {seen.per}"
        return (seen.k // 8, "the distance from 8 values of k to the next 8"), (seen.rows // seen.per, across)
    across = f"the distance from {seen.per * wide} {rows} to the next"
    deep = word.mode.deep
    along = f"the distance from {deep} values of k to the next {deep}{atom}"
    return (seen.rows // (seen.per * wide) or 1, across), (seen.k // deep, along)


def _say_xor(chunks: int) -> str:
    bits = chunks.bit_length() - 1
    low = "bit 4" if bits == 1 else f"bits {3 + bits}:4"
    by = "bit 7" if bits == 1 else f"bits {6 + bits}:7"
    return f"address {low} ^= {by}, so the chunk moves with the row."


def _draw_strides(places: _Places, start: int, stride: int, count: int) -> list[str]:
    """Draw a line every `stride` bytes from the start, and the distance itself."""
    left, marks = places.memory_left, list[str]()
    tops = []
    for n in range(max(count, 2)):
        at = places.locate_chunk(start + n * stride >> 4)
        if at is not None:
            tops.append(at[1])
            marks.append(f'<path d="M{left - 34:g} {at[1] + 0.5:.1f}h{8 * WIDE + 34:g}"/>')
    if len(tops) > 1 and tops[1] > tops[0]:
        marks.append(f'<path class="span" d="M{left + 8 * WIDE - 2:g} {tops[0]:.1f}v{tops[1] - tops[0]:.1f}"/>')
    return marks


def _draw_outline(places: _Places, address: int) -> str:
    at = places.locate_chunk(address >> 4)
    if at is None:
        return ""
    x, y, w, h = at
    return f'<rect x="{x - 1:g}" y="{y - 1:.1f}" width="{w + 2:g}" height="{h + 2:g}"/>'


def _write(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="w-{kind}" x="{x:g}" y="{y:.1f}">{escape(text)}</text>'
