"""/cute: each step of CuTe's algebra, drawn and explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.question import link_to
from lanescope.app.layouts.atoms import expand_atoms
from lanescope.app.layouts.facts import CuteQuestion, build_cute_layout
from lanescope.app.layouts.sheet_pictures import SheetPicture, draw_sheet
from lanescope.cute import algebra
from lanescope.cute.calls import FITTED, OPS, AlgebraStep, evaluate_statements, find_nearest_fits, format_value
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.render.sheet import FOLDED, TileSheet, draw_sheets

Longs = NDArray[np.int64]
PATH = "/cute"
MOST_CELLS = 1 << 12


def build_cute_context(question: CuteQuestion, answer: Sequence[AlgebraStep]) -> dict[str, Any]:
    """Return the template's variables: each step drawn; for an illegal one CuTe's condition and legal alternatives."""
    steps, refused = [_build_step(step) for step in answer], answer[-1].error
    return {
        "steps": steps,
        "refused": refused,
        "atoms": expand_atoms(question.expression)[1],
        "fits": _list_alternatives(answer[-1]),
        "operations": {name: row.signature for name, row in OPS.items()},
        "pictured": urlencode({"expression": question.expression}) if steps[-1]["pictures"] and not refused else "",
    }


def link_expression(expression: str) -> str:
    """Link to the page of an expression."""
    return link_to(PATH, {"expression": expression})


def _list_alternatives(step: AlgebraStep) -> list[tuple[str, str]]:
    """Return legal right operands similar to the illegal one, with the page of each."""
    if step.op not in FITTED or step.error is None or step.error.code != "not_admissible":
        return []
    a, b = step.operands
    return [(str(fit), link_expression(f"{step.op}({a}, {fit})")) for fit in find_nearest_fits(a, b, OPS[step.op].act)]


def _build_step(step: AlgebraStep) -> dict[str, Any]:
    result = step.result
    return {
        "step": step,
        "result": format_value(result) if step.error is None else "",
        "facts": build_cute_layout(result),
        "pictures": draw_step(step),
        "parts": [(part.text, format_value(part.result), part.says) for part in step.parts],
        "alone": link_expression(step.text) if step.op not in ("layout", "index") else "",
    }


# pictures -------------------------------------------------------------------------------------------------------------


Drawn = tuple[TileSheet, str]  # a table of indices with its title


def draw_figure(query: Mapping[str, str], caption: str) -> str:
    """Return the last step of an expression as one picture in the page's colours."""
    return draw_sheets(build_sheets(query), caption)


def build_sheets(query: Mapping[str, str]) -> list[tuple[TileSheet, str, str]]:
    """Return the sheets of an expression's last step with colour and title. LayoutError if nothing can be drawn."""
    last = evaluate_statements(expand_atoms(query.get("expression", ""))[0])[-1]
    found = build_step_sheets(last) if last.error is None else _walk_refused(last)
    if not found:
        raise last.error or LayoutError("bad_figure", f"'{last.text}' draws nothing.", "A layout.", "expression")
    return [(sheet, sheet.grouped, title) for sheet, title in found]


def draw_step(step: AlgebraStep) -> list[SheetPicture]:
    """Return the drawn operand and result of a step."""
    return [_draw_sheet(*sheet) for sheet in (build_step_sheets(step) if step.error is None else _walk_refused(step))]


def build_step_sheets(step: AlgebraStep) -> list[Drawn]:
    """Return the first operand with the elements of the result, and the result; a fill per tile or copy."""
    a, result = step.operands[0] if step.operands else None, step.result
    if step.op == "create_tma_multicast_mask" and isinstance(a, CuteLayout):
        wide = [mode for mode in a.modes if mode.size > 1] or [algebra.ONE]
        return [_build_index_sheet(algebra.concatenate(*wide), _number_tiles(step), f"CTAs of {a}")]
    if step.op == "complement" and isinstance(a, CuteLayout) and isinstance(result, CuteLayout):
        return _build_target_sheet(a, result)
    out = []
    group = _number_tiles(step)
    if isinstance(a, CuteLayout) and step.op not in ("layout", *_PRODUCTS) and 0 < a.size <= MOST_CELLS:
        out.append(_build_index_sheet(a, group, str(a)))
    if isinstance(result, CuteLayout) and 0 < result.size <= MOST_CELLS:
        groups = dict.fromkeys(result.list_indices().tolist(), 0) if step.op == "slice" else group
        out.append(_build_index_sheet(result, groups, str(result)))
    return out


_PRODUCTS = {f"{word}_product" for word in ("logical", "zipped", "tiled", "flat", "blocked", "raked")}
_DIVIDES = {f"{word}_divide" for word in ("logical", "zipped", "tiled", "flat")}


def _number_tiles(step: AlgebraStep) -> dict[int, int]:
    """Return the tile or copy of each index: the second mode of a divide or product."""
    result = step.result
    if step.op == "create_tma_multicast_mask":
        return {rank: 0 for rank in range(16) if int(result) >> rank & 1}
    if not isinstance(result, CuteLayout):
        return {int(result): 0} if step.op == "index" else {}
    if step.op not in ("composition", "slice", *_DIVIDES, *_PRODUCTS):
        return {}
    tiled = result
    try:
        if step.op in _DIVIDES:
            tiled = algebra.zipped_divide(*step.operands)
        elif step.op in _PRODUCTS:
            tiled = _split_modes(*step.operands)
    except LayoutError:
        tiled = result
    if tiled.size > MOST_CELLS:
        return {}
    index = tiled.list_indices()
    if step.op == "slice":
        start = algebra.slice_and_offset(*step.operands)[1]
        return dict.fromkeys((result.list_indices() + start).tolist(), 0)
    first = tiled.modes[0].size if tiled.rank > 1 else max(1, tiled.size)
    return {int(at): number // first for number, at in reversed(list(enumerate(index.tolist())))}


def _split_modes(block: CuteLayout, tiler: Any) -> CuteLayout:
    """Return (block, copies) of a layout with two modes."""
    if isinstance(tiler, CuteLayout):
        count = max(block.rank, tiler.rank)
        ones = [algebra.ONE] * count
        return algebra.logical_product(
            algebra.concatenate(*block.modes, *ones[block.rank :]),
            algebra.concatenate(*tiler.modes, *ones[tiler.rank :]),
        )
    return algebra.zipped_product(block, tiler)


def _walk_refused(step: AlgebraStep) -> list[Drawn]:
    """Return an illegal composition: the first operand with the elements that the second would visit."""
    if step.op != "composition" or len(step.operands) != 2:
        return []
    a, b = step.operands
    if not isinstance(a, CuteLayout) or not isinstance(b, CuteLayout) or a.size > MOST_CELLS or b.size > MOST_CELLS:
        return []
    index, first = a.list_indices(), b.modes[0].size
    group = {
        int(index[at]): number // first
        for number, at in reversed(list(enumerate(b.list_indices().tolist())))
        if at < a.size
    }
    return [_build_index_sheet(a, group, f"{a}: what {b} walks over")]


def _build_index_sheet(layout: CuteLayout, group: Mapping[int, int], title: str) -> Drawn:
    """Return the indices of a layout: mode 0 down, the others across; a row if it has one mode or mode 0 is long."""
    index = layout.list_indices()
    rows = layout.modes[0].size if layout.rank > 1 else 1
    cells = index.reshape(-1, rows).T
    names: tuple[str, ...] = ()
    if layout.rank == 1:
        flat = np.full(-(-index.size // FOLDED) * FOLDED, -1, dtype=np.int64) if index.size > FOLDED else index.copy()
        flat[: index.size] = index
        cells = flat.reshape(-1, min(index.size, FOLDED))
        names = tuple(str(row * FOLDED) for row in range(len(cells)))
    elif rows > 12 and rows > 2 * cells.shape[1]:
        cells, title = cells.T, f"{title}, mode 0 across"
    groups = np.array([[group.get(int(at), -1) for at in row] for row in cells]) if group else cells
    return _build_sheet(cells, groups, title, names, "tile" if group else "index")


def _build_target_sheet(a: CuteLayout, rest: CuteLayout) -> list[Drawn]:
    """Return the indices of the target in order, each with the copy of A that reaches it: (A, R)."""
    filtered = algebra.filter_layout(a)
    if rest.size * filtered.size > MOST_CELLS:
        return []
    reached = np.add.outer(rest.list_indices(), filtered.list_indices())
    size = min(int(reached.max()) + 1, MOST_CELLS)
    line = np.full(-(-size // FOLDED) * FOLDED if size > FOLDED else size, -1, dtype=np.int64)
    for copy, indices in reversed(list(enumerate(reached.tolist()))):
        line[[at for at in indices if at < size]] = copy
    wide = min(size, FOLDED)
    numbers = np.arange(line.size, dtype=np.int64)
    numbers[size:] = -1
    cells = numbers.reshape(-1, wide)
    names = tuple(str(row * wide) for row in range(len(cells)))
    return [_build_sheet(cells, line.reshape(-1, wide), f"(A, R) over the indices: A is copy 0, R is {rest}", names)]


def _build_sheet(cells: Longs, groups: Longs, title: str, names: tuple[str, ...], grouped: str = "tile") -> Drawn:
    rows, cols = cells.shape
    sheet = TileSheet(
        rows, cols, place=cells, element_bits=32, row_names=names, groups=groups.astype(np.int64), grouped=grouped
    )
    return sheet, title


def _draw_sheet(sheet: TileSheet, title: str) -> SheetPicture:
    return draw_sheet(sheet, title, room=max(40.0, min(38.0 * sheet.cols, 1200.0)))
