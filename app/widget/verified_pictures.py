"""Live views of verdicts: the elements that a descriptor reads, alone or compared with the tile, and captures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.draw import render_status_panel
from lanescope.app.kit.maps.bench import Longs, colour_by_chunk
from lanescope.app.kit.sheets import SheetLayer
from lanescope.app.widget.live_matrix import LiveMatrix, make_lane_matrix, make_memory_matrix
from lanescope.app.widget.pictures import MOST_LABELS, LivePicture
from lanescope.capture import Capture, Verified, verify as verify_capture, write as write_capture
from lanescope.capture.operand_codes import NONE
from lanescope.capture.recorded_operands import OperandCodes
from lanescope.capture.verdict import OperandPicture
from lanescope.descriptor.matrix import Descriptor, View, reads, view
from lanescope.descriptor.spelling import parse_word
from lanescope.descriptor.verify import Verdict, verify
from lanescope.errors import LayoutError
from lanescope.ptx.catalog import find
from lanescope.ptx.instruction import Instruction
from lanescope.render.figure import TOP, FigurePanel, PanelFigure
from lanescope.render.palette import RIGHT, WRONG
from lanescope.render.svg import render_svg
from lanescope.shared.storage import Storage, make_tile_storage, require_element_size, storage
from lanescope.shared.tile_text import parse_tile_text
from lanescope.shared.tiling import Tile

READ = "`[{row}][{col}]` is read from byte `0x{value:x}`"
UNREAD = "`Nothing` is read for [{row}][{col}]"
WORDS = {"right": "read where it is", "wrong": "read from another byte"}
RECORDED = {"right": "the expected element", "wrong": "another element"}


def draw_descriptor(
    word: object, reader: object, operand: str, stored: object, *, mn: int = 0, k: int = 0
) -> LivePicture:
    """Draw the bytes that an instruction reads through a descriptor; with `stored`, compare them with the tile.

    word: an integer, its text, or a Descriptor; reader: the instruction, or its PTX; stored: a Tile, a Storage, or a
    tile's text; mn, k: where the slice begins in it.
    """
    descriptor = word if isinstance(word, Descriptor) else Descriptor(_parse_word(word))
    instruction = reader if isinstance(reader, Instruction) else find(str(reader))
    if isinstance(stored, str):
        spec = parse_tile_text(stored)
        seen = view(instruction, operand, str(spec.get("major", "K")))
        stored_at: Storage | None = storage(spec, seen.bits, seen.major, seen.form)
    else:
        stored_at = _make_storage(stored)
        seen = view(instruction, operand, stored_at.get_major("K") if stored_at else "K")
    if stored_at:
        require_element_size(stored_at, seen)
    title = f"{operand.upper()} through {descriptor}"
    if stored_at is None:
        return _draw_reads(reads(descriptor, seen), seen, title)
    return draw_verdict(verify(descriptor, seen, stored_at, mn=mn, k=k), title)


def _parse_word(word: object) -> int:
    return word if isinstance(word, int) else parse_word(str(word), "shown").word


def _make_storage(stored: object) -> Storage | None:
    if isinstance(stored, Tile):
        return make_tile_storage(stored)
    if stored is None or isinstance(stored, Storage):
        return stored
    raise LayoutError(
        "bad_view",
        f"stored is a {type(stored).__name__}.",
        "Allowed: a Tile, a Storage, a tile's text, or nothing.",
        "stored",
    )


def _draw_reads(read: Longs, seen: View, title: str) -> LivePicture:
    """Draw the bytes that are read, coloured by bank."""
    banks = colour_by_chunk(read)
    title = f"{title}: the byte that each {seen.bits}-bit element is read from, coloured by bank"
    panel = _make_panel(title, read.shape, [[f"{byte:x}" for byte in row] for row in read.tolist()])
    panel = replace(panel, category=banks.numbers.astype(np.int32), of=len(banks.names))
    figure = PanelFigure(panel.x + max(panel.width, 7.6 * len(title)) + 8, TOP + panel.height + 8, (panel,))
    drawn = render_svg(figure, title=title, palette=None, labels_up_to=MOST_LABELS)
    return LivePicture(title, drawn, (_make_read_matrix(panel, read, SheetLayer(READ, {"value": read})),))


def draw_verdict(verdict: Verdict, title: str = "") -> LivePicture:
    """Draw which elements a descriptor reads from the right place; `value` is the byte that is read."""
    read, expected = np.asarray(verdict.read, np.int64), np.asarray(verdict.expected, np.int64)
    right = read == expected
    title = f"{title or 'The operand'}: {verdict.matched} of {verdict.total} elements are read from their own address"
    texts = [
        [
            f"{'' if byte == stored_at else '✗'}{byte:x}" if byte >= 0 else "✗?"
            for byte, stored_at in zip(*row, strict=True)
        ]
        for row in zip(read.tolist(), expected.tolist(), strict=True)
    ]
    panel = _make_panel(title, read.shape, texts, np.where(right, RIGHT, WRONG))
    matrix = _make_read_matrix(panel, read, *_compare_places(read, expected))
    return LivePicture(title, render_status_panel(panel, 7.6 * len(title), WORDS), (matrix,))


def _compare_places(read: Longs, expected: Longs) -> tuple[SheetLayer, ...]:
    """Return the sentences of a verdict: right, wrong, undefined, and which element is read instead."""
    right, defined = read == expected, read >= 0
    order = np.argsort(expected.reshape(-1), kind="stable")
    at = np.minimum(np.searchsorted(expected.reshape(-1)[order], read), read.size - 1)
    there = defined & ~right & (expected.reshape(-1)[order][at] == read)
    row, col = np.divmod(order[at], read.shape[1])

    def keep(mask: NDArray[np.bool_], **facts: Longs) -> dict[str, Longs]:
        return {name: np.where(mask, numbers, -1) for name, numbers in facts.items()}

    return (
        SheetLayer(f"{READ}, where it is", keep(right, value=read)),
        SheetLayer(f"{READ}, but is at `0x{{stored_at:x}}`", keep(defined & ~right, value=read, stored_at=expected)),
        SheetLayer("`[{row}][{col}]`: which byte is read is undefined", keep(~defined, stored_at=expected)),
        SheetLayer("0x{value:x} is the byte of [{at_row}][{at_col}]", keep(there, value=read, at_row=row, at_col=col)),
    )


def _make_read_matrix(panel: FigurePanel, read: Longs, *layers: SheetLayer) -> LiveMatrix:
    return make_memory_matrix("operand", panel, read, layers, UNREAD)


# captures -------------------------------------------------------------------------------------------------------------


def draw_capture(recorded: Verified | Capture) -> LivePicture:
    """Draw the first wrong operand of a capture, otherwise the first one: the element in each of its places."""
    verified = recorded if isinstance(recorded, Verified) else verify_capture(write_capture(recorded))
    drawn = verified.picture or verified.opening
    if drawn is None:
        raise LayoutError(
            "bad_view", "Nothing of this capture could be judged.", "verify(…).text has the reason.", "shown"
        )
    side, name = drawn.side, drawn.side.operand.upper()
    operand_title = f"{name} ({'m' if name == 'A' else 'n'} × k) at {drawn.where}"
    title = f"{verified.verdict}: {operand_title}: the element that is there"
    texts = [
        [_format_cell(*cell) for cell in zip(*row, strict=True)]
        for row in zip(side.mn.tolist(), side.k.tolist(), drawn.right.tolist(), strict=True)
    ]
    panel = _make_panel(title, side.mn.shape, texts, np.where(drawn.right, RIGHT, WRONG))
    layers = _name_elements(drawn)
    matrix = _make_capture_matrix(side, panel, layers)
    return LivePicture(title, render_status_panel(panel, 7.6 * len(title), RECORDED), (matrix,))


def _format_cell(mn: int, k: int, right: bool) -> str:
    text = "?" if min(mn, k) < 0 else f"{mn},{k}"
    return text if right else f"✗{text}"


def _name_elements(drawn: OperandPicture) -> tuple[SheetLayer, ...]:
    """Make the sentences of a recorded operand: the element that is there, and the right one."""
    side, right = drawn.side, drawn.right
    mn, k = np.asarray(side.mn, np.int64), np.asarray(side.k, np.int64)
    name, known = side.operand.upper(), (mn > NONE) & (k > NONE)
    down, across = np.indices(mn.shape, dtype=np.int64)
    facts = {"at_mn": np.where(known, mn, -1), "at_k": np.where(known, k, -1)}
    wanted = {
        "mn": np.where(right, -1, down + drawn.part.mn),
        "k": np.where(right, -1, across + drawn.part.k),
    }
    place = "`place ({row},{col})`"
    return (
        SheetLayer(f"{place} has {name}[{{at_mn}}][{{at_k}}]", facts),
        SheetLayer(f"{place} has an element that its value does not tell", {"there": np.where(known, -1, 0)}),
        SheetLayer(f"{name}[{{mn}}][{{k}}] should be there", wanted),
    )


def _make_capture_matrix(side: OperandCodes, panel: FigurePanel, layers: tuple[SheetLayer, ...]) -> LiveMatrix:
    """Make the matrix of an operand in registers, or of one in shared memory."""
    if side.address is not None or side.fragment is None:
        nowhere = np.full(side.mn.shape, -1, dtype=np.int64)
        return _make_read_matrix(panel, nowhere if side.address is None else side.address, *layers)
    down, across = (side.fragment.coords[axis].astype(np.int64) for axis in side.fragment.plane)
    if side.operand == "b":  # (k, n) in the map, (n, k) here
        down, across = across, down
    matrix = make_lane_matrix(
        "operand", panel, down * panel.cols + across, unit=side.fragment.scope.thread, letter=side.operand
    )
    return replace(matrix, layers=(*layers, *matrix.layers))


# panels ---------------------------------------------------------------------------------------------------------------


def _make_panel(
    title: str, shape: tuple[int, ...], texts: list[list[str]], status: NDArray[Any] | None = None
) -> FigurePanel:
    """Make a panel of an operand, rows of M or N down and K across."""
    rows, cols = shape
    longest = max(len(text) for row in texts for text in row)
    return FigurePanel(
        "operand",
        title,
        rows=rows,
        cols=cols,
        cell_width=7.0 * longest + 8,
        cell_height=17.0,
        texts=texts,
        status=None if status is None else status.astype(np.int32),
    )
