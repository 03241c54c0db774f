"""The holder of a value of an instruction: its operand, thread, register and bits, and the panel that shows it."""

from __future__ import annotations

import dataclasses
from typing import Any

from lanescope.app.instruction import lanes, wording
from lanescope.app.instruction.answers import HeldValue
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.app.read import place_readings
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction, Operand, OperandPlace
from lanescope.render.figure import make_figure


def format_holders(holders: list[dict[str, Any]]) -> str:
    """Format the holders of an element: all, or the first four and the number of the others."""
    shown = "; ".join(holder["text"] for holder in holders[:4])
    return f"{shown}; and {len(holders) - 4} more" if len(holders) > 4 else shown


def _format_bits(first: int, count: int) -> str:
    return f"bits {first + count - 1}:{first}" if count > 1 else f"bit {first}"


def list_places(op: Operand, row: int, col: int, part: int | None = None) -> list[str]:
    """List the coordinates of an element: one for each of m8n8k4's products or of a load's matrices, otherwise one.

    part: only in this product or matrix; LayoutError if there is none.
    """
    down, across = op.plane
    extra = [axis for axis in op.axes if axis not in (down, across)]
    places: list[dict[str, int]] = [{down: row, across: col}]
    for axis in extra:
        count = op.extents[axis]
        if part is not None and part >= count:
            hint = f"They go from 0 to {count - 1}."
            raise LayoutError("bad_coordinate", f"There is no {axis} {part}.", hint, "text")
        places = [
            {**place, axis: n} for place in places for n in (range(count) if part is None else range(part, part + 1))
        ]
    return [",".join(str(place[axis]) for axis in op.axes) for place in places]


def find_panel(form: Instruction, op: Operand) -> str:
    """Find the panel of the page that shows an operand, "" if none does; D's also shows a C of the same layout."""
    panels = {panel.name for panel in make_figure(form).panels if panel.grid}
    if op.name in panels:
        return op.name
    return "d" if op.name == "c" and "d" in panels and lanes.is_c_like_d(form) else ""


def is_in_tensor_memory(op: Operand) -> bool:
    return op.scope.place is OperandPlace.TENSOR


def find_operands(form: Instruction, sought: SoughtPlace, a_shared: bool) -> dict[str, Operand]:
    """Find the operand that a place names, or all that threads may hold."""
    names = [sought.letter] if sought.letter else [op.name for op in lanes.list_distinct_operands(form)]
    found = (place_readings.find_operand(form, name) for name in names if name != "a" or not a_shared)
    return {op.name: op for op in found}


def describe_holder(form: Instruction, op: Operand, owner: HeldValue) -> dict[str, Any]:
    """Describe one value of a thread: its register and bits, and its element."""
    facts = {name: value for name, value in dataclasses.asdict(owner).items() if value is not None}
    facts["bit"] = bit = owner.bit + op.padding_below
    who, more = wording.format_holder(form, owner.thread)
    where = (
        f"register R{owner.register}" if op.scope.register == "register" else f"{op.scope.register} {owner.register}"
    )
    bits = f", {_format_bits(bit, owner.bits)}" if owner.bits < op.register_bits else ""
    thread = f" ({more})" if form.family.scope.several else ""
    part = "".join(f"{axis} {facts[axis]}: " for axis in op.axes if axis not in op.plane and axis in facts)
    return {"operand": op.name, **facts, "text": f"{part}{who}{thread}, {where}{bits}"}
