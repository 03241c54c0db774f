"""Find TMA copies whose rows another axis of the grid counts: exchanged maps or an exchanged grid of a launch, or the
row coordinate of the other operand.

A coordinate that moves with blockIdx.y reaches the rows that gridDim.y counts. If the tensor of the copy has those that
gridDim.x counts, the grid of the launch and the sizes of the tensor contradict each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.map_objects import list_filled_names
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.workbench.copies.named_maps import find_named_map
from lanescope.workbench.copies.transfers import TileCopy, find_coordinate, is_known, list_copies
from lanescope.workbench.kernels.kernel_runs import PRODUCTS, KernelRun, KernelText
from lanescope.workbench.repair.blamed_numbers import find_argument_span, find_given_value, find_grid_place
from lanescope.workbench.results import Span
from lanescope.workbench.text.names import find_operand_letter, split_name

TITLES = {
    "row_coordinate_other": "The row coordinate of a copy is that of the other operand",
    "grid_exchanged": "The dimensions of a launch's grid are exchanged",
}
_BLOCK = re.compile(r"blockIdx\.([xyz])")
_SIZES = frozenset("mn")
_MOST_FOLLOWED = 4
Grid = Mapping[str, SymbolicInt | None]


@dataclass(frozen=True, slots=True)
class _RowCopy:
    """A copy whose coordinate `number` depends on an axis of the grid, by `step` rows a block."""

    copy: TileCopy
    map: TensorMap
    number: int
    axis: str
    step: int

    def fits(self, axis: str, grid: Grid) -> bool | None:
        """Return whether an axis of the grid counts the rows of the tensor; None if that is open."""
        extent, size = grid.get(axis), self.map.dims[self.number]
        if extent is None:
            return None
        if size is not None and extent.known is not None:
            return extent.known in (size // self.step, -(-size // self.step))
        if size is not None or extent.known is not None:
            return None
        own = self.map.symbols.get(f"dims[{self.number}]", "")
        return re.search(rf"(?<!\w){re.escape(own)}(?!\w)", str(extent)) is not None if own else None

    def find_other_axis(self, grid: Grid) -> str:
        """Return the axis that counts the rows of the tensor if the one that moves the copy does not; "" otherwise."""
        fitting = [axis for axis in grid if axis != self.axis and self.fits(axis, grid)]
        return fitting[0] if len(fitting) == 1 and self.fits(self.axis, grid) is False else ""


def find_launch_argument(text: KernelText, copy: TileCopy) -> Span | None:
    """Find the argument of the launch that passes the map of a copy; None if the kernel is not launched with it."""
    parameters, launch = _find_launch(text, copy)
    number = next((n for n, parameter in enumerate(parameters) if parameter in copy.maps), None)
    if number is None or not list_filled_names(copy.maps):
        return None
    return find_argument_span(text.blank, launch, number)


def passes_argument_twice(text: KernelText, copy: TileCopy) -> bool:
    """Return whether the launch gives the map of a copy to another parameter, too: both operands are of one matrix."""
    parameters, launch = _find_launch(text, copy)
    spans = [find_argument_span(text.blank, launch, n) for n in range(len(parameters))]
    given = [text.blank[slice(*span)].strip() if span is not None else "" for span in spans]
    mine = {value for parameter, value in zip(parameters, given, strict=True) if parameter in copy.maps and value}
    return any(given.count(value) > 1 for value in mine)


def passes_own_sizes(text: KernelText, copy: TileCopy) -> bool:
    """Return whether the launch of a kernel passes M and N as M and N, so that no transposed product is meant."""
    parameters, launch = _find_launch(text, copy)
    passed = {}
    for number, parameter in enumerate(parameters):
        own = _SIZES & {word.lower() for word in split_name(parameter)}
        at = find_argument_span(text.blank, launch, number) if len(own) == 1 else None
        if at is not None:
            given = _SIZES & {word.lower() for word in split_name(text.blank[slice(*at)])}
            passed[min(own)] = given
    return passed == {"m": {"m"}, "n": {"n"}}


def _find_launch(text: KernelText, copy: TileCopy) -> tuple[tuple[str, ...], Span]:
    """Return the parameters of the kernel that makes a copy, and the call that launches it."""
    kernels = {f.name: f.parameters for f in text.functions if f.kernel}
    name, launch = next((call for call in copy.event.calls if call[0] in kernels), ("", (0, 0)))
    return kernels.get(name, ()), launch


def find_row_mistakes(text: KernelText, run: KernelRun) -> Iterator[Pitfall]:
    """Yield copies whose rows another axis of the grid counts."""
    grid = _find_grid(text, run)
    multiplies = any(event.kind in PRODUCTS for event in run.events)
    rows = list(_list_rows(text, run).values()) if grid is not None and multiplies and is_known(run) else []
    if grid is None or len(rows) != 2 or _equates_sizes(text.blank, grid):
        return
    others = [row.find_other_axis(grid) for row in rows]
    if others == [rows[1].axis, rows[0].axis]:
        yield _make_exchanged_pitfall(text, rows)
    elif others.count("") == 1 and rows[0].axis == rows[1].axis:
        yield from (_make_row_pitfall(text, row, axis) for row, axis in zip(rows, others, strict=True) if axis)


def _equates_sizes(blank: str, grid: Grid) -> bool:
    """Return whether a text compares two of the sizes in a grid for equality: the kernel may be for square D alone."""
    names = {word for value in grid.values() for word in re.findall(r"[A-Za-z_]\w*", str(value))}
    compared = re.finditer(r"\b([A-Za-z_]\w*)\s*[!=]=\s*(?:\w+(?:\.|->))*([A-Za-z_]\w*)\b", blank)
    return any(one[1] != one[2] and {one[1], one[2]} <= names for one in compared)


def _find_grid(text: KernelText, run: KernelRun) -> Grid | None:
    """Return the grid of the launch of a run; None if it is not known."""
    grids = [record.grid for record in text.code.launches if (record.name, record.call) == run.calls[-1]]
    return dict(zip("xyz", grids[0], strict=False)) if len(grids) == 1 else None


def _list_rows(text: KernelText, run: KernelRun) -> dict[int, _RowCopy]:
    """Map each tensor map of a kernel to its first copy; {} if the rows of one are open or differ between copies."""
    rows: dict[int, _RowCopy] = {}
    for copy in list_copies(run, text.blank):
        tensor_map = find_named_map(copy.maps, text.maps) if copy is not None else None
        row = _find_row(copy, tensor_map) if copy is not None and tensor_map is not None else None
        first = rows.setdefault(id(row.map), row) if row is not None else None
        if row is None or first is None or (first.axis, first.number) != (row.axis, row.number):
            return {}
    return rows


def _find_row(copy: TileCopy, tensor_map: TensorMap) -> _RowCopy | None:
    """Return the coordinate of a copy that moves with the grid; None if there is none, or more depends on the block."""
    found = []
    for number, at in enumerate(copy.at):
        terms = at.plain.terms if at is not None and at.plain is not None else (("blockIdx", 1),)
        of_block = [(match, name, factor) for name, factor in terms if (match := re.search("blockIdx", name))]
        for _, name, factor in of_block:
            axis = _BLOCK.fullmatch(name)
            if axis is None or factor <= 0 or len(of_block) > 1:
                return None
            found.append(_RowCopy(copy, tensor_map, number, axis[1], factor))
    return found[0] if len(found) == 1 and found[0].number < min(2, len(tensor_map.dims)) else None


def _make_exchanged_pitfall(text: KernelText, rows: Sequence[_RowCopy]) -> Pitfall:
    """Make the mistake that two maps are exchanged in the launch; that the axes are, if names or boxes say so."""
    row, boxes = rows[0], [row.map.box[row.number] for row in rows]
    of_map = find_operand_letter(*row.map.names)
    into = find_operand_letter(*(name for name, _ in row.copy.to.terms)) if row.copy.to is not None else None
    if (of_map is not None and of_map == into) or (boxes[0] != boxes[1] and boxes == [row.step for row in rows]):
        return _find_exchanged_grid(text, rows) or _make_row_pitfall(text, row, rows[1].axis)
    message = (
        f"The row coordinate of the copies through this map depends on blockIdx.{row.axis}, but gridDim.{rows[1].axis}"
        " is the number of blocks along the rows of its tensor, and for the other map it is the reverse: exchange the"
        " two maps."
    )
    return Pitfall("tma_map_other", message, find_launch_argument(text, row.copy) or row.copy.event.at)


def _find_exchanged_grid(text: KernelText, rows: Sequence[_RowCopy]) -> Pitfall | None:
    """Return the mistake that a launch exchanges two dimensions of its grid, if the kernel would have to change in two
    statements instead; None if one statement takes both.
    """
    first, past = sorted(_find_block_place(text.blank, find_coordinate(text, row.copy, row.number)) for row in rows)
    place = find_grid_place(text.blank, _find_launch(text, rows[0].copy)[1])
    if place is None or ";" not in text.blank[first[1] : past[0]]:
        return None
    axes = sorted(row.axis for row in rows)
    message = (
        f"gridDim.{rows[1].axis} is the number of blocks along the rows of the tensor whose copies move with"
        f" blockIdx.{rows[0].axis}, and for the other operand it is the reverse: exchange the {axes[0]} and {axes[1]}"
        " dimensions of the grid."
    )
    return Pitfall("grid_exchanged", message, place)


def _find_block_place(blank: str, at: Span) -> Span:
    """Return where an expression, or a variable in it, takes the index of the block; itself if that is not seen."""
    places = [at]
    for _ in range(_MOST_FOLLOWED):
        if found := [place for place in places if _BLOCK.search(blank[slice(*place)])]:
            return found[0]
        names = [(name, place) for place in places for name in re.findall(r"[A-Za-z_]\w*", blank[slice(*place)])]
        values = (find_given_value(blank, name, place) for name, place in names)
        places = [value for value in values if value is not None]
    return at


def _make_row_pitfall(text: KernelText, row: _RowCopy, axis: str) -> Pitfall:
    return Pitfall(
        "row_coordinate_other",
        f"The row coordinate of this copy depends on blockIdx.{row.axis}, but gridDim.{axis} of the launch is the"
        " number of blocks along the rows of its tensor: the coordinate is that of the other operand, or the"
        " launch exchanges the dimensions of its grid.",
        find_coordinate(text, row.copy, row.number),
    )
