"""How gcc lays a struct or union of integers out on 64-bit Linux (System V ABI, bit fields from the lowest bit on)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lanescope.cxx.sizes import size_of
from lanescope.reader.code import tree
from lanescope.reader.code.lifetimes import takes_own
from lanescope.reader.code.lookup import namespace_of
from lanescope.reader.code.templates import mentions, signature
from lanescope.reader.code.values import Closure, Enumeration, Field, Kind, Record, Scope, number

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_BITS = 1 << 12
MOST_MEMBERS = 128
_ALIGNED = re.compile(r"(?:alignas|__align__|aligned)\s*\(+\s*([^()]*)\)|(\bpack(?:ed)?\b)")


def layout_of(machine: Evaluator, record: Record) -> Record:
    """Fill in a struct's members, methods and, where all of it is integers, where each of them lies."""
    decl = record.decl
    if decl is None:
        return record
    inner = Scope(record.scope, record)
    record.scope = inner
    if record.name and not record.python:
        inner.names[record.name] = Kind(record.name, record=record, arguments=record.arguments)
    for base in decl.bases:
        _inherit(machine, record, base)
    functions: dict[str, list[tree.Function]] = {}
    own: set[str] = set()
    for member in decl.members[:MOST_MEMBERS]:
        if isinstance(member, tree.Function):
            named = functions.setdefault(member.name, [])
            if member.python:  # Python's last definition counts
                named.clear()
            if not member.deleted:
                named.append(member)
            record.polymorphic = record.polymorphic or member.virtual
        elif isinstance(member, tree.Declare) and member.static and member.name:
            inner.names[member.name] = machine.later(member, inner)
        elif isinstance(member, tree.Declare):
            for each in _named(member):
                if each.name in record.members:
                    record.hidden.add(each.name)
                record.members[each.name] = each
                record.dependent.discard(each.name)
                record.homes[each.name] = inner
                own.add(each.name)
        elif isinstance(member, tree.Using):
            _use(machine, record, member)
        elif isinstance(member, tree.Friend):
            continue
        else:
            machine.define_later(member, inner)
    for name, given in functions.items():
        made = Closure(merged_declarations(given), inner)
        used = record.methods.get(name)
        known = used is not None and id(used) in {id(c) for c in _used(record)}
        record.methods[name] = made.joined(used) if known and used is not None else made
        if record.python or name != record.name:
            inner.names[name] = record.methods[name]
    _judge(machine, record)
    placed = None if decl.bases and any(base.members for base in record.bases) else _placed(machine, record)
    if placed is not None and not record.polymorphic:
        record.fields, record.bits, record.align = placed
    elif not record.python:
        record.overlaid = set(_overlaid(decl)) | {name for base in record.bases for name in base.overlaid}
    return record


def _judge(machine: Evaluator, record: Record) -> None:
    """Say whether objects of a class are begun, copied, assigned or destroyed by functions of the text."""
    name = record.name
    ctors = record.methods[name].functions if name in record.methods else ()
    ends = record.methods.get(f"~{name}")
    assigns = record.methods.get("operator=")
    record.begins = bool(ctors) or any(d.value is not None for d in record.members.values())
    record.copies = any(takes_own(f, name) and not f.defaulted for f in ctors)
    record.assigns = assigns is not None and any(takes_own(f, name) and not f.defaulted for f in assigns.functions)
    record.ends = ends is not None and any(_does_something(machine, f) for f in ends.functions)
    parts = list(record.bases)
    for declared in record.members.values() if not record.python else ():
        if declared.type is None or declared.type.pointers or declared.type.reference or declared.type.body:
            continue
        home = record.homes.get(declared.name, record.scope)
        inner = machine.kind(declared.type, home).record if home.owner is record else None
        parts += [inner] if inner is not None and inner is not record else []
    for one in parts:
        record.begins |= one.begins
        record.copies |= one.copies
        record.assigns |= one.assigns
        record.ends |= one.ends
    record.opaque = record.opaque or any(base.opaque for base in record.bases)


def _does_something(machine: Evaluator, function: tree.Function) -> bool:
    """Whether a destructor is more than `~T() = default` and `~T() {}`."""
    if function.defaulted:
        return False
    return function.body is None or re.search(r"\{\s*\}\s*;?\s*$", machine.text[slice(*function.span)]) is None


def _overlaid(decl: tree.Struct) -> Iterator[str]:
    """The members of a union, and of unnamed unions in a struct."""
    for member in decl.members:
        if not isinstance(member, tree.Declare) or member.static:
            continue
        body = member.type.body if member.type and not member.name else None
        if decl.union:
            yield from (one.name for one in _named(member))
        elif isinstance(body, tree.Struct):
            yield from _overlaid(body)


def _named(member: tree.Declare) -> list[tree.Declare]:
    """A data member, or those of an anonymous struct, which are the outer's."""
    if member.name:
        return [member]
    if member.type and isinstance(member.type.body, tree.Struct):
        return [d for each in member.type.body.members if isinstance(each, tree.Declare) for d in _named(each)]
    return []


def _inherit(machine: Evaluator, record: Record, base: tree.Type) -> None:
    """Take over what a base class has. Of one that depends on a template's parameters, names are not found unqualified
    ([temp.dep.type]): they are members, and no names of the scope.
    """
    found = machine.kind(base, record.scope)
    other = found.record
    if other is None and found.arguments and found.name.rpartition("::")[2] in ("integral_constant", "constant"):
        record.library = (*record.library, found)
        return
    if other is None or other is record:
        record.polymorphic = True  # what it inherits is not in the text
        names = frozenset(p.name for p in (record.decl.templates if record.decl else ()))
        record.opaque = not mentions(base, names)
        record.of_std = record.of_std or base.path[:1] == (("std", None),)
        record.members.setdefault("(base)", tree.Declare(None, "(base)"))
        return
    record.bases = (*record.bases, other)
    record.polymorphic = record.polymorphic or other.polymorphic
    record.hidden |= other.hidden | (record.members.keys() & other.members.keys())
    record.members.update(other.members)
    record.homes.update(other.homes)
    for name, closure in other.methods.items():
        if name not in (other.name, "operator=") and not name.startswith("~"):
            record.methods[name] = closure
    names = frozenset(p.name for p in (record.decl.templates if record.decl else ()))
    if mentions(base, names):
        record.dependent |= other.members.keys()
    else:
        for name, value in other.scope.names.items():
            record.scope.names.setdefault(name, value)


def _used(record: Record) -> list[Closure]:
    return [c for c in record.scope.names.get("(used)", ()) if isinstance(c, Closure)]


def _use(machine: Evaluator, record: Record, member: tree.Using) -> None:
    """using Base::name: its functions overload the class's own; using Base::Base: its constructors are the class's."""
    last = member.path[-1][0]
    qualifier = machine.kind(tree.Type(member.path[:-1]), record.scope) if len(member.path) > 1 else None
    base = qualifier.record if qualifier is not None else None
    if base is None:
        return
    closure = base.methods.get(last)
    if closure is not None and last == base.name:
        kept = tuple(f for f in closure.functions if not takes_own(f, last))  # no copy constructors
        closure = replace(closure, functions=kept, homes=tuple(closure.home(f) for f in kept))
        if kept:
            record.methods[record.name] = closure
            record.scope.names["(used)"] = (*record.scope.names.get("(used)", ()), closure)
    elif closure is not None:
        record.methods[last] = closure
        record.scope.names[last] = closure
        record.scope.names["(used)"] = (*record.scope.names.get("(used)", ()), closure)
    elif last in base.scope.names:
        record.scope.names[last] = base.scope.names[last]


def merged_declarations(functions: list[tree.Function]) -> tuple[tree.Function, ...]:
    """Functions without the declarations of those that are defined: a definition has the defaults of its declaration,
    and stands where the first of both does.
    """
    out: dict[str, tree.Function] = {}
    for one in functions:
        key = signature(one)
        known = out.get(key)
        if known is None:
            out[key] = one
            continue
        body, other = (one, known) if one.body is not None else (known, one)
        pairs = zip(body.parameters, other.parameters, strict=True)
        given = tuple(replace(a, default=a.default or b.default) for a, b in pairs)
        out[key] = replace(body, parameters=given, since=min(one.first, known.first))
    return tuple(out.values())


def _alignment(machine: Evaluator, record: Record) -> int | None:
    """Bits that alignas asks for; 0 where nothing does, None where that is not known."""
    assert record.decl is not None
    text = machine.text[slice(*record.decl.span)]
    head = text.partition("{")[0]
    before = machine.text[max(record.decl.span[0] - 40, 0) : record.decl.span[0]].rpartition(";")[2]
    found = _ALIGNED.search(head) or _ALIGNED.search(before) or _ALIGNED.search(text.rpartition("}")[2])
    inside = _ALIGNED.search(text) or re.search(r"#\s*pragma\s+pack", machine.text)
    if found is None:
        return None if inside else 0
    return int(found[1]) * 8 if found[1] and found[1].strip().isdigit() else None


def _placed(machine: Evaluator, record: Record) -> tuple[dict[str, Field], int, int] | None:
    """(fields by name, bits, alignment); None where a member is not an integer."""
    assert record.decl is not None
    if len(record.decl.members) > MOST_MEMBERS:
        return None
    own_text = not record.python and bool(record.decl.name) and record.scope.parent is not machine.prelude
    asked = _alignment(machine, record) if own_text else 0
    if asked is None:
        return None
    fields: dict[str, Field] = {}
    end, align, longest = 0, max(8, asked), 0
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
        if kind.pointers or kind.reference or (kind.whole is None and (inner is None or inner.fields is None)):
            return None
        if inner is not None and member.name and (inner.begins or inner.copies or inner.assigns or inner.ends):
            return None
        storage = getattr(kind.whole, "storage", 0) * 8 if kind.whole else 0
        one, own = (
            (storage or kind.whole.bits, storage or kind.whole.bits)
            if kind.whole
            else (inner.bits, inner.align)
            if inner
            else (0, 8)
        )
        count = 0
        for dim in kind.dims:
            sized = number(dim)
            if sized is None or sized.known is None or not 0 < sized.known <= 64:
                return None
            count = max(count, 1) * sized.known
        if len(kind.dims) > 1:
            return None
        if member.bits is not None:
            given = number(machine.value(member.bits, record.scope))
            if given is None or given.known is None or given.known < 0 or kind.whole is None:
                return None
            width = given.known
            start = 0 if record.decl.union else end
            if width > one or (kind.whole.name == "bool" and width > 1):
                return None
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
            for name, own_field in inner.fields.items():
                fields[name] = replace(own_field, low=start + own_field.low)
    total = longest if record.decl.union else end
    return (fields, -(-total // align) * align, align) if fields else None


@dataclass(frozen=True, slots=True)
class Measures:
    """The size and alignment of a struct in bytes, None where not known, and where its members begin."""

    size: int | None = None
    align: int | None = None
    offsets: Mapping[str, int] = field(default_factory=dict)


def measured(machine: Evaluator, record: Record, deep: int = 0) -> Measures:
    """Return how gcc lays a struct of members of known sizes out; none of bit fields, virtual functions or bases."""
    decl = record.decl
    asked = _alignment(machine, record) if decl is not None and record.scope.parent is not machine.prelude else 0
    if decl is None or record.polymorphic or record.bases or record.library or asked is None or deep > 8:
        return Measures()
    if _inner_alignment(machine, record):
        return Measures()
    end, align, longest = 0, max(1, asked // 8), 0
    offsets: dict[str, int] = {}
    for member in decl.members:
        if not isinstance(member, tree.Declare) or member.static:
            continue
        one = _measured_member(machine, record, member, deep)
        if one is None or member.bits is not None:
            return Measures()
        size, own, inside = one
        start = 0 if decl.union else -(-end // own) * own
        if member.name:
            offsets[member.name] = start
        offsets.update({name: start + at for name, at in inside.items()})
        end, align = start + size, max(align, own)
        longest = max(longest, end)
    total = longest if decl.union else end
    return Measures(max(-(-total // align) * align, 1), align, offsets)


def _inner_alignment(machine: Evaluator, record: Record) -> bool:
    """Whether a member asks for an alignment of its own."""
    assert record.decl is not None
    if record.scope.parent is machine.prelude:
        return False
    return _ALIGNED.search(machine.text[slice(*record.decl.span)].partition("{")[2]) is not None


def _measured_member(
    machine: Evaluator, record: Record, member: tree.Declare, deep: int
) -> tuple[int, int, Mapping[str, int]] | None:
    """(bytes, alignment, the members of an unnamed struct by their offsets) of a member; None where not known."""
    body = member.type.body if member.type else None
    if isinstance(body, tree.Struct):
        kind = Kind(body.name, record=layout_of(machine, Record(body.name, body, record.scope)))
    elif member.type is None:
        return None
    else:
        kind = machine.kind(member.type, record.scope)
    inside: Mapping[str, int] = {}
    if kind.reference or kind.pointers:
        size: int | None = 8
        own: int | None = 8
    elif kind.record is not None:
        made = measured(machine, kind.record, deep + 1)
        size, own = made.size, made.align
        inside = made.offsets if not member.name else {}
    else:
        known = (
            size_of(kind.whole.name) if kind.whole is not None else size_of(kind.name) if not kind.arguments else None
        )
        size, own = (known.bytes, known.align) if known is not None else (None, None)
        if kind.whole is not None:
            size = own = kind.whole.size
    for dim in kind.dims:
        size = size * dim.known if size is not None and dim.known else None
    return (size, own, inside) if size is not None and own is not None else None


__all__ = ["Enumeration", "Measures", "layout_of", "measured", "merged_declarations", "namespace_of"]
