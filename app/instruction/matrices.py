"""The matrices of the page: each with its title, the window it shows, and its picture for readers without scripts."""

from __future__ import annotations

from math import ceil, log2

from lanescope.app.instruction.shared_operands import SharedOperand, build_offset_panel, build_shared_operand
from lanescope.app.instruction.state import PageState
from lanescope.app.instruction.supplies import SupplyMatrix
from lanescope.app.kit.fact import fact
from lanescope.ptx.instruction import WARP, Instruction
from lanescope.render import window
from lanescope.render.figure import FigurePanel, PanelFigure
from lanescope.render.matrix import render_matrix
from lanescope.render.view import ADDRESS
from lanescope.render.window import Range


@fact
class Matrix:
    """One matrix. `svg`: its cells; rows: how many are shown, as a class of the style sheet; stored: its place if no
    thread holds it; blocks: how many scale factors of B a column has.
    """

    name: str
    title: str
    about: str
    cute: str
    pattern: str
    rows: int
    svg: str
    stored: SharedOperand | None
    blocks: int = 0


def build_matrices(
    instruction: Instruction, figure: PanelFigure, page_state: PageState, spans: dict[str, Range]
) -> list[Matrix]:
    """Build every matrix of a figure in its window."""
    return [_build_matrix(instruction, panel, page_state, spans) for panel in figure.panels]


def _build_matrix(
    instruction: Instruction, panel: FigurePanel, page_state: PageState, spans: dict[str, Range]
) -> Matrix:
    rows, cols = (spans[dim] for dim in window.get_dimensions(instruction, panel))
    rows, cols = (rows[0], min(rows[1], panel.rows)), (cols[0], min(cols[1], panel.cols))
    op = panel.grid.operand if panel.grid else None
    shown = (rows[1] - rows[0]) * (cols[1] - cols[0])
    drawn_panel = panel if op else build_offset_panel(instruction, panel, page_state.get_major(panel.name), shown)
    return Matrix(
        name=panel.name,
        title=format_matrix_title(instruction, panel),
        about=describe_matrix(instruction, panel),
        cute=op.cute if op and op.name != ADDRESS else "",
        pattern=str(op.pattern) if op else "",
        rows=_round_up_span(rows),
        svg=render_matrix(
            drawn_panel,
            rows,
            cols,
            colour=page_state.colour,
            label=page_state.label,
            threads=page_state.parse_threads(),
            title=f"{format_matrix_title(instruction, panel)} of {instruction.ptx}",
        ),
        stored=None if op else build_shared_operand(instruction, panel.name, page_state.get_major(panel.name)),
    )


def build_supply_matrix(supply: SupplyMatrix, page_state: PageState, spans: dict[str, Range]) -> Matrix:
    """Build metadata or scale factors: the rows of A (columns of B) that are shown, and all of the other dimension."""
    rows, cols = (0.0, float(supply.rows)), (0.0, float(supply.cols))
    rows, cols = (rows, spans["n"]) if supply.of == "b" else (spans["m"], cols)
    panel = supply.make_panel(page_state.colour, page_state.label, page_state.parse_threads())
    return Matrix(
        name=supply.name,
        title=supply.caption,
        about=supply.about,
        cute="",
        pattern="",
        rows=_round_up_span(rows),
        svg=render_matrix(
            panel,
            rows,
            cols,
            colour=page_state.colour,
            label=page_state.label,
            title=f"{supply.caption}, {supply.about}",
        ),
        stored=None,
        blocks=supply.rows if supply.of == "b" else 0,
    )


def format_matrix_title(instruction: Instruction, panel: FigurePanel) -> str:
    """Format the title of a matrix: "D = C" if C has D's map."""
    if len(panel.name) > 1:
        return panel.title
    ops = instruction.operands
    alike = (
        panel.name == "d"
        and "c" in ops
        and (ops["c"].pattern, ops["c"].element) == (ops["d"].pattern, ops["d"].element)
    )
    return "D = C" if alike else panel.name.upper()


def describe_matrix(instruction: Instruction, panel: FigurePanel) -> str:
    """Describe the rows and columns of a matrix, its size and type."""
    stored = panel.grid is not None and panel.grid.operand.kept_of_group is not None
    rows, cols = window.get_dimensions(instruction, panel)
    dims = f"{rows} × {'k' if cols == 's' else cols}, " if instruction.family.multiplies else ""
    if panel.grid and set(panel.grid.operand.plane) != {"row", "col"}:
        dims = f"{' × '.join(panel.grid.operand.plane)}, "
    element = panel.grid.operand.element.name if panel.grid else instruction.types.get(panel.name, "")
    return f"{dims}{panel.rows} × {panel.cols}{' stored' if stored else ''} · {element}"


def _round_up_span(span: Range) -> int:
    """Return the power of two that contains a range: the style sheet has a class for each."""
    return 1 << max(2, ceil(log2(max(1.0, span[1] - span[0]))))


@fact
class ViewLink:
    """A part of the matrices that a link shows."""

    text: str
    value: str
    chosen: bool


def list_views(instruction: Instruction, figure: PanelFigure, page_state: PageState) -> list[ViewLink]:
    """List the views: the full matrices, the opening view if that is smaller, and each warp of a warpgroup."""
    whole_view = {dim: (0.0, float(count)) for dim, count in window.count_cells(instruction, figure).items()}
    opening = window.make_opening_window(instruction, figure)
    views = [("Fit", window.ALL)]
    if opening == whole_view:
        return [ViewLink(text="Fit", value="", chosen=not page_state.view)]
    if not instruction.family.scope.several:
        views.append(("Labels", ""))
    else:
        warp_rows = instruction.sizes["m"] * WARP.threads // instruction.threads
        rest = {dim: span for dim, span in opening.items() if dim != "m"}
        views += [
            (f"Warp {n}", window.format_ranges({"m": (n * warp_rows, n * warp_rows + warp_rows), **rest}) if n else "")
            for n in range(instruction.threads // WARP.threads)
        ]
    return [ViewLink(text=text, value=value, chosen=page_state.view == value) for text, value in views]
