"""The visible window of an instruction's matrices: one range per dimension.

Matrices that share a dimension follow the same range, so the rows of A and of D scroll together. A dimension is m, n or
k; s for the stored columns of a sparse A; r and c for matrices outside a product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx.instruction import Instruction
from lanescope.render.figure import FigurePanel, PanelFigure, make_figure
from lanescope.render.view import OperandGrid

Range = tuple[float, float]  # first cell shown, and the first one after it
ALL = "all"
MOST_OPEN = 32  # rows or columns of the opening view: so many still have room for labels
_OF_PRODUCT = {"a": ("m", "k"), "b": ("k", "n"), "d": ("m", "n")}


def get_dimensions(instruction: Instruction, panel: FigurePanel) -> tuple[str, str]:
    """Return (dimension of the rows, dimension of the columns) of a panel.

    >>> from lanescope.ptx.catalog import find
    >>> found = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> [get_dimensions(found, panel) for panel in make_figure(found).panels]
    [('m', 'k'), ('k', 'n'), ('m', 'n')]
    """
    if not instruction.family.multiplies:
        return "r", "c"
    rows, cols = _OF_PRODUCT[panel.name]
    stored = isinstance(panel.grid, OperandGrid) and panel.grid.operand.kept_of_group is not None
    return rows, "s" if stored else cols


def count_cells(instruction: Instruction, figure: PanelFigure | None = None) -> dict[str, int]:
    """Return dimension → number of cells."""
    out: dict[str, int] = {}
    for panel in (figure or make_figure(instruction)).panels:
        for dim, count in zip(get_dimensions(instruction, panel), (panel.rows, panel.cols), strict=True):
            out[dim] = max(count, out.get(dim, 0))
    return out


def make_opening_window(instruction: Instruction, figure: PanelFigure | None = None) -> dict[str, Range]:
    """Return the ranges that a page shows first.

    They are warp 0's rows of a warpgroup, and at most as many cells as labels stay readable for.
    """
    scope = instruction.family.scope
    most = dict.fromkeys("nksrc", MOST_OPEN) | {
        "m": 16 if scope.several else min(instruction.sizes.get("m", 0), MOST_OPEN)
    }
    return {dim: (0, min(count, most[dim])) for dim, count in count_cells(instruction, figure).items()}


def parse_window(text: str, instruction: Instruction, figure: PanelFigure | None = None) -> dict[str, Range]:
    """Return the ranges of a URL's window: "" for the opening view, "all", or "m:0-16,n:32-64".

    A missing dimension is shown completely. LayoutError for any other text.

    >>> from lanescope.ptx.catalog import find
    >>> parse_window("m:16-32", find("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"))
    {'m': (16.0, 32.0), 'k': (0, 16), 'n': (0, 8)}
    """
    if not text:
        return make_opening_window(instruction, figure)
    return parse_ranges(text, count_cells(instruction, figure))


def parse_ranges(text: str, counts: Mapping[str, int]) -> dict[str, Range]:
    """Return the ranges of dimensions with these cell counts; "" and "all" mean everything.

    >>> parse_ranges("m:16-32", {"m": 64, "n": 8})
    {'m': (16.0, 32.0), 'n': (0, 8)}
    """
    full_ranges: dict[str, Range] = {dim: (0, count) for dim, count in counts.items()}
    return full_ranges if text in ("", ALL) else full_ranges | dict(_parse_range_parts(text, counts))


def _parse_range_parts(text: str, most: Mapping[str, float]) -> Iterator[tuple[str, Range]]:
    hint = f"Write all, or ranges as in {','.join(f'{dim}:0-{count:g}' for dim, count in most.items())}."
    for part in text.split(","):
        dim, _, span = part.strip().partition(":")
        first, _, last = span.partition("-")
        plain = all(n.replace(".", "", 1).isdecimal() and n.isascii() and len(n) < 9 for n in (first, last))
        if dim not in most or not plain or not 0 <= float(first) < float(last) <= most[dim]:
            raise LayoutError("bad_view", f"view is '{shorten_value(text)}'.", hint, "view")
        yield dim, (float(first), float(last))


def format_ranges(ranges: Mapping[str, Range]) -> str:
    """Return ranges as text that `parse_window` accepts: numbers with at most two decimals.

    >>> format_ranges({"m": (16.0, 32), "n": (0.25, 9)})
    'm:16-32,n:0.25-9'
    """
    return ",".join(f"{dim}:{format_number(first)}-{format_number(last)}" for dim, (first, last) in ranges.items())


def format_number(number: float) -> str:
    """Format a number with at most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
