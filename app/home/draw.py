"""The pictures of the home page: a layout, the bits of a descriptor, and a labelled part of a figure."""

from __future__ import annotations

from dataclasses import replace
from html import escape

from lanescope.bits import format_word
from lanescope.ptx import catalog
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.render.figure import PanelFigure, make_operand_figure
from lanescope.render.svg import render_svg

_WIDE, _TALL, _STEP, _ROW = 16, 22, 18, 28  # size of a bit, and distance to the next
_PER_ROW = 16
_ROWS, _COLS = (0, 7), (0, 7)  # of the labelled figure


def draw_layout(ptx: str) -> str:
    """Draw A of an instruction, coloured by lane group, without labels."""
    figure = _strip_title(make_operand_figure(catalog.find(ptx).operand("a"), cell=(15, 8.5)))
    return render_svg(figure, title=f"A of {ptx} by lane group", colour="g", label="none", palette=None)


def draw_labelled(ptx: str) -> str:
    """Draw the first rows and columns of A with the lane and the value of each element."""
    figure = _strip_title(make_operand_figure(catalog.find(ptx).operand("a"), rows=_ROWS, cols=_COLS), numbers=16.0)
    return render_svg(figure, title=f"The first rows and columns of A of {ptx}", colour="g", palette=None)


def _strip_title(figure: PanelFigure, numbers: float = 0.0) -> PanelFigure:
    """Return a figure of one panel without the space for its title. numbers: space for row and column numbers."""
    (panel,) = figure.panels
    return PanelFigure(panel.width + numbers, panel.height + numbers, (replace(panel, title="", x=numbers, y=numbers),))


def draw_bits(word: int) -> str:
    """Draw the 64 bits of a descriptor, bit 63 first, each field in the editor's colour."""
    fill = {bit: n for n, f in enumerate(WGMMA.fields) for bit in range(f.low, f.high + 1)}
    size = (_PER_ROW - 1) * _STEP + _WIDE, (64 // _PER_ROW - 1) * _ROW + _TALL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}"'
        f' height="{size[1]}" role="img" class="word"><title>{escape(f"The bits of {format_word(word)}")}</title>'
    ]
    for bit in range(63, -1, -1):
        row, column = divmod(63 - bit, _PER_ROW)
        x, y, bit_value = column * _STEP, row * _ROW, word >> bit & 1
        paint = f'fill="var(--fill-{fill[bit]})"' if bit in fill else 'fill="none" stroke="var(--rule)"'
        kind = ' class="one"' if bit_value else "" if bit in fill else ' class="reserved"'
        parts.append(
            f'<rect x="{x + 0.5}" y="{y + 0.5}" width="{_WIDE - 1}" height="{_TALL - 1}" rx="3" {paint}/>'
            f'<text x="{x + _WIDE // 2}" y="{y + 15}"{kind}>{bit_value}</text>'
        )
    return "".join(parts) + "</svg>"
