"""What an evaluation keeps: values that look like descriptors, calls without a body, and the pitfalls of C it met."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import ULONG, IntegerType, find_common_type, promote
from lanescope.reader.code.bit_field_formats import NO_FORMAT
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.run_records import Arms
from lanescope.reader.code.scopes import Cell
from lanescope.reader.code.symbolic_integers import (
    FIELD_SHIFT,
    MOST_ORIGINS,
    LinearExpression,
    Span,
    SymbolBits,
    SymbolicInt,
    TextMark,
    convert_int,
)
from lanescope.reader.code.values import ObjectValue, OpaqueValue, RecordField

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_FOUND = 600
MOST_ASSEMBLED = 400
# (first bit, past last) of what a descriptor's bits are about, whatever its format
REGIONS = ((0, 16), (16, 32), (32, 46), (46, 49), (49, 52), (52, 53), (61, 64))
_FIELDS = frozenset((0, 16, 32, 46, 49, 52, 61, 62))  # where fields of wgmma's and tcgen05's descriptors begin
_HALVES = frozenset((8, 24, 40, 48, 56))  # where bytes and 16-bit halves begin, and no field does
_DESC = re.compile(r"desc|matrix_?d(?!im)|smem_?d\b|gmma|umma|wgmma", re.I)
_DESC_ONLY = re.compile(r"smem|gmma|umma|wgmma|mat", re.I)
_OTHER = re.compile(r"i_?desc|inst(?:r|ruction)?_?d|instr|tensor_?map|tma|mbar|barrier|policy|hint", re.I)


@dataclass(frozen=True, slots=True)
class Pitfall:
    """A mistake of the code itself: a code, a sentence, its place in the text."""

    code: str
    message: str
    span: Span


@dataclass(slots=True)
class FoundDescriptor:
    """A value that looks like a descriptor: the variable or expression it stands in, the loops around it with their
    variables' values, the calls it was made in."""

    name: str
    span: Span
    value: SymbolicInt
    loops: tuple[tuple[str, SymbolicInt], ...]
    calls: tuple[Span, ...]
    kind: str = ""
    cell: Cell | None = None
    order: int = 0  # when it got its value, among all that are found


@dataclass(frozen=True, slots=True)
class BodilessCall:
    """A call of a function that the text has no body of."""

    term: OpaqueValue
    loops: tuple[tuple[str, SymbolicInt], ...]
    result: str = ""
    calls: tuple[tuple[str, Span], ...] = ()  # the functions it was made in, outermost first
    order: int = 0  # among assemblies and calls, as they are run
    arms: Arms = ()  # of open conditions


@dataclass(frozen=True, slots=True)
class AsmRun:
    """An asm statement that was run. inputs: what each operand was, outputs first, None if it was not looked at;
    each with its place in the text."""

    text: str
    span: Span
    names: tuple[str, ...]  # of the operands, "" where they have none
    inputs: tuple[tuple[str, SymbolicInt | None, Span], ...]
    loops: tuple[tuple[str, SymbolicInt], ...]
    calls: tuple[tuple[str, Span], ...]
    order: int
    around: tuple[tuple[Span, ...], ...] = ()  # of each operand: the calls around the place where it is written
    arms: Arms = ()  # of open conditions
    places: tuple[tuple[str, tuple[str, ...]], ...] = ()  # symbols of variables' addresses → what these are called


def list_running_functions(ev: Evaluator) -> tuple[tuple[str, Span], ...]:
    """Return the functions that are being run, outermost first."""
    return tuple((frame.name, frame.span) for frame in ev.frames[1:])


def list_named_loops(ev: Evaluator) -> tuple[tuple[str, SymbolicInt], ...]:
    """Return the loops that are being run and their variables' values, without loops that have no variable."""
    return tuple(loop for loop in ev.loops if loop[0])


def format_expression(ev: Evaluator, node: Any) -> str:
    """Format an expression as it was written, on one line."""
    start, end = node.span
    text = " ".join(ev.text[start:end].split())
    return text if len(text) <= 60 else text[:57] + "…"


def add_pitfall(ev: Evaluator, code: str, message: str, span: Span) -> None:
    if len(ev.warned) < 40:
        ev.warned.setdefault((code, span), Pitfall(code, message, span))


# marks -----------------------------------------------------------------------------------------------------------


def mark_operand(ev: Evaluator, value: SymbolicInt, span: Span) -> SymbolicInt:
    """Mark an operand of | or + with the text that put the field there."""
    return mark_bits(value, span)


def mark_bits(value: SymbolicInt, span: Span) -> SymbolicInt:
    """Mark a value with the text that put it where it is; one that has marks keeps them."""
    if value.marks or span == (0, 0):
        return value
    bits: list[int] = []
    if value.const > 0:
        parts = ((low, past, value.const >> low & ((1 << (past - low)) - 1)) for low, past in REGIONS)
        bits = [
            value.low if low <= value.low < past else low + (part & -part).bit_length() - 1
            for low, past, part in parts
            if part
        ]
    if value.pieces or not bits:
        bits = [value.low, *(b for b in bits if b > value.low and value.pieces)]
    marks = tuple(TextMark(bit, span, value.origin) for bit in dict.fromkeys(bits))
    v = value
    return SymbolicInt(v.const, v.type, v.pieces, v.low, marks, v.origin, v.assumed)


def check_operation(ev: Evaluator, op: str, one: SymbolicInt, two: SymbolicInt, at: Any) -> None:
    """Warn of what C makes of an operation and its writer surely did not mean."""
    op = op.rstrip("=") or op
    if op in ("<<", ">>") and two.known is not None:
        _check_shift(ev, promote(one.type).bits, two.known, at)
    elif op == "|" and find_common_type(one.type, two.type).bits == 64:
        for value, where in ((one, "left"), (two, "right")):
            if _is_negative_int(value):
                side = getattr(at, where, None) or getattr(at, "value", at)
                message = (
                    f"{ev.format_expression(side)} is a negative int: widened to 64 bits it sets bits 32"
                    f" to 63. Make it unsigned."
                )
                add_pitfall(ev, "sign_extended", message, side.span)


def _check_shift(ev: Evaluator, width: int, by: int, at: Any) -> None:
    """Warn of a shift by more bits than the left side has."""
    if width == 32 and 32 <= by < 64:
        message = (
            f"{ev.format_expression(at)}: the left side has 32 bits, so a shift by {by} loses them all."
            f" Cast it to uint64_t first."
        )
        add_pitfall(ev, "shifts_of_32_bits", message, at.span)
    elif width and by >= width:
        add_pitfall(
            ev, "shift_too_far", f"{ev.format_expression(at)}: a shift by {by} of a value of {width} bits.", at.span
        )


def narrow_value(ev: Evaluator, value: SymbolicInt, kind: IntegerType, span: Span, name: str = "") -> SymbolicInt:
    """Narrow a value to an integer type: cut, or sign-extended."""
    widened = kind.bits == 64 and not kind.signed and value.type.bits == 32 and value.type.signed
    negative = value.known is not None and value.known < 0
    if widened and negative and (value.low or _DESC.search(name)):
        add_pitfall(
            ev,
            "sign_extended",
            f"A negative int is widened to 64 bits: bits 32 to 63 of {name or 'it'} are set.",
            span,
        )
    high = {m.bit for m in value.marks if m.bit >= 32}
    if kind.bits == 32 and high and _DESC.search(name) and not re.search(r"lo|low|hi|high", name, re.I):
        add_pitfall(ev, "high_word_missing", f"{name} has 32 bits: the descriptor's upper half is cut off.", span)
    return convert_int(value, kind)


def check_field_overflow(ev: Evaluator, field: RecordField, value: SymbolicInt, span: Span) -> None:
    """Report a known value that a bit field cuts, but not 0xb001 for 0b001: the field holds what is meant."""
    if value.known is not None and field.width < 32 and value.known >> field.width and value.known > 0:
        fits = "" if field.width != 14 else " The field counts 16 bytes, so shift the amount right by 4."
        stored = value.known & ((1 << field.width) - 1)
        binary = re.fullmatch(r"0[xX][bB]([01]+)", ev.text[slice(*span)].strip())
        if binary and int(binary[1], 2) == stored:
            return
        add_pitfall(
            ev,
            "bit_field_overflow",
            f"{value.known} does not fit the bit field's {field.width} bits: {stored} is stored.{fits}",
            span,
        )


def make_uninitialised(ev: Evaluator, cell: Cell, span: Span) -> SymbolicInt:
    kind = cell.kind.whole if cell.kind and cell.kind.whole else ULONG
    if cell.kind is not None:
        add_pitfall(ev, "uninitialised", f"{cell.name} is not initialised before bits are OR-ed into it.", span)
    return SymbolicInt(0, kind)


# records ---------------------------------------------------------------------------------------------------------


def _get_composed(value: Any) -> SymbolicInt | None:
    """Return the integer of a value that has the width of a descriptor, or of half of one, and was put together."""
    integer = get_integer(value) if not isinstance(value, OpaqueValue) else None
    return integer if integer is not None and integer.type.bits in (0, 32, 64) and integer.marks else None


def is_descriptor(ev: Evaluator, value: Any, name: str, kind: str = "") -> bool:
    """Return whether a value was put together as descriptors are: fields at their bits, or a name and some of them."""
    integer = _get_composed(value)
    if integer is None:
        return False
    text = f"{name} {kind}"
    if _is_of_another(ev, text):
        return False
    if integer.marks in ev.told and integer.type.bits != 32:
        return True
    lows = {low for low, past in REGIONS for m in integer.marks if low <= m.bit < past}
    wide = integer.type.bits != 32
    form = ev.bit_fields.get(kind)
    if form or _is_descriptor_name(text) or _is_descriptor_object(value):
        return len(lows) > 1 or (wide and isinstance(value, ObjectValue))
    if form == NO_FORMAT:
        ev.foreign_fields.add(integer.marks)
    return wide and integer.marks not in ev.foreign_fields and _looks_like_descriptor(integer, lows)


def _is_of_another(ev: Evaluator, text: str) -> bool:
    """Return whether a name, or that of the function that is run, is another descriptor's."""
    return _is_other_descriptor_name(text) or bool(ev.frames and _is_other_descriptor_name(ev.frames[-1].name))


def note_variable(ev: Evaluator, cell: Cell, span: Span, owner: Cell | None = None, record: str = "") -> None:
    """Keep the value of a written variable, or member of a record of that name, if it looks like a descriptor."""
    value = cell.value
    name = (owner.name if owner and owner.name else cell.name) or cell.name
    record = value.record.name if isinstance(value, ObjectValue) else record
    kind = record or (str(cell.kind) if cell.kind else "")
    if isinstance(value, ObjectValue):
        if value.record.fields is None or not value.record.bits:
            return
        cell = value.store
    if not ev.is_descriptor(cell.value, name, kind):
        ev.update_noted(cell)
        return
    _keep_found(ev, name, span, get_integer(cell.value), cell, kind)


def update_noted(ev: Evaluator, cell: Cell) -> None:
    """Update what was kept of a variable to the value that it got from two branches."""
    value = get_integer(cell.value) if not isinstance(cell.value, OpaqueValue) else None
    for old in ev.found[-96:]:
        if old.cell is cell and value is not None and old.loops == list_named_loops(ev):
            ev.noted += 1
            old.value, old.order = value, ev.noted


def note_value(ev: Evaluator, value: Any, name: str, span: Span, replace: bool = False) -> None:
    """Keep an argument, an operand of assembly or a returned value that looks like a descriptor."""
    integer = get_integer(value)
    if integer is None or not ev.is_descriptor(value, name):
        return
    loops = list_named_loops(ev)
    if not replace and any(_is_same_value(f.value, integer) and f.loops == loops for f in ev.found[-64:]):
        return
    if replace:
        ev.found = [f for f in ev.found if not (f.name == name and f.cell is None)]
    _keep_found(ev, name, span, integer, None, "")


def _keep_found(ev: Evaluator, name: str, span: Span, value: SymbolicInt | None, cell: Cell | None, kind: str) -> None:
    if value is None or len(ev.found) >= MOST_FOUND:
        return
    ev.told.add(value.marks)
    ev.noted += 1
    loops = list_named_loops(ev)
    if cell is not None:
        for old in reversed(ev.found[-96:]):
            if old.cell is cell and old.loops == loops:
                old.value, old.order = value, ev.noted
                return
    calls = tuple(f.span for f in ev.frames[1:])
    ev.found.append(FoundDescriptor(name, span, value, loops=loops, calls=calls, kind=kind, cell=cell, order=ev.noted))


@lru_cache(maxsize=1024)
def _is_other_descriptor_name(text: str) -> bool:
    """Return whether a name is that of another descriptor, an instruction's or a tensor map's."""
    return _OTHER.search(text) is not None and _DESC_ONLY.search(text) is None


@lru_cache(maxsize=1024)
def _is_descriptor_name(text: str) -> bool:
    return _DESC.search(text) is not None


def _is_descriptor_object(value: Any) -> bool:
    """Return whether a value is an object of a class with a descriptor's name."""
    return isinstance(value, ObjectValue) and _DESC.search(value.record.name) is not None


def _is_negative_int(value: SymbolicInt) -> bool:
    """Return whether a value is a known negative number of a signed type of 32 bits."""
    return value.type.bits == 32 and value.type.signed and value.known is not None and value.known < 0


def _looks_like_descriptor(value: SymbolicInt, lows: set[int]) -> bool:
    """Return whether an unnamed 64-bit word has the fields of a descriptor; lows: the fields that the text puts."""
    if any(p.low not in _FIELDS for p in value.pieces) or any(m.bit in _HALVES for m in value.marks):
        return False  # bytes or halves put side by side: a key, a plan, a colour
    if lows & {61, 46} and (0 in lows or len(lows) > 2):
        return True
    return len(lows) > 2 and any(p.low == 0 and p.shift == 4 for p in value.pieces)  # an address >> 4


def _is_same_value(one: SymbolicInt, two: SymbolicInt) -> bool:
    return one.const == two.const and one.pieces == two.pieces


def get_field(value: SymbolicInt, low: int, high: int) -> tuple[int | None, LinearExpression | None, int]:
    """Return (the field's known value, the expression that fills it, how many of its low bits are cut).

    An input of the text (a parameter, a name that it does not declare) that begins a lower field is taken to fit that
    field; a value that was computed and is not known may reach into this one.
    """
    if any(p.low < low < p.end and not _can_fit(p, value) for p in value.pieces):
        return None, None, 0
    mask = (1 << (high - low + 1)) - 1
    known = value.const >> low & mask
    inside = [p for p in value.pieces if low <= p.low <= high]
    if not inside:
        return known, None, 0
    if len(inside) == 1 and inside[0].low == low and not known:
        return None, inside[0].source, inside[0].shift
    return None, None, 0


_INPUT = re.compile(r"[\w.:>\[\]-]+(?:\(.*\))?(?: [*/%] [\w.:>\[\]-]+(?:\(.*\))?)*")


def _can_fit(piece: SymbolBits, value: SymbolicInt) -> bool:
    """Return whether a symbol may be assumed to fit the field in which it begins.

    A 32-bit word that is not shifted may be a start or the whole lower half, `low | high << 32`: it is a start only
    beside an LBO that the text sets.
    """
    if piece.low not in _FIELDS:
        return False
    if not piece.low and piece.shift < FIELD_SHIFT and piece.end >= 32 - piece.shift:
        beside = any(16 <= p.low < 32 for p in value.pieces) or value.const >> 16 & 0xFFFF
        if piece.end > 32 or not beside:
            return False
    return all(_INPUT.fullmatch(name.strip("()")) or name.startswith("sizeof(") for name, _ in piece.source.terms)


def find_origins(value: SymbolicInt, low: int, high: int) -> tuple[Span, ...]:
    """Find the places in the text that a field came from."""
    spans: list[Span] = []
    for m in value.marks:
        if low <= m.bit <= high:
            spans.extend((m.span, *m.origin))
    return tuple(dict.fromkeys(s for s in spans if s != (0, 0)))[: MOST_ORIGINS * 2]
