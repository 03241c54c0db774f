"""The matrices of the page: each with its title, the window it shows, and its picture for readers without scripts."""

from __future__ import annotations

from math import ceil, log2

from lanescope.app.instruction.state import PageState
from lanescope.app.instruction.stored import Stored, panel_of, stored
from lanescope.app.kit.fact import fact
from lanescope.ptx.instruction import WARP, Instruction
from lanescope.render import window
from lanescope.render.matrix import matrix
from lanescope.render.view import ADDRESS, Figure, Panel
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
    stored: Stored | None


def matrices(found: Instruction, figure: Figure, chosen: PageState, shown: dict[str, Range]) -> list[Matrix]:
    """Every matrix of a figure in its window."""
    return [_matrix(found, panel, chosen, shown) for panel in figure.panels]


def _matrix(found: Instruction, panel: Panel, chosen: PageState, shown: dict[str, Range]) -> Matrix:
    rows, cols = (shown[dim] for dim in window.dims_of(found, panel))
    rows, cols = (rows[0], min(rows[1], panel.rows)), (cols[0], min(cols[1], panel.cols))
    op = panel.grid.operand if panel.grid else None
    held = panel if op else panel_of(found, panel, chosen.major(panel.name))
    return Matrix(
        name=panel.name,
        title=title_of(found, panel),
        about=about(found, panel),
        cute=op.cute if op and op.name != ADDRESS else "",
        pattern=str(op.pattern) if op else "",
        rows=_step(rows),
        cols=_step(cols),
        svg=matrix(
            held,
            rows,
            cols,
            colour=chosen.colour,
            label=chosen.label,
            threads=chosen.thread_set(),
            title=f"{title_of(found, panel)} of {found.ptx}",
        ),
        stored=None if op else stored(found, panel.name, chosen.major(panel.name)),
    )


def title_of(found: Instruction, panel: Panel) -> str:
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


def about(found: Instruction, panel: Panel) -> str:
    """What a matrix's rows and columns are, and its size and type."""
    stored = panel.grid is not None and panel.grid.operand.kept is not None
    rows, cols = window.dims_of(found, panel)
    dims = f"{rows} × {'k' if cols == 's' else cols}, " if found.family.multiplies else ""
    if panel.grid and set(panel.grid.operand.plane) != {"row", "col"}:
        dims = f"{' × '.join(panel.grid.operand.plane)}, "
    element = panel.grid.operand.element.name if panel.grid else found.types.get(panel.name, "")
    return f"{dims}{panel.rows} × {panel.cols}{' stored' if stored else ''} · {element}"


def _step(span: Range) -> int:
    """The power of two that holds a range: the style sheet has a class for each."""
    return 1 << max(2, ceil(log2(max(1.0, span[1] - span[0]))))


@fact
class View:
    """A part of the matrices that a link shows."""

    text: str
    value: str
    chosen: bool


def views(found: Instruction, figure: Figure, chosen: PageState) -> list[View]:
    """The whole, the opening view where that is less, and each warp of a warpgroup."""
    whole = {dim: (0.0, float(count)) for dim, count in window.extents(found, figure).items()}
    opened = window.opening(found, figure)
    out = [("Fit", window.WHOLE)]
    if opened == whole:
        return [View(text="Fit", value="", chosen=not chosen.view)]
    if not found.family.scope.several:
        out.append(("Labels", ""))
    else:
        high = found.sizes["m"] * WARP.threads // found.threads
        rest = {dim: span for dim, span in opened.items() if dim != "m"}
        out += [
            (f"Warp {n}", window.written({"m": (n * high, n * high + high), **rest}) if n else "")
            for n in range(found.threads // WARP.threads)
        ]
    return [View(text=text, value=value, chosen=chosen.view == value) for text, value in out]
