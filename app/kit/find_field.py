"""Find fields: the places that a text names become pins.

A page declares its elements and their holders.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lanescope.app.kit.find import parse_places
from lanescope.app.kit.maps.bench import HOLDER_PIN, PIN
from lanescope.app.kit.sought_place import SoughtPlace, check_element
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import WARP


@dataclass(frozen=True, slots=True)
class FindMatrix:
    """A matrix of a find field. panel: its name in a pin; locate: maps an element to its cell, if another matrix shows
    it.
    """

    panel: str
    title: str
    rows: int
    cols: int
    locate: Callable[[int, int], tuple[int, int]] = lambda row, col: (row, col)


@dataclass(frozen=True, slots=True)
class HeldCell:
    """A value of a holder, with its register and cell."""

    panel: str
    title: str
    register: int
    value: int
    row: int
    col: int


@dataclass(frozen=True, slots=True)
class FindField:
    """Declaration of a find field.

    matrices: by the names people use; absent: names of matrices that are not shown, and why; holders: their numbers,
    empty if no thread holds an element; unit: name of a holder in a pin; warps: number of warps whose lanes are
    numbered separately; list_cells: the values of a holder; bare: one matrix needs no name; lanes: threads per warp.
    """

    matrices: Mapping[str, FindMatrix]
    example: str
    holders: Collection[int] = ()
    unit: str = "thread"
    warps: int = 1
    list_cells: Callable[[int], Iterable[HeldCell]] = lambda holder: ()
    bare: bool = False
    letter: str = "R"
    absent: Mapping[str, str] = field(default_factory=dict)
    lanes: int = WARP.threads

    def parse_places(self, text: str) -> list[SoughtPlace]:
        """Parse the places that a text names; LayoutError `bad_find` for any other text."""
        places = parse_places(text, {*self.matrices, *self.absent}, self.example, self.bare, self.unit)
        self.check_matrices(places)
        return places

    def check_matrices(self, places: Sequence[SoughtPlace]) -> None:
        """Raise LayoutError `bad_find` for a matrix that is not shown."""
        for place in places:
            if place.matrix in self.absent:
                raise _refuse(f"{place.matrix.upper()} {self.absent[place.matrix]}.")

    def find_pins(self, places: Sequence[SoughtPlace]) -> dict[str, str]:
        """Return the pins of one or two places, as parts of an address. LayoutError names the legal range."""
        return dict(zip(("pin", "pin2"), map(self._find_pin, places), strict=False))

    def find_holder(self, place: SoughtPlace) -> int:
        """Return a holder's number. LayoutError if a lane needs its warp."""
        number, unit = place.thread, self.unit.capitalize()
        assert number is not None
        if self.unit not in ("lane", "thread") and place.unit != self.unit:
            raise _refuse(f"No thread holds these cells: a {self.unit} does.", f"Try {self.example}.")
        if not self.holders:
            raise _refuse("Only an element is found here.", f"Try {self.example}.")
        if self.warps > 1 and place.is_lane and place.warp is None:
            hint = f"Write warp 0 lane {number} (warps 0–{self.warps - 1}), or a thread 0–{max(self.holders)}."
            raise _refuse(f"{self.warps} warps have a lane {number}.", hint)
        if place.warp is not None and (place.warp >= self.warps or number >= self.lanes):
            legal = f"warp 0–{self.warps - 1}, " if self.warps > 1 else ""
            raise _refuse(f"A warp has lanes 0–{self.lanes - 1}.", f"Write {legal}lane 0–{self.lanes - 1}.")
        number += self.lanes * (place.warp or 0)
        if number not in self.holders:
            raise _refuse(f"There is no {self.unit} {number} here.", f"{unit}s run from 0 to {max(self.holders)}.")
        return number

    def get_matrix(self, place: SoughtPlace) -> FindMatrix:
        """Return the matrix that a place names, or the first."""
        return self.matrices.get(place.matrix) or next(iter(self.matrices.values()))

    def _find_pin(self, place: SoughtPlace) -> str:
        matrix = self.get_matrix(place)
        if place.is_warp:
            hint = f"Write an element, or warp {place.warp} lane 0."
            raise _refuse(f"Warp {place.warp} holds many elements; one place is found here.", hint)
        if place.thread is None:
            row, col = matrix.locate(*check_element(place, matrix.rows, matrix.cols, matrix.title))
            return PIN.format(panel=matrix.panel, row=row, col=col)
        holder = self.find_holder(place)
        if place.register is None and place.value is None:
            return HOLDER_PIN.format(unit=self.unit, holder=holder)
        cells = [cell for cell in self.list_cells(holder) if not place.matrix or cell.panel == matrix.panel]
        for cell in cells:
            if place.value == cell.value or (place.value is None and place.register == cell.register):
                return PIN.format(panel=cell.panel, row=cell.row, col=cell.col)
        sought = f"value {place.value}" if place.register is None else f"{self.letter}{place.register}"
        raise _refuse(f"{self.unit.capitalize()} {holder} has no {sought}.", self._list_legal(cells, place))

    def _list_legal(self, cells: Sequence[HeldCell], place: SoughtPlace) -> str:
        legal = []
        for panel in dict.fromkeys(cell.panel for cell in cells):
            in_panel = [cell for cell in cells if cell.panel == panel]
            title, name = in_panel[0].title, in_panel[0].title.lower() if place.register is None else self.letter
            numbers = [cell.value if place.register is None else cell.register for cell in in_panel]
            before = "" if place.register is None else f"{title} "
            legal.append(f"{before}{name}{min(numbers)}–{name}{max(numbers)}")
        return f"It has {', '.join(legal) or 'nothing here'}."


def _refuse(message: str, hint: str = "") -> LayoutError:
    return LayoutError("bad_find", message, hint, "find")
