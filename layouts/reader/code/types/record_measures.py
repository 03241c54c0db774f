"""Measure structs and their members, and place members that are kept as bits, as gcc does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lanescope.cxx.sizes import find_size
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.header_names import OPAQUE_BYTES
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.struct_layout import (
    ALIGNED,
    BitMember,
    MeasuredMember,
    RecordMeasures,
    find_member_alignment,
    has_plain_alignments,
    measure_members,
    place_members,
)
from lanescope.reader.code.values import RecordField, RecordType, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_MEMBERS = 128


def _find_alignment(ev: Evaluator, record: RecordType, inside: bool = True) -> int | None:
    """Return the alignment in bits that alignas requests; 0 without alignas, None if unknown. inside: whether it is
    unknown if a member has one.
    """
    assert record.decl is not None
    text = ev.text[slice(*record.decl.span)]
    head = text.partition("{")[0]
    before = ev.text[max(record.decl.span[0] - 40, 0) : record.decl.span[0]].rpartition(";")[2]
    match = ALIGNED.search(head) or ALIGNED.search(before) or ALIGNED.search(text.rpartition("}")[2])
    unknown = (inside and ALIGNED.search(text)) or re.search(r"#\s*pragma\s+pack", ev.text)
    if match is None:
        return None if unknown else 0
    return int(match[1]) * 8 if match[1] and match[1].strip().isdigit() else None


def place_fields(ev: Evaluator, record: RecordType) -> tuple[dict[str, RecordField], int, int] | None:
    """Return (fields by name, bits, alignment in bits); None if a member is not an integer."""
    assert record.decl is not None
    if len(record.decl.members) > MOST_MEMBERS:
        return None
    own_text = not record.python and bool(record.decl.name) and record.scope.parent is not ev.prelude
    alignment = _find_alignment(ev, record) if own_text else 0
    if alignment is None:
        return None
    members = (_make_bit_member(ev, record, data_member) for data_member in _list_data_members(record.decl))
    return place_members(members, record.decl.union, max(8, alignment))


def _list_data_members(decl: tree.StructDefinition) -> Iterator[tree.Declaration]:
    """Yield the declarations of non-static data members."""
    return (member for member in decl.members if isinstance(member, tree.Declaration) and not member.static)


def _make_bit_member(ev: Evaluator, record: RecordType, member: tree.Declaration) -> BitMember | None:
    """Make a member that can be kept as bits; None for another."""
    kind = ev.resolve_type(member.type, record.scope) if member.type is not None else None
    if kind is None or kind.pointers or kind.reference:
        return None
    unit = _get_bits(kind)
    if unit is None or (member.name and kind.record is not None and _has_special_functions(kind.record)):
        return None
    count = _count_items(kind)
    if count is None:
        return None
    bit_member = BitMember(member.name, kind.integer, kind.record, *unit, count)
    if member.bits is None:
        return bit_member
    width = get_integer(ev.evaluate_expression(member.bits, record.scope))
    if width is None or width.known is None or width.known < 0 or kind.integer is None:
        return None
    return replace(bit_member, field_width=width.known)


def _get_bits(kind: ResolvedType) -> tuple[int, int] | None:
    """Return (bits, alignment in bits) of an integer or a struct of integers; None for another type."""
    if kind.integer is not None:
        bits = kind.integer.storage * 8 or kind.integer.bits
        return bits, bits
    if kind.record is not None and kind.record.fields is not None:
        return kind.record.bits, kind.record.align
    return None


def _has_special_functions(record: RecordType) -> bool:
    """Return whether functions of the text construct, copy, assign or destroy objects of a class."""
    return record.begins or record.copies or record.assigns or record.ends


def _count_items(kind: ResolvedType) -> int | None:
    """Return the number of items of a one-dimensional array, 0 for a scalar, None if unknown."""
    if len(kind.dims) > 1:
        return None
    if not kind.dims:
        return 0
    count = get_integer(kind.dims[0])
    return count.known if count is not None and count.known is not None and 0 < count.known <= 64 else None


def measure_record(ev: Evaluator, record: RecordType, depth: int = 0) -> RecordMeasures:
    """Measure a struct as gcc lays it out; unknown with bit fields, virtual functions or bases."""
    decl = record.decl
    own = decl is not None and record.scope.parent is not ev.prelude
    alignment = _find_alignment(ev, record, inside=False) if own else 0
    derived = record.polymorphic or record.bases or record.library
    if decl is None or derived or alignment is None or depth > 8 or _has_inner_alignment(ev, record):
        return RecordMeasures()
    members = (_measure_member(ev, record, data_member, depth) for data_member in _list_data_members(decl))
    return measure_members(members, decl.union, max(1, alignment // 8))


def _has_inner_alignment(ev: Evaluator, record: RecordType) -> bool:
    """Return whether a member is packed, or has an alignment that is not a number."""
    assert record.decl is not None
    own = record.scope.parent is not ev.prelude
    return own and not has_plain_alignments(ev.text[slice(*record.decl.span)].partition("{")[2])


def _measure_member(ev: Evaluator, record: RecordType, member: tree.Declaration, depth: int) -> MeasuredMember | None:
    """Return a member with its size; None if unknown, or for a bit field."""
    kind = ev.resolve_type(member.type, record.scope) if member.type is not None else None
    if kind is None:
        return None
    inside: Mapping[str, int] = {}
    if kind.record is not None and not kind.reference and not kind.pointers:
        layout = measure_record(ev, kind.record, depth + 1)
        size, align = layout.size, layout.align
        inside = layout.offsets if not member.name else {}
    else:
        size, align = _measure_simple(kind)
    for dim in kind.dims:
        size = size * dim.known if size is not None and dim.known else None
    if size is None or align is None or member.bits is not None:
        return None
    if record.scope.parent is not ev.prelude:
        align = max(align, find_member_alignment(ev.text, member.span, member.name))
    return MeasuredMember(member.name, size, align, inside)


def _measure_simple(kind: ResolvedType) -> tuple[int | None, int | None]:
    """Return (bytes, alignment) of a non-class type without its dimensions, None if unknown."""
    if kind.reference or kind.pointers:
        return 8, 8
    if kind.integer is not None:
        return kind.integer.size, kind.integer.size
    opaque = OPAQUE_BYTES.get(kind.name.rpartition("::")[2]) if kind.bits else None
    if opaque is not None:
        return opaque, 64 if opaque == 128 else min(opaque & -opaque, 8)  # CUtensorMap has 64
    known = find_size(kind.name) if not kind.arguments else None
    return (known.bytes, known.align) if known is not None else (None, None)
