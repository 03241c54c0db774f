"""Questions about a lane, a thread, a register or a warp of an instruction: which elements it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanescope.app.instruction import answers, lanes
from lanescope.app.instruction.find import list_warp
from lanescope.app.instruction.state import SEPARATE
from lanescope.app.kit.answer import format_runs
from lanescope.app.kit.maps.bench import PIN
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.app.read.element_holders import describe_holder, find_operands, find_panel, is_in_tensor_memory
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.names.form_names import name_form
from lanescope.ptx.instruction import Instruction, Operand


def answer_warp(
    form: Instruction, sought: SoughtPlace, a_shared: bool
) -> tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]:
    """Return the rows and columns of each operand that a warp holds."""
    threads = list_warp(form, sought)
    operands = find_operands(form, sought, a_shared).values()
    holders = [
        describe_holder(form, op, owner)
        for op in operands
        for thread in threads
        for owner in answers.find_lane_values(op, thread, None).values
    ]
    unit = form.family.scope.thread
    notices = [f"Warp {sought.warp} is {unit}s {threads[0]}–{threads[-1]}."]
    for op in operands:
        shown = [holder for holder in holders if holder["operand"] == op.name and "row" in holder and "col" in holder]
        letter = lanes.format_panel_title(op.name)
        rows, cols = (sorted({holder[axis] for holder in shown}) for axis in ("row", "col"))
        if len({(holder["row"], holder["col"]) for holder in shown}) == len(rows) * len(cols) > 0:
            notices.append(f"{letter}: rows {format_runs(rows)}, columns {format_runs(cols)}.")
    return holders, {"lanes": f"{threads[0]}-{threads[-1]}"}, tuple(notices)


def answer_lane(
    form: Instruction, sought: SoughtPlace, a_shared: bool
) -> tuple[list[dict[str, Any]], Mapping[str, str], tuple[str, ...]]:
    """Return the elements of each operand that a lane or a thread holds, or one register of it."""
    operands = find_operands(form, sought, a_shared)
    if any(map(is_in_tensor_memory, operands.values())) and (sought.register is not None or not sought.is_lane):
        raise LayoutError(
            "operand_not_in_registers",
            f"{name_form(form).text} has its operands in tensor memory: lanes and columns, no registers of threads.",
            f"Ask for lane {sought.thread or 0}.",
            "text",
        )
    lane = _find_thread(form, sought)
    holders = [
        describe_holder(form, op, owner)
        for op in operands.values()
        for owner in answers.find_lane_values(op, lane, None).values
        if sought.register in (None, owner.register)
        and sought.value in (None, owner.value)
        and sought.part in (None, owner.matrix, owner.product)
    ]
    if not holders:
        hint = _describe_range(sought, operands, lane)
        raise LayoutError("bad_register", f"{sought.text} holds nothing of {name_form(form).text}.", hint, "text")
    notices = [
        _format_lane(op, [holder for holder in holders if holder["operand"] == op.name]) for op in operands.values()
    ]
    if form.family.scope.several and sought.is_lane and sought.warp is None:
        notices.append("This is the lane of the warpgroup's first warp; the others follow 32 threads apart.")
    query = {"lanes": str(lane)} | pin_value(form, operands, holders[0])
    return holders, query, tuple(filter(None, notices))


def _find_thread(form: Instruction, sought: SoughtPlace) -> int:
    """Return the number of the thread that the place names; LayoutError gives the legal range."""
    lane = sought.thread or 0
    threads = min(form.threads, 32) if sought.is_lane and form.family.scope.several else form.threads
    word = "lane" if sought.is_lane else form.family.scope.thread
    if lane >= threads:
        raise LayoutError(
            "bad_lane", f"{name_form(form).text} has no {word} {lane}.", f"They go from 0 to {threads - 1}.", "text"
        )
    if sought.warp is None:
        return lane
    warps = form.threads // 32
    if sought.warp >= warps:
        hint = f"It has warp {'0 alone' if warps == 1 else f'0 to {warps - 1}'}."
        raise LayoutError("bad_lane", f"{name_form(form).text} has no warp {sought.warp}.", hint, "text")
    if lane < 32:
        return lane + 32 * sought.warp
    if lane // 32 != sought.warp:
        hint = f"It is lane {lane % 32} of warp {lane // 32}."
        raise LayoutError("bad_lane", f"{word.capitalize()} {lane} is not in warp {sought.warp}.", hint, "text")
    return lane


def _name_register(sought: SoughtPlace, operands: Mapping[str, Operand], lane: int) -> str:
    """Name the registers that have the value of a place, "" if the thread lacks it."""
    held = (owner for op in operands.values() for owner in answers.find_lane_values(op, lane, None).values)
    found = sorted({owner.register for owner in held if sought.value is not None and owner.value == sought.value})
    name = f"{sought.letter}{sought.value}" if sought.letter else f"Value {sought.value}"
    return f"{name} is in {join_words([f'R{register}' for register in found])}." if found else ""


def _describe_range(sought: SoughtPlace, operands: Mapping[str, Operand], lane: int) -> str:
    """Describe which matrices, values or registers a thread has, or where it has a value."""
    if named := _name_register(sought, operands, lane):
        return named
    if sought.part is not None:
        counts = [op.extents[axis] for op in operands.values() for axis in ("matrix", "product") if axis in op.extents]
        return f"Matrices go from 0 to {max(counts) - 1}." if counts else "It has no numbered matrices."
    if sought.value is not None:
        last = max(op.values for op in operands.values()) - 1
        return f"Values go from {sought.letter}0 to {sought.letter}{last}."
    most = max(op.registers for op in operands.values())
    return f"Registers go from R0 to R{most - 1}."


def pin_value(form: Instruction, operands: Mapping[str, Operand], holder: dict[str, Any]) -> dict[str, str]:
    """Return the parts of an address that pin the element of a value, in its product."""
    query = {}
    if product := next((holder[axis] for axis in SEPARATE if axis in holder), 0):
        query["product"] = str(product)
    panel = f"matrix{holder['matrix']}" if "matrix" in holder else find_panel(form, operands[holder["operand"]])
    if panel and "row" in holder and "col" in holder:
        query["pin"] = PIN.format(panel=panel, row=holder["row"], col=holder["col"])
    return query


def _format_lane(op: Operand, holders: list[dict[str, Any]]) -> str:
    """Format the elements of an operand in each register of a lane."""
    letter = lanes.format_panel_title(op.name)
    registers: dict[int, list[str]] = {}
    for holder in holders:
        registers.setdefault(holder["register"], []).append(name_element(op.axes, holder))
    prefix = f"{op.scope.register} " if is_in_tensor_memory(op) else "R"
    shown = [f"{prefix}{register} {' '.join(places)}" for register, places in list(registers.items())[:8]]
    more = f" and {len(registers) - 8} more {op.scope.register}s" if len(registers) > 8 else ""
    parts = {f" of {axis} {holder[axis]}" for holder in holders for axis in SEPARATE if axis in holder}
    part = parts.pop() if len(parts) == 1 else ""
    return f"{letter}{part}: {', '.join(shown)}{more}." if shown else ""


def name_element(axes: Sequence[str], holder: Mapping[str, Any]) -> str:
    """Name the element of a value: A[5][9], matrix 1[3][2] of a load, lane 5 column 3 of tensor memory."""
    if "row" not in holder or "col" not in holder:
        return " ".join(f"{axis} {holder[axis]}" for axis in axes if axis in holder) or holder["name"]
    name = f"matrix {holder['matrix']}" if "matrix" in holder else lanes.format_panel_title(holder["operand"])
    return f"{name}[{holder['row']}][{holder['col']}]"
