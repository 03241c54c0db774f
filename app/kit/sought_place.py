"""A place that a text names, and the element that it means in a matrix."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value


@dataclass(frozen=True, slots=True)
class SoughtPlace:
    """A place that a text names. Fields that the text does not specify are None; an unnamed `matrix` is "".

    coords: (row, column). index: number of an element in an unspecified order. line: "row" or "col", and its number.
    thread: with `warp`, a lane of that warp. warp alone: all its lanes. is_lane: the thread was called a lane. unit:
    what the holder was called, "" for lane and thread. register, value: of that thread; without a thread they, and
    bits, the first and last bit of a register, only narrow another place. odd: text in the place of an index that is
    not a number.
    """

    matrix: str = ""
    coords: tuple[int, int] | None = None
    index: int | None = None
    line: tuple[str, int] | None = None
    thread: int | None = None
    warp: int | None = None
    is_lane: bool = False
    unit: str = ""
    register: int | None = None
    value: int | None = None
    bits: tuple[int, int] | None = None
    odd: str = ""

    @property
    def is_warp(self) -> bool:
        """Return whether the place is a whole warp."""
        return self.warp is not None and self.thread is None

    @property
    def is_detail(self) -> bool:
        """Return whether the place is only a matrix, or a register, value or bit of no named thread."""
        return (self.coords, self.index, self.line, self.thread, self.warp) == (None,) * 5

    @property
    def part(self) -> int | None:
        """Return which matrix of a load the place is in, None for an operand."""
        return int(self.matrix[6:]) if self.matrix[:6] == "matrix" and self.matrix[6:] else None

    @property
    def letter(self) -> str:
        """Return the operand's letter, "" if the text names none."""
        return "" if self.part is not None else self.matrix

    @property
    def text(self) -> str:
        """Return the place in the spelling that every find field accepts."""
        letter = self.letter.upper() if self.part is None else f"matrix {self.part}"
        if self.coords:
            return f"{letter or 'element'}[{self.coords[0]}][{self.coords[1]}]"
        if self.index is not None:
            return f"{letter}[{self.index}]"
        if self.line:
            return f"{'row' if self.line[0] == 'row' else 'column'} {self.line[1]}{f' of {letter}' if letter else ''}"
        return _format_bits(*self.bits) if self.bits else self._format_holder(letter)

    def _format_holder(self, letter: str) -> str:
        what = f"{letter} of " if letter else ""
        if self.is_warp:
            return f"{what}warp {self.warp}"
        if self.register is not None:
            what = f"{letter} R{self.register} of ".lstrip()
        if self.value is not None:
            what = f"{self.letter or 'value '}{self.value} of "
        if self.is_detail:
            return what.removesuffix(" of ")
        warp = f"warp {self.warp} " if self.warp is not None else ""
        return f"{what}{warp}{'lane' if self.is_lane else 'thread'} {self.thread}"


def _format_bits(first: int, last: int) -> str:
    if first == last:
        return f"bit {first}"
    byte = f"byte {first // 8}, " if first % 8 == 0 and last == first + 7 else ""
    return f"{byte}bits {last}:{first}"


def check_whole(place: SoughtPlace, code: str, field: str) -> None:
    """Raise LayoutError `code` if a number of a place is not an index."""
    if place.odd:
        hint = "Elements have a row and a column; all numbers are whole, from 0."
        raise LayoutError(code, f"‘{shorten_value(place.odd, 20)}’ is not an index here.", hint, field)


def check_element(place: SoughtPlace, rows: int, cols: int, title: str) -> tuple[int, int]:
    """Return row and column of an element; LayoutError `bad_find` names the legal range."""
    if place.line:
        hint = f"Name an element: {title}[{place.line[1]}][0]."
        raise LayoutError("bad_find", "A whole row or column is not found here.", hint, "find")
    if place.coords is None:
        assert place.index is not None
        return _check_index(place.index, rows, cols, title)
    row, col = place.coords
    if row >= rows or col >= cols:
        raise LayoutError(
            "bad_find", f"{title} is {rows} × {cols}: rows 0–{rows - 1}, columns 0–{cols - 1}.", "", "find"
        )
    return row, col


def list_orders(index: int, rows: int, cols: int) -> dict[str, tuple[int, int]]:
    """List the elements that one number may mean, by the order of counting: one order if all give the same.

    >>> list_orders(5, 16, 16)
    {'row by row': (0, 5), 'column by column': (5, 0)}
    """
    by_row, by_column = divmod(index, cols), divmod(index, rows)[::-1]
    return {"row by row": by_row} | ({"column by column": by_column} if by_column != by_row else {})


def _check_index(index: int, rows: int, cols: int, title: str) -> tuple[int, int]:
    """Return the element that one number means; LayoutError if it depends on the order of counting."""
    if index >= rows * cols:
        legal = f"{title}[0] to {title}[{rows * cols - 1}]"
        raise LayoutError("bad_find", f"{title} has {rows * cols} elements, {legal}.", "", "find")
    orders = list_orders(index, rows, cols)
    if len(orders) > 1:
        meanings = ", ".join(f"{title}[{row}][{col}] counted {order}" for order, (row, col) in orders.items())
        raise LayoutError("bad_find", f"{title}[{index}] may be {meanings}.", "Write row and column.", "find")
    return orders["row by row"]
