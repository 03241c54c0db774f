"""Parse a request for a delivery: an instruction or a pattern, the source, and the axes that may be permuted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lanescope.delivery.conversions import ROWS, WIDTHS
from lanescope.delivery.memory import Memory, place_elements
from lanescope.delivery.places import Fragment, make_fragment, make_pattern_operand
from lanescope.delivery.solve import DEFAULT_LIMIT, Delivery, parse_allowed, solve_delivery
from lanescope.descriptor.matrix import MOST_SHARED
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, quote_value
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.shared.storage import Storage, storage

SOURCES = ("rows", "columns", "layout", "chosen", "accumulator")
RENUMBERED = {"none": (), "k": ("k",), "n": ("n",), "both": ("k", "n")}
PER = ("element", "row", "column")
TYPES = tuple(dict.fromkeys((*(row.source for row in ROWS), *(row.target for row in ROWS))))
LONGEST_SIDE = 64  # most operands side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRequest:
    """A request.

    instruction: PTX, with an operand's letter, or a pattern of one warp, with the element's `type`. first, second: the
    number of operands side by side along m or n, and along k (n for C and D). source: rows (k contiguous), columns (m
    or n contiguous), a CuTe layout over (m or n, k) in elements, the order that one wide load delivers, or the
    accumulator (D) of `accumulator`, by default the same instruction.
    """

    instruction: str
    operand: str = "a"
    type: str = ""
    per: str = "element"
    first: int = 1
    second: int = 1
    stored: str = ""
    source: str = "rows"
    pitch_bytes: int = 0
    swizzle: str = "none"
    layout: str = ""
    accumulator: str = ""
    renumber: str = "none"
    moves: str = ""
    limit: int = DEFAULT_LIMIT


def deliver(instruction: str, operand: str = "a", **fields: Any) -> Delivery:
    """Return the shortest program that delivers an operand from memory, or the reason why there is none.

    fields: those of DeliveryRequest.

    >>> found = deliver("mma.m16n8k16.row.col.f32.f16.f16.f32", "b", source="columns")
    >>> [step.says for step in found.steps], found.count
    (['ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16'], 1)
    """
    return answer_request(DeliveryRequest(instruction=instruction, operand=operand, **fields))


def answer_request(request: DeliveryRequest) -> Delivery:
    """Return the shortest program for a request. LayoutError names the invalid field."""
    operand, type_ = _read_operand(request)
    accumulator = (
        _find_accumulator(request) if parse_choice(request.source, "source", SOURCES) == "accumulator" else None
    )
    start_type = accumulator.element.name if accumulator else type_
    stored = parse_choice(request.stored, "stored", TYPES) if request.stored else start_type
    tiles = (_check_tiles(request.first, "first"), _check_tiles(request.second, "second"))
    per = parse_choice(request.per, "per", PER)
    goal = make_fragment(operand, tiles, per, WIDTHS[type_] if request.type else 0)
    allowed = parse_allowed(request.moves)
    renumber = RENUMBERED[parse_choice(request.renumber, "renumber", RENUMBERED)]
    unknown = [axis for axis in renumber if axis not in goal.space.axes]
    if unknown:
        raise LayoutError(
            "bad_choice",
            f"renumber is '{request.renumber}'; the operand has no {unknown[0]}.",
            f"Its axes are {' and '.join(goal.space.axes)}.",
            "renumber",
        )
    source: Memory | Fragment | None = None
    if accumulator:
        source = _fill_with_accumulators(accumulator, goal, stored)
    elif request.source != "chosen":
        width = WIDTHS[stored] if request.stored else goal.width
        source = _place(request, goal, width)
    return solve_delivery(goal, type_, source, stored, renumber=renumber, allowed=allowed, limit=request.limit)


def _check_tiles(count: int, field: str) -> int:
    if count < 1 or count > LONGEST_SIDE or count & count - 1:
        raise LayoutError("bad_number", f"{field} is {count}.", f"A power of two from 1 to {LONGEST_SIDE}.", field)
    return count


def _read_operand(request: DeliveryRequest) -> tuple[Operand, str]:
    """Return the operand and the name of its element type."""
    if "->" in request.instruction:
        type_ = parse_choice(request.type or "f16", "type", TYPES)
        return make_pattern_operand(request.instruction, WIDTHS[type_]), type_
    instruction = lookup.parse_instruction(request.instruction, "instruction")
    operand = _find_operand(instruction, request.operand, "operand")
    return operand, parse_choice(request.type, "type", TYPES) if request.type else operand.element.name


def _find_operand(instruction: Instruction, letter: str, field: str) -> Operand:
    operands = {name: operand for name, operand in instruction.operands.items() if name in "abcd"}
    if not operands:
        message = f"{instruction.ptx} has no operand in registers."
        hint = "Choose an mma, a wmma.mma, or a wgmma with A in registers."
        raise LayoutError("bad_instruction", message, hint, "instruction")
    if not isinstance(letter, str) or letter not in operands:
        message = f"{instruction.ptx} has no operand {quote_value(letter)}."
        raise LayoutError("bad_operand", message, f"It has {', '.join(operands)}.", field)
    return operands[letter]


def _place(request: DeliveryRequest, goal: Fragment, width: int) -> Memory:
    """Return the source of the elements. LayoutError names the invalid field."""
    field = "layout" if request.source == "layout" else "pitch_bytes"
    storage = _read_storage(request, goal, width)
    try:
        memory = place_elements(goal.space, width, storage)
    except LayoutError as error:
        raise error.move_to_field(field) from None
    size = memory.size * width // 8
    if size > MOST_SHARED:
        raise LayoutError(
            "too_large",
            f"The elements span {size:,} bytes; the loads read shared memory.",
            f"At most {MOST_SHARED:,} bytes, the shared memory of a block on sm_90.",
            field,
        )
    return memory


def _read_storage(request: DeliveryRequest, goal: Fragment, width: int) -> Storage:
    source = request.source
    if source == "layout":
        spec: Mapping[str, object] = {"kind": "cute", "layout": request.layout, "unit": "elements"}
        try:
            return storage(spec, width, "K")
        except LayoutError as error:
            raise error.move_to_field("layout") from None
    inner = "K" if source == "rows" else "MN"
    along = goal.space.bits[1 if source == "rows" else 0]
    pitch = request.pitch_bytes or max(16, (width << along) // 8)
    spec = {"kind": "rows", "inner": inner, "pitch_bytes": pitch, "swizzle": request.swizzle}
    try:
        return storage(spec, width, inner)
    except LayoutError as error:
        raise error.move_to_field(error.field.removeprefix("storage.")) from None


def _find_accumulator(request: DeliveryRequest) -> Operand:
    """Return the D that becomes A of the next product, whose k is D's columns."""
    if request.operand != "a" or "->" in request.instruction or request.per != "element":
        raise LayoutError(
            "bad_operand",
            f"The accumulator cannot become {request.instruction if '->' in request.instruction else request.operand}.",
            "D becomes operand a of the next product, whose k is D's columns.",
            "operand",
        )
    instruction = lookup.parse_instruction(request.accumulator or request.instruction, "accumulator")
    return _find_operand(instruction, "d", "accumulator")


def _fill_with_accumulators(operand: Operand, goal: Fragment, stored: str) -> Fragment:
    """Return the contents of the registers of enough D's to fill A."""
    rows, columns = (1 << bits for bits in goal.space.bits)
    single = make_fragment(operand)
    tiles = [size >> bits for size, bits in zip((rows, columns), single.space.bits, strict=True)]
    if 0 in tiles:
        raise LayoutError(
            "bad_operand",
            f"D has {1 << single.space.bits[0]}×{1 << single.space.bits[1]} elements per warp, A {rows}×{columns}.",
            "Use more A operands side by side.",
            "first",
        )
    if single.width != WIDTHS.get(stored, single.width):
        raise LayoutError(
            "bad_choice",
            f"stored is '{stored}', but the accumulator has {operand.element.name}.",
            f"Leave it out: {operand.element.name}.",
            "stored",
        )
    return replace(make_fragment(operand, (tiles[0], tiles[1])), space=goal.space)
