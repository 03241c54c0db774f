"""Lay out structs and unions of the text: members, functions, bases, and the members' places as gcc chooses them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lanescope.reader.code.naming.scopes import NameScope
from lanescope.reader.code.objects.later_members import LaterMember
from lanescope.reader.code.objects.lifetimes import can_take_own_class
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.bit_field_formats import find_format_of_fields
from lanescope.reader.code.types.record_measures import MOST_MEMBERS, place_fields
from lanescope.reader.code.types.specializations import make_signature
from lanescope.reader.code.types.templates import has_names
from lanescope.reader.code.values import FunctionSet, RecordType, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def lay_out_record(ev: Evaluator, record: RecordType) -> RecordType:
    """Fill in a struct's members, methods and, if all members are integers, the bits of each."""
    decl = record.decl
    if decl is None:
        return record
    inner = NameScope(record.scope, record)
    record.scope = inner
    if record.name and not record.python:
        inner.names[record.name] = ResolvedType(record.name, record=record, arguments=record.arguments)
    for base in decl.bases:
        _inherit_base(ev, record, base)
    functions: dict[str, list[tree.Function]] = {}
    for member in decl.members[:MOST_MEMBERS]:
        if isinstance(member, tree.Function):
            _collect_function(record, functions, member)
        else:
            _add_member(ev, record, member)
    _add_methods(record, functions)
    _find_special_functions(ev, record)
    _place_record(ev, record, decl)
    return record


def _place_record(ev: Evaluator, record: RecordType, decl: tree.StructDefinition) -> None:
    """Fill in the bits of a struct's members; if they are unknown, which members overlap."""
    placed = None if decl.bases and any(base.members for base in record.bases) else place_fields(ev, record)
    if placed is not None and not record.polymorphic:
        record.fields, record.bits, record.align = placed
        form = find_format_of_fields(record)
        if form is not None and record.name:
            ev.bit_fields[record.name] = form
    elif not record.python:
        record.overlaid = set(_list_union_members(decl)) | {name for base in record.bases for name in base.overlaid}


def _collect_function(record: RecordType, functions: dict[str, list[tree.Function]], member: tree.Function) -> None:
    """Add a member function to its overloads; in Python, the last definition replaces the others."""
    named = functions.setdefault(member.name, [])
    if member.python:
        named.clear()
    if not member.deleted:
        named.append(member)
    record.polymorphic = record.polymorphic or member.virtual


def _add_member(ev: Evaluator, record: RecordType, member: tree.Statement) -> None:
    """Add a member that is not a function."""
    match member:
        case tree.Declaration(static=True) if member.name:
            record.scope.names[member.name] = LaterMember(member, record.scope)
        case tree.Declaration():
            _add_data(record, member)
        case tree.UsingDeclaration():
            _enter_using(ev, record, member)
        case tree.FriendFunction():
            pass
        case _:
            ev.define(member, record.scope)


def _add_data(record: RecordType, member: tree.Declaration) -> None:
    """Add a data member, or those of an anonymous struct."""
    for data_member in _list_named_members(member):
        if data_member.name in record.members:
            record.hidden.add(data_member.name)
        record.members[data_member.name] = data_member
        record.dependent.discard(data_member.name)
        record.homes[data_member.name] = record.scope


def _add_methods(record: RecordType, functions: dict[str, list[tree.Function]]) -> None:
    """Add a class's functions, with those that its using declarations bring in."""
    inner = record.scope
    for name, function in functions.items():
        function_set = FunctionSet(merge_declarations(function), inner)
        used = record.methods.get(name)
        known = used is not None and id(used) in {
            id(c) for c in record.scope.names.get("(used)", ()) if isinstance(c, FunctionSet)
        }
        record.methods[name] = function_set.join_functions(used) if known and used is not None else function_set
        if record.python or name != record.name:
            inner.names[name] = record.methods[name]


def _find_special_functions(ev: Evaluator, record: RecordType) -> None:
    """Fill in whether functions of the text construct, copy, assign or destroy objects of a class."""
    name = record.name
    ctors = record.methods[name].functions if name in record.methods else ()
    ends = record.methods.get(f"~{name}")
    assigns = record.methods.get("operator=")
    record.begins = bool(ctors) or any(d.value is not None for d in record.members.values())
    record.copies = _has_copy_function(ctors, name)
    record.assigns = assigns is not None and _has_copy_function(assigns.functions, name)
    record.ends = ends is not None and any(_has_effect(ev, f) for f in ends.functions)
    for inner in [*record.bases, *_list_member_classes(ev, record)]:
        record.begins |= inner.begins
        record.copies |= inner.copies
        record.assigns |= inner.assigns
        record.ends |= inner.ends
    record.opaque = record.opaque or any(base.opaque for base in record.bases)


def _has_copy_function(functions: Iterable[tree.Function], name: str) -> bool:
    """Return whether a non-defaulted function takes an object of the class."""
    return any(can_take_own_class(f, name) and not f.defaulted for f in functions)


def _list_member_classes(ev: Evaluator, record: RecordType) -> Iterator[RecordType]:
    """Yield the classes of the data members that a class declares."""
    for declared in record.members.values() if not record.python else ():
        if declared.type is None or declared.type.pointers or declared.type.reference or declared.type.body:
            continue
        home = record.homes.get(declared.name, record.scope)
        inner = ev.resolve_type(declared.type, home).record if home.owner is record else None
        if inner is not None and inner is not record:
            yield inner


def _has_effect(ev: Evaluator, function: tree.Function) -> bool:
    """Return whether a destructor is neither defaulted nor empty."""
    if function.defaulted:
        return False
    return function.body is None or re.search(r"\{\s*\}\s*;?\s*$", ev.text[slice(*function.span)]) is None


def _list_union_members(decl: tree.StructDefinition) -> Iterator[str]:
    """Yield the members of a union, and of unnamed unions in a struct."""
    for member in decl.members:
        if not isinstance(member, tree.Declaration) or member.static:
            continue
        body = member.type.body if member.type and not member.name else None
        if decl.union:
            yield from (declaration.name for declaration in _list_named_members(member))
        elif isinstance(body, tree.StructDefinition):
            yield from _list_union_members(body)


def _list_named_members(member: tree.Declaration) -> list[tree.Declaration]:
    """Return a data member, or the members of an anonymous struct, which belong to the outer struct."""
    if member.name:
        return [member]
    if member.type and isinstance(member.type.body, tree.StructDefinition):
        return [
            d
            for inner_member in member.type.body.members
            if isinstance(inner_member, tree.Declaration)
            for d in _list_named_members(inner_member)
        ]
    return []


def _inherit_base(ev: Evaluator, record: RecordType, base: tree.Type) -> None:
    """Inherit the members of a base class.

    Unqualified lookup does not find names of a dependent base ([temp.dep.type]): they become members, but not names of
    the scope.
    """
    base_type = ev.resolve_type(base, record.scope)
    other = base_type.record
    parameters = frozenset(p.name for p in (record.decl.templates if record.decl else ()))
    if (
        other is None
        and base_type.arguments
        and base_type.name.rpartition("::")[2] in ("integral_constant", "constant")
    ):
        record.library = (*record.library, base_type)
    elif other is None or other is record:
        record.polymorphic = True  # the inherited members are not in the text
        record.opaque = not has_names(base, parameters)
        record.of_std = record.of_std or base.path[:1] == (("std", None),)
        record.members.setdefault("(base)", tree.Declaration(None, "(base)"))
    else:
        _inherit_members(record, other, has_names(base, parameters))


def _inherit_members(record: RecordType, base: RecordType, dependent: bool) -> None:
    """Inherit a base's members and functions. dependent: whether it depends on template parameters."""
    record.bases = (*record.bases, base)
    record.polymorphic = record.polymorphic or base.polymorphic
    record.hidden |= base.hidden | (record.members.keys() & base.members.keys())
    record.members.update(base.members)
    record.homes.update(base.homes)
    for name, closure in base.methods.items():
        if name not in (base.name, "operator=") and not name.startswith("~"):
            record.methods[name] = closure
    if dependent:
        record.dependent |= base.members.keys()
    else:
        for name, value in base.scope.names.items():
            record.scope.names.setdefault(name, value)


def _enter_using(ev: Evaluator, record: RecordType, member: tree.UsingDeclaration) -> None:
    """Enter using Base::name, which overloads the class's functions, or using Base::Base, its constructors."""
    last = member.path[-1][0]
    qualifier = ev.resolve_type(tree.Type(member.path[:-1]), record.scope) if len(member.path) > 1 else None
    base = qualifier.record if qualifier is not None else None
    if base is None:
        return
    closure = base.methods.get(last)
    if closure is not None and last == base.name:
        inherited = tuple(f for f in closure.functions if not can_take_own_class(f, last))  # no copy constructors
        closure = replace(closure, functions=inherited, homes=tuple(closure.get_home(f) for f in inherited))
        if inherited:
            record.methods[record.name] = closure
            record.scope.names["(used)"] = (*record.scope.names.get("(used)", ()), closure)
    elif closure is not None:
        record.methods[last] = closure
        record.scope.names[last] = closure
        record.scope.names["(used)"] = (*record.scope.names.get("(used)", ()), closure)
    elif last in base.scope.names:
        record.scope.names[last] = base.scope.names[last]


def merge_declarations(functions: list[tree.Function]) -> tuple[tree.Function, ...]:
    """Drop the declarations of defined functions; a definition takes their default arguments and first place."""
    declarations: dict[str, tree.Function] = {}
    for function in functions:
        key = make_signature(function)
        known = declarations.get(key)
        if known is None:
            declarations[key] = function
            continue
        body, other = (function, known) if function.body is not None else (known, function)
        pairs = zip(body.parameters, other.parameters, strict=True)
        parameters = tuple(replace(a, default=a.default or b.default) for a, b in pairs)
        declarations[key] = replace(body, parameters=parameters, since=min(function.first, known.first))
    return tuple(declarations.values())
