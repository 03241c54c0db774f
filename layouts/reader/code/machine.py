"""Runs statements over values of which some are symbols: no loop without a bound, no step beyond the budget. What it
comes by on the way is kept: values that look like descriptors, calls the text has no body of, and C's pitfalls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, INT, ULONG, IntegerType, enumeration_type, of_enumerators
from lanescope.reader.code import tree
from lanescope.reader.code.call_arguments import is_move
from lanescope.reader.code.candidates import declared_before
from lanescope.reader.code.constness import const_of
from lanescope.reader.code.lifetimes import has_name
from lanescope.reader.code.lookup import find_in, find_name, open_namespace
from lanescope.reader.code.overloads import Argument, Candidate
from lanescope.reader.code.paths import Escape, Journal, Left, Target, ThrownError
from lanescope.reader.code.records import layout_of, merged_declarations
from lanescope.reader.code.side_effects import reachable
from lanescope.reader.code.templates import same_type
from lanescope.reader.code.values import (
    PLACES,
    Address,
    Array,
    Blurred,
    Cell,
    Closure,
    Deref,
    Either,
    Enumeration,
    Joint,
    Kind,
    Namespace,
    Object,
    Overlay,
    Part,
    Pointer,
    Record,
    Referred,
    Scope,
    Split,
    Template,
    Term,
    number,
)
from lanescope.reader.code.word import Int, add, convert, free, inserted, merged, symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_READ = re.compile(r'"[a-zA-Z0-9]+"\s*\([^()]*\)')  # operands that an asm statement only reads
_WORD = re.compile(r"[A-Za-z_]\w*")


# statements ------------------------------------------------------------------------------------------------------


def run(ev: Evaluator, body: Sequence[tree.Statement], scope: Scope) -> Left | None:
    """Execute statements; what ended them early, or None. A goto goes on behind its label where it stands here."""
    at = 0
    left: Left | None = None
    while at < len(body):
        left = ev.execute(body[at], scope)
        at += 1
        if left is not None:
            label = _label(body, left)
            if label is None:
                break
            at, left = label, None
    ev.leave_block(scope, left)
    return left


def leave_block(ev: Evaluator, scope: Scope, left: Left | None) -> None:
    if left is not None and left.word == "return" and isinstance(left.value, Object):
        ev.release(scope, left.value)
    ev.destroy_variables(scope)


def execute(ev: Evaluator, one: tree.Statement, scope: Scope) -> Left | None:
    ev.reached = one.span[0]
    ev.spend()
    if ev.python:
        return _execute(ev, one, scope)
    ev.frames[-1].scope = scope
    made = len(ev.temporaries)
    try:
        left = _execute(ev, one, scope)
        ev.destroy_temporaries(made, one.span, left.value if left is not None else None)
        if ev.haunting != []:
            ev.haunt(scope)
        return left
    except ThrownError as thrown:
        ev.abandon(made, one.span)
        return Left("throw", thrown.value)
    finally:
        del ev.temporaries[made:]
        if ev.misread:  # a < b … > c read as template arguments: what else stands there is not known
            ev.misread = False
            ev.forget_names(ev.text[slice(*one.span)], scope)


def _execute(ev: Evaluator, one: tree.Statement, scope: Scope) -> Left | None:
    match one:
        case tree.Declare():
            _declare(ev, one, scope)
        case tree.Do(value=value):
            ev.statements.add(id(value))
            ev.drop(value, scope)
            if isinstance(value, tree.Binary) and value.op == ">>" and not ev.python:  # stream >> variable
                ev.forget_names(ev.text[slice(*value.span)], scope)
        case tree.Block():
            if not one.scoped:
                return _run_unscoped(ev, one.body, scope)
            return run(ev, one.body, Scope(scope))
        case tree.If():
            return ev.execute_if(one, scope)
        case tree.Return(value=value):
            return _return(ev, value, scope)
        case tree.Jump(word=word):
            return Left(word, one.label)
        case tree.Loop():
            return ev.execute_loop(one, Scope(scope))
        case tree.Each():
            return ev.execute_each(one, scope)
        case tree.Switch():
            return _switch(ev, one, scope)
        case tree.Assembly():
            ev.execute_assembly(one, scope)
        case tree.Unpack():
            _unpack(ev, one, scope)
        case tree.Label():
            if ev.frames[-1].lost:
                _forget_function(ev)
        case tree.Throw(value=value):
            if value is None:
                return Left("throw", ev.caught.value if ev.caught is not None else None)
            return Left("throw", _thrown(ev, value, scope))
        case tree.Try():
            return ev.execute_try(one, scope)
        case tree.Unread():
            return ev.skip_unread(one, scope)
        case tree.Namespace():
            return _namespace(ev, one, scope)
        case _:
            ev.define(one, scope)
    return None


def _run_unscoped(ev: Evaluator, body: Sequence[tree.Statement], scope: Scope) -> Left | None:
    for statement in body:
        left = ev.execute(statement, scope)
        if left is not None:
            return left
    return None


def _namespace(ev: Evaluator, one: tree.Namespace, scope: Scope) -> Left | None:
    inner = ev.spaces.get(id(one)) or open_namespace(scope, one.names, one.inline)
    for statement in one.body:
        if not isinstance(statement, DEFINITIONS):
            ev.execute(statement, inner)
    return None


def _return(ev: Evaluator, value: tree.Expression | None, scope: Scope) -> Left:
    frame = ev.frames[-1]
    if value is None:
        return Left("return")
    if ev.python:
        result = ev.value(value, scope)
    elif frame.refers:
        place = ev.place(value, scope)
        inner = ev.load(place, value) if isinstance(place, PLACES) else None
        record = frame.returns.record if frame.returns is not None else None
        if isinstance(inner, Object) and record is not None and inner.record is not record:
            place = Cell(ev.upcast(inner, record), frame.returns)
        return Left("return", Referred(place) if isinstance(place, PLACES) else place)
    else:
        result = ev.initial(value, frame.returns, scope, frame.name)
        if isinstance(result, Array) and result.typed is None and result.element is not None:
            result = ev.decayed(result)
        if frame.returns is not None and result is not None:
            result = ev.converted(result, frame.returns, value.span, frame.name)
        made = isinstance(result, Object)
        result = _returned_object(ev, result, value, scope) if made else ev.copied(result)
    if frame.entry:
        ev.notice(result, frame.name, value.span)
    return Left("return", result)


def _returned_object(ev: Evaluator, value: Object, at: tree.Expression, scope: Scope) -> Any:
    """The object that a function gives: of a variable of its own the very object, which compilers do not copy where
    all returns name it; a parameter is moved, all else that has a name is copied.
    """
    found, home = find_name(scope, at.last) if isinstance(at, tree.Name) else (None, scope)
    name = at.last if isinstance(at, tree.Name) else ""
    given = f"({name})" in home.consts
    own = isinstance(found, Cell) and found.value is value and _in_function(scope, home)
    own = own and f"static {name}" not in home.consts
    if isinstance(found, Cell) and not given:  # a reference has the name of what it refers to, or is of a caller
        own = own and found.name == name and found.frame == len(ev.frames)
    if not value.held and not has_name(at):
        result: Any = ev.copied(value)
    elif own and not given:
        plain = ev.frames[-1].single and home.owner == "function"  # gcc moves one of an inner block
        several = (value.record.copies or value.record.ends) and not plain
        result = _lost_copy(ev, value) if several else value
    elif value.record.copies:
        moved = own or is_move(at)
        result = ev.copy_constructed(value, replace(ev.argument_of_place(value), place=not moved, const=None))
    else:
        result = ev.copied(value, 1)
    if isinstance(result, Object):
        result.held = False  # nobody has it yet
    return result


def _lost_copy(ev: Evaluator, value: Object) -> Object:
    """A copy of which it is not known how it is made."""
    ev.perhaps(lambda: ev.destroy(value, (0, 0)))
    ev.forget_globals()
    return ev.forgotten(ev.instance(value.record, value.store.name))


def finish(ev: Evaluator, left: Left | None, scope: Scope) -> Any:
    """The value that a function ends with, its conditional returns joined; ThrownError where it throws."""
    frame = ev.frames[-1]
    value = left.value if left is not None and left.word == "return" else None
    if left is not None and left.word == "throw":
        if not frame.escapes:
            raise ThrownError(left.value)
        if ev.tries:
            ev.forget_globals()
        value = ev.return_to(frame.escapes)
    if (left is not None and left.word == "goto") or frame.lost:
        _forget_function(ev)
        value = Term(ev.fresh(frame.name or "goto"), frame.returns)
    while frame.escapes:
        value = ev.merge(frame.escapes[-1].text, frame.escapes[-1].value, value)
        last = [frame.escapes.pop()]
        ev.rejoin(last)
    return value


# definitions -----------------------------------------------------------------------------------------------------


def define(ev: Evaluator, one: tree.Statement, scope: Scope) -> None:
    """Enter what a statement defines without running anything."""
    _define(ev, one, scope)
    if not ev.python and not isinstance(scope.owner, Record):  # a class is complete in its functions
        for home, name, first in _declared(one, scope):
            home.since.setdefault(name, first)


def _define(ev: Evaluator, one: tree.Statement, scope: Scope) -> None:
    match one:
        case tree.Function():
            _define_function(ev, one, scope)
        case tree.Friend(function=function):
            _define_function(ev, function, scope)
        case tree.Struct(name=name):
            _define_struct(ev, one, scope, name)
        case tree.Alias(name=name):
            if not (len(one.type.path) == 1 and one.type.name == name):  # typedef struct S S
                scope.names[name] = Template(one, scope, one.templates)
        case tree.Enum():
            _enum(ev, one, scope)
        case tree.Namespace():
            inner = ev.spaces[id(one)] = open_namespace(scope, one.names, one.inline)
            for inside in one.body:
                ev.define(inside, inner)
        case tree.NamespaceAlias(name=name):
            found = ev.resolve(one.path, scope, one.span[0])
            if isinstance(found, Namespace):
                scope.names[name] = found
        case tree.Using():
            ev.execute_using(one, scope)
        case tree.Declare() if one.templates or one.specialized is not None or one.owner:
            _define_variable(ev, one, scope)
        case tree.Unread(body=body):
            for inside in body:
                if isinstance(inside, DEFINITIONS):
                    ev.define(inside, scope)


def _define_function(ev: Evaluator, one: tree.Function, scope: Scope) -> None:
    name = one.name
    if one.owner and not one.python:
        owner = ev.find_owner(one.owner, scope)
        if isinstance(owner, Namespace):
            scope = owner.scope
        elif isinstance(owner, Template):
            owner.outside.append(one)
            return
        else:
            return
    known = scope.names.get(name)
    if isinstance(known, Template) and isinstance(known.decl, tree.Struct) and one.body is None:
        return  # a deduction guide
    others = known.functions if isinstance(known, Closure) and not one.python else ()
    functions = merged_declarations([*others, one]) if others else (one,)
    scope.names[name] = Closure(functions, scope)
    if name.startswith("operator") and not one.python:
        mine = Closure((one,), scope)
        before = ev.operators.get(name)
        ev.operators[name] = before.joined(mine) if before is not None else mine


def find_owner(ev: Evaluator, path: tree.Path, scope: Scope) -> Any:
    """The namespace or struct that a definition outside it names."""
    found: Any = None
    for n, (name, _) in enumerate(path):
        if n == 0:
            found = ev.globals if not name else find_name(scope, name)[0]
        elif isinstance(found, Namespace | Scope):
            found = find_in(found.scope if isinstance(found, Namespace) else found, name)[0]
        elif isinstance(found, Template) and isinstance(found.decl, tree.Struct):
            nested = next((m for m in found.decl.members if isinstance(m, tree.Struct) and m.name == name), None)
            kind = ev.applied(found, []) if nested is not None and not found.parameters else None
            found = kind.record.scope.names.get(name) if isinstance(kind, Kind) and kind.record else None
    return found


def _define_struct(ev: Evaluator, one: tree.Struct, scope: Scope, name: str) -> None:
    known = scope.names.get(name)
    if one.specialized is not None:
        if not isinstance(known, Template):
            known, _ = find_name(scope, name)
        if known is None:  # its primary template is only declared
            count = len(one.specialized)
            parameters = tuple(tree.Parameter(f"({n})", None) for n in range(count))
            known = scope.names[name] = Template(tree.Struct(name, (), templates=parameters), scope, parameters)
        if isinstance(known, Template):
            known.specials.append(one)
        return
    if isinstance(known, Template) and isinstance(known.decl, tree.Struct):
        if not one.complete:
            return
        if not known.decl.complete:  # specializations may stand between a declaration and its definition
            defaults = zip(one.templates, known.parameters, strict=False)
            known.parameters = tuple(replace(p, default=p.default or q.default) for p, q in defaults)
            known.decl = one
            return
    scope.names[name] = Template(one, scope, one.templates)
    for member in one.members:
        if isinstance(member, tree.Friend):
            friend = member.function
            if one.templates and not friend.templates:
                friend = replace(friend, templates=one.templates)
            _define_function(ev, friend, _around(scope))


def _define_variable(ev: Evaluator, one: tree.Declare, scope: Scope) -> None:
    """A variable template, its specialization, or a static member that is defined outside its class."""
    if one.owner:
        owner = ev.find_owner(one.owner, scope)
        if isinstance(owner, Template):
            owner.outside.append(one)
        return
    known = scope.names.get(one.name)
    if one.specialized is not None:
        if isinstance(known, Template):
            known.specials.append(one)
    elif one.templates:
        scope.names[one.name] = Template(one, scope, one.templates)


def execute_using(ev: Evaluator, one: tree.Using, scope: Scope) -> None:
    found = ev.resolve(one.path, scope, one.span[0])
    if one.whole:
        if isinstance(found, Namespace) and found.scope not in scope.using:
            scope.using.append(found.scope)
        return
    name = one.path[-1][0]
    if found is None:
        return
    known = scope.names.get(name)
    if isinstance(found, Closure):
        found = declared_before(found, one.span[0])
        found = known.joined(found) if isinstance(known, Closure) else found
    scope.names[name] = found
    owner = ev.resolve(one.path[:-1], scope) if len(one.path) > 1 else None
    if isinstance(owner, Namespace) and isinstance(found, Kind):
        scope.names[name] = find_in(owner.scope, name)[0]  # a template without its arguments


def _enum(ev: Evaluator, one: tree.Enum, scope: Scope) -> None:
    inner = Scope(scope)
    base = ev.kind(one.base, scope).whole if one.base is not None else None
    kind = base or (INT if one.scoped else None)
    following = Int(0, kind or INT)
    cells: list[Cell] = []
    for name, value, span in one.members:
        if value is not None:
            given = number(ev.value(value, inner))
            following = given if given is not None else free(name, BOOL)
            following = convert(following, kind) if kind is not None else following
        cell = Cell(Int(following.const, following.type, following.pieces, origin=(span,)), name=name, const=True)
        cells.append(cell)
        inner.names[name] = cell
        following = add(following, Int(1)) if kind is None else convert(add(following, Int(1)), kind)
    if kind is None and not ev.python:
        kind = of_enumerators(tuple(cell.value.const for cell in cells))
    known = one.name in ev.enumerations  # two of one name are two types
    called = f"{one.name}@{one.span[0]}" if known else one.name
    made = enumeration_type(called, kind, one.scoped) if kind is not None and not ev.python else None
    for cell in cells:
        if made is not None:
            cell.value = replace(convert(cell.value, made), origin=cell.value.origin)
            cell.kind = Kind(one.name, made, made.bits)
        if not one.scoped:
            scope.names.setdefault(cell.name, cell)
    if one.name:
        scope.names[one.name] = Enumeration(one.name, inner, made or INT, one.scoped)
        ev.enumerations[called] = _around(scope)


# variables -------------------------------------------------------------------------------------------------------


def _declare(ev: Evaluator, one: tree.Declare, scope: Scope) -> None:
    if one.templates or one.specialized is not None or one.owner:
        ev.define(one, scope)
        return
    if not one.name:
        if one.type and isinstance(one.type.body, tree.Struct):  # an anonymous union: its members are variables
            made = ev.instance(layout_of(ev, Record("", one.type.body, scope)), one.name)
            for name in (*made.members, *(made.record.fields or {})):
                scope.names[name] = ev.member(made, name, one.span)
        return
    if one.type and isinstance(one.type.body, tree.Struct) and one.type.body.name:
        ev.define(one.type.body, scope)
    if one.lasting:
        scope.consts.add(f"static {one.name}")
    if one.lasting and not one.const and not ev.python and _kept_variable(ev, one, scope):
        return
    kind = ev.kind(one.type, scope) if one.type else None
    named_auto = one.type is None or one.type.name == "auto"
    if kind is not None and kind.reference and one.value is not None:
        _refer(ev, one, kind, scope)
        return
    if one.value is not None:
        value = ev.initial(one.value, None if named_auto else kind, scope, one.name)
    elif one.arguments is not None:
        value = _constructed_from(ev, one, kind, scope)
    elif one.external:
        value = ev.symbolic(kind, one.name)
    else:
        value = ev.default(kind, one.name)
    if kind is not None and kind.dims and not kind.dims[0].known and one.type and one.type.dims[0] is None:
        if isinstance(value, str):
            value = ev.text_array(value, kind, one.name)
        count = Int(len(value.cells), ULONG) if isinstance(value, Array) else free(f"length of {one.name}", ULONG, 16)
        kind = replace(kind, dims=(count, *kind.dims[1:]))
    elif kind is not None and kind.dims and isinstance(value, str):
        value = ev.text_array(value, kind, one.name)
    if isinstance(value, Object) and not ev.python and one.value is not None and has_name(one.value):
        moved = ev.argument_in(one.value, scope, value)
        value = ev.copy_constructed(ev.sliced_to(value, kind), moved)
    if kind is not None and not named_auto:
        value = ev.converted(value, kind, one.span, one.name)
    elif isinstance(value, Array) and value.typed is None and not ev.python and _decays(one):
        value = ev.decayed(value)  # auto p = array
    cell = Cell(
        ev.copied(value),
        kind if not named_auto else None,
        one.name,
        one.span,
        len(ev.frames),
        one.const and not (kind is not None and kind.pointers),
    )
    if isinstance(cell.value, Array) and not cell.value.name:
        cell.value.name = one.name
    scope.names[one.name] = cell
    if not ev.python and _is_destroyed(cell.value):
        scope.names["(destroyed)"] = (*scope.names.get("(destroyed)", ()), cell)
    if one.value is not None or one.arguments is not None:
        ev.note(cell, one.span)
    if kind is not None and kind.record is None and kind.arguments and not kind.pointers and not ev.python:
        ev.kept_by_library((kind,), scope)


def _constructed_from(ev: Evaluator, one: tree.Declare, kind: Kind | None, scope: Scope) -> Any:
    assert one.arguments is not None
    call = tree.Call(tree.Other(""), one.arguments, span=one.span)
    given = [ev.value(a, scope) for a in one.arguments] if ev.python else ev.arguments(call, scope)
    if kind is not None and kind.record is not None and not kind.pointers and not ev.python:
        made = ev.instance(kind.record, one.name)
        return ev.constructed(made, given)
    return ev.construct(kind, [getattr(a, "value", a) for a in given], one, scope)


def _kept_variable(ev: Evaluator, one: tree.Declare, scope: Scope) -> bool:
    """Enter a static variable of a function that was made in an earlier call."""
    if scope.owner == "namespace":
        return False
    frame = ev.frames[-1]
    key = (id(one), frame.instance)
    cell = ev.lasting.get(key)
    if cell is None:
        _declare(ev, replace(one, lasting=False), scope)
        found = scope.names.get(one.name)
        scope.names["(destroyed)"] = tuple(c for c in scope.names.get("(destroyed)", ()) if c is not found)
        if isinstance(found, Cell):
            ev.lasting[key] = found
            found.born = 0  # it outlives the branch that it is made in
            if (frame.template or (len(ev.frames) > 1 and ev.frames[1].entry)) and ev.outlives(one):
                ev.earlier(found)
        return True
    scope.names[one.name] = cell
    return True


def _refer(ev: Evaluator, one: tree.Declare, kind: Kind, scope: Scope) -> None:
    """A reference: another name of a place, or of a value that lives as long."""
    assert one.value is not None
    first = len(ev.temporaries)
    place = ev.place(one.value, scope) if not isinstance(one.value, tree.Items) else None
    for value, _ in ev.temporaries[first:] if isinstance(place, PLACES) else ():
        if not value.held and ev.haunting is not None:  # it may live as long as the reference
            value.held = True
            ev.haunting.append(value)
    if isinstance(place, Referred):
        place = place.place
    if isinstance(place, PLACES):
        value = ev.load(place, one.value)
        own = ev.declared_kind(place, value)
        alike = own is None or kind.name == "auto" or _same(own, kind)
        if isinstance(place, Deref) and isinstance(value, Term) and value.kind is not None:
            scope.names[one.name] = Cell(Term(one.name, value.kind), None, one.name, one.span)
            return
        if isinstance(value, Object) and kind.record is not None and value.record is not kind.record:
            scope.names[one.name] = Cell(ev.upcast(value, kind.record), kind, one.name, one.span)
            if kind.const:
                scope.consts.add(one.name)
            return
        if alike:
            scope.names[one.name] = place
            if (kind.const and not kind.pointers) or (kind.name == "auto" and const_of(ev, one.value, scope)):
                scope.consts.add(one.name)
            elif kind.name == "auto" and const_of(ev, one.value, scope) is None:
                scope.consts.add(f"?{one.name}")
            return
        if isinstance(value, Object) and kind.reference == "&" and not kind.const:  # its conversion refers to it
            ev.forget(place)
            scope.names[one.name] = Cell(Term(ev.fresh(one.name)), None, one.name, one.span)
            return
        place = value
    elif isinstance(one.value, tree.Items):
        place = ev.initial(one.value, replace(kind, reference=""), scope, one.name)
    if isinstance(place, Term) and isinstance(one.value, tree.Call) and not kind.const:  # perhaps an argument
        given = [ev.place(a, scope) for a in one.value.arguments if isinstance(a, tree.Name | tree.Member)]
        for found in (found for found in given if isinstance(found, PLACES)):
            place = Split("?", found, place) if isinstance(place, PLACES) else found
        if isinstance(place, PLACES):
            scope.names[one.name] = Blurred(place)
            return
    record = kind.record
    other = place if isinstance(place, Object) and place.record is not record else None
    if other is not None and record is not None and other.record.descends(record):  # a temporary, seen as its base
        scope.names[one.name] = Cell(ev.upcast(other, record), kind, one.name, one.span)
        whole = Cell(ev.copied(other), None, one.name, one.span)
        scope.names["(destroyed)"] = (*scope.names.get("(destroyed)", ()), whole)
        return
    made = ev.converted(place, replace(kind, reference=""), one.span, one.name) if kind.name != "auto" else place
    cell = Cell(ev.copied(made), None, one.name, one.span, len(ev.frames), kind.const)
    scope.names[one.name] = cell
    if _is_destroyed(cell.value):  # a temporary lives as long as the reference
        scope.names["(destroyed)"] = (*scope.names.get("(destroyed)", ()), cell)


def _unpack(ev: Evaluator, one: tree.Unpack, scope: Scope) -> None:
    value: Any = None
    if one.reference and not ev.python:
        value = ev.place(one.value, scope)
        value = value.place if isinstance(value, Referred) else value
        inner = ev.load(value, one.value) if isinstance(value, PLACES) else value
        scope.consts |= {f"?{name}" for name in one.names}
        for n, name in enumerate(one.names):
            item = ev.item_place(inner, n)
            scope.names[name] = item if isinstance(item, PLACES) else Cell(ev.item(inner, n, one.span))
        return
    value = ev.copied(ev.value(one.value, scope))
    for place, name in enumerate(one.names):
        item = ev.item(value, place, one.span)
        if ev.python:
            ev.assign_name(name, item, scope, one.span)
        else:
            cell = scope.names[name] = Cell(item, None, name, one.span, len(ev.frames))
            scope.consts.add(f"?{name}")
            ev.note(cell, one.span)


def item_place(ev: Evaluator, value: Any, at: int) -> Any:
    """The place of an item of an array, a tuple or a struct; None where there is none."""
    if isinstance(value, Array) and at < len(value.cells):
        return value.cells[at]
    if isinstance(value, Object) and not value.record.bases:
        names = list(value.record.members)
        return ev.member(value, names[at], (0, 0)) if at < len(names) else None
    return None


def assign_name(ev: Evaluator, name: str, value: Any, scope: Scope, span: tuple[int, int]) -> None:
    if not name or name == "_":
        return
    cell = scope.names.get(name)
    if isinstance(cell, Cell):
        ev.put(cell, value)
    else:
        cell = scope.names[name] = Cell(value, None, name, span, len(ev.frames))
    ev.note(cell, span)


def argument_of_place(ev: Evaluator, value: Object) -> Argument:
    """An object that a variable holds, as an argument."""
    kind = ev.kind_of(value)
    return Argument(value, kind, True, False, where=Cell(value, kind))


# conditions ------------------------------------------------------------------------------------------------------


def execute_if(ev: Evaluator, one: tree.If, scope: Scope) -> Left | None:
    inner = Scope(scope)
    if one.start is not None:
        ev.execute(one.start, inner)
    asked, condition = ev.decided(one.condition, inner)
    if condition is not None:
        chosen = one.yes if condition else one.no
        left = ev.execute(chosen, inner) if chosen is not None else None
    else:
        text = ev.condition_text(asked, one.condition)
        branches = [(text, _branch(ev, one.yes, inner)), (f"!({text})", _branch(ev, one.no, inner))]
        left = ev.alternatives(branches)
    ev.leave_block(inner, left)
    return left


def decided(ev: Evaluator, one: tree.Expression, scope: Scope) -> tuple[Any, bool | None]:
    """The value of a condition, and whether it holds."""

    def run() -> tuple[Any, bool | None]:
        asked = ev.value(one, scope)
        return asked, ev.truth(asked)

    result: tuple[Any, bool | None] = ev.whole_expression(run, one.span)
    return result


def _branch(ev: Evaluator, body: tree.Statement | None, scope: Scope) -> Callable[[], Left | None]:
    return lambda: ev.execute(body, Scope(scope)) if body is not None else None


def merge(ev: Evaluator, condition: str, yes: Any, no: Any) -> Any:
    """One value for two that a condition of the text decides between."""
    if yes is no or yes == no:
        return yes
    if yes is None or no is None:  # a function that ends in __trap() on one side
        return no if yes is None else yes
    if not ev.python and (ev.absent(yes) or ev.absent(no)):
        return no if ev.absent(yes) else yes
    if isinstance(yes, Closure | Either) and isinstance(no, Closure | Either):
        return Either(condition, yes, no)
    if isinstance(yes, Term) and yes.head == "uninitialised" and not ev.python:
        return no
    if isinstance(no, Term) and no.head == "uninitialised" and not ev.python:
        return yes
    if isinstance(yes, Referred) and isinstance(no, Referred):
        return Referred(Split(condition, yes.place, no.place))
    one, two = number(yes), number(no)
    if isinstance(yes, Pointer) and isinstance(no, Pointer):
        made = Pointer(merged(condition, ev.whole(yes), ev.whole(no)).linear(), yes.element)
        if yes.array is None and no.array is None:
            return made
        if yes.array is no.array:
            return replace(made, array=yes.array)
        return Term(f"({condition} ? {yes} : {no})")
    if isinstance(yes, Address) and isinstance(no, Address):
        return Address(Split(condition, ev.target(yes), ev.target(no)))
    if isinstance(yes, Object) and isinstance(no, Object) and yes.record is no.record:
        return _merged_objects(ev, condition, yes, no)
    if isinstance(yes, Object | Array) or isinstance(no, Object | Array):
        return Term(f"({condition} ? {yes} : {no})")
    if one is not None and two is not None:
        return merged(condition, one, two)
    return Term(f"({condition} ? {yes} : {no})")


def _merged_objects(ev: Evaluator, condition: str, yes: Object, no: Object) -> Object:
    members = {
        name: Cell(ev.merge(condition, cell.value, no.members[name].value), cell.kind, cell.name)
        for name, cell in yes.members.items()
        if name in no.members
    }
    store = merged(condition, yes.store.value, no.store.value) if yes.record.fields is not None else yes.store.value
    return Object(yes.record, Cell(store, yes.store.kind, yes.store.name), members)


def whole(ev: Evaluator, value: Any) -> Int:
    found = number(value)
    return found if found is not None else free(str(value), BOOL)


def _switch(ev: Evaluator, one: tree.Switch, scope: Scope) -> Left | None:
    outer = Scope(scope)
    if one.start is not None:
        ev.execute(one.start, outer)
    left = _switched(ev, one, outer)
    ev.leave_block(outer, left)
    return left


def _switched(ev: Evaluator, one: tree.Switch, outer: Scope) -> Left | None:
    asked = ev.whole_expression(lambda: ev.value(one.value, outer), one.value.span)
    value = number(ev.number_of_object(asked) if not ev.python else asked)
    tests = [None if test is None else number(ev.value(test, outer)) for test, _ in one.cases]
    default = next((n for n, (test, _) in enumerate(one.cases) if test is None), None)
    known = value.known if value is not None else None
    if known is not None and all(t is None or t.known is not None for t in tests):
        kind = value.type if value is not None else INT
        start = next((n for n, t in enumerate(tests) if t is not None and convert(t, kind).known == known), default)
        return _cases(ev, one, start, outer)
    text = ev.words(one.value)
    starts = [n for n, t in enumerate(tests) if t is not None]
    runs = [(f"{text} == {ev.words(one.cases[n][0])}", ev.enter_case(one, n, outer)) for n in starts]
    return ev.alternatives([*runs, ("default", ev.enter_case(one, default, outer))])


def enter_case(ev: Evaluator, one: tree.Switch, start: int | None, scope: Scope) -> Callable[[], Left | None]:
    return lambda: _cases(ev, one, start, scope)


def _cases(ev: Evaluator, one: tree.Switch, start: int | None, scope: Scope) -> Left | None:
    """A switch from one of its labels on, up to a break."""
    if start is None:
        return None
    inner, target = Scope(scope), Target(False, len(ev.branches))
    ev.targets.append(target)
    left: Left | None = None
    try:
        for _, body in one.cases[start:]:
            left = _run_unscoped(ev, body, inner)
            if left is not None:
                break
    finally:
        ev.targets.pop()
        ev.destroy_variables(inner)
    return ev.after_breaks(target.breaks, left, True)


def after_breaks(ev: Evaluator, breaks: list[Escape], left: Left | None, ends: bool) -> Left | None:
    """What follows a loop or switch that some paths may have left by break, when another came to `left`."""
    if left is not None and left.word == "break":
        left = None
    if left is not None and breaks:
        here: Journal = {
            key: (cell, cell.value)
            for one in breaks
            for key, (cell, _) in {**ev.writes_since(one.start), **one.changes}.items()
        }
        ev.return_to(breaks)
        ev.escape("?", left, here)
        left = None
    ev.rejoin(breaks)
    return left


# exceptions, goto, and what is not read --------------------------------------------------------------------------


def execute_try(ev: Evaluator, one: tree.Try, scope: Scope) -> Left | None:
    thrown: list[Escape] = []
    ev.tries.append((thrown, len(ev.branches)))
    try:
        left = ev.execute(one.body, scope)
    finally:
        ev.tries.pop()
    if left is not None and left.word == "throw":
        if thrown:
            ev.rejoin(thrown)
            return ev.alternatives([(f"caught {n}", _handler(ev, h, None, scope)) for n, h in enumerate(one.handlers)])
        return _caught(ev, one, left, scope)
    if thrown:
        ev.rejoin(thrown)
        runs = [(f"caught {n}", _handler(ev, handler, None, scope)) for n, handler in enumerate(one.handlers)]
        if left is not None:
            ev.escape("not thrown", left, {})
            return ev.alternatives(runs)
        return ev.alternatives([*runs, ("not thrown", lambda: None)])
    return left


def _caught(ev: Evaluator, one: tree.Try, left: Left, scope: Scope) -> Left | None:
    """Run the handler of an exception; where its type leaves open which, all that may be."""
    kind = ev.kind_of(left.value) if not isinstance(left.value, Term) or left.value.kind else None
    unsure: list[tuple[tree.Parameter | None, tree.Statement]] = []
    for handler in one.handlers:
        parameter = handler[0]
        if parameter is None or parameter.type is None or parameter.type.name in ("", "..."):
            fits: bool | None = True
        else:
            wanted = ev.kind(parameter.type, scope)
            fits = None if kind is None else _same_or_base(kind, wanted, ev.text)
        if fits and not unsure:
            return _handler(ev, handler, left.value, scope)()
        if fits is not False:
            unsure.append(handler)
    if not unsure:
        return left
    return ev.alternatives([(f"caught {n}", _handler(ev, h, None, scope)) for n, h in enumerate(unsure)])


def _handler(
    ev: Evaluator, handler: tuple[tree.Parameter | None, tree.Statement], value: Any, scope: Scope
) -> Callable[[], Left | None]:
    def run() -> Left | None:
        inner, before = Scope(scope), ev.caught
        parameter = handler[0]
        ev.caught = Cell(value if value is not None else Term(ev.fresh("exception")))
        if parameter is not None and parameter.name:
            kind = ev.kind(parameter.type, scope) if parameter.type else None
            if value is None:
                ev.caught.value = ev.symbolic(kind, ev.fresh(parameter.name))
            bare = replace(kind, reference="") if kind is not None else None
            inner.names[parameter.name] = _caught_variable(ev, ev.caught, kind, bare, parameter.name)
            if kind is not None and kind.const and not kind.pointers:
                inner.consts.add(parameter.name)
        elif value is None:
            ev.caught.value = None
        thrown = ev.caught.value
        try:
            left = ev.execute(handler[1], inner)
            ev.leave_block(inner, left)
            if isinstance(thrown, Object) and thrown.record.ends:
                ev.perhaps(lambda: ev.destroy(thrown, (0, 0)))
            return left
        finally:
            ev.caught = before

    return run


def _caught_variable(ev: Evaluator, caught: Cell, kind: Kind | None, bare: Kind | None, name: str) -> Cell:
    """The variable of a handler: the exception itself, as its base; a copy of it where it is no reference."""
    value = caught.value
    if isinstance(value, Object) and bare is not None and bare.record is not None and value.record is not bare.record:
        value = ev.upcast(value, bare.record)
    if kind is not None and kind.reference:
        return caught if value is caught.value else Cell(value, bare, name)
    if isinstance(value, Object):
        value = ev.copy_constructed(value, ev.argument_of_place(value))
        value.held = value.held or value is caught.value or value.whole is not None
    return Cell(ev.copied(value), bare, name)


def _thrown(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """An exception: a copy of what is thrown, of which it is not known whether it is copied or moved."""
    value = ev.value(one, scope)
    if isinstance(value, Object) and value.held and value.record.copies:
        value = ev.copy_constructed(value, replace(ev.argument_of_place(value), const=None, loose=True))
    return ev.copied(value)


def lose_control(ev: Evaluator, changed: Journal) -> None:
    """A goto under a condition that the text leaves open: what the function writes is not known from here on."""
    for cell, _ in changed.values():
        ev.forget(cell)
    ev.frames[-1].lost = True
    _forget_function(ev)


def _forget_function(ev: Evaluator) -> None:
    """Forget every variable that the function that is being run may write."""
    frame = ev.frames[-1]
    for cell, _ in ev.writes_since(frame.start).values():
        ev.forget(cell)
    ev.forget_globals()


def skip_unread(ev: Evaluator, one: tree.Unread, scope: Scope) -> Left | None:
    """Text that the parser could not read: what it may write is not known."""
    if one.body:
        ev.alternatives([(one.text[:40], _branch(ev, tree.Block(one.body), scope)), ("", lambda: None)])
    ev.forget_names(_READ.sub("", one.text), scope)
    ev.forget_globals()
    returns = ev.frames[-1].returns
    for word, value in (
        ("return", ev.symbolic(returns, ev.fresh(ev.frames[-1].name or "?"))),
        ("break", None),
    ):
        if re.search(rf"\b{word}\b", one.text) and (word == "return" or ev.targets):
            ev.escape("?", Left(word, value), {})
    if re.search(r"\bgoto\b", one.text):
        ev.lose_control({})
    return None


def forget_names(ev: Evaluator, text: str, scope: Scope) -> None:
    """Forget the variables whose names stand in a text; a long one takes many steps."""
    ev.left -= len(text) >> 6
    for name in dict.fromkeys(_WORD.findall(text)):
        found = find_name(scope, name)[0]
        if isinstance(found, PLACES):
            ev.forget(found, integers=True)
            for place in reachable(found):
                ev.forget(place, integers=True)
        elif isinstance(found, Template | Namespace):  # a static member of it, an instance of it
            ev.forget_globals()


def forget(ev: Evaluator, place: Any, integers: bool = False, quiet: bool = False) -> None:
    """Make what a place holds unknown; integers: leave pointers and what is known by its name alone; quiet: what
    was found to be a descriptor there stays so, as it was used.
    """
    match place:
        case Cell():
            _forget_cell(ev, place, integers, quiet)
        case Part():
            store = place.of.store
            if isinstance(store.value, Int):
                name = ev.fresh(store.name or "?")
                width = place.field.width
                blank = free(name, IntegerType("bits", width, False, 9))
                made = inserted(store.value, blank, place.field.low, width, (0, 0))
                ev.put(store, made)
                ev.renote(store)
        case Deref():
            ev.store_memory(place, ev.symbolic(place.pointer.element, ev.fresh("*")), (0, 0))
        case Joint():
            for one in place.places:
                ev.forget(one)
        case Split():
            ev.forget(place.yes, integers, quiet)
            ev.forget(place.no, integers, quiet)
        case Blurred() | Referred():
            ev.forget(place.place, integers, quiet)
        case Overlay():
            ev.forget(Cell(place.of), integers, quiet)


def _forget_cell(ev: Evaluator, cell: Cell, integers: bool, quiet: bool = False) -> None:
    value = cell.value
    if cell.const and not isinstance(value, Object | Array):
        return
    match value:
        case Int():
            ev.put(cell, free(ev.fresh(cell.name or "?"), value.type))
            if not quiet:
                ev.renote(cell)
        case Object():
            _forget_object(ev, value, cell.name, integers, quiet)
        case Array():
            for inner in value.cells:
                _forget_cell(ev, inner, integers, quiet)
        case Pointer() | Address():
            if not integers:
                ev.put(cell, Pointer(symbol(ev.fresh(cell.name or "?")), getattr(value, "element", None)))
        case Closure() | None:
            return
        case Part() | Deref() | Joint() | Split() | Blurred():
            return
        case Term() if value.head == "uninitialised" and value.kind is not None:
            ev.put(cell, ev.symbolic(value.kind, ev.fresh(cell.name or "?")))
        case _:
            if not integers:
                ev.put(cell, Term(ev.fresh(cell.name or str(value)), cell.kind))


def _forget_object(ev: Evaluator, value: Object, name: str, integers: bool, quiet: bool) -> None:
    if isinstance(value.store.value, Int):
        own = ev.fresh(value.store.name or name or "?")
        ev.put(value.store, free(own, value.store.value.type))
        if not quiet:
            ev.renote(value.store)
    for inner in value.members.values():
        if not isinstance(inner.value, PLACES):
            _forget_cell(ev, inner, integers, quiet)


def forget_globals(ev: Evaluator) -> None:
    """Forget what every function may write: variables of namespaces and static ones that are not constant."""
    seen: set[int] = set()
    ev.globals_lost = True
    for place in list(ev.escaped.values()):
        ev.forget(place, integers=True)
    waiting = [ev.globals]
    while waiting:
        scope = waiting.pop()
        if id(scope) in seen:
            continue
        seen.add(id(scope))
        for value in scope.names.values():
            if isinstance(value, Cell):
                _forget_lasting(ev, value)
            elif isinstance(value, Namespace):
                waiting.append(value.scope)
    for cell in ev.lasting.values():
        _forget_lasting(ev, cell)
    for made in ev.records.values():
        if isinstance(made, Cell):
            _forget_lasting(ev, made)
        elif isinstance(made, Record):
            for value in made.scope.names.values():
                if isinstance(value, Cell):
                    _forget_lasting(ev, value)


def _forget_lasting(ev: Evaluator, cell: Cell) -> None:
    """Forget a variable that every function sees, and what can be reached from it."""
    for place in reachable(cell.value):
        ev.forget(place, integers=True)
    if not cell.const:
        aims = isinstance(cell.value, Address) or (isinstance(cell.value, Pointer) and cell.value.array is not None)
        _forget_cell(ev, cell, not aims)


def forget_all(ev: Evaluator, scope: Scope) -> None:
    """Forget every variable that can be named here or in a calling function, and those that every function may
    write.
    """
    for cell in _variables(ev, scope):
        ev.forget(cell, integers=True)
    ev.forget_globals()


def _variables(ev: Evaluator, scope: Scope) -> list[Cell]:
    """The variables that can be named here and in the calling functions."""
    found: dict[int, Cell] = {}
    for inner in (scope, *(frame.scope for frame in ev.frames if frame.scope is not None)):
        for one in inner.chain():
            if one.owner == "namespace":
                break
            found.update((id(cell), cell) for cell in list(one.names.values()) if isinstance(cell, Cell))
    return list(found.values())


def forget_alike(ev: Evaluator, this: Any, function: tree.Function | None) -> None:
    """A function of an object that is not known may write any object of its class, and what that refers to."""
    kind = this.kind if isinstance(this, Term) else getattr(this, "element", None)
    record = kind.record if kind is not None else None
    scope = ev.frames[-1].scope or ev.globals
    if function is not None and function.const and not function.virtual:
        return
    cells = [*_variables(ev, scope), *(c for c in ev.globals.names.values() if isinstance(c, Cell))]
    if any(_has_object(cell.value, record) for cell in cells):
        ev.forget_all(scope)


def fresh(ev: Evaluator, name: str) -> str:
    """A name for a value that is not known and may differ from all before."""
    count = ev.renewed[name] = ev.renewed.get(name, 0) + 1
    return f"{name}{chr(39) * count}" if count < 4 else f"{name}'{count}"


# functions -------------------------------------------------------------------------------------------------------


def run_body(ev: Evaluator, function: tree.Function, scope: Scope) -> Left | None:
    body = function.body.make() if isinstance(function.body, tree.Deferred) else function.body
    if isinstance(body, tree.Block):
        return run(ev, body.body, scope)
    return ev.execute(body, scope) if body is not None else None


def entry(ev: Evaluator, function: tree.Function, scope: Scope, this: Any = None) -> Any:
    """Run a function nothing in the text calls, its parameters as symbols; return what it gives."""
    closure = Closure((function,), scope, this)
    inner = ev.bound(closure, Candidate(function, (), {}), [], {}, symbolic=True)
    ev.called.add(id(function))
    refers = function.returns is not None and bool(function.returns.reference) and not ev.python
    ev.enter(function.name, function.span, entry=True, refers=refers, constant=function.const)
    ev.frames[-1].returns = None if ev.python else ev.return_kind(function, inner)
    ev.frames[-1].symbols = frozenset(inner.names)
    try:
        left = ev.run_body(function, inner)
        pending = bool(ev.frames[-1].escapes)
        value = ev.finish(left, inner)
        if pending and value is not None:
            ev.notice(value, function.name, function.span, replace=True)
        return ev.load(value, tree.Other("", span=function.span)) if isinstance(value, Referred) else value
    except ThrownError:
        return None
    finally:
        ev.leave()


def array(ev: Evaluator, values: Iterable[Any], element: Kind | None = None, name: str = "") -> Array:
    return Array([Cell(value, element) for value in values], element, name)


DEFINITIONS = (tree.Function, tree.Struct, tree.Alias, tree.Enum, tree.Friend)


def _declared(one: tree.Statement, scope: Scope) -> Iterator[tuple[Scope, str, int]]:
    """(scope, name, place from which on the name means it) of what a statement declares beside functions."""
    first, past = one.span
    match one:
        case tree.Alias(name=name) | tree.NamespaceAlias(name=name):
            yield scope, name, past
        case tree.Struct(name=name, specialized=None):
            yield scope, name, first
        case tree.Declare(name=name, specialized=None, owner=()) if one.templates:
            yield scope, name, first
        case tree.Using(path=path, whole=False):
            yield scope, path[-1][0], past
        case tree.Enum(name=name, members=members):
            yield scope, name, first
            for member, _, (_, end) in members if not one.scoped else ():
                yield scope, member, end
        case tree.Namespace(names=names):
            for name in names:
                yield scope, name, first
                found = scope.names.get(name)
                if not isinstance(found, Namespace):
                    return
                scope = found.scope


def _decays(one: tree.Declare) -> bool:
    """Whether what starts a variable is not its list of items, so that an array gives a pointer."""
    return one.type is not None and not isinstance(one.value, tree.Items)


def _has_object(value: Any, record: Record | None) -> bool:
    if isinstance(value, Array):
        return bool(value.cells) and _has_object(value.cells[0].value, record)
    return isinstance(value, Object) and record is not None and value.record.descends(record)


def _in_function(scope: Scope, home: Scope) -> bool:
    """Whether a scope is one of the function's that another stands in."""
    for one in scope.chain():
        if one is home:
            return True
        if one.owner == "function":
            return False
    return False


def _is_destroyed(value: Any) -> bool:
    if isinstance(value, Array):
        return bool(value.cells) and _is_destroyed(value.cells[0].value)
    if not isinstance(value, Object):
        return False
    return value.record.ends


def _label(body: Sequence[tree.Statement], left: Left) -> int | None:
    """Where a goto goes on in a block; None where its label stands elsewhere."""
    if left.word != "goto":
        return None
    return next((n for n, one in enumerate(body) if isinstance(one, tree.Label) and one.name == left.value), None)


def _around(scope: Scope) -> Scope:
    """The namespace, function or text around a class."""
    return next((one for one in scope.chain() if not isinstance(one.owner, Record)), scope)


def _same(one: Kind, two: Kind) -> bool:
    """Whether a reference to one type binds an object of another without a conversion."""
    if one.record is not None and two.record is not None:
        return one.record.descends(two.record)
    bare = [replace(kind, const=False, reference="") for kind in (one, two)]
    return same_type(*bare) is not False


def _same_or_base(kind: Kind, wanted: Kind, text: str) -> bool | None:
    """Whether a handler takes an exception: its type, or a base of it that is public and no more than once there."""
    if kind.record is None or wanted.record is None or kind.pointers or wanted.pointers:
        return same_type(replace(kind, const=False, reference=""), replace(wanted, const=False, reference=""))
    if kind.record is wanted.record:
        return True
    ways = _ways(kind.record, wanted.record)
    if kind.record.opaque and not ways:
        return None
    heads = [text[slice(*one.decl.span)].partition("{")[0] for one in _derived(kind.record) if one.decl is not None]
    if ways == 1 and any(re.search(r"\b(?:private|protected|class)\b", head) for head in heads):
        return None
    return ways == 1


def _ways(record: Record, base: Record) -> int:
    return sum(1 if one is base else _ways(one, base) for one in record.bases)


def _derived(record: Record) -> list[Record]:
    return [record, *(inner for one in record.bases for inner in _derived(one))]
