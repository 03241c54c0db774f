"""The two questions and their tables: element → who holds it, lane → what it holds; as dicts and as text."""

from __future__ import annotations

from typing import Any

from layouts.errors import LayoutError
from layouts.instruction import Instruction, Operand
from layouts.reading import digits, shown

Json = dict[str, Any]


def at_element(op: Operand, at: str) -> Json:
    """Every owner of the element at "row,col" (m8n8k4: "row,col,product")."""
    parts = [digits(part.strip()) for part in at.split(",")]
    coords = [part[0] for part in parts if part]
    if len(coords) != len(parts) or len(coords) < 2:
        raise LayoutError("bad_coordinate", f"'{shown(at)}' is no element.", f"Write {','.join(op.axes)}, e.g. 3,2.", "at")
    if len(coords) != len(op.axes):
        raise LayoutError(
            "bad_coordinate", f"'{shown(at)}' has {len(coords)} numbers.", f"{op.name.upper()} takes {', '.join(op.axes)}.", "at"
        )
    for axis, number in zip(op.axes, coords, strict=True):
        if number >= op.extents[axis]:
            raise LayoutError("bad_coordinate", f"{axis} {number} is outside {op.name.upper()}.", f"0 to {op.extents[axis] - 1}.", "at")
    owners = [place(op, thread, value) for thread, value in op.pattern.owners(*coords)]
    return {"operand": op.name, **dict(zip(op.axes, coords, strict=True)), "owners": owners}


def of_lane(op: Operand, thread: int, value: int | None) -> Json:
    """What one thread holds, or one of its values."""
    if thread >= op.threads:
        raise LayoutError("bad_lane", f"No lane {thread}.", f"0 to {op.threads - 1}.", "lane")
    if value is not None and value >= op.values:
        raise LayoutError("bad_value", f"No value {value}.", f"{op.name}0 to {op.name}{op.values - 1}.", "value")
    wanted = range(op.values) if value is None else [value]
    return {"operand": op.name, "thread": thread, "values": [place(op, thread, v) for v in wanted]}


def place(op: Operand, thread: int, value: int) -> Json:
    """Thread, value, register, bits and element of one held value."""
    register, bit = op.register_of(value)
    element = {axis: int(array[thread, value]) for axis, array in op.coords.items()}
    return {
        "thread": thread,
        "value": value,
        "name": f"{op.name}{value}",
        "register": register,
        "bit": bit,
        "bits": op.element.bits,
        **element,
    }


def text(found: Instruction, op: Operand | None, result: Json) -> str:
    """The answer for a terminal or a pipe."""
    if op is None:
        lines = [found.ptx, f"  targets {' '.join(result['targets'])}  PTX {result['ptx_version']}+"]
        for facts in result["operands"]:
            lines.append(
                f"  {facts['name'].upper()} {facts['rows']}×{facts['cols']} {facts['element_type']}, {facts['registers']} × .{facts['register_type']}"
            )
            lines += [f"      {facts['pattern']}", f"      {facts['cute']}"]
            lines += ["      " + line for line in facts["formula"]["forward"].splitlines()]
        memory = result["memory"]
        if memory:
            lines.append(
                f"  {memory['cpp']}, {memory['num_elements']} elements in {memory['num_storage_elements']} × {memory['storage_type']}"
            )
            lines += [
                f"      {asked['document']}: pointer a multiple of {asked['pointer_bytes']} bytes, ldm a multiple of {asked['ldm_elements']} elements"
                for asked in memory["requirements"]
            ]
            lines.append(
                f"      both: {memory['pointer_bytes']} bytes, {memory['ldm_elements']} elements; left out, ldm is {memory['default_stride']}"
            )
        return "\n".join(lines)
    head, body = rows(op, result)
    widths = [max(len(row[n]) for row in [head, *body]) for n in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *body])


def rows(op: Operand, result: Json) -> tuple[list[str], list[list[str]]]:
    """The table of an answer: its head and its lines."""
    held = result.get("owners") or result.get("values")
    if not isinstance(held, list):
        held = [place(op, thread, value) for thread in range(op.threads) for value in range(op.values)]
    head = [op.scope.thread, "value", "register", "bits", "element"]
    body = [
        [
            str(h["thread"]),
            h["name"],
            f"R{h['register']}",
            f"[{h['bit'] + h['bits'] - 1}:{h['bit']}]",
            f"{op.name.upper()}[{','.join(str(h[a]) for a in op.axes)}]",
        ]
        for h in held
    ]
    return head, body
