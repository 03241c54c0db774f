"""The two questions and their tables: element → who holds it, lane → what it holds; as facts and as text."""

from __future__ import annotations

from typing import TypeAlias

from lanescope.app.instruction.facts import Detail, OperandMap
from lanescope.app.instruction.wmma import PointerCheck
from lanescope.app.kit.fact import fact, make_optional_field
from lanescope.errors import LayoutError
from lanescope.inputs import parse_digits, shorten_value
from lanescope.ptx.instruction import Instruction, Operand


@fact
class HeldValue:
    """One value that a thread holds: its name, register and bits, and the element it is."""

    thread: int
    value: int
    name: str
    register: int
    bit: int
    bits: int
    matrix: int | None = make_optional_field()
    row: int | None = make_optional_field()
    col: int | None = make_optional_field()
    product: int | None = make_optional_field()
    lane: int | None = make_optional_field()
    column: int | None = make_optional_field()
    word: int | None = make_optional_field()
    half: int | None = make_optional_field()
    group: int | None = make_optional_field()
    scale: int | None = make_optional_field()


@fact
class ElementOwners:
    """Everyone who holds an element."""

    operand: str
    matrix: int | None = make_optional_field()
    row: int | None = make_optional_field()
    col: int | None = make_optional_field()
    product: int | None = make_optional_field()
    lane: int | None = make_optional_field()
    column: int | None = make_optional_field()
    word: int | None = make_optional_field()
    half: int | None = make_optional_field()
    group: int | None = make_optional_field()
    scale: int | None = make_optional_field()
    owners: tuple[HeldValue, ...]


@fact
class LaneValues:
    """What one thread holds."""

    operand: str
    thread: int
    values: tuple[HeldValue, ...]


Answer: TypeAlias = Detail | OperandMap | ElementOwners | LaneValues


def find_owners(op: Operand, at: str) -> ElementOwners:
    """Every owner of the element at "row,col" (m8n8k4: "row,col,product")."""
    parts = [parse_digits(part.strip()) for part in at.split(",")]
    coords = [part[0] for part in parts if part]
    if len(coords) != len(parts) or len(coords) < 2:
        raise LayoutError(
            "bad_coordinate", f"'{shorten_value(at)}' is not an element.", f"Write {','.join(op.axes)}, e.g. 3,2.", "at"
        )
    if len(coords) != len(op.axes):
        raise LayoutError(
            "bad_coordinate",
            f"'{shorten_value(at)}' has {len(coords)} numbers.",
            f"{op.name.upper()} takes {', '.join(op.axes)}.",
            "at",
        )
    for axis, number in zip(op.axes, coords, strict=True):
        if number >= op.extents[axis]:
            raise LayoutError(
                "bad_coordinate",
                f"{axis} {number} is outside {op.name.upper()}.",
                f"0 to {op.extents[axis] - 1}.",
                "at",
            )
    owners = tuple(find_value(op, thread, value) for thread, value in op.pattern.owners(*coords))
    return ElementOwners(operand=op.name, **dict(zip(op.axes, coords, strict=True)), owners=owners)


def find_lane_values(op: Operand, thread: int, value: int | None) -> LaneValues:
    """What one thread holds, or one of its values."""
    if thread >= op.threads:
        raise LayoutError("bad_lane", f"No lane {thread}.", f"0 to {op.threads - 1}.", "lane")
    if value is not None and value >= op.values:
        raise LayoutError("bad_value", f"No value {value}.", f"{op.name}0 to {op.name}{op.values - 1}.", "value")
    wanted = range(op.values) if value is None else [value]
    return LaneValues(operand=op.name, thread=thread, values=tuple(find_value(op, thread, v) for v in wanted))


def find_value(op: Operand, thread: int, value: int) -> HeldValue:
    """Thread, value, register, bits and element of one held value."""
    register, bit = op.register_of(value)
    element = {axis: int(array[thread, value]) for axis, array in op.coords.items()}
    return HeldValue(
        thread=thread,
        value=value,
        name=f"{op.name}{value}",
        register=register,
        bit=bit,
        bits=op.element.bits,
        **element,
    )


def format_answer(found: Instruction, op: Operand | None, result: Answer) -> str:
    """The answer for a terminal or a pipe."""
    if op is None or isinstance(result, Detail):
        assert isinstance(result, Detail)
        return _format_instruction(result)
    head, body = build_table(op, result)
    widths = [max(len(row[n]) for row in [head, *body]) for n in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *body]
    )


def _format_instruction(told: Detail) -> str:
    """One instruction: a few lines an operand, and what memory must be like."""
    lines = [told.ptx, f"  targets {' '.join(told.targets)}  PTX {told.ptx_version}+"]
    for op in told.operands:
        lines.append(f"  {op.name.upper()} {op.rows}×{op.cols} {op.element_type}, {op.registers} × .{op.register_type}")
        lines += [f"      {op.pattern}", f"      {op.cute}"]
        lines += ["      " + line for line in op.formula.forward.splitlines()]
        lines += [f"      {item.text}" for item in op.evidence if item.kind in ("agrees", "inferred")]
    lines += [f"  {line}" for line in (told.open, told.idesc and f"idesc {told.idesc}, layout {told.layout}") if line]
    lines += [f"  {line}" for line in (told.share, *(told.operands_open or {}).values()) if line]
    if memory := told.memory:
        lines.append(
            f"  {memory.cpp}, {memory.num_elements} elements in {memory.num_storage_elements} × {memory.storage_type}"
        )
        lines += [
            f"      {asked.document}: pointer a multiple of {asked.pointer_bytes} bytes, ldm a multiple of"
            f" {asked.ldm_elements} elements"
            for asked in memory.requirements
        ]
        lines.append(
            f"      both: {memory.pointer_bytes} bytes, {memory.ldm_elements} elements; left out, ldm is"
            f" {memory.default_stride}"
        )
        if check := memory.check:
            lines.append(f"  pointer {check.pointer}, ldm {check.ldm}: {'legal' if check.legal else 'illegal'}")
            lines += [f"      {'✓' if rule.holds else '✗'} {rule.name}: {rule.text}" for rule in check.rules]
    return "\n".join(lines)


def get_pointer_check(result: Answer) -> PointerCheck | None:
    """Return what an answer says of a pointer and an ldm; None where none was given."""
    return result.memory.check if isinstance(result, Detail) and result.memory else None


def build_table(op: Operand, result: Answer) -> tuple[list[str], list[list[str]]]:
    """The table of an answer: its head and its lines."""
    if isinstance(result, ElementOwners):
        held = result.owners
    elif isinstance(result, LaneValues):
        held = result.values
    else:
        held = tuple(find_value(op, thread, value) for thread in range(op.threads) for value in range(op.values))
    head = [op.scope.thread, "value", "register", "bits", "element"]
    body = [
        [
            str(h.thread),
            h.name,
            f"R{h.register}",
            f"[{h.bit + h.bits - 1}:{h.bit}]",
            f"{op.name.upper()}[{','.join(str(getattr(h, axis)) for axis in op.axes)}]",
        ]
        for h in held
    ]
    return head, body
