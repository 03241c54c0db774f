"""Record what an evaluation finds: values that look like descriptors, bodiless calls, asm statements and C pitfalls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import ULONG, IntegerType, find_common_type, promote
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.running.run_records import Arms
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
from lanescope.reader.code.types.bit_field_formats import NO_FORMAT
from lanescope.reader.code.values import ObjectValue, OpaqueValue, RecordField

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_DESCRIPTORS = 600
MOST_ASM_RUNS = 4000
# (first bit, past last) of the fields of a descriptor, in any format
REGIONS = ((0, 16), (16, 32), (32, 46), (46, 49), (49, 52), (52, 53), (61, 64))
_FIELDS = frozenset((0, 16, 32, 46, 49, 52, 61, 62))  # first bits of fields of wgmma's and tcgen05's descriptors
_HALVES = frozenset((8, 24, 40, 48, 56))  # first bits of bytes and 16-bit halves that begin no field
_DESC = re.compile(r"desc|matrix_?d(?!im)|smem_?d\b|gmma|umma|wgmma", re.I)
_DESC_ONLY = re.compile(r"smem|gmma|umma|wgmma|mat", re.I)
_HALF = re.compile(  # names of 32 bits of a descriptor: desc_lo, HI, descLo
    r"(?i:(?<![a-z])(?:lo|hi|low|high|lower|upper)(?![a-z]))|(?<=[a-z])(?:Lo|Hi|Low|High|Lower|Upper)(?![a-z])"
)
_OTHER = re.compile(r"i_?desc|inst(?:r|ruction)?_?d|instr|tensor_?map|tma|mbar|barrier|policy|hint", re.I)


@dataclass(frozen=True, slots=True)
class Pitfall:
    """A mistake in the code: its code, a sentence, and its span; others: places that may be wrong instead."""

    code: str
    message: str
    span: Span
    others: tuple[Span, ...] = ()


@dataclass(slots=True)
class FoundDescriptor:
    """A value that looks like a descriptor.

    name, span: its variable or expression. loops: the enclosing loops with the values of their variables. calls: the
    calls in which it was made.
    """

    name: str
    span: Span
    value: SymbolicInt
    loops: tuple[tuple[str, SymbolicInt], ...]
    calls: tuple[Span, ...]
    kind: str = ""
    cell: Cell | None = None
    order: int = 0  # of the last write of its value, among all found


@dataclass(frozen=True, slots=True)
class BodilessCall:
    """A call of a function whose body is not in the text."""

    term: OpaqueValue
    loops: tuple[tuple[str, SymbolicInt], ...]
    result: str = ""
    calls: tuple[tuple[str, Span], ...] = ()  # the running functions, outermost first
    order: int = 0  # among asm statements and bodiless calls
    arms: Arms = ()  # branches of undecided conditions
    filled: str = ""  # the name that it gives the object of a tensor map (map_objects.py)


@dataclass(frozen=True, slots=True)
class AsmRun:
    """An asm statement that was run. inputs: (constraint, value or None, span) of each operand, outputs first."""

    text: str
    span: Span
    names: tuple[str, ...]  # symbolic names of the operands, "" without one
    inputs: tuple[tuple[str, SymbolicInt | None, Span], ...]
    loops: tuple[tuple[str, SymbolicInt], ...]
    calls: tuple[tuple[str, Span], ...]
    order: int
    call_spans: tuple[tuple[Span, ...], ...] = ()  # of each operand: the calls that enclose its source
    arms: Arms = ()  # branches of undecided conditions
    places: tuple[tuple[str, tuple[str, ...]], ...] = ()  # symbol of a variable's address → names of the variable
    part: bool = False  # one product of the statement before it, to which its effects belong


def list_running_functions(ev: Evaluator) -> tuple[tuple[str, Span], ...]:
    """Return the running functions, outermost first."""
    return tuple((frame.name, frame.span) for frame in ev.frames[1:])


def list_named_loops(ev: Evaluator) -> tuple[tuple[str, SymbolicInt], ...]:
    """Return the running loops that have a variable, with its value."""
    return tuple(loop for loop in ev.loops if loop[0])


def format_expression(ev: Evaluator, node: Any) -> str:
    """Return the source of an expression on one line, at most 60 characters."""
    start, end = node.span
    text = " ".join(ev.text[start:end].split())
    return text if len(text) <= 60 else text[:57] + "…"


def add_pitfall(ev: Evaluator, code: str, message: str, span: Span) -> None:
    if len(ev.warned) < 40:
        ev.warned.setdefault((code, span), Pitfall(code, message, span))


# marks -----------------------------------------------------------------------------------------------------------


def mark_bits(value: SymbolicInt, span: Span) -> SymbolicInt:
    """Mark the bits of a value with a span, unless it has marks already."""
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


def check_operation(ev: Evaluator, op: str, left: SymbolicInt, right: SymbolicInt, at: Any) -> None:
    """Warn of an operation whose result in C is surely not intended."""
    op = op.rstrip("=") or op
    if op in ("<<", ">>") and right.known is not None:
        _check_shift(ev, promote(left.type).bits, right.known, at)
    elif op == "|" and find_common_type(left.type, right.type).bits == 64:
        for value, where in ((left, "left"), (right, "right")):
            if _is_negative_int(value):
                side = getattr(at, where, None) or getattr(at, "value", at)
                message = (
                    f"{ev.format_expression(side)} is a negative int: widened to 64 bits it sets bits 32"
                    f" to 63. Make it unsigned."
                )
                add_pitfall(ev, "sign_extended", message, side.span)


def _check_shift(ev: Evaluator, width: int, by: int, at: Any) -> None:
    """Warn of a shift by at least the width of the left side."""
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
    """Convert a value to an integer type, with warnings about lost or sign-extended bits."""
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
    """Warn of a known value that does not fit a bit field; 0xb001 for 0b001 stores the right bits."""
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
    kind = cell.kind.integer if cell.kind and cell.kind.integer else ULONG
    if cell.kind is not None:
        add_pitfall(ev, "uninitialised", f"{cell.name} is not initialized before bits are OR-ed into it.", span)
    return SymbolicInt(0, kind)


# records ---------------------------------------------------------------------------------------------------------


def _get_composed(value: Any, name: str) -> SymbolicInt | None:
    """Return a value as an integer if it may be a descriptor or half of one, by its width, its fields and its name."""
    integer = get_integer(value) if not isinstance(value, OpaqueValue) else None
    if integer is None or integer.type.bits not in (0, 32, 64) or _is_sentinel(integer):
        return None
    return integer if any(mark.bit >= 32 * bool(_HALF.search(name)) for mark in integer.marks) else None


def is_descriptor(ev: Evaluator, value: Any, name: str, kind: str = "") -> bool:
    """Return whether a value is built like a descriptor: by the bits of its fields, or by a name and some fields."""
    integer = _get_composed(value, name)
    if integer is None:
        return False
    text = f"{name} {kind or (value.record.name if isinstance(value, ObjectValue) else '')}"
    if _is_other_descriptor(ev, text):
        return False
    if integer.marks in ev.descriptor_marks and integer.type.bits != 32:
        return True
    lows = _find_regions(integer)
    wide = integer.type.bits != 32
    form = ev.bit_fields.get(kind)
    if form or _is_descriptor_name(text) or _is_descriptor_object(value):
        return len(lows) > 1 or (wide and isinstance(value, ObjectValue))
    if form == NO_FORMAT:
        ev.foreign_fields.add(integer.marks)
    return wide and integer.marks not in ev.foreign_fields and _looks_like_descriptor(integer, lows)


def _find_regions(integer: SymbolicInt) -> set[int]:
    """Return the first bits of the regions of a descriptor that a value has marks in."""
    return {low for low, past in REGIONS for mark in integer.marks if low <= mark.bit < past}


def _is_sentinel(value: SymbolicInt) -> bool:
    """Return whether a value is a number of ones, as an invalid id is: no descriptor has LBO and SBO at their most."""
    return not value.pieces and all(value.const >> low & 0x3FFF == 0x3FFF for low in (16, 32))


def _is_other_descriptor(ev: Evaluator, text: str) -> bool:
    """Return whether a name, or that of the running function, is that of another kind of descriptor."""
    return is_other_descriptor_name(text) or bool(ev.frames and is_other_descriptor_name(ev.frames[-1].name))


def note_variable(ev: Evaluator, cell: Cell, span: Span, owner: Cell | None = None, record: str = "") -> None:
    """Record the value of a written variable, or of a member of a record, if it looks like a descriptor."""
    value = cell.value
    name = (owner.name if owner and owner.name else cell.name) or cell.name
    record = value.record.name if isinstance(value, ObjectValue) else record
    kind = record or (str(cell.kind) if cell.kind else "")
    if isinstance(value, ObjectValue):
        if value.record.fields is None or not value.record.bits:
            return
        cell = value.store
    if not is_descriptor(ev, cell.value, name, kind):
        ev.update_noted(cell)
        return
    _record_descriptor(ev, name, span, get_integer(cell.value), cell, kind)


def update_noted(ev: Evaluator, cell: Cell) -> None:
    """Update the recorded descriptor of a variable after the values of two branches were merged."""
    value = get_integer(cell.value) if not isinstance(cell.value, OpaqueValue) else None
    if value is None:
        return
    for old in ev.descriptors[-96:]:
        if old.cell is cell and old.loops == list_named_loops(ev):
            ev.noted_values += 1
            old.value, old.order = value, ev.noted_values


def note_value(ev: Evaluator, value: Any, name: str, span: Span, replace: bool = False) -> None:
    """Record an argument, an asm operand or a returned value that looks like a descriptor."""
    integer = get_integer(value)
    if integer is None or not is_descriptor(ev, value, name):
        return
    loops = list_named_loops(ev)
    if not replace and any(_is_same_value(f.value, integer) and f.loops == loops for f in ev.descriptors[-64:]):
        return
    if replace:
        ev.descriptors = [f for f in ev.descriptors if not (f.name == name and f.cell is None)]
    _record_descriptor(ev, name, span, integer, None, "")


def _record_descriptor(
    ev: Evaluator, name: str, span: Span, value: SymbolicInt | None, cell: Cell | None, kind: str
) -> None:
    if value is None or len(ev.descriptors) >= MOST_DESCRIPTORS:
        return
    ev.descriptor_marks.add(value.marks)
    ev.noted_values += 1
    loops = list_named_loops(ev)
    if cell is not None:
        for old in reversed(ev.descriptors[-96:]):
            if old.cell is cell and old.loops == loops:
                old.value, old.order = value, ev.noted_values
                return
    calls = tuple(f.span for f in ev.frames[1:])
    ev.descriptors.append(
        FoundDescriptor(name, span, value, loops=loops, calls=calls, kind=kind, cell=cell, order=ev.noted_values)
    )


@lru_cache(maxsize=1024)
def is_other_descriptor_name(text: str) -> bool:
    """Return whether a name is that of another kind of descriptor: an instruction descriptor or a tensor map."""
    return _OTHER.search(text) is not None and _DESC_ONLY.search(text) is None


@lru_cache(maxsize=1024)
def _is_descriptor_name(text: str) -> bool:
    return _DESC.search(text) is not None


def _is_descriptor_object(value: Any) -> bool:
    """Return whether a value is an object of a class with a descriptor's name."""
    return isinstance(value, ObjectValue) and _DESC.search(value.record.name) is not None


def _is_negative_int(value: SymbolicInt) -> bool:
    """Return whether a value is a known negative number of a signed 32-bit type."""
    return value.type.bits == 32 and value.type.signed and value.known is not None and value.known < 0


def _looks_like_descriptor(value: SymbolicInt, lows: set[int]) -> bool:
    """Return whether an unnamed 64-bit word has the fields of a descriptor; lows: first bits of the fields set."""
    if any(p.low not in _FIELDS for p in value.pieces) or any(m.bit in _HALVES for m in value.marks):
        return False  # packed bytes or halves: a key or a colour
    if lows & {61, 46} and (0 in lows or len(lows) > 2):
        return True
    return len(lows) > 2 and any(p.low == 0 and p.shift == 4 for p in value.pieces)  # an address >> 4


def _is_same_value(left: SymbolicInt, right: SymbolicInt) -> bool:
    return left.const == right.const and left.pieces == right.pieces


def get_field(value: SymbolicInt, low: int, high: int) -> tuple[int | None, LinearExpression | None, int]:
    """Return (known value of a field, expression that fills it, how many low bits of the expression are cut).

    An input of the text (a parameter or undeclared name) in a lower field is assumed to fit there; an unknown computed
    value may reach into this field.
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
    """Return whether a symbol may be assumed to fit the field in which it begins: not a half of `low | high << 32`."""
    if piece.low not in _FIELDS or _is_lower_half(piece, value):
        return False
    others = [p for p in value.pieces if p is not piece]
    above = value.const >> 32 or any(p.low >= 32 for p in others)
    if piece.low == 32 and not (above or piece.shift) and any(_is_lower_half(p, value) for p in others):
        return False
    return all(_INPUT.fullmatch(name.strip("()")) or name.startswith("sizeof(") for name, _ in piece.source.terms)


def _is_lower_half(piece: SymbolBits, value: SymbolicInt) -> bool:
    """Return whether an unshifted 32-bit word may be a lower half: it is a start only if the text also sets an LBO."""
    if piece.low or piece.shift >= FIELD_SHIFT or piece.end < 32 - piece.shift:
        return False
    return piece.end > 32 or not (any(16 <= p.low < 32 for p in value.pieces) or value.const >> 16 & 0xFFFF)


def find_origins(value: SymbolicInt, low: int, high: int) -> tuple[Span, ...]:
    """Return the spans of the text that set a field."""
    spans: list[Span] = []
    for m in value.marks:
        if low <= m.bit <= high:
            spans.extend((m.span, *m.origin))
    return tuple(dict.fromkeys(s for s in spans if s != (0, 0)))[: MOST_ORIGINS * 2]
