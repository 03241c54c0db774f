"""The picture of prepacked weights: a part of W coloured by lane, and the words of one thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.maps import drawing
from lanescope.app.kit.rings import draw_rings
from lanescope.app.kit.sheets import PinSheet, SheetGrid, SheetLayer, point_at_sheets
from lanescope.app.weights.facts import LEAST
from lanescope.app.weights.find import FIELD_NAMES
from lanescope.ptx.threads import WARP
from lanescope.render.figure import GAP, LEFT, TOP, FigurePanel
from lanescope.weights.layout import WeightLayout, WeightPlace

Longs = NDArray[np.int64]
GROUP, COLOURS = 4, 8
CELL, WORD_CELL = (17.0, 15.0), (50.0, 20.0)
MOST_WORDS, BESIDE = 8, 420.0  # words of a format without lanes; a wider window has the words below it
NAMES = 64.0  # width of the names of words


@dataclass(frozen=True, slots=True)
class WeightWindow:
    """The part of W that is drawn: k and n of its first element, its size, and whether n runs down (`turned`)."""

    k: int
    n: int
    deep: int
    wide: int
    turned: bool


def find_window(layout: WeightLayout, place: WeightPlace) -> WeightWindow:
    """Return the part of W to draw around a place: its warp's part of the tile; without lanes, whole tiles of at
    least 16.
    """
    down, across = layout.tile.extents
    if layout.threads:
        warp = slice(place.thread // WARP * WARP, (place.thread // WARP + 1) * WARP)
        k, n = (axis[warp] for axis in layout.tile.evaluate())
        first_k, first_n = place.k // down * down + int(k.min()), place.n // across * across + int(n.min())
        deep, wide = (int(axis.max() - axis.min()) + 1 for axis in (k, n))
    else:
        deep, wide = (
            min(size, max(unit, LEAST)) for unit, size in zip((down, across), (layout.k, layout.n), strict=True)
        )
        first_k, first_n = place.k // deep * deep, place.n // wide * wide
        deep, wide = min(deep, layout.k - first_k), min(wide, layout.n - first_n)
    return WeightWindow(first_k, first_n, deep, wide, deep > wide)


def draw_weights(layout: WeightLayout, place: WeightPlace) -> str:
    """Draw the part of W and the words beside or below it; the cells answer the pointer."""
    window = find_window(layout, place)
    k, n = np.meshgrid(
        np.arange(window.k, window.k + window.deep), np.arange(window.n, window.n + window.wide), indexing="ij"
    )
    if window.turned:
        k, n = k.T, n.T
    words = _list_words(layout, place)
    fields = np.arange(layout.fields)[::-1]
    word, field = np.meshgrid(np.array(words), fields, indexing="ij")
    word_k, word_n = _find_elements(layout, word, field)
    first = _make_panel(layout, "w", (k, n), (LEFT + 4, TOP))
    beside = first.width <= BESIDE
    corner = (first.x + first.width + GAP + NAMES, TOP) if beside else (LEFT + NAMES - GAP, first.y + first.height + 52)
    second = _make_panel(layout, "words", (word_k, word_n), corner)
    at = (place.n - window.n, place.k - window.k) if window.turned else (place.k - window.k, place.n - window.n)
    cells = [("w", *at), ("words", words.index(place.word), layout.fields - 1 - place.field)]
    svg = drawing.draw_panels(
        (first, second),
        None,
        title="",
        description=f"{layout.format.title}: a part of W, and the words that hold it",
        legend=(),
        labelled=True,
        extra=draw_rings((first, second), cells),
    )
    sheets = [_make_sheet(layout, first, (k, n)), _make_sheet(layout, second, (word_k, word_n))]
    return point_at_sheets(svg, sheets, "thread" if layout.threads else "word")


def caption_weights(layout: WeightLayout, place: WeightPlace) -> str:
    """Return the caption of the picture."""
    window = find_window(layout, place)
    ranges = f"k {window.k}–{window.k + window.deep - 1}, n {window.n}–{window.n + window.wide - 1}"
    down = "n down, k across" if window.turned else "k down, n across"
    field = FIELD_NAMES.get(layout.bits, "field")
    if not layout.threads:
        return f"{ranges} ({down}). Colour: word mod {COLOURS}; number: {field}. The ring is W[{place.k}, {place.n}]."
    warp = f" of warp {place.thread // WARP}" if layout.warps > 1 else ""
    return (
        f"{ranges}{warp} ({down}). Colour: lane / {GROUP}; number: lane. The words are those of"
        f" lane {place.thread % WARP}, the high {field} first, with k,n. The ring is W[{place.k}, {place.n}]."
    )


def _list_words(layout: WeightLayout, place: WeightPlace) -> list[int]:
    """Return the words to draw: those of the thread, or the neighbours of the selected one."""
    if layout.threads:
        first, count = place.word - place.word_of_thread, layout.words_of_thread
    else:
        first, count = place.word // MOST_WORDS * MOST_WORDS, MOST_WORDS
    return list(range(first, min(first + count, layout.word_count)))


def _find_elements(layout: WeightLayout, word: Longs, field: Longs) -> tuple[Longs, Longs]:
    found = np.array(
        [layout.find_element(*at) for at in zip(word.ravel().tolist(), field.ravel().tolist(), strict=True)], np.int64
    )
    return found[:, 0].reshape(word.shape), found[:, 1].reshape(word.shape)


def _make_panel(
    layout: WeightLayout, name: str, cells: tuple[Longs, Longs], corner: tuple[float, float]
) -> FigurePanel:
    k, n = cells
    word, field, thread = layout.number_elements(k, n)
    number = thread % WARP // GROUP if layout.threads else word % COLOURS
    if name == "words":
        texts = [[f"{a},{b}" for a, b in zip(*line, strict=True)] for line in zip(k.tolist(), n.tolist(), strict=True)]
        rows = tuple(f"word {at}" for at in word[:, 0].tolist())
        columns, title, size = field[0].tolist(), _title_words(layout, int(thread[0, 0])), WORD_CELL
    else:
        texts = [[str(number) for number in line] for line in (thread % WARP if layout.threads else field).tolist()]
        turned = k[0, 0] != k[0, -1]
        rows, columns = ((n if turned else k)[:, 0].tolist(), (k if turned else n)[0].tolist())
        title, size = f"W {'(n down, k across)' if turned else '(k down, n across)'}", CELL
    return FigurePanel(
        name,
        title,
        rows=k.shape[0],
        cols=k.shape[1],
        x=corner[0],
        y=corner[1],
        cell_width=size[0],
        cell_height=size[1],
        category=number.astype(np.int32),
        texts=texts,
        row_names=tuple(map(str, rows)),
        col_names=tuple(map(str, columns)),
        of=COLOURS,
    )


def _title_words(layout: WeightLayout, thread: int) -> str:
    field = FIELD_NAMES.get(layout.bits, "field")
    if not layout.threads:
        return f"Words: {field}s, high to low"
    who = f"warp {thread // WARP}, lane {thread % WARP}" if layout.warps > 1 else f"lane {thread}"
    return f"Words of {who}: {field}s, high to low"


def _make_sheet(layout: WeightLayout, panel: FigurePanel, cells: tuple[Longs, Longs]) -> PinSheet:
    k, n = cells
    numbers = dict(_number_cells(layout, k, n))
    line = "`W[{k},{n}]`: bits {low} to {high} of word {word}"
    if layout.threads:
        line += f", which {'thread' if layout.warps > 1 else 'lane'} {{thread}} loads"
    if "register" in numbers:
        line += "; instruction {instruction}, row {down}, column {across}, register {register}"
    grid = SheetGrid("", panel.x, panel.y, panel.cell_width, panel.cell_height)
    return PinSheet(panel.name, panel.title, panel.rows, panel.cols, (SheetLayer(line, numbers),), (grid,))


def _number_cells(layout: WeightLayout, k: Longs, n: Longs) -> Iterator[tuple[str, Longs]]:
    word, field, thread = layout.number_elements(k, n)
    yield from (("k", k), ("n", n), ("word", word), ("low", field * layout.bits))
    yield "high", (field + 1) * layout.bits - 1
    if layout.threads:
        yield "thread", thread
    if layout.operand and layout.fragment:
        instruction, row, col = (axis.astype(np.int64) for axis in layout.find_operand_places(k, n))
        yield from (("instruction", instruction), ("down", row), ("across", col))
        value = layout.operand.pattern.inverse()[1][row, col, 0].astype(np.int64)
        yield "register", value * layout.operand.container_bits // layout.operand.register_bits
