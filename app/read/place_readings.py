"""What a place does not specify: the matrix of an element or row, and the counting order of a single number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from lanescope.app.instruction import lanes, shared_operands
from lanescope.app.kit.sought_place import SoughtPlace, list_orders
from lanescope.app.read.element_texts import SCALES
from lanescope.app.read.facts import Meaning
from lanescope.blackwell import bound
from lanescope.errors import LayoutError
from lanescope.names.form_names import name_form
from lanescope.ptx.instruction import Instruction, Operand


@dataclass(frozen=True, slots=True)
class PlaceReading:
    """The completed places of a question, and the sentences that say what was assumed."""

    places: tuple[SoughtPlace, ...]
    notices: tuple[str, ...] = ()


def list_readings(form: Instruction, places: Sequence[SoughtPlace], a_shared: bool = False) -> list[PlaceReading]:
    """List the interpretations of the places of a question, one if they are complete.

    a_shared: whether A is in shared memory. LayoutError if a place with one number has no such element.
    """
    open_matrix = [place for place in places if _needs_matrix(place)]
    names = _list_matrices(form, open_matrix, a_shared) if open_matrix else [""]
    readings = []
    for name in names:
        named = tuple(replace(place, matrix=name) if _needs_matrix(place) else place for place in places)
        assumed = () if len(names) < 2 else (f"The text does not name a matrix: this is {name.upper()}.",)
        readings += [
            PlaceReading(reading.places, (*assumed, *reading.notices)) for reading in _list_ordered(form, named)
        ]
    return readings


def find_operand(form: Instruction, name: str) -> Operand:
    """Return an operand by its letter; without a letter D, or the only operand. C if the instruction has no D."""
    if not name:
        name = "d" if "d" in form.operands else next(iter(form.operands))
    if name == "c" and "c" not in form.operands and "d" in form.operands:
        name = "d"
    if name == "d" and "d" not in form.operands and "c" in form.operands:
        name = "c"
    if name in form.family.elsewhere and name in ("a", "b"):
        raise LayoutError(
            "operand_not_in_registers",
            f"{name.upper()} of {name_form(form).text} is in shared memory: no thread holds its elements.",
            "Its descriptor defines where they are.",
            "text",
        )
    return form.operand(name)


def check_coords(form: Instruction, op: Operand, row: int, col: int) -> None:
    """Raise LayoutError if a row or a column is outside an operand."""
    sizes = {"row": op.row_count, "column": op.col_count}
    outside = [
        f"{axis} {number} is outside 0–{sizes[axis] - 1}"
        for axis, number in (("row", row), ("column", col))
        if not 0 <= number < sizes[axis]
    ]
    if not outside:
        return
    letter, stored = lanes.format_panel_title(op.name), " stored" if op.sparsity else ""
    why = " and ".join(outside)
    share = f" {bound.describe_share(form.mma)}" if isinstance(form, bound.BoundMma) and form.mma.ctas > 1 else ""
    raise LayoutError(
        "bad_coordinate",
        f"{why[0].upper()}{why[1:]} of {letter} of {name_form(form).text}.",
        f"Its rows go from 0 to {sizes['row'] - 1} and its{stored} columns from 0 to {sizes['column'] - 1}.{share}",
        "text",
    )


def link_shared(form: Instruction, place: SoughtPlace) -> tuple[Meaning, ...]:
    """Link the tile of a multiplicand in shared memory that a program would store by default, with the element found.

    () for any other operand.
    """
    if place.letter not in form.family.elsewhere or place.letter not in ("a", "b") or not place.coords:
        return ()
    tile, depth = shared_operands.build_default_tile(form, place.letter, "K")
    mn, k = place.coords if place.letter == "a" else place.coords[::-1]
    if min(mn, k) < 0 or mn >= tile.mn or k >= depth or tile.element_bits < 8:
        return ()
    shared = shared_operands.build_shared_operand(form, place.letter, "K")
    letter = "m" if place.letter == "a" else "n"
    return (
        Meaning(
            kind="topic",
            title=f"{place.text} in a {tile.major}-major tile with the {tile.mode.name} swizzle: {letter} {mn}, k {k}",
            link=f"{shared.tile}&{urlencode({'find': f'[{mn}][{k}]'}, safe='[]')}",
            facts={},
            notices=("The page takes any other storage.",),
        ),
    )


def _needs_matrix(place: SoughtPlace) -> bool:
    return not place.matrix and place.thread is None and not place.is_warp


def _list_matrices(form: Instruction, places: Sequence[SoughtPlace], a_shared: bool) -> list[str]:
    """List the operands that contain all these places, D first for elements; the first operand if none does."""
    names = [op.name for op in lanes.list_distinct_operands(form) if op.name != "a" or not a_shared]
    if places[0].coords or not names:
        names.sort(key=lambda name: name not in "cd")
    having = [name for name in names if all(_has_place(form.operands[name], place) for place in places)]
    return (having or names[:1]) if len(names) > 1 else [""]


def _has_place(op: Operand, place: SoughtPlace) -> bool:
    row, col = place.coords or (0, 0)
    if place.line:
        row, col = (place.line[1], 0) if place.line[0] == "row" else (0, place.line[1])
    return 0 <= row < op.row_count and 0 <= col < op.col_count and (place.index or 0) < op.row_count * op.col_count


def _list_ordered(form: Instruction, places: tuple[SoughtPlace, ...]) -> list[PlaceReading]:
    """List one reading for each order of counting, if a place is a single number."""
    if not any(map(_is_counted, places)):
        return [PlaceReading(places)]
    readings: dict[tuple[SoughtPlace, ...], PlaceReading] = {}
    for order in ("row by row", "column by column"):
        ordered, notices = [], []
        for place in places:
            if place.index is None or not _is_counted(place):
                ordered.append(place)
                continue
            op = find_operand(form, place.letter)
            letter, count = op.name.upper(), op.row_count * op.col_count
            if not 0 <= place.index < count or place.odd:
                message = f"{letter} of {name_form(form).text} has no {place.text}."
                hint = f"It has {count} elements, {letter}[0] to {letter}[{count - 1}]."
                raise LayoutError("bad_coordinate", message, hint, "text")
            orders = list_orders(place.index, op.row_count, op.col_count)
            coords = orders.get(order, orders["row by row"])
            ordered.append(replace(place, coords=coords, index=None))
            if len(orders) > 1:
                notices.append(f"Counted {order}, {letter}[{place.index}] is {letter}[{coords[0]}][{coords[1]}].")
        readings.setdefault(tuple(ordered), PlaceReading(tuple(ordered), tuple(notices)))
    return list(readings.values())


def _is_counted(place: SoughtPlace) -> bool:
    """Return whether a place is a single number that counts the elements of an operand with rows and columns."""
    return place.index is not None and place.letter not in (*SCALES, "e")
