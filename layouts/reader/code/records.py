"""How gcc lays a struct or union of integers out on 64-bit Linux (System V ABI, bit fields from the lowest bit on)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layouts.reader.code import tree
from layouts.reader.code.values import Field, Kind, Record, Scope, number

if TYPE_CHECKING:
    from layouts.reader.code.expressions import Expressions

MOST_BITS = 1 << 12
MOST_MEMBERS = 128


def layout_of(machine: Expressions, record: Record) -> Record:
    """Fill in a struct's members, methods and, where all of it is integers, where each of them lies."""
    decl = record.decl
    if decl is None:
        return record
    inner = Scope(record.scope, record)
    record.scope = inner
    for base in decl.bases:
        found = machine.named_kind(base, record.scope)
        if found is not None and found.record is not None and found.record is not record:
            record.members.update(found.record.members)
            record.methods.update(found.record.methods)
            for name, value in found.record.scope.names.items():
                inner.names.setdefault(name, value)
    for member in decl.members[:MOST_MEMBERS]:
        if isinstance(member, tree.Function):
            others = [] if member.python else record.methods.get(member.name, [])  # Python's last definition counts
            record.methods[member.name] = [*others, member]
        elif isinstance(member, tree.Declare) and member.static and member.value is not None:
            inner.names[member.name] = machine.later(member, inner)
        elif isinstance(member, tree.Declare):
            if member.name:
                record.members[member.name] = member
            elif member.type and isinstance(member.type.body, tree.Struct):
                for each in member.type.body.members:  # an anonymous struct: its members are the outer's
                    if isinstance(each, tree.Declare) and each.name:
                        record.members[each.name] = each
        else:
            machine.define_later(member, inner)
    placed = _placed(machine, record)
    if placed is not None:
        record.fields, record.bits, record.align = placed
    return record


def _placed(machine: Expressions, record: Record) -> tuple[dict[str, Field], int, int] | None:
    """(fields by name, bits, alignment); None where a member is not an integer."""
    assert record.decl is not None
    if len(record.decl.members) > MOST_MEMBERS:
        return None
    fields: dict[str, Field] = {}
    end, align, longest = 0, 8, 0
    for member in record.decl.members:
        if not isinstance(member, tree.Declare) or member.static:
            continue
        body = member.type.body if member.type else None
        if isinstance(body, tree.Struct):
            inner: Record | None = layout_of(machine, Record(body.name, body, record.scope))
            kind = Kind(body.name, record=inner)
        else:
            kind = machine.kind(member.type, record.scope) if member.type else Kind("")
            inner = kind.record
        if kind.pointers or (kind.whole is None and (inner is None or inner.fields is None)):
            return None
        one, own = (kind.whole.bits, kind.whole.bits) if kind.whole else (inner.bits, inner.align) if inner else (0, 8)
        count = 0
        for dim in kind.dims:
            sized = number(dim)
            if sized is None or sized.known is None or not 0 < sized.known <= 64:
                return None
            count = max(count, 1) * sized.known
        if member.bits is not None:
            given = number(machine.value(member.bits, record.scope))
            if given is None or given.known is None or given.known < 0 or kind.whole is None:
                return None
            width = given.known
            start = 0 if record.decl.union else end
            if not width or start // one != (start + width - 1) // one:
                start = -(-start // one) * one
        else:
            width = one * max(count, 1)
            start = 0 if record.decl.union else -(-end // own) * own
        align = max(align, own if member.name or member.bits is None else 8)
        end = start + width
        longest = max(longest, end)
        if end > MOST_BITS:
            return None
        if member.name:
            fields[member.name] = Field(start, width, kind.whole, inner, count)
        elif inner is not None and inner.fields:
            for name, field in inner.fields.items():
                fields[name] = Field(start + field.low, field.width, field.whole, field.inner, field.count)
    total = longest if record.decl.union else end
    return (fields, -(-total // align) * align, align) if fields else None
