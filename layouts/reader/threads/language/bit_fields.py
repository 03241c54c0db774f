"""Structs and unions of integers with bit fields: one word, in which each member is a range of bits.

Descriptors are often declared so: a union of the word and a struct of its fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lanescope.cxx.integers import find_integer_type
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.struct_layout import BitMember, place_members
from lanescope.reader.code.values import RecordField
from lanescope.reader.threads.language.numbers import ULONG, ThreadNumber, apply_operator, convert_number, make_number
from lanescope.reader.threads.language.types import SizedType, StructMember
from lanescope.reader.threads.memory.storage import LocalMemory, Pointer

MOST_BYTES = 8
_Placed = tuple[dict[str, RecordField], int, int]
Evaluate = Callable[[tree.Expression], Any]


def lay_out_bit_fields(
    definition: tree.StructDefinition, evaluate: Evaluate
) -> tuple[tuple[StructMember, ...], int, int] | None:
    """Return (members, bytes, alignment) of a struct that has bit fields; None for another, or one of more than a word.

    evaluate: returns the value of a width.
    """
    placed = _place(definition, evaluate) if _has_bit_fields(definition) and not definition.bases else None
    if placed is None or placed[1] > 8 * MOST_BYTES:
        return None
    fields, bits, align = placed
    return tuple(_make_member(name, field, bits) for name, field in fields.items()), bits // 8, align // 8


def _has_bit_fields(definition: tree.StructDefinition) -> bool:
    members = [member for member in definition.members if isinstance(member, tree.Declaration)]
    inside = [member.type.body for member in members if member.type is not None and not member.name]
    return any(member.bits is not None for member in members) or any(
        isinstance(body, tree.StructDefinition) and _has_bit_fields(body) for body in inside
    )


def _place(definition: tree.StructDefinition, evaluate: Evaluate) -> _Placed | None:
    """Return (fields by name, bits, alignment in bits); those of an unnamed struct are among them."""
    members: list[BitMember | None] = []
    inside: dict[str, dict[str, RecordField]] = {}
    for number, member in enumerate(definition.members):
        if not isinstance(member, tree.Declaration) or member.static or member.type is None:
            continue
        body = member.type.body if not member.name else None
        if isinstance(body, tree.StructDefinition):
            inner = _place(body, evaluate)
            if inner is None:
                return None
            inside[str(number)], bits, align = inner
            members.append(BitMember(str(number), None, None, bits, align))
        else:
            members.append(_measure_member(member, evaluate))
    placed = place_members(members, definition.union, 8)
    if placed is None:
        return None
    fields: dict[str, RecordField] = {}
    for name, field in placed[0].items():
        fields |= {
            n: replace(f, low=f.low + field.low) for n, f in inside.get(name, {name: replace(field, low=0)}).items()
        }
    return fields, placed[1], placed[2]


def _measure_member(member: tree.Declaration, evaluate: Evaluate) -> BitMember | None:
    """Return an integer member; None for any other."""
    kind = member.type
    integer = find_integer_type(kind.name) if kind is not None and not kind.pointers and not kind.dims else None
    width = evaluate(member.bits) if member.bits is not None else None
    number = width.known if isinstance(width, ThreadNumber) else None
    if integer is None or (member.bits is not None and number is None):
        return None
    return BitMember(member.name, integer, None, 8 * integer.storage, 8 * integer.storage, 0, number)


def _make_member(name: str, field: RecordField, bits: int) -> StructMember:
    integer = field.integer
    signed = integer is not None and integer.signed
    kind = SizedType(integer.name if integer else "", bits // 8, True, signed)
    return StructMember(name, 0, kind if field.width == bits else replace(kind, field=(field.low, field.width)))


def is_word(kind: SizedType) -> bool:
    """Return whether a type is a struct of bit fields."""
    return kind.scope is not None and any(member.type.field[1] for member in kind.members)


def read_word(place: Pointer) -> ThreadNumber | None:
    """Return the word that a struct of bit fields is; None if it is not known."""
    at = place.offset.known if place.offset is not None else None
    memory = place.array
    value = memory.read_value(at, place.type.size) if isinstance(memory, LocalMemory) and at is not None else None
    return convert_number(value, (8 * place.type.size, False)) if isinstance(value, ThreadNumber) else None


def extract_field(word: Any, kind: SizedType) -> ThreadNumber | None:
    """Return the bits of a word that a member is."""
    low, width = kind.field
    if not isinstance(word, ThreadNumber):
        return None
    shifted = apply_operator(">>", convert_number(word, ULONG), make_number(low))
    value = apply_operator("&", shifted, make_number((1 << width) - 1, ULONG))
    return convert_number(value, (width, True)) if kind.signed else value


def insert_field(memory: LocalMemory, offset: int, value: Any, kind: SizedType) -> ThreadNumber | None:
    """Return the word at an offset with the bits of a member replaced; bits that nothing has set are 0."""
    low, width = kind.field
    word = make_number(0, ULONG) if memory.is_unset(offset, kind.size) else memory.read_value(offset, kind.size)
    if not isinstance(word, ThreadNumber) or not isinstance(value, ThreadNumber):
        return None
    ones = (1 << width) - 1
    kept = apply_operator("&", convert_number(word, ULONG), make_number(~(ones << low) & ((1 << 64) - 1), ULONG))
    part = apply_operator("&", convert_number(value, ULONG), make_number(ones, ULONG))
    return apply_operator("|", kept, apply_operator("<<", part, make_number(low)))
