"""Which lane of a load or store supplies the address of which row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.kit.find import MOST_TOGETHER
from lanescope.app.kit.maps.bench import PIN
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.errors import LayoutError
from lanescope.names.form_names import name_form
from lanescope.ptx.instruction import Instruction, Operand


def answer_lane(
    form: Instruction, sought: SoughtPlace
) -> tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]:
    """Return the row whose address a lane supplies."""
    op, lane = form.address, sought.thread or 0
    assert op is not None
    if lane >= op.threads:
        hint = f"Lanes 0 to {op.threads - 1} supply the addresses of rows."
        raise LayoutError("bad_lane", f"{name_form(form).text} uses no address of lane {lane}.", hint, "text")
    return _describe_addresses(op, [lane])


def answer_row(
    form: Instruction, sought: SoughtPlace, number: int
) -> tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]:
    """Return the lane that supplies the address of a row, of one matrix or of each."""
    op = form.address
    assert op is not None
    matrices, rows = (op.coords[axis][:, 0].tolist() for axis in ("matrix", "row"))
    places = list(zip(matrices, rows, strict=True))
    part = range(max(matrices) + 1) if sought.part is None else [sought.part]
    lanes_found = [places.index(place) for matrix in part if (place := (matrix, number)) in places]
    if not lanes_found:
        hint = f"It takes the addresses of rows 0–{max(rows)} of matrices 0–{max(matrices)}."
        raise LayoutError("bad_coordinate", f"{name_form(form).text} has no {sought.text}.", hint, "text")
    return _describe_addresses(op, lanes_found)


def _describe_addresses(
    op: Operand, supplying: list[int]
) -> tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]:
    """Describe which row's address each of these lanes supplies."""
    holders = []
    for lane in supplying:
        matrix, row = (int(op.coords[axis][lane, 0]) for axis in ("matrix", "row"))
        holders.append({"operand": op.name, "thread": lane, "matrix": matrix, "row": row, "text": f"lane {lane}"})
    notices = (
        f"Lane {holder['thread']} supplies the address of row {holder['row']} of matrix {holder['matrix']}."
        for holder in holders
    )
    pins = [
        PIN.format(panel=f"{op.name}{holder['matrix']}", row=holder["row"], col=0) for holder in holders[:MOST_TOGETHER]
    ]
    return holders, dict(zip(("pin", "pin2"), pins, strict=False)), tuple(notices)
