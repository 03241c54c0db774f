"""The live figure of the guide page "128 bytes": where a swizzle puts the chunks of eight rows, the banks of a
column, and what the first K step of a wgmma reads. Addresses come from the engine; static/guide/row.js computes them
from the same formulas, and tests compare both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape

from lanescope.app.kit.fact import fact
from lanescope.descriptor.matrix import View, encode_descriptor, reads
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_integer
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.shared import banks
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import NAMES, get_mode
from lanescope.shared.tiling import SWIZZLED_BY

SLUG = "128-bytes"
ROWS, CHUNKS = 8, 8  # a core matrix of rows; a row of 128 bytes
STEP_CHUNKS = 2  # of K that one wgmma takes: 32 bytes
LINES = 18  # of 128 bytes that the picture shows
MOST_START, MOST_PITCH = 1008, 160
LBO = 128  # of mode none: core matrices side by side
COUNTED = {"start": (0, MOST_START), "pitch": (128, MOST_PITCH), "row": (0, ROWS - 1), "chunk": (0, CHUNKS - 1)}

LEFT, TOP, WIDE, HIGH = 16, 64, 30, 22  # of the tile: its corner, a cell
MEMORY, SLOT = 360, 62  # of shared memory: its left side, the width of 16 bytes
BARS = 416  # the foot of the bank counts
BOW = 56  # how far an arrow bends up


@fact
class RowState:
    """The state of the figure: addresses in bytes, the row with arrows, the chunk whose XOR and banks are counted."""

    start: int = 0
    pitch: int = 128
    swizzle: str = "128B"
    by: str = "address"
    row: int = 3
    chunk: int = 0


def parse_state(query: Mapping[str, str]) -> RowState:
    """Parse a query; LayoutError names a field outside its limits."""
    usual = RowState()
    numbers = {
        name: parse_integer(query[name], name, *limits) if query.get(name) else getattr(usual, name)
        for name, limits in COUNTED.items()
    }
    for name in ("start", "pitch"):
        if numbers[name] % 16:
            raise LayoutError("misaligned", f"{name} is {numbers[name]}.", "Give a multiple of 16 bytes.", name)
    return RowState(
        **numbers,
        swizzle=parse_choice(query.get("swizzle") or usual.swizzle, "swizzle", NAMES),
        by=parse_choice(query.get("by") or usual.by, "by", SWIZZLED_BY),
    )


def list_stored(state: RowState) -> list[list[int]]:
    """Return the shared-memory address of every chunk, [row][chunk]."""
    spec = {
        "kind": "rows",
        "inner": "K",
        "pitch_bytes": state.pitch,
        "swizzle": state.swizzle,
        "swizzle_by": state.by,
        "base": state.start,
    }
    place = storage(spec, 16, "K")
    return [[int(place.address(row, 8 * chunk)) for chunk in range(CHUNKS)] for row in range(ROWS)]


def list_read(state: RowState) -> list[list[int]]:
    """Return the address of every chunk that the first K step of a wgmma reads, [row][chunk]; base offset 0."""
    amounts = {"start_address": state.start, "lbo_bytes": LBO, "sbo_bytes": 1024}
    word = encode_descriptor(WGMMA, amounts, state.swizzle)
    addresses = reads(word, View(ROWS, 8 * STEP_CHUNKS, 16, "K"))
    return [[int(addresses[row, 8 * chunk]) for chunk in range(STEP_CHUNKS)] for row in range(ROWS)]


def count_groups(state: RowState) -> list[int]:
    """Return how many rows of the chosen column of chunks are in each group of four banks."""
    counted = Counter(row[state.chunk] >> 4 & 7 for row in list_stored(state))
    return [counted[group] for group in range(CHUNKS)]


def count_wavefronts(state: RowState) -> int:
    """Return the wavefronts of an ldmatrix.x1 of the chosen column of chunks."""
    addresses: list[int | None] = [row[state.chunk] for row in list_stored(state)]
    return int(banks.compute_cost(banks.get_access("ldmatrix.x1"), addresses + [None] * 24).wavefronts)


def describe_xor(state: RowState) -> str:
    """Return the address of the chosen chunk before and after the XOR."""
    offset = state.row * state.pitch + 16 * state.chunk
    before = state.start + offset
    after = list_stored(state)[state.row][state.chunk]
    mask = get_mode(state.swizzle).chunks - 1
    head = f"row {state.row}, chunk {state.chunk}: 0x{before:03x}"
    if not mask:
        return f"{head}, no XOR"
    source = before if state.by == "address" else offset
    count = mask.bit_length()
    digits, part = f"{source >> 7 & mask:0{count}b}", "" if state.by == "address" else " of the offset in the tile"
    return f"{head}, {_name_bits(4, count)} XOR {digits} ({_name_bits(7, count)}{part}): 0x{after:03x}"


def _name_bits(low: int, count: int) -> str:
    return f"bit {low}" if count == 1 else f"bits {low}–{low + count - 1}"


def describe_read(state: RowState) -> str:
    """Return the verdict on the first K step."""
    stored, read = list_stored(state), list_read(state)
    wrong = sum(stored[row][chunk] != read[row][chunk] for row in range(ROWS) for chunk in range(STEP_CHUNKS))
    if not wrong:
        return "The wgmma reads all 16 chunks of its first K step where they are stored."
    return f"The wgmma reads {wrong} of the 16 chunks of its first K step from the wrong place."


def draw_row_figure(state: RowState) -> str:
    """Draw the figure, whose parts the script finds by id and moves."""
    stored, read = list_stored(state), list_read(state)
    chunk_at = {address: (row, chunk) for row, line in enumerate(stored) for chunk, address in enumerate(line)}
    parts = [
        f'<svg id="row-figure" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 872 {TOP + LINES * HIGH + 16}"'
        ' role="img" aria-labelledby="row-title" font-family="var(--mono, monospace)" font-size="11">',
        f'<title id="row-title">{escape(describe_xor(state))}</title>',
        f'<text x="{LEFT}" y="16">8 rows of 128 bytes, 8 chunks each</text>',
        f'<text x="{MEMORY}" y="16">shared memory: 1 line = 128 B = 32 banks, 1 cell = 16 B = 4 banks</text>',
    ]
    for group in range(CHUNKS):
        parts.append(_draw_label(MEMORY + group * SLOT + SLOT / 2, TOP - 7, f"{4 * group}–{4 * group + 3}", "middle"))
    for row in range(ROWS):
        for chunk in range(CHUNKS):
            x, y = LEFT + chunk * WIDE, TOP + row * HIGH
            parts.append(_draw_cell(x, y, WIDE, f'data-row="{row}" data-chunk="{chunk}"', chunk))
            parts.append(_draw_label(x + WIDE / 2, y + 15, str(chunk), "middle"))
    for line in range(LINES):
        y = TOP + line * HIGH
        parts.append(_draw_label(MEMORY - 6, y + 15, f"0x{128 * line:03x}", "end"))
        for slot in range(CHUNKS):
            row, chunk = chunk_at.get(128 * line + 16 * slot, (-1, -1))
            number = line * CHUNKS + slot
            parts.append(_draw_cell(MEMORY + slot * SLOT, y, SLOT, f'id="slot-{number}" data-slot="{number}"', chunk))
            text = f"{row}.{chunk}" if row >= 0 else ""
            parts.append(_draw_label(MEMORY + slot * SLOT + SLOT / 2, y + 15, text, "middle", f"text-{number}"))
    parts += [_draw_arrow(state.row, chunk, stored[state.row][chunk], chunk == state.chunk) for chunk in range(CHUNKS)]
    for row in range(ROWS):
        for chunk in range(STEP_CHUNKS):
            right = stored[row][chunk] == read[row][chunk]
            parts.append(_draw_ring(row, chunk, read[row][chunk], right))
    parts.append(
        f'<rect id="row-mark" class="row-mark" x="{LEFT}" y="{TOP + state.row * HIGH}" width="{CHUNKS * WIDE}"'
        f' height="{HIGH}"/>'
    )
    parts += _draw_bars(state)
    return "\n".join([*parts, "</svg>"])


def _draw_cell(x: float, y: float, width: float, names: str, chunk: int) -> str:
    kind = f"chunk chunk-{chunk}" if chunk >= 0 else "chunk"
    return f'<rect {names} class="{kind}" x="{x}" y="{y}" width="{width}" height="{HIGH}"/>'


def _draw_label(x: float, y: float, text: str, anchor: str, name: str = "") -> str:
    known = f' id="{name}"' if name else ""
    return f'<text{known} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'


def _place(address: int) -> tuple[int, int]:
    """Return the corner of the cell of an address."""
    return MEMORY + address % 128 // 16 * SLOT, TOP + address // 128 * HIGH


def _draw_arrow(row: int, chunk: int, address: int, chosen: bool) -> str:
    x, y = LEFT + chunk * WIDE + WIDE // 2, TOP + row * HIGH
    left, to_y = _place(address)
    to_x = left + SLOT // 2
    path = f"M{x} {y} C{x} {y - BOW} {to_x} {to_y - BOW} {to_x} {to_y} m-3 -5 l3 5 l3 -5"
    return f'<path id="arrow-{chunk}" class="arrow{" chosen" if chosen else ""}" d="{path}"/>'


def _draw_ring(row: int, chunk: int, address: int, right: bool) -> str:
    x, y = _place(address)
    kind = "right" if right else "wrong"
    size = f'width="{SLOT - 4}" height="{HIGH - 4}" rx="4"'
    return f'<rect id="read-{row}-{chunk}" class="read {kind}" x="{x + 2}" y="{y + 2}" {size}/>'


def _draw_bars(state: RowState) -> list[str]:
    counts = count_groups(state)
    parts = [f'<text id="bank-title" x="{LEFT}" y="{BARS - 116}">{describe_banks(state)}</text>']
    for group, count in enumerate(counts):
        x = LEFT + group * WIDE
        size = f'x="{x + 3}" y="{BARS - 12 * count}" width="{WIDE - 6}" height="{12 * count}"'
        parts.append(f'<rect id="bank-{group}" class="bank{" many" if count > 1 else ""}" {size}/>')
        parts.append(_draw_label(x + WIDE / 2, BARS - 12 * count - 4, str(count), "middle", f"count-{group}"))
        parts.append(_draw_label(x + WIDE / 2, BARS + 14, f"{4 * group}", "middle"))
    return parts


def describe_banks(state: RowState) -> str:
    """Return the cost of loading one column of chunks."""
    many = count_wavefronts(state)
    return f"banks of chunk {state.chunk} in 8 rows: {many} wavefront{'s' if many > 1 else ''}"


LABELS = {
    "start": "Start address, bytes",
    "pitch": "Row pitch, bytes",
    "swizzle": "Swizzle",
    "by": "XOR applied to",
    "row": "Row",
    "chunk": "Chunk",
}


def insert_row_figure(body: str, query: Mapping[str, str]) -> str:
    """Replace `@row` in a page by the form and the figure of a query."""
    if "<p>@row</p>" not in body:
        return body
    notice = ""
    try:
        state = parse_state(query)
    except LayoutError as error:
        state = RowState()
        notice = f'<p class="notice" role="alert">{escape(error.message)} {escape(error.hint)}</p>'
    fields = "".join(_render_field(name, getattr(state, name)) for name in LABELS)
    return body.replace(
        "<p>@row</p>",
        f'<form class="strip" id="row-form">{fields}<button>Show</button></form>{notice}'
        f'<p id="row-xor" class="mono">{describe_xor(state)}</p>'
        f'<p id="row-read" role="status">{describe_read(state)}</p>'
        '<div class="row-figure scroll" tabindex="0" role="group" aria-label="Eight rows in shared memory">'
        f"{draw_row_figure(state)}</div>",
    )


def _render_field(name: str, value: object) -> str:
    if name in COUNTED:
        least, most = COUNTED[name]
        step = 16 if name in ("start", "pitch") else 1
        field = f'<input type="number" name="{name}" min="{least}" max="{most}" step="{step}" value="{value}">'
    else:
        words = NAMES if name == "swizzle" else SWIZZLED_BY
        options = "".join(f"<option{' selected' if word == value else ''}>{word}</option>" for word in words)
        field = f'<select name="{name}">{options}</select>'
    return f"<label>{LABELS[name]} {field}</label>"
