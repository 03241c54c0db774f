"""Labels never touch: in every picture each label keeps half a glyph from its neighbours, stays in its cell, and can be
read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from xml.etree import ElementTree

from lanescope import find
from lanescope.app.diagram import forms as pictures
from lanescope.app.memory.tile_figure import TileLook, draw_tile
from lanescope.ptx import catalog
from lanescope.render.figure import make_figure
from lanescope.render.labels import GLYPH, SMALLEST, fit_labels, split_label
from lanescope.render.svg import render_svg
from lanescope.render.view import LABELS
from lanescope.shared.swizzle import MODES
from lanescope.shared.tiling import Tile
from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample

SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]  # left, top, right, bottom of a text


def list_label_boxes(drawing: str) -> Iterator[tuple[float, list[Box]]]:
    """(font size, the boxes of its labels) of every matrix in a picture."""
    root = ElementTree.fromstring(drawing)
    for matrix in root.iter(f"{SVG}g"):
        for group in matrix if matrix.get("data-operand") else ():
            if group.tag != f"{SVG}g" or not group.get("font-size"):
                continue
            size = float(group.get("font-size", ""))
            yield size, [make_box(x, y, text, size) for x, y, text in list_texts(group)]


def list_texts(group: ElementTree.Element) -> Iterator[tuple[float, float, str]]:
    for node in group.iter(f"{SVG}text"):
        if node.text:
            yield float(node.get("x", "")), float(node.get("y", "")), node.text
        for part in node:
            yield float(part.get("x", "")), float(part.get("y") or node.get("y", "")), part.text or ""


def make_box(x: float, y: float, text: str, size: float) -> Box:
    half = len(text) * GLYPH * size / 2
    return x - half, y - 0.73 * size, x + half, y


def assert_labels_apart(drawing: str, where: str) -> int:
    """How many labels a picture has."""
    count = 0
    for size, boxes in list_label_boxes(drawing):
        assert size >= SMALLEST - 0.01, where
        rows: dict[float, list[Box]] = {}
        for box in boxes:
            rows.setdefault(box[3], []).append(box)
        for row in rows.values():
            for left, right in pairwise(sorted(row)):
                assert right[0] - left[2] >= GLYPH * size / 2, where
        for above, below in pairwise(sorted(rows)):
            assert min(box[1] for box in rows[below]) - above > 0, where
        count += len(boxes)
    return count


REPRESENTATIVES = list({i.family: i for i in catalog.instructions() if not i.family.issue}.values())


def test_labels_of_an_instruction_keep_apart() -> None:
    """One form of a family, of a sample of them; wmma's labels name two values, the longest there are."""
    labelled, some = 0, take_sample(REPRESENTATIVES, 14)
    some += [i for i in REPRESENTATIVES if i.family.name == "wmma" and i not in some][:1]
    for instruction in some:
        for label in LABELS:
            drawing = render_svg(make_figure(instruction), title="", label=label, labels_up_to=20000)
            labelled += assert_labels_apart(drawing, f"{instruction.ptx} {label}") > 0
    assert labelled > len(some)


@for_each("cell", ["18x12", "22x9", "24x24", "60x20"])
def test_a_cell_of_any_size_keeps_its_label_inside(cell: str) -> None:
    wmma = find("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
    for label in LABELS:
        drawing = pictures.render_instruction("svg", wmma, wmma.operand("a"), {"cell": cell, "label": label})[0]
        assert_labels_apart(drawing.decode(), f"{cell} {label}")


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
DRAWN = (
    f"/reuse?from={MMA}&to={MMA}",
    f"/compare?left={MMA}/a&right=mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32/a",
    "/chain",
    "/banks?access=ldmatrix.x4&pattern=rows&row_bytes=128",
    "/dump?example=swizzle",
    "/guide/five-minutes",
)


@for_each("path", DRAWN)
def test_labels_of_a_page_keep_apart(client: Client, path: str) -> None:
    page = client.get(path).text
    pictures_of_page = re.findall(r"<svg [^>]*viewBox.*?</svg>", page, re.S)
    assert sum(assert_labels_apart(drawing, path) for drawing in pictures_of_page) > 0


@for_each("mode", MODES, ids=lambda mode: mode.name)
@for_each("unit", ["chunk", "element"])
def test_numbers_of_a_tile_keep_apart(mode: object, unit: str) -> None:
    drawn = draw_tile(Tile(16, "K", mode, 64, 64), TileLook(unit=unit))  # type: ignore[arg-type]
    assert_labels_apart(render_svg(drawn.figure, title="", labels_up_to=20000), unit)


def test_a_label_shrinks_then_breaks_then_loses_its_value() -> None:
    def get_form(text: str, width: float, height: float) -> str:
        fit = fit_labels([text], width, height)
        return fit.form if fit else ""

    assert [get_form("T31:7,15", width, 21) for width in (60, 36, 16, 8)] == ["one", "two", "first", ""]
    assert [get_form("T31:7", 22, height) for height in (21, 10, 8)] == ["two", "first", ""]


def test_half_of_a_coordinate_is_never_shown_alone() -> None:
    """12 of 12,31 would be another place; T12 of T12:31 is still the lane."""
    for width in range(8, 80):
        fit = fit_labels(["12,31", "3,4"], width, 10)
        assert fit is None or fit.form == "one"
    assert split_label("T12:3,11") == ("T12", "3,11")
    assert not re.match(r"\D", split_label("12,31")[0])
