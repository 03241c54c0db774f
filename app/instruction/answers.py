"""The owners of an element and the values of a lane, with their tables; as facts and as text."""

from __future__ import annotations

from typing import TypeAlias

from lanescope.app.instruction.facts import Detail, OperandMap
from lanescope.app.instruction.wmma import PointerCheck
from lanescope.app.kit.fact import fact, make_optional_field
from lanescope.errors import LayoutError
from lanescope.inputs import parse_digits, shorten_value
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.targets import format_targets


@fact
class HeldValue:
    """One value that a thread holds: its name, register and bits, and its element."""

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
    """All holders of an element."""

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
    """The values of one thread."""

    operand: str
    thread: int
    values: tuple[HeldValue, ...]


Answer: TypeAlias = Detail | OperandMap | ElementOwners | LaneValues | tuple[HeldValue, ...]


def find_owners(op: Operand, coordinates: str) -> ElementOwners:
    """Find every owner of the element at "row,col" (m8n8k4: "row,col,product")."""
    parts = [parse_digits(part.strip()) for part in coordinates.split(",")]
    coords = [part[0] for part in parts if part]
    if len(coords) != len(parts) or len(coords) < 2:
        example = [str(min(number, op.extents[axis] - 1)) for axis, number in zip(op.axes, (3, 2, 1), strict=False)]
        raise LayoutError(
            "bad_coordinate",
            f"'{shorten_value(coordinates)}' is not an element.",
            f"Write {','.join(op.axes)}, e.g. {','.join(example)}.",
            "at",
        )
    if len(coords) != len(op.axes):
        raise LayoutError(
            "bad_coordinate",
            f"'{shorten_value(coordinates)}' has {len(coords)} numbers, but an element of {op.name.upper()} has"
            f" {len(op.axes)}.",
            f"Write {','.join(op.axes)}.",
            "at",
        )
    for axis, number in zip(op.axes, coords, strict=True):
        if number >= op.extents[axis]:
            raise LayoutError(
                "bad_coordinate",
                f"{axis} {number} is outside {op.name.upper()}.",
                f"Allowed: 0 to {op.extents[axis] - 1}.",
                "at",
            )
    owners = tuple(find_value(op, thread, value) for thread, value in op.pattern.owners(*coords))
    return ElementOwners(operand=op.name, **dict(zip(op.axes, coords, strict=True)), owners=owners)


def find_lane_values(op: Operand, thread: int, value: int | None) -> LaneValues:
    """Find the values of one thread, or one of them."""
    if thread >= op.threads:
        raise LayoutError("bad_lane", f"No lane {thread}.", f"Allowed: 0 to {op.threads - 1}.", "lane")
    if value is not None and value >= op.values:
        raise LayoutError(
            "bad_value", f"No value {value}.", f"Allowed: {op.name}0 to {op.name}{op.values - 1}.", "value"
        )
    chosen_values = range(op.values) if value is None else [value]
    return LaneValues(operand=op.name, thread=thread, values=tuple(find_value(op, thread, v) for v in chosen_values))


def find_all_values(op: Operand) -> tuple[HeldValue, ...]:
    """Find the values of every thread."""
    return tuple(find_value(op, thread, value) for thread in range(op.threads) for value in range(op.values))


def find_value(op: Operand, thread: int, value: int) -> HeldValue:
    """Return thread, value, register, bits and element of one value."""
    register, bit = op.register_of(value)
    element = dict(zip(op.axes, op.pattern.element_at(thread, value), strict=True))
    return HeldValue(
        thread=thread,
        value=value,
        name=f"{op.name}{value}",
        register=register,
        bit=bit,
        bits=op.element.bits,
        **element,
    )


def format_answer(instruction: Instruction, op: Operand | None, result: Answer) -> str:
    """Format the answer for a terminal or a pipe."""
    if op is None or isinstance(result, Detail):
        assert isinstance(result, Detail)
        return _format_instruction(result)
    head, body = build_table(op, result)
    widths = [max(len(row[n]) for row in [head, *body]) for n in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *body]
    )


def _format_instruction(detail: Detail) -> str:
    """Format one instruction: a few lines an operand, and its requirements on memory."""
    lines = [detail.ptx, f"  targets {format_targets(detail.targets)}  PTX {detail.ptx_version}+"]
    for op in detail.operands:
        lines.append(f"  {op.name.upper()} {op.rows}×{op.cols} {op.element_type}, {op.registers} × .{op.register_type}")
        lines += [f"      {op.pattern}", f"      {op.cute}"]
        lines += ["      " + line for line in op.formula.forward.splitlines()]
        lines += [f"      {item.text}" for item in op.evidence if item.kind in ("agrees", "inferred")]
    lines += [
        f"  {line}" for line in (detail.open, detail.idesc and f"idesc {detail.idesc}, layout {detail.layout}") if line
    ]
    lines += [f"  {line}" for line in (detail.share, *(detail.operands_open or {}).values()) if line]
    if memory := detail.memory:
        lines.append(
            f"  {memory.cpp}, {memory.num_elements} elements in {memory.num_storage_elements} × {memory.storage_type}"
        )
        lines += [
            f"      {requirement.document}: pointer a multiple of {requirement.pointer_bytes} bytes, ldm a multiple of"
            f" {requirement.ldm_elements} elements"
            for requirement in memory.requirements
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
    """Return the check of a pointer and an ldm in an answer; None without them."""
    return result.memory.check if isinstance(result, Detail) and result.memory else None


def build_table(op: Operand, result: Answer) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of an answer's table."""
    if isinstance(result, ElementOwners):
        held_values = result.owners
    elif isinstance(result, LaneValues):
        held_values = result.values
    else:
        held_values = result if isinstance(result, tuple) else find_all_values(op)
    head = [op.scope.thread, "value", "register", "bits", "element"]
    body = [
        [
            str(held_value.thread),
            held_value.name,
            f"R{held_value.register}",
            f"[{held_value.bit + op.padding_below + held_value.bits - 1}:{held_value.bit + op.padding_below}]",
            f"{op.name.upper()}[{','.join(str(getattr(held_value, axis)) for axis in op.axes)}]",
        ]
        for held_value in held_values
    ]
    return head, body
