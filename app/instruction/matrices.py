"""The matrices of the page: each with its title, the window it shows, and its picture for readers without scripts."""

from __future__ import annotations

from math import ceil, log2

from lanescope.app.instruction.shared_operands import SharedOperand, build_offset_panel, build_shared_operand
from lanescope.app.instruction.state import PageState
from lanescope.app.kit.fact import fact
from lanescope.ptx.instruction import WARP, Instruction
from lanescope.render import window
from lanescope.render.matrix import render_matrix
from lanescope.render.view import ADDRESS, FigurePanel, PanelFigure
from lanescope.render.window import Range


@fact
class Matrix:
    """One matrix. `svg`: its cells; rows, cols: how many are shown, as a class of the style sheet; stored: where no
    thread holds it.
    """

    name: str
    title: str
    about: str
    cute: str
    pattern: str
    rows: int
    cols: int
    svg: str
    stored: SharedOperand | None


def build_matrices(found: Instruction, figure: PanelFigure, chosen: PageState, shown: dict[str, Range]) -> list[Matrix]:
    """Every matrix of a figure in its window."""
    return [_build_matrix(found, panel, chosen, shown) for panel in figure.panels]


def _build_matrix(found: Instruction, panel: FigurePanel, chosen: PageState, shown: dict[str, Range]) -> Matrix:
    rows, cols = (shown[dim] for dim in window.get_dimensions(found, panel))
    rows, cols = (rows[0], min(rows[1], panel.rows)), (cols[0], min(cols[1], panel.cols))
    op = panel.grid.operand if panel.grid else None
    held = panel if op else build_offset_panel(found, panel, chosen.get_major(panel.name))
    return Matrix(
        name=panel.name,
        title=format_matrix_title(found, panel),
        about=describe_matrix(found, panel),
        cute=op.cute if op and op.name != ADDRESS else "",
        pattern=str(op.pattern) if op else "",
        rows=_round_up_span(rows),
        cols=_round_up_span(cols),
        svg=render_matrix(
            held,
            rows,
            cols,
            colour=chosen.colour,
            label=chosen.label,
            threads=chosen.parse_threads(),
            title=f"{format_matrix_title(found, panel)} of {found.ptx}",
        ),
        stored=None if op else build_shared_operand(found, panel.name, chosen.get_major(panel.name)),
    )


def format_matrix_title(found: Instruction, panel: FigurePanel) -> str:
    """A matrix's name as people say it: "D = C" where C has D's map."""
    if len(panel.name) > 1:
        return panel.title
    ops = found.operands
    same = (
        panel.name == "d"
        and "c" in ops
        and (ops["c"].pattern, ops["c"].element) == (ops["d"].pattern, ops["d"].element)
    )
    return "D = C" if same else panel.name.upper()


def describe_matrix(found: Instruction, panel: FigurePanel) -> str:
    """What a matrix's rows and columns are, and its size and type."""
    stored = panel.grid is not None and panel.grid.operand.kept is not None
    rows, cols = window.get_dimensions(found, panel)
    dims = f"{rows} × {'k' if cols == 's' else cols}, " if found.family.multiplies else ""
    if panel.grid and set(panel.grid.operand.plane) != {"row", "col"}:
        dims = f"{' × '.join(panel.grid.operand.plane)}, "
    element = panel.grid.operand.element.name if panel.grid else found.types.get(panel.name, "")
    return f"{dims}{panel.rows} × {panel.cols}{' stored' if stored else ''} · {element}"


def _round_up_span(span: Range) -> int:
    """The power of two that holds a range: the style sheet has a class for each."""
    return 1 << max(2, ceil(log2(max(1.0, span[1] - span[0]))))


@fact
class ViewLink:
    """A part of the matrices that a link shows."""

    text: str
    value: str
    chosen: bool


def list_views(found: Instruction, figure: PanelFigure, chosen: PageState) -> list[ViewLink]:
    """The whole, the opening view where that is less, and each warp of a warpgroup."""
    whole = {dim: (0.0, float(count)) for dim, count in window.count_cells(found, figure).items()}
    opened = window.make_opening_window(found, figure)
    out = [("Fit", window.WHOLE)]
    if opened == whole:
        return [ViewLink(text="Fit", value="", chosen=not chosen.view)]
    if not found.family.scope.several:
        out.append(("Labels", ""))
    else:
        high = found.sizes["m"] * WARP.threads // found.threads
        rest = {dim: span for dim, span in opened.items() if dim != "m"}
        out += [
            (f"Warp {n}", window.format_ranges({"m": (n * high, n * high + high), **rest}) if n else "")
            for n in range(found.threads // WARP.threads)
        ]
    return [ViewLink(text=text, value=value, chosen=chosen.view == value) for text, value in out]
